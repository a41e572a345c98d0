//! The conversation of a scenario, prepared for a reader. For each message, the conversation names the sender and the
//! receiver; for each answer, the request; for each echo, the dispatch. The lines that prove a finding are marked.
//!
//! Knows: lines of a transcript. Never knows: files, drawings.
//!
//! Start at [`DrawnConversation::of`] and [`DrawnConversation::chosen`].

use std::collections::HashMap;

use crate::transcript::line;
use crate::transcript::{BelowEvent, ClosingSide, ConnectionEvent};
use crate::wire::foreign_text::ForeignText;
use crate::wire::frame::Frame;
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};

use super::excerpt;

/// One line of a transcript, prepared for a reader.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConversationLine {
    /// The number of the line in the file.
    pub line: u64,
    /// The time in microseconds since the scenario began.
    pub at_us: u64,
    /// The client; [`AGENT`] for a message between the host and its agent.
    pub client: String,
    /// The direction of the message.
    pub way: LineDirection,
    /// A short description of the message.
    pub what: ForeignText,
    /// The channel of the message; empty if the message has no channel.
    pub channel: ForeignText,
    /// The frame, shortened if the frame is long; empty if the line has no frame.
    pub text: ForeignText,
    /// The line that this line answers: the request of a response, or the dispatch of an echoed action.
    pub answers: Option<u64>,
    /// The role of the line in the evidence for a finding.
    pub role: LineRole,
}

/// The direction of an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineDirection {
    /// To the host, from a client or from the agent.
    Out,
    /// From the host.
    In,
    /// No direction: a connection opened or ended.
    Across,
}

/// The role of a line in the evidence for a finding.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum LineRole {
    /// A line that is not evidence.
    Beside,
    /// A message of a client that led to a line of evidence.
    Sent,
    /// A line of evidence.
    Proof,
}

/// A line of evidence for a finding.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProofLine {
    /// The number of the line in the file.
    pub line: u64,
    /// The names of the members that the finding is about. Excerpts never truncate these members.
    pub members: Vec<String>,
    /// The client that the finding concerns; `None` if the client is unknown.
    pub client: Option<String>,
}

/// The name of the host's agent in a conversation, which has one lane (column) for each participant.
pub const AGENT: &str = "agent";

/// The number of rows before and after each line of evidence that are also chosen.
const AROUND: usize = 5;
/// The maximum number of chosen rows that are not evidence.
const CHOSEN: usize = 400;
/// The maximum number of rows in a picture that are not evidence. `PROOFS` is the maximum number of rows that are
/// evidence.
const BESIDE: usize = 16;
const PROOFS: usize = 10;
/// The maximum length of a frame that is evidence, in bytes. `FRAME_BYTES` is the maximum length of any other frame.
const PROOF_BYTES: usize = 3_000;
const FRAME_BYTES: usize = 240;

/// All lines of a scenario or of a capture.
#[derive(Clone, Debug, Default)]
pub struct DrawnConversation {
    rows: Vec<ConversationLine>,
    messages: Vec<Option<Value>>,
}

/// The key by which an answer is assigned to its request or dispatch.
#[derive(Eq, Hash, PartialEq)]
enum AnswerKey {
    /// A request: the connection, whether the host sent the request, and the identifier as JSON.
    Request(String, bool, String),
    /// A dispatch: the name of the connection and the `clientSeq`. The client identifier is not part of the key,
    /// because it is derived from the name.
    Dispatch(String, u64),
}

/// The requests and dispatches without an answer: the line, and the method or the action's type.
type OpenQuestion = HashMap<AnswerKey, (u64, String)>;

