//! Parses version ranges of scenarios, steps and vectors, such as `>=0.9.0 <1.0.0` or `acp-1`.
//!
//! Knows: versions. Never knows: the differences between versions.

use serde::{Deserialize, Deserializer, de};

use crate::wire::version::{ProtocolStandard, Version};

/// A range of versions. A version is in the range if all bounds include the version.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SpecRange {
    bounds: Vec<(VersionBound, Version)>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum VersionBound {
    AtLeast,
    Above,
    AtMost,
    Below,
    Exactly,
}

impl<'de> Deserialize<'de> for SpecRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SpecRange, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || de::Error::custom(format!("expected a range of versions, found `{text}`"));
        SpecRange::read(&text).ok_or_else(wrong)
    }
}

impl SpecRange {
    /// Parses bounds such as `>=0.9.0 <1.0.0`. A bare version means exactly that version.
    pub fn read(text: &str) -> Option<SpecRange> {
        let bound = |word: &str| {
            let signs = [
                (">=", VersionBound::AtLeast),
                (">", VersionBound::Above),
                ("<=", VersionBound::AtMost),
                ("<", VersionBound::Below),
                ("=", VersionBound::Exactly),
                ("", VersionBound::Exactly),
            ];
            let (rest, bound) =
                signs.iter().find_map(|(sign, bound)| Some((word.strip_prefix(sign)?, *bound)))?;
            Some((bound, rest.parse().ok()?))
        };
        let bounds: Option<Vec<_>> = text.split_whitespace().map(bound).collect();
        bounds.filter(|bounds| !bounds.is_empty()).map(|bounds| SpecRange { bounds })
    }

    /// Returns the protocol (AHP or ACP) to which the range belongs: the protocol of the first bound, or AHP if there
    /// are no bounds.
    pub fn standard(&self) -> ProtocolStandard {
        self.bounds.first().map_or(ProtocolStandard::Ahp, |(_, version)| version.standard)
    }

    /// Returns whether the range contains a version.
    pub fn includes(&self, version: Version) -> bool {
        let fits = self.bounds.iter().all(|(bound, limit)| match bound {
            VersionBound::AtLeast => version >= *limit,
            VersionBound::Above => version > *limit,
            VersionBound::AtMost => version <= *limit,
            VersionBound::Below => version < *limit,
            VersionBound::Exactly => version == *limit,
        });
        fits && version.standard == self.standard()
    }
}
