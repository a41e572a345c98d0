//! Random combinations of legal variants.
//!
//! Knows: rows of variants by their identity. Never knows: hosts, agents, results.
//!
//! Start at [`combination`].

use crate::dice::Dice;

/// The maximum number of variants in a random combination.
const MOST: u64 = 8;

/// Returns a random combination of rows; each row occurs at most once.
pub(super) fn combination<R>(
    dice: &mut Dice,
    all: &[&'static R],
    same: fn(&R, &R) -> bool,
) -> Vec<&'static R> {
    let size = 2 + dice.roll() % (MOST - 1);
    let mut rows: Vec<&'static R> = Vec::new();
    for _ in 0..size {
        if let Some(row) = dice.pick(all)
            && !rows.iter().any(|other| same(row, other))
        {
            rows.push(row);
        }
    }
    rows
}
