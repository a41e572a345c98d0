//! Groups the failures of a run by cause. The worst cause comes first.
//!
//! A *breach* is one way in which one rule is broken. The identity of a breach consists of the rule, the kind of
//! evidence (a step or a check), and the message without names and numbers. Breaches of neighbouring rules form one
//! *cause*: `dispatch.table.server-only.chat.delta` and `dispatch.table.server-only.chat.usage` are fixed in the same
//! place. If an always-on check has a finding about the frame at which a step failed, this finding is part of the
//! step's breach and not a separate cause.
//!
//! All reports of failures (console, page, JUnit, annotations, baseline) count causes and breaches.
//!
//! Knows: reports of scenarios, the ledger. Never knows: presentation.
//!
//! Start at [`CauseFold::add`] and [`CauseFold::by_cause`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use litemap::LiteMap;
use serde::Serialize;

use crate::ledger::{RequirementLedger, RequirementSeverity};
use crate::oracle::alike;
use crate::verdict::{Status, Weight};
use crate::wire::foreign_text::ForeignText;

use super::event::{CaseReport, FindingLine};
use super::summary::{OWN_FRAMES, row};

/// The way in which a breach was seen.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeenBy {
    /// A failed step of a scenario that names the rule.
    Step,
    /// A finding of an always-on check.
    Check,
    /// A failed premise. A premise breaks no rule, but the claims that depend on it are untested.
    Premise,
    /// The scenario was not judged, so no breach was seen.
    Nothing,
}

/// The identity of a breach, within one run and across runs.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct BreachId {
    /// The requirement that is broken. If the finding names no requirement, the rule is the check; if no rule
    /// is broken, the rule is the scenario.
    pub rule: String,
    /// The way in which the breach was seen.
    pub seen_by: SeenBy,
    /// The message without names, values and numbers.
    pub shape: String,
}

impl fmt::Display for BreachId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // FNV-1a gives the same hash in every build, and 32 bits are short enough for names in baselines.
        let fold = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        let seen_by = [self.seen_by as u8];
        let hash = self.shape.as_bytes().iter().chain(&seen_by).fold(0x811c_9dc5, fold);
        write!(f, "{}~{hash:08x}", self.rule)
    }
}

/// A place where a breach was seen.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct BreachPlace {
    /// The number of the scenario in the run.
    pub case: u32,
    /// The identifier of the scenario.
    pub scenario: String,
    /// The agent with which the scenario was played, if the run tests several agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The file of the failed step; empty for a finding of a check.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The line of the step, from 1; 0 if there is no file.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: usize,
    /// The message that describes the expected and the actual behaviour.
    pub message: ForeignText,
    /// The lines of the transcript that prove the breach; the last one is decisive.
    pub transcript: Vec<u64>,
    /// The difference between the compared states, as `-` and `+` lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<ForeignText>,
    /// The findings of always-on checks about the same frame: the check and its message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<(String, ForeignText)>,
    /// The number of times that the breach was seen in this place.
    pub times: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A way in which one rule is broken.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct RuleBreach {
    /// The identity of the breach.
    #[serde(flatten)]
    pub id: BreachId,
    /// The check that found the breach; `None` if a step found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The other requirements that the same failure breaks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// The status of the breach.
    pub status: Status,
    /// The weight of the rule.
    pub weight: Weight,
    /// The number of times that the breach was seen, in all places.
    pub times: u64,
    /// The number of scenarios in which the breach was seen.
    pub scenarios: u64,
    /// The first places where the breach was seen, at most [`PLACES`].
    pub places: Vec<BreachPlace>,
}

/// The maximum number of places kept per breach.
const PLACES: usize = 100;
/// The maximum number of different breaches kept.
const BREACHES: usize = 2_000;

impl RuleBreach {
    /// Returns the severity of the broken rule; for a check, the highest severity of its requirements.
    fn severity(&self) -> RequirementSeverity {
        let of = |id: &str| RequirementLedger::look_up(id).map(|rule| rule.severity);
        let own = of(&self.id.rule);
        let row = self.check.as_deref().filter(|_| own.is_none()).and_then(row);
        let known = row.map_or(&[][..], |row| row.requirements);
        own.into_iter()
            .chain(known.iter().filter_map(|id| of(id)))
            .max()
            .unwrap_or(RequirementSeverity::Low)
    }

