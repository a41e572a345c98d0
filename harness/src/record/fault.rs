//! The language of `--fault-on`: `FAULT on [every] [CLIENT] EVENT`.
//!
//! ```text
//! drop on B serverSeq 42
//! delay 200ms on every A action chat/*
//! behind B on A response subscribe
//! ```
//!
//! The tables [`FAULTS`] and [`EVENTS`] define the words of the language; the parser and the help use them.
//!
//! Knows: `scenario` (durations, "did you mean"), messages. Never knows: connections, time.
//!
//! Start at [`TransportFault`].

use std::fmt::Write as _;
use std::str::FromStr;
use std::time::Duration;

use crate::scenario::parse::read_duration;
use crate::scenario::source::did_you_mean;
use crate::transcript::ClosingSide;
use crate::wire::json::Value;
use crate::wire::message::{Message, MessageKind};

/// An injected fault: what happens to a message on its way.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProxyFault {
    /// After the message, the connections to the client and to the host are closed without a close frame.
    Drop,
    /// After the message, both sides get a close frame with this code.
    Close(u16),
    /// Only this many bytes of the message's frames are forwarded, by default half of the bytes; then both connections
    /// are closed without a close frame.
    Cut(Option<usize>),
    /// The message is not forwarded.
    Lose,
    /// The message is delayed, and so is every later message in the same direction.
    Delay(Duration),
    /// The message is forwarded twice.
    Duplicate,
    /// The next message in the same direction overtakes the message.
    Swap,
    /// The message waits until the next message of another client in the same direction was forwarded.
    Behind(String),
}

/// The kind of message that triggers a fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EventKind {
    /// A live envelope from the host with this `serverSeq` or a higher one.
    ServerSeq,
    /// A live action from the host.
    Action,
    /// An action that the client dispatches.
    Dispatch,
    /// A request from the client.
    Request,
    /// The host's response to a request.
    Response,
    /// A notification from the host that is not an action.
    Notification,
    /// The message from the host with this number, counted from 1.
    Received,
    /// The message from the client with this number, counted from 1.
    Sent,
}

/// The kind of argument that a word of the language requires.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ArgumentKind {
    /// No argument.
    None,
    /// A number.
    Number,
    /// An optional number.
    MaybeNumber,
    /// A number with a unit.
    Duration,
    /// The name of a client's connection.
    Client,
    /// A name. If the name ends with `*`, it matches every string that begins with the part before the `*`.
    Name,
}

/// A word of the language that names a fault or an event.
#[derive(Debug)]
pub struct FaultWord<T: 'static> {
    /// The word as the user writes it.
    pub name: &'static str,
    /// The argument of the word.
    pub argument: ArgumentKind,
    /// The fault or the event that the word names.
    pub means: T,
    /// The description for users.
    pub doc: &'static str,
}

/// A function that creates a fault from the argument of its word.
type MakeFault = fn(&WordArgument) -> ProxyFault;

/// Every fault.
pub const FAULTS: &[FaultWord<MakeFault>] = &[
    FaultWord {
        name: "drop",
        argument: ArgumentKind::None,
        means: |_| ProxyFault::Drop,
        doc: "close the connections to client and host, without a close frame, right after the message",
    },
    FaultWord {
        name: "close",
        argument: ArgumentKind::Number,
        means: |given| ProxyFault::Close(u16::try_from(given.number).unwrap_or(u16::MAX)),
        doc: "send both sides a close frame with this code after the message",
    },
    FaultWord {
        name: "cut",
        argument: ArgumentKind::MaybeNumber,
        means: |given| {
            ProxyFault::Cut(
                given.is_given.then(|| usize::try_from(given.number).unwrap_or(usize::MAX)),
            )
        },
        doc: "forward only this many bytes of the frame (by default half of them), and close both connections",
    },
    FaultWord {
        name: "lose",
        argument: ArgumentKind::None,
        means: |_| ProxyFault::Lose,
        doc: "do not forward the message",
    },
    FaultWord {
        name: "delay",
        argument: ArgumentKind::Duration,
        means: |given| ProxyFault::Delay(given.duration),
        doc: "delay the message, and all later messages of the same direction, by this time",
    },
    FaultWord {
        name: "duplicate",
        argument: ArgumentKind::None,
        means: |_| ProxyFault::Duplicate,
        doc: "forward the message twice",
    },
    FaultWord {
        name: "swap",
        argument: ArgumentKind::None,
        means: |_| ProxyFault::Swap,
        doc: "forward the message after the next message of the same direction",
    },
    FaultWord {
        name: "behind",
        argument: ArgumentKind::Client,
        means: |given| ProxyFault::Behind(given.name.clone()),
        doc: "hold the message back until the next message of that client in the same direction was forwarded",
    },
];

