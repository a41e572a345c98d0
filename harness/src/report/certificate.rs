//! The certificate of a host: each requirement of the version with its outcome and the evidence, and a verdict
//! on each profile.
//!
//! A requirement *holds* if it was tested and no breach was found. In a scenario, each step tests the requirements that
//! the step names, independently of the results of the other steps. A refusal is evidence for a requirement only if the
//! host accepted the same kind of action or request somewhere in the run, because a host that refuses everything
//! distinguishes nothing. An always-on check is itself a rule. If a check covers several requirements and its finding
//! names none of them, the finding is no evidence against any of them, because it is unknown which requirement is
//! broken.
//!
//! Start at [`HostCertificate::of`].

use std::collections::{HashMap, HashSet};

use litemap::LiteMap;
use serde::Serialize;

use crate::agent::mode::AgentMode;
use crate::ledger::{BoundParty, Requirement, RequirementLedger};
use crate::oracle::{CheckRow, JudgedParty, all_checks, checks_of};
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

/// The result of a run for the host.
#[derive(Clone, Debug, Serialize)]
pub struct HostCertificate {
    /// The format version of the file.
    pub format: u32,
    /// The version of the harness.
    pub harness: String,
    /// The target: `embedded`, or a URL without its secrets.
    pub target: ForeignText,
    /// The name that the host declares for itself; `None` if the host declares no name.
    pub host: Option<ForeignText>,
    /// The protocol version.
    pub version: Version,
    /// The protocol and its version, such as `AHP 1.0.0`.
    #[serde(skip)]
    pub title: String,
    /// The versions that the clients offered.
    pub offers: Vec<Version>,
    /// The versions that the host declares; empty if it declares none.
    pub versions: Vec<ForeignText>,
    /// The providers of the host's agents.
    pub providers: Vec<ForeignText>,
    /// The capabilities of the host, with the evidence for each.
    pub detected: Vec<DetectedFeature>,
    /// The properties of the host's configuration that were set before the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// The component that plays the agent: `host`, `model` or `acp`.
    pub agent: AgentMode,
    /// The requested provider for sessions; `None` if no provider was requested.
    pub provider: Option<ForeignText>,
    /// The seed of the run.
    pub seed: u64,
    /// The start time.
    pub started: String,
    /// The duration in milliseconds.
    pub took_ms: u64,
    /// Whether the run was completed.
    pub complete: bool,
    /// The number of scenarios by status.
    pub scenarios: LiteMap<Status, u64>,
    /// The profiles, `core` first.
    pub profiles: Vec<ProfileResult>,
    /// The result for each agent of the host, if the run tests several agents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentResult>,
    /// The MUST and essential requirements that this run could not test, grouped by reason. The most frequent
    /// reason comes first.
    pub out_of_reach: Vec<UnreachedRules>,
    /// Every requirement of the version.
    pub requirements: Vec<RequirementResult>,
    /// Every always-on check.
    pub checks: Vec<CheckResult>,
}

/// Requirements that a run could not test for the same reason.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct UnreachedRules {
    /// The reason why the requirements could not be tested.
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

/// The result of an always-on check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckResult {
    /// The identifier of the check.
    pub id: &'static str,
    /// The weight of the check's rule.
    pub weight: Weight,
    /// The profile to which the check belongs.
    pub profile: String,
    /// The rule of the check, with actions and notifications named as in this version.
    pub statement: String,
    /// The outcome.
    pub outcome: RequirementOutcome,
    /// The number of times that the rule was tested.
    pub observations: u64,
    /// The number of times that the rule was broken.
    pub findings: u64,
    /// The requirements that the check covers.
    pub requirements: &'static [&'static str],
    /// The evidence against the rule.
    pub evidence: Vec<RequirementEvidence>,
}

