//! The preconditions of client actions: one row for each rule, with its source.
//!
//! Actions that the reducers reject need no row.
//!
//! Knows: states, rules of the protocol. Never knows: the delivery of actions.
//!
//! Start at [`RULES`].

use super::rule_facts::{RuleFacts, require};
use crate::model::NoOp;
use crate::wire::channel::ROOT;
use crate::wire::json::Value;

use super::annotations as notes;
use super::automations::{new_automation, sound_update};
use super::changesets;
use super::configuration::{self, FrozenProperties};
use super::customizations::{entries, is_on};
use super::door;
use super::engine::MAX_STORED_BYTES;
use super::errands::not_over;
use super::reading::tool_call;
use super::timestamp::is_iso;

/// The maximum number of queued messages of a chat.
const MAX_QUEUE: usize = 100;
/// The maximum number of active clients of a session.
const MAX_ACTIVE_CLIENTS: usize = 64;
/// The maximum number of plugins that a client may publish in a session.
const MAX_PLUGINS: usize = 64;

/// A precondition of a client action.
pub(super) struct ActionRule {
    /// The type of the action.
    pub(super) action: &'static str,
    /// Checks the precondition; the error is a reason for a person.
    pub(super) check: fn(&RuleFacts<'_>) -> Result<(), String>,
    /// The requirement that demands the rule, or the name of a limit of this host.
    pub(super) source: &'static str,
}

const fn rule(
    action: &'static str,
    check: fn(&RuleFacts<'_>) -> Result<(), String>,
    source: &'static str,
) -> ActionRule {
    ActionRule { action, check, source }
}

/// All preconditions, except the preconditions that the reducers check. An action that is a no-op for the
/// reducers (no active turn, another turn, an unknown call, a wrong status, an unknown request, message, turn)
/// is rejected with the reducers' reason. These rejections cover the other rules on confirmations,
/// cancellations, resumes, truncations, answers and pending messages.
pub(super) const RULES: &[ActionRule] = &[
    rule("chat/turnStarted", session_ready, "chat.turn.ready-gate"),
    rule("chat/turnStarted", no_turn, "dispatch.chat.turnStarted.while-active"),
    rule("chat/turnStarted", new_turn_id, "dispatch.chat.turnStarted.duplicate-id-history"),
    rule("chat/turnStarted", user_message, "dispatch.chat.turnStarted.non-user"),
    rule("chat/turnStarted", iso_start, "dispatch.chat.turnStarted.bad-timestamp"),
    rule("chat/turnStarted", queued_exists, "dispatch.chat.turnStarted.client-queuedMessageId"),
    rule("chat/turnStarted", full_chat, "dispatch.chat.turnStarted.readonly-chat"),
    rule("chat/turnStarted", attachments, "chat.attachment.chat.unknown-chat"),
    rule("chat/turnStarted", room, "security.bounds"),
    rule("chat/turnResume", session_ready, "chat.turn.ready-gate"),
    rule("chat/pendingMessageSet", user_message, "dispatch.chat.pendingMessageSet.non-user"),
    rule("chat/pendingMessageSet", full_chat, "dispatch.chat.turnStarted.readonly-chat"),
    rule("chat/pendingMessageSet", queue_room, "security.bounds"),
    rule("chat/draftChanged", user_draft, "dispatch.chat.draftChanged.non-user"),
    rule("chat/toolCallConfirmed", known_option, "dispatch.chat.toolCallConfirmed.bad-option"),
    rule("chat/toolCallConfirmed", editable, "dispatch.chat.toolCallConfirmed.edited-not-editable"),
    rule("chat/toolCallComplete", owner, "dispatch.chat.toolCallComplete.non-owner"),
    rule(
        "chat/toolCallComplete",
        confirmed_first,
        "dispatch.chat.toolCallComplete.pending-confirmation",
    ),
    rule("chat/toolCallContentChanged", owner, "dispatch.chat.toolCallContentChanged.non-owner"),
    rule("chat/inputAnswerChanged", fitting_answer, "dispatch.chat.inputAnswerChanged.bad-value"),
    rule("chat/inputCompleted", complete_answers, "dispatch.chat.inputCompleted.required-missing"),
    rule(
        "chat/workingDirectorySet",
        several_directories,
        "dispatch.chat.workingDirectory.no-capability",
    ),
    rule(
        "chat/workingDirectoryRemoved",
        several_directories,
        "dispatch.chat.workingDirectory.no-capability",
    ),
    rule(
        "chat/workingDirectorySet",
        session_directory,
        "dispatch.chat.workingDirectorySet.outside-session",
    ),
    rule("session/activeClientSet", own_entry, "dispatch.session.activeClientSet.other-client"),
    rule("session/activeClientSet", client_room, "security.bounds"),
    rule(
        "session/activeClientRemoved",
        own_removal,
        "dispatch.session.activeClientRemoved.other-client",
    ),
    rule("session/configChanged", session_config, "dispatch.session.configChanged.immutable"),
    rule(
        "session/workingDirectoryReplaced",
        not_primary,
        "dispatch.session.workingDirectoryReplaced.primary-no-capability",
    ),
    rule(
        "session/workingDirectoryReplaced",
        in_the_area,
        "dispatch.session.workingDirectoryReplaced.validate",
    ),
    rule(
        "session/workingDirectoryRemoved",
        not_the_primary_alone,
        "dispatch.session.workingDirectoryRemoved.primary",
    ),
    rule("session/activeClientSet", plugin_room, "security.bounds"),
    rule("session/mcpServerStartRequested", turned_on, "session.customizations.toggle"),
    rule("root/configChanged", root_config, "dispatch.root.configchanged-readonly"),
    rule("root/configChanged", door::guarded_setting, "dispatch.root.config-privilege"),
    rule("automation/createRequested", new_automation, "automation.create.scheme"),
    rule("automation/updateRequested", sound_update, "automation.update.unknown"),
    rule("automationRun/cancelRequested", not_over, "automation.run.cancel"),
    rule("terminal/claimed", own_claim, "dispatch.terminal.claimed.non-holder"),
    rule("terminal/claimed", new_holder, "dispatch.terminal.claimed.for-other"),
    rule("terminal/input", own_claim, "dispatch.terminal.input.non-holder"),
    rule("terminal/input", running, "dispatch.terminal.exited"),
    rule(
        "changeset/filesReviewChanged",
        changesets::reviewable,
        "dispatch.changeset.filesReviewChanged.no-capability",
    ),
    rule("annotations/set", notes::has_entries, "dispatch.annotations.set.empty-entries"),
    rule("annotations/set", notes::entries_differ, "annotations.entry-upsert"),
    rule("annotations/set", notes::begins_unresolved, "annotations.new-unresolved"),
    rule("annotations/set", notes::annotation_room, "security.bounds"),
    rule("annotations/updated", notes::stored, "security.bounds"),
    rule("annotations/entrySet", notes::entry_room, "security.bounds"),
    rule("annotations/entryRemoved", notes::not_the_last, "dispatch.annotations.entryRemoved.last"),
];

/// The requirements that the reducers enforce: the action, the reason for the no-op, the requirement.
const UNMET: &[(&str, NoOp, &str)] = &[
    (
        "chat/toolCallConfirmed",
        NoOp::NoActiveTurn,
        "dispatch.chat.toolCallConfirmed.no-active-turn",
    ),
    ("chat/toolCallConfirmed", NoOp::WrongTurn, "dispatch.chat.toolCallConfirmed.wrong-turn"),
    (
        "chat/toolCallConfirmed",
        NoOp::UnknownToolCall,
        "dispatch.chat.toolCallConfirmed.unknown-call",
    ),
    ("chat/toolCallConfirmed", NoOp::WrongStatus, "dispatch.chat.toolCallConfirmed.not-pending"),
    ("chat/turnCancelled", NoOp::NoActiveTurn, "dispatch.chat.turnCancelled.no-active"),
    ("chat/turnCancelled", NoOp::WrongTurn, "dispatch.chat.turnCancelled.wrong-turn"),
    ("chat/turnResume", NoOp::TurnActive, "dispatch.chat.turnResume.active-turn"),
    ("chat/turnResume", NoOp::UnknownTurn, "dispatch.chat.turnResume.not-latest"),
    ("chat/turnResume", NoOp::NotResumable, "dispatch.chat.turnResume.not-resumable"),
    ("chat/truncated", NoOp::UnknownTurn, "dispatch.chat.truncated.unknown-turn"),
    (
        "chat/pendingMessageRemoved",
        NoOp::UnknownMessage,
        "dispatch.chat.pendingMessageRemoved.unknown",
    ),
    (
        "session/customizationToggled",
        NoOp::UnknownCustomization,
        "dispatch.session.customizationToggled.unknown",
    ),
];

/// The requirements that the reducers enforce regardless of the reason for the no-op, by the prefix of the action type.
const UNMET_ANYHOW: &[(&str, &str)] = &[
    ("chat/toolCallResultConfirmed", "dispatch.chat.toolCallResultConfirmed.not-pending"),
    ("chat/toolCallComplete", "dispatch.chat.toolCallComplete.not-running"),
    ("chat/toolCallContentChanged", "dispatch.chat.toolCallContentChanged.not-running"),
    ("chat/inputAnswerChanged", "dispatch.chat.inputAnswerChanged.unknown"),
    ("chat/inputCompleted", "dispatch.chat.inputCompleted.unknown"),
    ("session/mcpServer", "dispatch.session.mcpServer.unknown"),
    ("annotations/", "dispatch.annotations.unknown-id"),
];

/// Returns the requirement that a no-op action breaks; an empty string if there is none.
pub(super) fn unmet(action: &str, why: NoOp) -> &'static str {
    let exact = UNMET.iter().find(|(name, reason, _)| *name == action && *reason == why);
    let anyhow = || UNMET_ANYHOW.iter().find(|(name, _)| action.starts_with(name));
    exact.map(|row| row.2).or_else(|| anyhow().map(|row| row.1)).unwrap_or("")
}

impl RuleFacts<'_> {
    /// Returns the state of the session to which the chat belongs.
    fn session(&self) -> &Value {
        self.host.state(self.host.chats.session_of(self.uri).unwrap_or_default())
    }

