//! The decisions that a host still needs from its users: tool calls and results that wait for approval, and
//! questions.
//!
//! An agent may choose whether to ask a user. If a scenario expects the agent to continue but does not answer an open
//! question, the scenario has not tested the host.
//!
//! Knows: actions of chats and sessions. Never knows: the expectations of the scenario.

use litemap::LiteMap;

use crate::wire::json::Value;
use crate::wire::message::Message;

/// The maximum number of tracked decisions. Further decisions are ignored, so they are never reported as the reason for
/// a missing message.
const MAX_DECISIONS: usize = 1_000;

/// The actions that an agent sends only when no decision is pending.
const NEEDS_DECISIONS: &[&str] =
    &["chat/turnComplete", "chat/error", "chat/turnCancelled", "chat/responsePart", "chat/delta"];

/// The action that decides about a tool call.
const CONFIRMED: &str = "chat/toolCallConfirmed";

/// The action that ends a tool call. A pending decision explains the absence of this action only if the
/// decision is about the same call.
const END_OF_CALL: &str = "chat/toolCallComplete";

/// The decisions that the host has announced, by the channel and the identifier of the tool call, question or
/// `inputNeeded` entry.
#[derive(Debug, Default)]
pub(super) struct OpenDecisions {
    known: LiteMap<(String, String), KnownDecision>,
}

#[derive(Debug)]
struct KnownDecision {
    /// The `serverSeq` of the last action about the decision. Older copies of an action that arrive later at
    /// other clients are ignored.
    seq: u64,
    /// The pending question; `None` if the host has not asked yet or the decision was made.
    open: Option<&'static str>,
    /// Whether the decision is about a tool call that has not ended.
    unfinished_call: bool,
    /// The number of times that the host has asked for approval of the tool call.
    questions: u32,
    /// The number of times that the host accepted an approval or denial of the tool call.
    answers: u32,
}

impl OpenDecisions {
    /// Updates the decisions after a message of the host.
    pub(super) fn hear(&mut self, message: &Message) {
        let params = message.params();
        let rejected = params.get("rejectionReason").is_some_and(|reason| !reason.is_null());
        let (Some(chat), Some(seq)) = (params["channel"].as_str(), params["serverSeq"].as_u64())
        else {
            return;
        };
        let action = &params["action"];
        let Some(kind) = action["type"].as_str().filter(|_| !rejected) else { return };
        if matches!(kind, "chat/turnComplete" | "chat/error" | "chat/turnCancelled") {
            self.known.retain(|(of, _), it| of != chat || it.seq > seq);
            return;
        }
        let call = || action["toolCallId"].as_str();
        let (id, open, unfinished_call) = match kind {
            "chat/toolCallStart" => (call(), None, true),
            "chat/toolCallReady" if action["confirmed"].is_null() => {
                (call(), Some("the approval of a tool call"), true)
            }
            "chat/toolCallReady" => (call(), None, true),
            CONFIRMED => (call(), None, action["approved"] == true),
            END_OF_CALL if action["requiresResultConfirmation"] == true => {
                (call(), Some("the approval of a tool's result"), false)
            }
            END_OF_CALL | "chat/toolCallResultConfirmed" => (call(), None, false),
            "chat/inputRequested" => {
                (action["request"]["id"].as_str(), Some("the answer to a question"), false)
            }
            "chat/inputCompleted" => (action["requestId"].as_str(), None, false),
            // `session/inputNeededSet` announces pending decisions in chats that no client is subscribed to,
            // such as a worker's chat. An entry about a client's tool waits for that client, not for a user.
            "session/inputNeededSet" if action["request"]["kind"] != "toolClientExecution" => {
                (action["request"]["id"].as_str(), Some("a decision of the user"), false)
            }
            "session/inputNeededRemoved" => (action["id"].as_str(), None, false),
            _ => return,
        };
        let Some(id) = id else { return };
        let key = (chat.to_owned(), id.to_owned());
        let before = self.known.get(&key);
        if before.map_or(self.known.len() >= MAX_DECISIONS, |before| before.seq >= seq) {
            return;
        }
        let (questions, answers) =
            before.map_or((0, 0), |before| (before.questions, before.answers));
        // A question that is repeated while it is pending counts as one question.
        let waits = before.is_some_and(|before| before.open.is_some());
        let asks = kind == "chat/toolCallReady" && open.is_some() && !waits;
        let decision = KnownDecision {
            seq,
            open,
            unfinished_call,
            questions: questions + u32::from(asks),
            answers: answers + u32::from(kind == CONFIRMED),
        };
        self.known.insert(key, decision);
    }

    /// Returns whether the last accepted decision about a tool call answers a question that the host has asked
    /// again. A decision on a repeated question is legal although the call already had a decision.
    pub(super) fn answers_again(&self, channel: &Value, action: &Value) -> bool {
        let (Some(chat), Some(call)) = (channel.as_str(), action["toolCallId"].as_str()) else {
            return false;
        };
        let known = self.known.get(&(chat.to_owned(), call.to_owned()));
        let again = |it: &KnownDecision| it.questions > 1 && it.answers <= it.questions;
        action["type"] == CONFIRMED && known.is_some_and(again)
    }

