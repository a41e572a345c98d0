//! A page that compares certificates: the verdicts by profile, and the rules that at least one of the hosts breaks.
//!
//! Start at [`index`].

use std::collections::{BTreeMap, BTreeSet};

use super::super::matrix::{CertificateBrief, columns};
use super::super::profile_verdict::ProfileVerdict;
use super::page::HtmlPage;
use super::{STYLE, class, tag};
use crate::wire::foreign_text::ForeignText;

/// The content security policy. The page has no script.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Returns the page. The string beside each certificate is the link to its report; empty if there is no report.
pub fn index(certificates: &[(String, CertificateBrief)]) -> String {
    let mut page = HtmlPage::default();
    page.ours("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
    page.ours("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    page.element("title", &[], "Certificates");
    page.ours("<style>");
    page.ours(STYLE);
    page.ours("</style></head><body>\n");
    page.open("header", &[]);
    page.element("h1", &[], "Certificates");
    page.close("header");
    page.open("main", &[]);
    for (title, is_agent) in [("Hosts", false), ("Agents", true)] {
        let own: Vec<&(String, CertificateBrief)> =
            certificates.iter().filter(|(_, brief)| brief.is_agent() == is_agent).collect();
        if !own.is_empty() {
            page.element("h2", &[], title);
            verdicts(&mut page, &own, title);
            broken(&mut page, &own, title);
        }
    }
    page.close("main");
    page.ours("</body></html>\n");
    page.finish()
}

/// Opens a table that scrolls sideways on a narrow screen.
fn open_table(page: &mut HtmlPage, label: &str) {
    page.open(
        "div",
        &[("class", "wide"), ("tabindex", "0"), ("role", "region"), ("aria-label", label)],
    );
    page.open("table", &[]);
}

fn close_table(page: &mut HtmlPage) {
    page.close("table");
    page.close("div");
}

fn heading(page: &mut HtmlPage, text: &str) {
    page.element("th", &[("scope", "col")], text);
}

/// Writes the table of verdicts, with a row for each certificate and a column for each profile.
fn verdicts(page: &mut HtmlPage, certificates: &[&(String, CertificateBrief)], title: &str) {
    let briefs: Vec<&CertificateBrief> = certificates.iter().map(|(_, brief)| brief).collect();
    let columns = columns(&briefs);
    open_table(page, &format!("{title}, by profile"));
    page.open("tr", &[]);
    for name in ["name", "version", "verdict"].into_iter().chain(columns.iter().copied()) {
        heading(page, name);
    }
    heading(page, "broken MUST, essential");
    heading(page, "made");
    page.close("tr");
    for (link, brief) in certificates {
        page.open("tr", &[]);
        page.open("th", &[("scope", "row")]);
        match link.as_str() {
            "" => page.text(&brief.name().line()),
            link => page.element("a", &[("href", link)], &brief.name().line()),
        }
        page.close("th");
        page.element("td", &[], &brief.version().to_string());
        let all = columns.iter().filter_map(|column| brief.verdict(column));
        verdict(page, Some(ProfileVerdict::worst(all)));
        columns.iter().for_each(|column| verdict(page, brief.verdict(column)));
        let heavy = |weight: &str| brief.broken().filter(|rule| rule.weight == weight).count();
        page.element("td", &[], &format!("{}, {}", heavy("must"), heavy("essential")));
        page.element("td", &[], brief.day());
        page.close("tr");
    }
    close_table(page);
}

fn verdict(page: &mut HtmlPage, verdict: Option<ProfileVerdict>) {
    page.open("td", &[]);
    if let Some(verdict) = verdict {
        page.element("span", &[("class", class(verdict))], verdict.words());
    }
    page.close("td");
}

/// Writes the table of broken rules, with a row for each MUST and essential rule that at least one of the hosts breaks,
/// and a column for each host.
fn broken(page: &mut HtmlPage, certificates: &[&(String, CertificateBrief)], title: &str) {
    let rules: BTreeSet<&str> = certificates
        .iter()
        .flat_map(|(_, brief)| brief.broken())
        .map(|rule| rule.id.as_str())
        .collect();
    if rules.is_empty() {
        return;
    }
    page.open("details", &[]);
    let text = format!("MUST and essential rules that are broken somewhere: {}", rules.len());
    page.element("summary", &[], &text);
    open_table(page, &format!("{title}, broken rules"));
    page.open("tr", &[]);
    heading(page, "rule");
    for (_, brief) in certificates {
        heading(page, &brief.name().line());
    }
    page.close("tr");
    let outcomes: Vec<BTreeMap<&str, (&str, &ForeignText)>> =
        certificates.iter().map(|(_, brief)| brief.outcomes()).collect();
    for id in rules {
        page.open("tr", &[]);
        page.open("th", &[("scope", "row")]);
        page.element("code", &[], id);
        let text = outcomes.iter().find_map(|all| all.get(id)).map(|(_, text)| text.line());
        page.element("div", &[("class", "small")], &text.unwrap_or_default());
        page.close("th");
        for ((link, _), all) in certificates.iter().zip(&outcomes) {
            page.open("td", &[]);
            match (all.get(id), link.as_str()) {
                (None, _) => {}
                (Some((outcome, _)), "") => tag(page, outcome),
                (Some((outcome, _)), link) => {
                    page.open("a", &[("href", &format!("{link}#r-{id}"))]);
                    tag(page, outcome);
                    page.close("a");
                }
            }
            page.close("td");
        }
        page.close("tr");
    }
    close_table(page);
    page.close("details");
}
