//! The differences between versions on the wire, newest first: one named row for each difference.
//!
//! A row applies to versions before its `since`. Members that a version only adds have no row, see [`super`].
//!
//! Knows: versions, places. Never knows: how an object is converted from one form to the other.

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
    /// The description of the difference, in one sentence.
    pub name: &'static str,
    /// The places in messages that the difference affects.
    pub at: &'static [MessagePlace],
    /// The way in which a value is converted between the two forms.
    pub how: ChangeKind,
}

/// A place in a message.
#[derive(Clone, Copy, Debug)]
pub enum MessagePlace {
    /// Every object.
    Everywhere,
    /// Every action.
    Actions,
    /// Actions of one type, identified by its name in the newest version.
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
    /// A member that has another name in older versions.
    Renamed {
        /// The name of the member since the change.
        newer: &'static str,
        /// The name of the member before the change.
        older: &'static str,
    },
    /// An object that has another form in older versions.
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
        "`chat/error` contains an error part, which may state that the turn can be resumed, \
         instead of a separate error.",
        &[Action("chat/error")],
        reshaped(to::error_beside, to::error_part),
    ),
    row(
        Version::V0_9,
        "The error of a failed turn is its last response part, instead of a separate member.",
        &[Everywhere],
        reshaped(to::turn_error_beside, to::turn_error_part),
    ),
    row(
        Version::V0_9,
        "The `lifecycle` of a session whose creation failed is `failed`, instead of `creationFailed`.",
        &[State(Session)],
        reshaped(to::creation_failed, to::failed),
    ),
    row(
        Version::V0_9,
        "The exit code of a terminal is part of its `lifecycle`.",
        &[State(Terminal), State(Root), Action("root/terminalsChanged")],
        reshaped(to::exit_codes, to::lifecycles),
    ),
    row(
        Version::V0_9,
        "An annotation names its session, chat and turn, instead of only a turn.",
        &[Everywhere],
        reshaped(to::annotation_turn, to::annotation_origin),
    ),
    row(
        Version::V0_9,
        "The origin of a message is an open enumeration and has the new value `automation`.",
        &[Everywhere],
        reshaped(to::known_origin, to::same),
    ),
    row(
        Version::V0_9,
        "A changeset that is computed again may have the status `recomputing`, instead of `computing`.",
        &[Action("changeset/statusChanged"), State(ChannelKind::Changeset)],
        reshaped(to::computing, to::same),
    ),
    row(
        Version::V0_8,
        "`session/customizationToggled` lists a decision for each scope, instead of one `enabled` flag.",
        &[Action("session/customizationToggled")],
        reshaped(to::one_flag, to::one_decision),
    ),
    row(
        Version::V0_8,
        "A customization lists a decision for each scope, instead of one `enabled` flag.",
        &[Everywhere],
        reshaped(to::customization_flag, to::customization_decisions),
    ),
    row(
        Version::V0_8,
        "`auth/required` describes the protected resource, instead of only naming it.",
        &[Params("auth/required")],
        reshaped(to::resource_name, to::resource_metadata),
    ),
    row(
        Version::V0_7,
        "The input of a tool call may be a reference; for older versions, a reference is left out.",
        &[Everywhere],
        reshaped(to::input_inline, to::same),
    ),
    row(
        Version::V0_7,
        "Sessions and chats have a list of working directories, instead of a single one.",
        &[Everywhere],
        reshaped(to::one_directory, to::directories),
    ),
    row(
        Version::V0_7,
        "The source of a new chat has a `kind`.",
        &[Params("createChat")],
        reshaped(to::bare_source, to::source_of_a_kind),
    ),
    row(
        Version::V0_6,
        "Input requests are response parts of their turn, instead of entries of a separate list.",
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
        "Clients mark files of a changeset as reviewed, by URI; in older versions, the host marks them, by id.",
        &[Action("changeset/filesReviewChanged")],
        reshaped(to::same, to::same),
    ),
    row(
        Version::V0_5_2,
        "An answered input request stays as a response part of its turn, instead of being removed.",
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
        "Title, status and times are members of the session state, instead of its `summary`.",
        &[State(Session)],
        reshaped(to::summarised, to::flat),
    ),
    row(
        Version::V0_5,
        "The times in a session summary are ISO 8601 strings, instead of milliseconds.",
        &[
            Result("listSessions"),
            Params("root/sessionAdded"),
            Params("root/sessionSummaryChanged"),
        ],
        reshaped(to::millis, to::texts),
    ),
    row(
        Version::V0_5,
        "A session can have several active clients, instead of one.",
        &[Actions],
        reshaped(to::the_active_client, to::an_active_client),
    ),
    row(
        Version::V0_4,
        "Turns, tool calls and input requests belong to a chat, instead of to the session.",
        &[Actions],
        reshaped(to::of_the_session, to::of_the_chat),
    ),
    row(
        Version::V0_4,
        "The range that a changeset operation applies to is a text range, instead of two numbers.",
        &[Params("invokeChangesetOperation")],
        reshaped(to::two_numbers, to::text_range),
    ),
    row(
        Version::V0_4,
        "An operation of a changeset has a status, which says whether it can be invoked.",
        &[
            State(ChannelKind::Changeset),
            Action("changeset/operationsChanged"),
            Action("changeset/operationStatusChanged"),
        ],
        reshaped(to::idle_operations, to::same),
    ),
    row(
        Version::V0_3,
        "MCP servers have a state; for older versions, which lack it, a server counts as stopped.",
        &[Everywhere],
        reshaped(to::same, to::stopped_servers),
    ),
    row(
        Version::V0_3,
        "A person's message is a `message` with an origin, instead of a `userMessage`.",
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
        "The customizations of agents are a tree of entries with ids, instead of references by URI.",
        &[State(Root), Action("root/agentsChanged")],
        reshaped(to::agents_references, to::agents_entries),
    ),
    row(
        Version::V0_2,
        "`subscribe` names its target in `channel`, instead of `resource`.",
        &[Params("subscribe")],
        renamed("channel", "resource"),
    ),
    row(
        Version::V0_2,
        "`unsubscribe` names its target in `channel`, instead of `resource`.",
        &[Params("unsubscribe")],
        renamed("channel", "resource"),
    ),
    row(
        Version::V0_2,
        "Requests about a session name it in `channel`, instead of `session`.",
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
        "Requests about a terminal name it in `channel`, instead of `terminal`.",
        &[Params("createTerminal"), Params("disposeTerminal")],
        renamed("channel", "terminal"),
    ),
    row(
        Version::V0_1,
        "A client offers a list of versions, instead of one version number.",
        &[Params("initialize")],
        reshaped(to::one_number, to::offers),
    ),
    row(
        Version::V0_1,
        "The chosen version is a string, instead of a number.",
        &[Result("initialize")],
        reshaped(to::chosen_number, to::chosen_text),
    ),
    row(
        Version::V0_1,
        "An attachment has the type `resource` and a `label`, instead of `file` and a `displayName`.",
        &[Everywhere],
        reshaped(to::typed_attachments, to::labelled_attachments),
    ),
];
