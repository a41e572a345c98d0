//! Stops a command early: when the user interrupts it, or when its time budget has run out.
//!
//! After the first Ctrl-C the command has two seconds to stop and write its reports. The second Ctrl-C ends the
//! process and its children at once. SIGTERM and SIGHUP have the same effect as a Ctrl-C.
//!
//! Start at [`in_time`].

use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::transport::child;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::supervise;

/// The time for stopping after the first Ctrl-C.
const LEAVING: Duration = Duration::from_millis(1_800);
/// The part of a budget that is for closing connections, ending child processes and writing reports, and its minimum
/// and maximum. The minimum is the time that an interrupted scenario needs, but never more than half of the budget.
const CLOSING_SHARE: u32 = 4;
const LEAST_CLOSING: Duration = Duration::from_secs(2);
const MOST_CLOSING: Duration = Duration::from_secs(15);
/// The time after the end of a budget, in addition to the time for closing and to a part of the budget, after which the
/// command is killed. It is long, because the reports that are made from the run's files may be late on a busy machine.
const LATE: Duration = Duration::from_secs(3);
const LATE_SHARE: u32 = 10;

/// The time budget of a command, from the start of the command.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeBudget {
    began: Instant,
    /// The time after which the command ends, whatever the target does.
    pub(super) total: Duration,
}

impl TimeBudget {
    /// Makes a budget that begins now. If the command is still running a while after the budget, it is killed.
    pub(super) fn begin(total: Duration) -> TimeBudget {
        let budget = TimeBudget { began: Instant::now(), total };
        supervise::must_end_within(budget.most());
        budget
    }

    /// Returns the time after which the command is killed.
    fn most(&self) -> Duration {
        self.total + self.closing() + self.total / LATE_SHARE + LATE
    }

    fn closing(&self) -> Duration {
        let share = (self.total / CLOSING_SHARE).clamp(LEAST_CLOSING, MOST_CLOSING);
        share.min(self.total / 2)
    }

    /// Returns the time at which the command stops using the target. The rest of the budget is for closing
    /// connections and writing reports.
    pub(super) fn stop_at(&self) -> Instant {
        self.began + self.total - self.closing()
    }

    /// Returns the time at which a command that is still closing connections is stopped. The rest of the budget is for
    /// the reports that are made from the run's files.
    fn end_at(&self) -> Instant {
        self.began + self.total - self.closing() / 4
    }
}

/// The weight of recorded frames that a command reads per second when it makes its reports, in bytes of memory. A fast
/// machine reads twice as much.
const READING_RATE: f64 = 180e6;

impl TimeBudget {
    /// Returns whether the rest of the budget is enough for the reports about frames of this weight.
    pub(super) fn allows_reports(&self, weight: u64) -> bool {
        let reading = Duration::from_secs_f64(weight as f64 / READING_RATE);
        self.began.elapsed() + reading < self.total
    }
}

/// Runs a command that uses a target. The command ends on Ctrl-C or when the budget has run out, whatever the
/// target does. The files then contain the results so far.
pub(super) fn in_time(
    budget: Option<TimeBudget>,
    work: impl Future<Output = CommandOutcome>,
) -> CommandOutcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        // A target that sends without end must not starve signals and timers.
        .event_interval(7)
        .enable_all()
        .build()
        .map_err(|error| CommandStop::fault(format!("no runtime: {error}")))?;
    watch_from_outside(budget);
    let outcome = runtime.block_on(async {
        let mut interrupted = interrupts();
        let wish = async {
            let _ = interrupted.wait_for(|interrupted| *interrupted).await;
            tokio::time::sleep(LEAVING).await;
        };
        let over = async {
            match budget {
                Some(budget) => tokio::time::sleep_until(budget.end_at().into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = wish => Err(CommandStop {
                code: CommandExit::Interrupted,
                message: "interrupted before the cleanup was complete; the reports have what was played".to_owned(),
            }),
            () = over => Err(CommandStop {
                code: CommandExit::Failed,
                message: "the time budget was over before the cleanup was complete; the reports have what was played (hint: `--budget`)".to_owned(),
            }),
            outcome = work => outcome,
        }
    });
    // The shutdown does not wait for blocking threads.
    runtime.shutdown_background();
    outcome
}

/// Ends the process at the second Ctrl-C, and a while after its budget. This needs a thread of its own, because the
/// command may compute for a long time, or may wait for a file that nobody reads.
fn watch_from_outside(budget: Option<TimeBudget>) {
    let watch = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        let code = runtime.block_on(async {
            let over = async {
                match budget {
                    Some(budget) => tokio::time::sleep(budget.most()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = signalled_times(2) => CommandExit::Interrupted,
                () = over => {
                    CliContext::gather().error("error: the command did not stop in time when its time budget was over; the files have what was written before (hint: `--budget`)\n");
                    CommandExit::Failed
                }
            }
        });
        child::end_all();
        std::process::exit(code as i32);
    };
    // Without the thread, the command itself notices signals and the end of its budget.
    let _ = std::thread::Builder::new().name("watch".to_owned()).spawn(watch);
}

/// Returns a channel that turns true when the user interrupts.
pub(super) fn interrupts() -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        if signalled().await {
            let _ = stop.send(true);
        }
        // The sender lives until the run ends, because a closed channel would look like a signal.
        stop.closed().await;
    });
    stopped
}

/// Returns a channel that turns true when the user interrupts or when the budget allows no further use of the
/// target.
pub(super) fn ended_by(
    mut interrupted: watch::Receiver<bool>,
    budget: Option<TimeBudget>,
) -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(*interrupted.borrow());
    tokio::spawn(async move {
        let over = async {
            match budget {
                Some(budget) => tokio::time::sleep_until(budget.stop_at().into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupted.changed() => {}
            () = over => {}
            () = stop.closed() => {}
        }
        let _ = stop.send(true);
        stop.closed().await;
    });
    stopped
}

/// Waits for Ctrl-C, SIGTERM or SIGHUP. Returns whether one has arrived; `false` if signals cannot be received.
pub(super) async fn signalled() -> bool {
    signalled_times(1).await
}

/// Waits until Ctrl-C, SIGTERM and SIGHUP have arrived so many times in total.
async fn signalled_times(times: usize) -> bool {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let interrupt = signal(SignalKind::interrupt());
        let terminate = signal(SignalKind::terminate());
        let hang_up = signal(SignalKind::hangup());
        if let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hang_up)) =
            (interrupt, terminate, hang_up)
        {
            for _ in 0..times {
                let arrived = tokio::select! {
                    arrived = interrupt.recv() => arrived,
                    arrived = terminate.recv() => arrived,
                    arrived = hang_up.recv() => arrived,
                };
                if arrived.is_none() {
                    return false;
                }
            }
            return true;
        }
    }
    for _ in 0..times {
        if tokio::signal::ctrl_c().await.is_err() {
            return false;
        }
    }
    true
}
