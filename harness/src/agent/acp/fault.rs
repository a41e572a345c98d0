//! The injected faults of the reference agent. Each fault is a row in a table, with a name by which a run
//! enables the fault.
//!
//! [`spoil`] implements the faults that only change outgoing messages. A fault that changes the agent's behaviour is an
//! `if` in the code for the rule that it breaks. The kill matrix says which checks must detect a fault.
//!
//! Knows: messages. Never knows: the checks that find a fault.
//!
//! Start at [`FAULTS`].

use crate::wire::json::{Value, json};

/// A set of injected faults.
pub type AgentFaults = crate::fault::FaultSet<Fault>;

faults! {
    Chatters = "chatters", "A log line is written to standard output before each answer.";
    Batches = "batches", "Each update is sent as a batch with one message.";
    Untagged = "untagged", "Updates have no `jsonrpc`.";
    ErrorCodesAreTexts = "error-codes-are-texts", "The code of an error is a string.";
    AnswersTwice = "answers-twice", "Every prompt is answered twice.";
    RequestIdsRepeat = "request-ids-repeat", "All requests of the agent have the id 0.";
    OwnMethods = "own-methods", "The name of a custom notification has no leading underscore.";
    OwnMembers = "own-members", "Updates have a custom member.";
    UnstableMembers = "unstable-members", "Answers to prompts report the usage, as the unstable schema defines it.";
    ChunksWithoutContent = "chunks-without-content", "A chunk of a message has no content.";
    NoTitle = "no-title", "Calls are reported without a title.";
    UpdatesWithNumbers = "updates-with-numbers", "The title of a call is updated with a number.";
    OwnKinds = "own-kinds", "The kind of a call is `run`.";
    KindsOther = "kinds-other", "Every call is of the kind `other`.";
    OwnStatuses = "own-statuses", "A call that has failed is reported as `cancelled`.";
    BareContent = "bare-content", "The content of a call is a content block that is not wrapped.";
    DiffsWithoutText = "diffs-without-text", "A diff has no new text.";
    CallIdsRepeat = "call-ids-repeat", "All calls have the same id.";
    Unreported = "unreported", "Calls are not reported.";
    NamesChange = "names-change", "The name of a tool changes while it runs.";
    UpdatesFirst = "updates-first", "Calls are updated without having been reported.";
    SkipsProgress = "skips-progress", "Calls are completed without having been in progress.";
    ProgressBeforeApproval = "progress-before-approval", "A call is in progress while it waits for approval.";
    Revives = "revives", "A completed call becomes pending again.";
    LeavesOpen = "leaves-open", "The end of a call is not reported.";
    RelativePaths = "relative-paths", "The paths of locations and diffs are relative.";
    LinesFromZero = "lines-from-zero", "Locations are at line 0.";
    OwnTerminals = "own-terminals", "A call shows a terminal that the client never created.";
    EmbedsLate = "embeds-late", "A terminal is shown only after it was released.";
    EmbedsAgain = "embeds-again", "A terminal is removed from the content of its call, is released, and is shown again.";
    AsksReleased = "asks-released", "The agent requests the output of a terminal that it has released.";
    NeverReleases = "never-releases", "Terminals are not released.";
    StrangeSession = "strange-session", "Permission is asked for a session that does not exist.";
    OptionsWithoutNames = "options-without-names", "Options have no name.";
    PermissionFirst = "permission-first", "Permission is asked for a call before it is reported.";
    NoOptions = "no-options", "Requests for permission offer no option.";
    OptionsRepeat = "options-repeat", "Requests for permission offer the same option twice.";
    OnlyAllow = "only-allow", "Requests for permission have no option that rejects.";
    RunsWhileAsking = "runs-while-asking", "A call runs before its permission request is answered.";
    RunsDenied = "runs-denied", "A denied call runs.";
    EndsWhileAsking = "ends-while-asking", "The prompt is answered while a permission request is open.";
    AsksOutside = "asks-outside", "Permission is requested after the turn has ended.";
    Forgets = "forgets", "A permanent decision is not remembered.";
    OwnStopReasons = "own-stop-reasons", "A prompt is answered with `done`.";
    EndTurnAfterCancel = "end-turn-after-cancel", "A cancelled prompt is answered with `end_turn`.";
    ErrorAfterCancel = "error-after-cancel", "A cancelled prompt is answered with an error.";
    IgnoresCancel = "ignores-cancel", "Cancels are ignored.";
    LateUpdates = "late-updates", "After a cancelled prompt is answered, its calls are updated.";
    LateTexts = "late-texts", "After a cancelled prompt is answered, further text is sent.";
    AsksLate = "asks-late", "After a cancelled prompt is answered, permission is asked for a call.";
    SaysCancelled = "says-cancelled", "Every prompt is answered with `cancelled`.";
    WorksOn = "works-on", "A cancelled turn runs its calls before it is answered.";
    RunsOn = "runs-on", "A command continues to run after its turn was cancelled.";
    FilesUngated = "files-ungated", "Files are requested from a client that does not offer them.";
    TerminalsUngated = "terminals-ungated", "Terminals are requested from a client that does not offer them.";
    TextsLost = "texts-lost", "The text content of a call is reported as an empty string.";
    DiffsElsewhere = "diffs-elsewhere", "Diffs and locations name another file.";
    TerminalsMisnamed = "terminals-misnamed", "A call shows a terminal under another id than the one that the client gave it.";
    InputsChanged = "inputs-changed", "The raw input of a call differs from the input of its tool.";
    OutputsEarly = "outputs-early", "The raw output of a call is reported while it is in progress, and not at its end.";
    FailuresComplete = "failures-complete", "A call that has failed is reported as completed.";
    Elicits = "elicits", "An elicitation is sent to a client that does not offer it.";
    NoticesUngated = "notices-ungated", "Notices are sent to a client that does not offer them.";
    EchoesVersion = "echoes-version", "The answer to `initialize` has the requested version, even one that the agent does not support.";
    OneVersionUp = "one-version-up", "The answer to `initialize` has the version after the requested one.";
    NoPrompts = "no-prompts", "`session/prompt` is not implemented.";
    RefusesLinks = "refuses-links", "A prompt with a link to a resource is refused.";
    AnswersCancels = "answers-cancels", "A cancel is answered as if it were a request.";
    KeepsCancels = "keeps-cancels", "A cancel without a running turn ends the next turn.";
    StrangeUpdates = "strange-updates", "Each turn ends with an update of a session that does not exist.";
    SessionsRepeat = "sessions-repeat", "All sessions have the same id.";
    SpeaksAnother = "speaks-another", "The answer to `initialize` always has version 2.";
    HangsWhenRejected = "hangs-when-rejected", "A turn whose call was rejected does not end.";
    WritesNothing = "writes-nothing", "The agent makes the client write empty files.";
    RunsNothing = "runs-nothing", "The agent makes the client run a command that does nothing.";
    ServesAnything = "serves-anything", "Unknown methods are answered with `{}`.";
    BlocksChanged = "blocks-changed", "Images, sounds, links and resources of a tool are reported with other data.";
    LinesBeyond = "lines-beyond", "Locations are at a line that the file does not have.";
    EndsTakeBack = "ends-take-back", "The last update of a call clears its title, kind, locations and raw input.";
    ContentInPieces = "content-in-pieces", "At the end of a call its content is sent in pieces, as if a client appended lists.";
    RunsBeforeInput = "runs-before-input", "A call is in progress before its input is complete.";
    TakesAnything = "takes-anything", "Requests are accepted with any params.";
    EndsOnBadParams = "ends-on-bad-params", "The agent process exits when the params of a request are invalid.";
    SilentOnBadParams = "silent-on-bad-params", "A request with invalid params is not answered.";
    SilentAfterBadParams = "silent-after-bad-params", "After a request with invalid params was refused, prompts are not answered.";
    OwnErrorCodes = "own-error-codes", "Invalid params are refused with -32603.";
    TakesAnySession = "takes-any-session", "A prompt for a session that does not exist is answered with `end_turn`.";
    LoadsWithoutHistory = "loads-without-history", "The conversation of a loaded session is not replayed.";
    AnswersShortened = "answers-shortened", "A replayed message of the agent has only its first four letters.";
    CallsUntold = "calls-untold", "The conversation of a loaded session is replayed without its tool calls.";
    PagesRepeat = "pages-repeat", "Every cursor leads to the first page of the list of sessions.";
    AnswersBeforeHistory = "answers-before-history", "`session/load` is answered before the conversation is replayed.";
    ReplaysWhenResumed = "replays-when-resumed", "The conversation of a resumed session is replayed.";
    ForgetsConversations = "forgets-conversations", "The agent does not remember the conversation of a loaded or resumed session.";
    ListsEverywhere = "lists-everywhere", "The list of the sessions of one folder contains sessions of other folders.";
    ListsNothing = "lists-nothing", "The list of sessions is always empty.";
    ClosesWithoutCancel = "closes-without-cancel", "The turn of a closed session continues.";
    DeletesNothing = "deletes-nothing", "A deleted session is still listed.";
    RefusesModes = "refuses-modes", "No mode can be set.";
    TakesAnyMode = "takes-any-mode", "Modes, options and values that do not exist can be set.";
    ModesOutOfSync = "modes-out-of-sync", "The option for the mode does not follow the mode.";
    OwnModes = "own-modes", "The agent changes to a mode that it does not list.";
    OptionsShort = "options-short", "The response to a request that sets an option lists no options.";
    OptionsUnlisted = "options-unlisted", "The value of an option is not one of its values.";
    StaysLoggedIn = "stays-logged-in", "A client that has logged out can still create sessions.";
    RefusesMedia = "refuses-media", "Prompts with images, sounds and resources are refused, although they are offered.";
    PlansUnreported = "plans-unreported", "Plans are not reported.";
    PlansInPieces = "plans-in-pieces", "A plan is sent without its completed entries.";
    CommandsRepeat = "commands-repeat", "Commands are listed twice, and with a slash.";
    CommandsUnserved = "commands-unserved", "A command in a prompt is treated as text.";
    ListsNoList = "lists-no-list", "The answer to `session/list` has no list.";
    ForgetsLogins = "forgets-logins", "A client that has logged out cannot authenticate again.";
    WorksElsewhere = "works-elsewhere", "Commands run in the folder of the first session.";
    ServersUnused = "servers-unused", "The agent connects to no MCP server.";
    HttpServersUnused = "http-servers-unused", "The agent declares MCP over HTTP and connects to no such server.";
    SseServersUnused = "sse-servers-unused", "The agent declares MCP over SSE and connects to no such server.";
    ServersBare = "servers-bare", "The environment variables and headers that a client names for MCP servers are not used.";
}

