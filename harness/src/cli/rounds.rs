//! The order in which the scenarios of a run are played, and what happens when the host ends meanwhile.
//!
//! The result of a scenario that was being played when the host ended does not count. The host is restarted, and these
//! scenarios are played again, one at a time. A scenario during which the host ends again is played a third time, on a
//! fresh host, and is blamed only if the host ends once more: a host that ends by itself now and then must not be charged
//! to the scenario that happens to be playing. If no scenario ends the host alone, they are played together again, and then
//! in pairs.
//!
//! Knows: the target, the reports. Never knows: rules.
//!
//! Start at [`ScenarioScheduler::play`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::report::baseline::Baseline;
use crate::report::event::{CaseReport, Header};
use crate::report::outage::{HostOutage, VoidCase};
use crate::run::driver::INTERRUPTED;
use crate::run::plan::{self, Planned, most_first};
use crate::run::play::{Play, Verdict};
use crate::run::sentinel::SentinelConnection;
use crate::run::sim;
use crate::run::suite::Entry;
use crate::verdict::Status;
use crate::wire::foreign_text::ForeignText;
use crate::wire::version::Version;

use super::aim::Target;
use super::fuse::Fuse;
use super::interrupt::{ended_by, interrupts};
use super::reports::Reports;
use super::run::Run;
use super::target::{Remote, embedded, plays_alone};

/// After this many outages the rest is not played: a host that ends again and again would be restarted for hours.
const MAX_OUTAGES: u32 = 20;

/// The control for a host that ends by itself: an unused host is watched for as long as the scenario took plus `GRACE`, but
/// at most for `MAX_IDLE`.
const GRACE: Duration = Duration::from_millis(300);
const MAX_IDLE: Duration = Duration::from_secs(30);

/// Connections that a host closes at once may be noticed as closed within this time.
const TOGETHER: Duration = Duration::from_millis(50);
/// A scenario that ended at most this long ago is still suspected when the host ends; the number of scenarios remembered for
/// this.
const RECENT: Duration = Duration::from_secs(2);
const MAX_RECENT: usize = 16;

/// A scenario in the queue.
#[derive(Clone)]
struct QueuedCase {
    /// The id of the scenario; from the second round on, with `#` and the number of the round.
    name: String,
    planned: Planned,
    /// How often it was played before and did not hold.
    attempts: u16,
}

/// A scenario that was played.
struct PlayedCase {
    queued: QueuedCase,
    report: CaseReport,
    shook_hands: bool,
    cut: bool,
}

impl PlayedCase {
    fn new(case: u32, queued: QueuedCase, verdict: &Verdict) -> PlayedCase {
        let planned = &queued.planned;
        let report = CaseReport::of(case, &planned.entry, verdict).with(planned);
        PlayedCase { queued, report, shook_hands: verdict.shook_hands, cut: verdict.cut }
    }

    fn entry(&self) -> &Entry {
        &self.queued.planned.entry
    }
}

/// The result of playing a scenario alone.
enum LoneTrial {
    /// The host did not end, or it ends without the scenario, too.
    Outlived(Box<PlayedCase>),
    /// The host ended twice, and the report blames the scenario.
    Ended(Box<CaseReport>),
}

/// Plays the scenarios of one run.
pub(super) struct ScenarioScheduler<'r, 'c> {
    run: &'r Run,
    target: &'r Target,
    header: &'r Header,
    baseline: &'r mut Baseline,
    reports: &'r mut Reports<'c>,
    interrupted: watch::Receiver<bool>,
    stopped: watch::Receiver<bool>,
    budget: Option<Duration>,
    number: u32,
    fuse: Fuse,
    sentinel: Option<SentinelConnection>,
    /// When the sentinel was found closed while the scenarios' connections were not.
    cut_at: Option<Instant>,
    outages: u32,
    /// The scenarios that ended last, and when.
    recent: Vec<(Instant, QueuedCase)>,
    /// Why no further scenario is played, once the host could not be brought back.
    gone: Option<String>,
}

