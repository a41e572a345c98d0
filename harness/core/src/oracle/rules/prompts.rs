//! Checks what the agent of a host receives for a turn: the message exactly once, the earlier turns of its chat, no
//! removed turn, no turn of another chat, and the chosen model.
//!
//! A request to a model contains the whole conversation; a session of ACP has received all its earlier prompts. Both
//! are read as a list of strings from the user. Each string is compared with whole messages, because one message may be
//! a part of another. White space at both ends is ignored.
//!
//! The clients and the agent use different sockets of the host, so the order of messages between the two sides is not
//! known. Therefore a request is judged when its turn ends.
//!
//! Knows: folded chats, the stand-in's log, prompts of ACP. Never knows: agents.
//!
//! Start at [`PromptChecks`].

use std::hash::BuildHasher as _;
use std::sync::Arc;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashSet};

use crate::transcript::{BelowEvent, ConnId};
use crate::verdict::Weight;
use crate::wire::json::Value;
use crate::wire::message::Message;

use crate::oracle::catalogue::{CheckRule as _, Rule};
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, text};
use crate::oracle::step::{ActionFolding, OracleStep};

/// Upper bound for the requests that wait for the end of their turn.
const MAX_PENDING: usize = 1_024;
/// Upper bound for the requests of one turn that are judged.
const MAX_OF_A_TURN: usize = 16;
/// Upper bound for the messages of turns that are remembered.
const MAX_MESSAGES: usize = 16_384;
/// Upper bound for the removed turns of one chat, and for the chats with removed turns.
const MAX_REMOVED: usize = 256;
/// Upper bound for the earlier turns of a chat; a longer chat is not judged.
const MAX_TURNS: usize = 256;
/// Upper bound for the sessions of ACP, and for the strings of one session.
const MAX_SESSIONS: usize = 1_024;
/// Upper bound in bytes for a string that is compared.
const MAX_TEXT: usize = 4 << 10;
/// Lower bound in bytes for a message that is compared. Shorter messages may be equal by chance.
const MIN_TEXT: usize = 16;
/// The model names with which a client leaves the choice of the model to the host.
const OPEN_CHOICES: &[&str] = &["auto", "default"];
/// The values with which a client leaves an option of the model to the host, and the values for which a request may
/// omit the option.
const OPEN_OPTIONS: &[&str] = &["", "auto", "default", "none", "off"];
/// The number of characters of a message that a finding shows.
const SHOWN: usize = 60;

/// The hash of a string that a user wrote.
type TextHash = u64;

/// The requests that agents have received, and the messages of turns.
#[derive(Default)]
pub(super) struct PromptChecks {
    /// The requests whose turn has not ended yet. A request is stored under each string of the user's latest message.
    pending: HashMap<TextHash, Vec<Arc<AgentRequest>>>,
    pending_requests: usize,
    /// The chats in which a string was the message of a turn.
    authors: HashMap<TextHash, Vec<ChannelId>>,
    removed: HashMap<ChannelId, HashMap<TextHash, RemovedTurn>>,
    /// The strings that each session of ACP has received as prompts.
    sessions: HashMap<(ConnId, String), Vec<TextHash>>,
}

/// A request to a model, or a prompt of ACP.
struct AgentRequest {
    line: u64,
    /// The strings of the user in the conversation so far, oldest first. The last strings are the prompt.
    texts: Vec<TextHash>,
    /// Whether `texts` contains every string of the user. The log leaves out long strings, and an ACP agent may have
    /// loaded a session.
    is_complete: bool,
    /// The name of the model; `None` if the agent speaks ACP.
    model: Option<String>,
    /// The short strings of the request that are not part of the conversation, including the options; `None` if the log
    /// does not contain these strings.
    options: Option<Vec<String>>,
}

/// A turn that a truncation has removed.
struct RemovedTurn {
    line: u64,
    beginning: String,
}

impl CheckFamily for PromptChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Below { way, seen } => {
                if let Some(message) = seen.message() {
                    match way {
                        BelowEvent::Model => self.asked(cx.now.line, message.value()),
                        BelowEvent::ToAgent => self.prompted(cx, message),
                        _ => {}
                    }
                }
            }
            OracleStep::Folding(folding) => self.acted(cx, folding, out),
            OracleStep::Restarted | OracleStep::Gap => *self = PromptChecks::default(),
            _ => {}
        }
    }

    fn finish(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        let chats: HashSet<ChannelId> = self.authors.values().flatten().copied().collect();
        let mut chats: Vec<ChannelId> = chats.into_iter().collect();
        chats.sort_unstable();
        chats.into_iter().for_each(|chat| self.judge(cx, chat, out));
    }
}

