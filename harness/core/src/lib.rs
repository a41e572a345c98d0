//! The lower half of `ahp-harness`: it decodes, records, folds and judges every frame.
//!
//! This package ends at a layer boundary, so it can be compiled for speed, and the upper half for short build
//! times. `ahp_harness` re-exports these modules as its own; nothing else depends on this package.
//!
//! Nothing here performs input or output: there is no clock, no source of randomness and no socket. Time is an
//! argument: the [`Duration`] since the transcript began.
//!
//! [`Duration`]: std::time::Duration

pub mod dice;

pub mod wire;

pub mod transcript;

pub mod model;

pub mod verdict;

pub mod oracle;
