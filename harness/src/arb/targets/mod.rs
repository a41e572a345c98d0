//! Fuzz targets: functions that take any bytes and return nothing. A target must not panic, and may check laws
//! about its results.
//!
//! The wrappers for the fuzzer are in `fuzz/`. Each wrapper links only one function, because the fuzzer scans
//! the coverage of all linked functions after each run. `cargo test` runs every file of `corpus/` through
//! [`TARGETS`].
//!
//! Knows: the readers of external input. Never knows: the fuzzing engine.

mod conversation;
#[cfg(feature = "official-newest")]
mod official;
mod reducers;
mod texts;
mod wire;

pub use conversation::{dispatch, reconnect};
#[cfg(feature = "official-newest")]
pub use official::{differential, official};
pub use reducers::{chat, laws, reducers};
pub use texts::{capture, html, scenario, script};
pub use wire::{frame, host, shape};

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct ByteTarget {
    /// The target's name, and the name of its corpus folder.
    pub name: &'static str,
    /// A description of what the target tests.
    pub doc: &'static str,
    /// The function that the fuzzer calls.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[ByteTarget] = &[
    ByteTarget {
        name: "empty",
        doc: "does nothing, to measure the cost of the fuzzer's own loop",
        run: empty,
    },
    ByteTarget {
        name: "frame",
        doc: "bytes as a frame: a frame that parses is written again unchanged",
        run: frame,
    },
    ByteTarget {
        name: "shape",
        doc: "JSON checked against the protocol tables of every version",
        run: shape,
    },
    ByteTarget {
        name: "reducers",
        doc: "sequences of actions from a pool: each tool call has to follow its transition table",
        run: reducers,
    },
    ByteTarget {
        name: "chat",
        doc: "the target `reducers` for chats of 1.0.0 only, as a baseline for `official`",
        run: chat,
    },
    ByteTarget {
        name: "laws",
        doc: "generated states and actions of every version, checked against every law",
        run: laws,
    },
    ByteTarget {
        name: "dispatch",
        doc: "several clients send any permitted message to the reference host, and every check runs",
        run: dispatch,
    },
    ByteTarget {
        name: "reconnect",
        doc: "clients reconnect to a host that keeps few actions for them, and every check runs",
        run: reconnect,
    },
    ByteTarget {
        name: "host",
        doc: "each line is sent as a frame of one client, and every check runs",
        run: host,
    },
    ByteTarget { name: "scenario", doc: "a text as a scenario file", run: scenario },
    ByteTarget { name: "capture", doc: "a text as a capture", run: capture },
    ByteTarget {
        name: "html",
        doc: "a text in every field of a run that a host controls: none of it becomes markup in the page",
        run: html,
    },
    ByteTarget { name: "script", doc: "a text as a script of the reference agent", run: script },
];

/// Does nothing.
pub fn empty(_data: &[u8]) {}
