//! The small differences between versions that several actions share, as data.
//!
//! Actions that come, go or change are rows of the [`table`](super::table). What is left are habits
//! of a whole channel, such as where its status lives: they are members of [`ChannelDialect`], and a
//! version that changes one has a row of [`DIALECTS`].
//!
//! Knows: versions. Never knows: an action.
//!
//! Start at [`ChannelDialect`].

use crate::wire::json::Value;

use super::NoOp;
use super::payload::{Object, ReducerResult};
use crate::wire::channel::ChannelKind;
use crate::wire::timestamp;
use crate::wire::version::Version;

/// How a channel of one version spells what all versions have.
#[derive(Clone, Copy, Debug)]
pub struct ChannelDialect {
    /// The member that holds title, status and times, where the state does not hold them itself:
    /// `summary` in sessions up to 0.4.0.
    pub summary: Option<&'static str>,
    /// How the wall clock is written into `modifiedAt`; from 0.9.0 on no row asks for it.
    pub stamp: ClockFormat,
    /// The member that holds what a person wrote: `userMessage` up to 0.2.0, then `message`.
    pub message: &'static str,
    /// What a tool call keeps of the action that starts it. Up to 0.2.0 the client that owns it is
    /// `toolClientId`, then there is a `contributor`, and from 0.5.1 on an `intention`.
    pub tool_start: &'static [&'static str],
    /// What a tool call that waits for its confirmation takes from the action that asks: from 0.6.0
    /// on an assessment of the risk too.
    pub asked: &'static [&'static str],
    /// Whether later tool-call actions replace `_meta` too: from 0.4.0 on.
    pub tool_meta: bool,
    /// Whether `toolCallReady` reaches a call that already waits for its confirmation, and such a
    /// call keeps what the action leaves out: from 0.6.0 on.
    pub asks_again: bool,
    /// Whether a tool call can wait for authentication: from 0.6.0 on.
    pub tool_auth: bool,
    /// Whether `toolCallReady` keeps the input of a call that has run, may refine who contributed
    /// the call and why, and an edited input replaces a text only: from 0.7.0 on.
    pub refines_calls: bool,
    /// Whether `toolCallDelta` may come without `content`: from 0.7.0 on.
    pub empty_deltas: bool,
    /// Where questions to a person wait.
    pub questions: QuestionPlace,
    /// What turns say about time.
    pub times: TurnTimes,
    /// Whether older turns can be loaded, so that a state has a cursor: from 0.5.1 on.
    pub pages: bool,
    /// Whether an entry of `inputNeeded` that only a client can work off counts as waiting for a
    /// person: 0.5.1 to 0.7.0.
    pub clients_are_people: bool,
}

/// How a wall clock is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClockFormat {
    /// Milliseconds since 1970, as a number.
    Millis,
    /// A text such as `1970-01-01T00:00:09.999Z`.
    Text,
}

/// Where questions to a person wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QuestionPlace {
    /// In the list `inputRequests` beside the turns, until they are answered: up to 0.5.2.
    Listed,
    /// Among the parts of the active turn, where they stay.
    Parts,
}

/// What turns say about time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TurnTimes {
    /// Nothing: up to 0.5.2.
    None,
    /// When they started and how long they took: 0.6.0 to 0.8.0.
    Told,
    /// The same, and the chat's `modifiedAt` follows from them: from 0.9.0 on.
    Counted,
}

const OLDEST: ChannelDialect = ChannelDialect {
    summary: Some("summary"),
    stamp: ClockFormat::Millis,
    message: "userMessage",
    tool_start: &["toolCallId", "toolName", "displayName", "toolClientId", "_meta"],
    asked: &["confirmationTitle", "edits", "editable", "options"],
    tool_meta: false,
    asks_again: false,
    tool_auth: false,
    refines_calls: false,
    empty_deltas: false,
    questions: QuestionPlace::Listed,
    times: TurnTimes::None,
    pages: false,
    clients_are_people: true,
};

