//! Code shared by the benches: CPU time of this process, pinning to one core, medians, and generated scenarios.
//!
//! Two programs are measured alternately in one process, in several rounds, and compared by the medians of
//! their CPU times. The load of other processes then affects both in the same way.

use std::fs::File;
use std::time::Duration;

use ahp_harness::run::setup::CaseSetup;
use ahp_harness::run::suite::{CarriedFiles, ScenarioSuite};
use ahp_harness::wire::version::Version;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

pub mod host;
pub mod traffic;

/// Returns whether the bench should run: `cargo test --all-targets` also starts benches, but without `--bench`.
pub fn wanted() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// Returns whether a side of the comparison (`ours` or `bare`) has to be measured. With `--only ours` or `--only bare`,
/// only this side runs, for a profiler or for counting instructions.
pub fn asked_for(side: &str) -> bool {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--only");
    arguments.nth(1).is_none_or(|only| only == side)
}

/// Returns the two numbers after `--instructions`. With this option, the bench performs only one task, for a run under
/// callgrind.
pub fn instructions() -> Option<(u64, u64)> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--instructions");
    arguments.next()?;
    let mut number = || arguments.next()?.parse().ok();
    number().zip(number())
}

/// Returns the CPU time, user and system, of this process. Returns zero when instructions are counted, because
/// valgrind does not support reading the CPU time.
pub fn cpu() -> Duration {
    if instructions().is_some() {
        return Duration::ZERO;
    }
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Pins the process to the last core on which it may run.
pub fn pin() {
    let Ok(allowed) = sched_getaffinity(None) else {
        return;
    };
    let last = (0..CpuSet::MAX_CPU).rfind(|cpu| allowed.is_set(*cpu));
    let mut one = CpuSet::new();
    one.set(last.unwrap_or_default());
    let _ = sched_setaffinity(None, &one);
}

/// Returns the median of the values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Runs the other end of a connection on a separate thread, which replaces a separate process. Threads stay on the
/// core that [`pin`] chose for the first thread. The caller passes a bound listener in `end`, and joins the
/// thread when the client is done.
pub fn beside<F: Future<Output = ()>>(
    end: impl FnOnce() -> F + Send + 'static,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || runtime().block_on(end()))
}

/// Creates a runtime on this thread, with the same settings as in the harness.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Creates a playable scenario from generated steps.
pub fn setup(steps: &str) -> CaseSetup {
    let text = format!(
        "scenario: bench/generated\ntitle: generated\nsteps:\n  - open: A\n{steps}  \
         - request: {{ by: A, method: ping, proves: ping.response }}\n"
    );
    let suite = ScenarioSuite::of([("bench/generated.yaml".to_owned(), text)], &CarriedFiles);
    assert!(suite.broken.is_empty(), "{:?}", suite.broken.first().map(|file| &file.errors));
    let entry = suite.entries.first().expect("one scenario");
    let (epoch, limit) = (Duration::from_secs(1_760_000_000), Duration::from_secs(60));
    CaseSetup::of(&entry.scenario, Version::new(1, 0, 0), 1, epoch, limit)
}

/// Creates a file that is deleted when the bench ends.
pub fn tempfile() -> File {
    let path = std::env::temp_dir().join(format!("ahp-bench-{}.jsonl", std::process::id()));
    let file = File::create(&path).expect("a file");
    let _ = std::fs::remove_file(path);
    file
}

/// Returns the resident memory of this process, in bytes.
pub fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("the size of the process");
    let pages: u64 = text.split(' ').nth(1).and_then(|field| field.parse().ok()).expect("pages");
    pages * rustix::param::page_size() as u64
}

/// Converts bytes to MiB.
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
