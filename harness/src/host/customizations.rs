//! Customizations of sessions: the host's own, those that active clients publish, and the decisions
//! about them.
//!
//! A plugin of a client stands in the session's list as long as its client is active there. It has to
//! bring its children along: this host reads nobody's files, so that a plugin without them could not
//! be loaded, and says so.
//!
//! Readings taken where the specification is silent:
//! - An id stays as it was published where it is free; otherwise the client's own id goes before it.
//! - Decisions that come in another order than session, workspace, global, or twice for one scope,
//!   are taken and published once more as they count.
//! - What is off stops: an MCP server that is turned off, or whose container is. Turned on again, it
//!   waits for somebody to start it.
//! - `mcpApp` and side channels stand in the one state that all subscribers share: they are there where
//!   the client shows MCP apps that made the session, or published the server.
//!
//! Knows: sessions, decisions. Never knows: what is said to an MCP server.
//!
//! Start at [`RefHost::follow_plugins`].

use std::collections::HashSet;

use crate::wire::json::{Map, Value, json};

use super::engine::RefHost;
use super::{asking, mcp};
use crate::wire::protocol::Protocol;

/// Scopes of decisions, the one that counts first. Source: changelog 0.8.0.
const SCOPES: [&str; 3] = ["session", "workspace", "global"];
/// What a client tells the host about its plugin and nobody else needs.
const PRIVATE: &[&str] = &["nonce", "childEnablement", "load"];

/// A plugin that a client brought.
#[derive(Clone, Debug)]
pub(super) struct ClientPlugin {
    client: String,
    /// As the client published it.
    source: Value,
    /// Its id in the session's list.
    id: String,
}

/// What every session has from the start: a plugin with a skill and an MCP server that nobody has
/// started yet, and a directory of skills. What an app could do is said where `apps` are shown.
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

/// Gives every container of a session the id of the first one.
pub(super) fn repeat_ids(session: &mut Value) {
    let containers =
        session["customizations"].as_array_mut().map_or(&mut [][..], Vec::as_mut_slice);
    if let Some((first, others)) = containers.split_first_mut() {
        others.iter_mut().for_each(|other| other["id"] = first["id"].clone());
    }
}

/// The containers of a session.
pub(super) fn containers(session: &Value) -> &[Value] {
    session["customizations"].as_array().map_or(&[], Vec::as_slice)
}

fn children(container: &Value) -> &[Value] {
    container["children"].as_array().map_or(&[], Vec::as_slice)
}

/// Everything that a session lists, each with its container, which may be itself.
pub(super) fn entries(session: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    let both = |container| {
        let inner = children(container).iter();
        std::iter::once((container, container)).chain(inner.map(move |it| (container, it)))
    };
    containers(session).iter().flat_map(both)
}

/// Whether the decisions about an entry and its container leave it on.
pub(super) fn is_on(container: &Value, entry: &Value) -> bool {
    let on = |it: &Value| it["enablement"][0]["enabled"] != false && it["enabled"] != false;
    on(container) && on(entry)
}

/// Decisions in the order in which they count, one for each scope; unknown scopes come last.
fn in_order(decisions: &[Value]) -> Vec<Value> {
    let scope = |it: &Value| it["kind"].as_str().unwrap_or("").to_owned();
    let place =
        |it: &Value| SCOPES.iter().position(|known| *known == scope(it)).unwrap_or(SCOPES.len());
    let mut sorted = decisions.to_vec();
    sorted.sort_by_key(place);
    sorted.dedup_by(|later, first| scope(later) == scope(first));
    sorted
}

/// Puts decisions where an entry of its type keeps them.
pub(super) fn decide(entry: &mut Value, decisions: Vec<Value>) {
    let listed = matches!(entry["type"].as_str(), Some("plugin" | "mcpServer"));
    match (listed, decisions.first()) {
        (true, Some(_)) => entry["enablement"] = json!(decisions),
        (false, Some(first)) => entry["enabled"] = first["enabled"].clone(),
        (_, None) => {}
    }
}

/// The plugins that the active clients of a session publish, each once.
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

impl ClientPlugin {
    fn is(&self, client: &str, plugin: &Value) -> bool {
        self.client == client && self.source["id"] == plugin["id"]
    }
}

impl RefHost {
    /// Makes a session's list hold the plugins of its active clients.
    /// Source: `session.customizations.client-plugin-propagated`, `disconnect.customizations-removed`.
    pub(super) fn follow_plugins(&mut self, session: &str) {
        let wanted = published(self.state(session));
        let mut known = self.brought.remove(session).unwrap_or_default();
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
        if !known.is_empty() {
            self.brought.insert(session.to_owned(), known);
        }
        for (client, source) in elsewhere {
            self.ask_for_plugin(session, &client, &source);
        }
        self.close_side_channels(session);
    }

    /// Says the whole list where there is no word for a customization that goes.
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

    /// The id that a client's plugin is listed by, where it still is.
    pub(super) fn brought_as(&self, session: &str, client: &str, source: &Value) -> Option<String> {
        let mut known = self.brought.get(session)?.iter();
        known.find(|it| it.client == client && it.source == *source).map(|it| it.id.clone())
    }

    /// Lists a plugin again, now that its client has said what is in it, or has not.
    pub(super) fn plugin_known(&mut self, session: &str, client: &str, source: &Value, id: &str) {
        let entry = self.surface(session, client, source, Some(id), true);
        self.list_plugin(session, entry);
    }

    /// The entry of a client's plugin; `own_id` is the id that it has already, `asked` that its client was
    /// asked for what is in it.
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
                self.first_server_state(&mut child, self.shows_apps(client));
            }
            self.put_in_order(&mut child);
            Some(child)
        };
        entry["children"] = given.iter().filter_map(child).collect();
        entry
    }

    /// Puts an entry's decisions in their order. Source: `session.customizations.enablement-sorted`.
    fn put_in_order(&self, entry: &mut Value) {
        if let Some(decisions) = entry["enablement"].as_array() {
            entry["enablement"] = json!(self.published(decisions));
        }
    }

    /// Decisions as they are published.
    fn published(&self, decisions: &[Value]) -> Vec<Value> {
        let mut sorted = in_order(decisions);
        if !self.keeps("session.customizations.enablement-sorted") {
            sorted.reverse();
        }
        sorted
    }

    /// What follows when an entry was turned on or off.
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

    /// Publishes an entry once more, with decisions that count as they stand.
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

/// An object without some of its members, and without those that are null.
fn without(value: &Value, members: &[&str]) -> Value {
    let given = value.as_object().into_iter().flatten();
    let kept = given.filter(|(name, value)| !members.contains(&name.as_str()) && !value.is_null());
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect::<Map>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_count_from_the_session_outwards_and_once() {
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
