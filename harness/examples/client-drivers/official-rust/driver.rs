//! A driver of `ahp-harness client` around the official Rust client (`CLIENT_DRIVER.md`).
//!
//! The client is `MultiHostClient`, whose documentation also recommends it for a single host. It performs the
//! handshake, reconnects, and lists sessions. The states are those of `MultiHostStateMirror`, to which the driver
//! passes every snapshot that the client returns and every event of the client's stream, as the documentation of
//! `apply_event` shows. The driver adds no behaviour of its own: no filter by `serverSeq`, no optimistic state, no
//! subscriptions after a reconnect.
//!
//! Two properties of the client limit the states that the driver can return. The client does not return the snapshots
//! of `initialize` and `reconnect`, so only `subscribe` results in a state. The client shows only three members of the
//! root state; the mirror has the whole root state after a `subscribe` command for the root channel.
//!
//! Cargo features select the version of the crates. Start at [`OfficialClientDriver::command`].

#[cfg(feature = "web-socket")]
pub mod web_socket;

use std::collections::HashMap;
use std::io::{BufRead as _, Write as _};

use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Names the crates of a version, and the kinds of channels whose state its mirror keeps.
macro_rules! version {
    ($feature:literal $ahp:ident $($ws:ident)::+; $crate_version:literal $($kind:ident)*) => {
        #[cfg(feature = $feature)]
        mod official {
            use super::{HostedResourceKey, MultiHostStateMirror, Value};
            pub use $ahp as ahp;
            pub use $($ws)::+ as ahp_ws;

            /// The version of the crates.
            pub const CRATES: &str = $crate_version;

            /// Returns the mirror's state of a channel.
            pub fn state(mirror: &MultiHostStateMirror, key: &HostedResourceKey) -> Option<Value> {
                $(if let Some(state) = mirror.$kind().get(key) {
                    return serde_json::to_value(state).ok();
                })*
                None
            }
        }
    };
}

version!("v1-0" ahp_1_0 ahp_ws_1_0; "1.0.0"
    sessions chats canvases terminals changesets annotations resource_watches automation_runs);
version!("v0-9" ahp_0_9 ahp_ws_0_9; "0.9.0"
    sessions chats terminals changesets annotations resource_watches automation_runs);
version!("v0-8" ahp_0_8 ahp_ws_0_8; "0.8.0"
    sessions chats terminals changesets annotations resource_watches);
version!("v0-7" ahp_0_7 ahp_ws_0_7; "0.7.0"
    sessions chats terminals changesets annotations resource_watches);
version!("v0-6" ahp_0_6 ahp_ws_0_6; "0.6.0"
    sessions chats terminals changesets annotations resource_watches);
version!("v0-5" ahp_0_5 ahp_ws_0_5; "0.5.2"
    sessions chats terminals changesets annotations resource_watches);
version!("v0-4" ahp_0_4 ahp_ws_0_4; "0.4.0"
    sessions chats terminals changesets annotations resource_watches);
version!("v0-3" ahp_0_3 crate::web_socket; "0.3.0" sessions terminals changesets);
version!("v0-2" ahp_0_2 crate::web_socket; "0.2.0" sessions terminals changesets);

use official::ahp::ahp_types::actions::StateAction;
use official::ahp::ahp_types::state::Snapshot;
use official::ahp::ahp_types::{PROTOCOL_VERSION, ROOT_RESOURCE_URI};
use official::ahp::hosts::{
    HostConfig, HostError, HostEvent, HostHandle, HostId, HostState, HostSubscriptionEvent,
    MultiHostClient,
};
use official::ahp::transport::BoxedTransport;
use official::ahp::{
    ClientError, HostedResourceKey, MultiHostStateMirror, SubscriptionEvent, TransportError,
};
use official::ahp_ws::WebSocketTransport;

/// The commands that the client's own API can carry out.
const DOES: &[&str] = &[
    "connect",
    "close",
    "request",
    "subscribe",
    "unsubscribe",
    "dispatch",
    "state",
    #[cfg(feature = "ping")]
    "sync",
    "lists",
    // `MultiHostClient` reconnects by itself, according to its policy.
    "reconnect",
];
/// How often `sync` yields after a `ping`, so that the client's own tasks can run. Each time, a task passes on up to
/// 128 events.
#[cfg(feature = "ping")]
const TURNS: u32 = 100;
/// The URI of the catalogue of automations. The mirror stores one catalogue per host.
#[cfg(any(feature = "v1-0", feature = "v0-9"))]
const AUTOMATIONS: &str = "ahp-automations://";

