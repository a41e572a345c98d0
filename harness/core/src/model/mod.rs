//! The state of each channel and the reducers that change it: our own reading of the protocol.
//!
//! A state is a lossless JSON value, as a snapshot brought it, and is changed in place: members,
//! parts and statuses that no table names stay as they are. [`apply`] finds the [`table::ReductionRow`] of
//! an action and says what came of it. An action either takes effect whole or leaves the state
//! untouched. The cost of an action never grows with the finished turns of a chat, except for the
//! two actions that are about them (`chat/truncated`, `chat/turnsLoaded`).
//!
//! Three readings hold everywhere. An optional member given as null counts as absent. An action is
//! [`ActionOutcome::Invalid`] only where the reducer could not use it; full shape checks belong to the
//! protocol tables. Where an id that must be unique occurs twice, the newest of the active turn's
//! parts is meant, since parts are looked up from the back; in every other list the first entry is.
//!
//! Every published version has its reducers: actions that come, go and change are rows of the
//! [`table`], habits that several actions share are members of a [`dialect::ChannelDialect`].
//!
//! Knows: `wire` (versions and channel kinds).
//! Never knows: envelopes, sequence numbers, who sent an action and whether it was allowed, clocks.
//!
//! Start at [`table`], which lists every action; [`tool_call`] holds the one state machine.

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

use dialect::{ChannelDialect, ReducerContext};

/// What came of an action.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ActionOutcome {
    /// The reducer took the action. The state may still be equal to what it was, as when a title
    /// is set to itself.
    Applied,
    /// The action is sound, but the state has no use for it. The state is untouched.
    NoOp(NoOp),
    /// Not an action of this channel or version. The state is untouched.
    OutOfScope,
    /// The payload cannot be used. The state is untouched.
    Invalid {
        /// The member at fault, with dots between names, such as `result.success`.
        path: String,
        /// What should have been there, such as `a string`.
        expected: &'static str,
    },
}

/// Writes the reasons once: what each means, its name, and how it reads.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $reason:literal,)*) => {
        /// Why a sound action changed nothing.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum NoOp {
            $($(#[$doc])* $name,)*
        }

        impl NoOp {
            /// Every reason there is.
            pub const ALL: &'static [NoOp] = &[$(NoOp::$name,)*];

            /// The reason as a lowercase fragment, such as `no turn is active`.
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
    /// A turn is active where none may be.
    TurnActive "a turn is still active",
    /// No finished turn has that id.
    UnknownTurn "no finished turn has that id",
    /// The turn does not end in an error that can be resumed.
    NotResumable "the turn does not end in a resumable error",
    /// The active turn has no part with that id.
    UnknownPart "the active turn has no part with that id",
    /// The part is of another kind.
    WrongPartKind "the part is of another kind",
    /// Error parts come through `chat/error` only.
    ErrorPart "error parts come through `chat/error` only",
    /// The active turn has no tool call with that id.
    UnknownToolCall "the active turn has no tool call with that id",
    /// The tool call is not in a status that takes this action.
    WrongStatus "the tool call is not in a status that takes this action",
    /// Only the tool calls of MCP servers can require authentication.
    NotMcp "the tool call does not belong to an MCP server",
    /// A success cannot end a tool call that waits for authentication.
    AwaitsAuth "the tool call waits for authentication and can only fail",
    /// No open input request has that id, or no entry of `inputNeeded`.
    UnknownRequest "no open input request has that id",
    /// No pending message of that kind has that id.
    UnknownMessage "no pending message of that kind has that id",
    /// The chat has no queue.
    NoQueue "the chat has no queued messages",
    /// The session has no chat with that URI.
    UnknownChat "the session has no such chat",
    /// The list of chats is no permutation of the catalogue.
    NotAPermutation "the list is no permutation of the session's chats",
    /// The session has no active client with that id.
    UnknownClient "the session has no such active client",
    /// The session has no customization with that id.
    UnknownCustomization "the session has no such customization",
    /// The session has no MCP server with that id.
    UnknownMcpServer "the session has no such MCP server",
    /// The MCP server does not hold up the session's start.
    NotBlocking "the MCP server does not block the session",
    /// No background work has that id.
    UnknownWork "the chat has no such background work",
    /// The directory is not in the set.
    UnknownDirectory "the directory is not in the set",
    /// The state has no configuration.
    NoConfig "the state has no configuration",
    /// The terminal has no command with that id.
    UnknownCommand "the terminal has no such command",
    /// The changeset has none of the files.
    UnknownFile "the changeset has no such file",
    /// The changeset has no operation with that id.
    UnknownOperation "the changeset has no such operation",
    /// The channel has no annotation with that id.
    UnknownAnnotation "the channel has no such annotation",
    /// The annotation has no entry with that id.
    UnknownEntry "the annotation has no such entry",
    /// No automation has that URI.
    UnknownAutomation "there is no such automation",
    /// The run has no such session.
    UnknownSession "the run has no such session",
    /// The action asks the host to do something outside the state, and never changes one.
    RequestOnly "it is a request to the host and changes no state",
    /// The action tells that something happened, and never changes a state.
    EventOnly "it reports an event and changes no state",
    /// What the action asks for is already so.
    Unchanged "it is already so",
    /// The state has another shape than the protocol gives it.
    MalformedState "the state has another shape than the protocol gives it",
}

/// Folds one accepted action into the state of a channel of that kind.
///
/// `version` is the one negotiated; an action it does not have is [`ActionOutcome::OutOfScope`], as are
/// unknown actions and anything that is no object with a `type`. Versions up to 0.8.0 stamp states
/// with the wall clock, which stands at 1970 here: see [`apply_at`].
pub fn apply(
    version: Version,
    channel: ChannelKind,
    state: &mut Value,
    action: &Value,
) -> ActionOutcome {
    apply_at(version, channel, 0, state, action)
}

/// [`apply`] with the clock: `now_ms` is the wall clock in milliseconds since 1970, which only
/// versions up to 0.8.0 read.
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

/// What reduces one type of action in one version.
#[derive(Clone, Copy, Debug)]
pub struct ActionReducer {
    row: &'static table::ReductionRow,
    dialect: &'static ChannelDialect,
}

impl ActionReducer {
    /// The reducer of an action, or `None` where the version has no such action.
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

/// Whether `version` has a reducer for actions of this type.
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