    /// Returns the key by which breaches are sorted: a worse breach has a smaller key.
    fn rank(&self) -> (u8, Reverse<RequirementSeverity>, Reverse<u64>, Reverse<Weight>) {
        let status = match self.status {
            Status::Fail => 0,
            Status::Error => 1,
            Status::Untested => 2,
            Status::Warn => 3,
            Status::Note => 4,
            _ => 5,
        };
        (status, Reverse(self.severity()), Reverse(self.scenarios), Reverse(self.weight))
    }

    /// Returns the sort key within a cause. Among breaches of the same status and severity, a breach that a step
    /// found comes first: the scenario of the step tests the rule, so playing that scenario alone reproduces the
    /// breach. An always-on check may have found the breach in frames that other scenarios caused.
    fn rank_in_cause(&self) -> impl Ord + use<> {
        let (status, severity, scenarios, weight) = self.rank();
        (status, severity, self.id.seen_by != SeenBy::Step, scenarios, weight)
    }
}

/// A group of breaches that are fixed in one place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FailureCause<'a> {
    /// The name that the breaches share: a requirement, the common prefix of several requirements, or a check.
    pub family: String,
    /// The breaches, the worst first; never empty.
    pub breaches: Vec<&'a RuleBreach>,
}

impl FailureCause<'_> {
    /// Returns the status of the worst breach.
    pub fn status(&self) -> Status {
        self.worst().map_or(Status::Note, |breach| breach.status)
    }

    /// Returns the worst breach, which represents the cause in reports.
    pub fn worst(&self) -> Option<&RuleBreach> {
        self.breaches.first().copied()
    }

    /// Returns the place that reports show in full.
    pub fn shown(&self) -> Option<&BreachPlace> {
        self.worst()?.places.first()
    }

    /// Returns the scenarios in which the cause was seen, without duplicates.
    pub fn scenarios(&self) -> Vec<&str> {
        let places = self.breaches.iter().flat_map(|breach| &breach.places);
        let mut names: Vec<&str> = places.map(|place| place.scenario.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the number of times that the cause was seen.
    pub fn times(&self) -> u64 {
        self.breaches.iter().map(|breach| breach.times).sum()
    }

    /// Returns the broken requirements without duplicates, the worst first.
    pub fn rules(&self) -> Vec<&str> {
        let mut rules: Vec<&str> = Vec::new();
        for breach in &self.breaches {
            for rule in std::iter::once(&breach.id.rule).chain(&breach.others) {
                if !rules.contains(&rule.as_str()) {
                    rules.push(rule);
                }
            }
        }
        rules
    }
}

/// The breaches of a run, folded over its scenarios.
#[derive(Clone, Debug, Default)]
pub struct CauseFold {
    breaches: Vec<RuleBreach>,
    known: HashMap<BreachId, usize>,
    /// The number of breaches that were dropped because [`BREACHES`] different breaches were already kept.
    pub left_out: u64,
}

/// A breach in one place.
#[derive(Clone, Debug)]
pub struct SeenBreach {
    /// The identity of the breach.
    pub id: BreachId,
    /// The check that found the breach; `None` if a step found it.
    pub check: Option<String>,
    /// The other requirements that the same failure breaks.
    pub others: Vec<String>,
    /// The status of the breach.
    pub status: Status,
    /// The weight of the rule.
    pub weight: Weight,
    /// The place.
    pub place: BreachPlace,
}

impl CauseFold {
    /// Makes a fold over all scenarios of a run.
    pub fn of<'a>(cases: impl IntoIterator<Item = &'a CaseReport>) -> CauseFold {
        let mut causes = CauseFold::default();
        cases.into_iter().for_each(|case| causes.add(case));
        causes
    }

    /// Adds a scenario.
    pub fn add(&mut self, case: &CaseReport) {
        for seen in breaches_of(case) {
            self.put(seen);
        }
    }

    fn put(&mut self, seen: SeenBreach) {
        let SeenBreach { id, check, others, status, weight, place } = seen;
        let index = match self.known.get(&id) {
            Some(index) => *index,
            None if self.breaches.len() >= BREACHES => {
                self.left_out += place.times;
                return;
            }
            None => {
                self.known.insert(id.clone(), self.breaches.len());
                self.breaches.push(RuleBreach {
                    id,
                    check,
                    others: Vec::new(),
                    status,
                    weight,
                    times: 0,
                    scenarios: 0,
                    places: Vec::new(),
                });
                self.breaches.len() - 1
            }
        };
        let Some(breach) = self.breaches.get_mut(index) else { return };
        breach.times += place.times;
        breach.scenarios += 1;
        breach.others.extend(others);
        breach.others.sort_unstable();
        breach.others.dedup();
        if breach.places.len() < PLACES {
            breach.places.push(place);
        }
    }

    /// Returns all breaches, in the order of their first occurrence.
    pub fn breaches(&self) -> &[RuleBreach] {
        &self.breaches
    }

    /// Returns the breaches grouped by cause, the worst cause first.
    pub fn by_cause(&self) -> Vec<FailureCause<'_>> {
        let steps = self.breaches.iter().filter(|breach| breach.id.seen_by == SeenBy::Step);
        let of_steps: Vec<&str> = steps.map(|breach| family(&breach.id.rule)).collect();
        let mut families: BTreeMap<(&str, bool), Vec<&RuleBreach>> = BTreeMap::new();
        for breach in &self.breaches {
            let blamed = matches!(breach.id.seen_by, SeenBy::Step | SeenBy::Check);
            let name = match &breach.check {
                Some(check) => of_check(check, &breach.id.rule, &of_steps),
                None if blamed => wider(family(&breach.id.rule), &of_steps),
                // A premise fails for the same reason in every scenario, so premises with the same message form one
                // cause.
                None => &breach.id.shape,
            };
            families.entry((name, blamed)).or_default().push(breach);
        }
        let mut causes: Vec<FailureCause<'_>> = Vec::new();
        for ((name, _), mut breaches) in families {
            breaches.sort_by_key(|breach| breach.rank_in_cause());
            let name = match &breaches[..] {
                [only] => only.id.rule.clone(),
                _ => name.to_owned(),
            };
            causes.push(FailureCause { family: name, breaches });
        }
        causes.sort_by_cached_key(|cause| cause.breaches.iter().map(|breach| breach.rank()).min());
        causes
    }

    /// Returns the number of causes of each status.
    pub fn counts(&self) -> LiteMap<Status, u64> {
        let mut counts: LiteMap<Status, u64> = LiteMap::new();
        for cause in self.by_cause() {
            *counts.entry(cause.status()).or_default() += 1;
        }
        counts
    }
}

