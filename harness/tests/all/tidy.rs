//! Project rules that the compiler does not check.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules in reading order: each module uses only earlier modules.
const LAYERS: [&str; 23] = [
    "dice",
    "wire",
    "transcript",
    "model",
    "verdict",
    "fault",
    "ledger",
    "oracle",
    "files",
    "peer",
    "agent",
    "host",
    "scenario",
    "reducers",
    "system",
    "transport",
    "run",
    "report",
    "record",
    "arb",
    "load",
    "mutation",
    "cli",
];

/// Names that pure modules must not use: clocks, sockets, processes, the environment, the terminal.
const IMPURE: [&str; 10] = [
    "tokio",
    "Instant::now",
    "SystemTime",
    "std::net",
    "std::process",
    "std::env",
    "std::thread",
    "std::fs",
    "println!",
    "getrandom",
];

/// The files that perform input and output in modules whose other files are pure.
const SHELL: [&str; 8] = [
    "load/driver.rs",
    "record/proxy.rs",
    "run/driver.rs",
    "run/agent_link.rs",
    "run/probe.rs",
    "run/sentinel.rs",
    "system/",
    "transport/",
];

/// The maximum number of lines of a file.
const MAX_LINES: usize = 700;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Adds every file below a folder to `files`, except Cargo's output.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.ends_with("target") {
            continue;
        }
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Returns whether two lines name the same package. Several versions of a package on consecutive lines have one common
/// reason.
fn same_package(line: &str, other: &str) -> bool {
    let package = |line: &str| {
        let (_, rest) = line.split_once("package = \"")?;
        rest.split_once('"').map(|(name, _)| name.to_owned())
    };
    package(line).is_some() && package(line) == package(other)
}