/// Returns the lines that are sent in place of a message, without line ends.
pub(super) fn spoil(faults: AgentFaults, message: Value) -> Vec<String> {
    let mut message = message;
    let mut before = Vec::new();
    let mut after = Vec::new();
    let answer = message.get("method").is_none();
    let update = message["method"] == "session/update";
    if faults.has(Fault::Chatters) && answer {
        before.push("INFO answering".to_owned());
    }
    if faults.has(Fault::ErrorCodesAreTexts) && message.get("error").is_some() {
        message["error"]["code"] = json!("-32601");
    }
    if faults.has(Fault::OwnMethods) && update {
        before.push(json!({"jsonrpc": "2.0", "method": "status/changed", "params": {}}).to_text());
    }
    if message["result"].get("stopReason").is_some() {
        if faults.has(Fault::StrangeUpdates) {
            let content = json!({"type": "text", "text": "elsewhere"});
            let chunk = json!({"sessionUpdate": "agent_thought_chunk", "content": content});
            before.push(updating(&json!("ahp-none"), &chunk));
        }
        if faults.has(Fault::AnswersTwice) {
            after.push(message.to_text());
        }
        if faults.has(Fault::UnstableMembers) {
            message["result"]["usage"] = json!({"totalTokens": 1});
        }
        if faults.has(Fault::OwnStopReasons) {
            message["result"]["stopReason"] = json!("done");
        }
    }
    if faults.has(Fault::OptionsUnlisted)
        && let Some(first) = message.pointer_mut("/result/configOptions/0")
    {
        first["currentValue"] = json!("nobodys");
    }
    if update {
        let session = message["params"]["sessionId"].clone();
        if faults.has(Fault::NoticesUngated) {
            let notice = json!({"sessionUpdate": "notice", "severity": "info", "title": "n"});
            before.push(updating(&session, &notice));
        }
        if !spoil_update(faults, &mut message["params"]["update"], &session, &mut after) {
            return before;
        }
        if faults.has(Fault::OwnMembers) {
            message["params"]["update"]["mood"] = json!("good");
        }
    }
    if message["method"] == "terminal/release" && faults.has(Fault::AsksReleased) {
        let id = format!("after {}", message["id"].to_text());
        let params = message["params"].clone();
        let asks =
            json!({"jsonrpc": "2.0", "id": id, "method": "terminal/output", "params": params});
        after.push(asks.to_text());
    }
    if message["method"] == "session/request_permission" {
        spoil_permission(faults, &mut message);
    }
    if faults.has(Fault::RequestIdsRepeat) && !answer && message.get("id").is_some() {
        message["id"] = json!(0);
    }
    let line = match update {
        true if faults.has(Fault::Untagged) => untagged(&message).to_text(),
        true if faults.has(Fault::Batches) => json!([message]).to_text(),
        _ => message.to_text(),
    };
    before.push(line);
    before.extend(after);
    before
}

