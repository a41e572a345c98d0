//! The kill matrix of the suite for agents: it is played against the reference agent with one planted fault at a time.
//!
//! The rules are those of [`mutants`](super::mutants); only who is played differs, and how many rows there are.
//!
//! Knows: the reference agent, the simulation. Never knows: how a matrix is shown.
//!
//! Start at [`play_all`].

use crate::agent::acp::Config;
use crate::agent::acp::fault::{FAULTS, Fault, Faults};
use crate::host::Host;
use crate::host::subject::Subject;
use crate::verdict::Status;
use crate::wire::version::{Standard, Version};

use super::case::Setup;
use super::mutants::{Tripped, UNTESTED, covers, epoch};
use super::play::{Counting, Play, Verdict};
use super::sim;
use super::suite::{Entry, Suite};
use std::time::Duration;

/// One fault with what it must trip.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The fault.
    pub fault: Fault,
    /// Ids of checks and scenarios, as in [`mutants`](super::mutants).
    pub trips: &'static [&'static str],
}

/// Checks that no fault of an agent can trip, each with the reason.
pub const EXEMPT: &[(&str, &str)] =
    &[("acp.wire.harness", "it judges the harness's own messages, which no agent can spoil")];

/// Every id is made from this.
const SEED: u64 = 1;
/// How long a wait may take, in virtual time.
const LIMIT: Duration = Duration::from_secs(10);

/// What came of one row.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The fault.
    pub fault: Fault,
    /// Names of its row that nothing answered to.
    pub missed: Vec<&'static str>,
    /// What tripped and is not named.
    pub collateral: Vec<String>,
    /// Everything that tripped.
    pub tripped: Vec<String>,
}

/// The scenarios about agents.
pub fn playable(suite: &Suite) -> Vec<Entry> {
    let ours = |entry: &&Entry| entry.scenario.spec.standard() == Standard::Acp;
    suite.entries.iter().filter(ours).cloned().collect()
}

/// Plays one scenario against an agent in memory.
pub fn play_on(entry: &Entry, agent: &mut dyn Host) -> Verdict {
    let setup = Setup::of(&entry.scenario, Version::ACP_1, SEED, epoch(), LIMIT);
    let setup = Setup { side: sim::side(Some(Version::ACP_1)), ..setup };
    sim::play(Play::new(setup, false, Box::new(Counting::default())), agent)
}

/// Plays scenarios against the reference agent with these faults planted.
pub fn play(faults: &[Fault], entries: &[Entry]) -> Tripped {
    let mut tripped = Tripped::default();
    for entry in entries {
        let config = Config { faults: Faults::of(faults), ..Config::default() };
        tripped.add(entry, &play_on(entry, &mut Subject::new(config)), EXEMPT);
    }
    tripped
}

/// Plays all faults.
pub fn play_all(suite: &Suite) -> (Tripped, Vec<Outcome>) {
    let entries = playable(suite);
    let outcomes = FAULTS.iter().map(|row| outcome(row.fault, &play(&[row.fault], &entries)));
    (play(&[], &entries), outcomes.collect())
}

fn outcome(fault: Fault, tripped: &Tripped) -> Outcome {
    let row = ROWS.iter().find(|row| row.fault == fault);
    let named = row.map_or(&[][..], |row| row.trips);
    let names: Vec<String> = tripped.names().collect();
    let unmet = |name: &&&str| !names.iter().any(|tripped| covers(name, tripped));
    let missed = named.iter().filter(unmet).copied().collect();
    let other = |tripped: &&String| !named.iter().any(|name| covers(name, tripped));
    let collateral = names.iter().filter(other).cloned().collect();
    Outcome { fault, missed, collateral, tripped: names }
}

/// Whether a name of a row is about a scenario that could not be tested.
pub fn is_untested(name: &str) -> bool {
    name.starts_with(UNTESTED)
}

/// How a scenario against a null agent may end: with nothing that counts.
pub fn earns_nothing(verdict: &Verdict) -> bool {
    let check = |report: &crate::verdict::CheckReport| {
        report.observations > 0 && report.findings.is_empty()
    };
    verdict.status != Status::Pass && !verdict.checks.iter().any(check)
}

