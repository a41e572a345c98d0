//! The rules that each injected fault breaks: `protocol/broken.json`, embedded in the binary.
//!
//! A fault breaks some rules directly and others as a consequence. Any other MUST or essential rule that is
//! reported broken under the fault is a false finding.
//!
//! Knows: the form of `broken.json`. Never knows: the types of faults, the execution of faults.
//!
//! Start at [`BrokenRules::of`].

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::wire::built_in::built_in;

/// The rules that one fault breaks, by the ids of requirements and checks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokenRules {
    /// The rules that the fault breaks directly.
    #[serde(default)]
    pub breaks: Vec<String>,
    /// The rules that break as a consequence, each with the name of the reason.
    #[serde(default)]
    pub follows: BTreeMap<String, String>,
}

/// The content of `broken.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BrokenFile {
    /// The reasons why a rule breaks as a consequence, by name.
    reasons: BTreeMap<String, String>,
    ahp: BTreeMap<String, BrokenRules>,
    acp: BTreeMap<String, BrokenRules>,
    client: BTreeMap<String, BrokenRules>,
}

/// The component that has injected faults.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FaultOwner {
    /// The reference host.
    Host,
    /// The reference agent.
    Agent,
    /// The reference client.
    Client,
}

static FILE: LazyLock<BrokenFile> = LazyLock::new(|| {
    let read = serde_json::from_str(include_str!("../../../protocol/broken.json"));
    built_in("protocol/broken.json", read)
});

static NONE: LazyLock<BrokenRules> = LazyLock::new(BrokenRules::default);

impl BrokenRules {
    /// Returns the rules that a fault breaks, by the fault's name; empty if the file does not list the fault.
    pub fn of(owner: FaultOwner, fault: &str) -> &'static BrokenRules {
        BrokenRules::all(owner).get(fault).unwrap_or(&NONE)
    }

    /// Returns all faults with the rules that they break, by the fault's name.
    pub fn all(owner: FaultOwner) -> &'static BTreeMap<String, BrokenRules> {
        match owner {
            FaultOwner::Host => &FILE.ahp,
            FaultOwner::Agent => &FILE.acp,
            FaultOwner::Client => &FILE.client,
        }
    }

    /// Returns the reasons by name.
    pub fn reasons() -> &'static BTreeMap<String, String> {
        &FILE.reasons
    }

    /// Returns whether the fault breaks the rule, directly or as a consequence.
    pub fn has(&self, rule: &str) -> bool {
        self.breaks.iter().any(|id| id == rule) || self.follows.contains_key(rule)
    }
}
