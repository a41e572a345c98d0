//! Checks the drafts of messages that clients keep in chats.
//!
//! Knows: dispatches, the states that clients have received. Never knows: a person's input.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::transcript::ConnId;
use crate::wire::json::Value;

use crate::oracle::channel::ChannelId;
use crate::oracle::check::FindingSink;
use crate::oracle::members::{given, text};
use crate::oracle::step::OracleStep;

use super::catalogue::Rule;
use super::{ClientFamily, ClientView, dispatched};

/// The highest permitted number of changes of one draft within [`SPAN`].
const MOST: usize = 20;
const SPAN: Duration = Duration::from_secs(1);
/// Upper bound for the drafts that are followed.
const MAX_DRAFTS: usize = 4_096;

/// The drafts of messages that clients keep, for all connections.
#[derive(Default)]
pub(super) struct DraftChecks {
    drafts: HashMap<(ConnId, ChannelId), ChatDraft>,
}

/// The draft of one connection in one chat.
#[derive(Default)]
struct ChatDraft {
    /// The times of the latest changes, each with its line.
    changes: VecDeque<(Duration, u64)>,
    /// Whether a finding has already reported the present series of frequent changes.
    told: bool,
    /// The text of the client's last draft.
    text: Option<String>,
    /// The line and the time at which a turn began whose message has the text of the draft.
    sent: Option<(u64, Duration)>,
}

impl ClientFamily for DraftChecks {
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink) {
        let conn = view.cx.now.conn;
        match step {
            OracleStep::Dispatched { .. } => {
                let Some(sent) = dispatched(step) else { return };
                let key = (conn, sent.channel);
                if self.drafts.len() >= MAX_DRAFTS && !self.drafts.contains_key(&key) {
                    return;
                }
                match sent.name {
                    "draftChanged" => {
                        let draft = self.drafts.entry(key).or_default();
                        draft.changed(view, sent.action, out);
                    }
                    "turnStarted" => {
                        let Some(draft) = self.drafts.get_mut(&key) else { return };
                        let message = given(sent.action, "message");
                        let message = message.and_then(|message| text(message, "text"));
                        if message.is_some() && draft.text.as_deref() == message {
                            draft.sent = Some((view.line(), view.cx.now.at));
                        }
                    }
                    _ => {}
                }
            }
            // Another client, or the host, may clear the draft.
            OracleStep::Envelope(delivery) => {
                let clears =
                    delivery.envelope.name == "draftChanged" && !delivery.envelope.rejected;
                if let Some(draft) = self.drafts.get_mut(&(conn, delivery.channel))
                    && clears
                {
                    draft.cleared(delivery.envelope.action, out);
                }
            }
            OracleStep::Closed => {
                for (_, draft) in self.drafts.extract_if(|(of, _), _| *of == conn) {
                    draft.ended(view, out);
                }
            }
            OracleStep::Gap => self.drafts.retain(|(of, _), _| *of != conn),
            OracleStep::Restarted => self.drafts.clear(),
            _ => {}
        }
    }
}

impl ChatDraft {
    /// Handles a change of a draft that the client dispatches.
    fn changed(&mut self, view: &ClientView<'_>, action: &Value, out: &mut FindingSink) {
        let now = view.cx.now.at;
        self.cleared(action, out);
        let draft = given(action, "draft").and_then(|draft| text(draft, "text"));
        self.text = draft.filter(|text| !text.is_empty()).map(str::to_owned);
        out.seen(Rule::DraftRate);
        self.changes.push_back((now, view.line()));
        while self.changes.front().is_some_and(|(at, _)| *at + SPAN < now) {
            self.changes.pop_front();
            self.told = false;
        }
        // A capture without times has no information about rates.
        let timed = now > Duration::ZERO;
        if self.changes.len() > MOST && timed && !self.told {
            self.told = true;
            let first = self.changes.front().map_or(0, |(_, line)| *line);
            let message = format!(
                "expected the changes of a draft to be collected, found more than {MOST} within a \
                 second"
            );
            out.broken(Rule::DraftRate, message, &[first, view.line()]);
        }
    }

    /// Handles a change of the draft by any client or by the host.
    fn cleared(&mut self, action: &Value, out: &mut FindingSink) {
        let draft = given(action, "draft").and_then(|draft| text(draft, "text"));
        if self.sent.is_some() && draft != self.text.as_deref() {
            out.seen(Rule::DraftCleared);
            self.sent = None;
        }
    }

    /// Judges a draft when its connection ends.
    fn ended(&self, view: &ClientView<'_>, out: &mut FindingSink) {
        let Some((line, at)) = self.sent else { return };
        if view.cx.now.at >= at + view.cx.options.patience() {
            out.seen(Rule::DraftCleared);
            let message = "expected the draft to be cleared after its message was sent, found it \
                           unchanged";
            out.broken(Rule::DraftCleared, message.to_owned(), &[line]);
        }
    }
}
