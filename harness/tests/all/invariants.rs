//! `docs/invariants.md` lists every always-on check of hosts and of clients under the invariant that it
//! implements.
//!
//! `UPDATE=1 cargo test --test all invariants::` writes the file again.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ahp_harness::oracle::{CheckRow, JudgedParty, checks_of};
use ahp_harness::wire::version::ProtocolStandard;

/// The groups of invariants, by the letters in their names.
const GROUPS: [(char, &str); 16] = [
    ('A', "Frames, envelopes and their order"),
    ('B', "Requests and responses"),
    ('C', "Dispatch, echo and rejection"),
    ('D', "State"),
    ('E', "Turns"),
    ('F', "Tool calls"),
    ('G', "Status"),
    ('H', "Input requests and confirmations"),
    ('I', "Lists of sessions and chats"),
    ('J', "Pending messages"),
    ('K', "Terminals"),
    ('L', "Progress, changesets, annotations, automations, files, telemetry"),
    ('M', "Reconnecting"),
    ('N', "Between a host and its agent"),
    ('O', "Handshake"),
    ('P', "What clients send"),
];

/// Returns the checks of hosts and of clients.
fn checks() -> impl Iterator<Item = &'static CheckRow> {
    let parties = [JudgedParty::Server, JudgedParty::Clients];
    parties.into_iter().flat_map(|party| checks_of(ProtocolStandard::Ahp, party))
}

const HEAD: &str = "# Invariants\n\n\
    An invariant is a rule that holds in every conversation. Each is implemented by one or more always-on checks of the \
    oracle, which look at every frame of every scenario, capture and campaign. Comments in the code cite an invariant by its \
    letter and number. `ahp-harness explain NAME` shows the requirements of a check and the faults that break it.\n\n\
    This file is made from `harness/core/src/oracle/catalogue.rs` and `harness/core/src/oracle/clients/catalogue.rs`.\n";

fn page() -> String {
    let mut out = HEAD.to_owned();
    for (letter, title) in GROUPS {
        let _ = write!(
            out,
            "\n## {letter}. {title}\n\n| | check | weight | rule |\n|---|---|---|---|\n"
        );
        let mut rows: Vec<_> = checks().filter(|row| row.invariant.starts_with(letter)).collect();
        rows.sort_by_key(|row| row.invariant[1..].parse::<u32>().unwrap());
        for row in rows {
            let weight = format!("{:?}", row.weight).to_lowercase();
            let open = row.open.map(|text| format!(" Open: {text}")).unwrap_or_default();
            let text = format!("{}{open}", row.doc).replace('|', "\\|").replace('\n', " ");
            let _ = writeln!(out, "| {} | `{}` | {weight} | {text} |", row.invariant, row.id);
        }
    }
    out
}

#[test]
fn the_page_lists_every_check() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/invariants.md");
    let page = page();
    let listed = checks().filter(|row| page.contains(&format!("| `{}` |", row.id))).count();
    assert_eq!(listed, checks().count(), "a check has an invariant of no group");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == page,
        "docs/invariants.md is out of date: UPDATE=1 cargo test --test all invariants::"
    );
}