/// The outcome of a call to the client, for the command with this id.
struct FinishedCommand {
    id: u64,
    outcome: Result<Value, Value>,
    /// The channel and the snapshot of a subscription.
    subscribed: Option<(String, Option<Snapshot>)>,
}

struct OfficialClientDriver {
    client: MultiHostClient,
    host: HostId,
    mirror: MultiHostStateMirror,
    /// Whether the mirror has a snapshot of the root.
    root_subscribed: bool,
    /// The events of channels whose snapshot has not arrived, in order. The client delivers snapshots and events
    /// separately, so the events have to wait for the snapshot.
    waiting: HashMap<String, Vec<HostSubscriptionEvent>>,
    /// The id of the `connect` command that is not answered yet.
    connecting: Option<u64>,
    done: mpsc::UnboundedSender<FinishedCommand>,
    lines: std::sync::mpsc::Sender<String>,
}

fn error_of(error: &ClientError) -> Value {
    match error {
        ClientError::Rpc(error) => {
            json!({"code": error.code, "message": error.message, "data": error.data})
        }
        other => json!({"message": other.to_string()}),
    }
}

fn host_error(error: &HostError) -> Value {
    match error {
        HostError::Client(error) => error_of(error),
        other => json!({"message": other.to_string()}),
    }
}

impl OfficialClientDriver {
    fn say(&self, line: &Value) {
        // If this fails, the harness has exited, and the input ends as well.
        let _ = self.lines.send(line.to_string());
    }

    fn answer(&self, id: u64, outcome: Result<Value, Value>) {
        self.say(&match outcome {
            Ok(ok) => json!({"id": id, "ok": ok}),
            Err(error) => json!({"id": id, "error": error}),
        });
    }

    async fn command(&mut self, line: &str) {
        let command: Value = serde_json::from_str(line).unwrap_or_default();
        let Some(id) = command["id"].as_u64() else {
            return self.say(&json!({"event": "error", "message": "a command needs an `id`"}));
        };
        let text = |name: &str| command[name].as_str().unwrap_or_default().to_owned();
        let channel = text("channel");
        let (client, host) = (self.client.clone(), self.host.clone());
        match command["do"].as_str().unwrap_or_default() {
            "hello" => {
                let name = "official Rust client (ahp, ahp-ws: MultiHostClient)";
                let version = official::CRATES;
                self.answer(id, Ok(json!({"name": name, "version": version, "does": DOES})));
            }
            "connect" => self.connect(id, &command).await,
            "close" => {
                self.forget();
                self.spawn(id, async move { client.remove_host(&host).await.map(|()| json!({})) });
            }
            // The client has no optimistic state, so it always shows the confirmed state.
            "state" => {
                let state = self.state(&channel).await.map(|state| json!({"state": state}));
                let none = || json!({"message": "the client has no state of this channel"});
                self.answer(id, state.ok_or_else(none));
            }
            "lists" => {
                let handle = client.host(&host).await;
                let sessions = handle.map(|it| json!({"sessions": it.session_summaries}));
                self.answer(id, sessions.ok_or_else(|| json!({"message": "no host"})));
            }
            "request" => {
                let (method, params) = (text("method"), command["params"].clone());
                self.spawn(id, async move {
                    let handle = client.client(&host).await.ok_or(HostError::UnknownHost(host))?;
                    handle.request::<Value, Value>(&method, params).await
                });
            }
            // The response to a `ping` arrives after all earlier messages of the host. Then the client's own tasks pass
            // these messages on.
            #[cfg(feature = "ping")]
            "sync" => self.spawn(id, async move {
                let handle = client.client(&host).await.ok_or(HostError::UnknownHost(host))?;
                handle.raw_client().ping().await?;
                for _ in 0..TURNS {
                    tokio::task::yield_now().await;
                }
                Ok(json!({}))
            }),
            "unsubscribe" => self.spawn(id, async move {
                client.unsubscribe(&host, channel).await.map(|()| json!({}))
            }),
            "dispatch" => match serde_json::from_value::<StateAction>(command["action"].clone()) {
                Ok(action) => self.spawn(id, async move {
                    let handle = client.dispatch(&host, channel, action).await?;
                    Ok(json!({"clientSeq": handle.client_seq}))
                }),
                Err(error) => {
                    let why = format!("the client has no such action: {error}");
                    self.answer(id, Err(json!({"message": why})));
                }
            },
            "subscribe" => self.subscribe(id, &command, channel),
            other => {
                let why = format!("the client cannot do `{other}`");
                self.answer(id, Err(json!({"message": why})));
            }
        }
    }

