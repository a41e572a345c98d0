//! Translates whole messages: converts a client's messages from the newest version to the version on the wire, and a
//! host's messages back.
//!
//! Knows: methods, envelopes, snapshots. Never knows: the effect of actions.
//!
//! Start at [`VersionEdge::lower_message`] and [`VersionEdge::lift_message`].

use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Map, Value, json};
use crate::wire::message::{Message, MessageKind};
use crate::wire::trim::TrimType;

use super::{ChangeContext, MessagePart, VersionEdge, type_of};

/// The only method of notifications before 0.2.0, which contains the notification itself as an object with a type.
const WRAPPER: &str = "notification";
/// The types of notifications in the method [`WRAPPER`] before 0.2.0, each with the method of the same notification in
/// later versions.
const WRAPPED: &[(&str, &str)] = &[
    ("notify/sessionAdded", "root/sessionAdded"),
    ("notify/sessionRemoved", "root/sessionRemoved"),
    ("notify/sessionSummaryChanged", "root/sessionSummaryChanged"),
    ("notify/authRequired", "auth/required"),
];
/// The methods whose results contain snapshots and envelopes.
const STATES: &[&str] = &["initialize", "reconnect", "subscribe"];

/// Returns the type that a notification had inside the method [`WRAPPER`]; `None` if the wrapper had no such type.
pub(super) fn wrapped_name(method: &str) -> Option<&'static str> {
    WRAPPED.iter().find(|(_, newer)| *newer == method).map(|(name, _)| *name)
}

/// Returns the type name of a wrapped notification, such as `SessionAddedNotification` for
/// `notify/sessionAdded`.
fn notification_type(name: &str) -> String {
    let bare = name.strip_prefix("notify/").unwrap_or(name);
    let (first, rest) = bare.split_at(bare.len().min(1));
    format!("{}{rest}Notification", first.to_uppercase())
}

impl VersionEdge {
    /// Translates a request or a notification of a client to the version on the wire.
    pub fn lower_message(&self, message: Message) -> Message {
        let Some(method) = message.method().map(str::to_owned).filter(|_| !self.is_plain()) else {
            return message;
        };
        let params = message.params().clone();
        let params = match method.as_str() {
            "dispatchAction" => self.lower_envelope(params),
            _ => self.lower_params(&method, params),
        };
        let mut value = message.into_value();
        value["params"] = params;
        Message::new(value)
    }

    /// Translates an envelope, or the params of a dispatch, to the version on the wire.
    pub fn lower_envelope(&self, mut params: Value) -> Value {
        let action = params.get("action").cloned().unwrap_or_default();
        let channel = params.get("channel").and_then(Value::as_str).unwrap_or("").to_owned();
        // An action that the version does not have stays unchanged.
        let lowered = self.lower_action(&channel, &action, ChangeContext::NOTHING);
        let (channel, mut action) = lowered.unwrap_or((self.lower_uri(&channel), action));
        if !self.protocol.has(ProtocolFeature::Channels)
            && let Some(member) = super::uri::member_of(type_of(&action))
        {
            action[member] = json!(channel);
        }
        params["action"] = action;
        if self.protocol.has(ProtocolFeature::Channels) {
            params["channel"] = json!(channel);
        } else if let Some(members) = params.as_object_mut() {
            members.remove("channel");
        }
        params
    }

    /// Translates the params of a method to the version on the wire.
    pub fn lower_params(&self, method: &str, mut params: Value) -> Value {
        self.lower(MessagePart::Params(method), &mut params, ChangeContext::NOTHING);
        self.spell(&mut params, true);
        if !self.protocol.has(ProtocolFeature::Channels)
            && let Some(members) = params.as_object_mut()
        {
            members.remove("channel");
        }
        // A wrapped notification has its own type, such as `SessionAddedNotification`.
        let wrapped = wrapped_name(method);
        let wrapped = wrapped.filter(|_| !self.protocol.has(ProtocolFeature::Channels));
        let inner = wrapped.map(notification_type);
        let own = inner.as_deref().map_or(TrimType::Params(method), TrimType::Named);
        self.protocol.trim(own, self.newest, TrimType::Params(method), &mut params);
        params
    }

    /// Translates the params of a client's request to the newest version.
    pub fn lift_params(&self, method: &str, mut params: Value) -> Value {
        self.spell(&mut params, false);
        self.lift(MessagePart::Params(method), &mut params, ChangeContext::NOTHING);
        if !self.protocol.has(ProtocolFeature::Channels)
            && let Some(members) = params.as_object_mut()
        {
            members.entry("channel").or_insert_with(|| json!(ROOT));
        }
        params
    }

    /// Translates the result of a method to the version on the wire. The caller has already translated the
    /// snapshots and envelopes in the result.
    pub fn lower_result(&self, method: &str, mut result: Value) -> Value {
        if !STATES.contains(&method) {
            self.lower(MessagePart::Result(method), &mut result, ChangeContext::NOTHING);
            self.spell(&mut result, true);
        } else if method == "initialize" {
            self.own(MessagePart::Result(method), &mut result, true);
        }
        // A host may add `_meta` in any version. A host whose agent plays scripts lists the agent's optional abilities
        // there.
        let meta = result.get("_meta").filter(|_| method == "initialize").cloned();
        self.protocol.trim(
            TrimType::Result(method),
            self.newest,
            TrimType::Result(method),
            &mut result,
        );
        if let Some((members, meta)) = result.as_object_mut().zip(meta) {
            members.insert("_meta".to_owned(), meta);
        }
        result
    }

