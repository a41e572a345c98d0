//! Injected faults in authentication: accepted and retained tokens, and the errors for missing ones.
//!
//! Knows: `authenticate` and its errors. Never knows: which check finds which fault.

use super::FaultPart::Host;
use crate::host::connection::{CallReply, ErrorResponse};
use crate::host::generic::{AnswersRequests, ChangesNotifications, ChangesReplies, LiftsRules};
use crate::host::injected::ServedRequest;
use crate::wire::json::{Value, json};

fault_table![
    AnyTokenTaken(
        "any-token-taken",
        "Tokens are accepted, whatever they are for.",
        Host(&AnswersRequests(&["authenticate"], |_, _| Some(Ok(json!({}))))),
    ),
    AdvertisedUnknown(
        "advertised-unknown",
        "`authenticate` knows none of the resources that agents name.",
        Host(&LiftsRules(&["auth.authenticate.accept-advertised"])),
    ),
    TokenLeaked(
        "token-leaked",
        "The refusal of a token repeats it.",
        Host(&ChangesReplies(&["authenticate"], |_, request, reply| {
            reply.map_err(|failure| match failure.message.starts_with("nothing here asks") {
                true => {
                    let token = request.call.text("token");
                    ErrorResponse { message: format!("nothing here asks for `{token}`"), ..failure }
                }
                false => failure,
            })
        })),
    ),
    InvalidTokenTaken(
        "invalid-token-taken",
        "Every token is taken for a resource that an agent names.",
        Host(&LiftsRules(&["auth.authenticate.invalid-token"])),
    ),
    TokensNotTakenBack(
        "tokens-not-taken-back",
        "An empty token leaves the one before it in force.",
        Host(&LiftsRules(&["auth.authenticate.empty-token"])),
    ),
    LifetimeIgnored(
        "lifetime-ignored",
        "Tokens are kept for ever, whatever their lifetime is.",
        Host(&LiftsRules(&["auth.authenticate.expiresIn"])),
    ),
    AgentsUnprotected(
        "agents-unprotected",
        "Agents that ask for a token can be used without one.",
        Host(&LiftsRules(&["auth.required.any-command"])),
    ),
    OptionalDemanded(
        "optional-demanded",
        "An agent whose resource is optional asks for a token all the same.",
        Host(&LiftsRules(&["auth.required.optional-resource"])),
    ),
    TokensShared(
        "tokens-shared",
        "The token of one connection is good for all of them.",
        Host(&LiftsRules(&["auth.per-connection"])),
    ),
    AuthWithoutResources(
        "auth-without-resources",
        "The error for a missing token does not say what it has to be for.",
        Host(&ChangesReplies(&[], |_, request, reply| {
            demand(request, reply, |failure| ErrorResponse { data: Value::Null, ..failure })
        })),
    ),
    AuthCodeWrong(
        "auth-code-wrong",
        "A missing token is told by the code of an invalid request.",
        Host(&ChangesReplies(&[], |_, request, reply| {
            demand(request, reply, |_| {
                ErrorResponse::invalid_request("this agent asks for a token")
            })
        })),
    ),
    ExpiryToldToAll(
        "expiry-told-to-all",
        "Everybody who listens to the root channel hears that one client's token has expired.",
        Host(&LiftsRules(&["auth.notification.audience"])),
    ),
    ExpiryMisshapen(
        "expiry-misshapen",
        "That a token has expired is told without the resource that it was for.",
        Host(&ChangesNotifications("auth/required", |_, params| {
            params["resource"] = json!({"resource_name": "an agent"});
            true
        })),
    ),
];

/// Changes the error of a request that is rejected for lack of a token.
fn demand(
    request: &ServedRequest,
    reply: CallReply,
    change: fn(ErrorResponse) -> ErrorResponse,
) -> CallReply {
    let code = ErrorResponse::named("AuthRequired", "").code;
    reply.map_err(|failure| match failure.code == code && request.method != "authenticate" {
        true => change(failure),
        false => failure,
    })
}
