//! The messages that a step looks for, and their required place beside a response.
//!
//! Knows: messages, patterns. Never knows: clients, the unread messages of a client.
//!
//! Start at [`MessageFilter`].

use crate::scenario::bind::TextPiece;
use crate::scenario::pattern::{PatternName, ValuePattern};
use crate::scenario::source::SourceSpan;
use crate::wire::json::Value;
use crate::wire::message::Message;

/// The messages that a step looks for.
#[derive(Clone, Debug)]
pub struct MessageFilter {
    /// The location of the step.
    pub span: SourceSpan,
    /// The type of the action.
    pub action: Option<String>,
    /// The method of the notification.
    pub method: Option<String>,
    /// The channel, after its template was filled in.
    pub channel: Option<Value>,
    /// The pattern for the params.
    pub params: Option<ValuePattern>,
    /// Whether objects must not have members beyond those of the pattern.
    pub exact: bool,
    /// The number of matching messages that a `never` step tolerates.
    pub beyond: u64,
    /// The method of a message that ends the wait, because the sender is free to send it instead of the expected
    /// message.
    pub unless: Option<String>,
    /// The name of a response, and the side of that response on which the message has to arrive: before or after it.
    pub beside: Option<Box<(ResponseSide, String)>>,
    /// The position from `beside` with the line of the response; `None` until the wait begins.
    pub order: Option<MessageOrder>,
}

/// The order of a message and a response in a client's transcript.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ResponseSide {
    /// Before the response.
    Before,
    /// After the response.
    After,
}

/// The required position of a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MessageOrder {
    /// The side of the response.
    pub side: ResponseSide,
    /// The line of the response.
    pub response: u64,
}

/// The reason why the position of a message is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OrderMismatch {
    /// The message came before the response, but has to come after it.
    TooEarly,
    /// The message came after the response on this line, but has to come before it.
    TooLate(u64),
}

impl MessageOrder {
    /// Returns why a message on this line has the wrong position; `None` if the position is right.
    pub fn broken_by(self, line: u64) -> Option<OrderMismatch> {
        match self.side {
            ResponseSide::Before if line > self.response => {
                Some(OrderMismatch::TooLate(self.response))
            }
            ResponseSide::After if line < self.response => Some(OrderMismatch::TooEarly),
            ResponseSide::Before | ResponseSide::After => None,
        }
    }
}

impl MessageFilter {
    /// Returns whether a message has the filter's type or method and channel, regardless of its params.
    pub fn is_about(&self, message: &Message) -> bool {
        let params = message.params();
        let action = message.method() == Some("action");
        let method = match (&self.method, &self.action) {
            (Some(method), _) => message.method() == Some(method),
            (None, Some(wanted)) => action && params["action"]["type"] == wanted.as_str(),
            (None, None) => true,
        };
        method && self.channel.as_ref().is_none_or(|channel| params["channel"] == *channel)
    }

    /// Returns whether the filter names neither a type nor a method.
    pub fn is_of_any_kind(&self) -> bool {
        self.action.is_none() && self.method.is_none()
    }

    /// Returns whether the pattern uses a `serverSeq` that grows during the wait (`${A.seq}`).
    pub fn uses_numbers(&self) -> bool {
        let mut found = false;
        if let Some(params) = &self.params {
            params.names(&mut |_, name| {
                found |= matches!(name, PatternName::Hole(TextPiece::Use(name)) if name.ends_with(".seq"));
            });
        }
        found
    }

    /// Returns the action types that the filter names; empty if it accepts any type.
    pub fn action_types(&self) -> Vec<String> {
        let types = || self.params.as_ref().map(|it| it.texts_at(&["action", "type"]));
        match &self.action {
            Some(name) => vec![name.clone()],
            None => types().unwrap_or_default(),
        }
    }

    /// Returns the filter's types or method as text for a failure message, such as "`chat/delta`" or "`chat/error` or
    /// `chat/turnComplete`".
    pub fn what(&self) -> String {
        let names = match &self.method {
            Some(method) if self.action.is_none() => vec![method.clone()],
            _ => self.action_types(),
        };
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        match names.split_last() {
            None => "a message".to_owned(),
            Some((last, [])) => last.clone(),
            Some((last, first)) => format!("{} or {last}", first.join(", ")),
        }
    }

    /// Returns the same string as `what`, for use after "no"; "such message" if the filter has no type and no method.
    pub fn what_not(&self) -> String {
        match &*self.what() {
            "a message" => "such message".to_owned(),
            what => what.to_owned(),
        }
    }
}

/// How a filter is applied to the unread messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FilterMode {
    /// The first match; earlier messages on the channel are skipped.
    First,
    /// The next message has to match.
    Next,
    /// The first match. The message stays unread.
    Look,
}
