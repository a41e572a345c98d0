//! Tests of the proxy of `record`, with real sockets on both sides: the proxy changes no byte, forwards a
//! refusal unchanged, and confines a fault to one connection.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use ahp_harness::dice::Dice;
use ahp_harness::record::handshake::{UpstreamHost, end_of_head};
use ahp_harness::record::journal::RecordJournal;
use ahp_harness::record::proxy::{RecordProxy, TimedNote};
use ahp_harness::record::relay::{ConnectionRelay, RecordedItem, RelayNote};
use ahp_harness::report::judged_subject::JudgedSubject;
use ahp_harness::report::redact::SecretRedactor;
use ahp_harness::transcript::ConnId;
use ahp_harness::transcript::line;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::common::sheet::SharedSheet;

const ANSWER: &str = "HTTP/1.1 101 Switching Protocols\r\nX-Odd:   spaces \r\nSec-WebSocket-Protocol: p\r\nUpgrade: websocket\r\n\r\n";
const ASK: &str = "GET /a?b HTTP/1.1\r\nHost: us\r\nUpgrade: websocket\r\nX-Mine: yes\r\nSec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: p, q\r\nAuthorization: Bearer t0ken\r\n\r\n";

/// Starts a proxy in front of the host at this address.
async fn proxied(
    host: SocketAddr,
    rules: &[&str],
) -> (SocketAddr, Arc<RecordProxy>, UnboundedReceiver<TimedNote>) {
    let upstream = UpstreamHost::new(&format!("ws://{host}"), Vec::new()).unwrap();
    let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let (proxy, noted) =
        RecordProxy::new(upstream, ConnectionRelay::new(rules), SecretRedactor::default()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = Arc::clone(&proxy);
    tokio::spawn(async move { serving.serve(listener).await });
    (address, proxy, noted)
}

/// Returns the recorded lines.
fn recorded(proxy: &RecordProxy, mut noted: UnboundedReceiver<TimedNote>) -> Vec<String> {
    proxy.end();
    let sheet = SharedSheet::default();
    let mut journal = RecordJournal::new(Box::new(sheet.clone()), SecretRedactor::default());
    while let Ok(next) = noted.try_recv() {
        journal.take(next.at, next.note);
    }
    sheet.lines()
}

async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while end_of_head(&head).is_none() {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Returns frames of every kind from one side, ending with a close frame.
fn frames(seed: u64, count: usize, masked: bool) -> Vec<u8> {
    let mut dice = Dice::seeded(seed);
    let mut out = Vec::new();
    let mut open = false;
    for _ in 0..count {
        let (first, most) = match dice.below(10) {
            0 => (0x89, 125),
            1 => (0x8a, 125),
            2 if !open => (0x01, 300),
            2..=5 if open => (0x00, 300),
            _ if open => (0x80, 300),
            3 => (0x82, 70_000),
            _ => (0x81, 300),
        };
        open = match first {
            0x01 => true,
            0x80..=0x82 => false,
            _ => open,
        };
        // Some of the text frames are invalid UTF-8, which the proxy must forward unchanged.
        let payload: Vec<u8> = (0..dice.below(most)).map(|_| dice.roll() as u8).collect();
        frame(&mut out, first, &payload, masked.then(|| dice.roll() as u32));
    }
    if open {
        frame(&mut out, 0x80, b"", masked.then_some(0));
    }
    frame(&mut out, 0x88, b"\x0f\xa1bye", masked.then_some(7));
    out
}

fn frame(out: &mut Vec<u8>, first: u8, payload: &[u8], mask: Option<u32>) {
    let bit = if mask.is_some() { 0x80 } else { 0 };
    out.push(first);
    match payload.len() {
        length @ 0..=125 => out.push(bit | length as u8),
        length @ 126..=0xffff => {
            out.push(bit | 126);
            out.extend((length as u16).to_be_bytes());
        }
        length => {
            out.push(bit | 127);
            out.extend((length as u64).to_be_bytes());
        }
    }
    let key = mask.map(u32::to_be_bytes);
    out.extend(key.iter().flatten());
    let key = key.unwrap_or_default();
    out.extend(payload.iter().enumerate().map(|(index, byte)| byte ^ key[index % 4]));
}

/// Writes a capture to a journal that judges clients, and checks the findings.
#[test]
fn a_journal_judges_the_clients() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/captures/clients");
    let found = |name: &str, client: Option<&str>| {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let subject = JudgedSubject::clients(client.map(str::to_owned));
        let sheet = Box::new(SharedSheet::default());
        let mut journal = RecordJournal::of(sheet, SecretRedactor::default(), &subject);
        let mut live = Vec::new();
        for line in text.lines() {
            let line = line::read(line).unwrap();
            let note = RelayNote { conn: ConnId(0), what: RecordedItem::Event(line.event) };
            live.extend(journal.take(line.at, note).into_iter().map(|finding| finding.check));
        }
        let seen: u64 = journal.finish().iter().map(|report| report.observations).sum();
        (live, seen > 0)
    };
    let twice = "P7-a-second-completion.jsonl";
    assert_eq!(found(twice, None), (vec!["clients.tool-once"], true));
    // The proxy calls its first connection `A`.
    assert_eq!(found(twice, Some("A")), (vec!["clients.tool-once"], true));
    assert_eq!(found(twice, Some("B")), (vec![], false));
    assert_eq!(found("kept-P7-a-completion-after-its-rejection.jsonl", None), (vec![], true));
}

#[tokio::test]
async fn the_proxy_passes_every_byte_unchanged() {
    for (seed, rules) in [(1, &[][..]), (2, &["drop on received 1000000"])] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap();
        let (address, proxy, noted) = proxied(host, rules).await;
        let (up, down) = (frames(seed, 3_000, true), frames(seed + 10, 3_000, false));
        let (sent, expected) = (down.clone(), up.clone());
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let asked = head(&mut stream).await;
            // The first frames follow the answer without a pause.
            stream.write_all(ANSWER.as_bytes()).await.unwrap();
            let (mut reader, mut writer) = stream.split();
            let mut got = vec![0; expected.len()];
            let (written, read) =
                tokio::join!(writer.write_all(&sent), reader.read_exact(&mut got));
            written.and(read.map(|_| ())).unwrap();
            assert!(got == expected, "what the client sent is what the host got");
            asked
        });
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(ASK.as_bytes()).await.unwrap();
        assert_eq!(head(&mut client).await, ANSWER);
        let (mut reader, mut writer) = client.split();
        let mut got = Vec::new();
        let (written, read) = tokio::join!(writer.write_all(&up), reader.read_to_end(&mut got));
        written.and(read.map(|_| ())).unwrap();
        assert!(got == down, "what the host sent is what the client got");
        let asked = serving.await.unwrap();
        let expected = ASK
            .replace("Host: us", &format!("Host: {host}"))
            .replace("Sec-WebSocket-Extensions: permessage-deflate\r\n", "");
        assert_eq!(asked, expected);
        let lines = recorded(&proxy, noted);
        assert!(
            lines[0].contains("Authorization: Bearer t0ken"),
            "no redactor was told: {}",
            lines[0]
        );
        assert!(lines[0].contains("Sec-WebSocket-Protocol: p"), "{}", lines[0]);
        let last = lines.last().unwrap();
        assert!(last.contains("\"code\":4001,\"reason\":\"bye\""), "{last}");
        assert!(lines.len() > 1_000, "{} lines", lines.len());
    }
}

