//! The result of a run for each agent of a host with several agents. The result of an agent has the same kinds of
//! verdicts as the result of the whole run. It is based on the scenarios that were played with this agent and the
//! scenarios that were played once for all agents.
//!
//! Knows: the cases of a run. Never knows: checks.
//!
//! Start at [`AgentResult::of`].

use std::borrow::Cow;
use std::collections::HashSet;

use litemap::LiteMap;
use serde::Serialize;

use crate::oracle::JudgedParty;
use crate::run::detect::{AgentOfHost, DetectedFeature};
use crate::verdict::Status;
use crate::wire::foreign_text::ForeignText;
use crate::wire::version::Version;

use super::certificate::{RequirementOutcome, ViewResults};
use super::event::CaseReport;
use super::finished::FinishedRun;
use super::profile_verdict::{ProfileResult, ProfileVerdict};
use super::summary::CheckTotal;

/// The result of a run for one agent of a host.
#[derive(Clone, Debug, Serialize)]
pub struct AgentResult {
    /// The provider of the agent.
    pub provider: ForeignText,
    /// The reason why the agent could not be tested; `None` if the agent was tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
    /// The verdict on the host with this agent; `None` if the agent was not tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ProfileVerdict>,
    /// The scenarios planned for the agent, counted by status.
    pub scenarios: LiteMap<Status, u64>,
    /// The verdicts on the profiles with this agent, `core` first.
    pub profiles: Vec<ProfileResult>,
    /// The capabilities of the agent itself, with the evidence for each.
    pub detected: Vec<DetectedFeature>,
    /// The outcome of each requirement with this agent.
    #[serde(skip)]
    outcomes: LiteMap<String, RequirementOutcome>,
    /// The requirements tested by the scenarios that were planned for this agent.
    #[serde(skip)]
    own: HashSet<String>,
}

impl AgentResult {
    /// Makes the result of one agent from the scenarios that were played with this agent and the scenarios that were
    /// played once for all agents.
    pub(super) fn of(agent: &AgentOfHost, run: &FinishedRun, version: Version) -> AgentResult {
        let mut result = AgentResult {
            provider: agent.provider.as_str().into(),
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
        let own = view.cases.iter().filter(|case| case.provider.is_some());
        result.own = own.flat_map(|case| case.proves.iter().cloned()).collect();
        if let Some(summary) = run.agents.get(&agent.provider) {
            result.scenarios.clone_from(&summary.scenarios);
        }
        let ViewResults { requirements, profiles, .. } = ViewResults::of(&view, version);
        result.verdict = Some(ProfileVerdict::worst(profiles.iter().map(|it| it.verdict)));
        result.profiles = profiles;
        result.outcomes = requirements.into_iter().map(|row| (row.id, row.outcome)).collect();
        result
    }

    /// Returns the outcome of a requirement with this agent.
    pub(super) fn outcome_of(&self, requirement: &str) -> Option<RequirementOutcome> {
        self.outcomes.get(requirement).copied()
    }

    /// Returns whether the requirement is tested by a scenario whose result depends on the agent.
    pub(super) fn is_tested_on(&self, requirement: &str) -> bool {
        self.own.contains(requirement)
    }

    /// Returns the verdict in words, or the reason why the agent has no verdict.
    pub fn words(&self) -> String {
        match (self.verdict, &self.untested) {
            (Some(verdict), _) => verdict.words().to_owned(),
            (None, why) => format!("untested: {}", why.as_deref().unwrap_or_default()),
        }
    }
}

/// The part of a run on which a verdict is based.
pub(super) struct RunView<'a> {
    pub(super) cases: Vec<&'a CaseReport>,
    /// The tested party.
    pub(super) party: JudgedParty,
    /// What is tested: `host`, `agent` or `client`.
    pub(super) subject: &'static str,
    pub(super) checks: Cow<'a, LiteMap<String, CheckTotal>>,
}

impl<'a> RunView<'a> {
    /// Returns a view of all cases of a run.
    pub(super) fn whole(run: &'a FinishedRun) -> RunView<'a> {
        let cases = run.cases.iter().map(|case| &case.report).collect();
        let party = run.header.party();
        RunView {
            cases,
            party,
            subject: run.header.subject(),
            checks: Cow::Borrowed(&run.summary.checks),
        }
    }

    /// Returns a view of the cases played with an agent and the cases played once for all agents.
    fn with_agent(run: &'a FinishedRun, provider: &str) -> RunView<'a> {
        let reports = run.cases.iter().map(|case| &case.report);
        let mine = |case: &&CaseReport| case.provider.as_deref().is_none_or(|it| it == provider);
        let cases: Vec<&CaseReport> = reports.filter(mine).collect();
        let summary = run.agents.get(provider).map(|agent| &agent.summary);
        let mut checks = summary.map(|summary| summary.checks.clone()).unwrap_or_default();
        for (id, total) in &mut checks {
            // If the baseline lists the findings of a check, the status of the check is `known` in the whole run, and
            // therefore also for this agent.
            let known = run.summary.checks.get(id).and_then(|whole| whole.worst);
            if known == Some(Status::Known) && total.worst.is_some() {
                total.worst = known;
            }
        }
        RunView {
            cases,
            party: run.header.party(),
            subject: run.header.subject(),
            checks: Cow::Owned(checks),
        }
    }

    /// Returns whether the host accepted the action or request `twin` anywhere in the run (see `ClaimReport::twin`).
    /// Cases that were played with another agent than the case `of` do not count.
    pub(super) fn accepted(&self, twin: &str, of: &CaseReport) -> bool {
        let comparable = |case: &&&CaseReport| {
            of.provider.is_none() || case.provider.is_none() || case.provider == of.provider
        };
        let mut cases = self.cases.iter().filter(comparable);
        cases.any(|case| case.accepted.iter().any(|accepted| accepted == twin))
    }
}
