//! Tests of fuzz campaigns against hosts that turn hostile: the campaign keeps earlier findings, reports the
//! hostile behaviour as a finding or an error, and continues or ends.
//!
//! A gate between the harness and a real host forwards some connections unchanged and tampers with others.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot start a server has failed")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ahp_harness::arb::campaign::FuzzCampaign;

/// The time limit of a campaign, even with the most hostile host.
const LIMIT: Duration = Duration::from_secs(100);
/// The number of conversations of a campaign.
const SEQUENCES: u64 = 8;
/// The number of connections that the gate forwards unchanged at first. `SPOILT` is the number of connections after
/// them with which the gate tampers.
const HONEST: usize = 16;
const SPOILT: usize = 8;
/// The number of the host's bytes that the gate forwards before it tampers: the WebSocket handshake and some more.
const PASSES: usize = 900;
/// The number of connections after which a host hangs. They are enough for the first look and some conversations.
const AWAKE: usize = 40;
/// A number of bytes that is larger than the WebSocket handshake, but smaller than the handshake and the response to
/// `initialize` together.
const GREETING: usize = 300;

/// The kind of tampering with a connection.
#[derive(Clone, Copy, Debug)]
enum ConnectionSpoil {
    /// No more bytes arrive.
    Silence,
    /// The connection is closed.
    Close,
    /// Endless frames arrive.
    Flood,
    /// Bytes arrive that are not frames.
    Garbage,
    /// Frames arrive that are not messages.
    Nonsense,
}

struct HostileHost {
    child: Child,
    address: SocketAddr,
}

