//! All operators, by class. To add an operator, add a row with a name (the fault of the host), a target (the frames
//! with the fault), a change (the new content of the frames), and the evidence that proves the fault.
//!
//! Knows: the vocabulary of the protocol. Never knows: the implementation of changes.
//!
//! Start at [`all`].

/// Defines a table of operators with one row per line. The table is a macro because the formatter would
/// otherwise break each row into several lines.
macro_rules! operator_table {
    ($name:ident $($row:expr,)*) => {
        pub(super) const $name: &[$crate::mutation::operator::WireOperator] = &[$($row,)*];
    };
}

mod actions;
pub mod agents;
pub mod clients;
mod delivery;
mod inserted;
mod results;
mod snapshots;

use super::change::WireChange;
use super::evidence::FaultEvidence;
use super::operator::{FaultClass, OperatorTarget, PlaceCondition, TargetKind, WireOperator};
use crate::wire::version::ProtocolStandard;

/// Returns all operators about hosts; the operators about agents are in [`agents`], those about clients in
/// [`clients`].
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

/// Returns the operators about hosts (AHP) or the operators about agents (ACP).
pub fn of(standard: ProtocolStandard) -> impl Iterator<Item = &'static WireOperator> {
    let acp = standard == ProtocolStandard::Acp;
    all().filter(move |_| !acp).chain(agents::all().filter(move |_| acp))
}

/// Returns the operator of this name.
pub fn named(name: &str) -> Option<&'static WireOperator> {
    let others = agents::all().chain(clients::all());
    all().chain(others).find(|operator| operator.name == name)
}

/// Returns the row of an operator whose mutants are always faulty.
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
    /// Returns the row with a condition under which a mutant is legal, and the reason.
    const fn legal_where(mut self, when: PlaceCondition, reason: &'static str) -> WireOperator {
        self.legal = Some((when, reason));
        self
    }

    /// Returns the row as a breach of a requirement that the specification only recommends.
    const fn advised_by(mut self, requirement: &'static str) -> WireOperator {
        self.advice = Some(requirement);
        self
    }
}

impl OperatorTarget {
    /// Returns the target with these conditions, all of which have to hold.
    const fn when(mut self, when: &'static [PlaceCondition]) -> OperatorTarget {
        self.when = when;
        self
    }
}

const fn target(kind: TargetKind, names: &'static [&'static str]) -> OperatorTarget {
    OperatorTarget { kind, names, when: &[] }
}

/// Returns a target: live envelopes of these action types.
const fn action(names: &'static [&'static str]) -> OperatorTarget {
    target(TargetKind::Action, names)
}

/// Returns a target: snapshots of channels of these kinds.
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
        assert!(clients::all().count() >= 30, "{}", clients::all().count());
        for class in FaultClass::ALL {
            let all = all().chain(agents::all()).chain(clients::all());
            let of_it = all.filter(|operator| operator.class == *class).count();
            assert!(of_it >= 5, "{}: {of_it}", class.name());
        }
    }

    #[test]
    fn names_are_unique_and_rows_are_whole() {
        let mut seen = HashSet::new();
        for operator in all().chain(agents::all()).chain(clients::all()) {
            assert!(seen.insert(operator.name), "{} is there twice", operator.name);
            assert!(operator.wrong.ends_with('.'), "{}", operator.name);
            assert!(!operator.shown.is_empty(), "{}", operator.name);
            for condition in
                operator.target.when.iter().chain(operator.legal.iter().map(|it| &it.0))
            {
                if let PlaceCondition::Is(_, text) = condition {
                    assert!(Value::read(text).is_ok(), "{}: {text}", operator.name);
                }
            }
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
