//! Keeps track of the resources that a case creates on the host.
//!
//! Knows: the requests, actions and notifications about resources. Never knows: clients, how a resource is removed.
//!
//! Start at [`CreatedResources`].

use litemap::LiteMap;

use crate::scenario::bind::OWN_PATH;
use crate::wire::json::Value;
use crate::wire::message::Message;

/// The requests that create a channel, each with the method, the member of the params that contains the URI, and the
/// method that disposes of the channel. A host removes a session's chats with the session, except for chats that were
/// moved.
const CREATORS: &[(&str, &str, &str)] = &[
    ("createTerminal", "channel", "disposeTerminal"),
    ("createSession", "channel", "disposeSession"),
];

/// The requests that create a file or a folder, each with the member of the params that contains the URI.
const MAKERS: &[(&str, &str)] = &[
    ("resourceMkdir", "uri"),
    ("resourceWrite", "uri"),
    ("resourceCopy", "destination"),
    ("resourceMove", "destination"),
];

/// The request that deletes a file or a folder.
pub(super) const DELETE: &str = "resourceDelete";

/// The action that creates an automation and the action that removes it. The sessions of an automation's runs
/// remain; their `origin` names the automation.
pub(super) const AUTOMATION: (&str, &str) = ("automation/createRequested", "automation/removed");

/// The channel of automations.
pub(super) const AUTOMATIONS: &str = "ahp-automations://";

/// The maximum number of resources that a case tracks.
const MAX_CREATED: usize = 1_000;

