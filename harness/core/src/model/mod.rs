//! The state of each channel and the reducers that change it, as an independent implementation of the protocol.
//!
//! A state is a lossless JSON value that begins as the state of a snapshot and is changed in place: members, parts and
//! statuses that are not in any table stay unchanged. [`apply`] finds the [`table::ReductionRow`] of an action and
//! returns its outcome. An action either takes effect completely or leaves the state untouched. The cost of an action
//! does not grow with the number of a chat's finished turns, except for the two actions on finished turns
//! (`chat/truncated`, `chat/turnsLoaded`).
//!
//! Three interpretations apply to every reducer. An optional member that is null counts as absent. An action is
//! [`ActionOutcome::Invalid`] only if the reducer cannot use it; the protocol tables check complete shapes. If an id
//! that must be unique occurs twice in a list, it refers to the first entry. Only the parts of the active turn are
//! searched from the end, so there the id refers to the newest part.
//!
//! The reducers cover every published version: rows of the [`table`] describe the actions that a version adds, removes
//! or changes; members of a [`dialect::ChannelDialect`] describe conventions that several actions share.
//!
//! Knows: `wire` (versions and channel kinds). Never knows: envelopes, sequence numbers, senders, permissions,
//! clocks.
//!
//! Start at [`table`], which lists every action; [`tool_call`] contains the only state machine.

pub mod annotations;
pub mod automation;
pub mod canvas;
pub mod changeset;
pub mod chat;
pub mod customization;
pub mod dialect;
pub mod input;
pub mod input_list;
pub mod list;
pub mod payload;
pub mod pending;
pub mod root;
pub mod session;
pub mod status;
pub mod table;
pub mod terminal;
pub mod tool_call;
mod tool_step;
pub mod turn;
pub mod working_directory;

use crate::wire::json::Value;

use crate::wire::channel::ChannelKind;
use crate::wire::version::Version;

use dialect::{ChannelDialect, ReducerContext, TurnTimes};

/// The outcome of an action.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ActionOutcome {
    /// The reducer applied the action. The new state may be equal to the old state, for example if an action
    /// sets the title to its current value.
    Applied,
    /// The action is well-formed, but has no effect on this state. The state is untouched.
    NoOp(NoOp),
    /// The channel or the version has no such action. The state is untouched.
    OutOfScope,
    /// The reducer cannot use the payload. The state is untouched.
    Invalid {
        /// The path of the invalid member, with dots between names, such as `result.success`.
        path: String,
        /// The expected shape, such as `a string`.
        expected: &'static str,
    },
}

/// Defines the reasons for no-ops: the doc comment, the name and the text of each.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $reason:literal,)*) => {
        /// The reason why a well-formed action changed nothing.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum NoOp {
            $($(#[$doc])* $name,)*
        }

        impl NoOp {
            /// Every reason for a no-op.
            pub const ALL: &'static [NoOp] = &[$(NoOp::$name,)*];

            /// Returns the reason as a lowercase fragment, such as `no turn is active`.
            pub fn reason(self) -> &'static str {
                match self {
                    $(NoOp::$name => $reason,)*
                }
            }
        }
    };
}

