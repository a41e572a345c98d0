//! The events of a run as plain data, in the form in which `run.jsonl` contains them.

use std::collections::BTreeMap;

use litemap::LiteMap;
use serde::{Deserialize, Serialize};

use crate::agent::mode::AgentMode;
use crate::oracle::JudgedParty;
use crate::run::detect::{AgentOfHost, DetectedFeature};
use crate::run::failure::StepFailure;
use crate::run::plan::{PlannedScenario, SkipCause};
use crate::run::play::ScenarioVerdict;
use crate::run::setup::UriForms;
use crate::run::side::AgentSide;
use crate::run::suite::SuiteEntry;
use crate::scenario::own::OwnRequirement;
use crate::scenario::source::{SourceFile, SourceSpan};
use crate::verdict::{CheckReport, Finding, FindingSubject, Status, Weight};
use crate::wire::foreign_text::{ForeignText, LineBreaks, shown};
use crate::wire::version::{ProtocolStandard, Version};

use super::outage::HostOutage;

/// The format of `run.jsonl` that this build writes and reads.
pub const FORMAT: u32 = 2;

/// The facts about a run that are known before the first scenario.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct RunHeader {
    /// The format version of the file.
    pub format: u32,
    /// The version of the harness.
    pub harness: String,
    /// The seed of all generated identifiers, for replaying the run.
    pub seed: u64,
    /// The target: `embedded`, or a URL without its secrets.
    pub target: ForeignText,
    /// Whether the target is a client. The harness is then the host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
    /// The name that the host declares for itself; `None` if the host declares no name.
    pub host: Option<ForeignText>,
    /// The protocol version under test.
    pub version: Version,
    /// The versions that the clients offered.
    pub offers: Vec<Version>,
    /// The start time, as an ISO 8601 text.
    pub started: String,
    /// The start time in microseconds since 1970.
    pub epoch_us: u64,
    /// The timeout of a wait, in milliseconds.
    pub limit_ms: u64,
    /// Whether other users could use the host during the run.
    pub shared: bool,
    /// The resources for which tokens were sent with `authenticate`.
    pub authenticated: Vec<String>,
    /// The properties of the host's configuration that were set before the run, without their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// The requested provider for sessions. If `agents` is not empty, this provider applies to the cases that name no
    /// provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ForeignText>,
    /// The agents of the host, if the run tests each agent: their differences, and the agents that cannot be tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentOfHost>,
    /// The versions that the host declares; empty if it declares none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<ForeignText>,
    /// The providers of the host's agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<ForeignText>,
    /// The resources for which each agent requires a token, by the provider of the agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub required_tokens: BTreeMap<String, Vec<String>>,
    /// The capabilities of the host, each with the evidence; empty if no handshake succeeded in the first look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detected: Vec<DetectedFeature>,
    /// The URI forms that clients used.
    #[serde(default)]
    pub forms: UriForms,
    /// Whether the run had secrets that no frame of the host may contain. The file of the run has marks in place of the
    /// secrets.
    #[serde(default)]
    pub secrets: bool,
    /// Whether additional clients connected as observers.
    #[serde(default)]
    pub observe: bool,
    /// The component that plays the agent.
    #[serde(default)]
    pub agent: AgentMode,
    /// The arguments of the run, quoted for a shell. The arguments include every option that affects how a single
    /// scenario is played, but not the seed or the options that select scenarios. Secrets are replaced by environment
    /// variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The part of the selection that was played, such as `1/4`; `None` if the whole selection was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
}

impl RunHeader {
    /// Returns the protocol under test.
    pub fn standard(&self) -> ProtocolStandard {
        self.version.standard
    }

    /// Returns the party that is tested.
    pub fn party(&self) -> JudgedParty {
        if self.client { JudgedParty::Clients } else { JudgedParty::Server }
    }

