//! The routes of the stand-in: the paths of the model interfaces, and the paths of the flavor.
//!
//! Routes match the end of a path, since agents append the path to the base address in their configuration.
//!
//! Knows: paths. Never knows: bodies.
//!
//! Start at [`find`].

use crate::wire::json::Value;

use super::flavor::ModelFlavor;

/// A model interface.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ModelFamily {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Google's `generateContent`.
    Gemini,
}

impl ModelFamily {
    /// Returns the name in the log.
    pub(super) fn name(self) -> &'static str {
        match self {
            ModelFamily::Chat => "chat",
            ModelFamily::Responses => "responses",
            ModelFamily::Messages => "messages",
            ModelFamily::Gemini => "gemini",
        }
    }
}

/// A request for a model's turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ModelTurnRequest {
    pub(super) family: ModelFamily,
    /// Whether the path requests a stream; `None` if the body says so.
    pub(super) stream: Option<bool>,
    /// Whether a stream is one JSON array instead of events.
    pub(super) array: bool,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum RequestRoute<'a> {
    /// A turn of a model.
    Model(ModelTurnRequest),
    /// A request to count tokens.
    Count,
    /// A request for the list of models.
    Models,
    /// A request with a fixed response of the flavor.
    Canned {
        /// The HTTP status.
        status: u16,
        /// The body, with its placeholders.
        body: &'a Value,
    },
    /// A request to an MCP server.
    Mcp,
    /// A request with an invalid token.
    Unauthorized,
    /// Any other request, which gets an empty object.
    Unknown,
}

/// The ends of the paths that request a turn by `POST`.
const TURNS: &[(&str, ModelFamily, Option<bool>)] = &[
    ("/chat/completions", ModelFamily::Chat, None),
    ("/responses", ModelFamily::Responses, None),
    ("/messages", ModelFamily::Messages, None),
    (":generateContent", ModelFamily::Gemini, Some(false)),
    (":streamGenerateContent", ModelFamily::Gemini, Some(true)),
];

/// The ends of the paths that count tokens.
const COUNTS: &[&str] = &["/messages/count_tokens", ":countTokens"];

/// Returns the kind of a request. The paths of the flavor take precedence.
pub(super) fn find<'a>(
    method: &str,
    path: &str,
    query: &str,
    flavor: &'a ModelFlavor,
) -> RequestRoute<'a> {
    if let Some(row) = flavor.row(method, path) {
        return match &row.body {
            Some(body) => RequestRoute::Canned { status: row.status, body },
            None => RequestRoute::Mcp,
        };
    }
    if method == "POST" {
        if let Some((_, family, stream)) = TURNS.iter().find(|(end, ..)| path.ends_with(end)) {
            let array = *stream == Some(true) && !query.split('&').any(|part| part == "alt=sse");
            return RequestRoute::Model(ModelTurnRequest {
                family: *family,
                stream: *stream,
                array,
            });
        }
        if COUNTS.iter().any(|end| path.ends_with(end)) {
            return RequestRoute::Count;
        }
    }
    if method == "GET" && path.ends_with("/models") {
        return RequestRoute::Models;
    }
    RequestRoute::Unknown
}
