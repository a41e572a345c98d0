//! Produces a verdict from a scenario: plans, plays and judges it.
//!
//! [`case`] plays one scenario as a state machine of events and outputs; [`expand`] splits its steps into tasks,
//! [`act`] carries out the tasks, and [`wait`] compares received messages with the expectations of the tasks. [`play`]
//! wraps a case: it passes every frame, in both directions, to the transcript, the oracle and the case. [`sim`] moves
//! frames between a case and an in-memory host in virtual time; [`driver`] moves frames over sockets and is the only
//! asynchronous loop. Both [`sim`] and [`driver`] produce a [`play::ScenarioVerdict`]. [`mutants`] plays the suite
//! against the reference host with each injected fault, to prove that the suite can fail; [`agents`] does the same with
//! the faults of the reference agent. [`kills`] judges the results of [`mutants`] and [`agents`].
//!
//! Knows: `scenario`, `peer`, `oracle`, `host` (only [`sim`] and [`mutants`]). Never knows: the presentation of
//! results.
//!
//! Start at [`play`].

pub mod act;
mod agent_client_side;
pub mod agent_facts;
#[cfg(feature = "cli")]
mod agent_link;
mod agent_steps;
pub mod agent_variants;
mod agent_waits;
pub mod agents;
mod approve;
mod barrier;
pub mod case;
mod case_clients;
mod case_failures;
mod case_marks;
mod case_names;
mod case_observers;
mod case_peers;
mod case_progress;
mod case_roster;
mod case_traffic;
mod case_watches;
mod case_witness;
pub mod claims;
mod cleanup;
pub mod client_look;
pub mod client_mutants;
pub mod client_sim;
mod client_steps;
pub mod client_trial;
pub mod contract;
mod created_resources;
mod decisions;
pub mod detect;
#[cfg(feature = "cli")]
pub mod driver;
mod driver_talk;
pub mod expand;
mod expiry;
pub mod failure;
pub mod first_steps;
pub mod folders;
pub mod fuse;
pub mod goal;
#[cfg(feature = "cli")]
pub mod introduction;
pub mod kills;
pub mod mailbox;
mod mangle;
pub mod message_filter;
pub mod mint;
mod mirror;
pub mod mutant_rows;
pub mod mutants;
mod observer;
mod open;
pub mod output;
#[cfg(feature = "cli")]
pub mod permission_look;
pub mod permission_reply;
pub mod plan;
pub mod play;
#[cfg(feature = "cli")]
pub mod probe;
pub mod probes;
pub mod profile;
#[cfg(feature = "cli")]
pub mod profile_draft;
pub mod provider;
pub mod recent;
pub mod recent_weights;
pub mod response_rule;
pub mod schedule;
#[cfg(feature = "cli")]
pub mod sentinel;
mod serve;
pub mod settings;
pub mod setup;
pub mod side;
pub mod sim;
mod state_claim;
mod step_log;
mod step_members;
pub mod step_wait;
pub mod suite;
pub mod task;
mod task_wait;
mod tested;
mod tested_client;
mod tested_driver;
pub mod variants;
pub mod wait;
mod watch;
pub mod words;
