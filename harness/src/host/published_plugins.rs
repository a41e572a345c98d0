//! The plugins that clients have published in sessions.
//!
//! Owns: the plugins. Knows: nothing else. Never knows: states, the content of plugins.
//!
//! Start at [`PublishedPlugins`].

use litemap::LiteMap;

use crate::wire::json::Value;

/// A plugin that a client has published.
#[derive(Clone, Debug)]
pub(super) struct ClientPlugin {
    pub(super) client: String,
    /// The plugin as the client published it.
    pub(super) source: Value,
    /// The id of the plugin in the session's list.
    pub(super) id: String,
}

impl ClientPlugin {
    /// Returns whether this is the plugin that a client publishes under the id of `plugin`.
    pub(super) fn is(&self, client: &str, plugin: &Value) -> bool {
        self.client == client && self.source["id"] == plugin["id"]
    }
}

/// The plugins that clients have published.
#[derive(Debug, Default)]
pub(super) struct PublishedPlugins {
    /// The plugins of each session.
    published: LiteMap<String, Vec<ClientPlugin>>,
}

impl PublishedPlugins {
    /// Removes the plugins of a session.
    pub(super) fn forget(&mut self, session: &str) {
        self.published.remove(session);
    }

    /// Removes the plugins of a session and returns them, so that they can be changed.
    pub(super) fn take(&mut self, session: &str) -> Vec<ClientPlugin> {
        self.published.remove(session).unwrap_or_default()
    }

    /// Sets the plugins of a session.
    pub(super) fn put(&mut self, session: &str, plugins: Vec<ClientPlugin>) {
        if !plugins.is_empty() {
            self.published.insert(session.to_owned(), plugins);
        }
    }

    /// Returns the id under which a session lists a client's plugin; `None` if the session no longer lists the plugin.
    pub(super) fn id_of(&self, session: &str, client: &str, source: &Value) -> Option<&str> {
        let mut known = self.published.get(session)?.iter();
        known.find(|it| it.client == client && it.source == *source).map(|it| it.id.as_str())
    }
}