/// The number of parts, separated by dots, that the identifiers of neighbouring rules have in common.
const COMMON: usize = 3;

/// The families of rules that are fixed in one place although their identifiers have fewer than [`COMMON`] parts in
/// common. The first prefix that fits determines the family.
const FAMILIES: &[(&str, &str)] = &[
    // A host that does not validate dispatches accepts every malformed action.
    ("dispatch.malformed-payload", "dispatch.malformed-payload"),
    ("dispatch.validate-before-apply", "dispatch.malformed-payload"),
    ("security.fail-closed", "dispatch.malformed-payload"),
    // A host that does not check whether an action fits its channel breaks all of these rules.
    ("channel.prefix-mismatch-from-client", "dispatch.wrong-family"),
    ("channel.type-prefix-matches-channel", "dispatch.wrong-family"),
    ("dispatch.wrong-family", "dispatch.wrong-family"),
    // A host that does not check the preconditions of one kind of action or request breaks several rules.
    ("dispatch.chat.toolCall", "dispatch.chat.toolCall"),
    ("dispatch.chat.pendingMessage", "dispatch.chat.pendingMessage"),
    ("dispatch.chat.input", "dispatch.chat.input"),
    ("dispatch.terminal", "dispatch.terminal"),
    ("chat.create", "chat.create"),
    ("root.listSessions", "root.listSessions"),
    ("disconnect.turn", "disconnect.turn"),
];