    /// Returns the tool call that the action names; null if there is none.
    fn call(&self) -> &Value {
        tool_call(self.state, self.action["toolCallId"].as_str().unwrap_or(""))
    }

    /// Returns the open input request that the action names; null if there is none.
    fn request(&self) -> &Value {
        let parts = self.state["activeTurn"]["responseParts"].as_array();
        let wanted = &self.action["requestId"];
        let open = |part: &&Value| &part["request"]["id"] == wanted && part["response"].is_null();
        parts.into_iter().flatten().find(open).map_or(&Value::Null, |part| &part["request"])
    }

    /// Returns the question with this id in the input request; null if there is none.
    fn question(&self, id: &str) -> &Value {
        let questions = self.request()["questions"].as_array();
        let mut questions = questions.into_iter().flatten();
        questions.find(|question| question["id"] == id).unwrap_or(&Value::Null)
    }
}

fn session_ready(facts: &RuleFacts) -> Result<(), String> {
    require(facts.session()["lifecycle"] == "ready", "the session is not ready")
}

fn no_turn(facts: &RuleFacts) -> Result<(), String> {
    require(facts.state["activeTurn"].is_null(), "a turn is active")
}

fn new_turn_id(facts: &RuleFacts) -> Result<(), String> {
    let wanted = &facts.action["turnId"];
    let turns = facts.state["turns"].as_array();
    let used = turns.into_iter().flatten().any(|turn| &turn["id"] == wanted)
        || &facts.state["activeTurn"]["id"] == wanted;
    require(!used, "the turn's id is in use")
}

