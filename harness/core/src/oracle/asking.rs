//! Reads the messages of clients: requests, dispatches, and answers to the host.
//!
//! Knows: the context. Never knows: rules.

use std::sync::Arc;

use crate::wire::json::Value;

use crate::transcript::SeenFrame;
use crate::wire::channel::ChannelKind;
use crate::wire::message::{DecodedFrame, Message, MessageKind, is_handshake};
use crate::wire::protocol::{DispatchRight, MethodKind, Protocol};
use crate::wire::validate::{MessageOrigin, ShapeError};

use super::connection::{OpenRequest, id_key};
use super::context::{OracleContext, StepEmitter};
use super::envelope::channel_of;
use super::scalar_form::has_valid_scalars;
use super::step::OracleStep;

/// The requests that create or dispose of a channel: the method, the members that may name the channel, and whether the
/// request disposes of the channel.
const REPLACING: &[(&str, &[&str], bool)] = &[
    ("createSession", &["channel", "session"], false),
    ("createChat", &["chat"], false),
    ("createTerminal", &["channel", "terminal"], false),
    ("disposeSession", &["channel", "session"], true),
    ("disposeChat", &["channel", "chat"], true),
    ("disposeTerminal", &["channel", "terminal"], true),
];

/// Returns the channel that a request creates or disposes of, and `true` if the request disposes of the channel.
/// Returns `None` for other requests.
pub(super) fn replaced<'a>(method: &str, params: &'a Value) -> Option<(&'a str, bool)> {
    let (_, members, disposes) = REPLACING.iter().find(|(name, ..)| *name == method)?;
    let uri = members.iter().find_map(|member| params.get(*member)?.as_str())?;
    Some((uri, *disposes))
}

impl OracleContext {
    pub(super) fn sent(&mut self, seen: &Arc<SeenFrame>, emit: StepEmitter<'_>) {
        self.assume();
        let conn = self.here_mut();
        // A client may do anything after an answer that names no known version.
        let protocol = conn.protocol.filter(|_| !conn.guessed);
        let errors = match (seen.message(), protocol) {
            (Some(message), Some(protocol)) => {
                protocol.check_message(message, MessageOrigin::Client, None)
            }
            _ => Vec::new(),
        };
        let sender = MessageOrigin::Client;
        let checked = protocol.is_some();
        emit(self, &OracleStep::Frame { seen, sender, errors: &errors, checked });
        match &seen.decoded {
            DecodedFrame::Message(message) => self.client_message(seen, message, &errors, emit),
            DecodedFrame::Batch(items) => self.here_mut().sent_unreadable(1 + items.len()),
            DecodedFrame::Scalar(_) | DecodedFrame::Odd(_) | DecodedFrame::Deep => {
                self.here_mut().sent_unreadable(1);
            }
        }
    }

    fn client_message(
        &mut self,
        seen: &Arc<SeenFrame>,
        message: &Message,
        errors: &[ShapeError],
        emit: StepEmitter<'_>,
    ) {
        let tag = message.value().get("jsonrpc").and_then(Value::as_str);
        if tag != Some("2.0")
            && matches!(message.kind(), MessageKind::Request | MessageKind::Notification)
        {
            // JSON-RPC 2.0, sections 4, 5 and 7: the host may answer an invalid request with an error whose id
            // is null.
            self.here_mut().odd += 1;
        }
        match message.kind() {
            MessageKind::Request => self.asked(seen, message, emit),
            MessageKind::Notification => match message.method() {
                Some("unsubscribe") => self.unsubscribed(message.params(), emit),
                Some("dispatchAction") => self.dispatched(seen, message, errors, emit),
                // `subscribe` is a request. Here it was sent as a notification, so the transcript does not show whether
                // the host accepted the subscription.
                Some("subscribe") => self.here_mut().vague = true,
                _ => {}
            },
            MessageKind::Success | MessageKind::Failure => {
                if let Some(id) = message.id() {
                    self.here_mut().host_requests.remove(&id_key(id));
                }
            }
            MessageKind::Malformed => self.here_mut().sent_unreadable(1),
        }
    }