/// The result of one requirement.
#[derive(Clone, Debug, Serialize)]
pub struct RequirementResult {
    /// The identifier.
    pub id: String,
    /// The weight of a breach.
    pub weight: Weight,
    /// The party that must fulfil the requirement.
    pub party: String,
    /// The profile to which the requirement belongs.
    pub profile: String,
    /// The rule, with actions and notifications named as in this version.
    pub statement: String,
    /// The source in the specification.
    pub source: String,
    /// The outcome.
    pub outcome: RequirementOutcome,
    /// The number of times that the requirement was tested.
    pub observations: u64,
    /// The reason for the outcome; empty if the outcome needs no reason.
    pub reason: ForeignText,
    /// The evidence against the requirement.
    pub evidence: Vec<RequirementEvidence>,
    /// The scenarios that test the requirement, with their statuses.
    pub scenarios: Vec<(String, Status)>,
    /// The always-on checks that cover the requirement.
    pub checks: Vec<&'static str>,
    /// The outcome with each tested agent, if the run tests several agents; empty if the outcome does not depend on the
    /// agent.
    #[serde(skip_serializing_if = "LiteMap::is_empty")]
    pub agents: LiteMap<String, RequirementOutcome>,
}

/// Evidence against a requirement.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct RequirementEvidence {
    /// The scenario. If the run tests several agents, the agent follows in brackets.
    pub scenario: String,
    /// The always-on check, if a check found the evidence.
    pub check: Option<&'static str>,
    /// The description of the breach.
    pub message: ForeignText,
    /// The lines of `run.jsonl` that prove the breach.
    pub transcript: Vec<u64>,
}

/// The outcome of a requirement.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequirementOutcome {
    /// The requirement was tested and held.
    Pass,
    /// A MUST or essential requirement is broken.
    Fail,
    /// A SHOULD is broken.
    Warn,
    /// A requirement that the specification only implies or leaves open did not hold, in the harness's
    /// interpretation.
    Note,
    /// The requirement is broken, but only in ways that the baseline lists.
    Known,
    /// The requirement applies, but was not tested.
    Untested,
    /// The requirement may apply, but this run could not test it: an option was missing, the agent plays no
    /// scripts, or the harness tests the requirement only on its embedded host.
    OutOfReach,
    /// The requirement does not apply to this host.
    Skip,
    /// No test can test the requirement.
    Excluded,
    /// No scenario and no check of this harness tests the requirement.
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

    /// Returns the outcome in one word.
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

    /// Returns this outcome. If the outcome is worse than that of a broken rule with this weight, returns the latter.
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

/// The maximum number of breaches listed per requirement.
const EVIDENCE: usize = 5;

impl HostCertificate {
    /// Makes the certificate of a run.
    pub fn of(run: &FinishedRun) -> HostCertificate {
        let version = run.header.version;
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
            version,
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
                && run.left_out == 0
                && run.footer.as_ref().is_some_and(|footer| !footer.interrupted),
            scenarios: run.summary.counts.clone(),
            profiles: whole.profiles,
            agents,
            out_of_reach: UnreachedRules::of(&whole.requirements),
            requirements: whole.requirements,
            checks: whole.checks,
        }
    }

    /// Returns the overall verdict: the worst verdict of all profiles and all tested agents. A run that was not
    /// completed is never conformant.
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

/// The results of the requirements and checks in one view of a run.
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
        let rules = RequirementLedger::of(version).iter().filter(|rule| {
            // A certificate of a client contains only the rules that bind clients.
            let is_about = run.party == JudgedParty::Server || rule.party == BoundParty::Client;
            rule.holds_in(version) && is_about
        });
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
            row.excuse(&tried, when, run.subject);
        }
        let checks: Vec<CheckResult> = checks_of(version.standard, run.party)
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

/// The profiles of which at least one scenario was played. A profile that the host does not offer is not in the set.
pub(super) struct TriedProfiles(HashSet<String>);

impl TriedProfiles {
    fn of(run: &RunView<'_>) -> TriedProfiles {
        let played = run.cases.iter().filter(|case| case.status != Status::Skip);
        let of_case = |case: &&CaseReport| area(&case.scenario, or_core(&case.profile));
        let mut profiles: HashSet<String> = played.clone().map(of_case).collect();
        // The identifier of a scenario about a client names the behaviour of the host, so the rules of its claims
        // determine the profiles of the client.
        if run.party == JudgedParty::Clients {
            let claims = played.flat_map(|case| &case.claims).filter(|it| it.observations > 0);
            let rules = claims.flat_map(|claim| &claim.rules);
            profiles.extend(rules.map(|rule| area(rule, "core")));
        }
        profiles.extend(["core", OWN].map(str::to_owned));
        TriedProfiles(profiles)
    }

