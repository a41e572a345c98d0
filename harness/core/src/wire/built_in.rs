//! Facts that are compiled in: tables, vectors and texts of the repository.
//!
//! A fact that cannot be read is a defect of this build, and no input of a user causes it. A default in its place
//! would turn the defect into silence: an empty table accuses nobody. Every fact is read by a test, so a defect
//! fails the tests, and the panic here is for a build whose tests nobody ran.
//!
//! Knows: nothing. Never knows: what a fact is for.

use std::fmt::Display;

/// Returns a fact that is compiled in. `name` is its file or constant.
///
/// # Panics
/// Panics if the fact cannot be read.
pub fn built_in<T, E: Display>(name: &str, read: Result<T, E>) -> T {
    read.unwrap_or_else(|error| panic!("{name} of this build cannot be read: {error}"))
}
