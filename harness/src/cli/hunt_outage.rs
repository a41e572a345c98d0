//! Handles the outages of a host during a campaign. An outage is attributed to the conversation that causes another
//! outage when the conversation is played alone.
//!
//! Knows: the conversations in progress. Never knows: the probes and restarts of a host.
//!
//! Start at [`FuzzHunt::outage`].

use std::time::Duration;

use crate::arb::campaign::FindingBucket;
use crate::arb::draft::ScenarioDraft;
use crate::arb::finding::FuzzFinding;
use crate::arb::gauge::AnswerGauge;
use crate::arb::generated_sequence::GeneratedSequence;
use crate::arb::schedule::PlayedSequence;
use crate::arb::schedule::findings::FindingCase;
use crate::ledger::RequirementLedger;
use crate::report::outage::OUTLIVES;
use crate::run::failure::FailureKind;
use crate::verdict::Weight;

use super::exit::CommandStop;
use super::hunt::FuzzHunt;
use super::lone_trial::{HostWatch, LonePlayer, TrialResults, trials};

impl FuzzHunt<'_> {
    /// Describes the outage of the host after a conversation, if there was one. Checks the host only if a
    /// connection was closed, a message did not come, or the conversation has findings.
    pub(super) async fn outage(&mut self, played: &PlayedSequence) -> Option<String> {
        let verdict = played.played.as_ref().map(|played| &played.verdict);
        let shook = verdict.is_some_and(|verdict| verdict.shook_hands);
        let cut = verdict.is_some_and(|verdict| verdict.cut);
        let failure = verdict.and_then(|verdict| verdict.failure.as_ref());
        let silent = failure.is_some_and(|failure| failure.kind == FailureKind::Silence);
        let found = played.played.as_ref().is_some_and(|played| !played.found.is_empty());
        self.watch.saw(shook);
        let restarts = Self::restarted(played);
        if self.watch.is_cut() && restarts {
            self.watch.open_sentinel();
            self.watch.ready().await;
        }
        let well = shook && !cut && !found && !silent && (restarts || !self.watch.is_cut());
        if well { None } else { self.watch.trouble(cut && !restarts).await }
    }

    /// Waits until all conversations and examinations in progress have ended. Returns the conversations, the given one
    /// among them. The findings of these examinations are examined again later.
    pub(super) async fn drained(&mut self, first: PlayedSequence) -> Vec<GeneratedSequence> {
        self.drain(first).await.into_iter().map(|played| played.sequence).collect()
    }

    /// Restarts the host after an outage, and determines which of these conversations causes the outage.
    pub(super) async fn after_outage(
        &mut self,
        what: &str,
        struck: Vec<GeneratedSequence>,
    ) -> Result<(), CommandStop> {
        self.context.error(&format!(
            "{what}; the conversations that were being played are played again, each alone\n"
        ));
        if !self.watch.recovered(what).await {
            return Ok(());
        }
        let recent = self.schedule.take_recent().into_iter();
        let recent: Vec<GeneratedSequence> =
            recent.filter(|it| struck.iter().all(|other| other.seed != it.seed)).collect();
        let TrialResults { held, ended } = trials(self, &struck, &recent).await;
        if ended.is_empty() && self.watch.gone().is_none() {
            self.context.error(&format!(
                "note: {what} when {} conversations were played, but the host survived each of them when it was played \
                 again alone\n",
                struck.len()
            ));
        }
        for (played, what) in ended {
            let weight =
                RequirementLedger::look_up(OUTLIVES).map_or(Weight::Essential, |rule| rule.weight);
            let message = format!("{what} when this was played alone on a fresh host, twice");
            let finding = FuzzFinding::of(OUTLIVES, weight, "", &message);
            let PlayedSequence { sequence, .. } = played;
            self.schedule.count_outage();
            if self.schedule.is_new(&finding) {
                let draft = ScenarioDraft { title: finding.statement(), ..sequence.draft };
                let found = FindingBucket {
                    scenario: draft.id.clone(),
                    finding,
                    seed: sequence.seed,
                    times: 1,
                    again: (2, 2),
                    flaky: false,
                    also: Vec::new(),
                    order: String::new(),
                    minimised: false,
                };
                let (order, beside) = (String::new(), Vec::new());
                self.keep(FindingCase { draft, order, beside, minimised: false }, found)?;
            }
        }
        let now = self.now();
        held.into_iter().for_each(|played| self.schedule.played(now, played));
        Ok(())
    }
}

impl LonePlayer for FuzzHunt<'_> {
    type Suspect = GeneratedSequence;
    type Played = PlayedSequence;

    fn watch(&mut self) -> &mut HostWatch {
        &mut self.watch
    }

    async fn play_alone(&mut self, suspect: &GeneratedSequence) -> Option<PlayedSequence> {
        let (number, gauge) = (self.schedule.number(), AnswerGauge::default());
        let played = self.target.play(&suspect.draft, None, &gauge).await;
        Some(PlayedSequence { number, sequence: suspect.clone(), played, gauge, hurried: false })
    }

    fn restarted(played: &PlayedSequence) -> bool {
        played.sequence.draft.restart().is_some()
    }

    fn took(played: &PlayedSequence) -> Duration {
        played.played.as_ref().map(|played| played.verdict.took).unwrap_or_default()
    }

    fn void(&mut self, _: &PlayedSequence, _: &str) {}
}
