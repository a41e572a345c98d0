//! The tables of the language: every member of a scenario, every step and every member of a step.
//!
//! The parser, the JSON Schema for editors and `ahp-harness explain` are all read off these rows.

use crate::wire::version::Standard;

use super::common::{
    AS, AT, BY, CHANNEL, CLOSED, ERROR, EXACT, METHOD, OFFERS, ON, RESULT, RULE, SETUP, SPEC,
    TOKENS, TYPE, WHERE, WITHIN,
};
pub use super::forms::{Field, Form};
use super::forms::{field, needed, wanted};
pub use super::members::{FRAGMENT, SCENARIO, SETTINGS};
use crate::peer::guise::Credentials;

/// What a step does.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Verb {
    /// Opens connections without a handshake.
    Connect,
    /// Sends `initialize`.
    Initialize,
    /// The usual opening.
    Open,
    /// Sends a request and waits for its response.
    Request,
    /// Sends a notification.
    Notify,
    /// Dispatches an action.
    Dispatch,
    /// Starts a turn with the scenario's agent script.
    Turn,
    /// Subscribes to a channel.
    Subscribe,
    /// Unsubscribes.
    Unsubscribe,
    /// Waits for a message, passing over others.
    Expect,
    /// Demands that the very next message matches.
    Next,
    /// Demands that nothing matches until the next barrier.
    Never,
    /// Waits until everything sent before has arrived everywhere.
    Barrier,
    /// Reads a channel's state.
    Snapshot,
    /// Looks at what a client has made of a channel by itself.
    Mirror,
    /// Sends a frame as it is.
    Send,
    /// Waits for the response to a frame sent as it is.
    Answer,
    /// Waits for a request of the host.
    Asked,
    /// Cuts connections off.
    Drop,
    /// Comes back with `reconnect`.
    Reconnect,
    /// Waits until the host closes connections.
    Closed,
    /// Lets the agent go on from a `hold`.
    Release,
    /// Stops reading what comes.
    Pause,
    /// Reads on.
    Resume,
    /// Restarts the host.
    Restart,
    /// Does nothing for a while.
    Rest,
    /// Plays the steps of another file.
    Include,
    /// Sends `session/prompt` with the scenario's agent script.
    Prompt,
    /// Answers a request for permission.
    Permit,
    /// Waits for a message that the scenario needs and does not judge.
    Await,
    /// Looks at a file in the agent's folder.
    Disk,
    /// Looks at which tools of ours were called.
    Called,
}

/// One verb of the language.
#[derive(Debug)]
pub struct VerbRow {
    /// The verb.
    pub verb: Verb,
    /// Its key in a step.
    pub name: &'static str,
    /// The member that a bare value stands for.
    pub short: Option<&'static str>,
    /// Whether every such step is an expectation that can fail.
    pub asserts: bool,
    /// Its members.
    pub fields: &'static [Field],
    /// What it does.
    pub doc: &'static str,
}

/// What an agent that asks for permission may be answered.
const ANSWERS: &[&str] = &[
    "allow-once",
    "allow-always",
    "reject-once",
    "reject-always",
    "cancelled",
    "unknown",
    "error",
];

