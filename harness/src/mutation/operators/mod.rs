//! Every operator, by class. To add one, add a row: the name says what the host does, the target where, the change how,
//! and the evidence what shows it.
//!
//! Knows: the words of the protocol. Never knows: how a change is made.
//!
//! Start at [`all`].

/// A table of operators, one a line: the macro keeps the lines as they are.
macro_rules! operator_table {
    ($name:ident $($row:expr,)*) => {
        pub(super) const $name: &[$crate::mutation::operator::WireOperator] = &[$($row,)*];
    };
}

mod actions;
pub mod agents;
mod delivery;
mod inserted;
mod results;
mod snapshots;

use super::change::WireChange;
use super::evidence::FaultEvidence;
use super::operator::{FaultClass, OperatorTarget, PlaceCondition, TargetKind, WireOperator};
use crate::wire::version::ProtocolStandard;

/// Every operator about hosts; those about agents are in [`agents`].
pub fn all() -> impl Iterator<Item = &'static WireOperator> {
    let tables = [
        delivery::DELIVERY,
        delivery::NUMBERS,
        delivery::SETTLEMENT,
        actions::MEMBERS,
        actions::VALUES,
        actions::CONTENT,
        snapshots::SNAPSHOTS,
        results::RESULTS,
        results::NOTIFICATIONS,
        results::HANDSHAKE,
        results::RESPONSES,
        results::RECONNECT,
        inserted::INSERTED,
    ];
    tables.into_iter().flatten()
}

/// The operators about hosts, or about agents.
pub fn of(standard: ProtocolStandard) -> impl Iterator<Item = &'static WireOperator> {
    let acp = standard == ProtocolStandard::Acp;
    all().filter(move |_| !acp).chain(agents::all().filter(move |_| acp))
}

/// The operator of a name.
pub fn named(name: &str) -> Option<&'static WireOperator> {
    all().chain(agents::all()).find(|operator| operator.name == name)
}

/// A row without a legal exception.
const fn row(
    class: FaultClass,
    name: &'static str,
    wrong: &'static str,
    target: OperatorTarget,
    change: WireChange,
    shown: &'static [FaultEvidence],
) -> WireOperator {
    WireOperator { name, class, wrong, target, change, shown, legal: None, advice: None }
}

impl WireOperator {
    /// The same, of which some mutants are what a host may do.
    const fn legal_where(mut self, when: PlaceCondition, reason: &'static str) -> WireOperator {
        self.legal = Some((when, reason));
        self
    }

    /// The same, which breaks nothing but a requirement that the text does not demand.
    const fn advised_by(mut self, requirement: &'static str) -> WireOperator {
        self.advice = Some(requirement);
        self
    }
}

impl OperatorTarget {
    /// A target where all of this holds.
    const fn when(mut self, when: &'static [PlaceCondition]) -> OperatorTarget {
        self.when = when;
        self
    }
}

const fn target(kind: TargetKind, names: &'static [&'static str]) -> OperatorTarget {
    OperatorTarget { kind, names, when: &[] }
}

/// Envelopes of these types, sent live.
const fn action(names: &'static [&'static str]) -> OperatorTarget {
    target(TargetKind::Action, names)
}

/// Snapshots of channels of these kinds.
const fn snapshot(names: &'static [&'static str]) -> OperatorTarget {
    target(TargetKind::Snapshot, names)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::mutation::acp::change::AcpChange;
    use crate::wire::json::Value;

    #[test]
    fn there_are_enough_operators_of_every_class() {
        assert!(all().count() >= 120, "{}", all().count());
        assert!(agents::all().count() >= 60, "{}", agents::all().count());
        for class in FaultClass::ALL {
            let of_it =
                all().chain(agents::all()).filter(|operator| operator.class == *class).count();
            assert!(of_it >= 5, "{}: {of_it}", class.name());
        }
    }

    #[test]
    fn names_are_unique_and_rows_are_whole() {
        let mut seen = HashSet::new();
        for operator in all().chain(agents::all()) {
            assert!(seen.insert(operator.name), "{} is there twice", operator.name);
            assert!(operator.wrong.ends_with('.'), "{}", operator.name);
            assert!(!operator.shown.is_empty(), "{}", operator.name);
            let json = match operator.change {
                WireChange::Set(_, _, json) | WireChange::Insert(json) => json,
                WireChange::Succeed(json) | WireChange::Stray(json) => json,
                WireChange::Agent(AcpChange::Follow(json) | AcpChange::FollowAnswer(json)) => json,
                _ => continue,
            };
            assert!(Value::read(json).is_ok(), "{}: {json}", operator.name);
        }
    }
}
