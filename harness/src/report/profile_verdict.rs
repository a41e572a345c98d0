//! The verdict on each profile of a certificate.
//!
//! A profile is conformant if each applicable MUST and essential requirement of the profile was tested and
//! held.
//!
//! Knows: the results of requirements and checks. Never knows: the scenarios and frames from which the results come.
//!
//! Start at [`ProfileVerdict`].

use litemap::LiteMap;
use serde::{Deserialize, Serialize};

use super::area::PROFILES;
use super::certificate::{CheckResult, RequirementOutcome, RequirementResult, TriedProfiles};
use crate::verdict::Weight;

/// The result of a profile.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileResult {
    /// The name of the profile.
    pub name: String,
    /// The verdict.
    pub verdict: ProfileVerdict,
    /// The reason, in one line.
    pub reason: String,
    /// The number of requirements by weight and outcome.
    pub counts: LiteMap<Weight, LiteMap<RequirementOutcome, u64>>,
}

/// The verdict on a profile.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileVerdict {
    /// Every applicable MUST and essential requirement held.
    Conformant,
    /// At least one applicable MUST or essential requirement is broken.
    NotConformant,
    /// No applicable MUST or essential requirement is broken, but some were not observed or could not be tested.
    Incomplete,
    /// The host does not offer the profile, or the run did not include it.
    NotApplicable,
}

impl ProfileVerdict {
    /// Returns the worst verdict; [`ProfileVerdict::NotApplicable`] if no profile applies.
    pub fn worst(verdicts: impl Iterator<Item = ProfileVerdict>) -> ProfileVerdict {
        const ORDER: [ProfileVerdict; 3] =
            [ProfileVerdict::NotConformant, ProfileVerdict::Incomplete, ProfileVerdict::Conformant];
        let all: Vec<ProfileVerdict> = verdicts.collect();
        let worst = ORDER.into_iter().find(|verdict| all.contains(verdict));
        worst.unwrap_or(ProfileVerdict::NotApplicable)
    }

    /// Returns the verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            ProfileVerdict::Conformant => "conformant",
            ProfileVerdict::NotConformant => "not conformant",
            ProfileVerdict::Incomplete => "incomplete",
            ProfileVerdict::NotApplicable => "not applicable",
        }
    }
}

/// Returns the result of each profile.
pub(super) fn profiles(
    rows: &[RequirementResult],
    checks: &[CheckResult],
    tried: &TriedProfiles,
) -> Vec<ProfileResult> {
    let mut names: Vec<&str> = rows.iter().map(|row| row.profile.as_str()).collect();
    names.extend(checks.iter().map(|check| check.profile.as_str()));
    // The profiles `core` and `agent` come first; the other profiles follow in alphabetical order.
    let place =
        |name: &str| PROFILES.iter().position(|first| *first == name).unwrap_or(PROFILES.len());
    names.sort_by_key(|name| (place(name), *name));
    names.dedup();
    names.into_iter().map(|name| profile(name, rows, checks, tried)).collect()
}

fn profile(
    name: &str,
    rows: &[RequirementResult],
    checks: &[CheckResult],
    tried: &TriedProfiles,
) -> ProfileResult {
    let mut counts: LiteMap<Weight, LiteMap<RequirementOutcome, u64>> = LiteMap::new();
    let (mut broken, mut untested, mut held, mut unchecked) = (0_u64, 0_u64, 0_u64, 0_u64);
    let (mut lighter, mut skipped, mut out_of_reach) = (0_u64, 0_u64, 0_u64);
    for row in rows.iter().filter(|row| row.profile == name) {
        *counts.entry(row.weight).or_default().entry(row.outcome).or_default() += 1;
        if row.weight >= Weight::Essential {
            match row.outcome {
                RequirementOutcome::Fail | RequirementOutcome::Known => broken += 1,
                RequirementOutcome::Untested => untested += 1,
                RequirementOutcome::Pass => held += 1,
                RequirementOutcome::Unchecked => unchecked += 1,
                RequirementOutcome::Skip => skipped += 1,
                RequirementOutcome::OutOfReach => out_of_reach += 1,
                _ => {}
            }
        } else if row.observations > 0 {
            lighter += 1;
        }
    }
    let applicable = broken + untested + held;
    let found = |check: &&CheckResult| {
        let heavy = matches!(check.outcome, RequirementOutcome::Fail | RequirementOutcome::Known);
        check.profile == name && heavy && check.weight >= Weight::Essential
    };
    let found = checks.iter().filter(found).count();
    let (verdict, mut reason) = match (broken, untested, held) {
        (0, ..) if found > 0 => {
            (ProfileVerdict::NotConformant, format!("{found} always-on checks found breaches"))
        }
        (1.., ..) if found > 0 => {
            let both = format!(
                "{broken} of {applicable} are broken, and {found} always-on checks found breaches"
            );
            (ProfileVerdict::NotConformant, both)
        }
        (1.., ..) => {
            (ProfileVerdict::NotConformant, format!("{broken} of {applicable} are broken"))
        }
        (0, ..) if !tried.has(name) && out_of_reach > 0 => {
            (ProfileVerdict::Incomplete, "none of its scenarios could be played".to_owned())
        }
        (0, ..) if !tried.has(name) => {
            let seen = match held + lighter {
                0 => String::new(),
                seen => format!("; {seen} of its rules held in other scenarios"),
            };
            (ProfileVerdict::NotApplicable, format!("none of its scenarios applies{seen}"))
        }
        (0, 1.., _) => {
            (ProfileVerdict::Incomplete, format!("{untested} of {applicable} were not observed"))
        }
        (0, 0, 1..) if out_of_reach > 0 => {
            (ProfileVerdict::Incomplete, format!("all {held} that could be tested held"))
        }
        (0, 0, 1..) => (ProfileVerdict::Conformant, format!("all {held} held")),
        (0, 0, 0) if out_of_reach > 0 => {
            (ProfileVerdict::Incomplete, "none of its rules could be tested".to_owned())
        }
        (0, 0, 0) if lighter > 0 => (
            ProfileVerdict::NotApplicable,
            format!("{lighter} rules were tried, none of them a MUST or essential"),
        ),
        (0, 0, 0) => (ProfileVerdict::NotApplicable, "none of its rules was tested".to_owned()),
    };
    if out_of_reach > 0 && verdict != ProfileVerdict::NotApplicable {
        reason.push_str(&format!("; {out_of_reach} more were out of reach of this run"));
    }
    if skipped > 0 && verdict != ProfileVerdict::NotApplicable {
        reason.push_str(&format!("; {skipped} more do not apply"));
    }
    if unchecked > 0 {
        reason.push_str(&format!("; {unchecked} more have no check yet"));
    }
    ProfileResult { name: name.to_owned(), verdict, reason, counts }
}
