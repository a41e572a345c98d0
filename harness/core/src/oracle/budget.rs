//! Limits the memory for values of a target that the oracle keeps, and shortens long strings of a target.
//!
//! A hostile target chooses the size of each value, so a limit on the number of kept values does not limit the memory.
//! Each kept state, request and summary therefore takes its bytes from a [`ByteBudget`] and holds them as [`KeptBytes`],
//! which return the bytes when the value is dropped. If a budget is spent, a new value is not kept, and the checks that
//! need it do not judge. Strings that a check only compares and shows need no budget: [`short`] limits their length.
//!
//! Knows: JSON values. Never knows: what the values mean.
//!
//! Start at [`OracleMemory`].

use std::borrow::Cow;
use std::hash::{BuildHasher as _, Hasher as _};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::FixedState;

use crate::transcript::SeenFrame;

/// Upper bound for all foreign values of one oracle, in bytes. The URIs of channels and the log of actions have their own
/// upper bounds.
const WHOLE: usize = 26 << 20;
/// Upper bound for the states of channels, and for the frames that a comparison with them needs.
const STATES: usize = 20 << 20;
/// Upper bound for the requests without an answer. The largest message of 8 MiB fits, as text and decoded.
const REQUESTS: usize = 18 << 20;
/// Upper bound for the values in lists, such as summaries of sessions.
const LISTED: usize = 8 << 20;

/// The length up to which a string is kept as it is. Usual URIs and ids are shorter.
const SHORT: usize = 512;
/// The number of characters at the beginning of a longer string that are kept.
const BEGINNING: usize = 64;

/// The budgets of one oracle.
pub(super) struct OracleMemory {
    pub states: Arc<ByteBudget>,
    pub requests: Arc<ByteBudget>,
    pub listed: Arc<ByteBudget>,
}

/// A number of bytes that values of one kind may use.
#[derive(Debug)]
pub(super) struct ByteBudget {
    spent: AtomicUsize,
    limit: usize,
    /// The budget of which this budget is a part.
    whole: Option<Arc<ByteBudget>>,
}

/// The bytes of one kept value, which return to their budget when this is dropped.
#[derive(Debug)]
pub(super) struct KeptBytes {
    budget: Arc<ByteBudget>,
    bytes: usize,
    /// The part of `bytes` that was measured; changes of the value have added at most the rest.
    measured: usize,
}

/// A frame that is kept, with its bytes.
#[derive(Debug)]
pub(super) struct KeptFrame {
    seen: Arc<SeenFrame>,
    _kept: KeptBytes,
}

impl Deref for KeptFrame {
    type Target = SeenFrame;

    fn deref(&self) -> &SeenFrame {
        &self.seen
    }
}

impl Default for OracleMemory {
    fn default() -> OracleMemory {
        let whole = ByteBudget::new(WHOLE, None);
        let part = |limit| ByteBudget::new(limit, Some(whole.clone()));
        OracleMemory { states: part(STATES), requests: part(REQUESTS), listed: part(LISTED) }
    }
}

impl ByteBudget {
    fn new(limit: usize, whole: Option<Arc<ByteBudget>>) -> Arc<ByteBudget> {
        Arc::new(ByteBudget { spent: AtomicUsize::new(0), limit, whole })
    }

    /// Takes bytes for a value; `None` if the budget does not have so many, so the value must not be kept.
    pub(super) fn keep(self: &Arc<ByteBudget>, bytes: usize) -> Option<KeptBytes> {
        self.take(bytes).then(|| KeptBytes { budget: self.clone(), bytes, measured: bytes })
    }

    /// Keeps a frame; `None` if the budget does not have enough bytes for it.
    pub(super) fn keep_frame(self: &Arc<ByteBudget>, seen: &Arc<SeenFrame>) -> Option<KeptFrame> {
        let kept = self.keep(seen.heap_size())?;
        Some(KeptFrame { seen: seen.clone(), _kept: kept })
    }

