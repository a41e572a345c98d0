//! What may be seen of the reference host without asking it over the wire: whoever draws
//! conversations wants to know what there is, and what would be legal.
//!
//! Knows: states, rules of the protocol. Never knows: who looks.

use crate::wire::json::{Value, json};

use super::engine::RefHost;
use super::publish::Origin;
use crate::model::{NoOp, Outcome, apply};
use crate::transcript::ConnId;
use crate::wire::channel::ChannelKind;

impl RefHost {
    /// Every channel with its state.
    pub fn channels(&self) -> impl Iterator<Item = (&str, ChannelKind, &Value)> {
        self.channels.iter().map(|(uri, it)| (uri.as_str(), it.kind, &it.state))
    }

    /// The number of the last action.
    pub fn number(&self) -> u64 {
        self.log.seq()
    }

    /// Whether an action of a client would be accepted on a channel.
    pub fn would_take(&self, conn: ConnId, client: &str, uri: &str, action: &Value) -> bool {
        let origin = Origin { conn, client: client.to_owned(), client_seq: json!(0), sent: None };
        let Some(channel) = self.channels.get(uri) else { return false };
        if self.judge(uri, action, &origin).is_err() {
            return false;
        }
        let mut state = channel.state.clone();
        let outcome = apply(self.protocol.version(), channel.kind, &mut state, action);
        let taken = [NoOp::Unchanged, NoOp::RequestOnly].map(Outcome::NoOp);
        outcome == Outcome::Applied || taken.contains(&outcome)
    }

    /// The requirement by which an action was refused last; empty where there is none.
    pub fn refused_by(&self) -> &str {
        &self.refused_by
    }
}
