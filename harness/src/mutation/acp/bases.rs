//! Creates correct conversations with the reference agent: plays the suite against the agent and its legal variants.
//!
//! Knows: the simulation, variants. Never knows: the use of the captures.
//!
//! Start at [`clean`].

use std::time::Duration;

use crate::agent::acp::AgentConfig;
use crate::agent::acp::variant::AGENT_VARIANTS;
use crate::host::subject::AgentSubject;
use crate::run::suite::ScenarioSuite;
use crate::run::{agents, sim};
use crate::transcript::line::TranscriptLine;
use crate::transcript::{BelowEvent, ConnectionEvent, SeenFrame};
use crate::verdict::Weight;
use crate::wire::json::{Value, json};
use crate::wire::message::Message;
use crate::wire::version::Version;

use super::super::bases::{BaseOptions, LineRecorder};
use super::super::capture::MutableCapture;

/// The minimum number of lines of a conversation. Shorter conversations test nothing.
const LEAST: usize = 4;
/// The times at which further requests are added at the end, in seconds after the agent's last frame: first when the
/// agent is idle, then when every deadline has passed.
const HEARD: [u64; 2] = [2, 13];
/// The identifier of the first request that is added at the end.
const FIRST_IDLE: i64 = 7_000_001;
/// The number of scenarios that are played with each variant. Different variants get different scenarios.
const OF_EACH: usize = 2;

/// Returns captures in which the checks find nothing above a note: each scenario as it was played, and a second time
/// with further requests at the end. The agent without variants plays all scenarios. Each of the first `drawn` variants
/// of the agent plays two scenarios.
pub fn clean(options: BaseOptions) -> Vec<MutableCapture> {
    let suite = ScenarioSuite::carried();
    let entries = agents::playable(&suite);
    let mut captures = Vec::new();
    for entry in entries.iter().step_by(options.part.max(1)) {
        captures.extend(played(entry, &[], &entry.scenario.id));
    }
    let drawn = usize::try_from(options.drawn).unwrap_or(usize::MAX);
    for (number, variant) in AGENT_VARIANTS.iter().enumerate().take(drawn) {
        for round in 0..OF_EACH {
            let place = (number * OF_EACH + round) * 31 % entries.len().max(1);
            let Some(entry) = entries.get(place) else { continue };
            let name = format!("{}#{}", entry.scenario.id, variant.name);
            captures.extend(played(entry, &[variant], &name));
        }
    }
    captures.retain(is_clean);
    captures
}

fn played(
    entry: &crate::run::suite::SuiteEntry,
    variants: &[&'static crate::agent::acp::variant::AgentVariantRow],
    name: &str,
) -> [MutableCapture; 2] {
    let keeping = LineRecorder::with_tools();
    let mut agent = AgentSubject::varied(AgentConfig::default(), variants);
    let side = sim::side(Some(Version::ACP_1));
    agents::play_recorded(entry, &mut agent, side, Box::new(keeping.clone()));
    let lines = keeping.lines();
    let capture = |name: String, lines| MutableCapture::new(name, Some(Version::ACP_1), lines);
    let later = heard_later(&lines);
    [capture(name.to_owned(), lines), capture(format!("{name}#later"), later)]
}

/// Converts a capture of another recorder to a conversation with an agent: lines between the host and the agent become
/// the sent and received lines of a client.
pub fn of_agents(capture: &mut MutableCapture) {
    capture.assume = Some(Version::ACP_1);
    for line in &mut capture.lines {
        line.event = match &line.event {
            ConnectionEvent::Below { way: BelowEvent::ToAgent, seen } => {
                ConnectionEvent::Sent(seen.clone())
            }
            ConnectionEvent::Below { way: BelowEvent::FromAgent, seen } => {
                ConnectionEvent::Received(seen.clone())
            }
            _ => continue,
        };
    }
}

/// Returns whether a capture can be changed into mutants: it is long enough, and the checks find nothing above a note.
fn is_clean(capture: &MutableCapture) -> bool {
    capture.lines.len() >= LEAST
        && capture.judge().heaviest().is_none_or(|weight| weight < Weight::Should)
}

/// Returns the conversation without the `close` lines at its end, so that every connection stays open. At the end, the
/// client sends further requests with an unknown method, which the agent refuses.
fn heard_later(lines: &[TranscriptLine]) -> Vec<TranscriptLine> {
    let closes =
        lines.iter().rev().take_while(|line| matches!(line.event, ConnectionEvent::Closed { .. }));
    let mut kept = lines[..lines.len() - closes.count()].to_vec();
    let last = kept.last().map_or(Duration::ZERO, |line| line.at);
    let mut conns: Vec<String> = Vec::new();
    for line in &kept {
        match line.event {
            ConnectionEvent::Sent(_) if !conns.contains(&line.conn) => {
                conns.push(line.conn.clone())
            }
            ConnectionEvent::Closed { .. } => conns.retain(|conn| *conn != line.conn),
            _ => {}
        }
    }
    for (id, seconds) in (FIRST_IDLE..).zip(HEARD) {
        for conn in &conns {
            let at = last + Duration::from_secs(seconds);
            let line = |event| TranscriptLine { case: None, at, conn: conn.clone(), event };
            let ask = Message::request(id, "_harness/idle", json!({}));
            let refusal =
                Message::failure(json!(id), -32601, "there is no such method", Value::Null);
            kept.push(line(ConnectionEvent::Sent(SeenFrame::of(ask).into())));
            kept.push(line(ConnectionEvent::Received(SeenFrame::of(refusal).into())));
        }
    }
    kept
}
