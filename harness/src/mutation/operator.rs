//! What an operator is: a row that says where a conversation is changed, how, and what shows that the host would be
//! at fault.
//!
//! Knows: readings. Never knows: what the always-on checks make of it.
//!
//! Start at [`WireOperator`].

use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};
use crate::wire::protocol::Protocol;
use crate::wire::version::ProtocolStandard;

use super::acp::condition::AcpCondition;
use super::capture::message_of;
use super::change::WireChange;
use super::evidence::FaultEvidence;
use super::pointer;
use super::reading::{
    CaptureReading, EnvelopeSpot, FrameRole, envelopes, key_of, kind_of, snapshots,
};

/// Writes the classes once: the variant, its name, and what belongs to it.
macro_rules! fault_classes {
    ($($class:ident $name:literal $doc:literal,)*) => {
        /// What a fault of the host is about.
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        pub enum FaultClass {
            $(#[doc = $doc] $class,)*
        }

        impl FaultClass {
            /// Every class.
            pub const ALL: &'static [FaultClass] = &[$(FaultClass::$class,)*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(FaultClass::$class => $name,)*
                }
            }
        }
    };
}

fault_classes! {
    Delivery "delivery" "Who gets an action, and when.",
    Numbers "numbers" "What `serverSeq` and `fromSeq` say.",
    Settlement "settlement" "What becomes of a dispatch.",
    ActionMembers "action members" "Members of actions that are absent or of another type.",
    ActionValues "action values" "Members of actions that say something wrong.",
    Snapshots "snapshots" "What a snapshot says.",
    Results "results" "What a result says.",
    Notifications "notifications" "Notifications, which have no number.",
    Handshake "handshake" "The answer to `initialize`.",
    Responses "responses" "Which request is answered, how often and how.",
    Reconnect "reconnect" "The answer to `reconnect`.",
    Content "content" "Texts and secrets.",
    Inserted "inserted actions" "Actions that the host should not have sent.",
    UpdateDelivery "delivery of updates" "Which updates of an agent come, and when.",
    CallMembers "members of calls" "Members of reports of tool calls that are absent or of another type.",
    CallStates "states of calls" "What the reports of a tool call add up to.",
    UpdateContents "contents of updates" "What an update or a call holds.",
    Permissions "permission" "Requests for permission.",
    AgentRequests "files and terminals" "What else an agent asks of its client.",
    AgentAnswers "answers of agents" "Which request is answered, how often and how.",
    AgentSessions "handshake and sessions" "The answers to `initialize` and `session/new`.",
    TurnEnds "ends of turns" "The answers to prompts, and cancels.",
    AgentFrames "frames of agents" "Lines and envelopes.",
}

impl FaultClass {
    /// Which protocol it is about.
    pub fn standard(self) -> ProtocolStandard {
        if self >= FaultClass::UpdateDelivery {
            ProtocolStandard::Acp
        } else {
            ProtocolStandard::Ahp
        }
    }
}

/// One kind of fault of a host, on the wire.
#[derive(Clone, Copy, Debug)]
pub struct WireOperator {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub class: FaultClass,
    /// What the host does wrong, in a sentence.
    pub wrong: &'static str,
    /// What it can be applied to.
    pub target: OperatorTarget,
    /// What is changed.
    pub change: WireChange,
    /// What shows that the host is at fault; any of them is enough. A mutant with none of them is undecidable.
    pub shown: &'static [FaultEvidence],
    /// Where a mutant is what a host may do: a condition with its reason.
    pub legal: Option<(PlaceCondition, &'static str)>,
    /// The requirement that it breaks, where the text does not demand it: a note in the ledger. A mutant that ends as a
    /// note is legal then.
    pub advice: Option<&'static str>,
}

/// Which frames, or places in frames, an operator can be applied to.
#[derive(Clone, Copy, Debug)]
pub struct OperatorTarget {
    /// What is looked for.
    pub kind: TargetKind,
    /// Types of actions, methods or kinds of channels; a name that ends with `*` is a beginning. None asks for all.
    pub names: &'static [&'static str],
    /// What has to hold there, all of it.
    pub when: &'static [PlaceCondition],
}

/// What is looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TargetKind {
    /// Envelopes of actions, sent live.
    Action,
    /// Envelopes of actions in a replay.
    Replayed,
    /// Whole frames of that role.
    Frame(FrameRole),
    /// Snapshots, wherever they stand.
    Snapshot,
    /// A dispatch of a client, of which the host makes something.
    Dispatch,
}

/// What has to hold at a place.
#[derive(Clone, Copy, Debug)]
pub enum PlaceCondition {
    /// Nothing: it is so everywhere.
    Always,
    /// The action has an origin.
    Own,
    /// It was dispatched by the client that gets it here.
    Echo,
    /// It was dispatched by another client than the one that gets it here.
    OthersOwn,
    /// It has none: the host made it.
    HostMade,
    /// It is no rejection.
    Accepted,
    /// It is one.
    Rejected,
    /// Another connection got the same envelope.
    Twin,
    /// There is something at that place.
    Has(&'static str),
    /// There is nothing at that place.
    Lacks(&'static str),
    /// The value at that place is this one.
    Is(&'static str, &'static str),
    /// The list or text at that place has at least so many items or bytes.
    Long(&'static str, usize),
    /// The request has something at that place.
    Asked(&'static str),
    /// The request has nothing at that place.
    NotAsked(&'static str),
    /// The next frame of the host on the connection is an accepted action too. Rejections have no order.
    BeforeAction,
    /// The next frame of the host on the connection is an action of the same channel.
    BeforeSameChannel,
    /// It is followed by an action of the channel that was subscribed to.
    BeforeItsAction,
    /// It is followed by another action that the same client dispatched on the same channel.
    BeforeEcho,
    /// The connection is subscribed to the channel of the envelope, and has not said that it leaves.
    Subscribed,
    /// The same, of the channel of the host.
    RootSubscribed,
    /// At least one of these places has a list that is not empty.
    HasMany(&'static str),
    /// The channel of the request was disposed of before, and that was answered.
    Disposed,
    /// The request has a method that the version does not know, and that is no extension by its name.
    UnknownMethod,
    /// The request was sound, as far as the host answered it or refused it for a reason of its own.
    Sound,
    /// An earlier action of that type stands on the same channel.
    After(&'static str),
    /// It is so in a conversation with an agent.
    Agent(AcpCondition),
}

impl WireOperator {
    /// Where it can be applied.
    pub fn spots(&self, reading: &CaptureReading<'_>) -> Vec<EnvelopeSpot> {
        self.target.spots(reading)
    }
}

impl OperatorTarget {
    /// Where it is found.
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
    /// Whether it holds.
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
                Value::read(text).is_ok_and(|wanted| found.any(|it| *it == wanted))
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

/// The last earlier envelope of one of these types on the same channel, on the same connection.
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
