//! Writes the articles about failures, one per cause: what is wrong, the text of the protocol, the sent and
//! received messages, the command that reproduces the failure, the conversation, and the other places where the
//! cause was seen.

use std::cell::RefCell;

use similar::{ChangeTag, TextDiff};

use super::super::cause::{BreachPlace, CauseFold, FailureCause, RuleBreach, SeenBy};
use super::super::command;
use super::super::conversation::{ConversationLine, LineDirection, LineRole, about};
use super::super::excerpt::{cut, members_of, path_in};
use super::super::finished::{FinishedCase, FinishedRun};
use super::super::first;
use super::super::grouped::grouped;
use super::super::rule_quotes::RuleQuotes;
use super::super::spec_page;
use super::super::summary::{self, word};
use super::page::HtmlPage;
use super::picture::{self, ShownFrames};
use super::tag;
use crate::verdict::Status;
use crate::wire::foreign_text::ForeignText;

/// The maximum number of causes in the list at the top.
const FIRST: usize = 10;
/// The maximum number of breaches in an article. `PLACES` is the maximum number of places that are listed for a breach.
const BREACHES: usize = 60;
const PLACES: usize = 30;
/// The maximum length of a state difference, in bytes.
const DIFF: usize = 4_000;
/// The number of lines of a scenario's text shown before and after the failed line.
const LINES: usize = 8;

/// The failures of a run, with anchors for links.
pub(super) struct FailureArticles<'a> {
    run: &'a FinishedRun,
    causes: Vec<FailureCause<'a>>,
    shown: RefCell<ShownFrames>,
}

