//! Conversations with the reference host.

mod faults;
mod pair;
mod random;
mod reconnects;
mod requests;
mod state;
mod terminals;
mod turns;
