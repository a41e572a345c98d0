//! The HTML report: one self-contained file, made from a finished run.
//!
//! Knows: the run and its certificate. Never knows: files. Strings from a host never become markup: [`page`] escapes
//! all text, and the page's content security policy forbids all scripts except the report's own script.
//!
//! Start at [`html`].

use super::brief;
use super::cause::CauseFold;
use super::certificate::{HostCertificate, RequirementOutcome, RequirementResult};
use super::finished::{FinishedCase, FinishedRun};
use super::grouped::grouped;
use super::profile_verdict::ProfileVerdict;
use super::summary::word;
use crate::verdict::Status;
use crate::wire::foreign_text::{ForeignText, LineBreaks, shown};
use articles::FailureArticles;
use page::HtmlPage;

mod articles;
pub mod index;
pub(crate) mod page;
mod picture;
mod requirements;
pub mod viewer;

pub(crate) const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// The content security policy. The page may run only its own script, which the policy identifies by its hash,
/// and use only its own style.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src \
                          'sha256-01/66IaWbWotVpz/8TlCO6e2KcnjqqIaDExWpP/3pt0='; base-uri 'none'; form-action 'none'";
/// Returns the script that matches the hash in the policy.
pub fn script() -> &'static str {
    SCRIPT
}

/// Returns the page of a run.
pub fn html(run: &FinishedRun, certificate: &HostCertificate) -> String {
    let mut page = HtmlPage::default();
    page.ours("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
    page.ours("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    let host = certificate.host.as_ref().unwrap_or(&certificate.target).line();
    page.element("title", &[], &format!("{} conformance of {host}", certificate.title));
    page.ours("<style>");
    page.ours(STYLE);
    page.ours("</style></head><body>\n");
    head(&mut page, &host, certificate);
    contents(&mut page);
    page.open("main", &[]);
    let causes = CauseFold::of(run.cases.iter().map(|case| &case.report));
    let articles = FailureArticles::of(run, &causes);
    articles.first(&mut page);
    articles.broken(&mut page);
    articles.warned(&mut page);
    articles.untested(&mut page);
    articles.noted(&mut page);
    cards(&mut page, certificate);
    agents(&mut page, certificate);
    offered(&mut page, certificate);
    matrix(&mut page, certificate);
    requirements::requirements(&mut page, certificate, &articles);
    scenarios(&mut page, run);
    page.close("main");
    page.open("footer", &[]);
    page.text(&format!(
        "Made by ahp-harness {} from run.jsonl, which has every frame; line numbers are its lines. Seed {}.",
        certificate.harness, certificate.seed
    ));
    page.close("footer");
    page.ours("<script>");
    page.ours(SCRIPT);
    page.ours("</script></body></html>\n");
    page.finish()
}

fn head(page: &mut HtmlPage, host: &str, certificate: &HostCertificate) {
    page.open("header", &[]);
    page.element("h1", &[], &format!("{} conformance of {host}", certificate.title));
    page.open("p", &[("class", "meta")]);
    let seconds = format!("{:.1} s", certificate.took_ms as f64 / 1e3);
    let target = certificate.target.line();
    let provider = certificate.provider.as_ref().map(ForeignText::line).unwrap_or_default();
    let facts = [
        ("target", target.as_str()),
        ("began", &certificate.started),
        ("took", &seconds),
        ("provider", &provider),
        ("harness", &certificate.harness),
    ];
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        page.element("span", &[], &format!("{name} {value}"));
    }
    page.close("p");
    let verdict = certificate.verdict();
    page.open("p", &[("class", &format!("verdict {}", class(verdict)))]);
    page.text(&match verdict {
        ProfileVerdict::Conformant => "Conformant in every profile that applies".to_owned(),
        ProfileVerdict::NotConformant => {
            "Not conformant: at least one MUST or essential rule is broken".to_owned()
        }
        ProfileVerdict::Incomplete => {
            "Incomplete: nothing is broken, but not everything was observed".to_owned()
        }
        ProfileVerdict::NotApplicable => "Nothing was tested".to_owned(),
    });
    page.close("p");
    if let Some(line) = brief::out_of_reach(certificate) {
        page.element("p", &[("class", "meta")], &line);
        page.open("ul", &[("class", "meta")]);
        for it in &certificate.out_of_reach {
            let (must, essential) = (it.must.len(), it.essential.len());
            let text = format!("{must} MUST, {essential} essential: {}", it.reason.line());
            page.open("li", &[]);
            articles::with_code(page, &text);
            page.close("li");
        }
        page.close("ul");
    }
    page.close("header");
}

fn class(verdict: ProfileVerdict) -> &'static str {
    match verdict {
        ProfileVerdict::Conformant => "conformant",
        ProfileVerdict::NotConformant => "not-conformant",
        ProfileVerdict::Incomplete => "incomplete",
        ProfileVerdict::NotApplicable => "not-applicable",
    }
}

