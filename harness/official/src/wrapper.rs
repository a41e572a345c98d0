//! Answers a line with an official crate: the crate's types decode the question, its reducer applies the actions, and
//! its types encode the answer.
//!
//! The crates of all versions use the same names for different types, so a macro generates the code for every
//! version. A second macro contains the additions of newer versions. The packages in the neighbouring folders also
//! compile this file, each with a crate that cannot be linked together with the others.
//!
//! Knows: the names in the crates `ahp`, and the line protocol. Never knows: the linked versions, the harness's
//! reducers and values.
//!
//! Start at [`serve`], which uses the code that [`crate_of`] generates.

use std::io::{self, BufRead, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A question to a crate. The values are kept as JSON text, so that the crate decodes exactly the text of the line.
#[derive(Deserialize)]
pub struct Question<'a> {
    #[serde(default)]
    pub id: Value,
    #[serde(default)]
    pub op: Option<String>,
    #[serde(default)]
    pub reducer: String,
    #[serde(borrow)]
    pub state: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub actions: Vec<&'a RawValue>,
    #[serde(default, rename = "type")]
    pub name: String,
    #[serde(borrow)]
    pub value: Option<&'a RawValue>,
}

/// The members of the answer, or the reason why the crate has no answer.
pub type Answer = Result<Value, String>;

/// Answers every line with a crate, until the input ends or the reader of the answers has exited.
///
/// # Errors
///
/// Returns an error if reading or writing fails.
pub fn serve(
    crate_answers: impl Fn(&Question<'_>) -> Answer,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> io::Result<()> {
    for line in input.lines() {
        writeln!(output, "{}", answer(&crate_answers, &line?))?;
        output.flush()?;
    }
    Ok(())
}

/// Returns the answer to one line.
pub fn answer(crate_answers: impl Fn(&Question<'_>) -> Answer, line: &str) -> Value {
    let question: Question<'_> = match serde_json::from_str(line) {
        Ok(question) => question,
        Err(error) => return json!({"id": null, "error": format!("expected a question: {error}")}),
    };
    let mut answer = crate_answers(&question).unwrap_or_else(|why| json!({"error": why}));
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

/// Decodes the value of a question with a type and encodes it again.
pub fn trip<T: DeserializeOwned + Serialize>(question: &Question<'_>) -> Answer {
    decode::<T>(question.value).and_then(|value| Ok(json!({"value": encode(&value)?})))
}

/// Applies actions to a state. `apply` calls the crate's reducer and returns the outcome with the names of the
/// protocol.
pub fn reduce<S, A>(question: &Question<'_>, apply: impl Fn(&mut S, &A) -> &'static str) -> Answer
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

/// Finds a type by its name, decodes a value as this type and encodes it again.
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

/// Finds a reducer by its name and folds the state with the reducer.
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

/// Defines the crate of one version: its name, the macros of its reducers and types, and since 0.9.0 the
/// variant of its outcome for an unusable action.
macro_rules! crate_of {
    ($version:ident $ahp:ident $reducers:ident $types:ident $($invalid:ident)?) => {
        mod $version {
            use $ahp::reducers::ReduceOutcome;

            use super::wrapper::{Answer, Question, reduce, trip};

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
                    $(ReduceOutcome::$invalid(_) => "invalid",)?
                }
            }
        }
    };
}
