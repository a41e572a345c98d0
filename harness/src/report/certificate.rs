//! What a run says about a host: each requirement of the version with its verdict and the evidence,
//! and each profile with what its requirements come to.
//!
//! A requirement *holds* when something that puts it to the test was observed and nothing was found
//! against it. Of a scenario, each step speaks for the requirements that it names, however the others
//! end. A refusal speaks for one only if the host accepted the same kind of action or request somewhere
//! in the run: a host that refuses everything has not shown that it knows what to refuse. An always-on
//! check is a rule of its own; what
//! it finds speaks against a requirement only where it cites no other, since it cannot say which of
//! several its finding breaks.
//!
//! Start at [`HostCertificate::of`].

use std::collections::{HashMap, HashSet};

use litemap::LiteMap;
use serde::Serialize;

use crate::agent::mode::AgentMode;
use crate::ledger::{BoundParty, Requirement, RequirementLedger};
use crate::oracle::{CheckRow, all_checks, checks as checks_of};
use crate::run::detect::DetectedFeature;
use crate::run::plan::SkipCause;
use crate::scenario::own::{self, OwnRequirement};
use crate::verdict::{Status, Weight};
use crate::wire::foreign_text::ForeignText;
use crate::wire::version::Version;

use super::agent_result::{AgentResult, RunView};
use super::area::{area, or_core};
use super::event::{CaseReport, ClaimReport};
use super::finished::FinishedRun;
use super::profile_verdict::{ProfileResult, ProfileVerdict, profiles};
use super::rule_quotes::RuleQuotes;
use super::summary::CheckTotal;

/// The format of `certificate.json`.
pub const FORMAT: u32 = 1;

/// What a run says about a host.
#[derive(Clone, Debug, Serialize)]
pub struct HostCertificate {
    /// The format of the file.
    pub format: u32,
    /// Version of the harness.
    pub harness: String,
    /// What was certified: `embedded`, or a URL without its secrets.
    pub target: ForeignText,
    /// How the host calls itself, where it said so.
    pub host: Option<ForeignText>,
    /// The protocol version.
    pub version: String,
    /// The protocol and its version, such as `AHP 1.0.0`.
    #[serde(skip)]
    pub title: String,
    /// The versions that were offered.
    pub offers: Vec<String>,
    /// The versions that the host says it speaks; empty where it does not say.
    pub versions: Vec<ForeignText>,
    /// The providers of its agents.
    pub providers: Vec<ForeignText>,
    /// What it offers of what scenarios may need, and what showed it.
    pub detected: Vec<DetectedFeature>,
    /// The properties of the host's configuration that were set before the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Who played the agent: `host`, `model` or `acp`.
    pub agent: AgentMode,
    /// The provider that sessions were created with, where one was asked for.
    pub provider: Option<ForeignText>,
    /// The seed of the run.
    pub seed: u64,
    /// When it began.
    pub started: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Whether the run came to its end.
    pub complete: bool,
    /// Scenarios by status.
    pub scenarios: LiteMap<Status, u64>,
    /// The profiles, `core` first.
    pub profiles: Vec<ProfileResult>,
    /// Each agent of the host, in a run about several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentResult>,
    /// The MUST and essential requirements that this run could not test, by reason, the commonest first.
    pub out_of_reach: Vec<UnreachedRules>,
    /// Every requirement of the version.
    pub requirements: Vec<RequirementResult>,
    /// Every always-on check.
    pub checks: Vec<CheckResult>,
}

/// Requirements that a run could not test, for one reason.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct UnreachedRules {
    /// The reason.
    pub reason: ForeignText,
    /// The MUST requirements.
    pub must: Vec<String>,
    /// The essential requirements.
    pub essential: Vec<String>,
}

