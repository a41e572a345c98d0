//! A gallery of hostile hosts: for each host, the harness does not panic, exits within its time limit, stays within its
//! memory limit, and writes reports that strict parsers accept.
//!
//! The quick rows always run; `cargo test --test all gallery:: -- --include-ignored` runs all rows. With
//! `AHP_HARNESS_ROW=TEXT` only the rows with this text in their names are played.
#![cfg(all(feature = "cli", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot start the program has failed")]
#![expect(clippy::print_stdout, reason = "says what each row cost")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ahp_harness::wire::foreign_text::is_hidden;
use quick_xml::events::Event;
use serde_json::json;

mod between;
mod browser;
mod host;
mod processes;
mod rows;

use rows::GalleryRow;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahp-harness");
/// The maximum peak memory per target, in KiB.
const CEILING_KIB: u64 = 256 << 10;
/// The time that a command may take in addition to its time limit, because it starts slowly on a busy machine.
const BEYOND: Duration = Duration::from_secs(8);
/// The maximum peak memory of a command that reads a file of any size, in KiB.
const STREAM_KIB: u64 = 64 << 10;
/// The maximum time of a command after SIGINT.
const LEAVING: Duration = Duration::from_secs(4);
/// The number of rows per core that a test plays in parallel, if its command mostly waits.
const WAITING: usize = 6;
/// The number of rows per core that a test plays in parallel, if its command writes a report about every scenario or
/// plays many conversations.
const WORKING: usize = 3;
/// The environment variable with a part of the names of the rows to play.
const ROW_VARIABLE: &str = "AHP_HARNESS_ROW";

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
/// A fuzz campaign of 6 s. According to its output, it ends after 21 s at the latest.
const FUZZ: GalleryCommand = GalleryCommand {
    arguments: &["fuzz", "--timeout", "200ms", "--time"],
    budget: "6s",
    codes: &[0, 1, 3],
};
/// A load of 2 s. The time limit that the command prints is 17.4 s.
const STRESS: GalleryCommand = GalleryCommand {
    arguments: &[
        "stress",
        "--clients",
        "6",
        "--sessions",
        "2",
        "--rate",
        "200",
        "--timeout",
        "200ms",
        "--time",
    ],
    budget: "2s",
    codes: &[0, 1, 3],
};
const AGENT_CHECK: GalleryCommand = GalleryCommand {
    arguments: &["agent", "check", "--timeout", "200ms", "--budget"],
    budget: "8s",
    codes: &[0, 1, 3],
};

/// The result of a process.
struct GalleryPlay {
    code: Option<i32>,
    out: String,
    peak_kib: u64,
    took: Duration,
}

impl GalleryCommand {
    /// Returns the time after which the command must have exited.
    fn limit(&self) -> Duration {
        let seconds: u64 = self.budget.trim_end_matches('s').parse().unwrap();
        let rest = match self.arguments.first() {
            Some(&"fuzz") => 15,
            Some(&"stress") => 16,
            _ => 0,
        };
        Duration::from_secs(seconds + rest) + BEYOND
    }
}

fn play(command: &GalleryCommand, row: &GalleryRow, folder: &Path) -> GalleryPlay {
    let host = host::host(row.behaviour.clone(), PROGRAM);
    let mut line = Command::new(PROGRAM);
    line.args(command.arguments).arg(command.budget).args(["--url", &host.url]);
    match command.arguments.first() {
        Some(&"run") => {
            line.arg("--report").arg(format!("junit={}", folder.join("junit.xml").display()));
            line.arg("--report").arg(format!("jsonl={}", folder.join("run.jsonl").display()));
            line.arg("--report").arg(format!("sarif={}", folder.join("run.sarif").display()));
        }
        Some(&"agent") => {}
        Some(&"stress") => {
            line.arg("--out").arg(folder).arg("--junit").arg(folder.join("junit.xml"));
        }
        _ => drop(line.arg("--out").arg(folder)),
    }
    watched(line, folder, command.limit())
}

/// Starts a command in a folder, with its output in files.
fn started(line: &mut Command, folder: &Path) -> Child {
    let (out, err) = (folder.join("out"), folder.join("err"));
    line.stdout(fs::File::create(out).unwrap()).stderr(fs::File::create(err).unwrap());
    line.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", folder.join("step.md"));
    line.stdin(Stdio::null()).current_dir(folder).spawn().unwrap()
}

