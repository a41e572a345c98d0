//! Injected faults in admission, `initialize` and negotiation.

use std::collections::HashMap;

use super::FaultPart::{Host, Message};
use super::delivery::LostChannels;
use super::parts::{
    LostRequest, RequestChange, ResultFault, TakenMessage, accepted, error, number_of, remove,
};
use crate::host::chain::{MessageLink, MessagePassage, MessageRewriter, RewriterOutput};
use crate::host::generic::LiftsRules;
use crate::transcript::ConnId;
use crate::wire::error_code::ErrorName;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Value, json};
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

fault_table![
    OriginIgnored(
        "origin-ignored",
        "Every web page may open a connection.",
        Message(|| Box::new(OriginIgnored)),
    ),
    SecondInitializeServed(
        "second-initialize-served",
        "A second handshake on a connection is served and drops its subscriptions.",
        Message(|| Box::<SecondInitializeServed>::default()),
    ),
    InitialWithoutStates(
        "initial-without-states",
        "The result of the handshake has no snapshots of its subscriptions.",
        Message(|| {
            Box::new(ResultFault("initialize", |_, result| result["snapshots"] = json!([])))
        }),
    ),
    OldClientsSlighted(
        "old-clients-slighted",
        "A client with a `clientInfo` version before 1.0.0 gets fewer capabilities.",
        Message(|| {
            Box::new(ResultFault("initialize", |link, result| {
                let own =
                    link.request.and_then(|it| it["params"]["clientInfo"]["version"].as_str());
                if own.is_some_and(|own| own.starts_with("0.")) {
                    remove(result, "automations");
                    remove(result, "telemetry");
                }
            }))
        }),
    ),
    AppsForAll(
        "apps-for-all",
        "MCP apps and their side channels are shown to clients that cannot show them.",
        Message(|| {
            Box::new(RequestChange("initialize", |_, params| {
                if params.get("capabilities").is_none() {
                    params["capabilities"] = json!({});
                }
                params["capabilities"]["mcpApps"] = json!({});
            }))
        }),
    ),
    PreferenceIgnored(
        "preference-ignored",
        "Also in versions before 1.0.0, the host chooses the highest offered version instead of the first.",
        Message(|| {
            Box::new(RequestChange("initialize", |_, params| {
                if let Some(offers) = offers_of(params) {
                    offers.sort_by_key(|offer| std::cmp::Reverse(version_of(offer)));
                }
            }))
        }),
    ),
    VersionPicksFirst(
        "version-picks-first",
        "The host chooses the first acceptable version of an offer instead of the highest.",
        Message(|| {
            Box::new(RequestChange("initialize", |link, params| {
                let served = |offer: &&Value| serves(link, offer);
                if let Some(offers) = offers_of(params)
                    && let Some(first) = offers.iter().find(served).cloned()
                {
                    *offers = vec![first];
                }
            }))
        }),
    ),
    VersionNotOffered(
        "version-not-offered",
        "The host answers with its own version, regardless of the offer.",
        Message(|| {
            Box::new(ResultFault("initialize", |link, result| {
                if result["protocolVersion"].is_string() {
                    let other = Version::new(link.protocol.version().major, 99, 0);
                    result["protocolVersion"] = json!(other.to_string());
                }
            }))
        }),
    ),
    UnknownVersionAccepted(
        "unknown-version-accepted",
        "An offer without an acceptable version is accepted.",
        Message(|| Box::<UnknownVersionAccepted>::default()),
    ),
    RangesInVain(
        "ranges-in-vain",
        "The host accepts only the first version of each range that its refusals name.",
        Message(|| {
            Box::new(RequestChange("initialize", |link, params| {
                let first = |offer: &Value| {
                    version_of(offer).is_some_and(|it| link.seen.served.contains(&it))
                };
                if let Some(offers) = offers_of(params) {
                    offers.retain(|offer| first(offer) || !serves(link, offer));
                }
            }))
        }),
    ),
    NoSupportedVersions(
        "no-supported-versions",
        "The refusal of an offer does not list the supported versions.",
        Message(|| Box::new(NoSupportedVersions)),
    ),
    UnsupportedStaysOpen(
        "unsupported-stays-open",
        "The connection stays open after the offer was refused.",
        Message(|| Box::new(TakenMessage(refuse_and_stay))),
    ),
    PingDeadBeforeInitialize(
        "ping-dead-before-initialize",
        "A ping before the handshake is not answered.",
        Message(|| {
            Box::new(LostRequest(|link, message| {
                let early = link.own().is_none_or(|own| own.client.is_none());
                early && message["method"] == "ping"
            }))
        }),
    ),
    CommandPrefixUnkept(
        "command-prefix-unkept",
        "The handshake announces a prefix for commands, but messages with the prefix are plain messages.",
        Host(&LiftsRules(&["lifecycle.initialize.terminal-prefix"])),
    ),
];

