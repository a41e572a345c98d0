//! Checks terminals: commands start and finish in pairs, a terminal exits once, its output is clean, and the
//! list in the root state agrees with the terminal.
//!
//! The record of a terminal begins with its state and is updated by its actions, so the cost of a frame does not grow
//! with the earlier output. The comparison of snapshots judges whether all observers have the same output; either state
//! may lack the oldest output.
//!
//! Knows: folded terminals and the root. Never knows: the meaning of output.
//!
//! Start at [`TerminalChecks`].

use crate::transcript::ConnId;
use crate::verdict::Weight;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};
use crate::wire::trim::TrimType;

use crate::oracle::asking::replaced;
use crate::oracle::budget::short;
use crate::oracle::catalogue::Rule;
use crate::oracle::channel::{ChannelFold, ChannelId};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::ConnectionRecord;
use crate::oracle::context::OracleContext;
use crate::oracle::envelope::target;
use crate::oracle::members::{given, list, repeated_text, text};
use crate::oracle::memory::ChatMemory;
use crate::oracle::same::same;
use crate::oracle::step::{ActionFolding, OracleStep};

/// Upper bound for the commands of one terminal that are remembered. Above this bound, finished commands are
/// dropped.
const MAX_COMMANDS: usize = 1_024;
/// Upper bound for the created terminals, and for the refused subscriptions, that are kept until the host is at
/// rest.
const MAX_WAITING: usize = 1_024;
/// The two spellings of the start of an operating system command (OSC): a sequence of two characters, or one
/// character.
const BEGINNINGS: [&str; 2] = ["\u{1b}]", "\u{9d}"];
/// The OSC sequences with which shells report to editors. The numbers 133 and 633 have no other use; 1337 also
/// has other purposes, such as images.
const MARKERS: [&str; 6] = [
    "133;",
    "633;",
    "1337;CurrentDir=",
    "1337;RemoteHost=",
    "1337;SetMark",
    "1337;ShellIntegrationVersion=",
];
/// The replacement character for bytes that are not UTF-8.
const REPLACEMENT: char = '\u{fffd}';
/// The members of a terminal that the list in the root state repeats. Older versions have `exitCode` instead of
/// a lifecycle.
const LISTED: [&str; 4] = ["title", "claim", "lifecycle", "exitCode"];

/// The records of terminals, and the changes since the host was last at rest.
#[derive(Default)]
pub(super) struct TerminalChecks {
    shells: ChatMemory<TerminalRecord>,
    /// Whether a terminal, or the list of terminals in the root state, has changed since the host was last at rest.
    touched: bool,
    /// The terminals created since the host was last at rest, each with the line of the host's answer and the
    /// connection that received the answer.
    made: Vec<(ChannelId, u64, ConnId)>,
    /// The terminals whose subscription was refused since the host was last at rest, each with the line of the
    /// refusal.
    refused: Vec<(ChannelId, u64)>,
}

/// The record of one terminal.
#[derive(Default)]
struct TerminalRecord {
    /// The line of the snapshot with which the record began.
    base: u64,
    /// The commands by id, each with the line of its end; 0 for a running command.
    commands: foldhash::HashMap<String, u64>,
    /// The id of the last command that has begun, if the command has not finished yet.
    open: Option<String>,
    /// Whether some commands of the terminal are missing in the record.
    forgets: bool,
    /// The line that proves the exit of the terminal.
    exited: Option<u64>,
    /// The last characters of the output, if a marker may have begun there.
    tail: String,
}

impl CheckFamily for TerminalChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Folding(folding) => match folding.envelope.action_type {
                "root/terminalsChanged" => self.touched = true,
                other if other.starts_with("terminal/") => self.fold(cx, folding, out),
                _ => {}
            },
            OracleStep::Snapshot { channel, state, .. } => flagged(cx, *channel, state, out),
            OracleStep::Answered { request, message } => match request.method.as_str() {
                "subscribe" => self.subscribed(cx, request.params(), message.error_code()),
                "createTerminal" if message.result().is_some() => {
                    self.made(cx, request.params());
                }
                _ => {}
            },
            OracleStep::Rest { .. } => self.rest(cx, out),
            OracleStep::Restarted | OracleStep::Gap => *self = TerminalChecks::default(),
            _ => {}
        }
    }
}