/// Every event, with the side that sends the message.
pub const EVENTS: &[FaultWord<(EventKind, ClosingSide)>] = &[
    FaultWord {
        name: "serverSeq",
        argument: ArgumentKind::Number,
        means: (EventKind::ServerSeq, ClosingSide::Host),
        doc: "the first action from the host with this serverSeq or a higher one",
    },
    FaultWord {
        name: "action",
        argument: ArgumentKind::Name,
        means: (EventKind::Action, ClosingSide::Host),
        doc: "an action of this type from the host",
    },
    FaultWord {
        name: "dispatch",
        argument: ArgumentKind::Name,
        means: (EventKind::Dispatch, ClosingSide::Client),
        doc: "an action of this type that the client dispatches",
    },
    FaultWord {
        name: "request",
        argument: ArgumentKind::Name,
        means: (EventKind::Request, ClosingSide::Client),
        doc: "a request of the client for this method",
    },
    FaultWord {
        name: "response",
        argument: ArgumentKind::Name,
        means: (EventKind::Response, ClosingSide::Host),
        doc: "the host's response to a request of this method",
    },
    FaultWord {
        name: "notification",
        argument: ArgumentKind::Name,
        means: (EventKind::Notification, ClosingSide::Host),
        doc: "a notification of this method from the host",
    },
    FaultWord {
        name: "received",
        argument: ArgumentKind::Number,
        means: (EventKind::Received, ClosingSide::Host),
        doc: "the message with this number from the host, counted from 1",
    },
    FaultWord {
        name: "sent",
        argument: ArgumentKind::Number,
        means: (EventKind::Sent, ClosingSide::Client),
        doc: "the message with this number from the client, counted from 1",
    },
];

/// The argument of a word in a rule. Each kind of argument uses some of the members; the other members have default
/// values.
#[derive(Clone, Debug, Default)]
pub struct WordArgument {
    is_given: bool,
    number: u64,
    duration: Duration,
    name: String,
}

/// A rule of `--fault-on`: a fault and the event that triggers it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TransportFault {
    /// The rule as the user wrote it.
    pub text: String,
    /// The fault that the rule injects.
    pub fault: ProxyFault,
    /// Whether every matching message triggers the fault, instead of only the first one.
    pub every: bool,
    /// The connection's name or the client's identifier; `None` for any client.
    pub client: Option<String>,
    /// The event that triggers the fault.
    pub event: EventKind,
    /// The side from which the message comes.
    pub from: ClosingSide,
    number: u64,
    name: String,
}

/// The reason why a rule is invalid.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RuleError {
    /// The rule has no `on`.
    #[error("expected FAULT on [every] [CLIENT] EVENT, such as `drop on B serverSeq 42`")]
    Form,
    /// A word of the rule is not in the table of faults or events.
    #[error("no {what} is called `{word}` (hint: {hint})")]
    Unknown {
        /// The kind of word that was expected: a fault or an event.
        what: &'static str,
        /// The unknown word.
        word: String,
        /// A hint for the user: a similar word, or all words.
        hint: String,
    },
    /// The argument of a word is missing, or is of the wrong kind.
    #[error("expected {expected} after `{word}`, found {found}")]
    Argument {
        /// The word whose argument is missing or wrong.
        word: &'static str,
        /// The argument that the word needs.
        expected: &'static str,
        /// The argument that the rule has instead.
        found: String,
    },
    /// A close code that must not be sent (RFC 6455, 7.4).
    #[error(
        "expected a close code that may be sent, from 1000 to 4999 and none of 1004 to 1006 or 1015, found {0}"
    )]
    Code(u64),
}

impl FromStr for TransportFault {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<TransportFault, RuleError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let on = words.iter().position(|word| *word == "on").ok_or(RuleError::Form)?;
        let (fault, event) = (&words[..on], &words[on + 1..]);
        let (&name, arguments) = fault.split_first().ok_or(RuleError::Form)?;
        let word = find(FAULTS, "fault", name)?;
        let given = given(word.name, word.argument, arguments)?;
        let fault = (word.means)(&given);
        if let ProxyFault::Close(code) = fault
            && (!matches!(code, 1000..=4999) || matches!(code, 1004..=1006 | 1015))
        {
            return Err(RuleError::Code(given.number));
        }
        let (every, event) = match event.split_first() {
            Some((&"every", rest)) => (true, rest),
            _ => (false, event),
        };
        let (&first, rest) = event.split_first().ok_or(RuleError::Form)?;
        let is_event = |name: &str| EVENTS.iter().any(|word| word.name == name);
        let (client, first, rest) = match rest.split_first() {
            Some((&second, others)) if !is_event(first) && is_event(second) => {
                (Some(first.to_owned()), second, others)
            }
            // Neither the first nor the second word after `on` is an event, and one more word follows: the first word
            // may be the name of a client.
            Some((&second, others)) if !is_event(first) && others.len() == 1 => {
                (Some(first.to_owned()), second, others)
            }
            _ => (None, first, rest),
        };
        let word = find(EVENTS, "event", first)?;
        let given = self::given(word.name, word.argument, rest)?;
        let (event, from) = word.means;
        let text = words.join(" ");
        Ok(TransportFault {
            text,
            fault,
            every,
            client,
            event,
            from,
            number: given.number,
            name: given.name,
        })
    }
}