fn offers_of(params: &mut Value) -> Option<&mut Vec<Value>> {
    params.get_mut("protocolVersions").and_then(Value::as_array_mut)
}

fn version_of(offer: &Value) -> Option<Version> {
    offer.as_str().and_then(|offer| offer.parse().ok())
}

fn serves(link: &MessageLink<'_>, offer: &Value) -> bool {
    version_of(offer).is_some_and(|offer| link.seen.served.iter().any(|own| own.accepts(offer)))
}

/// Rejects an unsupported version and leaves the connection open.
fn refuse_and_stay(
    link: &MessageLink<'_>,
    message: &Value,
    out: &mut RewriterOutput,
) -> MessagePassage {
    let offers = message["params"]["protocolVersions"].as_array();
    let served = |offers: &Vec<Value>| offers.iter().any(|offer| serves(link, offer));
    let early = link.own().is_none_or(|own| own.client.is_none());
    if message["method"] != "initialize" || !early || offers.is_none_or(served) {
        return MessagePassage::Onward;
    }
    let code = ErrorName::UnsupportedProtocolVersion.code();
    let mut refusal = error(message, code, "no offered version is supported");
    let versions: Vec<String> = link.seen.served.iter().map(Version::to_string).collect();
    refusal["error"]["data"] = json!({"supportedVersions": versions});
    out.send(refusal);
    MessagePassage::Stopped
}

/// A fault that ignores the `Origin` header.
struct OriginIgnored;

impl MessageRewriter for OriginIgnored {
    fn on_admission(&mut self, headers: &mut Vec<(String, String)>) {
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("origin"));
    }
}

/// A fault that answers a second `initialize` on a connection like the first, and ends the subscriptions.
#[derive(Default)]
struct SecondInitializeServed {
    results: HashMap<ConnId, Value>,
    lost: LostChannels,
    /// The highest `serverSeq` of the envelopes that were sent so far.
    latest: u64,
}

impl MessageRewriter for SecondInitializeServed {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        self.latest = self.latest.max(accepted(&message).map_or(0, number_of));
        if link.answers == Some("initialize") {
            match (message.get("result").cloned(), self.results.get(&link.conn)) {
                (Some(result), _) => {
                    self.results.insert(link.conn, result);
                }
                (None, Some(result)) if link.own().is_some_and(|own| own.client.is_some()) => {
                    message = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                    let known = message["result"]["serverSeq"].as_u64().unwrap_or(0);
                    message["result"]["serverSeq"] = json!(known.max(self.latest));
                    self.lost.lose(link);
                }
                _ => {}
            }
        }
        if !self.lost.takes(link, &message) {
            out.send(message);
        }
    }
}

/// A fault that accepts the first offered version if the host supports no offered version.
#[derive(Default)]
struct UnknownVersionAccepted(HashMap<ConnId, String>);

impl MessageRewriter for UnknownVersionAccepted {
    fn edit_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
    ) -> Option<Value> {
        self.0.remove(&link.conn);
        if message["method"] != "initialize" {
            return None;
        }
        let channels = message["params"].get("channel").is_some();
        let fits = |version: &&Version| {
            Protocol::of(**version).is_some_and(|it| it.has(ProtocolFeature::Channels) == channels)
        };
        let served = &link.seen.served;
        let spoken = served.iter().find(fits).or_else(|| served.first()).copied();
        if let Some(offers) = message.get_mut("params").and_then(offers_of)
            && !offers.iter().any(|offer| serves(link, offer))
            && let Some(spoken) = spoken
        {
            let first = offers.iter().find_map(Value::as_str).unwrap_or("1.0.0");
            self.0.insert(link.conn, first.to_owned());
            *offers = vec![json!(spoken.to_string())];
        }
        None
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        if link.answers == Some("initialize")
            && let Some(first) = self.0.remove(&link.conn)
            && let Some(result) = message.get_mut("result")
        {
            result["protocolVersion"] = json!(first);
        }
        out.send(message);
    }
}

/// A fault that leaves the supported versions out of the error with which the host refuses a handshake.
struct NoSupportedVersions;

impl MessageRewriter for NoSupportedVersions {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        if link.answers == Some("initialize")
            && let Some(error) = message.get_mut("error")
        {
            remove(error, "data");
        }
        out.send(message);
    }
}
