//! Operators about the recipients of actions, their numbers, and the outcome of dispatches.

use super::{action, row, target};
use crate::mutation::change::FaultAudience::{All, One};
use crate::mutation::change::WireChange::{
    Add, BeforeDispatch, Delay, Drop, Duplicate, DuplicateLater, Forge, Ignore, Leak, Misdirect,
    NumberOfEarlier, OldAction, Other, Reject, Remove, Set, StillTold, SwapActions,
};
use crate::mutation::evidence::FaultEvidence::{
    Itself, Later, Overtaken, State, Twin, TwinAndFence, Wait,
};
use crate::mutation::operator::FaultClass::{Delivery, Numbers, Settlement};
use crate::mutation::operator::PlaceCondition::{
    Accepted, BeforeAction, BeforeEcho, BeforeItsAction, BeforeSameChannel, Echo, Has, HostMade,
    Is, OthersOwn, Rejected, Subscribed, Twin as HasTwin,
};
use crate::mutation::operator::TargetKind::{Dispatch, Frame, Snapshot};
use crate::mutation::reading::FrameRole::{ClientNotice, Result};

/// The actions that every subscriber has to receive. Automation actions are left out, because the specification does
/// not state which clients receive them.
const STATE: &[&str] = &[
    "root/*",
    "session/*",
    "chat/*",
    "terminal/*",
    "changeset/*",
    "annotations/*",
    "canvas/*",
    "resourceWatch/*",
];

operator_table! {
    DELIVERY
    row(Delivery, "chat-action-lost-for-one", "One subscriber does not get an action of a chat.",
        action(&["chat/*"]).when(&[Accepted, HasTwin, Subscribed]), Drop(One), &[TwinAndFence])
        .legal_where(Is("/action/type", "\"chat/turnsLoaded\""), "the specification does not say which clients get `chat/turnsLoaded`"),
    row(Delivery, "session-action-lost-for-one", "One subscriber does not get an action of a session.",
        action(&["session/*"]).when(&[Accepted, HasTwin, Subscribed]), Drop(One), &[TwinAndFence]),
    row(Delivery, "root-action-lost-for-one", "One subscriber does not get an action of the host.",
        action(&["root/*"]).when(&[Accepted, HasTwin, Subscribed]), Drop(One), &[TwinAndFence]),
    row(Delivery, "other-action-lost-for-one", "One subscriber does not get an action of a terminal, changeset, canvas, watch or of annotations.",
        action(&["terminal/*", "changeset/*", "annotations/*", "canvas/*", "resourceWatch/*"])
            .when(&[Accepted, HasTwin, Subscribed]), Drop(One), &[TwinAndFence]),
    row(Delivery, "dispatch-lost-for-others", "An action that one client dispatched does not reach another subscriber.",
        action(STATE).when(&[Accepted, OthersOwn, HasTwin, Subscribed]), Drop(One), &[TwinAndFence]),
    row(Delivery, "chat-action-lost-for-all", "Nobody gets an action of a chat that changed its state.",
        action(&["chat/*"]).when(&[Accepted, HostMade]), Drop(All), &[State]),
    row(Delivery, "session-action-lost-for-all", "Nobody gets an action of a session that changed its state.",
        action(&["session/*"]).when(&[Accepted, HostMade]), Drop(All), &[State]),
    row(Delivery, "root-action-lost-for-all", "Nobody gets an action of the host that changed its state.",
        action(&["root/*"]).when(&[Accepted, HostMade]), Drop(All), &[State]),
    row(Delivery, "other-action-lost-for-all", "Nobody gets an action of a terminal, changeset, canvas or of annotations that changed its state.",
        action(&["terminal/*", "changeset/*", "annotations/*", "canvas/*"]).when(&[Accepted, HostMade]), Drop(All), &[State]),
    row(Delivery, "action-twice", "A subscriber gets an action twice in a row.",
        action(STATE).when(&[Accepted]), Duplicate, &[Itself]),
    row(Delivery, "action-again-later", "A subscriber gets an action again, after two later frames.",
        action(STATE).when(&[Accepted]), DuplicateLater(2), &[Itself]),
    row(Delivery, "action-behind-the-next", "An action arrives after the next action of its channel.",
        action(STATE).when(&[Accepted, BeforeSameChannel]), Delay(1), &[Itself]),
    row(Delivery, "action-behind-another-channel", "An action comes after a later action of another channel.",
        action(STATE).when(&[Accepted, BeforeAction]), Delay(1), &[Itself]),
    row(Delivery, "actions-change-places-for-one", "One subscriber gets two actions of a channel in reverse order, but \
        with increasing numbers.",
        action(STATE).when(&[Accepted, BeforeSameChannel, HasTwin]), SwapActions(One), &[Twin]),
    row(Delivery, "action-leaks", "A client without a subscription to a channel gets an action of it.",
        action(STATE).when(&[Accepted]), Leak, &[Itself]),
    row(Delivery, "action-goes-astray", "An action goes to a client without a subscription to its channel, instead of to a subscriber.",
        action(STATE).when(&[Accepted, Subscribed]), Misdirect, &[Itself]),
    row(Delivery, "action-before-its-snapshot", "An action that the snapshot does not include comes before the answer to `subscribe`.",
        target(Frame(Result), &["subscribe"]).when(&[BeforeItsAction]), Delay(1), &[Itself]),
    row(Delivery, "action-older-than-its-snapshot", "An action that the snapshot already includes comes after the answer to `subscribe`.",
        target(Snapshot, &["root", "session", "chat", "terminal", "changeset", "annotations"]), OldAction, &[Itself]),
    row(Delivery, "action-after-unsubscribe", "Actions of a channel still come after `unsubscribe` and the answer to a later request.",
        target(Frame(ClientNotice), &["unsubscribe"]), StillTold, &[Itself]),
    row(Delivery, "action-says-another-channel-to-one", "One subscriber gets an action under the name of another channel.",
        action(&["session/*", "chat/*", "terminal/*"]).when(&[Accepted, HasTwin]), Other(One, "/channel"), &[Twin]),
}

