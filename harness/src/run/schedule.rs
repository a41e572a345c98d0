//! Decides which scenario of a run begins next.
//!
//! The caller plays what [`RunSchedule::poll`] returns, and reports each end with [`RunSchedule::ended`]. A scenario
//! that needs the host for itself begins only when no other scenario is being played.
//!
//! Knows: the planned scenarios. Never knows: clocks, targets, reports.
//!
//! Start at [`RunSchedule::poll`].

use std::collections::VecDeque;

use crate::wire::foreign_text::ForeignText;
use crate::wire::version::Version;

use super::fuse::RunFuse;
use super::plan::{PlannedScenario, most_first};
use super::recent_weights::RecentWeights;

/// How the scenarios of a run are played.
#[derive(Clone, Debug)]
pub struct RunRules {
    /// The maximum number of scenarios that are played at the same time.
    pub jobs: usize,
    /// The number of times that each scenario is played.
    pub repeat: u16,
    /// The number of further attempts for a scenario that failed.
    pub retries: u16,
    /// Whether the scenarios that test the most severe rules come first, because the run may end early. The version
    /// decides how severe a rule is.
    pub most_severe_first: Option<Version>,
    /// The agent that a session of the host has by default; `None` if it is unknown.
    pub usual_agent: Option<ForeignText>,
}

/// A scenario in the queue.
#[derive(Clone, Debug)]
pub struct QueuedCase {
    /// The name from which the identifiers of the scenario are made. It differs for each round and attempt.
    pub name: String,
    /// The scenario.
    pub planned: PlannedScenario,
    /// The number of earlier attempts, all of which failed.
    pub attempts: u16,
    /// Whether the scenario needs the host for itself.
    alone: bool,
}

/// What the caller does next.
#[derive(Debug)]
pub enum RunStep {
    /// Begin this scenario, under this number, and ask again.
    Begin(u32, Box<QueuedCase>),
    /// Wait for the end of a scenario.
    Wait,
    /// All scenarios have ended.
    Over,
}

/// The schedule of a run.
#[derive(Debug)]
pub struct RunSchedule {
    rules: RunRules,
    queue: VecDeque<QueuedCase>,
    /// The number of scenarios that are being played.
    playing: usize,
    /// Whether the scenario that is being played needs the host for itself.
    alone: bool,
    next_case: u32,
    fuse: RunFuse,
    weights: RecentWeights,
}

impl RunSchedule {
    /// Creates the schedule of a run. `plays_alone` says which scenarios need the host for themselves; they come last,
    /// so that they delay no other scenario.
    pub fn new(
        rules: RunRules,
        planned: &[PlannedScenario],
        plays_alone: impl Fn(&PlannedScenario) -> bool,
    ) -> RunSchedule {
        let ordered = match rules.most_severe_first {
            Some(version) => most_first(planned, version),
            None => planned.iter().collect(),
        };
        let (last, first): (Vec<&PlannedScenario>, Vec<&PlannedScenario>) =
            ordered.into_iter().partition(|planned| plays_alone(planned));
        let mut queue = VecDeque::new();
        for round in 0..rules.repeat {
            for (alone, planned) in [(false, &first), (true, &last)] {
                for planned in planned.iter().copied() {
                    let mut name = rules.name_of(planned);
                    if round > 0 {
                        name = format!("{name}#{}", round + 1);
                    }
                    queue.push_back(QueuedCase {
                        name,
                        planned: planned.clone(),
                        attempts: 0,
                        alone,
                    });
                }
            }
        }
        let fuse = RunFuse::default();
        let weights = RecentWeights::default();
        RunSchedule { rules, queue, playing: 0, alone: false, next_case: 0, fuse, weights }
    }

    /// Returns what to do next.
    pub fn poll(&mut self) -> RunStep {
        let Some(first) = self.queue.front() else {
            return if self.playing == 0 { RunStep::Over } else { RunStep::Wait };
        };
        let waits = self.playing > 0 && (self.alone || first.alone);
        if waits || self.playing >= self.weights.fitting(self.rules.jobs) {
            return RunStep::Wait;
        }
        let Some(queued) = self.queue.pop_front() else { return RunStep::Wait };
        self.alone = queued.alone;
        self.playing += 1;
        RunStep::Begin(self.number(), Box::new(queued))
    }

    /// Returns a number for a scenario that the caller begins by itself.
    pub fn number(&mut self) -> u32 {
        self.next_case += 1;
        self.next_case - 1
    }

    /// Records that a scenario has ended, or was not played.
    pub fn ended(&mut self) {
        self.playing = self.playing.saturating_sub(1);
    }

    /// Records whether a scenario completed a handshake, and the weight of the frames that it received, in bytes.
    pub fn saw(&mut self, shook_hands: bool, weight: u64) {
        self.fuse.saw(shook_hands);
        self.weights.add(weight);
    }

