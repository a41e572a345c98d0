//! What the benches share: CPU time of this process, one core, medians, and generated scenarios.
//!
//! Two peers are measured alternately in one process, several rounds each, and compared by the
//! median of their CPU time: a machine that others use at the same time changes both alike.

use std::fs::File;
use std::time::Duration;

use ahp_harness::run::setup::CaseSetup;
use ahp_harness::run::suite::{CarriedFiles, ScenarioSuite};
use ahp_harness::wire::version::Version;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

pub mod host;
pub mod traffic;

/// Whether the bench shall run: `cargo test --all-targets` starts benches too, without `--bench`.
pub fn wanted() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// Whether a side is to be measured: `--only ours` and `--only bare` leave the other out, for a
/// profile or a count of instructions of one alone.
pub fn asked_for(side: &str) -> bool {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--only");
    arguments.nth(1).is_none_or(|only| only == side)
}

/// The two numbers behind `--instructions`: what is to be done alone, for a run under callgrind.
pub fn instructions() -> Option<(u64, u64)> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--instructions");
    arguments.next()?;
    let mut number = || arguments.next()?.parse().ok();
    number().zip(number())
}

/// CPU time, user and system, that this process has used. Where instructions are counted nobody asks
/// for the time, and valgrind cannot bear how it is read.
pub fn cpu() -> Duration {
    if instructions().is_some() {
        return Duration::ZERO;
    }
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Stays on one core: the last of those that are allowed.
pub fn pin() {
    let Ok(allowed) = sched_getaffinity(None) else {
        return;
    };
    let last = (0..CpuSet::MAX_CPU).rfind(|cpu| allowed.is_set(*cpu));
    let mut one = CpuSet::new();
    one.set(last.unwrap_or_default());
    let _ = sched_setaffinity(None, &one);
}

/// The median.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Runs the other end on a thread of its own, as a host is a process of its own. Threads stay on the
/// core that [`pin`] chose for the first. Give it a bound listener; join it when the client is done.
pub fn beside<F: Future<Output = ()>>(
    end: impl FnOnce() -> F + Send + 'static,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || runtime().block_on(end()))
}

/// A runtime on this thread, as the harness makes it.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// A scenario of generated steps, ready to be played.
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

/// A file that goes away with the bench.
pub fn tempfile() -> File {
    let path = std::env::temp_dir().join(format!("ahp-bench-{}.jsonl", std::process::id()));
    let file = File::create(&path).expect("a file");
    let _ = std::fs::remove_file(path);
    file
}

/// Bytes of this process that are in memory.
pub fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("the size of the process");
    let pages: u64 = text.split(' ').nth(1).and_then(|field| field.parse().ok()).expect("pages");
    pages * rustix::param::page_size() as u64
}

/// Bytes as MiB.
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
