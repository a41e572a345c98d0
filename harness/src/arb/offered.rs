//! The capabilities that generated steps need: a table from steps to capabilities. A scenario lists these capabilities
//! as its `needs`. If the first look did not find a capability, no step that needs it is generated or played; `run`
//! would also skip such a step.
//!
//! Knows: the members of steps, the names of capabilities. Never knows: the detection of capabilities.
//!
//! Start at [`needs`].

use std::sync::Arc;

use crate::run::detect::DetectedFeature;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;

use super::draft_step::verb_of;

/// A condition on a step.
enum OfferMember {
    /// The string at the pointer begins with this string.
    Begins(&'static str, &'static str),
    /// There is a value at the pointer.
    There(&'static str),
    /// The list at the pointer has more than one entry.
    Several(&'static str),
    /// The step contains this string anywhere.
    Anywhere(&'static str),
}

use OfferMember::{Anywhere, Begins, Several, There};

const ACTION: &str = "/action/type";
const METHOD: &str = "/method";
const FOLDERS: &str = "multipleWorkingDirectories";

/// Conditions on steps, each with the capability that a matching step needs.
const NEEDS: &[(OfferMember, &str)] = &[
    (Begins(ACTION, "annotations/"), "annotations"),
    (Anywhere("/annotations"), "annotations"),
    (Begins(ACTION, "automation/"), "automations"),
    (Begins(ACTION, "automationRun/"), "automations"),
    (Begins(METHOD, "runAutomation"), "automations"),
    (Begins(METHOD, "fetchAutomationRuns"), "automations"),
    (Begins(METHOD, "listAutomationTriggerDefinitions"), "automations"),
    (Anywhere("ahp-automations:"), "automations"),
    (Begins(ACTION, "terminal/"), "terminals"),
    (Begins(ACTION, "changeset/"), "changesetOperations"),
    (Begins(ACTION, "session/customization"), "customizations"),
    (Begins(ACTION, "session/mcpServer"), "customizations"),
    (There("/action/activeClient/customizations"), "customizations"),
    (Anywhere("\"mcp:/"), "customizations"),
    (Begins(ACTION, "session/workingDirectory"), FOLDERS),
    (Begins(ACTION, "chat/workingDirectory"), FOLDERS),
    (
        Begins(ACTION, "session/workingDirectoryReplaced"),
        "multipleWorkingDirectories.primaryReplacement",
    ),
    (Several("/params/workingDirectories"), FOLDERS),
    (Several("/config/workingDirectories"), FOLDERS),
    (Begins(METHOD, "createChat"), "multipleChats"),
    (Begins("/params/source/kind", "fork"), "multipleChats.fork"),
    (Begins("/params/source/kind", "sideChat"), "multipleChats.sideChat"),
    (Anywhere("ahp-otlp:"), "telemetry"),
];

/// The channel kinds that exist only on hosts with a capability.
const KINDS: &[(ChannelKind, &str)] = &[
    (ChannelKind::Annotations, "annotations"),
    (ChannelKind::Automations, "automations"),
    (ChannelKind::AutomationRun, "automations"),
    (ChannelKind::Terminal, "terminals"),
    (ChannelKind::Changeset, "changesetOperations"),
    (ChannelKind::ResourceWatch, "resourceWatches"),
];

/// Returns the capabilities that a conversation needs, without duplicates: those of the scenario that it begins
/// with, and those of its steps.
pub fn needs(base: &[&'static str], steps: &[Value]) -> Vec<&'static str> {
    let mut found: Vec<&str> = base.iter().copied().chain(steps.iter().flat_map(of_step)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn of_step(step: &Value) -> impl Iterator<Item = &'static str> {
    let members = verb_of(step).map(|(_, members)| members);
    let text = step.to_string();
    let looks = move |looks: &OfferMember| {
        let at = |place: &str| members.and_then(|members| members.pointer(place));
        match looks {
            Begins(place, start) => {
                at(place).and_then(Value::as_str).is_some_and(|text| text.starts_with(start))
            }
            There(place) => at(place).is_some(),
            Several(place) => at(place).and_then(Value::as_array).is_some_and(|it| it.len() > 1),
            Anywhere(part) => text.contains(part),
        }
    };
    NEEDS.iter().filter(move |row| looks(&row.0)).map(|row| row.1)
}

/// The capabilities that the first look found. A capability that is not listed counts as present.
#[derive(Clone, Debug)]
pub struct HostOffers(Arc<[DetectedFeature]>);

impl HostOffers {
    /// Creates the list from the detected capabilities.
    pub fn of(detected: &[DetectedFeature]) -> HostOffers {
        HostOffers(detected.into())
    }

    /// Returns all detected capabilities.
    pub fn detected(&self) -> &[DetectedFeature] {
        &self.0
    }

    /// Returns whether a host has channels of this kind.
    pub fn have(&self, kind: ChannelKind) -> bool {
        let needed = |name: &str| self.0.iter().all(|it| it.offered || it.capability != name);
        KINDS.iter().filter(|(of, _)| *of == kind).all(|(_, name)| needed(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::capability;
    use crate::wire::json::json;

    #[test]
    fn a_step_needs_the_capabilities_that_it_uses() {
        let fork = json!({"request": {"by": "A", "method": "createChat", "params": {
            "channel": "${session}", "chat": "${new chat c}", "source": {"kind": "fork"},
        }}});
        let note = json!({"dispatch": {"by": "A", "action": {"type": "annotations/set"}}});
        assert_eq!(
            needs(&[], &[note, fork]),
            ["annotations", "multipleChats", "multipleChats.fork"]
        );
        let title = json!({"dispatch": {"by": "A", "action": {"type": "session/titleChanged"}}});
        assert!(needs(&[], &[title]).is_empty());
    }

    #[test]
    fn every_row_names_a_capability() {
        for name in NEEDS.iter().map(|row| row.1).chain(KINDS.iter().map(|row| row.1)) {
            assert!(capability::named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_channel_exists_unless_the_host_does_not_offer_it() {
        let offers = HostOffers::of(&[DetectedFeature::new("terminals", false, "")]);
        assert!(!offers.have(ChannelKind::Terminal));
        assert!(offers.have(ChannelKind::Annotations) && offers.have(ChannelKind::Chat));
    }
}
