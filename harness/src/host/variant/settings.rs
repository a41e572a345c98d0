//! Variants that are settings of the reference host: its replay buffer, and the duration of a session's
//! creation.
//!
//! Knows: the configuration of the host. Never knows: messages.

use std::time::Duration;

use super::row::{VariantRow, setting};

const RECONNECT: &str = "docs/specification/subscriptions.md › Reconnection";
const BUFFER: &str =
    "The size of the replay buffer is not specified; a host that cannot replay sends snapshots.";

/// The variants of the replay buffer and of the creation of sessions.
pub(super) const ROWS: &[VariantRow] = &[
    setting(
        "replays-nothing",
        "No envelopes are kept for replay, so every `reconnect` is answered with snapshots.",
        BUFFER,
        RECONNECT,
        |config| config.replay_capacity = 0,
    ),
    setting(
        "replays-little",
        "Three envelopes are kept for replay.",
        BUFFER,
        RECONNECT,
        |config| {
            config.replay_capacity = 3;
        },
    ),
    setting(
        "creating-for-a-second",
        "A session is `creating` for a second after its default chat was added.",
        "How long a session takes to become ready is not specified.",
        "docs/specification/session-channel.md › Lifecycle",
        |config| config.ready_after = Duration::from_secs(1),
    ),
];
