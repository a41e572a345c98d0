//! Tests of the schedule, with the time as a number and without a target.

use crate::agent::mode::AgentMode;
use crate::arb::conditions::PlayConditions;
use crate::arb::embedded::EmbeddedGround;
use crate::arb::generate::ConversationGenerator;
use crate::arb::source::ConversationSource;
use crate::run::play::TranscriptRecorder;
use crate::transcript::ConnectionEvent;
use crate::wire::json::json;
use crate::wire::version::Version;

use super::findings::{ConfirmationResult, FindingSameness, ReplayCompany};
use super::*;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Returns the rules of a campaign against an external host.
fn rules() -> ScheduleRules {
    ScheduleRules {
        jobs: 2,
        weight: Weight::Note,
        is_embedded: false,
        is_outside: true,
        stop_at_first: false,
        minimises: true,
        sequences: None,
        steps: None,
        time: None,
        ends_at: None,
        timeout: 10 * SECOND,
        is_foreign: true,
        is_honest: false,
    }
}

fn schedule(rules: ScheduleRules, only: Option<u64>) -> CampaignSchedule {
    let conditions = PlayConditions::FOREIGN;
    let generator = ConversationGenerator::new(Version::NEWEST, 1, conditions);
    let ground = EmbeddedGround::of(Version::NEWEST, AgentMode::default(), &[]);
    let source = ConversationSource::OfHosts(generator);
    let choice = ConversationChoice::new(source, ground, only);
    CampaignSchedule::new(rules, choice, KnownFindings::default(), FuzzCampaign::default())
}

/// Asks for the next step until it is neither a new conversation that was not generated nor the wait for one.
fn next(schedule: &mut CampaignSchedule, now: Duration) -> ScheduleStep {
    loop {
        match schedule.poll(now) {
            ScheduleStep::Again if schedule.alone.is_none() => {}
            step => return step,
        }
    }
}

fn begun(schedule: &mut CampaignSchedule, now: Duration) -> ScheduledWork {
    match next(schedule, now) {
        ScheduleStep::Begin(work) => *work,
        step => unreachable!("{step:?}"),
    }
}

fn waits(schedule: &mut CampaignSchedule, now: Duration) -> bool {
    matches!(next(schedule, now), ScheduleStep::Wait)
}

/// Records one event in the conversation of this work.
fn talk(work: &ScheduledWork) {
    let mut gauge = work.gauge.clone();
    gauge.record(Duration::ZERO, "A", &ConnectionEvent::open("A"));
}

/// Ends a conversation with these findings.
fn end(schedule: &mut CampaignSchedule, now: Duration, work: ScheduledWork, rules: &[&str]) {
    let ScheduledWork { number, gauge, kind: WorkKind::Play { mut sequence, limit } } = work else {
        unreachable!("{work:?}")
    };
    let finding = |rule: &&str| FuzzFinding::of(rule, Weight::Must, "", &format!("{rule} broken"));
    let found = rules.iter().map(finding).collect();
    sequence.draft.steps = vec![json!({"open": {"by": "A"}})];
    let verdict = EmbeddedGround::of(Version::NEWEST, AgentMode::default(), &[])
        .play(sequence.draft.scenario().unwrap());
    let played = Some(PlayedDraft { verdict, found });
    let hurried = limit.is_some();
    schedule.played(now, PlayedSequence { number, sequence, played, gauge, hurried });
}

/// Returns the rules of the findings that this work confirms or minimises.
fn examined(work: &ScheduledWork) -> Vec<&str> {
    match &work.kind {
        WorkKind::Play { .. } => Vec::new(),
        WorkKind::Confirm(failed) => failed.findings.iter().map(|it| it.rule.as_str()).collect(),
        WorkKind::Minimise { confirmed, .. } => vec![&confirmed.finding.rule],
    }
}

/// Confirms all findings of a conversation.
fn confirm(schedule: &mut CampaignSchedule, now: Duration, work: ScheduledWork) {
    let ScheduledWork { number, kind: WorkKind::Confirm(failed), .. } = work else {
        unreachable!("{work:?}")
    };
    let result = || ConfirmationResult::Confirmed {
        again: (2, 2),
        company: ReplayCompany::Nothing,
        sameness: FindingSameness::Identity,
    };
    let results = failed.findings.iter().map(|it| (it.clone(), result())).collect();
    let result = ExaminationResult::Confirmed(failed, results);
    assert!(schedule.examined(now, number, result).is_empty());
}

#[test]
fn conversations_that_only_wait_leave_room_for_others() {
    let mut schedule = schedule(rules(), None);
    let works = [begun(&mut schedule, MS), begun(&mut schedule, MS)];
    assert!(waits(&mut schedule, MS));
    works.iter().for_each(talk);
    assert!(waits(&mut schedule, 2 * MS));
    // Both conversations are silent now, so two others may begin.
    let more = [begun(&mut schedule, SECOND), begun(&mut schedule, SECOND)];
    assert!(waits(&mut schedule, SECOND));
    // Each replay of a failed conversation gets the conversations that had traffic at the same time.
    more.iter().for_each(talk);
    let [one, _] = more;
    end(&mut schedule, SECOND + MS, one, &["a.rule"]);
    let [first, second] = works;
    end(&mut schedule, 2 * SECOND, first, &[]);
    end(&mut schedule, 2 * SECOND, second, &[]);
    // The fourth conversation had traffic a moment ago, which would disturb the examination.
    assert!(waits(&mut schedule, 2 * SECOND));
    let work = begun(&mut schedule, 4 * SECOND);
    let WorkKind::Confirm(failed) = &work.kind else { unreachable!("{work:?}") };
    assert_eq!(failed.beside.len(), 3, "{:?}", failed.beside);
}

