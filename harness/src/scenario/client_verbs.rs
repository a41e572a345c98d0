//! Defines the verbs of scenarios about clients: what the tested client is told to do, and what the host does to it.
//!
//! Knows: the forms of members, the commands of drivers. Never knows: what a step does.
//!
//! Start at [`DRIVE`].

use super::common::{AS, DEVIATES, ERROR, INDEPENDENT, PROVES, RESULT, SPEC, WITHIN};
use super::forms::{FormField, MemberForm, field, needed};
use super::verb::{StepVerb, VerbRow};
use crate::peer::reference::DRIVER_COMMANDS;

/// The name by which steps refer to the host in a scenario that tests a client.
pub const HOST: &str = "host";

/// The row of [`StepVerb::Drive`].
pub(super) const DRIVE: VerbRow = VerbRow {
    verb: StepVerb::Drive,
    name: "drive",
    short: Some("do"),
    asserts: false,
    answered: true,
    fields: &[
        needed("do", MemberForm::OneOf(DRIVER_COMMANDS), "the command for the driver"),
        field("with", MemberForm::Template, "the members of the command"),
        field(
            "unawaited",
            MemberForm::Flag,
            "does not wait for the driver's answer; `as` is bound to the command's id, for `answer`",
        ),
        RESULT,
        ERROR,
        AS,
        WITHIN,
        PROVES,
        INDEPENDENT,
        SPEC,
    ],
    doc: "makes the tested client act through its driver, and waits until the driver answers; an error fails the step unless it has `error`",
};

/// The row of [`StepVerb::Respond`].
pub(super) const RESPOND: VerbRow = VerbRow {
    verb: StepVerb::Respond,
    name: "respond",
    short: None,
    asserts: false,
    answered: false,
    fields: &[
        needed("method", MemberForm::Method, "the method of the client's requests"),
        field(
            "where",
            MemberForm::Pattern,
            "the pattern of the requests' params; other requests are answered as usual",
        ),
        field(
            "result",
            MemberForm::Template,
            "the result; the host does not see the request, unless it is a handshake",
        ),
        field("error", MemberForm::Template, "the error; the host does not see the request"),
        field(
            "merge",
            MemberForm::Template,
            "what is merged into the host's own response, as a JSON Merge Patch (RFC 7396): null removes a member",
        ),
        field(
            "silent",
            MemberForm::Flag,
            "there is no response; the host handles a request, and does not see a notification such as `dispatchAction`",
        ),
        field("twice", MemberForm::Flag, "the host's response is sent twice"),
        field("cut", MemberForm::Flag, "the connection ends instead of the response"),
        field("delay", MemberForm::Duration, "the time for which the response is held back"),
        field("times", MemberForm::Count, "the number of requests, by default 1"),
        SPEC,
    ],
    doc: "changes how the host answers the next requests of a method from the tested client",
};

/// The row of [`StepVerb::Publish`].
pub(super) const PUBLISH: VerbRow = VerbRow {
    verb: StepVerb::Publish,
    name: "publish",
    short: None,
    asserts: false,
    answered: false,
    fields: &[
        needed("channel", MemberForm::Template, "the channel's URI"),
        needed("action", MemberForm::Action, "the action"),
        ORIGIN,
        field(
            "rejected",
            MemberForm::Text,
            "the reason for a rejection: every subscriber gets the envelope, and the host's state does not change",
        ),
        field(
            "members",
            MemberForm::Template,
            "further members of the envelope; they replace the usual ones",
        ),
        DEVIATES,
        SPEC,
    ],
    doc: "lets the host publish an action with the next `serverSeq`; an action that the reducers do not know changes no state",
};

const ORIGIN: FormField = field(
    "origin",
    MemberForm::Template,
    "the `origin` of the envelope, such as `{ clientId: someone, clientSeq: 1 }`; by default there is none",
);

/// The row of [`StepVerb::Refuse`].
pub(super) const REFUSE: VerbRow = VerbRow {
    verb: StepVerb::Refuse,
    name: "refuse",
    short: Some("times"),
    asserts: false,
    answered: false,
    fields: &[
        needed("times", MemberForm::Count, "the number of connections"),
        field("status", MemberForm::Count, "the HTTP status, by default 503"),
        SPEC,
    ],
    doc: "refuses the next connections of the tested client",
};
