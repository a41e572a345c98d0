//! Compares the two sides of a host: the states and decisions that its clients see, and the traffic between the host's
//! agent and the host or a model.
//!
//! "Above" means the side of the clients, and "below" means the side of the agent. A turn above and a conversation
//! below belong together if the prompt contains the message of the turn. Tool calls are matched in order by the longest
//! string in their input, because hosts assign their own ids.
//!
//! The two sides use different sockets, which have no common order. Therefore no finding depends on the order of two
//! lines, with one exception: that a tool ran before a client of the harness sent its decision.
//!
//! Knows: folded chats, facts of conversations. Never knows: ACP, models.
//!
//! Start at [`TranslationChecks`].

use std::collections::HashSet;
use std::time::Duration;

use litemap::LiteMap;

use crate::transcript::BelowEvent;
use crate::verdict::Weight;
use crate::wire::json::Value;

use crate::oracle::below::{BelowReading, ConversationFact};
use crate::oracle::catalogue::{CheckRule as _, Rule};
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, text};
use crate::oracle::step::{ActionFolding, OracleStep};

/// Upper bound for the turns and conversations that are remembered. Further turns and conversations are not judged.
const MAX_TURNS: usize = 4_096;
/// Upper bound for the turns that are kept until their prompt is seen.
const MAX_WAITING: usize = 256;
/// Upper bound for the prompts that are kept until their turn is seen.
const MAX_EARLY: usize = 32;
/// Upper bound for the calls of a turn, on each side.
const MAX_CALLS: usize = 1_000;
/// Upper bound in bytes for a prompt, and for the answer to a prompt. Longer strings are not compared.
const MAX_TEXT: usize = 1 << 20;
/// Upper bound in bytes for all strings that are not judged yet. Further strings are not compared.
const MAX_TEXTS: usize = 64 << 20;
/// The maximum number of characters of a quoted string in a message; the rest is cut off.
const SHOWN: usize = 60;
/// The time that a cancel may take to reach the agent. The specification states no limit.
const PATIENCE: Duration = Duration::from_secs(5);

/// The turns that clients see and the conversations of the agent, as far as the transcript shows them.
#[derive(Default)]
pub(super) struct TranslationChecks {
    reading: BelowReading,
    /// The latest turn of each chat.
    turns: LiteMap<ChannelId, ClientTurn>,
    talks: LiteMap<String, AgentTalk>,
    /// The chats whose turn has no conversation yet. `early` contains the conversations without a turn.
    waiting: Vec<ChannelId>,
    early: Vec<String>,
    /// The number of bytes of text that are kept.
    bytes: usize,
    /// The chats whose turn was cancelled and whose agent is not yet known to have received the cancel.
    cancelled: Vec<ChannelId>,
}

/// A turn as the clients see it.
#[derive(Default)]
struct ClientTurn {
    text: String,
    line: u64,
    talk: Option<String>,
    calls: Vec<CallAbove>,
    cancelled: Option<(Duration, u64)>,
    over: Option<TurnEnd>,
    judged: bool,
}

/// The way in which a turn ended.
enum TurnEnd {
    /// The turn completed. `said` is its text; `None` if the state does not contain the whole text.
    Complete { said: Option<String>, outputs: Vec<CallOutput>, line: u64 },
    /// The turn ended early, so missing parts prove nothing.
    Short,
}

/// The output of a call that succeeded, as the clients see it.
struct CallOutput {
    id: String,
    /// The strings in the result of the call; `None` if the result has content other than strings.
    text: Option<String>,
}

/// A tool call as the clients see it.
#[derive(Default)]
struct CallAbove {
    id: String,
    /// The input as a string; `None` if it is not a string.
    input: Option<String>,
    line: u64,
    asked: bool,
    denied: Option<u64>,
    approved: bool,
    /// The line at which a client of the harness approved the call.
    sent: Option<u64>,
}

/// A conversation with the agent, as the traffic below the host shows it.
#[derive(Default)]
struct AgentTalk {
    /// Whether the conversation is with the model stand-in. An agent may change the output of a model.
    model: bool,
    chat: Option<ChannelId>,
    prompt: String,
    calls: Vec<CallBelow>,
    /// The strings that the agent sent before, between and after its tool calls.
    texts: Vec<String>,
    bytes: usize,
    /// Whether all strings of the conversation are kept, so that they can be compared.
    whole: bool,
    /// For each round of tool calls, the numbers of calls and of strings in the conversation before the round.
    rounds: LiteMap<u64, (usize, usize)>,
    ended: bool,
    stopped: Option<u64>,
}