fn untagged(message: &Value) -> Value {
    json!({"method": (message["method"].clone()), "params": (message["params"].clone())})
}

fn updating(session: &Value, update: &Value) -> String {
    let params = json!({"sessionId": (session.clone()), "update": (update.clone())});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_text()
}

/// Applies the faults in updates. Returns `false` if the update is not sent.
fn spoil_update(
    faults: AgentFaults,
    update: &mut Value,
    session: &Value,
    after: &mut Vec<String>,
) -> bool {
    let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
    if kind == "agent_message_chunk" && faults.has(Fault::ChunksWithoutContent) {
        *update = json!({"sessionUpdate": kind});
    }
    if kind == "plan" && faults.has(Fault::PlansUnreported) {
        return false;
    }
    if kind == "plan" && faults.has(Fault::PlansInPieces) {
        let entries = update["entries"].as_array().cloned().unwrap_or_default();
        let open = |entry: &Value| entry["status"] != "completed";
        update["entries"] = entries.into_iter().filter(open).collect();
    }
    if kind == "available_commands_update" && faults.has(Fault::CommandsRepeat) {
        let commands = update["availableCommands"].as_array().cloned().unwrap_or_default();
        let twice = commands.iter().chain(&commands).cloned().map(|mut command| {
            command["name"] = json!(format!("/{}", command["name"].as_str().unwrap_or_default()));
            command
        });
        update["availableCommands"] = twice.collect();
    }
    if kind != "tool_call" && kind != "tool_call_update" {
        return true;
    }
    let first = kind == "tool_call";
    let ended = matches!(update["status"].as_str(), Some("completed" | "failed"));
    let progress = update["status"] == "in_progress";
    if faults.has(Fault::Unreported)
        || first && faults.has(Fault::UpdatesFirst)
        || progress && faults.has(Fault::SkipsProgress)
        || ended && faults.has(Fault::LeavesOpen)
    {
        return false;
    }
    if faults.has(Fault::CallIdsRepeat) {
        update["toolCallId"] = json!("call");
    }
    if first {
        if faults.has(Fault::NoTitle) {
            update["title"] = Value::Null;
        }
        if faults.has(Fault::KindsOther) {
            update["kind"] = json!("other");
        }
        if faults.has(Fault::InputsChanged) {
            update["rawInput"] = json!({"text": "another"});
        }
        if faults.has(Fault::OwnKinds) {
            update["kind"] = json!("run");
        }
        if faults.has(Fault::ProgressBeforeApproval) {
            update["status"] = json!("in_progress");
        }
    }
    if progress {
        if faults.has(Fault::OutputsEarly) {
            update["rawOutput"] = json!({"output": ""});
        }
        if faults.has(Fault::UpdatesWithNumbers) {
            update["title"] = json!(1);
        }
        if faults.has(Fault::NamesChange) {
            update["name"] = json!("another");
        }
    }
    if faults.has(Fault::RunsBeforeInput) && first && update.get("rawInput").is_none() {
        update["status"] = json!("in_progress");
    }
    if ended {
        spoil_end(faults, update);
        if faults.has(Fault::ContentInPieces) {
            let mut piece = update.clone();
            piece["content"] = json!([]);
            after.push(updating(session, &piece));
        }
        if faults.has(Fault::Revives) {
            let again = json!({
                "sessionUpdate": "tool_call_update", "toolCallId": (update["toolCallId"].clone()),
                "status": "pending",
            });
            after.push(updating(session, &again));
            after.push(updating(session, update));
        }
    }
    spoil_blocks(faults, update);
    spoil_diffs(faults, update);
    for place in update.get_mut("locations").and_then(Value::as_array_mut).into_iter().flatten() {
        if faults.has(Fault::LinesFromZero) {
            place["line"] = json!(0);
        }
        if faults.has(Fault::LinesBeyond) {
            place["line"] = json!(999);
        }
        if faults.has(Fault::RelativePaths) {
            place["path"] = json!("a.txt");
        }
        if faults.has(Fault::DiffsElsewhere) {
            place["path"] = json!("/elsewhere/a.txt");
        }
    }
    let items = update.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
    for item in items.filter(|item| item["type"] == "terminal") {
        if faults.has(Fault::TerminalsMisnamed) {
            item["terminalId"] = json!("misnamed");
        }
    }
    true
}

