//! A gallery of hostile hosts: for each host, the harness does not panic, ends within its time limit, stays
//! within its memory limit, and writes reports that strict parsers accept.
//!
//! The quick rows always run; `cargo test --test gallery -- --include-ignored` runs all rows.
#![cfg(all(feature = "cli", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]
#![expect(clippy::print_stdout, reason = "says what each row cost")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ahp_harness::wire::foreign_text::is_hidden;
use quick_xml::events::Event;

#[path = "gallery/host.rs"]
mod host;
#[path = "gallery/rows.rs"]
mod rows;

use rows::GalleryRow;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");
/// The maximum peak memory per target, in KiB.
const CEILING_KIB: u64 = 256 << 10;
/// The time that a command may take beyond its budget, for closing connections on a busy machine.
const BEYOND: Duration = Duration::from_secs(16);
/// The number of rows that the test plays in parallel.
const AT_ONCE: usize = 12;

/// A command that is run against a target.
struct GalleryCommand {
    arguments: &'static [&'static str],
    budget: &'static str,
    /// The permitted exit codes.
    codes: &'static [i32],
}

const RUN: GalleryCommand = GalleryCommand {
    arguments: &[
        "run",
        "--id",
        "tools/confirmed-once",
        "--profile",
        "all",
        "--timeout",
        "300ms",
        "--budget",
    ],
    budget: "10s",
    codes: &[0, 1, 3],
};
const CERTIFY: GalleryCommand = GalleryCommand {
    arguments: &["certify", "--timeout", "200ms", "--budget"],
    budget: "8s",
    codes: &[0, 1, 3],
};
const FUZZ: GalleryCommand = GalleryCommand {
    arguments: &["fuzz", "--timeout", "200ms", "--time"],
    budget: "6s",
    codes: &[0, 1, 3],
};

/// The result of a process.
struct GalleryPlay {
    code: Option<i32>,
    out: String,
    peak_kib: u64,
    took: Duration,
}

fn play(command: &GalleryCommand, row: &GalleryRow, folder: &Path) -> GalleryPlay {
    let url = host::host(row.behaviour.clone());
    let mut line = Command::new(PROGRAM);
    line.args(command.arguments).arg(command.budget).args(["--url", &url]);
    match command.arguments.first() {
        Some(&"run") => {
            line.arg("--report").arg(format!("junit={}", folder.join("junit.xml").display()));
            line.arg("--report").arg(format!("jsonl={}", folder.join("run.jsonl").display()));
            line.arg("--report").arg(format!("sarif={}", folder.join("run.sarif").display()));
        }
        _ => drop(line.arg("--out").arg(folder)),
    }
    let (out, err) = (folder.join("out"), folder.join("err"));
    line.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
    line.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", folder.join("step.md"));
    let began = Instant::now();
    let mut child = line.stdin(Stdio::null()).current_dir(folder).spawn().unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let limit = Duration::from_secs(command.budget.trim_end_matches('s').parse().unwrap()) + BEYOND;
    let mut peak_kib = 0;
    let code = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak_kib = peak_kib.max(now.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if began.elapsed() > limit {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let said =
        [out, err].map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
    GalleryPlay { code, out: said.concat(), peak_kib, took: began.elapsed() }
}

/// Returns all mistakes in the result of a row.
fn mistakes(command: &GalleryCommand, played: &GalleryPlay, folder: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    match played.code {
        None => wrong.push(format!("it did not end within {:?}", played.took)),
        Some(code) if !command.codes.contains(&code) => {
            wrong.push(format!("exit code {code}: {}", played.out));
        }
        Some(_) => {}
    }
    if played.out.contains("panicked") {
        wrong.push(format!("a panic: {}", played.out));
    }
    if played.peak_kib > CEILING_KIB {
        wrong.push(format!("{} MiB of memory", played.peak_kib >> 10));
    }
    let step = fs::read_to_string(folder.join("step.md")).unwrap_or_default();
    let summary = fs::read_to_string(folder.join("summary.md")).unwrap_or_default();
    let page = fs::read_to_string(folder.join("report.html")).unwrap_or_default();
    for (name, text) in
        [("terminal", &played.out), ("step", &step), ("summary", &summary), ("page", &page)]
    {
        let hidden = |letter: &char| is_hidden(*letter) && !matches!(letter, '\n' | '\t');
        if let Some(letter) = text.chars().find(hidden) {
            wrong.push(format!("{name}: {letter:?} as it is"));
        }
    }
    let ours = ["::error file=", "::warning file=", "::error title=", "::warning title="];
    for line in played.out.lines().filter(|line| line.trim_start().starts_with("::")) {
        if !ours.iter().any(|known| line.starts_with(known))
            || line.starts_with("::error file=forged")
        {
            wrong.push(format!("a command of its own: {line}"));
        }
    }
    if ["##[", "##vso["].iter().any(|command| played.out.contains(command)) {
        wrong.push("a command of its own".to_owned());
    }
    if let Ok(text) = fs::read_to_string(folder.join("junit.xml")) {
        wrong.extend(xml_mistake(&text).map(|mistake| format!("JUnit: {mistake}")));
    }
    if let Ok(text) = fs::read_to_string(folder.join("run.jsonl")) {
        let bad =
            text.lines().find(|line| serde_json::from_str::<serde_json::Value>(line).is_err());
        wrong.extend(bad.map(|_| "run.jsonl: a line that is not JSON".to_owned()));
    }
    if let Ok(text) = fs::read_to_string(folder.join("run.sarif")) {
        wrong.extend(sarif_mistake(&text).map(|mistake| format!("SARIF: {mistake}")));
    }
    let active = ["<script>alert", "<img", "onerror=alert(1)>"];
    wrong.extend(active.iter().filter(|it| page.contains(**it)).map(|it| format!("page: `{it}`")));
    wrong
}

/// Returns the first text of a SARIF file that could affect the surrounding output: a control character, or a
/// link.
fn sarif_mistake(text: &str) -> Option<String> {
    let report: serde_json::Value = match serde_json::from_str(text) {
        Ok(report) => report,
        Err(error) => return Some(error.to_string()),
    };
    let Some(results) = report["runs"][0]["results"].as_array() else {
        return Some("no results".to_owned());
    };
    let messages = results.iter().filter_map(|result| result["message"]["text"].as_str());
    let controls = |text: &&str| {
        text.chars().any(|letter| letter.is_control() && letter != '\n' && letter != '\t')
    };
    let links = |text: &&str| text.replace("\\](", "").contains("](");
    messages.clone().find(controls).or_else(|| messages.clone().find(links)).map(str::to_owned)
}

/// Returns the first violation of strict XML.
fn xml_mistake(text: &str) -> Option<String> {
    let allowed = |letter: char| matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    if let Some(letter) = text.chars().find(|letter| !allowed(*letter)) {
        return Some(format!("{letter:?} is no character of XML"));
    }
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().enable_all_checks(true);
    let mut open = 0_i32;
    loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return Some(error.to_string()),
        };
        match event {
            Event::Start(tag) | Event::Empty(tag) if tag.name().as_ref() == b"testcase" => {
                for attribute in tag.attributes() {
                    let Ok(attribute) = attribute else { return Some("an attribute".to_owned()) };
                    let value = String::from_utf8_lossy(&attribute.value).into_owned();
                    if let Err(error) = quick_xml::escape::unescape(&value) {
                        return Some(error.to_string());
                    }
                    if value.contains("forged\"") || value == "forged" {
                        return Some("a forged test case".to_owned());
                    }
                }
                open += 1;
            }
            Event::Eof => return (open == 0).then(|| "no test case".to_owned()),
            _ => {}
        }
    }
}

