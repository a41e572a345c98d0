//! Plays the scenarios of a run in the order of their schedule, and handles outages of the host.
//!
//! The results of the scenarios that were in progress when the host stopped are not used. The host is restarted,
//! and these scenarios are played again, one at a time, as [`lone_trial`](super::lone_trial) describes. If no single
//! scenario stops the host, the scenarios are played together again, and then in pairs.
//!
//! A host may stop a moment after the scenario that causes the outage. The result of a scenario is therefore reported
//! only after the host has kept running for a while. This way, no scenario has two results.
//!
//! Knows: the schedule, the target, the reports. Never knows: rules, which scenario begins next.
//!
//! Start at [`ScenarioScheduler::play`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::report::baseline::FailureBaseline;
use crate::report::event::{CaseReport, RunHeader};
use crate::report::outage::{HostOutage, VoidCase};
use crate::run::client_sim;
use crate::run::driver::INTERRUPTED;
use crate::run::plan::{self, PlannedScenario};
use crate::run::play::{ScenarioPlay, ScenarioVerdict};
use crate::run::recent::{RECENT, RecentResults};
use crate::run::schedule::{QueuedCase, RunRules, RunSchedule, RunStep};
use crate::run::sim;
use crate::run::suite::SuiteEntry;
use crate::verdict::Status;

use super::interrupt::{TimeBudget, ended_by, interrupts};
use super::lone_trial::{GRACE, HostWatch, LonePlayer, TrialResults, trials};
use super::play_target::{PlayTarget, plays_alone};
use super::reports::RunReports;
use super::run::RunArguments;
use super::target::embedded;

/// A scenario that was played.
pub(super) struct PlayedCase {
    queued: QueuedCase,
    report: CaseReport,
    shook_hands: bool,
    traffic_weight: u64,
    cut: bool,
}

impl PlayedCase {
    fn new(case: u32, queued: QueuedCase, verdict: &ScenarioVerdict) -> PlayedCase {
        let planned = &queued.planned;
        let report = CaseReport::of(case, &planned.entry, verdict).with(planned);
        let ScenarioVerdict { shook_hands, traffic_weight, cut, .. } = *verdict;
        PlayedCase { queued, report, shook_hands, traffic_weight, cut }
    }

    fn entry(&self) -> &SuiteEntry {
        &self.queued.planned.entry
    }
}

/// The scheduler that plays the scenarios of one run.
pub(super) struct ScenarioScheduler<'r, 'c> {
    run: &'r RunArguments,
    target: &'r PlayTarget,
    header: &'r RunHeader,
    baseline: &'r mut FailureBaseline,
    reports: &'r mut RunReports<'c>,
    interrupted: watch::Receiver<bool>,
    stopped: watch::Receiver<bool>,
    budget: Option<TimeBudget>,
    /// The weight of the frames in all scenarios that ended.
    recorded: u64,
    schedule: RunSchedule,
    watch: HostWatch,
    began: Instant,
    /// The scenarios that ended last and whose results are not reported yet.
    recent: RecentResults<PlayedCase>,
}

