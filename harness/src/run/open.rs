//! A case whose steps come while it is played, and what whoever draws them may look at.

use std::sync::Arc;
use std::time::Duration;

use crate::peer::client::ClientEngine;
use crate::scenario::bind::NameBindings;
use crate::scenario::parse::ScenarioStep;
use crate::transcript::ConnId;
use crate::wire::json::Value;

use super::case::ScenarioCase;

impl ScenarioCase {
    /// Waits for further steps instead of ending after the last one.
    pub fn leave_open(&mut self) {
        self.open_ended = true;
        // Nobody knows yet whether a step is going to look at one.
        self.peers.iter_mut().for_each(|peer| peer.engine.keep_mirrors());
    }

    /// Plays further steps after those that there are.
    pub fn append(&mut self, now: Duration, steps: Vec<ScenarioStep>) {
        Arc::make_mut(&mut self.setup.scenario).steps.extend(steps);
        self.advance(now);
    }

    /// Binds a name, as a pattern would.
    pub fn learn(&mut self, name: &str, value: Value) {
        self.bindings.set(name, value);
    }

    /// What names are bound to.
    pub fn bindings(&self) -> &NameBindings {
        &self.bindings
    }

    /// A client of the scenario: what it knows, and its connection while there is one.
    pub fn client(&self, name: &str) -> Option<(&ClientEngine, Option<ConnId>)> {
        let peer = self.peers.iter().find(|peer| peer.name == name)?;
        Some((&peer.engine, peer.conn.filter(|_| peer.connected)))
    }

    /// Whether a step still waits for something.
    pub fn waits(&self) -> bool {
        self.current.is_some() || !self.tasks.is_empty()
    }
}
