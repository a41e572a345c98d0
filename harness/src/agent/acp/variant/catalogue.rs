//! The catalogue of the legal variants of agents. Each row is next to the struct that implements it.
//!
//! Knows: every table of variants. Never knows: the implementation of variants.
//!
//! Start at [`AGENT_VARIANTS`].

use std::sync::LazyLock;

use super::row::AgentVariantRow;
use super::{
    asking, calls, delivery, endings, ids, initialize, reports, sessions, spelling, traffic,
};

/// All variants, by topic.
pub static AGENT_VARIANTS: LazyLock<Vec<AgentVariantRow>> = LazyLock::new(|| {
    let topics = [
        spelling::ROWS,
        delivery::ROWS,
        ids::ROWS,
        initialize::ROWS,
        traffic::ROWS,
        calls::ROWS,
        reports::ROWS,
        asking::ROWS,
        endings::ROWS,
        sessions::ROWS,
    ];
    topics.concat()
});

impl AgentVariantRow {
    /// Returns the row with this name; `None` if there is none.
    pub fn named(name: &str) -> Option<&'static AgentVariantRow> {
        AGENT_VARIANTS.iter().find(|row| row.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_unique_and_give_their_source() {
        for (place, row) in AGENT_VARIANTS.iter().enumerate() {
            let others = &AGENT_VARIANTS[..place];
            assert!(others.iter().all(|other| other.name != row.name), "{}", row.name);
            assert!(row.does.ends_with('.') && row.permitted.ends_with('.'), "{}", row.name);
            assert!(!row.source.is_empty(), "{}", row.name);
        }
    }
}