impl DrawnConversation {
    /// Makes a conversation from numbered lines. Unreadable lines are skipped.
    pub fn of<'a>(lines: impl IntoIterator<Item = (u64, &'a str)>) -> DrawnConversation {
        let read = |(number, text)| Some((number, line::read(text).ok()?));
        DrawnConversation::of_lines(lines.into_iter().filter_map(read))
    }

    /// Builds the conversation from parsed lines.
    pub fn of_lines(
        lines: impl IntoIterator<Item = (u64, line::TranscriptLine)>,
    ) -> DrawnConversation {
        let mut conversation = DrawnConversation::default();
        let mut open = OpenQuestion::new();
        let mut clients: HashMap<String, String> = HashMap::new();
        for (number, line) in lines {
            let (row, message) = read(number, line, &mut open, &mut clients);
            conversation.rows.push(row);
            conversation.messages.push(message);
        }
        conversation
    }

    /// Returns the line that led to a line of evidence: the line that the evidence answers, or else the last
    /// message from the client before the evidence.
    fn led_to(&self, proof: &ProofLine) -> Option<u64> {
        let place = self.rows.iter().position(|row| row.line == proof.line)?;
        let row = self.rows.get(place)?;
        if row.answers.is_some() || row.way == LineDirection::Out {
            return row.answers;
        }
        let client = proof.client.as_deref().unwrap_or(&row.client);
        let before = self.rows.get(..place)?.iter().rev();
        let mut said = before.filter(|row| row.way == LineDirection::Out && row.client == client);
        said.next().map(|row| row.line)
    }

    /// Returns all rows with frames of at most this many bytes, and marks the evidence and the messages that
    /// led to it.
    pub fn marked(self, proofs: &[ProofLine], bytes: usize) -> Vec<ConversationLine> {
        let sent: Vec<u64> = proofs.iter().filter_map(|proof| self.led_to(proof)).collect();
        let mut rows = self.all(bytes);
        for row in &mut rows {
            row.role = match row.line {
                line if proofs.iter().any(|proof| proof.line == line) => LineRole::Proof,
                line if sent.contains(&line) => LineRole::Sent,
                _ => LineRole::Beside,
            };
        }
        rows
    }

    /// Returns every row. Each frame is shortened to at most this many bytes.
    pub fn all(self, bytes: usize) -> Vec<ConversationLine> {
        let DrawnConversation { mut rows, messages } = self;
        for (row, message) in rows.iter_mut().zip(&messages) {
            if let Some(message) = message {
                row.text = excerpt::of(message, &[], bytes).into();
            }
        }
        rows
    }

    /// Returns the rows with evidence, the messages that led to the evidence, and some rows around them, all with
    /// shortened frames; and the number of omitted rows.
    pub fn chosen(mut self, proofs: &[ProofLine]) -> (Vec<ConversationLine>, u64) {
        let is_proof = |line: u64| proofs.iter().any(|proof| proof.line == line);
        let sent: Vec<u64> = proofs.iter().filter_map(|proof| self.led_to(proof)).collect();
        let mut near = vec![false; self.rows.len()];
        let all = self.rows.len();
        for (place, row) in self.rows.iter_mut().enumerate() {
            row.role = match row.line {
                line if is_proof(line) => LineRole::Proof,
                line if sent.contains(&line) => LineRole::Sent,
                _ => LineRole::Beside,
            };
            if row.role != LineRole::Beside {
                let last = (place + AROUND + 1).min(all);
                let around = near.get_mut(place.saturating_sub(AROUND)..last);
                around.into_iter().flatten().for_each(|it| *it = true);
            }
        }
        if proofs.is_empty() {
            let last = near.get_mut(all.saturating_sub(CHOSEN)..);
            last.into_iter().flatten().for_each(|it| *it = true);
        }
        let (mut rows, mut beside, mut left_out) = (Vec::new(), 0, 0);
        for ((mut row, message), near) in self.rows.into_iter().zip(self.messages).zip(near) {
            let decides = row.role != LineRole::Beside;
            if !(decides || near && beside < CHOSEN) {
                left_out += 1;
                continue;
            }
            beside += usize::from(!decides);
            if let Some(message) = message {
                let of = proofs.iter().filter(|proof| proof.line == row.line);
                let members = of.flat_map(|proof| &proof.members);
                let members: Vec<&str> = members.map(String::as_str).collect();
                let most = if decides { PROOF_BYTES } else { FRAME_BYTES };
                row.text = excerpt::of(&message, &members, most).into();
            }
            rows.push(row);
        }
        (rows, left_out)
    }
}

