//! Judges logs of AHP software. Timestamps do not always determine the order of messages. The logs are therefore judged
//! in every possible order, and only findings that occur in all orders are reported.
//!
//! Knows: logs, the oracle. Never knows: the source of the logs.
//!
//! Start at [`judge_logs`].

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use crate::oracle::{OracleOptions, with_findings};
use crate::transcript::logs::ConnectionLogs;
use crate::transcript::{ClosingSide, TranscriptEntry};
use crate::verdict::{CheckReport, FailOn, Finding};
use crate::wire::message::{DecodedFrame, decode};
use crate::wire::version::{ProtocolStandard, Version};

use super::event::CheckLine;
use super::judged_subject::JudgedSubject;
use super::redact::REDACTED;
use super::replay::JudgedFile;

/// Judges logs in all possible orders.
pub fn judge_logs(logs: &ConnectionLogs, assume: Option<Version>, fail_on: FailOn) -> JudgedFile {
    judge_logs_of(logs, assume, fail_on, &JudgedSubject::default())
}

/// Judges one party of logs, as [`judge_logs`] does.
pub fn judge_logs_of(
    logs: &ConnectionLogs,
    assume: Option<Version>,
    fail_on: FailOn,
    subject: &JudgedSubject,
) -> JudgedFile {
    let summary = subject.summary(ProtocolStandard::Ahp, fail_on);
    let mut judged =
        JudgedFile { summary, version: assume, subject: subject.clone(), ..JudgedFile::default() };
    let judging = LogJudging { assume, subject };
    let mut orders = logs.orders().into_iter();
    let first = once(logs, logs.in_order(orders.next().unwrap_or_default()), judging);
    let OrderJudgement { mut reports, mut findings, took } = first;
    let before = findings.clone();
    for order in orders {
        if findings.is_empty() {
            break;
        }
        let once = once(logs, logs.in_order(order), judging);
        findings = in_both(logs, findings, &once.findings);
        for (report, other) in reports.iter_mut().zip(once.reports) {
            report.observations = report.observations.min(other.observations);
            for ((_, seen), (_, other)) in report.apart.iter_mut().zip(other.apart) {
                *seen = (*seen).min(other);
            }
        }
    }
    if findings.len() < before.len() {
        findings = with_certain(logs, findings, &before, judging);
    }
    let left_out = before.len() - findings.len();
    let lines: Vec<CheckLine> =
        with_findings(reports, &findings).iter().map(CheckLine::from).collect();
    judged.summary.add_checks("the logs", &lines);
    judged.connections = u32::try_from(logs.judged().count()).unwrap_or(u32::MAX);
    judged.messages = logs.messages();
    judged.took = took;
    judged.broken = logs.broken;
    judged.notes.clone_from(&logs.notes);
    if left_out > 0 {
        judged.notes.push(format!(
            "{left_out} findings are left out: they depend on the order of messages of different \
             connections, which the times in the logs do not determine"
        ));
    }
    judged
}

/// The parameters of judging logs: the party to judge, and the assumed version.
#[derive(Clone, Copy)]
struct LogJudging<'a> {
    /// The version of connections whose handshake is missing.
    assume: Option<Version>,
    subject: &'a JudgedSubject,
}

/// The result of judging the messages in one possible order.
struct OrderJudgement {
    reports: Vec<CheckReport>,
    findings: Vec<Finding>,
    took: Duration,
}

fn once(
    logs: &ConnectionLogs,
    entries: impl Iterator<Item = TranscriptEntry>,
    judging: LogJudging<'_>,
) -> OrderJudgement {
    let options = OracleOptions {
        assume_version: judging.assume,
        foreign: true,
        spread: logs.spread(),
        objects_only: !logs.is_exact(),
        ..OracleOptions::default()
    };
    let mut oracle = judging.subject.oracle(options);
    oracle.keep_secret(REDACTED);
    for (conn, connection) in logs.judged() {
        oracle.name_connection(conn, &connection.name);
    }
    let mut findings = Vec::new();
    let mut took = Duration::ZERO;
    for entry in entries {
        took = took.max(entry.at);
        findings.extend(oracle.observe(&entry));
    }
    let (reports, last) = oracle.finish_with_findings();
    findings.extend(last);
    OrderJudgement { reports, findings, took }
}

/// Returns the findings that occur in every order of the messages (`kept`), together with those findings in the first
/// order that also occur if a single log is judged alone. The order of messages in different logs does not affect the
/// latter. The findings are sorted as in the first order.
fn with_certain(
    logs: &ConnectionLogs,
    kept: Vec<Finding>,
    first: &[Finding],
    judging: LogJudging<'_>,
) -> Vec<Finding> {
    let said = |finding: &Finding| {
        let Finding { check, weight, message, diff, .. } = finding;
        (*check, *weight, message.clone(), diff.clone())
    };
    let alone = logs.alone().flat_map(|entries| once(logs, entries, judging).findings);
    let alone: HashSet<_> = alone.map(|finding| said(&finding)).collect();
    let mut kept = kept.into_iter().peekable();
    let certain = first.iter().filter(|finding| {
        kept.next_if(|it| it == *finding).is_some() || alone.contains(&said(finding))
    });
    certain.cloned().collect()
}

/// Returns the findings of one order that also occur in the other order, for the same messages. If the host
/// sends a notification to several connections, the notification counts as the same message on each connection.
fn in_both(logs: &ConnectionLogs, findings: Vec<Finding>, others: &[Finding]) -> Vec<Finding> {
    let mut known: HashMap<u64, usize> = HashMap::new();
    let mut classes: HashMap<u64, u64> = HashMap::new();
    let mut key = |finding: &Finding| {
        let mut lines: Vec<u64> = finding
            .lines
            .iter()
            .map(|line| *classes.entry(*line).or_insert_with(|| class(logs, *line)))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        let mut hasher = DefaultHasher::new();
        let Finding { check, weight, message, diff, .. } = finding;
        (check, weight, message, diff, lines).hash(&mut hasher);
        format!("{:?}", finding.subject).hash(&mut hasher);
        hasher.finish()
    };
    for finding in others {
        *known.entry(key(finding)).or_default() += 1;
    }
    let mut kept = findings;
    kept.retain(|finding| match known.get_mut(&key(finding)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    });
    kept
}

/// Returns a key for a line: a hash of the text if the line is a notification of the host, and otherwise a hash
/// of the line number.
fn class(logs: &ConnectionLogs, line: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some((ClosingSide::Host, frame)) = logs.message_at(line)
        && let DecodedFrame::Message(message) = decode(frame)
        && message.id().is_none()
    {
        frame.bytes().hash(&mut hasher);
    } else {
        line.hash(&mut hasher);
    }
    hasher.finish()
}