impl Drop for HostileHost {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a reference host with a fault, so that a campaign also has a finding that is not caused by the gate.
fn host() -> HostileHost {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ahp-harness"))
        .args(["serve", "--listen", "127.0.0.1:0", "--fault", "session-added-twice"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("ws://").nth(1).unwrap();
    let address = address.split(|c: char| c.is_whitespace() || c == '/').next().unwrap();
    HostileHost { child, address: address.parse().unwrap() }
}

/// Starts a gate for a host and returns the address of the gate. The gate tampers with the connections with these
/// numbers, after `passes` of the host's bytes.
fn gate(
    host: SocketAddr,
    spoil: ConnectionSpoil,
    tampered: Range<usize>,
    passes: usize,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // The gate runs until the process of the test exits.
    thread::spawn(move || {
        let connections = AtomicUsize::new(0);
        for client in listener.incoming().map_while(Result::ok) {
            let number = connections.fetch_add(1, Ordering::Relaxed);
            let spoilt = tampered.contains(&number);
            let Ok(server) = TcpStream::connect(host) else { continue };
            pass(&client, &server, None);
            pass(&server, &client, spoilt.then_some((spoil, passes)));
        }
    });
    address
}

fn pass(from: &TcpStream, to: &TcpStream, spoil: Option<(ConnectionSpoil, usize)>) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    thread::spawn(move || {
        let (mut bytes, mut passed) = ([0; 4096], 0);
        while let Ok(count) = from.read(&mut bytes) {
            if count == 0 || to.write_all(&bytes[..count]).is_err() {
                break;
            }
            passed += count;
            if let Some((spoil, _)) = spoil.filter(|(_, passes)| passed > *passes) {
                spoils(spoil, &mut to);
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn spoils(spoil: ConnectionSpoil, to: &mut TcpStream) {
    let frame = |text: &str| [&[0x81, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let once = match spoil {
        ConnectionSpoil::Silence => return thread::sleep(LIMIT),
        ConnectionSpoil::Close => return drop(to.shutdown(Shutdown::Both)),
        ConnectionSpoil::Garbage => return drop(to.write_all(&[0xff; 10_000])),
        ConnectionSpoil::Nonsense => [frame("]{"), frame("[[7]]"), frame("{\"id\": {}}")].concat(),
        ConnectionSpoil::Flood => {
            let text = r#"{"jsonrpc":"2.0","method":"x/flood","params":{}}"#;
            frame(text).repeat(100)
        }
    };
    while to.write_all(&once).is_ok() {}
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-fuzz").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Runs a campaign, which must end in time. Returns the exit code and the output.
fn fuzz(out: &Path, args: &[&str]) -> (Option<i32>, String) {
    let file = std::fs::File::create(out.join("said.txt")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ahp-harness"))
        .args([
            "fuzz",
            "--scripted",
            "--reference",
            "--timeout",
            "300ms",
            "--no-shrink",
            "--jobs",
            "1",
            "--seed",
            "3",
            "--out",
        ])
        .arg(out)
        .args(args)
        .stdin(Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .spawn()
        .unwrap();
    let began = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if began.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("the campaign did not end within {LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(20));
    };
    (code, std::fs::read_to_string(out.join("said.txt")).unwrap())
}

/// Reads the campaign from a folder; each finding must have its scenario.
fn campaign(out: &Path) -> FuzzCampaign {
    let text = std::fs::read_to_string(out.join("campaign.jsonl")).unwrap();
    let campaign = FuzzCampaign::of_text(&text).unwrap();
    for bucket in campaign.failures() {
        assert!(out.join(format!("{}.yaml", bucket.scenario)).exists(), "{}", bucket.scenario);
    }
    campaign
}

/// Checks that a campaign continues to its end although the host turns hostile, and keeps its findings.
fn goes_on(spoil: ConnectionSpoil, name: &str) {
    let host = host();
    let url = format!("ws://{}", gate(host.address, spoil, HONEST..HONEST + SPOILT, PASSES));
    let out = folder(name);
    let sequences = SEQUENCES.to_string();
    let (code, said) = fuzz(&out, &["--url", &url, "--sequences", &sequences]);
    assert_eq!(code, Some(1), "{said}");
    let campaign = campaign(&out);
    assert_eq!(campaign.sequences, SEQUENCES, "{said}");
    let rules: Vec<&str> = campaign.failures().map(|it| it.finding.rule.as_str()).collect();
    assert!(rules.contains(&"sessions.announced-once"), "{rules:?}\n{said}");
}

#[test]
fn a_campaign_survives_a_host_that_stops_answering() {
    goes_on(ConnectionSpoil::Silence, "silence");
}

#[test]
fn a_campaign_survives_a_host_that_closes_connections() {
    goes_on(ConnectionSpoil::Close, "close");
}

#[test]
fn a_campaign_survives_a_host_that_floods() {
    goes_on(ConnectionSpoil::Flood, "flood");
}

#[test]
fn a_campaign_survives_a_host_that_sends_garbage() {
    goes_on(ConnectionSpoil::Garbage, "garbage");
}

#[test]
fn a_campaign_survives_a_host_that_sends_nonsense() {
    goes_on(ConnectionSpoil::Nonsense, "nonsense");
}

/// Checks that Ctrl-C ends a campaign whose conversations wait for a silent host, and that the campaign still prints
/// its summary.
#[cfg(unix)]
#[test]
fn a_campaign_that_waits_for_a_silent_host_is_interrupted() {
    let host = host();
    let url = gate(host.address, ConnectionSpoil::Silence, HONEST..usize::MAX, PASSES);
    let out = folder("interrupted");
    let child = Command::new(env!("CARGO_BIN_EXE_ahp-harness"))
        .args(["fuzz", "--url", &format!("ws://{url}"), "--timeout", "60s", "--time", "2m"])
        .args(["--seed", "3", "--out", &out.display().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The campaign makes this folder after the first look.
    let began = Instant::now();
    while !out.join("fuzz").exists() && began.elapsed() < LIMIT {
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_secs(3));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ended = child.wait_with_output().unwrap();
    let (said, errors) =
        (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.code(), Some(130), "{said}{errors}");
    assert!(said.contains(" conversations, ") && !errors.contains("cleanup"), "{said}{errors}");
}

/// Checks that the campaign ends if the host still completes handshakes, but does not answer any other request.
#[test]
fn a_host_that_answers_only_handshakes_is_hung() {
    let host = host();
    let gate = gate(host.address, ConnectionSpoil::Silence, AWAKE..usize::MAX, GREETING);
    let out = folder("hung");
    let (code, said) = fuzz(&out, &["--url", &format!("ws://{gate}"), "--time", "60s"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("does not answer `listSessions`"), "{said}");
    assert!(campaign(&out).sequences < 30, "{said}");
}

/// Checks that there is no finding if a host exits by itself. Without a restart command the campaign ends; with a
/// restart command the campaign continues.
#[test]
fn a_host_that_dies_is_restarted_by_a_command_of_its_own() {
    let program = env!("CARGO_BIN_EXE_ahp-harness");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let running = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-fuzz-host");
    let _ = std::fs::remove_file(&running);
    let pid = running.display();
    // Because of `exec`, the process with the written id is `timeout`, which forwards a signal to the host.
    let serve = |seconds: u32| {
        format!(
            "echo $$ >{pid}; exec timeout {seconds} {program} serve --listen 127.0.0.1:{port} \
             >/dev/null 2>&1 </dev/null"
        )
    };
    let start = |command: String| Command::new("sh").args(["-c", &command]).spawn().unwrap();
    let url = format!("ws://127.0.0.1:{port}");
    let listens = || {
        (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        })
    };

    let out = folder("dies");
    let mut host = start(serve(8));
    assert!(listens());
    let (code, said) = fuzz(&out, &["--url", &url, "--time", "20s"]);
    host.wait().unwrap();
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("hint: give `--restart-command`"), "{said}");
    let before = campaign(&out);
    assert_eq!(before.failures().count(), 0, "{said}");
    assert!(before.sequences > 0);

    // The same campaign continues with a restart command. The exit of that command does not mean that the host has
    // stopped.
    let mut host = start(serve(8));
    assert!(listens());
    let again =
        format!("kill $(cat {pid}) 2>/dev/null; sleep 0.2; sh -c '{}' & sleep 1", serve(10));
    let most = (before.sequences + 30).to_string();
    let args = ["--url", &url, "--restart-command", &again, "--sequences", &most, "--time", "40s"];
    let (code, said) = fuzz(&out, &args);
    host.wait().unwrap();
    let after = campaign(&out);
    assert_eq!(code, Some(0), "{said}");
    assert!(after.sequences > before.sequences, "{said}");
    assert!(said.contains("survived each of them"), "{said}");
    assert_eq!(after.failures().count(), 0, "{said}");
}
