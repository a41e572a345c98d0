//! What did not hold in a run, put together by cause, the worst first.
//!
//! A *breach* is one way in which one rule is broken: its identity is the rule, how it was seen and the
//! shape of what was said about it, without names and numbers. Breaches of neighbouring rules are one
//! *cause*: `dispatch.table.server-only.chat.delta` and `dispatch.table.server-only.chat.usage` are
//! mended at one place. What an always-on check says about the very frame that a step of the scenario
//! failed at is part of that breach and no cause of its own.
//!
//! Everything that reports what did not hold (console, page, JUnit, annotations, baseline) counts these.
//!
//! Knows: reports of scenarios, the ledger. Never knows: how anything is shown.
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

/// How a breach was seen.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeenBy {
    /// A step of a scenario that names the rule did not hold.
    Step,
    /// An always-on check found it.
    Check,
    /// A step that prepares something failed: nobody is blamed, and what depends on it is untested.
    Premise,
    /// The scenario was not judged.
    Nothing,
}

/// What makes two breaches the same, in one run and from run to run.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct BreachId {
    /// The requirement; the check where it names none; the scenario where nobody is blamed.
    pub rule: String,
    /// How it was seen.
    pub seen_by: SeenBy,
    /// What was said about it, without names, values and numbers.
    pub shape: String,
}

impl fmt::Display for BreachId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // FNV-1a: the same in every build, and short enough for a baseline.
        let fold = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        let seen_by = [self.seen_by as u8];
        let hash = self.shape.as_bytes().iter().chain(&seen_by).fold(0x811c_9dc5, fold);
        write!(f, "{}~{hash:08x}", self.rule)
    }
}

/// Where a breach was seen.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct BreachPlace {
    /// The number of the scenario in the run.
    pub case: u32,
    /// Its id.
    pub scenario: String,
    /// The agent that it was played with, in a run about several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The file of the step that failed; empty for what a check found.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The line of the step, from 1; 0 where there is no file.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: usize,
    /// What was expected, and what came.
    pub message: ForeignText,
    /// The lines of the transcript that prove it; the last decides.
    pub transcript: Vec<u64>,
    /// The difference of the states involved, as `-` and `+` lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<ForeignText>,
    /// What always-on checks say about the same frame: the check, and its message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<(String, ForeignText)>,
    /// How often it was seen there.
    pub times: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// One way in which one rule is broken.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct RuleBreach {
    /// What it is known by.
    #[serde(flatten)]
    pub id: BreachId,
    /// The check that saw it, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Other requirements that the same failure breaks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// What it amounts to.
    pub status: Status,
    /// What the rule weighs.
    pub weight: Weight,
    /// How often it was seen, in all places.
    pub times: u64,
    /// Scenarios in which it was seen.
    pub scenarios: u64,
    /// The first of them.
    pub places: Vec<BreachPlace>,
}

/// Places of a breach that are kept.
const PLACES: usize = 100;
/// Kinds of breaches that are kept.
const BREACHES: usize = 2_000;

impl RuleBreach {
    /// How much harm it does; that of a check is the worst of its requirements.
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

    /// The worse, the smaller.
    fn rank(&self) -> impl Ord + use<> {
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
}

/// Breaches that have to be mended at one place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FailureCause<'a> {
    /// What they have in common: a requirement, the first parts of several, or a check.
    pub family: String,
    /// The breaches, the worst first; never empty.
    pub breaches: Vec<&'a RuleBreach>,
}

