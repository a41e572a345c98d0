//! Customizations of sessions: the host's own customizations, the plugins of active clients, and the decisions
//! to enable or disable customizations.
//!
//! A client's plugin is in the session's list as long as the client is active in the session. The plugin has to
//! include its children: this host reads no plugin files, so a plugin without children gets the load state
//! `error`, unless the publishing client serves the contents.
//!
//! Interpretations where the specification is silent:
//! - The host keeps a published id if it is free; otherwise it prepends the client id.
//! - The host accepts decisions in another order than session, workspace, global, and several decisions for one
//!   scope. Afterwards the host publishes the decisions again in the effective order.
//! - The host stops an MCP server that is disabled, or whose container is disabled. A server that is enabled
//!   again stays stopped until a client starts the server.
//! - All subscribers share `mcpApp` and side channels in one state. `mcpApp` and side channels are present if
//!   the client that created the session, or the client that published the server, shows MCP apps.
//!
//! Knows: sessions, decisions. Never knows: the messages to an MCP server.
//!
//! Start at [`RefHost::follow_plugins`].

use std::collections::HashSet;

use crate::wire::json::{Map, Value, json};

use super::engine::RefHost;
use super::published_plugins::ClientPlugin;
use super::{asking, mcp};
use crate::wire::protocol::Protocol;

/// The scopes of decisions; an earlier scope overrides a later scope. Source: changelog 0.8.0.
const SCOPES: [&str; 3] = ["session", "workspace", "global"];
/// The members of a client's plugin that the host does not publish to other clients.
const PRIVATE: &[&str] = &["nonce", "childEnablement", "load"];

/// Returns the customizations of a new session: a plugin with a skill and a stopped MCP server, and a directory
/// of skills. With `apps`, the server also lists the capabilities of MCP apps.
pub(super) fn own(apps: bool) -> Value {
    let mut server = json!({
        "type": "mcpServer", "id": "host-echo", "name": "Echo",
        "uri": "file:///host/plugins/tools/mcp.json", "state": {"kind": "stopped"},
    });
    if apps {
        server["mcpApp"] = mcp::app();
    }
    json!([
        {
            "type": "plugin", "id": "host-tools", "uri": "file:///host/plugins/tools",
            "name": "Host tools", "load": {"kind": "loaded"},
            "enablement": [{"kind": "global", "enabled": true}],
            "children": [
                {
                    "type": "skill", "id": "host-greeting", "name": "Greeting",
                    "uri": "file:///host/plugins/tools/greeting/SKILL.md",
                },
                server,
            ],
        },
        {
            "type": "directory", "id": "host-skills", "uri": "file:///host/skills",
            "name": "Skills of the host", "load": {"kind": "loaded"}, "enabled": true,
            "contents": "skill", "writable": false, "children": [],
        },
    ])
}

/// Gives every container of a session the id of the first container; an injected fault uses this function.
pub(super) fn repeat_ids(session: &mut Value) {
    let containers =
        session["customizations"].as_array_mut().map_or(&mut [][..], Vec::as_mut_slice);
    if let Some((first, others)) = containers.split_first_mut() {
        others.iter_mut().for_each(|other| other["id"] = first["id"].clone());
    }
}

/// Returns the containers of a session.
pub(super) fn containers(session: &Value) -> &[Value] {
    session["customizations"].as_array().map_or(&[], Vec::as_slice)
}

fn children(container: &Value) -> &[Value] {
    container["children"].as_array().map_or(&[], Vec::as_slice)
}

/// Returns all customizations of a session, each with its container. A container counts as its own container.
pub(super) fn entries(session: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    let both = |container| {
        let inner = children(container).iter();
        std::iter::once((container, container)).chain(inner.map(move |it| (container, it)))
    };
    containers(session).iter().flat_map(both)
}

/// Returns whether the decisions leave both an entry and its container enabled.
pub(super) fn is_on(container: &Value, entry: &Value) -> bool {
    let on = |it: &Value| it["enablement"][0]["enabled"] != false && it["enabled"] != false;
    on(container) && on(entry)
}

/// Sorts decisions by scope, with the effective decision first, and keeps one decision for each scope.
/// Decisions with an unknown scope come last.
fn in_order(decisions: &[Value]) -> Vec<Value> {
    let scope = |it: &Value| it["kind"].as_str().unwrap_or("").to_owned();
    let place =
        |it: &Value| SCOPES.iter().position(|known| *known == scope(it)).unwrap_or(SCOPES.len());
    let mut sorted = decisions.to_vec();
    sorted.sort_by_key(place);
    sorted.dedup_by(|later, first| scope(later) == scope(first));
    sorted
}

