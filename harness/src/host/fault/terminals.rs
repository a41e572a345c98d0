//! Faults in terminals: what they print, run and say of their ends.
//!
//! Knows: the actions of a terminal. Never knows: which check finds which fault.

use super::generic::{AddsAfterAction, AltersAction, LiftsRules, OmitsActions};
use super::{Fault, HostFaultRow};
use crate::wire::json::json;

pub(super) const FAULTS: &[HostFaultRow] = &[
    (
        Fault::TerminalListStale,
        &AltersAction("root/terminalsChanged", |host, root, action| {
            let count = |list: Option<&Vec<_>>| list.map_or(0, Vec::len);
            let known = count(host.state(root)["terminals"].as_array());
            count(action["terminals"].as_array()) != known
        }),
    ),
    (Fault::ShellSizeStays, &LiftsRules(&["terminal.resize"])),
    (Fault::LinesNotRun, &LiftsRules(&["terminal.input.forwarded"])),
    (Fault::CommandsOverlap, &LiftsRules(&["terminal.command.no-nesting"])),
    (
        Fault::CommandFinishesTwice,
        &AddsAfterAction("terminal/commandFinished", |host, uri, action| {
            host.publish_from(uri, action.clone(), None);
        }),
    ),
    (
        Fault::CharactersCut,
        &AltersAction("terminal/data", |_, _, action| {
            let data = action["data"].as_str().unwrap_or("");
            action["data"] = json!(data.replace(|letter: char| !letter.is_ascii(), "\u{fffd}"));
            true
        }),
    ),
    (
        Fault::ShellMarkersSent,
        &AltersAction("terminal/data", |_, _, action| {
            let data = action["data"].as_str().unwrap_or("");
            action["data"] = json!(format!("\u{1b}]133;C\u{7}{data}"));
            true
        }),
    ),
    (Fault::ScrollbackEndless, &OmitsActions(&["terminal/cleared"])),
    (
        Fault::ExitsTwice,
        &AddsAfterAction("terminal/exited", |host, uri, action| {
            host.publish_from(uri, action.clone(), None);
        }),
    ),
];
