//! Defines the rows of the catalogue of checks, and how a breach names the requirement that it breaks.
//!
//! Knows: weights. Never knows: the rule of any check.
//!
//! Start at [`CheckRow`] and [`CheckRule`].

use crate::verdict::{FindingSubject, Weight};

/// One always-on check.
#[derive(Clone, Copy, Debug)]
pub struct CheckRow {
    /// The id of the check, such as `sequence.grows`. Ids are never reused.
    pub id: &'static str,
    /// The weight of a breach. A finding may have a smaller weight, but never a greater weight.
    pub weight: Weight,
    /// The ids of the requirements in the ledger that the check exercises.
    pub requirements: &'static [&'static str],
    /// The requirements with separate counts of observations and breaches. A breach of another requirement does
    /// not affect these counts, and only frames about the requirement count as observations.
    pub apart: &'static [&'static str],
    /// The invariant that the check implements, such as `A1`.
    pub invariant: &'static str,
    /// The description for users: the rule, the reason for its weight, and the source of the rule.
    pub doc: &'static str,
    /// The chosen interpretation, if the specification leaves a question open.
    pub open: Option<&'static str>,
}

/// A rule that has a row in a catalogue.
pub(super) trait CheckRule: Copy {
    /// Returns the index of the rule's row in the catalogue of its protocol.
    fn place(self) -> usize;
    /// Returns the row of the rule.
    fn row(self) -> &'static CheckRow;
    /// Returns the requirement that a breach of the rule breaks.
    fn subject(self) -> FindingSubject {
        FindingSubject::Unnamed
    }
    /// Restricts the rule to one of the requirements in its row.
    fn of(self, requirement: &'static str) -> RuleOf<Self> {
        debug_assert!(self.row().requirements.contains(&requirement), "{requirement}");
        RuleOf { rule: self, subject: FindingSubject::Requirement(requirement) }
    }
    /// Restricts the rule to this requirement. `None` means that no requirement of the row covers the breaches.
    fn about(self, requirement: Option<&'static str>) -> RuleOf<Self> {
        match requirement {
            Some(requirement) => self.of(requirement),
            None => RuleOf { rule: self, subject: FindingSubject::Beyond },
        }
    }
}

/// A rule that is restricted to one requirement of its row, or to breaches that no requirement of the row
/// covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleOf<R> {
    rule: R,
    subject: FindingSubject,
}

impl<R: CheckRule> CheckRule for RuleOf<R> {
    #[inline]
    fn place(self) -> usize {
        self.rule.place()
    }

    fn row(self) -> &'static CheckRow {
        self.rule.row()
    }

    fn subject(self) -> FindingSubject {
        self.subject
    }
}

macro_rules! catalogue {
    ($($rule:ident $id:literal $weight:ident $invariant:literal [$($requirement:literal),*]
        $(apart [$($apart:literal),*])? $doc:literal $(open $open:literal)?;)+) => {
        /// A check, as the index of its row.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub(super) enum Rule {
            $($rule,)+
        }

        impl $crate::oracle::rule::CheckRule for Rule {
            #[inline]
            fn place(self) -> usize {
                self as usize
            }

            fn row(self) -> &'static CheckRow {
                &CHECKS[self as usize]
            }
        }

        /// Every check. The rows are in the order of the invariants that they implement.
        pub const CHECKS: &[CheckRow] = &[$(CheckRow {
            id: $id,
            weight: Weight::$weight,
            requirements: &[$($requirement),*],
            apart: &[$($($apart),*)?],
            invariant: $invariant,
            doc: $doc,
            open: $crate::oracle::rule::catalogue!(@open $($open)?),
        },)+];
    };
    (@open) => { None };
    (@open $open:literal) => { Some($open) };
}

pub(super) use catalogue;