operator_table! {
    NUMBERS
    row(Numbers, "number-one-more-for-one", "One subscriber gets an action with a number that is one more.",
        action(STATE).when(&[Accepted, HasTwin]), Add(One, "/serverSeq", 1), &[Twin]),
    row(Numbers, "number-one-less-for-one", "One subscriber gets an action with a number that is one less.",
        action(STATE).when(&[Accepted, HasTwin]), Add(One, "/serverSeq", -1), &[Twin]),
    row(Numbers, "number-repeated", "An action has the number of the previous action on the connection.",
        action(STATE).when(&[Accepted]), NumberOfEarlier(0), &[Itself]),
    row(Numbers, "number-zero", "An action has the number 0.",
        action(STATE).when(&[Accepted]), Set(All, "/serverSeq", "0"), &[Itself]),
    row(Numbers, "number-negative", "An action has a negative number.",
        action(STATE).when(&[Accepted]), Set(All, "/serverSeq", "-3"), &[Itself]),
    row(Numbers, "number-text", "An action has a string as its number.",
        action(STATE).when(&[Accepted]), Set(All, "/serverSeq", "\"12\""), &[Itself]),
    row(Numbers, "number-fraction", "An action has a number with a fraction.",
        action(STATE).when(&[Accepted]), Set(All, "/serverSeq", "12.5"), &[Itself]),
    row(Numbers, "number-null", "An action has null as its number.",
        action(STATE).when(&[Accepted]), Set(All, "/serverSeq", "null"), &[Itself]),
    row(Numbers, "number-missing", "An action has no number.",
        action(STATE).when(&[Accepted]), Remove(All, "/serverSeq"), &[Itself]),
    row(Numbers, "number-leaps-for-one", "One subscriber gets an action with a number a thousand ahead.",
        action(STATE).when(&[Accepted, HasTwin]), Add(One, "/serverSeq", 1000), &[Twin]),
    row(Numbers, "snapshot-number-one-less", "`fromSeq` is one less than the last action that the snapshot includes.",
        target(Snapshot, &["root", "session", "chat", "terminal"]), Add(One, "/fromSeq", -1), &[State]),
    row(Numbers, "snapshot-number-of-the-future", "`fromSeq` is a thousand ahead, and lower numbers come after it.",
        target(Snapshot, &["root", "session", "chat", "terminal"]), Add(One, "/fromSeq", 1000), &[Later]),
    row(Numbers, "snapshot-number-zero", "`fromSeq` is 0, although the snapshot includes actions.",
        target(Snapshot, &["session", "chat", "terminal"]), Set(One, "/fromSeq", "0"), &[State]),
    row(Numbers, "snapshot-number-missing", "A snapshot has no `fromSeq`.",
        target(Snapshot, &[]), Remove(One, "/fromSeq"), &[Itself]),
    row(Numbers, "snapshot-number-text", "`fromSeq` is a string.",
        target(Snapshot, &[]), Set(One, "/fromSeq", "\"7\""), &[Itself]),
    row(Numbers, "snapshot-number-negative", "`fromSeq` is negative.",
        target(Snapshot, &[]), Set(One, "/fromSeq", "-1"), &[Itself]),
}