    /// Translates a notification of the host to the version on the wire; `None` if the version has no such
    /// notification.
    pub fn lower_notification(&self, method: &str, params: Value) -> Option<(String, Value)> {
        let params = self.lower_params(method, params);
        self.wrap_notification(method, params)
    }

    /// Does the same as [`VersionEdge::lower_notification`] for params that are already translated.
    pub fn wrap_notification(&self, method: &str, mut params: Value) -> Option<(String, Value)> {
        if self.protocol.has(ProtocolFeature::Channels) {
            self.protocol.method(method)?;
            return Some((method.to_owned(), params));
        }
        let name = wrapped_name(method)?;
        params.as_object_mut()?.insert("type", json!(name));
        Some((WRAPPER.to_owned(), json!({"notification": params})))
    }

    /// Translates a message of a host to the newest version. `asked` is the method of the request that a
    /// response answers.
    pub fn lift_message(&self, message: &Message, asked: Option<&str>) -> Message {
        if self.is_plain() {
            return message.clone();
        }
        let mut value = message.value().clone();
        match (message.kind(), message.method()) {
            (MessageKind::Notification, Some("action")) => {
                value["params"] = self.lift_envelope(message.params());
            }
            (MessageKind::Notification, Some(WRAPPER)) => {
                let told = &message.params()["notification"];
                let known = WRAPPED.iter().find(|(name, _)| told["type"] == **name);
                if let Some((_, method)) = known {
                    let mut params = told.clone();
                    params.as_object_mut().map(|members| members.remove("type"));
                    value["method"] = json!(method);
                    value["params"] = self.lift_params(method, params);
                }
            }
            (MessageKind::Notification, Some(method)) => {
                value["params"] = self.lift_params(method, message.params().clone());
            }
            (MessageKind::Success, _) => {
                if let Some((method, result)) = asked.zip(message.result()) {
                    value["result"] = self.lift_result(method, result.clone());
                }
            }
            _ => {}
        }
        Message::new(value)
    }

    /// Translates an envelope, or the params of a dispatch, to the newest version.
    pub fn lift_envelope(&self, envelope: &Value) -> Value {
        let mut lifted = envelope.clone();
        let channel = envelope.get("channel").and_then(Value::as_str);
        let action = envelope.get("action").unwrap_or(&Value::Null);
        if !action.is_object() {
            return lifted;
        }
        let (channel, action) = self.lift_action(channel, action, ChangeContext::NOTHING);
        lifted["action"] = action;
        if let Some(channel) = channel {
            lifted["channel"] = json!(channel);
        }
        lifted
    }

    fn lift_result(&self, method: &str, mut result: Value) -> Value {
        if !STATES.contains(&method) {
            self.spell(&mut result, false);
            self.lift(MessagePart::Result(method), &mut result, ChangeContext::NOTHING);
            return result;
        }
        self.own(MessagePart::Result(method), &mut result, false);
        if let Some(snapshot) = result.get_mut("snapshot") {
            self.lift_snapshot(snapshot);
        }
        let snapshots = result.get_mut("snapshots").and_then(Value::as_array_mut);
        snapshots.into_iter().flatten().for_each(|snapshot| self.lift_snapshot(snapshot));
        for envelope in
            result.get_mut("actions").and_then(Value::as_array_mut).into_iter().flatten()
        {
            *envelope = self.lift_envelope(envelope);
        }
        for uri in result.get_mut("missing").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(text) = uri.as_str() {
                *uri = json!(self.lift_uri(text));
            }
        }
        result
    }

    fn lift_snapshot(&self, snapshot: &mut Value) {
        let Some(members) = snapshot.as_object_mut() else {
            return;
        };
        if let Some(uri) = members.get("resource").and_then(Value::as_str) {
            let uri = self.lift_uri(uri);
            members.insert("resource", json!(uri));
        }
        let kind = members.get("state").and_then(Value::as_object).and_then(kind_of);
        if let Some((kind, state)) = kind.zip(members.get("state")) {
            let state = self.lift_state(kind, state);
            members.insert("state", state);
        }
    }

    /// Applies the changes to the members of a part that are neither objects nor lists.
    fn own(&self, part: MessagePart<'_>, value: &mut Value, lower: bool) {
        let mut outer = Map::new();
        for (name, member) in value.as_object().into_iter().flatten() {
            if !member.is_array() && !member.is_object() {
                outer.insert(name.clone(), member.clone());
            }
        }
        let mut outer = Value::Object(outer);
        match lower {
            true => self.lower(part, &mut outer, ChangeContext::NOTHING),
            false => self.lift(part, &mut outer, ChangeContext::NOTHING),
        }
        for (name, member) in outer.as_object().into_iter().flatten() {
            value[name.as_str()] = member.clone();
        }
    }
}

/// Returns the kind of channel whose state has these members; `None` if it is unknown.
pub fn kind_of(state: &Map) -> Option<ChannelKind> {
    let has = |name: &str| state.contains_key(name);
    let rows = [
        ("agents", ChannelKind::Root),
        ("lifecycle", ChannelKind::Session),
        ("turns", ChannelKind::Chat),
        ("claim", ChannelKind::Terminal),
        ("annotations", ChannelKind::Annotations),
        ("files", ChannelKind::Changeset),
    ];
    // The state of a terminal may also have a lifecycle, like the state of a session, so the claim is tested first.
    if has("claim") {
        return Some(ChannelKind::Terminal);
    }
    rows.iter().find(|(name, _)| has(name)).map(|(_, kind)| *kind)
}
