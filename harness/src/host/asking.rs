//! Requests of the host to clients: for a plugin that a client has published under its own URI, and for files that
//! another client has requested.
//!
//! A plugin that lists its `children` needs no request. If a plugin at `virtual://NAME/..` has no `children`,
//! the host asks the publishing client for `plugin.json` and takes the `children` from this file. A request of another
//! client for a file of a published plugin is forwarded to the publishing client, and the response is forwarded to the
//! requesting client. The host numbers its requests independently of the request ids of the client.
//!
//! Knows: connections, published plugins. Never knows: the content of plugins.
//!
//! Start at [`RefHost::ask_for_plugin`].

use std::time::Duration;

use crate::wire::json::{Value, json};

use super::connections::HostConnection;
use super::engine::RefHost;
use super::questions::QuestionCause;
use super::request::{ErrorResponse, HostCall};
use crate::files::tree::within;
use crate::transcript::ConnId;
use crate::wire::channel::ROOT;
use crate::wire::error_code::ErrorName;
use crate::wire::message::Message;

/// The timeout for a client's response.
const PATIENCE: Duration = Duration::from_secs(5);
/// The scheme of the URIs that a client serves.
const SCHEME: &str = "virtual://";

/// Returns whether the contents of a plugin have to be requested from its client.
pub(super) fn is_elsewhere(source: &Value) -> bool {
    source["uri"].as_str().is_some_and(|uri| uri.starts_with(SCHEME))
}

impl RefHost {
    /// Requests the contents of a plugin from the client that published it.
    pub(super) fn ask_for_plugin(&mut self, session: &str, client: &str, source: &Value) {
        let right = self.keeps("resource.symmetric.right-client");
        let publisher = |it: &HostConnection| it.client() == Some(client);
        let conns = self.connections.iter().filter(|(_, it)| publisher(it) || !right);
        let asked = conns.min_by_key(|(_, it)| publisher(it)).map(|(conn, _)| conn);
        let Some(conn) = asked.filter(|_| !self.questions.is_full()) else {
            return;
        };
        let id = self.questions.next_id();
        let uri = format!("{}/plugin.json", source["uri"].as_str().unwrap_or(""));
        let cause = QuestionCause::Plugin {
            session: session.to_owned(),
            client: client.to_owned(),
            source: source.clone(),
        };
        self.questions.add(id, conn, cause, self.clock.now() + PATIENCE);
        let params = json!({"channel": ROOT, "uri": uri});
        let message = Message::request(id, "resourceRead", params);
        self.send(conn, message.value().clone());
    }

    /// Returns the connection of the client that serves the file of a request; `None` if the request is for a file of
    /// the host. A client serves the folders of the plugins that it has published.
    pub(super) fn server_of(&self, call: &HostCall, method: &str) -> Option<ConnId> {
        let uri = match method {
            "resourceCopy" | "resourceMove" => call.text("source"),
            _ if method.starts_with("resource") => call.text("uri"),
            _ => return None,
        };
        if !uri.starts_with(SCHEME) || self.questions.is_full() {
            return None;
        }
        let mut states = self.sessions.uris().map(|session| self.state(session));
        let client = states.find_map(|state| publisher(state, uri))?;
        let protocol = self.protocol_of(call.conn);
        let is_right = self.keeps("resource.symmetric.right-client");
        let serves = |(conn, it): &(ConnId, &HostConnection)| {
            let is_client = it.client() == Some(client);
            // Only clients with the same version are asked, because otherwise the params would have to be translated.
            let is_like = it.protocol().is_some_and(|other| std::ptr::eq(other, protocol));
            is_like && if is_right { is_client } else { !is_client && *conn != call.conn }
        };
        self.connections.iter().find(serves).map(|(conn, _)| conn)
    }

