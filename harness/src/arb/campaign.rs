//! The state of a fuzzing campaign: its progress, its findings, and the combinations that were tried.
//!
//! The state is saved as text, so that an interrupted campaign can continue.
//!
//! Knows: findings, counts. Never knows: files, targets, clocks.
//!
//! Start at [`FuzzCampaign`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use crate::report::summary::word;
use crate::scenario::listing::{ListingForm, read_list, reason, text};
use crate::verdict::Weight;
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::expectation::StepExpectation;
use super::finding::FuzzFinding;
use super::gauge::AnswerTally;
use super::step_result::ActionLogEntry;

/// A flaky finding is examined again until the number of its replays exceeds this limit. Each examination replays
/// another conversation with the finding two or three times.
const DOUBTFUL: u32 = 8;
/// The number of findings with one cause that are examined on a target outside of this process.
const EXAMINED: usize = 2;
/// All weights of findings.
const WEIGHTS: [Weight; 4] = [Weight::Note, Weight::Should, Weight::Essential, Weight::Must];
/// The format of the file that lists known findings (the baseline).
const FORM: ListingForm = ListingForm {
    what: "a baseline of findings",
    list: "known",
    beside: &[],
    entry: &["finding", "rule", "reason"],
};

/// One defect, with the number of conversations that found it.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingBucket {
    /// The first finding that shows the defect.
    pub finding: FuzzFinding,
    /// The scenario that reproduces the finding.
    pub scenario: String,
    /// The seed of the first conversation with the finding.
    pub seed: u64,
    /// The number of conversations with the finding.
    pub times: u64,
    /// The result of replays: the number of replays in which the finding occurred, and the number of all replays.
    pub again: (u32, u32),
    /// Whether the finding occurred in too few replays. A flaky finding is listed separately and does not count as a
    /// failure.
    pub flaky: bool,
    /// The keys of other findings whose smallest scenario is the same.
    pub also: Vec<String>,
    /// The order of the clients' frames that the finding needs, as a sentence; empty if it occurs in every order.
    pub order: String,
    /// Whether the scenario was minimised. If not, the scenario is the whole conversation.
    pub minimised: bool,
}

/// A finding that the campaign had no time to examine.
#[derive(Clone, Debug, PartialEq)]
pub struct UnexaminedFinding {
    /// The finding that still has to be examined.
    pub finding: FuzzFinding,
    /// The seed of the first conversation with the finding.
    pub seed: u64,
}

/// A finding that is not examined, because enough findings with the same cause were examined. It does not count as a
/// failure.
#[derive(Clone, Debug, PartialEq)]
pub struct FurtherForm {
    /// The finding that will not be examined.
    pub finding: FuzzFinding,
    /// The seed of the first conversation with the finding.
    pub seed: u64,
    /// The number of conversations with the finding.
    pub times: u64,
}

/// A campaign against one target.
#[derive(Clone, Debug, Default)]
pub struct FuzzCampaign {
    /// The seed of the campaign.
    pub seed: u64,
    /// The protocol version.
    pub version: Version,
    /// The number of the next conversation.
    pub next: u64,
    /// The number of conversations that were played.
    pub sequences: u64,
    /// The number of steps that were played.
    pub steps: u64,
    /// The number of conversations that were generated but not played, because the reference host's results for
    /// them are not reproducible.
    pub unsteady: u64,
    /// The duration of the campaign.
    pub took: Duration,
    /// The findings, in the order of discovery.
    pub buckets: Vec<FindingBucket>,
    /// The findings that the campaign had no time to examine. If the campaign continues, it examines these findings
    /// first.
    pub unexamined: Vec<UnexaminedFinding>,
    /// The findings that most likely have the same cause as findings that were already examined.
    pub forms: Vec<FurtherForm>,
    /// How often each combination was tried: the action or method, the deviation, and the result on the stage.
    pub tried: BTreeMap<String, u64>,
    /// The number of times that each combination was observed on the target: the client's message, the host's
    /// previous message on the channel, and the result.
    pub seen: BTreeMap<String, u64>,
    /// The number of the last conversation that added a new combination to `seen`.
    pub newest: u64,
    /// The expectations that the target does not meet; later conversations do not wait for them.
    pub unmet: BTreeSet<StepExpectation>,
    /// The seeds of conversations that tried a new combination.
    pub corpus: Vec<u64>,
    /// The target's results for the clients' requests and dispatches.
    pub tally: AnswerTally,
}

