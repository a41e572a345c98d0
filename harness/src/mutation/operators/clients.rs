//! Operators about clients: they make a message of a client wrong. The checks of clients have to find the fault.

use super::{row, target};
use crate::mutation::change::FaultAudience::One;
use crate::mutation::change::WireChange::{Add, Drop, Duplicate, Raw, Relist, Remove, Set, Stray};
use crate::mutation::evidence::FaultEvidence::Itself;
use crate::mutation::operator::FaultClass::{ClientDispatches, ClientHandshakes, ClientRequests};
use crate::mutation::operator::OperatorTarget;
use crate::mutation::operator::PlaceCondition::{Has, HasMany};
use crate::mutation::operator::TargetKind::{Dispatch, Frame};
use crate::mutation::operator::WireOperator;
use crate::mutation::reading::FrameRole;
use crate::mutation::value_change::ListChange;

const OFFERS: &str = "client.initialize.semver-offers";
const NUMBERS: &str = "client.dispatch.clientseq-increasing";
const ANSWERS: &str = "client.jsonrpc.server-request-answered";
const RIGHTS: &str = "client.dispatch.only-dispatchable";
const TIMES: &str = "client.dispatch.startedAt";

/// Returns all operators about clients.
pub fn all() -> impl Iterator<Item = &'static WireOperator> {
    [HANDSHAKES, REQUESTS, DISPATCHES].into_iter().flatten()
}

const fn request(names: &'static [&'static str]) -> OperatorTarget {
    target(Frame(FrameRole::Request), names)
}

const fn answer() -> OperatorTarget {
    target(Frame(FrameRole::ClientAnswer), &[])
}

const fn dispatch(names: &'static [&'static str]) -> OperatorTarget {
    target(Dispatch, names)
}

operator_table! {
    HANDSHAKES
    row(ClientHandshakes, "client-handshake-left-out", "A client begins without a handshake.",
        request(&["initialize"]), Drop(One), &[Itself]),
    row(ClientHandshakes, "client-offers-nothing", "A client offers no version.",
        request(&["initialize"]), Relist(One, "/params/protocolVersions", ListChange::Empty), &[Itself]).advised_by(OFFERS),
    row(ClientHandshakes, "client-offers-twice", "A client offers a version twice.",
        request(&["initialize"]), Relist(One, "/params/protocolVersions", ListChange::Twice), &[Itself]).advised_by(OFFERS),
    row(ClientHandshakes, "client-offers-another-form", "A client offers a version of two numbers.",
        request(&["initialize"]), Set(One, "/params/protocolVersions/0", "\"1.0\""), &[Itself]).advised_by(OFFERS),
    row(ClientHandshakes, "client-without-root", "A client does not subscribe to the root channel with its handshake.",
        request(&["initialize"]).when(&[HasMany("/params/initialSubscriptions")]), Relist(One, "/params/initialSubscriptions", ListChange::Empty), &[Itself]),
    row(ClientHandshakes, "client-id-left-out", "A handshake has no client id.",
        request(&["initialize"]), Remove(One, "/params/clientId"), &[Itself]),
    row(ClientHandshakes, "client-id-is-a-number", "A client id is a number.",
        request(&["initialize", "reconnect"]), Set(One, "/params/clientId", "7"), &[Itself]),
    row(ClientHandshakes, "client-saw-the-future", "A client resumes after a number that it was never sent.",
        request(&["reconnect"]), Add(One, "/params/lastSeenServerSeq", 1_000_000), &[Itself]),
    row(ClientHandshakes, "client-saw-a-text", "The number after which a client resumes is a string.",
        request(&["reconnect"]), Set(One, "/params/lastSeenServerSeq", "\"1\""), &[Itself]),
    row(ClientHandshakes, "client-resumes-without-channels", "A reconnect has no list of channels.",
        request(&["reconnect"]), Remove(One, "/params/subscriptions"), &[Itself]),
}

