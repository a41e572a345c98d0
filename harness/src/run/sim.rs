//! A case against a host engine, in memory and in virtual time: no sockets, no waiting, and every
//! time the same.

use std::time::Duration;

use crate::host::engine::Config;
use crate::host::{Host, Output as HostOutput};
use crate::scenario::parse::Scenario;

use super::case::Output;
use super::play::{Play, Verdict};

/// Rounds after which a play is ended: a host engine that never rests would go on for ever.
const MAX_ROUNDS: u32 = 1_000_000;

/// The settings of a reference host of a scenario's own, those that the scenario asks for included.
pub fn settings(scenario: &Scenario, seed: u64, epoch: Duration) -> Config {
    let mut config = Config {
        seed,
        epoch_ms: u64::try_from(epoch.as_millis()).unwrap_or_default(),
        ..Config::default()
    };
    for (name, value) in &scenario.host {
        if name == "replayCapacity" {
            config.replay_capacity = usize::try_from(*value).unwrap_or(usize::MAX);
        }
    }
    config
}

/// Plays to the end.
pub fn play(mut play: Play, host: &mut dyn Host) -> Verdict {
    let mut now = Duration::ZERO;
    play.begin(now);
    for _ in 0..MAX_ROUNDS {
        let moved = to_host(&mut play, host, now) | to_case(&mut play, host, now);
        if moved {
            continue;
        }
        if play.is_over() {
            break;
        }
        let Some(next) = [play.next_timeout(), host.next_timeout()].into_iter().flatten().min()
        else {
            break;
        };
        now = now.max(next);
        if host.next_timeout().is_some_and(|at| at <= now) {
            host.handle_timeout(now);
        }
        // What the host did at this very moment arrives before the wait for it is over.
        while to_case(&mut play, host, now) {
            to_host(&mut play, host, now);
        }
        play.timeout(now);
    }
    play.finish()
}

fn to_host(play: &mut Play, host: &mut dyn Host, now: Duration) -> bool {
    let mut moved = false;
    while let Some(output) = play.poll_output(now) {
        moved = true;
        match output {
            Output::Open { conn, .. } => {
                host.handle_open(now, conn);
                play.opened(now, conn);
            }
            Output::Send { conn, seen } => host.handle_frame(now, conn, &seen.frame),
            Output::Close { conn, .. } => host.handle_close(now, conn),
            Output::Restart => {
                host.restart(now);
                play.restarted(now, Ok(()));
            }
            // The reference host's agent is released in band.
            Output::Release(_) => {}
        }
    }
    moved
}

/// One thing at a time, as over sockets: what the case makes of it goes out before the next.
fn to_case(play: &mut Play, host: &mut dyn Host, now: Duration) -> bool {
    let Some(output) = host.poll_output() else {
        return false;
    };
    match output {
        HostOutput::Send { conn, frame } => play.frame(now, conn, frame),
        HostOutput::Close { conn, code, reason } => {
            play.closed(now, conn, Some(code), &reason);
            host.handle_close(now, conn);
        }
    }
    true
}
