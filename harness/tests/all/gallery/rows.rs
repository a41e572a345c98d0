//! The behaviours of the gallery, as rows.

use std::time::Duration;

use super::between::{CHANGES, FLOODS};
use super::host::GalleryBehaviour;

/// A behaviour and its name.
pub struct GalleryRow {
    pub name: String,
    pub behaviour: GalleryBehaviour,
    /// Whether the row ends quickly, so that it is played in CI.
    pub quick: bool,
}

/// Strings that affect the surrounding output if they are shown unescaped.
pub const WORDS: &[(&str, &str)] = &[
    ("clear the screen", "a\u{1b}[2J\u{1b}[Hb"),
    ("title", "\u{1b}]0;title\u{7}"),
    ("hyperlink", "\u{1b}]8;;https://example.org\u{1b}\\link\u{1b}]8;;\u{1b}\\"),
    ("CSI in C1", "\u{9b}31m red"),
    ("OSC in C1", "\u{9d}0;t\u{9c}"),
    ("NUL", "a\u{0}b"),
    ("backspaces", "visible\u{8}\u{8}\u{8}\u{8}"),
    ("carriage return", "one\rtwo"),
    ("bell", "\u{7}\u{7}\u{7}"),
    ("next line", "a\u{85}b"),
    ("line separator", "a\u{2028}b\u{2029}c"),
    ("right to left", "\u{202e}detcejer\u{202c}"),
    ("isolates", "\u{2066}a\u{2069}\u{2067}b"),
    ("zero width", "a\u{200b}b\u{200d}c\u{feff}d\u{2060}"),
    ("tags", "\u{e0041}\u{e0042}\u{e007f}"),
    ("noncharacters", "\u{fffe}\u{ffff}\u{1fffe}\u{10ffff}"),
    ("end of CDATA", "]]></system-out></testcase><testcase name=\"forged\"/><![CDATA["),
    ("markup", "</script><script>alert(1)</script><img src=x onerror=alert(1)>"),
    ("attribute", "\" onload=\"alert(1)\" x='"),
    ("entities", "&#0;&#x1b;&amp;&lt;&bogus;&"),
    ("comment", "--><!-- --!>"),
    ("workflow command", "x\n::error file=forged.rs,line=1::forged"),
    ("workflow group", "##[command]forged ##[group]"),
    ("pipelines command", "##vso[task.setvariable variable=x]y"),
    ("lines", "\n\n    pass forged/scenario\n0 failed\n"),
    ("Markdown", "| a | b |\n|---|---|\n[x](https://example.org) `code` <b>"),
    ("template", "${{ secrets.TOKEN }} {{7*7}} $(id) `id` %s%n"),
    ("combining", "Z\u{335}\u{336}\u{337}\u{338}\u{339}\u{33a}\u{33b}\u{33c}"),
];

fn tcp(name: &str, bytes: impl Into<Vec<u8>>) -> GalleryRow {
    let behaviour = GalleryBehaviour::Tcp {
        bytes: bytes.into(),
        pieces: 1,
        pause: Duration::ZERO,
        stays: false,
    };
    GalleryRow { name: format!("tcp: {name}"), behaviour, quick: true }
}

fn frames(name: &str, bytes: &[u8]) -> GalleryRow {
    let behaviour =
        GalleryBehaviour::Frames { bytes: bytes.to_vec(), again: false, pause: Duration::ZERO };
    GalleryRow { name: format!("frames: {name}"), behaviour, quick: true }
}

fn flood(name: &str, bytes: &[u8], pause: u64) -> GalleryRow {
    let pause = Duration::from_millis(pause);
    let behaviour = GalleryBehaviour::Frames { bytes: bytes.to_vec(), again: true, pause };
    GalleryRow { name: format!("flood: {name}"), behaviour, quick: false }
}

fn later(name: &str, text: String) -> GalleryRow {
    let quick = text.len() < 1 << 20;
    GalleryRow { name: format!("json: {name}"), behaviour: GalleryBehaviour::Later(text), quick }
}

fn answers(name: &str, text: &str) -> GalleryRow {
    let behaviour = GalleryBehaviour::Answers(text.to_owned());
    GalleryRow { name: format!("protocol: {name}"), behaviour, quick: true }
}

