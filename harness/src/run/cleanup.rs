//! What a case created on the host, and how it is taken away again.

use litemap::LiteMap;

use crate::wire::json::{Value, json};

use crate::scenario::bind::{OWN_PATH, ValueTemplate};
use crate::scenario::source::SourceSpan;
use crate::wire::channel::ROOT;
use crate::wire::message::Message;

use super::case::ScenarioCase;
use super::task::{PeerId, RequestGoal, ResultUse, StepTask, TaskAct};

/// Methods that create something, the member that names it, and the method that takes it away.
/// Chats go with their session, but a moved one would not.
const CREATORS: &[(&str, &str, &str)] = &[
    ("createTerminal", "channel", "disposeTerminal"),
    ("createSession", "channel", "disposeSession"),
];

/// Requests that make a file or a folder, each with the member that names it.
const MAKERS: &[(&str, &str)] = &[
    ("resourceMkdir", "uri"),
    ("resourceWrite", "uri"),
    ("resourceCopy", "destination"),
    ("resourceMove", "destination"),
];

/// The request that takes a file or a folder away.
const DELETE: &str = "resourceDelete";

/// An automation is made by an action, and taken away by one. The sessions of its runs stay, and say
/// whose they are.
pub(super) const AUTOMATION: (&str, &str) = ("automation/createRequested", "automation/removed");

/// The channel of automations.
const AUTOMATIONS: &str = "ahp-automations://";

/// Most things a case keeps track of.
const MAX_CREATED: usize = 1_000;

/// What the case asked the host to create. That the case asked to dispose of it too does not take
/// it out: the host may have refused that, and to dispose of something twice does no harm.
/// Of each thing: whether cleaning up has seen to it.
#[derive(Debug, Default)]
pub struct CreatedResources(LiteMap<(&'static str, String), bool>);

impl CreatedResources {
    /// A request of the case's own making goes out.
    pub fn asked(&mut self, method: &str, params: &Value) {
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

    /// A notification of the host came in. Terminals that it opened for a session of ours, such as
    /// for a tool call, are ours to take away too: a host may keep them when the session goes. So are
    /// the sessions that runs of our automations made.
    ///
    /// Returns whether it says that an automation of ours was made or changed. That is how a host accepts
    /// `automation/createRequested`, which does not come back itself.
    pub fn noticed(&mut self, message: &Message) -> bool {
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

    /// A list of sessions came in: those that runs of our automations made are ours, also when
    /// nobody was there to see them made.
    pub fn listed(&mut self, result: &Value) {
        for session in result["items"].as_array().into_iter().flatten() {
            if let Some(name) = session["resource"].as_str()
                && self.is_ours(&session["origin"]["automation"])
            {
                self.add("disposeSession", name);
            }
        }
    }

    /// A frame of the scenario's own writing goes out; it may create something too.
    pub fn sent(&mut self, message: &Message) {
        if let Some(method) = message.method() {
            self.asked(method, message.params());
        }
    }

    /// Channels that show what was created.
    pub fn channels(&self) -> impl Iterator<Item = &str> {
        let channels = self.left().filter(|(how, _)| *how != DELETE);
        channels.map(|(how, name)| if *how == AUTOMATION.1 { AUTOMATIONS } else { name.as_str() })
    }

    /// What cleaning up has not seen to yet; now it has.
    fn take_unseen(&mut self) -> Vec<(&'static str, String)> {
        let unseen = self.0.iter_mut().filter(|(_, seen)| !**seen);
        unseen
            .map(|(key, seen)| {
                *seen = true;
                key.clone()
            })
            .collect()
    }

    /// What is left to dispose of: methods and channels.
    pub fn left(&self) -> impl Iterator<Item = &(&'static str, String)> {
        self.0.keys()
    }
}

impl ScenarioCase {
    /// The tasks that take away what the case created: over a client that has shaken hands, or a
    /// connection of its own.
    pub(super) fn cleaning(&mut self) -> Vec<StepTask> {
        if self.is_acp() {
            return self.leaving();
        }
        let left = self.created.take_unseen();
        if left.is_empty() {
            return Vec::new();
        }
        let span = SourceSpan::default();
        let request = |peer: PeerId, method: &str, params: Value, want| TaskAct::Request {
            peer,
            method: method.to_owned(),
            params: ValueTemplate::fixed(span, params),
            want,
            exact: false,
            keep: ResultUse::default(),
        };
        let mut acts = Vec::new();
        let ready = self.peers.iter().position(|peer| peer.connected && peer.initialized);
        let peer = match ready {
            Some(peer) => peer,
            None if !self.shook_hands() => return Vec::new(),
            None => {
                let peer = self.add_peer("cleaner");
                let params = json!({
                    "channel": ROOT,
                    "protocolVersions": self.setup.offers,
                    "clientId": self.client_id(peer),
                });
                acts.push(TaskAct::Connect(peer));
                acts.push(request(peer, "initialize", params, RequestGoal::Result(None)));
                peer
            }
        };
        for (method, channel) in left {
            if method == AUTOMATION.1 {
                acts.push(TaskAct::Dispatch {
                    peer,
                    channel: ValueTemplate::fixed(span, json!(AUTOMATIONS)),
                    action: ValueTemplate::fixed(
                        span,
                        json!({"type": method, "resource": channel}),
                    ),
                    seq: None,
                    settle: None,
                    bind: None,
                });
                // Nothing is said about it to somebody who does not listen, so this waits for it, and
                // asks what its runs have left.
                acts.push(request(
                    peer,
                    "listSessions",
                    json!({"channel": ROOT}),
                    RequestGoal::Anything,
                ));
                continue;
            }
            let params = match method == DELETE {
                true => json!({"channel": ROOT, "uri": channel, "recursive": true}),
                false => json!({"channel": channel}),
            };
            acts.push(request(peer, method, params, RequestGoal::Anything));
        }
        acts.into_iter()
            .map(|act| StepTask { step: None, within: None, act, prepares: false })
            .collect()
    }
}

#[cfg(test)]
mod tests {
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
    fn remembers_what_to_take_away() {
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
