//! The clients of a load, with the lists and counts of those that can act and those that do not read.
//!
//! Knows: clients. Never knows: sessions, connections of other clients, times.
//!
//! Start at [`LoadRoster`].

use std::collections::HashMap;

use super::client::{ClientStage, LoadClient};

/// All clients of a load.
#[derive(Debug, Default)]
pub struct LoadRoster {
    clients: Vec<LoadClient>,
    /// The clients that can act, so that one of them can be chosen in constant time.
    active: Vec<usize>,
    /// For each client its index in `active`; `None` if the client cannot act.
    places: Vec<Option<usize>>,
    /// The number of clients that do not read.
    held: usize,
    /// The index of each client and the number of its identity. The key is the `clientId`.
    by_name: HashMap<String, (usize, u32)>,
}

impl LoadRoster {
    /// Adds a client without a connection.
    pub fn add(&mut self, name: String, session: usize, watches_root: bool) {
        self.by_name.insert(name.clone(), (self.clients.len(), 0));
        self.clients.push(LoadClient::new(name, session, watches_root));
        self.places.push(None);
    }

    /// Returns the number of clients.
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Returns whether there are no clients.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Returns all clients.
    pub fn iter(&self) -> impl Iterator<Item = &LoadClient> {
        self.clients.iter()
    }

    /// Returns a client for changes that do not concern the stage.
    pub fn get_mut(&mut self, client: usize) -> &mut LoadClient {
        &mut self.clients[client]
    }

    /// Returns the clients that can act.
    pub fn active(&self) -> &[usize] {
        &self.active
    }

    /// Returns the clients of a list that can act.
    pub fn active_of(&self, clients: &[usize]) -> Vec<usize> {
        clients.iter().copied().filter(|it| self[*it].stage() == ClientStage::Active).collect()
    }

    /// Returns the number of clients that do not read.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Returns the index of the client that has or had this `clientId`, and the number of that identity.
    pub fn by_name(&self, name: &str) -> Option<(usize, u32)> {
        self.by_name.get(name).copied()
    }

    /// Records that a client can act.
    pub fn activate(&mut self, client: usize) {
        self.enter(client, ClientStage::Active);
        if self.places[client].is_none() {
            self.places[client] = Some(self.active.len());
            self.active.push(client);
        }
    }

    /// Records that a client cannot act until it has subscribed again.
    pub fn rejoin(&mut self, client: usize) {
        self.deactivate(client);
        self.enter(client, ClientStage::Joining);
    }

    /// Records that a client stops reading.
    pub fn hold(&mut self, client: usize) {
        self.deactivate(client);
        self.enter(client, ClientStage::Held);
    }

    /// Records that a client failed to connect or to join. Returns the number of its failures in a row; `None` if the
    /// client gives up, because there were too many.
    pub fn failed(&mut self, client: usize) -> Option<u32> {
        let failures = self.clients[client].failed();
        if failures.is_none() {
            self.deactivate(client);
            self.enter(client, ClientStage::Failed);
        }
        failures
    }

    /// Handles the end of a client's connection.
    pub fn lost(&mut self, client: usize) {
        self.deactivate(client);
        self.enter(client, ClientStage::Away);
        self.clients[client].lost();
    }

    /// Gives a client without a connection another identity.
    pub fn replace(&mut self, client: usize, name: String) {
        self.clients[client].replace(name.clone());
        let identity = self.clients[client].identity();
        self.by_name.insert(name, (client, identity));
        // The previous identity is kept, because its last actions may still arrive at other clients.
        self.by_name.retain(|_, (it, known)| *it != client || *known + 1 >= identity);
    }

    fn enter(&mut self, client: usize, stage: ClientStage) {
        let was_held = self.clients[client].stage() == ClientStage::Held;
        self.held -= usize::from(was_held);
        self.held += usize::from(stage == ClientStage::Held);
        self.clients[client].enter(stage);
    }

    fn deactivate(&mut self, client: usize) {
        let Some(place) = self.places[client].take() else { return };
        self.active.swap_remove(place);
        if let Some(moved) = self.active.get(place) {
            self.places[*moved] = Some(place);
        }
    }
}

impl std::ops::Index<usize> for LoadRoster {
    type Output = LoadClient;

    fn index(&self, client: usize) -> &LoadClient {
        &self.clients[client]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_counts_follow_the_stages() {
        let mut roster = LoadRoster::default();
        for place in 0..4 {
            roster.add(format!("c{place}"), 0, false);
            roster.activate(place);
        }
        roster.activate(1);
        assert_eq!(roster.active(), [0, 1, 2, 3]);
        roster.hold(0);
        roster.rejoin(1);
        assert_eq!((roster.active(), roster.held()), (&[3, 2][..], 1));
        roster.activate(0);
        assert_eq!((roster.active_of(&[0, 1, 2]), roster.held()), (vec![0, 2], 0));
        roster.hold(0);
        roster.lost(0);
        assert_eq!((roster.active(), roster.held()), (&[3, 2][..], 0));
    }

    #[test]
    fn the_previous_identity_stays_known() {
        let mut roster = LoadRoster::default();
        roster.add("first".to_owned(), 0, false);
        roster.replace(0, "second".to_owned());
        assert_eq!(
            (roster.by_name("first"), roster.by_name("second")),
            (Some((0, 0)), Some((0, 1)))
        );
        roster.replace(0, "third".to_owned());
        assert_eq!((roster.by_name("first"), roster.by_name("third")), (None, Some((0, 2))));
    }
}