impl<'a> FailureArticles<'a> {
    pub(super) fn of(run: &'a FinishedRun, causes: &'a CauseFold) -> FailureArticles<'a> {
        FailureArticles { run, causes: causes.by_cause(), shown: RefCell::default() }
    }

    /// Returns the anchor of the cause that breaks a requirement or check.
    pub(super) fn anchor_of(&self, id: &str) -> Option<String> {
        let broken = |breach: &&RuleBreach| {
            breach.id.rule == id
                || breach.check.as_deref() == Some(id)
                || breach.others.iter().any(|other| other == id)
        };
        let mut places = (0..).zip(&self.causes);
        places.find(|(_, cause)| cause.breaches.iter().any(broken)).map(|(n, _)| anchor(n))
    }

    fn of_status(&self, wanted: &'a [Status]) -> impl Iterator<Item = (usize, &FailureCause<'a>)> {
        (0..).zip(&self.causes).filter(|(_, cause)| wanted.contains(&cause.status()))
    }

    /// Writes the list of the first causes, each with a link.
    pub(super) fn first(&self, page: &mut HtmlPage) {
        let broken = self.of_status(&[Status::Fail, Status::Warn]);
        let shown: Vec<_> = broken.take(FIRST).collect();
        if shown.is_empty() {
            return;
        }
        page.element("h2", &[("id", "first")], "Fix these first");
        page.open("ol", &[("class", "first")]);
        for (number, cause) in shown {
            let Some(place) = cause.shown() else { continue };
            page.open("li", &[]);
            tag(page, cause.status().word());
            page.text(" ");
            page.element("a", &[("href", &format!("#{}", anchor(number)))], &first::name(cause));
            page.element("span", &[("class", "small")], &format!(" {}", counted(cause)));
            page.open("div", &[("class", "small")]);
            with_code(page, &cut(&place.message.line(), 300));
            page.close("div");
            page.close("li");
        }
        page.close("ol");
    }

    /// Writes an article for each cause that breaks a MUST or an essential rule.
    pub(super) fn broken(&self, page: &mut HtmlPage) {
        let shown: Vec<_> = self.of_status(&[Status::Fail, Status::Known]).collect();
        if shown.is_empty() {
            return;
        }
        let text = format!("Broken rules, by cause: {}", shown.len());
        page.element("h2", &[("id", "broken")], &text);
        for (number, cause) in shown {
            page.open("article", &[("id", &anchor(number))]);
            self.cause(page, cause, "h3");
            page.close("article");
        }
    }

    /// Writes a collapsed article for each cause that breaks only a SHOULD.
    pub(super) fn warned(&self, page: &mut HtmlPage) {
        let shown: Vec<_> = self.of_status(&[Status::Warn]).collect();
        if shown.is_empty() {
            return;
        }
        let text = format!("Rules that should hold and do not, by cause: {}", shown.len());
        page.element("h2", &[("id", "warned")], &text);
        for (number, cause) in shown {
            page.open("details", &[("id", &anchor(number)), ("class", "cause")]);
            page.open("summary", &[]);
            tag(page, cause.status().word());
            page.text(&format!(" {}", first::name(cause)));
            page.element("span", &[("class", "small")], &format!(" {}", counted(cause)));
            page.close("summary");
            self.cause(page, cause, "h3");
            page.close("details");
        }
    }

    /// Writes one line for each reason why a requirement could not be tested or a scenario was not judged.
    pub(super) fn untested(&self, page: &mut HtmlPage) {
        let shown: Vec<_> = self.of_status(&[Status::Error, Status::Untested]).collect();
        if shown.is_empty() {
            return;
        }
        let text = format!("Could not be tested, by reason: {}", shown.len());
        page.element("h2", &[("id", "untested")], &text);
        page.element(
            "p",
            &[("class", "small")],
            "A preparing step failed, and the claims that depend on it were not tested; or the run \
             ended before the scenario was judged. No rule was found broken.",
        );
        self.lines(page, &shown);
    }

    /// Writes one line for each cause that breaks only rules that the specification leaves open.
    pub(super) fn noted(&self, page: &mut HtmlPage) {
        let shown: Vec<_> = self.of_status(&[Status::Note]).collect();
        if shown.is_empty() {
            return;
        }
        page.open("details", &[("id", "noted")]);
        let text = format!("Noted, by cause: {} (the protocol leaves these open)", shown.len());
        page.element("summary", &[], &text);
        self.lines(page, &shown);
        page.close("details");
    }

    fn lines(&self, page: &mut HtmlPage, shown: &[(usize, &FailureCause<'_>)]) {
        page.open("ul", &[("class", "places")]);
        for (number, cause) in shown {
            let Some((breach, place)) = cause.worst().zip(cause.shown()) else { continue };
            page.open("li", &[("id", &anchor(*number))]);
            let named = matches!(breach.id.seen_by, SeenBy::Step | SeenBy::Check);
            if named {
                page.element("code", &[], &first::name(cause));
                page.text(": ");
            }
            with_code(page, &cut(&place.message.line(), 300));
            page.element("span", &[("class", "small")], &format!(" {}", counted(cause)));
            self.again(page, place);
            page.close("li");
        }
        page.close("ul");
    }

    fn case(&self, number: u32) -> Option<&'a FinishedCase> {
        self.run.cases.iter().find(|case| case.report.case == number)
    }

    fn cause(&self, page: &mut HtmlPage, cause: &FailureCause<'_>, heading: &'static str) {
        let Some((breach, place)) = cause.worst().zip(cause.shown()) else { return };
        let case = self.case(place.case);
        page.open(heading, &[]);
        tag(page, cause.status().word());
        page.text(" ");
        page.element("code", &[], &first::name(cause));
        page.close(heading);
        page.open("p", &[("class", "wrong")]);
        with_code(page, &sentence(&place.message.line()));
        page.close("p");
        page.open("p", &[("class", "small")]);
        page.text(&format!("{} · ", counted(cause)));
        page.element("code", &[("class", "id")], &breach.id.to_string());
        page.close("p");
        self.rule(page, breach, case);
        let above = case.map(|case| exchange(page, case, place)).unwrap_or_default();
        difference(page, place);
        if !place.also.is_empty() {
            page.element("p", &[("class", "small")], "About the same frame:");
            page.open("ul", &[("class", "places")]);
            for (check, message) in &place.also {
                page.open("li", &[]);
                page.element("code", &[], check);
                page.text(&format!(": {}", message.lines()));
                page.close("li");
            }
            page.close("ul");
        }
        self.again(page, place);
        if let Some(case) = case {
            source(page, case, place);
            let mut rows = about(&case.frames, &place.transcript);
            // The article already shows these frames above the conversation, so the conversation does not repeat them.
            for row in rows.iter_mut().filter(|row| above.contains(&row.line)) {
                row.text = ForeignText::default();
                row.what = format!("{}, shown above", row.what.line()).into();
            }
            let left_out = case.left_out + (case.frames.len() - rows.len()) as u64;
            let of = first::name(cause);
            picture::conversation(page, &rows, left_out, &of, &mut self.shown.borrow_mut());
        }
        elsewhere(page, cause);
    }

    /// Writes the text of the broken rule.
    fn rule(&self, page: &mut HtmlPage, breach: &RuleBreach, case: Option<&FinishedCase>) {
        let own = case.and_then(|case| case.report.own.iter().find(|it| it.id == breach.id.rule));
        page.open("p", &[("class", "rule")]);
        page.element("b", &[], "The protocol says ");
        let check = breach.check.as_deref().and_then(summary::row);
        let quotes = RuleQuotes::of_run(&self.run.header);
        let of_check =
            check.and_then(|row| row.requirements.first()).and_then(|id| quotes.requirement(id));
        match (quotes.requirement(&breach.id.rule).or(of_check), own, check) {
            (_, Some(own), _) => {
                page.text(&format!("({}, your own) {}", word(own.weight), own.text))
            }
            (Some(rule), None, _) => {
                page.text(&format!("({}) {} ", rule.standing, rule.statement));
                let rule = rule.row;
                match spec_page::address(rule.source) {
                    Some(address) => {
                        page.element(
                            "a",
                            &[("href", &address), ("rel", "noreferrer")],
                            rule.source,
                        );
                    }
                    None => page.element("cite", &[], rule.source),
                }
                if let Some(argument) = rule.argument {
                    page.element(
                        "span",
                        &[("class", "small")],
                        &format!(" Why it has this weight: {argument}"),
                    );
                }
            }
            (None, None, Some(row)) => {
                page.text(&format!("({}) {}", word(row.weight), quotes.text(row.doc)));
            }
            (None, None, None) => page.text("nothing: this breaks no requirement."),
        }
        page.close("p");
    }

    /// Writes the command that reproduces the breach.
    fn again(&self, page: &mut HtmlPage, place: &BreachPlace) {
        let seed = self.case(place.case).and_then(|case| case.seed);
        let command =
            command::again(&self.run.header, &place.scenario, place.provider.as_deref(), seed);
        page.open(
            "pre",
            &[("class", "again"), ("tabindex", "0"), ("role", "group"), ("aria-label", "Command")],
        );
        page.element("code", &[], &command);
        page.close("pre");
    }
}

