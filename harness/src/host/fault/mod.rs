//! The injected faults of the reference host. Each fault is a small row in a table; a run enables a fault by
//! its name.
//!
//! The modules follow the protocol's concepts. Each module has a table of faults: name, sentence and implementation. A
//! fault in messages is a [`MessageRewriter`] between the host and its clients. A fault in behaviour is a
//! [`HostHooks`], whose hooks the host calls. A fault in states is a [`StateFault`], which changes the result of an
//! action or a snapshot. A fault may combine several of these. Which checks must detect a fault is stated in the kill
//! matrix (the table of faults and checks), and not in this module.
//!
//! Knows: messages, earlier messages, the hooks of the host. Never knows: the checks that find a fault.
//!
//! Start at the macro `fault_table` and [`FaultPart`].

use super::chain::MessageRewriter;
pub use super::fault_name::HostFault;
use super::injected::HostHooks;
use super::state_faults::StateFault;
use crate::fault::{FaultDescription, FaultKind};

/// Declares a table of faults: its rows, `FAULTS`, and a constant of [`HostFault`] for each row. A row has the
/// name on the command line, a sentence that describes the host's misbehaviour, and one or more [`FaultPart`]s.
macro_rules! fault_table {
    ($($fault:ident($name:literal, $doc:literal, $($part:expr),+ $(,)?)),+ $(,)?) => {
        #[expect(non_upper_case_globals, reason = "they are written as the variants of an enumeration")]
        impl super::HostFault {
            $(#[doc = $doc] pub const $fault: super::HostFault = super::HostFault::of_row($name);)+
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
mod load;
pub(super) mod memory;
mod model;
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

/// An implementation of a fault, or of a part of a fault.
#[derive(Clone, Copy)]
enum FaultPart {
    /// Creates a rewriter of messages.
    Message(fn() -> Box<dyn MessageRewriter>),
    /// Hooks in the behaviour of the host.
    Host(&'static dyn HostHooks),
    /// Changes to states.
    State(&'static dyn StateFault),
}

/// A fault with its implementation.
#[derive(Clone, Copy)]
struct FaultRow {
    about: FaultDescription<HostFault>,
    parts: &'static [FaultPart],
}

/// The tables, in the order in which simultaneous faults apply. A message of the host passes the rewriters in the order
/// of the tables.
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
    load::FAULTS,
    model::FAULTS,
];

/// Returns the total number of rows in some tables.
const fn count(tables: &[&[FaultRow]]) -> usize {
    let (mut table, mut all) = (0, 0);
    while table < tables.len() {
        all += tables[table].len();
        table += 1;
    }
    all
}

/// Returns the descriptions of the faults in some tables; `N` is the total number of rows.
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

/// All faults.
pub const FAULTS: &[FaultDescription<HostFault>] = &listed::<{ count(TABLES) }>(TABLES);

impl FaultKind for HostFault {
    const ALL: &'static [FaultDescription<HostFault>] = FAULTS;
    const TYPE: &'static str = "HostFault";

    fn place(self) -> usize {
        FAULTS.iter().position(|row| row.fault == self).unwrap_or_default()
    }
}

impl HostFault {
    /// Returns the fault with this name; `None` if no fault has the name.
    pub fn by_name(name: &str) -> Option<HostFault> {
        <HostFault as FaultKind>::named(name)
    }

    /// Returns whether the fault can be observed only on a host with an agent subprocess that speaks ACP.
    pub fn is_below(self) -> bool {
        below::FAULTS.iter().any(|row| row.about.fault == self)
    }

    /// Returns whether the fault can be observed only on a host whose own agent asks a model.
    pub fn is_behind_model(self) -> bool {
        model::FAULTS.iter().any(|row| row.about.fault == self)
    }

    /// Returns whether the fault can be observed only under load, so that no scenario has to find it.
    pub fn is_under_load(self) -> bool {
        load::FAULTS.iter().any(|row| row.about.fault == self)
    }
}

/// Returns the parts of these faults, in table order.
fn parts_of(faults: &[HostFault]) -> impl Iterator<Item = FaultPart> {
    let rows = TABLES.iter().copied().flatten();
    rows.filter(|row| faults.contains(&row.about.fault)).flat_map(|row| row.parts).copied()
}

/// Creates the rewriters of these faults.
pub(super) fn rewriters(faults: &[HostFault]) -> Vec<Box<dyn MessageRewriter>> {
    let rewriter = |part| if let FaultPart::Message(make) = part { Some(make()) } else { None };
    parts_of(faults).filter_map(rewriter).collect()
}

/// Returns the hooks of these faults.
pub(super) fn in_host(faults: &[HostFault]) -> impl Iterator<Item = &'static dyn HostHooks> {
    parts_of(faults)
        .filter_map(|part| if let FaultPart::Host(fault) = part { Some(fault) } else { None })
}

/// Returns the state changes of these faults.
pub(super) fn in_states(faults: &[HostFault]) -> impl Iterator<Item = &'static dyn StateFault> {
    parts_of(faults)
        .filter_map(|part| if let FaultPart::State(fault) = part { Some(fault) } else { None })
}
