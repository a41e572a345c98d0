//! Load: many clients that talk to one host for a given time, while all frames are judged.
//!
//! [`plan`] describes a load and its bounds. [`engine`] plays the clients: it decides when each client connects, acts,
//! leaves and returns. It has a part for each kind of state: [`roster`] has the clients, [`session`] a session,
//! [`connections`] the connections and outputs, and [`agenda`] the timers. [`acts`] is the table of the operations that clients perform. [`judge`] passes every frame to
//! the oracle and keeps recent frames, from which it makes a capture of each finding; [`evidence`] reduces the capture
//! to the frames that are needed. [`delay`] measures the time until an action reaches its subscribers, and [`stalls`]
//! detects readers that delay other clients. [`sim`] plays a load against a host in memory, [`driver`] over sockets.
//! [`result`] is the outcome; [`page`] draws it.
//!
//! All modules except [`driver`] are pure: time is an argument, and all choices depend on the seed.
//!
//! Knows: clients, the oracle, hosts in memory. Never knows: arguments, files.
//!
//! Start at [`play::LoadPlay`].

pub mod acts;
pub mod agenda;
pub mod client;
pub mod connections;
pub mod delay;
#[cfg(feature = "cli")]
pub mod driver;
pub mod engine;
pub mod evidence;
mod greetings;
mod joining;
pub mod judge;
pub mod page;
pub mod plan;
pub mod play;
pub mod recent;
pub mod result;
pub mod roster;
pub mod session;
pub mod sim;
pub mod stalls;
mod verbs;