impl UnreachedRules {
    fn of(rows: &[RequirementResult]) -> Vec<UnreachedRules> {
        let mut all: Vec<UnreachedRules> = Vec::new();
        let rows = rows.iter().filter(|row| row.outcome == RequirementOutcome::OutOfReach);
        for row in rows.filter(|row| row.weight >= Weight::Essential) {
            let place = all.iter().position(|it| it.reason == row.reason).unwrap_or(all.len());
            if place == all.len() {
                let reason = row.reason.clone();
                all.push(UnreachedRules { reason, must: Vec::new(), essential: Vec::new() });
            }
            if let Some(reason) = all.get_mut(place) {
                let must = row.weight == Weight::Must;
                let ids = if must { &mut reason.must } else { &mut reason.essential };
                ids.push(row.id.clone());
            }
        }
        all.sort_by_key(|it| std::cmp::Reverse((it.must.len(), it.essential.len())));
        all
    }
}

/// What an always-on check came to.
#[derive(Clone, Debug, Serialize)]
pub struct CheckResult {
    /// Its id.
    pub id: &'static str,
    /// How much its rule weighs.
    pub weight: Weight,
    /// The profile it belongs to.
    pub profile: String,
    /// Its rule, in the words of the version.
    pub statement: String,
    /// What is known.
    pub outcome: RequirementOutcome,
    /// How often it was put to the test.
    pub observations: u64,
    /// How often it was seen broken.
    pub findings: u64,
    /// The requirements it is about.
    pub requirements: &'static [&'static str],
    /// What speaks against it.
    pub evidence: Vec<RequirementEvidence>,
}

/// What is known of one requirement.
#[derive(Clone, Debug, Serialize)]
pub struct RequirementResult {
    /// Its id.
    pub id: String,
    /// What a breach weighs.
    pub weight: Weight,
    /// Who has to keep it.
    pub party: String,
    /// The profile it belongs to.
    pub profile: String,
    /// The rule, in the words of the version.
    pub statement: String,
    /// Where it comes from.
    pub source: String,
    /// What is known.
    pub outcome: RequirementOutcome,
    /// How often it was put to the test.
    pub observations: u64,
    /// Why, where that is not plain.
    pub reason: ForeignText,
    /// What speaks against it.
    pub evidence: Vec<RequirementEvidence>,
    /// The scenarios that put it to the test, with how each ended.
    pub scenarios: Vec<(String, Status)>,
    /// The always-on checks of it.
    pub checks: Vec<&'static str>,
    /// What is known of it with each agent that was tested, in a run about several, where that may differ.
    #[serde(skip_serializing_if = "LiteMap::is_empty")]
    pub agents: LiteMap<String, RequirementOutcome>,
}

/// What speaks against a requirement.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct RequirementEvidence {
    /// The scenario, followed by the agent in brackets where it was played with several.
    pub scenario: String,
    /// The always-on check, where one found it.
    pub check: Option<&'static str>,
    /// What is wrong.
    pub message: ForeignText,
    /// The lines of `run.jsonl` that prove it.
    pub transcript: Vec<u64>,
}

/// What is known of a requirement.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequirementOutcome {
    /// Observed, and held.
    Pass,
    /// A MUST or essential rule is broken.
    Fail,
    /// A SHOULD is broken.
    Warn,
    /// An implied or open rule did not hold in the reading taken.
    Note,
    /// Broken exactly as the baseline says.
    Known,
    /// Applicable, and not observed.
    Untested,
    /// It may apply, but this run could not test it: an option was not given, the agent plays no scripts, or the harness
    /// tests it on its own host only.
    OutOfReach,
    /// Not applicable to this host.
    Skip,
    /// Nothing can put it to the test.
    Excluded,
    /// No check of this harness puts it to the test.
    Unchecked,
}

