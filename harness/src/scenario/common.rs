//! Defines the members that many steps have in common.
//!
//! Knows: forms. Never knows: the set of steps.

use super::forms::{FormField, MemberForm, field, needed, wanted};

pub(super) const PROVES: FormField = field(
    "proves",
    MemberForm::Requirements,
    "the requirements that this step tests; if the step fails, these requirements are reported as broken; a step without `proves` is a premise: if it fails, the later steps are untested and no requirement is reported as broken",
);
pub(super) const INDEPENDENT: FormField = field(
    "independent",
    MemberForm::Flag,
    "the later steps do not depend on this step: they are played even if this step fails",
);
pub(super) const CHOICE: FormField = field(
    "choice",
    MemberForm::Text,
    "the permitted behaviour of a host that does not fulfil this premise, such as `the host leaves no turns out`; for \
        such a host, the later claims do not apply; the step may check nothing else",
);
pub(super) const UNLESS: FormField = field(
    "unless",
    MemberForm::Method,
    "the method of a message that the sender may send instead, such as `initialize` instead of `reconnect`: if this \
        message comes first, the step fails because of the sender's choice; with `unless`, this is the only failure for \
        which `choice` applies",
);
pub(super) const BEFORE: FormField = field(
    "before",
    MemberForm::Text,
    "the name of a response, as bound by `as`: the message must come before that response in the client's transcript",
);
pub(super) const AFTER: FormField = field(
    "after",
    MemberForm::Text,
    "the name of a response, as bound by `as`: the message must come after that response in the client's transcript",
);
pub(super) const DEVIATES: FormField = field(
    "deviates",
    MemberForm::Texts,
    "the places at which the message is malformed on purpose, such as `action.turnId` or `params.channel`, in the notation of `ahp-harness check`",
);
pub(super) const SPEC: FormField = field(
    "spec",
    MemberForm::Text,
    "the versions in which the step is played, such as `>=0.5.1`; other versions skip it",
);
pub(super) const WITHIN: FormField =
    field("within", MemberForm::Duration, "the timeout, if it is longer than the run's timeout");
pub(super) const BY: FormField = needed("by", MemberForm::Client, "the client that acts");
pub(super) const AT: FormField =
    needed("at", MemberForm::Clients, "the clients, each of which must see the message or state");
pub(super) const CHANNEL: FormField = needed("channel", MemberForm::Template, "the channel's URI");
pub(super) const RESULT: FormField = wanted(
    "result",
    MemberForm::Pattern,
    "the pattern of the result; if the step also has `error`, either outcome is accepted",
);
pub(super) const ERROR: FormField =
    wanted("error", MemberForm::Pattern, "the pattern of the error that is expected as the answer");
pub(super) const CLOSED: FormField = wanted(
    "closed",
    MemberForm::Flag,
    "expects that the host closes the connection instead of answering; if the step also has `error`, either outcome is accepted",
);
pub(super) const TOKENS: FormField = field(
    "tokens",
    MemberForm::Flag,
    "`false`: the tokens of the run are not sent after the handshake; by default they are sent",
);
pub(super) const AS: FormField = field("as", MemberForm::Binds, "the name to bind the result to");
pub(super) const TYPE: FormField =
    field("type", MemberForm::ActionType, "the type of an action, such as `chat/delta`");
pub(super) const METHOD: FormField = field(
    "method",
    MemberForm::Method,
    "the method of a notification, such as `root/sessionAdded`",
);
pub(super) const ON: FormField =
    field("channel", MemberForm::Template, "the channel of the message");
pub(super) const WHERE: FormField = field(
    "where",
    MemberForm::Pattern,
    "the pattern of the message's params; for an action, the params are the envelope, so write `{ action: … }`",
);
pub(super) const EXACT: FormField = field(
    "exact",
    MemberForm::Flag,
    "objects must not have members that the pattern does not name",
);

pub(super) const OFFERS: FormField = field(
    "offers",
    MemberForm::Text,
    "the capabilities that the client offers an agent: `nothing`, `fs`, `fs-terminal` or `all`; the default is `nothing`; in a scenario that needs `ask`, the default is the offer with which the agent asked for permission in the first look",
);
