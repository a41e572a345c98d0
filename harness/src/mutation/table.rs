//! Formats the results of a trial as a Markdown table, and calculates the scores.
//!
//! Knows: results. Never knows: files, the terminal.
//!
//! Start at [`score`].

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::operator::FaultClass;
use super::trial::{MutantFate, OperatorResult, RewriteResult, WireMutant};

/// The maximum number of false findings that are listed for each rewrite.
const SHOWN: usize = 3;
/// The maximum number of surviving mutants that are listed if the table is about a single operator.
const ALL: usize = 100;

/// The number of mutants by outcome.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct WireScore {
    /// All mutants.
    pub tried: usize,
    /// Mutants for which a check fails or warns.
    pub killed: usize,
    /// Mutants for which a check only reports a note.
    pub noted: usize,
    /// Mutants for which no check reports anything.
    pub survived: usize,
    /// Mutants whose behaviour the specification permits.
    pub legal: usize,
    /// Mutants without evidence in the capture.
    pub undecidable: usize,
}

impl WireScore {
    fn add(&mut self, result: &OperatorResult) {
        self.tried += result.mutants.len();
        self.killed += result.of(MutantFate::Killed);
        self.noted += result.of(MutantFate::Noted);
        self.survived += result.of(MutantFate::Survived);
        self.legal += result.of(MutantFate::Legal);
        self.undecidable += result.of(MutantFate::Undecidable);
    }

    /// Returns the number of killed mutants per thousand mutants that count; `None` if no mutant counts.
    pub fn per_mille(&self) -> Option<usize> {
        let counted = self.killed + self.noted + self.survived;
        (self.killed * 1000).checked_div(counted)
    }

    fn percent(&self) -> String {
        self.per_mille().map_or("-".to_owned(), |it| format!("{}.{} %", it / 10, it % 10))
    }

    fn cells(&self) -> String {
        let WireScore { tried, killed, noted, survived, legal, undecidable } = self;
        let percent = self.percent();
        format!("{tried} | {killed} | {noted} | {survived} | {legal} | {undecidable} | {percent}")
    }
}

/// Returns the score of all results.
pub fn score<'r>(results: impl IntoIterator<Item = &'r OperatorResult>) -> WireScore {
    let mut score = WireScore::default();
    results.into_iter().for_each(|result| score.add(result));
    score
}

/// Returns the score of each class that has results.
pub fn by_class(results: &[OperatorResult]) -> Vec<(FaultClass, WireScore)> {
    let of = |class: &FaultClass| {
        let here = results.iter().filter(|result| result.operator.class == *class);
        (*class, score(here))
    };
    FaultClass::ALL.iter().map(of).filter(|(_, score)| score.tried > 0).collect()
}

/// The head of the tables of scores, in Markdown.
const HEAD: &str = "tried | killed | noted | survived | legal | undecidable | score |\n\
                    |---|--:|--:|--:|--:|--:|--:|--:|\n";

/// Returns the whole table: classes, operators, surviving mutants, and mutants that do not count.
pub fn of_mutants(results: &[OperatorResult]) -> String {
    let mut out = format!("| class | {HEAD}");
    for (class, score) in by_class(results) {
        let _ = writeln!(out, "| {} | {} |", class.name(), score.cells());
    }
    let _ = writeln!(out, "| **all** | {} |", score(results).cells());
    let _ = write!(out, "\n| operator | class | {}", HEAD.replacen("|---|", "|---|---|", 1));
    let mut sorted: Vec<&OperatorResult> = results.iter().collect();
    sorted.sort_by_key(|result| score([*result]).per_mille().unwrap_or(1001));
    for result in &sorted {
        let operator = result.operator;
        let cells = score([*result]).cells();
        let _ = writeln!(out, "| {} | {} | {cells} |", operator.name, operator.class.name());
    }
    out.push_str("\n## Survivors\n\n");
    let shown = if sorted.len() == 1 { ALL } else { 1 };
    for result in &sorted {
        survivors(result, shown, &mut out);
    }
    out.push_str("\n## What does not count\n\n");
    let mut reasons: BTreeMap<(MutantFate, &str), Vec<&str>> = BTreeMap::new();
    for result in results {
        for mutant in &result.mutants {
            if matches!(mutant.fate, MutantFate::Legal | MutantFate::Undecidable) {
                let all = reasons.entry((mutant.fate, &mutant.why)).or_default();
                all.push(result.operator.name);
            }
        }
    }
    for ((fate, reason), mut names) in reasons {
        let times = names.len();
        names.dedup();
        let word = if fate == MutantFate::Legal { "legal" } else { "undecidable" };
        let _ = writeln!(out, "- {times} {word}: {reason} (`{}`)", names.join("`, `"));
    }
    out
}

fn survivors(result: &OperatorResult, shown: usize, out: &mut String) {
    let alive: Vec<&WireMutant> = result
        .mutants
        .iter()
        .filter(|mutant| matches!(mutant.fate, MutantFate::Noted | MutantFate::Survived))
        .collect();
    if alive.is_empty() {
        return;
    }
    let _ = writeln!(out, "- `{}`: {}", result.operator.name, result.operator.wrong);
    for mutant in alive.iter().take(shown) {
        let noted = if mutant.fate == MutantFate::Noted { " (noted)" } else { "" };
        let what = shortened(&mutant.what);
        let _ = writeln!(out, "  - {}:{}: {what}{noted}", mutant.capture, mutant.line);
    }
}

fn shortened(text: &str) -> String {
    let short: String = text.chars().take(160).collect();
    let more = if short.len() < text.len() { " .." } else { "" };
    format!("{}{more}", short.replace('\n', " "))
}

/// Returns the table of legal rewrites.
pub fn of_rewrites(results: &[RewriteResult]) -> String {
    let mut out =
        "| rewrite | rewritten | findings heavier than a note |\n|---|--:|--:|\n".to_owned();
    for RewriteResult { rewrite, rewritten, accused } in results {
        let _ = writeln!(out, "| {} | {rewritten} | {} |", rewrite.name, accused.len());
    }
    out.push_str("\n## Accusations\n\n");
    for result in results.iter().filter(|result| !result.accused.is_empty()) {
        let _ = writeln!(out, "- `{}`: {}", result.rewrite.name, result.rewrite.legal);
        for one in result.accused.iter().take(SHOWN) {
            let _ = writeln!(out, "  - {}: {}", one.capture, shortened(&one.what));
        }
    }
    out
}
