//! The turns that the scripted agent works on: for each chat, the operations that are left and the events that
//! the agent waits for.
//!
//! A turn is one run with a main track, and one more track for each call of a parallel group. A track is a queue
//! of small operations. Each operation takes [`STEP`] of virtual time.
//!
//! Owns: the runs and their tracks. Knows: operations. Never knows: connections, states
//! ([`play`](super::play) executes the operations).
//!
//! Start at [`AgentRuns`].

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use litemap::LiteMap;

use super::agent::{HostAgentOp, HostAgentWait};

/// The time that the agent takes for one operation.
pub(super) const STEP: Duration = Duration::from_millis(2);

/// A queue of operations, the time of the next operation, and the event that the track waits for.
#[derive(Debug, Default)]
struct AgentTrack {
    ops: VecDeque<HostAgentOp>,
    due: Option<Duration>,
    wait: Option<HostAgentWait>,
}

impl AgentTrack {
    fn new(ops: VecDeque<HostAgentOp>, now: Duration) -> AgentTrack {
        AgentTrack { ops, due: Some(now + STEP), wait: None }
    }
}

/// The agent's work on one turn.
#[derive(Debug)]
struct AgentRun {
    turn: String,
    /// The tracks; the main track is the first.
    tracks: Vec<AgentTrack>,
    /// The names of the holds that were released.
    released: HashSet<String>,
    /// The context that the agent received in addition to the message.
    given: Vec<String>,
    /// The steering messages that the agent has received in this turn.
    steered: Vec<String>,
    /// Whether an injected fault makes the agent continue a cancelled turn.
    undead: bool,
}

impl AgentRun {
    /// Returns the time of the next operation; `None` if every track waits or has ended.
    fn due(&self) -> Option<Duration> {
        let ready = self.tracks.iter().filter(|track| track.wait.is_none());
        ready.filter_map(|track| track.due).min()
    }

    /// Returns whether every track except the main one has ended.
    fn alone(&self) -> bool {
        let done = |track: &AgentTrack| track.ops.is_empty() && track.wait.is_none();
        self.tracks.iter().skip(1).all(done)
    }
}

/// The next action of a track.
pub(super) enum TrackStep {
    /// Performs an operation of a turn.
    Perform { turn: String, op: HostAgentOp },
    /// The main track has ended, and with it the turn.
    EndTurn,
    /// A track other than the main one has ended.
    EndTrack,
}

/// The agent's runs, by the URI of the chat. A method does nothing, or returns `None`, for a chat without a run.
#[derive(Debug, Default)]
pub(super) struct AgentRuns {
    all: LiteMap<String, AgentRun>,
}

impl AgentRuns {
    /// Starts the work on a turn. `given` is the context that the agent receives in addition to the message.
    pub(super) fn start(
        &mut self,
        uri: &str,
        turn: &str,
        ops: VecDeque<HostAgentOp>,
        given: Vec<String>,
        now: Duration,
    ) {
        let run = AgentRun {
            turn: turn.to_owned(),
            tracks: vec![AgentTrack::new(ops, now)],
            released: HashSet::new(),
            given,
            steered: Vec::new(),
            undead: false,
        };
        self.all.insert(uri.to_owned(), run);
    }

    /// Ends the work on a turn and returns the id of the turn.
    pub(super) fn stop(&mut self, uri: &str) -> Option<String> {
        self.all.remove(uri).map(|run| run.turn)
    }

    /// Ends the work on a turn and returns the operations that its main track had left.
    pub(super) fn fail(&mut self, uri: &str) -> VecDeque<HostAgentOp> {
        let main = self.all.remove(uri).and_then(|run| run.tracks.into_iter().next());
        main.map(|track| track.ops).unwrap_or_default()
    }

    pub(super) fn stop_all(&mut self) {
        self.all.clear();
    }

    /// Ends the work in every chat that does not meet the condition.
    pub(super) fn stop_unless(&mut self, meets: impl Fn(&str) -> bool) {
        self.all.retain(|uri, _| meets(uri));
    }

    /// Returns the URIs of the chats that the agent works on.
    pub(super) fn uris(&self) -> impl Iterator<Item = &String> {
        self.all.keys()
    }

    /// Returns the id of the turn that the agent works on.
    pub(super) fn turn_of(&self, uri: &str) -> Option<&str> {
        self.all.get(uri).map(|run| run.turn.as_str())
    }