fn user_message(facts: &RuleFacts) -> Result<(), String> {
    let user = facts.action["message"]["origin"]["kind"] == "user";
    require(user, "a client may only send messages of kind `user`")
}

fn user_draft(facts: &RuleFacts) -> Result<(), String> {
    let draft = &facts.action["draft"];
    let user = draft.is_null() || draft["origin"]["kind"] == "user";
    require(user, "a draft has to be of kind `user`")
}

fn iso_start(facts: &RuleFacts) -> Result<(), String> {
    let fits = facts.action["startedAt"].as_str().is_some_and(is_iso);
    require(fits, "expected an ISO 8601 timestamp at `startedAt`")
}

fn queued_exists(facts: &RuleFacts) -> Result<(), String> {
    let Some(id) = facts.action.get("queuedMessageId").filter(|id| !id.is_null()) else {
        return Ok(());
    };
    let queue = facts.state["queuedMessages"].as_array();
    let known = queue.into_iter().flatten().any(|message| &message["id"] == id);
    require(known, "no queued message has that id")
}

fn full_chat(facts: &RuleFacts) -> Result<(), String> {
    let interactivity = facts.state["interactivity"].as_str().unwrap_or("full");
    require(interactivity == "full", "the chat takes no messages")
}

fn attachments(facts: &RuleFacts) -> Result<(), String> {
    let given = facts.action["message"]["attachments"].as_array();
    for attachment in given.into_iter().flatten().filter(|given| given["type"] == "chat") {
        let uri = attachment["resource"].as_str().unwrap_or("");
        if !facts.host.chats.has(uri) {
            return Err("an attachment names a chat that does not exist".to_owned());
        }
        let turns = facts.host.state(uri)["turns"].as_array();
        let end = attachment.get("endTurn").filter(|end| !end.is_null());
        let known = |end: &Value| turns.into_iter().flatten().any(|turn| &turn["id"] == end);
        if !end.is_none_or(known) {
            return Err("an attachment ends with a turn that does not exist".to_owned());
        }
    }
    Ok(())
}

