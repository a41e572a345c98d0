//! What a campaign knows: how far it has come, what it found, what of it is known, what it has tried.
//!
//! Everything is kept as text, so that a campaign that was cut off goes on where it was.
//!
//! Knows: findings, counts. Never knows: files, targets, clocks.
//!
//! Start at [`Campaign`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::report::summary::word;
use crate::scenario::listing::{Form, read_list, reason, text};
use crate::verdict::Weight;
use crate::wire::json::{Value, json};

use super::act::Told;
use super::draft::Expectation;
use super::finding::Finding;
use super::gauge::Tally;

/// Every weight.
const WEIGHTS: [Weight; 4] = [Weight::Note, Weight::Should, Weight::Essential, Weight::Must];
/// How the file of findings that are known looks.
const FORM: Form = Form {
    what: "a baseline of findings",
    list: "known",
    beside: &[],
    entry: &["finding", "rule", "reason"],
};

/// One defect, however often it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// What was found first.
    pub finding: Finding,
    /// The scenario that shows it.
    pub scenario: String,
    /// The seed of the conversation in which it was found first.
    pub seed: u64,
    /// In how many conversations it was found.
    pub times: u64,
    /// How often it showed when the same was played again, of how many times.
    pub again: (u32, u32),
    /// Keys of findings that became the same small case.
    pub also: Vec<String>,
}

/// A campaign against one target.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// The seed of everything.
    pub seed: u64,
    /// The version that is spoken.
    pub version: String,
    /// The number of the next conversation.
    pub next: u64,
    /// Conversations that were played.
    pub sequences: u64,
    /// Steps that were played.
    pub steps: u64,
    /// Conversations that were drawn and not played, since the reference host does not play them twice alike.
    pub unsteady: u64,
    /// How long it took.
    pub took: Duration,
    /// What was found, in the order in which it was.
    pub buckets: Vec<Bucket>,
    /// What was tried, how it deviated and what came of it on the stage, and how often.
    pub tried: BTreeMap<String, u64>,
    /// What clients sent, what the host had said last on the channel, and what became of it on the target, and how often.
    pub seen: BTreeMap<String, u64>,
    /// What the target is known not to meet, so that nothing more waits for it.
    pub unmet: Vec<Expectation>,
    /// The seeds of conversations that tried something first.
    pub corpus: Vec<u64>,
    /// What became of what clients asked of the target.
    pub tally: Tally,
}

impl Campaign {
    /// Takes note of what a conversation tried. Says whether anything was new.
    pub fn tried(&mut self, seed: u64, told: &[Told]) -> bool {
        let mut new = false;
        for (what, deviation, came) in told {
            let came = super::draw::word(came);
            let count = self.tried.entry(format!("{what} | {deviation} | {came}")).or_default();
            new |= *count == 0;
            *count += 1;
        }
        if new {
            self.corpus.push(seed);
        }
        new
    }

    /// Whether a finding is one of those that were found already; counts it.
    pub fn is_known(&mut self, finding: &Finding) -> bool {
        let is_same = |bucket: &&mut Bucket| {
            bucket.finding.key == finding.key || bucket.also.contains(&finding.key)
        };
        let same = self.buckets.iter_mut().find(is_same);
        same.map(|bucket| bucket.times += 1).is_some()
    }