    /// Performs a call to the client concurrently with other calls. The runtime has one thread, so calls begin in the
    /// order of their commands.
    fn spawn(
        &self,
        id: u64,
        call: impl Future<Output = Result<Value, HostError>> + Send + 'static,
    ) {
        let done = self.done.clone();
        tokio::spawn(async move {
            let outcome = call.await.map_err(|error| host_error(&error));
            let _ = done.send(FinishedCommand { id, outcome, subscribed: None });
        });
    }

    async fn connect(&mut self, id: u64, command: &Value) {
        let texts = |name: &str| {
            let items = command[name].as_array()?.iter();
            Some(items.filter_map(|it| it.as_str().map(str::to_owned)).collect::<Vec<_>>())
        };
        if texts("versions").is_some_and(|versions| versions != [PROTOCOL_VERSION]) {
            let why = format!("the client always offers {PROTOCOL_VERSION}, and nothing else");
            return self.answer(id, Err(json!({"message": why})));
        }
        if self.client.remove_host(&self.host).await.is_ok() {
            self.forget();
        }
        let url = command["url"].as_str().unwrap_or_default().to_owned();
        let open = move |_host: HostId| {
            let url = url.clone();
            async move {
                let opened = WebSocketTransport::connect(&url).await;
                let opened = opened.map_err(|error| TransportError::Io(error.to_string()))?;
                Ok(BoxedTransport::new(opened))
            }
        };
        let mut config = HostConfig::new(self.host.clone(), "the host of the harness", open);
        if let Some(client) = command["clientId"].as_str() {
            config = config.with_client_id(client);
        }
        if let Some(uris) = texts("subscriptions") {
            config = config.with_initial_subscriptions(uris);
        }
        match self.client.add_host(config).await {
            Ok(_) => self.connecting = Some(id),
            Err(error) => self.answer(id, Err(host_error(&error))),
        }
    }

    /// Removes the states of a host that was removed, and answers an open `connect` with an error.
    fn forget(&mut self) {
        self.mirror.reset_host(&self.host);
        self.root_subscribed = false;
        if let Some(id) = self.connecting.take() {
            self.answer(id, Err(json!({"message": "closed before the handshake was over"})));
        }
    }

    fn subscribe(&mut self, id: u64, command: &Value, channel: String) {
        if command["params"].as_object().is_some_and(|params| !params.is_empty()) {
            let why = "the client's `subscribe` accepts only a channel";
            return self.answer(id, Err(json!({"message": why})));
        }
        self.waiting.entry(channel.clone()).or_default();
        let (client, host, done) = (self.client.clone(), self.host.clone(), self.done.clone());
        tokio::spawn(async move {
            let result = client.subscribe(&host, channel.clone()).await;
            let (outcome, snapshot) = match result {
                Ok(result) => (Ok(json!({"snapshot": result.snapshot.is_some()})), result.snapshot),
                Err(error) => (Err(host_error(&error)), None),
            };
            let _ = done.send(FinishedCommand { id, outcome, subscribed: Some((channel, snapshot)) });
        });
    }

    fn done(&mut self, done: FinishedCommand) {
        if let Some((channel, snapshot)) = done.subscribed {
            if let Some(snapshot) = snapshot {
                self.root_subscribed |= channel == ROOT_RESOURCE_URI;
                self.mirror.apply_snapshot(&self.host, &snapshot);
            }
            for event in self.waiting.remove(&channel).unwrap_or_default() {
                self.mirror.apply_event(&event);
            }
        }
        self.answer(done.id, done.outcome);
    }

