//! The first scenarios that a new host should pass, in the recommended order of implementation.
//!
//! Start at [`FIRST_STEPS`].

/// The name of the profile that consists of these scenarios.
pub const PROFILE: &str = "first-steps";

/// A scenario, and the feature to implement if a host does not pass the scenario yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FirstStep {
    /// The identifier of the scenario.
    pub scenario: &'static str,
    /// The feature to implement, in one sentence.
    pub build: &'static str,
}

const fn step(scenario: &'static str, build: &'static str) -> FirstStep {
    FirstStep { scenario, build }
}

/// The steps in order.
pub const FIRST_STEPS: &[FirstStep] = &[
    step(
        "handshake/ping-needs-no-handshake",
        "Accept WebSocket connections and answer the JSON-RPC request `ping`.",
    ),
    step(
        "jsonrpc/ids-come-back-unchanged",
        "Answer each request with exactly its id, a string or a number.",
    ),
    step(
        "jsonrpc/unknown-methods-are-refused",
        "Answer a method that you do not know with the error -32601, and keep the connection.",
    ),
    step(
        "jsonrpc/text-that-is-not-json-is-a-parse-error",
        "Answer a frame that is not JSON with the error -32700.",
    ),
    step(
        "handshake/version-is-an-offered-text",
        "Answer `initialize` with one of the versions that the client offers.",
    ),
    step(
        "handshake/unknown-version-is-refused",
        "Refuse `initialize` when you speak none of the offered versions.",
    ),
    step("handshake/requests-wait-for-the-handshake", "Refuse other requests before `initialize`."),
    step(
        "handshake/initial-subscriptions-have-snapshots",
        "Keep the state of the root channel, and answer a subscription with a snapshot of it.",
    ),
    step(
        "sessions/a-session-lives-at-the-uri-asked-for",
        "Answer `createSession` and keep the session at the URI that the client chose.",
    ),
    step(
        "sessions/a-session-has-a-default-chat",
        "Give each session a default chat with a channel of its own.",
    ),
    step(
        "sessions/new-sessions-are-announced-once",
        "Announce each new session once to every subscriber of the root channel.",
    ),
    step(
        "sessions/a-session-is-listed-until-disposed",
        "Answer `listSessions` and `disposeSession`.",
    ),
    step(
        "metadata/a-title-is-shared",
        "Accept a dispatched action: number it with `serverSeq`, apply it, and send it to every subscriber.",
    ),
    step(
        "dispatch/an-accepted-action-comes-back-as-sent",
        "Send an accepted action back to its sender too, with its `origin` and its payload unchanged.",
    ),
    step(
        "dispatch/a-rejection-changes-nothing",
        "Check an action before it is applied, and answer a bad one with a `rejectionReason`.",
    ),
    step(
        "dispatch/clients-cannot-speak-for-a-session",
        "Reject actions that only the host may dispatch.",
    ),
    step(
        "handshake/nothing-comes-unasked",
        "Send nothing about a channel to a client that has not subscribed to it.",
    ),
    step(
        "turns/started-and-completed-for-everybody",
        "Run a turn: `chat/turnStarted`, the agent's text, `chat/turnComplete`.",
    ),
    step(
        "reconnect/nothing-missed-is-an-empty-replay",
        "Answer `reconnect` of a client that missed nothing with an empty replay.",
    ),
    step(
        "reconnect/missed-actions-come-in-the-answer",
        "Keep the last actions of each channel and replay what a client has missed.",
    ),
];

/// Returns the step for a scenario; `None` if the scenario is not one of the first steps.
pub fn next(scenario: &str) -> Option<&'static FirstStep> {
    FIRST_STEPS.iter().find(|step| step.scenario == scenario)
}

#[cfg(test)]
mod tests {
    use super::super::suite::ScenarioSuite;
    use super::*;

    #[test]
    fn every_step_is_a_scenario_and_stands_here_once() {
        let suite = ScenarioSuite::carried();
        for step in FIRST_STEPS {
            let same = FIRST_STEPS.iter().filter(|it| it.scenario == step.scenario).count();
            assert_eq!(same, 1, "{}", step.scenario);
            let known = suite.entries.iter().any(|entry| entry.scenario.id == step.scenario);
            assert!(known, "{}", step.scenario);
            assert!(step.build.ends_with('.'), "{}", step.build);
        }
        assert!((18..=24).contains(&FIRST_STEPS.len()));
    }
}
