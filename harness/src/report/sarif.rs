//! Writes SARIF output, version 2.1.0: a result for each place of each breach, for code scanning services and
//! editors.
//!
//! Knows: causes of failures, the header of a run. Never knows: the place of the file.
//!
//! Start at [`SarifReport`].

use litemap::LiteMap;
use serde_json::{Value, json};

use crate::verdict::Status;
use crate::wire::percent;

use super::cause::{BreachPlace, CauseFold, RuleBreach};
use super::command;
use super::event::{CaseReport, RunHeader};
use super::rule_quotes::RuleQuotes;
use super::spec_page;
use super::summary::{row, word};

/// The address of the schema of SARIF 2.1.0.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The maximum number of results of one breach. Code scanning services refuse files with several thousand
/// results.
const PLACES: usize = 10;
/// The name of the SARIF rule that reports entries of the baseline that no longer fail.
const STALE: &str = "baseline";

/// A collector of the scenarios' files that writes the report at the end of the run.
#[derive(Debug, Default)]
pub struct SarifReport {
    /// The file of each scenario. A finding of an always-on check has no line in a scenario file.
    files: LiteMap<String, String>,
}

impl SarifReport {
    /// Adds a scenario.
    pub fn add(&mut self, case: &CaseReport) {
        self.files.insert(case.scenario.clone(), case.file.clone());
    }

    /// Returns a report for a run that has not ended.
    pub fn unfinished(&self, header: &RunHeader) -> Value {
        self.report(header, &CauseFold::default(), &[], (0, false))
    }

    /// Returns the report. `stale` contains the baseline entries that no longer fail, and `exit` is the exit
    /// code of the run. `whole` says whether the run was neither interrupted nor stopped by a defect of the
    /// harness.
    pub fn report(
        &self,
        header: &RunHeader,
        causes: &CauseFold,
        stale: &[String],
        (exit, whole): (u8, bool),
    ) -> Value {
        let quotes = RuleQuotes::of_run(header);
        let causes = causes.by_cause();
        let mut rules: LiteMap<&str, usize> = LiteMap::new();
        let mut described = Vec::new();
        let mut results = Vec::new();
        for breach in causes.iter().flat_map(|cause| &cause.breaches) {
            let Some(level) = SarifLevel::of(breach.status) else { continue };
            let index = *rules.entry(&breach.id.rule).or_insert_with(|| {
                described.push(rule(breach, &quotes));
                described.len() - 1
            });
            for place in breach.places.iter().take(PLACES) {
                results.push(self.result(header, (breach, index), place, level));
            }
        }
        if !stale.is_empty() {
            described.push(json!({
                "id": STALE,
                "shortDescription": {"text": "An entry of the baseline no longer fails."},
            }));
        }
        results.extend(stale.iter().map(|line| {
            json!({
                "ruleId": STALE,
                "ruleIndex": described.len() - 1,
                "kind": "fail",
                "level": "error",
                "message": {"text": line},
            })
        }));
        json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {
                    "name": env!("CARGO_PKG_NAME"),
                    "version": header.harness,
                    "rules": described,
                }},
                "automationDetails": {"id": format!("{} {}/", env!("CARGO_PKG_NAME"), header.version)},
                "invocations": [{
                    "commandLine": command::whole(header),
                    "startTimeUtc": header.started,
                    "exitCode": exit,
                    "executionSuccessful": whole,
                }],
                "results": results,
            }],
        })
    }

    fn result(
        &self,
        header: &RunHeader,
        (breach, index): (&RuleBreach, usize),
        place: &BreachPlace,
        level: SarifLevel,
    ) -> Value {
        let file = match place.file.as_str() {
            "" => self.files.get(&place.scenario).map_or("", String::as_str),
            file => file,
        };
        // GitHub shows only results with a line. A finding of an always-on check has no line, so the first line of the
        // file is used.
        let physical = json!({
            "artifactLocation": {"uri": address(file)},
            "region": {"startLine": place.line.max(1)},
        });
        let scenario = json!({"fullyQualifiedName": place.scenario, "kind": "scenario"});
        json!({
            "ruleId": breach.id.rule,
            "ruleIndex": index,
            "kind": level.kind,
            "level": level.level,
            "message": {"text": place.message.sarif()},
            "locations": [{"physicalLocation": physical, "logicalLocations": [scenario]}],
            "partialFingerprints": {"breach/v1": format!("{} {}", breach.id, place.scenario)},
            "occurrenceCount": place.times.max(1),
            "properties": {
                "weight": word(breach.weight),
                "provider": place.provider,
                "transcript": place.transcript,
                "command": command::again_at(header, place),
            },
        })
    }
}

/// The kind and the level that SARIF uses for a status.
#[derive(Clone, Copy, Debug)]
struct SarifLevel {
    kind: &'static str,
    level: &'static str,
}

