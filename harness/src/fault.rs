//! Injected faults: the description of a fault, sets of faults, and a macro for tables of faults.
//!
//! A component with injected faults has a table made by the macro `faults!`, with one row per fault. The code
//! that implements a rule asks the component's [`FaultSet`] whether to break that rule.
//!
//! Knows: no other module. Never knows: components with faults, checks.
//!
//! Start at [`FaultKind`].

use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

/// The number of 64-bit words in a [`FaultSet`], which has one bit per fault.
const WORDS: usize = 7;

/// A kind of injected fault, such as the faults of the reference host.
pub trait FaultKind: Copy + Debug + Hash + Ord + Send + Sync + 'static {
    /// Every fault of this kind, in order.
    const ALL: &'static [FaultDescription<Self>];
    /// The name of the type in the rows of kill matrices.
    const TYPE: &'static str = "Fault";

    /// Returns the index of this fault in [`FaultKind::ALL`].
    fn place(self) -> usize;

    /// Returns the fault with this name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|row| row.name == name).map(|row| row.fault)
    }

    /// Returns the constant or variant that stands for this fault in source code: the name in camel case.
    fn constant(self) -> String {
        let capital = |part: &str| {
            let mut letters = part.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        };
        let name: String = self.word().split('-').map(capital).collect();
        format!("{}::{name}", Self::TYPE)
    }

    /// Returns the name on the command line.
    fn word(self) -> &'static str {
        Self::ALL.get(self.place()).map_or("", |row| row.name)
    }
}

/// The description of one fault.
#[derive(Clone, Copy, Debug)]
pub struct FaultDescription<F> {
    /// The fault.
    pub fault: F,
    /// The name by which a user selects the fault on the command line.
    pub name: &'static str,
    /// The wrong behaviour, in one sentence.
    pub doc: &'static str,
}

/// A set of faults.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FaultSet<F> {
    bits: [u64; WORDS],
    kind: PhantomData<F>,
}

impl<F> Default for FaultSet<F> {
    fn default() -> FaultSet<F> {
        FaultSet { bits: [0; WORDS], kind: PhantomData }
    }
}

impl<F: FaultKind> FaultSet<F> {
    /// Makes a set with the faults of a list.
    pub fn of(faults: &[F]) -> FaultSet<F> {
        let mut set = FaultSet::default();
        faults.iter().for_each(|fault| set.insert(*fault));
        set
    }

    /// Adds a fault.
    pub fn insert(&mut self, fault: F) {
        let at = fault.place();
        self.bits[at / 64] |= 1 << (at % 64);
    }

    /// Returns whether the set contains the fault.
    pub fn has(&self, fault: F) -> bool {
        let at = fault.place();
        self.bits[at / 64] & (1 << (at % 64)) != 0
    }
}

/// Defines the table of a kind of fault: the enumeration `Fault` and the rows `FAULTS`.
macro_rules! faults {
    ($($fault:ident = $name:literal, $doc:literal;)*) => {
        /// An injected fault.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Fault {
            $(#[doc = $doc] $fault,)*
        }

        /// Every fault, in the order of [`Fault`].
        pub const FAULTS: &[$crate::fault::FaultDescription<Fault>] = &[
            $($crate::fault::FaultDescription { fault: Fault::$fault, name: $name, doc: $doc },)*
        ];

        impl $crate::fault::FaultKind for Fault {
            const ALL: &'static [$crate::fault::FaultDescription<Fault>] = FAULTS;

            fn place(self) -> usize {
                self as usize
            }
        }

        impl Fault {
            /// Returns the fault with this name.
            pub fn by_name(name: &str) -> Option<Fault> {
                <Fault as $crate::fault::FaultKind>::named(name)
            }

            /// Returns the name on the command line.
            pub fn name(self) -> &'static str {
                <Fault as $crate::fault::FaultKind>::word(self)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<F: FaultKind>() {
        assert!(F::ALL.len() <= WORDS * 64);
        for (index, row) in F::ALL.iter().enumerate() {
            assert_eq!(row.fault.place(), index);
            assert_eq!((F::named(row.name), row.fault.word()), (Some(row.fault), row.name));
            assert!(row.doc.ends_with('.'), "{}", row.name);
            let set = FaultSet::of(&[row.fault]);
            let held = F::ALL.iter().filter(|other| set.has(other.fault));
            assert_eq!(held.count(), 1, "{}", row.name);
        }
    }

    #[test]
    fn tables_of_faults_are_in_order() {
        check::<crate::host::fault::HostFault>();
        check::<crate::agent::acp::fault::Fault>();
    }
}
