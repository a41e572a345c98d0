//! The members that many steps have.
//!
//! Knows: forms. Never knows: which steps there are.

use super::forms::{Field, Form, field, needed, wanted};

pub(super) const PROVES: Field = field(
    "proves",
    Form::Texts,
    "the requirements that this step tests, which are reported broken where it fails; a step without any is a premise: where it fails, what follows is untested and nobody is blamed",
);
pub(super) const INDEPENDENT: Field = field(
    "independent",
    Form::Flag,
    "the steps after it do not depend on it: they are played even where it fails",
);
pub(super) const CHOICE: Field = field(
    "choice",
    Form::Text,
    "what the host does, and may do, where this premise does not hold, such as `the host leaves no turns out`: the claims after it do not apply then; the step may look at nothing else",
);
pub(super) const BEFORE: Field = field(
    "before",
    Form::Text,
    "the name of a response, as bound by `as`: the message has to stand before it in the client's transcript",
);
pub(super) const AFTER: Field = field(
    "after",
    Form::Text,
    "the name of a response, as bound by `as`: the message has to stand after it in the client's transcript",
);
pub(super) const DEVIATES: Field = field(
    "deviates",
    Form::Texts,
    "where the message is malformed on purpose, such as `action.turnId` or `params.channel`, as `ahp-harness check` names it",
);
pub(super) const SPEC: Field = field(
    "spec",
    Form::Text,
    "the versions at which the step is taken, such as `>=0.5.1`; it is left out at others",
);
pub(super) const WITHIN: Field =
    field("within", Form::Duration, "how long to wait, instead of the run's limit");
pub(super) const BY: Field = needed("by", Form::Client, "the client that acts");
pub(super) const AT: Field =
    needed("at", Form::Clients, "the clients that have to see it, each for itself");
pub(super) const CHANNEL: Field = needed("channel", Form::Template, "the channel's URI");
pub(super) const RESULT: Field = wanted(
    "result",
    Form::Pattern,
    "what the result has to look like; beside `error`, if there is one",
);
pub(super) const ERROR: Field =
    wanted("error", Form::Pattern, "that it fails, and what the error has to look like");
pub(super) const CLOSED: Field = wanted(
    "closed",
    Form::Flag,
    "that the host closes the connection instead; beside `error`, either of the two",
);
pub(super) const TOKENS: Field = field(
    "tokens",
    Form::Flag,
    "`false`: the tokens of the run are not pushed after the handshake, as they are otherwise",
);
pub(super) const AS: Field = field("as", Form::Binds, "the name to bind the result to");
pub(super) const TYPE: Field =
    field("type", Form::Text, "the type of an action, such as `chat/delta`");
pub(super) const METHOD: Field =
    field("method", Form::Text, "the method of a notification, such as `root/sessionAdded`");
pub(super) const ON: Field = field("channel", Form::Template, "the channel it has to be on");
pub(super) const WHERE: Field = field(
    "where",
    Form::Pattern,
    "what the message's params have to look like: for an action the envelope, so `{ action: … }`",
);
pub(super) const EXACT: Field = field("exact", Form::Flag, "objects may have no other members");

pub(super) const OFFERS: Field = field(
    "offers",
    Form::Text,
    "what the client offers an agent: `nothing`, `fs`, `fs-terminal` or `all`; unless given, `nothing`, or in a scenario that needs `ask` what made the agent ask in the first look",
);
