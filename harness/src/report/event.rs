//! The events of a run: plain data, in the form in which they are written.

use litemap::LiteMap;
use serde::{Deserialize, Serialize};

use crate::agent::mode::AgentMode;
use crate::run::detect::{AgentOfHost, DetectedFeature};
use crate::run::failure::StepFailure;
use crate::run::plan::{PlannedScenario, SkipCause};
use crate::run::play::ScenarioVerdict;
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

/// What is known before the first scenario.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct RunHeader {
    /// The format of the file.
    pub format: u32,
    /// Version of the harness.
    pub harness: String,
    /// The seed of every id, to play the same run again.
    pub seed: u64,
    /// What was played against: `embedded`, or a URL without its secrets.
    pub target: ForeignText,
    /// How the host calls itself, where it said so.
    pub host: Option<ForeignText>,
    /// The protocol version that the run is about.
    pub version: String,
    /// The versions that clients offered.
    pub offers: Vec<String>,
    /// When it began, as an ISO 8601 text.
    pub started: String,
    /// The same in microseconds since 1970.
    pub epoch_us: u64,
    /// How long a wait could take, in milliseconds.
    pub limit_ms: u64,
    /// Whether others could use the host at the same time.
    pub shared: bool,
    /// The resources that tokens were pushed for.
    pub authenticated: Vec<String>,
    /// The properties of the host's configuration that were set before the run, without their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// The provider that sessions were created with, where one was asked for; with `agents`, that of the cases that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ForeignText>,
    /// Its agents, where the run is about each of them: what differs between them, and which cannot be tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentOfHost>,
    /// The versions that the host says it speaks; empty where it does not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<ForeignText>,
    /// The providers of the host's agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<ForeignText>,
    /// What the host offers of what scenarios may need, and what showed it; nothing where the first look found
    /// no host that shook hands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detected: Vec<DetectedFeature>,
    /// Whether there were secrets that no frame of the host may contain: marks stand for them.
    #[serde(default)]
    pub secrets: bool,
    /// Whether further clients came and looked.
    #[serde(default)]
    pub observe: bool,
    /// Who played the agent.
    #[serde(default)]
    pub agent: AgentMode,
    /// The arguments that the run was started with, quoted for a shell: all that decide how one scenario goes, but not
    /// which are played, nor the seed; environment variables stand for secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Which part of the selection was played, such as `1/4`, where it was not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
}

impl RunHeader {
    /// The protocol that the run is about.
    pub fn standard(&self) -> ProtocolStandard {
        self.version.parse::<Version>().map(|version| version.standard).unwrap_or_default()
    }

    /// The protocol and its version, as a title has it.
    pub fn title(&self) -> String {
        title(&self.version)
    }
}

/// The protocol and its version, as a title has it, from how the version is written.
pub fn title(version: &str) -> String {
    match version.parse::<Version>() {
        Ok(version) => version.title(),
        Err(_) => format!("AHP {version}"),
    }
}

/// A scenario that begins.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct CaseStart {
    /// Its number in the run.
    pub case: u32,
    /// Its id.
    pub scenario: String,
    /// The name that its ids are made from; tells repetitions apart.
    pub name: String,
    /// The texts it was made of, the file first.
    pub sources: Vec<SourceText>,
    /// The seed of its ids, where several runs were merged and it is not the header's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The wall clock when it began, in microseconds since 1970, where that is not when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch_us: Option<u64>,
    /// The provider that its sessions were created with, in a run about each agent of a host; missing where the scenario does
    /// not depend on the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The agent that is put to the test, in a run of ACP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<AgentSide>,
}

