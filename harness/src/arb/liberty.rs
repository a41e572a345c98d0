//! Whether the text leaves a host free to do what a finding blames it for: the reference host, or the reference agent, plays the
//! conversation with each legal variant, and does the same under one of them.
//!
//! Knows: legal variants. Never knows: sockets.
//!
//! Start at [`permitting`].

use crate::host::SansIoHost;

use super::draft::ScenarioDraft;
use super::embedded::EmbeddedGround;
use super::finding::{FuzzFinding, findings};

/// The name of a legal variant of the reference host or agent under which the same is found.
pub fn permitting(
    ground: &EmbeddedGround,
    draft: &ScenarioDraft,
    finding: &FuzzFinding,
) -> Option<&'static str> {
    let scenario = draft.scenario().ok()?;
    let shows = |subject: &mut dyn SansIoHost| {
        let verdict = ground.play_on(scenario.clone(), subject);
        findings(&draft.steps, &verdict).iter().any(|found| found.key == finding.key)
    };
    let variants = ground.variants(&scenario).into_iter();
    variants.filter_map(|(name, mut subject)| shows(&mut *subject).then_some(name)).next()
}