impl FuzzCampaign {
    /// Records the moves of a conversation. Returns whether any combination was new.
    pub fn tried(&mut self, seed: u64, told: &[ActionLogEntry]) -> bool {
        let mut new = false;
        for (what, deviation, came) in told {
            let came = super::step_result::word(came);
            let count = self.tried.entry(format!("{what} | {deviation} | {came}")).or_default();
            new |= *count == 0;
            *count += 1;
        }
        if new {
            self.corpus.push(seed);
        }
        new
    }

    /// Records the combinations that a conversation tested on the target.
    pub fn saw(&mut self, seen: BTreeMap<String, u64>) {
        for (what, times) in seen {
            let count = self.seen.entry(what).or_default();
            if *count == 0 {
                self.newest = self.sequences;
            }
            *count += times;
        }
    }

    /// Returns how rare the combinations of a planned conversation are. A combination that was never observed adds one,
    /// and a frequent combination adds nearly zero.
    pub fn rarity(&self, expected: &BTreeMap<String, u64>) -> f64 {
        let count = |what: &String| self.seen.get(what).copied().unwrap_or_default();
        expected.keys().map(|what| 1.0 / (1.0 + count(what) as f64)).sum()
    }

    /// Returns the number of conversations since the last new combination.
    pub fn without_news(&self) -> u64 {
        self.sequences.saturating_sub(self.newest)
    }

    /// Returns the findings that are not flaky.
    pub fn failures(&self) -> impl Iterator<Item = &FindingBucket> {
        self.buckets.iter().filter(|bucket| !bucket.flaky)
    }

    /// Returns whether a finding with the same cause is known and was reproduced.
    pub fn has_cause_of(&self, finding: &FuzzFinding) -> bool {
        let cause = finding.cause();
        self.failures().any(|bucket| bucket.finding.cause() == cause)
    }

