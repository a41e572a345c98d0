//! The catalogue of legal variants. Each row is next to the struct that implements it.
//!
//! Knows: every table of variants. Never knows: the implementation of variants.
//!
//! Start at [`VARIANTS`].

use std::sync::LazyLock;

use super::row::VariantRow;
use super::{
    absence, behaviour, companions, delivery, names, omission, settings, spelling, traffic, values,
};

/// All variants, by topic.
pub static VARIANTS: LazyLock<Vec<VariantRow>> = LazyLock::new(|| {
    let topics = [
        settings::ROWS,
        behaviour::ROWS,
        spelling::ROWS,
        delivery::ROWS,
        traffic::ROWS,
        names::ROWS,
        values::ROWS,
        companions::ROWS,
        absence::ROWS,
        omission::ROWS,
    ];
    topics.concat()
});

impl VariantRow {
    /// Returns the row with this name; `None` if no row has the name.
    pub fn named(name: &str) -> Option<&'static VariantRow> {
        VARIANTS.iter().find(|row| row.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_unique_and_give_their_source() {
        for (place, row) in VARIANTS.iter().enumerate() {
            assert!(VARIANTS[..place].iter().all(|other| other.name != row.name), "{}", row.name);
            assert!(row.does.ends_with('.') && row.permitted.ends_with('.'), "{}", row.name);
            assert!(!row.source.is_empty(), "{}", row.name);
        }
    }
}