/// Applies the faults in a tool's content blocks, except text blocks.
fn spoil_blocks(faults: AgentFaults, update: &mut Value) {
    let items = update.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
    for item in items.filter(|item| item["type"] == "content" && faults.has(Fault::BlocksChanged)) {
        for (pointer, other) in [
            ("/content/data", "YWhw"),
            ("/content/uri", "https://ahp.example/another"),
            ("/content/resource/text", "another"),
            ("/content/resource/blob", "YQ=="),
        ] {
            if let Some(member) = item.pointer_mut(pointer) {
                *member = json!(other);
            }
        }
    }
}

/// Applies the faults in the diffs of a call's report.
fn spoil_diffs(faults: AgentFaults, update: &mut Value) {
    let diffs = update.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
    for diff in diffs.filter(|item| item["type"] == "diff") {
        if faults.has(Fault::DiffsWithoutText) {
            *diff = json!({"type": "diff", "path": (diff["path"].clone())});
        }
        if faults.has(Fault::RelativePaths) {
            diff["path"] = json!("a.txt");
        }
        if faults.has(Fault::DiffsElsewhere) {
            diff["path"] = json!("/elsewhere/a.txt");
        }
    }
}

/// Applies the faults in the end of a call.
fn spoil_end(faults: AgentFaults, update: &mut Value) {
    if faults.has(Fault::EndsTakeBack) {
        update["title"] = json!("");
        update["kind"] = json!("other");
        update["locations"] = json!([]);
        update["rawInput"] = json!({});
    }
    if faults.has(Fault::OwnStatuses) && update["status"] == "failed" {
        update["status"] = json!("cancelled");
    }
    if faults.has(Fault::FailuresComplete) {
        update["status"] = json!("completed");
    }
    if faults.has(Fault::OutputsEarly) {
        update["rawOutput"] = Value::Null;
    }
    let texts = update.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
    for item in texts.filter(|item| item["content"]["type"] == "text") {
        if faults.has(Fault::TextsLost) {
            item["content"]["text"] = json!("");
        }
    }
    if faults.has(Fault::BareContent) {
        update["content"] = json!([{"type": "text", "text": "bare"}]);
    }
    if faults.has(Fault::OwnTerminals) {
        update["content"] = json!([{"type": "terminal", "terminalId": "nobodys"}]);
    }
}

