//! Ranges of versions, as scenarios, steps and vectors name them: `>=0.9.0 <1.0.0`, or `acp-1`.
//!
//! Knows: versions. Never knows: what holds for them.

use crate::wire::version::{Standard, Version};

/// The versions a scenario holds for: all bounds at once.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SpecRange {
    bounds: Vec<(Bound, Version)>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Bound {
    AtLeast,
    Above,
    AtMost,
    Below,
    Exactly,
}

impl SpecRange {
    /// Reads bounds such as `>=0.9.0 <1.0.0`; a bare version is exactly that one.
    pub fn read(text: &str) -> Option<SpecRange> {
        let bound = |word: &str| {
            let signs = [
                (">=", Bound::AtLeast),
                (">", Bound::Above),
                ("<=", Bound::AtMost),
                ("<", Bound::Below),
                ("=", Bound::Exactly),
                ("", Bound::Exactly),
            ];
            let (rest, bound) =
                signs.iter().find_map(|(sign, bound)| Some((word.strip_prefix(sign)?, *bound)))?;
            Some((bound, rest.parse().ok()?))
        };
        let bounds: Option<Vec<_>> = text.split_whitespace().map(bound).collect();
        bounds.filter(|bounds| !bounds.is_empty()).map(|bounds| SpecRange { bounds })
    }

    /// The protocol that the scenario is about: AHP unless a bound is a version of another.
    pub fn standard(&self) -> Standard {
        self.bounds.first().map_or(Standard::Ahp, |(_, version)| version.standard)
    }

    /// Whether the scenario holds for a version.
    pub fn includes(&self, version: Version) -> bool {
        let fits = self.bounds.iter().all(|(bound, limit)| match bound {
            Bound::AtLeast => version >= *limit,
            Bound::Above => version > *limit,
            Bound::AtMost => version <= *limit,
            Bound::Below => version < *limit,
            Bound::Exactly => version == *limit,
        });
        fits && version.standard == self.standard()
    }
}
