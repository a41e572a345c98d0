//! Removes secrets from all output: files, reports and the terminal.
//!
//! A secret whose text is known (a token from the command line, a handshake or an `authenticate` request) is replaced
//! by [`REDACTED`] or [`REDACTED_SHORT`] everywhere. The always-on checks recognise these marks, so they can still
//! report a host that leaked the secret. A match of a user's pattern is replaced by a numbered mark. Equal matches get
//! equal marks, so equal identifiers stay equal, different identifiers stay different, and `judge` gives the same
//! result for a redacted file as for the original. For the same reason, strings that the protocol or the capture format
//! defines are kept even if a pattern matches them. A pattern is applied to each string of a JSON line separately, so
//! the line stays valid JSON.
//!
//! Knows: texts, JSON. Never knows: the secrets, the destination of output.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use regex_lite::Regex;

use crate::oracle::REDACTION_MARK;
use crate::oracle::secrets::MIN_SECRET as MIN_LOOKED_FOR;
use crate::transcript::format;
use crate::wire::json::{Value, json};
use crate::wire::percent;
use crate::wire::vocabulary::is_protocol_word;

/// The replacement for a secret that no frame of a host may contain.
pub const REDACTED: &str = "«redacted»";
/// The replacement for a short secret. It differs from [`REDACTED`], because the text of a short secret may also occur
/// by accident.
pub const REDACTED_SHORT: &str = "«redacted short»";
/// The prefix of all marks, including the numbered marks.
pub const MARK: &str = REDACTION_MARK;
/// The minimum length of a secret, in bytes. If shorter strings were replaced, the output would be unreadable.
const MIN_SECRET: usize = 4;
/// The maximum number of secrets learnt from traffic. The number is limited because every line is searched for each
/// secret.
const MAX_SECRETS: usize = 256;
/// The maximum number of different matches with a separate mark; all further matches share the last mark.
const MAX_MARKS: usize = 100_000;
/// The distance within which the quotes around a name of the protocol are searched, in bytes.
const LONGEST_NAME: usize = 64;

/// The members of the harness's own lines whose values no pattern changes, because the harness itself defines them: kinds
/// of lines, statuses, weights, ids of scenarios and rules, versions, names of methods and actions.
const OWN_WORDS: [&str; 19] = [
    "agent",
    "run",
    "status",
    "weight",
    "worst",
    "skip",
    "profile",
    "capability",
    "scenario",
    "check",
    "rule",
    "rules",
    "proves",
    "twin",
    "accepted",
    "version",
    "versions",
    "offers",
    "harness",
];

/// The headers whose values are secret.
const SECRET_HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];
/// The query parameters whose values are secret.
const SECRET_PARAMETERS: [&str; 6] =
    ["tkn", "token", "access_token", "connectiontoken", "api_key", "key"];

/// Returns the secrets in a header: the whole value, and the part after the name of the scheme.
pub fn secrets_of_header(name: &str, value: &str) -> Vec<String> {
    if !SECRET_HEADERS.iter().any(|secret| secret.eq_ignore_ascii_case(name.trim())) {
        return Vec::new();
    }
    let value = value.trim();
    let after_scheme = value.split_once(' ').map(|(_, token)| token.trim());
    [Some(value), after_scheme].into_iter().flatten().map(str::to_owned).collect()
}

/// Returns the secrets in a URL or a path: the values of secret query parameters.
pub fn secrets_of_target(target: &str) -> Vec<String> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let query = query.split(['#', ' ']).next().unwrap_or_default();
    let members = query.split('&').filter_map(|member| member.split_once('='));
    let secret = members.filter(|(name, _)| is_secret_parameter(name));
    secret.map(|(_, value)| value.to_owned()).collect()
}

