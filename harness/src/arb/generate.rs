//! Generates conversations of several clients. Most steps are legal, and the others have named deviations. The expected
//! outcome of each step follows from requirements.
//!
//! A conversation has a theme, which makes some moves more likely than others, so that every area is covered.
//! The stage determines which moves are possible, and their outcomes; new versions and actions need only their
//! tables.
//!
//! Knows: moves and their weights. Never knows: the execution of scenarios.
//!
//! Start at [`ConversationGenerator::sequence`].

use std::sync::{Arc, OnceLock};

use crate::agent::mode::AgentMode;
use crate::dice::Dice;
use crate::run::detect::DetectedFeature;
use crate::run::plan::HostRestarts;
use crate::run::sim;
use crate::wire::channel::ChannelKind;
use crate::wire::json::json;
use crate::wire::version::Version;

use super::act::{self, ActionLogEntry};
use super::ask;
use super::bases::BaseScenario;
use super::draft::ScenarioDraft;
use super::draw::{ConversationDraw, DrawHead, is_plain};
use super::files;
use super::offered::HostOffers;
use super::step_result::ClientStepResult;
use super::themes::{ConversationOpening, ConversationTheme, OWN, RESTARTS, THEMES};
use super::{lines, observe, restarts, subscribe, suite, talk};

/// A generator of conversations for one version.
#[derive(Clone, Debug)]
pub struct ConversationGenerator {
    version: Version,
    seed: u64,
    taste: DrawTaste,
    offers: HostOffers,
    /// The theme of every conversation; `None` for any theme.
    theme: Option<&'static str>,
    /// The scenarios with which a conversation can begin.
    bases: Arc<OnceLock<Vec<&'static BaseScenario>>>,
}

/// The properties of a target that decide which moves are possible.
#[derive(Clone, Copy, Debug)]
pub struct DrawTaste {
    /// The mode in which an agent plays scripts; `None` if no agent does.
    pub agent: Option<AgentMode>,
    /// How the host can be restarted.
    pub restarts: HostRestarts,
    /// Whether messages that may harm the host are permitted.
    pub aggressive: bool,
    /// Whether the target is the reference host, whose files, shells and settings are known.
    pub reference: bool,
}

impl DrawTaste {
    /// The properties of the reference host, with which every move is possible.
    pub const ALL: DrawTaste = DrawTaste {
        agent: Some(AgentMode::Host),
        restarts: HostRestarts::Crashes,
        aggressive: true,
        reference: true,
    };
    /// The properties of an external host whose agent plays scripts.
    pub const FOREIGN: DrawTaste = DrawTaste {
        agent: Some(AgentMode::Host),
        restarts: HostRestarts::Never,
        aggressive: false,
        reference: false,
    };
}

/// A generated conversation, and the log of its moves.
#[derive(Clone, Debug)]
pub struct DrawnSequence {
    /// The seed of the conversation, from which the conversation can be generated again.
    pub seed: u64,
    /// The draft to play.
    pub draft: ScenarioDraft,
    /// The moves and their results on the stage.
    pub told: Vec<ActionLogEntry>,
    /// Whether the conversation is complete. A conversation is incomplete if the stage could not play a step.
    pub whole: bool,
}

type ConversationMove = fn(&mut ConversationDraw) -> Option<ActionLogEntry>;

