//! Variants that are settings of the reference host.
//!
//! Knows: its configuration. Never knows: messages.

use super::catalogue::{VariantRow, setting};

const RECONNECT: &str = "docs/specification/subscriptions.md › Reconnection";
const BUFFER: &str =
    "The size of the replay buffer is not specified; a host that cannot replay sends snapshots.";

/// The replay buffer.
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
];
