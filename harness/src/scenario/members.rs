//! The members of a scenario file and of a fragment, as tables like those of the steps.
//!
//! Knows: forms. Never knows: steps.

use super::forms::{FormField, MemberForm, field, needed};

/// The members of a scenario file.
pub const SCENARIO: &[FormField] = &[
    needed("scenario", MemberForm::Text, "its id, `<area>/<slug>`, the end of its path"),
    needed("title", MemberForm::Text, "what it shows, in one sentence"),
    field(
        "requirements",
        MemberForm::Values,
        "requirements of your own that its steps test, each with `id`, `weight` and `text`; those of several scenarios stand in `requirements.yaml`",
    ),
    field("spec", MemberForm::Text, "the protocol versions it holds for, such as `>=0.9.0 <2.0.0`"),
    field("profile", MemberForm::Text, "`core` or `agent`; `agent` where there is an agent script"),
    field("tags", MemberForm::Texts, "words to select it by"),
    field("agent", MemberForm::Texts, "the lines of the agent's script"),
    field(
        "approves",
        MemberForm::Text,
        "the client that approves every call that waits, where it is the host's choice to ask",
    ),
    field("clients", MemberForm::Texts, "its clients, `A` unless given"),
    field(
        "host",
        MemberForm::Settings,
        "settings of the embedded host that make it show more, such as `{ replayCapacity: 4 }`; another host plays it as it is",
    ),
    field(
        "embeddedOnly",
        MemberForm::Text,
        "why no other host can play it, in words for the author of a host: the text stands in the reason why it is skipped",
    ),
    field(
        "needs",
        MemberForm::Texts,
        "what the host or agent has to offer, or the run to bring, such as `automations` or `token`; others skip it (`ahp-harness explain needs`)",
    ),
    field("aggressive", MemberForm::Flag, "it may harm the host; played only with `--aggressive`"),
    field(
        "alone",
        MemberForm::Flag,
        "it needs the host to itself, because it looks at what all clients share, restarts the host or floods it; played last, one at a time",
    ),
    field(
        "within",
        MemberForm::Duration,
        "how long each wait may take, instead of the run's limit",
    ),
    needed("steps", MemberForm::Steps, "what happens"),
];

/// The members of a fragment file.
pub const FRAGMENT: &[FormField] = &[
    needed("fragment", MemberForm::Text, "what it does, in one sentence"),
    needed("steps", MemberForm::Steps, "what happens"),
];

/// The settings of the embedded host that a scenario may choose with `host`.
pub const SETTINGS: &[&str] = &["replayCapacity", "readyAfterMs", "graceSeconds"];

/// Members that no longer exist, each with the member that replaces it.
pub const REPLACED: &[(&str, &str)] = &[
    ("proves", "it is a member of steps: put it on each step that tests the requirement"),
    ("rule", "it is called `proves`"),
    ("setup", "remove it: a step without `proves` blames nobody"),
];
