//! Applies the host settings that the user requests before a run, for example to enable features that are off
//! by default.
//!
//! The dialogue uses one connection. After the handshake, it sends one `root/configChanged` action for each setting. It
//! waits for the echo of each action before it sends the next one, because a host may accept only one action at a time.
//!
//! Knows: the form of a setting. Never knows: sockets, clocks, the settings of a host.
//!
//! Start at [`SettingsDialogue`].

use std::collections::VecDeque;

use crate::edge::VersionEdge;
use crate::wire::channel::ROOT;
use crate::wire::frame::Frame;
use crate::wire::json::{Map, Value, json};
use crate::wire::message::{DecodedFrame, Message, decode};
use crate::wire::version::Version;

use super::detect::beginning;

/// The client identifier of the dialogue.
const CLIENT: &str = "ahp-harness-settings";
/// The identifier of the `initialize` request.
const HANDSHAKE: u64 = 1;

/// A property of the host's configuration with its new value.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSetting {
    /// The property's name.
    pub key: String,
    /// The value.
    pub value: Value,
}

/// The substrings that mark the name of a setting as the name of a secret.
const SECRET_NAMES: [&str; 6] =
    ["token", "secret", "password", "credential", "authorization", "key"];

impl HostSetting {
    /// Returns whether reports must leave out the value, because the value is or contains a string under a name that
    /// denotes a secret.
    pub fn is_secret(&self) -> bool {
        has_secret(&self.key, &self.value)
    }
}

fn has_secret(name: &str, value: &Value) -> bool {
    if let Some(members) = value.as_object() {
        return members.iter().any(|(own, item)| {
            // A member is also secret if the name of an enclosing member denotes a secret: inside `apiKeys`, a secret
            // may have any name.
            has_secret(&format!("{name}.{own}"), item)
        });
    }
    if let Some(items) = value.as_array() {
        return items.iter().any(|item| has_secret(name, item));
    }
    let name = name.to_lowercase();
    value.as_str().is_some() && SECRET_NAMES.iter().any(|secret| name.contains(secret))
}

/// The dialogue with a host that applies the settings.
#[derive(Debug)]
pub struct SettingsDialogue {
    edge: VersionEdge,
    output: VecDeque<Frame>,
    /// The settings whose echo has not arrived. Once the handshake is complete, the first of these settings has
    /// been sent.
    left: VecDeque<HostSetting>,
    /// The values that the host has reported. A setting that already has its value is not sent, because a host need not
    /// echo an action that changes nothing.
    current: Map,
    /// The `clientSeq` of the setting that was sent last; 0 before the first.
    sent: u64,
    refused: Option<String>,
}

impl SettingsDialogue {
    /// Creates a dialogue that offers these versions in the handshake and then applies these settings in order.
    pub fn new(offers: &[Version], settings: &[HostSetting]) -> SettingsDialogue {
        let params = json!({
            "channel": ROOT, "protocolVersions": offers, "clientId": CLIENT,
            "initialSubscriptions": [ROOT],
        });
        let edge = VersionEdge::offering(offers, "");
        let first = edge.lower_message(Message::request(HANDSHAKE, "initialize", params)).frame();
        SettingsDialogue {
            edge,
            output: VecDeque::from([first]),
            left: settings.iter().cloned().collect(),
            current: Map::new(),
            sent: 0,
            refused: None,
        }
    }

    /// Returns the next frame to send.
    pub fn poll_output(&mut self) -> Option<Frame> {
        self.output.pop_front()
    }

    /// Handles a frame of the host.
    pub fn handle_frame(&mut self, frame: &Frame) {
        let DecodedFrame::Message(message) = decode(frame) else { return };
        let id = message.id().filter(|_| message.method().is_none()).and_then(Value::as_u64);
        if id == Some(HANDSHAKE) && self.sent == 0 {
            return self.shaken(&message);
        }
        let told = self.edge.lift_message(&message, None);
        let envelope = told.params();
        let origin = &envelope["origin"];
        let is_own = origin["clientId"] == CLIENT && origin["clientSeq"] == json!(self.sent);
        if told.method() != Some("action") || !is_own || self.sent == 0 {
            return;
        }
        let reason = &envelope["rejectionReason"];
        match reason.is_null() {
            true => {
                if let Some(HostSetting { key, value }) = self.left.pop_front() {
                    self.current.insert(key, value);
                }
                self.send_next();
            }
            false => {
                self.refused =
                    Some(format!("the host rejected it: {}", beginning(&reason.to_string())))
            }
        }
    }

    /// Returns whether the dialogue waits for no further message.
    pub fn is_over(&self) -> bool {
        self.output.is_empty() && (self.left.is_empty() || self.refused.is_some())
    }

    /// Returns the result. `otherwise` is the reason if the host did not answer.
    ///
    /// # Errors
    /// Returns the first setting that was not applied, with the reason.
    pub fn result(&self, otherwise: &str) -> Result<(), String> {
        let Some(setting) = self.left.front() else { return Ok(()) };
        let why = self.refused.as_deref().unwrap_or(otherwise);
        Err(format!("the setting `{}` could not be applied: {why}", setting.key))
    }