/// Every move, with its name and its default weight.
const MOVES: &[(&str, usize, ConversationMove)] = &[
    ("turn", 10, talk::turn),
    ("release", 4, talk::release),
    ("chat", 14, |draw| act::dispatch(draw, &[ChannelKind::Chat])),
    ("decide", 8, decide),
    ("session", 8, |draw| act::dispatch(draw, &[ChannelKind::Session])),
    ("root", 2, |draw| act::dispatch(draw, &[ChannelKind::Root])),
    ("terminal", 1, |draw| act::dispatch(draw, &[ChannelKind::Terminal])),
    ("annotations", 1, |draw| act::dispatch(draw, &[ChannelKind::Annotations])),
    ("automations", 1, |draw| act::dispatch(draw, &[ChannelKind::Automations])),
    ("runs", 1, |draw| act::dispatch(draw, &[ChannelKind::AutomationRun])),
    ("changesets", 1, |draw| act::dispatch(draw, &[ChannelKind::Changeset])),
    ("join-in", 2, |draw| {
        let sessions = draw.channels(ChannelKind::Session);
        act::dispatch_on(draw, ChannelKind::Session, &sessions, &["session/activeClientSet"], 10)
    }),
    ("servers", 0, |draw| {
        const SERVERS: &[&str] = &[
            "session/mcpServerStartRequested",
            "session/mcpServerStopRequested",
            "session/customizationToggled",
        ];
        let sessions = draw.channels(ChannelKind::Session);
        act::dispatch_on(draw, ChannelKind::Session, &sessions, SERVERS, 10)
    }),
    ("folders", 0, |draw| {
        const FOLDERS: &[&str] = &["WorkingDirectorySet", "WorkingDirectoryRemoved"];
        let kind = *draw.dice.pick(&[ChannelKind::Session, ChannelKind::Chat])?;
        let names: Vec<String> = FOLDERS
            .iter()
            .map(|name| format!("{}/w{}", kind.family(), &name[1..]))
            .chain(
                (kind == ChannelKind::Session)
                    .then(|| "session/workingDirectoryReplaced".to_owned()),
            )
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let channels = draw.channels(kind);
        act::dispatch_on(draw, kind, &channels, &names, 10)
    }),
    ("queue", 3, queue),
    ("pile", 0, pile),
    ("dispose", 0, |draw| ask::ask(draw, |it| it == "disposeSession")),
    ("review", 0, review),
    ("window", 0, observe::window),
    ("read", 0, observe::read),
    ("tokens", 0, |draw| ask::ask(draw, |it| it == "authenticate")),
    ("ask-server", 0, |draw| lines::raw_called(draw, "side-channel")),
    ("again", 0, lines::again),
    ("subscribe", 8, subscribe::subscribe),
    ("look", 4, |draw| observe::look(draw, None)),
    ("sessions", 4, |draw| {
        ask::ask(draw, |it| {
            ["createSession", "disposeSession", "listSessions", "ping"].contains(&it)
        })
    }),
    ("list", 0, |draw| ask::ask(draw, |it| it == "listSessions")),
    ("chats", 3, |draw| {
        ask::ask(draw, |it| ["createChat", "disposeChat", "moveChat", "fetchTurns"].contains(&it))
    }),
    ("files", 2, |draw| ask::ask(draw, |it| it.starts_with("resource"))),
    ("watches", 1, |draw| ask::ask(draw, |it| it == "createResourceWatch")),
    ("make-terminal", 1, |draw| ask::ask(draw, |it| it.ends_with("Terminal"))),
    ("operations", 1, |draw| ask::ask(draw, |it| it == "invokeChangesetOperation")),
    ("run", 1, |draw| ask::ask(draw, |it| it.contains("utomation"))),
    ("other", 1, |draw| ask::ask(draw, |_| true)),
    ("line", 4, lines::come_and_go),
    ("restart", 0, restarts::restart),
    ("join", 3, lines::join),
    ("offer", 1, lines::offer),
    ("raw", 2, lines::raw),
    ("move", 0, |draw| ask::ask(draw, |it| it == "moveChat")),
    ("new-chat", 0, |draw| ask::ask(draw, |it| it == "createChat")),
    ("new-session", 0, |draw| ask::ask(draw, |it| it == "createSession")),
    ("listen", 0, subscribe::listen),
    ("dawdle", 1, lines::dawdle),
];

