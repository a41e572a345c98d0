//! A page that shows one conversation: every line, filters, and the findings.
//!
//! Start at [`viewer`].

use std::collections::{BTreeSet, HashSet};

use super::super::conversation::ConversationLine;
use super::super::replay::JudgedFile;
use super::super::viewed::ViewedScenario;
use super::page::HtmlPage;
use super::{STYLE, picture, select, tag};
use crate::report::summary::OWN_FRAMES;
use crate::verdict::Weight;

const SCRIPT: &str = include_str!("viewer.js");
/// The content security policy. The page may run only its own script, which the policy identifies by its hash,
/// and use only its own style.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src \
                          'sha256-sXaeCeNWnSyTPzGf3/+71eBt30+DYNY/O/+zB63lqWc='; base-uri 'none'; form-action 'none'";
/// The maximum number of channels in the filter. `FINDINGS` is the maximum number of listed findings.
const CHANNELS: usize = 200;
const FINDINGS: usize = 300;

/// Returns the script that matches the hash in the policy.
pub fn script() -> &'static str {
    SCRIPT
}

/// Returns the page for a file of this name; `left_out` is the number of lines that the page does not show.
pub fn viewer(
    name: &str,
    scenarios: &[ViewedScenario],
    judged: &JudgedFile,
    left_out: u64,
) -> String {
    let mut page = HtmlPage::default();
    page.ours("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
    page.ours("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    page.element("title", &[], &format!("Conversation of {name}"));
    page.ours("<style>");
    page.ours(STYLE);
    page.ours("</style></head><body>\n");
    page.open("header", &[]);
    page.element("h1", &[], &format!("Conversation of {name}"));
    let left = match left_out {
        0 => String::new(),
        more => format!(", {more} more are only in the file"),
    };
    let lines: usize = scenarios.iter().map(|it| it.rows.len()).sum();
    let of = match scenarios {
        [_] => String::new(),
        many => format!(" of {} scenarios", many.len()),
    };
    page.element("p", &[("class", "meta")], &format!("{lines} lines{of}{left}"));
    page.close("header");
    page.open("main", &[]);
    findings(&mut page, scenarios, judged, left_out);
    page.element("h2", &[], "Lines");
    filters(&mut page, scenarios);
    match scenarios {
        [only] => picture::all_lanes(&mut page, &only.rows, "all lines"),
        many => many.iter().for_each(|it| scenario(&mut page, it)),
    }
    page.close("main");
    page.ours("<script>");
    page.ours(SCRIPT);
    page.ours("</script></body></html>\n");
    page.finish()
}

/// Writes a collapsed section with the conversation of a scenario.
fn scenario(page: &mut HtmlPage, it: &ViewedScenario) {
    page.open("details", &[("class", "scene"), ("data-scenario", &it.name)]);
    page.open("summary", &[]);
    if let Some(status) = it.status {
        tag(page, status.word());
        page.text(" ");
    }
    let name = if it.name.is_empty() { "outside of scenarios" } else { &it.name };
    page.element("code", &[], name);
    page.element(
        "span",
        &[("class", "small")],
        &format!(" {} ({} lines)", it.title, it.rows.len()),
    );
    page.close("summary");
    picture::all_lanes(page, &it.rows, name);
    page.close("details");
}

/// Writes the findings, each with links to the lines of evidence.
fn findings(page: &mut HtmlPage, scenarios: &[ViewedScenario], judged: &JudgedFile, left_out: u64) {
    let failures = judged.cases.iter().flat_map(|case| {
        let failures = case.failures();
        failures.map(move |it| (case.weight, case.scenario.clone(), &it.message, &it.transcript))
    });
    let checks = judged.summary.checks.iter().filter(|(check, _)| *check != OWN_FRAMES);
    let checks = checks.flat_map(|(check, total)| {
        let shown = total.shown.iter();
        shown.map(move |(_, it)| (it.weight, check.clone(), &it.message, &it.transcript))
    });
    let rows = scenarios.iter().flat_map(|it| &it.rows);
    let shown: HashSet<u64> = rows.map(|row| row.line).collect();
    // If the page shows only one scenario of the file, it lists only the findings about that scenario.
    let about = |lines: &[u64]| left_out > 0 || lines.iter().any(|line| shown.contains(line));
    let all = failures.chain(checks);
    let mut all: Vec<_> = all.filter(|(.., lines)| lines.is_empty() || about(lines)).collect();
    all.sort_by_key(|(weight, ..)| std::cmp::Reverse(*weight));
    page.element("h2", &[], &format!("Findings: {}", all.len()));
    if all.is_empty() {
        page.element("p", &[], "Nothing was found.");
        return;
    }
    page.open("ul", &[("class", "places")]);
    for (weight, name, message, lines) in all.into_iter().take(FINDINGS) {
        page.open("li", &[]);
        tag(page, weight.max(Weight::Note).broken().word());
        page.text(" ");
        page.element("code", &[], &name);
        page.text(&format!(": {} (line", message.line()));
        for line in lines {
            page.text(" ");
            match shown.contains(line) {
                true => page.element("a", &[("href", &format!("#l-{line}"))], &line.to_string()),
                false => page.text(&line.to_string()),
            }
        }
        page.text(")");
        page.close("li");
    }
    page.close("ul");
}

fn filters(page: &mut HtmlPage, scenarios: &[ViewedScenario]) {
    let distinct = |of: fn(&ConversationLine) -> String, most: usize| {
        let rows = scenarios.iter().flat_map(|it| &it.rows);
        let names: BTreeSet<String> = rows.map(of).filter(|it| !it.is_empty()).collect();
        names.into_iter().take(most).collect::<Vec<String>>()
    };
    let clients = distinct(|row| row.client.clone(), usize::MAX);
    let channels = distinct(|row| row.channel.line(), CHANNELS);
    page.open("div", &[("class", "filters"), ("role", "search")]);
    let words = "Filter by action, method or text";
    page.open(
        "input",
        &[("id", "words"), ("type", "search"), ("placeholder", words), ("aria-label", words)],
    );
    let clients: Vec<&str> = clients.iter().map(String::as_str).collect();
    select(page, "client", "any client", &clients);
    let channels: Vec<&str> = channels.iter().map(String::as_str).collect();
    select(page, "channel", "any channel", &channels);
    let names: Vec<&str> = match scenarios {
        [_] => Vec::new(),
        many => many.iter().map(|it| it.name.as_str()).filter(|it| !it.is_empty()).collect(),
    };
    select(page, "scenario", "any scenario", &names);
    page.element("output", &[("id", "count")], "");
    page.close("div");
}
