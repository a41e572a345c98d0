//! Variants of message timing, of `serverSeq` numbering and of how text is split into deltas.
//!
//! Knows: envelopes, numbers. Never knows: channels.

use std::time::Duration;

use crate::dice::Dice;
use crate::wire::json::{Value, json};

use super::row::{RPC, VariantRow, row};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput, each_envelope_list};
use crate::wire::spelling::walk;

/// Members of the host's messages whose value is a `serverSeq` number.
const NUMBERS: [&str; 2] = ["serverSeq", "fromSeq"];
/// The member in which a client states a `serverSeq` number to the host.
const LAST_SEEN: &str = "lastSeenServerSeq";

/// Maps `serverSeq` numbers to other numbers in the same order.
struct RenumberedSequence {
    there: fn(u64) -> u64,
    back: fn(u64) -> u64,
}

fn renumber(message: &mut Value, there: fn(u64) -> u64) {
    walk(message, &mut |value| {
        let Value::Object(members) = value else { return };
        for name in NUMBERS {
            if let Some(number) = members.get_mut(name)
                && let Some(seq) = number.as_u64()
            {
                *number = json!(there(seq));
            }
        }
    });
}

fn number_back(message: &mut Value, back: fn(u64) -> u64) {
    let last = message.get_mut("params").and_then(|params| params.get_mut(LAST_SEEN));
    if let Some(number) = last
        && let Some(seq) = number.as_u64()
    {
        *number = json!(back(seq));
    }
}

impl MessageRewriter for RenumberedSequence {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        number_back(message, self.back);
        None
    }

    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        renumber(&mut message, self.there);
        out.send(message);
    }
}

/// Splits each action that appends text into two actions.
struct SplitText;

/// The types of the actions that append text.
const PIECES: [&str; 2] = ["chat/delta", "chat/reasoning"];

/// Splits an envelope that appends at least two characters into two envelopes.
fn split(envelope: &Value) -> Option<[Value; 2]> {
    let action = envelope.get("action")?;
    let named = action["type"].as_str().is_some_and(|name| PIECES.contains(&name));
    // The echo of a client's action has to be unchanged.
    let own = envelope.get("origin").is_none_or(Value::is_null);
    let content = action["content"].as_str().filter(|_| named && own)?;
    let (place, _) = content.char_indices().nth(content.chars().count() / 2)?;
    let (first, second) = content.split_at(place);
    if first.is_empty() {
        return None;
    }
    let seq = envelope["serverSeq"].as_u64()?;
    let piece = |text: &str, seq: u64| {
        let mut piece = envelope.clone();
        piece["action"]["content"] = json!(text);
        piece["serverSeq"] = json!(seq);
        piece
    };
    // The renumbering doubles the sequence numbers, so the odd number before each of them is unused.
    Some([piece(first, seq - 1), piece(second, seq)])
}

impl MessageRewriter for SplitText {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        number_back(message, |seq| seq / 2);
        // A host may ignore the delivery options. If it merged deltas, the deltas of one subscriber would be split
        // differently from the deltas of the others.
        if message["method"] == "subscribe"
            && let Some(params) = message.get_mut("params").and_then(Value::as_object_mut)
        {
            params.remove("delivery");
        }
        None
    }

    fn on_host_message(
        &mut self,
        _: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        renumber(&mut message, |seq| seq * 2);
        if let Some(pieces) = message.get("params").and_then(split) {
            for piece in pieces {
                let mut one = message.clone();
                one["params"] = piece;
                out.send(one);
            }
            return;
        }
        each_envelope_list(&mut message, &mut |replayed| {
            let all = std::mem::take(replayed).into_iter();
            *replayed = all
                .flat_map(|envelope| match split(&envelope) {
                    Some(pieces) => Vec::from(pieces),
                    None => vec![envelope],
                })
                .collect();
        });
        out.send(message);
    }
}

