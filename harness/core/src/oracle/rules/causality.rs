//! Checks that effects follow their causes: the results of a client's action have a higher `serverSeq` and arrive later
//! than the action.
//!
//! Knows: dispatched turns. Never knows: states.

use std::sync::Arc;

use litemap::LiteMap;

use crate::wire::json::{Text, Value};

use crate::transcript::{ConnId, SeenFrame};

use crate::oracle::budget::short;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::step::{ActionDelivery, OracleStep};

/// Upper bound for the dispatched turns that are remembered until the host settles them; further turns are not judged.
const MAX_WAITING: usize = 1_024;

/// The turns that clients dispatched and that the host has neither accepted nor rejected yet.
#[derive(Default)]
pub(super) struct CausalityChecks {
    asked: LiteMap<(ChannelId, Text), AskedTurn>,
}

#[derive(Clone, Copy)]
struct AskedTurn {
    conn: ConnId,
    tick: u64,
    line: u64,
}

impl CheckFamily for CausalityChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Dispatched { seen, channel, sound: true, .. } => {
                self.ask(cx, seen, *channel);
            }
            OracleStep::Envelope(delivery) => self.answer(cx, delivery, out),
            OracleStep::Closed => {
                let conn = cx.now.conn;
                self.asked.retain(|_, asked| asked.conn != conn);
            }
            OracleStep::Restarted | OracleStep::Gap => self.asked.clear(),
            _ => {}
        }
    }
}

impl CausalityChecks {
    fn ask(&mut self, cx: &OracleContext, seen: &Arc<SeenFrame>, channel: ChannelId) {
        let params = seen.message().map(|message| message.params());
        let action = params.and_then(|params| params.get("action"));
        let Some(turn) = action.filter(|it| starts_turn(it)).and_then(turn_of) else {
            return;
        };
        // If the chat already has this turn, its effects may come first.
        let fold = cx.folded(channel);
        let active = fold.and_then(|fold| fold.state.get("activeTurn")?.get("id")?.as_str());
        if active != Some(turn) && self.asked.len() < MAX_WAITING {
            let asked = AskedTurn { conn: cx.now.conn, tick: cx.now.tick, line: cx.now.line };
            self.asked.insert((channel, Text::from(short(turn))), asked);
        }
    }

    /// Judges whether the action that starts a turn reaches its client before other actions of the turn.
    /// Invariant C8.
    fn answer(&mut self, cx: &OracleContext, delivery: &ActionDelivery<'_>, out: &mut FindingSink) {
        if self.asked.is_empty() {
            return;
        }
        let Some(turn) = turn_of(delivery.envelope.action) else {
            return;
        };
        let key = (delivery.channel, Text::from(short(turn)));
        let Some(asked) = self.asked.get(&key).copied() else {
            return;
        };
        if starts_turn(delivery.envelope.action) {
            out.seen(Rule::EchoFirst);
            self.asked.remove(&key);
            return;
        }
        let sub = cx.conns.get(&asked.conn).and_then(|conn| conn.subs.get(&delivery.channel));
        let follows = sub.is_some_and(|sub| sub.certain && sub.tick < asked.tick);
        if cx.now.conn != asked.conn || delivery.envelope.origin.is_some() || !follows {
            return;
        }
        self.asked.remove(&key);
        // The id may belong to an earlier turn, which may still receive actions. Only a folded state can show this.
        let fold = cx.followed(delivery.channel);
        let turns = fold.and_then(|fold| fold.state.get("turns")?.as_array());
        let id = |known: &Value| known.get("id").and_then(Value::as_str) == Some(turn);
        if turns.is_none_or(|turns| turns.iter().any(id)) {
            return;
        }
        let message = format!(
            "expected the turn `{turn}` to be accepted before other actions about it arrive, found \
             `{}` first",
            delivery.envelope.action_type
        );
        out.broken(Rule::EchoFirst, message, &[asked.line, cx.now.line]);
    }
}

/// Judges whether an accepted action has a greater `serverSeq` than every action that was received before its dispatch.
/// `floor` is the highest `serverSeq` of these earlier actions, with its line. Invariant A11.
pub(super) fn above(
    cx: &OracleContext,
    delivery: &ActionDelivery<'_>,
    floor: Option<(u64, u64)>,
    dispatch_line: u64,
    out: &mut FindingSink,
) {
    let Some((floor, line)) = floor.filter(|_| !delivery.envelope.rejected) else {
        return;
    };
    out.seen(Rule::Causal);
    let seq = delivery.envelope.seq;
    if seq <= floor {
        let message = format!(
            "expected a `serverSeq` above {floor}, which the client had received before it \
             dispatched `{}`, found {seq}",
            delivery.envelope.action_type
        );
        out.broken(Rule::Causal, message, &[line, dispatch_line, cx.now.line]);
    }
}

fn starts_turn(action: &Value) -> bool {
    let name = action.get("type").and_then(Value::as_str);
    matches!(name, Some("chat/turnStarted" | "session/turnStarted"))
}

fn turn_of(action: &Value) -> Option<&str> {
    action.get("turnId")?.as_str()
}