/// Applies the faults in a permission request.
fn spoil_permission(faults: AgentFaults, message: &mut Value) {
    let params = &mut message["params"];
    spoil_diffs(faults, &mut params["toolCall"]);
    if faults.has(Fault::StrangeSession) {
        params["sessionId"] = json!("ahp-none");
    }
    if faults.has(Fault::PermissionFirst) {
        params["toolCall"]["toolCallId"] = json!("not-reported");
    }
    if faults.has(Fault::CallIdsRepeat) {
        params["toolCall"]["toolCallId"] = json!("call");
    }
    if faults.has(Fault::NoOptions) {
        params["options"] = json!([]);
    }
    if faults.has(Fault::OptionsRepeat)
        && let Some(options) = params["options"].as_array_mut()
        && let Some(first) = options.first().cloned()
    {
        options.push(first);
    }
    if faults.has(Fault::OnlyAllow) {
        let options = params["options"].as_array().cloned().unwrap_or_default();
        let allows =
            |option: &Value| option["optionId"].as_str().is_some_and(|id| id.starts_with("allow"));
        params["options"] = options.into_iter().filter(|option| allows(option)).collect();
    }
    if faults.has(Fault::OptionsWithoutNames) {
        for option in params["options"].as_array_mut().into_iter().flatten() {
            *option =
                json!({"optionId": (option["optionId"].clone()), "kind": (option["kind"].clone())});
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_without_faults_is_unchanged() {
        let message =
            json!({"jsonrpc": "2.0", "method": "session/update", "params": {"update": {}}});
        assert_eq!(spoil(AgentFaults::default(), message.clone()), [message.to_text()]);
    }
}
