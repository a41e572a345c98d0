//! Tests of certificates and the HTML page: their content for hosts without faults, with faults and without function,
//! and that no string from a host becomes markup.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot run the harness has failed")]

use std::path::PathBuf;
use std::process::Command;

use ahp_harness::oracle::checks;
use ahp_harness::report::brief;
use ahp_harness::report::certificate::{HostCertificate, RequirementOutcome};
use ahp_harness::report::change::{RunChange, RunChanges};
use ahp_harness::report::finished::FinishedRun;
use ahp_harness::report::html::{POLICY, html, script, viewer};
use ahp_harness::report::profile_verdict::ProfileVerdict;
use ahp_harness::verdict::{Status, Weight};
use ahp_harness::wire::version::ProtocolStandard;
use serde_json::{Value, json};

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn harness(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ahp-harness")).args(arguments).output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), format!("{out}{err}"))
}

/// Returns the file of a run with these scenarios, each with a status and a message.
fn run(scenarios: &[(&str, &str)], host: &str) -> String {
    let header = json!({
        "run": "header", "format": 2, "harness": "0.1.0", "seed": 1, "target": "ws://h",
        "host": host, "version": "1.0.0", "offers": ["1.0.0"], "started": "", "epoch_us": 0,
        "limit_ms": 1, "shared": false, "authenticated": [],
    });
    let mut lines = vec![header];
    for (case, (status, came)) in scenarios.iter().enumerate() {
        let id = format!("area/{case}");
        let source = json!({"name": "s.yaml", "text": "a\nb\nc\n".repeat(20)});
        lines.push(json!({
            "run": "case", "case": case, "scenario": id, "name": id, "sources": [source],
        }));
        let first = lines.len() as u64 + 1;
        for _ in 0..40 {
            lines.push(json!(format!(
                "{{\"case\":{case},\"t\":0.1,\"conn\":\"A\",\"dir\":\"s2c\",\"msg\":{}}}",
                json!({"jsonrpc": "2.0", "method": came, "params": {"text": came}})
            )));
        }
        let failure = json!({
            "file": "s.yaml", "line": 2, "column": 1, "message": came, "label": came,
            "rule": "ping.response", "transcript": [first],
        });
        let failed = *status != "pass";
        let claim = json!({
            "rules": ["ping.response"], "file": "s.yaml", "line": 2, "status": status,
            "observations": u64::from(!failed),
            "failure": if failed { failure.clone() } else { Value::Null },
        });
        lines.push(json!({
            "run": "result", "case": case, "scenario": id, "title": came, "file": "s.yaml",
            "profile": "core", "proves": ["ping.response"], "status": status, "reason": came,
            "weight": "must", "observations": 1, "took_ms": 1,
            "failure": if failed { failure } else { Value::Null }, "claims": [claim], "notes": [],
            "checks": [],
        }));
    }
    let line = |line: &Value| line.as_str().map_or_else(|| line.to_string(), str::to_owned);
    lines.iter().map(|value| line(value) + "\n").collect()
}

fn page(text: &str) -> (FinishedRun, String) {
    let run = FinishedRun::read(text.as_bytes()).unwrap();
    let page = html(&run, &HostCertificate::of(&run));
    (run, page)
}

#[test]
fn the_certificate_of_the_reference_host_has_no_failure() {
    let out = folder("certificate-honest");
    let (code, said) = harness(&["certify", "--quiet", "--out", out.to_str().unwrap()]);
    let text = std::fs::read_to_string(out.join("certificate.json")).unwrap();
    let certificate: Value = serde_json::from_str(&text).unwrap();
    let of = |outcome: &str| {
        let rows = certificate["requirements"].as_array().unwrap();
        rows.iter().filter(|row| row["outcome"] == outcome).count()
    };
    assert_eq!((of("fail"), of("warn")), (0, 0), "{said}");
    assert!(of("pass") > 400, "{} hold", of("pass"));
    let profile = |name: &str| {
        let profiles = certificate["profiles"].as_array().unwrap();
        profiles.iter().find(|profile| profile["name"] == name).unwrap()["verdict"].clone()
    };
    assert_eq!(profile("agent"), "conformant");
    assert_eq!(code, Some(i32::from(profile("core") != "conformant")), "{said}");
    for file in [
        "report.html",
        "summary.md",
        "badge.svg",
        "badge.json",
        "junit.xml",
        "results.sarif",
        "members.txt",
        "run.jsonl",
    ] {
        assert!(out.join(file).exists(), "{file}");
    }
    // All reports can be generated again from the file of the run.
    let again = folder("certificate-again");
    let file = out.join("run.jsonl");
    harness(&["report", file.to_str().unwrap(), "--out", again.to_str().unwrap()]);
    for name in ["certificate.json", "report.html", "summary.md"] {
        let read = |folder: &PathBuf| std::fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read(&out), read(&again), "{name}");
    }
}