impl SarifLevel {
    /// Returns the kind and the level for a status; `None` if the status is not reported.
    fn of(status: Status) -> Option<SarifLevel> {
        let (kind, level) = match status {
            Status::Fail => ("fail", "error"),
            Status::Warn => ("fail", "warning"),
            Status::Note => ("informational", "none"),
            // In SARIF, the kind `open` means that there is not enough information to decide whether the rule is
            // broken.
            Status::Untested | Status::Error => ("open", "none"),
            Status::Pass | Status::Skip | Status::Known => return None,
        };
        Some(SarifLevel { kind, level })
    }
}

/// Describes the rule of a breach, which is a requirement, a check or a scenario.
fn rule(breach: &RuleBreach, quotes: &RuleQuotes) -> Value {
    let id = breach.id.rule.as_str();
    let mut rule = json!({"id": id});
    if let Some(requirement) = quotes.requirement(id) {
        rule["shortDescription"] = json!({"text": requirement.statement});
        rule["fullDescription"] =
            json!({"text": format!("{} ({})", requirement.statement, requirement.standing)});
        if let Some(page) = spec_page::address(requirement.row.source) {
            rule["helpUri"] = json!(page);
        }
    } else if let Some(check) = row(id) {
        rule["shortDescription"] = json!({"text": quotes.text(check.doc)});
    } else {
        rule["shortDescription"] =
            json!({"text": format!("The scenario {id} could not be judged.")});
    }
    rule
}

/// Returns the relative address of a file. The address has `/` between folders, and other special characters
/// are percent-encoded.
fn address(file: &str) -> String {
    percent::escaped(file.replace('\\', "/"), percent::PATH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::version::Version;

    fn case(rule: &str, message: &str, checks: &Value) -> CaseReport {
        let file = "scenarios/core/dispatch one.yaml";
        let failure = json!({
            "file": file, "line": 7, "column": 1, "message": message, "label": "", "rule": rule, "transcript": [4],
        });
        let case = json!({
            "case": 1, "scenario": "dispatch/one", "title": "", "file": file, "proves": [], "status": "fail",
            "reason": "", "weight": "must", "observations": 1, "took_ms": 1, "notes": [], "checks": checks,
            "failure": if rule.is_empty() { Value::Null } else { failure },
        });
        serde_json::from_value(case).unwrap()
    }

    fn failed(rule: &str, message: &str) -> CaseReport {
        case(rule, message, &json!([]))
    }

    fn report(cases: &[CaseReport], stale: &[String]) -> Value {
        let header = RunHeader { version: Version::V0_3, ..RunHeader::default() };
        let mut sarif = SarifReport::default();
        cases.iter().for_each(|case| sarif.add(case));
        sarif.report(&header, &CauseFold::of(cases), stale, (1, true))
    }

    #[test]
    fn a_failed_step_is_an_error_at_its_line() {
        let made = report(&[failed("chat.stream.kind-match", "expected a, found b")], &[]);
        let run = &made["runs"][0];
        let result = &run["results"][0];
        assert_eq!(result["level"], "error");
        assert_eq!(result["ruleId"], "chat.stream.kind-match");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "scenarios/core/dispatch%20one.yaml");
        assert_eq!(place["region"]["startLine"], 7);
        // Rules are quoted with the names of the run's version.
        let rule = &run["tool"]["driver"]["rules"][0];
        assert_eq!(rule["id"], "chat.stream.kind-match");
        assert!(rule["shortDescription"]["text"].to_string().contains("session/delta"), "{rule}");
        assert_eq!(run["invocations"][0]["exitCode"], 1);
    }

    #[test]
    fn findings_of_checks_are_at_the_file_of_their_scenario() {
        let finding = json!({
            "weight": "must", "message": "expected more, found less", "transcript": [3], "diff": null,
        });
        let check = json!({
            "check": "sequence.grows", "observations": 1, "findings": [finding], "left_out": 0,
        });
        let case = case("", "", &json!([check]));
        let made = report(&[case], &["baseline: x no longer fails".to_owned()]);
        let results = made["runs"][0]["results"].as_array().unwrap();
        let uri = &results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(uri, "scenarios/core/dispatch%20one.yaml");
        let region = &results[0]["locations"][0]["physicalLocation"]["region"];
        assert_eq!(region["startLine"], 1);
        assert_eq!(results[1]["ruleId"], STALE);
        assert_eq!(results[1]["ruleIndex"], 1);
    }

    #[test]
    fn messages_of_a_target_are_no_links_and_have_no_hidden_characters() {
        let message = "expected a, found [here](https://example.org)\u{1b}[2J\u{202e}";
        let made = report(&[failed("chat.stream.kind-match", message)], &[]);
        let text = made["runs"][0]["results"][0]["message"]["text"].as_str().unwrap();
        assert!(!text.contains("](") || text.contains("\\]("), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
}
