//! Checks the tokens that clients deliver.
//!
//! Knows: `authenticate`, `auth/required`. Never knows: the permissions of a token.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::validate::MessageOrigin;

use crate::oracle::check::FindingSink;
use crate::oracle::members::{given, text};
use crate::oracle::step::OracleStep;

use super::catalogue::Rule;
use super::{ClientFamily, ClientView, sent};

/// Upper bound for the tokens and resources that are remembered.
const MAX_KNOWN: usize = 16_384;
/// The minimum time between two deliveries of a token for which the lifetimes are compared: the second lifetime has to
/// be smaller. Over a shorter time, rounding may hide the difference.
const AGED: Duration = Duration::from_secs(10);

/// The tokens that clients have delivered, and the facts by which the deliveries are judged.
#[derive(Default)]
pub(super) struct TokenChecks {
    /// The clients whose handshake is in the transcript, so that the transcript shows everything that they were told.
    whole: HashSet<Arc<str>>,
    /// Whether the host has sent the root state, which names the resources of its agents.
    named: bool,
    /// The resources that the host has named.
    resources: HashSet<String>,
    /// The delivered tokens, by client, resource and token.
    tokens: HashMap<TokenKey, DeliveredToken>,
}

type TokenKey = (Arc<str>, String, String);

/// The last delivery of a token.
struct DeliveredToken {
    line: u64,
    at: Duration,
    expires_in: Option<i64>,
    /// The line and the time at which the host reported the token as expired.
    expired: Option<(u64, Duration)>,
    /// Whether this is the last token that the client has delivered for the resource.
    latest: bool,
}

impl ClientFamily for TokenChecks {
    fn step(&mut self, view: &ClientView<'_>, step: &OracleStep<'_>, out: &mut FindingSink) {
        if let Some((message, method)) = sent(step) {
            match method {
                "initialize" if view.is_whole() => {
                    let client = text(message.params(), "clientId").map(Arc::from);
                    self.whole.extend(client.filter(|_| self.whole.len() < MAX_KNOWN));
                }
                "authenticate" => self.delivered(view, message, out),
                _ => {}
            }
        }
        match step {
            OracleStep::Frame { seen, sender: MessageOrigin::Host, .. } => {
                if let Some(message) = seen.message() {
                    self.learn(message.value());
                }
            }
            OracleStep::Notified { seen, method: "auth/required", .. } => {
                if let Some(message) = seen.message() {
                    self.required(view, message.params());
                }
            }
            OracleStep::Snapshot { kind: Some(ChannelKind::Root), .. } => self.named = true,
            OracleStep::Gap => self.whole.clear(),
            _ => {}
        }
    }
}

impl TokenChecks {
    /// Remembers the resources that a message of the host contains in any of its members.
    fn learn(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(members) => {
                for (name, value) in members.iter() {
                    match value {
                        Value::String(resource)
                            if name.as_str() == "resource" && self.resources.len() < MAX_KNOWN =>
                        {
                            self.resources.insert(resource.to_string());
                        }
                        Value::Array(_) | Value::Object(_) => self.learn(value),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// Records that the host has reported a token as expired.
    fn required(&mut self, view: &ClientView<'_>, params: &Value) {
        let Some(client) = view.client() else { return };
        let resource = given(params, "resource").and_then(|it| text(it, "resource"));
        let Some(resource) = resource.filter(|_| text(params, "reason") == Some("expired")) else {
            return;
        };
        let expired = Some((view.line(), view.cx.now.at));
        for ((of, about, _), token) in &mut self.tokens {
            if of == client && about == resource && token.latest {
                token.expired = expired;
            }
        }
    }

    /// Judges an `authenticate` request, by which a client delivers a token.
    fn delivered(&mut self, view: &ClientView<'_>, message: &Message, out: &mut FindingSink) {
        let params = message.params();
        let (Some(client), Some(resource), Some(token)) =
            (view.client(), text(params, "resource"), text(params, "token"))
        else {
            return;
        };
        let (now, line) = (view.cx.now.at, view.line());
        let known = self.named && self.resources.len() < MAX_KNOWN;
        if known && self.whole.contains(client) {
            out.seen(Rule::AuthResource);
            if !self.resources.contains(resource) {
                let message = format!(
                    "expected a token for a resource that the host has named, found one for \
                     `{resource}`"
                );
                out.broken(Rule::AuthResource, message, &[line]);
            }
        }
        let expires_in = given(params, "expiresIn").and_then(Value::as_i64);
        if let Some(seconds) = expires_in {
            out.seen(Rule::TokenLifetime);
            if seconds <= 0 {
                let message = format!("expected a positive `expiresIn`, found {seconds}");
                out.broken(Rule::TokenLifetime, message, &[line]);
            }
        }
        let replaces = self.tokens.iter().any(|((of, about, _), token)| {
            of == client && about == resource && token.expired.is_some()
        });
        if replaces {
            out.seen(Rule::ExpiredToken);
        }
        let key = (Arc::clone(client), resource.to_owned(), token.to_owned());
        if let Some(known) = self.tokens.get(&key) {
            delivered_again(view, known, expires_in, out);
        }
        for ((of, about, _), token) in &mut self.tokens {
            token.latest &= of != client || *about != resource;
        }
        if self.tokens.len() < MAX_KNOWN || self.tokens.contains_key(&key) {
            let expired = self.tokens.get(&key).and_then(|known| known.expired);
            let token = DeliveredToken { line, at: now, expires_in, expired, latest: true };
            self.tokens.insert(key, token);
        }
    }
}

/// Judges a delivery of a token that the client has delivered before.
fn delivered_again(
    view: &ClientView<'_>,
    known: &DeliveredToken,
    expires_in: Option<i64>,
    out: &mut FindingSink,
) {
    let (now, line) = (view.cx.now.at, view.line());
    if let Some((told, at)) = known.expired
        && now >= at + view.reaction()
    {
        let message = "expected another token after the host has reported this one as expired, \
                       found the same";
        out.broken(Rule::ExpiredToken, message.to_owned(), &[known.line, told, line]);
    }
    let aged = now.saturating_sub(known.at);
    if let (Some(before), Some(after)) = (known.expires_in, expires_in)
        && aged >= AGED
        && after >= before
    {
        let message = format!(
            "expected `expiresIn` to be smaller than {before} after {} s, found {after}",
            aged.as_secs()
        );
        out.broken(Rule::TokenLifetime, message, &[known.line, line]);
    }
}