    /// The whole as text.
    pub fn to_text(&self) -> String {
        let buckets: Vec<Value> = self.buckets.iter().map(Bucket::value).collect();
        let tried: Vec<Value> =
            self.tried.iter().map(|(what, times)| json!([what, times])).collect();
        let seen: Vec<Value> = self.seen.iter().map(|(what, times)| json!([what, times])).collect();
        let unmet = self.unmet.iter().map(|it| json!([it.rule, it.verb, it.about]));
        let unmet: Vec<Value> = unmet.collect();
        let corpus: Vec<Value> =
            self.corpus.iter().map(|seed| json!(format!("{seed:016x}"))).collect();
        let state = json!({
            "fuzz": 1, "seed": self.seed, "version": self.version, "next": self.next,
            "sequences": self.sequences, "steps": self.steps, "unsteady": self.unsteady,
            "tookMs": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            "served": self.tally.served, "refused": self.tally.refused,
        });
        let mut out = format!("{}\n", state.to_text());
        let lists = [
            ("finding", buckets),
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

    /// Reads what [`to_text`](Self::to_text) wrote. `None` where it is nothing of the kind.
    pub fn of_text(text: &str) -> Option<Campaign> {
        let mut lines = text.lines().map(serde_json::from_str::<Value>);
        let head = lines.next()?.ok().filter(|head| head["fuzz"] == 1)?;
        let number = |name: &str| head[name].as_u64();
        let mut campaign = Campaign {
            seed: number("seed")?,
            version: head["version"].as_str()?.to_owned(),
            next: number("next")?,
            sequences: number("sequences")?,
            steps: number("steps")?,
            unsteady: number("unsteady")?,
            took: Duration::from_millis(number("tookMs")?),
            tally: Tally { served: number("served")?, refused: number("refused")? },
            ..Campaign::default()
        };
        // A line that was cut off is the last one; what stands before it counts.
        for line in lines.map_while(Result::ok) {
            if let Some(bucket) = line.get("finding").and_then(Bucket::of) {
                campaign.buckets.push(bucket);
            } else if let Some(tried) = line.get("tried") {
                count(&mut campaign.tried, tried);
            } else if let Some(seen) = line.get("seen") {
                count(&mut campaign.seen, seen);
            } else if let Some(unmet) = line.get("unmet") {
                let part = |at: usize| unmet[at].as_str().unwrap_or_default().to_owned();
                let (rule, verb, about) = (part(0), part(1), part(2));
                campaign.unmet.push(Expectation { rule, verb, about });
            } else if let Some(seed) = line.get("corpus").and_then(Value::as_str) {
                campaign.corpus.extend(u64::from_str_radix(seed, 16).ok());
            }
        }
        Some(campaign)
    }
}

fn count(counts: &mut BTreeMap<String, u64>, line: &Value) {
    let what = line[0].as_str().unwrap_or_default().to_owned();
    counts.insert(what, line[1].as_u64().unwrap_or_default());
}

impl Bucket {
    fn value(&self) -> Value {
        json!({
            "also": self.also,
            "rule": self.finding.rule, "weight": word(self.finding.weight),
            "message": self.finding.message, "key": self.finding.key, "scenario": self.scenario,
            "seed": format!("{:016x}", self.seed), "times": self.times,
            "again": [self.again.0, self.again.1],
        })
    }

    fn of(value: &Value) -> Option<Bucket> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let count = |at: usize| value["again"][at].as_u64().and_then(|it| u32::try_from(it).ok());
        let weight = text("weight")?;
        let also = value["also"].as_array().into_iter().flatten();
        let finding = Finding {
            rule: text("rule")?,
            weight: *WEIGHTS.iter().find(|it| word(**it) == weight)?,
            message: text("message")?,
            key: text("key")?,
        };
        Some(Bucket {
            finding,
            scenario: text("scenario")?,
            seed: u64::from_str_radix(value["seed"].as_str()?, 16).ok()?,
            times: value["times"].as_u64()?,
            again: (count(0)?, count(1)?),
            also: also.filter_map(|key| key.as_str().map(str::to_owned)).collect(),
        })
    }
}

/// Findings that are known: by their key, or everything about a rule.
#[derive(Clone, Debug, Default)]
pub struct Known {
    entries: Vec<(String, bool)>,
}

impl Known {
    /// Reads the file.
    ///
    /// # Errors
    /// Every mistake in it, a line each.
    pub fn parse(name: &str, source: &str) -> Result<Known, String> {
        let mut known = Known::default();
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

    /// Whether a finding is known.
    pub fn has(&self, finding: &Finding) -> bool {
        self.entries.iter().any(|(text, key)| match key {
            true => *text == finding.key,
            false => *text == finding.rule,
        })
    }

    /// A file in which all of these are known.
    pub fn text(buckets: &[Bucket]) -> String {
        let mut out = "# Findings of `ahp-harness fuzz` that are known.\nknown:\n".to_owned();
        for bucket in buckets {
            let key = json!(bucket.finding.key).to_text();
            let _ =
                writeln!(out, "  - finding: {key}\n    reason: \"TODO: say why this is known\"");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket() -> Bucket {
        let finding = Finding {
            rule: "sequence.grows".to_owned(),
            weight: Weight::Essential,
            message: "expected more, found `3`".to_owned(),
            key: "sequence.grows | expected more, found _".to_owned(),
        };
        Bucket {
            finding,
            scenario: "fuzz/x".to_owned(),
            seed: 7,
            times: 2,
            again: (2, 2),
            also: vec!["x".to_owned()],
        }
    }

    #[test]
    fn a_campaign_comes_back_from_its_text_even_when_it_was_cut_off() {
        let mut campaign =
            Campaign { seed: 3, version: "1.0.0".to_owned(), next: 9, ..Campaign::default() };
        campaign.buckets.push(bucket());
        campaign.tried(5, &[("ping".to_owned(), "legal", super::super::draw::Came::Nothing)]);
        let text = campaign.to_text();
        let back = Campaign::of_text(&text).unwrap();
        assert_eq!((back.seed, back.next, back.corpus.clone()), (3, 9, vec![5]));
        assert_eq!(back.buckets, campaign.buckets);
        assert_eq!(back.tried, campaign.tried);
        let cut = Campaign::of_text(&text[..text.len() - 5]).unwrap();
        assert_eq!(cut.buckets, campaign.buckets);
        assert!(Campaign::of_text("{}").is_none());
    }

    #[test]
    fn the_same_defect_is_one_finding_and_known_ones_are_none() {
        let mut campaign = Campaign::default();
        campaign.buckets.push(bucket());
        assert!(campaign.is_known(&bucket().finding));
        assert_eq!(campaign.buckets[0].times, 3);
        let known = Known::parse("known.yaml", &Known::text(&campaign.buckets)).unwrap();
        assert!(known.has(&bucket().finding));
        let rule = "known: [{ rule: sequence.grows, reason: old }]";
        assert!(Known::parse("known.yaml", rule).unwrap().has(&bucket().finding));
        assert!(Known::parse("known.yaml", "known: [{ rule: x }]").is_err());
    }
}
