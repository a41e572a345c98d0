//! What is asked for: paths of the model interfaces, and those of the flavor.
//!
//! Paths are compared by their ends, since agents put them behind whatever base they were given.
//!
//! Knows: paths. Never knows: bodies.
//!
//! Start at [`find`].

use crate::wire::json::Value;

use super::flavor::Flavor;

/// A model interface.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Family {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Google's `generateContent`.
    Gemini,
}

impl Family {
    /// As the log names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Family::Chat => "chat",
            Family::Responses => "responses",
            Family::Messages => "messages",
            Family::Gemini => "gemini",
        }
    }
}

/// A turn of a model that is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ModelTurnRequest {
    pub(super) family: Family,
    /// Whether the path asks for a stream; in most families the body does.
    pub(super) stream: Option<bool>,
    /// Whether a stream is one JSON array instead of events.
    pub(super) array: bool,
}

/// What a request is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Route<'a> {
    /// A turn of a model.
    Model(ModelTurnRequest),
    /// How many tokens a request has.
    Count,
    /// Which models there are.
    Models,
    /// A fixed answer of the flavor.
    Canned {
        /// The HTTP status.
        status: u16,
        /// The body, with its placeholders.
        body: &'a Value,
    },
    /// A server of the Model Context Protocol.
    Mcp,
    /// Authorized with a token that is none.
    Unauthorized,
    /// Something else, which gets an empty object.
    Unknown,
}

/// The ends of the paths that ask for a turn by `POST`.
const TURNS: &[(&str, Family, Option<bool>)] = &[
    ("/chat/completions", Family::Chat, None),
    ("/responses", Family::Responses, None),
    ("/messages", Family::Messages, None),
    (":generateContent", Family::Gemini, Some(false)),
    (":streamGenerateContent", Family::Gemini, Some(true)),
];

/// The ends of the paths that count tokens.
const COUNTS: &[&str] = &["/messages/count_tokens", ":countTokens"];

/// What a request is. The flavor comes first: what it says about a path counts.
pub(super) fn find<'a>(method: &str, path: &str, query: &str, flavor: &'a Flavor) -> Route<'a> {
    if let Some(row) = flavor.row(method, path) {
        return match &row.body {
            Some(body) => Route::Canned { status: row.status, body },
            None => Route::Mcp,
        };
    }
    if method == "POST" {
        if let Some((_, family, stream)) = TURNS.iter().find(|(end, ..)| path.ends_with(end)) {
            let array = *stream == Some(true) && !query.split('&').any(|part| part == "alt=sse");
            return Route::Model(ModelTurnRequest { family: *family, stream: *stream, array });
        }
        if COUNTS.iter().any(|end| path.ends_with(end)) {
            return Route::Count;
        }
    }
    if method == "GET" && path.ends_with("/models") {
        return Route::Models;
    }
    Route::Unknown
}
