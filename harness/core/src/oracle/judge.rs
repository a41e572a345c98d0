//! The fold over a transcript: entries in, findings out, reports at the end.
//!
//! Knows: every family of checks. Never knows: what they look for.
//!
//! Start at [`Oracle::observe`].

use std::time::Duration;

use crate::transcript::Entry;
use crate::verdict::{CheckReport, Finding};
use crate::wire::version::Version;

use super::check::{Check, Sink};
use super::context::Context;
use super::step::{ENVELOPE, FOLDED, FOLDING, FRAME, RARE, Step};
use super::{
    annotations, automations, catalog, changesets, customizations, identity, internals, merging,
    owners, pending, progress, rollup, scalars, secrets, sessions, status,
};
use super::{
    causality, convergence, dispatch, fanout, jsonrpc, reconnect, removal, sequence, shape,
    side_channels, telemetry, terminals, tools, translation, turn_ids, turn_starts, turns, watches,
    windows,
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
}

impl Default for Options {
    fn default() -> Options {
        Options { assume_version: None, foreign: false, deadline: DEADLINE }
    }
}

/// Judges a transcript, entry by entry.
pub struct Oracle {
    context: Context,
    /// The families, each with the frequent steps that it looks at.
    checks: Vec<(u8, Box<dyn Check + Send>)>,
    sink: Sink,
}

impl Oracle {
    /// An oracle that has seen nothing yet.
    pub fn new(options: Options) -> Oracle {
        Oracle {
            context: Context::new(options),
            checks: vec![
                (FRAME, Box::new(shape::Shapes)),
                (FRAME, Box::new(jsonrpc::JsonRpc::default())),
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
                (FOLDING, Box::new(rollup::Rollup)),
                (FOLDING | FOLDED, Box::new(catalog::Catalog)),
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
                (RARE, Box::new(telemetry::Telemetry::default())),
                (ENVELOPE, Box::new(reconnect::Reconnect::default())),
                (FOLDING, Box::new(translation::Translation::default())),
            ],
            sink: Sink::new(),
        }
    }

    /// Says what no frame of the host may contain from here on, such as a token of the handshake.
    pub fn keep_secret(&mut self, secret: &str) {
        let known = &mut self.context.secrets;
        if let Some(form) = secrets::form(secret)
            && known.len() < secrets::MAX_SECRETS
            && !known.contains(&form)
        {
            known.push(form);
        }
    }

    /// Takes in the next entry and returns what it proves wrong. The same findings are in the
    /// reports, up to a bound.
    pub fn observe(&mut self, entry: &Entry) -> Vec<Finding> {
        let Oracle { context, checks, sink } = self;
        context.observe(entry, &mut |cx, step| tell(checks, cx, step, sink));
        sink.take_fresh()
    }

    /// Judges what only the end can prove and returns a report for every row of
    /// [`CHECKS`](super::CHECKS), in its order.
    pub fn finish(self) -> Vec<CheckReport> {
        let Oracle { mut context, mut checks, mut sink } = self;
        context.finish(&mut |cx, step| tell(&mut checks, cx, step, &mut sink));
        sink.counts(context.counts(true));
        for (_, check) in &mut checks {
            check.finish(&context, &mut sink);
        }
        sink.into_reports()
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
