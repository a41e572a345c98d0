//! The folder of a campaign: its state, its coverage, and the scenarios of its findings.
//!
//! Knows: files. Never knows: the execution of conversations.
//!
//! Start at [`CampaignFolder`].

use std::fs;
use std::path::{Path, PathBuf};

use crate::arb::campaign::FuzzCampaign;
use crate::arb::draft::ScenarioDraft;
use crate::arb::finding::FuzzFinding;
use crate::arb::gauge;

use super::exit::CommandStop;
use super::files;

/// The file with the state of a campaign.
const STATE: &str = "campaign.jsonl";
/// The file with the coverage of a campaign.
const COVERAGE: &str = "coverage.md";
/// The subfolder for the scenarios of findings.
const FINDINGS: &str = "fuzz";

/// The folder of a campaign.
pub(super) struct CampaignFolder(pub(super) PathBuf);

impl CampaignFolder {
    /// Reads the campaign in the folder. If the folder has no campaign yet, makes the folders and returns
    /// `None`.
    ///
    /// # Errors
    /// Returns an error if the folder contains other files, or cannot be made.
    pub(super) fn open(&self) -> Result<Option<FuzzCampaign>, CommandStop> {
        let path = self.0.join(STATE);
        if let Some(text) =
            files::text_if_any(&path, files::MAX_STATE).map_err(CommandStop::usage)?
        {
            let name = path.display();
            let campaign = FuzzCampaign::of_text(&text).ok_or_else(|| {
                CommandStop::usage(format!(
                    "expected the state of a campaign in `{name}` (hint: choose another `--out`)"
                ))
            })?;
            return Ok(Some(campaign));
        }
        fs::create_dir_all(self.0.join(FINDINGS)).map_err(|error| {
            CommandStop::usage(format!("`{}` could not be made: {error}", self.0.display()))
        })?;
        Ok(None)
    }

    /// Writes the state of a campaign, atomically: after a crash the file has the old or the new state.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(super) fn save(&self, campaign: &FuzzCampaign) -> Result<(), CommandStop> {
        let path = self.0.join(STATE);
        let fresh = self.0.join(format!("{STATE}.new"));
        write(&fresh, &campaign.to_text())?;
        write(&self.0.join(COVERAGE), &gauge::table(&campaign.seen))?;
        fs::rename(&fresh, &path).map_err(|error| {
            CommandStop::usage(format!("`{}` could not be written: {error}", path.display()))
        })
    }

    /// Returns the id of a finding's scenario. The number of the finding is part of the id.
    pub(super) fn id(number: usize, rule: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let rule: String = rule.chars().map(plain).collect();
        format!("{FINDINGS}/{number:03}-{rule}")
    }

    /// Writes the scenario of a finding, with a comment before it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(super) fn keep(&self, draft: &ScenarioDraft, comment: &str) -> Result<(), CommandStop> {
        let path = self.0.join(format!("{}.yaml", draft.id));
        write(&path, &format!("{comment}{}", draft.text()))
    }

    /// Returns the index of an earlier finding that breaks the same rule and whose scenario has the same steps.
    pub(super) fn same(
        &self,
        campaign: &FuzzCampaign,
        draft: &ScenarioDraft,
        finding: &FuzzFinding,
    ) -> Option<usize> {
        let steps = |text: &str| text.split_once("\nsteps:").map(|(_, steps)| steps.to_owned());
        let own = steps(&draft.text())?;
        campaign.buckets.iter().position(|bucket| {
            let path = self.0.join(format!("{}.yaml", bucket.scenario));
            let text = files::text(&path).unwrap_or_default();
            bucket.finding.rule == finding.rule && steps(&text).as_ref() == Some(&own)
        })
    }
}

/// Writes a file.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub(super) fn write(path: &Path, text: &str) -> Result<(), CommandStop> {
    files::write(path, text)
}
