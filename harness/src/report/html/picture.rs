//! Draws the conversation as a picture: a lane for each client, one for the host and one for its agent, with
//! time running downwards. For a screen reader, the picture is a list of sentences.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::super::conversation::{AGENT, ConversationLine, LineDirection, LineRole};
use super::page::HtmlPage;
use crate::wire::foreign_text::ForeignText;

/// The frames that the page already shows.
#[derive(Default)]
pub(super) struct ShownFrames {
    /// The text of each frame, with the line of `run.jsonl` at which the page shows it.
    texts: BTreeMap<ForeignText, u64>,
    /// The lines that have an anchor.
    lines: BTreeSet<u64>,
}
/// The minimum length of a repeated frame that is replaced by a link, in bytes. Shorter frames are repeated, because
/// they are easier to read without following a link.
const REPEATED: usize = 40;

/// Draws the rows of a conversation, and collapses consecutive rows without evidence. `of` distinguishes the names in
/// this picture from those of other pictures on the page, and `shown` contains the frames that the page already shows.
pub(super) fn conversation(
    page: &mut HtmlPage,
    rows: &[ConversationLine],
    left_out: u64,
    of: &str,
    shown: &mut ShownFrames,
) {
    if rows.is_empty() {
        return;
    }
    page.open("details", &[("class", "talk")]);
    let left = match left_out {
        0 => String::new(),
        more => format!(" ({more} lines are only in run.jsonl)"),
    };
    page.element("summary", &[], &format!("The conversation, {} lines{left}", rows.len()));
    let lanes = LaneOrder::of(rows);
    drawn(page, rows, &lanes, of, Some(shown));
    page.close("details");
}

/// Draws every row with an anchor and with the attributes for the filters.
pub(super) fn all_lanes(page: &mut HtmlPage, rows: &[ConversationLine], of: &str) {
    let lanes = LaneOrder { tagged: true, ..LaneOrder::of(rows) };
    drawn(page, rows, &lanes, of, None);
}

/// Draws the picture.
fn drawn(
    page: &mut HtmlPage,
    rows: &[ConversationLine],
    lanes: &LaneOrder<'_>,
    of: &str,
    mut shown: Option<&mut ShownFrames>,
) {
    let count = format!("--lanes:{}", lanes.count());
    page.open(
        "div",
        &[
            ("class", "lanes"),
            ("tabindex", "0"),
            ("role", "region"),
            ("aria-label", &format!("Conversation: {of}")),
        ],
    );
    page.open("div", &[("class", "names"), ("style", &count), ("aria-hidden", "true")]);
    // The column with the line numbers has no heading.
    for name in std::iter::once("").chain(lanes.names()) {
        page.element("span", &[], name);
    }
    page.close("div");
    page.open("ol", &[("style", &count)]);
    let folded = |row: &ConversationLine| row.role == LineRole::Beside;
    for group in rows.chunk_by(|a, b| folded(a) == folded(b)) {
        let fold = !lanes.tagged && group.len() > 2 && group.first().is_some_and(folded);
        if fold {
            page.open("li", &[("class", "fold")]);
            page.open("details", &[]);
            page.element("summary", &[], &format!("{} more lines", group.len()));
            page.open("ol", &[]);
        }
        for row in group {
            message(page, row, lanes, shown.as_deref_mut());
        }
        if fold {
            page.close("ol");
            page.close("details");
            page.close("li");
        }
    }
    page.close("ol");
    page.close("div");
}

/// The lanes, from left to right.
struct LaneOrder<'a> {
    clients: Vec<&'a str>,
    agent: bool,
    /// Whether rows have anchors and the attributes for the filters.
    tagged: bool,
}

