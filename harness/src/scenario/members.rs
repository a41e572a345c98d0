//! The members of a scenario file and of a fragment, as tables like those of the steps.
//!
//! Knows: forms. Never knows: steps.

use super::forms::{Field, Form, field, needed};

/// The members of a scenario file.
pub const SCENARIO: &[Field] = &[
    needed("scenario", Form::Text, "its id, `<area>/<slug>`, the end of its path"),
    needed("title", Form::Text, "what it shows, in one sentence"),
    field(
        "requirements",
        Form::Values,
        "requirements of your own that its steps test, each with `id`, `weight` and `text`; those of several scenarios stand in `requirements.yaml`",
    ),
    field("spec", Form::Text, "the protocol versions it holds for, such as `>=0.9.0 <2.0.0`"),
    field("profile", Form::Text, "`core` or `agent`; `agent` where there is an agent script"),
    field("tags", Form::Texts, "words to select it by"),
    field("agent", Form::Texts, "the lines of the agent's script"),
    field(
        "approves",
        Form::Text,
        "the client that approves every call that waits, where it is the host's choice to ask",
    ),
    field("clients", Form::Texts, "its clients, `A` unless given"),
    field(
        "host",
        Form::Settings,
        "settings of the embedded host that make it show more, such as `{ replayCapacity: 4 }`; another host plays it as it is",
    ),
    field(
        "embeddedOnly",
        Form::Text,
        "why no other host can play it, in words for the author of a host: the text stands in the reason why it is skipped",
    ),
    field(
        "needs",
        Form::Texts,
        "what the host or agent has to offer, or the run to bring, such as `automations` or `token`; others skip it (`ahp-harness explain needs`)",
    ),
    field("aggressive", Form::Flag, "it may harm the host; played only with `--aggressive`"),
    field(
        "alone",
        Form::Flag,
        "it needs the host to itself, because it looks at what all clients share, restarts the host or floods it; played last, one at a time",
    ),
    field("within", Form::Duration, "how long each wait may take, instead of the run's limit"),
    needed("steps", Form::Steps, "what happens"),
];

/// The members of a fragment file.
pub const FRAGMENT: &[Field] = &[
    needed("fragment", Form::Text, "what it does, in one sentence"),
    needed("steps", Form::Steps, "what happens"),
];

/// The settings of the embedded host that `host` may choose.
pub const SETTINGS: &[&str] = &["replayCapacity", "readyAfterMs", "graceSeconds"];

/// Members that there were once, each with what took its place.
pub const REPLACED: &[(&str, &str)] = &[
    ("proves", "it is a member of steps: put it on each step that tests the requirement"),
    ("rule", "it is called `proves`"),
    ("setup", "remove it: a step without `proves` blames nobody"),
];