/// A tool call as the agent reports it.
struct CallBelow {
    id: String,
    leaf: String,
    line: u64,
    /// The line that shows that the call was permitted, or that it has run.
    ran: Option<u64>,
    /// The mark in the output, and the line that shows it.
    mark: Option<(String, u64)>,
}

impl CheckFamily for TranslationChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        if !self.cancelled.is_empty() {
            self.look_for_cancels(cx, out);
        }
        match step {
            OracleStep::Below { way, seen } => {
                if let Some(message) = seen.message() {
                    if *way == BelowEvent::Model {
                        offered(cx, message.value(), out);
                    }
                    for (talk, fact) in self.reading.facts(cx.now.conn, *way, message) {
                        self.below(cx, *way, &talk, fact, out);
                    }
                }
            }
            OracleStep::Dispatched { seen, channel, .. } => {
                let action = seen.message().and_then(|message| message.params().get("action"));
                self.approving(cx, *channel, action.unwrap_or(&Value::Null));
            }
            OracleStep::Folding(folding) => self.above(cx, folding, out),
            OracleStep::Restarted | OracleStep::Gap => *self = TranslationChecks::default(),
            _ => {}
        }
    }

    fn finish(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        self.look_for_cancels(cx, out);
        let chats: Vec<ChannelId> = self.turns.keys().copied().collect();
        chats.into_iter().for_each(|chat| self.judge(cx, chat, out));
    }
}

/// Judges the names of the tools that the agent offers to a model. Invariant N6.
fn offered(cx: &OracleContext, record: &Value, out: &mut FindingSink) {
    let tools = list(record, "tools");
    if tools.is_empty() {
        return;
    }
    out.seen(Rule::ToolsUnique);
    let mut known = HashSet::new();
    let twice = tools.iter().filter_map(Value::as_str).find(|name| !known.insert(*name));
    if let Some(name) = twice {
        let message = format!(
            "expected the tools that the model is offered to have different names, found `{name}` \
             twice"
        );
        out.broken(Rule::ToolsUnique, message, &[cx.now.line]);
    }
}

impl TranslationChecks {
    // The following methods read the side of the clients, above the host.

    fn above(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let (chat, action, line) = (folding.channel, folding.envelope.action, folding.line);
        let call = text(action, "toolCallId");
        match (folding.envelope.name, call) {
            ("turnStarted", _) => {
                self.judge(cx, chat, out);
                self.start(chat, action, line);
            }
            ("toolCallStart", Some(call)) => {
                let turn = self.turns.get_mut(&chat);
                if let Some(turn) = turn.filter(|turn| turn.calls.len() < MAX_CALLS) {
                    let (id, input) = (call.to_owned(), Some(String::new()));
                    turn.calls.push(CallAbove { id, input, line, ..CallAbove::default() });
                }
            }
            ("toolCallDelta", Some(call)) => {
                let more = text(action, "content").unwrap_or_default();
                if let Some(CallAbove { input: Some(input), .. }) = self.call(chat, call)
                    && input.len() + more.len() < MAX_TEXT
                {
                    input.push_str(more);
                }
            }
            ("toolCallReady", Some(call)) => {
                if let Some(above) = self.call(chat, call) {
                    above.asked |= action.get("confirmed").is_none_or(Value::is_null);
                    if let Some(input) = action.get("toolInput") {
                        above.input = input.as_str().map(str::to_owned);
                    }
                }
            }
            ("toolCallConfirmed", Some(call)) => {
                let approved = action.get("approved").and_then(Value::as_bool);
                if let Some(above) = self.call(chat, call) {
                    match approved {
                        Some(false) => drop(above.denied.get_or_insert(line)),
                        _ => above.approved = true,
                    }
                }
            }
            ("turnCancelled", _) => {
                self.over(cx, chat, TurnEnd::Short, out);
                let turn = self.turns.get_mut(&chat);
                if let Some(turn) = turn.filter(|turn| turn.talk.is_some()) {
                    turn.cancelled = Some((cx.now.at, line));
                    self.cancelled.push(chat);
                    self.look_for_cancels(cx, out);
                }
            }
            ("error", _) => self.over(cx, chat, TurnEnd::Short, out),
            ("turnComplete", _) => self.over(cx, chat, complete(cx, folding), out),
            _ => {}
        }
    }