/// Returns whether the value of a query parameter is secret.
pub fn is_secret_parameter(name: &str) -> bool {
    SECRET_PARAMETERS.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// The secrets and patterns of a run. All clones share the same secrets and patterns.
#[derive(Clone, Debug, Default)]
pub struct SecretRedactor {
    inner: Arc<Mutex<RedactorState>>,
}

#[derive(Debug, Default)]
struct RedactorState {
    secrets: Vec<RedactedSecret>,
    patterns: Vec<Regex>,
    marks: HashMap<String, usize>,
}

#[derive(Debug)]
struct RedactedSecret {
    plain: String,
    /// The different spellings of the secret: as text in JSON, in XML, in a URL and in hexadecimal digits.
    forms: Vec<String>,
    /// The replacement for the secret.
    mark: &'static str,
}

impl SecretRedactor {
    /// Makes a redactor for these secrets and for the matches of these patterns.
    pub fn new(secrets: impl IntoIterator<Item = String>, patterns: Vec<Regex>) -> SecretRedactor {
        let redactor = SecretRedactor {
            inner: Arc::new(Mutex::new(RedactorState { patterns, ..RedactorState::default() })),
        };
        secrets.into_iter().for_each(|secret| redactor.learn(&secret));
        redactor
    }

    /// Adds a secret.
    pub fn learn(&self, secret: &str) {
        let mut inner = self.lock();
        let known = inner.secrets.iter().any(|known| known.plain == secret);
        if known || secret.len() < MIN_SECRET || inner.secrets.len() == MAX_SECRETS {
            return;
        }
        inner.secrets.push(RedactedSecret::new(secret));
        // If a secret contains another secret, the longer one must be replaced first.
        inner.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.plain.len()));
    }

    /// Returns every secret with a known text. The always-on checks search for these strings.
    pub fn secrets(&self) -> Vec<String> {
        self.lock().secrets.iter().map(|secret| secret.plain.clone()).collect()
    }

    /// Removes secrets from an event in its JSON form.
    pub fn event(&self, line: &mut String) {
        self.line(line, false, |it| format::is_word(it.literal) || is_protocol_word(it.literal));
    }

    /// Removes secrets from any other object in its JSON form. The names of members are not changed, and no pattern
    /// changes the values that are words of the harness, such as the status of a scenario. A short secret is
    /// removed only if it is a whole word: a token `other` must not change `other-version`, which is a word of the
    /// harness's own formats.
    pub fn object(&self, line: &mut String) {
        self.line(line, true, |it| it.is_name || OWN_WORDS.contains(&it.member));
    }

    fn line(&self, line: &mut String, words: bool, keep: fn(&StringPlace) -> bool) {
        let mut inner = self.lock();
        if let Some(without) = inner.secrets(line, words) {
            *line = without;
        }
        if !inner.patterns.is_empty() {
            *line = inner.strings(line, keep);
        }
    }

    /// Returns any other string without secrets.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut inner = self.lock();
        let without = inner.secrets(text, false).map_or(Cow::Borrowed(text), Cow::Owned);
        match inner.matched(&without) {
            Some(marked) => Cow::Owned(marked),
            None => without,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RedactorState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A string in a line of JSON.
struct StringPlace<'l> {
    /// The string as written, without the quotes.
    literal: &'l str,
    /// Whether the string is the name of a member.
    is_name: bool,
    /// The last name before the string: for a value, usually the name of its member.
    member: &'l str,
}

impl RedactedSecret {
    fn new(plain: &str) -> RedactedSecret {
        let quoted = Value::from(plain).to_text();
        let json = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        let xml = plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let hex: String = plain.bytes().map(|byte| format!("{byte:02x}")).collect();
        let url = percent::escaped(plain, percent::SEGMENT);
        let forms = [json, &xml, &hex, &url].into_iter().filter(|form| *form != plain);
        let missed = plain.split_whitespace().any(|word| word.len() >= MIN_LOOKED_FOR);
        let mark = if missed { REDACTED } else { REDACTED_SHORT };
        RedactedSecret { plain: plain.to_owned(), forms: forms.map(str::to_owned).collect(), mark }
    }
}

impl RedactorState {
    /// Returns the string without the secrets; `None` if it contains no secret. With `words`, a short secret within a
    /// longer word is not replaced.
    fn secrets(&self, text: &str, words: bool) -> Option<String> {
        let mut out: Option<String> = None;
        for secret in &self.secrets {
            for form in std::iter::once(&secret.plain).chain(&secret.forms) {
                let now = out.as_deref().unwrap_or(text);
                let words = words && secret.mark == REDACTED_SHORT;
                if let Some(without) = replaced(now, form, secret.mark, words) {
                    out = Some(without);
                }
            }
        }
        out
    }

