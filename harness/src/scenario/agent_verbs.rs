//! Defines the verbs of scenarios about agents: prompts, permissions, tools, files and the text of a session.
//!
//! Knows: the forms of members. Never knows: the effect of steps.
//!
//! Start at [`PROMPT`].

use super::common::{
    AT, BY, CHOICE, DEVIATES, EXACT, INDEPENDENT, METHOD, ON, PROVES, SPEC, TYPE, UNLESS, WHERE,
    WITHIN,
};
use super::forms::{MemberForm, field, needed};
use super::verb::{StepVerb, VerbNature, VerbRow};

/// The answers that a client may give to a permission request of an agent.
const ANSWERS: &[&str] = &[
    "allow-once",
    "allow-always",
    "reject-once",
    "reject-always",
    "cancelled",
    "unknown",
    "error",
];

/// The row of [`StepVerb::Prompt`].
pub(super) const PROMPT: VerbRow = VerbRow {
    verb: StepVerb::Prompt,
    name: "prompt",
    short: Some("by"),
    nature: VerbNature::Acts,
    asserts: false,
    answered: false,
    fields: &[
        BY,
        field("session", MemberForm::Template, "the session's id, by default `${session}`"),
        field(
            "text",
            MemberForm::Template,
            "the text of the prompt, to which the script is appended",
        ),
        field(
            "script",
            MemberForm::Text,
            "a script for this step, instead of the scenario's `agent`",
        ),
        field("blocks", MemberForm::Template, "further content blocks, a list"),
        field("as", MemberForm::Binds, "the name to bind the request's id to, for `answer`"),
    ],
    doc: "sends `session/prompt` with the agent's script, and does not wait for the answer",
};

/// The row of [`StepVerb::Permit`].
pub(super) const PERMIT: VerbRow = VerbRow {
    verb: StepVerb::Permit,
    name: "permit",
    short: None,
    nature: VerbNature::Acts,
    asserts: false,
    answered: false,
    fields: &[
        BY,
        needed(
            "answer",
            MemberForm::OneOf(ANSWERS),
            "the answer; `unknown` selects an option that does not exist",
        ),
        WITHIN,
    ],
    doc: "waits until the agent asks for permission, and answers; if the agent never asks, the later claims are untested",
};

/// The row of [`StepVerb::Await`].
pub(super) const AWAIT: VerbRow = VerbRow {
    verb: StepVerb::Await,
    name: "await",
    short: None,
    nature: VerbNature::Paces,
    asserts: false,
    answered: false,
    fields: &[AT, TYPE, METHOD, ON, WHERE, EXACT, UNLESS, WITHIN, CHOICE, DEVIATES, SPEC],
    doc: "waits for the first message that matches, and leaves the message unread for later steps; if no such message arrives, the later claims are untested, because this step is always a premise",
};

/// The row of [`StepVerb::Disk`].
pub(super) const DISK: VerbRow = VerbRow {
    verb: StepVerb::Disk,
    name: "disk",
    short: None,
    nature: VerbNature::Listens,
    asserts: true,
    answered: false,
    fields: &[
        needed("path", MemberForm::Text, "the path of the file in the agent's folder"),
        needed(
            "text",
            MemberForm::Pattern,
            "the pattern of the file's text; `$absent` if the file must not exist",
        ),
        field(
            "waits",
            MemberForm::Flag,
            "checks the file repeatedly until it matches, or until the timeout",
        ),
        WITHIN,
        PROVES,
        INDEPENDENT,
    ],
    doc: "checks a file in the agent's working folder",
};

/// The row of [`StepVerb::Called`].
pub(super) const CALLED: VerbRow = VerbRow {
    verb: StepVerb::Called,
    name: "called",
    short: None,
    nature: VerbNature::Listens,
    asserts: true,
    answered: false,
    fields: &[
        needed(
            "times",
            MemberForm::Count,
            "the number of calls since the beginning of the scenario",
        ),
        field(
            "each",
            MemberForm::Pattern,
            "the pattern of the report of each call: `arguments` are the arguments of the call, `mark` is the value of the \
             variable `AHP_MARK` or of the header `X-Ahp-Mark`",
        ),
        WITHIN,
        PROVES,
        INDEPENDENT,
    ],
    doc: "checks how often the tool of the harness's MCP server was called",
};

/// The row of [`StepVerb::Call`].
pub(super) const CALL: VerbRow = VerbRow {
    verb: StepVerb::Call,
    name: "call",
    short: None,
    nature: VerbNature::Listens,
    asserts: true,
    answered: false,
    fields: &[
        AT,
        needed("id", MemberForm::Template, "the `toolCallId`"),
        needed("state", MemberForm::Pattern, "the pattern of the tool call"),
        CHOICE,
        PROVES,
        INDEPENDENT,
    ],
    doc: "checks the accumulated state of a tool call: a member that an update leaves out keeps its value, and a list replaces the previous list",
};

/// The row of [`StepVerb::Texts`].
pub(super) const TEXTS: VerbRow = VerbRow {
    verb: StepVerb::Texts,
    name: "texts",
    short: None,
    nature: VerbNature::Listens,
    asserts: true,
    answered: false,
    fields: &[
        AT,
        needed("session", MemberForm::Template, "the `sessionId`"),
        field(
            "user",
            MemberForm::Pattern,
            "the text of the user's messages, joined from the chunks",
        ),
        field(
            "agent",
            MemberForm::Pattern,
            "the text of the agent's messages, joined from the chunks",
        ),
        CHOICE,
        WITHIN,
        PROVES,
        INDEPENDENT,
    ],
    doc: "waits until the messages of a session match; the chunks that arrived on the client's current connection are \
          joined",
};