operator_table! {
    REQUESTS
    row(ClientRequests, "client-request-without-params", "A request has no params.",
        request(&["subscribe", "createSession", "createChat", "resourceRead"]), Remove(One, "/params"), &[Itself]),
    row(ClientRequests, "client-request-without-channel", "A request names no channel.",
        request(&["subscribe", "createSession", "createChat", "completions"]).when(&[Has("/params/channel")]), Remove(One, "/params/channel"), &[Itself]),
    row(ClientRequests, "client-request-untagged", "A request has no `jsonrpc`.",
        request(&[]), Remove(One, "/jsonrpc"), &[Itself]),
    row(ClientRequests, "client-sends-no-json", "A client sends text that is not JSON.",
        request(&["subscribe", "listSessions"]), Raw("{\"jsonrpc\":"), &[Itself]),
    row(ClientRequests, "client-sends-a-batch", "A client sends a batch.",
        request(&["subscribe", "listSessions"]), Raw("[]"), &[Itself]),
    row(ClientRequests, "client-changes-a-cursor", "A client requests a page with a cursor that the host has not sent.",
        request(&["listSessions"]), Set(One, "/params/cursor", "\"page two\""), &[Itself]),
    row(ClientRequests, "client-offset-beyond-the-text", "A client requests completions beyond the text.",
        request(&["completions"]), Add(One, "/params/offset", 1_000), &[Itself]),
    row(ClientRequests, "client-token-for-nobody", "A client delivers a token for a resource that the host has not named.",
        request(&["authenticate"]), Set(One, "/params/resource", "\"https://nobody.example\""), &[Itself]),
    row(ClientRequests, "client-token-without-lifetime", "A client delivers a token with a lifetime of 0.",
        request(&["authenticate"]), Set(One, "/params/expiresIn", "0"), &[Itself]),
    row(ClientRequests, "client-answers-twice", "A client answers a request of the host twice.",
        answer(), Duplicate, &[Itself]).advised_by(ANSWERS),
    row(ClientRequests, "client-answers-another-request", "A client answers a request that the host has not sent.",
        answer(), Set(One, "/id", "\"another\""), &[Itself]).advised_by(ANSWERS),
    row(ClientRequests, "client-answers-nobody", "A client sends a response without a request.",
        request(&["subscribe"]), Stray(r#"{"jsonrpc":"2.0","id":987654,"result":{}}"#), &[Itself]).advised_by(ANSWERS),
}

operator_table! {
    DISPATCHES
    row(ClientDispatches, "client-number-left-out", "A dispatch has no number.",
        dispatch(&[]), Remove(One, "/params/clientSeq"), &[Itself]),
    row(ClientDispatches, "client-number-is-a-text", "The number of a dispatch is a string.",
        dispatch(&[]), Set(One, "/params/clientSeq", "\"1\""), &[Itself]),
    row(ClientDispatches, "client-dispatches-twice", "A client sends the same dispatch twice.",
        dispatch(&[]), Duplicate, &[Itself]).advised_by(NUMBERS),
    row(ClientDispatches, "client-action-without-type", "An action has no type.",
        dispatch(&[]), Remove(One, "/params/action/type"), &[Itself]),
    row(ClientDispatches, "client-dispatches-for-the-host", "A client dispatches an action that only the host publishes.",
        dispatch(&["chat/*"]), Set(One, "/params/action", r#"{"type":"chat/delta","turnId":"t","partId":"p","content":"x"}"#), &[Itself]).advised_by(RIGHTS),
    row(ClientDispatches, "client-speaks-for-the-agent", "A client sends a message of the agent.",
        dispatch(&["chat/turnStarted"]), Set(One, "/params/action/message/origin/kind", "\"agent\""), &[Itself]),
    row(ClientDispatches, "client-queues-for-the-agent", "A client queues a message of the agent.",
        dispatch(&["chat/pendingMessageSet"]), Set(One, "/params/action/message/origin/kind", "\"agent\""), &[Itself]),
    row(ClientDispatches, "client-starts-without-a-time", "A client starts a turn without a time.",
        dispatch(&["chat/turnStarted"]), Remove(One, "/params/action/startedAt"), &[Itself]),
    row(ClientDispatches, "client-starts-some-day", "A client starts a turn with an invalid time.",
        dispatch(&["chat/turnStarted"]), Set(One, "/params/action/startedAt", "\"soon\""), &[Itself]).advised_by(TIMES),
    row(ClientDispatches, "client-enters-another", "A client adds another client as an active client.",
        dispatch(&["session/activeClientSet"]), Set(One, "/params/action/activeClient/clientId", "\"nobody\""), &[Itself]),
    row(ClientDispatches, "client-title-is-a-number", "A title is a number.",
        dispatch(&["session/titleChanged"]), Set(One, "/params/action/title", "7"), &[Itself]),
    row(ClientDispatches, "client-decides-with-a-text", "The decision about a tool call is a string.",
        dispatch(&["chat/toolCallConfirmed"]), Set(One, "/params/action/approved", "\"yes\""), &[Itself]),
    row(ClientDispatches, "client-call-left-out", "An action on a tool call names no call.",
        dispatch(&["chat/toolCall*"]), Remove(One, "/params/action/toolCallId"), &[Itself]),
    row(ClientDispatches, "client-answers-nothing", "The answer to a question names no request.",
        dispatch(&["chat/inputCompleted"]), Remove(One, "/params/action/requestId"), &[Itself]),
}