impl<'r, 'c> ScenarioScheduler<'r, 'c> {
    pub(super) fn new(
        run: &'r RunArguments,
        target: &'r PlayTarget,
        header: &'r RunHeader,
        (baseline, reports): (&'r mut FailureBaseline, &'r mut RunReports<'c>),
        (planned, repeat): (&[PlannedScenario], u16),
        budget: Option<TimeBudget>,
    ) -> ScenarioScheduler<'r, 'c> {
        let rules = RunRules {
            jobs: target.jobs(run.jobs),
            repeat,
            retries: run.retries,
            // With a time budget, the run may end early.
            most_severe_first: run.is_in_a_hurry().then_some(header.version),
            usual_agent: header.provider.clone(),
        };
        let schedule = RunSchedule::new(rules, planned, |it| plays_alone(target, it));
        let interrupted = interrupts();
        let stopped = ended_by(interrupted.clone(), budget);
        let remote = match target {
            PlayTarget::Remote(remote, _) => Some(Arc::clone(remote)),
            _ => None,
        };
        let (limit, answered) =
            (Duration::from_millis(header.limit_ms), !header.versions.is_empty());
        let watch = HostWatch::new(remote, &header.offers, limit, answered, stopped.clone());
        ScenarioScheduler {
            run,
            target,
            header,
            baseline,
            reports,
            interrupted,
            stopped,
            budget,
            recorded: 0,
            schedule,
            watch,
            began: Instant::now(),
            recent: RecentResults::default(),
        }
    }

    /// Plays all scenarios. Returns whether the user interrupted the run.
    pub(super) async fn play(mut self) -> bool {
        let mut playing: JoinSet<PlayedCase> = JoinSet::new();
        self.watch.ready().await;
        loop {
            match self.schedule.poll() {
                RunStep::Begin(case, queued) => {
                    let before = playing.len();
                    if !self.begin(case, *queued, &mut playing).await {
                        self.tell_recent(Duration::ZERO);
                        return false;
                    }
                    if playing.len() == before {
                        self.schedule.ended();
                    }
                    continue;
                }
                RunStep::Over => break,
                RunStep::Wait => {}
            }
            let Ok(ended) = tokio::time::timeout(RECENT, playing.join_next()).await else {
                self.tell_recent(RECENT);
                continue;
            };
            match ended {
                Some(Ok(played)) => {
                    self.schedule.ended();
                    self.saw(&played);
                    match self.outage(&played).await {
                        None if self.retries(&played) => {}
                        None => self.report(played),
                        Some(what) => {
                            let struck = self.drained(played, &mut playing).await;
                            self.after_outage(what, struck).await;
                        }
                    }
                }
                Some(Err(error)) => {
                    self.schedule.ended();
                    self.died(&error);
                }
                None => {}
            }
        }
        self.last_look().await;
        self.tell_recent(Duration::ZERO);
        *self.interrupted.borrow()
    }

    /// Checks whether the host still answers after the last scenarios.
    async fn last_look(&mut self) {
        if !self.watch.is_outside() || self.watch.gone().is_some() || self.recent.is_empty() {
            return;
        }
        tokio::time::sleep(GRACE).await;
        if let Some(what) = self.watch.trouble(true).await {
            self.after_outage(what, Vec::new()).await;
        }
    }

    /// Begins a scenario, or reports why the scenario is not played. Returns whether the run can continue.
    async fn begin(
        &mut self,
        case: u32,
        queued: QueuedCase,
        playing: &mut JoinSet<PlayedCase>,
    ) -> bool {
        if let Some(reason) = queued.planned.skip.clone() {
            let report = CaseReport::skipped(case, &queued.planned, reason);
            self.reports.unplayed(report, self.baseline);
            return true;
        }
        if let Some((status, reason)) = self.unplayed() {
            let planned = &queued.planned;
            let report = CaseReport::unplayed(case, &planned.entry, status, reason).with(planned);
            self.reports.unplayed(report, self.baseline);
            return true;
        }
        let QueuedCase { name, planned, .. } = &queued;
        let entry = &planned.entry;
        let place = match self.run.place(self.target, entry, self.header, name.clone()).await {
            Ok(place) => place,
            Err(error) => {
                self.reports.fault(&format!("a scenario could not be prepared: {error}"));
                return false;
            }
        };
        let side = match &place {
            Some(place) => place.side(),
            None => sim::side(Some(self.header.version)),
        };
        let mut setup = self.run.setup(self.target, entry, self.header, name.clone(), &side);
        if let Some(place) = &place {
            setup.tested = place.tested();
        } else if entry.scenario.tested.is_some() {
            setup.tested = client_sim::in_memory();
        }
        if let Some(agent) = &planned.agent {
            setup.provider = Some(agent.provider.clone());
        }
        let recorder = self.reports.begin(case, planned, &setup);
        let play = ScenarioPlay::new(setup, self.header.shared, recorder);
        if let Some(place) = place {
            let stop = self.stopped.clone();
            playing.spawn(async move {
                let verdict = place.play(play, stop).await;
                PlayedCase::new(case, queued, &verdict)
            });
        } else {
            let verdict = embedded(play, entry, self.header);
            let report = CaseReport::of(case, entry, &verdict).with(planned);
            self.reports.case(report, self.baseline);
            tokio::task::yield_now().await;
        }
        true
    }

    /// Returns why a scenario is not played.
    fn unplayed(&self) -> Option<(Status, String)> {
        if *self.interrupted.borrow() {
            return Some((Status::Error, INTERRUPTED.to_owned()));
        }
        // The reports read all recorded frames again, and they have to be complete when the budget is over.
        let late = self.budget.is_some_and(|budget| !budget.allows_reports(self.recorded));
        if late || *self.stopped.borrow() {
            return Some((Status::Error, over(self.budget)));
        }
        let enough = self.run.enough(self.reports).map(|reason| (Status::Error, reason));
        let gone = self.watch.gone().map(|reason| (Status::Untested, reason.to_owned()));
        let blown = self.schedule.blown().map(|reason| (Status::Untested, reason));
        enough.or(gone).or(blown)
    }

    /// Receives the result of a scenario. The result is reported only after the host has kept running for a while; a
    /// result that ends the run is reported at once.
    fn report(&mut self, played: PlayedCase) {
        self.tell_recent(RECENT);
        let ends_the_run = self.run.fail_fast && played.report.status != Status::Pass;
        if !self.watch.is_outside() || ends_the_run {
            return self.tell(played);
        }
        if let Some(oldest) = self.recent.push(self.began.elapsed(), played) {
            self.tell(oldest);
        }
    }

    /// Reports the results of scenarios that ended at least `age` ago.
    fn tell_recent(&mut self, age: Duration) {
        for played in self.recent.older(self.began.elapsed(), age) {
            self.tell(played);
        }
    }

    fn tell(&mut self, played: PlayedCase) {
        let mut report = played.report;
        if played.queued.attempts > 0 && report.status == Status::Pass {
            report.flaky = Some(played.queued.attempts + 1);
        }
        if report.reason == INTERRUPTED && !*self.interrupted.borrow() {
            report.reason = over(self.budget).into();
        }
        self.reports.case(report, self.baseline);
    }

    /// Queues a failed scenario again if it has attempts left. The result of the failed attempt is then not used.
    fn retries(&mut self, played: &PlayedCase) -> bool {
        let broken = played.report.checks.iter().flat_map(|check| &check.findings);
        let broken = broken.map(|finding| finding.weight.broken()).any(|it| it == Status::Fail);
        let failed = matches!(played.report.status, Status::Fail | Status::Untested) || broken;
        if !failed || *self.stopped.borrow() {
            return false;
        }
        let Some(attempts) = self.schedule.retry(&played.queued) else { return false };
        let reason = format!("attempt {attempts} failed; it is played again");
        self.reports.void(&VoidCase { case: played.report.case, reason });
        true
    }

    fn died(&mut self, error: &tokio::task::JoinError) {
        self.reports.fault(&format!("the task that plays a scenario failed: {error}"));
    }

    fn saw(&mut self, played: &PlayedCase) {
        self.schedule.saw(played.shook_hands, played.traffic_weight);
        self.recorded += played.traffic_weight;
        self.watch.saw(played.shook_hands);
    }

    /// Describes the outage of the host, if there was one. Checks the host only if a scenario failed or a
    /// connection was closed.
    async fn outage(&mut self, played: &PlayedCase) -> Option<String> {
        let cut = self.watch.is_cut();
        let restarts = plan::restarts(&played.entry().scenario);
        if cut && restarts {
            self.watch.open_sentinel();
            self.watch.ready().await;
        }
        let well = !played.cut && (!cut || restarts) && played.report.failures().next().is_none();
        if well { None } else { self.watch.trouble(played.cut && !restarts).await }
    }

    /// Waits for all scenarios that are being played.
    async fn drained(
        &mut self,
        first: PlayedCase,
        playing: &mut JoinSet<PlayedCase>,
    ) -> Vec<PlayedCase> {
        let mut struck = vec![first];
        while let Some(next) = playing.join_next().await {
            self.schedule.ended();
            match next {
                Ok(played) => {
                    self.saw(&played);
                    struck.push(played);
                }
                Err(error) => self.died(&error),
            }
        }
        struck.sort_by_key(|played| played.report.case);
        struck
    }

    /// Restarts the host after an outage, and determines which of these scenarios causes the outage.
    async fn after_outage(&mut self, what: String, struck: Vec<PlayedCase>) {
        if !self.watch.recovered(&what).await {
            let reason = self.watch.gone().unwrap_or_default().to_owned();
            struck.iter().for_each(|played| self.unjudged(played, &reason));
            return;
        }
        let mut queued = Vec::new();
        for played in struck {
            self.void_case(played.report.case, &what);
            queued.push(played.queued);
        }
        let untold = self.recent.take();
        let recent = untold.iter().map(|played| played.queued.clone());
        let recent: Vec<QueuedCase> =
            recent.filter(|it| queued.iter().all(|other| other.name != it.name)).collect();
        let TrialResults { held, ended } = trials(self, &queued, &recent).await;
        for played in untold {
            match ended.iter().find(|(other, _)| other.queued.name == played.queued.name) {
                Some((_, what)) => self.void_case(played.report.case, what),
                None => self.tell(played),
            }
        }
        let blamed = !ended.is_empty();
        for (played, what) in ended {
            let outage = HostOutage { what, beside: Vec::new() };
            self.reports.case(played.report.charged(outage), self.baseline);
        }
        let culprits = match blamed || self.watch.gone().is_some() || held.len() < 2 {
            true => None,
            false => self.together(&queued).await,
        };
        if !blamed && culprits.is_none() && self.watch.gone().is_none() {
            let names = names(queued.iter().chain(&recent));
            self.reports.remark(&format!(
                "note: {what} when these scenarios were played, but the host survived each of them when it was played \
                 again alone: {names}"
            ));
        }
        for mut played in held {
            if let Some(reason) = self.watch.gone().filter(|_| played.cut).map(str::to_owned) {
                self.unjudged(&played, &reason);
                continue;
            }
            if let Some((what, names)) = &culprits
                && names.contains(&played.queued.name)
            {
                let beside = names.iter().filter(|name| **name != played.queued.name);
                let beside = beside.cloned().collect();
                played.report = played.report.charged(HostOutage { what: what.clone(), beside });
            }
            self.report(played);
        }
    }

    /// Reports a scenario whose result is not used.
    fn unjudged(&mut self, played: &PlayedCase, reason: &str) {
        let case = played.report.case;
        self.void_case(case, reason);
        let planned = &played.queued.planned;
        let report =
            CaseReport::unplayed(case, &planned.entry, Status::Untested, reason.to_owned());
        let report = report.with(planned);
        self.reports.unplayed(report, self.baseline);
    }

    fn void_case(&mut self, case: u32, reason: &str) {
        self.reports.void(&VoidCase { case, reason: reason.to_owned() });
    }

    /// Plays scenarios together to determine whether they stop the host, and then plays them in pairs. Returns
    /// the outage and the names of the scenarios.
    async fn together(&mut self, queued: &[QueuedCase]) -> Option<(String, Vec<String>)> {
        // Earlier trials could make the host stop, for example by their number of connections.
        self.watch.fresh().await;
        let all = self.at_once(queued).await?;
        self.watch.recovered(&all).await;
        for (place, one) in queued.iter().enumerate() {
            for other in &queued[place + 1..] {
                let pair = [one.clone(), other.clone()];
                if self.watch.gone().is_some() || queued.len() == 2 {
                    break;
                }
                self.watch.fresh().await;
                let Some(what) = self.at_once(&pair).await else { continue };
                self.watch.recovered(&what).await;
                if let Some(what) = self.at_once(&pair).await {
                    self.watch.recovered(&what).await;
                    return Some((what, pair.map(|it| it.name).to_vec()));
                }
            }
        }
        Some((all, queued.iter().map(|it| it.name.clone()).collect()))
    }

    /// Plays scenarios together and does not use their results. Returns the outage of the host, if there was
    /// one.
    async fn at_once(&mut self, queued: &[QueuedCase]) -> Option<String> {
        let mut playing = JoinSet::new();
        for next in queued {
            let case = self.schedule.number();
            self.begin(case, next.clone(), &mut playing).await;
        }
        let mut what = None;
        while let Some(next) = playing.join_next().await {
            let Ok(played) = next else { continue };
            let case = played.report.case;
            what = match what {
                None => self.outage(&played).await,
                found => found,
            };
            self.void_case(
                case,
                "it was played together with others to find the scenario that stops the host",
            );
        }
        what
    }
}

impl LonePlayer for ScenarioScheduler<'_, '_> {
    type Suspect = QueuedCase;
    type Played = PlayedCase;

