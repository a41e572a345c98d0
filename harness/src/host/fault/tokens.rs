//! Injected faults in authentication: accepted and retained tokens, and the errors for missing tokens.
//!
//! Knows: `authenticate` and its errors. Never knows: the checks that find a fault.

use super::FaultPart::Host;
use crate::host::generic::{AnswersRequests, ChangesNotifications, ChangesReplies, LiftsRules};
use crate::host::injected::ServedRequest;
use crate::host::request::{CallReply, ErrorResponse};
use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};

fault_table![
    AnyTokenTaken(
        "any-token-taken",
        "Tokens are accepted for any resource.",
        Host(&AnswersRequests(&["authenticate"], |_, _| Some(Ok(json!({}))))),
    ),
    AdvertisedUnknown(
        "advertised-unknown",
        "`authenticate` accepts none of the resources that agents advertise.",
        Host(&LiftsRules(&["auth.authenticate.accept-advertised"])),
    ),
    TokenLeaked(
        "token-leaked",
        "The error for a refused token contains the token.",
        Host(&ChangesReplies(&["authenticate"], |_, request, reply| {
            reply.map_err(|failure| {
                let token = request.call.text("token");
                ErrorResponse { message: format!("{}: `{token}`", failure.message), ..failure }
            })
        })),
    ),
    InvalidTokenTaken(
        "invalid-token-taken",
        "Every token is accepted for a resource that an agent advertises.",
        Host(&LiftsRules(&["auth.authenticate.invalid-token"])),
    ),
    TokensNotTakenBack(
        "tokens-not-taken-back",
        "An empty token does not revoke the previous token.",
        Host(&LiftsRules(&["auth.authenticate.empty-token"])),
    ),
    LifetimeIgnored(
        "lifetime-ignored",
        "Tokens do not expire at the end of their lifetime.",
        Host(&LiftsRules(&["auth.authenticate.expiresIn"])),
    ),
    AgentsUnprotected(
        "agents-unprotected",
        "Agents that require a token can be used without a token.",
        Host(&LiftsRules(&["auth.required.any-command"])),
    ),
    OptionalDemanded(
        "optional-demanded",
        "An agent whose resource is optional still requires a token.",
        Host(&LiftsRules(&["auth.required.optional-resource"])),
    ),
    TokensShared(
        "tokens-shared",
        "The token of one connection is valid for all connections.",
        Host(&LiftsRules(&["auth.per-connection"])),
    ),
    AuthWithoutResources(
        "auth-without-resources",
        "The error for a missing token does not name the resource.",
        Host(&ChangesReplies(&[], |_, request, reply| {
            demand(request, reply, |failure| ErrorResponse { data: Value::Null, ..failure })
        })),
    ),
    AuthCodeWrong(
        "auth-code-wrong",
        "The error for a missing token has the code of an invalid request.",
        Host(&ChangesReplies(&[], |_, request, reply| {
            demand(request, reply, |_| {
                ErrorResponse::invalid_request("this agent requires a token")
            })
        })),
    ),
    ExpiryToldToAll(
        "expiry-told-to-all",
        "All subscribers of the root channel are notified that one client's token has expired.",
        Host(&LiftsRules(&["auth.notification.audience"])),
    ),
    ExpiryMisshapen(
        "expiry-misshapen",
        "The notification of an expired token does not name its resource.",
        Host(&ChangesNotifications("auth/required", |_, params| {
            params["resource"] = json!({"resource_name": "an agent"});
            true
        })),
    ),
];

/// Changes the error with which the host refuses a request because a token is missing.
fn demand(
    request: &ServedRequest,
    reply: CallReply,
    change: fn(ErrorResponse) -> ErrorResponse,
) -> CallReply {
    let code = ErrorResponse::named(ErrorName::AuthRequired, "").code;
    reply.map_err(|failure| match failure.code == code && request.method != "authenticate" {
        true => change(failure),
        false => failure,
    })
}
