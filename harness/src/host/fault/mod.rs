//! The injected faults of the reference host: one row each, small, named, switched at run time.
//!
//! The modules are by protocol concept, each with a table of its faults: name, sentence and implementation. A fault in
//! messages is a [`MessageRewriter`] beside the host, one in behaviour is a [`HostHooks`], whose hooks the host calls, one
//! in states is a [`StateFault`], which changes what an action or a snapshot makes of a state. A fault may be several.
//! What a fault must trip is not said here: that is the business of the kill matrix.
//!
//! Knows: messages, what passed on connections, the hooks of the host. Never knows: which check finds which fault.
//!
//! Start at the macro `fault_table` and [`FaultPart`].

use super::chain::MessageRewriter;
use super::injected::{HostHooks, StateFault};
use crate::fault::{FaultDescription, FaultKind};

/// Writes a table of faults: its rows, `FAULTS`, and a constant of [`HostFault`] for each of them. A row has the name on the
/// command line, a sentence that says what the host does wrong, and one or more [`FaultPart`]s.
macro_rules! fault_table {
    ($($fault:ident($name:literal, $doc:literal, $($part:expr),+ $(,)?)),+ $(,)?) => {
        #[expect(non_upper_case_globals, reason = "they are written as the variants of an enumeration")]
        impl super::HostFault {
            $(#[doc = $doc] pub const $fault: super::HostFault = super::HostFault($name);)+
        }

        /// The faults of this module.
        pub(super) const FAULTS: &[super::FaultRow] = &[$(super::FaultRow {
            about: crate::fault::FaultDescription { fault: super::HostFault::$fault, name: $name, doc: $doc },
            parts: &[$($part),+],
        }),+];
    };
}

mod actions;
mod attachments;
mod automations;
mod below;
mod changesets;
mod chats;
mod connections;
mod delivery;
mod frames;
mod handshake;
mod lists;
mod memory;
mod notices;
mod parts;
mod reduction;
mod replay;
mod resources;
mod responses;
mod sequence;
mod sessions;
mod settlement;
mod shapes;
mod snapshots;
mod terminals;
mod tokens;
mod tool_calls;
mod turns;

pub(super) use memory::FaultMemory;

/// One way of being wrong, by its name on the command line.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HostFault(&'static str);

/// What implements a fault, or a part of one.
#[derive(Clone, Copy)]
enum FaultPart {
    /// Makes a rewriter of messages.
    Message(fn() -> Box<dyn MessageRewriter>),
    /// Takes part in what the host does.
    Host(&'static dyn HostHooks),
    /// Changes states.
    State(&'static dyn StateFault),
}

/// A fault with what implements it.
#[derive(Clone, Copy)]
struct FaultRow {
    about: FaultDescription<HostFault>,
    parts: &'static [FaultPart],
}

/// The tables, in the order in which several faults take part. Rewriters are in order from the host to the clients.
const TABLES: &[&[FaultRow]] = &[
    sequence::FAULTS,
    delivery::FAULTS,
    settlement::FAULTS,
    replay::FAULTS,
    handshake::FAULTS,
    responses::FAULTS,
    lists::FAULTS,
    frames::FAULTS,
    snapshots::FAULTS,
    shapes::FAULTS,
    notices::FAULTS,
    actions::FAULTS,
    turns::FAULTS,
    tool_calls::FAULTS,
    sessions::FAULTS,
    chats::FAULTS,
    terminals::FAULTS,
    tokens::FAULTS,
    resources::FAULTS,
    automations::FAULTS,
    changesets::FAULTS,
    connections::FAULTS,
    attachments::FAULTS,
    reduction::FAULTS,
    below::FAULTS,
];

/// The number of rows in some tables.
const fn count(tables: &[&[FaultRow]]) -> usize {
    let (mut table, mut all) = (0, 0);
    while table < tables.len() {
        all += tables[table].len();
        table += 1;
    }
    all
}

/// What is said of each fault in some tables that have `N` rows.
const fn listed<const N: usize>(tables: &[&[FaultRow]]) -> [FaultDescription<HostFault>; N] {
    let mut rows = [tables[0][0].about; N];
    let (mut table, mut at) = (0, 0);
    while table < tables.len() {
        let mut row = 0;
        while row < tables[table].len() {
            rows[at] = tables[table][row].about;
            (row, at) = (row + 1, at + 1);
        }
        table += 1;
    }
    rows
}

/// Every fault.
pub const FAULTS: &[FaultDescription<HostFault>] = &listed::<{ count(TABLES) }>(TABLES);

impl FaultKind for HostFault {
    const ALL: &'static [FaultDescription<HostFault>] = FAULTS;

    fn place(self) -> usize {
        FAULTS.iter().position(|row| row.fault == self).unwrap_or_default()
    }
}

impl HostFault {
    /// The fault of a name.
    pub fn by_name(name: &str) -> Option<HostFault> {
        <HostFault as FaultKind>::named(name)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Whether it only shows on a host which speaks ACP to its agent.
    pub fn is_below(self) -> bool {
        below::FAULTS.iter().any(|row| row.about.fault == self)
    }
}

/// The parts of these faults.
fn parts_of(faults: &[HostFault]) -> impl Iterator<Item = FaultPart> {
    let rows = TABLES.iter().copied().flatten();
    rows.filter(|row| faults.contains(&row.about.fault)).flat_map(|row| row.parts).copied()
}

/// The rewriters of these faults.
pub(super) fn rewriters(faults: &[HostFault]) -> Vec<Box<dyn MessageRewriter>> {
    let rewriter = |part| if let FaultPart::Message(make) = part { Some(make()) } else { None };
    parts_of(faults).filter_map(rewriter).collect()
}

/// What these faults have hooks with in the host.
pub(super) fn in_host(faults: &[HostFault]) -> impl Iterator<Item = &'static dyn HostHooks> {
    parts_of(faults)
        .filter_map(|part| if let FaultPart::Host(fault) = part { Some(fault) } else { None })
}

/// What these faults change states with.
pub(super) fn in_states(faults: &[HostFault]) -> impl Iterator<Item = &'static dyn StateFault> {
    parts_of(faults)
        .filter_map(|part| if let FaultPart::State(fault) = part { Some(fault) } else { None })
}
