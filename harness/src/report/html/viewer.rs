//! A page that shows one conversation: every line, filters, and the findings.
//!
//! Start at [`viewer`].

use super::super::conversation::ConversationLine;
use super::super::replay::JudgedFile;
use super::page::HtmlPage;
use super::{STYLE, picture, select, tag};
use crate::report::summary::OWN_FRAMES;
use crate::verdict::Weight;

const SCRIPT: &str = include_str!("viewer.js");
/// The content security policy. The page may run only its own script, which the policy identifies by its hash,
/// and use only its own style.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src \
                          'sha256-28113BjWgV9QdB9NX0ofxZCxZ8KKgHHAJz3rWL/q/5s='; base-uri 'none'; form-action 'none'";
/// The maximum number of channels in the filter, and the maximum number of listed findings.
const CHANNELS: usize = 200;
const FINDINGS: usize = 300;

/// Returns the script that matches the hash in the policy.
pub fn script() -> &'static str {
    SCRIPT
}

/// Returns the page for a file of this name; `left_out` is the number of lines after the last row.
pub fn viewer(name: &str, rows: &[ConversationLine], judged: &JudgedFile, left_out: u64) -> String {
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
    page.element("p", &[("class", "meta")], &format!("{} lines{left}", rows.len()));
    page.close("header");
    page.open("main", &[]);
    findings(&mut page, rows, judged);
    page.element("h2", &[], "Lines");
    filters(&mut page, rows);
    picture::all_lanes(&mut page, rows);
    page.close("main");
    page.ours("<script>");
    page.ours(SCRIPT);
    page.ours("</script></body></html>\n");
    page.finish()
}

/// Writes the findings, each with links to the lines of evidence.
fn findings(page: &mut HtmlPage, rows: &[ConversationLine], judged: &JudgedFile) {
    let failures = judged.cases.iter().flat_map(|case| {
        let failures = case.failures();
        failures.map(move |it| (case.weight, case.scenario.clone(), &it.message, &it.transcript))
    });
    let checks = judged.summary.checks.iter().filter(|(check, _)| *check != OWN_FRAMES);
    let checks = checks.flat_map(|(check, total)| {
        let shown = total.shown.iter();
        shown.map(move |(_, it)| (it.weight, check.clone(), &it.message, &it.transcript))
    });
    let mut all: Vec<_> = failures.chain(checks).collect();
    all.sort_by_key(|(weight, ..)| std::cmp::Reverse(*weight));
    page.element("h2", &[], &format!("Findings: {}", all.len()));
    if all.is_empty() {
        page.element("p", &[], "Nothing was found.");
        return;
    }
    page.open("ul", &[("class", "places")]);
    let last = rows.last().map_or(0, |row| row.line);
    for (weight, name, message, lines) in all.into_iter().take(FINDINGS) {
        page.open("li", &[]);
        tag(page, weight.max(Weight::Note).broken().word());
        page.text(" ");
        page.element("code", &[], &name);
        page.text(&format!(": {} (line", message.line()));
        for line in lines {
            page.text(" ");
            match *line <= last {
                true => page.element("a", &[("href", &format!("#l-{line}"))], &line.to_string()),
                false => page.text(&line.to_string()),
            }
        }
        page.text(")");
        page.close("li");
    }
    page.close("ul");
}

fn filters(page: &mut HtmlPage, rows: &[ConversationLine]) {
    let distinct = |of: fn(&ConversationLine) -> String| {
        let mut names: Vec<String> = rows.iter().map(of).filter(|it| !it.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        names.truncate(CHANNELS);
        names
    };
    let (clients, channels) =
        (distinct(|row| row.client.clone()), distinct(|row| row.channel.line()));
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
    page.element("output", &[("id", "count")], "");
    page.close("div");
}
