//! Reports the members of a message that do not match the protocol's tables.
//!
//! Only shapes are checked; other code judges whether the sender was permitted to send the message at that moment. The
//! checks are lenient: unknown members and unknown variants of open types are legal, as are unknown methods and
//! actions. If the sources of the specification contradict each other, an error is only a warning (a soft error).
//!
//! Knows: messages and the tables. Never knows: states, connections, earlier messages.
//!
//! Start at [`Protocol::check_message`].

use std::fmt;

use crate::wire::json::Value;

use super::channel::ChannelKind;
use super::error_code::ErrorCode;
use super::message::{Message, MessageKind};
use super::protocol::{MethodKind, Protocol};
use super::walk::{ValuePath, ValueWalk, describe};

/// Upper bound for the errors of one value that are kept. Errors take precedence over mere warnings (soft errors).
pub const MAX_ERRORS: usize = 32;
/// The nesting depth beyond which the values in a message are not checked.
pub const MAX_DEPTH: usize = 64;

/// The sender of a message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum MessageOrigin {
    /// A client.
    Client,
    /// The host.
    Host,
}

/// A member that does not match the tables.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShapeError {
    /// The path of the member, such as `params.action.turnId`; empty for the value itself.
    pub path: String,
    /// The expected shape, such as "a string".
    pub expected: String,
    /// The actual value, such as "integer `5`" or "nothing".
    pub found: String,
    /// Whether the error is only a warning, because the sources are lenient, vague or contradictory.
    pub soft: bool,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShapeError { path, expected, found, .. } = self;
        if path.is_empty() {
            write!(f, "expected {expected}, found {found}")
        } else {
            write!(f, "expected {expected} at `{path}`, found {found}")
        }
    }
}

impl Protocol {
    /// Checks a whole message. `answers` is the method of the request that a response answers; if it is `None`, the
    /// result is not checked.
    ///
    /// The params of a method that `sender` may not send are not checked.
    pub fn check_message(
        &self,
        message: &Message,
        sender: MessageOrigin,
        answers: Option<&str>,
    ) -> Vec<ShapeError> {
        let mut walk = ValueWalk::new(self);
        walk.message(message, sender, answers);
        walk.errors
    }

    /// Returns the paths of those members of a message that the tables do not define.
    pub fn strange_members(
        &self,
        message: &Message,
        sender: MessageOrigin,
        answers: Option<&str>,
    ) -> Vec<String> {
        let mut walk = ValueWalk::new(self);
        walk.strange = Some(Vec::new());
        walk.message(message, sender, answers);
        walk.strange.unwrap_or_default()
    }

    /// Checks an action. An unknown type is not an error; a missing type is an error.
    pub fn check_action(&self, action: &Value) -> Vec<ShapeError> {
        let mut walk = ValueWalk::new(self);
        walk.action(action, &ValuePath::root(""));
        walk.errors
    }

    /// Checks the state of a channel.
    pub fn check_state(&self, kind: ChannelKind, state: &Value) -> Vec<ShapeError> {
        self.check_type(kind.state_type(), state)
    }

    /// Returns whether this version has a type with this name.
    pub fn has_type(&self, name: &str) -> bool {
        self.shapes.named(name).is_some()
    }

    /// Checks a value against a type of the tables, such as `Turn` or `Turn[]`. Returns no errors if this
    /// version has no such type.
    pub fn check_type(&self, name: &str, value: &Value) -> Vec<ShapeError> {
        let mut walk = ValueWalk::new(self);
        if let Some(id) = self.shapes.named(name) {
            walk.value(id, value, &ValuePath::root(""));
        }
        walk.errors
    }
}

