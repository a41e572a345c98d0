//! Creates the steps of a scenario in which a client answers a request of the host, such as a request for a file that
//! the client serves.
//!
//! A client of a scenario automatically answers each request with `MethodNotFound`. Every other answer needs two steps:
//! one step waits for the request, and the other step sends the answer.
//!
//! Knows: requests of the host and their answers. Never knows: the meaning of requests.
//!
//! Start at [`HostRequests::answered`].

use std::collections::HashMap;

use crate::scenario::write::{WrittenStep, WrittenTree};
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};

use super::names::ConversationNames;

/// The error code with which a client of a scenario answers the host's requests automatically.
const NOT_SERVED: i64 = -32601;

/// Returns whether a client's message is an answer to a request of the host that a client of a scenario does not send
/// automatically.
pub(super) fn is_served(message: &Message) -> bool {
    let is_answer = matches!(message.kind(), MessageKind::Success | MessageKind::Failure);
    is_answer && message.error_code() != Some(NOT_SERVED)
}

/// The open requests of the host.
#[derive(Debug, Default)]
pub(super) struct HostRequests {
    /// The methods of the host's requests that have no answer yet. The key consists of the connection and the id.
    open: HashMap<(ConnId, String), String>,
    /// The number of requests of the host that steps of the scenario answer.
    answered: usize,
}

impl HostRequests {
    /// Remembers a request of the host.
    pub(super) fn received(&mut self, conn: ConnId, seen: &SeenFrame) {
        let request = seen.message().filter(|message| message.kind() == MessageKind::Request);
        if let Some((message, method)) = request.and_then(|it| Some((it, it.method()?))) {
            let id = message.id().map(Value::to_string).unwrap_or_default();
            self.open.insert((conn, id), method.to_owned());
        }
    }

    /// Returns the steps for an answer of a client; `None` if clients send this answer automatically, or if the answer
    /// belongs to no request of the host.
    pub(super) fn answered(
        &mut self,
        conn: ConnId,
        client: &str,
        message: &Message,
        names: &mut ConversationNames,
    ) -> Option<[WrittenStep; 2]> {
        let id = message.id().map(Value::to_string).unwrap_or_default();
        let method = self.open.remove(&(conn, id))?;
        if !is_served(message) {
            return None;
        }
        self.answered += 1;
        let name = format!("hostRequest{}", self.answered);
        let asked = vec![
            ("at", WrittenTree::text(client)),
            ("method", WrittenTree::text(&method)),
            ("id", WrittenTree::text(&format!("$bind {name}"))),
        ];
        let mut answer = vec![
            ("jsonrpc".to_owned(), WrittenTree::text("2.0")),
            ("id".to_owned(), WrittenTree::text(&format!("${{{name}}}"))),
        ];
        for member in ["result", "error"] {
            if let Some(value) = message.value().get(member) {
                answer.push((member.to_owned(), names.template(member, value)));
            }
        }
        let sent = vec![("by", WrittenTree::text(client)), ("json", WrittenTree::Map(answer))];
        Some([
            WrittenStep { verb: "asked", members: asked },
            WrittenStep { verb: "send", members: sent },
        ])
    }
}
