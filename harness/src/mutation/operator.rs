//! Operators: rows with the place and the kind of a change in a conversation, and the evidence that the host is at
//! fault.
//!
//! Knows: the meaning of frames. Never knows: the findings of the always-on checks.
//!
//! Start at [`WireOperator`].

use crate::oracle::JudgedParty;
use crate::wire::built_in::built_in;
use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};
use crate::wire::protocol::Protocol;
use crate::wire::version::ProtocolStandard;

use super::acp::condition::AcpCondition;
use super::acp::prompts::is_replayed;
use super::capture::message_of;
use super::change::WireChange;
use super::evidence::FaultEvidence;
use super::pointer;
use super::reading::{
    CaptureReading, EnvelopeSpot, FrameRole, envelopes, key_of, kind_of, snapshots,
};

/// Defines the classes: each class with its variant, its name and its description.
macro_rules! fault_classes {
    ($($class:ident $name:literal $doc:literal,)*) => {
        /// The part of the protocol that a fault of a host, an agent or a client affects.
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        pub enum FaultClass {
            $(#[doc = $doc] $class,)*
        }

        impl FaultClass {
            /// Every class.
            pub const ALL: &'static [FaultClass] = &[$(FaultClass::$class,)*];

            /// Returns the class's name.
            pub fn name(self) -> &'static str {
                match self {
                    $(FaultClass::$class => $name,)*
                }
            }
        }
    };
}

fault_classes! {
    Delivery "delivery" "Which clients get an action, and when.",
    Numbers "numbers" "The values of `serverSeq` and `fromSeq`.",
    Settlement "settlement" "The settlement of a dispatch: an echo or a rejection.",
    ActionMembers "action members" "Members of actions that are absent or of another type.",
    ActionValues "action values" "Members of actions with a wrong value.",
    Snapshots "snapshots" "The contents of a snapshot.",
    Results "results" "The contents of a result.",
    Notifications "notifications" "Notifications, which have no `serverSeq`.",
    Handshake "handshake" "The answer to `initialize`.",
    Responses "responses" "Which requests are answered, how often and in which way.",
    Reconnect "reconnect" "The answer to `reconnect`.",
    Content "content" "Texts and secrets.",
    Inserted "inserted actions" "Actions that the host should not have sent.",
    ClientHandshakes "handshakes of clients" "The first messages of a client on a connection.",
    ClientRequests "requests of clients" "What clients request, and how they answer.",
    ClientDispatches "dispatches of clients" "What clients dispatch.",
    UpdateDelivery "delivery of updates" "Which updates an agent sends, and when.",
    CallMembers "members of calls" "Members of reports of tool calls that are absent or of another type.",
    CallStates "states of calls" "The sequence of statuses in the reports of a tool call.",
    UpdateContents "contents of updates" "The content of an update or of a tool call.",
    Permissions "permission" "Requests for permission.",
    AgentRequests "files and terminals" "Requests of an agent to its client about files and terminals.",
    AgentAnswers "answers of agents" "Which requests are answered, how often and in which way.",
    AgentSessions "handshake and sessions" "The answers to `initialize` and `session/new`.",
    TurnEnds "ends of turns" "The answers to prompts, and cancellations.",
    AgentFrames "frames of agents" "Lines on stdout, and the JSON-RPC envelope.",
}

impl FaultClass {
    /// Returns the protocol of the class.
    pub fn standard(self) -> ProtocolStandard {
        if self >= FaultClass::UpdateDelivery {
            ProtocolStandard::Acp
        } else {
            ProtocolStandard::Ahp
        }
    }

    /// Returns the party that has the fault.
    pub fn party(self) -> JudgedParty {
        match self {
            FaultClass::ClientHandshakes
            | FaultClass::ClientRequests
            | FaultClass::ClientDispatches => JudgedParty::Clients,
            _ => JudgedParty::Server,
        }
    }
}

