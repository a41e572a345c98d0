//! Determines from transcripts which places of the version's protocol tables (such as methods and members) occurred in
//! a run.
//!
//! Only valid and accepted messages count: messages from the host, the host's error responses, requests of either side
//! that got a result, and notifications. Actions that the host does not accept and requests that fail do not count.
//!
//! [`unseen`] is the table of places that cannot occur in a run against the reference host, with the reasons.
//!
//! Knows: transcripts, the protocol tables. Never knows: scenarios, verdicts.
//!
//! Start at [`ShownPlaces`].

use std::collections::{HashMap, HashSet};
use std::io::BufRead;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::report::event::RunHeader;
use crate::report::finished;
use crate::scenario::spec::SpecRange;
use crate::transcript::reader::{self, TranscriptReader};
use crate::transcript::{ConnectionEvent, line};
use crate::wire::built_in::built_in;
use crate::wire::foreign_text::ForeignText;
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};
use crate::wire::places::{TablePlace, TablePlaces};
use crate::wire::protocol::Protocol;
use crate::wire::validate::MessageOrigin;
use crate::wire::version::Version;

/// The maximum number of unanswered requests that are remembered.
const MAX_OPEN: usize = 100_000;
/// The maximum number of bytes of the frames of these requests.
const MAX_OPEN_BYTES: usize = 4 << 20;

/// The members that this module uses, from the start and the result of a case.
#[derive(Deserialize)]
struct StartedCase {
    case: u32,
    provider: Option<String>,
}

/// Returns a name for a connection that differs between scenarios.
fn conn_of(case: Option<u32>, conn: &str) -> String {
    match case {
        Some(case) => format!("{case} {conn}"),
        None => conn.to_owned(),
    }
}

/// The places of the protocol tables, with the number of times that each place was seen.
pub struct ShownPlaces {
    protocol: &'static Protocol,
    places: TablePlaces,
    /// The unanswered requests by connection, then by requester and identifier.
    open: HashMap<String, HashMap<(MessageOrigin, String), OpenCall>>,
    /// The number of these requests, and the bytes of their frames.
    opened: usize,
    opened_bytes: usize,
}

/// A request without an answer.
#[derive(Debug)]
struct OpenCall {
    method: String,
    params: Value,
    bytes: usize,
}

impl ShownPlaces {
    /// Makes a fold that has not read a transcript yet.
    pub fn of(protocol: &'static Protocol) -> ShownPlaces {
        ShownPlaces {
            protocol,
            places: TablePlaces::of(protocol),
            open: HashMap::new(),
            opened: 0,
            opened_bytes: 0,
        }
    }

    /// Reads the transcript of a run, or a capture. If no version is given, the version in the header applies.
    ///
    /// # Errors
    /// Returns an error if a line is invalid, or if the version is unknown or has no tables.
    pub fn read(version: Option<Version>, input: impl BufRead) -> Result<ShownPlaces, String> {
        ShownPlaces::read_for(version, None, input)
    }

    /// Reads a run that tests several agents, but only the cases that were played with this agent and the cases that
    /// were played once for all agents.
    ///
    /// # Errors
    /// Returns the same errors as [`ShownPlaces::read`].
    pub fn read_with_agent(
        provider: &ForeignText,
        input: impl BufRead,
    ) -> Result<ShownPlaces, String> {
        ShownPlaces::read_for(None, Some(provider.raw()), input)
    }

    fn read_for(
        version: Option<Version>,
        provider: Option<&str>,
        input: impl BufRead,
    ) -> Result<ShownPlaces, String> {
        let mut others: HashSet<u32> = HashSet::new();
        let mut reader = TranscriptReader::new(input);
        let open = |version: Version| Protocol::of(version).map(ShownPlaces::of);
        let mut shown = version.and_then(open);
        loop {
            let (number, text) = match reader.next_line() {
                Ok(Some(read)) => read,
                Ok(None) => break,
                Err(error) => return Err(error.to_string()),
            };
            match reader::about(text).as_deref() {
                Some("header") if shown.is_none() => {
                    let header: Result<RunHeader, _> = serde_json::from_str(text);
                    let header = header.map_err(|error| format!("{number}: {error}"))?;
                    shown = open(header.version);
                }
                Some("case") if provider.is_some() => {
                    let start: Result<StartedCase, _> = serde_json::from_str(text);
                    let start = start.map_err(|error| format!("{number}: {error}"))?;
                    if start.provider.is_some() && start.provider.as_deref() != provider {
                        others.insert(start.case);
                    }
                }
                Some("result") => {
                    let over: Result<StartedCase, _> = serde_json::from_str(text);
                    if let (Some(shown), Ok(over)) = (shown.as_mut(), over) {
                        shown.forget_case(over.case);
                    }
                }
                Some(_) => {}
                None if finished::case_of(text).is_some_and(|case| others.contains(&case)) => {}
                None => {
                    let line = line::read(text).map_err(|error| format!("{number}: {error}"))?;
                    let shown = shown.as_mut().ok_or_else(|| {
                        format!("{number}: expected the header of a run before its first event (hint: `--spec VERSION`)")
                    })?;
                    shown.event(&conn_of(line.case, &line.conn), &line.event);
                }
            }
        }
        shown.ok_or_else(|| "its protocol version is not known (hint: `--spec VERSION`)".to_owned())
    }

