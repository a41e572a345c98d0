//! What a run says about each agent of a host that has several: the same verdicts, from what was played with that agent and
//! what was played once for all of them.
//!
//! Knows: the cases of a run. Never knows: how a rule is judged.
//!
//! Start at [`AgentResult::of`].

use std::borrow::Cow;
use std::collections::HashSet;

use litemap::LiteMap;
use serde::Serialize;

use crate::run::detect::{AgentOfHost, DetectedFeature};
use crate::verdict::{FailOn, Status};
use crate::wire::version::Version;

use super::certificate::{RequirementOutcome, ViewResults};
use super::event::CaseReport;
use super::finished::FinishedRun;
use super::profile_verdict::{ProfileResult, ProfileVerdict};
use super::summary::{CheckTotal, RunSummary};

/// One agent of a host.
#[derive(Clone, Debug, Serialize)]
pub struct AgentResult {
    /// Its provider.
    pub provider: String,
    /// Why it could not be tested; missing where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
    /// The verdict on the host with this agent; missing where it was not tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ProfileVerdict>,
    /// The scenarios that were planned for it, by status.
    pub scenarios: LiteMap<Status, u64>,
    /// The profiles with this agent, `core` first.
    pub profiles: Vec<ProfileResult>,
    /// What it offers itself, and what showed it.
    pub detected: Vec<DetectedFeature>,
    /// What is known of each requirement with this agent.
    #[serde(skip)]
    outcomes: LiteMap<String, RequirementOutcome>,
    /// The requirements of the scenarios that were planned for it.
    #[serde(skip)]
    own: HashSet<String>,
}

impl AgentResult {
    /// Folds what was played with one agent, and what was played once.
    pub(super) fn of(agent: &AgentOfHost, run: &FinishedRun, version: Version) -> AgentResult {
        let mut result = AgentResult {
            provider: agent.provider.clone(),
            untested: agent.untested.clone(),
            verdict: None,
            scenarios: LiteMap::new(),
            profiles: Vec::new(),
            detected: agent.detected.clone(),
            outcomes: LiteMap::new(),
            own: HashSet::new(),
        };
        if agent.untested.is_some() {
            return result;
        }
        let view = RunView::with_agent(run, &agent.provider);
        for case in view.cases.iter().filter(|case| case.provider.is_some()) {
            *result.scenarios.entry(case.status).or_default() += 1;
            result.own.extend(case.proves.iter().cloned());
        }
        let ViewResults { requirements, profiles, .. } = ViewResults::of(&view, version);
        result.verdict = Some(ProfileVerdict::worst(profiles.iter().map(|it| it.verdict)));
        result.profiles = profiles;
        result.outcomes = requirements.into_iter().map(|row| (row.id, row.outcome)).collect();
        result
    }

    /// What is known of a requirement with this agent.
    pub(super) fn outcome_of(&self, requirement: &str) -> Option<RequirementOutcome> {
        self.outcomes.get(requirement).copied()
    }

    /// Whether a scenario that depends on the agent tests a requirement.
    pub(super) fn is_tested_on(&self, requirement: &str) -> bool {
        self.own.contains(requirement)
    }

    /// The verdict, or why there is none.
    pub fn words(&self) -> String {
        match (self.verdict, &self.untested) {
            (Some(verdict), _) => verdict.words().to_owned(),
            (None, why) => format!("untested: {}", why.as_deref().unwrap_or_default()),
        }
    }
}

/// The cases of a run that a verdict is about.
pub(super) struct RunView<'a> {
    pub(super) cases: Vec<&'a CaseReport>,
    pub(super) checks: Cow<'a, LiteMap<String, CheckTotal>>,
}

impl<'a> RunView<'a> {
    /// All of them.
    pub(super) fn whole(run: &'a FinishedRun) -> RunView<'a> {
        let cases = run.cases.iter().map(|case| &case.report).collect();
        RunView { cases, checks: Cow::Borrowed(&run.summary.checks) }
    }

    /// Those that were played with an agent, and those that were played once.
    fn with_agent(run: &'a FinishedRun, provider: &str) -> RunView<'a> {
        let reports = run.cases.iter().map(|case| &case.report);
        let mine = |case: &&CaseReport| case.provider.as_deref().is_none_or(|it| it == provider);
        let cases: Vec<&CaseReport> = reports.filter(mine).collect();
        let mut summary = RunSummary::of(run.header.standard(), FailOn::default());
        cases.iter().for_each(|case| summary.add(case));
        for (id, total) in &mut summary.checks {
            // A baseline is about checks of the whole run.
            let known = run.summary.checks.get(id).and_then(|whole| whole.worst);
            if known == Some(Status::Known) && total.worst.is_some() {
                total.worst = known;
            }
        }
        RunView { cases, checks: Cow::Owned(summary.checks) }
    }

    /// Whether the host accepted what the refusal of a case has to be compared with, anywhere in the run but with another
    /// agent. What no host accepts (an action that only hosts dispatch, a method that does not exist) has nothing to be
    /// compared with.
    pub(super) fn accepted(&self, twin: &str, of: &CaseReport) -> bool {
        let comparable = |case: &&&CaseReport| {
            of.provider.is_none() || case.provider.is_none() || case.provider == of.provider
        };
        let mut cases = self.cases.iter().filter(comparable);
        cases.any(|case| case.accepted.iter().any(|accepted| accepted == twin))
    }
}
