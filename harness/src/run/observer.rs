//! Additional clients that join at random points, subscribe to every channel that they find, and leave (`run
//! --observe`).
//!
//! Observers judge nothing themselves. The transcript contains everything that they receive. The always-on checks
//! compare the observers' snapshots with each other and with the actions in between. Observers run in parallel with the
//! steps. The steps neither wait for observers nor see their messages. Observers only use the channels of this
//! scenario, because the host may also serve other users.
//!
//! Knows: the peer engine, the channels of the case. Never knows: steps, rules.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::dice::Dice;
use crate::peer::client::ClientEngine;
use crate::peer::guise::ClientGuise;
use crate::transcript::{ConnId, SeenFrame};
use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};
use crate::wire::message::{Message, MessageKind};

use super::case::{DriverOutput, ScenarioCase, TaskWait, WaitProgress};

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

#[derive(Debug)]
struct JoiningObserver {
    conn: ConnId,
    engine: ClientEngine,
    /// The number of the observer's requests without an answer.
    open: usize,
    asked: HashSet<String>,
}

impl ScenarioObservers {
    pub(super) fn new(seed: u64) -> ScenarioObservers {
        ScenarioObservers { dice: Dice::new(seed, PART), come: 0, here: Vec::new() }
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

impl ScenarioCase {
    /// Decides at random whether an observer joins before the next step.
    pub(super) fn perhaps_observed(&mut self) {
        let Some(observers) = &mut self.observers else {
            return;
        };
        if observers.dice.chance(PERCENT) {
            self.observer_comes();
        }
    }

    /// Lets an observer join after the last step and waits until all observers have left. Returns false if the
    /// case has no observers.
    pub(super) fn last_observer(&mut self, now: Duration) -> bool {
        if self.observers.is_none() || !self.shook_hands() {
            return false;
        }
        self.observer_comes();
        self.progress.wait(None, TaskWait::Observers, now + self.setup().limit);
        true
    }

    /// Returns whether the case still has to wait for observers.
    pub(super) fn check_observers(&self) -> WaitProgress {
        match &self.observers {
            Some(observers) if !observers.here.is_empty() => {
                WaitProgress::Wait(TaskWait::Observers)
            }
            _ => WaitProgress::Done,
        }
    }

    /// Closes the connections of all observers.
    pub(super) fn observers_leave(&mut self) {
        for observer in self.observers.iter_mut().flat_map(|observers| observers.here.drain(..)) {
            self.outputs.push(DriverOutput::Close { conn: observer.conn, graceful: true });
        }
    }

    fn observer_comes(&mut self) {
        let edge = self.edge();
        let Some(observers) = &mut self.observers else {
            return;
        };
        if observers.come == MAX_OBSERVERS || observers.here.len() == MAX_AT_ONCE {
            return;
        }
        observers.come += 1;
        let name = format!("observing-{}", observers.come);
        let conn = self.clients.new_conn();
        let tag = observers.dice.roll() as u32;
        let engine = ClientEngine::new(format!("ahp-harness-{tag:08x}-{name}"), false);
        let engine = engine.speaking(edge);
        let observer = JoiningObserver { conn, engine, open: 0, asked: HashSet::new() };
        observers.here.push(observer);
        self.outputs.push(DriverOutput::Open { conn, client: name, guise: ClientGuise::default() });
    }

    /// Handles an opened connection. Returns whether the connection belongs to an observer.
    pub(super) fn observer_opened(&mut self, conn: ConnId) -> bool {
        let offers = json!(self.setup().offers);
        let Some(observer) = self.observer(conn) else {
            return false;
        };
        observer.asked.insert(ROOT.to_owned());
        let output = observer.ask(
            "initialize",
            json!({
                "channel": ROOT,
                "protocolVersions": offers,
                "clientId": observer.engine.client_id,
                "initialSubscriptions": [ROOT],
            }),
        );
        self.outputs.push(output);
        true
    }

    /// Handles a received message. Returns whether the message was for an observer.
    pub(super) fn observer_told(&mut self, conn: ConnId, message: Option<&Message>) -> bool {
        let created: Vec<String> = self.created.channels().map(str::to_owned).collect();
        let Some(observer) = self.observer(conn) else {
            return false;
        };
        let Some(message) = message else {
            return true;
        };
        let id = message.id().and_then(Value::as_u64);
        let asked = id.and_then(|id| observer.engine.awaits(id)).map(str::to_owned);
        let lifted = observer.engine.handle(message);
        let message = lifted.as_ref().unwrap_or(message);
        let Some(method) = asked else {
            return true;
        };
        observer.open = observer.open.saturating_sub(1);
        let mut outputs = Vec::new();
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
            self.observer_gone(conn);
        }
        outputs.into_iter().for_each(|output| self.outputs.push(output));
        true
    }

    /// Handles the end of a connection. Returns whether the connection belonged to an observer.
    pub(super) fn observer_gone(&mut self, conn: ConnId) -> bool {
        let found = self.observer(conn).is_some();
        if let Some(observers) = &mut self.observers {
            observers.here.retain(|observer| observer.conn != conn);
        }
        found
    }

    /// Forgets all observers, because a restart of the host closed their connections.
    pub(super) fn observers_lost(&mut self) {
        if let Some(observers) = &mut self.observers {
            observers.here.clear();
        }
    }

    fn observer(&mut self, conn: ConnId) -> Option<&mut JoiningObserver> {
        self.observers.as_mut()?.here.iter_mut().find(|observer| observer.conn == conn)
    }
}
