//! Faults in terminals: what they print, run and say of their ends.
//!
//! Knows: the actions of a terminal. Never knows: which check finds which fault.

use super::generic::{Adds, Alters, Lifts, Omits};
use super::{Fault, HostFaultRow};
use crate::wire::json::json;

pub(super) const FAULTS: &[HostFaultRow] = &[
    (
        Fault::TerminalListStale,
        &Alters("root/terminalsChanged", |host, root, action| {
            let count = |list: Option<&Vec<_>>| list.map_or(0, Vec::len);
            let known = count(host.state(root)["terminals"].as_array());
            count(action["terminals"].as_array()) != known
        }),
    ),
    (Fault::ShellSizeStays, &Lifts(&["terminal.resize"])),
    (Fault::LinesNotRun, &Lifts(&["terminal.input.forwarded"])),
    (Fault::CommandsOverlap, &Lifts(&["terminal.command.no-nesting"])),
    (
        Fault::CommandFinishesTwice,
        &Adds("terminal/commandFinished", |host, uri, action| {
            host.publish_from(uri, action.clone(), None);
        }),
    ),
    (
        Fault::CharactersCut,
        &Alters("terminal/data", |_, _, action| {
            let data = action["data"].as_str().unwrap_or("");
            action["data"] = json!(data.replace(|letter: char| !letter.is_ascii(), "\u{fffd}"));
            true
        }),
    ),
    (
        Fault::ShellMarkersSent,
        &Alters("terminal/data", |_, _, action| {
            let data = action["data"].as_str().unwrap_or("");
            action["data"] = json!(format!("\u{1b}]133;C\u{7}{data}"));
            true
        }),
    ),
    (Fault::ScrollbackEndless, &Omits(&["terminal/cleared"])),
    (
        Fault::ExitsTwice,
        &Adds("terminal/exited", |host, uri, action| {
            host.publish_from(uri, action.clone(), None);
        }),
    ),
];