#[test]
fn the_page_prints_each_source_and_each_shared_reason_once() {
    let why = "it needs a host that has two agents";
    let (run, page) = page(&run(&[("skip", why), ("skip", why), ("pass", "fine")], "h"));
    let certificate = HostCertificate::of(&run);
    let (_, list) = page.split_once("id=\"rules\"").unwrap();
    for row in &certificate.requirements {
        let source = row.source.replace('&', "&amp;").replace('"', "&quot;").replace('\'', "&#39;");
        assert_eq!(list.matches(&format!(">{source}</")).count(), 1, "{source}");
    }
    let (requirements, scenarios) = list.split_once("id=\"scenarios\"").unwrap();
    assert_eq!(requirements.matches("<li id=\"r-").count(), certificate.requirements.len());
    // The titles of the scenarios in this run come from the same input, but do not contain the reason.
    assert_eq!(scenarios.matches(&format!("2 scenarios: {why}</th>")).count(), 1, "{scenarios}");
    assert_eq!(scenarios.matches(&format!("small\">{why}")).count(), 0, "{scenarios}");
}

#[test]
fn a_file_that_is_no_run_is_refused() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no-run.jsonl");
    std::fs::write(&path, "{\"t\":0,\"conn\":\"A\",\"dir\":\"open\"}\n").unwrap();
    let (code, said) = harness(&["report", path.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("expected the header of a run"), "{said}");
}

#[test]
fn a_failed_scenario_breaks_only_its_own_requirement() {
    let (run, _) = page(&run(&[("pass", "ok"), ("fail", "bad")], "h"));
    let certificate = HostCertificate::of(&run);
    let row = certificate.requirements.iter().find(|row| row.id == "ping.response").unwrap();
    assert_eq!(row.outcome, RequirementOutcome::Fail);
    assert_eq!(row.evidence.len(), 1);
    assert_eq!(certificate.verdict(), ProfileVerdict::NotConformant);
    let passed =
        certificate.requirements.iter().filter(|row| row.outcome == RequirementOutcome::Pass);
    assert_eq!(passed.count(), 0);
}

#[test]
fn a_finding_of_a_check_breaks_only_its_own_requirement() {
    let out = folder("certificate-apart");
    let serve = concat!(
        env!("CARGO_BIN_EXE_ahp-harness"),
        " serve --listen 127.0.0.1:{port} --fault error-without-message"
    );
    let with = ["--id", "jsonrpc/*", "--command", serve];
    let to = ["--quiet", "--out", out.to_str().unwrap()];
    let (code, said) = harness(&[&["certify"][..], &with, &to].concat());
    assert_eq!(code, Some(1), "{said}");
    let text = std::fs::read_to_string(out.join("certificate.json")).unwrap();
    let certificate: Value = serde_json::from_str(&text).unwrap();
    let row = |id: &str| {
        let rows = certificate["requirements"].as_array().unwrap();
        rows.iter().find(|row| row["id"] == id).unwrap().clone()
    };
    // A single check covers all of these requirements.
    assert_eq!(row("jsonrpc.error.shape")["outcome"], "fail", "{said}");
    assert_eq!(row("jsonrpc.version.tag-output")["outcome"], "pass", "{said}");
    assert_eq!(row("transport.whole-messages")["outcome"], "pass", "{said}");
    // A requirement without an observation does not pass; optional behaviour that the host never shows is
    // skipped.
    assert_eq!(row("auth.required.data")["outcome"], "skip", "{said}");
    let asked = row("channel.present-on-server-requests");
    assert_eq!(asked["outcome"], "skip", "{asked}");
    assert!(asked["reason"].as_str().unwrap().contains("asks a client for something"), "{asked}");
    // A profile of which no scenario was played is not applicable, even if a check has observed a requirement of the
    // profile.
    let profiles = certificate["profiles"].as_array().unwrap();
    let terminals = profiles.iter().find(|profile| profile["name"] == "terminals").unwrap();
    assert_eq!(terminals["verdict"], "not-applicable", "{terminals}");
}

