//! The official Rust crates of all versions as subjects of `ahp-harness reducers`.
//!
//! These crates are in a separate package, because their thousands of decoders need no optimisation, unlike the code of
//! the harness. A crate that cannot be linked together with another crate has its own package in a subfolder; these
//! packages share the wrapper.
//!
//! Knows: the crate of each version. Never knows: the harness, its reducers and values.
//!
//! Start at [`serve`]; the wrapper passes a question to a crate.

#[macro_use]
mod wrapper;

use std::io::{self, BufRead, Write};

use wrapper::{Answer, Question};

/// Answers every line of the input with the crate of this version, until the input ends.
///
/// # Errors
///
/// Returns an error if reading or writing fails. A version without a crate is not such an error: each of its lines is
/// answered with an error message.
pub fn serve(version: &str, input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    wrapper::serve(|question| ask(version, question), input, output)
}

macro_rules! types_0_1 {
    ($ahp:ident $question:ident) => {
        types_1!($ahp $question).or_else(|| types!($ahp $question;
            messages: NotificationMethodParams;))
    };
}

macro_rules! types_0_7 {
    ($ahp:ident $question:ident) => {
        types_0_5!($ahp $question).or_else(|| types!($ahp $question;
            commands: ChatSource;))
    };
}

macro_rules! types_0_9 {
    ($ahp:ident $question:ident) => {
        types_0_7!($ahp $question).or_else(|| types!($ahp $question;
            state: AutomationRunState AutomationState;
            commands: FetchAutomationRunsParams FetchAutomationRunsResult
                ListAutomationTriggerDefinitionsParams ListAutomationTriggerDefinitionsResult
                RunAutomationParams RunAutomationResult;))
    };
}

macro_rules! types_1_0 {
    ($ahp:ident $question:ident) => {
        types_0_9!($ahp $question).or_else(|| types!($ahp $question;
            state: CanvasState;
            commands: MoveChatParams MoveChatResult;))
    };
}

macro_rules! reducers_0_9 {
    ($ahp:ident $question:ident) => {
        reducers_0_4!($ahp $question).or_else(|| reducers!($ahp $question;
            "automations" AutomationState apply_action_to_automation;
            "automationRun" AutomationRunState apply_action_to_automation_run;))
    };
}

macro_rules! reducers_1_0 {
    ($ahp:ident $question:ident) => {
        reducers_0_9!($ahp $question).or_else(|| reducers!($ahp $question;
            "canvas" CanvasState apply_action_to_canvas;))
    };
}

/// Builds the table of crates: the version as `--spec` spells it, the module, the name of the crate, the macros
/// of its reducers and types, and since 0.9.0 the variant of its outcome for an unusable action.
macro_rules! crates {
    ($($version:literal $module:ident $ahp:ident $reducers:ident $types:ident $($invalid:ident)?;)*) => {
        /// The versions whose crates are linked, as the line protocol's `--spec` spells them.
        pub const VERSIONS: &[&str] = &[$($version),*];

        fn ask(version: &str, question: &Question<'_>) -> Answer {
            match version {
                $($version => $module::answer(question),)*
                other => Err(format!("no crate of {other}")),
            }
        }

        $(crate_of!($module $ahp $reducers $types $($invalid)?);)*
    };
}

crates! {
    "1" v1 ahp_0_1 reducers_1 types_0_1;
    "0.2.0" v0_2 ahp_0_2 reducers_1 types_0_2;
    "0.3.0" v0_3 ahp_0_3 reducers_1 types_0_2;
    "0.4.0" v0_4 ahp_0_4 reducers_0_4 types_0_4;
    "0.5.2" v0_5_2 ahp_0_5 reducers_0_4 types_0_5;
    "0.6.0" v0_6 ahp_0_6 reducers_0_4 types_0_5;
    "0.7.0" v0_7 ahp_0_7 reducers_0_4 types_0_7;
    "0.8.0" v0_8 ahp_0_8 reducers_0_4 types_0_7;
    "0.9.0" v0_9 ahp_0_9 reducers_0_9 types_0_9 Invalid;
    "1.0.0" v1_0 ahp_1_0 reducers_1_0 types_1_0 Invalid;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_crate_folds_and_round_trips() {
        for version in VERSIONS {
            let ask =
                |line: Value| wrapper::answer(|question| ask(version, question), &line.to_string());
            let action = json!({"type": "root/activeSessionsChanged", "activeSessions": 3});
            let folded = ask(json!({
                "id": 1, "reducer": "root", "state": {"agents": []}, "actions": [action, 42],
            }));
            let state = json!({"agents": [], "activeSessions": 3});
            let outcomes = json!(["applied", "out-of-scope"]);
            assert_eq!(folded, json!({"id": 1, "state": state, "outcomes": outcomes}), "{version}");
            let trip = json!({"id": 2, "op": "roundtrip", "type": "RootState", "value": state});
            assert_eq!(ask(trip), json!({"id": 2, "value": state}), "{version}");
            let unknown = ask(json!({"id": 3, "reducer": "moon", "state": {}, "actions": []}));
            assert_eq!(unknown["error"], "the crate has nothing of that name", "{version}");
        }
    }
}