/// One file of a scenario.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct SourceText {
    /// Its path.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A scenario that has ended, or was not played.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CaseReport {
    /// Its number in the run.
    pub case: u32,
    /// Its id.
    pub scenario: String,
    /// The provider of its sessions, as in the line of its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// What it shows.
    pub title: String,
    /// Its file.
    pub file: String,
    /// The profile it belongs to.
    #[serde(default)]
    pub profile: String,
    /// The requirements that its steps test.
    pub proves: Vec<String>,
    /// Those of them that are the author's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnRequirement>,
    /// How it ended.
    pub status: Status,
    /// Why, in one line; empty for a pass.
    pub reason: ForeignText,
    /// Why it was not played, if it was skipped.
    #[serde(default, skip_serializing_if = "SkipCause::is_not_applicable")]
    pub skip: SkipCause,
    /// The weight of the rule that held or failed.
    pub weight: Weight,
    /// How many of its expectations held.
    pub observations: u64,
    /// How long it took, in milliseconds of the case's own time.
    pub took_ms: u64,
    /// What decided the status, where it stands.
    pub failure: Option<FailureReport>,
    /// What came of each step that tests a requirement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimReport>,
    /// What the host accepted: `dispatch TYPE` and `request METHOD`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// At which attempt it held, where it did not at the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky: Option<u16>,
    /// What there is to say besides.
    pub notes: Vec<ForeignText>,
    /// What the always-on checks saw.
    pub checks: Vec<CheckLine>,
    /// How it ended the host, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<HostOutage>,
    /// The texts it was made of, for drawing; not written twice.
    #[serde(skip)]
    pub sources: Vec<SourceFile>,
    /// The failures with their places, for drawing, what decided the status first; written in parts.
    #[serde(skip)]
    pub drawn: Vec<(FailureReport, StepFailure)>,
}

/// What came of a step that tests a requirement.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ClaimReport {
    /// The requirements.
    pub rules: Vec<String>,
    /// The file of the step: the scenario's or a fragment's.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// How it ended.
    pub status: Status,
    /// Why it was not put to the test, or, with the status `skip`, why it does not apply; empty where it was tested.
    #[serde(default, skip_serializing_if = "ForeignText::is_empty")]
    pub untested: ForeignText,
    /// How often it was put to the test and held.
    pub observations: u64,
    /// How it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureReport>,
    /// What the host has to have accepted in the same run, so that the refusal counts that the step expects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<String>,
}

/// Where and how an expectation was not met.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FailureReport {
    /// The file: the scenario's or a fragment's.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// What was wrong.
    pub message: ForeignText,
    /// What the author's line is told.
    pub label: ForeignText,
    /// The requirement that is broken; empty for a premise, which speaks against nobody.
    pub rule: String,
    /// The lines of the transcript.
    pub transcript: Vec<u64>,
}

/// What one always-on check saw in a scenario.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CheckLine {
    /// The check.
    pub check: String,
    /// How often its rule was put to the test.
    pub observations: u64,
    /// The same for each requirement that is counted apart and was put to the test.
    #[serde(default, skip_serializing_if = "LiteMap::is_empty")]
    pub apart: LiteMap<String, u64>,
    /// How it was broken, each way once.
    pub findings: Vec<FindingLine>,
    /// Breaches that no finding counts.
    pub left_out: u64,
}

/// One rule seen broken.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FindingLine {
    /// The requirement that it breaks; empty where it breaks none of the check's, missing where it
    /// cannot say which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// How much it weighs.
    pub weight: Weight,
    /// What is wrong.
    pub message: ForeignText,
    /// The lines of the transcript that prove it.
    pub transcript: Vec<u64>,
    /// The difference of the states involved.
    pub diff: Option<ForeignText>,
    /// Whether the baseline lists this finding.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// How often the same was found; the other members are of the first time.
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
    /// The report of a scenario that was played.
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

    /// The failures, what decided the status first.
    pub fn failures(&self) -> impl Iterator<Item = &FailureReport> {
        let others = self.claims.iter().filter_map(|claim| claim.failure.as_ref());
        let first = self.failure.as_ref();
        first.into_iter().chain(others.filter(move |failure| Some(*failure) != first))
    }

    /// The report of a scenario that the plan leaves out.
    pub fn skipped(case: u32, planned: &PlannedScenario, reason: String) -> CaseReport {
        let report = CaseReport {
            skip: planned.cause,
            ..CaseReport::unplayed(case, &planned.entry, Status::Skip, reason)
        };
        report.with(planned)
    }

    /// The same with the agent that it was planned for.
    pub fn with(self, planned: &PlannedScenario) -> CaseReport {
        let provider = planned.agent.as_ref().map(|agent| agent.provider.clone());
        CaseReport { provider, ..self }
    }

    /// The scenario, with the agent where it was played with several.
    pub fn name(&self) -> String {
        match &self.provider {
            Some(provider) => format!("{} [{}]", self.scenario, shown(provider, LineBreaks::Shown)),
            None => self.scenario.clone(),
        }
    }

    /// The report of a scenario that was not played or not judged.
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