#[test]
fn a_run_that_was_cut_off_certifies_nothing() {
    let (run, _) = page(&run(&[("pass", "ok")], "h"));
    let certificate = HostCertificate::of(&run);
    assert!(!certificate.complete);
    assert_eq!(certificate.verdict(), ProfileVerdict::Incomplete);
}

#[test]
fn nothing_a_host_says_becomes_markup() {
    let evil =
        "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" onload=\"x' \u{202e}";
    let (run, page) = page(&run(&[("fail", evil)], evil));
    assert_eq!(page.matches("<script").count(), 1, "only our own");
    assert!(!page.contains("<img") && !page.contains("\u{202e}"));
    assert!(!page.contains("\" onload"));
    let markdown = brief::markdown(&HostCertificate::of(&run));
    assert!(!markdown.contains("<script>") && markdown.contains("\\<script\\>"), "{markdown}");
}

/// Returns every part of the page between two strings.
fn between<'a>(page: &'a str, before: &'a str, after: &'a str) -> Vec<&'a str> {
    page.split(before).skip(1).filter_map(|rest| rest.split(after).next()).collect()
}

#[test]
fn every_link_of_the_page_has_a_target_and_nothing_is_repeated() {
    let scenarios = [
        ("fail", "client `A`: expected `a` at `params.text`, found `bad`"),
        ("fail", "client `B`: expected `a` at `params.text`, found `worse`"),
        ("fail", "client `A`: expected an error, nothing came"),
        ("untested", "no session"),
        ("warn", "late"),
        ("pass", "ok"),
    ];
    let (_, page) = page(&run(&scenarios, "h"));
    let ids = between(&page, " id=\"", "\"");
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "an id stands twice");
    let links = between(&page, "href=\"#", "\"");
    assert!(links.len() > 10);
    for link in &links {
        assert!(ids.contains(link), "`{link}` leads nowhere");
    }
    // A requirement that is broken in two ways has one article.
    let articles = between(&page, "<article", "</article>");
    assert_eq!(articles.len(), 1, "{articles:?}");
    assert!(articles[0].contains("5 times in 5 scenarios"), "{}", articles[0]);
    for article in articles {
        assert!(article.contains("--id area/"), "no command in {article}");
        assert!(article.contains("href=\"https://"), "no page of the specification in {article}");
        assert!(article.contains("class=\"proof\"") || article.contains(" proof\""), "{article}");
    }
}

#[test]
fn the_content_policy_allows_only_our_script() {
    let hash = ring::digest::digest(&ring::digest::SHA256, script().as_bytes());
    let text = data_encoding::BASE64.encode(hash.as_ref());
    assert!(POLICY.contains(&format!("'sha256-{text}'")), "expected the hash {text} in the policy");
    let hash = ring::digest::digest(&ring::digest::SHA256, viewer::script().as_bytes());
    let text = data_encoding::BASE64.encode(hash.as_ref());
    assert!(viewer::POLICY.contains(&format!("'sha256-{text}'")), "expected {text}");
}

#[test]
fn a_large_run_makes_a_small_page() {
    let long = "x".repeat(3_000);
    let scenarios: Vec<(&str, &str)> = (0..1_000)
        .map(|n| if n % 20 == 0 { ("fail", long.as_str()) } else { ("pass", "ok") })
        .collect();
    let (_, page) = page(&run(&scenarios, "h"));
    assert!(page.len() < 5 << 20, "{} bytes", page.len());
}

