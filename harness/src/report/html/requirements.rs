//! Writes the list of requirements, grouped by the page of the specification that states them. A reason that
//! several requirements share is written once, and the requirements link to it.

use super::super::certificate::{HostCertificate, RequirementOutcome, RequirementResult};
use super::super::grouped::grouped;
use super::super::spec_page;
use super::super::summary::word;
use super::articles::{FailureArticles, with_code};
use super::page::HtmlPage;
use super::{select, tag};
use crate::verdict::Weight;

/// Writes the filters, the shared reasons and the list.
pub(super) fn requirements(
    page: &mut HtmlPage,
    certificate: &HostCertificate,
    articles: &FailureArticles<'_>,
) {
    page.element("h2", &[("id", "requirements")], "Requirements");
    filters(page, certificate);
    let reasons = shared_reasons(&certificate.requirements);
    if !reasons.is_empty() {
        page.open("details", &[("id", "reasons"), ("class", "small")]);
        let title = format!("{} reasons that several requirements share", reasons.len());
        page.element("summary", &[], &title);
        page.open("ol", &[]);
        for (number, reason) in (1..).zip(&reasons) {
            page.open("li", &[("id", &format!("reason-{number}"))]);
            with_code(page, reason);
            page.close("li");
        }
        page.close("ol");
        page.close("details");
    }
    page.open("div", &[("id", "rules")]);
    for (source, rows) in grouped(certificate.requirements.iter().map(|row| (&*row.source, row))) {
        page.open("section", &[]);
        page.open("h3", &[]);
        match spec_page::address(source) {
            Some(address) => {
                page.element("a", &[("href", &address), ("rel", "noreferrer")], source);
            }
            None => page.text(source),
        }
        page.close("h3");
        page.open("ul", &[("class", "rows")]);
        for row in rows {
            requirement(page, row, &reasons, articles);
        }
        page.close("ul");
        page.close("section");
    }
    page.close("div");
}

fn filters(page: &mut HtmlPage, certificate: &HostCertificate) {
    page.open("div", &[("class", "filters"), ("role", "search")]);
    page.open(
        "input",
        &[
            ("id", "words"),
            ("type", "search"),
            ("placeholder", "Filter by words"),
            ("aria-label", "Filter by words"),
        ],
    );
    let outcomes: Vec<&str> =
        RequirementOutcome::ALL.iter().map(|outcome| outcome.word()).collect();
    select(page, "outcome", "any outcome", &outcomes);
    let weights = [Weight::Must, Weight::Essential, Weight::Should, Weight::Note].map(word);
    select(page, "weight", "any weight", &weights);
    let profiles: Vec<&str> =
        certificate.profiles.iter().map(|profile| profile.name.as_str()).collect();
    select(page, "profile", "any profile", &profiles);
    page.element("output", &[("id", "count")], "");
    page.close("div");
}

/// Returns the reasons that more than one requirement has, in the order in which they occur first.
fn shared_reasons(rows: &[RequirementResult]) -> Vec<String> {
    let reasons = rows.iter().map(|row| (row.reason.lines(), ()));
    let shared =
        grouped(reasons).into_iter().filter(|(reason, all)| !reason.is_empty() && all.len() > 1);
    shared.map(|(reason, _)| reason).collect()
}

fn requirement(
    page: &mut HtmlPage,
    row: &RequirementResult,
    reasons: &[String],
    articles: &FailureArticles<'_>,
) {
    let (id, outcome, weight) = (format!("r-{}", row.id), row.outcome.word(), word(row.weight));
    page.open(
        "li",
        &[
            ("id", &id),
            ("class", outcome),
            ("data-outcome", outcome),
            ("data-weight", weight),
            ("data-profile", &row.profile),
        ],
    );
    tag(page, outcome);
    page.element("span", &[("class", "weight")], weight);
    page.open("div", &[]);
    page.element("code", &[], &row.id);
    page.text(&format!(" {}", row.statement));
    page.open("div", &[("class", "small")]);
    page.text(&row.profile);
    if row.observations > 0 {
        page.text(&format!(" · {} observations", row.observations));
    }
    let reason = row.reason.lines();
    match reasons.iter().position(|it| *it == reason) {
        Some(at) => {
            page.text(" · ");
            let link = format!("#reason-{}", at + 1);
            page.element(
                "a",
                &[("href", &link), ("title", &reason)],
                &format!("reason {}", at + 1),
            );
        }
        None if !reason.is_empty() => page.text(&format!(" · {reason}")),
        None => {}
    }
    page.close("div");
    // The breach is described only in its article, to which this row links.
    let anchor = articles.anchor_of(&row.id).or_else(|| {
        let checks = row.evidence.iter().filter_map(|evidence| evidence.check);
        checks.into_iter().find_map(|check| articles.anchor_of(check))
    });
    if let Some(anchor) = anchor.filter(|_| !row.evidence.is_empty()) {
        page.open("div", &[]);
        page.element("a", &[("href", &format!("#{anchor}"))], "what is wrong");
        page.close("div");
    }
    page.close("div");
    page.close("li");
}