impl RequirementOutcome {
    /// Every outcome, the worst first.
    pub const ALL: [RequirementOutcome; 10] = [
        RequirementOutcome::Fail,
        RequirementOutcome::Untested,
        RequirementOutcome::Warn,
        RequirementOutcome::Known,
        RequirementOutcome::Note,
        RequirementOutcome::Pass,
        RequirementOutcome::OutOfReach,
        RequirementOutcome::Skip,
        RequirementOutcome::Unchecked,
        RequirementOutcome::Excluded,
    ];

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            RequirementOutcome::Pass => "pass",
            RequirementOutcome::Fail => "fail",
            RequirementOutcome::Warn => "warn",
            RequirementOutcome::Note => "note",
            RequirementOutcome::Known => "known",
            RequirementOutcome::Untested => "untested",
            RequirementOutcome::OutOfReach => "out-of-reach",
            RequirementOutcome::Skip => "skip",
            RequirementOutcome::Excluded => "excluded",
            RequirementOutcome::Unchecked => "unchecked",
        }
    }

    /// The same, but no worse than a breach of a rule of this weight.
    fn at_most(self, weight: Weight) -> RequirementOutcome {
        let rank = |outcome| RequirementOutcome::ALL.iter().position(|known| *known == outcome);
        let most = RequirementOutcome::broken(weight.broken()).unwrap_or(RequirementOutcome::Note);
        match self {
            RequirementOutcome::Fail | RequirementOutcome::Warn if rank(self) < rank(most) => most,
            _ => self,
        }
    }

    fn broken(status: Status) -> Option<RequirementOutcome> {
        match status {
            Status::Fail => Some(RequirementOutcome::Fail),
            Status::Warn => Some(RequirementOutcome::Warn),
            Status::Note => Some(RequirementOutcome::Note),
            Status::Known => Some(RequirementOutcome::Known),
            _ => None,
        }
    }
}

/// Breaches of one requirement that are listed.
const EVIDENCE: usize = 5;

impl HostCertificate {
    /// Folds a run.
    pub fn of(run: &FinishedRun) -> HostCertificate {
        let version: Option<Version> = run.header.version.parse().ok();
        let version = version.unwrap_or(RequirementLedger::newest().version);
        let mut whole = ViewResults::of(&RunView::whole(run), version);
        let agents: Vec<AgentResult> =
            run.header.agents.iter().map(|agent| AgentResult::of(agent, run, version)).collect();
        whole.requirements.iter_mut().for_each(|row| row.put_beside(&agents));
        let header = run.header.clone();
        HostCertificate {
            format: FORMAT,
            harness: header.harness,
            target: header.target,
            host: header.host,
            version: version.to_string(),
            title: version.title(),
            offers: header.offers,
            versions: header.versions,
            providers: header.providers,
            detected: header.detected,
            settings: header.settings,
            agent: header.agent,
            provider: header.provider,
            seed: header.seed,
            started: header.started,
            took_ms: run.footer.as_ref().map_or(0, |footer| footer.took_ms),
            complete: run.header.shard.is_none()
                && run.footer.as_ref().is_some_and(|footer| !footer.interrupted),
            scenarios: run.summary.counts.clone(),
            profiles: whole.profiles,
            agents,
            out_of_reach: UnreachedRules::of(&whole.requirements),
            requirements: whole.requirements,
            checks: whole.checks,
        }
    }

    /// The verdict on everything that applies: the worst of the profiles, with each agent that was tested.
    pub fn verdict(&self) -> ProfileVerdict {
        let agents = self.agents.iter().filter_map(|agent| agent.verdict);
        let profiles = self.profiles.iter().map(|profile| profile.verdict);
        match ProfileVerdict::worst(profiles.chain(agents)) {
            ProfileVerdict::NotConformant => ProfileVerdict::NotConformant,
            _ if !self.complete => ProfileVerdict::Incomplete,
            verdict => verdict,
        }
    }
}

/// What a view of a run comes to.
pub(super) struct ViewResults {
    pub(super) requirements: Vec<RequirementResult>,
    pub(super) checks: Vec<CheckResult>,
    pub(super) profiles: Vec<ProfileResult>,
}

