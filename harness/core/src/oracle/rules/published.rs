//! Checks that the host requests a client's own URIs from the client that published them.
//!
//! Knows: URIs of clients, requests of the host. Never knows: the content behind a URI.
//!
//! Start at [`PublishedChecks`].

use std::collections::HashMap;

use crate::wire::message::{Message, MessageKind};
use crate::wire::validate::MessageOrigin;

use crate::oracle::budget::{is_short, short};
use crate::oracle::catalogue::Rule;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, text};
use crate::oracle::step::OracleStep;

/// Upper bound for the pairs of a URI and a client that are remembered.
const MAX_URIS: usize = 4_096;
/// The scheme of URIs that several clients may use for their own files, and that therefore belong to no single client.
const SHARED: &str = "file:";

/// For each URI, the clients that published it, each with the line of the publication.
#[derive(Default)]
pub(super) struct PublishedChecks {
    uris: HashMap<String, Vec<(String, u64)>>,
    remembered: usize,
}

impl CheckFamily for PublishedChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        let OracleStep::Frame { seen, sender, .. } = step else { return };
        let Some(message) = seen.message() else { return };
        match sender {
            MessageOrigin::Client => self.learn(cx, message),
            MessageOrigin::Host => {
                let asks = message.kind() == MessageKind::Request && !self.uris.is_empty();
                let uri = text(message.params(), "uri").filter(|_| asks);
                if let Some(uri) = uri {
                    self.asked(cx, uri, out);
                }
            }
        }
    }
}

impl PublishedChecks {
    fn learn(&mut self, cx: &OracleContext, message: &Message) {
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
            // A long URI is not kept, and no request below it is judged.
            let Some(uri) = uri.filter(|uri| is_short(uri)) else { continue };
            if self.remembered >= MAX_URIS {
                // If not every client that published a URI can be remembered, the URI is not judged.
                self.uris.remove(uri);
                continue;
            }
            let owners = self.uris.entry(uri.to_owned()).or_default();
            if owners.iter().all(|(owner, _)| *owner != *short(client)) {
                owners.push((short(client).into_owned(), cx.now.line));
                self.remembered += 1;
            }
        }
    }

    fn asked(&self, cx: &OracleContext, uri: &str, out: &mut FindingSink) {
        if !is_short(uri) {
            return;
        }
        let here = cx.here().and_then(|conn| conn.client_id.as_deref());
        let within = |own: &str| {
            uri.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let owners: Vec<&(String, u64)> = self
            .uris
            .iter()
            .filter(|(own, _)| within(own))
            .flat_map(|(_, owners)| owners)
            .collect();
        let (Some(client), Some((owner, line))) = (here.map(short), owners.first()) else { return };
        out.seen(Rule::RightClient);
        if owners.iter().all(|(owner, _)| *owner != client) {
            let message = format!(
                "expected the host to request `{uri}` from `{owner}`, which published it, found \
                 the request sent to `{client}`"
            );
            out.broken(Rule::RightClient, message, &[*line, cx.now.line]);
        }
    }
}
