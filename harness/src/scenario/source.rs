//! Where something stands in a file, and the mistakes that are drawn there.

use std::sync::Arc;

/// A range of bytes in a source.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SourceSpan {
    /// Number of the file among those of its scenario: 0 is the scenario itself.
    pub file: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A file that a scenario is made of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceFile {
    /// The path as the user gave it, or as an include names it from there.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
}

impl SourceFile {
    /// Makes a source of a name and a text.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> SourceFile {
        SourceFile { name: name.into(), text: text.into() }
    }

    /// Line and column of a byte, both counted from 1, columns in characters.
    pub fn position(&self, byte: u32) -> (usize, usize) {
        let end = (byte as usize).min(self.text.len());
        let before = self.text.get(..end).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..).map_or(0, |text| text.chars().count());
        (before.matches('\n').count() + 1, column + 1)
    }
}

/// A mistake in a scenario file: the author's to fix, found before anything is sent.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct ScenarioError {
    /// Where it is.
    pub span: SourceSpan,
    /// What it is.
    pub kind: ScenarioErrorKind,
}

/// What can be wrong with a scenario file.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ScenarioErrorKind {
    /// The text is not YAML.
    #[error("not readable as YAML: {0}")]
    Yaml(String),
    /// The file could not be read.
    #[error("`{path}` could not be read: {reason}")]
    Unreadable {
        /// The path.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// A feature of YAML that other tools read differently.
    #[error("{what} are not part of the scenario language\n(hint: {hint})")]
    Forbidden {
        /// What was used, in the plural.
        what: &'static str,
        /// What to do instead.
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
    /// The same key twice in one mapping.
    #[error("`{key}` is given twice\n(hint: remove one)")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A key that the mapping does not have.
    #[error("{owner} has no `{key}`\n(hint: {hint})")]
    UnknownKey {
        /// What the mapping is, such as "`expect`".
        owner: String,
        /// The key.
        key: String,
        /// A similar key, or the list of keys.
        hint: String,
    },
    /// A member that has to be there and is not.
    #[error("{owner} needs `{key}`: {doc}")]
    MissingKey {
        /// What the mapping is.
        owner: String,
        /// The member.
        key: String,
        /// What it says.
        doc: String,
    },
    /// A value of the wrong form.
    #[error("expected {expected}, found {found}")]
    WrongForm {
        /// What belongs there, with an example.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A duration without a unit.
    #[error("expected a duration with a unit, found `{found}`\n(hint: write `{found}ms`)")]
    DurationWithoutUnit {
        /// The text.
        found: String,
    },
    /// `${new name}` in a pattern, where no id is minted.
    #[error(
        "expected a bound name in a pattern, found `${{new {name}}}`\n(hint: mint it where \
         something is sent, or bind what comes with `$bind {name}`)"
    )]
    MintedInPattern {
        /// The name.
        name: String,
    },
    /// `${name}` is used before a step binds it.
    #[error("`${{{name}}}` is not bound by an earlier step\n(hint: bound so far: {bound})")]
    Unbound {
        /// The name.
        name: String,
        /// What is bound there.
        bound: String,
    },
    /// A client that `clients` does not list.
    #[error("no client is called `{name}`\n(hint: `clients` lists {known})")]
    UnknownClient {
        /// The name.
        name: String,
        /// The clients there are.
        known: String,
    },
    /// A requirement that the ledger does not have.
    #[error("no requirement is called `{id}`\n(hint: {hint})")]
    UnknownRequirement {
        /// The id.
        id: String,
        /// A similar id, or how to list them.
        hint: String,
    },
    /// An operator that patterns do not have.
    #[error("`{name}` is no operator\n(hint: {hint}; write `$$` for a literal `$`)")]
    UnknownOperator {
        /// The operator.
        name: String,
        /// A similar one, or all of them.
        hint: String,
    },
    /// Members that exclude one another.
    #[error("`{first}` and `{second}` cannot both be wanted\n(hint: make it two steps)")]
    Exclusive {
        /// The first member.
        first: &'static str,
        /// The second member.
        second: &'static str,
    },
    /// A scenario that tests no requirement.
    #[error(
        "no step of this scenario says what it proves, so it could not fail\n(hint: add `proves: ID` to the step that tests the requirement, for example an `expect`, a `snapshot` or an expected response)"
    )]
    ExpectsNothing,
    /// A step that proves something and that no host can make fail.
    #[error(
        "this `{verb}` waits for nothing that the host could get wrong, so it cannot prove anything\n(hint: give the expected result, or put `proves` on the step that checks it)"
    )]
    CannotFail {
        /// The verb.
        verb: &'static str,
    },
    /// A message that the scenario writes out is not what the tables of the protocol say.
    #[error("expected {expected} at `{path}` by AHP {version}, found {found}\n(hint: {hint})")]
    Deviation {
        /// Where in the message, such as `action.turnId`.
        path: String,
        /// What the tables say.
        expected: String,
        /// What stands there.
        found: String,
        /// The version of the tables.
        version: String,
        /// What to do about it.
        hint: String,
    },
    /// A deviation that a step means to make and does not.
    #[error(
        "nothing at `{path}` deviates from AHP {version}\n(hint: remove it from `deviates`)"
    )]
    NoDeviation {
        /// The path.
        path: String,
        /// The version of the tables.
        version: String,
    },
    /// `never` without a barrier after it would hold for no time at all.
    #[error(
        "nothing ends this `never`\n(hint: add a `barrier` after it, up to which nothing may come)"
    )]
    NeverWithoutBarrier,
    /// Two scenarios of one name.
    #[error("another scenario is called `{id}` too: {other}")]
    DuplicateScenario {
        /// The id.
        id: String,
        /// The other file.
        other: String,
    },
    /// The name of a scenario does not match its path.
    #[error(
        "the scenario has the id `{id}`, but its file gives `{path}`\n(hint: the last two parts of the path are the id)"
    )]
    MisplacedScenario {
        /// The id.
        id: String,
        /// What the path would make it.
        path: String,
    },
    /// An include that includes itself.
    #[error("`{path}` includes itself, by way of {chain}")]
    IncludeCycle {
        /// The file.
        path: String,
        /// The files in between.
        chain: String,
    },
    /// A mistake in a vector file that no other kind names.
    #[error("{message}\n(hint: {hint})")]
    Vector {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// The agent script has a mistake.
    #[error("the agent script has a mistake: {0}")]
    AgentScript(String),
    /// A regular expression has a mistake.
    #[error("`{pattern}` is no regular expression: {reason}")]
    BadRegex {
        /// The expression.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The closest of `known` to `name`, if it is close enough to be meant.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// More names than this are no help in a sentence.
const MANY: usize = 30;

/// A hint for a name that is not among `known`: the closest one, or all of them.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    match closest(name, known.iter().copied()) {
        Some(close) => format!("did you mean `{close}`?"),
        None if known.len() > MANY => {
            format!("there are {}, `ahp-harness list` names them", known.len())
        }
        None => format!("there are {}", list(known)),
    }
}

/// Names for a sentence: "`a`, `b`", or "none".
pub fn list(names: &[&str]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