/// Returns all rows.
pub fn rows() -> Vec<GalleryRow> {
    let mut rows = Vec::new();
    below_websocket(&mut rows);
    of_frames(&mut rows);
    of_json(&mut rows);
    of_the_protocol(&mut rows);
    for (name, word) in WORDS {
        let behaviour = GalleryBehaviour::Words((*word).to_owned());
        rows.push(GalleryRow { name: format!("words: {name}"), behaviour, quick: true });
    }
    for (name, change) in CHANGES {
        let behaviour = GalleryBehaviour::Changed(*change);
        // This row also runs in CI, because it once revealed an overflow in an always-on check.
        let quick = *name == "every number huge";
        rows.push(GalleryRow { name: format!("changed: {name}"), behaviour, quick });
    }
    for (name, flood) in FLOODS {
        let behaviour = GalleryBehaviour::Flooded(*flood);
        rows.push(GalleryRow { name: format!("flooded: {name}"), behaviour, quick: false });
    }
    without_end(&mut rows);
    for millis in [50, 400, 1_000] {
        let behaviour = GalleryBehaviour::Slow(Duration::from_millis(millis));
        rows.push(GalleryRow { name: format!("slow: {millis} ms"), behaviour, quick: false });
    }
    rows
}

/// Adds hosts that write without end, or that read very slowly.
fn without_end(rows: &mut Vec<GalleryRow>) {
    let mut row = |name: &str, behaviour| {
        rows.push(GalleryRow { name: format!("endless: {name}"), behaviour, quick: false });
    };
    let start = b"HTTP/1.1 101 Switching Protocols\r\n";
    for (name, head, again) in [
        ("100 Continue", &b""[..], &b"HTTP/1.1 100 Continue\r\n\r\n"[..]),
        ("headers", start, b"X-Header: value\r\n"),
        ("a header", b"HTTP/1.1 101 x\r\nX: ", b"yyyyyyyyyyyyyyyy"),
        ("the body of a refusal", b"HTTP/1.1 403 No\r\n\r\n", b"\x1b[2J::error::x\n"),
        ("NULs", b"", b"\x00\x00\x00\x00\x00\x00\x00\x00"),
    ] {
        let (head, again) = (head.to_vec(), again.repeat(1_000));
        row(name, GalleryBehaviour::TcpFlood { head, again });
    }
    row("half of the connection", GalleryBehaviour::HalfClosed);
    row("reading", GalleryBehaviour::ReadsSlowly);
    let kilobyte = [&b"\x00\x7e\x04\x00"[..], &[b'x'; 1024]].concat();
    for (name, begin, again) in [
        ("fragments of 1 KiB", &b"\x01\x02[\""[..], kilobyte.repeat(50)),
        ("fragments of a byte", b"\x01\x02[\"", b"\x00\x01x".repeat(10_000)),
        ("pings between fragments", b"\x01\x02[\"", b"\x89\x01p\x00\x01x".repeat(5_000)),
        ("frames after a close", b"\x88\x02\x03\xe8", b"\x81\x02{}".repeat(5_000)),
        ("closes", b"", b"\x88\x02\x03\xe8".repeat(5_000)),
        ("compressed frames", b"", b"\xc1\x02\xaa\x56".repeat(5_000)),
        ("masked frames", b"", b"\x81\x82\x00\x00\x00\x00{}".repeat(5_000)),
        ("lengths that are not minimal", b"", b"\x81\x7e\x00\x02{}".repeat(5_000)),
        (
            "7 MiB in each text",
            b"",
            [&b"\x81\x7f\x00\x00\x00\x00\x00\x70\x00\x00"[..], &vec![b'1'; 7 << 20]].concat(),
        ),
        (
            "7 MiB in each binary message",
            b"",
            [&b"\x82\x7f\x00\x00\x00\x00\x00\x70\x00\x00"[..], &vec![27; 7 << 20]].concat(),
        ),
    ] {
        row(name, GalleryBehaviour::Endless { begin: begin.to_vec(), again });
    }
}

