//! Defines the verbs of scenarios that test a client: commands to the tested client, and changes of the host's
//! behaviour towards this client.
//!
//! Knows: the forms of members, the commands of drivers. Never knows: the effect of steps.
//!
//! Start at [`DRIVE`].

use super::common::{AS, DEVIATES, ERROR, INDEPENDENT, PROVES, RESULT, SPEC, WITHIN};
use super::forms::{FormField, MemberForm, field, needed};
use super::verb::{StepVerb, VerbNature, VerbRow};
use crate::peer::reference::DRIVER_COMMANDS;

/// The name by which steps refer to the host in a scenario that tests a client.
pub const HOST: &str = "host";

/// The row of [`StepVerb::Drive`].
pub(super) const DRIVE: VerbRow = VerbRow {
    verb: StepVerb::Drive,
    name: "drive",
    short: Some("do"),
    nature: VerbNature::Acts,
    asserts: false,
    answered: true,
    fields: &[
        needed("do", MemberForm::OneOf(DRIVER_COMMANDS), "the command for the driver"),
        field("with", MemberForm::Template, "the members of the command"),
        field(
            "unawaited",
            MemberForm::Flag,
            "the step does not wait for the driver's answer, and the name in `as` is bound to the command's id, for a later `answer` step",
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
    nature: VerbNature::Acts,
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
            "the result that replaces the host's result; the host does not see the request, unless the request is a handshake",
        ),
        field(
            "error",
            MemberForm::Template,
            "the error that is sent instead; the host does not see the request",
        ),
        field(
            "merge",
            MemberForm::Template,
            "the JSON Merge Patch (RFC 7396) that is applied to the host's own result: null removes a member",
        ),
        field(
            "silent",
            MemberForm::Flag,
            "no response is sent; the host still handles a request, but does not see a notification such as `dispatchAction`",
        ),
        field("twice", MemberForm::Flag, "the host's response is sent twice"),
        field("cut", MemberForm::Flag, "the connection is cut instead of sending the response"),
        field("delay", MemberForm::Duration, "the delay of the response"),
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
    nature: VerbNature::Acts,
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
            "further members of the envelope; they replace the usual members of the same name",
        ),
        DEVIATES,
        SPEC,
    ],
    doc: "makes the host publish an action with the next `serverSeq`; an action that the reducers do not know changes no state",
};

const ORIGIN: FormField = field(
    "origin",
    MemberForm::Template,
    "the `origin` of the envelope, such as `{ clientId: someone, clientSeq: 1 }`; by default, the envelope has no `origin`",
);

/// The row of [`StepVerb::Refuse`].
pub(super) const REFUSE: VerbRow = VerbRow {
    verb: StepVerb::Refuse,
    name: "refuse",
    short: Some("times"),
    nature: VerbNature::Acts,
    asserts: false,
    answered: false,
    fields: &[
        needed("times", MemberForm::Count, "the number of connections"),
        field("status", MemberForm::Count, "the HTTP status, by default 503"),
        SPEC,
    ],
    doc: "refuses the next connections of the tested client",
};