    fn watch(&mut self) -> &mut HostWatch {
        &mut self.watch
    }

    async fn play_alone(&mut self, suspect: &QueuedCase) -> Option<PlayedCase> {
        let mut playing = JoinSet::new();
        let case = self.schedule.number();
        self.begin(case, suspect.clone(), &mut playing).await;
        match playing.join_next().await? {
            Ok(played) => Some(played),
            Err(error) => {
                self.died(&error);
                None
            }
        }
    }

    fn restarted(played: &PlayedCase) -> bool {
        plan::restarts(&played.entry().scenario)
    }

    fn took(played: &PlayedCase) -> Duration {
        Duration::from_millis(played.report.took_ms)
    }

    fn void(&mut self, played: &PlayedCase, reason: &str) {
        self.void_case(played.report.case, reason);
    }
}

fn names<'a>(queued: impl Iterator<Item = &'a QueuedCase>) -> String {
    let names: Vec<String> = queued.map(|it| format!("`{}`", it.name)).collect();
    names.join(", ")
}

/// Returns the reason to report for a scenario that was not finished within the time budget.
fn over(budget: Option<TimeBudget>) -> String {
    format!(
        "the budget of {:?} for the run was over (hint: `--budget`)",
        budget.map(|budget| budget.total).unwrap_or_default()
    )
}