impl TerminalChecks {
    fn fold(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let name = folding.envelope.name;
        self.touched |= !matches!(name, "data" | "input");
        let Some(fold) = cx.folded(folding.channel) else {
            return;
        };
        let Some(shell) = self.shells.of(folding.channel, fold) else {
            return;
        };
        if shell.base != fold.base_line {
            shell.begin(fold);
        }
        let seen = TerminalAction { uri: cx.uri(folding.channel), folding, fold };
        shell.after_exit(&seen, out);
        match name {
            "data" => shell.printed(&seen, out),
            "commandExecuted" => shell.executed(&seen, out),
            "commandFinished" => shell.finished(&seen, out),
            "exited" => shell.exited = Some(folding.line),
            _ => {}
        }
    }

    /// Records a created terminal, and removes the record of an earlier terminal with the same URI.
    fn made(&mut self, cx: &OracleContext, params: &Value) {
        let channel = replaced("createTerminal", params).and_then(|(uri, _)| cx.channels.find(uri));
        let Some(channel) = channel else {
            return;
        };
        self.shells.forget(channel);
        self.touched = true;
        if self.made.len() < MAX_WAITING {
            self.made.push((channel, cx.now.line, cx.now.conn));
        }
    }

    /// Records a refused subscription to a listed terminal. Only the error for unknown resources is recorded,
    /// because other errors may concern permissions.
    fn subscribed(&mut self, cx: &OracleContext, params: &Value, code: Option<i64>) {
        let gone = code.is_some() && code == Some(ErrorName::NotFound.code());
        let uri = target(params).filter(|_| gone);
        let channel = uri.filter(|uri| is_listed(cx, uri)).and_then(|uri| cx.channels.find(uri));
        if let Some(channel) = channel.filter(|_| self.refused.len() < MAX_WAITING) {
            self.refused.push((channel, cx.now.line));
            self.touched = true;
        }
    }

    /// Compares the list of terminals in the root state with the terminals when the host is at rest. Invariant K4.
    fn rest(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        if !std::mem::take(&mut self.touched) {
            return;
        }
        let (made, refused) = (std::mem::take(&mut self.made), std::mem::take(&mut self.refused));
        let root = cx.channels.find(ROOT);
        let Some((root_id, root)) = root.and_then(|root| Some((root, cx.followed(root)?))) else {
            return;
        };
        let lines = [root.base_line, root.last_line];
        let mut listed = foldhash::HashSet::default();
        for entry in list(&root.state, "terminals") {
            let found = text(entry, "resource").and_then(|uri| cx.channels.find(uri));
            if let Some(channel) = found {
                listed.insert(channel);
                agrees(cx, entry, channel, lines, out);
            }
        }
        for (channel, line) in refused.into_iter().filter(|(channel, _)| listed.contains(channel)) {
            let message = format!(
                "expected the listed terminal `{}` to exist, found that the host does not know it",
                cx.uri(channel)
            );
            out.broken(Rule::TerminalsListed, message, &[lines[0], lines[1], line]);
        }
        for (channel, line, maker) in made {
            // If another connection received the answer that created the terminal, a later frame has to prove that the
            // connection with the list still receives frames.
            let listens = |(id, conn): (&ConnId, &ConnectionRecord)| {
                cx.covers(root_id, *id)
                    && (*id == maker || conn.last_any.is_some_and(|(_, last)| last > line))
            };
            if !cx.conns.iter().any(listens) {
                continue;
            }
            let disposed = cx.channel(channel).and_then(|channel| channel.disposed);
            if disposed.is_some_and(|disposed| disposed > line) {
                continue;
            }
            out.seen(Rule::TerminalsListed);
            if !listed.contains(&channel) {
                let message = format!(
                    "expected the new terminal `{}` in the root channel's list, found none",
                    cx.uri(channel)
                );
                out.broken(Rule::TerminalsListed, message, &[lines[0], lines[1], line]);
            }
        }
    }
}