fn find<T>(
    words: &'static [FaultWord<T>],
    what: &'static str,
    name: &str,
) -> Result<&'static FaultWord<T>, RuleError> {
    words.iter().find(|word| word.name == name).ok_or_else(|| {
        let names: Vec<_> = words.iter().map(|word| word.name).collect();
        let hint = did_you_mean(name, &names);
        RuleError::Unknown { what, word: name.to_owned(), hint }
    })
}

/// Parses the argument of a word from the words that follow it.
fn given(
    word: &'static str,
    argument: ArgumentKind,
    texts: &[&str],
) -> Result<WordArgument, RuleError> {
    let wrong = |expected| RuleError::Argument {
        word,
        expected,
        found: if texts.is_empty() {
            "nothing".to_owned()
        } else {
            format!("`{}`", texts.join(" "))
        },
    };
    let text = match texts {
        [] => None,
        [text] => Some(*text),
        _ => return Err(wrong(argument.expected())),
    };
    let number = text.and_then(|text| text.parse().ok());
    let duration = text.and_then(read_duration);
    let fits = match argument {
        ArgumentKind::None => text.is_none(),
        ArgumentKind::Number => number.is_some(),
        ArgumentKind::MaybeNumber => text.is_none() || number.is_some(),
        ArgumentKind::Duration => duration.is_some(),
        ArgumentKind::Client | ArgumentKind::Name => text.is_some(),
    };
    if !fits {
        return Err(wrong(argument.expected()));
    }
    Ok(WordArgument {
        is_given: text.is_some(),
        number: number.unwrap_or_default(),
        duration: duration.unwrap_or_default(),
        name: text.unwrap_or_default().to_owned(),
    })
}

impl ArgumentKind {
    /// Returns a description of the argument for error messages.
    fn expected(self) -> &'static str {
        match self {
            ArgumentKind::None => "nothing",
            ArgumentKind::Number => "a number",
            ArgumentKind::MaybeNumber => "a number or nothing",
            ArgumentKind::Duration => "a duration such as `200ms`",
            ArgumentKind::Client => "the name of a connection such as `B`",
            ArgumentKind::Name => "a name such as `subscribe` or `chat/*`",
        }
    }

    /// Returns the placeholder of the argument in the help.
    fn placeholder(self) -> &'static str {
        match self {
            ArgumentKind::None => "",
            ArgumentKind::Number => " N",
            ArgumentKind::MaybeNumber => " [N]",
            ArgumentKind::Duration => " DURATION",
            ArgumentKind::Client => " CLIENT",
            ArgumentKind::Name => " NAME",
        }
    }
}

impl TransportFault {
    /// Returns whether a message triggers the rule. `number` counts the messages in the same direction, beginning with
    /// 1; `method` is the method of the request that the message answers.
    pub fn fits(&self, message: Option<&Message>, number: u64, method: Option<&str>) -> bool {
        let named = |name: Option<&str>| name.is_some_and(|name| self.names(name));
        let is = |kind| message.is_some_and(|message| message.kind() == kind);
        let of = |method: &str| message.and_then(Message::method) == Some(method);
        let params = message.map_or(&Value::Null, Message::params);
        let action = || params["action"]["type"].as_str();
        match self.event {
            EventKind::ServerSeq => {
                of("action") && params["serverSeq"].as_u64().is_some_and(|seq| seq >= self.number)
            }
            EventKind::Action => of("action") && named(action()),
            EventKind::Dispatch => of("dispatchAction") && named(action()),
            EventKind::Request => {
                is(MessageKind::Request) && named(message.and_then(Message::method))
            }
            EventKind::Response => named(method),
            EventKind::Notification => {
                is(MessageKind::Notification)
                    && named(message.and_then(Message::method))
                    && !of("action")
            }
            EventKind::Received | EventKind::Sent => number == self.number,
        }
    }

