//! Facts that are part of the program: tables, test vectors and texts that the build copies from the repository.
//!
//! An unreadable fact is a defect of this build, and is never caused by a user's input. A default value would hide the
//! defect: with an empty table, the checks report nothing. A test reads every fact, so a panic occurs here only if the
//! tests were not run.
//!
//! Knows: nothing. Never knows: the purpose of a fact.

use std::fmt::Display;

/// Returns a fact that is part of the program. `name` is the file or the constant that contains the fact, for the error
/// message.
///
/// # Panics
/// Panics if the fact cannot be read.
pub fn built_in<T, E: Display>(name: &str, read: Result<T, E>) -> T {
    read.unwrap_or_else(|error| panic!("{name} of this build cannot be read: {error}"))
}
