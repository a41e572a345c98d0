//! Short forms of a certificate: Markdown for a page or a pull request, and a badge.
//!
//! Start at [`markdown`].

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::certificate::{HostCertificate, RequirementOutcome, RequirementResult};
use super::profile_verdict::ProfileVerdict;
use super::summary::word;
use crate::verdict::Weight;
use crate::wire::foreign_text;

/// The maximum number of broken requirements in the summary.
const LISTED: usize = 50;

/// Formats the certificate as Markdown.
pub fn markdown(certificate: &HostCertificate) -> String {
    let host = certificate.host.as_ref().unwrap_or(&certificate.target);
    let mut out = format!("# {} conformance of {}\n\n", certificate.title, host.markdown());
    let _ = writeln!(
        out,
        "**{}** · {} · harness {} · seed {}\n\n| profile | verdict | why |\n|---|---|---|",
        certificate.verdict().words(),
        certificate.started,
        certificate.harness,
        certificate.seed
    );
    for profile in &certificate.profiles {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            profile.name,
            profile.verdict.words(),
            profile.reason
        );
    }
    out.push_str(&agents(certificate));
    out.push_str(&unreached(certificate));
    let _ = writeln!(
        out,
        "\n| weight | {} |",
        RequirementOutcome::ALL.map(RequirementOutcome::word).join(" | ")
    );
    let _ = writeln!(out, "|---|{}", "--:|".repeat(RequirementOutcome::ALL.len()));
    for weight in [Weight::Must, Weight::Essential, Weight::Should, Weight::Note] {
        let count = |outcome: RequirementOutcome| {
            let of = |row: &&RequirementResult| row.weight == weight && row.outcome == outcome;
            certificate.requirements.iter().filter(of).count().to_string()
        };
        let _ = writeln!(
            out,
            "| {} | {} |",
            word(weight),
            RequirementOutcome::ALL.map(count).join(" | ")
        );
    }
    let bad = |outcome| matches!(outcome, RequirementOutcome::Fail | RequirementOutcome::Warn);
    let rows = certificate.requirements.iter().filter(|row| bad(row.outcome));
    let rows = rows.map(|row| (row.id.as_str(), row.weight, row.evidence.first()));
    let checks = certificate.checks.iter().filter(|check| bad(check.outcome));
    let checks = checks.map(|check| (check.id, check.weight, check.evidence.first()));
    let mut broken: Vec<_> = rows.chain(checks).collect();
    broken.sort_by_key(|(_, weight, _)| std::cmp::Reverse(*weight));
    if !broken.is_empty() {
        out.push_str("\n| broken | weight | where | what |\n|---|---|---|---|\n");
    }
    for (id, weight, evidence) in broken.iter().take(LISTED) {
        let place = evidence.map_or("", |first| first.scenario.as_str());
        let what = evidence.map(|first| first.message.markdown()).unwrap_or_default();
        let _ = writeln!(out, "| {id} | {} | {place} | {what} |", word(*weight));
    }
    if broken.len() > LISTED {
        let _ = writeln!(out, "\n{} more are in certificate.json.", broken.len() - LISTED);
    }
    out
}

/// Formats the verdicts for each agent of a host with several agents, and the requirements whose outcomes
/// differ between agents.
fn agents(certificate: &HostCertificate) -> String {
    if certificate.agents.is_empty() {
        return String::new();
    }
    let mut out = "\n| agent | verdict | profiles |\n|---|---|---|\n".to_owned();
    for agent in &certificate.agents {
        let profiles =
            agent.profiles.iter().filter(|it| it.verdict != ProfileVerdict::NotApplicable);
        let profiles: Vec<String> =
            profiles.map(|it| format!("{}: {}", it.name, it.verdict.words())).collect();
        let (name, words) = (agent.provider.markdown(), foreign_text::markdown(&agent.words()));
        let _ = writeln!(out, "| {name} | {words} | {} |", profiles.join(", "));
    }
    let rows: Vec<&RequirementResult> = differing(certificate).collect();
    let Some(first) = rows.first() else { return out };
    let names: Vec<String> = first.agents.keys().map(|it| foreign_text::markdown(it)).collect();
    let title = "requirement with another result for another agent";
    let _ = writeln!(out, "\n| {title} | weight | {} |", names.join(" | "));
    let _ = writeln!(out, "|---|---|{}", "---|".repeat(names.len()));
    for row in rows.iter().take(LISTED) {
        let outcomes = row.agents.values().map(|outcome| outcome.word());
        let outcomes: Vec<&str> = outcomes.collect();
        let _ = writeln!(out, "| {} | {} | {} |", row.id, word(row.weight), outcomes.join(" | "));
    }
    if rows.len() > LISTED {
        let _ = writeln!(out, "\n{} more are in certificate.json.", rows.len() - LISTED);
    }
    out
}

