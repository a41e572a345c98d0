//! The lower half of `ahp-harness`: it decodes, records, folds and judges every frame.
//!
//! This package contains whole layers, so it can be compiled with optimisation, while the upper half is compiled for
//! short build times. `ahp_harness` re-exports these modules, and no other package depends on this one.
//!
//! The code of this package performs no input or output, and uses no clock, no source of randomness and no sockets.
//! Time is an argument: the [`Duration`] since the transcript began.
//!
//! [`Duration`]: std::time::Duration

pub mod dice;

pub mod wire;

pub mod transcript;

pub mod model;

pub mod verdict;

pub mod oracle;
