//! Faults in authentication: which tokens are taken and kept, and how a missing one is told.
//!
//! Knows: `authenticate` and its errors. Never knows: which check finds which fault.

use super::generic::{Lifts, Notifies, Replies, Serves};
use super::{Fault, HostFaultRow};
use crate::host::connection::{Failure, Reply};
use crate::host::injected::ServedRequest;
use crate::wire::json::{Value, json};

pub(super) const FAULTS: &[HostFaultRow] = &[
    (Fault::AnyTokenTaken, &Serves("authenticate", |_, _| Some(Ok(json!({}))))),
    (Fault::AdvertisedUnknown, &Lifts(&["auth.authenticate.accept-advertised"])),
    (
        Fault::TokenLeaked,
        &Replies(&["authenticate"], |_, request, reply| {
            reply.map_err(|failure| match failure.message.starts_with("nothing here asks") {
                true => {
                    let token = request.call.text("token");
                    Failure { message: format!("nothing here asks for `{token}`"), ..failure }
                }
                false => failure,
            })
        }),
    ),
    (Fault::InvalidTokenTaken, &Lifts(&["auth.authenticate.invalid-token"])),
    (Fault::TokensNotTakenBack, &Lifts(&["auth.authenticate.empty-token"])),
    (Fault::LifetimeIgnored, &Lifts(&["auth.authenticate.expiresIn"])),
    (Fault::AgentsUnprotected, &Lifts(&["auth.required.any-command"])),
    (Fault::OptionalDemanded, &Lifts(&["auth.required.optional-resource"])),
    (Fault::TokensShared, &Lifts(&["auth.per-connection"])),
    (
        Fault::AuthWithoutResources,
        &Replies(&[], |_, request, reply| {
            demand(request, reply, |failure| Failure { data: Value::Null, ..failure })
        }),
    ),
    (
        Fault::AuthCodeWrong,
        &Replies(&[], |_, request, reply| {
            demand(request, reply, |_| Failure::invalid_request("this agent asks for a token"))
        }),
    ),
    (Fault::ExpiryToldToAll, &Lifts(&["auth.notification.audience"])),
    (
        Fault::ExpiryMisshapen,
        &Notifies("auth/required", |_, params| {
            params["resource"] = json!({"resource_name": "an agent"});
            true
        }),
    ),
];

/// Changes how a request is refused for want of a token.
fn demand(request: &ServedRequest, reply: Reply, change: fn(Failure) -> Failure) -> Reply {
    let code = Failure::named("AuthRequired", "").code;
    reply.map_err(|failure| match failure.code == code && request.method != "authenticate" {
        true => change(failure),
        false => failure,
    })
}