/// In each group of `ROUND` conversations, the conversations at these indices begin with the steps of a scenario of the
/// suite.
const OF_SUITE: &[u64] = &[1, 3];
const ROUND: u64 = 5;
/// The distance in the list of scenarios between the scenarios of consecutive conversations, so that these are about
/// different subjects. The distance is a prime number greater than the number of scenarios.
const STRIDE: u64 = 7_919;
/// The factor by which a theme increases the weight of its moves.
const THEMED: usize = 3;
/// The minimum number of moves of a conversation.
const SHORTEST: usize = 3;
/// The maximum number of moves beyond [`SHORTEST`].
const LONGER: usize = 16;
/// The percentage of moves after which the host gets time to react.
const PAUSED: usize = 75;
/// The maximum number of channels of each kind whose states are compared at the end of a conversation. All
/// conversations share the automations, so the runs of automations may not have ended.
const LOOKED_AT: &[(ChannelKind, usize)] = &[
    (ChannelKind::Session, 3),
    (ChannelKind::Chat, 3),
    (ChannelKind::Terminal, 1),
    (ChannelKind::Changeset, 2),
    (ChannelKind::Annotations, 1),
    (ChannelKind::Canvas, 1),
];
/// The maximum number of moves without effect before a conversation ends.
const IDLE: usize = 40;

impl ConversationGenerator {
    /// Creates a generator for a version and a host with the capabilities of the reference host.
    pub fn new(version: Version, seed: u64, taste: DrawTaste) -> ConversationGenerator {
        // In a version with another vocabulary, no capability is assumed.
        let detected = if is_plain(version) { &[] } else { sim::detected(version) };
        let offers = HostOffers::of(detected);
        ConversationGenerator { version, seed, taste, offers, theme: None, bases: Arc::default() }
    }

    /// Returns the generator of conversations with one theme.
    pub fn about(self, theme: &'static str) -> ConversationGenerator {
        ConversationGenerator { theme: Some(theme), ..self }
    }

    /// Returns the generator for a host with these capabilities.
    pub fn offering(self, detected: &[DetectedFeature]) -> ConversationGenerator {
        let all = [self.offers.detected(), detected].concat();
        ConversationGenerator { offers: HostOffers::of(&all), bases: Arc::default(), ..self }
    }

    /// Returns the version, the properties of the target and its capabilities.
    pub(super) fn target(&self) -> (Version, DrawTaste, HostOffers) {
        (self.version, self.taste, self.offers.clone())
    }

    /// Returns the scenarios with which a conversation can begin.
    pub fn bases(&self) -> &[&'static BaseScenario] {
        self.bases.get_or_init(|| suite::fitting(self.version, self.taste, &self.offers))
    }

    /// Returns the seed of the conversation with this number. The parity of a seed decides whether the conversation
    /// begins with the steps of a scenario, and the seed also selects the scenario. The scenarios take turns, so that a
    /// campaign uses all of them before it uses one again.
    pub fn seed_of(&self, number: u64) -> u64 {
        let rolled = Dice::new(self.seed, number).roll();
        let scenarios = self.bases().len() as u64;
        let place = OF_SUITE.iter().position(|place| number % ROUND == *place);
        match place {
            Some(place) if scenarios > 0 && self.theme.is_none() => {
                let turn = number / ROUND * OF_SUITE.len() as u64 + place as u64;
                let base = (self.seed % scenarios + turn % scenarios * STRIDE) % scenarios;
                // The seed is even and near the random number, and it selects this scenario.
                let round = 2 * scenarios;
                (rolled / round).saturating_sub(1) * round + 2 * base
            }
            _ => rolled | 1,
        }
    }

    /// Returns the scenario with which the conversation of a seed begins; `None` if it begins with none.
    pub(super) fn base_of(&self, seed: u64) -> Option<&'static BaseScenario> {
        let bases = self.bases();
        let place = usize::try_from(seed / 2 % (bases.len().max(1) as u64)).ok()?;
        bases.get(place).copied().filter(|_| seed.is_multiple_of(2))
    }

    /// Generates the conversation with this number. The generator's seed and the number determine it.
    pub fn sequence(&self, number: u64) -> Option<DrawnSequence> {
        self.of_seed(self.seed_of(number))
    }

    /// Generates the conversation of a seed.
    pub fn of_seed(&self, seed: u64) -> Option<DrawnSequence> {
        sequence(self, seed)
    }
}