/// An action, the state of its terminal, and the terminal's URI for messages.
struct TerminalAction<'a> {
    uri: &'a str,
    folding: &'a ActionFolding<'a>,
    fold: &'a ChannelFold,
}

impl TerminalAction<'_> {
    fn lines(&self) -> [u64; 3] {
        self.fold.lines(self.folding.line)
    }
}

impl TerminalRecord {
    /// Reads the commands and the exit of a new snapshot into the record.
    fn begin(&mut self, fold: &ChannelFold) {
        let first = std::mem::replace(&mut self.base, fold.base_line) == 0;
        let content = list(&fold.state, "content");
        // Output that was dropped may have included commands.
        self.forgets |= first && !content.is_empty();
        for command in commands(content) {
            let Some(id) = text(command, "commandId") else {
                continue;
            };
            self.forgets |= !self.commands.contains_key(&*short(id));
            let done = complete(command);
            self.remember(id, if done { fold.base_line } else { 0 });
            if !done {
                self.open = Some(short(id).into_owned());
            }
        }
        if self.exited.is_none() && exited(&fold.state) {
            self.exited = Some(fold.base_line);
        }
    }

    fn remember(&mut self, id: &str, end: u64) {
        if self.commands.len() >= MAX_COMMANDS {
            self.commands.retain(|_, end| *end == 0);
            self.forgets = true;
        }
        if self.commands.len() < MAX_COMMANDS {
            self.commands.insert(short(id).into_owned(), end);
        }
    }

    /// Judges an action on a terminal that has exited. Invariant K3.
    fn after_exit(&self, seen: &TerminalAction<'_>, out: &mut FindingSink) {
        let name = seen.folding.envelope.name;
        let weight = match name {
            "exited" => Weight::Essential,
            "data" | "commandExecuted" | "commandFinished" => Weight::Note,
            _ => return,
        };
        out.seen(Rule::ExitFinal);
        if let Some(line) = self.exited {
            let message = format!(
                "expected no `terminal/{name}` from `{}` after its exit, found one",
                seen.uri
            );
            out.weaker(Rule::ExitFinal, weight, message, &[line, seen.folding.line]);
        }
    }

    /// Judges the start of a command: its id is new, and the previous command has finished. Invariants K1 and
    /// K2.
    fn executed(&mut self, seen: &TerminalAction<'_>, out: &mut FindingSink) {
        let Some(id) = text(seen.folding.envelope.action, "commandId") else {
            return;
        };
        out.seen(Rule::CommandPairs);
        out.seen(Rule::OneCommand);
        if let Some(end) = self.commands.get(&*short(id)) {
            let message =
                format!("expected an unused command id on `{}`, found `{id}` again", seen.uri);
            let [base, _, line] = seen.lines();
            out.broken(Rule::CommandPairs, message, &[base, *end, line]);
        } else if let Some(open) = &self.open {
            let message = format!(
                "expected the command `{open}` of `{}` to finish before `{id}` begins, found both \
                 running",
                seen.uri
            );
            out.broken(Rule::OneCommand, message, &seen.lines());
        }
        self.remember(id, 0);
        self.open = Some(short(id).into_owned());
    }

