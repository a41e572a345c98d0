//! Defines the options that several commands share, and the parsers of their values.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::agent::script::EXTRAS;
use crate::fault::FaultKind;
use crate::peer::reference::fault::Fault as ClientFault;
use crate::report::console::ConsoleDetail;
use crate::report::judged_subject::JudgedSubject;
use crate::report::summary::word;
use crate::run::settings::HostSetting;
use crate::scenario::parse::read_duration;
use crate::scenario::source::{closest, did_you_mean};
use crate::verdict::{FailOn, Weight};
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

/// A report to write: its kind and its file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ReportOption {
    /// JUnit.
    Junit(PathBuf),
    /// The whole run as JSON lines.
    Jsonl(PathBuf),
}

/// A report of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RunReport {
    /// A report of a format that other commands also write.
    Shared(ReportOption),
    /// The conversations as connection logs in this folder.
    AhpLog(PathBuf),
    /// The findings as SARIF.
    Sarif(PathBuf),
}

/// Parses the name of an ability that some test providers do not have.
pub fn script_ability(name: &str) -> Result<&'static str, String> {
    let names: Vec<&'static str> = EXTRAS.iter().map(|extra| extra.name).collect();
    names.iter().find(|known| **known == name).copied().ok_or_else(|| did_you_mean(name, &names))
}

/// Parses `KIND=FILE` for a run.
pub fn run_report(text: &str) -> Result<RunReport, String> {
    match text.split_once('=') {
        Some(("ahp-log", folder)) if !folder.is_empty() => Ok(RunReport::AhpLog(folder.into())),
        Some(("sarif", file)) if !file.is_empty() => Ok(RunReport::Sarif(file.into())),
        _ => report(text).map(RunReport::Shared).map_err(|error| {
            error.replace("`junit` or `jsonl`", "`junit`, `jsonl`, `sarif` or `ahp-log`")
        }),
    }
}

/// Parses `KIND=FILE`.
pub fn report(text: &str) -> Result<ReportOption, String> {
    match text.split_once('=') {
        Some((_, "")) | None => Err("expected KIND=FILE, such as `junit=report.xml`".to_owned()),
        Some(("junit", file)) => Ok(ReportOption::Junit(file.into())),
        Some(("jsonl", file)) => Ok(ReportOption::Jsonl(file.into())),
        Some((kind, _)) => Err(format!("expected the kind `junit` or `jsonl`, found `{kind}`")),
    }
}

/// The options that select which party of a conversation is judged.
#[derive(Args, Clone, Debug, Default)]
pub struct SubjectOption {
    /// The party to judge: host or clients
    #[arg(
        long = "of",
        value_name = "PARTY",
        value_enum,
        default_value_t,
        help_heading = "Judging"
    )]
    party: PartyName,
    /// Judge only this client: its clientId, or the name of its connection in the capture
    #[arg(long, value_name = "NAME", help_heading = "Judging")]
    client: Option<String>,
}

/// A party on the command line.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
enum PartyName {
    // These are comments and not doc comments, because clap would then print the help of every option as a paragraph.
    // The host, or the agent.
    #[default]
    Host,
    // The clients that connect to the host.
    Clients,
}

impl SubjectOption {
    /// Returns the party.
    ///
    /// # Errors
    /// Returns an error message if a client is named, but the host is judged.
    pub fn subject(&self) -> Result<JudgedSubject, String> {
        match (self.party, &self.client) {
            (PartyName::Host, Some(_)) => Err("`--client` needs `--of clients`".to_owned()),
            (PartyName::Host, None) => Ok(JudgedSubject::default()),
            (PartyName::Clients, client) => Ok(JudgedSubject::clients(client.clone())),
        }
    }
}

/// The minimum weight at which a broken rule makes a run fail.
#[derive(Args, Clone, Debug, Default)]
pub struct FailureThreshold {
    /// Fail the run for broken rules of this weight or a greater weight: note, should or must; `must` includes
    /// essential rules [default: must]
    #[arg(long, value_name = "WEIGHT", value_parser = fail_on, help_heading = "Judging")]
    fail_on: Option<FailOn>,
    /// Same as `--fail-on should`
    #[arg(long, conflicts_with = "fail_on", help_heading = "Judging")]
    strict: bool,
}

impl FailureThreshold {
    /// Returns the threshold.
    pub fn fail_on(&self) -> FailOn {
        let usual = if self.strict { FailOn::Should } else { FailOn::default() };
        self.fail_on.unwrap_or(usual)
    }
}

fn fail_on(text: &str) -> Result<FailOn, String> {
    let found = FailOn::ALL.iter().find(|(word, _)| *word == text).map(|(_, found)| *found);
    found.ok_or_else(|| format!("expected `note`, `should` or `must`, found `{text}`"))
}

