//! Checks automations and their runs: legal life cycles, ordered times, consistent sessions, and a catalogue
//! that agrees with the runs.
//!
//! Knows: folded runs, the catalogue. Never knows: schedules.
//!
//! Start at [`AutomationChecks`].

use litemap::LiteMap;

use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::timestamp;
use crate::wire::trim::TrimType;

use crate::oracle::catalogue::Rule;
use crate::oracle::channel::ChannelId;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{by_text, given, list, repeated, repeated_text, text};
use crate::oracle::step::{ActionFolding, OracleStep};

/// The channel of the automations catalogue.
const CATALOGUE: &str = "ahp-automations://";
/// Upper bound for the changed runs that are remembered until the host is at rest.
const MAX_TOUCHED: usize = 1_024;
/// The legal next stages for each stage of a run. The last three rows are final stages, after which the stage of a run
/// no longer changes.
const FOLLOWS: [(&str, &[&str]); 5] = [
    ("pending", &["running", "failed", "cancelled"]),
    ("running", &["completed", "failed", "cancelled"]),
    ("completed", &[]),
    ("failed", &[]),
    ("cancelled", &[]),
];
/// The times of a run, in chronological order.
const TIMES: [&str; 3] = ["createdAt", "startedAt", "completedAt"];

/// The state that the checks of automations keep.
#[derive(Default)]
pub(super) struct AutomationChecks {
    /// The number of finished runs that the host keeps, as `initialize` states it.
    limit: Option<u64>,
    /// The runs that changed since the host was last at rest.
    touched: LiteMap<ChannelId, ()>,
}

impl CheckFamily for AutomationChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Answered { request, message } if request.method == "initialize" => {
                let offer = message.result().and_then(|result| given(result, "automations"));
                let limit = offer.and_then(|offer| offer.get("runHistoryLimit")?.as_u64());
                self.limit = limit.or(self.limit);
            }
            OracleStep::Snapshot { channel, kind, state, .. } => {
                self.snapshot(cx, *channel, *kind, state, out);
            }
            OracleStep::Folding(folding) => match folding.envelope.action_type {
                "automation/set" => self.set(cx, folding, out),
                name if name.starts_with("automationRun/") => self.run(cx, folding, out),
                _ => {}
            },
            OracleStep::Rest { .. } if !self.touched.is_empty() => self.rest(cx, out),
            OracleStep::Restarted | OracleStep::Gap => *self = AutomationChecks::default(),
            _ => {}
        }
    }
}

impl AutomationChecks {
    fn snapshot(
        &mut self,
        cx: &OracleContext,
        channel: ChannelId,
        kind: Option<ChannelKind>,
        state: &Value,
        out: &mut FindingSink,
    ) {
        let uri = cx.uri(channel);
        match kind {
            Some(ChannelKind::AutomationRun) => {
                times(uri, given(state, "lifecycle"), cx.now.line, out);
                sessions(uri, state, given(state, "primarySession"), &[cx.now.line], out);
            }
            Some(ChannelKind::Automations) => {
                list(state, "entries").iter().for_each(|it| self.entry(cx, it, cx.now.line, out));
            }
            _ => {}
        }
    }

    /// Judges a new entry of the catalogue of automations, and compares it with the entry that it replaces. Invariant
    /// L5.
    fn set(&self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let Some(entry) = given(folding.envelope.action, "automation") else {
            return;
        };
        self.entry(cx, entry, folding.line, out);
        let Some(fold) = cx.folded(folding.channel) else {
            return;
        };
        let mut entries = list(&fold.state, "entries").iter();
        let before = entries.find(|it| text(it, "resource") == text(entry, "resource"));
        let known = by_text(before.map_or(&[], |before| list(before, "runs")), "resource");
        for run in list(entry, "runs") {
            let uri = text(run, "resource").unwrap_or_default();
            let before = known.get(uri);
            let pair = before.and_then(|it| given(it, "lifecycle")).zip(given(run, "lifecycle"));
            if let Some((before, after)) = pair {
                let lines = fold.lines(folding.line);
                forward(uri, before, after, &lines, out);
            }
        }
    }