    fn shaken(&mut self, answer: &Message) {
        let Some(result) = answer.result() else {
            let error = answer.error().unwrap_or(&Value::Null);
            let error = beginning(&error.to_string());
            self.refused = Some(format!("the host answered `initialize` with {error}"));
            return;
        };
        let chosen = result["protocolVersion"].as_str().and_then(|text| text.parse().ok());
        if let Some(version) = chosen {
            self.edge = self.edge.of(version);
        }
        let snapshots = result["snapshots"].as_array().into_iter().flatten();
        let values = |it: &Value| it["state"]["config"]["values"].as_object().cloned();
        self.current = snapshots.filter_map(values).next().unwrap_or_default();
        self.send_next();
    }

    fn send_next(&mut self) {
        let has = |it: &HostSetting, now: &Map| now.get(it.key.as_str()) == Some(&it.value);
        while self.left.front().is_some_and(|next| has(next, &self.current)) {
            self.left.pop_front();
        }
        let Some(HostSetting { key, value }) = self.left.front() else { return };
        self.sent += 1;
        let mut config = json!({});
        config[key.as_str()] = value.clone();
        let params = json!({
            "channel": ROOT, "clientSeq": (self.sent),
            "action": {"type": "root/configChanged", "config": config},
        });
        let message = Message::notification("dispatchAction", params);
        self.output.push_back(self.edge.lower_message(message).frame());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the settings that were sent and the result if the host rejects the key `rejected`.
    fn made(keys: &[&str], rejected: &str) -> (Vec<Value>, Result<(), String>) {
        let setting = |key: &&str| HostSetting { key: (*key).to_owned(), value: json!(true) };
        let settings: Vec<_> = keys.iter().map(setting).collect();
        let mut dialogue = SettingsDialogue::new(&[Version::V1_0], &settings);
        let mut sent = Vec::new();
        while let Some(frame) = dialogue.poll_output() {
            let DecodedFrame::Message(message) = decode(&frame) else { panic!("{frame:?}") };
            if message.method() == Some("initialize") {
                let result = json!({"protocolVersion": "1.0.0"});
                dialogue.handle_frame(&Message::success(json!(HANDSHAKE), result).frame());
                continue;
            }
            let params = message.params();
            sent.push(params["action"]["config"].clone());
            let mut envelope = json!({
                "channel": ROOT, "serverSeq": 1, "action": (&params["action"]),
                "origin": {"clientId": "another", "clientSeq": (&params["clientSeq"])},
            });
            // The dialogue has to ignore an envelope of another client with the same `clientSeq`.
            let mut tell = |envelope: &Value| {
                dialogue.handle_frame(&Message::notification("action", envelope.clone()).frame());
            };
            tell(&envelope);
            envelope["origin"]["clientId"] = json!(CLIENT);
            if params["action"]["config"][rejected] == true {
                envelope["rejectionReason"] = json!("not now");
            }
            tell(&envelope);
        }
        assert!(dialogue.is_over());
        (sent, dialogue.result("nothing came"))
    }

    #[test]
    fn settings_are_made_one_after_the_other() {
        let (sent, result) = made(&["b", "a"], "");
        assert_eq!(sent, [json!({"b": true}), json!({"a": true})]);
        assert_eq!(result, Ok(()));
    }

    #[test]
    fn a_setting_that_is_rejected_ends_it() {
        let (sent, result) = made(&["b", "a", "c"], "a");
        assert_eq!(sent.len(), 2);
        let expected = "the setting `a` could not be applied: the host rejected it: \"not now\"";
        assert_eq!(result.as_ref().map_err(String::as_str), Err(expected));
    }

    #[test]
    fn a_missing_answer_names_the_open_setting() {
        let setting = HostSetting { key: "a".to_owned(), value: json!(1) };
        let mut dialogue = SettingsDialogue::new(&[Version::V1_0], &[setting]);
        dialogue.poll_output();
        assert!(!dialogue.is_over());
        let said = dialogue.result("nothing came within 1s").unwrap_err();
        assert_eq!(said, "the setting `a` could not be applied: nothing came within 1s");
    }

    #[test]
    fn a_setting_that_the_host_has_is_not_sent_again() {
        let setting = |value: Value| HostSetting { key: "a".to_owned(), value };
        let sent_for = |settings: &[HostSetting]| {
            let mut dialogue = SettingsDialogue::new(&[Version::V1_0], settings);
            dialogue.poll_output();
            let state = json!({"config": {"schema": {}, "values": {"a": true}}});
            let snapshots = json!([{"resource": ROOT, "state": state, "fromSeq": 0}]);
            let result = json!({"protocolVersion": "1.0.0", "snapshots": snapshots});
            dialogue.handle_frame(&Message::success(json!(HANDSHAKE), result).frame());
            (dialogue.poll_output().is_some(), dialogue.is_over(), dialogue.result("no answer"))
        };
        assert_eq!(sent_for(&[setting(json!(true))]), (false, true, Ok(())));
        let (sent, over, _) = sent_for(&[setting(json!(false))]);
        assert!(sent && !over);
    }

    #[test]
    fn only_a_text_with_a_telling_name_is_secret() {
        let check = |key: &str, value: Value, expected: bool| {
            let setting = HostSetting { key: key.to_owned(), value };
            assert_eq!(setting.is_secret(), expected, "{setting:?}");
        };
        check("automationsEnabled", json!(true), false);
        check("migration", json!({"version": 1, "status": "complete", "resources": []}), false);
        check("apiKey", json!("sk-secret"), true);
        check("apiKey", json!(5), false);
        check("env", json!({"list": [{"GITHUB_TOKEN": "sk-secret"}]}), true);
        check("tokens", json!({"github": "sk-secret"}), true);
    }
}
