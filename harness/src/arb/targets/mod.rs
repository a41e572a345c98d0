//! Fuzz targets: functions from any bytes to nothing, which may not panic and check what they can.
//!
//! The wrappers for the fuzzer stand in `fuzz/`; plain `cargo test` plays every file of `corpus/`
//! through [`TARGETS`].
//!
//! Knows: everything that reads what others wrote. Never knows: the fuzzing engine.

mod conversation;
#[cfg(feature = "official-newest")]
mod official;
mod reducers;
mod texts;
mod wire;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its corpus folder.
    pub name: &'static str,
    /// What it tries.
    pub doc: &'static str,
    /// The function.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "empty", doc: "nothing: what a fuzzer's own loop costs", run: |_| {} },
    Target {
        name: "frame",
        doc: "bytes as a frame: what is read is written again as it was",
        run: wire::frame,
    },
    Target {
        name: "shape",
        doc: "JSON held against the tables of every version",
        run: wire::shape,
    },
    Target {
        name: "reducers",
        doc: "orders of actions from a pool, the cheap laws after each",
        run: reducers::orders,
    },
    Target {
        name: "laws",
        doc: "drawn states and actions of every version, every law",
        run: reducers::laws,
    },
    Target {
        name: "dispatch",
        doc: "several clients of the reference host, everything they may send, the whole oracle",
        run: conversation::dispatch,
    },
    Target {
        name: "reconnect",
        doc: "clients that lose their connections and come back to a host that forgets, the whole oracle",
        run: conversation::reconnect,
    },
    Target {
        name: "host",
        doc: "lines as frames of one client, the whole oracle",
        run: wire::host,
    },
    Target { name: "scenario", doc: "a text as a scenario file", run: texts::scenario },
    Target { name: "capture", doc: "a text as a recorded conversation", run: texts::capture },
    Target {
        name: "html",
        doc: "a text in every place of a run that a host can reach: none of it becomes markup",
        run: texts::html,
    },
    Target { name: "script", doc: "a text as a script of the agent", run: texts::script },
];

/// Orders of actions through our reducer and the official one of 1.0.0, and the official one alone.
/// Beside [`TARGETS`], since the crate is there only with the feature `official-newest`.
#[cfg(feature = "official-newest")]
pub const OFFICIAL: &[Target] = &[
    Target {
        name: "official",
        doc: "the target `reducers` on the official crate, to compare speeds",
        run: official::orders,
    },
    Target {
        name: "differential",
        doc: "ours and the official reducer agree on every order of actions",
        run: official::differential,
    },
];

/// The target of a name, as a fuzzer's wrapper calls it.
///
/// # Panics
/// Nothing is called so, or the input breaks what the target holds.
pub fn run(name: &str, data: &[u8]) {
    let known = TARGETS.iter();
    #[cfg(feature = "official-newest")]
    let known = known.chain(OFFICIAL);
    let mut known = known.filter(|target| target.name == name);
    let target = known.next();
    assert!(target.is_some(), "no fuzz target is called `{name}`");
    if let Some(target) = target {
        (target.run)(data);
    }
}