    fn call(&mut self, chat: ChannelId, call: &str) -> Option<&mut CallAbove> {
        self.turns.get_mut(&chat)?.calls.iter_mut().rev().find(|above| above.id == call)
    }

    fn start(&mut self, chat: ChannelId, action: &Value, line: u64) {
        self.waiting.retain(|other| *other != chat);
        self.cancelled.retain(|other| *other != chat);
        let message = action.get("message").or_else(|| action.get("userMessage"));
        let said = message.and_then(|message| text(message, "text")).unwrap_or_default();
        let room = self.turns.len() < MAX_TURNS || self.turns.contains_key(&chat);
        if said.is_empty() || !room {
            self.turns.remove(&chat);
            return;
        }
        self.turns
            .insert(chat, ClientTurn { text: said.to_owned(), line, ..ClientTurn::default() });
        // The prompt may have arrived before its turn.
        let fits = |talk: &AgentTalk| talk.chat.is_none() && talk.prompt.contains(said);
        match self.early.iter().position(|key| self.talks.get(key).is_some_and(fits)) {
            Some(at) => {
                let key = self.early.swap_remove(at);
                self.join(&key, chat);
            }
            None if self.waiting.len() < MAX_WAITING => self.waiting.push(chat),
            None => {}
        }
    }

    fn approving(&mut self, cx: &OracleContext, chat: ChannelId, action: &Value) {
        let confirms = text(action, "type").is_some_and(|it| it.ends_with("/toolCallConfirmed"));
        let approves = action.get("approved").and_then(Value::as_bool) == Some(true);
        let call = text(action, "toolCallId").filter(|_| confirms && approves);
        if let Some(above) = call.and_then(|call| self.call(chat, call)) {
            above.sent.get_or_insert(cx.now.line);
        }
    }

    fn over(&mut self, cx: &OracleContext, chat: ChannelId, over: TurnEnd, out: &mut FindingSink) {
        if let Some(turn) = self.turns.get_mut(&chat) {
            turn.over = Some(over);
        }
        self.judge_ended(cx, chat, out);
    }

    // The following methods read the side of the agent, below the host.

    fn below(
        &mut self,
        cx: &OracleContext,
        way: BelowEvent,
        key: &str,
        fact: ConversationFact,
        out: &mut FindingSink,
    ) {
        let line = cx.now.line;
        if let ConversationFact::Prompted(prompt) = fact {
            return self.prompted(way, key, prompt);
        }
        let Some(talk) = self.talks.get_mut(key) else {
            return;
        };
        match fact {
            ConversationFact::Prompted(_) => {}
            ConversationFact::Round(round) => talk.round(round),
            ConversationFact::Text(said) => {
                let room = self.bytes + said.len() <= MAX_TEXTS;
                self.bytes += talk.said(&said, room);
            }
            ConversationFact::Called { id, leaf } => talk.called(id, leaf, line),
            ConversationFact::Answered { id, allowed: true } => talk.shows(&id, line),
            ConversationFact::Ran { id, mark } => {
                talk.shows(&id, line);
                let call = talk.calls.iter_mut().find(|call| call.id == id);
                if let (Some(call), Some(mark)) = (call, mark) {
                    call.mark = Some((mark, line));
                }
            }
            ConversationFact::Answered { .. } => {}
            ConversationFact::Cancelled => talk.stopped = Some(line),
            ConversationFact::Ended => talk.ended = true,
        }
        let chat = talk.chat.filter(|_| talk.ended || talk.stopped.is_some());
        if let Some(chat) = chat {
            self.judge_ended(cx, chat, out);
        }
    }

