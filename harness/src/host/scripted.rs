//! Actions that a scenario about a client makes the host publish: actions of the host, actions of clients that are not
//! connected, and rejections that every subscriber receives.
//!
//! Knows: channels, the log. Never knows: the tested client, its expected behaviour.
//!
//! Start at [`RefHost::publish_scripted`].

use crate::model::ActionOutcome;
use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::json::{Value, json};

use super::ScriptedEnvelope;
use super::dispatched::ActionOrigin;
use super::engine::RefHost;
use super::reading::action_type;

/// The connection id of a client that is not connected.
const NOWHERE: ConnId = ConnId(u32::MAX);

impl RefHost {
    /// Publishes an action that the scenario requests.
    pub(super) fn publish_scripted(&mut self, scripted: &ScriptedEnvelope) {
        let ScriptedEnvelope { channel, action, origin, rejected, members } = scripted;
        // Otherwise the host would send each client only actions that the client's version defines.
        if rejected.is_some() || self.protocol.action(action_type(action)).is_none() {
            return self.send_to_subscribers(scripted);
        }
        let client = origin.as_ref().and_then(|it| it["clientId"].as_str());
        let origin = origin.as_ref().zip(client).map(|(origin, client)| ActionOrigin {
            conn: NOWHERE,
            client: client.to_owned(),
            client_seq: origin["clientSeq"].clone(),
            sent: None,
        });
        self.scripted = members.clone();
        let outcome = self.publish_from(channel, action.clone(), origin.as_ref());
        if outcome != ActionOutcome::Applied {
            self.emit(channel, action.clone(), origin.as_ref());
        }
        self.scripted = Value::Null;
    }

    /// Sends a rejection or an unknown action to every subscriber. The envelope has the next number, so that a client
    /// does not ignore it as old.
    fn send_to_subscribers(&mut self, scripted: &ScriptedEnvelope) {
        let mut envelope = json!({
            "channel": scripted.channel.as_str(),
            "action": scripted.action.clone(),
            "serverSeq": self.log.advance(),
        });
        if let Some(reason) = &scripted.rejected {
            envelope["rejectionReason"] = json!(reason.as_str());
        }
        if let Some(origin) = &scripted.origin {
            envelope["origin"] = origin.clone();
        }
        for (name, value) in scripted.members.as_object().into_iter().flatten() {
            envelope[name.as_str()] = value.clone();
        }
        let subscribed: Vec<ConnId> = self.connections.subscribers(&scripted.channel).collect();
        for conn in subscribed {
            let view = self.view_of(conn).and_then(|view| self.views.get(view));
            let told = match view {
                Some(view) => view.edge().lower_envelope(envelope.clone()),
                None => envelope.clone(),
            };
            let text = self.envelope_text(&told);
            self.send_frame(conn, Frame::Text(text));
        }
    }
}
