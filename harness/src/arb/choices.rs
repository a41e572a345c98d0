//! A fuzzer's bytes as a row of choices.
//!
//! Knows: bytes. Never knows: what is chosen.

use arbitrary::Unstructured;

/// Choices from bytes: the same bytes, the same choices. When they have run dry, everything is the
/// first and plainest.
#[derive(Debug)]
pub struct ByteChoices<'a>(Unstructured<'a>);

impl<'a> ByteChoices<'a> {
    /// Choices from these bytes.
    pub fn new(bytes: &'a [u8]) -> ByteChoices<'a> {
        ByteChoices(Unstructured::new(bytes))
    }

    /// A number below `count`; zero where there is none.
    pub fn below(&mut self, count: usize) -> usize {
        match count {
            0 | 1 => 0,
            count => self.0.int_in_range(0..=count - 1).unwrap_or(0),
        }
    }

    /// One of several; `None` of none.
    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> Option<&'t T> {
        from.get(self.below(from.len()))
    }

    /// Whether there is nothing left to choose by.
    pub fn is_dry(&self) -> bool {
        self.0.is_empty()
    }
}