    /// Judges the end of a command: the command is running. Invariant K1.
    fn finished(&mut self, seen: &TerminalAction<'_>, out: &mut FindingSink) {
        let Some(id) = text(seen.folding.envelope.action, "commandId") else {
            return;
        };
        out.seen(Rule::CommandPairs);
        let known = self.commands.get(&*short(id)).copied();
        let why = match known {
            Some(0) => None,
            Some(_) => Some("has finished"),
            None => Some("never began"),
        };
        if let Some(why) = why {
            let message = format!(
                "expected `terminal/commandFinished` on `{}` to name a running command, found \
                 `{id}`, which {why}",
                seen.uri
            );
            // The command may have begun in output that was dropped.
            let forgotten = known.is_none() && self.forgets;
            let weight = if forgotten { Weight::Note } else { Weight::Essential };
            let [base, last, line] = seen.lines();
            let end = known.unwrap_or(last);
            out.weaker(Rule::CommandPairs, weight, message, &[base, end, line]);
        }
        self.remember(id, seen.folding.line);
        if self.open.as_deref() == Some(&*short(id)) {
            self.open = None;
        }
    }

    /// Judges the output. The output of one action may end in the middle of a shell's marker, so the output of the next
    /// action continues it. Invariants K5 and K6.
    fn printed(&mut self, seen: &TerminalAction<'_>, out: &mut FindingSink) {
        let Some(data) = text(seen.folding.envelope.action, "data") else {
            return;
        };
        out.seen(Rule::WholeCharacters);
        out.seen(Rule::NoShellMarkers);
        let joined;
        let data = match std::mem::take(&mut self.tail) {
            tail if tail.is_empty() => data,
            tail => {
                joined = tail + data;
                &joined
            }
        };
        let line = seen.folding.line;
        if let Some(marker) = marker(data) {
            let message = format!(
                "expected the output of `{}` without the shell's escape sequences for editors, \
                 found `{marker}`",
                seen.uri
            );
            out.broken(Rule::NoShellMarkers, message, &[line]);
        }
        self.tail = beginning(data).to_owned();
        if data.contains(REPLACEMENT) {
            let message = format!(
                "expected only complete characters in the output of `{}`, found U+FFFD",
                seen.uri
            );
            out.broken(Rule::WholeCharacters, message, &[line]);
        }
    }
}

/// Judges the commands in a state: if there are commands, the terminal must declare that its shell reports commands,
/// and each command must have its own id. Invariant K1.
fn flagged(cx: &OracleContext, channel: ChannelId, state: &Value, out: &mut FindingSink) {
    let mut parts = commands(list(state, "content")).peekable();
    if parts.peek().is_none() {
        return;
    }
    out.seen(Rule::CommandPairs);
    let uri = cx.uri(channel);
    if state.get("supportsCommandDetection").and_then(Value::as_bool) != Some(true) {
        let message = format!(
            "expected `supportsCommandDetection` of `{uri}`, whose content has commands, to be \
             true, found that it is not"
        );
        out.broken(Rule::CommandPairs, message, &[cx.now.line]);
    }
    if let Some(id) = repeated_text(parts.filter_map(|part| text(part, "commandId"))) {
        let message = format!("expected every command of `{uri}` once, found `{id}` twice");
        out.broken(Rule::CommandPairs, message, &[cx.now.line]);
    }
}

/// Judges whether an entry in the list of terminals agrees with its terminal, and whether the terminal exists.
/// Invariant K4.
fn agrees(
    cx: &OracleContext,
    entry: &Value,
    channel: ChannelId,
    lines: [u64; 2],
    out: &mut FindingSink,
) {
    let uri = cx.uri(channel);
    if let Some(line) = cx.channel(channel).and_then(|channel| channel.disposed) {
        let message = format!(
            "expected the disposed terminal `{uri}` to be removed from the root channel's list, \
             found it there"
        );
        out.broken(Rule::TerminalsListed, message, &[lines[0], lines[1], line]);
        return;
    }
    let terminal = cx.followed(channel).filter(|fold| fold.kind == ChannelKind::Terminal);
    let Some(terminal) = terminal.filter(|_| both_follow(cx, channel)) else {
        return;
    };
    out.seen(Rule::TerminalsListed);
    for name in LISTED {
        let Some((listed, own)) = given(entry, name).zip(given(&terminal.state, name)) else {
            continue;
        };
        // Members that the tables do not define may occur only in the entry, or only in the terminal.
        let known = |value: &Value| {
            let mut state = json!({});
            state[name] = value.clone();
            terminal.protocol.canonical(TrimType::State(terminal.kind), &mut state);
            state
        };
        if !same(Some(&known(listed)), Some(&known(own))) {
            let message = format!(
                "expected `{name}` of `{uri}` in the root channel's list to equal the terminal's \
                 own, {own}, found {listed}"
            );
            let lines = [lines[0], lines[1], terminal.base_line, terminal.last_line];
            out.broken(Rule::TerminalsListed, message, &lines);
        }
    }
}