fn anchor(number: usize) -> String {
    format!("cause-{}", number + 1)
}

fn counted(cause: &FailureCause<'_>) -> String {
    let (times, scenarios) = (cause.times(), cause.scenarios().len());
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    format!("{times} time{} in {scenarios} scenario{}", plural(times), plural(scenarios as u64))
}

/// The maximum length of a name between backticks, in characters. Longer names are shortened in the middle.
const LONG: usize = 44;

/// Writes text in which the parts between backticks become code, and long names are shortened in the middle.
pub(super) fn with_code(page: &mut HtmlPage, text: &str) {
    for (place, part) in text.split('`').enumerate() {
        if place % 2 == 0 {
            page.text(part);
            continue;
        }
        let letters: Vec<char> = part.chars().collect();
        let short = match letters.len() {
            0..=LONG => part.to_owned(),
            all => {
                let start: String = letters[..LONG / 2].iter().collect();
                let end: String = letters[all - LONG / 4..].iter().collect();
                format!("{start}…{end}")
            }
        };
        page.element("code", &[("title", part)], &short);
    }
}

/// Formats a message as a sentence.
fn sentence(message: &str) -> String {
    let message = cut(message, 260);
    let mut letters = message.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

/// Writes the message that was sent and the reaction to it. Returns the lines of both.
fn exchange(page: &mut HtmlPage, case: &FinishedCase, place: &BreachPlace) -> Vec<u64> {
    let decisive = place.transcript.last();
    let row = |line: u64| case.frames.iter().find(|row| row.line == line);
    let Some(came) = decisive.and_then(|line| row(*line)) else { return Vec::new() };
    let before = || {
        let before = case.frames.iter().filter(|row| row.line < came.line).rev();
        let mut sent = before.filter(|row| row.role == LineRole::Sent && row.client == came.client);
        sent.next()
    };
    let answered = place.transcript.iter().rev().find_map(|line| row(*line)?.answers);
    let sent = answered.and_then(row).or_else(before);
    page.open("div", &[("class", "two")]);
    let nothing = place.message.raw().contains("nothing came");
    let asked = if answered.is_some() { "Sent" } else { "Last sent" };
    for (name, row) in [(asked, sent), (if nothing { "Last seen" } else { "Came" }, Some(came))] {
        let Some(row) = row else { continue };
        page.open("div", &[]);
        let towards = match row.way {
            LineDirection::Out => format!("by {}", row.client),
            LineDirection::In => format!("to {}", row.client),
            LineDirection::Across => row.client.clone(),
        };
        page.element(
            "b",
            &[],
            &format!("{name} {towards}, line {}: {}", row.line, row.what.line()),
        );
        frame(page, row, place);
        page.close("div");
    }
    page.close("div");
    sent.into_iter().chain([came]).map(|row| row.line).collect()
}

fn frame(page: &mut HtmlPage, row: &ConversationLine, place: &BreachPlace) {
    if row.text.is_empty() {
        return;
    }
    let message = place.message.line();
    let last = path_in(&message).map(members_of).and_then(|mut all| all.pop());
    let key = last.map(|name| format!("\"{name}\":"));
    page.open("pre", &[("tabindex", "0"), ("role", "group"), ("aria-label", "Frame")]);
    for line in row.text.lines().split_inclusive('\n') {
        match key.as_ref().is_some_and(|key| line.trim_start().starts_with(key.as_str())) {
            true => page.element("mark", &[], line),
            false => page.text(line),
        }
    }
    page.close("pre");
}

/// Writes the difference between the states, or the expected and the found value with the differing words
/// marked.
fn difference(page: &mut HtmlPage, place: &BreachPlace) {
    if let Some(diff) = &place.diff {
        page.open(
            "pre",
            &[
                ("class", "diff"),
                ("tabindex", "0"),
                ("role", "group"),
                ("aria-label", "Difference"),
            ],
        );
        for line in cut(&diff.lines(), DIFF).split_inclusive('\n') {
            match line.as_bytes().first() {
                Some(b'-') => page.element("del", &[], line),
                Some(b'+') => page.element("ins", &[], line),
                _ => page.text(line),
            }
        }
        page.close("pre");
        return;
    }
    let message = place.message.line();
    let Some((expected, found)) = message.split_once("expected ").and_then(|(_, rest)| {
        let rest = rest.rsplit_once(" (client ").map_or(rest, |(rest, _)| rest);
        rest.split_once(", found ")
    }) else {
        return;
    };
    let diff = TextDiff::from_words(expected, found);
    page.open("div", &[("class", "two diff")]);
    for (name, side, element) in
        [("Expected", ChangeTag::Delete, "del"), ("Found", ChangeTag::Insert, "ins")]
    {
        page.open("div", &[]);
        page.element("b", &[], name);
        for change in diff.iter_all_changes() {
            match change.tag() {
                ChangeTag::Equal => page.text(change.value()),
                tag if tag == side => page.element(element, &[], change.value()),
                _ => {}
            }
        }
        page.close("div");
    }
    page.close("div");
}

/// Writes the scenario's text with the failed line marked.
fn source(page: &mut HtmlPage, case: &FinishedCase, place: &BreachPlace) {
    let BreachPlace { file, line, .. } = place;
    let Some(source) = case.sources.iter().find(|source| source.name == *file) else { return };
    page.open("details", &[]);
    page.element("summary", &[], &format!("The step: {file}:{line}"));
    page.open("pre", &[("tabindex", "0"), ("role", "group"), ("aria-label", "Scenario")]);
    let first = line.saturating_sub(LINES + 1);
    for (number, text) in (1..).zip(source.text.lines()).skip(first).take(2 * LINES + 1) {
        let here = if number == *line { "here" } else { "" };
        page.element("span", &[("class", here)], &format!("{number:>4}  {text}\n"));
    }
    page.close("pre");
    page.close("details");
}

/// Writes a collapsed section with the other rules that the cause breaks and the other places where it was seen.
fn elsewhere(page: &mut HtmlPage, cause: &FailureCause<'_>) {
    let all: usize = cause.breaches.iter().map(|breach| breach.places.len()).sum();
    if all < 2 {
        return;
    }
    page.open("details", &[]);
    page.element("summary", &[], &format!("{} more places", all - 1));
    page.open("ul", &[("class", "places")]);
    let mut first = true;
    let lines = cause.breaches.iter().take(BREACHES).filter_map(|breach| {
        let skipped = usize::from(std::mem::take(&mut first));
        let places = breach.places.get(skipped..).filter(|places| !places.is_empty())?;
        let mut names: Vec<&str> = places.iter().map(|place| place.scenario.as_str()).collect();
        names.dedup();
        let more = names.len().saturating_sub(PLACES);
        names.truncate(PLACES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!(" ({}) in {}{more}", breach.status.word(), names.join(", "));
        Some(((breach.id.rule.as_str(), text), ()))
    });
    // Several breaches of one rule may have the same places, which are written once.
    for ((rule, text), all) in grouped(lines) {
        page.open("li", &[]);
        page.element("code", &[], rule);
        page.text(&text);
        if all.len() > 1 {
            page.text(&format!(", {} times", all.len()));
        }
        page.close("li");
    }
    if cause.breaches.len() > BREACHES {
        page.element("li", &[], &format!("{} more breaches", cause.breaches.len() - BREACHES));
    }
    page.close("ul");
    page.close("details");
}