/// Delays messages to clients.
struct HostDelayedMessages {
    /// A function that returns the delay of a message in milliseconds.
    millis: fn(&mut Dice, &MessageLink<'_>) -> u64,
    dice: Dice,
}

impl MessageRewriter for HostDelayedMessages {
    fn delay(&mut self, link: &MessageLink<'_>, _: &Value) -> Duration {
        Duration::from_millis((self.millis)(&mut self.dice, link))
    }
}

fn late(millis: fn(&mut Dice, &MessageLink<'_>) -> u64) -> Box<dyn MessageRewriter> {
    Box::new(HostDelayedMessages { millis, dice: Dice::seeded(1) })
}

/// Delays responses so that later messages overtake them.
struct OvertakenResponses {
    /// The methods whose responses are delayed. The results of these methods do not affect the state of a
    /// channel.
    methods: &'static [&'static str],
    delay: Duration,
}

impl MessageRewriter for OvertakenResponses {
    fn overtaken(&self, link: &MessageLink<'_>) -> Option<Duration> {
        let method = link.answers?;
        self.methods.contains(&method).then_some(self.delay)
    }
}

const SEQUENCE: &str = "docs/specification/state-model.md › Sequence numbers";
const ORDER: &str = "docs/specification/transport.md › Requirements";
const TIME: &str =
    "The specification states no time limit; messages on one connection keep their order.";
const OVERTAKEN: &str = "JSON-RPC does not relate the order of responses to the order of requests.";

/// The variants of `serverSeq` numbers, splits of text, delays, and the order of responses.
pub(super) const ROWS: &[VariantRow] = &[
    row(
        "numbers-with-gaps",
        "Each `serverSeq` is seven more than the previous one.",
        "`serverSeq` increases monotonically; the specification does not exclude gaps.",
        SEQUENCE,
        || Box::new(RenumberedSequence { there: |seq| seq * 7, back: |seq| seq / 7 }),
    ),
    row(
        "numbers-from-high",
        "`serverSeq` begins at 2 to the power of 40.",
        "`serverSeq` increases monotonically; where it begins is not specified.",
        SEQUENCE,
        || {
            const HIGH: u64 = 1 << 40;
            let back = |seq: u64| seq.saturating_sub(HIGH);
            Box::new(RenumberedSequence { there: |seq| seq + HIGH, back })
        },
    ),
    row(
        "text-in-small-pieces",
        "Each text delta is sent as two deltas.",
        "How text is divided into deltas is not specified.",
        "docs/specification/chat-channel.md › Streaming",
        || Box::new(SplitText),
    ),
    row("jitter", "Each message has a random delay of up to 40 milliseconds.", TIME, ORDER, || {
        late(|dice, _| dice.roll() % 40)
    }),
    row("high-latency", "Each message has a delay of 250 milliseconds.", TIME, ORDER, || {
        late(|_, _| 250)
    }),
    row(
        "sent-in-bursts",
        "Messages are collected and sent together, five times a second.",
        TIME,
        ORDER,
        || {
            late(|_, link| {
                let millis = link.now.as_millis() % 200;
                200 - u64::try_from(millis).unwrap_or_default()
            })
        },
    ),
    row(
        "a-slow-client",
        "Every second connection is 300 milliseconds behind the others.",
        TIME,
        ORDER,
        || late(|_, link| if link.conn.0 % 2 == 1 { 300 } else { 0 }),
    ),
    row("slow-answers", "Each response has a delay of 800 milliseconds.", TIME, ORDER, || {
        late(|_, link| if link.answers.is_some() { 800 } else { 0 })
    }),
    row(
        "slow-notifications",
        "Each notification has a delay of 300 milliseconds.",
        TIME,
        ORDER,
        || late(|_, link| if link.answers.is_none() { 300 } else { 0 }),
    ),
    row(
        "late-pongs",
        "Responses to `ping` are overtaken by messages of the next 200 milliseconds.",
        OVERTAKEN,
        RPC,
        || {
            let delay = Duration::from_millis(200);
            Box::new(OvertakenResponses { methods: &["ping"], delay })
        },
    ),
    row(
        "late-files",
        "Responses about resources and completions are overtaken by messages of the next 200 milliseconds.",
        OVERTAKEN,
        RPC,
        || {
            let methods = &[
                "resourceRead",
                "resourceList",
                "resourceResolve",
                "resourceWrite",
                "resourceDelete",
                "resourceCopy",
                "resourceMove",
                "resourceMkdir",
                "completions",
                "resolveSessionConfig",
                "sessionConfigCompletions",
            ];
            Box::new(OvertakenResponses { methods, delay: Duration::from_millis(200) })
        },
    ),
    row(
        "late-creations",
        "Responses to the creation of sessions, chats and terminals are overtaken by messages of the next 200 milliseconds.",
        "`root/sessionAdded` may come before or after the response; JSON-RPC sets no order.",
        "docs/specification/session-channel.md › Lifecycle",
        || {
            let methods = &["createSession", "createChat", "createTerminal"];
            Box::new(OvertakenResponses { methods, delay: Duration::from_millis(200) })
        },
    ),
    row(
        "late-lists",
        "Responses to `listSessions` are overtaken by messages of the next 200 milliseconds.",
        OVERTAKEN,
        RPC,
        || {
            let delay = Duration::from_millis(200);
            Box::new(OvertakenResponses { methods: &["listSessions"], delay })
        },
    ),
];