    /// Returns the tested party in one word.
    pub fn subject(&self) -> &'static str {
        if self.client { "client" } else { self.standard().subject() }
    }

    /// Returns the protocol and its version as a title.
    pub fn title(&self) -> String {
        self.version.title()
    }
}

/// The start of a scenario.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct CaseStart {
    /// The number of the scenario in the run.
    pub case: u32,
    /// The identifier of the scenario.
    pub scenario: String,
    /// The name from which the identifiers of the scenario are derived. Repetitions have different names.
    pub name: String,
    /// The source files of the scenario; the scenario's own file comes first.
    pub sources: Vec<SourceText>,
    /// The seed of the identifiers, if it differs from the seed in the header because several runs were merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The Unix time of the run's start in microseconds, if it differs from the time in the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch_us: Option<u64>,
    /// The provider of the scenario's sessions, if the run tests each agent of a host; `None` if the scenario does not
    /// depend on the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The agent under test, if the run tests an ACP agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<AgentSide>,
}

/// The early end of a scenario.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CaseStop {
    /// The number of the scenario in the run.
    pub case: u32,
    /// The time since the start of the scenario, in microseconds.
    pub at_us: u64,
    /// Why the scenario was interrupted; its cleanup follows. `None` means that the scenario ended because its cleanup
    /// was not complete in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One source file of a scenario.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct SourceText {
    /// The path of the file.
    pub name: String,
    /// The text of the file.
    pub text: String,
}

/// The report of a scenario that has ended or was not played.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CaseReport {
    /// The number of the scenario in the run.
    pub case: u32,
    /// The identifier of the scenario.
    pub scenario: String,
    /// The provider of the scenario's sessions, as in [`CaseStart`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The title of the scenario.
    pub title: String,
    /// The file of the scenario.
    pub file: String,
    /// The profile of the scenario.
    #[serde(default)]
    pub profile: String,
    /// The requirements that the steps of the scenario test.
    pub proves: Vec<String>,
    /// The tested requirements that the author defines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnRequirement>,
    /// The status of the scenario.
    pub status: Status,
    /// The reason for the status, in one line; empty for a pass.
    pub reason: ForeignText,
    /// The cause of a skip.
    #[serde(default, skip_serializing_if = "SkipCause::is_not_applicable")]
    pub skip: SkipCause,
    /// The weight of the rule that decided the status.
    pub weight: Weight,
    /// The number of expectations that held.
    pub observations: u64,
    /// The duration in milliseconds on the case's own clock.
    pub took_ms: u64,
    /// The failure that decided the status, with its place.
    pub failure: Option<FailureReport>,
    /// The result of each step that tests a requirement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimReport>,
    /// The actions and requests that the host accepted, as `dispatch TYPE` and `request METHOD`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// The number of the attempt at which a flaky scenario held; `None` if the first attempt held or no attempt
    /// held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky: Option<u16>,
    /// Further remarks about the scenario, for people.
    pub notes: Vec<ForeignText>,
    /// The results of the always-on checks.
    pub checks: Vec<CheckLine>,
    /// The outage of the host, if the scenario caused one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<HostOutage>,
    /// The source files, for drawing. This member is not serialized, because [`CaseStart`] contains the source files.
    #[serde(skip)]
    pub sources: Vec<SourceFile>,
    /// The failures with their places, for drawing. The failure that decided the status comes first. This member is not
    /// serialized, because `failure` and `claims` contain the reports of these failures.
    #[serde(skip)]
    pub drawn: Vec<(FailureReport, StepFailure)>,
}

/// The result of a claim: a step that tests a requirement.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ClaimReport {
    /// The requirements.
    pub rules: Vec<String>,
    /// The file of the step, which is the scenario or a fragment.
    pub file: String,
    /// The line of the step, from 1.
    pub line: usize,
    /// The status of the claim.
    pub status: Status,
    /// The reason why the claim was not tested or, if the status is `skip`, why the claim does not apply; empty
    /// if the claim was tested.
    #[serde(default, skip_serializing_if = "ForeignText::is_empty")]
    pub untested: ForeignText,
    /// The number of times that the claim was tested and held.
    pub observations: u64,
    /// The failure of the claim; `None` if the claim did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureReport>,
    /// The action or request that the host must have accepted in the same run. If the host did not accept it, the
    /// refusal that the step expects is not evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<String>,
}

