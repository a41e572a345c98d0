//! Injected faults in tool calls: execution, confirmation, and the workers of a call.
//!
//! Knows: the agent's steps of a call. Never knows: the checks that find a fault.

use super::FaultPart::Host;
use crate::agent::script::ToolClass;
use crate::host::agent::HostAgentOp;
use crate::host::engine::RefHost;
use crate::host::generic::{
    ActsAfterApplying, AltersAction, ChangesAgentSteps, ChangesFirstState, FixedIds, LiftsRules,
    OmitsActions,
};
use crate::host::injected::ActionStage::{Followed, Published};
use crate::host::injected::AgentStep;
use crate::host::reading::tool_call;
use crate::model::ActionOutcome;
use crate::wire::channel::ChannelKind;
use crate::wire::json::{Value, json};

fault_table![
    ToolIdReused(
        "tool-id-reused",
        "All tool calls of a turn have the same id.",
        Host(&FixedIds("call", "call")),
    ),
    CallsTheAbsent(
        "calls-the-absent",
        "A client's tool call is assigned to a client that is not active.",
        Host(&AltersAction("chat/toolCallStart", |_, _, action| {
            if let Some(client) = action["contributor"]["clientId"].as_str() {
                action["contributor"]["clientId"] = json!(format!("{client}-before"));
            }
            true
        })),
    ),
    CompleteSkipsRunning(
        "complete-skips-running",
        "An unconfirmed call completes while it is still streaming.",
        Host(&ChangesAgentSteps(|host, step, op| match op {
            HostAgentOp::Ready { step: call, .. } | HostAgentOp::Execute { step: call, .. } =>
                call.confirm,
            HostAgentOp::Complete { .. } => !ends_at(host, step, op, "streaming"),
            HostAgentOp::Challenge { call } => status(host, step.uri, call) != "streaming",
            _ => true,
        })),
    ),
    RunsBeforeApproval(
        "runs-before-approval",
        "A tool that waits for approval runs without the approval.",
        Host(&ChangesAgentSteps(|host, step, op| match op {
            HostAgentOp::Ready { call, step: tool } if tool.confirm => {
                host.tell_ready_call(step.uri, step.turn, call, tool);
                false
            }
            _ => !runs_at(host, step, op, "pending-confirmation"),
        })),
    ),
    RunsAfterDenial(
        "runs-after-denial",
        "A denied tool runs.",
        Host(&ChangesAgentSteps(|host, step, op| !runs_at(host, step, op, "cancelled"))),
    ),
    AsksTheSameAgain(
        "asks-the-same-again",
        "A second confirmation of a call repeats the message of the first confirmation.",
        Host(&AltersAction("chat/toolCallReady", |host, uri, action| {
            let id = action["toolCallId"].as_str().unwrap_or("");
            let known = tool_call(host.state(uri), id);
            if known["status"] == "running" {
                action["invocationMessage"] = known["invocationMessage"].clone();
            }
            true
        })),
    ),
    SecondApprovalSkipped(
        "second-approval-skipped",
        "A running call that needs a second approval completes without this approval.",
        Host(&ChangesAgentSteps(|host, step, op| {
            let HostAgentOp::Reconfirm { call, .. } = op else {
                return true;
            };
            let result = json!({"success": true, "pastTenseMessage": "Went on."});
            for mut action in [
                json!({"type": "chat/toolCallReady", "invocationMessage": "Go on."}),
                json!({"type": "chat/toolCallComplete", "result": result}),
            ] {
                action["turnId"] = json!(step.turn);
                action["toolCallId"] = json!(call);
                host.emit(step.uri, action, None);
            }
            false
        })),
    ),
    AuthForOwnTools(
        "auth-for-own-tools",
        "The host's own tools wait for authentication before they run.",
        Host(&ChangesAgentSteps(|host, step, op| {
            let HostAgentOp::Execute { call, step: tool } = op else {
                return true;
            };
            let known = tool_call(host.state(step.uri), call);
            let own =
                !known["contributor"]["clientId"].is_string() && tool.class != ToolClass::Worker;
            if own && known["status"] == "running" {
                let resource = json!({"resource": "https://tools.example"});
                let action = json!({
                    "type": "chat/toolCallAuthRequired", "turnId": step.turn, "toolCallId": call,
                    "auth": {"reason": "required", "resource": resource},
                });
                host.emit(step.uri, action, None);
            }
            true
        })),
    ),
    ResultUsedUnconfirmed(
        "result-used-unconfirmed",
        "The agent continues with a result that waits for approval.",
        Host(&LiftsRules(&["chat.tool.result-confirmation"])),
    ),
    ToolRunsTwice(
        "tool-runs-twice",
        "A tool that has completed runs and completes once more.",
        Host(&ActsAfterApplying(Published, "chat/toolCallComplete", |host, uri, action| {
            let content = &action["result"]["content"];
            if content.is_array() {
                let shown = json!({
                    "type": "chat/toolCallContentChanged", "turnId": action["turnId"],
                    "toolCallId": action["toolCallId"], "content": content,
                });
                host.emit(uri, shown, None);
                host.emit(uri, action.clone(), None);
            }
        })),
    ),
    OrphansGoOn(
        "orphans-go-on",
        "The calls of a client that is no longer active stay running.",
        Host(&LiftsRules(&["disconnect.tool-calls-cancelled", "chat.tool.client.inactive-owner"])),
    ),
    ToolsChangeEndsCalls(
        "tools-change-ends-calls",
        "When one client changes its tools, the running calls of clients fail.",
        Host(&ActsAfterApplying(Followed, "session/activeClientSet", |host, session, _| {
            host.fail_calls(session, |_, _, _| true);
        })),
    ),
    EditedInputLost(
        "edited-input-lost",
        "An edited input is not written to the file that the call refers to.",
        Host(&LiftsRules(&["chat.tool.edited-input-ref"])),
    ),
    WorkersWithoutEnd(
        "workers-without-end",
        "The depth of nested workers is not limited.",
        Host(&LiftsRules(&["chat.create.runaway-guard"])),
    ),
    WorkerMisnamed(
        "worker-misnamed",
        "The origin of a worker's chat names another call.",
        Host(&ChangesFirstState(ChannelKind::Chat, |state| {
            if state["origin"]["kind"] == "tool" {
                state["origin"]["toolCallId"] = json!("another");
            }
        })),
    ),
    WorkersGoOn(
        "workers-go-on",
        "A worker continues after the turn that it works for has ended.",
        Host(&LiftsRules(&["chat.subagent.turn-closed"])),
    ),
    BackgroundUnseen(
        "background-unseen",
        "The terminal of a background command does not exist.",
        Host(&LiftsRules(&["chat.backgroundWork.terminal"])),
    ),
    BackgroundStays(
        "background-stays",
        "A finished background command stays in the list.",
        Host(&OmitsActions(&["chat/backgroundWorkRemoved"])),
    ),
];

