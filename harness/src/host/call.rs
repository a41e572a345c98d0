//! Tool calls of the agent: start, streamed input, confirmation, execution, completion.
//!
//! A tool runs once, and only after its confirmation. The output of a tool repeats the input, so a client can
//! see an edited input.
//!
//! Knows: operations, the states of chats. Never knows: connections.
//!
//! Start at [`RefHost::call_tool`].

use crate::wire::json::{Value, json};

use super::agent::{HostAgentOp, HostAgentWait};
use super::engine::RefHost;
use super::files::KEPT;
use super::reading::tool_call;
use super::resources::uri_of;
use crate::agent::script::{ToolClass, ToolStep, pieces};
use crate::files::tree::{ExpectedContent, WriteMode};

impl ToolClass {
    /// Returns the name of a tool on the wire, and the display name.
    fn names(&self) -> (&str, &str) {
        match self {
            ToolClass::Shell => ("shell", "Run command"),
            ToolClass::Read => ("read", "Read file"),
            ToolClass::Write => ("write", "Write file"),
            ToolClass::Edit => ("edit", "Edit file"),
            ToolClass::Client(name) | ToolClass::Mcp(name) => (name, name),
            ToolClass::Worker => ("worker", "Have a worker do"),
            ToolClass::Further(row) => (row.name, row.name),
        }
    }
}

impl RefHost {
    /// Starts a tool call and queues its operations.
    pub(super) fn call_tool(&mut self, uri: &str, index: usize, turn: &str, step: ToolStep) {
        let call = self.fresh_id("call");
        let (name, display) = step.class.names();
        let mut start = json!({
            "type": "chat/toolCallStart", "turnId": turn, "toolCallId": call,
            "toolName": name, "displayName": display,
        });
        match &step.class {
            ToolClass::Client(name) => {
                if let Some(client) = self.owner(uri, name) {
                    start["contributor"] = json!({"kind": "client", "clientId": client});
                }
            }
            ToolClass::Mcp(name) => {
                start["contributor"] = json!({"kind": "mcp", "customizationId": name});
            }
            _ => {}
        }
        self.say(uri, start);
        let input = |text| HostAgentOp::Input { call: call.clone(), text };
        let mut ops: Vec<HostAgentOp> = pieces(&step.input).into_iter().map(input).collect();
        let [ready, execute, complete] = [
            HostAgentOp::Ready { call: call.clone(), step: step.clone() },
            execute(&call, &step),
            HostAgentOp::Complete { call: call.clone(), step: step.clone() },
        ];
        ops.push(ready);
        if step.auth {
            ops.push(HostAgentOp::Challenge { call: call.clone() });
        }
        ops.push(execute);
        if step.reconfirm {
            ops.push(HostAgentOp::Reconfirm { call: call.clone(), step: step.clone() });
        }
        ops.push(complete);
        self.runs.queue(uri, index, ops);
    }

    /// Returns the first active client of the chat's session that offers a tool.
    fn owner(&self, uri: &str, tool: &str) -> Option<String> {
        let session = self.chats.session_of(uri)?;
        let clients = self.state(session)["activeClients"].as_array()?;
        let offers = |client: &&Value| {
            let tools = client["tools"].as_array();
            tools.into_iter().flatten().any(|known| known["name"] == tool)
        };
        clients.iter().find(offers)?["clientId"].as_str().map(str::to_owned)
    }

    pub(super) fn stream_input(&mut self, uri: &str, turn: &str, call: &str, text: &str) {
        let delta = json!({
            "type": "chat/toolCallDelta", "turnId": turn, "toolCallId": call, "content": text,
        });
        self.say(uri, delta);
    }

    /// Publishes a tool call as ready, and waits for approval if the script asks for it.
    pub(super) fn call_ready(
        &mut self,
        uri: &str,
        index: usize,
        turn: &str,
        call: String,
        step: &ToolStep,
    ) {
        self.tell_ready_call(uri, turn, &call, step);
        if step.confirm {
            let status = "pending-confirmation";
            self.runs.hold_up(uri, index, HostAgentWait::Call { call, status });
        }
    }

    /// Publishes a tool call as ready, without waiting.
    pub(super) fn tell_ready_call(&mut self, uri: &str, turn: &str, call: &str, step: &ToolStep) {
        let mut action = ready(turn, call, step, step.confirm);
        if step.by_reference
            && let Some(path) = self.files.save(KEPT, step.input.as_bytes())
        {
            action["toolInput"] = json!({"uri": uri_of(&path), "contentType": "text/plain"});
        }
        self.say(uri, action);
    }