/// One kind of fault of a host, an agent or a client, as it appears on the wire.
#[derive(Clone, Copy, Debug)]
pub struct WireOperator {
    /// The name of the operator.
    pub name: &'static str,
    /// The class of the fault.
    pub class: FaultClass,
    /// A sentence that describes the fault of the host.
    pub wrong: &'static str,
    /// The frames, or the places in frames, that the operator can change.
    pub target: OperatorTarget,
    /// The change that makes a correct conversation wrong.
    pub change: WireChange,
    /// The kinds of evidence of the fault. A capture with evidence of one of these kinds proves the fault; a mutant
    /// without evidence is undecidable.
    pub shown: &'static [FaultEvidence],
    /// The condition under which a host may behave like the mutant, with the reason.
    pub legal: Option<(PlaceCondition, &'static str)>,
    /// The requirement of the violated rule, if the specification only recommends the rule and the ledger has it as a
    /// note. A mutant that causes only a note then counts as legal.
    pub advice: Option<&'static str>,
}

/// The frames, or the places in frames, to which an operator applies.
#[derive(Clone, Copy, Debug)]
pub struct OperatorTarget {
    /// The kind of frame or place.
    pub kind: TargetKind,
    /// The types of actions, the methods or the kinds of channels. A name that ends with `*` is a prefix. An
    /// empty list permits all names.
    pub names: &'static [&'static str],
    /// The conditions, all of which have to hold.
    pub when: &'static [PlaceCondition],
}

/// The kind of frame or place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TargetKind {
    /// Envelopes of actions that were sent live.
    Action,
    /// Envelopes of actions in a replay.
    Replayed,
    /// Whole frames of this role.
    Frame(FrameRole),
    /// Snapshots, in any message.
    Snapshot,
    /// Dispatches of clients.
    Dispatch,
}

