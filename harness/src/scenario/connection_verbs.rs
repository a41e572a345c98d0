//! Defines the rows of the verbs that open, close and configure connections.
//!
//! Start at [`CONNECT`].

use super::common::{
    AS, AT, CHOICE, CLOSED, ERROR, INDEPENDENT, OFFERS, PROVES, RESULT, SPEC, TOKENS, WITHIN,
};
use super::forms::{MemberForm, field, needed, wanted};
use super::verb::{StepVerb, VerbNature, VerbRow};
use crate::peer::guise::ClientCredentials;

/// The row of [`StepVerb::Connect`].
pub(super) const CONNECT: VerbRow = VerbRow {
    verb: StepVerb::Connect,
    name: "connect",
    short: Some("by"),
    nature: VerbNature::Acts,
    asserts: false,
    answered: false,
    fields: &[
        needed("by", MemberForm::Clients, "the clients that connect"),
        field(
            "credentials",
            MemberForm::OneOf(ClientCredentials::WORDS),
            "the credentials of the clients from this step on: `own` (the default), `other`, `wrong` or `none`",
        ),
        field(
            "origin",
            MemberForm::Template,
            "the `Origin` header that the clients send, as browsers do",
        ),
        wanted(
            "refused",
            MemberForm::Pattern,
            "expects that the host refuses the WebSocket handshake; the value is the pattern of the HTTP status, or `closed` if the host sends no status",
        ),
        field(
            "perhaps",
            MemberForm::Flag,
            "the host may refuse the connection in this step; for later steps, the connection is then closed",
        ),
        WITHIN,
        PROVES,
        INDEPENDENT,
        SPEC,
    ],
    doc: "opens connections without a handshake",
};

/// The row of [`StepVerb::Initialize`].
pub(super) const INITIALIZE: VerbRow = VerbRow {
    verb: StepVerb::Initialize,
    name: "initialize",
    short: Some("by"),
    nature: VerbNature::Acts,
    asserts: false,
    answered: true,
    fields: &[
        needed("by", MemberForm::Clients, "the clients that perform the handshake"),
        field(
            "versions",
            MemberForm::Template,
            "the offered versions, instead of the versions of the run",
        ),
        field("subscribe", MemberForm::Template, "the initial subscriptions"),
        field(
            "params",
            MemberForm::Template,
            "further members of the params; they replace the usual members of the same name",
        ),
        TOKENS,
        RESULT,
        ERROR,
        CLOSED,
        AS,
        WITHIN,
        PROVES,
        CHOICE,
        INDEPENDENT,
        SPEC,
    ],
    doc: "sends `initialize` and waits for the answer; an error fails the step unless it has `error`",
};

/// The row of [`StepVerb::Open`].
pub(super) const OPEN: VerbRow = VerbRow {
    verb: StepVerb::Open,
    name: "open",
    short: Some("by"),
    nature: VerbNature::Acts,
    asserts: false,
    answered: false,
    fields: &[
        needed("by", MemberForm::Clients, "the clients; the first one creates the session"),
        field(
            "session",
            MemberForm::Binds,
            "the name of the session, by default `session`; if the name is already bound, the clients join that session",
        ),
        field(
            "chat",
            MemberForm::Binds,
            "the name of the session's default chat, by default `chat`",
        ),
        field("config", MemberForm::Template, "further members of `createSession`"),
        field("root", MemberForm::Flag, "subscribe to the root channel too, in the handshake"),
        TOKENS,
        OFFERS,
        field("declares", MemberForm::Pattern, "the pattern of an agent's `agentCapabilities`"),
        field("made", MemberForm::Pattern, "the pattern of an agent's answer to `session/new`"),
        CHOICE,
        WITHIN,
        SPEC,
    ],
    doc: "the usual opening: connect, initialize, create a session, subscribe to it and to its default chat; for an agent: connect, initialize, `session/new`",
};

/// The row of [`StepVerb::Drop`].
pub(super) const DROP: VerbRow = VerbRow {
    verb: StepVerb::Drop,
    name: "drop",
    short: Some("by"),
    nature: VerbNature::Acts,
    asserts: false,
    answered: false,
    fields: &[needed("by", MemberForm::Clients, "the clients whose connections end"), SPEC],
    doc: "closes connections without a closing handshake; the clients keep their state",
};

/// The row of [`StepVerb::Reconnect`].
pub(super) const RECONNECT: VerbRow = VerbRow {
    verb: StepVerb::Reconnect,
    name: "reconnect",
    short: Some("by"),
    nature: VerbNature::Acts,
    asserts: false,
    answered: true,
    fields: &[
        needed("by", MemberForm::Clients, "the clients that reconnect"),
        field(
            "subscriptions",
            MemberForm::Template,
            "the channels to resume, instead of the client's previous channels",
        ),
        field(
            "lastSeen",
            MemberForm::Template,
            "the `lastSeenServerSeq`, instead of the client's own number",
        ),
        wanted(
            "replay",
            MemberForm::Pattern,
            "expects that the result is a replay; the value is the pattern of the result",
        ),
        wanted(
            "snapshot",
            MemberForm::Pattern,
            "expects that the result contains snapshots; the value is the pattern of the result",
        ),
        RESULT,
        ERROR,
        AS,
        WITHIN,
        PROVES,
        CHOICE,
        INDEPENDENT,
        SPEC,
    ],
    doc: "opens a new connection and sends `reconnect` on it",
};

/// The row of [`StepVerb::Closed`].
pub(super) const CLOSED_VERB: VerbRow = VerbRow {
    verb: StepVerb::Closed,
    name: "closed",
    short: Some("at"),
    nature: VerbNature::Listens,
    asserts: true,
    answered: false,
    fields: &[AT, WITHIN, PROVES, INDEPENDENT, SPEC],
    doc: "waits until the host closes the connection",
};

/// The row of [`StepVerb::Pause`].
pub(super) const PAUSE: VerbRow = VerbRow {
    verb: StepVerb::Pause,
    name: "pause",
    short: Some("by"),
    nature: VerbNature::Acts,
    asserts: false,
    answered: false,
    fields: &[needed("by", MemberForm::Clients, "the clients that stop reading")],
    doc: "stops reading from the connection, so that messages from the host pile up",
};

/// The row of [`StepVerb::Resume`].
pub(super) const RESUME: VerbRow = VerbRow {
    verb: StepVerb::Resume,
    name: "resume",
    short: Some("by"),
    nature: VerbNature::Acts,
    asserts: false,
    answered: false,
    fields: &[needed("by", MemberForm::Clients, "the clients that read again")],
    doc: "starts reading again after a `pause`",
};

/// The row of [`StepVerb::Restart`].
pub(super) const RESTART: VerbRow = VerbRow {
    verb: StepVerb::Restart,
    name: "restart",
    short: None,
    nature: VerbNature::Acts,
    asserts: false,
    answered: false,
    fields: &[
        field(
            "crash",
            MemberForm::Flag,
            "kills the process of `--command`, which cannot save anything first; hosts without `--command` are restarted as usual",
        ),
        WITHIN,
        SPEC,
    ],
    doc: "restarts the host; every connection ends",
};
