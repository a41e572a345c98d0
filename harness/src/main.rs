//! The command line: arguments in, an exit code out.

use std::process::ExitCode;

/// A frame is a tree of small values, most of which live as long as the frame.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ahp_harness::cli::main()
}
