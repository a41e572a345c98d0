//! When a target is given up that never shakes hands.

/// After this many scenarios without a single handshake the rest is not played: the target would
/// only be asked the same again.
const FUSE: u32 = 8;

/// Says when it is no use to go on.
#[derive(Debug, Default)]
pub(super) struct RunFuse {
    without: u32,
    ever: bool,
}

impl RunFuse {
    /// A scenario has ended.
    pub(super) fn saw(&mut self, shook_hands: bool) {
        self.ever |= shook_hands;
        self.without += u32::from(!shook_hands);
    }

    /// Why no further one is played.
    pub(super) fn blown(&self) -> Option<String> {
        (!self.ever && self.without >= FUSE)
            .then(|| format!("not played: no handshake succeeded in {} scenarios", self.without))
    }
}
