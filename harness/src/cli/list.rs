//! `ahp-harness list`: what there is to choose from.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::agent::acp::fault as acp;
use crate::agent::acp::variant::AGENT_VARIANTS;
use crate::host::fault::FAULTS;
use crate::host::variant::VARIANTS;
use crate::ledger::Ledger;
use crate::oracle::all_checks;
use crate::report::event::Header;
use crate::report::summary::word;
use crate::run::plan::Planned;
use crate::scenario::render;
use crate::scenario::verbs::VERBS;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::context::Context;
use super::exit::{Code, Outcome};
use super::files;

/// Lists what there is to choose from, one a line: the name, then what it is.
#[derive(Args, Debug)]
pub struct List {
    /// What to list
    #[arg(default_value = "scenarios")]
    what: What,
    /// Scenario files and folders; the suite that the binary carries unless given
    #[arg(long)]
    path: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    Scenarios,
    Checks,
    Requirements,
    Faults,
    Variants,
    Steps,
    Versions,
}

impl List {
    pub(super) fn main(self, context: &Context) -> Outcome {
        let mut out = String::new();
        match self.what {
            What::Scenarios => {
                for entry in files::suite(&self.path)?.entries {
                    let scenario = &entry.scenario;
                    let _ = writeln!(
                        out,
                        "{:<48} {:<6} {}",
                        scenario.id, scenario.profile, scenario.title
                    );
                }
            }
            What::Checks => {
                for row in all_checks() {
                    let _ = writeln!(out, "{:<36} {:<10} {}", row.id, word(row.weight), row.doc);
                }
            }
            What::Requirements => {
                for row in Ledger::newest().iter().chain(Ledger::of(Version::ACP_1).iter()) {
                    let _ =
                        writeln!(out, "{:<52} {:<10} {}", row.id, word(row.weight), row.statement);
                }
            }
            What::Variants => {
                let hosts = VARIANTS.iter().map(|row| (row.name, row.does));
                let agents = AGENT_VARIANTS.iter().map(|row| (row.name, row.does));
                for (name, does) in hosts.chain(agents) {
                    let _ = writeln!(out, "{name:<36} {does}");
                }
            }
            What::Faults => {
                let agents = acp::FAULTS.iter().map(|row| (row.name, row.doc));
                let hosts = FAULTS.iter().map(|row| (row.name, row.doc));
                for (name, doc) in hosts.chain(agents) {
                    let _ = writeln!(out, "{name:<36} {doc}");
                }
            }
            What::Steps => {
                for row in VERBS {
                    let _ = writeln!(out, "{:<12} {}", row.name, row.doc);
                }
            }
            What::Versions => {
                for version in Protocol::all_played().iter().chain([&Version::ACP_1]) {
                    let Some(protocol) = Protocol::of(*version) else {
                        continue;
                    };
                    let (methods, actions) =
                        (protocol.methods().count(), protocol.actions().count());
                    let _ = writeln!(
                        out,
                        "{:<7} {methods} methods, {actions} actions",
                        version.to_string()
                    );
                }
            }
        }
        context.say(&out);
        Ok(Code::Ok)
    }
}

/// What a run would do, for `run --dry-run`.
pub(super) fn dry_run(header: &Header, planned: &[Planned]) -> String {
    let played = planned.iter().filter(|planned| planned.skip.is_none()).count();
    let shard = header.shard.as_ref().map(|shard| format!(" of shard {shard}")).unwrap_or_default();
    let mut out = format!(
        "{played} of {} scenarios{shard} would be played against {} at protocol {}; nothing was sent\n",
        planned.len(),
        header.target.line(),
        header.version
    );
    for Planned { entry, skip, .. } in planned {
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