/// Returns the family of a rule: the family in [`FAMILIES`], or else the first [`COMMON`] parts of its
/// identifier, or the whole identifier of a shorter rule.
pub fn family(rule: &str) -> &str {
    if let Some((_, family)) = FAMILIES.iter().find(|(prefix, _)| rule.starts_with(prefix)) {
        return family;
    }
    rule.match_indices('.').nth(COMMON - 1).map_or(rule, |(end, _)| &rule[..end])
}

/// Returns the shortest family that is a prefix of the family `own`. For example,
/// `session.create.duplicate-race` belongs to `session.create.duplicate`.
fn wider<'a>(own: &'a str, families: &[&'a str]) -> &'a str {
    let begins =
        |it: &&&str| own.strip_prefix(**it).is_some_and(|rest| rest.starts_with(['-', '.']));
    families.iter().filter(begins).min_by_key(|it| it.len()).copied().unwrap_or(own)
}

/// The maximum number of requirements of a check whose findings may be grouped with the breach of a step.
const NARROW: usize = 4;

/// Returns the group of a check's finding: the family of the first requirement of the check for which a step failed as
/// well, or else the check.
fn of_check<'a>(check: &'a str, rule: &'a str, of_steps: &[&'a str]) -> &'a str {
    let own = family(rule);
    if of_steps.contains(&own) {
        return wider(own, of_steps);
    }
    let known = row(check).map_or(&[][..], |row| row.requirements);
    if known.len() > NARROW {
        return check;
    }
    let mut shared = known.iter().copied().map(family).filter(|id| of_steps.contains(id));
    shared.next().map_or(check, |it| wider(it, of_steps))
}

/// Returns the breaches in a scenario, without duplicates.
pub fn breaches_of(case: &CaseReport) -> Vec<SeenBreach> {
    let mut found = Vec::new();
    if case.status == Status::Skip {
        return found;
    }
    let mut claims: Vec<_> =
        case.claims.iter().filter_map(|claim| Some((claim, claim.failure.as_ref()?))).collect();
    claims.sort_by_key(|(claim, _)| weight_of(case, &claim.rules).map(Reverse));
    for (claim, failure) in claims {
        let message = plain_message(failure.message.raw());
        let last = failure.transcript.last();
        let same = |seen: &&mut SeenBreach| {
            let frame = last.is_some() && seen.place.transcript.last() == last;
            let value = message.contains(", found ") && seen.place.message == message.as_str();
            frame
                || value
                || seen.place.message == message.as_str()
                    && seen.place.transcript == failure.transcript
        };
        if let Some(seen) = found.iter_mut().find(same) {
            seen.others.extend(claim.rules.iter().cloned());
            if seen.place.message != message.as_str() {
                let rule = claim.rules.first().cloned().unwrap_or_default();
                seen.place.also.push((rule, message.into()));
            }
            continue;
        }
        let rule = match failure.rule.as_str() {
            "" => claim.rules.first().cloned().unwrap_or_else(|| case.scenario.clone()),
            rule => rule.to_owned(),
        };
        let others = claim.rules.iter().filter(|other| **other != rule).cloned().collect();
        found.push(SeenBreach {
            id: BreachId { rule, seen_by: SeenBy::Step, shape: shape(&message) },
            check: None,
            others,
            status: match (case.status, claim.status) {
                (Status::Known, _) => Status::Known,
                (_, status) => status,
            },
            weight: weight_of(case, &claim.rules).unwrap_or(case.weight),
            place: BreachPlace {
                case: case.case,
                scenario: case.scenario.clone(),
                provider: case.provider.clone(),
                file: failure.file.clone(),
                line: failure.line,
                message: message.into(),
                transcript: failure.transcript.clone(),
                diff: None,
                also: Vec::new(),
                times: 1,
            },
        });
    }
    if found.is_empty() {
        found.extend(unblamed(case));
    }
    for line in &case.checks {
        for finding in &line.findings {
            let last = finding.transcript.last();
            // A failed premise breaks no rule, so the premise does not replace a finding of a check about the same
            // frame.
            let decided = found.iter_mut().find(|seen| {
                last.is_some()
                    && seen.id.seen_by == SeenBy::Step
                    && seen.place.transcript.last() == last
                    && seen.weight >= finding.weight
                    && seen.check.is_none()
            });
            match decided {
                Some(seen) => {
                    seen.place.also.push((line.check.clone(), finding.message.clone()));
                }
                None if line.check == OWN_FRAMES => {}
                None => found.push(seen_by_check(case, &line.check, finding)),
            }
        }
    }
    found
}

