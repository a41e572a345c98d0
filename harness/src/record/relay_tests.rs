//! Tests of the relay: which bytes it forwards, when it forwards them, and which items it records.

use super::*;

const A: ConnId = ConnId(0);
const B: ConnId = ConnId(1);

/// A relay with two connections, and a clock that the test sets.
struct RelayBench {
    relay: ConnectionRelay,
    now: Duration,
}

/// Returns a frame from the host with this content.
fn frame(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap();
    [&[0x81, length], text.as_bytes()].concat()
}

fn seq(number: u64) -> Vec<u8> {
    frame(&format!(r#"{{"method":"action","params":{{"serverSeq":{number}}}}}"#))
}

impl RelayBench {
    fn new(rules: &[&str]) -> RelayBench {
        let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let mut relay = ConnectionRelay::new(rules);
        for conn in [A, B] {
            relay.open(conn, HandshakeLines::default());
        }
        relay.notes();
        RelayBench { relay, now: Duration::ZERO }
    }

    fn comes(&mut self, conn: ConnId, from: ClosingSide, bytes: &[u8]) {
        self.relay.bytes(self.now, conn, from, bytes);
    }

    fn goes(&mut self, conn: ConnId, from: ClosingSide) -> (Vec<u8>, LaneFollowUp) {
        let taken = self.relay.take(self.now, conn, from);
        (taken.bytes, taken.then)
    }

    /// Returns the recorded items in a short form.
    fn notes(&mut self) -> Vec<String> {
        let show = |note: RelayNote| {
            let conn = ConnectionRelay::name(note.conn);
            match note.what {
                RecordedItem::Message(ClosingSide::Client, frame) => {
                    format!("{conn}>{}", frame.display())
                }
                RecordedItem::Message(ClosingSide::Host, frame) => {
                    format!("{conn}<{}", frame.display())
                }
                RecordedItem::Event(ConnectionEvent::Fault { what }) => format!("{conn}! {what}"),
                RecordedItem::Event(ConnectionEvent::Closed { by, code, reason }) => {
                    format!("{conn} closed {by:?} {code:?} {reason}")
                }
                RecordedItem::Event(ConnectionEvent::Cut { by, frame }) => {
                    format!("{conn} cut {by:?} {}", frame.display())
                }
                RecordedItem::Event(other) => format!("{conn} {other:?}"),
            }
        };
        self.relay.notes().into_iter().map(show).collect()
    }
}

const H: ClosingSide = ClosingSide::Host;
const C: ClosingSide = ClosingSide::Client;

#[test]
fn names_connections() {
    let check = |number, name: &str| assert_eq!(ConnectionRelay::name(ConnId(number)), name);
    check(0, "A");
    check(25, "Z");
    check(26, "AA");
    check(701, "ZZ");
    check(702, "AAA");
}

#[test]
fn passes_bytes_as_they_come() {
    let mut bench = RelayBench::new(&[]);
    let bytes = [frame("one"), frame("two")].concat();
    for piece in bytes.chunks(2) {
        bench.comes(A, H, piece);
        assert_eq!(bench.goes(A, H), (piece.to_vec(), LaneFollowUp::More));
    }
    assert_eq!(bench.notes(), ["A<one", "A<two"]);
}

#[test]
fn records_how_a_connection_ends() {
    let check = |comes: &[&[u8]], then, expected: &[&str]| {
        let mut bench = RelayBench::new(&[]);
        for bytes in comes {
            bench.comes(A, C, bytes);
        }
        bench.relay.ended(A, C, "");
        assert_eq!(bench.goes(A, C), (comes.concat(), then));
        assert_eq!(bench.notes(), expected);
    };
    check(&[b"\x88\x02\x03\xe9"], LaneFollowUp::End, &["A closed Client Some(1001) "]);
    check(&[b"\x81\x05hi"], LaneFollowUp::End, &["A cut Client hi", "A closed Client None "]);
    check(&[], LaneFollowUp::End, &["A closed Client None "]);
    let broken = "A closed Client None not a WebSocket frame: CONTINUE out of order";
    check(&[b"\x80\x00"], LaneFollowUp::Cut, &[broken]);
}

#[test]
fn frames_after_the_close_are_not_recorded() {
    let mut bench = RelayBench::new(&[]);
    bench.comes(A, C, b"\x88\x02\x03\xe8");
    bench.goes(A, C);
    bench.comes(A, H, &frame("late"));
    assert_eq!(bench.goes(A, H).0, frame("late"));
    assert_eq!(bench.notes(), ["A closed Client Some(1000) "]);
}

#[test]
fn drops_behind_a_message() {
    let mut bench = RelayBench::new(&["drop on B serverSeq 42"]);
    for conn in [A, B] {
        bench.comes(conn, H, &[seq(41), seq(42), seq(43)].concat());
    }
    assert_eq!(bench.goes(A, H), ([seq(41), seq(42), seq(43)].concat(), LaneFollowUp::More));
    assert_eq!(bench.goes(B, H), ([seq(41), seq(42)].concat(), LaneFollowUp::Cut));
    let notes = bench.notes();
    assert_eq!(notes.last().unwrap(), "B closed Client None fault: drop");
    assert!(notes.contains(&"B! drop on B serverSeq 42".to_owned()));
    assert_eq!(bench.relay.unused().count(), 0);
}

#[test]
fn closes_both_sides() {
    let mut bench = RelayBench::new(&["close 1012 on A received 1"]);
    bench.comes(A, H, &frame("x"));
    assert_eq!(
        bench.goes(A, H),
        ([frame("x").as_slice(), b"\x88\x02\x03\xf4"].concat(), LaneFollowUp::End)
    );
    assert_eq!(bench.goes(A, C), (b"\x88\x82\0\0\0\0\x03\xf4".to_vec(), LaneFollowUp::End));
    assert_eq!(
        bench.notes(),
        ["A! close 1012 on A received 1", "A<x", "A closed Client Some(1012) fault: close"]
    );
}

#[test]
fn cuts_in_the_middle_of_a_frame() {
    let check = |rule: &str, from, passes: &[u8], expected: &[&str]| {
        let mut bench = RelayBench::new(&[rule]);
        bench.comes(A, from, b"\x81\x04abcd");
        assert_eq!(bench.goes(A, from), (passes.to_vec(), LaneFollowUp::Cut));
        assert_eq!(bench.notes()[1..], *expected);
    };
    check("cut on received 1", H, b"\x81\x04a", &["A<abcd", "A closed Client None fault: cut"]);
    check("cut 0 on received 1", H, b"", &["A<abcd", "A closed Client None fault: cut"]);
    check("cut 99 on sent 1", C, b"\x81\x04abcd", &["A closed Client None fault: cut"]);
}

#[test]
fn loses_and_duplicates() {
    let check = |rule: &str, from, passes: &[u8], recorded: usize| {
        let mut bench = RelayBench::new(&[rule]);
        bench.comes(A, from, &[frame("x"), frame("y")].concat());
        assert_eq!(bench.goes(A, from).0, passes, "{rule}");
        assert_eq!(
            bench.notes().iter().filter(|note| note.contains('x')).count(),
            recorded,
            "{rule}"
        );
    };
    let [x, y] = ["x", "y"].map(frame);
    check("lose on received 1", H, &y, 1);
    check("lose on sent 1", C, &y, 0);
    check("duplicate on received 1", H, &[&x[..], &x, &y].concat(), 1);
    check("duplicate on sent 1", C, &[&x[..], &x, &y].concat(), 2);
}

#[test]
fn delays_what_follows_too() {
    let mut bench = RelayBench::new(&["delay 1s on sent 1"]);
    bench.comes(A, C, &[frame("x"), frame("y")].concat());
    assert_eq!(bench.goes(A, C).0, b"");
    assert_eq!(bench.notes().len(), 1, "the host has got nothing");
    assert_eq!(bench.relay.next_timeout(A, C), Some(Duration::from_secs(1)));
    bench.now = Duration::from_secs(1);
    assert_eq!(bench.goes(A, C).0, [frame("x"), frame("y")].concat());
    assert_eq!(bench.notes(), ["A>x", "A>y"]);
}

#[test]
fn swaps_a_message_with_the_next_one() {
    let mut bench = RelayBench::new(&["swap on received 1"]);
    bench.comes(A, H, &frame("x"));
    assert_eq!(bench.goes(A, H).0, b"");
    bench.comes(A, H, &frame("y"));
    assert_eq!(bench.goes(A, H).0, [frame("y"), frame("x")].concat());
    assert_eq!(bench.notes()[1..], ["A<x", "A<y"], "the host sent them in this order");

    let mut alone = RelayBench::new(&["swap on received 1"]);
    alone.comes(A, H, &frame("x"));
    alone.now = alone.relay.next_timeout(A, H).unwrap();
    assert_eq!(alone.goes(A, H).0, frame("x"), "nothing came to overtake it");
}

#[test]
fn reorders_across_connections() {
    let mut bench = RelayBench::new(&["behind B on A serverSeq 2"]);
    bench.comes(A, H, &[seq(1), seq(2), seq(3)].concat());
    assert_eq!(bench.goes(A, H).0, seq(1));
    assert!(bench.relay.has_stirred());
    assert!(!bench.relay.has_stirred(), "nothing has passed since: nobody is woken in vain");
    bench.comes(B, H, &seq(2));
    assert_eq!(bench.goes(A, H).0, b"", "it has come, but not gone");
    assert_eq!(bench.goes(B, H).0, seq(2));
    assert_eq!(bench.goes(A, H).0, [seq(2), seq(3)].concat());

    let mut alone = RelayBench::new(&["behind B on A serverSeq 2"]);
    alone.comes(A, H, &seq(2));
    alone.now = alone.relay.next_timeout(A, H).unwrap();
    assert_eq!(alone.goes(A, H).0, seq(2), "B got nothing");
}

#[test]
fn a_fault_applies_to_whole_messages() {
    let fragments = b"\x01\x01x\x89\x00\x80\x01y";
    let mut bench = RelayBench::new(&["lose on received 2"]);
    bench.comes(A, H, &[frame("a").as_slice(), fragments, &frame("b")].concat());
    assert_eq!(bench.goes(A, H).0, [frame("a"), frame("b")].concat());
    assert_eq!(bench.notes()[0], "A<a");
    let mut passing = RelayBench::new(&["lose on received 9"]);
    passing.comes(A, H, &fragments[..6]);
    assert_eq!(passing.goes(A, H).0, b"");
    passing.relay.ended(A, H, "");
    assert_eq!(passing.goes(A, H), (fragments[..6].to_vec(), LaneFollowUp::End));
}

#[test]
fn rules_know_clients_and_answers() {
    let mut bench = RelayBench::new(&["lose on every me response sub*"]);
    let ask = |id, method: &str| {
        frame(&format!(r#"{{"id":{id},"method":"{method}","params":{{"clientId":"me"}}}}"#))
    };
    let answer = |id| frame(&format!(r#"{{"id":{id},"result":null}}"#));
    for conn in [A, B] {
        let first = if conn == A { "initialize" } else { "ping" };
        bench.comes(conn, C, &[ask(1, first), ask(2, "subscribe"), ask(3, "subscribe")].concat());
        bench.comes(conn, H, &[answer(3), answer(1), answer(2)].concat());
    }
    assert_eq!(bench.goes(A, H).0, answer(1));
    assert_eq!(bench.goes(B, H).0, [answer(3), answer(1), answer(2)].concat());
}

#[test]
fn bounds_the_bytes_that_it_holds() {
    let mut bench = RelayBench::new(&["delay 1m on received 1"]);
    bench.comes(A, H, &frame("x"));
    let big = [b"\x82\x7f\0\0\0\0\0\x10\0\0".as_slice(), &vec![0; 1 << 20]].concat();
    let mut taken = 0;
    while bench.relay.has_room(A, H) {
        bench.comes(A, H, &big);
        taken += 1;
        assert!(taken < 100);
    }
    assert!(bench.relay.has_room(A, C));
}