impl<'r, 'c> ScenarioScheduler<'r, 'c> {
    pub(super) fn new(
        run: &'r Run,
        target: &'r Target,
        header: &'r Header,
        (baseline, reports): (&'r mut Baseline, &'r mut Reports<'c>),
        due: Option<(Instant, Duration)>,
    ) -> ScenarioScheduler<'r, 'c> {
        let interrupted = interrupts();
        let stopped = ended_by(interrupted.clone(), due.map(|(due, _)| due));
        let mut rounds = ScenarioScheduler {
            run,
            target,
            header,
            baseline,
            reports,
            interrupted,
            stopped,
            budget: due.map(|(_, budget)| budget),
            number: 0,
            fuse: Fuse::default(),
            sentinel: None,
            cut_at: None,
            outages: 0,
            recent: Vec::new(),
            gone: None,
        };
        rounds.open_sentinel();
        rounds
    }

    /// Plays all scenarios. Returns whether the user interrupted the run.
    pub(super) async fn play(mut self, planned: &[Planned], repeat: u16) -> bool {
        let mut queue = self.queue(planned, repeat);
        let jobs = self.target.jobs(self.run.jobs);
        let mut playing: JoinSet<PlayedCase> = JoinSet::new();
        let mut alone = false;
        self.sentinel_ready().await;
        loop {
            while playing.len() < jobs {
                // A restart, for example, would close the connections of the other scenarios.
                let next = queue.front().is_some_and(|it| plays_alone(self.target, &it.planned));
                if !playing.is_empty() && (alone || next) {
                    break;
                }
                let Some(queued) = queue.pop_front() else { break };
                alone = next;
                if !self.begin(queued, &mut playing).await {
                    return false;
                }
            }
            match playing.join_next().await {
                Some(Ok(played)) => {
                    self.fuse.saw(played.shook_hands);
                    match self.outage(&played).await {
                        None => match self.retried(&played) {
                            Some(again) => queue.push_back(again),
                            None => self.report(played),
                        },
                        Some(what) => {
                            let struck = self.drained(played, &mut playing).await;
                            self.after_outage(what, struck).await;
                        }
                    }
                }
                Some(Err(error)) => self.died(&error),
                None if queue.is_empty() => break,
                None => {}
            }
        }
        self.last_look().await;
        *self.interrupted.borrow()
    }

    /// Looks whether the host still answers after the last scenarios.
    async fn last_look(&mut self) {
        if self.remote().is_none() || self.gone.is_some() || self.recent.is_empty() {
            return;
        }
        tokio::time::sleep(GRACE).await;
        if let Some(what) = self.host_trouble(true).await {
            self.after_outage(what, Vec::new()).await;
        }
    }

    fn queue(&self, planned: &[Planned], repeat: u16) -> VecDeque<QueuedCase> {
        // With a time budget, the scenarios that test most come first.
        let ordered = match self.run.is_in_a_hurry() {
            true => most_first(planned, self.header.version.parse().unwrap_or(Version::ACP_1)),
            false => planned.iter().collect(),
        };
        let (last, first): (Vec<&Planned>, Vec<&Planned>) =
            ordered.into_iter().partition(|planned| plays_alone(self.target, planned));
        let mut queue = VecDeque::new();
        for round in 0..repeat {
            for planned in first.iter().chain(&last).copied() {
                let mut name = self.name_of(planned);
                if round > 0 {
                    name = format!("{name}#{}", round + 1);
                }
                queue.push_back(QueuedCase { name, planned: planned.clone(), attempts: 0 });
            }
        }
        queue
    }

    /// The name that the ids of a scenario are made from. With the agent that sessions are created with anyway it is the
    /// scenario's; what another agent is called is for the host to choose, and is not in it.
    fn name_of(&self, planned: &Planned) -> String {
        let id = &planned.entry.scenario.id;
        let usual = self.header.provider.as_ref().map(ForeignText::raw);
        match planned.agent.as_ref().filter(|agent| Some(agent.provider.as_str()) != usual) {
            Some(agent) => format!("{id}@{}", agent.place),
            None => id.clone(),
        }
    }

    /// Begins a scenario, or reports why it is not played. Returns whether the run can go on.
    async fn begin(&mut self, queued: QueuedCase, playing: &mut JoinSet<PlayedCase>) -> bool {
        let case = self.number;
        self.number += 1;
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
                self.reports.fault(&format!("no place for a scenario: {error}"));
                return false;
            }
        };
        let side = match &place {
            Some(place) => place.side(),
            None => sim::side(self.header.version.parse().ok()),
        };
        let mut setup = self.run.setup(self.target, entry, self.header, name.clone(), &side);
        if let Some(agent) = &planned.agent {
            setup.provider = Some(agent.provider.clone());
        }
        let recorder = self.reports.begin(case, planned, &setup);
        let play = Play::new(setup, self.header.shared, recorder);
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

