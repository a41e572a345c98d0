//! The table of the capture format: every kind of line and every member of each kind.
//!
//! [`schema`] is generated from the table. [`super::line`] uses the table to write and read lines. A test checks that
//! the table, the code and the page `CAPTURE_FORMAT.md` agree.
//!
//! Knows: names and forms. Never knows: readers and writers of lines.

use crate::wire::json::{Map, Value, json};

/// The form of a member's value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineMemberForm {
    /// Any JSON value.
    Json,
    /// A text.
    Text,
    /// A list of strings.
    Texts,
    /// An even number of hexadecimal digits.
    Hex,
    /// A time in seconds.
    Seconds,
    /// A whole number that is not negative.
    Count,
    /// The value `true`; otherwise the member is absent.
    True,
    /// A word of this list.
    OneOf(&'static [&'static str]),
}

/// One member of a line.
#[derive(Debug)]
pub struct LineMember {
    /// The name of the member.
    pub name: &'static str,
    /// The form of the member's value.
    pub form: LineMemberForm,
    /// The meaning of the member.
    pub doc: &'static str,
}

/// One kind of line.
#[derive(Debug)]
pub struct LineKind {
    /// The value of `dir` on a line of this kind.
    pub dir: &'static str,
    /// Whether a line of this kind belongs to a connection, and therefore has a `conn`.
    pub conn: bool,
    /// The members that only this kind has.
    pub members: &'static [LineMember],
    /// Whether a line of this kind needs exactly one of the members `msg`, `raw` and `hex`.
    pub frame: bool,
    /// The meaning of a line of this kind.
    pub doc: &'static str,
}

const fn member(name: &'static str, form: LineMemberForm, doc: &'static str) -> LineMember {
    LineMember { name, form, doc }
}

/// The members that a line of any kind may have.
pub const COMMON: &[LineMember] = &[
    member("t", LineMemberForm::Seconds, "seconds since the recording began, to the microsecond"),
    member(
        "conn",
        LineMemberForm::Text,
        "the connection's name; if the client connects again, the new connection has another name",
    ),
    member(
        "case",
        LineMemberForm::Count,
        "the number of the scenario that is being played; only in runs of this harness",
    ),
];

/// The members that contain the content of a frame.
const FRAME: &[LineMember] = &[
    member(
        "msg",
        LineMemberForm::Json,
        "the frame, if its text is JSON on one line without white space around it; kept unchanged",
    ),
    member("raw", LineMemberForm::Text, "the frame, if it is text that cannot be written as `msg`"),
    member("hex", LineMemberForm::Hex, "the frame, if it is binary or not UTF-8"),
    member(
        "text",
        LineMemberForm::True,
        "beside `hex`: the frame was sent as text; it is not UTF-8, or has many control characters",
    ),
    member(
        "cut",
        LineMemberForm::True,
        "the connection ended before the frame was complete; this is the part that was received",
    ),
];

/// The members that contain the lines of a WebSocket handshake.
const HANDSHAKE: &[LineMember] = &[
    member(
        "request",
        LineMemberForm::Texts,
        "the request line and the headers of the WebSocket handshake; secrets are replaced",
    ),
    member(
        "response",
        LineMemberForm::Texts,
        "the status line and the headers of the host's answer to the handshake, with the subprotocol",
    ),
];