    /// Returns the string without the matches of the patterns; `None` if no pattern matches.
    fn matched(&mut self, text: &str) -> Option<String> {
        let mut out: Option<String> = None;
        for index in 0..self.patterns.len() {
            let pattern = self.patterns[index].clone();
            let now = out.as_deref().unwrap_or(text);
            // The replacement for a secret must not be replaced again.
            let secret = |found: &str| !(found.is_empty() || found.starts_with(MARK));
            let changed = pattern.replace_all(now, |found: &regex_lite::Captures<'_>| {
                let found = found.get(0).map_or("", |whole| whole.as_str());
                if secret(found) { self.mark(found) } else { found.to_owned() }
            });
            if let Cow::Owned(changed) = changed {
                out = Some(changed);
            }
        }
        out
    }

    fn mark(&mut self, found: &str) -> String {
        let next = self.marks.len() + 1;
        let number = match self.marks.get(found) {
            Some(number) => *number,
            None if next > MAX_MARKS => next,
            None => {
                self.marks.insert(found.to_owned(), next);
                next
            }
        };
        format!("{MARK} {number}»")
    }

    /// Returns a line of JSON in which the matches of the patterns are replaced in all strings, including the names of
    /// members. `keep` returns whether a string is kept.
    fn strings(&mut self, line: &str, keep: fn(&StringPlace) -> bool) -> String {
        let mut out = String::with_capacity(line.len());
        let (mut rest, mut member) = (line, "");
        while let Some(start) = memchr::memchr(b'"', rest.as_bytes()) {
            let (before, quoted) = rest.split_at(start);
            let end = end_of_string(quoted);
            let (literal, after) = quoted.split_at(end);
            out.push_str(before);
            let inner = literal.strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
            let is_name = after.starts_with(':');
            let is_kept = |literal| keep(&StringPlace { literal, is_name, member });
            let plain = match inner {
                Some(inner) if is_kept(inner) => None,
                Some(inner) if !inner.contains('\\') => Some(Cow::Borrowed(inner)),
                Some(_) => serde_json::from_str::<String>(literal).ok().map(Cow::Owned),
                None => None,
            };
            match plain.and_then(|plain| self.matched(&plain)) {
                Some(marked) => out.push_str(&json!(marked).to_text()),
                None => out.push_str(literal),
            }
            if is_name {
                member = inner.unwrap_or_default();
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// Returns the text with every occurrence of a secret replaced; `None` if the secret does not occur. Names of members
/// that the protocol defines are kept. With `words`, occurrences within a longer word and all names of members are kept.
fn replaced(text: &str, secret: &str, mark: &str, words: bool) -> Option<String> {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
    let mut out = String::new();
    let mut kept = 0;
    for at in memchr::memmem::find_iter(text.as_bytes(), secret.as_bytes()) {
        let (before, end) = (text.get(..at)?, at + secret.len());
        let after = text.get(end..)?;
        let joined = joins(before.chars().next_back()) || joins(after.chars().next());
        let name = before.ends_with('"') && after.starts_with("\":");
        // A token such as `token` must not change the names of the protocol.
        if words && (joined || name) || is_in_protocol_name(text, at, end) {
            continue;
        }
        out.push_str(text.get(kept..at)?);
        out.push_str(mark);
        kept = end;
    }
    if kept == 0 {
        return None;
    }
    out.push_str(text.get(kept..)?);
    Some(out)
}

/// Returns whether this part of a JSON text is in the name of a member that the protocol defines.
fn is_in_protocol_name(text: &str, from: usize, to: usize) -> bool {
    // Only the bytes around the part are searched: a target can repeat a secret in a string of any length.
    let bytes = text.as_bytes();
    let least = from.saturating_sub(LONGEST_NAME);
    let most = bytes.len().min(to + LONGEST_NAME);
    let start = memchr::memrchr(b'"', &bytes[least..from]).map(|at| least + at + 1);
    let end = memchr::memchr(b'"', &bytes[to..most]).map(|at| to + at);
    let (Some(start), Some(end)) = (start, end) else { return false };
    bytes.get(end + 1) == Some(&b':') && text.get(start..end).is_some_and(is_protocol_word)
}

/// Returns the length in bytes of the string literal at the beginning of the text; the length of the whole text
/// if the literal has no closing quote.
fn end_of_string(quoted: &str) -> usize {
    let bytes = quoted.as_bytes();
    let mut at = 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(secrets: &[&str], patterns: &[&str]) -> SecretRedactor {
        let patterns = patterns.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
        SecretRedactor::new(secrets.iter().map(|secret| (*secret).to_owned()), patterns)
    }

    #[test]
    fn replaces_secrets_in_every_encoding() {
        let check = |secret: &str, line: &str, expected: &str| {
            let mut text = line.to_owned();
            redactor(&[secret], &[]).event(&mut text);
            assert_eq!(text, expected);
        };
        check("hunter2", r#"{"a":"x hunter2 y"}"#, r#"{"a":"x «redacted short» y"}"#);
        check(r#"a"b\c"#, r#"{"a":"a\"b\\c"}"#, r#"{"a":"«redacted short»"}"#);
        check("tok/en=", r#""GET /?tkn=tok%2Fen%3D""#, r#""GET /?tkn=«redacted short»""#);
        check("abcd", r#"{"hex":"0061626364"}"#, r#"{"hex":"00«redacted short»"}"#);
        check("abc", r#"{"a":"abc"}"#, r#"{"a":"abc"}"#);
        assert_eq!(redactor(&["a<b&c"], &[]).text("<x>a&lt;b&amp;c"), "<x>«redacted short»");
        assert_eq!(redactor(&["abcd", "abcdef"], &[]).text("abcdef"), REDACTED_SHORT);
        assert_eq!(redactor(&["Bearer canary-12345"], &[]).text("Bearer canary-12345"), REDACTED);
    }

    #[test]
    fn a_short_secret_leaves_the_words_of_the_format_alone() {
        let redactor = redactor(&["other"], &[]);
        let mut line = r#"{"other":"other-version","why":"Bearer other, another"}"#.to_owned();
        redactor.object(&mut line);
        let kept = r#"{"other":"other-version","why":"Bearer «redacted short», another"}"#;
        assert_eq!(line, kept);
        let redactor = SecretRedactor::new(["token".to_owned(), "Token".to_owned()], Vec::new());
        let mut names =
            r#"{"token":"token","inputTokens":5,"protocolVersion":"my token","tokenX":1}"#
                .to_owned();
        redactor.event(&mut names);
        let kept = r#"{"token":"«redacted short»","inputTokens":5,"protocolVersion":"my «redacted short»","«redacted short»X":1}"#;
        assert_eq!(names, kept);
    }

    #[test]
    fn a_short_secret_is_removed_within_a_longer_word_of_a_frame() {
        let redactor = redactor(&["other"], &[]);
        let mut frame = r#"{"a":"x-other-y"}"#.to_owned();
        redactor.event(&mut frame);
        assert_eq!(frame, r#"{"a":"x-«redacted short»-y"}"#);
    }

    #[test]
    fn knows_the_secrets_of_a_handshake() {
        assert_eq!(secrets_of_header("authorization", " Bearer abcd"), ["Bearer abcd", "abcd"]);
        assert!(secrets_of_header("Host", "h").is_empty());
        assert_eq!(secrets_of_target("ws://h/p?a=b&tkn=c%2Fd#e"), ["c%2Fd"]);
        assert!(secrets_of_target("/p").is_empty());
    }

    #[test]
    fn numbers_what_a_pattern_matches() {
        let redactor = redactor(&[], &["user-[0-9]+", "\""]);
        let mut line = r#"{"user-1":"user-2","user-1x":["say \"user-2\"",2]}"#.to_owned();
        redactor.event(&mut line);
        assert_eq!(
            line,
            r#"{"«redacted 1»":"«redacted 2»","«redacted 1»x":["say «redacted 3»«redacted 2»«redacted 3»",2]}"#
        );
        assert_eq!(redactor.text("user-2!"), "«redacted 2»!");
    }

    #[test]
    fn a_pattern_keeps_the_words_of_the_harness() {
        let mut line =
            r#"{"message":"failed","proves":["a","b"],"run":"result","status":"fail"}"#.to_owned();
        redactor(&[], &["[a-z]+"]).object(&mut line);
        let kept =
            r#"{"message":"«redacted 1»","proves":["a","b"],"run":"result","status":"fail"}"#;
        assert_eq!(line, kept);
    }

    #[test]
    fn a_line_stays_json() {
        for pattern in [".*", "\"", "\\\\", "[{}:,]", ""] {
            let mut line = r#"{"dir":"c2s","msg":{"a\\":"b\"","c":[1,"",true]}}"#.to_owned();
            redactor(&[], &[pattern]).event(&mut line);
            let read = crate::transcript::line::read(&line);
            assert!(read.is_ok(), "{pattern}: {line}");
        }
        let mut cut = r#"{"a":"bcd"#.to_owned();
        redactor(&[], &["bcd"]).event(&mut cut);
        assert_eq!(cut, r#"{"a":"bcd"#);
    }
}