impl ViewResults {
    pub(super) fn of(run: &RunView<'_>, version: Version) -> ViewResults {
        let mut about: HashMap<&str, Vec<&CaseReport>> = HashMap::new();
        for report in run.cases.iter().copied() {
            let ids = report.proves.iter().map(String::as_str);
            ids.for_each(|id| about.entry(id).or_default().push(report));
        }
        let rules = RequirementLedger::of(version).iter().filter(|rule| rule.holds_in(version));
        let quotes = RuleQuotes::of(version);
        let row = |rule| {
            RequirementResult::of(rule, about.get(rule.id).map_or(&[][..], Vec::as_slice), run)
        };
        let mut requirements: Vec<RequirementResult> = rules.map(row).collect();
        for row in &mut requirements {
            row.statement = quotes.text(&row.statement);
        }
        let mut own: Vec<&OwnRequirement> = run.cases.iter().flat_map(|case| &case.own).collect();
        own.sort_by_key(|own| &own.id);
        own.dedup_by_key(|own| &own.id);
        let row = |own: &OwnRequirement| {
            RequirementResult::own(
                own,
                about.get(own.id.as_str()).map_or(&[][..], Vec::as_slice),
                run,
            )
        };
        requirements.extend(own.into_iter().map(row));
        let tried = TriedProfiles::of(run);
        let ledger = RequirementLedger::of(version);
        for row in &mut requirements {
            let when = ledger.find(&row.id).and_then(|rule| rule.when);
            row.excuse(&tried, when);
        }
        let checks: Vec<CheckResult> = checks_of(version.standard)
            .iter()
            .filter_map(|check| Some(CheckResult::of(check, run.checks.get(check.id)?, &quotes)))
            .collect();
        let profiles = profiles(&requirements, &checks, &tried);
        ViewResults { requirements, checks, profiles }
    }
}

impl CheckResult {
    fn of(check: &'static CheckRow, total: &CheckTotal, quotes: &RuleQuotes) -> CheckResult {
        let outcome = match total.worst.and_then(RequirementOutcome::broken) {
            Some(broken) => broken,
            None if total.observations > 0 => RequirementOutcome::Pass,
            None => RequirementOutcome::Untested,
        };
        CheckResult {
            id: check.id,
            weight: check.weight,
            profile: area(check.id, "core"),
            statement: quotes.text(check.doc),
            outcome,
            observations: total.observations,
            findings: total.findings,
            requirements: check.requirements,
            evidence: findings(check, total, |_| true).collect(),
        }
    }
}

/// The profiles of which at least one scenario was played. What a host does not offer is none of them.
pub(super) struct TriedProfiles(HashSet<String>);

impl TriedProfiles {
    fn of(run: &RunView<'_>) -> TriedProfiles {
        let played = run.cases.iter().filter(|case| case.status != Status::Skip);
        let area = |case: &&CaseReport| area(&case.scenario, or_core(&case.profile));
        let mut profiles: HashSet<String> = played.map(area).collect();
        profiles.extend(["core", OWN].map(str::to_owned));
        TriedProfiles(profiles)
    }

    pub(super) fn has(&self, profile: &str) -> bool {
        self.0.contains(profile)
    }
}

/// The profile, the party and the source of an author's own requirements.
const OWN: &str = "own";

/// Why nothing was observed about a requirement; the strongest cause of all scenarios counts.
struct UnmetReason {
    cause: UnmetCause,
    why: String,
}

/// Causes, the weakest first.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum UnmetCause {
    /// A scenario is written for other versions.
    OtherVersion,
    /// A scenario, or a claim, does not apply to the host.
    NotApplicable,
    /// A scenario could not be played.
    OutOfReach,
    /// A scenario was played and did not reach the claim.
    Untested,
}

impl From<SkipCause> for UnmetCause {
    fn from(cause: SkipCause) -> UnmetCause {
        match cause {
            SkipCause::OtherVersion => UnmetCause::OtherVersion,
            SkipCause::NotApplicable => UnmetCause::NotApplicable,
            SkipCause::OutOfReach => UnmetCause::OutOfReach,
        }
    }
}

impl UnmetCause {
    fn outcome(self) -> RequirementOutcome {
        match self {
            // The requirement holds at the version, and no scenario that can be played there tests it.
            UnmetCause::OtherVersion | UnmetCause::OutOfReach => RequirementOutcome::OutOfReach,
            UnmetCause::NotApplicable => RequirementOutcome::Skip,
            UnmetCause::Untested => RequirementOutcome::Untested,
        }
    }
}

/// Why a requirement is untested of which nothing that was played shows anything.
const UNOBSERVED: &str = "nothing was observed";

