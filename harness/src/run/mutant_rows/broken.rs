//! The rules that each injected fault breaks: `protocol/broken.json`, put into the binary.
//!
//! A fault breaks some rules directly, and others follow. Any other MUST or essential rule that is reported broken
//! under the fault is a wrong accusation.
//!
//! Knows: the file. Never knows: faults by type, how they are played.
//!
//! Start at [`BrokenRules::of`].

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::wire::version::ProtocolStandard;

/// The rules that one fault breaks, by the ids of requirements and checks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokenRules {
    /// Broken by what the fault does.
    #[serde(default)]
    pub breaks: Vec<String>,
    /// Broken as a consequence, each with the name of a reason.
    #[serde(default)]
    pub follows: BTreeMap<String, String>,
}

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct BrokenFile {
    /// Why a rule is broken as a consequence.
    reasons: BTreeMap<String, String>,
    ahp: BTreeMap<String, BrokenRules>,
    acp: BTreeMap<String, BrokenRules>,
}

static FILE: LazyLock<BrokenFile> = LazyLock::new(|| {
    // A test holds that it can be read.
    serde_json::from_str(include_str!("../../../protocol/broken.json")).unwrap_or_default()
});

static NONE: LazyLock<BrokenRules> = LazyLock::new(BrokenRules::default);

impl BrokenRules {
    /// The rules of a fault, by its name.
    pub fn of(standard: ProtocolStandard, fault: &str) -> &'static BrokenRules {
        BrokenRules::all(standard).get(fault).unwrap_or(&NONE)
    }

    /// Every row, by the fault's name.
    pub fn all(standard: ProtocolStandard) -> &'static BTreeMap<String, BrokenRules> {
        match standard {
            ProtocolStandard::Ahp => &FILE.ahp,
            ProtocolStandard::Acp => &FILE.acp,
        }
    }

    /// The reasons by name.
    pub fn reasons() -> &'static BTreeMap<String, String> {
        &FILE.reasons
    }

    /// Whether the row has a rule.
    pub fn has(&self, rule: &str) -> bool {
        self.breaks.iter().any(|id| id == rule) || self.follows.contains_key(rule)
    }
}