#[tokio::test]
async fn the_proxy_passes_on_a_refusal_of_the_host() {
    const REFUSAL: &str = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 5\r\n\r\nno!\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, proxy, noted) = proxied(listener.local_addr().unwrap(), &[]).await;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        head(&mut stream).await;
        stream.write_all(REFUSAL.as_bytes()).await.unwrap();
    });
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(ASK.as_bytes()).await.unwrap();
    let mut got = String::new();
    client.read_to_string(&mut got).await.unwrap();
    assert_eq!(got, REFUSAL);
    let lines = recorded(&proxy, noted);
    assert!(lines[0].contains(r#""dir":"refused""#), "{lines:?}");
    assert!(lines[0].contains(r#""response":["HTTP/1.1 401 Unauthorized""#), "{lines:?}");
}

#[tokio::test]
async fn the_proxy_reports_an_unreachable_host() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap();
    drop(listener);
    let (address, ..) = proxied(host, &[]).await;
    for (ask, expected) in [(ASK, "HTTP/1.1 502"), ("hello\r\n\r\n", "HTTP/1.1 400")] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(ask.as_bytes()).await.unwrap();
        let mut got = String::new();
        client.read_to_string(&mut got).await.unwrap();
        assert!(got.starts_with(expected), "{got}");
    }
}

#[tokio::test]
async fn a_fault_affects_only_one_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, proxy, noted) =
        proxied(listener.local_addr().unwrap(), &["drop on B serverSeq 2"]).await;
    let mut sent = Vec::new();
    for seq in 1..=3 {
        let text = format!(r#"{{"method":"action","params":{{"serverSeq":{seq}}}}}"#);
        frame(&mut sent, 0x81, text.as_bytes(), None);
    }
    let third = sent.len() / 3;
    let poured = sent.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            head(&mut stream).await;
            stream.write_all(ANSWER.as_bytes()).await.unwrap();
            stream.write_all(&poured).await.unwrap();
        }
    });
    for expected in [&sent[..], &sent[..2 * third]] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(ASK.as_bytes()).await.unwrap();
        head(&mut client).await;
        let mut got = Vec::new();
        client.read_to_end(&mut got).await.unwrap();
        assert!(got == expected);
    }
    let lines = recorded(&proxy, noted).join("\n");
    assert!(
        lines.contains(r#""conn":"B","dir":"fault","fault":"drop on B serverSeq 2""#),
        "{lines}"
    );
    assert!(lines.contains(r#""reason":"fault: drop""#), "{lines}");
}
