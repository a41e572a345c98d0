//! A long run with many clients on the reference host. There must be no finding, and memory must not grow with
//! the length of the run.
//!
//! `--actions N` and `--clients N` increase the number of actions and clients.

#![expect(clippy::print_stdout, reason = "a bench prints")]

#[path = "../tests/all/common/crowd.rs"]
mod crowd;
#[expect(dead_code, reason = "each bench uses its part")]
mod measure;

use crowd::TestCrowd;
use measure::{cpu, mib, resident};

const CLIENTS: u64 = 32;
const ACTIONS: u64 = 100_000;
/// The number of measurements during a run; each one is printed as a line.
const STEPS: u64 = 10;

fn main() {
    if !measure::wanted() {
        return;
    }
    let clients = number("--clients").unwrap_or(CLIENTS);
    let actions = number("--actions").unwrap_or(ACTIONS);
    let mut crowd = TestCrowd::new(clients as u32);
    let (began, mut done, mut step) = (cpu(), 0, 0);
    println!("{:>10}  {:>8}  {:>8}", "actions", "s of CPU", "MiB");
    while crowd.seq < actions {
        crowd.act(done);
        done += 1;
        if crowd.seq >= actions * step / STEPS {
            let took = (cpu() - began).as_secs_f64();
            println!("{:>10}  {took:>8.1}  {:>8.1}", crowd.seq, mib(resident()));
            step += 1;
        }
    }
    let (findings, reports) = crowd.finish();
    let observed: u64 = reports.iter().map(|report| report.observations).sum();
    let late: usize = reports.iter().map(|report| report.findings.len()).sum();
    println!("{} findings in {observed} observations", findings.len().max(late));
    assert!(findings.is_empty() && late == 0, "{:#?}", findings.first());
}

fn number(name: &str) -> Option<u64> {
    std::env::args().skip_while(|argument| argument != name).nth(1)?.parse().ok()
}
