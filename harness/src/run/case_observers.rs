//! The observers of a case: their connections, and the requests with which they subscribe to every channel.
//!
//! Knows: the peer engine, requests and results. Never knows: the case, steps, rules.
//!
//! Start at [`ScenarioObservers`].

use std::collections::HashSet;
use std::sync::Arc;

use crate::dice::Dice;
use crate::edge::VersionEdge;
use crate::peer::client::ClientEngine;
use crate::peer::guise::ClientGuise;
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};
use crate::wire::message::{Message, MessageKind};

use super::output::DriverOutput;

/// The percentage of steps before which an observer joins.
const PERCENT: usize = 30;
/// The maximum number of observers of one scenario.
const MAX_OBSERVERS: usize = 12;
/// The maximum number of observers at the same time.
const MAX_AT_ONCE: usize = 3;
/// The maximum number of channels that an observer subscribes to.
const MAX_CHANNELS: usize = 64;
/// The number that separates the random numbers of observers from those of identifiers, so that observers do not change
/// the identifiers.
const PART: u64 = 0x6f62_7365_7276;

/// The observers of a scenario, and the random generator that decides when they join.
#[derive(Debug)]
pub(super) struct ScenarioObservers {
    dice: Dice,
    come: usize,
    here: Vec<JoiningObserver>,
}

/// An observer, from the opening of its connection until its last request is answered.
#[derive(Debug)]
struct JoiningObserver {
    conn: ConnId,
    engine: ClientEngine,
    /// The number of the observer's requests without an answer.
    open: usize,
    asked: HashSet<String>,
}

impl ScenarioObservers {
    /// Creates the observers of a case; none has joined.
    pub(super) fn new(seed: u64) -> ScenarioObservers {
        ScenarioObservers { dice: Dice::new(seed, PART), come: 0, here: Vec::new() }
    }

    /// Decides at random whether an observer joins before the next step.
    pub(super) fn wants_another(&mut self) -> bool {
        self.dice.chance(PERCENT)
    }

    /// Returns whether the limits permit another observer.
    pub(super) fn has_room(&self) -> bool {
        self.come < MAX_OBSERVERS && self.here.len() < MAX_AT_ONCE
    }

    /// Returns whether no observer is connected.
    pub(super) fn is_empty(&self) -> bool {
        self.here.is_empty()
    }

    /// Adds an observer. Returns the output that opens its connection.
    pub(super) fn come(&mut self, conn: ConnId, edge: VersionEdge) -> DriverOutput {
        self.come += 1;
        let client = format!("observing-{}", self.come);
        let tag = self.dice.roll() as u32;
        let engine = ClientEngine::new(format!("ahp-harness-{tag:08x}-{client}"), false);
        let engine = engine.speaking(edge);
        self.here.push(JoiningObserver { conn, engine, open: 0, asked: HashSet::new() });
        DriverOutput::Open { conn, client, guise: ClientGuise::default() }
    }

    /// Handles an opened connection. Returns the handshake; `None` if the connection belongs to no observer.
    pub(super) fn opened(&mut self, conn: ConnId, offers: &Value) -> Option<DriverOutput> {
        let observer = self.on(conn)?;
        observer.asked.insert(ROOT.to_owned());
        let params = json!({
            "channel": ROOT,
            "protocolVersions": (offers.clone()),
            "clientId": observer.engine.client_id,
            "initialSubscriptions": [ROOT],
        });
        Some(observer.ask("initialize", params))
    }

    /// Handles a received message. `created` has the channels of the case. Returns the next requests of the observer, or
    /// the end of its connection; `None` if the connection belongs to no observer.
    pub(super) fn told(
        &mut self,
        conn: ConnId,
        message: Option<&Message>,
        created: &[String],
    ) -> Option<Vec<DriverOutput>> {
        let observer = self.on(conn)?;
        let mut outputs = Vec::new();
        let Some(message) = message else {
            return Some(outputs);
        };
        let id = message.id().and_then(Value::as_u64);
        let asked = id.and_then(|id| observer.engine.awaits(id)).map(str::to_owned);
        let lifted = observer.engine.handle(message);
        let message = lifted.as_ref().unwrap_or(message);
        let Some(method) = asked else {
            return Some(outputs);
        };
        observer.open = observer.open.saturating_sub(1);
        let result = message.result().filter(|_| message.kind() == MessageKind::Success);
        match (method.as_str(), result) {
            ("initialize", Some(_)) => {
                outputs.push(observer.ask("listSessions", json!({"channel": ROOT})));
                outputs.extend(created.iter().filter_map(|uri| observer.subscribe(uri)));
            }
            ("subscribe", Some(result)) => {
                let chats = result["snapshot"]["state"]["chats"].as_array();
                let chats = chats.into_iter().flatten().filter_map(|it| it["resource"].as_str());
                outputs.extend(chats.filter_map(|uri| observer.subscribe(uri)));
            }
            _ => {}
        }
        if observer.open == 0 {
            outputs.push(DriverOutput::Close { conn, graceful: true });
            self.gone(conn);
        }
        Some(outputs)
    }

    /// Handles the end of a connection. Returns whether the connection belonged to an observer.
    pub(super) fn gone(&mut self, conn: ConnId) -> bool {
        let found = self.on(conn).is_some();
        self.here.retain(|observer| observer.conn != conn);
        found
    }

    /// Forgets all observers. Returns their connections.
    pub(super) fn leave(&mut self) -> impl Iterator<Item = ConnId> + use<> {
        std::mem::take(&mut self.here).into_iter().map(|observer| observer.conn)
    }

    /// Forgets all observers, because their connections have ended.
    pub(super) fn lost(&mut self) {
        self.here.clear();
    }

    fn on(&mut self, conn: ConnId) -> Option<&mut JoiningObserver> {
        self.here.iter_mut().find(|observer| observer.conn == conn)
    }
}

impl JoiningObserver {
    fn ask(&mut self, method: &str, params: Value) -> DriverOutput {
        let (_, message) = self.engine.request(method, params);
        self.open += 1;
        DriverOutput::Send { conn: self.conn, seen: Arc::new(SeenFrame::of(message)) }
    }

    /// Returns the output that subscribes to a channel; `None` if the observer has already requested this subscription
    /// or the limit is reached.
    fn subscribe(&mut self, channel: &str) -> Option<DriverOutput> {
        let new = self.asked.len() < MAX_CHANNELS && self.asked.insert(channel.to_owned());
        new.then(|| self.ask("subscribe", json!({"channel": channel})))
    }
}
