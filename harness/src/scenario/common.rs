//! The members that many steps have.
//!
//! Knows: forms. Never knows: which steps there are.

use super::forms::{FormField, MemberForm, field, needed, wanted};

pub(super) const PROVES: FormField = field(
    "proves",
    MemberForm::Texts,
    "the requirements that this step tests, which are reported broken where it fails; a step without any is a premise: where it fails, what follows is untested and nobody is blamed",
);
pub(super) const INDEPENDENT: FormField = field(
    "independent",
    MemberForm::Flag,
    "the steps after it do not depend on it: they are played even where it fails",
);
pub(super) const CHOICE: FormField = field(
    "choice",
    MemberForm::Text,
    "what the host does, and may do, where this premise does not hold, such as `the host leaves no turns out`: the claims after it do not apply then; the step may look at nothing else",
);
pub(super) const BEFORE: FormField = field(
    "before",
    MemberForm::Text,
    "the name of a response, as bound by `as`: the message has to stand before it in the client's transcript",
);
pub(super) const AFTER: FormField = field(
    "after",
    MemberForm::Text,
    "the name of a response, as bound by `as`: the message has to stand after it in the client's transcript",
);
pub(super) const EACH: FormField = field(
    "each",
    MemberForm::Pattern,
    "what is told of each call has to look like this: its `arguments`, and as `mark` the value of the variable `AHP_MARK` or the \
     header `X-Ahp-Mark` that came along",
);
pub(super) const DEVIATES: FormField = field(
    "deviates",
    MemberForm::Texts,
    "where the message is malformed on purpose, such as `action.turnId` or `params.channel`, as `ahp-harness check` names it",
);
pub(super) const SPEC: FormField = field(
    "spec",
    MemberForm::Text,
    "the versions at which the step is taken, such as `>=0.5.1`; it is left out at others",
);
pub(super) const WITHIN: FormField =
    field("within", MemberForm::Duration, "how long to wait, instead of the run's limit");
pub(super) const BY: FormField = needed("by", MemberForm::Client, "the client that acts");
pub(super) const AT: FormField =
    needed("at", MemberForm::Clients, "the clients that have to see it, each for itself");
pub(super) const CHANNEL: FormField = needed("channel", MemberForm::Template, "the channel's URI");
pub(super) const RESULT: FormField = wanted(
    "result",
    MemberForm::Pattern,
    "what the result has to look like; beside `error`, if there is one",
);
pub(super) const ERROR: FormField =
    wanted("error", MemberForm::Pattern, "that it fails, and what the error has to look like");
pub(super) const CLOSED: FormField = wanted(
    "closed",
    MemberForm::Flag,
    "that the host closes the connection instead; beside `error`, either of the two",
);
pub(super) const TOKENS: FormField = field(
    "tokens",
    MemberForm::Flag,
    "`false`: the tokens of the run are not pushed after the handshake, as they are otherwise",
);
pub(super) const AS: FormField = field("as", MemberForm::Binds, "the name to bind the result to");
pub(super) const TYPE: FormField =
    field("type", MemberForm::Text, "the type of an action, such as `chat/delta`");
pub(super) const METHOD: FormField =
    field("method", MemberForm::Text, "the method of a notification, such as `root/sessionAdded`");
pub(super) const ON: FormField =
    field("channel", MemberForm::Template, "the channel it has to be on");
pub(super) const WHERE: FormField = field(
    "where",
    MemberForm::Pattern,
    "what the message's params have to look like: for an action the envelope, so `{ action: … }`",
);
pub(super) const EXACT: FormField =
    field("exact", MemberForm::Flag, "objects may have no other members");

pub(super) const OFFERS: FormField = field(
    "offers",
    MemberForm::Text,
    "what the client offers an agent: `nothing`, `fs`, `fs-terminal` or `all`; unless given, `nothing`, or in a scenario that needs `ask` what made the agent ask in the first look",
);