/// Returns the requirements whose outcome differs between agents, the most severe first.
pub fn differing(certificate: &HostCertificate) -> impl Iterator<Item = &RequirementResult> {
    let differ = |row: &&RequirementResult| {
        let mut outcomes = row.agents.values();
        let first = outcomes.next();
        outcomes.any(|outcome| Some(outcome) != first)
    };
    let mut rows: Vec<&RequirementResult> =
        certificate.requirements.iter().filter(differ).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.weight));
    rows.into_iter()
}

/// Formats the number of MUST and essential requirements that the run could not test, with the reasons.
fn unreached(certificate: &HostCertificate) -> String {
    let Some(line) = out_of_reach(certificate) else { return String::new() };
    let mut out =
        format!("\n{line}\n\n| MUST | essential | why they could not be tested |\n|--:|--:|---|\n");
    for it in &certificate.out_of_reach {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            it.must.len(),
            it.essential.len(),
            it.reason.markdown()
        );
    }
    out
}

/// Formats the numbers and reasons of untested requirements in one line; `None` if the run could test every
/// requirement that may apply.
pub fn out_of_reach(certificate: &HostCertificate) -> Option<String> {
    let rows = &certificate.out_of_reach;
    let must: usize = rows.iter().map(|it| it.must.len()).sum();
    let essential: usize = rows.iter().map(|it| it.essential.len()).sum();
    let all = certificate.requirements.iter().filter(|row| row.weight == Weight::Must).count();
    (!rows.is_empty()).then(|| {
        let plural = if essential == 1 { "" } else { "s" };
        format!(
            "Out of reach of this run: {must} of {all} MUST requirements and {essential} essential requirement{plural}."
        )
    })
}

/// Returns the text of a badge, the name of the badge's colour, and the colour as a hexadecimal code.
fn words(certificate: &HostCertificate) -> (String, &'static str, &'static str) {
    let of = |verdict| certificate.profiles.iter().filter(move |p| p.verdict == verdict).count();
    let all = certificate.profiles.len() - of(ProfileVerdict::NotApplicable);
    let (name, colour) = match certificate.verdict() {
        ProfileVerdict::Conformant => ("brightgreen", "#1a7f4b"),
        ProfileVerdict::NotConformant => ("red", "#c4262e"),
        ProfileVerdict::Incomplete => ("yellow", "#a15c00"),
        ProfileVerdict::NotApplicable => ("lightgrey", "#57606f"),
    };
    let words = certificate.verdict().words();
    (format!("{words} ({} of {all} profiles)", of(ProfileVerdict::Conformant)), name, colour)
}

/// Returns the content of the badge as JSON, for web services that draw badges themselves.
pub fn endpoint(certificate: &HostCertificate) -> Value {
    let (message, colour, _) = words(certificate);
    let label = &certificate.title;
    json!({"schemaVersion": 1, "label": label, "message": message, "color": colour})
}

/// Returns the badge as an SVG image.
pub fn badge(certificate: &HostCertificate) -> String {
    let (message, _, colour) = words(certificate);
    let label = &certificate.title;
    // In Verdana at 11 pixels, a letter is about 6.6 pixels wide.
    let width = |text: &str| text.chars().count() * 66 / 10 + 12;
    let (left, right) = (width(label), width(&message));
    let all = left + right;
    let (first, second) = (left / 2, left + right / 2);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"20\" role=\"img\" \
         aria-label=\"{label}: {message}\"><title>{label}: {message}</title>\
         <rect width=\"{all}\" height=\"20\" rx=\"3\" fill=\"#3b424d\"/>\
         <path d=\"M{left} 0h{tail}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{tail}z\" fill=\"{colour}\"/>\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,Geneva,sans-serif\" font-size=\"11\">\
         <text x=\"{first}\" y=\"14\">{label}</text><text x=\"{second}\" y=\"14\">{message}</text></g></svg>\n",
        tail = right.saturating_sub(3),
    )
}
