//! Variants that are settings of the reference host.
//!
//! Knows: its configuration. Never knows: messages.

use crate::host::engine::Config;

use super::LegalVariant;
use super::catalogue::{VariantRow, row};

/// Changes the configuration of the reference host.
struct SetUp(fn(&mut Config));

impl LegalVariant for SetUp {
    fn set_up(&self, config: &mut Config) {
        (self.0)(config);
    }
}

const RECONNECT: &str = "docs/specification/subscriptions.md › Reconnection";
const BUFFER: &str =
    "The size of the replay buffer is not specified; a host that cannot replay sends snapshots.";

/// The replay buffer.
pub(super) const ROWS: &[VariantRow] = &[
    row(
        "replays-nothing",
        "No envelopes are kept for replay, so every `reconnect` is answered with snapshots.",
        BUFFER,
        RECONNECT,
        || Box::new(SetUp(|config| config.replay_capacity = 0)),
    ),
    row("replays-little", "Three envelopes are kept for replay.", BUFFER, RECONNECT, || {
        Box::new(SetUp(|config| config.replay_capacity = 3))
    }),
];
