//! The tool calls of an agent, as a client of ACP collects them from reports.
//!
//! A member that a report omits or sets to null keeps its value. Any other member replaces the earlier value; a
//! list is replaced as a whole.
//!
//! Knows: reports. Never knows: sockets, the expectations of scenarios.
//!
//! Start at [`ToolCallReports::take`]. Source: agentclientprotocol.com, protocol v1, tool calls, updating.

use crate::wire::json::{Map, Value};
use crate::wire::message::Message;

/// The maximum number of calls that are kept.
const MAX_CALLS: usize = 1_000;
/// The member with the kind of an update, which is not part of a call.
const KIND: &str = "sessionUpdate";

/// The reported calls; the newest call is the last.
#[derive(Debug, Default)]
pub struct ToolCallReports {
    calls: Vec<Value>,
}

impl ToolCallReports {
    /// Handles a message of the agent.
    pub fn take(&mut self, message: &Message) {
        let params = message.params();
        let report = match message.method() {
            Some("session/update") => &params["update"],
            Some("session/request_permission") => &params["toolCall"],
            _ => return,
        };
        let kind = report[KIND].as_str();
        let called = kind.is_none_or(|kind| matches!(kind, "tool_call" | "tool_call_update"));
        let Some((id, members)) = report["toolCallId"].as_str().zip(report.as_object()) else {
            return;
        };
        if !called {
            return;
        }
        let known = self.calls.iter().position(|call| call["toolCallId"] == id);
        let place = known.unwrap_or(self.calls.len());
        if place == self.calls.len() && place < MAX_CALLS {
            self.calls.push(Value::Object(Map::new()));
        }
        if let Some(call) = self.calls.get_mut(place).and_then(Value::as_object_mut) {
            fold(call, members);
        }
    }

    /// Returns the call with this id; `None` if no such call was reported.
    pub fn call(&self, id: &Value) -> Option<&Value> {
        self.calls.iter().rev().find(|call| call["toolCallId"] == *id)
    }
}

fn fold(call: &mut Map, report: &Map) {
    for (name, value) in report.iter().filter(|(name, value)| *name != KIND && !value.is_null()) {
        call.insert(name.as_str(), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    fn told(reports: &[Value]) -> ToolCallReports {
        let mut calls = ToolCallReports::default();
        for report in reports {
            let params = json!({"sessionId": "s", "update": (report.clone())});
            calls.take(&Message::notification("session/update", params));
        }
        calls
    }

    #[test]
    fn omitted_members_stay_and_lists_are_replaced() {
        let calls = told(&[
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "T", "kind": "edit", "content": [1, 2]}),
            json!({"sessionUpdate": "plan", "entries": []}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "title": null}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [3]}),
        ]);
        let expected = json!({
            "toolCallId": "c", "title": "T", "kind": "edit", "content": [3], "status": "completed",
        });
        assert_eq!(calls.call(&json!("c")), Some(&expected));
        assert_eq!(calls.call(&json!("d")), None);
    }

    #[test]
    fn the_call_in_a_request_for_permission_is_a_report_too() {
        let mut calls =
            told(&[json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "T"})]);
        let params = json!({"sessionId": "s", "toolCall": {"toolCallId": "c", "status": "pending"}, "options": []});
        calls.take(&Message::request(1, "session/request_permission", params));
        assert_eq!(calls.call(&json!("c")).unwrap()["status"], "pending");
    }
}
