//! Interprets a fuzzer's bytes as a sequence of choices.
//!
//! Knows: bytes. Never knows: the purpose of the choices.

use arbitrary::Unstructured;

/// A sequence of choices that depends only on the fuzzer's bytes. When all bytes are used up, every choice is the first
/// option, which is by convention the simplest.
#[derive(Debug)]
pub struct ByteChoices<'a>(Unstructured<'a>);

impl<'a> ByteChoices<'a> {
    /// Creates choices from these bytes.
    pub fn new(bytes: &'a [u8]) -> ByteChoices<'a> {
        ByteChoices(Unstructured::new(bytes))
    }

    /// Returns a number below `count`; zero if `count` is zero.
    pub fn below(&mut self, count: usize) -> usize {
        match count {
            0 | 1 => 0,
            count => self.0.int_in_range(0..=count - 1).unwrap_or(0),
        }
    }

    /// Returns one of several items; `None` if there are none.
    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> Option<&'t T> {
        from.get(self.below(from.len()))
    }

    /// Returns whether all bytes are used up.
    pub fn is_dry(&self) -> bool {
        self.0.is_empty()
    }
}
