//! The reference host with a weakness: the host exits, hangs or restarts when a message contains the word `deadly`.
//!
//! Usage: `dying_host WAY PORT`, where WAY is one of [`WAYS`]. `tests/all/dying_hosts.rs` plays against it.
#![expect(clippy::print_stderr, reason = "a program says what is wrong with its arguments")]

use std::time::Duration;

use ahp_harness::host::engine::{HostConfig, RefHost};
use ahp_harness::host::{HostOutput, SansIoHost};
use ahp_harness::transcript::ConnId;
use ahp_harness::transport::serve::{ServedBehind, serve};
use ahp_harness::wire::frame::Frame;

/// The reaction of the host to the word `deadly`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum HostWeakness {
    /// The process exits with this exit code.
    Exits(i32),
    /// The process is terminated by SIGABRT.
    Aborts,
    /// The process exits after this many milliseconds.
    ExitsLate(u64),
    /// The process exits when two connections have sent the word `deadly` within two seconds.
    ExitsForTwo,
    /// The host stops reading and writing.
    Hangs,
    /// The host keeps its connections, but no longer answers.
    FallsSilent,
    /// The host restarts and loses its state.
    Restarts,
    /// The process exits after this many connections, regardless of their messages.
    ExitsAfter(u32),
    /// The process always exits this many milliseconds after its start.
    Expires(u64),
}

/// The names of the weaknesses, as arguments, each with the method whose message may trigger the weakness.
const WAYS: &[(&str, &str, HostWeakness)] = &[
    ("exits-at-a-handshake", "initialize", HostWeakness::Exits(1)),
    ("exits-at-a-dispatch", "dispatchAction", HostWeakness::Exits(101)),
    ("exits-with-zero", "dispatchAction", HostWeakness::Exits(0)),
    ("exits-at-a-disposal", "disposeSession", HostWeakness::Exits(1)),
    ("exits-at-a-reconnect", "reconnect", HostWeakness::Exits(1)),
    ("aborts-at-a-dispatch", "dispatchAction", HostWeakness::Aborts),
    ("exits-late", "dispatchAction", HostWeakness::ExitsLate(150)),
    ("exits-for-two", "dispatchAction", HostWeakness::ExitsForTwo),
    ("hangs-at-a-dispatch", "dispatchAction", HostWeakness::Hangs),
    ("hangs-at-a-handshake", "initialize", HostWeakness::Hangs),
    ("hangs-at-a-disposal", "disposeSession", HostWeakness::Hangs),
    ("falls-silent", "dispatchAction", HostWeakness::FallsSilent),
    ("restarts", "dispatchAction", HostWeakness::Restarts),
    ("exits-after-connections", "", HostWeakness::ExitsAfter(12)),
    ("expires", "", HostWeakness::Expires(1_000)),
];

/// A host with a weakness.
struct DyingHost {
    inner: RefHost,
    method: &'static str,
    weakness: HostWeakness,
    connections: u32,
    /// The connections that sent the word, each with the time.
    met: Vec<(ConnId, Duration)>,
    ends: Option<Duration>,
    silent: bool,
}

impl DyingHost {
    fn meets(&mut self, now: Duration, conn: ConnId) {
        match self.weakness {
            HostWeakness::Exits(code) => std::process::exit(code),
            HostWeakness::Aborts => std::process::abort(),
            HostWeakness::ExitsLate(millis) => {
                self.ends = Some(now + Duration::from_millis(millis))
            }
            HostWeakness::ExitsForTwo => {
                let lately = |at: Duration| at + Duration::from_secs(2) >= now;
                if self.met.iter().any(|(other, at)| *other != conn && lately(*at)) {
                    std::process::exit(1);
                }
                self.met.push((conn, now));
            }
            HostWeakness::Hangs => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            HostWeakness::FallsSilent => self.silent = true,
            HostWeakness::Restarts => restart(),
            HostWeakness::ExitsAfter(_) | HostWeakness::Expires(_) => {}
        }
    }
}

/// Replaces the process by a new one with the same arguments. On systems other than Unix, the host only exits.
fn restart() -> ! {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        let this = std::env::current_exe().unwrap_or_default();
        let error = std::process::Command::new(this).args(std::env::args().skip(1)).exec();
        eprintln!("{error}");
    }
    std::process::exit(70)
}

impl SansIoHost for DyingHost {
    fn handle_open(&mut self, now: Duration, conn: ConnId) {
        self.connections += 1;
        if matches!(self.weakness, HostWeakness::ExitsAfter(most) if self.connections > most) {
            std::process::exit(1);
        }
        self.inner.handle_open(now, conn);
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        if let Frame::Text(text) = frame
            && text.contains("deadly")
            && text.contains(&format!("\"method\":\"{}\"", self.method))
        {
            self.meets(now, conn);
        }
        self.inner.handle_frame(now, conn, frame);
    }

    fn handle_close(&mut self, now: Duration, conn: ConnId) {
        self.inner.handle_close(now, conn);
    }

    fn handle_timeout(&mut self, now: Duration) {
        if self.ends.is_some_and(|ends| ends <= now) {
            std::process::exit(1);
        }
        self.inner.handle_timeout(now);
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.inner.next_timeout().into_iter().chain(self.ends).min()
    }

    fn poll_output(&mut self) -> Option<HostOutput> {
        loop {
            let output = self.inner.poll_output()?;
            if !(self.silent && matches!(output, HostOutput::Send { .. })) {
                return Some(output);
            }
        }
    }

    fn restart(&mut self, now: Duration) {
        self.inner.restart(now);
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let [way, port] = [1, 2].map(|place| std::env::args().nth(place).unwrap_or_default());
    let known = WAYS.iter().find(|(name, ..)| *name == way).zip(port.parse::<u16>().ok());
    let Some(((_, method, weakness), port)) = known else {
        let names: Vec<&str> = WAYS.iter().map(|(name, ..)| *name).collect();
        eprintln!("expected a way and a port, found `{way}` `{port}` (ways: {})", names.join(", "));
        std::process::exit(2);
    };
    let ends = match weakness {
        HostWeakness::Expires(millis) => Some(Duration::from_millis(*millis)),
        _ => None,
    };
    let host = DyingHost {
        inner: RefHost::new(HostConfig::default()),
        method,
        weakness: *weakness,
        connections: 0,
        met: Vec::new(),
        ends,
        silent: false,
    };
    match tokio::net::TcpListener::bind(("127.0.0.1", port)).await {
        Ok(listener) => {
            let (_served, task) = serve(listener, Box::new(host), ServedBehind::nothing());
            let _ = task.await;
        }
        Err(error) => {
            eprintln!("cannot listen on port {port}: {error}");
            std::process::exit(2);
        }
    }
}
