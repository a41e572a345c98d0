//! Fuzz targets: functions that take any bytes and return nothing. A target must not panic, and may check laws
//! about its results.
//!
//! The wrappers for the fuzzer are in `fuzz/`. Each wrapper links only one function, because the fuzzer scans
//! the coverage of all linked functions after each run. `cargo test` runs every file of `corpus/` through
//! [`TARGETS`].
//!
//! Knows: everything that reads input from others. Never knows: the fuzzing engine.

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
    ByteTarget { name: "empty", doc: "nothing: what a fuzzer's own loop costs", run: empty },
    ByteTarget {
        name: "frame",
        doc: "bytes as a frame: what is read is written again as it was",
        run: frame,
    },
    ByteTarget { name: "shape", doc: "JSON held against the tables of every version", run: shape },
    ByteTarget {
        name: "reducers",
        doc: "orders of actions from a pool, the cheap laws after each",
        run: reducers,
    },
    ByteTarget {
        name: "chat",
        doc: "the target `reducers` on a chat of 1.0.0 alone: what `official` is held against",
        run: chat,
    },
    ByteTarget {
        name: "laws",
        doc: "drawn states and actions of every version, every law",
        run: laws,
    },
    ByteTarget {
        name: "dispatch",
        doc: "several clients of the reference host, everything they may send, the whole oracle",
        run: dispatch,
    },
    ByteTarget {
        name: "reconnect",
        doc: "clients that lose their connections and come back to a host that forgets, the whole oracle",
        run: reconnect,
    },
    ByteTarget { name: "host", doc: "lines as frames of one client, the whole oracle", run: host },
    ByteTarget { name: "scenario", doc: "a text as a scenario file", run: scenario },
    ByteTarget { name: "capture", doc: "a text as a recorded conversation", run: capture },
    ByteTarget {
        name: "html",
        doc: "a text in every place of a run that a host can reach: none of it becomes markup",
        run: html,
    },
    ByteTarget { name: "script", doc: "a text as a script of the agent", run: script },
];

/// Does nothing.
pub fn empty(_data: &[u8]) {}