impl<'a> LaneOrder<'a> {
    fn of(rows: &'a [ConversationLine]) -> LaneOrder<'a> {
        let names = rows.iter().map(|row| row.client.as_str());
        let mut clients: Vec<&str> =
            names.filter(|name| *name != AGENT && !name.is_empty()).collect();
        clients.sort_unstable();
        clients.dedup();
        LaneOrder { clients, agent: rows.iter().any(|row| row.client == AGENT), tagged: false }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let agent = self.agent.then_some(AGENT);
        self.clients.iter().copied().chain(["host"]).chain(agent)
    }

    fn count(&self) -> usize {
        self.names().count()
    }

    /// Returns the lane of a name, from 1.
    fn lane(&self, name: &str) -> usize {
        self.names().position(|lane| lane == name).unwrap_or(self.clients.len()) + 1
    }
}

fn message(
    page: &mut HtmlPage,
    row: &ConversationLine,
    lanes: &LaneOrder<'_>,
    shown: Option<&mut ShownFrames>,
) {
    let host = lanes.clients.len() + 1;
    let own = lanes.lane(&row.client);
    let class = match (row.way, row.client == AGENT) {
        (LineDirection::Across, _) => "across",
        // These messages run from left to right: from a client to the host, or from the host to its agent.
        (LineDirection::Out, false) | (LineDirection::In, true) => "right",
        (LineDirection::In, false) | (LineDirection::Out, true) => "left",
    };
    let role = match row.role {
        LineRole::Proof => " proof",
        LineRole::Sent => " sent",
        LineRole::Beside => "",
    };
    let (from, to) = match row.way {
        LineDirection::Across => (own, own),
        _ => (own.min(host), own.max(host)),
    };
    let (class, channel) = (format!("{class}{role}"), row.channel.line());
    let id = format!("l-{}", row.line);
    let attributes: [(&'static str, &str); 4] = [
        ("class", class.as_str()),
        ("id", &id),
        ("data-client", &row.client),
        ("data-channel", &channel),
    ];
    page.open("li", if lanes.tagged { &attributes[..] } else { &attributes[..1] });
    let time = format!("{:.3} s", row.at_us as f64 / 1e6);
    page.open("span", &[("class", "when"), ("title", &time)]);
    page.text(&row.line.to_string());
    page.close("span");
    let place = format!("grid-column:{}/{}", from + 1, to + 2);
    page.open("div", &[("class", "arrow"), ("style", &place)]);
    let client = if row.client.is_empty() { "host" } else { &row.client };
    let who = match row.way {
        LineDirection::Out => format!("{client} to host: "),
        LineDirection::In => format!("host to {client}: "),
        LineDirection::Across => format!("{client}: "),
    };
    let answers = row.answers.map(|line| format!(", answers line {line}")).unwrap_or_default();
    let show = shown.map_or(FrameDisplay::Plain, |shown| display(shown, row));
    if row.text.is_empty() {
        page.element("span", &[("class", "hear")], &who);
        page.text(&format!("{}{answers}", row.what.line()));
    } else if let FrameDisplay::Link(line) = show {
        page.element("span", &[("class", "hear")], &who);
        page.text(&format!("{}{answers} ", row.what.line()));
        page.element("a", &[("href", &format!("#f-{line}"))], &format!("(same as line {line})"));
    } else {
        let id = format!("f-{}", row.line);
        let anchor = [("id", id.as_str())];
        let first = matches!(show, FrameDisplay::First);
        page.open("details", if first { &anchor } else { &[] });
        page.open("summary", &[]);
        page.element("span", &[("class", "hear")], &who);
        page.text(&row.what.line());
        page.element("span", &[("class", "hear")], &answers);
        page.close("summary");
        page.element(
            "pre",
            &[("tabindex", "0"), ("role", "group"), ("aria-label", "Frame")],
            &row.text.lines(),
        );
        page.close("details");
    }
    page.close("div");
    page.close("li");
}

/// How a picture shows a frame.
enum FrameDisplay {
    /// The page does not show the frame yet, and later frames may link to this one.
    First,
    /// The page already shows the frame, or the page has only one picture.
    Plain,
    /// The frame is replaced by a link to this line, at which the page already shows the frame.
    Link(u64),
}

/// Decides how to show a frame, and records the frame as shown.
fn display(shown: &mut ShownFrames, row: &ConversationLine) -> FrameDisplay {
    match shown.texts.entry(row.text.clone()) {
        Entry::Vacant(entry) => {
            entry.insert(row.line);
            // The line may already have an anchor, with a differently shortened frame in another picture; anchors are
            // unique.
            match shown.lines.insert(row.line) {
                true => FrameDisplay::First,
                false => FrameDisplay::Plain,
            }
        }
        Entry::Occupied(entry) if row.text.lines().len() >= REPEATED => {
            FrameDisplay::Link(*entry.get())
        }
        Entry::Occupied(_) => FrameDisplay::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, text: &str) -> ConversationLine {
        ConversationLine {
            line: number,
            at_us: 0,
            client: "A".to_owned(),
            way: LineDirection::In,
            what: "a frame".into(),
            channel: ForeignText::default(),
            text: text.into(),
            answers: None,
            role: LineRole::Beside,
        }
    }

    #[test]
    fn a_page_shows_a_long_frame_once_and_links_to_it() {
        let (long, mut shown) = ("x".repeat(REPEATED), ShownFrames::default());
        let mut page = HtmlPage::default();
        conversation(&mut page, &[line(3, &long), line(4, "{}")], 0, "one", &mut shown);
        conversation(
            &mut page,
            &[line(3, &long), line(9, &long), line(9, "{}")],
            0,
            "two",
            &mut shown,
        );
        let out = page.finish();
        assert_eq!(out.matches(&long).count(), 1, "{out}");
        assert_eq!(out.matches("id=\"f-3\"").count(), 1, "{out}");
        assert_eq!(out.matches("<a href=\"#f-3\">(same as line 3)</a>").count(), 2, "{out}");
        // A short frame is always written out.
        assert_eq!(out.matches("{}</pre>").count(), 2, "{out}");
    }
}