    /// Why a scenario is not played.
    fn unplayed(&self) -> Option<(Status, String)> {
        if *self.interrupted.borrow() {
            return Some((Status::Error, INTERRUPTED.to_owned()));
        }
        if *self.stopped.borrow() {
            return Some((Status::Error, over(self.budget)));
        }
        let enough = self.run.enough(self.reports).map(|reason| (Status::Error, reason));
        let gone = self.gone.clone().map(|reason| (Status::Untested, reason));
        let blown = self.fuse.blown().map(|reason| (Status::Untested, reason));
        enough.or(gone).or(blown)
    }

    fn report(&mut self, played: PlayedCase) {
        let now = Instant::now();
        self.recent.retain(|(at, _)| now.duration_since(*at) < RECENT);
        if self.recent.len() < MAX_RECENT && self.remote().is_some() {
            self.recent.push((now, played.queued.clone()));
        }
        let mut report = played.report;
        if played.queued.attempts > 0 && report.status == Status::Pass {
            report.flaky = Some(played.queued.attempts + 1);
        }
        if report.reason == INTERRUPTED && !*self.interrupted.borrow() {
            report.reason = over(self.budget).into();
        }
        self.reports.case(report, self.baseline);
    }

    /// The same scenario again, where it did not hold and may be tried again; the play before does not count.
    fn retried(&mut self, played: &PlayedCase) -> Option<QueuedCase> {
        let QueuedCase { planned, attempts, .. } = &played.queued;
        let broken = played.report.checks.iter().flat_map(|check| &check.findings);
        let broken = broken.map(|finding| finding.weight.broken()).any(|it| it == Status::Fail);
        let failed = matches!(played.report.status, Status::Fail | Status::Untested) || broken;
        if !failed || *attempts >= self.run.retries || *self.stopped.borrow() {
            return None;
        }
        let attempts = attempts + 1;
        let reason = format!("it did not hold at attempt {attempts}, and is played again");
        self.reports.void(&VoidCase { case: played.report.case, reason });
        let name = format!("{}~{attempts}", self.name_of(planned));
        Some(QueuedCase { name, planned: planned.clone(), attempts })
    }

    fn died(&mut self, error: &tokio::task::JoinError) {
        self.reports.fault(&format!("a scenario's task died: {error}"));
    }

    fn limit(&self) -> Duration {
        Duration::from_millis(self.header.limit_ms)
    }

    fn remote(&self) -> Option<Arc<Remote>> {
        match self.target {
            Target::Remote(remote, _) => Some(Arc::clone(remote)),
            _ => None,
        }
    }

    /// Opens the sentinel connection, if the host answers handshakes.
    fn open_sentinel(&mut self) {
        let remote = self.remote().filter(|_| !self.header.versions.is_empty());
        self.sentinel = remote
            .map(|remote| SentinelConnection::open(remote.endpoint.clone(), &self.header.offers));
    }

    /// Waits until the sentinel has shaken hands: its end shows nothing before that.
    async fn sentinel_ready(&self) {
        if let Some(sentinel) = &self.sentinel {
            sentinel.ready(self.limit()).await;
        }
    }

    /// Whether the host had an outage, looked at only if a scenario failed or a connection was closed; describes the outage.
    async fn outage(&mut self, played: &PlayedCase) -> Option<String> {
        let cut = self.sentinel.as_ref().is_some_and(SentinelConnection::is_cut);
        let restarts = plan::restarts(&played.entry().scenario);
        if cut && restarts {
            self.open_sentinel();
            self.sentinel_ready().await;
        }
        let well = !played.cut && (!cut || restarts) && played.report.failures().next().is_none();
        if well { None } else { self.host_trouble(played.cut && !restarts).await }
    }

    /// Describes the outage of the host, if there is one. `dropped`: the host may have closed all connections, since it closed
    /// the scenario's or none was open.
    async fn host_trouble(&mut self, dropped: bool) -> Option<String> {
        let remote = self.remote()?;
        // A host that never completed a handshake cannot be seen to end.
        let shook = self.fuse.ever() || !self.header.versions.is_empty();
        if *self.stopped.borrow() || self.gone.is_some() || !shook {
            return None;
        }
        let (offers, limit) = (self.header.offers.clone(), self.limit());
        let trouble = self.unless_stopped(remote.trouble(&offers, limit)).await?;
        if trouble.is_none() && dropped {
            // Connections that were closed together are not noticed at the same moment.
            tokio::time::sleep(TOGETHER).await;
        }
        let cut = self.sentinel.as_ref().is_some_and(SentinelConnection::is_cut);
        let lately = self.cut_at.is_some_and(|at| at.elapsed() < RECENT);
        let what = match trouble {
            Some(what) => Some(format!("the host {what}")),
            // A host that is restarted at once leaves no other trace.
            None if (cut || lately) && dropped => {
                Some("the host ended every connection and answers again".to_owned())
            }
            None => None,
        };
        if what.is_none() && cut {
            self.cut_at = Some(Instant::now());
            self.open_sentinel();
            self.sentinel_ready().await;
        }
        what
    }

