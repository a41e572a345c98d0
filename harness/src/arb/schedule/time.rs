//! Divides the time of a campaign between new conversations and the examination of findings.
//!
//! Knows: two durations. Never knows: clocks, conversations, findings.
//!
//! Start at [`CampaignTime`].

use std::time::Duration;

/// The maximum ratio of the time for examinations to the time for new conversations.
const SHARE: u32 = 2;
/// The time by which examinations may exceed their share of the campaign's time. A greater value would delay new
/// conversations. A smaller value would waste time, because each switch to examinations has to wait for the
/// conversations that are being played.
const LEAD: Duration = Duration::from_secs(60);

/// The time that a campaign has spent on new conversations and on examinations.
///
/// At first, findings are examined at once. When examinations have exceeded their share of the time by `LEAD`, new
/// conversations are played until examinations are below their share again. Without this rule, a campaign against a
/// host with many defects would only examine the first findings, and would miss most of the defects.
#[derive(Debug, Default)]
pub struct CampaignTime {
    playing: Duration,
    examining: Duration,
    repays: bool,
}

impl CampaignTime {
    /// Records that new conversations were played for this time.
    pub fn played(&mut self, time: Duration) {
        self.playing += time;
        self.repays &= self.examining > self.playing * SHARE;
    }

    /// Records that a finding was examined for this time.
    pub fn examined(&mut self, time: Duration) {
        self.examining += time;
        self.repays |= self.examining > self.playing * SHARE + LEAD;
    }

    /// Returns whether a finding may be examined now.
    pub fn may_examine(&self) -> bool {
        !self.repays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examinations_take_no_more_than_their_share_of_a_long_campaign() {
        let mut time = CampaignTime::default();
        assert!(time.may_examine());
        let second = Duration::from_secs(1);
        let mut turns = 0;
        for _ in 0..3600 {
            let before = time.may_examine();
            match before {
                true => time.examined(second),
                false => time.played(second),
            }
            turns += u32::from(time.may_examine() != before);
        }
        assert!(time.playing >= Duration::from_secs(1150), "{time:?}");
        assert!((60..=170).contains(&turns), "{turns}");
    }

    #[test]
    fn time_without_findings_is_no_credit_for_one_long_examination() {
        let mut time = CampaignTime::default();
        time.played(Duration::from_secs(5));
        time.examined(Duration::from_secs(71));
        assert!(!time.may_examine());
        time.played(Duration::from_secs(30));
        assert!(!time.may_examine());
        time.played(Duration::from_secs(1));
        assert!(time.may_examine());
    }
}
