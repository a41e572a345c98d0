//! The fold over a transcript: reads entries, returns findings, and creates reports at the end.
//!
//! Knows: every family of checks. Never knows: the rules of the checks.
//!
//! Start at [`Oracle::observe`].

use std::sync::Arc;
use std::time::Duration;

use crate::transcript::{ConnId, TranscriptEntry};
use crate::verdict::{CheckReport, Finding};
use crate::wire::version::{ProtocolStandard, Version};

use super::acp;
use super::catalogue::{CHECKS, CheckRow};
use super::check::{CheckFamily, FindingSink};
use super::clients;
use super::context::OracleContext;
use super::step::{ENVELOPE, FOLDED, FOLDING, FRAME, OracleStep, RARE};
use super::{
    annotations, announcements, automations, catalog, changesets, customizations, given, handshake,
    identity, ids, internals, merging, owners, pending, progress, prompts, refusals, rollup,
    scalars, secrets, sessions, status,
};
use super::{
    causality, convergence, dispatch, fanout, jsonrpc, published, reconnect, removal, restarts,
    sequence, shape, side_channels, telemetry, terminals, tools, translation, turn_ids,
    turn_starts, turns, watches, windows,
};

/// The default value of [`OracleOptions::deadline`].
const DEADLINE: Duration = Duration::from_secs(10);

/// The party whose messages are judged.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum JudgedParty {
    /// The host in a conversation of AHP, or the agent in a conversation of ACP.
    #[default]
    Server,
    /// The clients in a conversation of AHP.
    Clients,
}

/// The facts about a transcript that its entries do not contain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OracleOptions {
    /// The version of connections whose handshake is missing from the transcript. If this is set, the
    /// transcript may also begin in the middle of a connection.
    pub assume_version: Option<Version>,
    /// Whether clients outside the transcript may be connected to the same host.
    pub foreign: bool,
    /// The time that the host may take to answer a request or to settle a dispatch.
    pub deadline: Duration,
    /// The protocol to which the transcript belongs.
    pub standard: ProtocolStandard,
    /// The party whose messages are judged. Conversations of ACP are judged by their agent only.
    pub party: JudgedParty,
    /// The largest possible error between the times of two connections.
    pub spread: Duration,
    /// Whether the transcript omits frames that are not JSON objects.
    pub objects_only: bool,
    /// Whether the client sends malformed messages on purpose. The client's own messages are not judged then.
    pub odd_client: bool,
}

impl OracleOptions {
    /// Returns the time after which an answer is certainly late: the deadline, plus the possible error of the times.
    pub(super) fn patience(&self) -> Duration {
        self.deadline + self.spread
    }
}

impl Default for OracleOptions {
    fn default() -> OracleOptions {
        OracleOptions {
            assume_version: None,
            foreign: false,
            deadline: DEADLINE,
            standard: ProtocolStandard::Ahp,
            party: JudgedParty::Server,
            spread: Duration::ZERO,
            objects_only: false,
            odd_client: false,
        }
    }
}

/// Returns the catalogue of checks for the host or agent of a protocol.
pub fn checks(standard: ProtocolStandard) -> &'static [CheckRow] {
    checks_of(standard, JudgedParty::Server)
}

/// Returns the catalogue of checks for a party of a protocol.
pub fn checks_of(standard: ProtocolStandard, party: JudgedParty) -> &'static [CheckRow] {
    match (standard, party) {
        (ProtocolStandard::Ahp, JudgedParty::Server) => CHECKS,
        (ProtocolStandard::Ahp, JudgedParty::Clients) => clients::CHECKS,
        (ProtocolStandard::Acp, JudgedParty::Server) => acp::CHECKS,
        // The only client of an agent is the harness, which is not judged.
        (ProtocolStandard::Acp, JudgedParty::Clients) => &[],
    }
}

/// Returns the checks of every party of every protocol.
pub fn all_checks() -> impl Iterator<Item = &'static CheckRow> {
    CHECKS.iter().chain(acp::CHECKS).chain(clients::CHECKS)
}

/// The judge of a transcript, which reads entry by entry.
pub struct Oracle {
    fold: ProtocolFold,
    sink: FindingSink,
}

/// The fold that reads the entries, by protocol.
enum ProtocolFold {
    Ahp(Box<CheckFamilies>),
    Clients(Box<clients::ClientFold>),
    Acp(Box<acp::AgentFold>),
}

/// The families of checks for AHP, and the state that they share.
struct CheckFamilies {
    context: OracleContext,
    /// The families, each with a bit mask of the frequent steps that the family handles.
    checks: Vec<(u8, Box<dyn CheckFamily + Send>)>,
}

impl Oracle {
    /// Creates an oracle without any entries.
    pub fn new(options: OracleOptions) -> Oracle {
        Oracle::of_client(options, None)
    }

