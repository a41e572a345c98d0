//! The faults of a client that fails on unknown content, and of a client that acts on everything that it receives.
//!
//! A broken client closes its connection and refuses every command.
//!
//! Knows: messages, states. Never knows: which check finds which fault.
//!
//! Start at [`ReferenceClient::breaks_on`] and [`ReferenceClient::go_astray`].

use crate::wire::json::{Value, json};
use crate::wire::message::{Message, MessageKind};

use super::fault::Fault;
use super::{ReferenceClient, RequestReason};

/// The kinds of questions that the client knows. A faulty client fails on any other kind.
const QUESTIONS: &[&str] =
    &["text", "number", "integer", "boolean", "single-select", "multi-select"];
/// The statuses of a tool call that the client knows. A faulty client fails on any other status.
const STATUSES: &[&str] = &[
    "streaming",
    "pending-confirmation",
    "running",
    "auth-required",
    "pending-result-confirmation",
    "completed",
    "cancelled",
];
/// The maximum number of origins that are followed from chat to chat. If there are more, the origins are assumed to
/// form a cycle.
const MAX_DEPTH: usize = 100;

impl ReferenceClient {
    /// Closes the connection and marks the client as broken.
    pub(super) fn break_down(&mut self) {
        self.close();
        self.resumes = false;
        self.broken = true;
        self.give_up("the client is broken");
    }

    /// Returns whether a message breaks the client because of an injected fault.
    pub(super) fn breaks_on(&self, message: &Message) -> bool {
        if self.has(Fault::VersionlessBreaks) && message.value()["jsonrpc"] != "2.0" {
            return true;
        }
        match message.kind() {
            MessageKind::Success | MessageKind::Failure => self.breaks_on_response(message),
            MessageKind::Notification if message.method() == Some("action") => {
                self.breaks_on_action(message.params())
            }
            MessageKind::Notification => {
                let session = message.params()["session"].as_str().unwrap_or_default();
                self.has(Fault::UnknownSessionBreaks)
                    && message.method() == Some("root/sessionSummaryChanged")
                    && self.sessions.lacks(session)
            }
            _ => false,
        }
    }

    fn breaks_on_response(&self, message: &Message) -> bool {
        let open =
            message.id().and_then(Value::as_u64).is_some_and(|id| self.open.contains_key(&id));
        let result = message.result().unwrap_or(&Value::Null);
        let software = result["serverInfo"]["version"].as_str().unwrap_or_default();
        let mut meta = result["_meta"].as_object().into_iter().flatten();
        let parts = result["snapshot"]["state"]["activeTurn"]["responseParts"].as_array();
        let mut statuses =
            parts.into_iter().flatten().filter_map(|part| part["toolCall"]["status"].as_str());
        self.has(Fault::StrayAnswerBreaks) && !open
            || self.has(Fault::SoftwareVersionBreaks) && software.starts_with("0.0.")
            || self.has(Fault::UnknownMetaBreaks) && meta.any(|(key, _)| key.starts_with("x-"))
            || self.has(Fault::UnknownToolStatusBreaks)
                && statuses.any(|status| !STATUSES.contains(&status))
    }

    fn breaks_on_action(&self, envelope: &Value) -> bool {
        let action = &envelope["action"];
        let channel = envelope["channel"].as_str().unwrap_or_default();
        let mut questions = action["request"]["questions"].as_array().into_iter().flatten();
        let followed = self.states.subscriptions().any(|it| it == channel);
        self.has(Fault::ForeignActionBreaks) && !followed
            || self.has(Fault::UnknownQuestionBreaks)
                && questions.any(|it| !QUESTIONS.contains(&it["kind"].as_str().unwrap_or_default()))
            || action["type"] == "session/chatAdded" && self.breaks_on_origin(channel, action)
    }

    /// Follows the origins of a chat that is added to a session. Returns whether an unknown origin or a cycle breaks
    /// the client.
    fn breaks_on_origin(&self, session: &str, action: &Value) -> bool {
        let Some(mirror) = self.states.channel(session) else { return false };
        let mut chats = mirror.confirmed()["chats"].as_array().cloned().unwrap_or_default();
        chats.retain(|chat| chat["resource"] != action["summary"]["resource"]);
        chats.push(action["summary"].clone());
        let mut chat = &action["summary"];
        for _ in 0..MAX_DEPTH {
            let Some(ancestor) = chat["origin"]["chat"].as_str() else { return false };
            match chats.iter().find(|it| it["resource"] == ancestor) {
                Some(known) => chat = known,
                None => return self.has(Fault::MissingAncestorBreaks),
            }
        }
        self.has(Fault::CycleBreaks)
    }

    /// Returns whether a channel is a chat of a session but not its default chat.
    pub(super) fn is_other_chat(&self, channel: &str) -> bool {
        let mut sessions = self.states.subscriptions().filter_map(|it| self.states.channel(it));
        sessions.any(|session| {
            let state = session.confirmed();
            let mut chats = state["chats"].as_array().into_iter().flatten();
            chats.any(|chat| chat["resource"] == channel) && state["defaultChat"] != channel
        })
    }

    /// Injects the faults of a client that acts on the content of an action although a client should not do so.
    pub(super) fn go_astray(&mut self, envelope: &Value) {
        let action = &envelope["action"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut opened: Vec<String> = Vec::new();
        if self.has(Fault::UnknownSchemesSubscribed) {
            opened.extend(text(&action["summary"]["resource"]));
            opened.extend(text(&action["channel"]));
        }
        let changesets = action["changesets"].as_array().into_iter().flatten();
        for template in changesets.filter_map(|it| text(&it["uriTemplate"])) {
            let (before, after) = template.split_once('{').unwrap_or((template.as_str(), ""));
            let has_variable = before != template;
            if has_variable && self.has(Fault::TemplatesExpanded) {
                let rest = after.split_once('}').map_or("", |(_, rest)| rest);
                opened.push(format!("{before}{rest}"));
            }
            let opens =
                self.has(Fault::UnknownSchemesSubscribed) || self.has(Fault::TemplatesExpanded);
            if !has_variable && opens {
                opened.push(template);
            }
        }
        for channel in opened {
            self.request(RequestReason::Own, "subscribe", json!({"channel": channel}));
        }
        if self.has(Fault::AppsOpened) && action["_meta"]["ui"].is_object() {
            let params =
                json!({"channel": "mcp://app", "uri": action["_meta"]["ui"]["resourceUri"]});
            self.request(RequestReason::Own, "resources/read", params);
        }
        if self.has(Fault::AutomationsRunHere) && action["automation"]["nextRunAt"].is_string() {
            let session = "ahp-session:/a-copy-of-the-automation";
            let params = json!({"channel": session});
            self.request(RequestReason::Own, "createSession", params);
        }
    }
}
