//! The types of the crate `agent-client-protocol-schema`, listed by method, for comparisons with the harness. A message
//! is deserialized into the crate's type and serialized again. The crate's schema is converted to the form of the
//! harness's tables.
//!
//! Real clients use these types, which are lenient: a member of the wrong type is usually dropped instead of refused. A
//! comparison of input and output therefore detects both dropped and refused members.
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

/// Deserializes a value into a type and serializes it again.
///
/// # Errors
/// Returns the reason if the type does not accept the value.
type RoundTrip = fn(&Value) -> Result<Value, String>;

/// A function that adds a type to a schema.
type DrawSchema = fn(&mut SchemaGenerator);

/// A method, with the types of the crate for the method's messages.
pub struct CrateMethod {
    /// The name of the method.
    pub name: &'static str,
    /// The params of the method: the name of the type, and the function that converts a value to this type and back.
    pub params: (&'static str, RoundTrip),
    /// The result of a request; `None` for a notification.
    pub result: Option<(&'static str, RoundTrip)>,
    draw: DrawSchema,
}

fn again<T: DeserializeOwned + Serialize>(value: &Value) -> Result<Value, String> {
    // The value is converted to text and parsed again, as on the wire.
    let typed: T = serde_json::from_str(&value.to_string()).map_err(|error| error.to_string())?;
    serde_json::to_value(typed).map_err(|error| error.to_string())
}

fn draw<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

macro_rules! methods {
    ($($name:literal $params:ident $($result:ident)?;)*) => {
        /// Every stable method of the crate; unstable features of the crate are left out.
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

/// Returns the names of all methods, each with the side that handles it: `agent`, `client`, or `protocol` for both.
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

/// Converts the error of a response to the crate's type and back.
///
/// # Errors
/// Returns the reason if the type does not accept the error.
pub fn error_again(value: &Value) -> Result<Value, String> {
    again::<v1::Error>(value)
}

/// Converts the id of a request to the crate's type and back.
///
/// # Errors
/// Returns the reason if the type does not accept the identifier.
pub fn id_again(value: &Value) -> Result<Value, String> {
    again::<v1::RequestId>(value)
}

/// Returns the schema of every type that a message can contain, by name.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    METHODS.iter().for_each(|method| (method.draw)(&mut generator));
    Value::Object(generator.take_definitions(true))
}