/// Returns the breach of a scenario that did not pass although no rule is broken, such as a failed premise.
fn unblamed(case: &CaseReport) -> Option<SeenBreach> {
    let seen_by = match case.status {
        Status::Untested => SeenBy::Premise,
        Status::Error => SeenBy::Nothing,
        Status::Fail | Status::Warn | Status::Note | Status::Known
            if case.failure.is_some() || case.checks.is_empty() =>
        {
            SeenBy::Step
        }
        _ => return None,
    };
    let failure = case.failure.as_ref();
    let message = failure.map_or(&case.reason, |failure| &failure.message);
    let message = plain_message(message.raw());
    let rule = failure.map(|failure| failure.rule.as_str()).filter(|rule| !rule.is_empty());
    Some(SeenBreach {
        id: BreachId {
            rule: rule.unwrap_or(&case.scenario).to_owned(),
            seen_by,
            shape: shape(&message),
        },
        check: None,
        others: Vec::new(),
        status: case.status,
        weight: case.weight,
        place: BreachPlace {
            case: case.case,
            scenario: case.scenario.clone(),
            provider: case.provider.clone(),
            file: failure.map(|failure| failure.file.clone()).unwrap_or_default(),
            line: failure.map_or(0, |failure| failure.line),
            message: message.into(),
            transcript: failure.map(|failure| failure.transcript.clone()).unwrap_or_default(),
            diff: None,
            also: Vec::new(),
            times: 1,
        },
    })
}

fn seen_by_check(case: &CaseReport, check: &str, finding: &FindingLine) -> SeenBreach {
    let named = finding.of.as_deref().filter(|of| !of.is_empty());
    let only = || match row(check).map(|row| row.requirements) {
        Some([only]) if finding.of.is_none() => Some(*only),
        _ => None,
    };
    SeenBreach {
        id: BreachId {
            rule: named.or_else(only).unwrap_or(check).to_owned(),
            seen_by: SeenBy::Check,
            shape: shape(finding.message.raw()),
        },
        check: Some(check.to_owned()),
        others: Vec::new(),
        status: if finding.known { Status::Known } else { finding.weight.broken() },
        weight: finding.weight,
        place: BreachPlace {
            case: case.case,
            scenario: case.scenario.clone(),
            provider: case.provider.clone(),
            file: String::new(),
            line: 0,
            message: finding.message.clone(),
            transcript: finding.transcript.clone(),
            diff: finding.diff.clone(),
            also: Vec::new(),
            times: finding.times,
        },
    }
}

/// Returns the weight of the heaviest of the rules.
fn weight_of(case: &CaseReport, rules: &[String]) -> Option<Weight> {
    let weight = |id: &String| {
        let own = case.own.iter().find(|own| own.id == *id).map(|own| own.weight);
        own.or_else(|| RequirementLedger::look_up(id).map(|rule| rule.weight))
    };
    rules.iter().filter_map(weight).max()
}

/// Returns the message with the name of the client moved from the beginning to the end. In this form, messages
/// about different clients compare equal.
fn plain_message(message: &str) -> String {
    let rest = message.strip_prefix("client `").and_then(|rest| rest.split_once("`: "));
    rest.map_or_else(|| message.to_owned(), |(client, what)| format!("{what} (client {client})"))
}

