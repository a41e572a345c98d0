//! Chooses the next conversation of a campaign, and adapts it to the target.
//!
//! Knows: the generator, the reference host in memory, the coverage so far. Never knows: the execution of
//! conversations on the target.
//!
//! Start at [`ConversationChoice::generate`].

use std::collections::BTreeMap;

use crate::arb::campaign::FuzzCampaign;
use crate::arb::embedded::EmbeddedGround;
use crate::arb::expectation;
use crate::arb::finding::FuzzFinding;
use crate::arb::generated_sequence::GeneratedSequence;
use crate::arb::races::{RacedConversation, raced};
use crate::arb::source::ConversationSource;
use crate::dice::Dice;

use super::ScheduleRules;

/// After `FAMILIAR` conversations without new coverage on an external host, `CANDIDATES` conversations are generated at a
/// time, and only the one whose expectations were tested least often is played.
const FAMILIAR: u64 = 5;
const CANDIDATES: usize = 3;
/// The percentage of conversations that are played on an external host with another interleaving of the clients.
const RACED: usize = 30;
/// A number that makes the choice of the conversations with another interleaving independent of their content.
const SALT: u64 = 0x5a17_0f0d;
/// The maximum number of conversations with an unexpected result that are listed, each with the reason.
const SHOWN: usize = 5;

/// Chooses conversations for a target.
#[derive(Debug)]
pub struct ConversationChoice {
    /// The generator of the conversations.
    pub source: ConversationSource,
    /// The reference host in memory without faults. It plays each conversation before the target does.
    pub honest: EmbeddedGround,
    /// The seed of the only conversation of the campaign; `None` for a campaign of many conversations.
    pub only: Option<u64>,
    /// The first conversations that the reference host without faults does not play as expected, and the reasons.
    odd: Vec<String>,
    /// Whether the only conversation of the campaign was generated.
    generated: bool,
}

impl ConversationChoice {
    /// Creates a choice among the conversations of `source`, or of the single conversation with the seed `only`.
    pub fn new(
        source: ConversationSource,
        honest: EmbeddedGround,
        only: Option<u64>,
    ) -> ConversationChoice {
        let (odd, generated) = (Vec::new(), false);
        ConversationChoice { source, honest, only, odd, generated }
    }

    /// Returns whether no further conversation will be generated.
    pub fn is_exhausted(&self) -> bool {
        self.generated && self.only.is_some()
    }

    /// Returns the first conversations that the reference host without faults does not play as expected, each with the
    /// reason.
    pub fn odd(&self) -> &[String] {
        &self.odd
    }

    /// Records a conversation that the reference host without faults does not play as expected.
    pub fn add_odd(&mut self, campaign: &mut FuzzCampaign, seed: u64, finding: &FuzzFinding) {
        campaign.unsteady += 1;
        if self.odd.len() < SHOWN {
            self.odd.push(format!("{seed:016x}: {}: {}", finding.rule, finding.message));
        }
    }

    /// Generates the next conversation that the reference host plays as expected. Returns `None` if there is no such
    /// conversation for the next seed.
    pub fn generate(
        &mut self,
        campaign: &mut FuzzCampaign,
        rules: &ScheduleRules,
    ) -> Option<GeneratedSequence> {
        self.generated = true;
        if let Some(seed) = self.only {
            let sequence = self.source.of_seed(seed)?;
            return self.fitting(campaign, rules, sequence).map(|(sequence, _)| sequence);
        }
        // The campaign continues with the findings that it had no time to examine.
        while let Some(left) = campaign.unexamined.pop() {
            campaign.unexamined.retain(|other| other.seed != left.seed);
            let sequence = self.source.of_seed(left.seed);
            let sequence = sequence.and_then(|it| self.fitting(campaign, rules, it));
            if let Some((sequence, _)) = sequence {
                return Some(sequence);
            }
        }
        let familiar = campaign.without_news() >= FAMILIAR;
        let candidates = if rules.is_foreign && familiar { CANDIDATES } else { 1 };
        let mut rarest: Option<(f64, GeneratedSequence)> = None;
        for _ in 0..candidates {
            campaign.next += 1;
            let Some(sequence) = self.source.sequence(campaign.next - 1) else { continue };
            let Some((sequence, expected)) = self.fitting(campaign, rules, sequence) else {
                continue;
            };
            let rarity = campaign.rarity(&expected);
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
        campaign: &mut FuzzCampaign,
        rules: &ScheduleRules,
        mut sequence: GeneratedSequence,
    ) -> Option<(GeneratedSequence, BTreeMap<String, u64>)> {
        // If the target is the reference host without faults, coverage is counted when the conversation is played on
        // it.
        if rules.is_honest {
            return Some((sequence, BTreeMap::new()));
        }
        let (found, gauge) = self.honest.measured(&sequence.draft);
        if let Some(finding) = found.first() {
            self.add_odd(campaign, sequence.seed, finding);
            return None;
        }
        if let Some(RacedConversation { draft, after, names }) = race(rules, &sequence) {
            sequence.draft = draft;
            expectation::fit_raced(&mut sequence.draft, &campaign.unmet, after, &names);
            if let Some(finding) = self.honest.broken(&sequence.draft).first() {
                self.add_odd(campaign, sequence.seed, finding);
                return None;
            }
            return sequence.draft.scenario().is_ok().then(|| (sequence, gauge.seen()));
        }
        match rules.is_foreign {
            // Conversations with agents only claim what holds for every agent, so they need no adaptation.
            true if sequence.draft.is_about_agents() => {}
            true => expectation::fit(&mut sequence.draft, &campaign.unmet),
            false => expectation::loosen(&mut sequence.draft, &campaign.unmet),
        }
        sequence.draft.scenario().is_ok().then(|| (sequence, gauge.seen()))
    }
}

/// Returns the conversation with another interleaving of its clients; `None` if the conversation was not selected
/// for this. For the reference host, no conversation is selected, because the expectations come from the stage,
/// which plays the steps one after the other.
fn race(rules: &ScheduleRules, sequence: &GeneratedSequence) -> Option<RacedConversation> {
    let mut dice = Dice::seeded(sequence.seed ^ SALT);
    let races = rules.is_foreign && !sequence.draft.is_about_agents();
    if races && dice.chance(RACED) { raced(&sequence.draft, sequence.seed) } else { None }
}
