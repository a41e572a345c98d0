//! What an official crate makes of a line: its types decode, its reducer folds, its types encode.
//!
//! The crates have the same names in all versions and other types behind them, so that the code is
//! one macro that every version goes through. What a version has more than the one before stands in
//! a macro of its own.
//!
//! Knows: the crates `ahp` and the line protocol. Never knows: our own reducers and values.
//!
//! Start at [`serve`].

use std::io::{BufRead, ErrorKind, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::cli::exit::{Code, Outcome, Stop};
use crate::wire::version::Version;

/// A question. What the crate decodes is kept as text, so that it reads what was on the wire.
#[derive(Deserialize)]
struct Question<'a> {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    op: Option<String>,
    #[serde(default)]
    reducer: String,
    #[serde(borrow)]
    state: Option<&'a RawValue>,
    #[serde(borrow, default)]
    actions: Vec<&'a RawValue>,
    #[serde(default, rename = "type")]
    name: String,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

/// The answer's members, or why there is none.
type Answer = Result<Value, String>;

/// Answers every line with the crate of a version, until the input ends.
pub(super) fn serve(version: Version, input: &mut dyn BufRead, output: &mut dyn Write) -> Outcome {
    let fault = |error| Stop::fault(format!("the lines could not be served: {error}"));
    for line in input.lines() {
        let written = writeln!(output, "{}", answer(version, &line.map_err(fault)?));
        match written.and_then(|()| output.flush()) {
            Ok(()) => {}
            // Nobody is left to read the answers.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            Err(error) => return Err(fault(error)),
        }
    }
    Ok(Code::Ok)
}

fn answer(version: Version, line: &str) -> Value {
    let question: Question<'_> = match serde_json::from_str(line) {
        Ok(question) => question,
        Err(error) => return json!({"id": null, "error": format!("expected a question: {error}")}),
    };
    let answer = match version {
        Version::V1 => v1::answer(&question),
        Version::V0_2 => v0_2::answer(&question),
        Version::V0_3 => v0_3::answer(&question),
        Version::V0_4 => v0_4::answer(&question),
        Version::V0_5_2 => v0_5_2::answer(&question),
        Version::V0_6 => v0_6::answer(&question),
        Version::V0_7 => v0_7::answer(&question),
        Version::V0_8 => v0_8::answer(&question),
        Version::V0_9 => v0_9::answer(&question),
        Version::V1_0 => v1_0::answer(&question),
        other => Err(format!("no crate of {other}")),
    };
    let mut answer = answer.unwrap_or_else(|why| json!({"error": why}));
    if let Value::Object(members) = &mut answer {
        members.insert("id".to_owned(), question.id);
    }
    answer
}

fn decode<T: DeserializeOwned>(text: Option<&RawValue>) -> Result<T, String> {
    let text = text.ok_or("expected a value")?;
    serde_json::from_str(text.get()).map_err(|error| error.to_string())
}

