//! Connections: decoding of frames, and the table of methods with their handlers.
//!
//! Knows: the tables of `wire`. Never knows: the effect of requests.
//!
//! Start at [`REQUESTS`].

use super::request::{CallReply, ErrorResponse, HostCall};
use crate::wire::json::Value;

use super::connections::HostConnection;
use super::engine::RefHost;
use super::injected::ServedRequest;
use super::mcp;
use crate::transcript::ConnId;
use crate::wire::channel::ROOT;
use crate::wire::error_code::ErrorName;
use crate::wire::frame::Frame;
use crate::wire::message::{DecodedFrame, Message, MessageKind, decode};
use crate::wire::protocol::Protocol;
use crate::wire::validate::MessageOrigin;

/// A method that this host serves.
struct ServedMethod {
    method: &'static str,
    /// Whether the method is served before the handshake.
    early: bool,
    /// Whether the method's channel has to be the root channel.
    root: bool,
    handler: fn(&mut RefHost, &HostCall<'_>) -> CallReply,
}

const fn row(
    method: &'static str,
    handler: fn(&mut RefHost, &HostCall<'_>) -> CallReply,
) -> ServedMethod {
    ServedMethod { method, early: false, root: false, handler }
}

const fn root(
    method: &'static str,
    handler: fn(&mut RefHost, &HostCall<'_>) -> CallReply,
) -> ServedMethod {
    ServedMethod { root: true, ..row(method, handler) }
}

const fn early(
    method: &'static str,
    handler: fn(&mut RefHost, &HostCall<'_>) -> CallReply,
) -> ServedMethod {
    ServedMethod { early: true, ..root(method, handler) }
}

/// The methods that this host serves; any other method gets error -32601. Source: the method contracts.
const REQUESTS: &[ServedMethod] = &[
    early("initialize", RefHost::initialize),
    early("ping", |_, _| Ok(Value::Null)),
    early("reconnect", RefHost::reconnect),
    row("subscribe", RefHost::subscribe),
    root("listSessions", RefHost::list_sessions),
    row("createSession", RefHost::create_session),
    row("disposeSession", RefHost::dispose_session),
    row("createChat", RefHost::create_chat),
    row("disposeChat", RefHost::dispose_chat),
    row("moveChat", RefHost::move_chat),
    row("fetchTurns", RefHost::fetch_turns),
    row("createTerminal", RefHost::create_terminal),
    row("disposeTerminal", RefHost::dispose_terminal),
    root("createResourceWatch", RefHost::create_resource_watch),
    root("resourceRead", RefHost::resource_read),
    root("resourceWrite", RefHost::resource_write),
    root("resourceList", RefHost::resource_list),
    root("resourceCopy", RefHost::resource_copy),
    root("resourceMove", RefHost::resource_move),
    root("resourceDelete", RefHost::resource_delete),
    root("resourceMkdir", RefHost::resource_mkdir),
    root("resourceResolve", RefHost::resource_resolve),
    root("resourceRequest", RefHost::resource_request),
    row("invokeChangesetOperation", RefHost::invoke_changeset_operation),
    row("runAutomation", RefHost::run_automation),
    row("fetchAutomationRuns", RefHost::fetch_automation_runs),
    row("listAutomationTriggerDefinitions", RefHost::list_triggers),
    row("completions", RefHost::completions),
    root("resolveSessionConfig", RefHost::resolve_session_config),
    root("sessionConfigCompletions", RefHost::session_config_completions),
    root("authenticate", RefHost::authenticate),
];

impl RefHost {
    /// Handles a frame of an open connection.
    pub(super) fn read(&mut self, conn: ConnId, frame: &Frame) {
        let message = match decode(frame) {
            DecodedFrame::Message(message) => message,
            DecodedFrame::Odd(why) => return self.unreadable(conn, &why),
            DecodedFrame::Deep => return self.unreadable(conn, "nested too deep"),
            DecodedFrame::Batch(_) => {
                return self.refuse(conn, Value::Null, "batches are not served");
            }
            DecodedFrame::Scalar(_) => return self.refuse(conn, Value::Null, "expected an object"),
        };
        let tagged = message.value().get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        let id = message.id().filter(|id| id.is_string() || id.is_number()).cloned();
        match message.kind() {
            MessageKind::Request => match message.id() {
                Some(Value::String(_) | Value::Number(_) | Value::Null) if tagged => {
                    self.request(conn, &message);
                }
                _ => self.refuse(conn, id.unwrap_or(Value::Null), "expected JSON-RPC 2.0"),
            },
            MessageKind::Notification if tagged => self.notification(conn, &message),
            MessageKind::Malformed => {
                self.refuse(conn, id.unwrap_or(Value::Null), "expected a request");
            }
            MessageKind::Success | MessageKind::Failure => self.hear_answer(conn, &message),
            MessageKind::Notification => {}
        }
    }

    fn unreadable(&mut self, conn: ConnId, why: &str) {
        self.respond(conn, Value::Null, Err(ErrorResponse::named(ErrorName::ParseError, why)));
    }

    fn refuse(&mut self, conn: ConnId, id: Value, why: &str) {
        self.respond(conn, id, Err(ErrorResponse::invalid_request(why)));
    }

    fn request(&mut self, conn: ConnId, message: &Message) {
        let id = message.id().cloned().unwrap_or(Value::Null);
        let method = message.method().unwrap_or("");
        if matches!(method, "dispatchAction" | "unsubscribe") {
            return self.refuse(conn, id, "expected a notification, without an `id`");
        }
        if let Some(channel) = mcp::channel_of(message) {
            let call = HostCall { conn, params: message.params() };
            let reply = self.relay(&call, channel, method);
            return self.respond_on(conn, id, reply, Some(channel));
        }
        let Some(row) = REQUESTS.iter().find(|row| row.method == method) else {
            let failure =
                ErrorResponse::named(ErrorName::MethodNotFound, "no such method is served here");
            return self.respond(conn, id, Err(failure));
        };
        let call = HostCall { conn, params: message.params() };
        let edge = self.edge_of(&call, method);
        let raised = edge.as_ref().map(|it| self.raised_params(it, method, message.params()));
        let inner = HostCall { conn, params: raised.as_ref().unwrap_or(message.params()) };
        let admitted = self
            .admits(&call, row.early)
            .and_then(|()| self.check_params(row, &call, &inner, message));
        if admitted.is_ok()
            && let Some(server) = self.server_of(&call, method)
        {
            return self.pass_on(server, &call, message);
        }
        let reply = admitted.and_then(|()| self.serve(row, &inner));
        let reply = match edge {
            Some(edge) => reply.map(|result| self.lowered_result(&edge, method, result)),
            None => reply,
        };
        self.respond(conn, id, reply);
    }

    fn serve(&mut self, row: &ServedMethod, call: &HostCall) -> CallReply {
        let (method, from) = (row.method, self.outbox.mark());
        let mut faults = self.injected().into_iter();
        if let Some(reply) = faults.find_map(|fault| fault.serves(self, method, call)) {
            return reply;
        }
        let reply = (row.handler)(self, call);
        let request = ServedRequest { method, call, from };
        let faults = self.injected().into_iter();
        faults.fold(reply, |reply, fault| fault.served(self, &request, reply))
    }

    /// Checks `params` against the tables, as the client sent them and as translated to the newest version.
    fn check_params(
        &self,
        row: &ServedMethod,
        call: &HostCall,
        inner: &HostCall,
        message: &Message,
    ) -> Result<(), ErrorResponse> {
        if !self.keeps("jsonrpc.invalid-params.type") {
            return Ok(());
        }
        // Before the handshake the version is unknown, and no version requires params for a `ping`.
        if row.method == "ping" && self.connections.client(call.conn).is_none() {
            return Ok(());
        }
        let protocol = self.protocol_for(call, row.method);
        if protocol.method(row.method).is_none() {
            return Err(ErrorResponse::named(
                ErrorName::MethodNotFound,
                "the agreed version has no such method",
            ));
        }
        if !call.params.is_object() {
            return Err(ErrorResponse::invalid_params("expected an object at `params`"));
        }
        let errors = protocol.check_message(message, MessageOrigin::Client, None);
        let bad = |error: &&crate::wire::validate::ShapeError| {
            !error.soft && error.path.starts_with("params")
        };
        if let Some(error) = errors.iter().find(bad) {
            return Err(ErrorResponse::invalid_params(error.to_string()));
        }
        if row.root && inner.channel() != ROOT {
            return Err(ErrorResponse::invalid_params(format!(
                "expected `{ROOT}` at `params.channel`"
            )));
        }
        Ok(())
    }

    /// Returns the tables of the version that a connection negotiated; before the handshake, the tables of the
    /// newest version.
    pub(super) fn protocol_of(&self, conn: ConnId) -> &'static Protocol {
        let agreed = self.connections.get(conn).and_then(HostConnection::protocol);
        agreed.unwrap_or(self.protocol)
    }

    fn notification(&mut self, conn: ConnId, message: &Message) {
        if self.connections.client(conn).is_none() {
            return;
        }
        match message.method() {
            // Messages from a client to an MCP server need no answer; this host ignores them.
            _ if mcp::channel_of(message).is_some() => {}
            Some("unsubscribe") => {
                let call = HostCall { conn, params: message.params() };
                let edge = self.edge_of(&call, "unsubscribe");
                let params = edge.map(|it| it.lift_params("unsubscribe", message.params().clone()));
                self.unsubscribe(conn, params.as_ref().unwrap_or(message.params()));
            }
            Some("dispatchAction") => self.dispatch(conn, message.params()),
            _ => {}
        }
    }
}
