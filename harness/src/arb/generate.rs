//! Generates conversations of several clients: mostly legal, with named deviations, and with the outcome that
//! requirements demand of each step.
//!
//! A conversation has a theme, which makes some moves more likely than others, so that every area is covered.
//! The stage determines which moves are possible, and their outcomes; new versions and actions need only their
//! tables.
//!
//! Knows: moves and their weights. Never knows: how the scenario is played.
//!
//! Start at [`ConversationGenerator::sequence`].

use crate::agent::mode::AgentMode;
use crate::dice::Dice;
use crate::run::detect::DetectedFeature;
use crate::run::sim;
use crate::wire::channel::ChannelKind;
use crate::wire::json::json;
use crate::wire::version::Version;

use super::act::{self, ActionLogEntry};
use super::ask;
use super::draft::ScenarioDraft;
use super::draw::{ConversationDraw, is_plain};
use super::files;
use super::offered::HostOffers;
use super::step_result::ClientStepResult;
use super::{lines, observe, restarts, subscribe, talk};

/// A generator of conversations for one version.
#[derive(Clone, Debug)]
pub struct ConversationGenerator {
    version: Version,
    seed: u64,
    taste: DrawTaste,
    offers: HostOffers,
    /// The theme of every conversation; `None` for any theme.
    theme: Option<&'static str>,
}

/// The properties of a target that decide which moves are possible.
#[derive(Clone, Copy, Debug)]
pub struct DrawTaste {
    /// The mode in which an agent plays scripts; `None` if no agent does.
    pub agent: Option<AgentMode>,
    /// How the host can be restarted.
    pub restarts: HostRestarts,
    /// Whether the host may be harmed.
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

/// How the harness can restart a target.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HostRestarts {
    /// The target cannot be restarted.
    Never,
    /// The target can only be restarted by the user's command, which may let the target write what it keeps.
    Orderly,
    /// The target's process can also be killed.
    Crashes,
}

/// A generated conversation, and the log of its moves.
#[derive(Clone, Debug)]
pub struct DrawnSequence {
    /// The conversation's own seed, which is sufficient to generate the conversation again.
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

/// The theme of a conversation: its opening, and the moves that are more frequent in it.
struct ConversationTheme {
    name: &'static str,
    opening: ConversationOpening,
    focus: &'static str,
    more: &'static [(&'static str, usize)],
}

#[derive(Clone, Copy)]
enum ConversationOpening {
    Session,
    Folders,
    Changes,
    Plugins,
    Automations,
    Files,
    Terminals,
    Turns,
    Handshake,
}

const fn theme(
    name: &'static str,
    opening: ConversationOpening,
    more: &'static [(&'static str, usize)],
) -> ConversationTheme {
    ConversationTheme { name, opening, focus: "", more }
}

const fn focused(
    name: &'static str,
    focus: &'static str,
    more: &'static [(&'static str, usize)],
) -> ConversationTheme {
    ConversationTheme { name, opening: ConversationOpening::Session, focus, more }
}