    /// Judges an action on a run. Invariant L5.
    fn run(&mut self, cx: &OracleContext, folding: &ActionFolding<'_>, out: &mut FindingSink) {
        let Some(fold) = cx.folded(folding.channel) else {
            return;
        };
        let action = folding.envelope.action;
        let uri = cx.uri(folding.channel);
        let lines = fold.lines(folding.line);
        match folding.envelope.name {
            "lifecycleChanged" => {
                times(uri, given(action, "lifecycle"), folding.line, out);
                let before = given(&fold.state, "lifecycle");
                if let Some((before, after)) = before.zip(given(action, "lifecycle")) {
                    forward(uri, before, after, &lines, out);
                }
            }
            "primarySessionChanged" => {
                sessions(uri, &fold.state, given(action, "primarySession"), &lines, out);
            }
            _ => {}
        }
        if self.touched.len() < MAX_TOUCHED {
            self.touched.insert(folding.channel, ());
        }
    }

    /// Judges an entry of the catalogue. An entry lists each run once, newest first and within the limit, and has one
    /// run for each scheduled occurrence. An entry has a `runCount` exactly if the automation has the condition
    /// `afterRuns`, which needs this count. Invariant L5.
    fn entry(&self, cx: &OracleContext, entry: &Value, line: u64, out: &mut FindingSink) {
        let uri = text(entry, "resource").unwrap_or_default();
        let runs = list(entry, "runs");
        let mut wrong = Vec::new();
        if let Some(twice) = repeated(runs, "resource") {
            wrong.push(format!("expected every run of `{uri}` once, found `{twice}` twice"));
        }
        let created = |run: &Value| timestamp::parse(text(given(run, "lifecycle")?, "createdAt")?);
        let created: Vec<i64> = runs.iter().filter_map(created).collect();
        if !created.is_sorted_by(|newer, older| newer >= older) {
            wrong.push(format!("expected the runs of `{uri}` newest first, found another order"));
        }
        let planned: Vec<String> = runs.iter().filter_map(occurrence).collect();
        if let Some(twice) = repeated_text(planned.iter().map(String::as_str)) {
            wrong.push(format!("expected one run of `{uri}` for {twice}, found two"));
        }
        let is_final = |run: &&Value| matches!(stage(run), "completed" | "failed" | "cancelled");
        let ended = runs.iter().filter(is_final).count();
        let limit = self.limit.and_then(|limit| usize::try_from(limit).ok());
        if let Some(limit) = limit.filter(|limit| ended > *limit) {
            wrong.push(format!("expected at most {limit} finished runs of `{uri}`, found {ended}"));
        }
        if !runs.is_empty() {
            out.seen(Rule::RunsListed);
        }
        for message in wrong {
            out.broken(Rule::RunsListed, message, &[line]);
        }
        let protocol = cx.here().and_then(|conn| conn.protocol);
        if !protocol.is_some_and(|it| it.has_member(TrimType::Named("AutomationEntry"), "runCount"))
        {
            return;
        }
        out.seen(Rule::RunCount);
        let definition = given(entry, "definition");
        let mut conditions = definition.map_or(&[][..], |it| list(it, "disableConditions")).iter();
        let counted = conditions.any(|condition| text(condition, "kind") == Some("afterRuns"));
        if definition.is_some() && counted != given(entry, "runCount").is_some() {
            let found = if counted { "none" } else { "one" };
            let message = format!(
                "expected a `runCount` of `{uri}` if and only if it has the condition `afterRuns`, \
                 found {found}"
            );
            out.broken(Rule::RunCount, message, &[line]);
        }
    }