    /// Returns the time of the next operation of all runs.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.all.values().filter_map(AgentRun::due).min()
    }

    /// Returns the chats whose runs are due, in the order of their times.
    pub(super) fn due(&self, now: Duration) -> Vec<String> {
        let due = |(uri, run): (&String, &AgentRun)| {
            Some((run.due().filter(|at| *at <= now)?, uri.clone()))
        };
        let mut due: Vec<(Duration, String)> = self.all.iter().filter_map(due).collect();
        due.sort();
        due.into_iter().map(|(_, uri)| uri).collect()
    }

    /// Returns the number of tracks of a run.
    pub(super) fn tracks(&self, uri: &str) -> usize {
        self.all.get(uri).map_or(0, |run| run.tracks.len())
    }

    /// Schedules the next operation of a track that is due. Returns whether the track has reached the end of a
    /// step of its script; `None` if the track is not due.
    pub(super) fn begin_step(&mut self, uri: &str, index: usize, now: Duration) -> Option<bool> {
        let track = self.track(uri, index)?;
        if track.wait.is_some() || track.due.is_none_or(|due| due > now) {
            return None;
        }
        track.due = Some(now + STEP);
        Some(matches!(track.ops.front(), Some(HostAgentOp::Step(_)) | None))
    }

    /// Removes the next operation of a track. A track without operations has ended.
    pub(super) fn next_step(&mut self, uri: &str, index: usize) -> Option<TrackStep> {
        let run = self.all.get_mut(uri)?;
        let turn = run.turn.clone();
        let track = run.tracks.get_mut(index);
        let op = track.and_then(|track| track.ops.pop_front());
        Some(match op {
            Some(op) => TrackStep::Perform { turn, op },
            None if index == 0 => TrackStep::EndTurn,
            None => {
                if let Some(track) = run.tracks.get_mut(index) {
                    track.due = None;
                }
                TrackStep::EndTrack
            }
        })
    }

    /// Removes the next operation of a track if it meets the condition.
    pub(super) fn take_next_if(
        &mut self,
        uri: &str,
        index: usize,
        meets: impl Fn(&HostAgentOp) -> bool,
    ) -> Option<HostAgentOp> {
        let track = self.track(uri, index)?;
        track.ops.front().is_some_and(meets).then(|| track.ops.pop_front())?
    }

    /// Inserts operations at the front of a track.
    pub(super) fn queue(
        &mut self,
        uri: &str,
        index: usize,
        ops: impl IntoIterator<Item = HostAgentOp>,
    ) {
        if let Some(track) = self.track(uri, index) {
            let mut queue: VecDeque<HostAgentOp> = ops.into_iter().collect();
            queue.append(&mut track.ops);
            track.ops = queue;
        }
    }

    /// Replaces all tracks except the main one: each operation gets a track of its own.
    pub(super) fn branch(
        &mut self,
        uri: &str,
        ops: impl IntoIterator<Item = HostAgentOp>,
        now: Duration,
    ) {
        if let Some(run) = self.all.get_mut(uri) {
            run.tracks.truncate(1);
            let track = |op| AgentTrack::new(VecDeque::from([op]), now);
            run.tracks.extend(ops.into_iter().map(track));
        }
    }

    /// Drops all operations that are left, the tracks after the track `index`, and the wait of the main track.
    pub(super) fn cut_short(&mut self, uri: &str, index: usize) {
        if let Some(run) = self.all.get_mut(uri) {
            run.tracks.iter_mut().for_each(|track| track.ops.clear());
            run.tracks.truncate(index + 1);
            if let Some(main) = run.tracks.first_mut() {
                main.wait = None;
            }
        }
    }

    /// Makes a track wait for an event, unless an injected fault continues the run after the end of its turn.
    pub(super) fn hold_up(&mut self, uri: &str, index: usize, wait: HostAgentWait) {
        if self.is_undead(uri) {
            return;
        }
        if let Some(track) = self.track(uri, index) {
            track.wait = Some(wait);
        }
    }

    /// Sets the time of the next operation of a track.
    pub(super) fn delay(&mut self, uri: &str, index: usize, due: Duration) {
        if let Some(track) = self.track(uri, index) {
            track.due = Some(due);
        }
    }

    /// Resumes the tracks whose event has happened. `happened` decides about the events that depend on states.
    pub(super) fn wake(
        &mut self,
        uri: &str,
        now: Duration,
        happened: impl Fn(&HostAgentWait) -> bool,
    ) {
        let Some(run) = self.all.get_mut(uri) else {
            return;
        };
        let alone = run.alone();
        for track in &mut run.tracks {
            let over = match &track.wait {
                None => false,
                Some(HostAgentWait::Others) => alone,
                Some(HostAgentWait::Release(name)) => run.released.contains(name),
                Some(wait) => happened(wait),
            };
            if over {
                track.wait = None;
                track.due = Some(now + STEP);
            }
        }
    }

    /// Releases a hold by its name. Returns whether the chat has a run.
    pub(super) fn release(&mut self, uri: &str, name: String) -> bool {
        let run = self.all.get_mut(uri);
        run.map(|run| run.released.insert(name)).is_some()
    }

    /// Records a steering message that the agent has received.
    pub(super) fn steer(&mut self, uri: &str, text: String) {
        if let Some(run) = self.all.get_mut(uri) {
            run.steered.push(text);
        }
    }

    /// Returns the steering messages that the agent has received in this turn.
    pub(super) fn steered(&self, uri: &str) -> &[String] {
        self.all.get(uri).map_or(&[], |run| &run.steered)
    }

    /// Replaces the context that the agent received in addition to the message.
    pub(super) fn give(&mut self, uri: &str, given: Vec<String>) {
        if let Some(run) = self.all.get_mut(uri) {
            run.given = given;
        }
    }

    /// Returns the context that the agent received in addition to the message.
    pub(super) fn given(&self, uri: &str) -> &[String] {
        self.all.get(uri).map_or(&[], |run| &run.given)
    }

    /// Makes the agent continue after its turn was cancelled. Only an injected fault does this.
    pub(super) fn raise(&mut self, uri: &str) {
        if let Some(run) = self.all.get_mut(uri) {
            run.undead = true;
            run.tracks.iter_mut().for_each(|track| track.wait = None);
        }
    }

    /// Returns whether an injected fault makes the agent continue a cancelled turn.
    pub(super) fn is_undead(&self, uri: &str) -> bool {
        self.all.get(uri).is_some_and(|run| run.undead)
    }

    fn track(&mut self, uri: &str, index: usize) -> Option<&mut AgentTrack> {
        self.all.get_mut(uri)?.tracks.get_mut(index)
    }
}