#[test]
fn one_conversation_at_a_time_is_played_in_memory_and_with_one_job() {
    for (is_embedded, jobs) in [(true, 4), (false, 1)] {
        let mut schedule = schedule(ScheduleRules { is_embedded, jobs, ..rules() }, None);
        let work = begun(&mut schedule, MS);
        talk(&work);
        assert!(waits(&mut schedule, SECOND));
        end(&mut schedule, SECOND, work, &[]);
        begun(&mut schedule, SECOND);
    }
}

#[test]
fn rules_without_examined_findings_come_first() {
    let mut schedule = schedule(ScheduleRules { jobs: 1, ..rules() }, None);
    let work = begun(&mut schedule, MS);
    end(&mut schedule, MS, work, &["a.rule", "other.rule"]);
    let work = begun(&mut schedule, MS);
    assert_eq!(examined(&work), ["a.rule", "other.rule"]);
    confirm(&mut schedule, 2 * MS, work);
    let work = begun(&mut schedule, 2 * MS);
    let first = examined(&work)[0].to_owned();
    let ScheduledWork { number, kind, .. } = work;
    let WorkKind::Minimise { confirmed, limit: Some(limit), .. } = kind else {
        unreachable!("{kind:?}")
    };
    assert_eq!(limit, 45 * SECOND);
    let case = Box::new(findings::FindingCase::whole(&confirmed));
    let result = ExaminationResult::Minimised(*confirmed, case);
    let mut news = schedule.examined(3 * MS, number, result);
    let Some(ExaminationNews::Case(_, bucket)) = news.pop() else { unreachable!("{news:?}") };
    assert_eq!(bucket.finding.rule, first);
    schedule.add(bucket);
    assert_ne!(examined(&begun(&mut schedule, 3 * MS)), [first]);
}

#[test]
fn an_interrupted_campaign_keeps_every_finding() {
    let mut schedule = schedule(ScheduleRules { jobs: 1, ..rules() }, None);
    let work = begun(&mut schedule, MS);
    end(&mut schedule, MS, work, &["a.rule"]);
    let work = begun(&mut schedule, MS);
    confirm(&mut schedule, MS, work);
    let minimised = begun(&mut schedule, MS);
    assert_eq!(schedule.stored().unexamined.len(), 1);
    schedule.interrupt();
    let cases = schedule.end_examinations();
    assert!(matches!(&cases[..], [ExaminationNews::Case(case, _)] if !case.minimised));
    assert!(matches!(schedule.poll(2 * MS), ScheduleStep::Over));
    // The result of the examination comes too late.
    schedule.lost(minimised.number);
    assert!(schedule.campaign().unexamined.is_empty());
}

#[test]
fn work_whose_task_failed_leaves_no_trace_in_the_schedule() {
    let mut schedule = schedule(ScheduleRules { jobs: 1, ..rules() }, None);
    let work = begun(&mut schedule, MS);
    schedule.lost(work.number);
    let work = begun(&mut schedule, MS);
    end(&mut schedule, MS, work, &["a.rule"]);
    let work = begun(&mut schedule, MS);
    assert_eq!(examined(&work), ["a.rule"]);
    schedule.lost(work.number);
    let left = &schedule.campaign().unexamined;
    assert!(matches!(&left[..], [left] if left.finding.rule == "a.rule"), "{left:?}");
}

#[test]
fn a_campaign_ends_at_its_limits() {
    let mut timed = schedule(ScheduleRules { time: Some(SECOND), ..rules() }, None);
    let work = begun(&mut timed, MS);
    assert!(matches!(timed.poll(SECOND), ScheduleStep::Wait));
    end(&mut timed, SECOND, work, &[]);
    assert!(matches!(timed.poll(SECOND), ScheduleStep::Over));
    assert_eq!(timed.campaign().took, SECOND);
    let mut counted = schedule(ScheduleRules { sequences: Some(1), ..rules() }, None);
    let work = begun(&mut counted, MS);
    assert!(matches!(counted.poll(MS), ScheduleStep::Wait));
    end(&mut counted, MS, work, &[]);
    assert!(matches!(counted.poll(MS), ScheduleStep::Over));
}

#[test]
fn a_seed_is_played_once_even_if_it_generates_no_conversation() {
    let source = schedule(rules(), None).choice.source;
    let mut ends = [0, 0];
    for seed in 0..40 {
        let generates = source.of_seed(seed).is_some();
        let mut schedule = schedule(ScheduleRules { is_honest: true, ..rules() }, Some(seed));
        let step = next(&mut schedule, MS);
        assert_eq!(matches!(step, ScheduleStep::Begin(_)), generates, "{seed}");
        if generates {
            schedule.lost(0);
        }
        assert!(matches!(schedule.poll(MS), ScheduleStep::Over));
        ends[usize::from(generates)] += 1;
    }
    assert!(ends[1] > 0, "{ends:?}");
}