    /// Waits for all scenarios that are being played.
    async fn drained(
        &mut self,
        first: PlayedCase,
        playing: &mut JoinSet<PlayedCase>,
    ) -> Vec<PlayedCase> {
        let mut struck = vec![first];
        while let Some(next) = playing.join_next().await {
            match next {
                Ok(played) => {
                    self.fuse.saw(played.shook_hands);
                    struck.push(played);
                }
                Err(error) => self.died(&error),
            }
        }
        struck.sort_by_key(|played| played.report.case);
        struck
    }

    /// The host ended while these were played: brings it back and finds out which of them ends it.
    async fn after_outage(&mut self, what: String, struck: Vec<PlayedCase>) {
        if !self.recovered(&what).await {
            let reason = self.gone.clone().unwrap_or_default();
            struck.iter().for_each(|played| self.unjudged(played, &reason));
            return;
        }
        let mut queued = Vec::new();
        for played in struck {
            self.void(played.report.case, &what);
            queued.push(played.queued);
        }
        let recent = std::mem::take(&mut self.recent).into_iter().map(|(_, queued)| queued);
        let recent: Vec<QueuedCase> =
            recent.filter(|it| queued.iter().all(|other| other.name != it.name)).collect();
        let mut held = Vec::new();
        let mut blamed = false;
        for next in &queued {
            match self.trial(next).await {
                Some(LoneTrial::Outlived(played)) => held.push(*played),
                Some(LoneTrial::Ended(report)) => {
                    blamed = true;
                    self.reports.case(*report, self.baseline);
                }
                None => {}
            }
        }
        // A scenario that had ended by then may be the cause, too.
        for next in recent.iter().rev() {
            if blamed || self.gone.is_some() {
                break;
            }
            match self.trial(next).await {
                Some(LoneTrial::Ended(report)) => {
                    blamed = true;
                    self.reports.case(*report, self.baseline);
                }
                Some(LoneTrial::Outlived(played)) => {
                    self.void(played.report.case, "it had a result before");
                }
                None => {}
            }
        }
        let culprits = match blamed || self.gone.is_some() || held.len() < 2 {
            true => None,
            false => self.together(&queued).await,
        };
        if !blamed && culprits.is_none() && self.gone.is_none() {
            let names = names(queued.iter().chain(&recent));
            self.reports.remark(&format!(
                "note: {what} when these were played, and outlived each of them when it was played again: {names}"
            ));
        }
        for mut played in held {
            if let Some(reason) = self.gone.clone().filter(|_| played.cut) {
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

    /// Plays a scenario alone; if the host ends, once more on a fresh host.
    async fn trial(&mut self, next: &QueuedCase) -> Option<LoneTrial> {
        let (played, outage) = self.alone(next.clone()).await?;
        let Some(what) = outage else { return Some(LoneTrial::Outlived(Box::new(played))) };
        self.void(played.report.case, &what);
        self.recovered(&what).await;
        let (played, outage) = self.alone(next.clone()).await?;
        let Some(what) = outage else { return Some(LoneTrial::Outlived(Box::new(played))) };
        let took = Duration::from_millis(played.report.took_ms);
        if !self.recovered(&what).await || self.ends_by_itself(took).await {
            return Some(LoneTrial::Outlived(Box::new(played)));
        }
        let outage = HostOutage { what, beside: Vec::new() };
        Some(LoneTrial::Ended(Box::new(played.report.charged(outage))))
    }

    /// Reports a scenario whose result does not count.
    fn unjudged(&mut self, played: &PlayedCase, reason: &str) {
        let case = played.report.case;
        self.void(case, reason);
        let planned = &played.queued.planned;
        let report =
            CaseReport::unplayed(case, &planned.entry, Status::Untested, reason.to_owned());
        let report = report.with(planned);
        self.reports.unplayed(report, self.baseline);
    }

    fn void(&mut self, case: u32, reason: &str) {
        self.reports.void(&VoidCase { case, reason: reason.to_owned() });
    }

    /// Waits for something, unless the run ends meanwhile.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut stopped = self.stopped.clone();
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => None,
            done = work => Some(done),
        }
    }

    /// Counts an outage and brings the host back. If that fails, no further scenario is played.
    async fn recovered(&mut self, what: &str) -> bool {
        (self.sentinel, self.cut_at) = (None, None);
        self.outages += 1;
        if self.outages > MAX_OUTAGES {
            let reason = format!("not played: {what}, and it was the {}th time", self.outages);
            self.gone.get_or_insert(reason);
            return false;
        }
        let Some(remote) = self.remote() else { return false };
        let (offers, limit) = (self.header.offers.clone(), self.limit());
        let recovered = self.unless_stopped(remote.recover(&offers, limit)).await;
        match recovered.unwrap_or_else(|| Err("the run was ended".to_owned())) {
            Ok(()) => {
                self.open_sentinel();
                true
            }
            Err(why) => {
                self.gone.get_or_insert(format!("not played: {what}; {why}"));
                false
            }
        }
    }

    /// Whether an unused fresh host ends, too, within the time that the scenario took. Then no further scenario is played.
    async fn ends_by_itself(&mut self, took: Duration) -> bool {
        let idle = (took + took / 4 + GRACE).min(MAX_IDLE);
        self.unless_stopped(tokio::time::sleep(idle)).await;
        let Some(remote) = self.remote() else { return false };
        let trouble = remote.trouble(&self.header.offers, self.limit()).await;
        if let Some(what) = &trouble {
            let reason = format!(
                "not played: the host {what} by itself, within {idle:.1?} of its start and with nobody using it"
            );
            self.gone.get_or_insert(reason);
        }
        // A host that only closes idle connections has not ended.
        trouble.is_some() || self.sentinel.as_ref().is_some_and(SentinelConnection::is_cut)
    }

    /// Restarts the host if possible, so that earlier scenarios have no influence.
    async fn fresh(&mut self) {
        let Some(remote) = self.remote().filter(|remote| remote.restarts()) else { return };
        (self.sentinel, self.cut_at) = (None, None);
        match remote.again().await {
            Ok(()) => self.open_sentinel(),
            Err(why) => drop(self.gone.get_or_insert(format!("not played: {why}"))),
        }
    }

    /// Plays one scenario while no other is playing. Also returns the outage of the host, if there was one.
    async fn alone(&mut self, queued: QueuedCase) -> Option<(PlayedCase, Option<String>)> {
        self.sentinel_ready().await;
        let mut playing = JoinSet::new();
        self.begin(queued, &mut playing).await;
        match playing.join_next().await? {
            Ok(played) => {
                // The host may need a moment until it has ended.
                tokio::time::sleep(GRACE).await;
                let restarts = plan::restarts(&played.entry().scenario);
                let outage = self.host_trouble(!restarts).await;
                Some((played, outage))
            }
            Err(error) => {
                self.died(&error);
                None
            }
        }
    }

    /// Plays scenarios together to find out whether they end the host, then in pairs. Returns the outage and the names of the
    /// scenarios.
    async fn together(&mut self, queued: &[QueuedCase]) -> Option<(String, Vec<String>)> {
        // A host that has served the trials before may end for that, such as one that ends after so many connections.
        self.fresh().await;
        let all = self.at_once(queued).await?;
        self.recovered(&all).await;
        for (place, one) in queued.iter().enumerate() {
            for other in &queued[place + 1..] {
                let pair = [one.clone(), other.clone()];
                if self.gone.is_some() || queued.len() == 2 {
                    break;
                }
                self.fresh().await;
                let Some(what) = self.at_once(&pair).await else { continue };
                self.recovered(&what).await;
                if let Some(what) = self.at_once(&pair).await {
                    self.recovered(&what).await;
                    return Some((what, pair.map(|it| it.name).to_vec()));
                }
            }
        }
        Some((all, queued.iter().map(|it| it.name.clone()).collect()))
    }

    /// Plays scenarios together without counting their results. Returns the outage of the host, if there was one.
    async fn at_once(&mut self, queued: &[QueuedCase]) -> Option<String> {
        let mut playing = JoinSet::new();
        for next in queued {
            self.begin(next.clone(), &mut playing).await;
        }
        let mut what = None;
        while let Some(next) = playing.join_next().await {
            let Ok(played) = next else { continue };
            let case = played.report.case;
            what = match what {
                None => self.outage(&played).await,
                found => found,
            };
            self.void(case, "it was played beside others to see what ends the host");
        }
        what
    }
}

fn names<'a>(queued: impl Iterator<Item = &'a QueuedCase>) -> String {
    let names: Vec<String> = queued.map(|it| format!("`{}`", it.name)).collect();
    names.join(", ")
}

/// Why a scenario that was not finished within the time budget has no verdict.
fn over(budget: Option<Duration>) -> String {
    format!("the run's {:?} were over (hint: `--budget`)", budget.unwrap_or_default())
}