impl ValueWalk<'_> {
    fn message(&mut self, message: &Message, sender: MessageOrigin, answers: Option<&str>) {
        let root = ValuePath::root("");
        let Some(object) = message.value().as_object() else {
            return self.wrong(&root, "a JSON-RPC object", message.value());
        };
        match object.get("jsonrpc") {
            Some(Value::String(version)) if version == "2.0" => {}
            Some(other) => self.wrong(&root.member("jsonrpc"), "`2.0`", other),
            None => self.absent(&root.member("jsonrpc"), "`2.0`", false),
        }
        self.id(message);
        match message.kind() {
            MessageKind::Request => self.call(message, sender, MethodKind::Request),
            MessageKind::Notification => self.call(message, sender, MethodKind::Notification),
            MessageKind::Success => self.success(message, answers),
            MessageKind::Failure => self.failure(message),
            MessageKind::Malformed => {
                self.wrong(&root, "a request, a notification or a response", message.value())
            }
        }
    }

    /// Checks the id. By JSON-RPC 2.0, section 4, the id is a string, a number or null. Null is meant for responses to
    /// unreadable requests. In a request and its response, JSON-RPC discourages null and numbers with a fraction.
    fn id(&mut self, message: &Message) {
        let root = ValuePath::root("");
        let path = root.member("id");
        let expected = "a string or a number";
        let soft = match (message.id(), message.kind()) {
            (Some(Value::String(_)), _)
            | (None, MessageKind::Notification | MessageKind::Malformed) => return,
            (None, _) => return self.absent(&path, expected, false),
            (Some(id), _) if id.is_i64() || id.is_u64() => return,
            (Some(Value::Null), MessageKind::Failure) => return,
            (Some(Value::Null | Value::Number(_)), _) => true,
            (Some(_), _) => false,
        };
        let found = message.id().map(describe).unwrap_or_default();
        self.report(&path, expected.into(), found, soft);
    }

    fn call(&mut self, message: &Message, sender: MessageOrigin, kind: MethodKind) {
        let root = ValuePath::root("");
        let path = root.member("params");
        let params = message.value().get("params");
        let row = message.method().and_then(|name| self.protocol.method(name));
        let allowed = row.filter(|row| match sender {
            MessageOrigin::Client => row.from_client,
            MessageOrigin::Host => row.from_host,
        });
        let Some(row) = allowed else {
            if let Some(odd) = params.filter(|params| !params.is_object() && !params.is_array()) {
                self.wrong(&path, "an object or an array", odd);
            }
            return;
        };
        match (row.kind, message.id()) {
            (MethodKind::Request, None) => {
                let expected = format!("an id, because `{}` is a request", row.name);
                self.absent(&root.member("id"), expected, false);
            }
            (MethodKind::Notification, Some(id)) if kind == MethodKind::Request => {
                let expected = format!("no id, because `{}` is a notification", row.name);
                self.wrong(&root.member("id"), expected, id);
            }
            _ => {}
        }
        match params {
            Some(params) => self.value(row.params, params, &path),
            // By JSON-RPC 2.0, section 4, params without required members may be omitted.
            None if self.protocol.shapes.may_be_empty(row.params) => {}
            None => self.absent(&path, "an object", false),
        }
    }

    fn success(&mut self, message: &Message, answers: Option<&str>) {
        let shape = answers.and_then(|name| self.protocol.method(name)).and_then(|row| row.result);
        if let (Some(shape), Some(result)) = (shape, message.result()) {
            let root = ValuePath::root("");
            self.value(shape, result, &root.member("result"));
        }
    }

    /// Checks an error by JSON-RPC 2.0 section 5.1, and the `data` of the protocol's own error codes.
    fn failure(&mut self, message: &Message) {
        let root = ValuePath::root("");
        let path = root.member("error");
        let Some(error) = message.error() else { return };
        let Some(object) = error.as_object() else {
            return self.wrong(&path, "an object", error);
        };
        match object.get("message") {
            Some(Value::String(_)) => {}
            Some(other) => self.wrong(&path.member("message"), "a string", other),
            None => self.absent(&path.member("message"), "a string", false),
        }
        let code = match object.get("code") {
            Some(code) if code.is_i64() => code.as_i64(),
            Some(other) => return self.wrong(&path.member("code"), "an integer", other),
            None => return self.absent(&path.member("code"), "an integer", false),
        };
        let version = self.protocol.version();
        let Some(row) = code.and_then(|code| ErrorCode::find(code, version)) else {
            return;
        };
        self.error_data(row, object.get("data"), &path.member("data"));
    }

    fn error_data(&mut self, row: &ErrorCode, data: Option<&Value>, path: &ValuePath<'_>) {
        let version = self.protocol.version();
        let needed = row.data.filter(|(since, _)| *since <= version);
        let shape = self.protocol.shapes.named(&row.data_type());
        match (data, shape, needed) {
            (None, _, Some((_, member))) => {
                let expected = format!("an object with `{member}`");
                self.absent(path, expected, false);
            }
            (Some(data), Some(shape), Some(_)) => self.value(shape, data, path),
            // If this version does not require the data of the error, errors in the data are only warnings.
            (Some(data), Some(shape), None) => self.softly(|walk| walk.value(shape, data, path)),
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
