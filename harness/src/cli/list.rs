//! `ahp-harness list`: lists the names of scenarios, checks, requirements, faults, variants and versions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::agent::acp::fault as acp;
use crate::agent::acp::variant::AGENT_VARIANTS;
use crate::host::fault::FAULTS;
use crate::host::variant::VARIANTS;
use crate::ledger::RequirementLedger;
use crate::oracle::all_checks;
use crate::report::event::RunHeader;
use crate::report::summary::word;
use crate::run::plan::PlannedScenario;
use crate::scenario::capability::CAPABILITIES;
use crate::scenario::pattern::OPERATORS;
use crate::scenario::render;
use crate::scenario::verbs::VERBS;
use crate::wire::protocol::{DispatchRight, MethodKind, Protocol, ProtocolMethod};
use crate::wire::version::Version;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;

/// Lists names with a description, one per line.
#[derive(Args, Debug)]
pub struct ListArguments {
    /// What to list
    #[arg(default_value = "scenarios")]
    what: ListSubject,
    /// Scenario files and folders [default: the built-in suite]
    #[arg(long)]
    path: Vec<PathBuf>,
    /// The output format: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ListFormat,
}

/// The output format of `list`, `explain` and `diff`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum ListFormat {
    Text,
    Json,
}

/// A name with its description.
struct ListedName {
    name: String,
    kind: String,
    text: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ListSubject {
    Scenarios,
    Checks,
    Requirements,
    Faults,
    Variants,
    Steps,
    Operators,
    Tags,
    Actions,
    Methods,
    Capabilities,
    Versions,
}

impl ListArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let rows = self.rows()?;
        let text = match self.format {
            ListFormat::Json => {
                let row = |ListedName { name, kind, text }: ListedName| json!({"name": name, "kind": kind, "text": text});
                format!("{:#}\n", rows.into_iter().map(row).collect::<Value>())
            }
            ListFormat::Text => {
                let longest = |of: fn(&ListedName) -> usize, most: usize| {
                    rows.iter().map(of).max().unwrap_or(0).min(most)
                };
                let (name, kind) =
                    (longest(|row| row.name.len(), 52), longest(|row| row.kind.len(), 10));
                let line = |row: &ListedName| match kind {
                    0 => format!("{:<name$} {}\n", row.name, row.text),
                    _ => format!("{:<name$} {:<kind$} {}\n", row.name, row.kind, row.text),
                };
                rows.iter().map(line).collect()
            }
        };
        context.say(&text);
        Ok(CommandExit::Ok)
    }

    fn rows(&self) -> Result<Vec<ListedName>, CommandStop> {
        let row = |name: &str, kind: &str, text: &str| ListedName {
            name: name.to_owned(),
            kind: kind.to_owned(),
            text: text.to_owned(),
        };
        Ok(match self.what {
            ListSubject::Scenarios => {
                let suite = files::suite(&self.path)?;
                let scenarios = suite.entries.iter().map(|entry| &entry.scenario);
                scenarios.map(|it| row(&it.id, &it.profile, &it.title)).collect()
            }
            ListSubject::Checks => {
                all_checks().map(|it| row(it.id, word(it.weight), it.doc)).collect()
            }
            ListSubject::Requirements => {
                let all = RequirementLedger::newest()
                    .iter()
                    .chain(RequirementLedger::of(Version::ACP_1).iter());
                all.map(|it| row(it.id, word(it.weight), it.statement)).collect()
            }
            ListSubject::Variants => {
                let hosts = VARIANTS.iter().map(|it| row(it.name, "host", it.does));
                hosts
                    .chain(AGENT_VARIANTS.iter().map(|it| row(it.name, "agent", it.does)))
                    .collect()
            }
            ListSubject::Faults => {
                let agents = acp::FAULTS.iter().map(|it| row(it.name, "agent", it.doc));
                FAULTS.iter().map(|it| row(it.name, "host", it.doc)).chain(agents).collect()
            }
            ListSubject::Steps => VERBS.iter().map(|it| row(it.name, "", it.doc)).collect(),
            ListSubject::Operators => OPERATORS.iter().map(|it| row(it.name, "", it.doc)).collect(),
            ListSubject::Tags => {
                let suite = files::suite(&self.path)?;
                let mut tags: BTreeMap<String, usize> = BTreeMap::new();
                for tag in suite.entries.iter().flat_map(|entry| &entry.scenario.tags) {
                    *tags.entry(tag.clone()).or_default() += 1;
                }
                tags.iter()
                    .map(|(tag, count)| row(tag, "", &format!("{count} scenarios")))
                    .collect()
            }
            ListSubject::Actions => {
                let all = newest().flat_map(Protocol::actions);
                all.map(|it| row(&it.action_type, it.channel.family(), right(it.dispatch)))
                    .collect()
            }
            ListSubject::Methods => {
                let all = newest().flat_map(Protocol::methods);
                all.map(|it| row(&it.name, kind(it.kind), sender(it))).collect()
            }
            ListSubject::Capabilities => {
                CAPABILITIES.iter().map(|it| row(it.name, "", &it.shown.to_string())).collect()
            }
            ListSubject::Versions => {
                let counted = |protocol: &Protocol| {
                    let (methods, actions) =
                        (protocol.methods().count(), protocol.actions().count());
                    let text = format!("{methods} methods, {actions} actions");
                    row(&protocol.version().to_string(), "", &text)
                };
                Protocol::all().chain([Protocol::acp()]).map(counted).collect()
            }
        })
    }
}

/// Returns the newest protocol tables for hosts, and the protocol tables for agents.
fn newest() -> impl Iterator<Item = &'static Protocol> {
    [Protocol::newest(), Protocol::acp()].into_iter()
}

/// Returns who may dispatch an action.
pub(super) fn right(right: DispatchRight) -> &'static str {
    match right {
        DispatchRight::Client => "dispatched by clients and the host",
        DispatchRight::Host => "dispatched by the host alone",
        DispatchRight::Disputed => {
            "dispatched by the host; whether clients may dispatch it is disputed"
        }
    }
}

/// Returns who sends a method.
pub(super) fn sender(row: &ProtocolMethod) -> &'static str {
    match (row.from_client, row.from_host) {
        (true, true) => "sent by either side",
        (true, false) => "sent by clients",
        _ => "sent by the host",
    }
}

/// Returns the kind of a method as one word.
pub(super) fn kind(kind: MethodKind) -> &'static str {
    match kind {
        MethodKind::Request => "request",
        MethodKind::Notification => "notification",
    }
}

/// Prints what a run would play and send, for `run --dry-run`.
pub(super) fn dry_run(header: &RunHeader, planned: &[PlannedScenario]) -> String {
    let played = planned.iter().filter(|planned| planned.skip.is_none()).count();
    let shard = header.shard.as_ref().map(|shard| format!(" of shard {shard}")).unwrap_or_default();
    let mut out = format!(
        "{played} of {} scenarios{shard} would be played against {} at protocol {}; nothing was sent\n",
        planned.len(),
        header.target.line(),
        header.version
    );
    for PlannedScenario { entry, skip, .. } in planned {
        let scenario = &entry.scenario;
        match skip {
            Some(reason) => {
                let _ = writeln!(out, "\n{}: skipped, {reason}", scenario.id);
            }
            None => {
                let _ = writeln!(out, "\n{}: {}", scenario.id, scenario.title);
                for line in render::text(scenario).lines() {
                    let _ = writeln!(out, "  {line}");
                }
            }
        }
    }
    out
}
