//! The program `ahp-harness`. The module `cli` of the library reads the arguments, runs the command and determines the
//! exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ahp_harness::cli::main()
}