impl PromptChecks {
    /// Reads a request from the stand-in's log. A request without tools is an auxiliary request, for example for
    /// a title.
    fn asked(&mut self, line: u64, record: &Value) {
        if list(record, "tools").is_empty() {
            return;
        }
        let history = list(record, "history");
        let read = |text: &Value| text.as_str().filter(|text| text.len() <= MAX_TEXT).map(hash_of);
        let latest = record.get("latest").and_then(Value::as_u64).unwrap_or(1);
        let latest = history.len().saturating_sub(usize::try_from(latest).unwrap_or_default());
        let latest: Vec<TextHash> = history[latest..].iter().filter_map(read).collect();
        let request = AgentRequest {
            line,
            texts: history.iter().filter_map(read).collect(),
            is_complete: history.iter().all(|text| read(text).is_some()),
            model: text(record, "model").map(str::to_owned),
            options: given(record, "options").map(|_| {
                let texts = list(record, "options").iter().filter_map(Value::as_str);
                texts.map(str::to_owned).collect()
            }),
        };
        self.keep(&latest, request);
    }

    fn prompted(&mut self, cx: &OracleContext, message: &Message) {
        let params = message.params();
        let (Some("session/prompt"), Some(session)) = (message.method(), text(params, "sessionId"))
        else {
            return;
        };
        let blocks = list(params, "prompt").iter().filter_map(|block| text(block, "text"));
        let latest: Vec<TextHash> =
            blocks.filter(|text| text.len() <= MAX_TEXT).map(hash_of).take(MAX_OF_A_TURN).collect();
        let key = (cx.now.conn, session.to_owned());
        if self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(&key) {
            return;
        }
        let texts = self.sessions.entry(key).or_default();
        if texts.len() >= MAX_SESSIONS {
            return;
        }
        texts.extend(&latest);
        let texts = texts.clone();
        let line = cx.now.line;
        self.keep(
            &latest,
            AgentRequest { line, texts, is_complete: false, model: None, options: None },
        );
    }

    /// Keeps a request until its turn ends. The message of that turn is one of the latest strings.
    fn keep(&mut self, latest: &[TextHash], request: AgentRequest) {
        if self.pending_requests >= MAX_PENDING {
            // This drops requests whose turn is never seen to end, because no connection follows the chat.
            self.pending.clear();
            self.pending_requests = 0;
        }
        let request = Arc::new(request);
        for text in latest {
            let same = self.pending.entry(*text).or_default();
            let is_known = same.last().is_some_and(|last| Arc::ptr_eq(last, &request));
            if same.len() < MAX_OF_A_TURN && !is_known {
                self.pending_requests += 1;
                same.push(Arc::clone(&request));
            }
        }
    }

    fn acted(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let (chat, action) = (folding.channel, folding.envelope.action);
        match folding.envelope.name {
            "turnStarted" => {
                self.judge(cx, chat, out);
                let message = action.get("message").or_else(|| action.get("userMessage"));
                if let Some(text) = message.and_then(message_of)
                    && text.len() >= MIN_TEXT
                    && self.authors.len() < MAX_MESSAGES
                {
                    let chats = self.authors.entry(hash_of(text)).or_default();
                    if !chats.contains(&chat) {
                        chats.push(chat);
                    }
                }
            }
            "turnComplete" | "turnCancelled" | "error" => self.judge(cx, chat, out),
            "truncated" => {
                self.judge(cx, chat, out);
                self.truncate(cx, folding);
            }
            _ => {}
        }
    }

    /// Remembers the turns that a truncation removes.
    fn truncate(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>) {
        let Some(fold) = cx.folded(folding.channel) else { return };
        let last = text(folding.envelope.action, "turnId");
        let turns = list(&fold.state, "turns");
        let kept = match last {
            None => 0,
            Some(last) => match turns.iter().position(|turn| text(turn, "id") == Some(last)) {
                Some(at) => at + 1,
                None => return,
            },
        };
        if self.removed.len() >= MAX_REMOVED && !self.removed.contains_key(&folding.channel) {
            return;
        }
        let removed = self.removed.entry(folding.channel).or_default();
        let active = given(&fold.state, "activeTurn");
        let messages = turns[kept..].iter().chain(active).filter_map(turn_message);
        let messages = messages.filter(|text| text.len() >= MIN_TEXT);
        for text in messages.take(MAX_REMOVED.saturating_sub(removed.len())) {
            let removal = RemovedTurn { line: folding.line, beginning: beginning(text) };
            removed.insert(hash_of(text), removal);
        }
    }