    fn prompted(&mut self, way: BelowEvent, key: &str, prompt: String) {
        let room = self.talks.len() < MAX_TURNS || self.talks.contains_key(key);
        if !room || prompt.len() > MAX_TEXT {
            return;
        }
        let known = self.talks.entry(key.to_owned()).or_default();
        let own = known.chat;
        // The agent may be prompted several times within one turn.
        let turn = own.and_then(|chat| self.turns.get(&chat));
        if turn.is_some_and(|turn| turn.talk.as_deref() == Some(key) && turn.over.is_none()) {
            known.ended = false;
            return;
        }
        let text = |chat: ChannelId| self.turns.get(&chat).map_or("", |turn| turn.text.as_str());
        let fits = |chat: &ChannelId| prompt.contains(text(*chat));
        let best = |chat: &ChannelId| (Some(*chat) == own, text(*chat).len());
        let found = self.waiting.iter().copied().filter(fits).max_by_key(best);
        self.bytes = self.bytes.saturating_sub(known.bytes);
        *known = AgentTalk {
            model: way == BelowEvent::Model,
            prompt,
            whole: true,
            ..AgentTalk::default()
        };
        match found {
            Some(chat) => self.join(key, chat),
            None if self.early.len() < MAX_EARLY => self.early.push(key.to_owned()),
            None => {}
        }
    }

    fn join(&mut self, key: &str, chat: ChannelId) {
        self.waiting.retain(|other| *other != chat);
        if let Some(talk) = self.talks.get_mut(key) {
            talk.chat = Some(chat);
            talk.prompt = String::new();
        }
        if let Some(turn) = self.turns.get_mut(&chat) {
            turn.talk = Some(key.to_owned());
        }
    }

    /// Returns the turn of a chat and its conversation below; `None` unless both are known.
    fn pair(&self, chat: ChannelId) -> Option<(&ClientTurn, &AgentTalk)> {
        let turn = self.turns.get(&chat)?;
        Some((turn, self.talks.get(turn.talk.as_ref()?)?))
    }

    // The following methods compare both sides.

    /// Judges a turn once it has ended on both sides.
    fn judge_ended(&mut self, cx: &OracleContext, chat: ChannelId, out: &mut FindingSink) {
        let ended = |(turn, talk): (&ClientTurn, &AgentTalk)| {
            turn.over.is_some() && (talk.ended || talk.stopped.is_some())
        };
        if self.pair(chat).is_some_and(ended) {
            self.judge(cx, chat, out);
        }
    }

    /// Judges a turn, unless the turn was judged before.
    fn judge(&mut self, cx: &OracleContext, chat: ChannelId, out: &mut FindingSink) {
        let Some((turn, talk)) = self.pair(chat).filter(|(turn, _)| !turn.judged) else {
            return;
        };
        let (uri, pairs) = (cx.uri(chat), matched(&turn.calls, &talk.calls));
        for (call, above) in talk.calls.iter().zip(&pairs) {
            if let Some(above) = above.and_then(|at| turn.calls.get(at)) {
                decided(uri, above, call, out);
            }
        }
        if let (Some(TurnEnd::Complete { said, outputs, line }), true) = (&turn.over, talk.ended) {
            told_once(uri, *line, turn, talk, &pairs, out);
            for (call, pair) in talk.calls.iter().zip(&pairs) {
                let above = pair.and_then(|at| turn.calls.get(at));
                let output = above.and_then(|it| outputs.iter().find(|output| output.id == it.id));
                if let Some(output) = output {
                    output_shown(uri, *line, call, output, out);
                }
            }
            if let Some(said) = said.as_ref().filter(|_| talk.whole) {
                text_arrived(uri, [turn.line, *line], said, talk, out);
            }
        }
        let key = turn.talk.clone();
        if let Some(turn) = self.turns.get_mut(&chat) {
            turn.judged = true;
            turn.calls = Vec::new();
        }
        // The strings of the conversation that were judged are freed. The members that show how a cancelled turn ends
        // are kept.
        if let Some(talk) = key.and_then(|key| self.talks.get_mut(&key)) {
            self.bytes = self.bytes.saturating_sub(talk.bytes);
            let (chat, ended, stopped) = (talk.chat, talk.ended, talk.stopped);
            *talk = AgentTalk { chat, ended, stopped, ..AgentTalk::default() };
        }
    }

    /// Judges, for each cancelled turn, whether the agent has received the cancel in time. Invariant N5.
    fn look_for_cancels(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        let mut waiting = std::mem::take(&mut self.cancelled);
        waiting.retain(|chat| {
            let Some((turn, talk)) = self.pair(*chat) else {
                return false;
            };
            let Some((at, line)) = turn.cancelled else {
                return false;
            };
            if talk.stopped.is_some() {
                out.seen(Rule::CancelArrives);
                return false;
            }
            // The agent finished the conversation without receiving the cancel, perhaps before the cancel could arrive.
            if talk.ended {
                return false;
            }
            let late = cx.now.at.saturating_sub(at) >= PATIENCE;
            if late {
                out.seen(Rule::CancelArrives);
                let message = format!(
                    "expected the agent of `{}` to receive the cancel of its turn within five \
                     seconds, found that it did not",
                    cx.uri(*chat)
                );
                out.broken(Rule::CancelArrives, message, &[line, cx.now.line]);
            }
            !late
        });
        self.cancelled = waiting;
    }
}

