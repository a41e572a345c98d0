//! The differences between versions on the wire, newest first: one named row for each difference.
//!
//! A row applies to versions before its `since`. Members that a version only adds have no row, see [`super`].
//!
//! Knows: versions, places. Never knows: how a reshaping is done.

use crate::wire::channel::ChannelKind;
use crate::wire::json::Map;
use crate::wire::version::Version;

use super::ChangeContext;
use super::reshape as to;

/// A difference between versions.
#[derive(Debug)]
pub struct VersionChange {
    /// The version that introduced the newer form.
    pub since: Version,
    /// The description, in one sentence.
    pub name: &'static str,
    /// The places in messages that the difference affects.
    pub at: &'static [MessagePlace],
    /// The conversion between the two forms.
    pub how: ChangeKind,
}

/// A place in a message.
#[derive(Clone, Copy, Debug)]
pub enum MessagePlace {
    /// Every object.
    Everywhere,
    /// Every action.
    Actions,
    /// Actions of a type, by its name in the newest version.
    Action(&'static str),
    /// The params of a method.
    Params(&'static str),
    /// The result of a method.
    Result(&'static str),
    /// The state of a kind of channel.
    State(ChannelKind),
}

/// The kind of a change.
#[derive(Clone, Copy, Debug)]
pub enum ChangeKind {
    /// A renamed member.
    Renamed {
        /// The name since the change.
        newer: &'static str,
        /// The name before the change.
        older: &'static str,
    },
    /// An object in another form.
    Reshaped {
        /// The function that converts the newer form to the older form.
        lower: ReshapeFunction,
        /// The function that converts the older form to the newer form.
        lift: ReshapeFunction,
    },
}

/// Converts an object in place.
pub type ReshapeFunction = fn(&mut Map, ChangeContext<'_>);

const fn row(
    since: Version,
    name: &'static str,
    at: &'static [MessagePlace],
    how: ChangeKind,
) -> VersionChange {
    VersionChange { since, name, at, how }
}

const fn reshaped(lower: ReshapeFunction, lift: ReshapeFunction) -> ChangeKind {
    ChangeKind::Reshaped { lower, lift }
}

const fn renamed(newer: &'static str, older: &'static str) -> ChangeKind {
    ChangeKind::Renamed { newer, older }
}

use ChannelKind::{Root, Session, Terminal};
use MessagePlace::{Action, Actions, Everywhere, Params, Result, State};

/// All differences, newest first.
pub const CHANGES: &[VersionChange] = &[
    row(
        Version::V0_9,
        "A turn fails with a part that may say that it can be resumed, instead of an error beside its parts.",
        &[Action("chat/error")],
        reshaped(to::error_beside, to::error_part),
    ),
    row(
        Version::V0_9,
        "The error of a failed turn is its last part.",
        &[Everywhere],
        reshaped(to::turn_error_beside, to::turn_error_part),
    ),
    row(
        Version::V0_9,
        "A session whose creation has failed is `failed`, no longer `creationFailed`.",
        &[State(Session)],
        reshaped(to::creation_failed, to::failed),
    ),
    row(
        Version::V0_9,
        "A terminal has a lifecycle, of which the exit code is a part.",
        &[State(Terminal), State(Root), Action("root/terminalsChanged")],
        reshaped(to::exit_codes, to::lifecycles),
    ),
    row(
        Version::V0_9,
        "An annotation names the session, chat and turn that it comes from, instead of a turn.",
        &[Everywhere],
        reshaped(to::annotation_turn, to::annotation_origin),
    ),
    row(
        Version::V0_9,
        "Enumerations grow: a message may come of an automation, or of what nobody knows yet.",
        &[Everywhere],
        reshaped(to::known_origin, to::same),
    ),
    row(
        Version::V0_9,
        "Enumerations grow: a changeset that is computed anew need not say the same as at first.",
        &[Action("changeset/statusChanged"), State(ChannelKind::Changeset)],
        reshaped(to::computing, to::same),
    ),
    row(
        Version::V0_8,
        "A customization is turned on and off by decisions for scopes, instead of one flag.",
        &[Action("session/customizationToggled")],
        reshaped(to::one_flag, to::one_decision),
    ),
    row(
        Version::V0_8,
        "Customizations carry the decisions about them, instead of one flag.",
        &[Everywhere],
        reshaped(to::customization_flag, to::customization_decisions),
    ),
    row(
        Version::V0_8,
        "What asks for a token describes the resource, instead of naming it.",
        &[Params("auth/required")],
        reshaped(to::resource_name, to::resource_metadata),
    ),
    row(
        Version::V0_7,
        "The input of a tool call may stand elsewhere: below, clients are not told of it.",
        &[Everywhere],
        reshaped(to::input_inline, to::same),
    ),
    row(
        Version::V0_7,
        "Sessions and chats have a list of working directories, instead of one.",
        &[Everywhere],
        reshaped(to::one_directory, to::directories),
    ),
    row(
        Version::V0_7,
        "What a chat is made from says of which kind it is.",
        &[Params("createChat")],
        reshaped(to::bare_source, to::source_of_a_kind),
    ),
    row(
        Version::V0_6,
        "Questions are parts of a turn and stay there, instead of a list of open ones.",
        &[
            State(ChannelKind::Chat),
            State(Session),
            Action("chat/turnsLoaded"),
            Result("fetchTurns"),
        ],
        reshaped(to::listed_questions, to::question_parts),
    ),
    row(
        Version::V0_6,
        "Files of a changeset are reviewed by URI and by clients, instead of by id and by the host.",
        &[Action("changeset/filesReviewChanged")],
        reshaped(to::same, to::same),
    ),
    row(
        Version::V0_5_2,
        "A question that was answered stays as a part of its turn, instead of going.",
        &[
            State(ChannelKind::Chat),
            State(Session),
            Action("chat/turnsLoaded"),
            Result("fetchTurns"),
        ],
        reshaped(to::no_questions, to::same),
    ),
    row(
        Version::V0_5,
        "The state of a session is flat, instead of title, status and times in a `summary`.",
        &[State(Session)],
        reshaped(to::summarised, to::flat),
    ),
    row(
        Version::V0_5,
        "The times of a session's summary are texts, instead of milliseconds.",
        &[
            Result("listSessions"),
            Params("root/sessionAdded"),
            Params("root/sessionSummaryChanged"),
        ],
        reshaped(to::millis, to::texts),
    ),
    row(
        Version::V0_5,
        "Several clients can be active in a session, instead of one.",
        &[Actions],
        reshaped(to::the_active_client, to::an_active_client),
    ),
    row(
        Version::V0_4,
        "Turns, their tool calls and questions are a chat's, instead of the session's.",
        &[Actions],
        reshaped(to::of_the_session, to::of_the_chat),
    ),
    row(
        Version::V0_4,
        "The part of a file that an operation is for is a range of text, instead of two numbers.",
        &[Params("invokeChangesetOperation")],
        reshaped(to::two_numbers, to::text_range),
    ),
    row(
        Version::V0_4,
        "An operation of a changeset says when it cannot be invoked.",
        &[
            State(ChannelKind::Changeset),
            Action("changeset/operationsChanged"),
            Action("changeset/operationStatusChanged"),
        ],
        reshaped(to::idle_operations, to::same),
    ),
    row(
        Version::V0_3,
        "MCP servers say how they are: below, nothing is said, and nobody starts them.",
        &[Everywhere],
        reshaped(to::same, to::stopped_servers),
    ),
    row(
        Version::V0_3,
        "What a person wrote is a `message`, which says whom it comes from, instead of a `userMessage`.",
        &[Everywhere],
        reshaped(to::user_message, to::message),
    ),
    row(
        Version::V0_3,
        "A customization that is an MCP server can be turned on and off.",
        &[Everywhere],
        reshaped(to::no_server_flag, to::same),
    ),
    row(
        Version::V0_3,
        "A tool call has a contributor, instead of the id of the client that owns it.",
        &[Everywhere],
        reshaped(to::owner_of_tool, to::contributor),
    ),
    row(
        Version::V0_3,
        "The changesets of a session are a member of its state, instead of its summary.",
        &[State(Session)],
        reshaped(to::changesets_in_summary, to::changesets_beside),
    ),
    row(
        Version::V0_2,
        "Customizations are a tree of entries with ids, instead of references by URI.",
        &[State(Session), Actions, Params("createSession")],
        reshaped(to::references, to::entries),
    ),
    row(
        Version::V0_2,
        "So are those of agents.",
        &[State(Root), Action("root/agentsChanged")],
        reshaped(to::agents_references, to::agents_entries),
    ),
    row(
        Version::V0_2,
        "A subscription names a channel.",
        &[Params("subscribe")],
        renamed("channel", "resource"),
    ),
    row(
        Version::V0_2,
        "So does its end.",
        &[Params("unsubscribe")],
        renamed("channel", "resource"),
    ),
    row(
        Version::V0_2,
        "What is about a session names its channel.",
        &[
            Params("createSession"),
            Params("disposeSession"),
            Params("fetchTurns"),
            Params("completions"),
        ],
        renamed("channel", "session"),
    ),
    row(
        Version::V0_2,
        "What is about a terminal names its channel.",
        &[Params("createTerminal"), Params("disposeTerminal")],
        renamed("channel", "terminal"),
    ),
    row(
        Version::V0_1,
        "A client offers versions, instead of naming one number.",
        &[Params("initialize")],
        reshaped(to::one_number, to::offers),
    ),
    row(
        Version::V0_1,
        "The chosen version is a text, instead of a number.",
        &[Result("initialize")],
        reshaped(to::chosen_number, to::chosen_text),
    ),
    row(
        Version::V0_1,
        "Attachments are of kinds with a label, instead of a type with a display name.",
        &[Everywhere],
        reshaped(to::typed_attachments, to::labelled_attachments),
    ),
];
