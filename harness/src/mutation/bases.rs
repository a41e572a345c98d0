//! Creates correct conversations: plays the suite and generated conversations against the reference host in memory.
//!
//! Knows: the simulation, generated conversations. Never knows: the use of the captures.
//!
//! Start at [`clean`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::agent::mode::AgentMode;
use crate::arb::conditions::PlayConditions;
use crate::arb::embedded::EmbeddedGround;
use crate::arb::generate::ConversationGenerator;
use crate::host::engine::RefHost;
use crate::run::mutants;
use crate::run::play::TranscriptRecorder;
use crate::run::suite::ScenarioSuite;
use crate::transcript::line::TranscriptLine;
use crate::transcript::{BelowEvent, ConnectionEvent, SeenFrame};
use crate::verdict::Weight;
use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};
use crate::wire::message::Message;
use crate::wire::version::Version;

use super::capture::{MutableCapture, edit};
use super::reading::{CaptureReading, FrameRole};

/// The minimum number of lines of a conversation. Shorter conversations test almost nothing.
const LEAST: usize = 12;
/// The maximum number of lines of a conversation. The mutants of a longer conversation would take too long to judge.
const MOST: usize = 1_500;
/// The times at which the clients of an unfinished conversation send pings, in seconds after its last frame:
/// first when the host is idle, then when every deadline has passed.
const HEARD: [u64; 2] = [2, 13];
/// The identifier of the first ping.
const FIRST_PING: i64 = 7_000_001;

/// The requests and actions that clean up at the end of a conversation.
const LEAVING: [&str; 5] =
    ["disposeSession", "disposeTerminal", "disposeChat", "unsubscribe", "automation/removed"];

/// The options for creating captures.
#[derive(Clone, Copy, Debug)]
pub struct BaseOptions {
    /// The protocol version.
    pub version: Version,
    /// The number N: every N-th scenario of the suite is played.
    pub part: usize,
    /// The number of generated conversations.
    pub drawn: u64,
    /// The seed of the generated conversations.
    pub seed: u64,
}

/// A recorder that keeps the lines of a conversation.
#[derive(Clone, Default)]
pub(super) struct LineRecorder {
    lines: Arc<Mutex<Vec<TranscriptLine>>>,
    /// Whether the recorder also keeps calls of the harness's own tools.
    tools: bool,
}

impl TranscriptRecorder for LineRecorder {
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let below = matches!(event, ConnectionEvent::Below { .. });
        let tool = matches!(event, ConnectionEvent::Below { way: BelowEvent::Tool, .. });
        if !below || self.tools && tool {
            let conn = client.to_owned();
            lines.push(TranscriptLine { case: None, at, conn, event: event.clone() });
        }
        lines.len() as u64
    }
}

impl LineRecorder {
    /// Creates a recorder that also keeps calls of the harness's own tools.
    pub(super) fn with_tools() -> LineRecorder {
        LineRecorder { tools: true, ..LineRecorder::default() }
    }

