//! Places in source files, and the mistakes that refer to these places.

use std::sync::Arc;

/// A range of bytes in one of the source files of a scenario.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SourceSpan {
    /// The index of the file among the sources of its scenario: 0 is the scenario itself.
    pub file: u32,
    /// The first byte.
    pub start: u32,
    /// The byte after the last byte of the range.
    pub end: u32,
}

/// One of the files of a scenario.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceFile {
    /// The path that the user gave, or the resolved path of an `include`.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
}

impl SourceFile {
    /// Makes a source file from a name and its content.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> SourceFile {
        SourceFile { name: name.into(), text: text.into() }
    }

    /// Returns the line and the column of a byte, both from 1. Columns count characters.
    pub fn position(&self, byte: u32) -> (usize, usize) {
        let end = (byte as usize).min(self.text.len());
        let before = self.text.get(..end).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..).map_or(0, |text| text.chars().count());
        (before.matches('\n').count() + 1, column + 1)
    }
}

/// A mistake in a scenario file, found before the scenario is played. The author must fix the mistake.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct ScenarioError {
    /// The place of the mistake.
    pub span: SourceSpan,
    /// The kind of mistake.
    pub kind: ScenarioErrorKind,
}

/// A kind of mistake in a scenario file.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ScenarioErrorKind {
    /// The file is not YAML.
    #[error("not readable as YAML: {0}")]
    Yaml(String),
    /// An unreadable file.
    #[error("`{path}` could not be read: {reason}")]
    Unreadable {
        /// The path.
        path: String,
        /// The error of the operating system.
        reason: String,
    },
    /// A feature of YAML that scenario files may not use, because YAML parsers disagree about its meaning.
    #[error("{what} are not part of the scenario language\n(hint: {hint})")]
    Forbidden {
        /// The feature, in the plural.
        what: &'static str,
        /// The advice for the author.
        hint: &'static str,
    },
    /// A word that YAML 1.1 tools read as a boolean.
    #[error(
        "`{word}` is a boolean to some YAML tools and a word to others\n(hint: write `\"{word}\"`, or `true` or `false`)"
    )]
    BooleanWord {
        /// The word.
        word: String,
    },
    /// A key that occurs twice in one mapping.
    #[error("`{key}` is given twice\n(hint: remove one)")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A key that the table of the mapping does not contain.
    #[error("{owner} has no `{key}`\n(hint: {hint})")]
    UnknownKey {
        /// The mapping, such as "`expect`".
        owner: String,
        /// The unknown key.
        key: String,
        /// A similar key, or the list of keys.
        hint: String,
    },
    /// A required member that is missing.
    #[error("{owner} needs `{key}`: {doc}")]
    MissingKey {
        /// The mapping, such as "`expect`".
        owner: String,
        /// The member.
        key: String,
        /// The description of the member.
        doc: String,
    },
    /// A value of the wrong form.
    #[error("expected {expected}, found {found}")]
    WrongForm {
        /// The expected form, with an example.
        expected: String,
        /// The value found.
        found: String,
    },
    /// A duration without a unit.
    #[error("expected a duration with a unit, found `{found}`\n(hint: write `{found}ms`)")]
    DurationWithoutUnit {
        /// The duration's text.
        found: String,
    },
    /// `${new name}` in a pattern, which cannot make a fresh identifier.
    #[error(
        "expected a bound name in a pattern, found `${{new {name}}}`\n(hint: create it in a step that sends something, \
         or bind a received value with `$bind {name}`)"
    )]
    MintedInPattern {
        /// The name.
        name: String,
    },
    /// A `${name}` that no earlier step binds.
    #[error("`${{{name}}}` is not bound by an earlier step\n(hint: bound so far: {bound})")]
    Unbound {
        /// The name.
        name: String,
        /// The names that are bound at this place.
        bound: String,
    },
    /// A client that `clients` does not list.
    #[error("no client is called `{name}`\n(hint: `clients` lists {known})")]
    UnknownClient {
        /// The name.
        name: String,
        /// The known clients.
        known: String,
    },
    /// A requirement that the ledger does not contain.
    #[error("no requirement is called `{id}`\n(hint: {hint})")]
    UnknownRequirement {
        /// The identifier of the requirement.
        id: String,
        /// A similar identifier, or the command that lists all identifiers.
        hint: String,
    },
    /// An operator that does not exist.
    #[error("`{name}` is no operator\n(hint: {hint}; write `$$` for a literal `$`)")]
    UnknownOperator {
        /// The operator.
        name: String,
        /// The most similar operator, or a list of all operators if none is similar.
        hint: String,
    },
    /// Two members that exclude each other.
    #[error("`{first}` and `{second}` cannot both be expected\n(hint: make it two steps)")]
    Exclusive {
        /// The first member.
        first: &'static str,
        /// The second member.
        second: &'static str,
    },
    /// A scenario in which no step names a requirement.
    #[error(
        "no step of this scenario has `proves`, so the scenario could not fail\n(hint: add `proves: ID` to the step \
            that tests the requirement, for example an `expect`, a `snapshot` or an expected response)"
    )]
    ExpectsNothing,
    /// A step with `proves` that no behaviour of the host can make fail.
    #[error(
        "this `{verb}` waits for nothing that the host could do wrong, so the step cannot prove anything\n(hint: give the expected result, or put `proves` on the step that checks it)"
    )]
    CannotFail {
        /// The verb.
        verb: &'static str,
    },
    /// A message in the scenario that deviates from the tables of the protocol.
    #[error("expected {expected} at `{path}` by AHP {version}, found {found}\n(hint: {hint})")]
    Deviation {
        /// The path in the message, such as `action.turnId`.
        path: String,
        /// The expected value, from the tables.
        expected: String,
        /// The value found.
        found: String,
        /// The version of the tables.
        version: String,
        /// The advice for the author.
        hint: String,
    },
    /// A `deviates` path at which the message does not deviate.
    #[error("nothing at `{path}` deviates from AHP {version}\n(hint: remove it from `deviates`)")]
    NoDeviation {
        /// The path.
        path: String,
        /// The version of the tables.
        version: String,
    },
    /// A `never` without a later barrier, which would have no effect.
    #[error(
        "nothing ends this `never`\n(hint: add a `barrier` after it, which ends the time in which nothing may come)"
    )]
    NeverWithoutBarrier,
    /// A second scenario with the identifier of another scenario.
    #[error("another scenario has the same id `{id}`: {other}")]
    DuplicateScenario {
        /// The identifier of the scenario.
        id: String,
        /// The other file with this identifier.
        other: String,
    },
    /// A scenario whose identifier does not match its path.
    #[error(
        "the scenario has the id `{id}`, but the path of its file without the extension is `{path}`\n(hint: the last two parts of the path are the id)"
    )]
    MisplacedScenario {
        /// The identifier of the scenario.
        id: String,
        /// The identifier that would match the path.
        path: String,
    },
    /// A file that includes itself, directly or through other files.
    #[error("`{path}` includes itself, through {chain}")]
    IncludeCycle {
        /// The file.
        path: String,
        /// The files in between.
        chain: String,
    },
    /// A mistake in a vector file for which no other kind exists.
    #[error("{message}\n(hint: {hint})")]
    Vector {
        /// The description of the mistake.
        message: String,
        /// The advice for the author.
        hint: &'static str,
    },
    /// A mistake in the agent script.
    #[error("the agent script has a mistake: {0}")]
    AgentScript(String),
    /// An invalid regular expression.
    #[error("`{pattern}` is no regular expression: {reason}")]
    BadRegex {
        /// The expression.
        pattern: String,
        /// The error of the parser.
        reason: String,
    },
}

/// Returns the entry of `known` that is most similar to `name`; `None` if no entry is similar enough.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The maximum number of names that a hint lists.
const MANY: usize = 30;

/// Returns a hint for an unknown name: the most similar known name, or all known names.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    match closest(name, known.iter().copied()) {
        Some(close) => format!("did you mean `{close}`?"),
        None if known.len() > MANY => {
            format!("there are {} (hint: `ahp-harness list --help`)", known.len())
        }
        None => format!("there are {}", list(known)),
    }
}

/// Formats names for a sentence, such as "`a`, `b`"; "none" if there are no names.
pub fn list(names: &[&str]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