    /// Judges the requests for the active turn of a chat.
    fn judge(&mut self, cx: &OracleContext, chat: ChannelId, out: &mut FindingSink) {
        let Some(fold) = cx.folded(chat) else { return };
        let Some(active) = given(&fold.state, "activeTurn") else { return };
        let Some(message) = turn_message(active).filter(|text| text.len() >= MIN_TEXT) else {
            return;
        };
        let text = hash_of(message);
        let Some(requests) = self.pending.remove(&text) else { return };
        self.pending_requests -= requests.len();
        // If another chat has the same message, it is unknown to which of the two chats the requests belong.
        if self.authors.get(&text).is_none_or(|chats| chats.as_slice() != [chat]) {
            return;
        }
        let turns = list(&fold.state, "turns");
        if turns.len() > MAX_TURNS {
            return;
        }
        let turn = JudgedTurn {
            chat,
            uri: cx.uri(chat),
            state: &fold.state,
            active,
            message: text,
            earlier: turns
                .iter()
                .filter_map(|turn| Some((turn, hash_of(turn_message(turn)?))))
                .collect(),
        };
        for request in &requests {
            turn.arrived_once(request, out);
            turn.model_chosen(request, out);
            turn.options_chosen(request, out);
            turn.has_history(request, out);
            self.without_removed(&turn, request, out);
            self.without_others(cx, &turn, request, out);
        }
    }

    /// Judges whether an agent receives no message of a removed turn. Invariant N8.
    fn without_removed(
        &self,
        turn: &JudgedTurn<'_>,
        request: &AgentRequest,
        out: &mut FindingSink,
    ) {
        let Some(removed) = self.removed.get(&turn.chat) else { return };
        out.seen(Rule::RemovedStaysOut);
        let found = request.texts.iter().filter(|text| !turn.has(**text));
        if let Some(removed) = found.filter_map(|text| removed.get(text)).next() {
            let message = format!(
                "expected the agent of `{}` to receive no message of a turn that was removed, found \
                 `{}`",
                turn.uri, removed.beginning
            );
            out.broken(Rule::RemovedStaysOut, message, &[removed.line, request.line]);
        }
    }

    /// Judges whether an agent receives no message of another chat. Invariant N9.
    fn without_others(
        &self,
        cx: &OracleContext,
        turn: &JudgedTurn<'_>,
        request: &AgentRequest,
        out: &mut FindingSink,
    ) {
        if self.authors.len() < 2 || turn.takes_over() {
            return;
        }
        out.seen(Rule::ChatsApart);
        let removed = self.removed.get(&turn.chat);
        let foreign = |text: &TextHash| {
            let chats = self.authors.get(text).filter(|chats| !chats.contains(&turn.chat))?;
            let known =
                turn.has(*text) || removed.is_some_and(|removed| removed.contains_key(text));
            chats.first().filter(|_| !known)
        };
        if let Some(other) = request.texts.iter().find_map(foreign) {
            let message = format!(
                "expected the agent of `{}` to receive no message of another chat, found one of `{}`",
                turn.uri,
                cx.uri(*other)
            );
            out.broken(Rule::ChatsApart, message, &[request.line]);
        }
    }
}

/// A turn whose requests are judged, with the earlier turns of its chat.
struct JudgedTurn<'a> {
    chat: ChannelId,
    uri: &'a str,
    state: &'a Value,
    active: &'a Value,
    message: TextHash,
    /// The earlier turns of the chat that have a message, each with the hash of the message.
    earlier: Vec<(&'a Value, TextHash)>,
}