impl AgentTalk {
    /// Starts a round of calls. If the agent repeats a round, the first version of the round is dropped.
    fn round(&mut self, round: u64) {
        self.ended = false;
        if let Some((calls, texts)) = self.rounds.get(&round).copied() {
            self.calls.truncate(calls);
            self.texts.truncate(texts);
        } else if self.rounds.len() < MAX_CALLS {
            self.rounds.insert(round, (self.calls.len(), self.texts.len()));
        }
        self.texts.push(String::new());
    }

    /// Keeps a string of the agent if `room` is `true` and the kept strings of the conversation do not exceed
    /// [`MAX_TEXT`]. Returns the number of bytes that were kept.
    fn said(&mut self, said: &str, room: bool) -> usize {
        let room = room && self.bytes + said.len() <= MAX_TEXT;
        self.whole &= room;
        if !room {
            return 0;
        }
        self.bytes += said.len();
        match self.texts.last_mut() {
            Some(text) => text.push_str(said),
            None => self.texts.push(said.to_owned()),
        }
        said.len()
    }

    fn called(&mut self, id: String, leaf: String, line: u64) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            if leaf.len() > call.leaf.len() {
                call.leaf = leaf;
            }
        } else if self.calls.len() < MAX_CALLS {
            self.calls.push(CallBelow { id, leaf, line, ran: None, mark: None });
            self.texts.push(String::new());
        }
    }

    /// Records the line that shows that a call was permitted, or that it has run.
    fn shows(&mut self, id: &str, line: u64) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.ran.get_or_insert(line);
        }
    }
}

/// Returns the end of a turn that completes now, with its text and the outputs of its calls. Text that the state keeps
/// elsewhere is not included.
fn complete(cx: &OracleContext, folding: &ActionFolding<'_>) -> TurnEnd {
    let state = cx.folded(folding.channel).map(|fold| &fold.state);
    let turn = state.and_then(|state| state.get("activeTurn"));
    let parts = turn.map(|turn| list(turn, "responseParts")).unwrap_or_default();
    let texts = parts.iter().filter(|part| text(part, "kind") == Some("markdown"));
    let said = turn.and_then(|_| texts.map(|part| text(part, "content")).collect());
    let calls = parts.iter().filter_map(|part| given(part, "toolCall"));
    let succeeded = |call: &&Value| {
        text(call, "status") == Some("completed") && call.get("success") == Some(&Value::Bool(true))
    };
    let output = |call: &Value| {
        let texts = list(call, "content")
            .iter()
            .map(|item| text(item, "text").filter(|_| text(item, "type") == Some("text")));
        let text = texts.collect::<Option<String>>();
        Some(CallOutput { id: self::text(call, "toolCallId")?.to_owned(), text })
    };
    let outputs = calls.filter(succeeded).take(MAX_CALLS).filter_map(output).collect();
    TurnEnd::Complete { said, outputs, line: folding.line }
}

/// Matches each call below to a call above, beginning with the longest inputs.
fn matched(above: &[CallAbove], below: &[CallBelow]) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..below.len()).filter(|at| !below[*at].leaf.is_empty()).collect();
    order.sort_unstable_by_key(|at| (std::cmp::Reverse(below[*at].leaf.len()), *at));
    let mut pairs = vec![None; below.len()];
    for at in order {
        let free = |place: &usize| !pairs.contains(&Some(*place));
        let found = (0..above.len()).filter(free).find(|place| above[*place].has(&below[at].leaf));
        pairs[at] = found;
    }
    pairs
}

impl CallAbove {
    /// Returns whether the input of the call contains this string, plain or with JSON escapes.
    fn has(&self, leaf: &str) -> bool {
        let quoted = Value::from(leaf).to_text();
        let inner = quoted.trim_start_matches('"').trim_end_matches('"');
        self.input.as_ref().is_some_and(|input| input.contains(leaf) || input.contains(inner))
    }
}

