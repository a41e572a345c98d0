//! The tests of the harness from outside: of its library, and of the program.
//!
//! All tests are in one program with a module per subject. The library is therefore linked only once, and tests that
//! wait for processes and time limits run at the same time as tests that compute. `cargo test --test all fuzz::` runs
//! one module.

mod acp;
mod acp_agents;
mod acp_captures;
mod acp_transports;
mod acp_wire_mutants;
mod ahp_logs;
mod capture_format;
mod captures;
mod certificate;
mod ci;
mod claims;
mod cli;
mod client_fuzz;
mod client_suite;
mod common;
mod contract;
mod convert;
mod corpus;
mod crowd;
mod dying_hosts;
mod first_look;
mod fuzz;
mod gallery;
mod hostile;
mod hostile_agents;
mod hostile_captures;
mod hostile_fuzz;
mod interrupt;
mod invariants;
mod killed;
mod laws;
mod ledger;
mod model;
mod mutants;
mod null_hosts;
mod observe;
mod own_requirements;
mod pair;
mod providers;
mod record;
mod reducers;
mod replay;
mod rings;
mod scenarios;
mod secrets;
mod shells;
mod stress;
mod subjects;
mod supervise;
mod tidy;
mod tool_calls;
mod validator;
mod variants;
mod vectors;
mod wire;
mod wire_mutants;
mod yaml;
