//! Approves pending tool calls automatically, in scenarios that do not test approval.
//!
//! Whether a tool runs without confirmation is the host's own policy. A scenario that does not test this policy names a
//! client that approves every call. The transcript contains the dispatches of this client like those of other clients.
//!
//! Knows: actions. Never knows: the expectations of the scenario.

use crate::wire::json::{Value, json};
use crate::wire::message::Message;

use super::case::ScenarioCase;
use super::case_peers::PeerId;

impl ScenarioCase {
    /// Confirms a tool call with a pending confirmation if the peer is the scenario's approving client.
    pub(super) fn approve(&mut self, id: PeerId, message: &Message) {
        let approves = self.setup().scenario.approves.as_deref();
        let named = self.clients.get(id).is_some_and(|peer| Some(peer.name()) == approves);
        if !named || !self.progress.is_playing() || message.method() != Some("action") {
            return;
        }
        let params = message.params();
        let of = |name: &str| params.get(name).filter(|value| !value.is_null());
        let Some((channel, action)) = of("channel").zip(of("action")) else {
            return;
        };
        let given = |name: &str| action.get(name).filter(|value| !value.is_null());
        let waits = action["type"] == "chat/toolCallReady" && given("confirmed").is_none();
        if let Some((turn, call)) = given("turnId").zip(given("toolCallId"))
            && waits
            && of("rejectionReason").is_none()
        {
            let confirmed: Value = json!({
                "type": "chat/toolCallConfirmed", "turnId": (turn), "toolCallId": (call),
                "approved": true, "confirmed": "user-action",
            });
            self.dispatch(id, channel, confirmed, None, None, None);
        }
    }
}