    fn event(&mut self, event: HostSubscriptionEvent) {
        let told = match &event.event {
            SubscriptionEvent::Action(envelope) => {
                let action = serde_json::to_value(&envelope.action).unwrap_or_default();
                json!({
                    "event": "action",
                    "channel": event.channel,
                    "serverSeq": envelope.server_seq,
                    "type": action["type"],
                })
            }
            SubscriptionEvent::SessionAdded(_) => told("root/sessionAdded"),
            SubscriptionEvent::SessionRemoved(_) => told("root/sessionRemoved"),
            SubscriptionEvent::SessionSummaryChanged(_) => told("root/sessionSummaryChanged"),
            SubscriptionEvent::AuthRequired(_) => told("auth/required"),
            _ => told("another"),
        };
        self.say(&told);
        match self.waiting.get_mut(&event.channel) {
            Some(waiting) => waiting.push(event),
            None => self.mirror.apply_event(&event),
        }
    }

    async fn host_event(&mut self, event: HostEvent) {
        let HostEvent::StateChanged { state, .. } = event else { return };
        let handle = self.client.host(&self.host).await;
        let last_error = handle.as_ref().and_then(|it| it.last_error.clone());
        match state {
            HostState::Connected => {
                let version = handle.and_then(|it| it.protocol_version);
                self.say(&json!({"event": "connection", "state": "connected", "version": version}));
                if let Some(id) = self.connecting.take() {
                    self.answer(id, Ok(json!({"version": version})));
                }
            }
            // The client retries without end. Nevertheless, an error of the host is reported to the harness.
            HostState::Reconnecting { .. } => {
                self.say(&json!({"event": "connection", "state": "reconnecting"}));
                if let Some(error @ ClientError::Rpc(_)) = last_error.as_deref()
                    && let Some(id) = self.connecting.take()
                {
                    self.answer(id, Err(error_of(error)));
                }
            }
            HostState::Failed { error } => {
                let message = error.to_string();
                self.say(&json!({"event": "connection", "state": "failed", "message": message}));
                if let Some(id) = self.connecting.take() {
                    self.answer(id, Err(error_of(&error)));
                }
            }
            _ => {}
        }
    }

    async fn state(&self, channel: &str) -> Option<Value> {
        if channel == ROOT_RESOURCE_URI {
            return match self.root_subscribed {
                true => serde_json::to_value(self.mirror.root_states().get(&self.host)?).ok(),
                false => Some(root_of(&self.client.host(&self.host).await?)),
            };
        }
        #[cfg(any(feature = "v1-0", feature = "v0-9"))]
        if channel == AUTOMATIONS {
            let catalogue = self.mirror.automation_catalogs().get(&self.host)?;
            return serde_json::to_value(catalogue).ok();
        }
        official::state(&self.mirror, &HostedResourceKey::new(self.host.clone(), channel))
    }
}

fn told(method: &str) -> Value {
    json!({"event": "notification", "method": method})
}

/// Returns the members of the root state that the client shows without a `subscribe` command.
fn root_of(handle: &HostHandle) -> Value {
    json!({
        "agents": handle.agents,
        "activeSessions": handle.active_sessions,
        "terminals": handle.terminals,
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (lines, to_write) = std::sync::mpsc::channel::<String>();
    let writer = std::thread::spawn(move || {
        let mut out = std::io::stdout().lock();
        to_write.iter().all(|line| writeln!(out, "{line}").and_then(|()| out.flush()).is_ok());
    });
    let (to_read, mut commands) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        std::io::stdin().lock().lines().map_while(Result::ok).all(|line| to_read.send(line).is_ok())
    });

    let client = MultiHostClient::new();
    let (mut events, mut host_events) = (client.events(), client.host_events());
    let (done, mut calls) = mpsc::unbounded_channel();
    let mut driver = OfficialClientDriver {
        client,
        host: HostId::new("harness"),
        mirror: MultiHostStateMirror::new(),
        root_subscribed: false,
        waiting: HashMap::new(),
        connecting: None,
        done,
        lines,
    };
    loop {
        // The order matters: received messages are handled before the next command.
        tokio::select! {
            biased;
            Some(event) = events.recv() => driver.event(event),
            Some(event) = host_events.recv() => driver.host_event(event).await,
            Some(done) = calls.recv() => driver.done(done),
            line = commands.recv() => match line {
                Some(line) if line.trim().is_empty() => {}
                Some(line) => driver.command(&line).await,
                None => break,
            },
        }
    }
    let _ = driver.client.remove_host(&driver.host).await;
    drop(driver);
    let _ = writer.join();
}