/// A failed expectation with its place in a file.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FailureReport {
    /// The file, which is the scenario or a fragment.
    pub file: String,
    /// The line in the file, from 1.
    pub line: usize,
    /// The column in the line, from 1.
    pub column: usize,
    /// The description of the failure.
    pub message: ForeignText,
    /// The label for the author's line.
    pub label: ForeignText,
    /// The requirement that is broken; empty for a premise, which breaks no requirement.
    pub rule: String,
    /// The lines of the transcript that show the failure.
    pub transcript: Vec<u64>,
}

/// The result of one always-on check in a scenario.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CheckLine {
    /// The identifier of the check.
    pub check: String,
    /// The number of times that the rule was tested.
    pub observations: u64,
    /// The number of times that each requirement was tested. Only requirements that the check counts separately are
    /// listed.
    #[serde(default, skip_serializing_if = "LiteMap::is_empty")]
    pub apart: LiteMap<String, u64>,
    /// The findings, without duplicates.
    pub findings: Vec<FindingLine>,
    /// The number of breaches that are not in `findings`.
    pub left_out: u64,
}

/// A finding: one rule that was broken.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FindingLine {
    /// The requirement that is broken; empty if the finding breaks none of the check's requirements, `None` if it is
    /// unknown which requirement is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The weight of the rule.
    pub weight: Weight,
    /// The description of the breach.
    pub message: ForeignText,
    /// The lines of the transcript that prove the breach.
    pub transcript: Vec<u64>,
    /// The difference between the compared states.
    pub diff: Option<ForeignText>,
    /// Whether the baseline lists this finding.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// The number of times that this finding occurred; the other members describe the first occurrence.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u64,
}

fn once() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_once(times: &u64) -> bool {
    *times == once()
}

impl From<&Finding> for FindingLine {
    fn from(finding: &Finding) -> FindingLine {
        FindingLine {
            of: match finding.subject {
                FindingSubject::Unnamed => None,
                FindingSubject::Requirement(id) => Some(id.to_owned()),
                FindingSubject::Beyond => Some(String::new()),
            },
            weight: finding.weight,
            message: finding.message.as_str().into(),
            transcript: finding.lines.clone(),
            diff: finding.diff.as_deref().map(ForeignText::from),
            known: false,
            times: finding.times,
        }
    }
}

impl From<&CheckReport> for CheckLine {
    fn from(report: &CheckReport) -> CheckLine {
        let apart = report.apart.iter().filter(|(_, seen)| *seen > 0);
        CheckLine {
            check: report.check.to_owned(),
            observations: report.observations,
            apart: apart.map(|(id, seen)| ((*id).to_owned(), *seen)).collect(),
            findings: report.findings.iter().map(FindingLine::from).collect(),
            left_out: report.left_out,
        }
    }
}

