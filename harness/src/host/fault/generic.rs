//! The ways in which most faults of the host go wrong, each to be filled in by a row.
//!
//! Knows: the hooks. Never knows: what a row fills in.

use crate::host::agent::Op;
use crate::host::connection::{Call, Reply};
use crate::host::dispatch::{Dispatched, Refusal, Rejected};
use crate::host::engine::{Config, RefHost};
use crate::host::injected::{AgentStep, HostFault, ServedRequest};
use crate::host::publish::{Origin, action_type};
use crate::host::rules::Facts;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;

/// These rules are not in force, by their requirements.
pub(super) struct Lifts(pub(super) &'static [&'static str]);

impl HostFault for Lifts {
    fn lifts(&self, rule: &str) -> bool {
        self.0.contains(&rule)
    }
}

/// The host is set up otherwise.
pub(super) struct SetsUp(pub(super) fn(&mut Config));

impl HostFault for SetsUp {
    fn configures(&self, config: &mut Config) {
        (self.0)(config);
    }
}

/// A dispatch is looked at before the host does; where that returns false the host no longer looks.
pub(super) struct Receives(pub(super) fn(&mut RefHost, &mut Dispatched) -> bool);

impl HostFault for Receives {
    fn receives(&self, host: &mut RefHost, dispatched: &mut Dispatched) -> bool {
        (self.0)(host, dispatched)
    }
}

/// Actions are taken that were refused.
pub(super) struct Waives(pub(super) fn(&Facts, &Refusal) -> bool);

impl HostFault for Waives {
    fn waives(&self, facts: &Facts, refusal: &Refusal) -> bool {
        (self.0)(facts, refusal)
    }
}

/// Actions are refused that are allowed.
pub(super) struct Refuses(pub(super) fn(&Facts) -> Option<&'static str>);

impl HostFault for Refuses {
    fn refuses(&self, facts: &Facts) -> Option<&'static str> {
        (self.0)(facts)
    }
}

/// The host's own actions of these types are neither applied nor sent.
pub(super) struct Omits(pub(super) &'static [&'static str]);

impl HostFault for Omits {
    fn publishes(&self, _host: &mut RefHost, _uri: &str, action: &mut Value) -> bool {
        !self.0.contains(&action_type(action))
    }
}

/// The host's own actions of a type are changed, or left out where that returns false.
pub(super) struct Alters(
    pub(super) &'static str,
    pub(super) fn(&mut RefHost, &str, &mut Value) -> bool,
);

impl HostFault for Alters {
    fn publishes(&self, host: &mut RefHost, uri: &str, action: &mut Value) -> bool {
        action_type(action) != self.0 || (self.1)(host, uri, action)
    }
}

/// Something comes after the host's own actions of a type.
pub(super) struct Adds(pub(super) &'static str, pub(super) fn(&mut RefHost, &str, &Value));

impl HostFault for Adds {
    fn published(&self, host: &mut RefHost, uri: &str, action: &Value) {
        if action_type(action) == self.0 {
            (self.1)(host, uri, action);
        }
    }
}

/// Something comes before an allowed action of a client is applied; where that returns false it is not.
pub(super) struct Accepts(
    pub(super) &'static str,
    pub(super) fn(&mut RefHost, &str, &Value, &Origin) -> bool,
);

impl HostFault for Accepts {
    fn accepts(&self, host: &mut RefHost, uri: &str, action: &Value, from: &Origin) -> bool {
        action_type(action) != self.0 || (self.1)(host, uri, action, from)
    }
}

/// Something comes before the consequences of a client's action of a type.
pub(super) struct Precedes(pub(super) &'static str, pub(super) fn(&mut RefHost, &str, &Value));

impl HostFault for Precedes {
    fn precedes(&self, host: &mut RefHost, uri: &str, action: &Value) {
        if action_type(action) == self.0 {
            (self.1)(host, uri, action);
        }
    }
}

/// Something comes after the consequences of a client's action of a type.
pub(super) struct Follows(pub(super) &'static str, pub(super) fn(&mut RefHost, &str, &Value));

impl HostFault for Follows {
    fn follows(&self, host: &mut RefHost, uri: &str, action: &Value) {
        if action_type(action) == self.0 {
            (self.1)(host, uri, action);
        }
    }
}

/// Rejections go otherwise, or nowhere where that returns false.
pub(super) struct Rejects(pub(super) fn(&mut RefHost, &Rejected, &mut Value) -> bool);

impl HostFault for Rejects {
    fn rejects(&self, host: &mut RefHost, rejected: &Rejected, envelope: &mut Value) -> bool {
        (self.0)(host, rejected, envelope)
    }
}

/// Channels of a kind begin with another state.
pub(super) struct Opens(pub(super) ChannelKind, pub(super) fn(&mut Value));

impl HostFault for Opens {
    fn opens(&self, kind: ChannelKind, state: &mut Value) {
        if kind == self.0 {
            (self.1)(state);
        }
    }
}

/// The summaries of sessions say something else.
pub(super) struct Summarizes(pub(super) fn(&RefHost, &str, &mut Value));

impl HostFault for Summarizes {
    fn summarizes(&self, host: &RefHost, uri: &str, summary: &mut Value) {
        (self.0)(host, uri, summary);
    }
}

/// Notifications of a method are changed, or left out where that returns false.
pub(super) struct Notifies(
    pub(super) &'static str,
    pub(super) fn(&mut RefHost, &mut Value) -> bool,
);

impl HostFault for Notifies {
    fn notifies(&self, host: &mut RefHost, method: &str, params: &mut Value) -> bool {
        method != self.0 || (self.1)(host, params)
    }
}

/// Ids of a kind are always the same.
pub(super) struct Names(pub(super) &'static str, pub(super) &'static str);

impl HostFault for Names {
    fn names(&self, kind: &str) -> Option<String> {
        (kind == self.0).then(|| self.1.to_owned())
    }
}

/// Something comes before a request of a method, and may answer it.
pub(super) struct Serves(
    pub(super) &'static str,
    pub(super) fn(&mut RefHost, &Call) -> Option<Reply>,
);

impl HostFault for Serves {
    fn serves(&self, host: &mut RefHost, method: &str, call: &Call) -> Option<Reply> {
        if method == self.0 { (self.1)(host, call) } else { None }
    }
}

/// The reply to requests of these methods is another one; without any, to all requests.
pub(super) struct Replies(
    pub(super) &'static [&'static str],
    pub(super) fn(&mut RefHost, &ServedRequest, Reply) -> Reply,
);

impl HostFault for Replies {
    fn served(&self, host: &mut RefHost, request: &ServedRequest, reply: Reply) -> Reply {
        match self.0.is_empty() || self.0.contains(&request.method) {
            true => (self.1)(host, request, reply),
            false => reply,
        }
    }
}

/// The agent takes its steps otherwise; not at all where that returns false.
pub(super) struct Performs(pub(super) fn(&mut RefHost, &AgentStep, &Op) -> bool);

impl HostFault for Performs {
    fn performs(&self, host: &mut RefHost, step: &AgentStep, op: &Op) -> bool {
        (self.0)(host, step, op)
    }
}
