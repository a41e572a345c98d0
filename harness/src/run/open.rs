//! Methods for cases whose steps are generated while the case is played. The generator of the steps can look at the
//! state of the case.

use std::time::Duration;

use crate::peer::client::ClientEngine;
use crate::scenario::bind::NameBindings;
use crate::scenario::parse::ScenarioStep;
use crate::transcript::ConnId;
use crate::wire::json::Value;

use super::case::ScenarioCase;

impl ScenarioCase {
    /// Makes the case wait for further steps instead of ending after the last one.
    pub fn leave_open(&mut self) {
        self.progress.leave_open();
        // A later step may look at a mirror, so all clients keep mirrors.
        self.clients.keep_mirrors();
    }

    /// Appends steps and plays them.
    pub fn append(&mut self, now: Duration, steps: Vec<ScenarioStep>) {
        self.add_steps(steps);
        self.advance(now);
    }

    /// Binds a name, as a matching pattern does.
    pub fn learn(&mut self, name: &str, value: Value) {
        self.names.set(name, value);
    }

    /// Returns the bindings.
    pub fn bindings(&self) -> &NameBindings {
        self.names.bindings()
    }

    /// Returns a client of the scenario and its connection; the connection is `None` if the client is not
    /// connected.
    pub fn client(&self, name: &str) -> Option<(&ClientEngine, Option<ConnId>)> {
        let peer = self.clients.get(self.clients.named(name)?)?;
        Some((&peer.engine, peer.open_conn()))
    }

    /// Returns whether the case still plays one of the steps that it has so far.
    pub fn waits(&self) -> bool {
        self.progress.is_busy()
    }
}