/// Judges whether a call ran only after it was permitted. Invariants N2 and N3.
fn decided(uri: &str, above: &CallAbove, call: &CallBelow, out: &mut FindingSink) {
    let id = &above.id;
    match (above.denied, call.ran) {
        (Some(denied), ran) => {
            out.seen(Rule::DeniedNeverRuns);
            if let Some(ran) = ran {
                let message = format!(
                    "expected the denied tool call `{id}` of `{uri}` not to run, found that the \
                     agent ran it as `{}`",
                    call.id
                );
                out.broken(Rule::DeniedNeverRuns, message, &[denied, call.line, ran]);
            }
        }
        (None, Some(ran)) if above.asked => {
            // A client that the harness does not control may have approved the call before the call ran.
            let early = above.sent.map_or(!above.approved, |sent| ran < sent);
            out.seen(Rule::RunsApproved);
            if early {
                let message = format!(
                    "expected the tool call `{id}` of `{uri}` not to run before it is approved, \
                     found that the agent ran it as `{}`",
                    call.id
                );
                out.broken(Rule::RunsApproved, message, &[above.line, call.line, ran]);
            }
        }
        _ => {}
    }
}

/// Judges whether each call below matches exactly one call above. Invariant N1.
fn told_once(
    uri: &str,
    end: u64,
    turn: &ClientTurn,
    talk: &AgentTalk,
    pairs: &[Option<usize>],
    out: &mut FindingSink,
) {
    let rule = Rule::CallsToldOnce;
    let weight = if talk.model { Weight::Note } else { rule.row().weight };
    let unknown = turn.calls.iter().any(|above| above.input.is_none());
    for (call, pair) in talk.calls.iter().zip(pairs).filter(|(call, _)| !call.leaf.is_empty()) {
        if pair.is_some() || !unknown {
            out.seen(rule);
        }
        if pair.is_none() && !unknown {
            let message = format!(
                "expected the agent's tool call `{}` in the turn of `{uri}`, found no tool call \
                 with its input",
                call.id
            );
            out.weaker(rule, weight, message, &[call.line, end]);
        }
    }
    let free = |(at, _): &(usize, &CallAbove)| !pairs.contains(&Some(*at));
    for (_, above) in turn.calls.iter().enumerate().filter(free) {
        let known = |call: &&CallBelow| !call.leaf.is_empty() && above.has(&call.leaf);
        if let Some(call) = talk.calls.iter().find(known) {
            let message = format!(
                "expected the agent's tool call `{}` only once in `{uri}`, found it a second time \
                 as `{}`",
                call.id, above.id
            );
            out.weaker(rule, weight, message, &[call.line, above.line]);
        }
    }
}

/// Judges whether the result of a call that succeeded contains the output of the command that the call ran. Invariant
/// N12.
fn output_shown(uri: &str, end: u64, call: &CallBelow, output: &CallOutput, out: &mut FindingSink) {
    let (Some((mark, line)), Some(shown)) = (&call.mark, &output.text) else { return };
    out.seen(Rule::OutputShown);
    if !shown.contains(mark.as_str()) {
        let message = format!(
            "expected the result of the tool call `{}` of `{uri}` to contain the output `{mark}`, which \
             the agent received, found `{}`",
            output.id,
            self::shown(shown)
        );
        out.broken(Rule::OutputShown, message, &[*line, end]);
    }
}

/// Judges whether the text of the agent arrives at the clients, complete and in order. The host may change white space.
/// Invariant N4.
fn text_arrived(uri: &str, lines: [u64; 2], said: &str, talk: &AgentTalk, out: &mut FindingSink) {
    let rule = Rule::TextArrives;
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let said = bare(said);
    let mut rest = said.as_str();
    for text in talk.texts.iter().map(|text| bare(text)).filter(|text| !text.is_empty()) {
        out.seen(rule);
        let Some(at) = rest.find(&text) else {
            let message = format!(
                "expected the agent's whole text in order in the turn of `{uri}`, found it without \
                 `{}`",
                shown(&text)
            );
            let weight = if talk.model { Weight::Note } else { rule.row().weight };
            return out.weaker(rule, weight, message, &lines);
        };
        rest = &rest[at + text.len()..];
    }
}

/// Returns the beginning of a string, for messages.
fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}
