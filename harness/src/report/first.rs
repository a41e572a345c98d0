//! Lists what to fix first: the causes of a run in at most ten lines, the worst first, and a command that plays
//! one of the failed scenarios again.
//!
//! Start at [`fix_first`].

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::cause::{CauseFold, FailureCause, RuleBreach};
use super::command;
use super::event::RunHeader;
use super::excerpt::beginning;
use super::summary::RunSummary;
use crate::verdict::Status;

/// The maximum number of lines about causes, including the line with the number of further causes. The heading
/// and the command are two more lines.
const LINES: usize = 8;
/// The maximum number of notes that the console names.
const NOTED: usize = 5;
/// The maximum length of a line's message, in bytes.
const WRONG: usize = 110;

/// Returns whether a cause needs a fix.
pub fn is_to_mend(cause: &FailureCause<'_>) -> bool {
    matches!(cause.status(), Status::Fail | Status::Error | Status::Untested | Status::Warn)
}

/// Returns the name of a cause. If the cause has several rules, the name contains their number.
pub fn name(cause: &FailureCause<'_>) -> String {
    match cause.rules().len() {
        0 | 1 => cause.family.clone(),
        rules => format!("{} ({rules} rules)", cause.family),
    }
}

/// Formats the list; empty if nothing needs a fix. `tag` formats a status.
pub fn fix_first(causes: &CauseFold, header: &RunHeader, tag: impl Fn(Status) -> String) -> String {
    let all = causes.by_cause();
    // It is unknown whether an untested rule is broken, so untested rules come last.
    let (blamed, untested): (Vec<_>, Vec<_>) = all
        .iter()
        .filter(|cause| is_to_mend(cause))
        .partition(|cause| cause.status() != Status::Untested);
    let all: Vec<&FailureCause<'_>> = blamed.into_iter().chain(untested).collect();
    let Some(scenario) = all.iter().find_map(|cause| cause.shown()) else { return String::new() };
    let mut out = format!("Fix these first, of {} causes:\n", all.len());
    let shown = if all.len() > LINES { LINES - 1 } else { LINES };
    for cause in all.iter().take(shown) {
        let Some(place) = cause.shown() else { continue };
        let named =
            if cause.status() == Status::Untested { String::new() } else { name(cause) + ": " };
        let more = match cause.scenarios().len() {
            1 => String::new(),
            scenarios => format!(" and {} more", scenarios - 1),
        };
        let wrong = one_line(&format!("{named}{}", place.message.line()), WRONG);
        let _ = writeln!(out, "{} {wrong} [{}{more}]", tag(cause.status()), place.scenario);
    }
    if all.len() > shown {
        let _ = writeln!(out, "         {} more causes (hint: `--format full`)", all.len() - shown);
    }
    let _ = writeln!(out, "One of them again: {}", command::again_at(header, scenario));
    out
}

/// Formats the names of the causes that break only rules with the weight of a note, in one line; empty if there are no
/// such causes.
pub fn noted(causes: &CauseFold) -> String {
    let all = causes.by_cause();
    let notes: Vec<_> = all.iter().filter(|cause| cause.status() == Status::Note).collect();
    if notes.is_empty() {
        return String::new();
    }
    let named = |cause: &&FailureCause<'_>| match cause.shown() {
        Some(place) => format!("{} [{}]", name(cause), place.scenario),
        None => name(cause),
    };
    let names: Vec<String> = notes.iter().take(NOTED).map(named).collect();
    let more = match notes.len().saturating_sub(NOTED) {
        0 => String::new(),
        more => format!(" and {more} more (hint: `--format full`)"),
    };
    format!("Noted, no failure: {}{more}\n", names.join(", "))
}

/// Returns the first line of a string, cut to at most this many bytes.
pub fn one_line(text: &str, most: usize) -> String {
    let line = text.split('\n').next().unwrap_or_default();
    match beginning(line, most) {
        whole if whole.len() == line.len() => whole.to_owned(),
        start => format!("{start}…"),
    }
}

/// Returns a run as JSON: the header, the summary and every breach by cause.
pub fn as_json(causes: &CauseFold, header: &RunHeader, summary: &RunSummary, exit: u8) -> Value {
    let cause = |cause: &FailureCause<'_>| {
        let breach = |breach: &&RuleBreach| {
            let mut value = json!(breach);
            value["finding"] = json!(breach.id.to_string());
            value
        };
        json!({
            "family": cause.family,
            "status": cause.status(),
            "times": cause.times(),
            "scenarios": cause.scenarios(),
            "command": cause.shown().map(|place| command::again_at(header, place)),
            "breaches": cause.breaches.iter().map(breach).collect::<Vec<_>>(),
        })
    };
    json!({
        "harness": header.harness,
        "target": header.target,
        "host": header.host,
        "version": header.version,
        "seed": header.seed,
        "exit": exit,
        "scenarios": summary.counts,
        "causes": causes.by_cause().iter().map(cause).collect::<Vec<_>>(),
    })
}