    /// Returns whether enough findings with the same cause were reproduced, so that a further finding is not examined.
    /// Without this limit, a host that wrongly accepts host-only actions from clients would need one examination for
    /// each such action. `confirmed` lists the findings that were reproduced and are not yet recorded in the campaign.
    pub fn is_familiar<'a>(
        &'a self,
        finding: &FuzzFinding,
        confirmed: impl Iterator<Item = &'a FuzzFinding>,
    ) -> bool {
        let cause = finding.cause();
        let all = self.failures().map(|bucket| &bucket.finding).chain(confirmed);
        all.filter(|other| other.cause() == cause).count() >= EXAMINED
    }

    /// Records a finding that is not examined, because enough findings with its cause were reproduced. `times` is the
    /// number of further conversations with the finding.
    pub fn add_form(&mut self, finding: FuzzFinding, seed: u64, times: u64) {
        match self.forms.iter_mut().find(|form| form.finding.key == finding.key) {
            Some(form) => form.times += times,
            None => self.forms.push(FurtherForm { finding, seed, times }),
        }
    }

    /// Returns the findings that are not flaky, grouped by cause, in the order in which the first finding of
    /// each cause was found.
    pub fn causes(&self) -> Vec<Vec<&FindingBucket>> {
        by_cause(self.failures())
    }

    /// Returns the flaky findings, grouped by cause.
    pub fn flaky_causes(&self) -> Vec<Vec<&FindingBucket>> {
        by_cause(self.buckets.iter().filter(|bucket| bucket.flaky))
    }

    /// Returns the number of the next finding. It is greater than all numbers used so far, even if a flaky record was
    /// removed, because the number is at the beginning of the scenario's name.
    pub fn next_number(&self) -> usize {
        let number = |bucket: &FindingBucket| {
            let name = bucket.scenario.rsplit('/').next().unwrap_or_default();
            name.split('-').next().unwrap_or_default().parse::<usize>().unwrap_or_default()
        };
        let found = self.buckets.iter().filter(|bucket| !bucket.flaky);
        found.map(number).chain([self.buckets.len()]).max().unwrap_or_default() + 1
    }

    /// Returns whether a finding is flaky and has been replayed so rarely that it is examined again. The finding may
    /// have occurred in one conversation only because another conversation was played at the same time, and may occur
    /// in a later conversation on its own.
    pub fn is_doubtful(&self, finding: &FuzzFinding) -> bool {
        let doubtful = |bucket: &FindingBucket| bucket.flaky && bucket.again.1 <= DOUBTFUL;
        self.buckets.iter().any(|bucket| bucket.finding.key == finding.key && doubtful(bucket))
    }

    /// Records a flaky finding. If the finding is known already, adds the number of its replays to the record. If its
    /// cause was reproduced with another finding, the finding is only a further form of that cause.
    pub fn add_flaky(&mut self, bucket: FindingBucket) {
        if self.has_cause_of(&bucket.finding) {
            self.buckets.retain(|known| known.finding.key != bucket.finding.key);
            return self.add_form(bucket.finding, bucket.seed, bucket.times);
        }
        let mut known = self.buckets.iter_mut();
        match known.find(|known| known.flaky && known.finding.key == bucket.finding.key) {
            Some(known) => {
                known.again = (known.again.0 + bucket.again.0, known.again.1 + bucket.again.1);
            }
            None => self.buckets.push(bucket),
        }
    }

    /// Removes the flaky record of a finding that was reproduced now. Other flaky findings with its cause become
    /// further forms of the cause.
    pub fn forget_flaky(&mut self, finding: &FuzzFinding) {
        let cause = finding.cause();
        let same = |bucket: &FindingBucket| bucket.flaky && bucket.finding.cause() == cause;
        let (forms, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.buckets).into_iter().partition(same);
        self.buckets = others;
        for FindingBucket { finding: form, seed, times, .. } in forms {
            if form.key != finding.key {
                self.add_form(form, seed, times);
            }
        }
    }

    /// Returns whether a finding is already known. If it is, increments its count.
    pub fn is_known(&mut self, finding: &FuzzFinding) -> bool {
        let is_same = |bucket: &&mut FindingBucket| {
            bucket.finding.key == finding.key || bucket.also.contains(&finding.key)
        };
        let same = self.buckets.iter_mut().find(is_same).map(|bucket| &mut bucket.times);
        let form = self.forms.iter_mut().find(|form| form.finding.key == finding.key);
        let times = same.or(form.map(|form| &mut form.times));
        times.map(|times| *times += 1).is_some()
    }

    /// Returns the state of the campaign as text, for its file.
    pub fn to_text(&self) -> String {
        let buckets: Vec<Value> = self.buckets.iter().map(FindingBucket::value).collect();
        let unexamined: Vec<Value> = self.unexamined.iter().map(UnexaminedFinding::value).collect();
        let forms: Vec<Value> = self.forms.iter().map(FurtherForm::value).collect();
        let tried: Vec<Value> =
            self.tried.iter().map(|(what, times)| json!([what, times])).collect();
        let seen: Vec<Value> = self.seen.iter().map(|(what, times)| json!([what, times])).collect();
        let unmet: Vec<Value> = self.unmet.iter().map(StepExpectation::value).collect();
        let corpus: Vec<Value> =
            self.corpus.iter().map(|seed| json!(format!("{seed:016x}"))).collect();
        let state = json!({
            "fuzz": 2, "seed": self.seed, "version": self.version, "next": self.next,
            "sequences": self.sequences, "steps": self.steps, "unsteady": self.unsteady,
            "tookMs": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            "newest": self.newest, "served": self.tally.served, "refused": self.tally.refused,
        });
        let mut out = format!("{}\n", state.to_text());
        let lists = [
            ("finding", buckets),
            ("unexamined", unexamined),
            ("form", forms),
            ("tried", tried),
            ("seen", seen),
            ("unmet", unmet),
            ("corpus", corpus),
        ];
        for (name, list) in lists {
            for item in list {
                let mut line = json!({});
                line[name] = item;
                let _ = writeln!(out, "{}", line.to_text());
            }
        }
        out
    }

    /// Parses the output of [`to_text`](Self::to_text). Returns `None` if the text has another format.
    pub fn of_text(text: &str) -> Option<FuzzCampaign> {
        let mut lines = text.lines().map(serde_json::from_str::<Value>);
        let head = lines.next()?.ok().filter(|head| head["fuzz"] == 2)?;
        let number = |name: &str| head[name].as_u64();
        let mut campaign = FuzzCampaign {
            seed: number("seed")?,
            version: head["version"].as_str()?.parse().ok()?,
            next: number("next")?,
            sequences: number("sequences")?,
            steps: number("steps")?,
            unsteady: number("unsteady")?,
            newest: number("newest")?,
            took: Duration::from_millis(number("tookMs")?),
            tally: AnswerTally { served: number("served")?, refused: number("refused")? },
            ..FuzzCampaign::default()
        };
        // If the file was cut off, only its last line is incomplete; the lines before it are valid.
        for line in lines.map_while(Result::ok) {
            if let Some(bucket) = line.get("finding").and_then(FindingBucket::of) {
                campaign.buckets.push(bucket);
            } else if let Some(left) = line.get("unexamined").and_then(UnexaminedFinding::of) {
                campaign.unexamined.push(left);
            } else if let Some(form) = line.get("form").and_then(FurtherForm::of) {
                campaign.forms.push(form);
            } else if let Some(tried) = line.get("tried") {
                count(&mut campaign.tried, tried);
            } else if let Some(seen) = line.get("seen") {
                count(&mut campaign.seen, seen);
            } else if let Some(unmet) = line.get("unmet") {
                campaign.unmet.extend(StepExpectation::read(unmet));
            } else if let Some(seed) = line.get("corpus").and_then(Value::as_str) {
                campaign.corpus.extend(u64::from_str_radix(seed, 16).ok());
            }
        }
        Some(campaign)
    }
}

