//! Converts the ledgers to tables in the binary, so that the program parses no ledger when it starts.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Returns the ledgers of all versions as Rust code, newest first.
pub(crate) fn tables(folder: &Path) -> io::Result<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    let mut ledgers = Vec::new();
    for path in files {
        println!("cargo::rerun-if-changed={}", path.display());
        let text = std::fs::read_to_string(&path)?;
        let wrong = |(at, message): LedgerMistake| {
            let line = text[..at].lines().count().max(1);
            io::Error::other(format!("{}:{line}: {message}", path.display()))
        };
        ledgers.extend(ledgers_of(&text).map_err(wrong)?);
    }
    ledgers.sort_by_key(|(spec, _)| std::cmp::Reverse(*spec));
    let rows: Vec<&str> = ledgers.iter().map(|(_, rows)| rows.as_str()).collect();
    Ok(format!("&[\n{}]\n", rows.concat()))
}

/// A mistake in a ledger: its byte offset and its description.
type LedgerMistake = (usize, String);
type LedgerNode<'a> = Spanned<DeValue<'a>>;

/// Converts a file of requirements. Returns one ledger, as Rust code, for each version that `ledgers` lists.
fn ledgers_of(text: &str) -> Result<Vec<([u64; 3], String)>, LedgerMistake> {
    let file = DeTable::parse(text)
        .map_err(|error| (error.span().map_or(0, |span| span.start), error.message().to_owned()))?;
    let file = LedgerRow { at: 0, members: file.get_ref(), older: None };
    file.only(&["ledgers", "arguments", "reasons", "requirement"])?;
    let (arguments, reasons) = (file.texts_of("arguments")?, file.texts_of("reasons")?);
    let rows = file.tables("requirement")?;
    let mut last = "";
    for row in &rows {
        row.only(MEMBERS)?;
        let id = row.text("id")?;
        if id <= last {
            let message = format!("`{id}` does not come after `{last}`: rows are sorted by id");
            return Err((row.at, message));
        }
        last = id;
    }
    let specs = file.list("ledgers")?.iter().map(version).collect::<Result<Vec<_>, _>>()?;
    for row in &rows {
        let mut held = false;
        for spec in &specs {
            held |= row.at_version(*spec)?.holds_in(*spec)?;
        }
        if !held {
            let message = "the requirement holds in none of the versions of `ledgers`";
            return Err((row.at, message.to_owned()));
        }
    }
    let mut ledgers = Vec::new();
    for spec in specs {
        let mut out = format!("RequirementLedger {{ version: {}, rows: &[\n", version_code(spec));
        for row in &rows {
            let row = row.at_version(spec)?;
            if row.holds_in(spec)? {
                requirement(&row, &arguments, &reasons, &mut out)?;
            }
        }
        out.push_str("] },\n");
        ledgers.push((spec, out));
    }
    Ok(ledgers)
}

const MEMBERS: &[&str] = &[
    "id",
    "weight",
    "severity",
    "party",
    "since",
    "until",
    "source",
    "statement",
    "argument",
    "reducers",
    "needs",
    "observed",
    "excluded",
    "when",
    "breach",
    "older",
];

/// The members of an entry of `older`. `through` is the last version to which the entry applies; the other members
/// replace the members of the row with the same names.
const OLDER_MEMBERS: &[&str] =
    &["through", "severity", "since", "source", "statement", "reducers", "excluded"];