fn below_websocket(rows: &mut Vec<GalleryRow>) {
    let behaviour = GalleryBehaviour::Deaf;
    rows.push(GalleryRow { name: "tcp: deaf".to_owned(), behaviour, quick: false });
    rows.push(tcp("closes at once", ""));
    for status in [
        "100 Continue",
        "101 Switching Protocols",
        "103 Early Hints",
        "200 OK",
        "204 No Content",
        "301 Moved Permanently",
        "307 Temporary Redirect",
        "400 Bad Request",
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "407 Proxy Authentication Required",
        "418 \u{1b}[2J",
        "426 Upgrade Required",
        "429 Too Many Requests",
        "500 Internal Server Error",
        "503 Service Unavailable",
        "999 ::error::x",
    ] {
        rows.push(tcp(
            status.split(' ').next().unwrap_or_default(),
            format!(
                "HTTP/1.1 {status}\r\nLocation: ws://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
            ),
        ));
    }
    rows.push(tcp("no HTTP", "SSH-2.0-OpenSSH_9.6\r\n"));
    rows.push(tcp("TLS", [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]));
    rows.push(tcp("NULs", vec![0; 100_000]));
    rows.push(tcp("no end of the head", format!("HTTP/1.1 101 x\r\nA: {}", "x".repeat(1 << 20))));
    rows.push(tcp("many headers", format!("HTTP/1.1 101 x\r\n{}\r\n", "A: b\r\n".repeat(10_000))));
    rows.push(tcp("half a status", "HTTP/1."));
    rows.push(tcp("controls in a header", "HTTP/1.1 403 No\r\nX: \u{1b}[2J\u{7}\r\n\r\n"));
    rows.push(tcp("negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"));
    rows.push(tcp(
        "endless chunks",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    ));
    rows.push(tcp("no key", "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"));
    rows.push(tcp(
        "wrong key",
        "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: eA==\r\n\r\n",
    ));
    let bytes =
        b"HTTP/1.1 101 Switching Protocols\r\nX-Pad: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".to_vec();
    let behaviour = GalleryBehaviour::Tcp {
        pieces: bytes.len(),
        bytes,
        pause: Duration::from_millis(300),
        stays: true,
    };
    rows.push(GalleryRow { name: "tcp: a byte at a time".to_owned(), behaviour, quick: false });
    let behaviour =
        GalleryBehaviour::Tcp { bytes: Vec::new(), pieces: 1, pause: Duration::ZERO, stays: true };
    rows.push(GalleryRow { name: "tcp: mute".to_owned(), behaviour, quick: false });
}

