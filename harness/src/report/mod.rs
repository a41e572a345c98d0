//! The reports of a run. Each report is computed from the events of the run alone.
//!
//! A run is a [`event::RunHeader`], a [`event::CaseReport`] for each scenario as it ends, and a
//! [`summary::RunSummary`]. The console, `run.jsonl` and JUnit use only this data, so `judge` can produce the same
//! reports from a file.
//!
//! [`baseline`] marks known failures, [`coverage`] lists the tests of each requirement, [`places`] counts the parts of
//! the protocol tables that occurred in a run, [`redact`] removes secrets from all output, [`replay`] replays a run
//! from its file, [`rule_quotes`] quotes requirements with the names of the run's version.
//!
//! Knows: `run`, `verdict`, `ledger`. Never knows: sockets, arguments.
//!
//! Start at [`event`].

pub mod agent_result;
mod area;
pub mod baseline;
pub mod brief;
pub mod cause;
pub mod certificate;
pub mod change;
pub mod command;
pub mod connection_logs;
#[cfg(feature = "cli")]
pub mod console;
pub mod conversation;
pub mod coverage;
#[cfg(feature = "cli")]
pub mod draw;
#[cfg(feature = "cli")]
pub mod drawing;
pub mod event;
pub mod excerpt;
pub mod findings;
pub mod finished;
pub mod first;
mod foreign_capture;
pub mod github;
pub mod glossary;
mod grouped;
pub mod html;
pub mod jsonl;
pub mod judge_logs;
pub mod judged_subject;
#[cfg(feature = "cli")]
pub mod junit;
pub mod kills;
pub mod matrix;
pub mod merge;
pub mod outage;
pub mod places;
pub mod profile_verdict;
pub mod redact;
#[cfg(feature = "cli")]
pub mod reducers;
pub mod replay;
pub mod result_limit;
pub mod rule_quotes;
pub mod sarif;
pub mod skips;
pub mod spec_page;
pub mod summary;
pub mod viewed;
