//! Defines the members of a scenario file and of a fragment, in tables like the tables of the steps.
//!
//! Knows: forms. Never knows: steps.

use super::forms::{FormField, MemberForm, field, needed};

/// The members of a scenario file.
pub const SCENARIO: &[FormField] = &[
    needed(
        "scenario",
        MemberForm::Text,
        "the id of the scenario, `<area>/<slug>`, which is also the end of the file's path",
    ),
    needed("title", MemberForm::Text, "what the scenario shows, in one sentence"),
    field(
        "requirements",
        MemberForm::Values,
        "your own requirements that the steps test, each with `id`, `weight` and `text`; requirements that several scenarios test belong in `requirements.yaml`",
    ),
    field(
        "spec",
        MemberForm::Text,
        "the protocol versions that the scenario applies to, such as `>=0.9.0 <2.0.0`",
    ),
    field(
        "profile",
        MemberForm::Text,
        "`core` or `agent`; the default is `agent` if the scenario has an agent script, otherwise \
         `core`",
    ),
    field("tags", MemberForm::Texts, "words by which the scenario can be selected"),
    field("agent", MemberForm::Texts, "the lines of the agent's script"),
    field(
        "approves",
        MemberForm::Text,
        "the client that approves every tool call that waits for a confirmation, if the host may choose whether to ask",
    ),
    field("clients", MemberForm::Texts, "the clients of the scenario; the default is `A`"),
    field(
        "tests",
        MemberForm::Text,
        "the client that is tested, such as `A`; the harness then plays the host and all other clients, and steps may name the `host`",
    ),
    field(
        "host",
        MemberForm::Settings,
        "settings for the embedded host, to provoke a certain behaviour, such as `{ replayCapacity: 4 }`; other hosts keep their own settings",
    ),
    field(
        "embeddedOnly",
        MemberForm::Text,
        "the reason why only the embedded host can play the scenario, for authors of other hosts; the report gives this reason for the skip",
    ),
    field(
        "needs",
        MemberForm::Texts,
        "what the host or agent must offer, or the run must provide, such as `automations` or `token`; otherwise the scenario is skipped (`ahp-harness explain needs`)",
    ),
    field(
        "aggressive",
        MemberForm::Flag,
        "the scenario may harm the host, so it is played only with `--aggressive`",
    ),
    field(
        "alone",
        MemberForm::Flag,
        "no other scenario may run at the same time, because this one checks state that all clients share, or restarts or floods the host; such scenarios, and all scenarios that send `authenticate` or restart the host, are played last, one at a time",
    ),
    field(
        "within",
        MemberForm::Duration,
        "the timeout of each wait, if it is longer than the run's timeout",
    ),
    needed("steps", MemberForm::Steps, "what happens"),
];

/// The members of a fragment file.
pub const FRAGMENT: &[FormField] = &[
    needed("fragment", MemberForm::Text, "what the fragment does, in one sentence"),
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
