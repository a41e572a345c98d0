//! The part of the first look that needs a conversation: it detects capabilities that a host offers without
//! declaring them.
//!
//! Each probe is a small scenario that is played before the other scenarios. The capability is offered if the
//! probe passes. Probes do not judge the host: the scenarios report its problems.
//!
//! Knows: scenarios, capabilities. Never knows: sockets, the presentation of results.
//!
//! Start at [`PROBES`].

use crate::scenario::capability::{self, CapabilitySource, READY_SESSIONS, SCRIPTS};
use crate::verdict::Status;

use super::detect::DetectedFeature;
use super::play::ScenarioVerdict;
use super::suite::{CarriedFiles, ScenarioSuite, SuiteEntry};

/// A scenario that determines whether a host offers a capability.
#[derive(Debug)]
pub struct ProbeScenario {
    /// The capability.
    pub capability: &'static str,
    /// The file name under which the text is loaded; the loader requires it to end with the scenario's id.
    file: &'static str,
    text: &'static str,
    /// The names and values that scenarios can use if the capability is offered.
    facts: &'static [(&'static str, &'static str)],
    /// Advice for the user if the capability is not offered; empty if there is no advice.
    hint: &'static str,
}

/// All probes, in order.
pub const PROBES: &[ProbeScenario] = &[
    // This probe comes first, because it determines whether the other probes wait for a ready session. Some hosts make
    // a new session ready by themselves; other hosts make it ready only with its first turn, so the other probes must
    // not wait.
    ProbeScenario {
        capability: READY_SESSIONS,
        file: "detect/ready-sessions.yaml",
        text: r#"
scenario: detect/ready-sessions
title: A session that is being created becomes ready before anything is said in it
clients: [A]

steps:
  - open: { by: A }
  - snapshot: { of: "${session}", state: { lifecycle: creating } }
  - expect: { at: A, type: session/ready, channel: "${session}", within: 5s, proves: session.lifecycle.monotone }
"#,
        facts: &[(READY_SESSIONS, "yes")],
        hint: "",
    },
    // Only an agent that follows scripts ends a turn with this word as its `errorType`. An agent that echoes its prompt
    // repeats the word in its answer, but not in `errorType`.
    ProbeScenario {
        capability: SCRIPTS,
        file: "detect/agent-scripts.yaml",
        text: r#"
scenario: detect/agent-scripts
title: A turn fails as its script says
agent: [fail ahp-detect]
clients: [A]

steps:
  - open: { by: A }
  - turn: { by: A, id: t1 }
  - expect: { at: A, within: 20s, where: { action: { turnId: t1, type: { $in: [chat/error, chat/turnComplete, chat/turnCancelled] } } } }
  - snapshot:
      of: ${chat}
      state: { turns: { $contains: [{ id: t1, state: error, responseParts: { $contains: [{ kind: error, error: { errorType: ahp-detect } }] } }] } }
      proves: chat.turn.error-status
"#,
        facts: &[],
        hint: "`--agent-model`, `--agent-acp`, or `--profile agent` to play them anyway",
    },
    ProbeScenario {
        capability: "annotations",
        file: "detect/annotations.yaml",
        text: r#"
scenario: detect/annotations
title: A new session has a channel of annotations
clients: [A]

steps:
  - open: { by: A }
  - include: ../scenarios/ahp/fragments/the-annotations.yaml
  - subscribe: { by: A, channel: "${notes}", result: { snapshot: { resource: "${notes}" } }, proves: annotations.channel }
"#,
        facts: &[],
        hint: "",
    },
    ProbeScenario {
        capability: "customizations",
        file: "detect/customizations.yaml",
        text: r#"
scenario: detect/customizations
title: A plugin that a client publishes appears in the session's customizations
spec: ">=0.2.0"
clients: [A]

steps:
  - open: { by: A }
  - include:
      file: ../scenarios/ahp/fragments/a-plugin-is-published.yaml
      with: { by: A, client: "${A.id}", plugin: probe, skill: probe-skill, server: probe-server, enablement: [{ kind: global, enabled: false }] }
  - snapshot: { of: "${session}", state: { customizations: { $contains: [{ clientId: "${A.id}" }] } }, proves: session.customizations.client-plugin-propagated }
"#,
        facts: &[],
        hint: "",
    },
    ProbeScenario {
        capability: "clientFiles",
        file: "detect/client-files.yaml",
        text: r#"
scenario: detect/client-files
title: A client can read a file that another client serves
spec: ">=0.5.0"
clients: [A, B]

steps:
  - open: { by: [A, B] }
  - include: ../scenarios/ahp/fragments/a-client-serves-a-plugin.yaml
  - request: { by: B, method: resourceRead, params: { uri: "${A.files}/plugin/greeting.txt" }, result: { data: { $type: string } }, proves: resource.forwarded.result }
"#,
        facts: &[],
        hint: "`--client-files`, the URI at which the host offers the files of one client to other clients",
    },
];

impl ProbeScenario {
    /// Returns the scenario, ready to be played.
    ///
    /// # Errors
    /// Returns all mistakes in the text of the scenario. They are mistakes of the harness, so a caller must not report
    /// that the target lacks the capability.
    pub fn entry(&self) -> Result<SuiteEntry, String> {
        let mut suite =
            ScenarioSuite::of([(self.file.to_owned(), self.text.to_owned())], &CarriedFiles);
        let mistakes = suite.broken.iter().flat_map(|loaded| &loaded.errors);
        let mistakes: Vec<_> = mistakes.map(|error| error.kind.to_string()).collect();
        let why = || format!("the scenario `{}` does not load: {}", self.file, mistakes.join("; "));
        suite.entries.pop().ok_or_else(why)
    }

    /// Returns the capability, with the result of playing the probe.
    pub fn detected(&self, verdict: &ScenarioVerdict) -> DetectedFeature {
        let row = capability::named(self.capability).map(|row| row.shown);
        let Some(CapabilitySource::Probe(what)) = row else {
            return DetectedFeature::new(self.capability, true, "nothing shows it");
        };
        if verdict.status == Status::Pass {
            let facts = self.facts.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            let facts = facts.collect();
            return DetectedFeature { facts, ..DetectedFeature::new(self.capability, true, what) };
        }
        let hint = match self.hint {
            "" => String::new(),
            hint => format!(" (hint: {hint})"),
        };
        let how = format!("tried, and not found: {what}; {}{hint}", verdict.reason);
        DetectedFeature::new(self.capability, false, how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::capability::CAPABILITIES;

    #[test]
    fn every_probe_loads_and_every_capability_that_wants_one_has_it() {
        for probe in PROBES {
            assert!(probe.entry().is_ok(), "{:?}", probe.entry().err());
        }
        let wanting =
            CAPABILITIES.iter().filter(|row| matches!(row.shown, CapabilitySource::Probe(_)));
        let names = wanting.map(|row| row.name);
        assert!(names.eq(PROBES.iter().map(|probe| probe.capability)));
    }
}
