//! The themes of generated conversations: the table of openings, subjects and preferred moves.
//!
//! Knows: the names of moves. Never knows: the implementation of moves.
//!
//! Start at [`THEMES`].

/// The theme of a conversation: its opening, and the moves that are more frequent in it.
pub(super) struct ConversationTheme {
    /// The name of the theme.
    pub(super) name: &'static str,
    /// The first steps of a conversation with this theme.
    pub(super) opening: ConversationOpening,
    /// The preferred subject of scripts and files.
    pub(super) focus: &'static str,
    /// The moves whose weight in this theme differs from the usual weight.
    pub(super) more: &'static [(&'static str, usize)],
}

/// The first steps of a conversation.
#[derive(Clone, Copy)]
pub(super) enum ConversationOpening {
    Session,
    Folders,
    Changes,
    Plugins,
    Automations,
    Files,
    Terminals,
    Turns,
    Handshake,
}

const fn theme(
    name: &'static str,
    opening: ConversationOpening,
    more: &'static [(&'static str, usize)],
) -> ConversationTheme {
    ConversationTheme { name, opening, focus: "", more }
}

const fn focused(
    name: &'static str,
    focus: &'static str,
    more: &'static [(&'static str, usize)],
) -> ConversationTheme {
    ConversationTheme { name, opening: ConversationOpening::Session, focus, more }
}

/// Every theme.
pub(super) const THEMES: &[ConversationTheme] = &[
    theme(
        "turns",
        ConversationOpening::Session,
        &[("turn", 20), ("decide", 20), ("chat", 20), ("release", 8)],
    ),
    focused("tools", "tool", &[("turn", 20), ("decide", 50), ("join-in", 6), ("line", 4)]),
    focused(
        "client tools",
        "client",
        &[
            ("turn", 20),
            ("decide", 40),
            ("join-in", 14),
            ("line", 8),
            ("subscribe", 14),
            ("look", 8),
        ],
    ),
    focused("questions", "ask", &[("turn", 20), ("decide", 60), ("line", 4)]),
    focused(
        "queues",
        "hold",
        &[("queue", 50), ("pile", 10), ("turn", 25), ("release", 14), ("decide", 6)],
    ),
    focused("grants", "asked", &[("files", 90)]),
    theme("folders", ConversationOpening::Folders, &[("folders", 60), ("chats", 6)]),
    theme(
        "sessions",
        ConversationOpening::Session,
        &[("sessions", 30), ("session", 10), ("subscribe", 10)],
    ),
    theme(
        "chats",
        ConversationOpening::Session,
        &[("chats", 40), ("turn", 25), ("chat", 10), ("subscribe", 6), ("window", 14)],
    ),
    focused(
        "moves",
        "worker",
        &[
            ("new-chat", 25),
            ("new-session", 14),
            ("turn", 25),
            ("move", 50),
            ("look", 10),
            ("subscribe", 10),
        ],
    ),
    focused(
        "workers",
        "worker",
        &[("turn", 30), ("decide", 20), ("release", 8), ("look", 14), ("move", 8)],
    ),
    focused(
        "canvases",
        "canvas",
        &[("turn", 40), ("look", 30), ("subscribe", 14), ("decide", 6), ("restart", 12)],
    ),
    focused("background", "background", &[("turn", 40), ("look", 20), ("decide", 10)]),
    focused("activity", "activity", &[("turn", 40), ("look", 20), ("release", 10)]),
    ConversationTheme {
        name: "recall",
        opening: ConversationOpening::Turns,
        focus: "WORD",
        more: &[("turn", 60), ("new-chat", 20), ("look", 6), ("queue", 4), ("release", 14)],
    },
    focused(
        "input by reference",
        "by-reference",
        &[("turn", 30), ("decide", 40), ("read", 40), ("look", 8)],
    ),
    theme("windows", ConversationOpening::Turns, &[("window", 60), ("turn", 10), ("line", 8)]),
    focused("approvals", "confirm", &[("turn", 30), ("decide", 60), ("look", 20)]),
    ConversationTheme {
        name: "providers",
        opening: ConversationOpening::Handshake,
        focus: "provider",
        more: &[("new-session", 50), ("new-chat", 50), ("turn", 10), ("subscribe", 8)],
    },
    ConversationTheme {
        name: "watches",
        opening: ConversationOpening::Files,
        focus: "harness/w",
        more: &[("watches", 30), ("files", 70), ("subscribe", 30)],
    },
    ConversationTheme {
        name: "telemetry",
        opening: ConversationOpening::Session,
        focus: "say",
        more: &[("listen", 50), ("turn", 40), ("line", 10)],
    },
    ConversationTheme {
        name: "tokens",
        opening: ConversationOpening::Handshake,
        focus: "token",
        more: &[("tokens", 50), ("new-session", 50), ("line", 8), ("join", 8)],
    },
    theme("metadata", ConversationOpening::Session, &[("session", 40), ("root", 12), ("look", 10)]),
    theme("lines", ConversationOpening::Session, &[("line", 40), ("turn", 12), ("session", 10)]),
    focused(
        RESTARTS,
        "hold",
        &[("restart", 40), ("turn", 30), ("session", 10), ("new-session", 4), ("line", 4)],
    ),
    theme(
        "wire",
        ConversationOpening::Handshake,
        &[("raw", 40), ("offer", 35), ("join", 10), ("again", 10), ("tokens", 12)],
    ),
    theme(
        "files",
        ConversationOpening::Files,
        &[("files", 80), ("watches", 20), ("subscribe", 20)],
    ),
    theme(
        "terminals",
        ConversationOpening::Terminals,
        &[("make-terminal", 8), ("terminal", 60), ("subscribe", 14), ("line", 8), ("look", 10)],
    ),
    theme("annotations", ConversationOpening::Session, &[("annotations", 60), ("subscribe", 20)]),
    theme(
        "automations",
        ConversationOpening::Automations,
        &[
            ("automations", 30),
            ("run", 50),
            ("runs", 12),
            ("subscribe", 16),
            ("look", 20),
            ("restart", 8),
        ],
    ),
    ConversationTheme {
        name: "changes",
        opening: ConversationOpening::Changes,
        focus: "one.txt",
        more: &[
            ("turn", 14),
            ("operations", 40),
            ("subscribe", 20),
            ("files", 6),
            ("changesets", 24),
            ("review", 14),
            ("dispose", 3),
            ("look", 14),
            ("list", 14),
        ],
    },
    ConversationTheme {
        name: "plugins",
        opening: ConversationOpening::Plugins,
        focus: "plugin",
        more: &[("join-in", 25), ("servers", 50), ("ask-server", 20), ("look", 14)],
    },
];

/// The theme that needs a host that can be restarted.
pub const RESTARTS: &str = "restarts";
/// The themes that depend on details that differ between hosts: file locations, shell output, valid tokens.
pub(super) const OWN: &[&str] =
    &["files", "watches", "grants", "changes", "folders", "telemetry", "tokens", "providers"];