/// Generates the conversation of a seed.
fn sequence(generator: &ConversationGenerator, seed: u64) -> Option<DrawnSequence> {
    let ConversationGenerator { version, taste, offers, theme: only, .. } = generator.clone();
    if let Some(base) = generator.base_of(seed) {
        return suite::sequence(generator, base, seed);
    }
    let head = DrawHead::default();
    let mut draw = ConversationDraw::new(version, seed, (taste, offers), &["A", "B", "C"], head)?;
    let fits = |theme: &&ConversationTheme| {
        (taste.reference || !OWN.contains(&theme.name))
            && (taste.restarts != HostRestarts::Never || theme.name != RESTARTS)
            && only.is_none_or(|only| theme.name == only)
    };
    let themes: Vec<&ConversationTheme> = THEMES.iter().filter(fits).collect();
    let theme = *draw.dice.pick(&themes)?;
    draw.focus = theme.focus;
    open(&mut draw, theme.opening)?;
    let moves = SHORTEST + draw.dice.below(LONGER + 1);
    let told = go_on(&mut draw, theme.more, moves);
    close(&mut draw);
    let title = format!("What is drawn about {} holds", theme.name);
    finished(draw, seed, &title, told)
}

/// Returns the finished conversation; `None` if its steps are not a valid scenario, for example because no client is
/// connected at the end and there is no expectation.
pub(super) fn finished(
    draw: ConversationDraw,
    seed: u64,
    title: &str,
    told: Vec<ActionLogEntry>,
) -> Option<DrawnSequence> {
    let whole = !draw.broken;
    let draft = draw.draft(&format!("fuzz/{seed:016x}"), title);
    draft.scenario().ok()?;
    Some(DrawnSequence { seed, draft, told, whole })
}