    /// Asks for a second confirmation of a running call. After the approval the call continues.
    pub(super) fn reconfirm(
        &mut self,
        uri: &str,
        index: usize,
        turn: &str,
        call: String,
        step: &ToolStep,
    ) {
        if tool_call(self.state(uri), &call)["status"] != "running" {
            return;
        }
        let mut action = ready(turn, &call, step, true);
        action["invocationMessage"] = json!(format!("Go on with {}", step.input));
        self.say(uri, action);
        let status = "pending-confirmation";
        self.runs.hold_up(uri, index, HostAgentWait::Call { call, status });
    }

    /// Runs a tool if its call was approved. For a client's tool, waits for the client to run it.
    pub(super) fn execute(
        &mut self,
        uri: &str,
        index: usize,
        turn: &str,
        call: String,
        step: &ToolStep,
    ) {
        let known = tool_call(self.state(uri), &call).clone();
        match known["status"].as_str() {
            Some("running") => {}
            Some("cancelled") => return self.denied(uri, index, step),
            // The client has already completed the call, and the user has to approve its result.
            Some("pending-result-confirmation") if self.keeps("chat.tool.result-confirmation") => {
                let status = "pending-result-confirmation";
                return self.runs.hold_up(uri, index, HostAgentWait::Call { call, status });
            }
            _ => return,
        }
        if step.class == ToolClass::Worker {
            let input = self.input_of(&known).unwrap_or_default();
            if let Err(why) = self.put_to_work(uri, index, turn, &call, &input) {
                self.say(uri, failed(turn, &call, &why));
            }
            return;
        }
        let Some(owner) = known["contributor"]["clientId"].as_str() else {
            let content = self.shown_output(turn, &known);
            return self.say(uri, content);
        };
        if !self.is_active(uri, owner) && self.keeps("chat.tool.client.inactive-owner") {
            return self.say(uri, orphaned(turn, &call));
        }
        self.runs.hold_up(uri, index, HostAgentWait::Call { call, status: "running" });
    }

    /// Completes a running call, and waits if its result needs approval.
    pub(super) fn complete(
        &mut self,
        uri: &str,
        index: usize,
        turn: &str,
        call: String,
        step: &ToolStep,
    ) {
        match tool_call(self.state(uri), &call)["status"].as_str() {
            Some("running") => {}
            Some("cancelled") => return self.denied(uri, index, step),
            _ => return,
        }
        let action = self.completion(uri, turn, &call, step, !step.fails);
        if step.confirm_result && self.keeps("chat.tool.result-confirmation") {
            let status = "pending-result-confirmation";
            self.runs.hold_up(uri, index, HostAgentWait::Call { call, status });
        }
        self.publish(uri, action);
    }

    /// Returns the action that completes a call. If `edits` is set, first performs the file edits of the tool.
    pub(super) fn completion(
        &mut self,
        uri: &str,
        turn: &str,
        call: &str,
        step: &ToolStep,
        edits: bool,
    ) -> Value {
        let known = tool_call(self.state(uri), call).clone();
        let unowned = matches!(step.class, ToolClass::Client(_));
        let edited = match edits {
            false => Ok(()),
            true => {
                let input = self.input_of(&known).unwrap_or_else(|| step.input.clone());
                self.edit_called(uri, turn, &step.class, &input)
            }
        };
        let mut result = json!({
            "success": !step.fails && !unowned && edited.is_ok(),
            "pastTenseMessage": format!("Called {}", step.class.names().0),
            "content": self.output(&known),
        });
        let why = match edited {
            _ if unowned => Some("no active client offers the tool".to_owned()),
            _ if step.fails => Some("the tool failed".to_owned()),
            edited => edited.err(),
        };
        if let Some(message) = why {
            result["error"] = json!({"message": message});
        }
        let mut action = json!({
            "type": "chat/toolCallComplete", "turnId": turn, "toolCallId": call, "result": result,
        });
        if step.confirm_result {
            action["requiresResultConfirmation"] = json!(true);
        }
        action
    }

    /// Returns the action that shows the output of a call.
    pub(super) fn shown_output(&self, turn: &str, call: &Value) -> Value {
        json!({
            "type": "chat/toolCallContentChanged", "turnId": turn,
            "toolCallId": call["toolCallId"], "content": self.output(call),
        })
    }

    /// Handles a denied call. The remaining operations of the call become no-ops; the turn continues unless the
    /// script ends it after a denial.
    fn denied(&mut self, uri: &str, index: usize, step: &ToolStep) {
        if step.deny_ends_turn {
            self.runs.cut_short(uri, index);
        }
    }

    fn is_active(&self, uri: &str, client: &str) -> bool {
        let session = self.chats.session_of(uri).unwrap_or_default();
        let clients = self.state(session)["activeClients"].as_array();
        clients.into_iter().flatten().any(|known| known["clientId"] == client)
    }