/// Every verb.
pub const VERBS: &[VerbRow] = &[
    VerbRow {
        verb: Verb::Connect,
        name: "connect",
        short: Some("by"),
        asserts: false,
        fields: &[
            needed("by", Form::Clients, "the clients that connect"),
            field(
                "credentials",
                Form::OneOf(Credentials::WORDS),
                "whose they come with, from here on: `own` (unless given), `other`, `wrong` or `none`",
            ),
            field(
                "origin",
                Form::Template,
                "the page that they say they come from, as browsers do",
            ),
            wanted(
                "refused",
                Form::Pattern,
                "that the host refuses the WebSocket handshake, and with which HTTP status; `closed` where it gives none",
            ),
            field(
                "perhaps",
                Form::Flag,
                "the host may refuse it here already; what follows then finds the connection closed",
            ),
            WITHIN,
            RULE,
            SPEC,
        ],
        doc: "opens connections and sends nothing on them",
    },
    VerbRow {
        verb: Verb::Initialize,
        name: "initialize",
        short: Some("by"),
        asserts: false,
        fields: &[
            needed("by", Form::Clients, "the clients that shake hands"),
            field("versions", Form::Template, "the versions offered, instead of the run's own"),
            field("subscribe", Form::Template, "the initial subscriptions"),
            field(
                "params",
                Form::Template,
                "further members of the params; they win over the usual ones",
            ),
            TOKENS,
            RESULT,
            ERROR,
            CLOSED,
            AS,
            WITHIN,
            RULE,
            SPEC,
        ],
        doc: "sends `initialize` and waits for the answer; an error fails the step unless `error` wants one",
    },
    VerbRow {
        verb: Verb::Open,
        name: "open",
        short: Some("by"),
        asserts: false,
        fields: &[
            needed("by", Form::Clients, "the clients; the first one creates the session"),
            field(
                "session",
                Form::Binds,
                "the name of the session, `session` unless given; one that is bound is joined",
            ),
            field("chat", Form::Binds, "the name of its default chat, `chat` unless given"),
            field("config", Form::Template, "further members of `createSession`"),
            field("root", Form::Flag, "subscribe to the root channel too, in the handshake"),
            TOKENS,
            OFFERS,
            WITHIN,
            RULE,
            SPEC,
        ],
        doc: "the usual opening: connect, initialize, create a session, subscribe to it and to its default chat; for an agent: connect, initialize, `session/new`",
    },
    VerbRow {
        verb: Verb::Request,
        name: "request",
        short: None,
        asserts: false,
        fields: &[
            BY,
            needed("method", Form::Text, "the method"),
            field(
                "params",
                Form::Template,
                "the params; `channel` is the root channel unless given",
            ),
            RESULT,
            ERROR,
            CLOSED,
            AS,
            EXACT,
            SETUP,
            WITHIN,
            RULE,
            SPEC,
        ],
        doc: "sends a request and waits for its response; an error fails the step unless `error` wants one",
    },
    VerbRow {
        verb: Verb::Notify,
        name: "notify",
        short: None,
        asserts: false,
        fields: &[
            BY,
            needed("method", Form::Text, "the method"),
            field("params", Form::Template, "the params"),
            RULE,
            SPEC,
        ],
        doc: "sends a notification",
    },
    VerbRow {
        verb: Verb::Dispatch,
        name: "dispatch",
        short: None,
        asserts: false,
        fields: &[
            BY,
            CHANNEL,
            needed("action", Form::Template, "the action, with its `type`"),
            field("clientSeq", Form::Template, "its `clientSeq`, instead of the client's next"),
            wanted(
                "accept",
                Form::Pattern,
                "that it comes back accepted, and what the envelope has to look like",
            ),
            wanted(
                "reject",
                Form::Pattern,
                "that it comes back with a `rejectionReason`, and what the envelope has to look like",
            ),
            wanted("ignored", Form::Flag, "that nothing comes back for it up to a barrier"),
            wanted(
                "refused",
                Form::Flag,
                "that it is not accepted: rejected, or nothing comes back up to a barrier",
            ),
            AS,
            WITHIN,
            RULE,
            SPEC,
        ],
        doc: "dispatches an action; without a wish the step does not wait",
    },
    VerbRow {
        verb: Verb::Turn,
        name: "turn",
        short: None,
        asserts: false,
        fields: &[
            BY,
            field("chat", Form::Template, "the chat's URI, `${chat}` unless given"),
            needed("id", Form::Template, "the turn's id"),
            field("text", Form::Template, "the message before the script"),
            field(
                "script",
                Form::Text,
                "a script of its own, instead of the scenario's `agent`; none where it is empty",
            ),
            field("attachments", Form::Template, "what is attached to the message, a list"),
            field("members", Form::Template, "further members of the action"),
            wanted(
                "accept",
                Form::Pattern,
                "that it comes back accepted, and what the envelope has to look like",
            ),
            wanted("reject", Form::Pattern, "that it comes back with a `rejectionReason`"),
            wanted(
                "refused",
                Form::Flag,
                "that it is not accepted: rejected, or nothing comes back up to a barrier",
            ),
            WITHIN,
            RULE,
            SPEC,
        ],
        doc: "dispatches `chat/turnStarted` with a message that carries the agent's script",
    },
    VerbRow {
        verb: Verb::Subscribe,
        name: "subscribe",
        short: None,
        asserts: false,
        fields: &[
            needed("by", Form::Clients, "the clients that subscribe"),
            CHANNEL,
            field("params", Form::Template, "further members of the params"),
            RESULT,
            ERROR,
            AS,
            WITHIN,
            RULE,
            SPEC,
        ],
        doc: "subscribes to a channel and waits for the response",
    },
    VerbRow {
        verb: Verb::Unsubscribe,
        name: "unsubscribe",
        short: None,
        asserts: false,
        fields: &[needed("by", Form::Clients, "the clients that unsubscribe"), CHANNEL, RULE, SPEC],
        doc: "unsubscribes from a channel; nothing answers it",
    },
    VerbRow {
        verb: Verb::Expect,
        name: "expect",
        short: None,
        asserts: true,
        fields: &[AT, TYPE, METHOD, ON, WHERE, EXACT, WITHIN, RULE, SPEC],
        doc: "waits for the first message that matches, and passes over what came before it",
    },
    VerbRow {
        verb: Verb::Next,
        name: "next",
        short: None,
        asserts: true,
        fields: &[AT, TYPE, METHOD, ON, WHERE, EXACT, WITHIN, RULE, SPEC],
        doc: "demands that the very next message on the channel matches",
    },
    VerbRow {
        verb: Verb::Never,
        name: "never",
        short: None,
        asserts: true,
        fields: &[AT, TYPE, METHOD, ON, WHERE, EXACT, RULE, SPEC],
        doc: "demands that no message matches, from what was read last to the next barrier",
    },
    VerbRow {
        verb: Verb::Barrier,
        name: "barrier",
        short: Some("by"),
        asserts: false,
        fields: &[
            BY,
            field(
                "channel",
                Form::Template,
                "the channel, `${chat}` where it is bound, else the root channel",
            ),
            WITHIN,
            RULE,
            SPEC,
        ],
        doc: "waits until everything that was sent before has arrived at every subscriber of the channel",
    },
    VerbRow {
        verb: Verb::Snapshot,
        name: "snapshot",
        short: None,
        asserts: true,
        fields: &[
            needed("of", Form::Template, "the channel's URI"),
            field("by", Form::Client, "the client that asks; a fresh observer unless given"),
            needed("state", Form::Pattern, "what the state has to look like"),
            field("as", Form::Binds, "the name to bind the state to"),
            EXACT,
            WITHIN,
            RULE,
            SPEC,
        ],
        doc: "reads a channel's state from scratch",
    },
    VerbRow {
        verb: Verb::Mirror,
        name: "mirror",
        short: None,
        asserts: true,
        fields: &[
            AT,
            needed("of", Form::Template, "the channel's URI"),
            needed("state", Form::Pattern, "what the client's own state has to look like"),
            EXACT,
            RULE,
            SPEC,
        ],
        doc: "looks at the state that a client made of its snapshot, the envelopes and its own pending actions",
    },
    VerbRow {
        verb: Verb::Send,
        name: "send",
        short: None,
        asserts: false,
        fields: &[
            BY,
            field("raw", Form::Template, "the text of the frame"),
            field("json", Form::Template, "the frame as a JSON value"),
            field("binary", Form::Template, "the bytes of a binary frame, as text"),
            field("size", Form::Count, "a well-formed `ping` padded to this many bytes"),
            field("depth", Form::Count, "a well-formed `ping` with arrays nested this deep"),
            field(
                "flood",
                Form::Count,
                "the same `ping` as `size`, which the transcript does not keep: for sizes that no host takes",
            ),
            field(
                "mangle",
                Form::Template,
                "the frame as a JSON value, with one thing in it spoilt",
            ),
            field(
                "times",
                Form::Count,
                "how often, each time filled in anew; `${count}` counts from 0",
            ),
            RULE,
            SPEC,
        ],
        doc: "sends a frame as it is, well-formed or not",
    },
    VerbRow {
        verb: Verb::Answer,
        name: "answer",
        short: None,
        asserts: true,
        fields: &[
            needed("at", Form::Client, "the client that has to see it"),
            needed("id", Form::Pattern, "the id of the response"),
            RESULT,
            ERROR,
            CLOSED,
            field(
                "none",
                Form::Flag,
                "that no response with this id comes before a later `ping` is answered",
            ),
            WITHIN,
            RULE,
            SPEC,
        ],
        doc: "waits for the response to a frame that was sent as it is",
    },
    VerbRow {
        verb: Verb::Asked,
        name: "asked",
        short: None,
        asserts: true,
        fields: &[
            needed("at", Form::Client, "the client that is asked"),
            needed("method", Form::Text, "the method"),
            needed("id", Form::Pattern, "the id of the request, to be answered by `send`"),
            field("where", Form::Pattern, "what the params have to look like"),
            WITHIN,
            RULE,
        ],
        doc: "demands that the next request of the host to this client is this one; a client that is never asked in a scenario answers every request with -32601",
    },
    VerbRow {
        verb: Verb::Drop,
        name: "drop",
        short: Some("by"),
        asserts: false,
        fields: &[needed("by", Form::Clients, "the clients whose connections end"), RULE, SPEC],
        doc: "cuts connections off without a closing handshake; the clients keep what they know",
    },
    VerbRow {
        verb: Verb::Reconnect,
        name: "reconnect",
        short: Some("by"),
        asserts: false,
        fields: &[
            needed("by", Form::Clients, "the clients that come back"),
            field(
                "subscriptions",
                Form::Template,
                "the channels to resume, instead of those the client had",
            ),
            field(
                "lastSeen",
                Form::Template,
                "the `lastSeenServerSeq`, instead of the client's own",
            ),
            wanted(
                "replay",
                Form::Pattern,
                "that the result is a replay, and what it has to look like",
            ),
            wanted(
                "snapshot",
                Form::Pattern,
                "that the result is snapshots, and what it has to look like",
            ),
            RESULT,
            ERROR,
            AS,
            WITHIN,
            RULE,
            SPEC,
        ],
        doc: "opens a new connection and resumes on it with `reconnect`",
    },
    VerbRow {
        verb: Verb::Closed,
        name: "closed",
        short: Some("at"),
        asserts: true,
        fields: &[AT, WITHIN, RULE, SPEC],
        doc: "waits until the host closes the connection",
    },
    VerbRow {
        verb: Verb::Release,
        name: "release",
        short: Some("hold"),
        asserts: false,
        fields: &[
            needed("hold", Form::Text, "the hold's name"),
            field(
                "by",
                Form::Client,
                "the client that releases it; the scenario's first unless given",
            ),
            field("chat", Form::Template, "the chat's URI, `${chat}` unless given"),
            RULE,
            SPEC,
        ],
        doc: "lets the agent go on from `hold NAME`, by a steering message `ahp-release: NAME`",
    },
    VerbRow {
        verb: Verb::Pause,
        name: "pause",
        short: Some("by"),
        asserts: false,
        fields: &[needed("by", Form::Clients, "the clients that stop"), RULE],
        doc: "stops reading from the connection, so that what the host sends has to wait",
    },
    VerbRow {
        verb: Verb::Resume,
        name: "resume",
        short: Some("by"),
        asserts: false,
        fields: &[needed("by", Form::Clients, "the clients that go on"), RULE],
        doc: "reads on after a `pause`",
    },
    VerbRow {
        verb: Verb::Restart,
        name: "restart",
        short: None,
        asserts: false,
        fields: &[WITHIN, RULE, SPEC],
        doc: "restarts the host; every connection ends",
    },
    VerbRow {
        verb: Verb::Rest,
        name: "rest",
        short: Some("for"),
        asserts: false,
        fields: &[needed("for", Form::Duration, "how long")],
        doc: "does nothing for a while, so that the host gets done what it holds back; the always-on checks then compare what repeats the state of other channels",
    },
    VerbRow {
        verb: Verb::Include,
        name: "include",
        short: Some("file"),
        asserts: false,
        fields: &[
            needed("file", Form::Text, "the fragment's path, from this file's folder"),
            field(
                "with",
                Form::Values,
                "values by name, for the fragment's `$given name`; a list of steps for a step",
            ),
            SPEC,
        ],
        doc: "plays the steps of a fragment: a file of `fragment` (a title) and `steps`",
    },
    VerbRow {
        verb: Verb::Prompt,
        name: "prompt",
        short: Some("by"),
        asserts: false,
        fields: &[
            BY,
            field("session", Form::Template, "the session's id, `${session}` unless given"),
            field("text", Form::Template, "the text before the script"),
            field("script", Form::Text, "a script of its own, instead of the scenario's `agent`"),
            field("blocks", Form::Template, "further content blocks, a list"),
            field("as", Form::Binds, "the name to bind the request's id to, for `answer`"),
            RULE,
        ],
        doc: "sends `session/prompt` with the agent's script and does not wait",
    },
    VerbRow {
        verb: Verb::Permit,
        name: "permit",
        short: None,
        asserts: false,
        fields: &[
            BY,
            needed(
                "answer",
                Form::OneOf(ANSWERS),
                "which; `unknown` names an option that is not there",
            ),
            WITHIN,
            RULE,
        ],
        doc: "waits until the agent asks for permission and answers; untested where it never asks",
    },
    VerbRow {
        verb: Verb::Await,
        name: "await",
        short: None,
        asserts: false,
        fields: &[AT, TYPE, METHOD, ON, WHERE, EXACT, WITHIN, RULE, SPEC],
        doc: "waits for the first message that matches, and leaves it to others; untested where none comes, since it only prepares",
    },
    VerbRow {
        verb: Verb::Disk,
        name: "disk",
        short: None,
        asserts: true,
        fields: &[
            needed("path", Form::Text, "the file, from the agent's folder"),
            needed("text", Form::Pattern, "what stands in it; `$absent` where there is none"),
            WITHIN,
            RULE,
        ],
        doc: "looks at a file in the folder that the agent works in",
    },
    VerbRow {
        verb: Verb::Called,
        name: "called",
        short: None,
        asserts: true,
        fields: &[
            needed("times", Form::Count, "how often, since the scenario began"),
            WITHIN,
            RULE,
        ],
        doc: "looks at how often the tool of the harness's own MCP server was called",
    },
];

impl Verb {
    /// The row of the verb.
    pub fn row(self) -> &'static VerbRow {
        // The rows stand in the order of the variants; a test holds them there.
        &VERBS[self as usize]
    }

    /// The one protocol that it is for; `None` where it is for all.
    pub fn standard(self) -> Option<Standard> {
        match self {
            Verb::Prompt | Verb::Permit | Verb::Disk | Verb::Called => Some(Standard::Acp),
            Verb::Dispatch
            | Verb::Turn
            | Verb::Subscribe
            | Verb::Unsubscribe
            | Verb::Snapshot
            | Verb::Mirror
            | Verb::Reconnect
            | Verb::Restart => Some(Standard::Ahp),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_verbs() {
        for (index, row) in VERBS.iter().enumerate() {
            assert_eq!(row.verb as usize, index, "{}", row.name);
            if let Some(short) = row.short {
                assert!(row.fields.iter().any(|field| field.name == short), "{}", row.name);
            }
        }
    }
}
