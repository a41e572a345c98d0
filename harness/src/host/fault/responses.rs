//! Injected faults in the responses to requests.

use std::collections::HashMap;

use super::FaultPart::Message;
use super::parts::{LostRequest, MessageChange, TakenMessage, error, remove};
use crate::host::chain::{MessageLink, MessagePassage, MessageRewriter, RewriterOutput};
use crate::transcript::ConnId;
use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};

fault_table![
    AnswersMixedUp(
        "answers-mixed-up",
        "A response with an id above 1000 goes to the first connection that used this id.",
        Message(|| Box::<AnswersMixedUp>::default()),
    ),
    StringIdMangled(
        "string-id-mangled",
        "A string id is returned as a number.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                if is_response(message)
                    && let Some(id) = message["id"].as_str().map(str::len)
                {
                    message["id"] = json!(id);
                }
            }))
        }),
    ),
    FloodsStarve(
        "floods-starve",
        "While one connection sends hundreds of requests, no other connection gets responses.",
        Message(|| Box::new(LostResponse(is_starved))),
    ),
    ResponseNever(
        "response-never",
        "Every seventh request is not answered.",
        Message(|| {
            Box::new(LostResponse(|link, _| {
                let requests = requests_of(link);
                requests > 0 && requests.is_multiple_of(7)
            }))
        }),
    ),
    UnknownMethodSilent(
        "unknown-method-silent",
        "A request of an unknown method is not answered.",
        Message(|| {
            Box::new(LostResponse(|_, message| {
                // A request on a side channel is for an MCP server, so its method is not a method of the protocol.
                let own = message.get("channel").is_none();
                own && message["error"]["code"].as_i64() == Some(ErrorName::MethodNotFound.code())
            }))
        }),
    ),
    UnofferedServed(
        "unoffered-served",
        "Every method is answered on side channels.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                let refused =
                    message["error"]["code"].as_i64() == Some(ErrorName::MethodNotFound.code());
                if refused && message.get("channel").is_some() {
                    remove(message, "error");
                    message["result"] = json!({});
                }
            }))
        }),
    ),
    ResultMissing(
        "result-missing",
        "A response with an empty result has no `result`.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                let result = message.get("result");
                let empty =
                    |it: &Value| it.is_null() || it.as_object().is_some_and(|it| it.is_empty());
                if result.is_some_and(empty) {
                    remove(message, "result");
                }
            }))
        }),
    ),
    ResponseTwice(
        "response-twice",
        "Every fifth request is answered twice.",
        Message(|| Box::new(ResponseTwice)),
    ),
    WrongErrorCode(
        "wrong-error-code",
        "Every error has the code of an internal error.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                if let Some(code) = message.get_mut("error").and_then(|error| error.get_mut("code"))
                {
                    *code = json!(-32603);
                }
            }))
        }),
    ),
    ErrorWithoutMessage(
        "error-without-message",
        "Errors have no message.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                message.get_mut("error").and_then(|error| remove(error, "message"));
            }))
        }),
    ),
    StacksTold(
        "stacks-told",
        "Errors contain a stack trace.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                let at = "\n    at Host.serve (/srv/host/node_modules/host/serve.js:12:7)";
                let text = message.get_mut("error").and_then(|error| error.get_mut("message"));
                if let Some(text) = text {
                    *text = json!(format!("{}{at}", text.as_str().unwrap_or("")));
                }
            }))
        }),
    ),
    CompletionsNever(
        "completions-never",
        "`completions` is not answered.",
        Message(|| { Box::new(LostRequest(|_, message| message["method"] == "completions")) }),
    ),
    ExtensionsRefused(
        "extensions-refused",
        "`params` with a member whose name begins with `x-` are refused.",
        Message(|| Box::new(TakenMessage(refuse_extensions))),
    ),
    NotificationAnswered(
        "notification-answered",
        "`dispatchAction` and `unsubscribe` are answered like requests.",
        Message(|| Box::new(TakenMessage(answer_notification))),
    ),
    IdsMixedUp(
        "ids-mixed-up",
        "A client's request with the id of an open request of the host is treated as the response to that request.",
        Message(|| Box::<IdsMixedUp>::default()),
    ),
    MovesAnything(
        "moves-anything",
        "Every `moveChat` succeeds and moves nothing.",
        Message(|| {
            Box::new(TakenMessage(|_, message, out| {
                if message["method"] != "moveChat" {
                    return MessagePassage::Onward;
                }
                let result = json!({"session": message["params"]["destination"]["session"]});
                out.send(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
                MessagePassage::Stopped
            }))
        }),
    ),
    IdsWithoutSign(
        "ids-without-sign",
        "A negative id is returned without its sign.",
        Message(|| {
            Box::new(MessageChange(|_, message| {
                if is_response(message)
                    && let Some(id) = message["id"].as_i64().filter(|id| *id < 0)
                {
                    message["id"] = json!(id.unsigned_abs());
                }
            }))
        }),
    ),
];