/// Groups findings by cause, in the order of the first finding of each cause.
fn by_cause<'a>(buckets: impl Iterator<Item = &'a FindingBucket>) -> Vec<Vec<&'a FindingBucket>> {
    let mut causes: Vec<(String, Vec<&FindingBucket>)> = Vec::new();
    for bucket in buckets {
        let cause = bucket.finding.cause();
        match causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, group)) => group.push(bucket),
            None => causes.push((cause, vec![bucket])),
        }
    }
    causes.into_iter().map(|(_, group)| group).collect()
}

fn count(counts: &mut BTreeMap<String, u64>, line: &Value) {
    let what = line[0].as_str().unwrap_or_default().to_owned();
    counts.insert(what, line[1].as_u64().unwrap_or_default());
}

impl FindingBucket {
    fn value(&self) -> Value {
        let mut value = told(&self.finding, self.seed);
        let more = json!({
            "also": self.also, "scenario": self.scenario, "times": self.times,
            "again": [self.again.0, self.again.1], "flaky": self.flaky, "order": self.order,
            "minimised": self.minimised,
        });
        for (name, member) in more.as_object().into_iter().flatten() {
            value[&**name] = member.clone();
        }
        value
    }

    fn of(value: &Value) -> Option<FindingBucket> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let count = |at: usize| value["again"][at].as_u64().and_then(|it| u32::try_from(it).ok());
        let also = value["also"].as_array().into_iter().flatten();
        let (finding, seed) = read(value)?;
        Some(FindingBucket {
            finding,
            scenario: text("scenario")?,
            seed,
            times: value["times"].as_u64()?,
            again: (count(0)?, count(1)?),
            flaky: value["flaky"] == true,
            also: also.filter_map(|key| key.as_str().map(str::to_owned)).collect(),
            order: text("order").unwrap_or_default(),
            minimised: value["minimised"] != false,
        })
    }
}

impl UnexaminedFinding {
    fn value(&self) -> Value {
        told(&self.finding, self.seed)
    }

    fn of(value: &Value) -> Option<UnexaminedFinding> {
        let (finding, seed) = read(value)?;
        Some(UnexaminedFinding { finding, seed })
    }
}

impl FurtherForm {
    fn value(&self) -> Value {
        let mut value = told(&self.finding, self.seed);
        value["times"] = json!(self.times);
        value
    }

    fn of(value: &Value) -> Option<FurtherForm> {
        let (finding, seed) = read(value)?;
        Some(FurtherForm { finding, seed, times: value["times"].as_u64()? })
    }
}

/// Returns a finding and its seed as a JSON value.
fn told(finding: &FuzzFinding, seed: u64) -> Value {
    json!({
        "rule": finding.rule, "weight": word(finding.weight), "message": finding.message,
        "key": finding.key, "seed": format!("{seed:016x}"),
    })
}

/// Parses the output of [`told`].
fn read(value: &Value) -> Option<(FuzzFinding, u64)> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let weight = text("weight")?;
    let finding = FuzzFinding {
        rule: text("rule")?,
        weight: *WEIGHTS.iter().find(|it| word(**it) == weight)?,
        message: text("message")?,
        key: text("key")?,
        step: None,
    };
    Some((finding, u64::from_str_radix(value["seed"].as_str()?, 16).ok()?))
}

/// The known findings: single findings by key, or all findings about a rule.
#[derive(Clone, Debug, Default)]
pub struct KnownFindings {
    entries: Vec<(String, bool)>,
}