/// What each fault must trip, written before it was played.
pub const ROWS: &[Row] = &[
    Row { fault: Fault::Chatters, trips: &["acp.wire.only-messages"] },
    Row {
        fault: Fault::Batches,
        trips: &[
            "acp.wire.no-batches",
            "acp/turn/says-what-the-model-says",
            "acp/tools/*",
            "untested:acp/cancel/*",
            "acp.calls.*",
            "acp.permission.*",
        ],
    },
    Row { fault: Fault::Untagged, trips: &["acp.wire.envelope"] },
    Row {
        fault: Fault::ErrorCodesAreTexts,
        trips: &[
            "acp.wire.envelope",
            "acp/handshake/unknown-session",
            "acp/handshake/unknown-methods",
        ],
    },
    Row { fault: Fault::AnswersTwice, trips: &["acp.wire.answered-once"] },
    Row {
        fault: Fault::RequestIdsRepeat,
        trips: &["acp.wire.request-ids", "acp/*", "untested:acp/*", "acp/permission/two-at-a-time"],
    },
    Row { fault: Fault::OwnMethods, trips: &["acp.wire.method-names"] },
    Row { fault: Fault::OwnMembers, trips: &["acp.wire.no-custom-members"] },
    Row { fault: Fault::UnstableMembers, trips: &["acp.wire.stable-members"] },
    Row { fault: Fault::ChunksWithoutContent, trips: &["acp.wire.schema"] },
    Row { fault: Fault::NoTitle, trips: &["acp.calls.shape"] },
    Row { fault: Fault::UpdatesWithNumbers, trips: &["acp.calls.update-shape"] },
    Row { fault: Fault::OwnKinds, trips: &["acp.calls.kinds"] },
    Row {
        fault: Fault::OwnStatuses,
        trips: &["acp.calls.statuses", "acp.calls.end-with-turn", "acp/tools/failed-command"],
    },
    Row { fault: Fault::BareContent, trips: &["acp.calls.contents"] },
    Row { fault: Fault::DiffsWithoutText, trips: &["acp.calls.diffs"] },
    Row { fault: Fault::CallIdsRepeat, trips: &["acp.calls.unique-ids", "acp.calls.*"] },
    Row {
        fault: Fault::Unreported,
        trips: &[
            "acp.calls.reported",
            "acp.permission.after-report",
            "acp.calls.end-with-turn",
            "acp/tools/*",
            "untested:acp/cancel/*",
        ],
    },
    Row { fault: Fault::NamesChange, trips: &["acp.calls.name-kept"] },
    Row {
        fault: Fault::UpdatesFirst,
        trips: &["acp.calls.known", "acp.permission.after-report", "acp/tools/*"],
    },
    Row { fault: Fault::SkipsProgress, trips: &["acp.calls.in-progress", "untested:acp/cancel/*"] },
    Row {
        fault: Fault::ProgressBeforeApproval,
        trips: &["acp.calls.pending-until-approved", "acp.calls.transitions"],
    },
    Row { fault: Fault::Revives, trips: &["acp.calls.transitions"] },
    Row {
        fault: Fault::LeavesOpen,
        trips: &["acp.calls.end-with-turn", "acp/tools/failed-command"],
    },
    Row { fault: Fault::RelativePaths, trips: &["acp.content.absolute-paths"] },
    Row { fault: Fault::LinesFromZero, trips: &["acp.content.lines-from-one"] },
    Row { fault: Fault::OwnTerminals, trips: &["acp.content.known-terminals"] },
    Row { fault: Fault::EmbedsLate, trips: &["acp.terminals.embedded-before-release"] },
    Row { fault: Fault::NeverReleases, trips: &["acp.terminals.released"] },
    Row { fault: Fault::StrangeSession, trips: &["acp.permission.shape"] },
    Row { fault: Fault::OptionsWithoutNames, trips: &["acp.permission.options"] },
    Row { fault: Fault::PermissionFirst, trips: &["acp.permission.after-report", "acp.calls.*"] },
    Row {
        fault: Fault::NoOptions,
        trips: &["acp.permission.some-option", "untested:acp/*", "acp/*"],
    },
    Row { fault: Fault::OnlyAllow, trips: &["acp.permission.both-ways", "untested:acp/*"] },
    Row {
        fault: Fault::RunsWhileAsking,
        trips: &[
            "acp.permission.waits",
            "acp/permission/nothing-runs-while-it-waits",
            "acp/permission/*",
            "acp/cancel/*",
            "acp/tools/*",
            "acp.permission.denied",
            "acp/cancel/answered-first",
        ],
    },
    Row {
        fault: Fault::RunsDenied,
        trips: &[
            "acp.permission.denied",
            "acp/permission/reject-once-stops",
            "acp/permission/reject-always-stops",
            "acp/permission/cancelled-alone-stops",
            "acp/permission/unknown-option-stops",
            "acp/permission/error-stops",
            "acp/tools/write-rejected",
            "acp/tools/mcp-rejected",
        ],
    },
    Row {
        fault: Fault::EndsWhileAsking,
        trips: &[
            "acp.permission.answered-first",
            "acp.permission.*",
            "acp.calls.*",
            "acp.turns.*",
            "acp.terminals.*",
            "acp/*",
        ],
    },
    Row { fault: Fault::AsksOutside, trips: &["acp.permission.in-turn", "acp.permission.*"] },
    Row {
        fault: Fault::Forgets,
        trips: &["acp.permission.remembered", "acp/permission/allow-always-is-remembered"],
    },
    Row {
        fault: Fault::OwnStopReasons,
        trips: &[
            "acp.turns.stop-reasons",
            "acp/turn/prompt-is-answered",
            "acp/turn/two-turns",
            "acp/permission/allow-once-runs",
            "acp/permission/asks-as-the-protocol-says",
            "acp/tools/parallel-calls",
            "acp/tools/mcp-allowed",
            "acp/tools/read-is-reported",
            "acp/tools/read-where-the-client-offers-files",
            "acp.turns.cancelled",
            "acp/*",
        ],
    },
    Row {
        fault: Fault::EndTurnAfterCancel,
        trips: &[
            "acp.turns.cancelled",
            "acp/cancel/while-asked",
            "acp/cancel/while-asked-of-any-agent",
            "acp/cancel/while-the-model-streams",
            "acp/cancel/while-a-command-runs",
            "acp/cancel/while-a-terminal-runs",
            "acp/cancel/then-another-turn",
            "acp/tools/mcp-cancelled",
        ],
    },
    Row {
        fault: Fault::ErrorAfterCancel,
        trips: &[
            "acp.turns.no-abort-errors",
            "acp/cancel/of-a-request",
            "acp/cancel/*",
            "acp/tools/mcp-cancelled",
        ],
    },
    Row {
        fault: Fault::IgnoresCancel,
        trips: &[
            "acp.turns.cancel-answered",
            "acp.turns.cancelled",
            "acp/cancel/*",
            "acp/tools/mcp-cancelled",
        ],
    },
    Row { fault: Fault::LateUpdates, trips: &["acp.turns.no-late-updates"] },
    Row { fault: Fault::SaysCancelled, trips: &["acp.turns.cancelled-by-client", "acp/*"] },
    Row {
        fault: Fault::WorksOn,
        trips: &[
            "acp.turns.stops-work",
            "acp.permission.denied",
            "acp/tools/mcp-cancelled",
            "acp/cancel/while-asked",
            "acp/cancel/answered-first",
        ],
    },
    Row {
        fault: Fault::FilesUngated,
        trips: &[
            "acp.gates.fs",
            "acp/tools/write-where-the-client-offers-nothing",
            "acp/tools/write-shows-a-diff",
            "acp/tools/edit-changes-the-file",
            "acp/tools/write-*",
        ],
    },
    Row {
        fault: Fault::TerminalsUngated,
        trips: &[
            "acp.gates.terminal",
            "acp/tools/command-where-the-client-offers-nothing",
            "acp/tools/command-where-the-client-offers-files",
            "acp/*",
        ],
    },
    Row { fault: Fault::Elicits, trips: &["acp.gates.elicitation"] },
    Row { fault: Fault::NoticesUngated, trips: &["acp.gates.updates"] },
    Row {
        fault: Fault::EchoesVersion,
        trips: &["acp.handshake.version", "acp/handshake/version-that-nobody-speaks"],
    },
    Row { fault: Fault::NoPrompts, trips: &["acp.handshake.methods", "acp/*", "untested:acp/*"] },
    Row { fault: Fault::RefusesLinks, trips: &["acp/turn/links-are-taken"] },
    Row { fault: Fault::AnswersCancels, trips: &["acp.wire.answered-once"] },
    Row {
        fault: Fault::KeepsCancels,
        trips: &["acp/cancel/idle", "acp.turns.cancelled-by-client"],
    },
    Row { fault: Fault::SessionsRepeat, trips: &["acp/handshake/sessions-differ"] },
    Row { fault: Fault::SpeaksAnother, trips: &["acp/handshake/version-that-is-spoken"] },
    Row {
        fault: Fault::HangsWhenRejected,
        trips: &[
            "acp/permission/any-agent-goes-on-after-a-rejection",
            "acp/permission/reject-once-stops",
            "acp/permission/reject-always-stops",
            "acp/permission/cancelled-alone-stops",
            "acp/permission/unknown-option-stops",
            "acp/permission/error-stops",
            "acp/tools/write-rejected",
            "acp/tools/mcp-rejected",
        ],
    },
    Row {
        fault: Fault::WritesNothing,
        trips: &[
            "acp/tools/write-where-the-client-offers-everything",
            "acp/tools/write-where-the-client-offers-files",
            "acp/tools/write-where-the-client-offers-files-and-terminals",
        ],
    },
    Row {
        fault: Fault::RunsNothing,
        trips: &[
            "acp/tools/command-where-the-client-offers-everything",
            "acp/tools/command-where-the-client-offers-files-and-terminals",
            "acp/cancel/while-a-terminal-runs",
        ],
    },
    Row { fault: Fault::ServesAnything, trips: &["acp/handshake/unknown-methods"] },
];
