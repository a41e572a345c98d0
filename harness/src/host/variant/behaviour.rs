//! Variants in the behaviour of the host and of its agent: unsolicited actions, the division of messages into deltas,
//! and input requests.
//!
//! Knows: the hooks of the host, steps of the agent. Never knows: messages.

use std::time::Duration;

use crate::agent::script::{ScriptStep, ToolStep};
use crate::host::agent::HostAgentOp;
use crate::host::engine::RefHost;
use crate::host::generic::{
    ActsAfterApplying, ActsAfterRestart, AltersAction, AnswersRequests, ChangesAgentSteps,
    ChangesFirstState, ChangesMessageForAgent, ChangesToolCalls, LiftsRules,
};
use crate::host::injected::{ActionStage, AgentStep, HostHooks};
use crate::host::reading::action_type;
use crate::host::sessions::FIRST_TITLE;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::row::{VariantRow, behaviour, offering_less, since};

/// Sets the `activity` of a chat at the start of each turn, and removes the activity at the end of the turn.
struct OwnActivity;

impl HostHooks for OwnActivity {
    fn acted(&self, host: &mut RefHost, uri: &str, action: &mut Value, stage: ActionStage) {
        let activity = match (action_type(action), stage) {
            ("chat/turnStarted", ActionStage::Accepted | ActionStage::Published) => "Thinking",
            ("chat/turnComplete" | "chat/error", ActionStage::Published)
            | ("chat/turnCancelled", ActionStage::Accepted | ActionStage::Published) => "",
            _ => return,
        };
        let mut said = json!({"type": "chat/activityChanged"});
        if !activity.is_empty() {
            said["activity"] = json!(activity);
        }
        host.publish(uri, said);
    }
}

/// Returns the kind of part that a step of a script adds, and the chunks of the part's text; `None` for other steps.
fn text_of(op: &HostAgentOp) -> Option<(&'static str, &[String])> {
    match op {
        HostAgentOp::Step(ScriptStep::Say(texts)) => Some(("markdown", texts)),
        HostAgentOp::Step(ScriptStep::Think(texts)) => Some(("reasoning", texts)),
        _ => None,
    }
}

fn in_one_delta(host: &mut RefHost, step: &AgentStep, op: &HostAgentOp) -> bool {
    let Some((kind, texts)) = text_of(op) else { return true };
    host.stream_part(step.uri, step.index, kind, vec![texts.concat()]);
    false
}

fn without_deltas(host: &mut RefHost, step: &AgentStep, op: &HostAgentOp) -> bool {
    let Some((kind, texts)) = text_of(op) else { return true };
    let part = json!({"kind": kind, "id": host.fresh_id("part"), "content": texts.concat()});
    host.say(step.uri, json!({"type": "chat/responsePart", "turnId": step.turn, "part": part}));
    false
}

fn first_piece_in_the_part(host: &mut RefHost, step: &AgentStep, op: &HostAgentOp) -> bool {
    let Some((kind, [first, rest @ ..])) = text_of(op) else { return true };
    let id = host.fresh_id("part");
    let part = json!({"kind": kind, "id": id, "content": first});
    host.say(step.uri, json!({"type": "chat/responsePart", "turnId": step.turn, "part": part}));
    let append = |text: &String| HostAgentOp::Append { part: id.clone(), kind, text: text.clone() };
    host.runs.queue(step.uri, step.index, rest.iter().map(append));
    false
}

/// Sends an empty delta before each delta of a message.
fn empty_delta_first(host: &mut RefHost, step: &AgentStep, op: &HostAgentOp) -> bool {
    if let HostAgentOp::Append { part, kind: "markdown", .. } = op {
        let action =
            json!({"type": "chat/delta", "turnId": step.turn, "partId": part, "content": ""});
        host.say(step.uri, action);
    }
    true
}

fn fails_at_once(host: &mut RefHost, step: &AgentStep, op: &HostAgentOp) -> bool {
    if step.index == 0 && matches!(op, HostAgentOp::Step(_)) {
        host.fail_turn(step.uri, step.turn, "model-unreachable", false);
        return false;
    }
    true
}

/// The time by which each step of a slow agent is delayed.
const SLOW_STEP: Duration = Duration::from_millis(600);

fn slowly(host: &mut RefHost, step: &AgentStep, op: &HostAgentOp) -> bool {
    if matches!(op, HostAgentOp::Step(_)) {
        host.delay(step.uri, step.index, SLOW_STEP);
    }
    true
}

