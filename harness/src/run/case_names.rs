//! The names of a case: their values, where patterns bound them, and the generator of new identifiers.
//!
//! Knows: bindings, patterns, the time of the case. Never knows: clients, messages, steps.
//!
//! Start at [`CaseNames`].

use std::time::Duration;

use crate::scenario::bind::{HoleFiller, NameBindings, ValueTemplate};
use crate::scenario::pattern::{PatternMismatch, ValuePattern};
use crate::scenario::source::SourceSpan;
use crate::wire::json::{Value, json};

use super::mint::IdMinter;
use super::setup::CaseSetup;

/// The first value of `${frame}`. The value is large because clients number their own requests from 1.
const FIRST_FRAME_ID: u64 = 1_000_000;

/// The values of the names that steps use, and the source of new values.
#[derive(Debug)]
pub(super) struct CaseNames {
    bindings: NameBindings,
    /// The patterns that bound names, in order.
    bound_at: Vec<(String, SourceSpan)>,
    mint: IdMinter,
    /// The number of frames that `send` steps have sent so far.
    raw_frames: u64,
}

impl CaseNames {
    /// Creates names without values.
    pub(super) fn new(setup: &CaseSetup) -> CaseNames {
        CaseNames {
            bindings: NameBindings::default(),
            bound_at: Vec::new(),
            mint: IdMinter::new(setup.seed, &setup.name, setup.epoch),
            raw_frames: 0,
        }
    }

    /// Returns the time of the current event.
    pub(super) fn now(&self) -> Duration {
        self.mint.now
    }

    /// Sets the time of the current event.
    pub(super) fn turn_to(&mut self, now: Duration) {
        self.mint.now = now;
    }

    /// Returns the values of all names.
    pub(super) fn bindings(&self) -> &NameBindings {
        &self.bindings
    }

    /// Returns the value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.bindings.get(name)
    }

    /// Binds a name to a value that comes from no pattern.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.bindings.set(name, value);
    }

    /// Binds `${frame}` to the next id for a frame of a `send` step.
    pub(super) fn number_frame(&mut self) {
        self.set("frame", json!(FIRST_FRAME_ID + self.raw_frames));
        self.raw_frames += 1;
    }

    /// Returns the value of a template, with new values for its new names.
    pub(super) fn fill(&mut self, template: &ValueTemplate) -> Value {
        template.fill(&mut self.bindings, &mut self.mint)
    }

    /// Matches a value against a pattern, and binds the names of the pattern.
    ///
    /// # Errors
    /// Returns the first place that does not match.
    pub(super) fn take(
        &mut self,
        pattern: &ValuePattern,
        value: Option<&Value>,
        exact: bool,
    ) -> Result<(), Box<PatternMismatch>> {
        let bound = pattern.matches(value, &self.bindings, exact)?;
        self.bind(pattern, bound);
        Ok(())
    }

    /// Binds the names of a pattern that matched.
    pub(super) fn bind(&mut self, pattern: &ValuePattern, bound: NameBindings) {
        for (name, _) in bound.iter() {
            self.bound_at.push((name.clone(), pattern.span));
        }
        self.bindings.extend(bound);
    }

    /// Returns where the name was bound that the expectation of a mismatch mentions, with a label for the place.
    pub(super) fn source_of(&self, miss: &PatternMismatch) -> Option<(SourceSpan, String)> {
        let mentions = |name: &str| miss.expected.contains(&format!("bound to `{name}`"));
        let (name, span) = self.bound_at.iter().find(|(name, _)| mentions(name))?;
        Some((*span, format!("`{name}` was bound here")))
    }

    /// Returns the next random number.
    pub(super) fn number(&mut self) -> u64 {
        self.mint.number()
    }

    /// Returns a new identifier for a session or a message.
    pub(super) fn fresh(&mut self) -> String {
        self.mint.fresh()
    }
}