impl FailureCause<'_> {
    /// What it amounts to.
    pub fn status(&self) -> Status {
        self.worst().map_or(Status::Note, |breach| breach.status)
    }

    /// The breach that stands for the others.
    pub fn worst(&self) -> Option<&RuleBreach> {
        self.breaches.first().copied()
    }

    /// The place that is shown in full.
    pub fn shown(&self) -> Option<&BreachPlace> {
        self.worst()?.places.first()
    }

    /// Scenarios in which it was seen, each once.
    pub fn scenarios(&self) -> Vec<&str> {
        let places = self.breaches.iter().flat_map(|breach| &breach.places);
        let mut names: Vec<&str> = places.map(|place| place.scenario.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// How often it was seen.
    pub fn times(&self) -> u64 {
        self.breaches.iter().map(|breach| breach.times).sum()
    }

    /// The requirements that are broken, each once, the worst first.
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

/// The fold over the scenarios of a run.
#[derive(Clone, Debug, Default)]
pub struct CauseFold {
    breaches: Vec<RuleBreach>,
    known: HashMap<BreachId, usize>,
    /// Breaches beyond [`BREACHES`] kinds.
    pub left_out: u64,
}

/// A breach that was seen in one place.
#[derive(Clone, Debug)]
pub struct SeenBreach {
    /// What it is known by.
    pub id: BreachId,
    /// The check that saw it, where one did.
    pub check: Option<String>,
    /// Other requirements that the same failure breaks.
    pub others: Vec<String>,
    /// What it amounts to.
    pub status: Status,
    /// What the rule weighs.
    pub weight: Weight,
    /// Where it was seen.
    pub place: BreachPlace,
}

impl CauseFold {
    /// All of a run's scenarios.
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

    /// Every breach, in the order in which the first of each was seen.
    pub fn breaches(&self) -> &[RuleBreach] {
        &self.breaches
    }

    /// The breaches by cause, the worst first.
    pub fn by_cause(&self) -> Vec<FailureCause<'_>> {
        let steps = self.breaches.iter().filter(|breach| breach.id.seen_by == SeenBy::Step);
        let of_steps: Vec<&str> = steps.map(|breach| family(&breach.id.rule)).collect();
        let mut families: BTreeMap<(&str, bool), Vec<&RuleBreach>> = BTreeMap::new();
        for breach in &self.breaches {
            let blamed = matches!(breach.id.seen_by, SeenBy::Step | SeenBy::Check);
            let name = match &breach.check {
                Some(check) => of_check(check, &breach.id.rule, &of_steps),
                None if blamed => wider(family(&breach.id.rule), &of_steps),
                // What prepares the same thing fails everywhere for one reason.
                None => &breach.id.shape,
            };
            families.entry((name, blamed)).or_default().push(breach);
        }
        let mut causes: Vec<FailureCause<'_>> = Vec::new();
        for ((name, _), mut breaches) in families {
            breaches.sort_by_key(|breach| breach.rank());
            let name = match &breaches[..] {
                [only] => only.id.rule.clone(),
                _ => name.to_owned(),
            };
            causes.push(FailureCause { family: name, breaches });
        }
        causes.sort_by_key(|cause| cause.worst().map(|breach| breach.rank()));
        causes
    }

    /// How many causes there are of each status.
    pub fn counts(&self) -> LiteMap<Status, u64> {
        let mut counts: LiteMap<Status, u64> = LiteMap::new();
        for cause in self.by_cause() {
            *counts.entry(cause.status()).or_default() += 1;
        }
        counts
    }
}

/// Parts of an id that neighbouring rules have in common.
const COMMON: usize = 3;

/// The neighbours of a rule: its first parts, where there are more than that; else the rule itself.
pub fn family(rule: &str) -> &str {
    rule.match_indices('.').nth(COMMON - 1).map_or(rule, |(end, _)| &rule[..end])
}

/// The shortest of the families that this one's id begins with: `session.create.duplicate-race` is about what
/// `session.create.duplicate` is about.
fn wider<'a>(own: &'a str, families: &[&'a str]) -> &'a str {
    let begins =
        |it: &&&str| own.strip_prefix(**it).is_some_and(|rest| rest.starts_with(['-', '.']));
    families.iter().filter(begins).min_by_key(|it| it.len()).copied().unwrap_or(own)
}

/// Requirements up to which what a check finds is the matter of the first of them.
const NARROW: usize = 4;

/// What a check's finding is counted with: the first of its requirements that a step breaks too, else the check.
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

/// What a scenario shows broken, each once.
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
            let decided = found.iter_mut().find(|seen| {
                last.is_some()
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

/// What a scenario that did not hold lacks where no rule is broken.
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

/// What the heaviest of some rules weighs.
fn weight_of(case: &CaseReport, rules: &[String]) -> Option<Weight> {
    let weight = |id: &String| {
        let own = case.own.iter().find(|own| own.id == *id).map(|own| own.weight);
        own.or_else(|| RequirementLedger::look_up(id).map(|rule| rule.weight))
    };
    rules.iter().filter_map(weight).max()
}

/// A message with the client at its end, where it disturbs nobody.
fn plain_message(message: &str) -> String {
    let rest = message.strip_prefix("client `").and_then(|rest| rest.split_once("`: "));
    rest.map_or_else(|| message.to_owned(), |(client, what)| format!("{what} (client {client})"))
}

/// A message without what differs from run to run: names, values and numbers.
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
        // The number and the client are no part of what makes it the same.
        let breach = causes.breaches().first().unwrap();
        assert_eq!((breach.scenarios, breach.id.rule.as_str()), (2, DELTA));
    }

    #[test]
    fn what_a_check_says_about_the_failed_frame_is_no_cause_of_its_own() {
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
}