    /// Forwards a client's request to the client that serves the file.
    pub(super) fn pass_on(&mut self, server: ConnId, call: &HostCall, asked: &Message) {
        let id = self.questions.next_id();
        let method = asked.method().unwrap_or_default().to_owned();
        let mut params = call.params.clone();
        if !self.keeps("resource.forwarded.request") {
            spoil(&mut params);
        }
        let message = Message::request(id, &method, params);
        let asker = asked.id().cloned().unwrap_or_default();
        let cause = QuestionCause::Request { conn: call.conn, id: asker };
        let until = self.clock.now() + PATIENCE;
        self.questions.add(id, server, cause, until);
        self.send(server, message.value().clone());
    }

    /// Forwards the response of the client that serves a file to the client that has requested the file.
    fn pass_back(&mut self, conn: ConnId, id: Value, answer: Option<&Message>) {
        let reply = match answer.map(|answer| (answer.result(), answer.value().get("error"))) {
            Some((Some(result), _)) => {
                let mut result = result.clone();
                if !self.keeps("resource.forwarded.result") {
                    spoil(&mut result);
                }
                Ok(result)
            }
            Some((None, Some(error))) if self.keeps("resource.forwarded.error") => {
                let code = error["code"].as_i64().unwrap_or_default();
                let message = error["message"].as_str().unwrap_or_default().to_owned();
                Err(ErrorResponse::passed_on(code, message, error["data"].clone()))
            }
            _ => {
                let message = "the client that serves the file has not answered";
                Err(ErrorResponse::named(ErrorName::InternalError, message))
            }
        };
        self.respond(conn, id, reply);
    }

    /// Handles a client's response. Ignores a response that no open request of this connection expects.
    pub(super) fn hear_answer(&mut self, conn: ConnId, message: &Message) {
        let id = message.id().and_then(Value::as_u64).unwrap_or(0);
        if let Some(cause) = self.questions.close(conn, id) {
            self.question_closed(cause, Some(message));
        }
    }

    /// Handles the response to a request of the host, or its timeout.
    fn question_closed(&mut self, cause: QuestionCause, answer: Option<&Message>) {
        match cause {
            QuestionCause::Plugin { session, client, source } => {
                let result = answer.and_then(Message::result);
                let data = result.and_then(|result| result["data"].as_str());
                let plugin = data.and_then(|data| Value::read(data).ok());
                let children = plugin.map(|plugin| plugin["children"].clone());
                let children = children.filter(Value::is_array);
                self.plugin_read((session, client, source), children);
            }
            QuestionCause::Request { conn, id } => self.pass_back(conn, id, answer),
        }
    }

    fn plugin_read(&mut self, plugin: (String, String, Value), children: Option<Value>) {
        let (session, client, mut source) = plugin;
        // Do nothing if the client has published another plugin in the meantime.
        if let Some(id) = self.brought_as(&session, &client, &source) {
            if let Some(children) = children {
                source["children"] = children;
            }
            self.plugin_known(&session, &client, &source, &id);
        }
    }

    /// Closes the requests that have timed out.
    pub(super) fn expire_questions(&mut self) {
        for cause in self.questions.expire(self.clock.now()) {
            self.question_closed(cause, None);
        }
    }
}

/// Returns the active client of a session that has published the plugin to which this URI belongs.
fn publisher<'a>(session: &'a Value, uri: &str) -> Option<&'a str> {
    let clients = session["activeClients"].as_array().into_iter().flatten();
    let publishes = |client: &&Value| {
        let plugins = client["customizations"].as_array().into_iter().flatten();
        let mut roots = plugins.filter_map(|plugin| plugin["uri"].as_str());
        roots.any(|root| within(uri, root))
    };
    clients.into_iter().find(publishes)?["clientId"].as_str()
}

/// Replaces each character that is not ASCII in the data of a file, like a host that treats bytes as text.
fn spoil(value: &mut Value) {
    if value["encoding"] == "base64" {
        value["encoding"] = json!("utf-8");
    }
    if let Some(data) = value["data"].as_str() {
        let data: String =
            data.chars().map(|it| if it.is_ascii() { it } else { '\u{fffd}' }).collect();
        value["data"] = json!(data);
    }
}
