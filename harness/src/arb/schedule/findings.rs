//! The data of an examination: a conversation with findings, a confirmed finding, and the case of a finding.
//!
//! Knows: drafts, findings. Never knows: the replays of an examination.
//!
//! Start at [`FailedConversation`].

use std::collections::{BTreeMap, BTreeSet};

use crate::arb::campaign::UnexaminedFinding;
use crate::arb::draft::ScenarioDraft;
use crate::arb::expectation::{StepExpectation, drop_claims, loosen};
use crate::arb::finding::FuzzFinding;

/// For a finding that does not occur when its conversation is replayed alone: the number of replays at the same time,
/// and the number of replays one after the other.
pub const COMPANY: usize = 4;
const IN_A_ROW: usize = 2;
/// The total number of copies of one conversation that are replayed together.
pub const COPIES: usize = COMPANY * IN_A_ROW;

/// A conversation that showed findings.
#[derive(Clone, Debug)]
pub struct FailedConversation {
    /// The conversation.
    pub draft: ScenarioDraft,
    /// The seed of the conversation.
    pub seed: u64,
    /// The findings.
    pub findings: Vec<FuzzFinding>,
    /// Whether the time limit of a wait was shorter than the limit of `run`.
    pub hurried: bool,
    /// The conversations that were played at the same time.
    pub beside: Vec<ScenarioDraft>,
}

impl FailedConversation {
    /// Returns the findings in the form in which the file of the campaign stores them.
    pub fn unexamined(&self) -> Vec<UnexaminedFinding> {
        let seed = self.seed;
        let open = |finding: &FuzzFinding| UnexaminedFinding { finding: finding.clone(), seed };
        self.findings.iter().map(open).collect()
    }

    /// Leaves out the expectations in `unmet` that the findings do not need: the host is known not to meet them, and
    /// a replay would wait for each until its time limit. Findings of always-on checks do not depend on the steps'
    /// expectations. A claim depends on the premises before the claim, so these premises stay.
    pub fn hasten(&mut self, unmet: &BTreeSet<StepExpectation>) {
        if self.draft.is_about_agents() {
            return;
        }
        for other in &mut self.beside {
            let mut hastened = other.clone();
            loosen(&mut hastened, unmet);
            if hastened.scenario().is_ok() {
                *other = hastened;
            }
        }
        let mut draft = self.draft.clone();
        let claimed: BTreeSet<usize> = self.findings.iter().filter_map(|it| it.step).collect();
        let places = match claimed.is_empty() {
            true => {
                loosen(&mut draft, unmet);
                BTreeMap::new()
            }
            false => drop_claims(&mut draft, unmet, &claimed),
        };
        if draft.scenario().is_ok() {
            self.draft = draft;
            for finding in &mut self.findings {
                finding.step = finding.step.and_then(|step| places.get(&step).copied());
            }
        }
    }
}

/// What has to be played at the same time as a conversation so that a finding occurs.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayCompany {
    /// Nothing.
    Nothing,
    /// The same conversation, played several times at once.
    Copies,
    /// These other conversations.
    Others(Vec<ScenarioDraft>),
}

/// A finding that occurs again when the file of its conversation is replayed.
#[derive(Clone, Debug)]
pub struct ConfirmedFinding {
    /// The finding.
    pub finding: FuzzFinding,
    /// The conversation that shows it.
    pub draft: ScenarioDraft,
    /// The seed of the conversation.
    pub seed: u64,
    /// The number of replays that showed the finding, and the number of all replays.
    pub again: (u32, u32),
    /// The conversations that have to be played at the same time for the finding to occur.
    pub company: ReplayCompany,
    /// How the finding occurs in the replays.
    pub sameness: FindingSameness,
}

impl ConfirmedFinding {
    /// Returns the finding in the form in which the file of the campaign stores it.
    pub fn unexamined(&self) -> UnexaminedFinding {
        UnexaminedFinding { finding: self.finding.clone(), seed: self.seed }
    }

