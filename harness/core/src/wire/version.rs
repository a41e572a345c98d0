//! Protocol versions: three numbers, the integer `1` before them, and the ranges that hosts accept.
//!
//! A [`Version`] also names its protocol: the versions of AHP are plain numbers, and `acp-1` is version 1 of the Agent
//! Client Protocol, for which agents are certified.
//!
//! Start at the table of versions, which is the argument of `versions!`; [`PUBLISHED`], [`Version::NEWEST`],
//! [`Version::played`] and [`Version::offered`] are derived from it.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::json::{ToJson, Value};

/// The protocol of a version.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ProtocolStandard {
    /// The Agent Host Protocol, between clients and a host.
    #[default]
    Ahp,
    /// The Agent Client Protocol, between a client and an agent.
    Acp,
}

impl ProtocolStandard {
    /// Returns the abbreviation of the protocol.
    pub fn name(self) -> &'static str {
        match self {
            ProtocolStandard::Ahp => "AHP",
            ProtocolStandard::Acp => "ACP",
        }
    }

    /// Returns the name of the party that is tested against the protocol.
    pub fn subject(self) -> &'static str {
        match self {
            ProtocolStandard::Ahp => "host",
            ProtocolStandard::Acp => "agent",
        }
    }
}

/// The prefix of a version of ACP.
const ACP_PREFIX: &str = "acp-";

/// A protocol version: `MAJOR.MINOR.PATCH` without leading zeros, the integer `1`, or `acp-1`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Version {
    /// The protocol of the version.
    pub standard: ProtocolStandard,
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
}

/// The error for a text that is not a protocol version.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("expected a version such as `1.0.0`, found `{found}`")]
pub struct VersionError {
    /// The text that is not a version.
    pub found: String,
}

/// Whether the hosts and clients of the harness offer a version by default.
#[derive(Clone, Copy)]
enum VersionOffer {
    /// Hosts and clients offer the version unless another version is requested.
    ByDefault,
    /// Hosts and clients offer the version only if it is requested.
    OnRequest,
}

