//! Legal rewrites: rows with a change of a capture, and the reason why a host or a recorder may behave in this way.
//!
//! Knows: captures, the meaning of their frames. Never knows: rules.
//!
//! Start at [`LegalRewrite`].

use crate::dice::Dice;

use super::acp::rewrite::AcpRewrite;
use super::capture::MutableCapture;
use super::rewrites::{arrivals, company, names, spelling, texts};

/// A change of a capture that keeps the capture legal.
#[derive(Clone, Copy, Debug)]
pub struct LegalRewrite {
    /// The name, unique among all rewrites.
    pub name: &'static str,
    /// Why the rewritten capture is legal.
    pub legal: &'static str,
    /// The change of the capture.
    pub kind: RewriteKind,
}

/// The frames of the host that a rewrite changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FramePortion {
    /// All frames.
    All,
    /// Actions, live and replayed.
    Actions,
    /// Answers with snapshots.
    Snapshots,
    /// Answers without snapshots.
    Results,
    /// Notifications without a `serverSeq`.
    Notices,
    /// Error responses.
    Refusals,
    /// About half of the frames, at random.
    Half,
    /// The frames of one connection.
    OneConnection,
}

/// The change that a rewrite makes.
#[derive(Clone, Copy, Debug)]
pub enum RewriteKind {
    /// Replaces the values of these members everywhere.
    Rename(&'static [&'static str]),
    /// Renames the connections in the capture.
    RenameConnections,
    /// Writes the identifiers of requests in another form.
    RequestIds(spelling::IdForm),
    /// Replaces the `serverSeq` numbers by other numbers in the same order.
    Renumber(names::NumberForm),
    /// Increases each `clientSeq` by this amount.
    ClientNumbers(i64),
    /// Adds unknown members to objects: to the objects in this member, or to all objects.
    Extend(FramePortion, Option<&'static str>),
    /// Writes timestamps in another form.
    Instants(FramePortion, spelling::RewriteInstantForm),
    /// Writes whole numbers in these members with a fraction of zero.
    Fractions(FramePortion, &'static [&'static str]),
    /// Writes frames as different JSON for the same value.
    Json(FramePortion, spelling::JsonForm),
    /// Splits the text in this member of an action of this type into two actions.
    Split(&'static str, &'static str),
    /// Merges two consecutive actions of this type, each with a string in this member, into one action.
    Merge(&'static str, &'static str),
    /// Replaces the human-readable strings in these members everywhere.
    Wording(&'static [&'static str]),
    /// Changes the times of the lines.
    Time(arrivals::TimeForm),
    /// Changes the order of frames of different connections.
    Arrive(arrivals::ArrivalForm),
    /// Removes a part of the capture.
    Show(arrivals::WindowForm),
    /// Adds another client, or additional requests of a client.
    Join(company::CompanyForm),
    /// A rewrite that applies only to conversations with agents.
    Agent(AcpRewrite),
}

impl LegalRewrite {
    /// Returns the rewritten capture; `None` if nothing was changed.
    pub fn apply(&self, base: &MutableCapture, dice: &mut Dice) -> Option<MutableCapture> {
        let mut capture = base.clone();
        let lines = &mut capture.lines;
        match self.kind {
            RewriteKind::Rename(members) => names::rename(lines, members, dice),
            RewriteKind::RenameConnections => names::rename_connections(lines),
            RewriteKind::RequestIds(form) => spelling::request_ids(lines, form),
            RewriteKind::Renumber(form) => names::renumbered(lines, form, dice),
            RewriteKind::ClientNumbers(more) => names::client_numbers(lines, more),
            RewriteKind::Extend(portion, member) => spelling::extend(lines, portion, member, dice),
            RewriteKind::Instants(portion, form) => spelling::instants(lines, portion, form, dice),
            RewriteKind::Fractions(portion, members) => {
                spelling::fractions(lines, portion, members, dice);
            }
            RewriteKind::Json(portion, form) => spelling::json_text(lines, portion, form, dice),
            RewriteKind::Split(name, member) => texts::split(lines, name, member, dice),
            RewriteKind::Merge(name, member) => texts::merge(lines, name, member, dice),
            RewriteKind::Wording(members) => texts::reword(lines, members),
            RewriteKind::Time(form) => arrivals::time(lines, form, dice),
            RewriteKind::Arrive(form) => arrivals::arrive(lines, form, dice),
            RewriteKind::Show(form) => {
                let seen = arrivals::show(lines, form, dice);
                capture.assume = base.assume.or(seen);
            }
            RewriteKind::Join(form) => company::join(lines, form, dice),
            RewriteKind::Agent(form) => form.apply(lines, dice),
        }
        (capture != *base).then_some(capture)
    }
}