fn cards(page: &mut HtmlPage, certificate: &HostCertificate) {
    page.element("h2", &[("id", "profiles")], "Profiles");
    page.open("div", &[("class", "cards")]);
    for profile in &certificate.profiles {
        page.open("div", &[("class", &format!("card {}", class(profile.verdict)))]);
        page.element("b", &[], &profile.name);
        page.element("span", &[("class", class(profile.verdict))], profile.verdict.words());
        page.element("p", &[], &profile.reason);
        page.open("table", &[]);
        for (weight, outcomes) in profile.counts.iter().rev() {
            page.open("tr", &[]);
            page.element("th", &[("scope", "row")], word(*weight));
            let found = |outcome: &RequirementOutcome| {
                outcomes.get(outcome).map(|count| (*outcome, *count))
            };
            let counts = RequirementOutcome::ALL.iter().filter_map(found);
            let counts: Vec<_> =
                counts.map(|(outcome, count)| format!("{count} {}", outcome.word())).collect();
            page.element("td", &[], &counts.join(", "));
            page.close("tr");
        }
        page.close("table");
        page.close("div");
    }
    page.close("div");
}

/// Writes links to the parts of the page.
fn contents(page: &mut HtmlPage) {
    page.open("nav", &[("aria-label", "Contents")]);
    for (anchor, name) in [
        ("profiles", "Profiles"),
        ("matrix", "Areas"),
        ("requirements", "Requirements"),
        ("scenarios", "Scenarios"),
    ] {
        page.element("a", &[("href", &format!("#{anchor}"))], name);
    }
    page.close("nav");
}

/// Writes the verdicts for each agent of a host with several agents, side by side.
fn agents(page: &mut HtmlPage, certificate: &HostCertificate) {
    if certificate.agents.is_empty() {
        return;
    }
    page.element("h2", &[("id", "agents")], "Agents");
    page.open("table", &[]);
    for agent in &certificate.agents {
        page.open("tr", &[]);
        page.open("th", &[("scope", "row")]);
        page.element("code", &[], &agent.provider.line());
        page.close("th");
        let verdict = agent.verdict.unwrap_or(ProfileVerdict::NotApplicable);
        page.open("td", &[]);
        page.element(
            "span",
            &[("class", class(verdict))],
            &shown(&agent.words(), LineBreaks::Shown),
        );
        for profile in
            agent.profiles.iter().filter(|it| it.verdict != ProfileVerdict::NotApplicable)
        {
            let text = format!("{}: {}, {}", profile.name, profile.verdict.words(), profile.reason);
            page.element("div", &[("class", "small")], &text);
        }
        page.close("td");
        page.close("tr");
    }
    page.close("table");
    let rows: Vec<&RequirementResult> = brief::differing(certificate).collect();
    let Some(first) = rows.first() else { return };
    page.open("details", &[]);
    let title = format!("{} requirements with another result for another agent", rows.len());
    page.element("summary", &[], &title);
    page.open("table", &[]);
    page.open("tr", &[]);
    page.element("th", &[], "requirement");
    first
        .agents
        .keys()
        .for_each(|provider| page.element("th", &[], &shown(provider, LineBreaks::Shown)));
    page.close("tr");
    for row in rows {
        page.open("tr", &[]);
        page.open("td", &[]);
        page.element("code", &[], &row.id);
        page.close("td");
        for outcome in row.agents.values() {
            page.open("td", &[]);
            tag(page, outcome.word());
            page.close("td");
        }
        page.close("tr");
    }
    page.close("table");
    page.close("details");
}

/// Writes the detected capabilities, each with the evidence.
fn offered(page: &mut HtmlPage, certificate: &HostCertificate) {
    if certificate.detected.is_empty() {
        return;
    }
    page.open("details", &[]);
    let count = certificate.detected.iter().filter(|detected| detected.offered).count();
    let of = certificate.detected.len();
    page.element("summary", &[], &format!("What the host offers: {count} of {of}"));
    for (words, names) in
        [("Versions that it declares", &certificate.versions), ("Agents", &certificate.providers)]
    {
        if !names.is_empty() {
            page.element(
                "p",
                &[],
                &format!(
                    "{words}: {}",
                    names.iter().map(ForeignText::line).collect::<Vec<_>>().join(", ")
                ),
            );
        }
    }
    page.open("table", &[]);
    let evidence =
        certificate.detected.iter().map(|it| ((it.offered, it.how.lines()), &*it.capability));
    for ((offered, how), names) in grouped(evidence) {
        page.open("tr", &[]);
        page.element("th", &[("scope", "row"), ("class", "names")], &names.join(", "));
        page.element("td", &[], if offered { "offered" } else { "not offered" });
        page.element("td", &[], &how);
        page.close("tr");
    }
    page.close("table");
    page.close("details");
}