/// Returns the rows that belong to one finding, out of the rows chosen for a whole scenario. `lines` are the lines of
/// the finding's evidence.
pub fn about(rows: &[ConversationLine], lines: &[u64]) -> Vec<ConversationLine> {
    let lines = lines.get(lines.len().saturating_sub(PROOFS)..).unwrap_or_default();
    let proof = |row: &&ConversationLine| lines.contains(&row.line);
    let sent: Vec<u64> = rows
        .iter()
        .filter(proof)
        .filter_map(|row| row.answers.or_else(|| said_before(rows, row)))
        .collect();
    let role = |row: &ConversationLine| match row.line {
        line if lines.contains(&line) => LineRole::Proof,
        line if sent.contains(&line) => LineRole::Sent,
        _ => LineRole::Beside,
    };
    let decisive: Vec<usize> = (0..)
        .zip(rows)
        .filter(|(_, row)| role(row) != LineRole::Beside)
        .map(|(place, _)| place)
        .collect();
    let mut chosen: Vec<(usize, usize)> = (0..rows.len())
        .map(|place| (decisive.iter().map(|it| it.abs_diff(place)).min().unwrap_or(0), place))
        .collect();
    chosen.sort_unstable();
    chosen.truncate(decisive.len() + BESIDE);
    chosen.retain(|(away, _)| *away <= AROUND || decisive.is_empty());
    let mut places: Vec<usize> = chosen.into_iter().map(|(_, place)| place).collect();
    places.sort_unstable();
    let row = |place: usize| {
        let row = rows.get(place)?;
        let role = role(row);
        let beside = role == LineRole::Beside && row.text.raw().len() > FRAME_BYTES;
        let text = if beside {
            excerpt::cut(row.text.raw(), FRAME_BYTES).into()
        } else {
            row.text.clone()
        };
        Some(ConversationLine { role, text, ..row.clone() })
    };
    places.into_iter().filter_map(row).collect()
}

/// Returns the last row before `row` that has the same client and a message that led to evidence.
fn said_before(rows: &[ConversationLine], row: &ConversationLine) -> Option<u64> {
    let before = rows.iter().rev().skip_while(|it| it.line >= row.line);
    let mut said = before.filter(|it| it.way == LineDirection::Out && it.role == LineRole::Sent);
    said.find(|it| it.client == row.client).map(|it| it.line)
}

fn read(
    number: u64,
    line: line::TranscriptLine,
    open: &mut OpenQuestion,
    clients: &mut HashMap<String, String>,
) -> (ConversationLine, Option<Value>) {
    let mut client = line.conn;
    let mut answers = None;
    let (way, what, frame, message) = match &line.event {
        ConnectionEvent::Open { .. } => {
            (LineDirection::Across, "connection opened".to_owned(), None, None)
        }
        ConnectionEvent::Refused(handshake) => {
            let answer = handshake.response.first().map_or("", String::as_str);
            (LineDirection::Across, format!("connection refused: {answer}"), None, None)
        }
        ConnectionEvent::Sent(seen) => {
            let message = seen.message();
            let (what, pair) = told(message, &client, false, open, clients, number);
            answers = pair;
            (LineDirection::Out, what, Some(&*seen.frame), message)
        }
        ConnectionEvent::Received(seen) => {
            let message = seen.message();
            let (what, pair) = told(message, &client, true, open, clients, number);
            answers = pair;
            (LineDirection::In, what, Some(&*seen.frame), message)
        }
        ConnectionEvent::Below { way, seen } => {
            let message = seen.message();
            let (what, pair) = match way {
                BelowEvent::ToAgent | BelowEvent::FromAgent => {
                    told(message, AGENT, *way == BelowEvent::ToAgent, open, clients, number)
                }
                other => (format!("below the host: {}", other.word()), None),
            };
            answers = pair;
            AGENT.clone_into(&mut client);
            let way =
                if *way == BelowEvent::ToAgent { LineDirection::In } else { LineDirection::Out };
            (way, what, Some(&*seen.frame), message)
        }
        ConnectionEvent::Closed { by, code, reason } => {
            let by = if *by == ClosingSide::Client { "client" } else { "host" };
            let code = code.map(|code| format!(" with code {code}")).unwrap_or_default();
            let reason = if reason.is_empty() { "" } else { &format!(": {reason}") };
            (LineDirection::Across, format!("closed by the {by}{code}{reason}"), None, None)
        }
        ConnectionEvent::Cut { .. } => {
            (LineDirection::Across, "a message that was cut off".to_owned(), None, None)
        }
        ConnectionEvent::Fault { what } => {
            (LineDirection::Across, format!("fault: {what}"), None, None)
        }
        ConnectionEvent::Gap { .. } => {
            (LineDirection::Across, "something that is not in the capture".to_owned(), None, None)
        }
        ConnectionEvent::Restarted => {
            (LineDirection::Across, "the host was restarted".to_owned(), None, None)
        }
    };
    let message = message.map(|message| message.value().clone());
    let channel = message.as_ref().map(channel_of).unwrap_or_default().into();
    let text = match (&message, frame) {
        (None, Some(frame)) => raw(frame).into(),
        _ => ForeignText::default(),
    };
    let at_us = u64::try_from(line.at.as_micros()).unwrap_or(u64::MAX);
    let (what, role) = (ForeignText::from(what), LineRole::Beside);
    (
        ConversationLine { line: number, at_us, client, way, what, channel, text, answers, role },
        message,
    )
}

