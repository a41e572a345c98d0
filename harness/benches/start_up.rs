//! Measures the time of `ahp-harness --version` from spawn to exit, compared with `/bin/true`.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::process::{Command, Stdio};
use std::time::Instant;

#[expect(dead_code, reason = "each bench uses its part")]
mod measure;

use measure::{median, pin};

const SPAWNS: usize = 200;

fn main() {
    if !measure::wanted() {
        return;
    }
    pin();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..SPAWNS {
        ours.push(milliseconds(env!("CARGO_BIN_EXE_ahp-harness"), "--version"));
        bare.push(milliseconds("/bin/true", ""));
    }
    println!("start_up:  {:.2} ms (target: below 3)", median(ours));
    println!("/bin/true: {:.2} ms", median(bare));
}

fn milliseconds(program: &str, argument: &str) -> f64 {
    let began = Instant::now();
    let status = Command::new(program).arg(argument).stdout(Stdio::null()).status();
    let took = began.elapsed();
    assert!(status.expect("started").success());
    took.as_secs_f64() * 1e3
}