fn encode<T: Serialize>(value: &T) -> Answer {
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// Decodes and encodes.
fn trip<T: DeserializeOwned + Serialize>(question: &Question<'_>) -> Answer {
    decode::<T>(question.value).and_then(|value| Ok(json!({"value": encode(&value)?})))
}

/// Folds a state; `apply` is the crate's reducer and says the outcome in the protocol's words.
fn reduce<S, A>(question: &Question<'_>, apply: impl Fn(&mut S, &A) -> &'static str) -> Answer
where
    S: DeserializeOwned + Serialize,
    A: DeserializeOwned,
{
    let mut state: S = decode(question.state)?;
    let mut outcomes = Vec::new();
    for action in &question.actions {
        outcomes.push(apply(&mut state, &decode::<A>(Some(*action))?));
    }
    Ok(json!({"state": encode(&state)?, "outcomes": outcomes}))
}

/// Looks a type up by its name and sends the value through it.
macro_rules! types {
    ($ahp:ident $question:ident; $($module:ident: $($name:ident)*;)*) => {
        match $question.name.as_str() {
            $($(stringify!($name) => {
                Some(trip::<$ahp::ahp_types::$module::$name>($question))
            })*)*
            _ => None,
        }
    };
}

/// Looks a reducer up by its name and folds the state with it.
macro_rules! reducers {
    ($ahp:ident $question:ident; $($reducer:literal $state:ident $apply:ident;)*) => {
        match $question.reducer.as_str() {
            $($reducer => Some(reduce($question, |state: &mut $ahp::ahp_types::state::$state, action| {
                said($ahp::reducers::$apply(state, action))
            })),)*
            _ => None,
        }
    };
}

macro_rules! types_1 {
    ($ahp:ident $question:ident) => {
        types!($ahp $question;
            actions: ActionEnvelope StateAction;
            state: ResponsePart RootState SessionState TerminalState ToolCallState Turn;
            commands: AuthenticateParams AuthenticateResult CreateSessionParams
                CreateTerminalParams DispatchActionParams DisposeSessionParams
                DisposeTerminalParams FetchTurnsParams FetchTurnsResult InitializeParams
                InitializeResult ListSessionsParams ListSessionsResult ReconnectParams
                ReconnectResult ResolveSessionConfigParams ResolveSessionConfigResult
                ResourceCopyParams ResourceCopyResult ResourceDeleteParams ResourceDeleteResult
                ResourceListParams ResourceListResult ResourceMoveParams ResourceMoveResult
                ResourceReadParams ResourceReadResult ResourceWriteParams ResourceWriteResult
                SessionConfigCompletionsParams SessionConfigCompletionsResult SubscribeParams
                SubscribeResult UnsubscribeParams;)
    };
}

macro_rules! types_0_1 {
    ($ahp:ident $question:ident) => {
        types_1!($ahp $question).or_else(|| types!($ahp $question;
            messages: NotificationMethodParams;))
    };
}

macro_rules! types_0_2 {
    ($ahp:ident $question:ident) => {
        types_1!($ahp $question).or_else(|| types!($ahp $question;
            state: ChangesetState Customization ResourceWatchState;
            commands: CompletionsParams CompletionsResult CreateResourceWatchParams
                CreateResourceWatchResult InvokeChangesetOperationParams
                InvokeChangesetOperationResult ResourceMkdirParams ResourceMkdirResult
                ResourceRequestParams ResourceRequestResult ResourceResolveParams
                ResourceResolveResult;
            notifications: AuthRequiredParams OtlpExportLogsParams OtlpExportMetricsParams
                OtlpExportTracesParams SessionAddedParams SessionRemovedParams
                SessionSummaryChangedParams;))
    };
}

macro_rules! types_0_4 {
    ($ahp:ident $question:ident) => {
        types_0_2!($ahp $question).or_else(|| types!($ahp $question;
            state: AnnotationsState ChatState;
            commands: CreateChatParams DisposeChatParams;))
    };
}

macro_rules! types_0_5 {
    ($ahp:ident $question:ident) => {
        types_0_4!($ahp $question).or_else(|| types!($ahp $question;
            notifications: ProgressParams;))
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

macro_rules! reducers_1 {
    ($ahp:ident $question:ident) => {
        reducers!($ahp $question;
            "root" RootState apply_action_to_root;
            "session" SessionState apply_action_to_session;
            "terminal" TerminalState apply_action_to_terminal;)
    };
}

macro_rules! reducers_0_4 {
    ($ahp:ident $question:ident) => {
        reducers_1!($ahp $question).or_else(|| reducers!($ahp $question;
            "chat" ChatState apply_action_to_chat;
            "changeset" ChangesetState apply_action_to_changeset;
            "annotations" AnnotationsState apply_action_to_annotations;
            "resourceWatch" ResourceWatchState apply_action_to_resource_watch;))
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

/// The crate of one version: its name, what it has, and how it says that an action is unusable,
/// which it does since 0.9.0.
macro_rules! crate_of {
    ($version:ident $ahp:ident $reducers:ident $types:ident $($invalid:pat)?) => {
        mod $version {
            use super::*;
            use $ahp::reducers::ReduceOutcome;

            pub(super) fn answer(question: &Question<'_>) -> Answer {
                let answer = match question.op.as_deref() {
                    None | Some("reduce") => $reducers!($ahp question),
                    Some("roundtrip") => $types!($ahp question),
                    Some(_) => None,
                };
                answer.unwrap_or_else(|| Err("the crate has nothing of that name".to_owned()))
            }

            fn said(outcome: ReduceOutcome) -> &'static str {
                match outcome {
                    ReduceOutcome::Applied => "applied",
                    ReduceOutcome::NoOp => "noop",
                    ReduceOutcome::OutOfScope => "out-of-scope",
                    $($invalid => "invalid",)?
                }
            }
        }
    };
}

crate_of!(v1 ahp_0_1 reducers_1 types_0_1);
crate_of!(v0_2 ahp_0_2 reducers_1 types_0_2);
crate_of!(v0_3 ahp_0_3 reducers_1 types_0_2);
crate_of!(v0_4 ahp_0_4 reducers_0_4 types_0_4);
crate_of!(v0_5_2 ahp_0_5 reducers_0_4 types_0_5);
crate_of!(v0_6 ahp_0_6 reducers_0_4 types_0_5);
crate_of!(v0_7 ahp_0_7 reducers_0_4 types_0_7);
crate_of!(v0_8 ahp_0_8 reducers_0_4 types_0_7);
crate_of!(v0_9 ahp_0_9 reducers_0_9 types_0_9 ReduceOutcome::Invalid(_));
crate_of!(v1_0 ahp_1_0 reducers_1_0 types_1_0 ReduceOutcome::Invalid(_));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::official::CRATES;

    #[test]
    fn every_crate_folds_and_trips() {
        for (version, _) in CRATES {
            let ask = |line: Value| answer(*version, &line.to_string());
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
