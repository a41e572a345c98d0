//! The thread priority of tests that only compute and have no time limits.

use std::cell::Cell;

thread_local! {
    static LOWERED: Cell<bool> = const { Cell::new(false) };
}

/// The amount by which the nice value of a thread is raised. Beside a thread of normal priority, the thread then gets
/// about half of the CPU time.
#[cfg(target_os = "linux")]
const STEPS: i32 = 3;

/// Lowers the priority of this thread, and of the threads that it starts from now on. Further calls have no effect.
///
/// Some tests have time limits, for example for an answer of a host, and run at the same time as tests that keep every
/// core busy for a minute. The latter have no time limits, so they get a lower priority.
pub fn lower() {
    if LOWERED.replace(true) {
        return;
    }
    // On other systems, a priority belongs to the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(STEPS);
}