impl JudgedTurn<'_> {
    fn has(&self, text: TextHash) -> bool {
        text == self.message || self.earlier.iter().any(|(_, earlier)| *earlier == text)
    }

    /// Returns whether the agent may receive turns of other chats: of the chat from which this chat originates, or of a
    /// chat that is attached to a message.
    fn takes_over(&self) -> bool {
        let origin = given(self.state, "origin").and_then(|origin| text(origin, "kind"));
        let attaches = |turn: &Value| {
            let attachments = given(turn, "message").map(|message| list(message, "attachments"));
            attachments.is_some_and(|all| all.iter().any(|one| text(one, "type") == Some("chat")))
        };
        origin.is_some_and(|kind| kind != "user")
            || attaches(self.active)
            || self.earlier.iter().any(|(turn, _)| attaches(turn))
    }

    /// Judges whether an agent receives the message of a turn exactly once. Invariant N7.
    fn arrived_once(&self, request: &AgentRequest, out: &mut FindingSink) {
        // If the list of turns is a window, an omitted older turn may have the same message.
        if given(self.state, "turnsNextCursor").is_some() {
            return;
        }
        let is_model = request.model.is_some();
        // ACP cannot continue a prompt that failed, so a resumed turn needs another prompt.
        let parts = list(self.active, "responseParts");
        if !is_model && parts.iter().any(|part| text(part, "kind") == Some("error")) {
            return;
        }
        out.seen(Rule::PromptOnce);
        let wanted = 1 + self.earlier.iter().filter(|(_, text)| *text == self.message).count();
        let found = request.texts.iter().filter(|text| **text == self.message).count();
        if found > wanted {
            let message = format!(
                "expected the agent of `{}` to receive the message of each turn once, found a message \
                 {found} times in the conversation, and {wanted} times in the turns of the chat",
                self.uri
            );
            let full = Rule::PromptOnce.row().weight;
            let weight = if is_model { Weight::Note } else { full };
            out.weaker(Rule::PromptOnce, weight, message, &[request.line]);
        }
    }

    /// Judges whether a model receives the messages of the earlier turns. Invariant N10.
    fn has_history(&self, request: &AgentRequest, out: &mut FindingSink) {
        if !request.is_complete {
            return;
        }
        for (turn, text) in &self.earlier {
            let judged = |text: &&str| text.len() >= MIN_TEXT && !text.starts_with(['!', '/', '<']);
            let Some(message) = turn_message(turn).filter(judged) else { continue };
            if self::text(turn, "state") != Some("complete") {
                continue;
            }
            out.seen(Rule::HistoryGiven);
            if !request.texts.contains(text) {
                let message = format!(
                    "expected the model of `{}` to receive the messages of the earlier turns, found no \
                     `{}`",
                    self.uri,
                    beginning(message)
                );
                return out.broken(Rule::HistoryGiven, message, &[request.line]);
            }
        }
    }

    /// Judges whether the model is the one that the message names. Invariant N11.
    fn model_chosen(&self, request: &AgentRequest, out: &mut FindingSink) {
        let chosen = given(self.active, "message").and_then(|message| given(message, "model"));
        let chosen = chosen.and_then(|model| text(model, "id"));
        let chosen = chosen.filter(|id| !OPEN_CHOICES.contains(id));
        let (Some(chosen), Some(found)) = (chosen, &request.model) else { return };
        out.seen(Rule::ModelChosen);
        // A host may put the name of a provider before the name that its agent uses.
        if !chosen.contains(found.as_str()) && !found.contains(chosen) {
            let message = format!(
                "expected the agent of `{}` to ask the model `{chosen}`, which the message of the turn \
                 names, found `{found}`",
                self.uri
            );
            out.broken(Rule::ModelChosen, message, &[request.line]);
        }
    }

    /// Judges whether the request has the options that the message names. Invariant N13.
    fn options_chosen(&self, request: &AgentRequest, out: &mut FindingSink) {
        let chosen = given(self.active, "message").and_then(|message| given(message, "model"));
        let chosen = chosen.and_then(|model| given(model, "config")?.as_object());
        let Some(found) = &request.options else { return };
        for (name, option) in chosen.into_iter().flatten() {
            let Some(option) = option.as_str().filter(|it| !OPEN_OPTIONS.contains(it)) else {
                continue;
            };
            out.seen(Rule::OptionsChosen);
            if !found.iter().any(|text| text == option) {
                let message = format!(
                    "expected the agent of `{}` to ask its model with the option `{name}` as `{option}`, which the \
                     message of the turn names, found no such text in the request",
                    self.uri
                );
                out.broken(Rule::OptionsChosen, message, &[request.line]);
            }
        }
    }
}

/// Returns the text of a turn's message, if it can be compared.
fn turn_message(turn: &Value) -> Option<&str> {
    message_of(turn.get("message").or_else(|| turn.get("userMessage"))?)
}

fn message_of(message: &Value) -> Option<&str> {
    // Agents put tags around messages, and the model stand-in removes the tagged elements.
    let comparable =
        |text: &&str| !text.is_empty() && text.len() <= MAX_TEXT && !text.contains('<');
    text(message, "text").map(str::trim).filter(comparable)
}

/// Returns the beginning of a message, for findings.
fn beginning(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN).collect()
}

fn hash_of(text: &str) -> TextHash {
    FixedState::default().hash_one(text.trim())
}