    /// Returns a shorter conversation that is likely to show the finding, too. A claim does not depend on the steps
    /// after its own step. An always-on check does not depend on the steps' expectations. For the finding of such a
    /// check, the expectations in `unmet` are left out: the host does not meet them, and a replay would wait for each
    /// of them until the time limit. Returns `None` if nothing can be left out.
    pub fn shorter(&self, unmet: &BTreeSet<StepExpectation>) -> Option<ScenarioDraft> {
        if self.draft.is_about_agents() {
            return None;
        }
        let mut draft = self.draft.clone();
        match self.finding.step {
            Some(step) => draft.steps.truncate(step + 1),
            None => loosen(&mut draft, unmet),
        }
        (draft != self.draft && draft.scenario().is_ok()).then_some(draft)
    }
}

/// How similar the findings in different replays of one conversation are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FindingSameness {
    /// Enough replays show the same finding.
    Identity,
    /// Enough replays show the same breach, but in different forms. Which form it takes depends on what the host does
    /// at that moment.
    Form,
}

impl FindingSameness {
    /// Returns whether a replay with the findings `found` shows this finding.
    pub fn holds(self, finding: &FuzzFinding, found: &FuzzFinding) -> bool {
        match self {
            FindingSameness::Identity => finding.key == found.key,
            FindingSameness::Form => finding.is_form_of(found),
        }
    }
}

/// Whether a finding is confirmed.
#[derive(Debug)]
pub enum ConfirmationResult {
    /// The finding occurs again.
    Confirmed {
        /// The number of replays that showed the finding, and the number of all replays.
        again: (u32, u32),
        /// The conversations that have to be played at the same time for the finding to occur.
        company: ReplayCompany,
        /// How the finding occurs in the replays.
        sameness: FindingSameness,
    },
    /// The finding did not occur often enough.
    Flaky {
        /// The number of replays that showed the finding, and the number of all replays.
        again: (u32, u32),
    },
    /// The specification permits the behaviour: the reference host shows it under this legal variant.
    Permitted(&'static str),
    /// The finding never occurs with the longer time limit that `run` sets for a wait: the host was only slow.
    TooEarly,
}

/// The scenario of a finding.
#[derive(Clone, Debug)]
pub struct FindingCase {
    /// The scenario; `run` reports the finding for it.
    pub draft: ScenarioDraft,
    /// The order of the clients' frames that the case needs, as a sentence; empty if every order works.
    pub order: String,
    /// The other conversations that have to be played together with the scenario for the finding to occur.
    pub beside: Vec<ScenarioDraft>,
    /// Whether the scenario was minimised.
    pub minimised: bool,
}

impl FindingCase {
    /// Returns the whole conversation of a finding as its case.
    pub fn whole(confirmed: &ConfirmedFinding) -> FindingCase {
        let ConfirmedFinding { finding, draft, company, .. } = confirmed;
        let draft = ScenarioDraft { title: finding.statement(), ..draft.clone() };
        FindingCase::of(draft, company.clone(), String::new(), false)
    }

    /// Returns the case of a finding. If the finding occurs only together with other conversations, the sentence
    /// `order` is not used.
    pub fn of(
        draft: ScenarioDraft,
        company: ReplayCompany,
        order: String,
        minimised: bool,
    ) -> FindingCase {
        let (order, beside) = match company {
            ReplayCompany::Nothing => (order, Vec::new()),
            ReplayCompany::Copies => (needs_copies(), Vec::new()),
            ReplayCompany::Others(others) => (String::new(), others),
        };
        FindingCase { draft, order, beside, minimised }
    }
}

/// Joins two sentences about what a finding needs. Either sentence may be empty.
pub fn and_then(one: String, other: &str) -> String {
    match (one.is_empty(), other.is_empty()) {
        (true, _) => other.to_owned(),
        (_, true) => one,
        (false, false) => format!("{one}; {other}"),
    }
}

/// Returns the sentence that describes a finding that occurs only while copies of its conversation are played.
fn needs_copies() -> String {
    format!("it needs several plays at the same time, as with `--repeat {COPIES} --jobs {COMPANY}`")
}