    /// Returns a tool call of a chat for which the host has asked for approval more than once, if the latest question
    /// is unanswered. The call counts as undecided, although there was a decision.
    pub(super) fn asked_again(&self, chat: &str) -> Option<&str> {
        let again = |(at, it): (&(String, String), &KnownDecision)| {
            at.0 == chat && it.questions > 1 && it.open.is_some()
        };
        let mut known = self.known.iter();
        known.find(|(at, it)| again((at, it))).map(|((_, call), _)| call.as_str())
    }

    /// Returns why messages of these types may be missing: the pending decision and its chat. Returns `None` if
    /// no pending decision explains the absence of the messages.
    pub(super) fn holding_up(&self, types: &[String]) -> Option<String> {
        let listed = |names: &[&str]| types.iter().all(|name| names.contains(&name.as_str()));
        let only_calls = match () {
            () if types.is_empty() => return None,
            () if listed(NEEDS_DECISIONS) => false,
            () if listed(&[END_OF_CALL]) => true,
            () => return None,
        };
        let open = |(_, it): &(&(String, String), &KnownDecision)| it.open.is_some();
        // If one tool call is running without a pending decision, a pending decision about another call does not
        // explain why the running call does not end.
        let working =
            |(_, it): (&(String, String), &KnownDecision)| it.open.is_none() && it.unfinished_call;
        if only_calls && self.known.iter().any(working) {
            return None;
        }
        let ((chat, id), it) = self.known.iter().find(open)?;
        Some(format!("`{chat}` waits for {} (`{id}`)", it.open?))
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;

    use super::*;

    fn told(decisions: &mut OpenDecisions, seq: u64, action: Value) {
        let params = json!({"channel": "ahp-chat:/1", "serverSeq": seq, "action": action});
        decisions.hear(&Message::notification("action", params));
    }

    fn holds_up(decisions: &OpenDecisions, name: &str) -> bool {
        decisions.holding_up(&[name.to_owned()]).is_some()
    }

    #[test]
    fn a_call_that_waits_excuses_the_end_of_its_turn_until_it_is_decided() {
        let mut decisions = OpenDecisions::default();
        let ready = json!({"type": "chat/toolCallReady", "toolCallId": "c"});
        told(&mut decisions, 1, ready.clone());
        assert!(holds_up(&decisions, "chat/turnComplete"));
        assert!(holds_up(&decisions, "chat/toolCallComplete"));
        assert!(!holds_up(&decisions, "session/inputNeededSet"));
        let approved =
            json!({"type": "chat/toolCallConfirmed", "toolCallId": "c", "approved": true});
        told(&mut decisions, 2, approved);
        // Another client receives its copy of the host's question later.
        told(&mut decisions, 1, ready.clone());
        assert!(!holds_up(&decisions, "chat/turnComplete"));
        // The host asks again.
        told(&mut decisions, 3, ready);
        assert!(holds_up(&decisions, "chat/toolCallComplete"));
    }

    #[test]
    fn a_call_that_works_is_not_excused_by_one_that_waits() {
        let mut decisions = OpenDecisions::default();
        told(&mut decisions, 1, json!({"type": "chat/toolCallReady", "toolCallId": "c"}));
        let works =
            json!({"type": "chat/toolCallReady", "toolCallId": "d", "confirmed": "setting"});
        told(&mut decisions, 2, works);
        assert!(!holds_up(&decisions, "chat/toolCallComplete"));
        assert!(holds_up(&decisions, "chat/turnComplete"));
    }
    #[test]
    fn a_second_approval_is_legal_only_if_the_host_asked_again() {
        let mut decisions = OpenDecisions::default();
        let chat = json!("ahp-chat:/1");
        let ready = json!({"type": "chat/toolCallReady", "toolCallId": "c"});
        let approval =
            json!({"type": "chat/toolCallConfirmed", "toolCallId": "c", "approved": true});
        told(&mut decisions, 1, ready.clone());
        told(&mut decisions, 2, approval.clone());
        told(&mut decisions, 3, approval.clone());
        assert!(!decisions.answers_again(&chat, &approval));
        let mut decisions = OpenDecisions::default();
        told(&mut decisions, 1, ready.clone());
        told(&mut decisions, 2, approval.clone());
        assert!(decisions.asked_again("ahp-chat:/1").is_none());
        told(&mut decisions, 3, ready);
        assert_eq!(decisions.asked_again("ahp-chat:/1"), Some("c"));
        assert!(decisions.asked_again("ahp-chat:/2").is_none());
        told(&mut decisions, 4, approval.clone());
        assert!(decisions.answers_again(&chat, &approval));
        assert!(decisions.asked_again("ahp-chat:/1").is_none());
        // The repeated question is answered as well.
        told(&mut decisions, 5, approval.clone());
        assert!(!decisions.answers_again(&chat, &approval));
    }
}