/// Every kind of line in a capture.
pub const KINDS: &[LineKind] = &[
    LineKind {
        dir: "open",
        conn: true,
        members: HANDSHAKE,
        frame: false,
        doc: "a connection was opened",
    },
    LineKind {
        dir: "refused",
        conn: true,
        members: HANDSHAKE,
        frame: false,
        doc: "the host did not accept the WebSocket handshake: there is no connection",
    },
    LineKind {
        dir: "c2s",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the client sent a message",
    },
    LineKind {
        dir: "s2c",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the host sent a message",
    },
    LineKind {
        dir: "c2a",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the host sent an ACP message to its agent",
    },
    LineKind {
        dir: "a2c",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the agent sent a message to the host",
    },
    LineKind {
        dir: "model",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the agent sent a request to the model stand-in; the frame is a line of the stand-in's log",
    },
    LineKind {
        dir: "tool",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the agent called a tool of the harness's own MCP server; the frame is a line of the server's log",
    },
    LineKind {
        dir: "err",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the agent wrote a line to standard error",
    },
    LineKind {
        dir: "local",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the result of a file or a command that a client of the harness provides",
    },
    LineKind {
        dir: "close",
        conn: true,
        members: &[
            member(
                "by",
                LineMemberForm::OneOf(&["client", "host"]),
                "the side that ended the connection; by default the host",
            ),
            member("code", LineMemberForm::Count, "the WebSocket close code, if there was one"),
            member(
                "reason",
                LineMemberForm::Text,
                "the reason in the close frame, or the error of the network below the WebSocket",
            ),
        ],
        frame: false,
        doc: "a connection ended, or could not be opened",
    },
    LineKind {
        dir: "fault",
        conn: true,
        members: &[member("fault", LineMemberForm::Text, "the fault, as it was requested")],
        frame: false,
        doc: "the recorder injected a fault here, see `record --fault-on`",
    },
    LineKind {
        dir: "gap",
        conn: true,
        members: &[member(
            "by",
            LineMemberForm::OneOf(&["client", "host"]),
            "the side that sent the missing message; by default the client",
        )],
        frame: false,
        doc: "a message is missing from the capture at this point, or is incomplete",
    },
    LineKind {
        dir: "restart",
        conn: false,
        members: &[],
        frame: false,
        doc: "the host was restarted: its earlier sequence numbers are no longer valid",
    },
];

/// Returns whether a string is a keyword of the capture format.
pub fn is_word(text: &str) -> bool {
    let kinds = KINDS.iter().flat_map(|kind| kind.members);
    let mut members = COMMON.iter().chain(kinds);
    let one_of = |form: LineMemberForm| matches!(form, LineMemberForm::OneOf(words) if words.contains(&text));
    text == "dir"
        || KINDS.iter().any(|kind| kind.dir == text)
        || members.any(|member| member.name == text || one_of(member.form))
}

/// Returns the JSON Schema of one line. A copy of the schema is checked in.
pub fn schema() -> String {
    let kinds: Value = KINDS.iter().map(kind).collect();
    let about = json!({
        "type": "object",
        "description": "A line about the recording or the run, not about a connection.",
        "properties": {"run": {"type": "string"}},
        "required": ["run"],
    });
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One line of an AHP capture",
        "oneOf": [about, {"oneOf": kinds}],
    });
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

fn kind(kind: &LineKind) -> Value {
    let mut properties = Map::new();
    properties.insert("dir", json!({"const": kind.dir}));
    let common = COMMON.iter().filter(|member| kind.conn || member.name != "conn");
    for member in common.chain(kind.members) {
        let mut value = form(member.form);
        value["description"] = json!(member.doc);
        properties.insert(member.name, value);
    }
    let mut schema = json!({
        "type": "object",
        "description": kind.doc,
        "properties": properties,
        "required": ["dir"],
        // A line with `run` describes the recording or the run. Other tools may add further members.
        "not": {"required": ["run"]},
    });
    if kind.frame {
        schema["oneOf"] = json!([
            {"required": ["msg"]},
            {"required": ["raw"]},
            {"required": ["hex"]},
        ]);
    }
    schema
}

fn form(form: LineMemberForm) -> Value {
    match form {
        LineMemberForm::Json => json!({}),
        LineMemberForm::Text => json!({"type": "string"}),
        LineMemberForm::Texts => json!({"type": "array", "items": {"type": "string"}}),
        LineMemberForm::Hex => json!({"type": "string", "pattern": "^([0-9a-fA-F]{2})*$"}),
        LineMemberForm::Seconds => json!({"type": "number", "minimum": 0}),
        LineMemberForm::Count => json!({"type": "integer", "minimum": 0}),
        LineMemberForm::True => json!({"type": "boolean"}),
        LineMemberForm::OneOf(words) => json!({"enum": words.to_vec()}),
    }
}