fn room(facts: &RuleFacts) -> Result<(), String> {
    require(facts.host.chats.stored(facts.uri) < MAX_STORED_BYTES, "the chat is full")
}

fn queue_room(facts: &RuleFacts) -> Result<(), String> {
    let queue = facts.state["queuedMessages"].as_array().map_or(0, Vec::len);
    require(queue < MAX_QUEUE, "the queue is full")
}

fn known_option(facts: &RuleFacts) -> Result<(), String> {
    let Some(id) = facts.action.get("selectedOptionId").filter(|id| !id.is_null()) else {
        return Ok(());
    };
    let call = facts.call();
    if call["status"] != "pending-confirmation" {
        return Ok(());
    }
    let approved = facts.action["approved"] == true;
    let options = call["options"].as_array();
    let fits = |option: &Value| match option["kind"].as_str() {
        Some("approve") => approved,
        Some("deny") => !approved,
        _ => true,
    };
    let mut options = options.into_iter().flatten();
    let option = options.find(|option| &option["id"] == id);
    require(option.is_some_and(fits), "the call does not offer that option for this decision")
}

fn editable(facts: &RuleFacts) -> Result<(), String> {
    let edited = facts.action.get("editedToolInput").is_some_and(|input| !input.is_null());
    let pending = facts.call()["status"] == "pending-confirmation";
    let may = facts.call()["editable"] == true;
    require(!edited || !pending || may, "the input of the call cannot be edited")
}

fn owner(facts: &RuleFacts) -> Result<(), String> {
    let call = facts.call();
    let own = call["contributor"]["clientId"] == facts.client;
    require(call.is_null() || own, "the call belongs to another client")
}

fn confirmed_first(facts: &RuleFacts) -> Result<(), String> {
    let pending = facts.call()["status"] == "pending-confirmation";
    require(!pending, "the call waits for its confirmation")
}

/// The kinds of answers that are valid for each kind of question.
const ANSWERS: &[(&str, &[&str])] = &[
    ("text", &["text"]),
    ("number", &["number"]),
    ("integer", &["number"]),
    ("boolean", &["boolean"]),
    ("single-select", &["selected", "text"]),
    ("multi-select", &["selected-many", "text"]),
];

