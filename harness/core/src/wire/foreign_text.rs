//! Text that may come from outside: messages of a target, and text derived from them.
//!
//! A [`ForeignText`] has no `Display`. To show the text, the caller has to call the function for the place of output,
//! such as [`ForeignText::markdown`]. An invisible character, or a character that affects the text around it (a control
//! character, a change of direction, a zero-width character), is shown as its code point, such as `\u{202e}`.
//!
//! Start at [`ForeignText`]; [`shown`] is the escape function behind all others, for strings of mixed origin.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// Maximum length in characters of a string that is shown on one line. A longer string is cut off, and the output ends
/// with the number of omitted characters.
const LINE: usize = 2_000;
/// Maximum length in characters of a string that is shown on several lines.
const LINES: usize = 20_000;

/// The prefixes of commands to a CI service (such as a request to fail the job) that CI services recognise anywhere in
/// a line of a log.
const COMMANDS: [&str; 3] = ["##[", "##vso[", "##teamcity["];
/// The prefix of commands to a CI service that CI services recognise only at the beginning of a line, after any spaces.
const LEADING: &str = "::";

/// Text that may come from outside. The content can be shown only by the function for the place of output.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct ForeignText(String);

impl ForeignText {
    /// Returns the unchanged text, for comparison, search, or a JSON string. The result must never be shown.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text with `words` before it.
    #[must_use]
    pub fn after(&self, words: &str) -> ForeignText {
        ForeignText(format!("{words}{}", self.0))
    }

    /// Escapes the text for a terminal, a log or other plain text, on one line: line breaks are shown as code
    /// points.
    pub fn line(&self) -> String {
        shown(&beginning(&self.0, LINE), LineBreaks::Shown).into_owned()
    }

    /// Escapes the text as [`ForeignText::line`] does, but keeps line breaks.
    pub fn lines(&self) -> String {
        shown(&beginning(&self.0, LINES), LineBreaks::Kept).into_owned()
    }

    /// Escapes the text for an attribute, an element or a CDATA section of XML. The XML writer escapes `<`, `&` and
    /// quotes.
    pub fn xml(&self) -> String {
        xml(&self.lines())
    }

    /// Escapes the text for a message of SARIF: line breaks are kept, and no part of the text is a link.
    pub fn sarif(&self) -> String {
        self.lines().replace("](", "\\](")
    }

    /// Escapes the text for Markdown, on one line.
    pub fn markdown(&self) -> String {
        markdown(&self.line())
    }
}

impl From<String> for ForeignText {
    fn from(text: String) -> ForeignText {
        ForeignText(text)
    }
}

impl From<&str> for ForeignText {
    fn from(text: &str) -> ForeignText {
        ForeignText(text.to_owned())
    }
}

impl PartialEq<str> for ForeignText {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for ForeignText {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// The treatment of line breaks when text is escaped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineBreaks {
    /// Line breaks are shown as code points.
    Shown,
    /// Line breaks are kept.
    Kept,
}

/// Escapes text of any origin for a terminal or a log: no character affects the text around it, and no line is a
/// command of a CI service.
pub fn shown(text: &str, breaks: LineBreaks) -> Cow<'_, str> {
    let quiet = |letter: char| match letter {
        '\n' | '\t' => breaks == LineBreaks::Kept,
        ' '..='~' => true,
        letter => !is_hidden(letter),
    };
    let visible = if text.chars().all(quiet) {
        Cow::Borrowed(text)
    } else {
        let mut out = String::with_capacity(text.len() + 16);
        for letter in text.chars() {
            if quiet(letter) { out.push(letter) } else { code_point(&mut out, letter) }
        }
        Cow::Owned(out)
    };
    if has_command(&visible) { Cow::Owned(without_commands(&visible)) } else { visible }
}

/// Escapes text for XML: the result cannot end a CDATA section, and has only characters that XML permits.
pub fn xml(text: &str) -> String {
    shown(text, LineBreaks::Kept).replace("]]>", "]]\\u{3e}")
}

/// Escapes text, on one line, so that Markdown treats every character as plain text.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in shown(text, LineBreaks::Shown).chars() {
        if r"\`*_[]<>|#!&~$".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Makes JSON safe for a terminal and a log without changing its value. Hidden characters, and characters that are part
/// of a CI command, become JSON escapes.
pub fn json(text: &str) -> Cow<'_, str> {
    let kept = |letter: char| letter == '\n' || !is_hidden(letter);
    if text.chars().all(kept) && !has_command(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if kept(letter) {
            out.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    // A line of JSON never begins with a colon, so the prefix `LEADING` cannot occur.
    for command in COMMANDS {
        out = out.replace(command, &format!("#\\u0023{}", &command[2..]));
    }
    Cow::Owned(out)
}

/// Makes a quoted JSON string valid as YAML: every hidden character is escaped.
pub fn yaml(quoted: &str) -> Cow<'_, str> {
    if !quoted.chars().any(is_hidden) {
        return Cow::Borrowed(quoted);
    }
    let mut out = String::with_capacity(quoted.len() + 16);
    for letter in quoted.chars() {
        let _ = match u32::from(letter) {
            code @ ..=0xffff if is_hidden(letter) => write!(out, "\\u{code:04x}"),
            code if is_hidden(letter) => write!(out, "\\U{code:08x}"),
            _ => write!(out, "{letter}"),
        };
    }
    Cow::Owned(out)
}

