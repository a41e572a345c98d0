//! Plays generated conversations: on the embedded host or agent, or on an external target in the same way as
//! `run`.
//!
//! Knows: the target, the first look at it. Never knows: generators, the stored results.
//!
//! Start at [`FuzzTarget`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{RwLock, watch};

use crate::arb::draft::ScenarioDraft;
use crate::arb::embedded::EmbeddedGround;
use crate::arb::expectation::holds_across_restart;
use crate::arb::finding::{FuzzFinding, findings};
use crate::arb::gauge::AnswerGauge;
use crate::arb::schedule::PlayedDraft;
use crate::host::engine::{HostConfig, RefHost};
use crate::report::event::CaseReport;
use crate::run::plan::plan;
use crate::run::play::{ScenarioPlay, ScenarioVerdict};
use crate::run::setup::CaseSetup;
use crate::run::suite::SuiteEntry;
use crate::scenario::parse::ParsedScenario;
use crate::verdict::Status;
use crate::wire::version::Version;

use super::context::wall_clock;
use super::first_look::CliFirstLook;
use super::place::PlayPlace;
use super::play_target::PlayTarget;
use super::run::RunArguments;

/// The target of generated conversations.
pub(super) struct FuzzTarget {
    /// The `run` command that plays a scenario against the same target.
    pub(super) run: RunArguments,
    /// The target.
    pub(super) target: PlayTarget,
    /// The result of the first look.
    pub(super) look: CliFirstLook,
    /// The protocol version of the conversations.
    pub(super) version: Version,
    /// The reference host in memory with the injected faults.
    pub(super) planted: EmbeddedGround,
    /// The reference host in memory without faults.
    pub(super) honest: EmbeddedGround,
    /// Whether the target is an external host; then only the result of the first look is known about it.
    pub(super) is_foreign: bool,
    /// Whether the target is the reference host without faults.
    pub(super) is_honest: bool,
    /// Turns true when the user interrupts the campaign.
    pub(super) stopped: watch::Receiver<bool>,
    /// A lock for replays during examinations. A replay that must not be disturbed holds the lock exclusively while it
    /// has traffic; all other replays share it.
    pub(super) quiet: RwLock<()>,
    /// The number of conversations that were played so far.
    pub(super) plays: AtomicU64,
}

impl FuzzTarget {
    /// Returns whether the target is in memory.
    pub(super) fn is_embedded(&self) -> bool {
        matches!(self.target, PlayTarget::Embedded)
    }

    /// Returns the time limit of a wait when `run` plays a scenario on this target.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_millis(self.look.header.limit_ms)
    }

    /// Plays a draft in fresh sessions. `limit` is the time limit of a wait; `None` stands for the limit of `run`.
    pub(super) async fn play(
        &self,
        draft: &ScenarioDraft,
        limit: Option<Duration>,
        gauge: &AnswerGauge,
    ) -> Option<PlayedDraft> {
        let entry =
            SuiteEntry { scenario: Arc::new(draft.scenario().ok()?), sources: Arc::new([]) };
        let verdict = self.play_entry(&entry, limit, gauge).await?;
        Some(self.judged(draft, verdict))
    }

    fn judged(&self, draft: &ScenarioDraft, verdict: ScenarioVerdict) -> PlayedDraft {
        // An external reference host keeps data over a restart, depending on its options. The generator's stage, which
        // is a reference host in memory, does not know these options. Failures after a restart are therefore not
        // compared with the stage.
        let restart = draft.restart();
        let failed = verdict.failure.as_ref().and_then(|failure| failure.step);
        let lost = restart.zip(failed).is_some_and(|(restart, failed)| failed > restart);
        let mut found = match self.is_foreign || lost && !self.is_embedded() {
            true => findings(&draft.steps, &verdict),
            false => self.planted.findings(draft, &verdict),
        };
        if let Some(restart) = restart.filter(|_| !self.is_foreign && !self.is_embedded()) {
            let certain = |step: usize| draft.steps.get(step).is_some_and(holds_across_restart);
            found.retain(|it| it.step.is_none_or(|step| step < restart || certain(step)));
        }
        PlayedDraft { verdict, found }
    }

    /// Plays the file of a draft as `run` does, and returns the findings; the list is empty if the file passes.
    /// `gauge` observes the traffic.
    ///
    /// # Errors
    /// Returns why `run` does not play the file.
    pub(super) async fn replay(
        &self,
        draft: &ScenarioDraft,
        gauge: &AnswerGauge,
    ) -> Result<Vec<FuzzFinding>, String> {
        let entry = draft.entry()?;
        let abilities = self.run.abilities(&self.target, self.version, &self.look.header);
        let planned = plan(&[&entry], &abilities);
        if let Some(reason) = planned.first().and_then(|planned| planned.skip.clone()) {
            return Err(format!("`run` would not play it: {reason}"));
        }
        let verdict = self.play_entry(&entry, None, gauge).await;
        let verdict = verdict.ok_or("it could not be played")?;
        let report = CaseReport::of(0, &entry, &verdict);
        let failed = verdict.checks.iter().any(|check| !check.findings.is_empty())
            || matches!(report.status, Status::Fail | Status::Warn | Status::Note)
            || !self.is_foreign && report.status == Status::Untested;
        Ok(if failed { self.judged(draft, verdict).found } else { Vec::new() })
    }

    async fn play_entry(
        &self,
        entry: &SuiteEntry,
        limit: Option<Duration>,
        gauge: &AnswerGauge,
    ) -> Option<ScenarioVerdict> {
        // The identifiers in a conversation are made from the name of its execution, so each execution has a new name.
        // If a replay created a session that an earlier play has disposed, other clients would see changes of a session
        // that was removed, and the host might still know the old session.
        let number = self.plays.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}#{number}", entry.scenario.id);
        let recorder = Box::new(gauge.clone());
        let scenario: &Arc<ParsedScenario> = &entry.scenario;
        if self.is_embedded() {
            let mut subject = self.planted.subject(scenario);
            let played = (**scenario).clone();
            let verdict = self.planted.play_recorded(played, &mut *subject, recorder);
            drop(subject);
            tokio::task::yield_now().await;
            return Some(verdict);
        }
        let header = &self.look.header;
        let place = match &self.target {
            PlayTarget::Remote(remote, behind) => {
                PlayPlace::Remote(Arc::clone(remote), Arc::clone(behind), name.clone())
            }
            // `fuzz` has no option for a client.
            PlayTarget::Clients(_) => return None,
            PlayTarget::Agents(agents) => agents.place(&scenario.needs, name.clone()).ok()?,
            _ => {
                let epoch_ms = u64::try_from(wall_clock().as_millis()).unwrap_or_default();
                let config = HostConfig { epoch_ms, ..self.planted.config(scenario) };
                PlayPlace::own(Box::new(RefHost::new(config))).await.ok()?
            }
        };
        let setup = self.run.setup(&self.target, entry, header, name, &place.side());
        let setup = CaseSetup { limit: limit.unwrap_or(setup.limit), ..setup };
        let shared = matches!(self.target, PlayTarget::Remote(..) | PlayTarget::Agents(_));
        let play = ScenarioPlay::new(setup, shared, recorder);
        Some(place.play(play, self.stopped.clone()).await)
    }
}