fn requirement(
    row: &LedgerRow<'_>,
    arguments: &[(&str, &str)],
    reasons: &[(&str, &str)],
    out: &mut String,
) -> Result<(), LedgerMistake> {
    let weight = row.one_of("weight", &["note", "should", "essential", "must"])?;
    let argument = row.named("argument", arguments)?;
    if argument.is_some() != (weight == "essential") {
        let message = "an essential rule has an argument, and no other has";
        return Err((row.at, message.to_owned()));
    }
    let excluded = row.named("excluded", reasons)?;
    let observed = row.get("observed").map(|_| row.text("observed")).transpose()?;
    let needs = match (observed, row.get("needs")) {
        (Some(_), Some(_)) => Some(capital(row.one_of("needs", &["capture", "host", "driver"])?)),
        (None, None) => None,
        _ => return Err((row.at, "`needs` and `observed` come together".to_owned())),
    };
    let observation = observed.zip(needs).map(|(by, needs)| {
        format!("ClientObservation {{ needs: ObservationNeed::{needs}, by: {by:?} }}")
    });
    let observation = observation.map_or_else(|| "None".to_owned(), |it| format!("Some({it})"));
    let when = row.get("when").map(|_| row.text("when")).transpose()?;
    let breach = match row.get("breach") {
        Some(_) => capital(row.one_of("breach", &["silence", "content"])?),
        None => "Outcome".to_owned(),
    };
    let until = row.get("until").map(version).transpose()?.map(version_code);
    let reducers = match row.get("reducers") {
        None => Vec::new(),
        Some(_) => {
            let texts = row.list("reducers")?.iter().map(|item| item.get_ref().as_str()).collect();
            let texts: Option<Vec<&str>> = texts;
            texts.ok_or_else(|| (row.at, "`reducers` is no list of texts".to_owned()))?
        }
    };
    let _ = writeln!(
        out,
        "Requirement {{ id: {:?}, weight: Weight::{}, severity: RequirementSeverity::{}, party: BoundParty::{}, \
         since: {}, until: {}, source: {:?}, statement: {:?}, argument: {argument:?}, \
         reducers: &{reducers:?}, excluded: {excluded:?}, \
         observation: {observation}, when: {when:?}, breach: BreachKind::{breach} }},",
        row.text("id")?,
        capital(weight),
        capital(row.one_of("severity", &["low", "medium", "high", "critical"])?),
        capital(row.one_of("party", &["host", "client", "reducer", "agent"])?),
        version_code(version(row.need("since")?)?),
        until.map_or_else(|| "None".to_owned(), |until| format!("Some({until})")),
        row.text("source")?,
        row.text("statement")?,
    );
    Ok(())
}

/// A table of the file. The members of `older`, if present, replace the members of the table with the same names.
struct LedgerRow<'a> {
    at: usize,
    members: &'a DeTable<'a>,
    older: Option<&'a DeTable<'a>>,
}