fn of_frames(rows: &mut Vec<GalleryRow>) {
    for (name, bytes) in [
        ("a reserved opcode", &b"\x83\x01x"[..]),
        ("a reserved control opcode", b"\x8b\x00"),
        ("a reserved bit", b"\xc1\x01x"),
        ("all reserved bits", b"\xf1\x01x"),
        ("a mask", b"\x81\x81\x01\x02\x03\x04\x69"),
        ("a fragmented ping", b"\x09\x01x"),
        ("a long ping", b"\x89\x7e\x01\x00"),
        ("a continuation of nothing", b"\x80\x01x"),
        ("a text within a text", b"\x01\x01x\x81\x01y"),
        ("not UTF-8", b"\x81\x02\xff\xfe"),
        ("half a character", b"\x81\x01\xc3"),
        ("a surrogate", b"\x81\x03\xed\xa0\x80"),
        ("a cut frame", b"\x81\x64{\""),
        ("2^63 bytes", b"\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"),
        ("2^64 bytes", b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("9 MiB announced", b"\x81\x7f\x00\x00\x00\x00\x00\x90\x00\x00"),
        ("an empty text", b"\x81\x00"),
        ("an empty binary", b"\x82\x00"),
        ("a binary message", b"\x82\x04\x00\x01\x02\x03"),
        ("close without a code", b"\x88\x00"),
        ("close with half a code", b"\x88\x01\x03"),
        ("close 0", b"\x88\x02\x00\x00"),
        ("close 999", b"\x88\x02\x03\xe7"),
        ("close 1005", b"\x88\x02\x03\xed"),
        ("close 1006", b"\x88\x02\x03\xee"),
        ("close 1015", b"\x88\x02\x03\xf7"),
        ("close 4999", b"\x88\x02\x13\x87"),
        ("close 65535", b"\x88\x02\xff\xff"),
        ("close with escapes", b"\x88\x08\x03\xe8\x1b[2J\x07\x00"),
        ("close with a reason that is not UTF-8", b"\x88\x04\x03\xe8\xff\xff"),
        ("a text after the close", b"\x88\x02\x03\xe8\x81\x02{}"),
        ("HTTP again", b"HTTP/1.1 200 OK\r\n\r\n"),
        ("noise", b"\x8f\xff\xee\xdd\xcc\xbb\xaa\x99\x88\x77"),
    ] {
        rows.push(frames(name, bytes));
    }
    let small = b"\x81\x02{}".repeat(1_000);
    rows.push(flood("pings", &b"\x89\x00".repeat(1_000), 0));
    rows.push(flood(
        "pings with a payload",
        &[&b"\x89\x7d"[..], &[b'x'; 125]].concat().repeat(100),
        0,
    ));
    rows.push(flood("pongs", &b"\x8a\x00".repeat(1_000), 0));
    rows.push(flood("empty texts", &b"\x81\x00".repeat(1_000), 0));
    rows.push(flood("empty objects", &small, 0));
    rows.push(flood(
        "empty fragments",
        &[&b"\x01\x00"[..], &b"\x00\x00".repeat(1_000)].concat(),
        0,
    ));
    rows.push(flood("a dribble", b"\x81\x02{}", 100));
    rows.push(flood("binary messages", &b"\x82\x01x".repeat(1_000), 0));
}

fn of_json(rows: &mut Vec<GalleryRow>) {
    for (name, text) in [
        ("no JSON", "this is not JSON"),
        ("null", "null"),
        ("true", "true"),
        ("a number", "17"),
        ("a string", "\"text\""),
        ("an empty array", "[]"),
        ("an empty object", "{}"),
        ("two values", "{}{}"),
        ("half an object", "{\"jsonrpc\":\"2.0\""),
        ("a trailing comma", "{\"a\":1,}"),
        ("NaN", "{\"a\":NaN}"),
        ("1e999", "{\"id\":1e999}"),
        ("-0", "{\"id\":-0}"),
        ("many digits", "{\"id\":12345678901234567890123456789012345678901234567890}"),
        ("a lone surrogate", "{\"a\":\"\\ud800\"}"),
        ("NUL escaped", "{\"\\u0000\":\"\\u0000\"}"),
        ("twice the same name", "{\"id\":1,\"id\":2,\"result\":{},\"result\":[]}"),
        ("a byte order mark", "\u{feff}{}"),
        ("a comment", "{/* */}"),
        ("single quotes", "{'a':1}"),
        (
            "result and error",
            "{\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"result\":{},\"error\":{\"code\":1,\"message\":\"m\"}}",
        ),
        (
            "the prototype",
            "{\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"result\":{\"__proto__\":{},\"constructor\":1}}",
        ),
    ] {
        rows.push(later(name, text.to_owned()));
    }
    let result = |value: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"result\":{value}}}");
    let mib = 1 << 20;
    for (name, text) in [
        ("deep arrays", "[".repeat(mib)),
        ("deep and closed", format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))),
        ("deep objects", "{\"a\":".repeat(200_000)),
        ("7 MiB of small values", result(&format!("[{}0]", "0,".repeat(7 * mib / 2)))),
        ("7 MiB of empty objects", result(&format!("[{}0]", "{},".repeat(7 * mib / 3)))),
        ("7 MiB of texts", result(&format!("[{}0]", "\"\",".repeat(7 * mib / 3)))),
        ("7 MiB in one text", result(&format!("\"{}\"", "x".repeat(7 * mib)))),
        ("7 MiB of escapes", result(&format!("\"{}\"", "\\u001b".repeat(7 * mib / 6)))),
        (
            "many members",
            result(&format!(
                "{{{}\"z\":0}}",
                (0..500_000).map(|n| format!("\"m{n}\":0,")).collect::<String>()
            )),
        ),
        ("a long name", result(&format!("{{\"{}\":0}}", "n".repeat(7 * mib)))),
        ("digits", result(&"9".repeat(7 * mib))),
        ("a batch", format!("[{}{{}}]", "{\"jsonrpc\":\"2.0\",\"method\":\"x\"},".repeat(180_000))),
        ("malformed at the end", format!("[{}", "0,".repeat(7 * mib / 2))),
        ("31 MiB in one text", result(&format!("\"{}\"", "x".repeat(31 * mib)))),
        ("31 MiB of small values", result(&format!("[{}0]", "0,".repeat(31 * mib / 2)))),
    ] {
        rows.push(later(name, text));
    }
}

