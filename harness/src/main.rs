//! Runs the command line: takes the arguments and returns an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ahp_harness::cli::main()
}
