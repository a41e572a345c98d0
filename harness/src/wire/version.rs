//! Protocol versions: three numbers, and the caret ranges that hosts accept.

use std::fmt;
use std::str::FromStr;

/// A released protocol version, `MAJOR.MINOR.PATCH` without leading zeros.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Version {
    /// First number.
    pub major: u64,
    /// Second number.
    pub minor: u64,
    /// Third number.
    pub patch: u64,
}

/// A text that is no protocol version.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("expected a version such as `1.0.0`, found `{found}`")]
pub struct VersionError {
    /// The text.
    pub found: String,
}

impl Version {
    /// Makes a version of its three numbers.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Version {
        Version { major, minor, patch }
    }

    /// Whether a host built for `self` has to understand a peer that speaks `other`: the same
    /// major version from 1.0.0 on, the same minor version below it, and not older than `self`.
    ///
    /// Source: versioning.md, caret ranges.
    pub fn accepts(self, other: Version) -> bool {
        let same_line = if self.major > 0 {
            self.major == other.major
        } else {
            other.major == 0 && self.minor == other.minor
        };
        same_line && other >= self
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Version, VersionError> {
        let error = || VersionError { found: text.to_owned() };
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
            (Some(major), Some(minor), Some(patch), None) => Ok(Version { major, minor, patch }),
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
        for bad in ["1", "1.0", "1.0.0.0", "01.0.0", "1.0.0-rc", "", "a.b.c", "1..0", "1.0.+1"] {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
    }

    #[test]
    fn accepts_what_a_caret_range_does() {
        let accepts = |base: &str, offered: &str| {
            base.parse::<Version>().unwrap().accepts(offered.parse().unwrap())
        };
        assert!(accepts("1.0.0", "1.7.3"));
        assert!(!accepts("1.0.0", "2.0.0"));
        assert!(accepts("0.9.0", "0.9.5"));
        assert!(!accepts("0.9.0", "0.10.0"));
        assert!(!accepts("0.9.1", "0.9.0"));
    }
}