    /// Returns why no further scenario is played; `None` if the run continues.
    pub fn blown(&self) -> Option<String> {
        self.fuse.blown()
    }

    /// Queues a failed scenario again if it has attempts left. Returns the number of attempts that have failed; `None`
    /// if no attempt is left.
    pub fn retry(&mut self, failed: &QueuedCase) -> Option<u16> {
        let QueuedCase { planned, attempts, alone, .. } = failed;
        if *attempts >= self.rules.retries {
            return None;
        }
        let attempts = attempts + 1;
        let name = format!("{}~{attempts}", self.rules.name_of(planned));
        let planned = planned.clone();
        self.queue.push_back(QueuedCase { name, planned, attempts, alone: *alone });
        Some(attempts)
    }
}

impl RunRules {
    /// Returns the name from which the identifiers of a scenario are made: the name of the scenario, followed by the
    /// position of the agent unless it is the default agent. The agent's name is not used, because the host chooses
    /// that name.
    fn name_of(&self, planned: &PlannedScenario) -> String {
        let id = &planned.entry.scenario.id;
        let usual = self.usual_agent.as_ref().map(ForeignText::raw);
        match planned.agent.as_ref().filter(|agent| Some(agent.provider.as_str()) != usual) {
            Some(agent) => format!("{id}@{}", agent.place),
            None => id.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::plan::SkipCause;
    use crate::run::suite::ScenarioSuite;

    fn planned(count: usize) -> Vec<PlannedScenario> {
        let suite = ScenarioSuite::carried();
        let cause = SkipCause::default();
        let entries = suite.entries.iter().take(count).cloned();
        entries.map(|entry| PlannedScenario { entry, skip: None, agent: None, cause }).collect()
    }

    fn rules(jobs: usize) -> RunRules {
        let (repeat, retries) = (1, 0);
        RunRules { jobs, repeat, retries, most_severe_first: None, usual_agent: None }
    }

    /// Returns the names of the scenarios that begin now.
    fn begun(schedule: &mut RunSchedule) -> Vec<String> {
        let mut names = Vec::new();
        while let RunStep::Begin(_, queued) = schedule.poll() {
            names.push(queued.name);
        }
        names
    }

    #[test]
    fn scenarios_with_much_traffic_are_played_one_at_a_time() {
        let planned = planned(16);
        let mut schedule = RunSchedule::new(rules(4), &planned, |_| false);
        assert_eq!(begun(&mut schedule).len(), 4);
        let mut end = |weight: u64| {
            schedule.ended();
            schedule.saw(true, weight);
            begun(&mut schedule).len()
        };
        // With 30 MiB in one scenario, no further scenario begins until no other is being played.
        assert_eq!([end(30 << 20), end(0), end(0), end(0)], [0, 0, 0, 1]);
        // The heavy scenario is forgotten after eight others.
        assert_eq!([end(0), end(0), end(0), end(0), end(0)], [1, 1, 1, 1, 4]);
    }

    #[test]
    fn a_scenario_that_needs_the_host_for_itself_comes_last_and_alone() {
        let planned = planned(3);
        let ids: Vec<String> = planned.iter().map(|it| it.entry.scenario.id.clone()).collect();
        let alone = |it: &PlannedScenario| it.entry.scenario.id == ids[0];
        let mut schedule = RunSchedule::new(RunRules { repeat: 2, ..rules(3) }, &planned, alone);
        assert_eq!(begun(&mut schedule), ids[1..]);
        schedule.ended();
        assert!(begun(&mut schedule).is_empty());
        schedule.ended();
        assert_eq!(begun(&mut schedule), ids[..1]);
        schedule.ended();
        assert_eq!(begun(&mut schedule), [format!("{}#2", ids[1]), format!("{}#2", ids[2])]);
        schedule.ended();
        schedule.ended();
        assert_eq!(begun(&mut schedule), [format!("{}#2", ids[0])]);
        assert!(matches!(schedule.poll(), RunStep::Wait));
        schedule.ended();
        assert!(matches!(schedule.poll(), RunStep::Over));
    }

    #[test]
    fn a_failed_scenario_has_as_many_attempts_as_the_user_wants() {
        let planned = planned(1);
        let mut schedule =
            RunSchedule::new(RunRules { retries: 2, ..rules(1) }, &planned, |_| false);
        let mut names = Vec::new();
        while let RunStep::Begin(number, queued) = schedule.poll() {
            names.push((number, queued.name.clone()));
            schedule.ended();
            schedule.retry(&queued);
        }
        let id = &planned[0].entry.scenario.id;
        assert_eq!(names, [(0, id.clone()), (1, format!("{id}~1")), (2, format!("{id}~2"))]);
    }
}
