//! The rules: one family of checks per file, and the list of the families.
//!
//! A new family needs two lines here: its `mod`, and its entry in [`families`].
//!
//! Knows: every family of checks. Never knows: the rules of the checks.
//!
//! Start at [`families`].

mod annotations;
mod announcements;
mod automations;
mod catalog;
mod causality;
mod changesets;
mod convergence;
mod customizations;
mod dispatch;
mod fanout;
mod given;
mod handshake;
mod identity;
mod ids;
mod internals;
mod jsonrpc;
mod merging;
mod owners;
mod pending;
mod progress;
mod prompts;
mod published;
mod reconnect;
mod refusals;
mod removal;
mod restart_content;
mod restarts;
mod rollup;
mod scalars;
mod secrecy;
mod sequence;
mod sessions;
mod shape;
mod side_channels;
mod status;
mod telemetry;
mod terminals;
mod tools;
mod translation;
mod turn_ids;
mod turn_starts;
mod turns;
mod watches;
mod windows;

use super::check::CheckFamily;
use super::step::{ENVELOPE, FOLDED, FOLDING, FRAME, RARE};

/// Families of checks, each with a bit mask of the frequent steps that the family handles.
pub(super) type RuleFamilies = Vec<(u8, Box<dyn CheckFamily + Send>)>;

/// Returns the families of checks for hosts.
pub(super) fn families() -> RuleFamilies {
    vec![
        (FRAME, Box::new(shape::ShapeChecks)),
        (FRAME, Box::new(jsonrpc::JsonRpc::default())),
        (RARE, Box::new(handshake::HandshakeChecks::default())),
        (FRAME, Box::new(refusals::RefusalChecks::default())),
        (RARE, Box::new(given::StatesGiven)),
        (ENVELOPE, Box::new(ids::IdChecks)),
        (FRAME | FOLDING, Box::new(announcements::AnnouncementChecks::default())),
        (ENVELOPE, Box::new(sequence::SequenceChecks)),
        (ENVELOPE, Box::new(fanout::FanoutChecks::default())),
        (FRAME | ENVELOPE, Box::new(removal::RemovalChecks::default())),
        (FRAME | ENVELOPE, Box::new(dispatch::DispatchChecks::default())),
        (ENVELOPE, Box::new(causality::CausalityChecks::default())),
        (FOLDED, Box::new(convergence::ConvergenceChecks)),
        (ENVELOPE | FOLDED, Box::<merging::MergeChecks>::default()),
        (FOLDING, Box::new(turns::TurnChecks::default())),
        (FOLDING, Box::new(turn_ids::TurnIds::default())),
        (FRAME | FOLDING, Box::new(turn_starts::TurnStarts::default())),
        (FOLDING | FOLDED, Box::new(tools::ToolDecisionChecks::default())),
        (FOLDING, Box::new(owners::OwnerChecks::default())),
        (ENVELOPE, Box::new(status::StatusChecks)),
        (FOLDING | FOLDED, Box::<rollup::RollupChecks>::default()),
        (FOLDING | FOLDED, Box::<catalog::CatalogChecks>::default()),
        (FRAME, Box::new(sessions::SessionListChecks::default())),
        (ENVELOPE | FOLDING, Box::new(identity::IdentityChecks::default())),
        (FOLDING, Box::new(pending::PendingChecks::default())),
        (FOLDING, Box::new(terminals::TerminalChecks::default())),
        (FRAME, Box::new(progress::ProgressChecks::default())),
        (FOLDING, Box::new(changesets::ChangesetChecks::default())),
        (FOLDING, Box::new(annotations::AnnotationChecks::default())),
        (FOLDING, Box::new(watches::WatchChecks::default())),
        (FOLDING, Box::new(automations::AutomationChecks::default())),
        (FOLDED, Box::new(customizations::CustomizationChecks)),
        (FOLDED, Box::new(side_channels::SideChannels)),
        (FOLDING, Box::new(windows::WindowChecks)),
        (ENVELOPE, Box::new(scalars::ScalarChecks)),
        (FRAME | ENVELOPE, Box::new(secrecy::SecretChecks::default())),
        (ENVELOPE, Box::new(internals::InternalsChecks)),
        (FRAME, Box::new(published::PublishedChecks::default())),
        (ENVELOPE, Box::new(telemetry::TelemetryChecks::default())),
        (ENVELOPE, Box::new(reconnect::ReconnectChecks::default())),
        (ENVELOPE, Box::new(restarts::RestartChecks::default())),
        (FOLDING, Box::new(translation::TranslationChecks::default())),
        (FOLDING, Box::<prompts::PromptChecks>::default()),
    ]
}