fn channel_of(message: &Value) -> String {
    let params = &message["params"];
    let named = [&params["channel"], &params["action"]["channel"], &params["sessionId"]];
    named.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns a short description of a message, and the line that the message answers. `from_host` is also true for
/// messages from the host to its agent.
fn told(
    message: Option<&Message>,
    conn: &str,
    from_host: bool,
    open: &mut OpenQuestion,
    clients: &mut HashMap<String, String>,
    number: u64,
) -> (String, Option<u64>) {
    let Some(message) = message else { return ("no JSON-RPC message".to_owned(), None) };
    let id = message.id().map(Value::to_text);
    let shown = id.as_ref().map(|id| format!(" #{id}")).unwrap_or_default();
    let params = message.params();
    match (message.kind(), message.method()) {
        (MessageKind::Success | MessageKind::Failure, _) => {
            let asked = AnswerKey::Request(conn.to_owned(), !from_host, id.unwrap_or_default());
            let asked = open.get(&asked);
            let of = asked.map(|(_, method)| format!(" of {method}")).unwrap_or_default();
            let answer = match (message.kind(), message.error_code()) {
                (MessageKind::Failure, Some(code)) => format!("error {code}"),
                (MessageKind::Failure, None) => "error".to_owned(),
                _ => "result".to_owned(),
            };
            (format!("{answer}{of}{shown}"), asked.map(|(line, _)| *line))
        }
        (_, Some("action" | "dispatchAction")) => {
            let name = params["action"]["type"].as_str().unwrap_or("action");
            if !from_host {
                let seq = params["clientSeq"].as_u64();
                if let Some(seq) = seq {
                    open.insert(
                        AnswerKey::Dispatch(conn.to_owned(), seq),
                        (number, name.to_owned()),
                    );
                }
                let seq = seq.map(|seq| format!(" clientSeq {seq}")).unwrap_or_default();
                return (format!("{name}{seq}"), None);
            }
            let seq = params["serverSeq"].as_u64();
            let seq = seq.map(|seq| format!(" serverSeq {seq}")).unwrap_or_default();
            let origin = &params["origin"];
            let by = origin["clientId"].as_str().and_then(|id| clients.get(id));
            let asked = by.zip(origin["clientSeq"].as_u64());
            let asked = asked.and_then(|(by, seq)| open.get(&AnswerKey::Dispatch(by.clone(), seq)));
            let echo = match (params["rejectionReason"].as_str(), by) {
                (Some(_), _) => ", rejected".to_owned(),
                (None, Some(by)) => format!(", from {by}"),
                (None, None) => String::new(),
            };
            (format!("{name}{seq}{echo}"), asked.map(|(line, _)| *line))
        }
        (_, Some(method)) => {
            if let Some(id) = id {
                let asked = AnswerKey::Request(conn.to_owned(), from_host, id);
                open.insert(asked, (number, method.to_owned()));
            }
            if let Some(client) = params["clientId"].as_str().filter(|_| !from_host) {
                clients.insert(client.to_owned(), conn.to_owned());
            }
            (format!("{method}{shown}"), None)
        }
        _ => ("no JSON-RPC message".to_owned(), None),
    }
}

/// Formats a frame that is not a message.
fn raw(frame: &Frame) -> String {
    match frame {
        Frame::Text(text) => excerpt::cut(text, FRAME_BYTES),
        Frame::Binary(bytes) | Frame::NotUtf8(bytes) => {
            let hex: String =
                bytes.iter().take(FRAME_BYTES).map(|byte| format!("{byte:02x}")).collect();
            match bytes.len().saturating_sub(FRAME_BYTES) {
                0 => hex,
                more => format!("{hex} … {more} bytes more"),
            }
        }
    }
}