impl RequirementResult {
    /// The row of a requirement of the author's own.
    fn own(rule: &OwnRequirement, cases: &[&CaseReport], run: &RunView<'_>) -> RequirementResult {
        let mut row = RequirementResult {
            id: rule.id.clone(),
            weight: rule.weight,
            party: OWN.to_owned(),
            profile: OWN.to_owned(),
            statement: rule.text.clone(),
            source: own::FILE.to_owned(),
            outcome: RequirementOutcome::Unchecked,
            observations: 0,
            reason: ForeignText::default(),
            evidence: Vec::new(),
            scenarios: cases.iter().map(|case| (case.name(), case.status)).collect(),
            checks: Vec::new(),
            agents: LiteMap::new(),
        };
        row.judge(cases, &[], run);
        row
    }

    fn of(
        rule: &'static Requirement,
        cases: &[&CaseReport],
        run: &RunView<'_>,
    ) -> RequirementResult {
        let checks = all_checks().filter(|check| check.requirements.contains(&rule.id));
        let checks: Vec<&'static CheckRow> = checks.collect();
        let profile = match (cases.first(), checks.first()) {
            (Some(case), _) => area(&case.scenario, or_core(&case.profile)),
            (None, Some(check)) => area(check.id, "core"),
            (None, None) => "core".to_owned(),
        };
        // What a rule is about says more than where it is tested.
        let profile = area(rule.id, &profile);
        let mut row = RequirementResult {
            id: rule.id.to_owned(),
            weight: rule.weight,
            party: rule.party.to_string(),
            profile,
            statement: rule.statement.to_owned(),
            source: rule.source.to_owned(),
            outcome: RequirementOutcome::Unchecked,
            observations: 0,
            reason: ForeignText::default(),
            evidence: Vec::new(),
            scenarios: cases.iter().map(|case| (case.name(), case.status)).collect(),
            checks: checks.iter().map(|check| check.id).collect(),
            agents: LiteMap::new(),
        };
        if let Some(reason) = rule.excluded {
            (row.outcome, row.reason) = (RequirementOutcome::Excluded, reason.into());
        } else if rule.party == BoundParty::Reducer {
            // A host is not asked for its reducers; what it sends was folded by ours.
            row.reason = "a reducer is held to it by `ahp-harness reducers`".into();
            row.outcome = RequirementOutcome::Skip;
        } else {
            row.judge(cases, &checks, run);
        }
        row
    }

