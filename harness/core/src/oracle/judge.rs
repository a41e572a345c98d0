//! The fold over a transcript: entries in, findings out, reports at the end.
//!
//! Knows: every family of checks. Never knows: what they look for.
//!
//! Start at [`Oracle::observe`].

use std::sync::Arc;
use std::time::Duration;

use crate::transcript::{ConnId, Entry};
use crate::verdict::{CheckReport, Finding};
use crate::wire::version::{Standard, Version};

use super::acp;
use super::catalogue::{CHECKS, CheckRow};
use super::check::{Check, Sink};
use super::context::Context;
use super::step::{ENVELOPE, FOLDED, FOLDING, FRAME, RARE, Step};
use super::{
    annotations, announcements, automations, catalog, changesets, customizations, given, handshake,
    identity, ids, internals, merging, owners, pending, progress, refusals, rollup, scalars,
    secrets, sessions, status,
};
use super::{
    causality, convergence, dispatch, fanout, jsonrpc, published, reconnect, removal, sequence,
    shape, side_channels, telemetry, terminals, tools, translation, turn_ids, turn_starts, turns,
    watches, windows,
};

/// How long a host may take when nobody says otherwise.
const DEADLINE: Duration = Duration::from_secs(10);

/// What a transcript cannot say about itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    /// The version of connections whose handshake is not in the transcript. Its presence also says
    /// that the transcript may begin in the middle of a connection.
    pub assume_version: Option<Version>,
    /// Clients that are not in the transcript may be connected to the same host.
    pub foreign: bool,
    /// How long the host may take to answer a request or to settle a dispatch.
    pub deadline: Duration,
    /// Which protocol the transcript is of.
    pub standard: Standard,
    /// By how much the times of two connections may be wrong with respect to each other.
    pub spread: Duration,
    /// Frames that are no JSON objects are not in the transcript.
    pub objects_only: bool,
    /// Some messages of the clients are odd on purpose: the client's own messages are not judged.
    pub odd_client: bool,
}

impl Options {
    /// How long it has to take until something is late beyond doubt.
    pub(super) fn patience(&self) -> Duration {
        self.deadline + self.spread
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            assume_version: None,
            foreign: false,
            deadline: DEADLINE,
            standard: Standard::Ahp,
            spread: Duration::ZERO,
            objects_only: false,
            odd_client: false,
        }
    }
}

/// The always-on checks of a protocol.
pub fn checks(standard: Standard) -> &'static [CheckRow] {
    match standard {
        Standard::Ahp => CHECKS,
        Standard::Acp => acp::CHECKS,
    }
}

/// The always-on checks of every protocol.
pub fn all_checks() -> impl Iterator<Item = &'static CheckRow> {
    CHECKS.iter().chain(acp::CHECKS)
}

/// Judges a transcript, entry by entry.
pub struct Oracle {
    fold: Fold,
    sink: Sink,
}

/// What is told the entries, by the protocol that they are of.
enum Fold {
    Ahp(Box<Families>),
    Acp(Box<acp::Fold>),
}

/// The checks of AHP, and what they share.
struct Families {
    context: Context,
    /// The families, each with the frequent steps that it looks at.
    checks: Vec<(u8, Box<dyn Check + Send>)>,
}

impl Oracle {
    /// An oracle that has seen nothing yet.
    pub fn new(options: Options) -> Oracle {
        let fold = match options.standard {
            Standard::Ahp => Fold::Ahp(Box::new(Families::new(options))),
            Standard::Acp => {
                Fold::Acp(Box::new(acp::Fold::new(options.deadline, options.odd_client)))
            }
        };
        Oracle { fold, sink: Sink::new(checks(options.standard)) }
    }

    /// Says what no frame of the host may contain from here on, such as a token of the handshake.
    pub fn keep_secret(&mut self, secret: &str) {
        let Fold::Ahp(families) = &mut self.fold else { return };
        let known = &mut families.context.secrets;
        if let Some(form) = secrets::form(secret)
            && known.len() < secrets::MAX_SECRETS
            && !known.contains(&form)
        {
            known.push(form);
        }
    }

    /// Says what a connection is called in messages.
    pub fn name_connection(&mut self, conn: ConnId, name: &str) {
        let Fold::Ahp(families) = &mut self.fold else { return };
        families.context.names.insert(conn, Arc::from(name));
    }

    /// Takes in the next entry and returns what it proves wrong. The same findings are in the
    /// reports, up to a bound.
    pub fn observe(&mut self, entry: &Entry) -> Vec<Finding> {
        let Oracle { fold, sink } = self;
        match fold {
            Fold::Ahp(families) => {
                let Families { context, checks } = &mut **families;
                context.observe(entry, &mut |cx, step| tell(checks, cx, step, sink));
            }
            Fold::Acp(fold) => fold.observe(entry, sink),
        }
        sink.take_fresh()
    }