/// The number of requests of one connection above which the host no longer serves connections with fewer requests.
const FLOOD: u64 = 400;

fn is_response(message: &Value) -> bool {
    message.get("method").is_none()
}

fn requests_of(link: &MessageLink<'_>) -> u64 {
    link.own().map_or(0, |own| own.requests)
}

/// Returns whether another connection has sent hundreds of requests, and more than this connection, which therefore
/// gets no responses.
fn is_starved(link: &MessageLink<'_>, _: &Value) -> bool {
    let own = requests_of(link);
    let mut others = link.seen.connections.values();
    others.any(|other| other.requests > FLOOD && other.requests > own)
}

fn refuse_extensions(
    _: &MessageLink<'_>,
    message: &Value,
    out: &mut RewriterOutput,
) -> MessagePassage {
    let mut members = message["params"].as_object().into_iter().flatten();
    let request = message.get("id").is_some() && message.get("method").is_some();
    if !(request && members.any(|(name, _)| name.starts_with("x-"))) {
        return MessagePassage::Onward;
    }
    let code = ErrorName::InvalidParams.code();
    out.send(error(message, code, "expected no members of an extension"));
    MessagePassage::Stopped
}

fn answer_notification(
    link: &MessageLink<'_>,
    message: &Value,
    out: &mut RewriterOutput,
) -> MessagePassage {
    let known = matches!(message["method"].as_str(), Some("unsubscribe" | "dispatchAction"));
    if known && message.get("id").is_none() && link.own().is_some_and(|own| own.client.is_some()) {
        out.send(json!({"jsonrpc": "2.0", "id": null, "result": null}));
    }
    MessagePassage::Onward
}

/// Drops responses: those for which the function returns `true`.
struct LostResponse(fn(&MessageLink<'_>, &Value) -> bool);

impl MessageRewriter for LostResponse {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        if !(is_response(&message) && (self.0)(link, &message)) {
            out.send(message);
        }
    }
}

/// A fault that sends the response to every fifth request of a connection twice.
struct ResponseTwice;

impl MessageRewriter for ResponseTwice {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let requests = requests_of(link);
        if is_response(&message) && requests > 0 && requests.is_multiple_of(5) {
            out.send(message.clone());
        }
        out.send(message);
    }
}

/// A fault that sends every response with an id above 1000 to the connection that used this id first.
#[derive(Default)]
struct AnswersMixedUp(HashMap<u64, ConnId>);

impl MessageRewriter for AnswersMixedUp {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        let id = message["id"].as_u64().filter(|id| *id > 1_000 && is_response(&message));
        let conn = id.map_or(link.conn, |id| *self.0.entry(id).or_insert(link.conn));
        out.send_to(conn, message);
    }
}

/// A fault that treats a client's request as a response if the request has the id of an open request of the
/// host.
#[derive(Default)]
struct IdsMixedUp(Vec<(ConnId, Value)>);

impl MessageRewriter for IdsMixedUp {
    fn edit_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
    ) -> Option<Value> {
        let asked = (link.conn, message["id"].clone());
        if let Some(place) = self.0.iter().position(|known| *known == asked) {
            self.0.remove(place);
            if message.get("method").is_some() {
                *message = json!({"jsonrpc": "2.0", "id": asked.1, "result": {}});
            }
        }
        None
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        message: Value,
        out: &mut RewriterOutput,
    ) {
        if let Some(id) = message.get("id").filter(|_| !is_response(&message)) {
            self.0.push((link.conn, id.clone()));
        }
        out.send(message);
    }
}
