//! Determines whether the specification permits the behaviour that a finding reports. The reference host, or the
//! reference agent, plays the conversation with each legal variant. If one variant shows the same finding, the
//! behaviour is permitted.
//!
//! Knows: legal variants. Never knows: sockets.
//!
//! Start at [`permitting`].

use crate::host::SansIoHost;

use super::draft::ScenarioDraft;
use super::embedded::EmbeddedGround;
use super::finding::{FuzzFinding, findings};

/// Returns the name of a legal variant of the reference host or agent that shows the same finding; `None` if no
/// variant does.
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
