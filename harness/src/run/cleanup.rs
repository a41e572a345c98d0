//! Makes the tasks that remove the created resources at the end of a case.
//!
//! Knows: the created resources, clients. Never knows: the steps that created the resources.
//!
//! Start at [`ScenarioCase::cleaning`].

use crate::wire::json::{Value, json};

use crate::scenario::bind::ValueTemplate;
use crate::scenario::source::SourceSpan;
use crate::wire::channel::ROOT;

use super::case::ScenarioCase;
use super::case_peers::{CasePeer, PeerId};
use super::created_resources::{AUTOMATION, AUTOMATIONS, DELETE};
use super::goal::{RequestGoal, ResultUse};
use super::task::{StepTask, TaskAct};

impl ScenarioCase {
    /// Returns the tasks that remove the resources that the case created. The tasks use a client that has completed the
    /// handshake, or a new connection if there is none.
    pub(super) fn cleaning(&mut self) -> Vec<StepTask> {
        if self.is_acp() {
            return self.leaving();
        }
        let left = self.created.take_unseen();
        if left.is_empty() {
            return Vec::new();
        }
        let span = SourceSpan::default();
        let request = |peer: PeerId, method: &str, params: Value, want| TaskAct::Request {
            peer,
            method: method.to_owned(),
            params: ValueTemplate::fixed(span, params),
            want,
            exact: false,
            keep: ResultUse::default(),
        };
        let mut acts = Vec::new();
        let ready = self.clients.iter().position(CasePeer::is_ready);
        let peer = match ready {
            Some(peer) => peer,
            None if !self.shook_hands() => return Vec::new(),
            None => {
                let peer = self.add_peer("cleaner");
                let params = json!({
                    "channel": ROOT,
                    "protocolVersions": self.setup().offers,
                    "clientId": self.client_id(peer),
                });
                acts.push(TaskAct::Connect(peer));
                acts.push(request(peer, "initialize", params, RequestGoal::Result(None)));
                peer
            }
        };
        for (method, channel) in left {
            if method == AUTOMATION.1 {
                acts.push(TaskAct::Dispatch {
                    peer,
                    channel: ValueTemplate::fixed(span, json!(AUTOMATIONS)),
                    action: ValueTemplate::fixed(
                        span,
                        json!({"type": method, "resource": channel}),
                    ),
                    seq: None,
                    settle: None,
                    bind: None,
                });
                // A dispatch has no response, and this client may not be subscribed. The answer to this request shows
                // that the host has handled the dispatch, and lists the sessions that the automation's runs left.
                acts.push(request(
                    peer,
                    "listSessions",
                    json!({"channel": ROOT}),
                    RequestGoal::Anything,
                ));
                continue;
            }
            let params = match method == DELETE {
                true => json!({"channel": ROOT, "uri": channel, "recursive": true}),
                false => json!({"channel": channel}),
            };
            acts.push(request(peer, method, params, RequestGoal::Anything));
        }
        acts.into_iter()
            .map(|act| StepTask { step: None, within: None, act, prepares: false })
            .collect()
    }
}