reasons! {
    /// The chat has no active turn.
    NoActiveTurn "no turn is active",
    /// The active turn has another id.
    WrongTurn "another turn is active",
    /// A turn is active, but the action requires that no turn is active.
    TurnActive "a turn is still active",
    /// No finished turn has that id.
    UnknownTurn "no finished turn has that id",
    /// The turn does not end in a resumable error.
    NotResumable "the turn does not end in a resumable error",
    /// The active turn has no part with that id.
    UnknownPart "the active turn has no part with that id",
    /// The part that the action names is of another kind than the action requires.
    WrongPartKind "the part is of another kind",
    /// Error parts are allowed only in `chat/error`.
    ErrorPart "error parts come through `chat/error` only",
    /// The active turn has no tool call with that id.
    UnknownToolCall "the active turn has no tool call with that id",
    /// The tool call does not have a status that permits this action.
    WrongStatus "the tool call is not in a status that takes this action",
    /// Only the tool calls of MCP servers can require authentication.
    NotMcp "the tool call does not belong to an MCP server",
    /// A tool call that waits for authentication can only fail.
    AwaitsAuth "the tool call waits for authentication and can only fail",
    /// No open input request, or no entry of `inputNeeded`, has that id.
    UnknownRequest "no open input request has that id",
    /// No pending message of that kind has that id.
    UnknownMessage "no pending message of that kind has that id",
    /// The chat has no queue.
    NoQueue "the chat has no queued messages",
    /// The session has no chat with that URI.
    UnknownChat "the session has no such chat",
    /// The list of chats is not a permutation of the catalogue.
    NotAPermutation "the list is no permutation of the session's chats",
    /// The session has no active client with that id.
    UnknownClient "the session has no such active client",
    /// The session has no customization with that id.
    UnknownCustomization "the session has no such customization",
    /// The session has no MCP server with that id.
    UnknownMcpServer "the session has no such MCP server",
    /// The MCP server does not block the session's start.
    NotBlocking "the MCP server does not block the session",
    /// No background work has that id.
    UnknownWork "the chat has no such background work",
    /// The action names a directory that is not in the set of working directories.
    UnknownDirectory "the directory is not in the set",
    /// The state has no configuration.
    NoConfig "the state has no configuration",
    /// The terminal has no command with that id.
    UnknownCommand "the terminal has no such command",
    /// The changeset has none of the files that the action names.
    UnknownFile "the changeset has no such file",
    /// The changeset has no operation with that id.
    UnknownOperation "the changeset has no such operation",
    /// The channel has no annotation with that id.
    UnknownAnnotation "the channel has no such annotation",
    /// The annotation has no entry with that id.
    UnknownEntry "the annotation has no such entry",
    /// No automation has that URI.
    UnknownAutomation "there is no such automation",
    /// The automation run has no session with that URI.
    UnknownSession "the run has no such session",
    /// The action requests something from the host, and never changes a state.
    RequestOnly "it is a request to the host and changes no state",
    /// The action reports an event, and never changes a state.
    EventOnly "it reports an event and changes no state",
    /// The state already has the requested values.
    Unchanged "it is already so",
    /// The state has another shape than the protocol defines.
    MalformedState "the state has another shape than the protocol gives it",
}

/// Folds one accepted action into the state of a channel of this kind.
///
/// `version` is the negotiated version. The outcome is [`ActionOutcome::OutOfScope`] for actions that the
/// version does not have, for unknown actions, and for values that are not objects with a `type`. Versions up
/// to 0.8.0 write the wall-clock time into states; this function uses the year 1970, see [`apply_at`].
pub fn apply(
    version: Version,
    channel: ChannelKind,
    state: &mut Value,
    action: &Value,
) -> ActionOutcome {
    apply_at(version, channel, 0, state, action)
}

/// Returns whether the reducers of a version write the wall-clock time into states. In such a version, two copies of a
/// state may contain different times.
pub fn reads_clock(version: Version) -> bool {
    ChannelDialect::of(version, ChannelKind::Chat).times == TurnTimes::Told
}

/// Does the same as [`apply`], with a wall-clock time: `now_ms` is in milliseconds since 1970, and is used only in
/// versions up to 0.8.0.
pub fn apply_at(
    version: Version,
    channel: ChannelKind,
    now_ms: u64,
    state: &mut Value,
    action: &Value,
) -> ActionOutcome {
    let action_type = action.get("type").and_then(Value::as_str);
    let reducer = action_type.and_then(|action_type| ActionReducer::of(version, action_type));
    reducer.map_or(ActionOutcome::OutOfScope, |it| it.apply(channel, now_ms, state, action))
}

/// The reducer of one type of action in one version.
#[derive(Clone, Copy, Debug)]
pub struct ActionReducer {
    row: &'static table::ReductionRow,
    dialect: &'static ChannelDialect,
}

impl ActionReducer {
    /// Returns the reducer of an action; `None` if the version has no such action.
    #[inline]
    pub fn of(version: Version, action_type: &str) -> Option<ActionReducer> {
        table::entry(version, action_type)
    }

    /// Folds an action of this type into a state, as [`apply_at`] does.
    pub fn apply(
        self,
        channel: ChannelKind,
        now_ms: u64,
        state: &mut Value,
        action: &Value,
    ) -> ActionOutcome {
        let Some(members) = action.as_object().filter(|_| self.row.channel == channel) else {
            return ActionOutcome::OutOfScope;
        };
        let context = ReducerContext { dialect: self.dialect, now_ms };
        match self.row.effect.run(&context, state, members) {
            Ok(()) => ActionOutcome::Applied,
            Err(payload::ReducerStop::NoOp(why)) => ActionOutcome::NoOp(why),
            Err(payload::ReducerStop::Invalid { path, expected }) => {
                ActionOutcome::Invalid { path, expected }
            }
        }
    }
}

/// Returns whether `version` has a reducer for actions of this type.
pub fn reduces(version: Version, action_type: &str) -> bool {
    ActionReducer::of(version, action_type).is_some()
}

#[cfg(test)]
mod changeset_tests;
#[cfg(test)]
mod channel_tests;
#[cfg(test)]
mod chat_tests;
#[cfg(test)]
mod terminal_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tool_call_tests;
#[cfg(test)]
mod version_tests;
