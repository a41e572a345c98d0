//! The planted faults of the reference host: one row each, small, named, switched at run time.
//!
//! The rows stand in `catalogue`. A fault is implemented as one `if self.faults.has(Fault::X)` where the rule that it breaks is
//! kept. What a fault must trip is not said here: that is the business of the kill matrix.
//!
//! Knows: nothing. Never knows: which check finds which fault.

/// How many words a set has, of 64 faults each.
const WORDS: usize = 6;

/// A set of faults.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct FaultSet {
    bits: [u64; WORDS],
}

impl FaultSet {
    /// Makes a set of a list.
    pub fn of(faults: &[Fault]) -> FaultSet {
        let mut set = FaultSet::default();
        faults.iter().for_each(|fault| set.insert(*fault));
        set
    }

    /// Adds a fault.
    pub fn insert(&mut self, fault: Fault) {
        let at = fault as usize;
        self.bits[at / 64] |= 1 << (at % 64);
    }

    /// Whether the set holds a fault.
    pub fn has(&self, fault: Fault) -> bool {
        let at = fault as usize;
        self.bits[at / 64] & (1 << (at % 64)) != 0
    }
}

/// One fault, described.
#[derive(Clone, Copy, Debug)]
pub struct FaultRow {
    /// Which fault.
    pub fault: Fault,
    /// What it is called on the command line.
    pub name: &'static str,
    /// What the host does wrong, in a sentence.
    pub doc: &'static str,
}

macro_rules! faults {
    ($($fault:ident = $name:literal, $doc:literal;)*) => {
        /// One way of being wrong.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Fault {
            $(#[doc = $doc] $fault,)*
        }

        /// Every fault, in the order of [`Fault`].
        pub const FAULTS: &[FaultRow] = &[
            $(FaultRow { fault: Fault::$fault, name: $name, doc: $doc },)*
        ];
    };
}

mod catalogue;

pub use catalogue::{FAULTS, Fault};

impl Fault {
    /// The fault of a name, such as `sequence-repeats`.
    pub fn by_name(name: &str) -> Option<Fault> {
        FAULTS.iter().find(|row| row.name == name).map(|row| row.fault)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        FAULTS.iter().find(|row| row.fault == self).map_or("", |row| row.name)
    }
}

/// Faults that only show on a host which speaks ACP to its agent.
pub const BELOW: &[Fault] = &[
    Fault::DenialAllowedBelow,
    Fault::AllowedUnasked,
    Fault::CancelKept,
    Fault::ChunkLostBelow,
    Fault::ChunksSwapped,
    Fault::CallToldTwice,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_named_once_and_fit_the_set() {
        assert!(FAULTS.len() <= WORDS * 64);
        for (index, row) in FAULTS.iter().enumerate() {
            assert_eq!(row.fault as usize, index);
            assert_eq!(Fault::by_name(row.name), Some(row.fault));
            assert!(row.doc.ends_with('.'), "{}", row.name);
            let set = FaultSet::of(&[row.fault]);
            let held = FAULTS.iter().filter(|other| set.has(other.fault));
            assert_eq!(held.count(), 1);
        }
        assert_eq!(Fault::by_name("none"), None);
    }
}