/// A condition on a place.
#[derive(Clone, Copy, Debug)]
pub enum PlaceCondition {
    /// No condition.
    Always,
    /// The action has an `origin`.
    Own,
    /// The client that receives the envelope dispatched the action.
    Echo,
    /// A client other than the receiving one dispatched the action.
    OthersOwn,
    /// The action has no `origin`: the host created it.
    HostMade,
    /// The envelope is not a rejection.
    Accepted,
    /// The envelope is a rejection.
    Rejected,
    /// Another connection received the same envelope.
    Twin,
    /// The JSON pointer, which may contain wildcards, matches a value.
    Has(&'static str),
    /// The JSON pointer, which may contain wildcards, matches no value.
    Lacks(&'static str),
    /// The pattern matches this JSON value.
    Is(&'static str, &'static str),
    /// The pattern matches a list or string with at least this many items or bytes.
    Long(&'static str, usize),
    /// The request has a value at this pointer.
    Asked(&'static str),
    /// The request has no value at this pointer.
    NotAsked(&'static str),
    /// The next frame of the host on the connection is also an accepted action, and not a rejection. The order of
    /// rejections is not specified.
    BeforeAction,
    /// The next frame of the host on the connection is an accepted action of the same channel.
    BeforeSameChannel,
    /// The next frame of the host is an accepted action of the channel that was just subscribed to or resumed.
    BeforeItsAction,
    /// The next frame of the host is an accepted action that the same client dispatched on the same channel.
    BeforeEcho,
    /// The connection is subscribed to the envelope's channel and has not unsubscribed.
    Subscribed,
    /// The connection is subscribed to the root channel.
    RootSubscribed,
    /// The pattern matches a list that is not empty.
    HasMany(&'static str),
    /// The channel of the request was disposed of before, and the host answered the disposal with a result.
    Disposed,
    /// The version does not know the request's method, and the method's name does not have the form of an
    /// extension.
    UnknownMethod,
    /// The host's answer does not call the request malformed.
    Sound,
    /// There is an earlier action of this type on the same channel.
    After(&'static str),
    /// A condition that applies only to conversations with agents.
    Agent(AcpCondition),
}

impl WireOperator {
    /// Returns the places to which the operator applies. Operators about the order and the statuses of reports skip the
    /// replay of a loaded session, because the specification does not state these for replays.
    pub fn spots(&self, reading: &CaptureReading<'_>) -> Vec<EnvelopeSpot> {
        let mut spots = self.target.spots(reading);
        if matches!(self.class, FaultClass::UpdateDelivery | FaultClass::CallStates) {
            spots.retain(|spot| !is_replayed(reading, spot.line));
        }
        spots
    }
}

impl OperatorTarget {
    /// Returns the places in a conversation that match the target.
    pub fn spots(&self, reading: &CaptureReading<'_>) -> Vec<EnvelopeSpot> {
        let lines = 0..reading.lines.len();
        let all = lines.flat_map(|line| self.on_line(reading, line));
        all.filter(|spot| self.when.iter().all(|it| it.holds(reading, spot))).collect()
    }

    fn on_line(&self, reading: &CaptureReading<'_>, line: usize) -> Vec<EnvelopeSpot> {
        let fact = &reading.facts[line];
        let whole = || EnvelopeSpot { line, base: String::new() };
        match self.kind {
            TargetKind::Frame(role) => {
                let found = fact.role == role && self.wants(&fact.name);
                found.then(whole).into_iter().collect()
            }
            TargetKind::Dispatch => {
                let found = fact.role == FrameRole::Dispatch && self.wants(&fact.name);
                found.then(whole).into_iter().collect()
            }
            TargetKind::Action | TargetKind::Replayed => {
                let live = self.kind == TargetKind::Action;
                if (fact.role == FrameRole::Action) != live {
                    return Vec::new();
                }
                let here = envelopes(reading.lines, line).into_iter().filter(|(_, value)| {
                    let name = value.pointer("/action/type").and_then(Value::as_str);
                    name.is_some_and(|name| self.wants(name))
                });
                here.map(|(spot, _)| spot).collect()
            }
            TargetKind::Snapshot => {
                let Some(value) =
                    message_of(&reading.lines[line]).filter(|_| fact.role == FrameRole::Result)
                else {
                    return Vec::new();
                };
                let here = snapshots(value).filter(|(_, snapshot)| {
                    kind_of(snapshot).is_some_and(|kind| self.wants(kind.family()))
                });
                here.map(|(base, _)| EnvelopeSpot { line, base }).collect()
            }
        }
    }

    fn wants(&self, name: &str) -> bool {
        let fits = |wanted: &&str| match wanted.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => *wanted == name,
        };
        self.names.is_empty() || self.names.iter().any(fits)
    }
}

impl PlaceCondition {
    /// Returns whether the condition holds at a place.
    pub fn holds(self, reading: &CaptureReading<'_>, spot: &EnvelopeSpot) -> bool {
        let Some(value) = reading.value(spot) else { return false };
        let fact = &reading.facts[spot.line];
        let client = || value.pointer("/origin/clientId").and_then(Value::as_str);
        let here = reading.lives[fact.life].client.as_str();
        let asked = || fact.answers.and_then(|line| message_of(&reading.lines[line]));
        let next = || {
            let at = reading.next_received(spot.line)?;
            let value = message_of(&reading.lines[at])?;
            let accepted = value.pointer("/params/rejectionReason").is_none();
            (reading.facts[at].role == FrameRole::Action && accepted).then_some(at)
        };
        match self {
            PlaceCondition::Always => true,
            PlaceCondition::Own => client().is_some(),
            PlaceCondition::Echo => client() == Some(here),
            PlaceCondition::OthersOwn => client().is_some_and(|it| it != here),
            PlaceCondition::HostMade => client().is_none(),
            PlaceCondition::Accepted => value.get("rejectionReason").is_none(),
            PlaceCondition::Rejected => value.get("rejectionReason").is_some(),
            PlaceCondition::Twin => reading.has_twin(spot),
            PlaceCondition::Has(place) => !pointer::places(value, place).is_empty(),
            PlaceCondition::Lacks(place) => pointer::places(value, place).is_empty(),
            PlaceCondition::Is(place, text) => {
                let found = pointer::places(value, place);
                let mut found = found.iter().filter_map(|place| value.pointer(place));
                let wanted = built_in(text, Value::read(text));
                found.any(|it| *it == wanted)
            }
            PlaceCondition::Long(place, least) => {
                let found = pointer::places(value, place);
                found.iter().filter_map(|place| value.pointer(place)).any(|it| match it {
                    Value::String(text) => text.len() >= least,
                    Value::Array(items) => items.len() >= least,
                    _ => false,
                })
            }
            PlaceCondition::Asked(place) => asked().is_some_and(|it| it.pointer(place).is_some()),
            PlaceCondition::NotAsked(place) => {
                asked().is_some_and(|it| it.pointer(place).is_none())
            }
            PlaceCondition::BeforeAction => next().is_some(),
            PlaceCondition::BeforeSameChannel => {
                let other = next().and_then(|at| envelopes(reading.lines, at).pop());
                let other = other.and_then(|(_, it)| key_of(it)).map(|(channel, _)| channel);
                other.is_some() && other == key_of(value).map(|(channel, _)| channel)
            }
            PlaceCondition::BeforeItsAction => {
                let other = next().and_then(|at| envelopes(reading.lines, at).pop());
                let other = other.filter(|(_, it)| it.get("rejectionReason").is_none());
                let Some((on, seq)) = other.and_then(|(_, it)| key_of(it)) else { return false };
                let resumed = value.pointer("/result/actions").is_some();
                let wanted = asked().and_then(|it| it.pointer("/params/subscriptions")?.as_array());
                let resumes = resumed && wanted.is_some_and(|it| it.contains(&json!(on)));
                let mut begun = snapshots(value).filter(|(_, it)| {
                    it.get("resource").and_then(Value::as_str) == Some(on)
                        && it.get("fromSeq").and_then(Value::as_u64).is_some_and(|from| seq > from)
                });
                resumes || begun.next().is_some()
            }
            PlaceCondition::BeforeEcho => {
                let other = next().and_then(|at| envelopes(reading.lines, at).pop());
                other.is_some_and(|(_, it)| {
                    let place = "/origin/clientId";
                    it.get("channel") == value.get("channel")
                        && it.pointer(place) == value.pointer(place)
                        && it.get("rejectionReason").is_none()
                })
            }
            PlaceCondition::Subscribed => {
                let channel = value.get("channel").and_then(Value::as_str);
                channel.is_some_and(|it| reading.is_subscribed(fact.life, it, spot.line))
            }
            PlaceCondition::RootSubscribed => reading.is_subscribed(fact.life, ROOT, spot.line),
            PlaceCondition::HasMany(place) => {
                let found = pointer::places(value, place);
                let mut lists = found.iter().filter_map(|place| value.pointer(place)?.as_array());
                lists.any(|list| !list.is_empty())
            }
            PlaceCondition::Disposed => {
                let channel = asked().and_then(|it| it.pointer("/params/channel"));
                let before = fact.answers.unwrap_or_default();
                reading.facts[..before].iter().any(|other| {
                    let disposed =
                        other.role == FrameRole::Result && other.name.starts_with("dispose");
                    let request = other.answers.and_then(|line| message_of(&reading.lines[line]));
                    disposed && request.and_then(|it| it.pointer("/params/channel")) == channel
                })
            }
            PlaceCondition::UnknownMethod => {
                let protocol = reading.version().and_then(Protocol::of);
                let unknown = protocol.is_some_and(|it| it.method(&fact.name).is_none());
                unknown && !fact.name.starts_with("x-")
            }
            PlaceCondition::Sound => {
                let code = value.pointer("/error/code").and_then(Value::as_i64);
                !matches!(code, Some(-32700..=-32600))
            }
            PlaceCondition::After(name) => earlier(reading, spot, &[name]).is_some(),
            PlaceCondition::Agent(condition) => condition.holds(reading, spot),
        }
    }
}

/// Returns the last earlier envelope of one of these types on the same channel and connection.
pub(super) fn earlier<'a>(
    reading: &CaptureReading<'a>,
    spot: &EnvelopeSpot,
    names: &[&str],
) -> Option<&'a Value> {
    let (channel, seq) = reading.value(spot).and_then(key_of)?;
    let life = reading.facts[spot.line].life;
    let lines = (reading.lives[life].begin..spot.line).rev();
    lines
        .filter(|line| reading.facts[*line].life == life)
        .filter(|line| names.contains(&reading.facts[*line].name.as_str()))
        .filter_map(|line| message_of(&reading.lines[line])?.get("params"))
        .find(|it| {
            let accepted = it.get("rejectionReason").is_none();
            accepted && key_of(it).is_some_and(|(on, number)| on == channel && number < seq)
        })
}