/// Parses the amount of detail that the console prints.
pub fn format(text: &str) -> Result<ConsoleDetail, String> {
    match text {
        "brief" => Ok(ConsoleDetail::Brief),
        "full" => Ok(ConsoleDetail::Full),
        "json" => Ok(ConsoleDetail::Json),
        _ => Err(format!("expected `brief`, `full` or `json`, found `{text}`")),
    }
}

/// Parses a duration: a number with a unit, or minutes and seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let found = match text.split_once('m') {
        Some((minutes, seconds)) if seconds.starts_with(|c: char| c.is_ascii_digit()) => {
            let minutes = read_duration(&format!("{minutes}m"));
            minutes.zip(read_duration(seconds)).and_then(|(one, other)| one.checked_add(other))
        }
        _ => read_duration(text),
    };
    let found = found.filter(|duration| !duration.is_zero());
    found.ok_or_else(|| "expected a duration such as `500ms`, `2s` or `9m30s`".to_owned())
}

/// Parses a protocol version that the harness supports.
pub fn version(text: &str) -> Result<Version, String> {
    let version: Version = text.parse().map_err(|error| format!("{error}"))?;
    if Protocol::of(version).is_some() {
        return Ok(version);
    }
    let known = Version::listed(Version::played());
    Err(format!("expected a version that the harness plays, one of {known}"))
}

/// The versions that a run tests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SpecOption {
    /// One version.
    One(Version),
    /// Every version that the host supports.
    All,
}

impl SpecOption {
    /// Returns the version; `None` for all versions.
    pub fn one(self) -> Option<Version> {
        match self {
            SpecOption::One(version) => Some(version),
            SpecOption::All => None,
        }
    }
}

/// Parses a protocol version that the harness supports, or `all`.
pub fn spec(text: &str) -> Result<SpecOption, String> {
    match text {
        "all" => Ok(SpecOption::All),
        _ => version(text).map(SpecOption::One),
    }
}

/// Reads the name of an injected fault of the reference client.
pub fn client_fault(name: &str) -> Result<ClientFault, String> {
    ClientFault::by_name(name).ok_or_else(|| {
        let names = ClientFault::ALL.iter().map(|row| row.name);
        let hint =
            closest(name, names).map_or(String::new(), |it| format!(", did you mean `{it}`?"));
        format!("there is no fault of this name{hint}")
    })
}

/// Parses the name of an injected fault.
pub fn fault<F: FaultKind>(text: &str) -> Result<F, String> {
    let names: Vec<_> = F::ALL.iter().map(|row| row.name).collect();
    F::named(text).ok_or_else(|| {
        format!("no fault is called `{text}` (hint: {})", did_you_mean(text, &names))
    })
}

/// Parses a hexadecimal number.
pub fn hex(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|error| format!("expected hexadecimal digits: {error}"))
}

/// Parses a weight.
pub fn weight(text: &str) -> Result<Weight, String> {
    let all = [Weight::Note, Weight::Should, Weight::Essential, Weight::Must];
    let found = all.into_iter().find(|weight| word(*weight).eq_ignore_ascii_case(text));
    found.ok_or_else(|| "expected one of note, should, essential, must".to_owned())
}

/// Parses `Name: value`.
pub fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected `Name: value`".to_owned()),
    }
}

/// Parses `KEY=JSON`.
pub fn setting(text: &str) -> Result<HostSetting, String> {
    let example = "such as `automationsEnabled=true`";
    let (key, value) = text
        .split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .ok_or_else(|| format!("expected KEY=JSON, {example}"))?;
    let value = Value::read(value).map_err(|error| {
        format!("expected JSON after `{key}=`, {example}: {error} (hint: a string needs quotes)")
    })?;
    Ok(HostSetting { key: key.to_owned(), value })
}

/// Parses `RESOURCE=TOKEN`. A token may contain `=`, as Base64 text does.
pub fn credential(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((resource, token)) if !resource.is_empty() => {
            Ok((resource.to_owned(), token.to_owned()))
        }
        _ => Err("expected RESOURCE=TOKEN".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_may_have_minutes_and_seconds() {
        let check = |text: &str, expected: Option<Duration>| {
            assert_eq!(duration(text).ok(), expected, "{text}");
        };
        check("500ms", Some(Duration::from_millis(500)));
        check("9m30s", Some(Duration::from_secs(570)));
        check("30m", Some(Duration::from_secs(1800)));
        for wrong in ["", "0s", "5", "9m30", "m30s", "1m2m3s", "18446744073709551615m1s"] {
            check(wrong, None);
        }
    }
}