    /// Creates an oracle without any entries. If the oracle judges clients, `only` selects the client that is judged,
    /// by its id or by the name of its connection; with `None`, every client is judged.
    pub fn of_client(options: OracleOptions, only: Option<&str>) -> Oracle {
        let fold = match (options.standard, options.party) {
            (ProtocolStandard::Ahp, JudgedParty::Server) => {
                ProtocolFold::Ahp(Box::new(CheckFamilies::new(options)))
            }
            (ProtocolStandard::Ahp, JudgedParty::Clients) => {
                ProtocolFold::Clients(Box::new(clients::ClientFold::new(options, only)))
            }
            (ProtocolStandard::Acp, _) => ProtocolFold::Acp(Box::new(acp::AgentFold::new(
                options.deadline,
                options.odd_client,
            ))),
        };
        Oracle { fold, sink: FindingSink::new(checks_of(options.standard, options.party)) }
    }

    /// Adds a secret, such as a token of the handshake. No later frame of the host may contain the secret.
    pub fn keep_secret(&mut self, secret: &str) {
        let ProtocolFold::Ahp(families) = &mut self.fold else { return };
        let known = &mut families.context.secrets;
        if let Some(form) = secrets::form(secret)
            && known.len() < secrets::MAX_SECRETS
            && !known.contains(&form)
        {
            known.push(form);
        }
    }

    /// Sets the name of a connection for messages.
    pub fn name_connection(&mut self, conn: ConnId, name: &str) {
        match &mut self.fold {
            ProtocolFold::Ahp(families) => {
                families.context.names.insert(conn, Arc::from(name));
            }
            ProtocolFold::Clients(fold) => fold.name_connection(conn, name),
            ProtocolFold::Acp(_) => {}
        }
    }

    /// Reads the next entry, and returns the findings that it proves. The reports contain the same findings, up
    /// to the upper bound for each check.
    pub fn observe(&mut self, entry: &TranscriptEntry) -> Vec<Finding> {
        let Oracle { fold, sink } = self;
        match fold {
            ProtocolFold::Ahp(families) => {
                let CheckFamilies { context, checks } = &mut **families;
                context.observe(entry, &mut |cx, step| tell(checks, cx, step, sink));
            }
            ProtocolFold::Clients(fold) => fold.observe(entry, sink),
            ProtocolFold::Acp(fold) => fold.observe(entry, sink),
        }
        sink.take_fresh()
    }

    /// Judges what can be judged only at the end, and returns a report for every row of the protocol's
    /// [`checks`], in their order.
    pub fn finish(self) -> Vec<CheckReport> {
        self.finish_with_findings().0
    }

    /// Does the same as [`Oracle::finish`], and also returns the findings that only the end of the transcript proves,
    /// including repetitions.
    pub fn finish_with_findings(self) -> (Vec<CheckReport>, Vec<Finding>) {
        let Oracle { fold, mut sink } = self;
        match fold {
            ProtocolFold::Ahp(families) => families.finish(&mut sink),
            ProtocolFold::Clients(fold) => fold.finish(&mut sink),
            ProtocolFold::Acp(fold) => fold.finish(&mut sink),
        }
        let fresh = sink.take_fresh();
        (sink.into_reports(), fresh)
    }
}

impl CheckFamilies {
    fn new(options: OracleOptions) -> CheckFamilies {
        CheckFamilies {
            context: OracleContext::new(options),
            checks: vec![
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
                (FRAME | ENVELOPE, Box::new(secrets::SecretChecks::default())),
                (ENVELOPE, Box::new(internals::InternalsChecks)),
                (FRAME, Box::new(published::PublishedChecks::default())),
                (ENVELOPE, Box::new(telemetry::TelemetryChecks::default())),
                (ENVELOPE, Box::new(reconnect::ReconnectChecks::default())),
                (ENVELOPE, Box::new(restarts::RestartChecks::default())),
                (FOLDING, Box::new(translation::TranslationChecks::default())),
                (FOLDING, Box::<prompts::PromptChecks>::default()),
            ],
        }
    }

    fn finish(self, sink: &mut FindingSink) {
        let CheckFamilies { mut context, mut checks } = self;
        context.finish(&mut |cx, step| tell(&mut checks, cx, step, sink));
        sink.counts(context.counts(true));
        for (_, check) in &mut checks {
            check.finish(&context, sink);
        }
    }
}

/// Passes a step to the families that handle it. Most families handle only one or two of the frequent steps,
/// although each frame causes several steps.
#[inline]
fn tell(
    checks: &mut [(u8, Box<dyn CheckFamily + Send>)],
    cx: &OracleContext,
    step: &OracleStep<'_>,
    sink: &mut FindingSink,
) {
    sink.counts(cx.counts(false));
    let kind = step.frequency();
    for (wanted, check) in checks {
        if kind == RARE || *wanted & kind != 0 {
            check.step(cx, step, sink);
        }
    }
}
