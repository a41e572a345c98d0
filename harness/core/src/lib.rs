//! What every frame goes through in `ahp-harness`: read, kept, folded, judged.
//!
//! The lower half of the harness is a package of its own, cut along a layer line, so that it is
//! built for speed and what stands above it for a short build. `ahp_harness` offers these modules as
//! its own; nothing else depends on this package.
//!
//! Everything here is free of input and output: no clock, no randomness, no sockets. Time is an
//! argument, the [`Duration`] since the transcript began.
//!
//! [`Duration`]: std::time::Duration

pub mod dice;

pub mod wire;

pub mod transcript;

pub mod model;

pub mod verdict;

pub mod oracle;