/// Returns whether one connection receives both the list and the terminal. On such a connection, both states belong to
/// the same moment, even if the connection has stopped receiving frames without being closed.
fn both_follow(cx: &OracleContext, terminal: ChannelId) -> bool {
    let subscribers = cx.channel(terminal).map_or(&[][..], |channel| &channel.subscribers);
    let root = cx.channels.find(ROOT);
    subscribers
        .iter()
        .any(|conn| cx.covers(terminal, *conn) && root.is_some_and(|root| cx.covers(root, *conn)))
}

fn is_listed(cx: &OracleContext, uri: &str) -> bool {
    let root = cx.channels.find(ROOT).and_then(|root| cx.folded(root));
    let terminals = root.map_or(&[][..], |root| list(&root.state, "terminals"));
    terminals.iter().any(|entry| text(entry, "resource") == Some(uri))
}

fn exited(terminal: &Value) -> bool {
    let status = given(terminal, "lifecycle").and_then(|lifecycle| text(lifecycle, "status"));
    status == Some("exited") || given(terminal, "exitCode").is_some()
}

fn commands(content: &[Value]) -> impl Iterator<Item = &Value> {
    content.iter().filter(|part| text(part, "type") == Some("command"))
}

fn complete(command: &Value) -> bool {
    command.get("isComplete").and_then(Value::as_bool) == Some(true)
}

/// Returns, for each start of an OSC sequence in the text, two slices: the rest of the text from the start on, and the
/// rest after the start.
fn sequences(data: &str) -> impl Iterator<Item = (&str, &str)> {
    BEGINNINGS.into_iter().flat_map(move |beginning| {
        data.match_indices(beginning).filter_map(move |(at, _)| {
            let from = data.get(at..)?;
            Some((from, from.strip_prefix(beginning)?))
        })
    })
}

/// Returns the first shell marker in the output.
fn marker(data: &str) -> Option<&'static str> {
    sequences(data)
        .find_map(|(_, rest)| MARKERS.into_iter().find(|marker| rest.starts_with(marker)))
}

/// Returns the last characters of the output from the point at which an incomplete marker may have begun; empty if
/// there is no such point.
fn beginning(data: &str) -> &str {
    if data.ends_with('\u{1b}') {
        return "\u{1b}";
    }
    let open = |rest: &str| MARKERS.into_iter().any(|marker| marker.starts_with(rest));
    sequences(data).find(|(_, rest)| open(rest)).map_or("", |(from, _)| from)
}

#[cfg(test)]
mod tests {
    use super::{beginning, marker};

    #[test]
    fn finds_shell_integration_sequences() {
        let check = |data: &str, found: Option<&str>, tail: &str| {
            assert_eq!((marker(data), beginning(data)), (found, tail), "{data:?}");
        };
        check("plain \u{1b}[31mred\u{1b}[0m", None, "");
        check("\u{1b}]0;title\u{7}", None, "");
        check("\u{1b}]1337;File=name\u{7}", None, "");
        check("a\u{1b}]133;A\u{7}b", Some("133;"), "");
        check("\u{9d}633;E;ls\u{7}", Some("633;"), "");
        check("x\u{1b}", None, "\u{1b}");
        check("x\u{1b}]13", None, "\u{1b}]13");
        check("x\u{1b}]1337;Cur", None, "\u{1b}]1337;Cur");
    }
}