fn tag(page: &mut HtmlPage, word: &str) {
    let word = &word.to_lowercase();
    page.element("span", &[("class", &format!("tag {word}"))], word);
}

/// Writes a square for each requirement, in one row per area.
fn matrix(page: &mut HtmlPage, certificate: &HostCertificate) {
    let count = certificate.requirements.len();
    page.element("h2", &[("id", "matrix")], &format!("{count} requirements by area"));
    page.open("p", &[("class", "legend")]);
    for outcome in RequirementOutcome::ALL {
        let of = |row: &&RequirementResult| row.outcome == outcome;
        let count = certificate.requirements.iter().filter(of).count();
        page.open("span", &[]);
        tag(page, outcome.word());
        page.text(&format!(" {count}"));
        page.close("span");
    }
    page.close("p");
    page.open("div", &[("class", "areas")]);
    for rows in certificate.requirements.chunk_by(|a, b| area(a) == area(b)) {
        let Some(first) = rows.first() else { continue };
        page.element("span", &[], area(first));
        page.open("div", &[("class", "cells")]);
        for row in rows {
            let title = format!("{} ({}): {}", row.id, word(row.weight), row.outcome.word());
            let link = format!("#r-{}", row.id);
            page.element(
                "a",
                &[("class", row.outcome.word()), ("href", &link), ("title", &title)],
                "",
            );
        }
        page.close("div");
    }
    page.close("div");
}

fn area(row: &RequirementResult) -> &str {
    row.id.split('.').next().unwrap_or_default()
}

fn select(page: &mut HtmlPage, id: &str, any: &str, values: &[&str]) {
    page.open("select", &[("id", id), ("aria-label", any)]);
    page.element("option", &[("value", "")], any);
    for value in values {
        page.element("option", &[("value", value)], value);
    }
    page.close("select");
}

/// Writes the list of scenarios, grouped by status and reason. A reason that several scenarios share is written once.
fn scenarios(page: &mut HtmlPage, run: &FinishedRun) {
    page.element("h2", &[("id", "scenarios")], &format!("{} scenarios", run.cases.len()));
    page.open("details", &[]);
    page.element("summary", &[], "All scenarios with their outcomes");
    page.open("table", &[]);
    for (reason, cases) in by_reason(run) {
        page.open("tbody", &[]);
        let shared = !reason.is_empty() && cases.len() > 1;
        if shared {
            page.open("tr", &[]);
            page.open("th", &[("colspan", "3"), ("scope", "rowgroup"), ("class", "shared")]);
            page.text(&format!("{} scenarios: {reason}", cases.len()));
            page.close("th");
            page.close("tr");
        }
        for FinishedCase { report, .. } in cases {
            page.open("tr", &[]);
            page.open("td", &[]);
            tag(page, report.status.word());
            page.close("td");
            page.open("td", &[]);
            page.element("code", &[], &report.name());
            page.text(&format!(" {}", report.title));
            if !shared && !reason.is_empty() {
                page.element("div", &[("class", "small")], &reason);
            }
            page.close("td");
            page.element("td", &[("class", "took")], &format!("{} ms", report.took_ms));
            page.close("tr");
        }
        page.close("tbody");
    }
    page.close("table");
    page.close("details");
}

/// The statuses in the order of the list of scenarios.
const LISTED: [Status; 8] = [
    Status::Fail,
    Status::Warn,
    Status::Note,
    Status::Known,
    Status::Untested,
    Status::Error,
    Status::Skip,
    Status::Pass,
];

/// Groups scenarios by status and reason. Passed scenarios have no reason.
fn by_reason(run: &FinishedRun) -> Vec<(String, Vec<&FinishedCase>)> {
    let cases = run.cases.iter().map(|case| {
        let reason = match case.report.status {
            Status::Pass => String::new(),
            _ => case.report.reason.lines(),
        };
        ((case.report.status, reason), case)
    });
    let mut groups = grouped(cases);
    groups.sort_by_key(|((status, _), _)| LISTED.iter().position(|it| it == status));
    groups.into_iter().map(|((_, reason), cases)| (reason, cases)).collect()
}
