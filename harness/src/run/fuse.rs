//! Stops a run against a target that never completes a handshake.
//!
//! Knows: nothing. Never knows: scenarios, reports.
//!
//! Start at [`RunFuse`].

/// The number of scenarios without a handshake after which the run stops, because all further scenarios would
/// fail in the same way.
const FUSE: u32 = 8;

/// Decides when to stop a run because no scenario completes a handshake.
#[derive(Debug, Default)]
pub struct RunFuse {
    without: u32,
    ever: bool,
}

impl RunFuse {
    /// Records that a scenario has ended, and whether it completed a handshake.
    pub fn saw(&mut self, shook_hands: bool) {
        self.ever |= shook_hands;
        self.without += u32::from(!shook_hands);
    }

    /// Returns why no further scenario is played; `None` if the run continues.
    pub fn blown(&self) -> Option<String> {
        (!self.ever && self.without >= FUSE)
            .then(|| format!("not played: no handshake succeeded in {} scenarios", self.without))
    }
}
