//! Injected faults in terminals: output, commands and exits.
//!
//! Knows: the actions of a terminal. Never knows: the checks that find a fault.

use super::FaultPart::{Host, Message};
use super::parts::RequestChange;
use crate::host::generic::{ActsAfterApplying, AltersAction, LiftsRules, OmitsActions};
use crate::host::injected::ActionStage::{Accepted, Published};
use crate::wire::json::json;

fault_table![
    TerminalListStale(
        "terminal-list-stale",
        "The root channel's list of terminals does not follow the states of the terminals.",
        Host(&AltersAction("root/terminalsChanged", |host, root, action| {
            let count = |list: Option<&Vec<_>>| list.map_or(0, Vec::len);
            let known = count(host.state(root)["terminals"].as_array());
            count(action["terminals"].as_array()) != known
        })),
    ),
    ShellSizeStays(
        "shell-size-stays",
        "The process in a terminal does not receive a new size.",
        Host(&LiftsRules(&["terminal.resize"])),
    ),
    LinesNotRun(
        "lines-not-run",
        "A line that is typed into a terminal is echoed but not run.",
        Host(&LiftsRules(&["terminal.input.forwarded"])),
    ),
    InputReversed(
        "input-reversed",
        "A line that is typed into a terminal is printed in reverse order.",
        Host(&ActsAfterApplying(Accepted, "terminal/input", |_, _, action| {
            let lines = action["data"].as_str().unwrap_or("").split_inclusive(['\r', '\n']);
            let backwards = |line: &str| {
                let text = line.trim_end_matches(['\r', '\n']);
                text.chars().rev().collect::<String>() + &line[text.len()..]
            };
            action["data"] = json!(lines.map(backwards).collect::<String>());
        })),
    ),
    CommandsOverlap(
        "commands-overlap",
        "Lines that are typed together start all of their commands before the first command finishes.",
        Host(&LiftsRules(&["terminal.command.no-nesting"])),
    ),
    CommandFinishesTwice(
        "command-finishes-twice",
        "Every command of a terminal finishes twice.",
        Host(&ActsAfterApplying(Published, "terminal/commandFinished", |host, uri, action| {
            host.publish_from(uri, action.clone(), None);
        })),
    ),
    CharactersCut(
        "characters-cut",
        "In the output of a terminal, U+FFFD replaces every character that is not ASCII.",
        Host(&AltersAction("terminal/data", |_, _, action| {
            let data = action["data"].as_str().unwrap_or("");
            action["data"] = json!(data.replace(|letter: char| !letter.is_ascii(), "\u{fffd}"));
            true
        })),
    ),
    ShellMarkersSent(
        "shell-markers-sent",
        "Output of a terminal contains the escape sequence that marks the start of a command's output.",
        Host(&AltersAction("terminal/data", |_, _, action| {
            let data = action["data"].as_str().unwrap_or("");
            action["data"] = json!(format!("\u{1b}]133;C\u{7}{data}"));
            true
        })),
    ),
    ScrollbackEndless(
        "scrollback-endless",
        "A terminal keeps its output without a limit.",
        Host(&OmitsActions(&["terminal/cleared"])),
    ),
    ExitsTwice(
        "exits-twice",
        "The process of a terminal exits twice.",
        Host(&ActsAfterApplying(Published, "terminal/exited", |host, uri, action| {
            host.publish_from(uri, action.clone(), None);
        })),
    ),
    TerminalFolderIgnored(
        "terminal-folder-ignored",
        "A terminal starts in the host's own folder instead of the requested folder.",
        Message(|| {
            Box::new(RequestChange("createTerminal", |_, params| {
                if params.get("cwd").is_some() {
                    params["cwd"] = json!("file:///host");
                }
            }))
        }),
    ),
];