    // One thread uses an oracle at a time, so the numbers need no order. They are atomic because an oracle can move to
    // another thread.
    fn take(&self, bytes: usize) -> bool {
        let spent = self.spent().saturating_add(bytes);
        if spent > self.limit || self.whole.as_ref().is_some_and(|whole| !whole.take(bytes)) {
            return false;
        }
        self.spent.store(spent, Ordering::Relaxed);
        true
    }

    fn give(&self, bytes: usize) {
        self.spent.store(self.spent().saturating_sub(bytes), Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.give(bytes);
        }
    }

    pub(super) fn spent(&self) -> usize {
        self.spent.load(Ordering::Relaxed)
    }
}

impl KeptBytes {
    /// Changes the number of bytes; returns `false`, and changes nothing, if the budget does not have so many.
    pub(super) fn resize(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes && !self.budget.take(bytes - self.bytes) {
            return false;
        }
        self.budget.give(self.bytes.saturating_sub(bytes));
        (self.bytes, self.measured) = (bytes, bytes);
        true
    }

    /// Counts a change that has added at most `added` bytes to the value. `measure` returns the size of the changed
    /// value. Returns `false` if the budget is spent; the value must then be dropped. The value is measured again only
    /// after changes of a similar size, so that the cost of a change does not grow with the value.
    pub(super) fn grow(&mut self, added: usize, measure: impl FnOnce() -> usize) -> bool {
        let grown = self.bytes - self.measured + added;
        if grown <= self.measured {
            if self.budget.take(added) {
                self.bytes += added;
                return true;
            }
            if grown < self.measured / 4 {
                return false;
            }
        }
        self.resize(measure())
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        self.budget.give(self.bytes);
    }
}

/// Returns whether the [`short`] form of a string is the string itself.
pub(super) fn is_short(text: &str) -> bool {
    text.len() <= SHORT
}

/// Returns a string that is kept to be compared and shown. Of a long string, only the beginning, the length and a hash
/// remain, so two different strings have different short forms.
pub(super) fn short(text: &str) -> Cow<'_, str> {
    if is_short(text) {
        return Cow::Borrowed(text);
    }
    let hash = |seed: u64| {
        let mut hasher = FixedState::with_seed(seed).build_hasher();
        hasher.write(text.as_bytes());
        hasher.finish()
    };
    let beginning: String = text.chars().take(BEGINNING).collect();
    Cow::Owned(format!("{beginning}… ({} bytes, {:016x}{:016x})", text.len(), hash(1), hash(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_return_to_every_budget() {
        let memory = OracleMemory::default();
        let mut kept = memory.states.keep(STATES).unwrap();
        assert!(memory.states.keep(1).is_none());
        assert!(memory.listed.keep(LISTED).is_none(), "the whole is spent");
        assert!(kept.resize(1) && kept.resize(STATES) && !kept.resize(STATES + 1));
        drop(kept);
        assert_eq!(memory.states.spent(), 0);
        assert!(memory.listed.keep(LISTED).is_some() && memory.requests.keep(REQUESTS).is_some());
    }

    #[test]
    fn values_are_measured_after_changes_of_a_similar_size() {
        let memory = OracleMemory::default();
        let mut kept = memory.listed.keep(1000).unwrap();
        for _ in 0..10 {
            assert!(kept.grow(100, || unreachable!("the value cannot have doubled")));
        }
        assert_eq!(memory.listed.spent(), 2000);
        assert!(kept.grow(1, || 1200));
        assert_eq!(memory.listed.spent(), 1200);
        assert!(!kept.grow(LISTED, || LISTED + 1));
    }

    #[test]
    fn long_strings_differ_in_their_short_forms() {
        let usual = "ahp-session:/s".repeat(30);
        assert_eq!(short(&usual), usual);
        let [one, other] = ["a", "b"].map(|end| format!("{}{end}", "ä".repeat(100_000)));
        assert!(short(&one).len() < SHORT && short(&one).starts_with("ää"));
        assert_ne!(short(&one), short(&other));
        assert_eq!(short(&one), short(&one.clone()));
    }
}