    pub(super) fn has(&self, profile: &str) -> bool {
        self.0.contains(profile)
    }
}

/// The profile, party and source of an author's own requirements.
const OWN: &str = "own";

/// The reason why a requirement was not observed. If several scenarios have different reasons, the strongest reason is
/// used.
struct UnmetReason {
    cause: UnmetCause,
    why: String,
}

/// The reasons why a requirement was not observed, the weakest first.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum UnmetCause {
    /// The scenario is for other versions.
    OtherVersion,
    /// The scenario or the claim does not apply to the host.
    NotApplicable,
    /// The scenario could not be played.
    OutOfReach,
    /// The scenario was played but did not reach the claim.
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
            // The requirement applies to this version, but no playable scenario tests it.
            UnmetCause::OtherVersion | UnmetCause::OutOfReach => RequirementOutcome::OutOfReach,
            UnmetCause::NotApplicable => RequirementOutcome::Skip,
            UnmetCause::Untested => RequirementOutcome::Untested,
        }
    }
}

/// The reason for a requirement that the played scenarios did not exercise.
const UNOBSERVED: &str = "nothing was observed";

impl RequirementResult {
    /// Returns the certificate row of a requirement from the `requirements.yaml` of a scenario author.
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
        // The check of the messages that the harness's own clients send is no evidence about a host.
        let clients = run.party == JudgedParty::Clients;
        let ours = (rule.party == BoundParty::Client) == clients;
        let checks = all_checks().filter(|check| ours && check.requirements.contains(&rule.id));
        let checks: Vec<&'static CheckRow> = checks.collect();
        let profile = match (cases.first(), checks.first()) {
            (Some(case), _) => area(&case.scenario, or_core(&case.profile)),
            (None, Some(check)) => area(check.id, "core"),
            (None, None) => "core".to_owned(),
        };
        // The area of the rule is more precise than the profile of the scenarios that test it.
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
        let excluded = if clients { rule.excluded } else { rule.excluded_for_hosts() };
        if let Some(reason) = excluded {
            (row.outcome, row.reason) = (RequirementOutcome::Excluded, reason.into());
        } else if rule.party == BoundParty::Reducer {
            // A run cannot test a host's reducers, because a host does not expose them.
            row.reason = "`ahp-harness reducers` tests it".into();
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
                // The scenario was not played, or its step does not apply to this version.
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
                            "`{}`: the refusal does not count, since the {} accepted no `{}` in this run",
                            case.name(),
                            run.subject,
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
                // The weight of a check may be greater than that of a requirement that it covers.
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
                let why = format!("`{check}` found breaches, perhaps of another rule");
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

    /// Adds to each requirement its outcome with each agent.
    fn put_beside(&mut self, agents: &[AgentResult]) {
        let found = agents.iter().filter(|agent| agent.verdict.is_some()).filter_map(|agent| {
            let outcome = agent.outcome_of(&self.id)?;
            Some((agent.provider.raw().to_owned(), outcome))
        });
        let found: LiteMap<String, RequirementOutcome> = found.collect();
        let differ = found.values().any(|outcome| *outcome != self.outcome);
        if differ || agents.iter().any(|agent| agent.is_tested_on(&self.id)) {
            self.agents = found;
        }
    }

    /// Changes the outcome of an unobserved requirement to "not applicable" if no scenario of its profile was played,
    /// or if the host or the client never shows the optional behaviour that the requirement is about.
    fn excuse(&mut self, tried: &TriedProfiles, when: Option<&str>, subject: &str) {
        if self.outcome != RequirementOutcome::Untested || self.reason != UNOBSERVED {
            return;
        }
        let reason = match when {
            _ if !tried.has(&self.profile) => {
                format!("no scenario of `{}` applies", self.profile)
            }
            Some(when) => format!("it applies to a {subject} that {when}, and this one never did"),
            None => return,
        };
        (self.outcome, self.reason) = (RequirementOutcome::Skip, reason.into());
    }
}

/// Returns the findings of a check as evidence. Only findings about requirements that `mine` accepts are included.
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