operator_table! {
    SETTLEMENT
    row(Settlement, "echo-lost", "The client that dispatched an action does not get it, but other clients do.",
        action(STATE).when(&[Accepted, Echo, HasTwin, Subscribed]), Drop(One), &[TwinAndFence, Overtaken, Wait]),
    row(Settlement, "dispatch-ignored", "A dispatch has no effect, and no client gets an answer to it.",
        target(Dispatch, STATE), Ignore, &[Overtaken, Wait]),
    row(Settlement, "rejection-lost", "The host does not send a rejection.",
        action(STATE).when(&[Rejected, Echo]), Drop(One), &[Overtaken, Wait]),
    row(Settlement, "rejection-reported-as-accepted", "A rejected action is reported as accepted.",
        action(STATE).when(&[Rejected, Echo]), Remove(All, "/rejectionReason"), &[State]),
    row(Settlement, "acceptance-reported-as-rejected-to-one", "The client that dispatched an action gets a rejection, and other clients get the action.",
        action(STATE).when(&[Accepted, Echo, HasTwin]), Set(One, "/rejectionReason", "\"no\""), &[Twin]),
    row(Settlement, "acceptance-reported-as-rejected", "An action that took effect is reported as rejected.",
        target(Dispatch, STATE), Reject, &[State]),
    row(Settlement, "reason-is-a-number", "A rejection gives a number as its reason.",
        action(STATE).when(&[Rejected]), Set(All, "/rejectionReason", "7"), &[Itself]),
    row(Settlement, "echo-without-origin-to-one", "The client that dispatched an action gets it without an origin.",
        action(STATE).when(&[Accepted, Echo, HasTwin]), Remove(One, "/origin"), &[Twin, Overtaken, Wait]),
    row(Settlement, "echo-without-origin", "All clients get a dispatched action without an `origin`.",
        action(STATE).when(&[Accepted, Echo]), Remove(All, "/origin"), &[Overtaken, Wait]),
    row(Settlement, "echo-of-another-client-to-one", "The client that dispatched an action gets it with the origin of another client.",
        action(STATE).when(&[Accepted, Echo, HasTwin]), Other(One, "/origin/clientId"), &[Twin]),
    row(Settlement, "echo-of-another-client", "An action has the origin of a client that did not dispatch it.",
        action(STATE).when(&[Accepted, Echo]), Other(All, "/origin/clientId"), &[Overtaken, Wait]),
    row(Settlement, "echo-of-another-number-to-one", "The dispatching client gets another `clientSeq` than other clients.",
        action(STATE).when(&[Accepted, Echo, HasTwin]), Add(One, "/origin/clientSeq", 1), &[Twin]),
    row(Settlement, "echo-of-no-dispatch", "An echo has a `clientSeq` that the client never used.",
        action(STATE).when(&[Accepted, Echo]), Add(All, "/origin/clientSeq", 5000), &[Itself]),
    row(Settlement, "client-number-text", "The `clientSeq` of an echo is a string.",
        action(STATE).when(&[Has("/origin")]), Set(All, "/origin/clientSeq", "\"1\""), &[Itself]),
    row(Settlement, "origin-without-client", "An origin does not name its client.",
        action(STATE).when(&[Has("/origin")]), Remove(All, "/origin/clientId"), &[Itself]),
    row(Settlement, "echo-twice", "A dispatch is settled twice.",
        action(STATE).when(&[Accepted, Echo]), Duplicate, &[Itself]),
    row(Settlement, "rejection-twice", "A dispatch is rejected twice.",
        action(STATE).when(&[Rejected, Echo]), Duplicate, &[Itself]),
    row(Settlement, "origin-forged", "An action of the host has the origin of a client that did not dispatch it.",
        action(STATE).when(&[Accepted, HostMade]), Forge, &[Itself]),
    row(Settlement, "echoes-change-places", "Two dispatches of a client on a channel are settled in reverse order.",
        action(STATE).when(&[Accepted, Echo, BeforeEcho]), SwapActions(All), &[Itself]),
    row(Settlement, "echo-before-its-dispatch", "An action comes back before it was dispatched.",
        action(STATE).when(&[Accepted, Echo]), BeforeDispatch, &[Itself]),
}
