//! Fuzz targets about text from people and hosts: scenarios, captures, scripts, reports.

use std::collections::BTreeSet;

use crate::agent::script;
use crate::report::certificate::HostCertificate;
use crate::report::finished::FinishedRun;
use crate::report::html::html as page;
use crate::report::judge_logs::judge_logs;
use crate::report::replay;
use crate::run::suite::CarriedFiles;
use crate::scenario::load::load;
use crate::scenario::render;
use crate::transcript::logs::ConnectionLogs;
use crate::verdict::FailOn;
use crate::wire::json::{Value, json};

/// Loads the input as a scenario file. The place of every reported mistake has to be inside the input.
pub fn scenario(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let loaded = load("scenarios/ahp/fuzz/case.yaml", &text, &CarriedFiles);
    for error in &loaded.errors {
        let source = loaded.sources.get(error.span.file as usize);
        let length = source.map_or(0, |source| source.text.len());
        assert!(
            error.span.start as usize <= length,
            "the place of `{error}` is outside of the text"
        );
        assert!(!error.to_string().is_empty());
    }
    if let Some(scenario) = loaded.scenario {
        render::text(&scenario);
    }
}

/// Judges the input as a recorded conversation, and as two segments of one log together with another log.
pub fn capture(data: &[u8]) {
    if let Err(error) = replay::judge(data, None, FailOn::default()) {
        assert!(error.line > 0, "`{error}` has no line number");
    }
    let (first, second) = data.split_at(data.len() / 2);
    let names = ["a.jsonl", "a.1.jsonl", "b.jsonl"].map(str::to_owned);
    let logs = ConnectionLogs::read(names.into_iter().zip([first, second, data]).collect());
    if let Ok(logs) = logs {
        judge_logs(&logs, None, FailOn::default());
    }
}

/// Parses the input as a script. If a parsed script is formatted, the result has to parse as the same script.
pub fn script(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match script::find(&text) {
        Some(Ok(script)) => {
            let written = script.to_string();
            assert_eq!(script::find(&written), Some(Ok(script)), "{written}");
        }
        Some(Err(mistake)) => {
            assert!(mistake.line > 0, "`{mistake}` has no line number");
            assert!(
                mistake.line <= text.lines().count(),
                "the place of `{mistake}` is outside of the text"
            );
        }
        None => {}
    }
}

/// The elements that the page contains only if strings differ or are long.
const OWN_ELEMENTS: [&str; 5] = ["del", "ins", "mark", "details", "summary"];

/// Puts a string into every place of a run that a host can control. The page has to contain the same elements and the
/// same number of scripts as with a harmless string, because a host's string must never become markup.
pub fn html(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // A run's file is JSON, so it contains no invalid UTF-8; the page truncates long strings.
    let text: String = text.chars().take(MAX_TEXT).collect();
    let tags = |said: &str| {
        let run = FinishedRun::read(run(said).as_bytes());
        let run = run.unwrap_or_else(|error| panic!("a run of our own is not read: {error}"));
        let page = page(&run, &HostCertificate::of(&run));
        let name = |rest: &str| {
            let end = rest.find(|c: char| c == '>' || c.is_whitespace()).unwrap_or(rest.len());
            rest[..end].trim_start_matches('/').to_owned()
        };
        let names: BTreeSet<String> = page.split('<').skip(1).map(name).collect();
        (names, page.matches("<script").count())
    };
    // The harmless string has the same length and the same line breaks.
    let harmless: String = text.chars().map(|c| if c.is_whitespace() { c } else { 'x' }).collect();
    let ((found, scripts), (usual, one)) = (tags(&text), tags(&harmless));
    let foreign = found.difference(&usual).find(|name| !OWN_ELEMENTS.contains(&name.as_str()));
    assert_eq!((foreign, scripts), (None, one), "{text:?} became markup");
}

/// The maximum length of the string, because the page truncates longer strings in several ways.
const MAX_TEXT: usize = 400;

/// Returns a run with one failed scenario in which the host's string occurs in every possible place.
fn run(said: &str) -> String {
    let source = json!({"name": "s.yaml", "text": "a\nb\nc\n"});
    let failure = json!({
        "file": "s.yaml", "line": 2, "column": 1, "message": said, "label": said,
        "rule": "ping.response", "transcript": [3],
    });
    let claim = json!({
        "rules": ["ping.response"], "file": "s.yaml", "line": 2, "status": "fail", "observations": 0,
        "failure": failure,
    });
    let frame = json!({
        "case": 0, "t": 0.1, "conn": "A", "dir": "s2c",
        "msg": {"jsonrpc": "2.0", "method": said, "params": {"text": said}},
    });
    let header = json!({
        "run": "header", "format": 2, "harness": "0.1.0", "seed": 1, "target": "ws://h",
        "host": said, "version": "1.0.0", "offers": ["1.0.0"], "versions": [said],
        "providers": [said], "started": "", "epoch_us": 0, "limit_ms": 1, "shared": false,
        "authenticated": [],
    });
    let result = json!({
        "run": "result", "case": 0, "scenario": "area/0", "title": "t", "file": "s.yaml",
        "profile": "core", "proves": ["ping.response"], "status": "fail", "reason": said,
        "weight": "must", "observations": 1, "took_ms": 1, "failure": failure,
        "claims": [claim], "notes": [said], "checks": [],
    });
    let case = json!({
        "run": "case", "case": 0, "scenario": "area/0", "name": "area/0", "sources": [source],
    });
    let lines: [Value; 4] = [header, case, frame, result];
    lines.iter().map(|line| line.to_text() + "\n").collect()
}
