//! Determines whether the specification permits the behaviour that a finding reports: the reference host plays
//! the conversation with each legal variant and shows the same finding under one of them.
//!
//! Knows: legal variants. Never knows: sockets.
//!
//! Start at [`permitting`].

use crate::host::variant::{VARIANTS, VariantHost};

use super::draft::ScenarioDraft;
use super::embedded::EmbeddedGround;
use super::finding::{FuzzFinding, findings};

/// Returns the name of a legal variant of the reference host that shows the same finding.
pub fn permitting(
    ground: &EmbeddedGround,
    draft: &ScenarioDraft,
    finding: &FuzzFinding,
) -> Option<&'static str> {
    let scenario = draft.scenario().ok()?;
    let mut rows = VARIANTS.iter().filter(|row| row.since <= ground.version);
    let shows = |row: &&'static _| {
        let mut host = VariantHost::new(&[*row], ground.config(&scenario));
        let verdict = ground.play_on(scenario.clone(), &mut host);
        findings(&draft.steps, &verdict).iter().any(|found| found.key == finding.key)
    };
    rows.find(shows).map(|row| row.name)
}
