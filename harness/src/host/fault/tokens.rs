//! Faults in authentication: which tokens are taken and kept, and how a missing one is told.
//!
//! Knows: `authenticate` and its errors. Never knows: which check finds which fault.

use super::generic::{AnswersRequests, ChangesNotifications, ChangesReplies, LiftsRules};
use super::{Fault, HostFaultRow};
use crate::host::connection::{Failure, Reply};
use crate::host::injected::ServedRequest;
use crate::wire::json::{Value, json};

pub(super) const FAULTS: &[HostFaultRow] = &[
    (Fault::AnyTokenTaken, &AnswersRequests("authenticate", |_, _| Some(Ok(json!({}))))),
    (Fault::AdvertisedUnknown, &LiftsRules(&["auth.authenticate.accept-advertised"])),
    (
        Fault::TokenLeaked,
        &ChangesReplies(&["authenticate"], |_, request, reply| {
            reply.map_err(|failure| match failure.message.starts_with("nothing here asks") {
                true => {
                    let token = request.call.text("token");
                    Failure { message: format!("nothing here asks for `{token}`"), ..failure }
                }
                false => failure,
            })
        }),
    ),
    (Fault::InvalidTokenTaken, &LiftsRules(&["auth.authenticate.invalid-token"])),
    (Fault::TokensNotTakenBack, &LiftsRules(&["auth.authenticate.empty-token"])),
    (Fault::LifetimeIgnored, &LiftsRules(&["auth.authenticate.expiresIn"])),
    (Fault::AgentsUnprotected, &LiftsRules(&["auth.required.any-command"])),
    (Fault::OptionalDemanded, &LiftsRules(&["auth.required.optional-resource"])),
    (Fault::TokensShared, &LiftsRules(&["auth.per-connection"])),
    (
        Fault::AuthWithoutResources,
        &ChangesReplies(&[], |_, request, reply| {
            demand(request, reply, |failure| Failure { data: Value::Null, ..failure })
        }),
    ),
    (
        Fault::AuthCodeWrong,
        &ChangesReplies(&[], |_, request, reply| {
            demand(request, reply, |_| Failure::invalid_request("this agent asks for a token"))
        }),
    ),
    (Fault::ExpiryToldToAll, &LiftsRules(&["auth.notification.audience"])),
    (
        Fault::ExpiryMisshapen,
        &ChangesNotifications("auth/required", |_, params| {
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