/// Returns the Rust sources below a folder of the harness, with their relative paths.
fn sources(folder: &str) -> Vec<(String, String)> {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    walk(&base, &mut files);
    files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .map(|path| {
            let name = path.strip_prefix(&base).unwrap().to_string_lossy().replace('\\', "/");
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// Returns the sources of both packages, which form one tree of modules.
pub(crate) fn modules() -> impl Iterator<Item = (String, String)> {
    sources("core/src").into_iter().chain(sources("src"))
}

fn report(mistakes: &[String]) {
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
}

fn layer(name: &str) -> Option<usize> {
    let module = name.split(['/', '.']).next()?;
    LAYERS.iter().position(|layer| *layer == module)
}

/// Returns the code of a file without its tests.
pub(crate) fn code(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

#[test]
fn every_file_has_a_header() {
    let all = modules().chain(sources("tests")).chain(sources("official"));
    let all = all.chain(sources("acp-types"));
    let mistakes: Vec<_> = all
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(name, _)| format!("{name}: expected a `//!` header on the first line"))
        .collect();
    report(&mistakes);
}

#[test]
fn every_layer_has_its_knowledge_in_the_header() {
    let mut mistakes = Vec::new();
    for (name, text) in modules() {
        let top = LAYERS.iter().any(|layer| name == format!("{layer}/mod.rs"));
        let header: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        if top && !(header.contains("Know") && header.contains("Never know")) {
            mistakes.push(format!("{name}: expected `Knows:` and `Never knows:` in the header"));
        }
    }
    report(&mistakes);
}

#[test]
fn modules_use_only_those_above_them() {
    let mut mistakes = Vec::new();
    for (name, text) in modules() {
        let Some(own) = layer(&name) else { continue };
        for (number, line) in code(&text).lines().enumerate() {
            let used = line.split("crate::").skip(1).filter_map(|rest| {
                let end =
                    rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                LAYERS.iter().position(|layer| *layer == &rest[..end])
            });
            for used in used.filter(|used| *used > own) {
                mistakes.push(format!(
                    "{name}:{}: `{}` is used, which comes after `{}` in LAYERS",
                    number + 1,
                    LAYERS[used],
                    LAYERS[own]
                ));
            }
        }
    }
    report(&mistakes);
}

#[test]
fn pure_modules_stay_pure() {
    let mut mistakes = Vec::new();
    for (name, text) in modules() {
        let shell = SHELL.iter().any(|shell| name.starts_with(shell)) || name.starts_with("cli/");
        if shell || name == "main.rs" {
            continue;
        }
        for (number, line) in code(&text).lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            for word in IMPURE.iter().filter(|word| !comment && line.contains(**word)) {
                mistakes.push(format!("{name}:{}: `{word}` in a pure module", number + 1));
            }
        }
    }
    report(&mistakes);
}

/// The files that format output for people.
const SHOWING: [&str; 11] = [
    "report/brief.rs",
    "report/console.rs",
    "report/draw.rs",
    "report/findings.rs",
    "report/drawing.rs",
    "report/first.rs",
    "report/github.rs",
    "report/html/",
    "report/junit.rs",
    "report/matrix.rs",
    "cli/",
];

/// The files that format output for people and that also pass strings to scenarios. Scenarios need these strings
/// unescaped.
const HANDING_ON: [&str; 3] = ["cli/case_place.rs", "cli/run.rs", "cli/stress.rs"];

#[test]
fn foreign_text_is_never_shown_raw() {
    let mut mistakes = Vec::new();
    for (name, text) in modules().filter(|(name, _)| !HANDING_ON.contains(&name.as_str())) {
        let shows = SHOWING.iter().any(|file| name.starts_with(file));
        for (number, line) in code(&text).lines().enumerate() {
            let raw = line.contains(".raw()") && !line.contains(".raw().contains(");
            if shows && raw {
                mistakes.push(format!(
                    "{name}:{}: expected the function of `ForeignText` for the place, found `.raw()`",
                    number + 1
                ));
            }
        }
        if name.ends_with("wire/foreign_text.rs") && text.contains("Display for ForeignText") {
            mistakes.push(format!("{name}: expected no `Display`"));
        }
    }
    report(&mistakes);
}

/// The only files that may write to the terminal: the file that escapes strings, and the files whose output is a
/// protocol.
const WRITING: [&str; 6] = [
    "cli/context.rs",
    "cli/agent.rs",
    "cli/official.rs",
    "cli/reduce.rs",
    "transport/acp.rs",
    "transport/reference_client.rs",
];

#[test]
fn the_terminal_is_written_in_one_place() {
    let mut mistakes = Vec::new();
    for (name, text) in modules().filter(|(name, _)| !WRITING.contains(&name.as_str())) {
        for (number, line) in code(&text).lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            let words = ["::stdout()", "::stderr()", ", stdout}", "println!", "print!"];
            let found = words.iter().find(|word| !comment && line.contains(**word));
            if let Some(word) = found {
                mistakes.push(format!(
                    "{name}:{}: expected `Context::say` or `Context::error`, found `{word}`",
                    number + 1
                ));
            }
        }
    }
    report(&mistakes);
}

/// The files of `cli` that may call the functions of `std::fs` directly. One of them opens the files that users name; the
/// others use only folders and pipes that the harness has made.
const FILING: [&str; 5] =
    ["cli/files.rs", "cli/folders.rs", "cli/oddities.rs", "cli/log_folder.rs", "cli/supervise.rs"];

#[test]
fn files_of_users_are_opened_in_one_place() {
    let mut mistakes = Vec::new();
    let shell = modules().filter(|(name, _)| name.starts_with("cli/"));
    for (name, text) in shell.filter(|(name, _)| !FILING.contains(&name.as_str())) {
        for (number, line) in code(&text).lines().enumerate() {
            let words = ["fs::read_to_string(", "fs::read(", "File::", "OpenOptions", "fs::write("];
            if let Some(word) = words.iter().find(|word| line.contains(**word)) {
                mistakes.push(format!(
                    "{name}:{}: expected a function of `cli/files.rs`, which limits sizes and waiting, found `{word}`",
                    number + 1
                ));
            }
        }
    }
    report(&mistakes);
}

#[test]
fn files_have_at_most_the_allowed_lines() {
    let mut mistakes = Vec::new();
    for (name, text) in modules() {
        let lines = code(&text).lines().count();
        if lines > MAX_LINES {
            mistakes.push(format!("{name}: {lines} lines without tests, more than {MAX_LINES}"));
        }
    }
    report(&mistakes);
}

/// Permitted type names of one word: terms of the specification, of JSON, or standard terms of the field.
const ONE_WORD_TYPES: [&str; 16] = [
    "Dice",
    "Fault",
    "Finding",
    "Frame",
    "Map",
    "Message",
    "Object",
    "Oracle",
    "Protocol",
    "Requirement",
    "Rule",
    "Status",
    "Text",
    "Value",
    "Version",
    "Weight",
];

/// Alternative files for different operating systems. Only one of them is compiled, and all of them define the same
/// types.
const ALTERNATIVES: [&str; 1] = ["system/other.rs"];

/// Returns the type that a line defines: the name after `struct`, `enum`, `trait`, `union`, or after an
/// unindented `type` (an indented `type` is an associated type).
fn defined_type(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    let public = trimmed.strip_prefix("pub").map_or(trimmed, |rest| {
        rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest)
    });
    let (keyword, rest) = public.trim_start().split_once(' ')?;
    let defines = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => trimmed.len() == line.len(),
        _ => false,
    };
    let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    let name = &rest[..end];
    (defines && name.starts_with(char::is_uppercase)).then_some(name)
}