/// The resources that the case asked the host to create, each as (cleanup method, name). The value says whether the
/// cleanup has handled the resource. The entry stays even if the scenario itself disposes of the resource: the host may
/// have refused the request, and a second dispose request is harmless.
#[derive(Debug, Default)]
pub(super) struct CreatedResources(LiteMap<(&'static str, String), bool>);

impl CreatedResources {
    /// Records the resource that an outgoing request of the case creates.
    pub(super) fn asked(&mut self, method: &str, params: &Value) {
        for (create, member, dispose) in CREATORS {
            let Some(name) = params[*member].as_str() else {
                continue;
            };
            if method == *create {
                self.add(dispose, name);
            }
        }
        let own = |uri: &&str| uri.rsplit('/').next().is_some_and(|it| it.starts_with(OWN_PATH));
        let maker = MAKERS.iter().find(|(maker, _)| *maker == method);
        if let Some(uri) = maker.and_then(|(_, member)| params[*member].as_str()).filter(own) {
            self.add(DELETE, uri);
        }
        let (create, remove) = AUTOMATION;
        let action = &params["action"];
        if let Some(name) = action["resource"].as_str()
            && action["type"] == create
        {
            self.add(remove, name);
        }
    }

    fn add(&mut self, how: &'static str, name: &str) {
        let key = (how, name.to_owned());
        if self.0.len() < MAX_CREATED && self.0.get(&key).is_none() {
            self.0.insert(key, false);
        }
    }

    fn is_ours(&self, automation: &Value) -> bool {
        let name = automation.as_str();
        name.is_some_and(|name| self.0.get(&(AUTOMATION.1, name.to_owned())).is_some())
    }

    /// Records resources from an incoming notification: terminals that the host opened for a session of this
    /// case, for example for a tool call, and sessions that runs of this case's automations created. A host may
    /// keep such terminals when the session is disposed.
    ///
    /// Returns whether the message is an `automation/set` for an automation of this case. A host accepts
    /// `automation/createRequested` by sending `automation/set` instead of an echo.
    pub(super) fn noticed(&mut self, message: &Message) -> bool {
        let action = &message.params()["action"];
        let automation = &action["automation"];
        let ours = action["type"] == "automation/set" && self.is_ours(&automation["resource"]);
        if ours {
            let runs = automation["runs"].as_array().into_iter().flatten();
            for session in runs.filter_map(|run| run["primarySession"].as_str()) {
                self.add("disposeSession", session);
            }
        }
        if action["type"] != "root/terminalsChanged" {
            return ours;
        }
        for terminal in action["terminals"].as_array().into_iter().flatten() {
            let (resource, session) = (&terminal["resource"], &terminal["claim"]["session"]);
            if let (Some(resource), Some(session)) = (resource.as_str(), session.as_str())
                && self.0.contains_key(&("disposeSession", session.to_owned()))
            {
                self.add("disposeTerminal", resource);
            }
        }
        ours
    }

    /// Records the sessions in a `listSessions` result that runs of this case's automations created. The harness looks
    /// for these sessions in the list, because the host may not have notified any client of their creation.
    pub(super) fn listed(&mut self, result: &Value) {
        for session in result["items"].as_array().into_iter().flatten() {
            if let Some(name) = session["resource"].as_str()
                && self.is_ours(&session["origin"]["automation"])
            {
                self.add("disposeSession", name);
            }
        }
    }

    /// Records the resource that a hand-written frame of the scenario creates.
    pub(super) fn sent(&mut self, message: &Message) {
        if let Some(method) = message.method() {
            self.asked(method, message.params());
        }
    }

    /// Returns the channels on which the created resources are visible.
    pub(super) fn channels(&self) -> impl Iterator<Item = &str> {
        let channels = self.left().filter(|(how, _)| *how != DELETE);
        channels.map(|(how, name)| if *how == AUTOMATION.1 { AUTOMATIONS } else { name.as_str() })
    }

    /// Returns the resources that the cleanup has not handled yet, and marks them as handled.
    pub(super) fn take_unseen(&mut self) -> Vec<(&'static str, String)> {
        let unseen = self.0.iter_mut().filter(|(_, seen)| !**seen);
        unseen
            .map(|(key, seen)| {
                *seen = true;
                key.clone()
            })
            .collect()
    }

    /// Returns all resources to remove, each as (method, name).
    pub(super) fn left(&self) -> impl Iterator<Item = &(&'static str, String)> {
        self.0.keys()
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::channel::ROOT;
    use crate::wire::json::json;

    use super::*;

    fn check(frames: &[(&str, Value)], expected: &[(&str, &str)]) {
        let mut created = CreatedResources::default();
        for (method, params) in frames {
            created.asked(method, params);
            created.noticed(&Message::notification(method, params.clone()));
        }
        let left: Vec<_> = created.left().map(|(how, what)| (*how, what.as_str())).collect();
        assert_eq!(left, expected, "{frames:?}");
    }

    #[test]
    fn remembers_what_to_dispose_of() {
        let create = ("createSession", json!({"channel": "s"}));
        let terminal = |session: &str| {
            let terminals = json!([{"resource": "t", "claim": {"session": session}}]);
            let action = json!({"type": "root/terminalsChanged", "terminals": terminals});
            ("action", json!({"channel": ROOT, "action": action}))
        };
        check(std::slice::from_ref(&create), &[("disposeSession", "s")]);
        let asked = ("disposeSession", json!({"channel": "s"}));
        check(&[create.clone(), asked], &[("disposeSession", "s")]);
        check(
            &[create.clone(), terminal("s")],
            &[("disposeSession", "s"), ("disposeTerminal", "t")],
        );
        check(&[create, terminal("of somebody else")], &[("disposeSession", "s")]);
        let folder = |uri: &str| ("resourceMkdir", json!({"channel": ROOT, "uri": uri}));
        let own = "file:///w/ahp-harness-1";
        let made = [folder(own), folder("file:///w/ahp-harness-1/a"), folder("file:///w")];
        check(&made, &[("resourceDelete", own)]);
        let action = json!({"type": "automation/createRequested", "resource": "a"});
        let made = ("dispatchAction", json!({"channel": AUTOMATIONS, "action": action}));
        let ran = |automation: &str| {
            let entry = json!({"resource": automation, "runs": [{"primarySession": "s"}, {}]});
            ("action", json!({"action": {"type": "automation/set", "automation": entry}}))
        };
        let all = [("automation/removed", "a"), ("disposeSession", "s")];
        check(&[made.clone(), ran("a")], &all);
        check(&[made.clone(), ran("of somebody else")], &all[..1]);

        let mut created = CreatedResources::default();
        created.asked(made.0, &made.1);
        let mut set = |automation: &str| {
            let (method, params) = ran(automation);
            created.noticed(&Message::notification(method, params))
        };
        assert_eq!((set("a"), set("of somebody else")), (true, false));
        let items = json!([
            {"resource": "s", "origin": {"kind": "automation", "automation": "a"}},
            {"resource": "t", "origin": {"kind": "automation", "automation": "b"}},
            {"resource": "u"},
        ]);
        created.listed(&json!({"items": items}));
        let owned = |(how, what): &(&'static str, &str)| (*how, (*what).to_owned());
        assert_eq!(created.take_unseen(), all.iter().map(owned).collect::<Vec<_>>());
        assert_eq!(created.take_unseen(), []);
    }
}
