//! What a row of the catalogue of checks is, and how a breach names the requirement that it breaks.
//!
//! Knows: weights. Never knows: any one check.
//!
//! Start at [`CheckRow`] and [`CheckRule`].

use crate::verdict::{FindingSubject, Weight};

/// One always-on check.
#[derive(Clone, Copy, Debug)]
pub struct CheckRow {
    /// The id of the check, such as `sequence.grows`. Ids are never reused.
    pub id: &'static str,
    /// How much its rule weighs. A finding may weigh less, never more.
    pub weight: Weight,
    /// The requirements it puts to the test, by their ids in the ledger.
    pub requirements: &'static [&'static str],
    /// Those requirements that have observations and breaches of their own. A breach of another
    /// requirement does not affect them, and only frames about them count as observations.
    pub apart: &'static [&'static str],
    /// The invariant it implements, such as `A1`.
    pub invariant: &'static str,
    /// The rule in one sentence, why it weighs what it weighs, and its source.
    pub doc: &'static str,
    /// Where the specification is open: the reading taken.
    pub open: Option<&'static str>,
}

/// A rule that has a row.
pub(super) trait CheckRule: Copy {
    /// The place of its row among those of its protocol.
    fn place(self) -> usize;
    /// Its row.
    fn row(self) -> &'static CheckRow;
    /// Which requirement a breach of it breaks.
    fn subject(self) -> FindingSubject {
        FindingSubject::Unnamed
    }
    /// This rule, restricted to one of the requirements in its row.
    fn of(self, requirement: &'static str) -> RuleOf<Self> {
        debug_assert!(self.row().requirements.contains(&requirement), "{requirement}");
        RuleOf { rule: self, subject: FindingSubject::Requirement(requirement) }
    }
    /// This rule, restricted to that requirement, or to what none of its requirements covers.
    fn about(self, requirement: Option<&'static str>) -> RuleOf<Self> {
        match requirement {
            Some(requirement) => self.of(requirement),
            None => RuleOf { rule: self, subject: FindingSubject::Beyond },
        }
    }
}

/// A rule, restricted to one of the requirements in its row or to what none of them covers.
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

        /// Every check, in the order of the invariants.
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