const MESSAGES: ChannelDialect = ChannelDialect {
    message: "message",
    tool_start: &["toolCallId", "toolName", "displayName", "contributor", "_meta"],
    ..OLDEST
};

const CHATS: ChannelDialect =
    ChannelDialect { summary: None, stamp: ClockFormat::Text, tool_meta: true, ..MESSAGES };

const PAGES: ChannelDialect = ChannelDialect {
    tool_start: &["toolCallId", "toolName", "displayName", "intention", "contributor", "_meta"],
    pages: true,
    ..CHATS
};

const TIMES: ChannelDialect = ChannelDialect {
    asked: &["confirmationTitle", "riskAssessment", "edits", "editable", "options"],
    asks_again: true,
    tool_auth: true,
    questions: QuestionPlace::Parts,
    times: TurnTimes::Told,
    ..PAGES
};

const REFINED: ChannelDialect = ChannelDialect { refines_calls: true, empty_deltas: true, ..TIMES };

const NEWEST: ChannelDialect =
    ChannelDialect { times: TurnTimes::Counted, clients_are_people: false, ..REFINED };

/// A channel's dialect from a version on.
struct DialectRow {
    channel: ChannelKind,
    since: Version,
    dialect: ChannelDialect,
}

/// The dialects of the channels that have more than the newest one, in the order of their versions.
const DIALECTS: &[DialectRow] = {
    use ChannelKind::{Chat, Session};
    const fn row(channel: ChannelKind, since: Version, dialect: ChannelDialect) -> DialectRow {
        DialectRow { channel, since, dialect }
    }
    &[
        row(Session, Version::V1, OLDEST),
        row(Session, Version::V0_3, MESSAGES),
        row(Session, Version::V0_5, PAGES),
        row(Session, Version::V0_8, NEWEST),
        row(Chat, Version::V0_4, CHATS),
        row(Chat, Version::V0_5_1, PAGES),
        row(Chat, Version::V0_6, TIMES),
        row(Chat, Version::V0_7, REFINED),
        row(Chat, Version::V0_9, NEWEST),
    ]
};

impl ChannelDialect {
    /// The newest dialect there is.
    pub const NEWEST: &'static ChannelDialect = &NEWEST;

    /// The dialect of a channel in a version.
    pub fn of(version: Version, channel: ChannelKind) -> &'static ChannelDialect {
        let holds = |row: &&DialectRow| row.channel == channel && row.since <= version;
        DIALECTS.iter().rfind(holds).map_or(ChannelDialect::NEWEST, |row| &row.dialect)
    }
}

/// What a reducer knows besides the state and the action.
#[derive(Clone, Copy, Debug)]
pub struct ReducerContext {
    /// How this version spells things.
    pub dialect: &'static ChannelDialect,
    /// The wall clock in milliseconds since 1970. Versions from 0.9.0 on never read it.
    pub now_ms: u64,
}

impl ReducerContext {
    /// The object that holds title, status and times: the state, or its summary.
    pub(super) fn summary<'a>(&self, state: &'a mut Object) -> ReducerResult<&'a mut Object> {
        let Some(name) = self.dialect.summary else {
            return Ok(state);
        };
        let summary = state.get_mut(name).and_then(Value::as_object_mut);
        summary.ok_or_else(|| NoOp::MalformedState.into())
    }

    /// Writes the wall clock into `modifiedAt`. A clock beyond the year 9999 writes nothing.
    pub(super) fn stamp(&self, state: &mut Object) -> ReducerResult {
        let now = match self.dialect.stamp {
            ClockFormat::Millis => Some(Value::from(self.now_ms)),
            ClockFormat::Text => {
                i64::try_from(self.now_ms).ok().and_then(timestamp::format).map(Value::from)
            }
        };
        if let Some(now) = now {
            self.summary(state)?.insert("modifiedAt".to_owned(), now);
        }
        Ok(())
    }
}