impl<'a> LedgerRow<'a> {
    fn only(&self, names: &[&str]) -> Result<(), LedgerMistake> {
        let unknown = self.members.keys().find(|key| !names.contains(&key.get_ref().as_ref()));
        let wrong = |key: &Spanned<toml::de::DeString<'_>>| {
            (key.span().start, format!("there is no member `{}`", key.get_ref()))
        };
        unknown.map_or(Ok(()), |key| Err(wrong(key)))
    }

    /// Returns the row for a version. The first entry of `older` that applies to the version replaces members of
    /// the row.
    fn at_version(&self, spec: [u64; 3]) -> Result<LedgerRow<'a>, LedgerMistake> {
        let mut row = LedgerRow { at: self.at, members: self.members, older: None };
        if self.get("older").is_none() {
            return Ok(row);
        }
        let mut last = [0; 3];
        for entry in self.tables("older")? {
            entry.only(OLDER_MEMBERS)?;
            let through = version(entry.need("through")?)?;
            if through <= last {
                return Err((entry.at, "entries of `older` are sorted by `through`".to_owned()));
            }
            last = through;
            if row.older.is_none() && spec <= through {
                row.older = Some(entry.members);
            }
        }
        Ok(row)
    }

    /// Returns whether the requirement holds in a version.
    fn holds_in(&self, spec: [u64; 3]) -> Result<bool, LedgerMistake> {
        let since = version(self.need("since")?)?;
        let until = self.get("until").map(version).transpose()?;
        Ok(since <= spec && until.is_none_or(|until| spec <= until))
    }

    fn get(&self, name: &str) -> Option<&'a LedgerNode<'a>> {
        self.older.and_then(|older| older.get(name)).or_else(|| self.members.get(name))
    }

    fn need(&self, name: &str) -> Result<&'a LedgerNode<'a>, LedgerMistake> {
        self.get(name).ok_or_else(|| (self.at, format!("`{name}` is missing")))
    }

    fn list(&self, name: &str) -> Result<&'a [LedgerNode<'a>], LedgerMistake> {
        let node = self.need(name)?;
        let items = node.get_ref().as_array().map(|items| &**items);
        items.ok_or_else(|| (node.span().start, format!("expected `{name}` to be a list")))
    }

    fn tables(&self, name: &str) -> Result<Vec<LedgerRow<'a>>, LedgerMistake> {
        let table = |node: &'a LedgerNode<'a>| {
            let at = node.span().start;
            let members = node.get_ref().as_table().ok_or((at, "expected a table".to_owned()))?;
            Ok(LedgerRow { at, members, older: None })
        };
        self.list(name)?.iter().map(table).collect()
    }

    fn text(&self, name: &str) -> Result<&'a str, LedgerMistake> {
        let value = self.need(name)?;
        let text = value.get_ref().as_str().filter(|text| !text.is_empty());
        text.ok_or_else(|| (value.span().start, format!("expected `{name}` to be a text")))
    }

    fn one_of(&self, name: &str, words: &[&str]) -> Result<&'a str, LedgerMistake> {
        let word = self.text(name)?;
        let known = words.contains(&word).then_some(word);
        known.ok_or_else(|| {
            (
                self.at,
                format!("expected `{name}` to be one of {}, found `{word}`", words.join(", ")),
            )
        })
    }

    /// Returns the text that a member refers to by name.
    fn named<'b>(
        &self,
        name: &str,
        texts: &[(&str, &'b str)],
    ) -> Result<Option<&'b str>, LedgerMistake> {
        if self.get(name).is_none() {
            return Ok(None);
        }
        let wanted = self.text(name)?;
        let found = texts.iter().find(|(name, _)| *name == wanted).map(|(_, text)| *text);
        let wrong = || (self.at, format!("there is no text `{wanted}` for `{name}`"));
        found.map(Some).ok_or_else(wrong)
    }

    /// Returns a table of texts.
    fn texts_of(&self, name: &str) -> Result<Vec<(&'a str, &'a str)>, LedgerMistake> {
        let table = self.need(name)?;
        let at = table.span().start;
        let members = table.get_ref().as_table().ok_or((at, format!("`{name}` is no table")))?;
        let row = LedgerRow { at, members, older: None };
        let names = members.keys().map(|key| key.get_ref().as_ref());
        names.map(|name| Ok((name, row.text(name)?))).collect()
    }
}

/// The only version of ACP. In the order from newest to oldest, this version sorts after all versions of AHP.
const ACP_1: (&str, [u64; 3]) = ("acp-1", [0, 0, 0]);

fn version(node: &LedgerNode<'_>) -> Result<[u64; 3], LedgerMistake> {
    let text = node.get_ref().as_str().unwrap_or_default();
    // The first protocol version is a single number, and is older than all versions of three numbers.
    if text == "1" {
        return Ok([0, 0, u64::MAX]);
    }
    if text == ACP_1.0 {
        return Ok(ACP_1.1);
    }
    let numbers: Option<Vec<u64>> = text.split('.').map(|part| part.parse().ok()).collect();
    let numbers = numbers.and_then(|numbers| numbers.try_into().ok());
    numbers.ok_or_else(|| (node.span().start, format!("expected a version, found `{text}`")))
}

fn version_code(version: [u64; 3]) -> String {
    if version == ACP_1.1 {
        return "Version::ACP_1".to_owned();
    }
    let [major, minor, patch] = version;
    format!("Version::new({major}, {minor}, {patch})")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
