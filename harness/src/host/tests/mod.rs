//! Conversations with the reference host.

mod automations;
mod content;
mod customizations;
mod faults;
mod guests;
mod pair;
mod random;
mod reconnects;
mod requests;
mod several;
mod state;
mod strangers;
mod terminals;
mod turns;