/// Returns whether a character is invisible or affects the text around it. These characters include line breaks and
/// tabs.
pub fn is_hidden(letter: char) -> bool {
    if letter.is_ascii() {
        return letter.is_ascii_control();
    }
    // These are the noncharacters, two at the end of each plane.
    if u32::from(letter) & 0xfffe == 0xfffe {
        return true;
    }
    matches!(letter,
        '\u{80}'..='\u{9f}'
        // These are spaces that look like other characters or are invisible, and soft hyphens.
        | '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        // These are visible signs that Unicode classes as format characters, because they enclose what follows them.
        | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
        | '\u{110bd}' | '\u{110cd}'
        // These are spaces, zero-width characters, changes of direction, and line separators.
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
        | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Appends a character as its code point.
pub fn code_point(out: &mut String, letter: char) {
    let _ = write!(out, "\\u{{{:x}}}", u32::from(letter));
}

fn has_command(text: &str) -> bool {
    COMMANDS.iter().any(|command| text.contains(command))
        || text.lines().any(|line| line.trim_start().starts_with(LEADING))
}

/// Escapes one character of each command to a CI service, so that no CI service recognises the command.
fn without_commands(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let words = line.trim_start();
        let (indent, mut rest) = line.split_at(line.len() - words.len());
        out.push_str(indent);
        if rest.starts_with(LEADING) {
            code_point(&mut out, ':');
            rest = &rest[1..];
        }
        out.push_str(rest);
    }
    for command in COMMANDS {
        let mut broken = String::from("#");
        code_point(&mut broken, '#');
        broken.push_str(&command[2..]);
        out = out.replace(command, &broken);
    }
    out
}

/// Returns the first `most` characters of a string, with the number of omitted characters.
pub(crate) fn beginning(text: &str, most: usize) -> Cow<'_, str> {
    // A string never has more characters than bytes.
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => {
            let more = text[end..].chars().count();
            Cow::Owned(format!("{} … ({more} characters more)", &text[..end]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        ForeignText::from(text).line()
    }

    #[test]
    fn shows_invisible_characters() {
        for (text, expected) in [
            ("plain – text, naïve 日本", "plain – text, naïve 日本"),
            ("\u{1b}]0;t\u{7}", "\\u{1b}]0;t\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\u{202e}b\u{2066}\u{200b}\u{feff}", "a\\u{202e}b\\u{2066}\\u{200b}\\u{feff}"),
            ("a\u{85}b\u{2028}c\nd\re\tf", "a\\u{85}b\\u{2028}c\\u{a}d\\u{d}e\\u{9}f"),
            (
                "\u{0}\u{7f}\u{fffe}\u{10ffff}\u{e0041}",
                "\\u{0}\\u{7f}\\u{fffe}\\u{10ffff}\\u{e0041}",
            ),
            ("a\u{600}\u{8e2}\u{110bd}", "a\\u{600}\\u{8e2}\\u{110bd}"),
        ] {
            assert_eq!(line(text), expected);
        }
        assert_eq!(ForeignText::from("a\n\tb\r\n").lines(), "a\n\tb\\u{d}\n");
    }

    #[test]
    fn no_line_is_a_command_of_a_ci_service() {
        for text in ["::error::x", " \t::error::x", "x\n  ::error::x"] {
            let shown = ForeignText::from(text).lines();
            assert!(shown.lines().all(|line| !line.trim_start().starts_with("::")), "{shown}");
        }
        assert_eq!(line("::set-output"), "\\u{3a}:set-output");
        assert_eq!(line("a ##[error]b"), "a #\\u{23}[error]b");
        assert_eq!(line("##vso[x]##teamcity[y]"), "#\\u{23}vso[x]#\\u{23}teamcity[y]");
        assert_eq!(line("## Title, a::b"), "## Title, a::b");
        // An invisible character cannot hide a command.
        assert_eq!(line("#\u{200b}#[error]"), "#\\u{200b}#[error]");
    }

    #[test]
    fn cuts_a_long_text() {
        let long = ForeignText::from("é".repeat(LINE + 5));
        assert_eq!(long.line(), format!("{} … (5 characters more)", "é".repeat(LINE)));
        assert_eq!(long.lines(), long.raw());
    }

    #[test]
    fn json_keeps_its_value_and_shows_what_is_hidden() {
        let text = "\"a\u{9b}\u{e0041}##[error]é\"";
        assert_eq!(json(text), "\"a\\u009b\\udb40\\udc41#\\u0023[error]é\"");
        let (before, after): (String, String) =
            (serde_json::from_str(text).unwrap(), serde_json::from_str(&json(text)).unwrap());
        assert_eq!(before, after);
        assert_eq!(shown(&json(text), LineBreaks::Kept), json(text));
    }

    #[test]
    fn has_a_form_for_yaml() {
        assert_eq!(yaml("\"a\u{9b}\u{e0041}b\""), "\"a\\u009b\\U000e0041b\"");
        assert_eq!(yaml("\"ä\""), "\"ä\"");
    }

    #[test]
    fn has_a_form_for_xml_and_for_markdown() {
        assert_eq!(ForeignText::from("a]]><b>\u{fffe}\u{0}").xml(), "a]]\\u{3e}<b>\\u{fffe}\\u{0}");
        assert_eq!(ForeignText::from("<b>|`x`\n# y").markdown(), r"\<b\>\|\`x\`\\u{a}\# y");
    }
}