impl CaseReport {
    /// Makes the report of a scenario that was played.
    pub fn of(case: u32, entry: &SuiteEntry, verdict: &ScenarioVerdict) -> CaseReport {
        let position = |span: SourceSpan| {
            let source = entry.sources.get(span.file as usize).or(entry.sources.first());
            let (line, column) = source.map_or((1, 1), |source| source.position(span.start));
            (source.map(|source| source.name.clone()).unwrap_or_default(), line, column)
        };
        let report = |failure: &StepFailure, rule: &str| {
            let (file, line, column) = position(failure.span);
            FailureReport {
                file,
                line,
                column,
                message: failure.message.as_str().into(),
                label: failure.label.as_str().into(),
                rule: rule.to_owned(),
                transcript: failure.lines.clone(),
            }
        };
        let claims = verdict.claims.iter().map(|claim| {
            let (file, line, _) = position(claim.outcome.span);
            ClaimReport {
                rules: claim.outcome.rules.clone(),
                file,
                line,
                status: claim.status,
                untested: claim.outcome.untested.as_str().into(),
                observations: claim.outcome.observations,
                failure: claim.outcome.failure.as_ref().map(|it| report(it, &claim.rule)),
                twin: claim.outcome.twin.clone(),
            }
        });
        let claims: Vec<ClaimReport> = claims.collect();
        let first =
            verdict.failure.as_ref().map(|failure| (report(failure, &verdict.rule), failure));
        let others = verdict.claims.iter().filter_map(|claim| {
            let failure = claim.outcome.failure.as_ref()?;
            (Some(failure) != verdict.failure.as_ref())
                .then(|| (report(failure, &claim.rule), failure))
        });
        let failures = first.into_iter().chain(others);
        let drawn = failures.map(|(report, failure)| (report, failure.clone())).collect::<Vec<_>>();
        let checks = verdict.checks.iter();
        CaseReport {
            weight: verdict.weight,
            observations: verdict.observations,
            took_ms: u64::try_from(verdict.took.as_millis()).unwrap_or(u64::MAX),
            failure: verdict.failure.as_ref().and(drawn.first()).map(|(report, _)| report.clone()),
            claims,
            accepted: verdict.accepted.clone(),
            notes: verdict.notes.iter().map(|note| note.as_str().into()).collect(),
            checks: checks
                .filter(|check| check.observations > 0 || !check.findings.is_empty())
                .map(CheckLine::from)
                .collect(),
            drawn,
            ..CaseReport::unplayed(case, entry, verdict.status, verdict.reason.clone())
        }
    }

    /// Returns the failures; the failure that decided the status comes first.
    pub fn failures(&self) -> impl Iterator<Item = &FailureReport> {
        let others = self.claims.iter().filter_map(|claim| claim.failure.as_ref());
        let first = self.failure.as_ref();
        first.into_iter().chain(others.filter(move |failure| Some(*failure) != first))
    }

    /// Makes the report of a scenario that the plan skips.
    pub fn skipped(case: u32, planned: &PlannedScenario, reason: String) -> CaseReport {
        let report = CaseReport {
            skip: planned.cause,
            ..CaseReport::unplayed(case, &planned.entry, Status::Skip, reason)
        };
        report.with(planned)
    }

    /// Sets the agent for which the scenario was planned.
    pub fn with(self, planned: &PlannedScenario) -> CaseReport {
        let provider = planned.agent.as_ref().map(|agent| agent.provider.clone());
        CaseReport { provider, ..self }
    }

    /// Returns the name of the scenario, with the agent if the run tests several agents.
    pub fn name(&self) -> String {
        match &self.provider {
            Some(provider) => format!("{} [{}]", self.scenario, shown(provider, LineBreaks::Shown)),
            None => self.scenario.clone(),
        }
    }

    /// Makes the report of a scenario that was not played or not judged.
    pub fn unplayed(case: u32, entry: &SuiteEntry, status: Status, reason: String) -> CaseReport {
        let scenario = &entry.scenario;
        CaseReport {
            case,
            scenario: scenario.id.clone(),
            provider: None,
            title: scenario.title.clone(),
            file: entry.sources.first().map(|source| source.name.clone()).unwrap_or_default(),
            profile: scenario.profile.clone(),
            proves: scenario.proves.clone(),
            own: scenario.own.clone(),
            status,
            reason: reason.into(),
            skip: SkipCause::default(),
            weight: Weight::Note,
            observations: 0,
            took_ms: 0,
            failure: None,
            claims: Vec::new(),
            accepted: Vec::new(),
            flaky: None,
            notes: Vec::new(),
            checks: Vec::new(),
            outage: None,
            sources: entry.sources.to_vec(),
            drawn: Vec::new(),
        }
    }
}