fn of_the_protocol(rows: &mut Vec<GalleryRow>) {
    let envelope = |rest: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":\"ID\",{rest}}}");
    for (name, rest) in [
        ("no version", "\"result\":{}"),
        ("a version that is a number", "\"result\":{\"protocolVersion\":1}"),
        ("an unknown version", "\"result\":{\"protocolVersion\":\"99.0.0\"}"),
        ("an empty version", "\"result\":{\"protocolVersion\":\"\"}"),
        ("null", "\"result\":null"),
        ("a text", "\"result\":\"ok\""),
        ("an array", "\"result\":[]"),
        (
            "snapshots that are an object",
            "\"result\":{\"protocolVersion\":\"1.0.0\",\"serverSeq\":0,\"snapshots\":{}}",
        ),
        (
            "a negative sequence",
            "\"result\":{\"protocolVersion\":\"1.0.0\",\"serverSeq\":-1,\"snapshots\":[]}",
        ),
        (
            "a huge sequence",
            "\"result\":{\"protocolVersion\":\"1.0.0\",\"serverSeq\":18446744073709551615,\"snapshots\":[]}",
        ),
        (
            "a sequence with a fraction",
            "\"result\":{\"protocolVersion\":\"1.0.0\",\"serverSeq\":0.5,\"snapshots\":[]}",
        ),
        ("an error without a code", "\"error\":{}"),
        ("an error that is a text", "\"error\":\"no\""),
        (
            "an error with a huge code",
            "\"error\":{\"code\":99999999999999999999,\"message\":\"m\"}",
        ),
        ("a refusal without versions", "\"error\":{\"code\":-32005,\"message\":\"no\"}"),
        (
            "a refusal with versions that are numbers",
            "\"error\":{\"code\":-32005,\"message\":\"no\",\"data\":{\"supportedVersions\":[1,2]}}",
        ),
        (
            "a refusal with escapes",
            "\"error\":{\"code\":-32005,\"message\":\"\\u001b[2J\",\"data\":{\"supportedVersions\":[\"\\u001b[31m\",\"\\n::error::x\"]}}",
        ),
        ("a method besides", "\"method\":\"initialize\",\"result\":{}"),
    ] {
        rows.push(answers(name, &envelope(rest)));
    }
    for (name, text) in [
        ("no id", "{\"jsonrpc\":\"2.0\",\"result\":{}}"),
        ("another id", "{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}"),
        ("an id that is an object", "{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}"),
        ("an id that is null", "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}"),
        ("JSON-RPC 1.0", "{\"jsonrpc\":\"1.0\",\"id\":\"ID\",\"result\":{}}"),
        (
            "a request of its own",
            "{\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"method\":\"initialize\",\"params\":{}}",
        ),
        ("a notification", "{\"jsonrpc\":\"2.0\",\"method\":\"action\",\"params\":{}}"),
        ("a batch", "[{\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"result\":{}}]"),
    ] {
        rows.push(answers(name, text));
    }
    let versions = (0..150_000).map(|n| format!("\"{n}.0.0\"")).collect::<Vec<_>>().join(",");
    let refusal = format!(
        "\"error\":{{\"code\":-32005,\"message\":\"no\",\"data\":{{\"supportedVersions\":[{versions}]}}}}"
    );
    let mut many = answers("a refusal with 150,000 versions", &envelope(&refusal));
    many.quick = false;
    rows.push(many);
}