impl KnownFindings {
    /// Parses a baseline file.
    ///
    /// # Errors
    /// Returns every mistake, one line each.
    pub fn parse(name: &str, source: &str) -> Result<KnownFindings, String> {
        let mut known = KnownFindings::default();
        read_list(name, source, &FORM, &mut |entry| {
            reason(entry)?;
            match (text(entry, "finding"), text(entry, "rule")) {
                (Some(key), None) => known.entries.push((key.to_owned(), true)),
                (None, Some(rule)) => known.entries.push((rule.to_owned(), false)),
                _ => return Err("expected either `finding` or `rule`".to_owned()),
            }
            Ok(())
        })?;
        Ok(known)
    }

    /// Returns whether a finding is known.
    pub fn has(&self, finding: &FuzzFinding) -> bool {
        self.entries.iter().any(|(text, key)| match key {
            true => *text == finding.key,
            false => *text == finding.rule,
        })
    }

    /// Returns the text of a baseline file that lists these findings.
    pub fn text(buckets: &[FindingBucket]) -> String {
        let mut out = "# Findings of `ahp-harness fuzz` that are known.\nknown:\n".to_owned();
        for bucket in buckets {
            let key = json!(bucket.finding.key).to_text();
            let _ = writeln!(out, "  - finding: {key}\n    reason: \"TODO: give the reason\"");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket() -> FindingBucket {
        let finding = FuzzFinding {
            rule: "sequence.grows".to_owned(),
            weight: Weight::Essential,
            message: "expected more, found `3`".to_owned(),
            key: "sequence.grows | expected more, found _".to_owned(),
            step: None,
        };
        FindingBucket {
            finding,
            scenario: "fuzz/x".to_owned(),
            seed: 7,
            times: 2,
            again: (2, 2),
            flaky: false,
            also: vec!["x".to_owned()],
            order: "it needs A's `x` before B's `y`".to_owned(),
            minimised: true,
        }
    }

    #[test]
    fn a_campaign_is_read_from_its_text_even_if_it_was_cut_off() {
        let mut campaign =
            FuzzCampaign { seed: 3, version: Version::V1_0, next: 9, ..FuzzCampaign::default() };
        campaign.buckets.push(bucket());
        campaign.unexamined.push(UnexaminedFinding { finding: bucket().finding, seed: 8 });
        campaign.add_form(bucket().finding, 9, 1);
        campaign.tried(
            5,
            &[("ping".to_owned(), "legal", super::super::step_result::ClientStepResult::Nothing)],
        );
        let text = campaign.to_text();
        let back = FuzzCampaign::of_text(&text).unwrap();
        assert_eq!((back.seed, back.next, back.corpus.clone()), (3, 9, vec![5]));
        assert_eq!(back.buckets, campaign.buckets);
        assert_eq!(back.unexamined, campaign.unexamined);
        assert_eq!(back.forms, campaign.forms);
        assert_eq!(back.tried, campaign.tried);
        let cut = FuzzCampaign::of_text(&text[..text.len() - 5]).unwrap();
        assert_eq!(cut.buckets, campaign.buckets);
        assert!(FuzzCampaign::of_text("{}").is_none());
    }

    #[test]
    fn a_flaky_finding_is_no_failure_and_is_examined_again() {
        let mut campaign = FuzzCampaign::default();
        let flaky = || FindingBucket { flaky: true, times: 1, again: (1, 3), ..bucket() };
        campaign.add_flaky(flaky());
        campaign.add_flaky(flaky());
        assert_eq!(campaign.failures().count(), 0);
        assert_eq!((campaign.causes().len(), campaign.flaky_causes().len()), (0, 1));
        assert_eq!((campaign.buckets.len(), campaign.buckets[0].again), (1, (2, 6)));
        let finding = bucket().finding;
        assert!(campaign.is_doubtful(&finding) && campaign.is_known(&finding));
        // The number of conversations with the finding does not matter, because many of them may have ended before the
        // first examination.
        for _ in 0..20 {
            assert!(campaign.is_known(&finding));
        }
        assert!(campaign.is_doubtful(&finding));
        campaign.add_flaky(flaky());
        assert!(!campaign.is_doubtful(&finding));
        campaign.forget_flaky(&finding);
        campaign.buckets.push(bucket());
        assert_eq!(campaign.failures().count(), 1);
    }

    #[test]
    fn a_number_is_never_given_twice() {
        let mut campaign = FuzzCampaign::default();
        assert_eq!(campaign.next_number(), 1);
        campaign.add_flaky(FindingBucket { flaky: true, ..bucket() });
        assert_eq!(campaign.next_number(), 2);
        let scenario = "fuzz/002-turns-one-end".to_owned();
        campaign.buckets.push(FindingBucket { scenario, ..bucket() });
        campaign.forget_flaky(&bucket().finding);
        assert_eq!((campaign.buckets.len(), campaign.next_number()), (1, 3));
    }

    #[test]
    fn enough_findings_of_one_cause_make_it_familiar() {
        let mut campaign = FuzzCampaign::default();
        let found = |rule: &str, name: &str, flaky: bool| {
            let message = format!("expected a client's `{name}` to be rejected, found it accepted");
            let finding = FuzzFinding::of(rule, Weight::Must, "", &message);
            FindingBucket { finding, flaky, ..bucket() }
        };
        let none = std::iter::empty;
        let third = found("dispatch.table.x", "chat/delta", false).finding;
        campaign.buckets.push(found("dispatch.table.x", "chat/usage", false));
        campaign.buckets.push(found("dispatch.table.x", "chat/error", true));
        assert!(!campaign.is_familiar(&third, none()), "a flaky finding shows no cause");
        campaign.buckets.push(found("dispatch.table.x", "session/ready", false));
        assert!(campaign.is_familiar(&third, none()));
        assert!(
            !campaign.is_familiar(&found("turns.one-end", "chat/delta", false).finding, none())
        );
        campaign.add_form(third.clone(), 3, 1);
        campaign.add_form(third.clone(), 4, 1);
        assert_eq!(campaign.forms, [FurtherForm { finding: third, seed: 3, times: 2 }]);
        assert_eq!(campaign.failures().count(), 2, "a further form is no failure");
    }

    #[test]
    fn a_flaky_finding_of_a_reproducible_cause_is_a_form_of_it() {
        let found = |name: &str, flaky: bool| {
            let message = format!("expected nothing on `ahp-root://`, found `{name}`");
            let finding = FuzzFinding::of("fanout.x", Weight::Must, "", &message);
            FindingBucket { finding, flaky, again: (1, 3), ..bucket() }
        };
        let mut campaign = FuzzCampaign::default();
        campaign.add_flaky(found("root/progress", true));
        campaign.add_flaky(found("root/sessionAdded", true));
        campaign.forget_flaky(&found("root/sessionAdded", false).finding);
        campaign.buckets.push(found("root/sessionAdded", false));
        assert!(campaign.buckets.iter().all(|bucket| !bucket.flaky));
        campaign.add_flaky(found("root/sessionRemoved", true));
        let forms: Vec<&str> =
            campaign.forms.iter().map(|it| it.finding.message.as_str()).collect();
        let expected = ["root/progress", "root/sessionRemoved"]
            .map(|name| format!("expected nothing on `ahp-root://`, found `{name}`"));
        assert_eq!(forms, expected);
        assert!(
            campaign.is_known(&found("root/sessionRemoved", true).finding),
            "it is not examined again"
        );
        assert_eq!((campaign.buckets.len(), campaign.forms[1].times), (1, 3));
    }

    #[test]
    fn rare_observations_weigh_more() {
        let mut campaign = FuzzCampaign { sequences: 7, ..FuzzCampaign::default() };
        let one = |what: &str| BTreeMap::from([(what.to_owned(), 1)]);
        campaign.saw(one("a"));
        campaign.sequences = 30;
        campaign.saw(one("a"));
        assert!(campaign.rarity(&one("b")) > campaign.rarity(&one("a")));
        assert_eq!(campaign.without_news(), 23);
    }

    #[test]
    fn repeated_findings_are_counted_once_and_known_ones_dropped() {
        let mut campaign = FuzzCampaign::default();
        campaign.buckets.push(bucket());
        assert!(campaign.is_known(&bucket().finding));
        assert_eq!(campaign.buckets[0].times, 3);
        let known =
            KnownFindings::parse("known.yaml", &KnownFindings::text(&campaign.buckets)).unwrap();
        assert!(known.has(&bucket().finding));
        let rule = "known: [{ rule: sequence.grows, reason: old }]";
        assert!(KnownFindings::parse("known.yaml", rule).unwrap().has(&bucket().finding));
        assert!(KnownFindings::parse("known.yaml", "known: [{ rule: x }]").is_err());
    }
}
