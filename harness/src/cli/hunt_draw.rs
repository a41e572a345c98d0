//! Chooses the next conversation of a campaign, and adapts it to the target.
//!
//! Knows: the generator, the coverage so far. Never knows: the execution of conversations.
//!
//! Start at [`FuzzHunt::draw`].

use std::collections::BTreeMap;

use crate::arb::generate::DrawnSequence;
use crate::arb::hold;
use crate::arb::races::{RacedConversation, raced};
use crate::dice::Dice;

use super::hunt::FuzzHunt;

/// After `FAMILIAR` conversations without new coverage on an external host, `DRAWN` conversations are generated at a
/// time, and only the conversation with the rarest expectations is played.
const FAMILIAR: u64 = 5;
const DRAWN: usize = 3;
/// The percentage of conversations that are played on an external host with another interleaving of the clients.
const RACED: usize = 30;
/// A number that makes the choice of the conversations with another interleaving independent of their content.
const SALT: u64 = 0x5a17_0f0d;

impl FuzzHunt<'_> {
    /// Generates the next conversation that the reference host plays as expected.
    pub(super) fn draw(&mut self) -> Option<DrawnSequence> {
        if let Some(seed) = self.fuzz.sequence_seed {
            let sequence = self.source.of_seed(seed)?;
            return self.fitting(sequence).map(|(sequence, _)| sequence);
        }
        // The campaign continues with the findings that it had no time to examine.
        while let Some(left) = self.campaign.unexamined.pop() {
            self.campaign.unexamined.retain(|other| other.seed != left.seed);
            let sequence = self.source.of_seed(left.seed).and_then(|it| self.fitting(it));
            if let Some((sequence, _)) = sequence {
                return Some(sequence);
            }
        }
        let familiar = self.campaign.without_news() >= FAMILIAR;
        let drawn = if self.target.is_foreign && familiar { DRAWN } else { 1 };
        let mut rarest: Option<(f64, DrawnSequence)> = None;
        for _ in 0..drawn {
            self.campaign.next += 1;
            let Some(sequence) = self.source.sequence(self.campaign.next - 1) else { continue };
            let Some((sequence, expected)) = self.fitting(sequence) else { continue };
            let rarity = self.campaign.rarity(&expected);
            if rarest.as_ref().is_none_or(|(most, _)| rarity > *most) {
                rarest = Some((rarity, sequence));
            }
        }
        rarest.map(|(_, sequence)| sequence)
    }

    /// Adapts the conversation to the target. Also returns the expectations that the conversation tests on the
    /// reference host.
    fn fitting(
        &mut self,
        mut sequence: DrawnSequence,
    ) -> Option<(DrawnSequence, BTreeMap<String, u64>)> {
        // If the target is the reference host without faults, coverage is counted when the conversation is played on
        // it.
        if self.target.is_honest {
            return Some((sequence, BTreeMap::new()));
        }
        let (found, gauge) = self.target.honest.measured(&sequence.draft);
        if let Some(finding) = found.first() {
            self.odd(sequence.seed, finding);
            return None;
        }
        if let Some(RacedConversation { draft, after, names }) = self.race(&sequence) {
            sequence.draft = draft;
            hold::fit_raced(&mut sequence.draft, &self.campaign.unmet, after, &names);
            if let Some(finding) = self.target.honest.broken(&sequence.draft).first() {
                self.odd(sequence.seed, finding);
                return None;
            }
            return sequence.draft.scenario().is_ok().then(|| (sequence, gauge.seen()));
        }
        match self.target.is_foreign {
            // Conversations with agents only claim what holds for every agent, so they need no adaptation.
            true if sequence.draft.is_about_agents() => {}
            true => hold::fit(&mut sequence.draft, &self.campaign.unmet),
            false => hold::loosen(&mut sequence.draft, &self.campaign.unmet),
        }
        sequence.draft.scenario().is_ok().then(|| (sequence, gauge.seen()))
    }

    /// Returns the conversation with another interleaving of its clients; `None` if the conversation was not selected
    /// for this. For the reference host, no conversation is selected, because the expectations come from the stage,
    /// which plays the steps one after the other.
    fn race(&self, sequence: &DrawnSequence) -> Option<RacedConversation> {
        let mut dice = Dice::seeded(sequence.seed ^ SALT);
        let races = self.target.is_foreign && !sequence.draft.is_about_agents();
        if races && dice.chance(RACED) { raced(&sequence.draft, sequence.seed) } else { None }
    }
}