/// Returns the message of a failure without the parts that differ from run to run: names, values and numbers.
fn shape(message: &str) -> String {
    let message = message.rsplit_once(" (client ").map_or(message, |(what, _)| what);
    let mut out = String::new();
    let mut texts = alike(message).split('"').map(str::to_owned).enumerate().collect::<Vec<_>>();
    for (place, text) in &mut texts {
        out.push_str(if *place % 2 == 0 { text } else { "_" });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::event::{CheckLine, ClaimReport, FailureReport};
    use super::*;

    fn failure(rule: &str, message: &str, line: u64) -> FailureReport {
        FailureReport {
            file: "s.yaml".to_owned(),
            line: 3,
            column: 1,
            message: message.into(),
            label: ForeignText::default(),
            rule: rule.to_owned(),
            transcript: vec![line],
        }
    }

    fn case(number: u32, rules: &[(&str, &str, u64)], checks: Vec<CheckLine>) -> CaseReport {
        let claims: Vec<ClaimReport> = rules
            .iter()
            .map(|(rule, message, line)| ClaimReport {
                rules: vec![(*rule).to_owned()],
                file: "s.yaml".to_owned(),
                line: 3,
                status: Status::Fail,
                untested: ForeignText::default(),
                observations: 0,
                failure: Some(failure(rule, message, *line)),
                twin: None,
            })
            .collect();
        CaseReport {
            case: number,
            scenario: format!("area/{number}"),
            provider: None,
            title: String::new(),
            file: "s.yaml".to_owned(),
            profile: String::new(),
            proves: Vec::new(),
            own: Vec::new(),
            status: Status::Fail,
            reason: ForeignText::default(),
            skip: Default::default(),
            weight: Weight::Must,
            observations: 0,
            took_ms: 0,
            failure: claims.first().and_then(|claim| claim.failure.clone()),
            claims,
            accepted: Vec::new(),
            flaky: None,
            notes: Vec::new(),
            checks,
            outage: None,
            sources: Vec::new(),
            drawn: Vec::new(),
        }
    }

    fn check(id: &str, message: &str, lines: &[u64], times: u64) -> CheckLine {
        CheckLine {
            check: id.to_owned(),
            observations: 1,
            apart: LiteMap::new(),
            findings: vec![FindingLine {
                of: None,
                weight: Weight::Should,
                message: message.into(),
                transcript: lines.to_vec(),
                diff: None,
                known: false,
                times,
            }],
            left_out: 0,
        }
    }

    const DELTA: &str = "dispatch.table.server-only.chat.delta";
    const USAGE: &str = "dispatch.table.server-only.chat.usage";

    #[test]
    fn neighbouring_rules_are_one_cause() {
        let accepted = |seq: u32| {
            format!(
                "client `A`: expected the action to be refused, the host accepted it as serverSeq {seq}"
            )
        };
        let causes = CauseFold::of(&[
            case(0, &[(DELTA, &accepted(4), 9), (USAGE, &accepted(5), 11)], Vec::new()),
            case(1, &[(DELTA, &accepted(17), 40)], Vec::new()),
        ]);
        let by_cause = causes.by_cause();
        let [cause] = &by_cause[..] else { panic!("{by_cause:?}") };
        assert_eq!(cause.family, "dispatch.table.server-only");
        assert_eq!((cause.breaches.len(), cause.times()), (2, 3));
        assert_eq!(cause.scenarios(), ["area/0", "area/1"]);
        // Numbers and names of clients are not part of the identity of a breach.
        let breach = causes.breaches().first().unwrap();
        assert_eq!((breach.scenarios, breach.id.rule.as_str()), (2, DELTA));
    }

    #[test]
    fn a_finding_about_the_failed_frame_joins_its_cause() {
        let late = check("dispatch.client-dispatchable-only", "accepted", &[4, 9], 1);
        let causes = CauseFold::of(&[case(0, &[(DELTA, "accepted", 9)], vec![late])]);
        let by_cause = causes.by_cause();
        assert_eq!(by_cause.len(), 1, "{by_cause:?}");
        let place = by_cause.first().unwrap().shown().unwrap();
        assert_eq!(place.also.len(), 1);
        let elsewhere = check("dispatch.client-dispatchable-only", "accepted", &[4, 12], 7);
        let causes = CauseFold::of(&[case(0, &[("ping.response", "no", 9)], vec![elsewhere])]);
        let by_cause = causes.by_cause();
        assert_eq!(by_cause.iter().map(FailureCause::times).collect::<Vec<_>>(), [1, 7]);
    }

    #[test]
    fn another_shape_is_another_breach() {
        let seen = |message: &str| {
            let causes = CauseFold::of(&[case(0, &[("ping.response", message, 1)], Vec::new())]);
            causes.breaches().first().unwrap().id.to_string()
        };
        let base = seen("client `A`: expected an answer within 2s, nothing came");
        assert_eq!(base, seen("client `B`: expected an answer within 20s, nothing came"));
        assert_ne!(base, seen("client `A`: expected an answer, the connection ended"));
        assert_eq!(seen("at `a`: found \"x\""), seen("at `a`: found \"y\""));
        assert!(base.starts_with("ping.response~"), "{base}");
    }

    #[test]
    fn the_worst_comes_first() {
        let mut warned = case(1, &[("ping.response", "late", 1)], Vec::new());
        warned.claims.iter_mut().for_each(|claim| claim.status = Status::Warn);
        let mut lost = case(2, &[], Vec::new());
        (lost.status, lost.reason) = (Status::Untested, "no session".into());
        let causes = CauseFold::of(&[warned, lost, case(3, &[(DELTA, "accepted", 1)], Vec::new())]);
        let order: Vec<Status> = causes.by_cause().iter().map(FailureCause::status).collect();
        assert_eq!(order, [Status::Fail, Status::Untested, Status::Warn]);
    }

    #[test]
    fn a_failed_premise_does_not_hide_what_a_check_found_in_the_same_frame() {
        let found = check("errors.no-internals", "expected no internals, found `at`", &[14], 1);
        let mut lost = case(1, &[], vec![found]);
        lost.status = Status::Untested;
        lost.failure = Some(failure("", "expected a result", 14));
        let causes = CauseFold::of(&[lost]);
        let order: Vec<Status> = causes.by_cause().iter().map(FailureCause::status).collect();
        assert_eq!(order, [Status::Untested, Status::Warn]);
    }

    #[test]
    fn a_cause_shows_the_scenario_that_tests_the_rule() {
        // The check reported the breach in two scenarios that do not test the rule; the third scenario tests it.
        let seen = || {
            let mut found = check("fanout.notifications-subscribed", "unasked", &[5], 90);
            found.findings.iter_mut().for_each(|finding| finding.weight = Weight::Must);
            found
        };
        let tested = case(3, &[("notify.only-to-subscribers", "one came", 7)], Vec::new());
        let causes =
            CauseFold::of(&[case(1, &[], vec![seen()]), case(2, &[], vec![seen()]), tested]);
        let by_cause = causes.by_cause();
        assert_eq!(by_cause.len(), 1, "{by_cause:?}");
        assert_eq!(by_cause.first().unwrap().shown().unwrap().scenario, "area/3");
    }

    #[test]
    fn rules_that_are_fixed_in_one_place_are_one_family() {
        for (rule, other) in [
            ("dispatch.chat.toolCallConfirmed.twice", "dispatch.chat.toolCallComplete.not-running"),
            ("security.fail-closed", "dispatch.malformed-payload"),
            ("chat.create.source.unknown-chat", "chat.create.working-directories.subset"),
        ] {
            assert_eq!(family(rule), family(other));
        }
        assert_ne!(family("dispatch.chat.turnCancelled"), family("dispatch.chat.turnStarted"));
        let ids = || RequirementLedger::all().flat_map(RequirementLedger::iter).map(|row| row.id);
        for (prefix, _) in FAMILIES {
            assert!(ids().any(|id| id.starts_with(prefix)), "no rule begins with `{prefix}`");
        }
    }
}