    fn asked(&mut self, seen: &Arc<SeenFrame>, message: &Message, emit: StepEmitter<'_>) {
        let (Some(method), Some(id)) = (message.method(), message.id()) else {
            return;
        };
        let params = message.params();
        let protocol = self.here().and_then(|conn| conn.protocol);
        let row = protocol.and_then(|protocol| protocol.method(method));
        let notification = row.is_some_and(|row| row.kind == MethodKind::Notification);
        let request = OpenRequest {
            method: method.to_owned(),
            seen: seen.clone(),
            kept: self.memory.requests.keep(seen.heap_size()).map(Arc::new),
            line: self.now.line,
            at: self.now.at,
            tick: self.now.tick,
            floor: self.highest,
            counter: self.counter,
            sound: !notification && is_sound(message, id),
            given_up: None,
        };
        if is_handshake(method) {
            self.introduced(method, params);
        }
        if method == "dispatchAction" {
            self.dispatched(seen, message, &[], emit);
        }
        if !id.is_string() && !id.is_number() {
            // A host that does not accept such an id may answer as if the frame were unreadable.
            self.here_mut().odd += 1;
        }
        self.here_mut().ask(id, request);
        if let Some((uri, disposes)) = replaced(method, params)
            && let Some(channel) = self.channels.intern(uri)
        {
            if disposes {
                // The host still has to send the actions that it owes now, even after the channels are gone.
                let chats = self.channel(channel).map(|known| known.chats.clone());
                let going = std::iter::once(channel).chain(chats.into_iter().flatten());
                going.for_each(|channel| self.ending(channel, emit));
                self.doubt(channel, u64::MAX);
            }
            self.unsettle(channel);
            if !disposes && let Some(channel) = self.channels.get_mut(channel) {
                channel.disposed = None;
            }
        }
    }

    fn introduced(&mut self, method: &str, params: &Value) {
        let line = self.now.line;
        let client_id: Option<Arc<str>> =
            params.get("clientId").and_then(Value::as_str).and_then(|id| self.clients.intern(id));
        let known = client_id.as_ref().and_then(|id| self.versions.get(id)).copied();
        // The client may have dispatched actions before the transcript began.
        self.unseen |= method == "reconnect" && known.is_none();
        let conn = self.here_mut();
        if conn.shaken {
            return;
        }
        conn.handshake_line = line;
        conn.client_id = client_id;
        if method == "reconnect" && known.is_some() {
            conn.version = known;
            conn.protocol = known.and_then(Protocol::of);
        }
    }

    fn dispatched(
        &mut self,
        seen: &Arc<SeenFrame>,
        message: &Message,
        errors: &[ShapeError],
        emit: StepEmitter<'_>,
    ) {
        let params = message.params();
        let action = params.get("action").unwrap_or(&Value::Null);
        let number = params.get("clientSeq").and_then(Value::as_i64);
        let action_type = action.get("type").and_then(Value::as_str);
        let uri = channel_of(params, action);
        let (Some(client_seq), Some(action_type), Some(uri)) = (number, action_type, uri) else {
            return;
        };
        self.dispatched_after_leaving(client_seq);
        let Some(channel) = self.channels.intern(uri) else {
            return;
        };
        let protocol = self.here().and_then(|conn| conn.protocol);
        let row = protocol.and_then(|protocol| protocol.action(action_type));
        let sound = message.kind() == MessageKind::Notification
            && row.is_some_and(|row| {
                row.dispatch == DispatchRight::Client
                    && ChannelKind::of_uri(uri).is_none_or(|kind| kind == row.channel)
            })
            && errors.iter().all(|error| error.soft)
            && has_valid_scalars(action_type, action);
        let step = OracleStep::Dispatched { seen, channel, client_seq, sound };
        emit(self, &step);
    }
}

/// Returns whether the host has to answer a request. A host need not answer a malformed request.
fn is_sound(message: &Message, id: &Value) -> bool {
    let value = message.value();
    value.get("jsonrpc").and_then(Value::as_str) == Some("2.0")
        && (id.is_string() || id.is_i64() || id.is_u64())
        && value.get("params").is_none_or(Value::is_object)
}
