//! Requests of the host to clients: reading a plugin that a client has published under its own URI.
//!
//! A plugin that lists its `children` needs no request. If a plugin at `virtual://NAME/..` has no `children`,
//! the host asks the publishing client for `plugin.json` and takes the `children` from this file. The host
//! numbers its requests independently of the request ids of the client.
//!
//! Knows: connections, published plugins. Never knows: what is in a plugin.
//!
//! Start at [`RefHost::ask_for_plugin`].

use std::time::Duration;

use crate::wire::json::{Value, json};

use super::connection::HostConnection;
use super::engine::RefHost;
use crate::transcript::ConnId;
use crate::wire::channel::ROOT;
use crate::wire::message::Message;

/// The timeout for a client's response.
const PATIENCE: Duration = Duration::from_secs(5);
/// The maximum number of open requests to clients. At this number the host sends no further request.
const MAX_QUESTIONS: usize = 1_000;
/// The scheme of the URIs that a client serves.
const SCHEME: &str = "virtual://";

/// An open request of the host to a client.
#[derive(Debug)]
pub(super) struct OpenQuestionToClient {
    conn: ConnId,
    session: String,
    client: String,
    source: Value,
    until: Duration,
}

/// Returns whether the contents of a plugin have to be requested from its client.
pub(super) fn is_elsewhere(source: &Value) -> bool {
    source["uri"].as_str().is_some_and(|uri| uri.starts_with(SCHEME))
}

impl RefHost {
    /// Requests the contents of a plugin from the client that published it.
    pub(super) fn ask_for_plugin(&mut self, session: &str, client: &str, source: &Value) {
        let right = self.keeps("resource.symmetric.right-client");
        let publisher = |it: &HostConnection| it.client.as_deref() == Some(client);
        let conns = self.connections.iter().filter(|(_, it)| publisher(it) || !right);
        let asked = conns.min_by_key(|(_, it)| publisher(it)).map(|(conn, _)| *conn);
        let Some(conn) = asked.filter(|_| self.questions.len() < MAX_QUESTIONS) else {
            return;
        };
        self.asked_so_far += 1;
        let id = self.asked_so_far;
        let uri = format!("{}/plugin.json", source["uri"].as_str().unwrap_or(""));
        let question = OpenQuestionToClient {
            conn,
            session: session.to_owned(),
            client: client.to_owned(),
            source: source.clone(),
            until: self.now + PATIENCE,
        };
        self.questions.insert(id, question);
        let params = json!({"channel": ROOT, "uri": uri});
        let message = Message::request(id, "resourceRead", params);
        self.send(conn, message.value().clone());
    }

    /// Handles a client's response. Ignores a response that no open request of this connection expects.
    pub(super) fn hear_answer(&mut self, conn: ConnId, message: &Message) {
        let id = message.id().and_then(Value::as_u64).unwrap_or(0);
        let own = self.questions.get(&id).is_some_and(|question| question.conn == conn);
        let Some(question) = own.then(|| self.questions.remove(&id)).flatten() else {
            return;
        };
        let data = message.result().and_then(|result| result["data"].as_str());
        let plugin = data.and_then(|data| Value::read(data).ok());
        let children = plugin.map(|plugin| plugin["children"].clone());
        self.plugin_read(question, children.filter(Value::is_array));
    }

    fn plugin_read(&mut self, question: OpenQuestionToClient, children: Option<Value>) {
        let OpenQuestionToClient { session, client, mut source, .. } = question;
        // Do nothing if the client has published another plugin in the meantime.
        if let Some(id) = self.brought_as(&session, &client, &source) {
            if let Some(children) = children {
                source["children"] = children;
            }
            self.plugin_known(&session, &client, &source, &id);
        }
    }

    /// Returns the earliest timeout of an open request; `None` if there is no open request.
    pub(super) fn next_question(&self) -> Option<Duration> {
        self.questions.values().map(|question| question.until).min()
    }

    /// Closes the requests that have timed out.
    pub(super) fn expire_questions(&mut self) {
        let due = self.questions.iter().filter(|(_, question)| question.until <= self.now);
        let due: Vec<u64> = due.map(|(id, _)| *id).collect();
        for id in due {
            if let Some(question) = self.questions.remove(&id) {
                self.plugin_read(question, None);
            }
        }
    }
}
