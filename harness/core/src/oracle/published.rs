//! What clients publish at URIs of their own is asked of the client that published it.
//!
//! Knows: URIs that clients named, requests of the host. Never knows: what is read.
//!
//! Start at [`Published`].

use std::collections::HashMap;

use crate::wire::message::{Kind, Message};
use crate::wire::validate::Sender;

use super::catalogue::Rule;
use super::check::{Check, Sink};
use super::context::Context;
use super::members::{given, list, text};
use super::step::Step;

/// URIs that are remembered.
const MAX_URIS: usize = 4_096;
/// How URIs begin that name a place of everybody's.
const SHARED: &str = "file:";

/// Who published what, with the line.
#[derive(Default)]
pub(super) struct Published {
    uris: HashMap<String, (String, u64)>,
}

impl Check for Published {
    fn step(&mut self, cx: &Context, step: &Step<'_>, out: &mut Sink) {
        let Step::Frame { seen, sender, .. } = step else { return };
        let Some(message) = seen.message() else { return };
        match sender {
            Sender::Client => self.learn(cx, message),
            Sender::Host => {
                let asks = message.kind() == Kind::Request && !self.uris.is_empty();
                let uri = text(message.params(), "uri").filter(|_| asks);
                if let Some(uri) = uri {
                    self.asked(cx, uri, out);
                }
            }
        }
    }
}

impl Published {
    fn learn(&mut self, cx: &Context, message: &Message) {
        let params = message.params();
        let holder = match message.method() {
            Some("createSession") => Some(params),
            Some("dispatchAction") => given(params, "action"),
            _ => None,
        };
        let Some(active) = holder.and_then(|holder| given(holder, "activeClient")) else { return };
        let Some(client) = text(active, "clientId") else { return };
        for plugin in list(active, "customizations") {
            let uri = text(plugin, "uri").filter(|uri| !uri.starts_with(SHARED));
            if let Some(uri) = uri.filter(|_| self.uris.len() < MAX_URIS) {
                self.uris.insert(uri.to_owned(), (client.to_owned(), cx.now.line));
            }
        }
    }

    fn asked(&self, cx: &Context, uri: &str, out: &mut Sink) {
        let here = cx.here().and_then(|conn| conn.client_id.as_deref());
        let within = |own: &str| {
            uri.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let owners: Vec<&(String, u64)> =
            self.uris.iter().filter(|(own, _)| within(own)).map(|(_, owner)| owner).collect();
        let (Some(client), Some((owner, line))) = (here, owners.first()) else { return };
        out.seen(Rule::RightClient);
        if owners.iter().all(|(owner, _)| owner != client) {
            let message = format!("expected `{owner}` to be asked for `{uri}`, found `{client}`");
            out.broken(Rule::RightClient, message, &[*line, cx.now.line]);
        }
    }
}