/// Stores decisions in the member that an entry of this type uses: `enablement` or `enabled`.
pub(super) fn decide(entry: &mut Value, decisions: Vec<Value>) {
    let listed = matches!(entry["type"].as_str(), Some("plugin" | "mcpServer"));
    match (listed, decisions.first()) {
        (true, Some(_)) => entry["enablement"] = json!(decisions),
        (false, Some(first)) => entry["enabled"] = first["enabled"].clone(),
        (_, None) => {}
    }
}

/// Returns the plugins that the active clients of a session publish, without duplicates.
fn published(session: &Value) -> Vec<(String, Value)> {
    let clients = session["activeClients"].as_array().into_iter().flatten();
    let mut seen = HashSet::new();
    let mut plugins = Vec::new();
    for client in clients {
        let id = client["clientId"].as_str().unwrap_or("");
        for plugin in client["customizations"].as_array().into_iter().flatten() {
            if seen.insert((id, plugin["id"].as_str().unwrap_or(""))) {
                plugins.push((id.to_owned(), plugin.clone()));
            }
        }
    }
    plugins
}

impl RefHost {
    /// Updates a session's list of customizations, so that it contains the plugins of the active clients. Source:
    /// `session.customizations.client-plugin-propagated`, `disconnect.customizations-removed`.
    pub(super) fn follow_plugins(&mut self, session: &str) {
        let wanted = published(self.state(session));
        let mut known = self.plugins.take(session);
        if self.keeps("disconnect.customizations-removed") {
            let stays = |it: &ClientPlugin| wanted.iter().any(|(client, new)| it.is(client, new));
            let gone: Vec<ClientPlugin> = known.extract_if(.., |it| !stays(it)).collect();
            let any = !gone.is_empty();
            for it in gone {
                self.publish(session, json!({"type": "session/customizationRemoved", "id": it.id}));
            }
            if any {
                self.list_anew(session);
            }
        }
        let mut elsewhere = Vec::new();
        for (client, source) in wanted {
            let at = known.iter().position(|it| it.is(&client, &source));
            if at.and_then(|at| known.get(at)).is_some_and(|it| it.source == source) {
                continue;
            }
            let before = at.map(|at| known.remove(at));
            let own_id = before.map(|it| it.id);
            let entry = self.surface(session, &client, &source, own_id.as_deref(), false);
            let id = entry["id"].as_str().unwrap_or("").to_owned();
            if entry["load"]["kind"] == "loading" {
                elsewhere.push((client.clone(), source.clone()));
            }
            known.push(ClientPlugin { client, source, id });
            self.list_plugin(session, entry);
        }
        self.plugins.put(session, known);
        for (client, source) in elsewhere {
            self.ask_for_plugin(session, &client, &source);
        }
        self.close_side_channels(session);
    }

    /// Sends the whole list to clients of versions that have no `session/customizationRemoved`.
    fn list_anew(&mut self, session: &str) {
        let customizations = self.state(session)["customizations"].clone();
        let action =
            json!({"type": "session/customizationsChanged", "customizations": customizations});
        let wordless = |it: &Protocol| it.action("session/customizationRemoved").is_none();
        self.say_old(session, &action, wordless);
    }

    fn list_plugin(&mut self, session: &str, entry: Value) {
        let servers: Vec<String> = children(&entry).iter().filter_map(mcp::server_id).collect();
        let action = json!({"type": "session/customizationUpdated", "customization": entry});
        self.publish(session, action);
        servers.iter().for_each(|server| self.start_server(session, server));
    }

    /// Returns the id under which the session lists a client's plugin; `None` if the session no longer lists
    /// the plugin.
    pub(super) fn brought_as(&self, session: &str, client: &str, source: &Value) -> Option<String> {
        self.plugins.id_of(session, client, source).map(str::to_owned)
    }

    /// Publishes a plugin again after the client has sent the contents of the plugin or has failed to send
    /// them.
    pub(super) fn plugin_known(&mut self, session: &str, client: &str, source: &Value, id: &str) {
        let entry = self.surface(session, client, source, Some(id), true);
        self.list_plugin(session, entry);
    }

