//! The generators of fuzzers and property tests, and the code that judges their results.
//!
//! Conversations: [`generate`] chooses [`moves`] according to one of the [`themes`]. [`turn_moves`] starts turns,
//! [`act`] dispatches actions, [`ask`] sends requests, and [`lines`] opens and drops connections and sends malformed
//! frames. [`agents`] generates conversations with an agent under test. [`suite`] begins conversations with the steps of
//! a scenario, one of the [`bases`]. A [`stage`] plays each step at once, [`builder`] adds the expected outcome by the
//! tables of [`rules`], and [`names`] replaces ids by names. A [`draft`] becomes a scenario. For another host,
//! [`expectation`] decides which expectations are claims, and [`races`] plays the conversation with another interleaving
//! of its clients. [`finding`] lists the findings in a conversation, [`legality`] determines whether the specification
//! permits one, [`gauge`] counts the tested combinations, [`shrink`] shrinks a draft, [`schedule`] decides what a
//! campaign does next, and [`campaign`] stores the results. [`embedded`] plays drafts in memory, [`planted`] plays them
//! against every injected fault.
//!
//! Bytes: [`targets`] are functions that take any bytes and return nothing.
//!
//! Knows: everything above. Never knows: the fuzzing engine, proptest.
//!
//! Start at [`targets`] and [`generate`].

pub mod act;
pub mod agents;
pub mod ask;
pub mod bases;
pub mod builder;
pub mod campaign;
pub mod client_conversation;
pub mod client_ground;
pub mod conditions;
pub mod deviate;
pub mod draft;
pub mod draft_step;
pub mod embedded;
pub mod expectation;
pub mod files;
pub mod finding;
pub mod gauge;
pub mod generate;
pub mod generated_action;
pub mod generated_sequence;
pub mod legality;
pub mod lines;
pub mod moves;
pub mod names;
pub mod observe;
pub mod offered;
pub mod opening;
pub mod planted;
pub mod races;
pub mod restarts;
pub mod rules;
pub mod schedule;
pub mod shrink;
pub mod source;
pub mod stage;
pub mod step_result;
pub mod subscribe;
pub mod suite;
pub mod themes;
pub mod turn_moves;

pub mod choices;
pub mod laws;
pub mod pool;
pub mod story;
pub mod targets;
