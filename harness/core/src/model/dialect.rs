//! The differences between versions that affect several actions, as data.
//!
//! If a version adds, removes or changes an action, the [`table`](super::table) has a row for the change. Conventions
//! of a whole channel, such as the place of its status, are members of [`ChannelDialect`]. A version that changes a
//! convention has a row in [`DIALECTS`].
//!
//! Knows: versions. Never knows: actions.
//!
//! Start at [`ChannelDialect`].

use crate::wire::json::Value;

use super::NoOp;
use super::payload::{Object, ReducerResult};
use crate::wire::channel::ChannelKind;
use crate::wire::timestamp;
use crate::wire::version::Version;

/// The conventions of one kind of channel in one version.
#[derive(Clone, Copy, Debug)]
pub struct ChannelDialect {
    /// The member that contains title, status and times: `summary` in sessions up to 0.4.0. `None` if these
    /// members are in the state itself.
    pub summary: Option<&'static str>,
    /// The format of the wall-clock time in `modifiedAt`. From 0.9.0 on, no row of the table writes this time.
    pub stamp: ClockFormat,
    /// The member that contains a user's message: `userMessage` up to 0.2.0, `message` in later versions.
    pub message: &'static str,
    /// The names of the members that a new tool call receives from the action that starts it. The owning client is in
    /// `toolClientId` up to 0.2.0, and in `contributor` later; `intention` exists from 0.5.1 on.
    pub tool_start: &'static [&'static str],
    /// The names of the members that a pending tool call receives from the action that requests its confirmation.
    /// `riskAssessment` exists from 0.6.0 on.
    pub asked: &'static [&'static str],
    /// Whether the later actions on a tool call replace the call's `_meta`. The value is `true` from 0.4.0 on.
    pub tool_meta: bool,
    /// Whether `toolCallReady` applies to a call that already waits for confirmation. Such a call keeps the
    /// members that the action omits. The value is `true` from 0.6.0 on.
    pub asks_again: bool,
    /// Whether a tool call can wait for authentication. The value is `true` from 0.6.0 on.
    pub tool_auth: bool,
    /// The value is `true` from 0.7.0 on. If `true`, `toolCallReady` keeps the input of a call that has run, and may
    /// refine the call's contributor and intention; and an edited input replaces the input only if that is a string.
    pub refines_calls: bool,
    /// Whether `toolCallDelta` may omit `content`. The value is `true` from 0.7.0 on.
    pub empty_deltas: bool,
    /// The place of input requests in the state of a channel.
    pub questions: QuestionPlace,
    /// The times that the state contains for each turn.
    pub times: TurnTimes,
    /// Whether clients can load older turns, so a state may have a cursor. The value is `true` from 0.5.1 on.
    pub pages: bool,
    /// Whether an entry of `inputNeeded` for the execution of a client's own tool counts as waiting for a person. The
    /// value is `true` from 0.5.1 to 0.7.0.
    pub clients_are_people: bool,
}

/// The format of a wall-clock time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClockFormat {
    /// The time is a number of milliseconds since 1970.
    Millis,
    /// The time is a string such as `1970-01-01T00:00:09.999Z`.
    Text,
}

/// The place of input requests in the state of a channel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QuestionPlace {
    /// The requests are in the list `inputRequests` beside the turns, until they are answered. Versions up to
    /// 0.5.2 use this variant.
    Listed,
    /// The requests are among the parts of the active turn, where they stay after the answer.
    Parts,
}

/// The times that the state contains for each turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TurnTimes {
    /// Turns have no times. Versions up to 0.5.2 use this variant.
    None,
    /// Turns have their start time and their duration. Versions 0.6.0 to 0.8.0 use this variant.
    Told,
    /// Turns have their start time and their duration, which determine the chat's `modifiedAt`. Versions from 0.9.0
    /// on use this variant.
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

/// The conventions of a kind of channel, and the first version to which they apply.
struct DialectRow {
    channel: ChannelKind,
    since: Version,
    dialect: ChannelDialect,
}

/// The dialects by channel, in the order of their versions. A channel without a row has only the newest
/// dialect.
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
    /// The conventions of a channel in the newest version.
    pub const NEWEST: &'static ChannelDialect = &NEWEST;

    /// Returns the dialect of a channel in a version.
    pub fn of(version: Version, channel: ChannelKind) -> &'static ChannelDialect {
        let holds = |row: &&DialectRow| row.channel == channel && row.since <= version;
        DIALECTS.iter().rfind(holds).map_or(ChannelDialect::NEWEST, |row| &row.dialect)
    }
}

/// The information that a reducer has besides the state and the action.
#[derive(Clone, Copy, Debug)]
pub struct ReducerContext {
    /// The conventions of the channel's version.
    pub dialect: &'static ChannelDialect,
    /// The wall clock in milliseconds since 1970. Versions from 0.9.0 on never read it.
    pub now_ms: u64,
}

impl ReducerContext {
    /// Returns the object that contains title, status and times: the state, or its summary.
    pub(super) fn summary<'a>(&self, state: &'a mut Object) -> ReducerResult<&'a mut Object> {
        let Some(name) = self.dialect.summary else {
            return Ok(state);
        };
        let summary = state.get_mut(name).and_then(Value::as_object_mut);
        summary.ok_or_else(|| NoOp::MalformedState.into())
    }

    /// Writes the wall-clock time into `modifiedAt`. If the format is a string, a time after the year 9999 is not
    /// written.
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