const THEMES: &[ConversationTheme] = &[
    theme(
        "turns",
        ConversationOpening::Session,
        &[("turn", 20), ("decide", 20), ("chat", 20), ("release", 8)],
    ),
    focused("tools", "tool", &[("turn", 20), ("decide", 50), ("join-in", 6), ("line", 4)]),
    focused(
        "client tools",
        "client",
        &[
            ("turn", 20),
            ("decide", 40),
            ("join-in", 14),
            ("line", 8),
            ("subscribe", 14),
            ("look", 8),
        ],
    ),
    focused("questions", "ask", &[("turn", 20), ("decide", 60), ("line", 4)]),
    focused(
        "queues",
        "hold",
        &[("queue", 50), ("pile", 10), ("turn", 25), ("release", 14), ("decide", 6)],
    ),
    focused("grants", "asked", &[("files", 90)]),
    theme("folders", ConversationOpening::Folders, &[("folders", 60), ("chats", 6)]),
    theme(
        "sessions",
        ConversationOpening::Session,
        &[("sessions", 30), ("session", 10), ("subscribe", 10)],
    ),
    theme(
        "chats",
        ConversationOpening::Session,
        &[("chats", 40), ("turn", 25), ("chat", 10), ("subscribe", 6), ("window", 14)],
    ),
    focused(
        "moves",
        "worker",
        &[
            ("new-chat", 25),
            ("new-session", 14),
            ("turn", 25),
            ("move", 50),
            ("look", 10),
            ("subscribe", 10),
        ],
    ),
    focused(
        "workers",
        "worker",
        &[("turn", 30), ("decide", 20), ("release", 8), ("look", 14), ("move", 8)],
    ),
    focused(
        "canvases",
        "canvas",
        &[("turn", 40), ("look", 30), ("subscribe", 14), ("decide", 6), ("restart", 12)],
    ),
    focused("background", "background", &[("turn", 40), ("look", 20), ("decide", 10)]),
    focused("activity", "activity", &[("turn", 40), ("look", 20), ("release", 10)]),
    ConversationTheme {
        name: "recall",
        opening: ConversationOpening::Turns,
        focus: "WORD",
        more: &[("turn", 60), ("new-chat", 20), ("look", 6), ("queue", 4), ("release", 14)],
    },
    focused(
        "input by reference",
        "by-reference",
        &[("turn", 30), ("decide", 40), ("read", 40), ("look", 8)],
    ),
    theme("windows", ConversationOpening::Turns, &[("window", 60), ("turn", 10), ("line", 8)]),
    focused("approvals", "confirm", &[("turn", 30), ("decide", 60), ("look", 20)]),
    ConversationTheme {
        name: "providers",
        opening: ConversationOpening::Handshake,
        focus: "provider",
        more: &[("new-session", 50), ("new-chat", 50), ("turn", 10), ("subscribe", 8)],
    },
    ConversationTheme {
        name: "watches",
        opening: ConversationOpening::Files,
        focus: "harness/w",
        more: &[("watches", 30), ("files", 70), ("subscribe", 30)],
    },
    ConversationTheme {
        name: "telemetry",
        opening: ConversationOpening::Session,
        focus: "say",
        more: &[("listen", 50), ("turn", 40), ("line", 10)],
    },
    ConversationTheme {
        name: "tokens",
        opening: ConversationOpening::Handshake,
        focus: "token",
        more: &[("tokens", 50), ("new-session", 50), ("line", 8), ("join", 8)],
    },
    theme("metadata", ConversationOpening::Session, &[("session", 40), ("root", 12), ("look", 10)]),
    theme("lines", ConversationOpening::Session, &[("line", 40), ("turn", 12), ("session", 10)]),
    focused(
        RESTARTS,
        "hold",
        &[("restart", 40), ("turn", 30), ("session", 10), ("new-session", 4), ("line", 4)],
    ),
    theme(
        "wire",
        ConversationOpening::Handshake,
        &[("raw", 40), ("offer", 35), ("join", 10), ("again", 10), ("tokens", 12)],
    ),
    theme(
        "files",
        ConversationOpening::Files,
        &[("files", 80), ("watches", 20), ("subscribe", 20)],
    ),
    theme(
        "terminals",
        ConversationOpening::Terminals,
        &[("make-terminal", 8), ("terminal", 60), ("subscribe", 14), ("line", 8), ("look", 10)],
    ),
    theme("annotations", ConversationOpening::Session, &[("annotations", 60), ("subscribe", 20)]),
    theme(
        "automations",
        ConversationOpening::Automations,
        &[
            ("automations", 30),
            ("run", 50),
            ("runs", 12),
            ("subscribe", 16),
            ("look", 20),
            ("restart", 8),
        ],
    ),
    ConversationTheme {
        name: "changes",
        opening: ConversationOpening::Changes,
        focus: "one.txt",
        more: &[
            ("turn", 14),
            ("operations", 40),
            ("subscribe", 20),
            ("files", 6),
            ("changesets", 24),
            ("review", 14),
            ("dispose", 3),
            ("look", 14),
            ("list", 14),
        ],
    },
    ConversationTheme {
        name: "plugins",
        opening: ConversationOpening::Plugins,
        focus: "plugin",
        more: &[("join-in", 25), ("servers", 50), ("ask-server", 20), ("look", 14)],
    },
];