    fn names(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => self.name == name,
        }
    }
}

/// Formats the words of the language with their descriptions, for `--help`.
pub fn help() -> String {
    fn section<T>(out: &mut String, title: &str, words: &[FaultWord<T>]) {
        let _ = writeln!(out, "{title}:");
        for word in words {
            let form = format!("{}{}", word.name, word.argument.placeholder());
            let _ = writeln!(out, "  {form:<18} {}", word.doc);
        }
    }
    let mut out = "A transport fault has the form `FAULT on [every] [CLIENT] EVENT`, such as `drop on B serverSeq 42`. CLIENT is
the name of a connection (A for the first, B for the second, ..) or a clientId. Without `every`, the
fault is injected once.\n\n"
        .to_owned();
    section(&mut out, "FAULT", FAULTS);
    section(&mut out, "EVENT", EVENTS);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    fn rule(text: &str) -> TransportFault {
        text.parse().unwrap()
    }

    #[test]
    fn reads_rules() {
        let check = |text: &str, fault: ProxyFault, every, client: Option<&str>, event| {
            let rule = rule(text);
            assert_eq!((rule.fault, rule.every, rule.event), (fault, every, event), "{text}");
            assert_eq!(rule.client.as_deref(), client, "{text}");
        };
        check("drop on B serverSeq 42", ProxyFault::Drop, false, Some("B"), EventKind::ServerSeq);
        check(
            "close 1001 on request subscribe",
            ProxyFault::Close(1001),
            false,
            None,
            EventKind::Request,
        );
        check("cut on A received 3", ProxyFault::Cut(None), false, Some("A"), EventKind::Received);
        check("cut 7 on sent 3", ProxyFault::Cut(Some(7)), false, None, EventKind::Sent);
        let delay = ProxyFault::Delay(Duration::from_millis(200));
        check("delay  200ms on every A action chat/*", delay, true, Some("A"), EventKind::Action);
        check(
            "behind B on A dispatch x",
            ProxyFault::Behind("B".into()),
            false,
            Some("A"),
            EventKind::Dispatch,
        );
    }

    #[test]
    fn says_what_is_wrong_with_a_rule() {
        let check = |text: &str, expected: &str| {
            let error = text.parse::<TransportFault>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("", "expected FAULT on [every] [CLIENT] EVENT");
        check("drop", "such as `drop on B serverSeq 42`");
        check("drop on", "expected FAULT on");
        check("dorp on sent 1", "no fault is called `dorp` (hint: did you mean `drop`?)");
        check(
            "drop on B serverseq 1",
            "no event is called `serverseq` (hint: did you mean `serverSeq`?)",
        );
        check("drop on B", "no event is called `B` (hint: there are `serverSeq`, `action`");
        check("drop 5 on sent 1", "expected nothing after `drop`, found `5`");
        check("delay 5 on sent 1", "expected a duration such as `200ms` after `delay`, found `5`");
        check("drop on sent", "expected a number after `sent`, found nothing");
        check("drop on action a b", "found `a b`");
        check("close 1006 on sent 1", "found 1006");
        check("close 70000 on sent 1", "found 70000");
    }

    #[test]
    fn matches_the_message_that_it_waits_for() {
        let action = json!({"serverSeq": 42, "action": {"type": "chat/delta"}});
        let action = Message::notification("action", action);
        let dispatch = json!({"action": {"type": "chat/delta"}});
        let dispatch = Message::notification("dispatchAction", dispatch);
        let added = Message::notification("root/sessionAdded", json!({}));
        let request = Message::request(1, "subscribe", json!({}));
        let answer = Message::success(json!(1), json!({}));
        let check = |event: &str, message: &Message, expected: bool| {
            let method = (message.kind() == MessageKind::Success).then_some("subscribe");
            let rule = rule(&format!("drop on {event}"));
            assert_eq!(rule.fits(Some(message), 7, method), expected, "{event}");
        };
        check("serverSeq 42", &action, true);
        check("serverSeq 41", &action, true);
        check("serverSeq 43", &action, false);
        check("action chat/delta", &action, true);
        check("action chat/*", &action, true);
        check("action session/*", &action, false);
        check("action chat/delta", &dispatch, false);
        check("dispatch chat/delta", &dispatch, true);
        check("request subscribe", &request, true);
        check("request sub*", &request, true);
        check("request subscribe", &answer, false);
        check("response subscribe", &answer, true);
        check("response ping", &answer, false);
        check("notification root/*", &added, true);
        check("notification *", &action, false);
        check("received 7", &answer, true);
        check("sent 8", &request, false);
    }
}