/// Runs a command to its end, but not longer than `limit`.
fn watched(mut line: Command, folder: &Path, limit: Duration) -> GalleryPlay {
    let child = started(&mut line, folder);
    ended(child, folder, limit)
}

/// Returns the children of a process that run the harness.
fn below(id: &str) -> Vec<String> {
    let ids = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let same = |id: &&str| {
        fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|path| path == Path::new(PROGRAM))
    };
    ids.split_whitespace().filter(same).map(str::to_owned).collect()
}

/// Waits for the end of a process, but not longer than `limit`. The peak memory includes the children and
/// grandchildren of the process that run the same program.
fn ended(mut child: Child, folder: &Path, limit: Duration) -> GalleryPlay {
    let began = Instant::now();
    let mut peak_kib = 0;
    let code = loop {
        let workers = below(&child.id().to_string());
        let workers: Vec<_> = workers.iter().flat_map(|id| [vec![id.clone()], below(id)]).collect();
        let own = child.id().to_string();
        for id in workers.iter().flatten().chain([&own]) {
            let text = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let now = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
            peak_kib = peak_kib.max(now.unwrap_or(0));
        }
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
    let said = [folder.join("out"), folder.join("err")]
        .map(|path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned());
    GalleryPlay { code, out: said.concat(), peak_kib, took: began.elapsed() }
}

/// Runs the recorder between a short run and a hostile host, interrupts the recorder, and judges the capture. Returns
/// everything that the harness did wrong.
fn recorded(row: &GalleryRow, folder: &Path) -> Vec<String> {
    let host = host::host(row.behaviour.clone(), PROGRAM);
    let capture = folder.join("capture.jsonl");
    let mut recorder = Command::new(PROGRAM)
        .args(["record", "--url", &host.url, "--out"])
        .arg(&capture)
        .stdout(Stdio::piped())
        .stderr(fs::File::create(folder.join("err")).unwrap())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(recorder.stdout.take().unwrap());
    let mut url = String::new();
    out.read_line(&mut url).unwrap();
    let printed = fs::File::create(folder.join("out")).unwrap();
    let copying = std::thread::spawn(move || std::io::copy(&mut out, &mut { printed }));
    let inside = folder.join("client");
    fs::create_dir_all(&inside).unwrap();
    let mut client = Command::new(PROGRAM);
    client.args(["run", "--profile", "all", "--timeout", "200ms", "--budget", "5s"]);
    client.args(["--url", url.trim()]);
    drop(watched(client, &inside, Duration::from_secs(5) + BEYOND));
    let interrupted = Command::new("kill").args(["-INT", &recorder.id().to_string()]).status();
    assert!(interrupted.unwrap().success());
    let played = ended(recorder, folder, LEAVING);
    copying.join().unwrap().unwrap();
    let codes = GalleryCommand { arguments: &[], budget: "", codes: &[0, 1, 130] };
    let mut wrong = mistakes(&codes, &played, folder);
    let inside = folder.join("judge");
    fs::create_dir_all(&inside).unwrap();
    let mut judge = Command::new(PROGRAM);
    judge.arg("judge").arg(&capture);
    let judged = watched(judge, &inside, Duration::from_secs(60));
    let codes = GalleryCommand { codes: &[0, 1, 2], ..codes };
    let found = mistakes(&codes, &judged, &inside);
    wrong.extend(found.into_iter().map(|mistake| format!("judge: {mistake}")));
    if judged.peak_kib > STREAM_KIB {
        wrong.push(format!("judge: {} MiB of memory", judged.peak_kib >> 10));
    }
    println!("record {:?}, judge {} MiB {}", played.code, judged.peak_kib >> 10, row.name);
    wrong
}

/// Returns the ids of the processes that a hostile process with this mark left. If the main thread of a process has
/// ended, only the other threads have a command line.
fn left_processes(mark: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let marked = |path: &PathBuf| {
        let threads = fs::read_dir(path.join("task")).into_iter().flatten().flatten();
        let mut lines = threads.map(|it| fs::read(it.path().join("cmdline")).unwrap_or_default());
        lines.any(|line| String::from_utf8_lossy(&line).contains(mark))
    };
    let left = all.filter(marked).filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
    left.filter(|name| name.parse::<u32>().is_ok()).collect()
}

/// Returns everything that the harness did wrong when it played a row.
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
    let page = ["report.html", "index.html"].map(|name| fs::read_to_string(folder.join(name)));
    let page = page.into_iter().flatten().next().unwrap_or_default();
    for (name, text) in
        [("terminal", &played.out), ("step", &step), ("summary", &summary), ("page", &page)]
    {
        let hidden = |letter: &char| is_hidden(*letter) && !matches!(letter, '\n' | '\t');
        if let Some(letter) = text.chars().find(hidden) {
            wrong.push(format!("{name}: {letter:?} is not escaped"));
        }
    }
    let ours = ["::error file=", "::warning file=", "::error title=", "::warning title="];
    for line in played.out.lines().filter(|line| line.trim_start().starts_with("::")) {
        if !ours.iter().any(|known| line.starts_with(known))
            || line.starts_with("::error file=forged")
        {
            wrong.push(format!("the host's text became a workflow command: {line}"));
        }
    }
    if ["##[", "##vso["].iter().any(|command| played.out.contains(command)) {
        wrong.push("the host's text became a workflow command".to_owned());
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

/// Returns the first part of a SARIF file that could affect the program that shows it: a control character or a link.
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

/// Returns whether the environment selects a row. Without the variable, every row is selected.
fn is_selected(row: &GalleryRow) -> bool {
    std::env::var(ROW_VARIABLE).map_or(true, |part| row.name.contains(&part))
}

/// The turn of the test that plays rows. The rows have time limits, and one test already uses all cores.
static TURN: Mutex<()> = Mutex::new(());

/// Plays rows with a command, `per_core` in parallel on each core.
fn check(name: &str, command: &GalleryCommand, per_core: usize, rows: &[GalleryRow]) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gallery-{name}"));
    let _ = fs::remove_dir_all(&base);
    let rows: Vec<&GalleryRow> = rows.iter().filter(|row| is_selected(row)).collect();
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
        let at_once = per_core * std::thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The number of marks so far. Each test puts its own mark into the arguments of its processes, so that it finds them.
static MARKS: AtomicUsize = AtomicUsize::new(0);

/// Runs a command with each hostile process. `{process}` in the arguments is replaced by the line of the process.
fn check_processes(name: &str, command: &GalleryCommand) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gallery-{name}"));
    let _ = fs::remove_dir_all(&base);
    // Tests that run at the same time look only for their own processes.
    let number = MARKS.fetch_add(1, Ordering::Relaxed);
    let mark = format!("31337.{}{number}", std::process::id());
    let mut all = Vec::new();
    let asked = std::env::var(ROW_VARIABLE).unwrap_or_default();
    let rows = processes::PROCESSES.iter().filter(|(row, _)| row.contains(&asked));
    for (number, (row, line)) in rows.enumerate() {
        let folder = base.join(number.to_string());
        fs::create_dir_all(&folder).unwrap();
        let script = line.replace("MARK", &mark);
        let profile = json!({"agent": "hostile", "command": ["sh", "-c", script]});
        fs::write(folder.join("agent.yaml"), profile.to_string()).unwrap();
        let mut harness = Command::new(PROGRAM);
        harness.args(command.arguments.iter().map(|it| it.replace("{process}", &script)));
        let played = watched(harness, &folder, command.limit());
        let mut found = mistakes(command, &played, &folder);
        let left = left_processes(&mark);
        found.extend(left.iter().map(|id| format!("process {id} is left")));
        println!("{:>8.1?} {:>4} MiB {:?} {row}", played.took, played.peak_kib >> 10, played.code);
        all.extend(found.into_iter().map(|it| format!("{row}: {it}")));
        for id in left {
            let _ = Command::new("kill").args(["-KILL", &id]).status();
        }
    }
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
    check("quick", &RUN, WAITING, &quick());
}

#[test]
#[ignore = "takes minutes; CI plays the quick rows"]
fn runs_survive_every_row() {
    check("run", &RUN, WAITING, &rows::rows());
}

#[test]
#[ignore = "takes minutes; CI plays the quick rows"]
fn certificates_survive_every_row() {
    check("certify", &CERTIFY, WORKING, &rows::rows());
}

#[test]
#[ignore = "takes minutes; CI plays the quick rows"]
fn campaigns_survive_every_row() {
    check("fuzz", &FUZZ, WORKING, &rows::rows());
}

#[test]
#[ignore = "takes minutes; CI plays the quick rows"]
fn loads_survive_every_row() {
    check("stress", &STRESS, WAITING, &rows::rows());
}

#[test]
#[ignore = "takes minutes; CI plays the quick rows"]
fn agent_checks_survive_every_row() {
    check("agent-check", &AGENT_CHECK, WAITING, &rows::rows());
}

#[test]
#[ignore = "takes minutes; CI plays the quick rows"]
fn recordings_survive_every_row() {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gallery-record");
    let _ = fs::remove_dir_all(&base);
    let mut all = Vec::new();
    for (number, row) in rows::rows().iter().filter(|row| is_selected(row)).enumerate() {
        let folder = base.join(number.to_string());
        fs::create_dir_all(&folder).unwrap();
        all.extend(recorded(row, &folder).into_iter().map(|it| format!("{}: {it}", row.name)));
        let _ = fs::remove_dir_all(&folder);
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The exit codes that are allowed. 137 means that the worker process was killed with SIGKILL.
const ENDED: &[i32] = &[0, 1, 2, 3, 130, 137];

#[test]
#[ignore = "takes minutes"]
fn hosts_that_are_started_end_with_their_run() {
    let arguments = &["run", "--command", "{process}", "--timeout", "300ms", "--budget", "12s"];
    check_processes("command", &GalleryCommand { arguments, budget: "12s", codes: ENDED });
}

#[test]
#[ignore = "takes minutes"]
fn agents_that_are_started_end_with_their_run() {
    let arguments =
        &["run", "--acp", "agent.yaml", "--timeout", "300ms", "--budget", "12s", "--quiet"];
    check_processes("acp", &GalleryCommand { arguments, budget: "12s", codes: ENDED });
}

#[test]
#[ignore = "takes minutes"]
fn agents_that_are_inspected_end_with_the_command() {
    let arguments =
        &["agent", "profile", "--command", "{process}", "--timeout", "1s", "--budget", "12s"];
    check_processes("profile", &GalleryCommand { arguments, budget: "12s", codes: ENDED });
}

#[test]
#[ignore = "takes minutes"]
fn subjects_end_with_their_comparison() {
    let arguments = &[
        "reducers",
        "--subject",
        "{process}",
        "--spec",
        "1.0.0",
        "--timeout",
        "500ms",
        "--budget",
        "12s",
    ];
    check_processes("reducers", &GalleryCommand { arguments, budget: "12s", codes: ENDED });
}

#[test]
fn pages_run_no_script_of_a_host_and_load_nothing() {
    let Some(program) = browser::browser() else {
        println!(
            "SKIPPED: no browser on the path (hint: install chromium, or set AHP_HARNESS_BROWSER)"
        );
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gallery-browser");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let counter = browser::RequestCounter::start();
    let bait = counter.bait();
    // As a control, the markup of the host must have an effect on a page that does not escape it. This shows that the
    // browser and the counter work.
    let control = folder.join("control.html");
    let stays = counter.bait_that_stays();
    fs::write(&control, format!("<!doctype html><html><title>x</title>{stays}</html>")).unwrap();
    let document = browser::loaded(&program, &control, &folder);
    assert!(document.contains(&format!("<title>{}</title>", browser::TAKEN)), "{document}");
    assert!(counter.count() > 0);

    let row = GalleryRow {
        name: "bait".to_owned(),
        behaviour: host::GalleryBehaviour::Words(bait),
        quick: true,
    };
    let played = play(&CERTIFY, &row, &folder);
    assert!(played.code.is_some(), "{}", played.out);
    let view = Command::new(PROGRAM)
        .args(["view", "run.jsonl", "--out", "view.html"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(view.status.success(), "{}", String::from_utf8_lossy(&view.stderr));
    let before = counter.count();
    for page in ["report.html", "view.html"] {
        let document = browser::loaded(&program, &folder.join(page), &folder);
        assert!(document.contains("fetched"), "{page} does not show the text of the host");
        assert!(!document.contains(&format!("<title>{}", browser::TAKEN)), "{page} was taken over");
        assert_eq!(counter.count(), before, "{page} loaded something");
    }
}
