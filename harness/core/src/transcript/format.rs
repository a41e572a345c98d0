//! The table of the capture format: every kind of line and every member of it.
//!
//! [`schema`] is read off it; [`super::line`] writes and reads what it says, and a test holds the two
//! and the page `CAPTURE_FORMAT.md` equal.
//!
//! Knows: names and forms. Never knows: how a line is written or read.

use crate::wire::json::{Map, Value, json};

/// What a member's value has to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// Any JSON value.
    Json,
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// An even number of hexadecimal digits.
    Hex,
    /// Seconds.
    Seconds,
    /// A whole number.
    Count,
    /// `true`, or left out.
    True,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// One member of a line.
#[derive(Debug)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// What its value has to be.
    pub form: Form,
    /// What it says.
    pub doc: &'static str,
}

/// One kind of line.
#[derive(Debug)]
pub struct Kind {
    /// The value of `dir`.
    pub dir: &'static str,
    /// Whether it belongs to a connection, and has a `conn`.
    pub conn: bool,
    /// The members of this kind alone.
    pub members: &'static [Member],
    /// Whether exactly one of `msg`, `raw` and `hex` has to be there.
    pub frame: bool,
    /// What it says.
    pub doc: &'static str,
}

const fn member(name: &'static str, form: Form, doc: &'static str) -> Member {
    Member { name, form, doc }
}

/// The members that every line may have.
pub const COMMON: &[Member] = &[
    member("t", Form::Seconds, "seconds since the recording began, to the microsecond"),
    member(
        "conn",
        Form::Text,
        "the connection's name; one that is opened again is a new connection",
    ),
    member("case", Form::Count, "the scenario being played, in a run of this harness only"),
];

/// The members of a frame.
const FRAME: &[Member] = &[
    member(
        "msg",
        Form::Json,
        "the frame, where its text is JSON on one line, without white space around it; kept to the letter",
    ),
    member("raw", Form::Text, "the frame, where it is other text"),
    member("hex", Form::Hex, "the frame, where it is binary or not UTF-8"),
    member("text", Form::True, "beside `hex`: it was sent as a text, though it is not UTF-8"),
    member(
        "cut",
        Form::True,
        "the connection ended before the frame did; this is what there was of it",
    ),
];

/// The members of a handshake.
const HANDSHAKE: &[Member] = &[
    member(
        "request",
        Form::Texts,
        "the request line and the headers of the WebSocket handshake, secrets replaced",
    ),
    member(
        "response",
        Form::Texts,
        "the status line and the headers of its answer, with the subprotocol",
    ),
];

/// Every kind of line.
pub const KINDS: &[Kind] = &[
    Kind { dir: "open", conn: true, members: HANDSHAKE, frame: false, doc: "a connection stands" },
    Kind {
        dir: "refused",
        conn: true,
        members: HANDSHAKE,
        frame: false,
        doc: "the host answered the WebSocket handshake with something else: there is no connection",
    },
    Kind { dir: "c2s", conn: true, members: FRAME, frame: true, doc: "the client sent a message" },
    Kind { dir: "s2c", conn: true, members: FRAME, frame: true, doc: "the host sent a message" },
    Kind {
        dir: "c2a",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the host sent a message to its agent, which it speaks ACP to",
    },
    Kind {
        dir: "a2c",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the agent sent a message to the host",
    },
    Kind {
        dir: "model",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the agent asked the model stand-in: a line of its log",
    },
    Kind {
        dir: "tool",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the agent called a tool of the harness's own MCP server: a line of its log",
    },
    Kind {
        dir: "err",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "the agent wrote a line to standard error",
    },
    Kind {
        dir: "local",
        conn: true,
        members: FRAME,
        frame: true,
        doc: "what came of a file or a command that a client of the harness sees to",
    },
    Kind {
        dir: "close",
        conn: true,
        members: &[
            member("by", Form::OneOf(&["client", "host"]), "who ended it; the host unless said"),
            member("code", Form::Count, "the WebSocket close code, where there was one"),
            member("reason", Form::Text, "the reason that came with it, or what went wrong below"),
        ],
        frame: false,
        doc: "a connection ended, or could not be opened",
    },
    Kind {
        dir: "fault",
        conn: true,
        members: &[member("fault", Form::Text, "the fault, as it was asked for")],
        frame: false,
        doc: "the recorder did something of its own here, see `record --fault-on`",
    },
    Kind {
        dir: "gap",
        conn: true,
        members: &[member(
            "by",
            Form::OneOf(&["client", "host"]),
            "who sent what is missing; the client unless said",
        )],
        frame: false,
        doc: "something that passed here is not in the capture, or not all of it",
    },
    Kind {
        dir: "restart",
        conn: false,
        members: &[],
        frame: false,
        doc: "the host was restarted: what it numbered before means nothing any more",
    },
];

/// Whether a text is a word of the format itself.
pub fn is_word(text: &str) -> bool {
    let kinds = KINDS.iter().flat_map(|kind| kind.members);
    let mut members = COMMON.iter().chain(kinds);
    let one_of = |form: Form| matches!(form, Form::OneOf(words) if words.contains(&text));
    text == "dir"
        || KINDS.iter().any(|kind| kind.dir == text)
        || members.any(|member| member.name == text || one_of(member.form))
}

/// The JSON Schema of one line, as it is checked in.
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

fn kind(kind: &Kind) -> Value {
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
        // A `run` line is about something else; other members are other tools' own.
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

fn form(form: Form) -> Value {
    match form {
        Form::Json => json!({}),
        Form::Text => json!({"type": "string"}),
        Form::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Form::Hex => json!({"type": "string", "pattern": "^([0-9a-fA-F]{2})*$"}),
        Form::Seconds => json!({"type": "number", "minimum": 0}),
        Form::Count => json!({"type": "integer", "minimum": 0}),
        Form::True => json!({"type": "boolean"}),
        Form::OneOf(words) => json!({"enum": words.to_vec()}),
    }
}