    /// Judges, when the host is at rest, whether the catalogue agrees with the runs. Invariant L5.
    fn rest(&mut self, cx: &OracleContext, out: &mut FindingSink) {
        let touched = std::mem::take(&mut self.touched);
        let catalogue = cx.channels.find(CATALOGUE).and_then(|id| cx.followed(id));
        let Some(catalogue) = catalogue else {
            return;
        };
        let entries = list(&catalogue.state, "entries").iter();
        for summary in entries.flat_map(|entry| list(entry, "runs")) {
            let uri = text(summary, "resource").unwrap_or_default();
            let run = cx.channels.find(uri).filter(|run| touched.contains_key(run));
            let Some(run) = run.and_then(|run| cx.followed(run)) else {
                continue;
            };
            out.seen(Rule::RunsAgree);
            let count = summary.get("sessionCount").and_then(Value::as_u64);
            let own = list(&run.state, "sessions").len() as u64;
            let lines = [catalogue.base_line, catalogue.last_line, run.base_line, run.last_line];
            if stage(summary) != stage(&run.state) {
                let message = format!(
                    "expected the catalogue to list the run `{uri}` as `{}`, found `{}`",
                    stage(&run.state),
                    stage(summary)
                );
                out.broken(Rule::RunsAgree, message, &lines);
            } else if let Some(count) = count.filter(|count| *count != own) {
                let message = format!(
                    "expected {own} as the `sessionCount` of the run `{uri}` in the catalogue, \
                     found {count}"
                );
                out.broken(Rule::RunsAgree, message, &lines);
            }
        }
    }
}

/// Judges a change of a run's life cycle: the stage moves forward, and the time of creation stays the same.
/// Invariant L5.
fn forward(uri: &str, before: &Value, after: &Value, lines: &[u64], out: &mut FindingSink) {
    let Some((from, to)) = text(before, "status").zip(text(after, "status")) else {
        return;
    };
    out.seen(Rule::RunsForward);
    let next = FOLLOWS.iter().find(|(stage, _)| *stage == from).map(|(_, next)| *next);
    let known = FOLLOWS.iter().any(|(stage, _)| *stage == to);
    if known && from != to && next.is_some_and(|next| !next.contains(&to)) {
        let message = format!(
            "expected the run `{uri}` not to change from `{from}` to `{to}`, found that it did"
        );
        out.broken(Rule::RunsForward, message, lines);
    }
    let created = text(before, "createdAt").zip(text(after, "createdAt"));
    // Two different strings can denote the same point in time.
    let is_other = |(one, other): &(&str, &str)| {
        one != other && timestamp::parse(one).is_none_or(|it| Some(it) != timestamp::parse(other))
    };
    if let Some((one, other)) = created.filter(is_other) {
        let message =
            format!("expected `createdAt` of the run `{uri}` to stay {one}, found {other}");
        out.broken(Rule::RunsForward, message, lines);
    }
}

/// Judges the order of those times of a run that are present. Invariant L5.
fn times(uri: &str, lifecycle: Option<&Value>, line: u64, out: &mut FindingSink) {
    let Some(lifecycle) = lifecycle else {
        return;
    };
    out.seen(Rule::RunTimes);
    let told: Vec<i64> =
        TIMES.iter().filter_map(|name| timestamp::parse(text(lifecycle, name)?)).collect();
    if !told.is_sorted() {
        let message = format!(
            "expected the times of the run `{uri}` in the order created, started, completed, found \
             another order"
        );
        out.broken(Rule::RunTimes, message, &[line]);
    }
}

/// Judges the sessions of a run: each session occurs once, and the primary session is among them. Invariant L5.
fn sessions(uri: &str, run: &Value, primary: Option<&Value>, lines: &[u64], out: &mut FindingSink) {
    let all = list(run, "sessions");
    out.seen(Rule::RunSessions);
    if let Some(twice) = repeated_text(all.iter().filter_map(Value::as_str)) {
        let message = format!("expected every session of `{uri}` once, found `{twice}` twice");
        out.broken(Rule::RunSessions, message, lines);
    }
    if let Some(primary) = primary.filter(|primary| !all.contains(primary)) {
        let message =
            format!("expected the primary session of `{uri}` among its sessions, found {primary}");
        out.broken(Rule::RunSessions, message, lines);
    }
}

/// Returns the status of a run or of its summary; an empty string if there is no status.
fn stage(run: &Value) -> &str {
    given(run, "lifecycle").and_then(|lifecycle| text(lifecycle, "status")).unwrap_or_default()
}

/// Returns the trigger and the scheduled time of a run; `None` if the run was not scheduled.
fn occurrence(run: &Value) -> Option<String> {
    let origin = given(run, "origin")?;
    Some(format!("`{}` at {}", text(origin, "triggerId")?, text(origin, "scheduledFor")?))
}