    /// Returns the list entry of a client's plugin. `own_id` is the existing id of the entry, and `asked`
    /// states whether the host asked the client for the contents of the plugin.
    fn surface(
        &self,
        session: &str,
        client: &str,
        source: &Value,
        own_id: Option<&str>,
        asked: bool,
    ) -> Value {
        let others = entries(self.state(session)).filter(|(it, _)| it["id"].as_str() != own_id);
        let mut taken: HashSet<String> =
            others.filter_map(|(_, it)| it["id"].as_str().map(str::to_owned)).collect();
        let mut free = |id: &Value| {
            let mut id = id.as_str().unwrap_or("").to_owned();
            while self.keeps("session.customizations.ids-unique") && taken.contains(&id) {
                id = format!("{client}:{id}");
            }
            taken.insert(id.clone());
            id
        };
        let mut entry = without(source, PRIVATE);
        entry["type"] = json!("plugin");
        entry["clientId"] = json!(client);
        entry["id"] = json!(own_id.map_or_else(|| free(&source["id"]), str::to_owned));
        self.put_in_order(&mut entry);
        let none = Vec::new();
        let unread = (!self.keeps("session.customizations.load-state")).then_some(&none);
        let Some(given) = source["children"].as_array().or(unread) else {
            if !asked && asking::is_elsewhere(source) {
                entry["load"] = json!({"kind": "loading"});
                return entry;
            }
            let message = "this host reads no plugins: expected `children` beside the plugin";
            entry["load"] = json!({"kind": "error", "message": message});
            return entry;
        };
        entry["load"] = json!({"kind": "loaded"});
        let child = |given: &Value| {
            let mut child = without(given, &[]);
            if let Some(decisions) = source["childEnablement"][given["id"].as_str()?].as_array() {
                decide(&mut child, decisions.clone());
            }
            child["id"] = json!(free(&given["id"]));
            if given["type"] == "mcpServer" {
                self.first_server_state(&mut child, self.clients.shows_apps(client));
            }
            self.put_in_order(&mut child);
            Some(child)
        };
        entry["children"] = given.iter().filter_map(child).collect();
        entry
    }

    /// Sorts an entry's decisions. Source: `session.customizations.enablement-sorted`.
    fn put_in_order(&self, entry: &mut Value) {
        if let Some(decisions) = entry["enablement"].as_array() {
            entry["enablement"] = json!(self.published(decisions));
        }
    }

    /// Returns decisions in the order in which the host publishes them.
    fn published(&self, decisions: &[Value]) -> Vec<Value> {
        let mut sorted = in_order(decisions);
        if !self.keeps("session.customizations.enablement-sorted") {
            sorted.reverse();
        }
        sorted
    }

    /// Handles an enabled or disabled entry: publishes sorted decisions and stops disabled servers.
    pub(super) fn toggled(&mut self, session: &str, action: &Value) {
        let decisions = action["enablement"].as_array().map_or(&[][..], Vec::as_slice);
        let sorted = self.published(decisions);
        if sorted != decisions {
            self.decide_again(session, &action["id"], &sorted);
        }
        if !self.keeps("session.customizations.toggle") {
            return;
        }
        let off = |(container, it): (&Value, &Value)| match is_on(container, it) {
            true => None,
            false => mcp::server_id(it),
        };
        let off: Vec<String> = entries(self.state(session)).filter_map(off).collect();
        off.iter().for_each(|server| self.stop_server(session, server));
    }

    fn entry(&self, session: &str, id: &Value) -> Option<(&Value, &Value)> {
        entries(self.state(session)).find(|(_, it)| it["id"] == *id)
    }

    /// Publishes an entry again with these decisions.
    fn decide_again(&mut self, session: &str, id: &Value, decisions: &[Value]) {
        let Some((container, _)) = self.entry(session, id) else {
            return;
        };
        let mut container = container.clone();
        let own = container["id"] == *id;
        let inner = container.get_mut("children").and_then(Value::as_array_mut);
        let child = inner.and_then(|inner| inner.iter_mut().find(|it| it["id"] == *id));
        match child.filter(|_| !own) {
            Some(child) => decide(child, decisions.to_vec()),
            None => decide(&mut container, decisions.to_vec()),
        }
        let action = json!({"type": "session/customizationUpdated", "customization": container});
        self.publish(session, action);
    }
}

/// Returns an object without these members and without members that are null.
fn without(value: &Value, members: &[&str]) -> Value {
    let given = value.as_object().into_iter().flatten();
    let kept = given.filter(|(name, value)| !members.contains(&name.as_str()) && !value.is_null());
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect::<Map>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_sorted_and_unique() {
        let check = |kinds: &[&str], expected: &[&str]| {
            let decision = |kind: &&str| json!({"kind": kind, "enabled": true});
            let decisions: Vec<Value> = kinds.iter().map(decision).collect();
            let sorted = in_order(&decisions);
            let found: Vec<&str> = sorted.iter().filter_map(|it| it["kind"].as_str()).collect();
            assert_eq!(found, expected, "{kinds:?}");
        };
        check(&[], &[]);
        check(&["global", "session"], &["session", "global"]);
        check(&["workspace", "global", "workspace"], &["workspace", "global"]);
        check(&["x-mine", "global", "workspace"], &["workspace", "global", "x-mine"]);
    }
}
