//! What a legal rewrite is: a row with a change of a capture, and the reason why a host or a recorder may behave so.
//!
//! Knows: captures, readings. Never knows: rules.
//!
//! Start at [`LegalRewrite`].

use crate::dice::Dice;

use super::acp::rewrite::AcpRewrite;
use super::capture::MutableCapture;
use super::rewrites::{arrivals, company, names, spelling, texts};

/// A change of a capture after which it is as legal as before.
#[derive(Clone, Copy, Debug)]
pub struct LegalRewrite {
    /// The name, unique among all rewrites.
    pub name: &'static str,
    /// Why the rewritten capture is legal.
    pub legal: &'static str,
    /// What is changed.
    pub kind: RewriteKind,
}

/// Frames of the host that a rewrite changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FramePortion {
    /// All of them.
    All,
    /// Actions, live and replayed.
    Actions,
    /// Answers with snapshots.
    Snapshots,
    /// Answers without.
    Results,
    /// Notifications without a number.
    Notices,
    /// Errors.
    Refusals,
    /// About half of them, by chance.
    Half,
    /// Those of one connection.
    OneConnection,
}

/// What a rewrite changes.
#[derive(Clone, Copy, Debug)]
pub enum RewriteKind {
    /// The values of these members have other names, everywhere.
    Rename(&'static [&'static str]),
    /// Connections have other names in the capture.
    RenameConnections,
    /// Ids of requests are written in another way.
    RequestIds(spelling::IdForm),
    /// The host's numbers are others, in the same order.
    Renumber(names::NumberForm),
    /// The clients' own numbers are others, in the same order.
    ClientNumbers(i64),
    /// Objects have members that no version knows: those in this member, or all.
    Extend(FramePortion, Option<&'static str>),
    /// Points in time are written in another way.
    Instants(FramePortion, spelling::RewriteInstantForm),
    /// Whole numbers in these members are written with a fraction of zero.
    Fractions(FramePortion, &'static [&'static str]),
    /// Frames are other JSON text of the same value.
    Json(FramePortion, spelling::JsonForm),
    /// The text in this member of actions of this type is split into one action more.
    Split(&'static str, &'static str),
    /// Two consecutive actions of this type, with a text in this member, become one.
    Merge(&'static str, &'static str),
    /// Members with a text for people have another text, everywhere.
    Wording(&'static [&'static str]),
    /// Time passes in another way.
    Time(arrivals::TimeForm),
    /// Frames of different connections meet in another order.
    Arrive(arrivals::ArrivalForm),
    /// The capture shows less.
    Show(arrivals::WindowForm),
    /// Another client is connected.
    Join(company::CompanyForm),
    /// A rewrite that applies only to conversations with agents.
    Agent(AcpRewrite),
}

impl LegalRewrite {
    /// The rewritten capture; `None` if nothing was changed.
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