/// Makes up to this many moves, and returns their log. The moves in `more` are made more frequently than usual.
pub(super) fn go_on(
    draw: &mut ConversationDraw,
    more: &[(&'static str, usize)],
    moves: usize,
) -> Vec<ActionLogEntry> {
    let mut told = Vec::new();
    let mut idle = 0;
    while told.len() < moves && idle < IDLE && !draw.broken {
        let Some(one) = pick(&mut draw.dice, more) else { break };
        match one(draw) {
            Some(done) => told.push(done),
            None => idle += 1,
        }
        if !draw.broken && draw.dice.chance(PAUSED) {
            draw.pause();
        }
    }
    told
}

/// Makes the move with this name, if it is possible.
pub(super) fn named_move(draw: &mut ConversationDraw, name: &str) -> Option<ActionLogEntry> {
    MOVES.iter().find(|row| row.0 == name).and_then(|(.., one)| one(draw))
}

/// Picks a move at random, according to the weights. `more` replaces the usual weights of some moves.
fn pick(dice: &mut Dice, more: &[(&'static str, usize)]) -> Option<ConversationMove> {
    let weight = |name: &str, usual: usize| {
        more.iter().find(|(more, _)| *more == name).map_or(usual, |(_, more)| *more * THEMED)
    };
    let all: usize = MOVES.iter().map(|(name, usual, _)| weight(name, *usual)).sum();
    let mut place = dice.below(all);
    for (name, usual, one) in MOVES {
        let share = weight(name, *usual);
        if place < share {
            return Some(*one);
        }
        place -= share;
    }
    None
}

/// Plays the opening of a conversation.
fn open(draw: &mut ConversationDraw, opening: ConversationOpening) -> Option<()> {
    let mut config = json!({});
    match opening {
        ConversationOpening::Session
        | ConversationOpening::Changes
        | ConversationOpening::Files
        | ConversationOpening::Terminals
        | ConversationOpening::Turns => {}
        ConversationOpening::Folders => config["workingDirectories"] = json!(act::FOLDERS[..2]),
        ConversationOpening::Plugins => {
            let capabilities = json!({"capabilities": {"mcpApps": {}}});
            draw.put(json!({"connect": {"by": ["A", "B"]}}))?;
            draw.put(json!({"initialize": {"by": ["A", "B"], "params": capabilities}}))?;
        }
        ConversationOpening::Automations => {
            let channels = json!(["ahp-root://"]);
            draw.put(json!({"connect": {"by": ["A", "B"]}}))?;
            draw.put(json!({"initialize": {"by": ["A", "B"], "subscribe": channels}}))?;
            let step = json!({"subscribe": {"by": ["A", "B"], "channel": "ahp-automations://"}});
            draw.put(step)?;
            let channels = draw.channels(ChannelKind::Automations);
            let new = &["automation/createRequested"];
            act::dispatch_on(draw, ChannelKind::Automations, &channels, new, 0);
            return Some(());
        }
        ConversationOpening::Handshake => {
            draw.put(json!({"connect": {"by": ["A", "B"]}}))?;
            let mut members = json!({"by": ["A", "B"], "subscribe": ["ahp-root://"]});
            match draw.dice.below(3) {
                0 => members["tokens"] = json!(false),
                1 => members = json!({"by": ["A", "B"]}),
                _ => {}
            }
            draw.put(json!({"initialize": members}))?;
            if draw.dice.chance(50) {
                return Some(());
            }
        }
    }
    let root = draw.dice.chance(50);
    let mut members = json!({"by": ["A", "B"], "root": root});
    if config != json!({}) {
        members["config"] = config;
    }
    let passed = draw.put(json!({"open": members}))?;
    draw.hear(&passed);
    draw.pause();
    match opening {
        ConversationOpening::Changes => changes(draw)?,
        ConversationOpening::Files => files::prepare(draw)?,
        ConversationOpening::Turns => {
            for _ in 0..2 + draw.dice.below(3) {
                talk::say(draw)?;
                draw.pause();
            }
        }
        ConversationOpening::Terminals => {
            ask::ask(draw, |it| it == "createTerminal");
            for (uri, _) in draw.channels(ChannelKind::Terminal) {
                subscribe::follow(draw, "A", &uri)?;
                subscribe::follow(draw, "B", &uri)?;
            }
        }
        _ => {}
    }
    Some(())
}

/// Lets an agent change two files, and subscribes a client to the changeset.
fn changes(draw: &mut ConversationDraw) -> Option<()> {
    let tag = draw.tag();
    let script = format!("tool write \"one.txt\\none {tag}\"\ntool write \"two.txt\\ntwo {tag}\"");
    draw.act(json!({"turn": {"by": "A", "id": "t0", "script": script}}), |_, _| None)?;
    draw.pause();
    let all = draw.channels(ChannelKind::Changeset);
    let (uri, _) = draw.dice.pick(&all)?.clone();
    subscribe::follow(draw, "A", &uri)?;
    Some(())
}

/// Plays the end of a conversation: the host becomes idle, and a new observer takes snapshots of the channels.
pub(super) fn close(draw: &mut ConversationDraw) {
    if draw.broken {
        return;
    }
    draw.pause();
    draw.put(json!({"rest": {"for": "1200ms"}}));
    if let Some(by) = draw.present().first().cloned() {
        draw.barrier(&by);
        draw.put(json!({"request": {
            "by": by, "method": "ping", "result": true, "proves": "security.no-crash-fuzz",
        }}));
    }
    for (kind, most) in LOOKED_AT {
        for (uri, _) in draw.channels(*kind).into_iter().take(*most) {
            observe::look(draw, Some(uri));
        }
    }
}

/// Reviews a file, and lets the agent change it again.
fn review(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let all = draw.channels(ChannelKind::Changeset);
    let told =
        act::dispatch_on(draw, ChannelKind::Changeset, &all, &["changeset/filesReviewChanged"], 0)?;
    let script = format!("tool write \"one.txt\\nmore {}\"", draw.word());
    let (by, id) = (draw.somebody()?, format!("t{}", draw.number()));
    draw.act(json!({"turn": {"by": by, "id": id, "script": script}}), |_, _| None)?;
    draw.pause();
    Some(told)
}

/// Dispatches an action about a pending decision of the agent.
fn decide(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let mut chats = draw.channels(ChannelKind::Chat);
    let mut open: Vec<&str> = Vec::new();
    chats.retain(|(_, chat)| {
        let before = open.len();
        let parts = chat["activeTurn"]["responseParts"].as_array();
        for part in parts.into_iter().flatten() {
            let asks = part["request"].is_object() && part["response"].is_null();
            open.extend_from_slice(match part["toolCall"]["status"].as_str() {
                Some("pending-confirmation") => {
                    &["chat/toolCallConfirmed", "chat/toolCallConfirmed"]
                }
                Some("pending-result-confirmation") => &["chat/toolCallResultConfirmed"],
                Some("running") => &["chat/toolCallComplete", "chat/toolCallContentChanged"],
                _ if asks => {
                    &["chat/inputCompleted", "chat/inputCompleted", "chat/inputAnswerChanged"]
                }
                _ => &[],
            });
        }
        if !chat["activeTurn"].is_null() {
            open.push("chat/turnCancelled");
        }
        let last = chat["turns"].as_array().and_then(|turns| turns.last());
        if last.is_some_and(|turn| turn["state"] == "error") {
            open.push("chat/turnResume");
        }
        open.len() > before
    });
    let name = *draw.dice.pick(&open)?;
    act::dispatch_on(draw, ChannelKind::Chat, &chats, &[name], 30)
}

/// Queues several messages in a busy chat and reorders them.
fn pile(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    let all = draw.channels(ChannelKind::Chat);
    let busy: Vec<_> = all.iter().filter(|row| !row.1["activeTurn"].is_null()).collect();
    let (uri, _) = (*draw.dice.pick(&busy)?).clone();
    let (by, channel) = (draw.somebody()?, draw.named(&json!(uri))?);
    subscribe::follow(draw, &by, &uri)?;
    let accepted = |came: &ClientStepResult, _: &ConversationDraw| {
        (*came == ClientStepResult::Accepted)
            .then(|| "dispatch.table.client.chat.pendingMessageSet".to_owned())
    };
    let mut ids = Vec::new();
    // The identifiers do not sort in the order of their creation.
    for first in ["m", "z", "a", "k"] {
        let id = format!("{first}{}", draw.number());
        let message = json!({"text": format!("message {id}"), "origin": {"kind": "user"}});
        let action = json!({
            "type": "chat/pendingMessageSet", "kind": "queued", "id": (id.as_str()), "message": message,
        });
        draw.act(
            json!({"dispatch": {"by": (by.as_str()), "channel": channel.clone(), "action": action}}),
            accepted,
        )?;
        ids.push(id);
    }
    let action = json!({"type": "chat/queuedMessagesReordered", "order": [ids.pop()]});
    let came = draw
        .act(json!({"dispatch": {"by": by, "channel": channel, "action": action}}), |_, _| None)?;
    observe::look(draw, Some(uri));
    Some(("chat/queuedMessagesReordered".to_owned(), "legal", came))
}

/// Dispatches an action about the queued messages of a chat, usually a busy one.
fn queue(draw: &mut ConversationDraw) -> Option<ActionLogEntry> {
    const QUEUE: &[&str] = &[
        "chat/pendingMessageSet",
        "chat/pendingMessageSet",
        "chat/pendingMessageSet",
        "chat/pendingMessageRemoved",
        "chat/queuedMessagesReordered",
    ];
    let all = draw.channels(ChannelKind::Chat);
    let busy: Vec<_> = all.iter().filter(|row| !row.1["activeTurn"].is_null()).cloned().collect();
    let chats = if busy.is_empty() || draw.dice.chance(10) { all } else { busy };
    act::dispatch_on(draw, ChannelKind::Chat, &chats, QUEUE, 12)
}