    /// Adds one event of a connection.
    pub fn event(&mut self, conn: &str, event: &ConnectionEvent) {
        let (sender, seen) = match event {
            ConnectionEvent::Sent(seen) => (MessageOrigin::Client, seen),
            ConnectionEvent::Received(seen) => (MessageOrigin::Host, seen),
            // A new connection starts with new request identifiers.
            ConnectionEvent::Open { .. } | ConnectionEvent::Closed { .. } => {
                return self.forget(conn);
            }
            _ => return,
        };
        if let Some(message) = seen.message() {
            self.message(conn, sender, message, seen.frame.len());
        }
    }

    /// Forgets the unanswered requests of a connection.
    fn forget(&mut self, conn: &str) {
        for call in self.open.remove(conn).unwrap_or_default().values() {
            self.opened -= 1;
            self.opened_bytes -= call.bytes;
        }
    }

    /// Forgets the unanswered requests of a scenario that is over.
    fn forget_case(&mut self, case: u32) {
        let own = conn_of(Some(case), "");
        let over: Vec<String> =
            self.open.keys().filter(|conn| conn.starts_with(&own)).cloned().collect();
        over.iter().for_each(|conn| self.forget(conn));
    }

    fn answered(&mut self, conn: &str, asker: MessageOrigin, id: String) -> Option<OpenCall> {
        let call = self.open.get_mut(conn)?.remove(&(asker, id))?;
        self.opened -= 1;
        self.opened_bytes -= call.bytes;
        Some(call)
    }

    fn message(&mut self, conn: &str, sender: MessageOrigin, message: &Message, bytes: usize) {
        let id = || message.id().map(Value::to_string).unwrap_or_default();
        let asked = match message.kind() {
            MessageKind::Success | MessageKind::Failure => {
                let asker = match sender {
                    MessageOrigin::Client => MessageOrigin::Host,
                    MessageOrigin::Host => MessageOrigin::Client,
                };
                self.answered(conn, asker, id())
            }
            _ => None,
        };
        let answers = asked.as_ref().map(|call| call.method.as_str());
        let errors = self.protocol.check_message(message, sender, answers);
        if errors.iter().any(|error| !error.soft) {
            return;
        }
        match (message.kind(), asked) {
            (MessageKind::Request, _)
                if self.opened < MAX_OPEN && self.opened_bytes + bytes <= MAX_OPEN_BYTES =>
            {
                let method = message.method().unwrap_or_default().to_owned();
                let call = OpenCall { method, params: message.params().clone(), bytes };
                (self.opened, self.opened_bytes) = (self.opened + 1, self.opened_bytes + bytes);
                let calls = self.open.entry(conn.to_owned()).or_default();
                if let Some(replaced) = calls.insert((sender, id()), call) {
                    self.opened -= 1;
                    self.opened_bytes -= replaced.bytes;
                }
            }
            (MessageKind::Notification, _) => {
                let method = message.method().unwrap_or_default();
                self.places.method(method, message.params(), sender == MessageOrigin::Client);
            }
            (MessageKind::Success, Some(OpenCall { method, params, .. })) => {
                self.places.method(&method, &params, sender == MessageOrigin::Host);
                if let Some(result) = message.result() {
                    self.places.result(&method, result);
                }
            }
            (MessageKind::Failure, Some(_)) => {
                let error = message.error().unwrap_or(&Value::Null);
                if let (Some(code), Some(data)) = (message.error_code(), error.get("data")) {
                    self.places.error_data(code, data);
                }
            }
            _ => {}
        }
    }

    /// Returns the version of the tables.
    pub fn version(&self) -> Version {
        self.protocol.version()
    }

    /// Returns every place of the tables, with the number of times that the place was seen.
    pub fn rows(&self) -> &[TablePlace] {
        self.places.rows()
    }

