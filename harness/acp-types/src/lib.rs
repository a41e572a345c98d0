//! The types of `agent-client-protocol-schema`, method by method: a message is read into the type that it has there and written
//! again, and the crate's schema is laid out as the harness's tables are.
//!
//! Real clients read with these types, and they read leniently: a member that does not fit is dropped, not refused. So what comes
//! back is compared with what went in, which shows both.
//!
//! Knows: the crate. Never knows: the harness, scenarios, rules.
//!
//! Start at [`METHODS`].

use agent_client_protocol_schema::v1;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub mod table;

/// Reads a value into a type and writes it again.
///
/// # Errors
/// The type does not take it; the text says why.
type RoundTrip = fn(&Value) -> Result<Value, String>;

/// Has a type drawn up in a schema.
type DrawSchema = fn(&mut SchemaGenerator);

/// What a method's messages are in the crate.
pub struct CrateMethod {
    /// Its name.
    pub name: &'static str,
    /// The parameters: the name of the type, and the way through it.
    pub params: (&'static str, RoundTrip),
    /// The result, where it is a request.
    pub result: Option<(&'static str, RoundTrip)>,
    draw: DrawSchema,
}

fn again<T: DeserializeOwned + Serialize>(value: &Value) -> Result<Value, String> {
    // By way of a text, as on the wire.
    let typed: T = serde_json::from_str(&value.to_string()).map_err(|error| error.to_string())?;
    serde_json::to_value(typed).map_err(|error| error.to_string())
}

fn draw<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

macro_rules! methods {
    ($($name:literal $params:ident $($result:ident)?;)*) => {
        /// Every method that the crate knows without its unstable features.
        pub const METHODS: &[CrateMethod] = &[$(CrateMethod {
            name: $name,
            params: (stringify!($params), again::<v1::$params>),
            result: methods!(@result $($result)?),
            draw: |generator| {
                draw::<v1::$params>(generator);
                $(draw::<v1::$result>(generator);)?
            },
        },)*];
    };
    (@result) => { None };
    (@result $result:ident) => { Some((stringify!($result), again::<v1::$result>)) };
}

methods! {
    "initialize" InitializeRequest InitializeResponse;
    "authenticate" AuthenticateRequest AuthenticateResponse;
    "logout" LogoutRequest LogoutResponse;
    "session/new" NewSessionRequest NewSessionResponse;
    "session/load" LoadSessionRequest LoadSessionResponse;
    "session/list" ListSessionsRequest ListSessionsResponse;
    "session/delete" DeleteSessionRequest DeleteSessionResponse;
    "session/resume" ResumeSessionRequest ResumeSessionResponse;
    "session/close" CloseSessionRequest CloseSessionResponse;
    "session/set_mode" SetSessionModeRequest SetSessionModeResponse;
    "session/set_config_option" SetSessionConfigOptionRequest SetSessionConfigOptionResponse;
    "session/prompt" PromptRequest PromptResponse;
    "session/cancel" CancelNotification;
    "fs/write_text_file" WriteTextFileRequest WriteTextFileResponse;
    "fs/read_text_file" ReadTextFileRequest ReadTextFileResponse;
    "session/request_permission" RequestPermissionRequest RequestPermissionResponse;
    "terminal/create" CreateTerminalRequest CreateTerminalResponse;
    "terminal/output" TerminalOutputRequest TerminalOutputResponse;
    "terminal/release" ReleaseTerminalRequest ReleaseTerminalResponse;
    "terminal/wait_for_exit" WaitForTerminalExitRequest WaitForTerminalExitResponse;
    "terminal/kill" KillTerminalRequest KillTerminalResponse;
    "elicitation/create" CreateElicitationRequest CreateElicitationResponse;
    "session/update" SessionNotification;
    "elicitation/complete" CompleteElicitationNotification;
    "$/cancel_request" CancelRequestNotification;
}

/// The names of methods by the side that serves them: `agent`, `client`, `protocol` for both.
pub fn names() -> Vec<(&'static str, String)> {
    let sides = [
        ("agent", serde_json::to_value(v1::AGENT_METHOD_NAMES)),
        ("client", serde_json::to_value(v1::CLIENT_METHOD_NAMES)),
        ("protocol", serde_json::to_value(v1::PROTOCOL_LEVEL_METHOD_NAMES)),
    ];
    let mut names = Vec::new();
    for (side, value) in sides {
        let value = value.unwrap_or_default();
        let members = value.as_object().into_iter().flatten();
        names.extend(members.filter_map(|(_, name)| Some((side, name.as_str()?.to_owned()))));
    }
    names
}

/// The error of a response, through the crate's type.
///
/// # Errors
/// The type does not take it.
pub fn error_again(value: &Value) -> Result<Value, String> {
    again::<v1::Error>(value)
}

/// The id of a request, through the crate's type.
///
/// # Errors
/// The type does not take it.
pub fn id_again(value: &Value) -> Result<Value, String> {
    again::<v1::RequestId>(value)
}

/// The schema of every type that a message can hold, by name.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    METHODS.iter().for_each(|method| (method.draw)(&mut generator));
    Value::Object(generator.take_definitions(true))
}