    /// Fails the running calls of clients that are no longer active in a session. Sources:
    /// `disconnect.tool-calls-cancelled`, `disconnect.tool-call-form`.
    pub(super) fn fail_orphans(&mut self, session: &str) {
        if self.keeps("disconnect.tool-calls-cancelled") {
            self.fail_calls(session, |host, chat, owner| !host.is_active(chat, owner));
        }
    }

    /// Fails the running calls in a session whose owning client satisfies `of`. `of` is called with the host, the chat
    /// and the client.
    pub(super) fn fail_calls(&mut self, session: &str, of: impl Fn(&RefHost, &str, &str) -> bool) {
        for uri in self.chats_of(session) {
            let turn = &self.state(&uri)["activeTurn"];
            let parts = turn["responseParts"].as_array();
            let calls = parts.into_iter().flatten().map(|part| &part["toolCall"]);
            let orphan = |call: &&Value| {
                let owner = call["contributor"]["clientId"].as_str();
                call["status"] == "running" && owner.is_some_and(|own| of(self, &uri, own))
            };
            let id = |call: &Value| call["toolCallId"].as_str().map(str::to_owned);
            let orphans: Vec<String> = calls.filter(orphan).filter_map(id).collect();
            let turn = turn["id"].as_str().unwrap_or("").to_owned();
            for call in orphans {
                self.publish(&uri, orphaned(&turn, &call));
            }
            self.wake(&uri);
        }
    }
}

impl RefHost {
    /// Returns the input of a call, which is in the state itself or in a file to which the state refers.
    fn input_of(&self, call: &Value) -> Option<String> {
        let input = &call["toolInput"];
        let Some(uri) = input["uri"].as_str() else {
            return input.as_str().map(str::to_owned);
        };
        let file = self.files.file(&self.path_of(uri).ok()?).ok()?;
        Some(String::from_utf8_lossy(&file.bytes).into_owned())
    }

    /// Writes an input that the user has edited to the file that the call's input refers to, before the host
    /// publishes the confirmation. Source: `chat.tool.edited-input-ref`.
    pub(super) fn replace_input(&mut self, uri: &str, action: &Value) {
        let active = &self.state(uri)["activeTurn"];
        let call = tool_call(self.state(uri), action["toolCallId"].as_str().unwrap_or_default());
        let fits = active["id"] == action["turnId"] && call["status"] == "pending-confirmation";
        let edited = action["editedToolInput"].as_str().filter(|_| fits).map(str::to_owned);
        let (Some(edited), Some(place)) = (edited, call["toolInput"]["uri"].as_str()) else {
            return;
        };
        if let Ok(path) = self.path_of(place)
            && self.keeps("chat.tool.edited-input-ref")
        {
            let now = self.clock.timestamp();
            let whole = (WriteMode::Truncate, 0);
            let _ = self.files.write(
                &path,
                edited.as_bytes(),
                whole,
                &ExpectedContent::default(),
                &now,
            );
        }
    }

    /// Returns the content of a tool's output: the call's input, and for a worker's call the worker's chat.
    fn output(&self, call: &Value) -> Value {
        let input = self.input_of(call);
        let input = input.or_else(|| call["partialInput"].as_str().map(str::to_owned));
        let text = json!({"type": "text", "text": format!("ran: {}", input.unwrap_or_default())});
        let shown = call["content"].as_array().into_iter().flatten();
        let workers = shown.filter(|shown| shown["type"] == "subagent").cloned();
        workers.chain([text]).collect()
    }
}

fn execute(call: &str, step: &ToolStep) -> HostAgentOp {
    HostAgentOp::Execute { call: call.to_owned(), step: step.clone() }
}

fn ready(turn: &str, call: &str, step: &ToolStep, ask: bool) -> Value {
    let mut action = json!({
        "type": "chat/toolCallReady", "turnId": turn, "toolCallId": call,
        "invocationMessage": format!("Call {} with {}", step.class.names().0, step.input),
        "toolInput": step.input,
    });
    if ask {
        action["confirmationTitle"] = json!("Allow this call?");
        action["editable"] = json!(step.editable);
        action["options"] = json!([
            {"id": "approve", "label": "Allow", "kind": "approve"},
            {"id": "deny", "label": "Deny", "kind": "deny"},
        ]);
    } else {
        action["confirmed"] = json!("not-needed");
    }
    action
}

fn orphaned(turn: &str, call: &str) -> Value {
    let mut action = failed(turn, call, "the client that owns the tool has left");
    action["result"]["pastTenseMessage"] = json!("The client that owns the tool has left");
    action
}

/// Returns the action that completes a call that failed to start.
fn failed(turn: &str, call: &str, why: &str) -> Value {
    let error = json!({"message": why});
    let result =
        json!({"success": false, "pastTenseMessage": "Could not be called", "error": error});
    json!({"type": "chat/toolCallComplete", "turnId": turn, "toolCallId": call, "result": result})
}
