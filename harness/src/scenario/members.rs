//! Defines the members of a scenario file and of a fragment, in tables like the tables of the steps.
//!
//! Knows: forms. Never knows: steps.

use super::forms::{FormField, MemberForm, field, needed};

/// The members of a scenario file.
pub const SCENARIO: &[FormField] = &[
    needed(
        "scenario",
        MemberForm::Text,
        "its id, `<area>/<slug>`, which is also the end of its path",
    ),
    needed("title", MemberForm::Text, "what it shows, in one sentence"),
    field(
        "requirements",
        MemberForm::Values,
        "your own requirements that its steps test, each with `id`, `weight` and `text`; requirements of several scenarios belong in `requirements.yaml`",
    ),
    field(
        "spec",
        MemberForm::Text,
        "the protocol versions that it applies to, such as `>=0.9.0 <2.0.0`",
    ),
    field(
        "profile",
        MemberForm::Text,
        "`core` or `agent`; the default is `agent` if the scenario has an agent script, otherwise \
         `core`",
    ),
    field("tags", MemberForm::Texts, "words by which it can be selected"),
    field("agent", MemberForm::Texts, "the lines of the agent's script"),
    field(
        "approves",
        MemberForm::Text,
        "the client that approves every tool call that waits for a confirmation, if the host may choose whether to ask",
    ),
    field("clients", MemberForm::Texts, "its clients, `A` unless given"),
    field(
        "tests",
        MemberForm::Text,
        "the client that is tested, such as `A`; the harness then plays the host and all other clients, and steps may name the `host`",
    ),
    field(
        "host",
        MemberForm::Settings,
        "settings for the embedded host that make it show more behaviour, such as `{ replayCapacity: 4 }`; other hosts keep their own settings",
    ),
    field(
        "embeddedOnly",
        MemberForm::Text,
        "why no other host can play it, for the author of a host; the text is part of the reason for the skip",
    ),
    field(
        "needs",
        MemberForm::Texts,
        "what the host or agent must offer, or the run must provide, such as `automations` or `token`; otherwise it is skipped (`ahp-harness explain needs`)",
    ),
    field("aggressive", MemberForm::Flag, "it may harm the host; played only with `--aggressive`"),
    field(
        "alone",
        MemberForm::Flag,
        "no other scenario may run at the same time, because it checks state that all clients share, restarts the host or floods it; such scenarios are played last, one at a time, as are those that send `authenticate` or restart the host",
    ),
    field("within", MemberForm::Duration, "the timeout of each wait, instead of the run's timeout"),
    needed("steps", MemberForm::Steps, "what happens"),
];

/// The members of a fragment file.
pub const FRAGMENT: &[FormField] = &[
    needed("fragment", MemberForm::Text, "what it does, in one sentence"),
    needed("steps", MemberForm::Steps, "what happens"),
];

/// The settings of the embedded host that a scenario may choose with `host`.
pub const SETTINGS: &[&str] = &["replayCapacity", "readyAfterMs", "graceSeconds"];

/// The members that no longer exist, each with the member that replaces it.
pub const REPLACED: &[(&str, &str)] = &[
    ("proves", "it is a member of steps: put it on each step that tests the requirement"),
    ("rule", "it is called `proves`"),
    ("setup", "remove it: a step without `proves` reports nothing broken"),
];