#[test]
fn every_type_has_a_unique_name() {
    let mut mistakes = Vec::new();
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    let folders = [
        "src",
        "core/src",
        "build",
        "acp-types/src",
        "acp-types/tests",
        "tests",
        "benches",
        "examples",
        "../fuzz",
    ];
    let files = folders.iter().flat_map(|folder| {
        sources(folder).into_iter().map(move |(name, text)| (format!("{folder}/{name}"), text))
    });
    for (file, text) in files {
        if ALTERNATIVES.iter().any(|name| file.ends_with(name)) {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            let Some(name) = defined_type(line) else { continue };
            let place = format!("{file}:{}", index + 1);
            let words = name.chars().filter(|c| c.is_uppercase()).count();
            if words < 2 && !ONE_WORD_TYPES.contains(&name) {
                mistakes.push(format!(
                    "{place}: `{name}` is one word; say what of (`{name}` of what?)"
                ));
            }
            let other = places.insert(name.to_owned(), place.clone());
            if let Some(first) = other.filter(|first| !first.starts_with(&format!("{file}:"))) {
                mistakes.push(format!("{place}: `{name}` is also defined at {first}"));
            }
        }
    }
    assert!(places.len() > 1000, "only {} types were found", places.len());
    report(&mistakes);
}

#[test]
fn the_reference_host_names_no_fault() {
    let mut mistakes = Vec::new();
    // `liar.rs` is excepted, because the hosts with false answers consist of faults.
    for (name, text) in host_alone().filter(|(name, _)| name != "liar.rs") {
        for (number, line) in text.lines().enumerate() {
            let mut before = line.rsplit("Fault::").skip(1);
            if before.any(|text| !text.ends_with(|end: char| end.is_alphanumeric())) {
                mistakes.push(format!(
                    "{name}:{}: expected no fault by its name (hint: ask a hook of `host::injected`)",
                    number + 1
                ));
            }
        }
    }
    report(&mistakes);
}

/// Returns the sources of the reference host without its faults, variants and tests.
fn host_alone() -> impl Iterator<Item = (String, String)> {
    let apart = ["fault/", "tests/", "variant/"];
    sources("src/host")
        .into_iter()
        .filter(move |(name, _)| !apart.iter().any(|it| name.starts_with(it)))
}

#[test]
fn rules_that_faults_lift_are_requirements() {
    let ledgers = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol/requirements");
    let mut files = Vec::new();
    walk(&ledgers, &mut files);
    let known: String = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let (mut asked, mut mistakes) = (0, Vec::new());
    for (name, text) in host_alone() {
        let calls = code(&text).split(".keeps(").skip(1);
        for call in calls {
            asked += 1;
            let rule = call.strip_prefix('"').and_then(|rest| rest.split('"').next());
            if rule.is_some_and(|rule| !known.contains(&format!("id = \"{rule}\""))) {
                mistakes.push(format!("{name}: expected the id of a requirement, found {rule:?}"));
            }
        }
    }
    report(&mistakes);
    let said = fs::read_to_string(root().join("harness/ARCHITECTURE.md")).unwrap();
    let sentence = format!("This happens at {asked} places");
    assert!(said.contains(&sentence), "expected `{sentence}` in ARCHITECTURE.md");
}

#[test]
fn nothing_names_a_machine_or_the_reference_folder() {
    let root = root();
    let mut files = Vec::new();
    for folder in ["harness", "fuzz", "scenarios", "corpus", ".ci"] {
        walk(&root.join(folder), &mut files);
    }
    files.extend([root.join("README.md"), root.join("Cargo.toml")]);
    // The forbidden words are written in parts, so that this file does not contain them.
    let words = [
        ["/ro", "ot/"],
        ["/ho", "me/"],
        ["/wo", "rk/"],
        ["../sha", "red"],
        ["index.cra", "tes.io"],
    ];
    let words = words.map(|parts| parts.concat());
    let mut mistakes = Vec::new();
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for word in words.iter().filter(|word| text.contains(word.as_str())) {
            mistakes.push(format!("{}: names `{word}`", path.display()));
        }
    }
    report(&mistakes);
}

#[test]
fn every_dependency_has_its_reason() {
    let root = root();
    let mut mistakes = Vec::new();
    let manifests = [
        "harness/Cargo.toml",
        "harness/core/Cargo.toml",
        "harness/acp-types/Cargo.toml",
        "harness/official/Cargo.toml",
        "harness/official/0.5.0/Cargo.toml",
        "harness/official/0.5.1/Cargo.toml",
        "harness/examples/client-drivers/official-rust/Cargo.toml",
        "fuzz/Cargo.toml",
    ];
    for manifest in manifests {
        let text = fs::read_to_string(root.join(manifest)).unwrap();
        let mut inside = false;
        let mut previous = "";
        for line in text.lines() {
            if line.starts_with('[') {
                inside = line.contains("dependencies");
            } else if inside
                && line.contains(" = ")
                && !previous.starts_with('#')
                && !same_package(line, previous)
            {
                mistakes.push(format!("{manifest}: `{line}` has no comment above it"));
            }
            previous = line;
        }
    }
    report(&mistakes);
}