    /// Returns and removes the lines that were recorded so far.
    pub(super) fn lines(&self) -> Vec<TranscriptLine> {
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns captures in which the checks find nothing above a note. Each conversation results in one capture. If no
/// request is open at the end of a conversation, there is also a second capture without the cleanup, in which the
/// clients send later requests.
pub fn clean(options: BaseOptions) -> Vec<MutableCapture> {
    let BaseOptions { version, part, drawn, seed } = options;
    let ground = EmbeddedGround::of(version, AgentMode::Host, &[]);
    let mut found = Vec::new();
    let suite = ScenarioSuite::carried();
    for entry in mutants::playable(&suite, version).into_iter().step_by(part.max(1)) {
        let keeping = LineRecorder::default();
        let config = ground.config(&entry.scenario);
        mutants::play_recorded(
            &entry,
            version,
            &mut RefHost::new(config),
            Box::new(keeping.clone()),
        );
        found.push((entry.scenario.id.clone(), keeping.lines()));
    }
    let generator = ConversationGenerator::new(version, seed, PlayConditions::ALL);
    for number in 0..drawn {
        let Some(scenario) = generator.sequence(number).and_then(|it| it.draft.scenario().ok())
        else {
            continue;
        };
        let keeping = LineRecorder::default();
        let mut host = RefHost::new(ground.config(&scenario));
        ground.play_recorded(scenario, &mut host, Box::new(keeping.clone()));
        found.push((format!("drawn-{seed}-{number}"), keeping.lines()));
    }
    let mut captures = Vec::new();
    for (name, lines) in found {
        let left_open = left_open(&lines);
        let whole = MutableCapture::new(name.clone(), None, lines);
        let open = left_open.map(|lines| MutableCapture::new(format!("{name}#open"), None, lines));
        captures.extend([Some(whole), open].into_iter().flatten());
    }
    captures.retain(is_clean);
    captures
}

/// Changes a capture of the suite so that its clients can be judged. The clients of the suite subscribe only to the
/// channels that a scenario needs. In the returned capture, each client also subscribes to the root channel with its
/// handshake, as clients should.
pub fn of_clients(capture: MutableCapture) -> MutableCapture {
    let mut capture = capture.of_clients();
    let sent = |line: &&mut TranscriptLine| matches!(line.event, ConnectionEvent::Sent(_));
    for line in capture.lines.iter_mut().filter(sent) {
        edit(line, |value| {
            let begins = value["method"] == "initialize";
            let params = value.pointer_mut("/params").filter(|_| begins);
            let Some(params) = params.and_then(Value::as_object_mut) else { return false };
            let wanted = params.entry("initialSubscriptions").or_insert_with(|| json!([]));
            let Some(wanted) = wanted.as_array_mut() else { return false };
            let missing = !wanted.contains(&json!(ROOT));
            if missing {
                wanted.push(json!(ROOT));
            }
            missing
        });
    }
    capture
}

/// Returns whether a capture can be changed into mutants: it is not too short or too long, and the checks find nothing
/// above a note.
pub fn is_clean(capture: &MutableCapture) -> bool {
    (LEAST..=MOST).contains(&capture.lines.len())
        && capture.judge().heaviest().is_none_or(|weight| weight < Weight::Should)
}

/// Returns the conversation without its cleanup, followed by pings of every connected client: first when the host is
/// idle, then when every deadline has passed. Returns `None` if a request was still unanswered.
fn left_open(lines: &[TranscriptLine]) -> Option<Vec<TranscriptLine>> {
    let reading = CaptureReading::of(lines);
    let leaves = |number: &usize| match (&lines[*number].event, &reading.facts[*number]) {
        (ConnectionEvent::Closed { .. } | ConnectionEvent::Received(_), _) => true,
        (ConnectionEvent::Sent(_), fact) => LEAVING.contains(&fact.name.as_str()),
        _ => false,
    };
    let tail = (0..lines.len()).rev().take_while(leaves).last()?;
    let first = (tail..lines.len())
        .find(|number| !matches!(lines[*number].event, ConnectionEvent::Received(_)))?;
    let is_open = |number: usize| {
        reading.facts[number].role == FrameRole::Request
            && reading.answered.get(&number).is_none_or(|answer| *answer >= first)
    };
    if (0..first).any(is_open) {
        return None;
    }
    let mut kept = lines[..first].to_vec();
    let last = kept.last()?.at;
    let standing: Vec<&str> = (0..reading.lives.len())
        .filter(|life| {
            let life = &reading.lives[*life];
            life.begin < first
                && life.version.is_some()
                && life.closed.is_none_or(|closed| closed >= first)
        })
        .map(|life| reading.lives[life].conn.as_str())
        .collect();
    for (round, seconds) in HEARD.iter().enumerate() {
        for conn in &standing {
            let id = FIRST_PING + round as i64;
            let at = last + Duration::from_secs(*seconds);
            kept.extend(ping(conn, at, id));
        }
    }
    Some(kept)
}

/// Returns a ping and its answer.
pub(super) fn ping(conn: &str, at: Duration, id: i64) -> [TranscriptLine; 2] {
    let seen = |message| Arc::new(SeenFrame::of(message));
    let ask = Message::request(id, "ping", json!({"channel": ROOT}));
    let answer = Message::success(json!(id), json!(null));
    let line = |at, event| TranscriptLine { case: None, at, conn: conn.to_owned(), event };
    [
        line(at, ConnectionEvent::Sent(seen(ask))),
        line(at + Duration::from_millis(1), ConnectionEvent::Received(seen(answer))),
    ]
}