fn status<'a>(host: &'a RefHost, uri: &str, call: &str) -> &'a str {
    tool_call(host.state(uri), call)["status"].as_str().unwrap_or("")
}

/// Runs and completes a tool call in a status that does not permit the call to run. Returns whether the call has run.
fn runs_at(host: &mut RefHost, step: &AgentStep, op: &HostAgentOp, wanted: &str) -> bool {
    let HostAgentOp::Execute { call, .. } = op else {
        return ends_at(host, step, op, wanted);
    };
    let known = tool_call(host.state(step.uri), call).clone();
    if known["status"] != wanted {
        return false;
    }
    if !known["contributor"]["clientId"].is_string() {
        let shown = host.shown_output(step.turn, &known);
        force(host, step.uri, shown);
    }
    true
}

/// Completes a tool call in a status that does not permit the completion. Returns whether the call was completed.
fn ends_at(host: &mut RefHost, step: &AgentStep, op: &HostAgentOp, wanted: &str) -> bool {
    let HostAgentOp::Complete { call, step: tool } = op else {
        return false;
    };
    if status(host, step.uri, call) != wanted {
        return false;
    }
    let action = host.completion(step.uri, step.turn, call, tool, false);
    force(host, step.uri, action);
    true
}

/// Sends an action even if the reducers do not apply it.
fn force(host: &mut RefHost, uri: &str, action: Value) {
    if host.publish_from(uri, action.clone(), None) != ActionOutcome::Applied {
        host.emit(uri, action, None);
    }
}