/// The theme that needs a host that can be restarted.
pub const RESTARTS: &str = "restarts";
/// The themes whose details differ between hosts: file locations, shell output, valid tokens.
const OWN: &[&str] =
    &["files", "watches", "grants", "changes", "folders", "telemetry", "tokens", "providers"];

/// The factor by which a theme increases the weight of its moves.
const THEMED: usize = 3;
/// The minimum number of moves of a conversation.
const SHORTEST: usize = 3;
/// The maximum number of moves beyond [`SHORTEST`].
const LONGER: usize = 16;
/// The percentage of moves after which the host gets time to react.
const PAUSED: usize = 75;
/// The number of channels of each kind that are compared at the end. Automations are shared by all
/// conversations, so their runs may not have ended.
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
        ConversationGenerator { version, seed, taste, offers, theme: None }
    }

    /// Returns the generator of conversations with one theme.
    pub fn about(self, theme: &'static str) -> ConversationGenerator {
        ConversationGenerator { theme: Some(theme), ..self }
    }

    /// Returns the generator for a host with these capabilities.
    pub fn offering(self, detected: &[DetectedFeature]) -> ConversationGenerator {
        let all = [self.offers.detected(), detected].concat();
        ConversationGenerator { offers: HostOffers::of(&all), ..self }
    }

    /// Returns the seed of the conversation with this number.
    pub fn seed_of(&self, number: u64) -> u64 {
        Dice::new(self.seed, number).roll()
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
    let mut draw = ConversationDraw::new(version, seed, (taste, offers), &["A", "B", "C"])?;
    let fits = |theme: &&ConversationTheme| {
        (taste.reference || !OWN.contains(&theme.name))
            && (taste.restarts != HostRestarts::Never || theme.name != RESTARTS)
            && only.is_none_or(|only| theme.name == only)
    };
    let themes: Vec<&ConversationTheme> = THEMES.iter().filter(fits).collect();
    let theme = *draw.dice.pick(&themes)?;
    draw.focus = theme.focus;
    open(&mut draw, theme.opening)?;
    let mut told = Vec::new();
    let moves = SHORTEST + draw.dice.below(LONGER + 1);
    let mut idle = 0;
    while told.len() < moves && idle < IDLE && !draw.broken {
        let Some((_, one)) = pick(&mut draw.dice, theme) else { break };
        match one(&mut draw) {
            Some(done) => told.push(done),
            None => idle += 1,
        }
        if !draw.broken && draw.dice.chance(PAUSED) {
            draw.pause();
        }
    }
    close(&mut draw);
    let title = format!("What is drawn about {} holds", theme.name);
    let whole = !draw.broken;
    let draft = draw.draft(&format!("fuzz/{seed:016x}"), &title);
    // If no client is connected at the end, the draft may contain no expectation and not be a valid scenario.
    draft.scenario().ok()?;
    Some(DrawnSequence { seed, draft, told, whole })
}

/// Picks a move at random, according to the weights.
fn pick(dice: &mut Dice, theme: &ConversationTheme) -> Option<(&'static str, ConversationMove)> {
    let weight = |name: &str, usual: usize| {
        theme.more.iter().find(|(more, _)| *more == name).map_or(usual, |(_, more)| *more * THEMED)
    };
    let all: usize = MOVES.iter().map(|(name, usual, _)| weight(name, *usual)).sum();
    let mut place = dice.below(all);
    for (name, usual, one) in MOVES {
        let share = weight(name, *usual);
        if place < share {
            return Some((name, *one));
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
fn close(draw: &mut ConversationDraw) {
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