    fn judge(&mut self, cases: &[&CaseReport], checks: &[&'static CheckRow], run: &RunView<'_>) {
        let mut worst: Option<RequirementOutcome> = None;
        let mut held = 0;
        let mut unclear = None;
        let mut unmet: Option<UnmetReason> = None;
        let mut miss = |cause: UnmetCause, why: String| {
            if unmet.as_ref().is_none_or(|known| known.cause < cause) && !why.is_empty() {
                unmet = Some(UnmetReason { cause, why });
            }
        };
        let mut worse = |outcome: RequirementOutcome| {
            let rank = |outcome| RequirementOutcome::ALL.iter().position(|known| *known == outcome);
            if worst.is_none_or(|worst| rank(outcome) < rank(worst)) {
                worst = Some(outcome);
            }
        };
        for case in cases {
            let of_rule = |claim: &&ClaimReport| claim.rules.contains(&self.id);
            let claims: Vec<&ClaimReport> = case.claims.iter().filter(of_rule).collect();
            if claims.is_empty() {
                // It was not played, or its step is not taken at this version.
                match (case.status, case.skip) {
                    (Status::Skip, cause) => miss(cause.into(), case.reason.raw().to_owned()),
                    _ if case.reason.is_empty() => {}
                    _ => miss(
                        UnmetCause::Untested,
                        format!("`{}`: {}", case.name(), case.reason.raw()),
                    ),
                }
            }
            for claim in claims {
                let twin = claim.twin.as_ref().filter(|twin| !run.accepted(twin, case));
                match (&claim.failure, claim.status, twin) {
                    (Some(failure), ..) => {
                        worse(match case.status {
                            Status::Known => RequirementOutcome::Known,
                            _ => RequirementOutcome::broken(self.weight.broken())
                                .unwrap_or(RequirementOutcome::Note),
                        });
                        self.evidence.push(RequirementEvidence {
                            scenario: case.name(),
                            check: None,
                            message: failure.message.clone(),
                            transcript: failure.transcript.clone(),
                        });
                    }
                    (None, Status::Pass, None) => held += claim.observations,
                    (None, Status::Pass, Some(twin)) => {
                        let why = format!(
                            "`{}`: the host refused it, which says nothing: it accepted no `{}` in this run",
                            case.name(),
                            twin.split(' ').next_back().unwrap_or_default()
                        );
                        miss(UnmetCause::Untested, why);
                    }
                    (None, Status::Skip, _) => {
                        miss(UnmetCause::NotApplicable, claim.untested.raw().to_owned());
                    }
                    (None, ..) => {
                        let why = format!("`{}`: {}", case.name(), claim.untested.raw());
                        miss(UnmetCause::Untested, why);
                    }
                }
            }
        }
        for check in checks {
            let Some(total) = run.checks.get(check.id) else { continue };
            let known = total.rules.get(&self.id);
            let apart = check.apart.contains(&self.id.as_str());
            let worst = match check.requirements.len() {
                1 if !apart => total.worst,
                _ => known.and_then(|known| known.worst),
            };
            if let Some(broken) = worst.and_then(RequirementOutcome::broken) {
                // The rule of a check may weigh more than one of the requirements that it is about.
                worse(broken.at_most(self.weight));
                let mine = |id: &Option<String>| id.as_ref().is_none_or(|id| *id == self.id);
                self.evidence.extend(findings(check, total, mine));
            } else if apart {
                held += known.map_or(0, |known| known.observations);
            } else if total.unclear {
                unclear = Some(check.id);
            } else {
                held += total.observations;
            }
        }
        self.observations = held + self.evidence.len() as u64;
        self.evidence.truncate(EVIDENCE);
        let (outcome, reason) = match (worst, held, unclear, unmet) {
            (Some(worst), ..) => (worst, String::new()),
            (None, 1.., ..) => (RequirementOutcome::Pass, String::new()),
            (None, 0, Some(check), _) => {
                let why = format!("`{check}` found breaches and cannot say whether of this rule");
                (RequirementOutcome::Untested, why)
            }
            (None, 0, None, Some(unmet)) => (unmet.cause.outcome(), unmet.why),
            (None, 0, None, None) if cases.is_empty() && checks.is_empty() => {
                (RequirementOutcome::Unchecked, String::new())
            }
            (None, 0, None, None) => (RequirementOutcome::Untested, UNOBSERVED.to_owned()),
        };
        (self.outcome, self.reason) = (outcome, reason.into());
    }

    /// Takes over what is known of it with each agent.
    fn put_beside(&mut self, agents: &[AgentResult]) {
        let found = agents.iter().filter(|agent| agent.verdict.is_some()).filter_map(|agent| {
            let outcome = agent.outcome_of(&self.id)?;
            Some((agent.provider.clone(), outcome))
        });
        let found: LiteMap<String, RequirementOutcome> = found.collect();
        let differ = found.values().any(|outcome| *outcome != self.outcome);
        if differ || agents.iter().any(|agent| agent.is_tested_on(&self.id)) {
            self.agents = found;
        }
    }

    /// What nothing that was played shows does not apply where the host offers nothing of its profile,
    /// or never does what the rule is about.
    fn excuse(&mut self, tried: &TriedProfiles, when: Option<&str>) {
        if self.outcome != RequirementOutcome::Untested || self.reason != UNOBSERVED {
            return;
        }
        let reason = match when {
            _ if !tried.has(&self.profile) => {
                format!("no scenario of `{}` applies", self.profile)
            }
            Some(when) => format!("it applies to a host that {when}, and this one never did"),
            None => return,
        };
        (self.outcome, self.reason) = (RequirementOutcome::Skip, reason.into());
    }
}

/// The findings of a check as evidence, of those requirements that `mine` says.
fn findings(
    check: &'static CheckRow,
    total: &CheckTotal,
    mine: impl Fn(&Option<String>) -> bool,
) -> impl Iterator<Item = RequirementEvidence> {
    let shown = total.shown.iter().filter(move |(_, finding)| mine(&finding.of));
    shown.map(|(scenario, finding)| RequirementEvidence {
        scenario: scenario.clone(),
        check: Some(check.id),
        message: finding.message.clone(),
        transcript: finding.transcript.clone(),
    })
}