    /// Judges what only the end can prove and returns a report for every row of the protocol's
    /// [`checks`], in their order.
    pub fn finish(self) -> Vec<CheckReport> {
        self.finish_with_findings().0
    }

    /// The same, and what only the end has proved wrong, each time that it was.
    pub fn finish_with_findings(self) -> (Vec<CheckReport>, Vec<Finding>) {
        let Oracle { fold, mut sink } = self;
        match fold {
            Fold::Ahp(families) => families.finish(&mut sink),
            Fold::Acp(fold) => fold.finish(&mut sink),
        }
        let fresh = sink.take_fresh();
        (sink.into_reports(), fresh)
    }
}

impl Families {
    fn new(options: Options) -> Families {
        Families {
            context: Context::new(options),
            checks: vec![
                (FRAME, Box::new(shape::Shapes)),
                (FRAME, Box::new(jsonrpc::JsonRpc::default())),
                (RARE, Box::new(handshake::Handshakes::default())),
                (FRAME, Box::new(refusals::Refusals::default())),
                (RARE, Box::new(given::StatesGiven)),
                (ENVELOPE, Box::new(ids::Ids)),
                (FRAME | FOLDING, Box::new(announcements::Announcements::default())),
                (ENVELOPE, Box::new(sequence::Sequence)),
                (ENVELOPE, Box::new(fanout::Fanout::default())),
                (FRAME | ENVELOPE, Box::new(removal::Removal::default())),
                (FRAME | ENVELOPE, Box::new(dispatch::Dispatches::default())),
                (ENVELOPE, Box::new(causality::Causality::default())),
                (FOLDED, Box::new(convergence::Convergence)),
                (ENVELOPE | FOLDED, Box::<merging::Merging>::default()),
                (FOLDING, Box::new(turns::Turns::default())),
                (FOLDING, Box::new(turn_ids::TurnIds::default())),
                (FRAME | FOLDING, Box::new(turn_starts::TurnStarts::default())),
                (FOLDING | FOLDED, Box::new(tools::Tools::default())),
                (FOLDING, Box::new(owners::Owners::default())),
                (ENVELOPE, Box::new(status::Statuses)),
                (FOLDING | FOLDED, Box::<rollup::Rollup>::default()),
                (FOLDING | FOLDED, Box::<catalog::Catalog>::default()),
                (FRAME, Box::new(sessions::Sessions::default())),
                (ENVELOPE | FOLDING, Box::new(identity::Identity::default())),
                (FOLDING, Box::new(pending::Pending::default())),
                (FOLDING, Box::new(terminals::Terminals::default())),
                (FRAME, Box::new(progress::Progress::default())),
                (FOLDING, Box::new(changesets::Changesets::default())),
                (FOLDING, Box::new(annotations::Annotations::default())),
                (FOLDING, Box::new(watches::Watches::default())),
                (FOLDING, Box::new(automations::Automations::default())),
                (FOLDED, Box::new(customizations::Customizations)),
                (FOLDED, Box::new(side_channels::SideChannels)),
                (FOLDING, Box::new(windows::Windows)),
                (ENVELOPE, Box::new(scalars::Scalars)),
                (FRAME | ENVELOPE, Box::new(secrets::Secrets::default())),
                (ENVELOPE, Box::new(internals::Internals)),
                (FRAME, Box::new(published::Published::default())),
                (ENVELOPE, Box::new(telemetry::Telemetry::default())),
                (ENVELOPE, Box::new(reconnect::Reconnect::default())),
                (FOLDING, Box::new(translation::Translation::default())),
            ],
        }
    }

    fn finish(self, sink: &mut Sink) {
        let Families { mut context, mut checks } = self;
        context.finish(&mut |cx, step| tell(&mut checks, cx, step, sink));
        sink.counts(context.counts(true));
        for (_, check) in &mut checks {
            check.finish(&context, sink);
        }
    }
}

/// Tells a step to the families that look at it. Most look at one of the frequent steps or two, and a
/// frame brings all of them.
#[inline]
fn tell(
    checks: &mut [(u8, Box<dyn Check + Send>)],
    cx: &Context,
    step: &Step<'_>,
    sink: &mut Sink,
) {
    sink.counts(cx.counts(false));
    let kind = step.frequency();
    for (wanted, check) in checks {
        if kind == RARE || *wanted & kind != 0 {
            check.step(cx, step, sink);
        }
    }
}
