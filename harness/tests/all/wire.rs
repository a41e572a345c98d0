//! Property tests of transcript lines: a written line with any frame is read back unchanged, and no input makes the
//! reader panic.

use std::sync::Arc;
use std::time::Duration;

use ahp_harness::transcript::line::{read, write};
use ahp_harness::transcript::{ClosingSide, ConnectionEvent, HandshakeLines, SeenFrame};
use ahp_harness::wire::frame::Frame;
use ahp_harness::wire::json::Value;
use ahp_harness::wire::message::{DecodedFrame, Message, decode};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::cases::cases;

/// Generates strings that are JSON, or JSON with a mistake.
fn jsonish() -> impl Strategy<Value = String> {
    let token = select(
        &[
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            "\"a\"",
            "\"jsonrpc\":\"2.0\"",
            "\"id\"",
            "null",
            "1e400",
            "-0",
            "1.50",
            "18446744073709551616",
            "true",
            "\"\\ud800\"",
            "\"\\u0000\"",
            " ",
            "\n",
            "\r",
            "\t",
            "\u{2028}",
            "\u{feff}",
            "\"run\":\"",
            "«",
        ][..],
    );
    vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let member = (select(&["id", "method", "params", "x", ""][..]), inner.clone());
        prop_oneof![
            vec(inner, 0..4).prop_map(Value::from),
            vec(member, 0..4).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        any::<String>().prop_map(Frame::Text),
        jsonish().prop_map(Frame::Text),
        value().prop_map(|value| Frame::json(&value)),
        value().prop_map(|value| Frame::Text(format!("{value:#}"))),
        vec(any::<u8>(), 0..64).prop_map(Frame::Binary),
        vec(any::<u8>(), 0..64)
            .prop_filter("not UTF-8", |bytes| std::str::from_utf8(bytes).is_err())
            .prop_map(Frame::NotUtf8),
    ]
}

fn event() -> impl Strategy<Value = ConnectionEvent> {
    let seen = || frame().prop_map(|frame| Arc::new(SeenFrame::new(frame)));
    let side = select(&[ClosingSide::Client, ClosingSide::Host][..]);
    prop_oneof![
        4 => seen().prop_map(ConnectionEvent::Sent),
        4 => seen().prop_map(ConnectionEvent::Received),
        1 => (side.clone(), any::<Option<u16>>(), any::<String>())
            .prop_map(|(by, code, reason)| ConnectionEvent::Closed { by, code, reason }),
        1 => Just(ConnectionEvent::Restarted),
        1 => (side.clone(), frame()).prop_map(|(by, frame)| ConnectionEvent::Cut { by, frame }),
        1 => side.clone().prop_map(|by| ConnectionEvent::Gap { by }),
        1 => any::<String>().prop_map(|what| ConnectionEvent::Fault { what }),
        1 => (vec(any::<String>(), 0..3), vec(any::<String>(), 1..3)).prop_map(
            |(request, response)| ConnectionEvent::Open {
                client: String::new(),
                handshake: Some(Box::new(HandshakeLines { request, response })),
            }
        ),
        1 => Just(ConnectionEvent::open(String::new())),
    ]
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn reads_what_it_writes(
        case in any::<Option<u32>>(),
        // The capture format writes a time as a floating-point number, which is exact to the microsecond for
        // several weeks.
        at in 0..10_000_000_000_000_u64,
        conn in any::<String>(),
        event in event(),
    ) {
        let event = match event {
            ConnectionEvent::Open { handshake, .. } => ConnectionEvent::Open { client: conn.clone(), handshake },
            event => event,
        };
        let at = Duration::from_micros(at);
        let mut text = String::new();
        write(&mut text, case, at, &conn, &event);
        prop_assert_eq!(text.find('\n'), Some(text.len() - 1), "one line each: {:?}", text);
        let line = read(&text).map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
        let conn = if event == ConnectionEvent::Restarted { String::new() } else { conn };
        prop_assert_eq!((line.case, line.at, line.conn, line.event), (case, at, conn, event));
    }

    #[test]
    fn reading_any_text_does_not_panic(
        text in prop_oneof![
            any::<String>(),
            jsonish(),
            jsonish().prop_map(|inner| format!("{{\"t\":1,\"dir\":\"c2s\",\"msg\":{inner}}}")),
            jsonish().prop_map(|inner| format!("{{\"t\":{inner},\"dir\":\"restart\"}}")),
            value().prop_map(|value| value.to_string()),
            any::<String>().prop_map(|hex| format!("{{\"dir\":\"s2c\",\"hex\":{}}}", Value::from(hex))),
        ],
    ) {
        let _ = read(&text);
    }

    #[test]
    fn decodes_without_loss(frame in frame()) {
        match (decode(&frame), &frame) {
            (DecodedFrame::Message(message), Frame::Text(text)) => {
                let value: Value = serde_json::from_str(text)?;
                prop_assert_eq!(message.value(), &value);
                prop_assert_eq!(message.kind(), Message::new(value.clone()).kind());
                prop_assert_eq!(decode(&message.frame()), DecodedFrame::Message(Message::new(value)));
            }
            (DecodedFrame::Batch(items), Frame::Text(text)) => {
                prop_assert_eq!(Value::from(items), serde_json::from_str::<Value>(text)?);
            }
            (DecodedFrame::Scalar(value), Frame::Text(text)) => {
                prop_assert_eq!(value, serde_json::from_str::<Value>(text)?);
            }
            (DecodedFrame::Odd(_) | DecodedFrame::Deep, Frame::Text(text)) => {
                prop_assert!(serde_json::from_str::<Value>(text).is_err());
            }
            (decoded, Frame::Binary(_) | Frame::NotUtf8(_)) => prop_assert!(matches!(decoded, DecodedFrame::Odd(_))),
        }
    }
}