/// Plays rows with a command, several in parallel.
fn check(name: &str, command: &GalleryCommand, rows: &[GalleryRow]) {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gallery-{name}"));
    let _ = fs::remove_dir_all(&base);
    let next = AtomicUsize::new(0);
    let all: Vec<String> = std::thread::scope(|scope| {
        let worker = || {
            let mut wrong = Vec::new();
            while let Some((number, row)) = {
                let number = next.fetch_add(1, Ordering::Relaxed);
                rows.get(number).map(|row| (number, row))
            } {
                let folder = base.join(number.to_string());
                fs::create_dir_all(&folder).unwrap();
                let mut played = play(command, row, &folder);
                let mut found = mistakes(command, &played, &folder);
                if !found.is_empty() {
                    // On a busy machine, other processes affect time and memory, so a mistake must occur twice.
                    let folder = base.join(format!("{number}-again"));
                    fs::create_dir_all(&folder).unwrap();
                    played = play(command, row, &folder);
                    found = mistakes(command, &played, &folder);
                }
                println!(
                    "{:>8.1?} {:>4} MiB {:?} {}",
                    played.took,
                    played.peak_kib >> 10,
                    played.code,
                    row.name
                );
                wrong.extend(found.into_iter().map(|it| format!("{}: {it}", row.name)));
            }
            wrong
        };
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(all.is_empty(), "{}", all.join("\n"));
}

fn quick() -> Vec<GalleryRow> {
    rows::rows().into_iter().filter(|row| row.quick).collect()
}

#[test]
fn the_gallery_has_enough_rows_with_unique_names() {
    let rows = rows::rows();
    assert!(rows.len() >= 150, "{} rows", rows.len());
    let mut names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rows.len(), "a name twice");
}

#[test]
fn runs_survive_the_quick_rows() {
    check("quick", &RUN, &quick());
}

#[test]
#[ignore = "takes minutes; CI plays the quick rows"]
fn runs_survive_every_row() {
    check("run", &RUN, &rows::rows());
}

#[test]
#[ignore = "takes minutes; CI plays the quick rows"]
fn certificates_survive_every_row() {
    check("certify", &CERTIFY, &rows::rows());
}

#[test]
#[ignore = "takes minutes; CI plays the quick rows"]
fn campaigns_survive_every_row() {
    check("fuzz", &FUZZ, &rows::rows());
}