fn check_answer(question: &Value, answer: &Value) -> Result<(), String> {
    if !matches!(answer["state"].as_str(), Some("draft" | "submitted")) {
        return Ok(());
    }
    let value = &answer["value"]["value"];
    let payload = match answer["value"]["kind"].as_str() {
        Some("text" | "selected") => value.is_string(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("selected-many") => value.is_array(),
        Some(_) => true,
        None => false,
    };
    require(payload, "the answer lacks its value")?;
    let kind = question["kind"].as_str().unwrap_or("");
    let row = ANSWERS.iter().find(|(question, _)| *question == kind);
    let fits = row
        .is_none_or(|(_, kinds)| kinds.contains(&answer["value"]["kind"].as_str().unwrap_or("")));
    require(fits, "the answer does not fit the question")
}

fn fitting_answer(facts: &RuleFacts) -> Result<(), String> {
    let Some(answer) = facts.action.get("answer").filter(|answer| !answer.is_null()) else {
        return Ok(());
    };
    let question = facts.question(facts.action["questionId"].as_str().unwrap_or(""));
    check_answer(question, answer)
}

fn complete_answers(facts: &RuleFacts) -> Result<(), String> {
    let request = facts.request();
    for (id, answer) in facts.action["answers"].as_object().into_iter().flatten() {
        check_answer(facts.question(id), answer)?;
    }
    if facts.action["response"] != "accept" {
        return Ok(());
    }
    let questions = request["questions"].as_array();
    let mut required =
        questions.into_iter().flatten().filter(|question| question["required"] == true);
    let submitted = |question: &Value| {
        let id = question["id"].as_str().unwrap_or("");
        let own = facts.action["answers"].get(id);
        let answer = own.or_else(|| request["answers"].get(id)).unwrap_or(&Value::Null);
        answer["state"] == "submitted"
    };
    require(required.all(submitted), "a required question has no submitted answer")
}

fn session_directory(facts: &RuleFacts) -> Result<(), String> {
    let set = facts.session()["workingDirectories"].as_array();
    let inside = set.is_some_and(|set| set.contains(&facts.action["directory"]));
    require(inside, "the directory does not belong to the session")
}

fn own_entry(facts: &RuleFacts) -> Result<(), String> {
    let own = facts.action["activeClient"]["clientId"] == facts.client;
    require(own, "a client may only register itself")
}

fn own_removal(facts: &RuleFacts) -> Result<(), String> {
    let own = facts.action["clientId"] == facts.client;
    require(own, "a client may only remove itself")
}

fn client_room(facts: &RuleFacts) -> Result<(), String> {
    let clients = facts.state["activeClients"].as_array().map_or(0, Vec::len);
    require(clients < MAX_ACTIVE_CLIENTS, "too many active clients")
}

fn plugin_room(facts: &RuleFacts) -> Result<(), String> {
    let plugins = facts.action["activeClient"]["customizations"].as_array().map_or(0, Vec::len);
    require(plugins <= MAX_PLUGINS, "too many customizations")
}

fn turned_on(facts: &RuleFacts) -> Result<(), String> {
    let mut all = entries(facts.state);
    let meant = all.find(|(_, it)| it["id"] == facts.action["id"]);
    let on = meant.is_none_or(|(container, it)| is_on(container, it));
    require(on, "the server is turned off")
}

fn session_config(facts: &RuleFacts) -> Result<(), String> {
    configuration::check_change(facts.state, facts.action, FrozenProperties::NotMutable)
}

fn root_config(facts: &RuleFacts) -> Result<(), String> {
    configuration::check_change(facts.state, facts.action, FrozenProperties::ReadOnly)
}

fn own_claim(facts: &RuleFacts) -> Result<(), String> {
    let claim = &facts.state["claim"];
    let own = claim["kind"] != "client" || claim["clientId"] == facts.client;
    require(own, "another client holds the terminal")
}

fn new_holder(facts: &RuleFacts) -> Result<(), String> {
    require(
        facts.host.can_hold(&facts.action["claim"]),
        "the claim names no existing client or session",
    )
}

fn running(facts: &RuleFacts) -> Result<(), String> {
    let exited = facts.state["lifecycle"]["status"] == "exited";
    require(!exited, "the terminal's process has exited")
}

fn is_primary(facts: &RuleFacts) -> bool {
    facts.state["workingDirectories"][0] == facts.action["directory"]
}

/// Returns what the agent of a session declares about working directories; null if it declares nothing.
fn directories_of<'a>(facts: &'a RuleFacts, session: &Value) -> &'a Value {
    let agents = facts.host.state(ROOT)["agents"].as_array().into_iter().flatten();
    let mut own = agents.filter(|agent| agent["provider"] == session["provider"]);
    own.next().map_or(&Value::Null, |it| &it["capabilities"]["multipleWorkingDirectories"])
}

/// Returns whether the session's agent can replace its primary working directory.
fn replaces_primary(facts: &RuleFacts) -> bool {
    directories_of(facts, facts.state)["primaryReplacement"] == true
}

/// Checks that the session's agent works in several directories.
pub(super) fn several_directories(facts: &RuleFacts) -> Result<(), String> {
    let may = directories_of(facts, facts.session()).is_object();
    require(may, "the agent works in one directory only")
}

fn not_primary(facts: &RuleFacts) -> Result<(), String> {
    let may = !is_primary(facts) || replaces_primary(facts);
    require(may, "the primary directory cannot be replaced")
}

/// Checks that the action does not remove the primary directory without a replacement, if the agent supports a
/// replacement.
fn not_the_primary_alone(facts: &RuleFacts) -> Result<(), String> {
    let bare = is_primary(facts) && replaces_primary(facts);
    require(!bare, "the primary directory is replaced, not removed")
}

/// Checks that the replacement is in the clients' folders, where the directory exists or the host can create it.
fn in_the_area(facts: &RuleFacts) -> Result<(), String> {
    let open = facts.host.is_in_area(&facts.action["replacement"]);
    require(open, "there is no such directory")
}

#[cfg(test)]
mod tests {
    use super::RULES;
    use crate::wire::protocol::{DispatchRight, Protocol};

    #[test]
    fn rows_are_about_actions_that_clients_may_send() {
        let protocol = Protocol::newest();
        for rule in RULES {
            let row = protocol.action(rule.action).unwrap();
            assert_eq!(row.dispatch, DispatchRight::Client, "{}", rule.action);
            assert!(rule.source.contains('.'), "{}", rule.source);
        }
    }
}