    /// Returns the places that were never seen, each with the reason if a reason is known.
    pub fn lacking(&self) -> impl Iterator<Item = (&TablePlace, Option<&'static str>)> {
        let rows = self.rows().iter().filter(|place| place.seen == 0);
        rows.map(|place| (place, why(&place.name, self.version())))
    }

    /// Returns the places that were seen although the table of reasons ([`unseen`]) states that they cannot occur.
    pub fn stale(&self) -> impl Iterator<Item = &TablePlace> {
        let rows = self.rows().iter().filter(|place| place.seen > 0);
        rows.filter(|place| why(&place.name, self.version()).is_some())
    }
}

/// A reason why certain places cannot be seen in a run against the reference host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnseenReason {
    /// The versions to which the reason applies, in the syntax of a version range.
    spec: SpecRange,
    /// The places.
    pub places: Vec<String>,
    /// The reason.
    pub why: String,
}

impl UnseenReason {
    /// Returns whether the reason applies to a version.
    pub fn holds_in(&self, version: Version) -> bool {
        self.spec.includes(version)
    }
}

/// Returns the table of reasons.
pub fn unseen() -> &'static [UnseenReason] {
    static TABLE: OnceLock<Vec<UnseenReason>> = OnceLock::new();
    let read = || serde_json::from_str(include_str!("../../protocol/unseen.json"));
    TABLE.get_or_init(|| built_in("protocol/unseen.json", read()))
}

fn why(place: &str, version: Version) -> Option<&'static str> {
    let row =
        |row: &&UnseenReason| row.places.iter().any(|name| name == place) && row.holds_in(version);
    unseen().iter().find(row).map(|row| row.why.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_no_request_of_a_scenario_or_a_connection_that_is_over() {
        let ask = |case: u32, conn: &str| {
            format!(
                r#"{{"case":{case},"t":0,"conn":"{conn}","dir":"c2s","msg":{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"channel":"ahp-root://"}}}}}}"#
            )
        };
        let over = r#"{"run":"result","case":1}"#.to_owned();
        let close = r#"{"case":2,"t":1,"conn":"B","dir":"close","by":"host"}"#.to_owned();
        for (lines, open) in [
            (vec![ask(1, "A"), ask(1, "B"), ask(2, "A")], 3),
            (vec![ask(1, "A"), ask(1, "B"), ask(2, "A"), over], 1),
            (vec![ask(2, "A"), ask(2, "B"), close], 1),
            (vec![ask(1, "A"), ask(1, "A")], 1),
        ] {
            let text = lines.join("\n");
            let shown = ShownPlaces::read(Some(Version::V1_0), text.as_bytes()).unwrap();
            assert_eq!((shown.opened, shown.opened_bytes > 0), (open, true), "{text}");
            let calls = shown.open.values().flat_map(HashMap::values);
            assert_eq!(shown.opened_bytes, calls.map(|call| call.bytes).sum::<usize>());
        }
    }

    #[test]
    fn reasons_name_existing_places() {
        for row in unseen() {
            for version in Version::played().iter().filter(|it| row.holds_in(**it)) {
                let places = TablePlaces::of(Protocol::of(*version).unwrap());
                for name in &row.places {
                    assert!(places.rows().iter().any(|it| it.name == *name), "{version} {name}");
                }
            }
        }
    }

    #[test]
    fn requests_count_when_they_are_answered() {
        let text = [
            r#"{"t":0,"conn":"A","dir":"open"}"#,
            r#"{"t":0,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":1,"method":"createSession","params":{"channel":"ahp-session:/a","provider":"p"}}}"#,
            r#"{"t":0,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"none"}}}"#,
            r#"{"t":0,"conn":"A","dir":"c2s","msg":{"jsonrpc":"2.0","id":2,"method":"createSession","params":{"channel":"ahp-session:/a"}}}"#,
            r#"{"t":0,"conn":"A","dir":"s2c","msg":{"jsonrpc":"2.0","id":2,"result":null}}"#,
        ];
        let shown = ShownPlaces::read(Some(Version::V0_2), text.join("\n").as_bytes()).unwrap();
        let seen = |name: &str| shown.rows().iter().find(|place| place.name == name).unwrap().seen;
        assert_eq!(seen("createSession answered"), 1);
        assert_eq!(seen("CreateSessionParams.channel"), 1);
        assert_eq!(seen("CreateSessionParams.provider"), 0);
        assert!(ShownPlaces::read(None, text.join("\n").as_bytes()).is_err());
    }
}