fn title_after_the_first_turn(host: &mut RefHost, chat: &str) {
    let Some(session) = host.chats.session_of(chat).map(str::to_owned) else { return };
    if host.state(&session)["title"] == FIRST_TITLE {
        host.publish(&session, json!({"type": "session/titleChanged", "title": "A first talk"}));
    }
}

fn give_new_ids_to_turns(chat: &mut Value) {
    if chat["origin"]["kind"] != "fork" {
        return;
    }
    let own = chat["resource"].as_str().unwrap_or_default().to_owned();
    let turns = chat.get_mut("turns").and_then(Value::as_array_mut);
    for (place, turn) in turns.into_iter().flatten().enumerate() {
        turn["id"] = json!(format!("copied-{place}-{own}"));
    }
}

fn ask(call: &mut ToolStep) {
    call.confirm = true;
}

const AGENT: &str = "docs/specification/chat-channel.md › Active chat";
const STREAMING: &str = "docs/specification/chat-channel.md › Streaming";
const APPROVAL: &str = "docs/specification/chat-channel.md › Tool calls";
const WORK: &str = "What an agent does with a message is not specified.";
const PIECES: &str = "How text is divided into a part and its deltas is not specified.";
const RULES: &str = "When a tool needs the user's approval is not specified.";

/// The variants of the agent's answers and questions, and of unsolicited actions of the host.
pub(super) const ROWS: &[VariantRow] = &[
    behaviour(
        "keeps-no-sessions",
        "After a restart there are no sessions, no client is known, and `serverSeq` begins at 0.",
        "Which sessions outlive the host's process is not specified.",
        "docs/specification/lifecycle.md › Unexpected Disconnection",
        &ActsAfterRestart(|host| {
            host.forget_sessions();
            host.clients.forget();
            host.begin_numbers_anew();
        }),
    ),
    behaviour(
        "keeps-no-automations",
        "After a restart there are no automations.",
        "The guide says, but not with MUST or SHOULD, that definitions outlive the host's process.",
        "docs/guide/automations.md › (intro)",
        &ActsAfterRestart(RefHost::forget_automations),
    ),
    behaviour(
        "turn-ids-of-each-start",
        "After a restart turns have other ids, and a denied call is shown as a failed call.",
        "What outlives the host's process, and in which form, is not specified.",
        "docs/specification/lifecycle.md › Unexpected Disconnection",
        &ActsAfterRestart(|host| host.change_states(store_history)),
    ),
    behaviour(
        "watches-named-by-content",
        "The URI of a watch contains its parameters: equal watches share one URI, and a released watch starts again \
         when a client subscribes to it.",
        "The form of the URI is the host's choice.",
        "docs/specification/resource-watch-channel.md › Lifecycle",
        &AnswersRequests(&["createResourceWatch", "subscribe"], |host, call| {
            if call.channel() == ROOT && call.params["uri"].is_string() {
                return Some(host.create_named_watch(call));
            }
            host.renew_watch(call);
            None
        }),
    ),
    offering_less(behaviour(
        "plays-no-scripts",
        "The agent echoes the message, with a bar in front of each line.",
        WORK,
        AGENT,
        &ChangesMessageForAgent(|_, message| {
            let text = message["text"].as_str().unwrap_or_default();
            let quoted: Vec<String> = text.lines().map(|line| format!("| {line}")).collect();
            message["text"] = json!(quoted.join("\n"));
        }),
    )),
    offering_less(behaviour(
        "every-turn-fails",
        "The agent's model is unreachable, and each turn ends with an error.",
        "An agent may fail; the turn ends with `chat/error`.",
        AGENT,
        &ChangesAgentSteps(fails_at_once),
    )),
    behaviour(
        "slow-agent",
        "After each step the agent pauses for 600 milliseconds.",
        "How long a turn takes is not specified.",
        AGENT,
        &ChangesAgentSteps(slowly),
    ),
    behaviour(
        "text-in-one-delta",
        "Each text part of the agent is sent in one delta.",
        PIECES,
        STREAMING,
        &ChangesAgentSteps(in_one_delta),
    ),
    behaviour(
        "text-without-deltas",
        "Each part comes with its whole text, without deltas.",
        PIECES,
        STREAMING,
        &ChangesAgentSteps(without_deltas),
    ),
    behaviour(
        "first-piece-in-the-part",
        "Each part begins with the first piece of its text; deltas add the other pieces.",
        PIECES,
        STREAMING,
        &ChangesAgentSteps(first_piece_in_the_part),
    ),
    behaviour(
        "empty-deltas",
        "An empty delta precedes each text delta.",
        PIECES,
        STREAMING,
        &ChangesAgentSteps(empty_delta_first),
    ),
    offering_less(behaviour(
        "reasoning-is-not-shown",
        "The agent's reasoning is not sent.",
        "Which response parts a turn has is not specified.",
        STREAMING,
        &ChangesAgentSteps(|_, _, op| !matches!(op, HostAgentOp::Step(ScriptStep::Think(_)))),
    )),
    offering_less(behaviour(
        "needs-no-approval",
        "Every tool is approved by a rule of the host; the user is not asked.",
        RULES,
        APPROVAL,
        &ChangesToolCalls(|call| {
            call.confirm = false;
            call.reconfirm = false;
        }),
    )),
    offering_less(behaviour(
        "asks-about-every-tool",
        "The user is asked before each tool runs.",
        RULES,
        APPROVAL,
        &ChangesToolCalls(ask),
    )),
    offering_less(behaviour(
        "asks-about-every-result",
        "The user is asked before the agent sees the result of a tool.",
        RULES,
        APPROVAL,
        &ChangesToolCalls(|call| call.confirm_result = true),
    )),
    offering_less(behaviour(
        "asks-twice",
        "The user is asked a second time while a tool runs.",
        RULES,
        APPROVAL,
        &ChangesToolCalls(|call| call.reconfirm = true),
    )),
    offering_less(behaviour(
        "steering-waits",
        "A steering message stays pending while a turn runs.",
        "During a turn the host may consume the steering message.",
        "docs/specification/chat-channel.md › Pending Message Consumption",
        &LiftsRules(&["chat.steering.consume"]),
    )),
    behaviour(
        "titles-of-its-own",
        "After the first turn the host gives the session a title, if no client did.",
        "`session/titleChanged` is an action of clients and of the host.",
        "docs/specification/session-channel.md",
        &ActsAfterApplying(ActionStage::Published, "chat/turnComplete", |host, chat, _| {
            title_after_the_first_turn(host, chat);
        }),
    ),
    since(
        Version::V0_5,
        behaviour(
            "activities-of-its-own",
            "The chat of a turn has an activity until the turn ends.",
            "When a host says what a chat is doing is not specified.",
            "docs/specification/chat-channel.md › State",
            &OwnActivity,
        ),
    ),
    behaviour(
        "usage-of-every-turn",
        "Token counts are sent before each turn is complete.",
        "When a host sends `chat/usage` is not specified.",
        STREAMING,
        &AltersAction("chat/turnComplete", |host, chat, action| {
            let usage = json!({"inputTokens": 17, "outputTokens": 4});
            let turn = &action["turnId"];
            host.publish(chat, json!({"type": "chat/usage", "turnId": turn, "usage": usage}));
            true
        }),
    ),
    behaviour(
        "agents-announced-again",
        "After each turn the list of agents is sent again, unchanged.",
        "`root/agentsChanged` replaces the list; when it is sent is not specified.",
        "docs/specification/root-channel.md",
        &ActsAfterApplying(ActionStage::Published, "chat/turnComplete", |host, _, _| {
            let agents = host.state(ROOT)["agents"].clone();
            host.publish(ROOT, json!({"type": "root/agentsChanged", "agents": agents}));
        }),
    ),
    since(
        Version::V0_4,
        behaviour(
            "forks-with-new-turn-ids",
            "The turns of a forked chat have new ids.",
            "Whether a fork takes over the ids of the turns is not specified.",
            "docs/specification/chat-channel.md › Creation",
            &ChangesFirstState(ChannelKind::Chat, give_new_ids_to_turns),
        ),
    ),
];

/// Changes a history as if the host's storage assigned its own ids and could not store denials.
fn store_history(state: &mut Value) {
    let turns = state.get_mut("turns").and_then(Value::as_array_mut).into_iter().flatten();
    for turn in turns {
        let id = turn["id"].as_str().unwrap_or_default();
        turn["id"] = json!(format!("stored-{id}"));
        let parts = turn.get_mut("responseParts").and_then(Value::as_array_mut);
        for call in parts.into_iter().flatten().filter_map(|part| part.get_mut("toolCall")) {
            if call["status"] == "cancelled"
                && let Some(call) = call.as_object_mut()
            {
                call.remove("reason");
                call.insert("status", json!("completed"));
                call.insert("confirmed", json!("not-needed"));
                call.insert("success", json!(false));
                call.insert("pastTenseMessage", json!("Was denied"));
            }
        }
    }
}