macro_rules! versions {
    ($($(#[doc = $doc:literal])+ $name:ident ($major:expr, $minor:expr, $patch:expr) $offer:ident;)+) => {
        /// The published versions by name, for use in tables.
        impl Version {
            $($(#[doc = $doc])+ pub const $name: Version = Version::new($major, $minor, $patch);)+
        }

        /// The table of versions, oldest first.
        const TABLE: &[(Version, VersionOffer)] = &[$((Version::$name, VersionOffer::$offer)),+];
    };
}

// Every other list of versions is derived from this table. `protocol/<version>.json` contains the definitions of a
// version; the build fails if a version has no such file.
versions! {
    /// The protocol of spring 2026, whose version is the integer `1` on the wire. This version sorts before 0.1.0, and
    /// is not equal to any version that consists of three numbers.
    V1 (0, 0, u64::MAX) OnRequest;
    /// Version 0.1.0. No software was ever released for it (the package with that number uses the integer `1`),
    /// but its documents and fixtures were published.
    V0_1 (0, 1, 0) OnRequest;
    /// Version 0.2.0.
    V0_2 (0, 2, 0) OnRequest;
    /// Version 0.3.0.
    V0_3 (0, 3, 0) OnRequest;
    /// Version 0.4.0.
    V0_4 (0, 4, 0) OnRequest;
    /// Version 0.5.0.
    V0_5 (0, 5, 0) OnRequest;
    /// Version 0.5.1.
    V0_5_1 (0, 5, 1) OnRequest;
    /// Version 0.5.2.
    V0_5_2 (0, 5, 2) OnRequest;
    /// Version 0.6.0.
    V0_6 (0, 6, 0) OnRequest;
    /// Version 0.7.0.
    V0_7 (0, 7, 0) OnRequest;
    /// Version 0.8.0.
    V0_8 (0, 8, 0) OnRequest;
    /// Version 0.9.0.
    V0_9 (0, 9, 0) ByDefault;
    /// Version 1.0.0.
    V1_0 (1, 0, 0) ByDefault;
}

/// Every published version, oldest first. Hosts and clients of the harness support all of them.
pub const PUBLISHED: [Version; TABLE.len()] = {
    let mut versions = [Version::NEWEST; TABLE.len()];
    let mut row = 0;
    while row < TABLE.len() {
        versions[row] = TABLE[row].0;
        row += 1;
    }
    versions
};

static PLAYED: [Version; TABLE.len()] = newest_first(true);
static OFFERED: [Version; offers()] = newest_first(false);

/// Returns the number of versions that are offered by default.
const fn offers() -> usize {
    let (mut row, mut count) = (0, 0);
    while row < TABLE.len() {
        count += matches!(TABLE[row].1, VersionOffer::ByDefault) as usize;
        row += 1;
    }
    count
}

/// Returns the versions of the table, newest first. If `all` is `false`, only the versions that are offered by default
/// are returned.
const fn newest_first<const COUNT: usize>(all: bool) -> [Version; COUNT] {
    let mut versions = [Version::NEWEST; COUNT];
    let (mut row, mut place) = (TABLE.len(), 0);
    while row > 0 {
        row -= 1;
        if all || matches!(TABLE[row].1, VersionOffer::ByDefault) {
            versions[place] = TABLE[row].0;
            place += 1;
        }
    }
    versions
}

impl Version {
    /// Version 1 of the Agent Client Protocol.
    pub const ACP_1: Version =
        Version { standard: ProtocolStandard::Acp, major: 1, minor: 0, patch: 0 };

    /// The newest version of AHP. Scenarios, clients and the reference host use this version internally.
    pub const NEWEST: Version = TABLE[TABLE.len() - 1].0;

    /// Returns every version of AHP that hosts and clients of the harness support, newest first.
    pub fn played() -> &'static [Version] {
        &PLAYED
    }

    /// Returns the versions of AHP that hosts and clients of the harness offer by default, newest first.
    pub fn offered() -> &'static [Version] {
        &OFFERED
    }

    /// Creates a version of AHP from its three numbers.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Version {
        Version { standard: ProtocolStandard::Ahp, major, minor, patch }
    }

    /// Returns the index of the version in [`PUBLISHED`] or, for an unpublished version, the index of the
    /// newest published version below it. Returns `None` if the version is below all published versions.
    pub fn place(self) -> Option<usize> {
        if self.standard != ProtocolStandard::Ahp {
            return None;
        }
        PUBLISHED.iter().rposition(|published| *published <= self)
    }

    /// Returns versions as a list for a message: `1.0.0, 0.9.0`.
    pub fn listed(versions: &[Version]) -> String {
        versions.iter().map(Version::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Returns a version that is stated as a number, `1` or `1.0`, as the text `1`.
    pub fn number_text(number: &Value) -> String {
        number.as_u64().map_or_else(|| number.to_string(), |number| number.to_string())
    }

    /// Returns the protocol and its version as a title: `AHP 1.0.0`, `ACP 1`.
    pub fn title(self) -> String {
        match self.standard {
            ProtocolStandard::Ahp => format!("AHP {self}"),
            ProtocolStandard::Acp => format!("ACP {}", self.major),
        }
    }

    /// Returns whether a host built for `self` has to understand a peer that uses `other`. From 1.0.0 on, both versions
    /// need the same major version; before 1.0.0, both also need the same minor version. `other` must not be older than
    /// `self`.
    ///
    /// Source: versioning.md, caret ranges.
    pub fn accepts(self, other: Version) -> bool {
        let same_line = if self.major > 0 {
            self.major == other.major
        } else {
            other.major == 0 && self.minor == other.minor
        };
        self.standard == other.standard && same_line && other >= self
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Version::V1 {
            return f.write_str("1");
        }
        if self.standard == ProtocolStandard::Acp {
            return write!(f, "{ACP_PREFIX}{}", self.major);
        }
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Returns the newest version.
impl Default for Version {
    fn default() -> Version {
        Version::NEWEST
    }
}

impl ToJson for Version {
    fn to_json(&self) -> Value {
        Value::from(self.to_string())
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Reads a version from its text. A text that is not a version is an error, which readers of files report with its
/// line.
impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Version, VersionError> {
        let error = || VersionError { found: text.to_owned() };
        if text == "1" {
            return Ok(Version::V1);
        }
        if text == "acp-1" {
            return Ok(Version::ACP_1);
        }
        let number = |part: &str| {
            let plain = !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && (part == "0" || !part.starts_with('0'));
            if plain { part.parse::<u64>().ok() } else { None }
        };
        let mut parts = text.split('.').map(number);
        let mut next = || parts.next().flatten();
        let (major, minor, patch) = (next(), next(), next());
        match (major, minor, patch, parts.next()) {
            (Some(major), Some(minor), Some(patch), None) => Ok(Version::new(major, minor, patch)),
            _ => Err(error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_three_numbers_and_nothing_else() {
        assert_eq!("1.7.3".parse(), Ok(Version::new(1, 7, 3)));
        for bad in ["2", "1.0", "1.0.0.0", "01.0.0", "1.0.0-rc", "", "a.b.c", "1..0", "1.0.+1"] {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
    }

    #[test]
    fn published_versions_are_in_order_and_read_back() {
        assert!(PUBLISHED.is_sorted_by(|one, next| one < next));
        for (place, version) in PUBLISHED.iter().enumerate() {
            assert_eq!(version.to_string().parse(), Ok(*version));
            assert_eq!(version.place(), Some(place));
        }
        assert_eq!(Version::V1.to_string(), "1");
        let place = |text: &str| text.parse::<Version>().unwrap().place();
        assert_eq!(place("0.9.9"), Some(11));
        assert_eq!(place("99.0.0"), Some(PUBLISHED.len() - 1));
        assert_eq!(place("0.5.9"), Some(7));
        assert_eq!(place("0.0.1"), None);
    }

    #[test]
    fn lists_follow_the_table() {
        let mut played = Version::played().to_vec();
        assert_eq!(played.first(), Some(&Version::NEWEST));
        assert!(Version::offered().is_sorted_by(|one, next| one > next));
        assert_eq!(Version::offered().first(), Some(&Version::NEWEST));
        assert!(Version::offered().contains(&Version::V0_9));
        played.reverse();
        assert_eq!(played, PUBLISHED);
    }

    #[test]
    fn files_have_versions_as_texts() {
        for version in PUBLISHED.iter().chain([&Version::ACP_1]) {
            let text = format!("\"{version}\"");
            assert_eq!(serde_json::to_string(version).unwrap(), text);
            assert_eq!(serde_json::from_str::<Version>(&text).unwrap(), *version);
        }
        let error = serde_json::from_str::<Version>("\"1.0\"").unwrap_err().to_string();
        assert!(error.starts_with("expected a version such as `1.0.0`, found `1.0`"), "{error}");
        assert!(serde_json::from_str::<Version>("1").is_err());
    }

    #[test]
    fn versions_of_acp_are_not_newer_than_those_of_ahp() {
        assert_eq!("acp-1".parse(), Ok(Version::ACP_1));
        assert_eq!(Version::ACP_1.to_string(), "acp-1");
        assert_eq!(Version::ACP_1.place(), None);
        assert!(!Version::V1_0.accepts(Version::ACP_1) && !Version::ACP_1.accepts(Version::V1_0));
        assert!("acp-2".parse::<Version>().is_err());
    }

    #[test]
    fn ranges_accept_the_versions_of_a_caret_range() {
        let accepts = |base: &str, offered: &str| {
            base.parse::<Version>().unwrap().accepts(offered.parse().unwrap())
        };
        assert!(accepts("1.0.0", "1.7.3"));
        assert!(!accepts("1.0.0", "2.0.0"));
        assert!(accepts("0.9.0", "0.9.5"));
        assert!(!accepts("0.9.0", "0.10.0"));
        assert!(!accepts("0.9.1", "0.9.0"));
        assert!(accepts("1", "1"));
        assert!(!accepts("1", "1.0.0") && !accepts("1.0.0", "1") && !accepts("0.1.0", "1"));
    }
}