#[test]
fn diff_names_what_got_worse() {
    let read =
        |scenarios: &[(&str, &str)]| FinishedRun::read(run(scenarios, "h").as_bytes()).unwrap();
    let (old, new) = (read(&[("pass", "a"), ("fail", "b")]), read(&[("fail", "a"), ("pass", "b")]));
    let ids = |list: &[RunChange]| -> Vec<String> {
        let scenarios = list.iter().filter(|change| change.kind == "scenario");
        scenarios
            .map(|change| format!("{} {}>{}", change.id, change.before, change.after))
            .collect()
    };
    let changes = RunChanges::between(&old, &new);
    assert_eq!(ids(&changes.worse), ["area/0 pass>FAIL"]);
    assert_eq!(ids(&changes.better), ["area/1 FAIL>pass"]);
    assert_eq!(RunChanges::between(&old, &old), RunChanges::default());
    let more = RunChanges::between(&read(&[("pass", "a")]), &read(&[("pass", "a"), ("fail", "b")]));
    assert_eq!(ids(&more.worse), ["area/1 >FAIL"]);
    let fewer = RunChanges::between(&old, &read(&[("pass", "a")]));
    assert_eq!(ids(&fewer.gone), ["area/1 FAIL>"]);
}

#[test]
fn matrix_lists_the_certificates() {
    let out = folder("certificate-matrix");
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("matrix-run.jsonl");
    std::fs::write(&file, run(&[("fail", "bad")], "a|b <i>")).unwrap();
    harness(&["report", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let page = out.join("index.md");
    let (code, said) = harness(&["matrix", out.to_str().unwrap(), "--out", page.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{said}");
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("| [a\\|b \\<i\\>](report.html) | 1.0.0 | not-conformant |"), "{text}");
    let (code, said) = harness(&["matrix", file.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{said}");

    let page = out.join("index.html");
    let (code, said) = harness(&["matrix", out.to_str().unwrap(), "--out", page.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{said}");
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("<a href=\"report.html\">a|b &lt;i&gt;</a>"), "{text}");
    // Each broken rule is a link to the place of this rule in the report of the host.
    assert!(text.contains("<a href=\"report.html#r-ping.response\">"), "{text}");
    assert!(text.contains("MUST and essential rules that are broken somewhere: 1"), "{text}");
}

#[test]
fn report_exits_like_certify() {
    let write = |name: &str, status: &str, exit: u8| {
        let out = folder(name);
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.jsonl"));
        let footer = json!({
            "run": "footer", "took_ms": 1, "interrupted": false, "exit": exit, "checks": {},
            "scenarios": {}, "stale": [],
        });
        std::fs::write(&file, run(&[(status, "came")], "h") + &footer.to_string() + "\n").unwrap();
        harness(&["report", file.to_str().unwrap(), "--out", out.to_str().unwrap()])
    };
    let (code, said) = write("exit-of-a-broken-run", "fail", 1);
    assert_eq!(code, Some(1), "{said}");
    let (code, said) = write("exit-of-an-unreachable-host", "error", 3);
    assert_eq!(code, Some(3), "{said}");
}

#[test]
fn a_host_that_cannot_be_reached_leaves_a_page_that_says_why() {
    // Nothing listens on a port that was just closed.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let out = folder("certificate-unreachable");
    let url = format!("ws://127.0.0.1:{port}");
    let (code, said) =
        harness(&["certify", "--url", &url, "--out", out.to_str().unwrap(), "--id", "handshake/*"]);
    assert_eq!(code, Some(3), "{said}");
    let text = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(text.contains("could not be reached"), "{text}");
}

#[test]
fn a_page_of_a_run_shows_each_scenario_by_itself() {
    const OTHER: &str = "handshake/empty-offer-is-refused";
    let out = folder("view-of-a-run");
    std::fs::create_dir_all(&out).unwrap();
    let (file, page) = (out.join("run.jsonl"), out.join("view.html"));
    let (file, page) = (file.to_str().unwrap(), page.to_str().unwrap());
    let ids = ["--id", OTHER, "--id", "tools/confirmed-once"];
    let (report, program) = (format!("jsonl={file}"), env!("CARGO_BIN_EXE_ahp-harness"));
    let host =
        format!("{program} serve --listen 127.0.0.1:{{port}} --fault accepts-second-confirmation");
    let run = ["run", "--report", &report, "--profile", "all", "--command", &host];
    let (code, said) = harness(&[&run[..], &ids].concat());
    assert_eq!(code, Some(1), "{said}");
    let (code, said) = harness(&["view", file, "--out", page]);
    assert_eq!(code, Some(0), "{said}");
    let text = std::fs::read_to_string(page).unwrap();
    let scenes = between(&text, "<details class=\"scene\" data-scenario=\"", "\"");
    // The scenario that failed comes first, and the lines that prove the failure are marked.
    assert_eq!(scenes, ["tools/confirmed-once", OTHER], "{said}");
    assert!(text.contains(" proof\""), "no line of evidence is marked");
    let one = ["view", file, "--out", page, "--case", OTHER];
    let (code, said) = harness(&one);
    assert_eq!(code, Some(0), "{said}");
    let text = std::fs::read_to_string(page).unwrap();
    assert!(!text.contains("toolCallConfirmed"), "{said}");
    let (code, said) = harness(&["view", file, "--out", page, "--case", "a/b"]);
    assert_eq!(code, Some(2), "{said}");
}

/// Returns the violations of the schema in a certificate. The function implements only the keywords that the
/// schema uses, and fails at an unknown keyword. An existing validator crate would add a minute to every clean
/// build.
fn mistakes(certificate: &Value) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("certificate.schema.json");
    let root: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut found = Vec::new();
    CertificateWalk { root: &root, found: &mut found }.value(certificate, &root, "");
    found
}

struct CertificateWalk<'a> {
    root: &'a Value,
    found: &'a mut Vec<String>,
}

impl CertificateWalk<'_> {
    fn value(&mut self, value: &Value, schema: &Value, path: &str) {
        for (keyword, wanted) in schema.as_object().unwrap() {
            let fits = match keyword.as_str() {
                "$schema" | "title" | "description" | "$defs" | "format" | "then" => true,
                "type" => match wanted {
                    Value::Array(types) => types.iter().any(|name| is(value, name)),
                    name => is(value, name),
                },
                "enum" => wanted.as_array().unwrap().contains(value),
                "const" => value == wanted,
                "minimum" => value.as_i64() >= wanted.as_i64(),
                "minItems" => value.as_array().map(Vec::len) >= length(wanted),
                "maxItems" => value.as_array().map(Vec::len) <= length(wanted),
                "required" => {
                    let names = wanted.as_array().unwrap();
                    names.iter().all(|name| value.get(name.as_str().unwrap()).is_some())
                }
                "$ref" => {
                    let name = wanted.as_str().unwrap().trim_start_matches("#/$defs/");
                    self.value(value, &self.root["$defs"][name], path);
                    true
                }
                "if" => {
                    let mut against = Vec::new();
                    CertificateWalk { root: self.root, found: &mut against }
                        .value(value, wanted, path);
                    if against.is_empty() {
                        self.value(value, &schema["then"], path);
                    }
                    true
                }
                "properties" | "additionalProperties" | "propertyNames" => {
                    self.members(value, schema, keyword, path);
                    true
                }
                "items" | "prefixItems" => {
                    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                        let schema = if keyword == "items" { wanted } else { &wanted[at] };
                        self.value(item, schema, &format!("{path}/{at}"));
                    }
                    true
                }
                other => panic!("the schema uses `{other}`, which this test does not know"),
            };
            if !fits {
                self.found.push(format!("{path}: {keyword} {wanted}, found {value}"));
            }
        }
    }

    fn members(&mut self, value: &Value, schema: &Value, keyword: &str, path: &str) {
        for (name, member) in value.as_object().into_iter().flatten() {
            let listed = &schema["properties"][name];
            let place = format!("{path}/{name}");
            match keyword {
                "properties" if !listed.is_null() => self.value(member, listed, &place),
                "additionalProperties" if listed.is_null() && schema[keyword].is_object() => {
                    self.value(member, &schema[keyword], &place);
                }
                "propertyNames" => self.value(&json!(name), &schema[keyword], &place),
                _ => {}
            }
        }
    }
}

fn length(wanted: &Value) -> Option<usize> {
    wanted.as_u64().and_then(|length| usize::try_from(length).ok())
}

fn is(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("no type `{other}`"),
    }
}

#[test]
fn certificates_are_valid_by_their_schema() {
    let certificate = |scenarios: &[(&str, &str)]| {
        let text = run(scenarios, "h");
        let finished = FinishedRun::read(text.as_bytes()).unwrap();
        serde_json::to_value(HostCertificate::of(&finished)).unwrap()
    };
    for scenarios in [&[("pass", "x")][..], &[("pass", "x"), ("fail", "y")], &[("untested", "z")]] {
        assert_eq!(mistakes(&certificate(scenarios)), Vec::<String>::new());
    }
    let reports = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../reports/hosts");
    let mut read = 0;
    for entry in std::fs::read_dir(reports).unwrap() {
        let path = entry.unwrap().path().join("certificate.json");
        if path.exists() {
            let published = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            assert_eq!(mistakes(&published), Vec::<String>::new(), "{}", path.display());
            read += 1;
        }
    }
    assert!(read > 1, "{read} certificates are published");
    let mut vacuous = certificate(&[("pass", "x")]);
    let passed = vacuous["requirements"].as_array_mut().unwrap();
    let passed = passed.iter_mut().find(|row| row["outcome"] == "pass").unwrap();
    passed["observations"] = json!(0);
    assert_eq!(mistakes(&vacuous).len(), 1);
    assert!(!mistakes(&json!({"format": 2})).is_empty());
}

/// Checks that the schema must describe every member that is written.
#[test]
fn the_schema_names_every_member() {
    fn unnamed(value: &Value, schema: &Value, root: &Value, path: &str, found: &mut Vec<String>) {
        let schema = match schema["$ref"].as_str() {
            Some(name) => &root["$defs"][name.trim_start_matches("#/$defs/")],
            None => schema,
        };
        match value {
            Value::Object(members) if schema["properties"].is_object() => {
                for (name, value) in members {
                    let known = &schema["properties"][name];
                    if known.is_null() {
                        found.push(format!("{path}.{name}"));
                    }
                    unnamed(value, known, root, &format!("{path}.{name}"), found);
                }
            }
            Value::Array(items) => {
                items.iter().for_each(|item| unnamed(item, &schema["items"], root, path, found));
            }
            _ => {}
        }
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("certificate.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let text = run(&[("pass", "x"), ("fail", "y")], "h");
    let finished = FinishedRun::read(text.as_bytes()).unwrap();
    let certificate = serde_json::to_value(HostCertificate::of(&finished)).unwrap();
    let mut found = Vec::new();
    unnamed(&certificate, &schema, &schema, "", &mut found);
    assert_eq!(found, Vec::<String>::new());
}

/// Makes a run in which all but one of the MUST and essential requirements of annotations held. The scenarios of the
/// remaining requirement were skipped for these causes.
fn all_but_one(causes: &[&str]) -> (HostCertificate, String) {
    let nothing = HostCertificate::of(&FinishedRun::read(run(&[], "h").as_bytes()).unwrap());
    let heavy = nothing
        .requirements
        .iter()
        .filter(|row| row.profile == "annotations" && row.weight >= Weight::Essential);
    let ids: Vec<&str> = heavy.map(|row| row.id.as_str()).collect();
    let (last, others) = ids.split_last().unwrap();
    assert!(!others.is_empty());
    let result = |case: usize, ids: &[&str], status: &str, cause: &str, claims: Value| {
        json!({
            "run": "result", "case": case, "scenario": format!("annotations/{case}"), "title": "t",
            "file": "s.yaml", "profile": "annotations", "proves": ids, "status": status,
            "reason": format!("why {cause}"), "skip": cause, "weight": "must",
            "observations": 1, "took_ms": 1, "failure": null, "claims": claims, "notes": [],
            "checks": [],
        })
    };
    let held = json!([{"rules": others, "file": "s.yaml", "line": 2, "status": "pass",
        "observations": 1, "failure": null}]);
    let mut results = vec![result(0, others, "pass", "not-applicable", held)];
    for (case, cause) in (1..).zip(causes) {
        results.push(result(case, &[last], "skip", cause, json!([])));
    }
    let footer =
        json!({"run": "footer", "took_ms": 1, "exit": 0, "interrupted": false, "checks": {}});
    let mut text = run(&[], "h");
    for line in results.iter().chain([&footer]) {
        text.push_str(&format!("{line}\n"));
    }
    let run = FinishedRun::read(text.as_bytes()).unwrap();
    (HostCertificate::of(&run), (*last).to_owned())
}

/// Checks that the certificate of a run with several agents and many scenarios contains every result.
#[test]
fn every_result_of_a_host_with_several_agents_counts() {
    const CASES: usize = 1_600;
    let text = run(&[], "h");
    let header = text.lines().next().unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    header["agents"] = json!([{"provider": "one"}, {"provider": "two"}]);
    let checks: Vec<Value> = checks(ProtocolStandard::Ahp)
        .iter()
        .map(|check| json!({"check": check.id, "observations": 1, "findings": [], "left_out": 0}))
        .collect();
    let mut text = format!("{header}\n");
    for case in 0..CASES {
        let rule = if case + 1 == CASES { "ping.response" } else { "session.create.duplicate" };
        let claim = json!({"rules": [rule], "file": "s.yaml", "line": 2, "status": "pass",
            "observations": 1, "failure": null});
        let result = json!({
            "run": "result", "case": case, "scenario": format!("area/{case}"), "title": "t",
            "provider": if case % 2 == 0 { "one" } else { "two" }, "file": "s.yaml",
            "profile": "core", "proves": [rule], "status": "pass", "reason": "", "weight": "must",
            "observations": 1, "took_ms": 1, "failure": null, "claims": vec![claim; 6], "notes": [],
            "checks": checks,
        });
        text.push_str(&format!("{result}\n"));
    }
    let run = FinishedRun::read(text.as_bytes()).unwrap();
    assert_eq!((run.left_out, run.cases.len()), (0, CASES));
    let certificate = HostCertificate::of(&run);
    let row = certificate.requirements.iter().find(|row| row.id == "ping.response").unwrap();
    assert_eq!(row.outcome, RequirementOutcome::Pass);
    for agent in &certificate.agents {
        assert_eq!(agent.scenarios.get(&Status::Pass), Some(&(CASES as u64 / 2)));
    }
    let grows = certificate.checks.iter().find(|check| check.id == "sequence.grows").unwrap();
    assert_eq!(grows.observations, CASES as u64);
}

#[test]
fn a_profile_with_a_must_out_of_reach_is_incomplete() {
    let profile = |certificate: &HostCertificate| {
        let found = certificate.profiles.iter().find(|profile| profile.name == "annotations");
        found.unwrap().clone()
    };
    let (certificate, id) = all_but_one(&["not-applicable", "out-of-reach", "other-version"]);
    let found = profile(&certificate);
    assert_eq!(found.verdict, ProfileVerdict::Incomplete, "{}", found.reason);
    assert!(found.reason.contains("1 more were out of reach"), "{}", found.reason);
    let [reason] = &certificate.out_of_reach[..] else { panic!("{:?}", certificate.out_of_reach) };
    assert_eq!(reason.reason, "why out-of-reach");
    assert_eq!([&reason.must[..], &reason.essential[..]].concat(), [id]);
    assert!(brief::markdown(&certificate).contains("Out of reach of this run"));

    // In this version the harness can play no scenario of the requirement.
    let (certificate, _) = all_but_one(&["other-version"]);
    assert_eq!(profile(&certificate).verdict, ProfileVerdict::Incomplete);

    // A requirement that does not apply to the host does not count as untested, even if one of its scenarios is for
    // another version.
    for causes in [&["not-applicable"][..], &["not-applicable", "other-version"]] {
        let (certificate, _) = all_but_one(causes);
        let found = profile(&certificate);
        assert_eq!(found.verdict, ProfileVerdict::Conformant, "{}", found.reason);
        assert!(certificate.out_of_reach.is_empty());
        assert!(!brief::markdown(&certificate).contains("Out of reach"));
    }
}
