//! The command line: arguments in, an exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    ahp_harness::cli::main()
}
