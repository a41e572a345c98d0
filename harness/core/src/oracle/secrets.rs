//! Secrets stay where they were told: a token that a client sent is in no frame of the host.
//!
//! What is looked for: tokens of `authenticate`, client secrets that an authentication challenge
//! named, and whatever else the caller says is secret. Only texts that are long enough to be no
//! accident, and without spaces, as tokens are.
//!
//! Knows: secrets, frames. Never knows: what they are for.
//!
//! Start at [`SecretChecks`].

use crate::wire::frame::Frame;
use crate::wire::json::Value;
use crate::wire::message::Message;
use crate::wire::validate::MessageOrigin;

use super::catalogue::Rule;
use super::check::{CheckFamily, FindingSink};
use super::context::OracleContext;
use super::members::{given, text};
use super::step::{ActionDelivery, OracleStep};

/// The fewest bytes of a secret that is looked for.
pub const MIN_SECRET: usize = 12;
/// Secrets that are looked for; later ones are not.
pub(super) const MAX_SECRETS: usize = 32;

/// What is looked for.
#[derive(Default)]
pub(super) struct SecretChecks {
    secrets: Vec<KnownSecret>,
}

struct KnownSecret {
    /// As it stands in a frame.
    text: String,
    /// The line that told it.
    line: u64,
    /// A challenge of the host named it, and may name it again.
    challenge: bool,
}

/// Whether a secret is looked for in the frames of the host.
pub fn is_looked_for(secret: &str) -> bool {
    form(secret).is_some()
}

/// A secret as it stands in a frame; `None` for what is too short, or no token.
pub(super) fn form(secret: &str) -> Option<String> {
    if secret.len() < MIN_SECRET || secret.contains(char::is_whitespace) {
        return None;
    }
    let quoted = Value::from(secret).to_text();
    Some(quoted.get(1..quoted.len() - 1)?.to_owned())
}

impl CheckFamily for SecretChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Frame { seen, sender: MessageOrigin::Client, .. } => {
                let message = seen.message().filter(|it| it.method() == Some("authenticate"));
                if let Some(token) = message.map(Message::params).and_then(|it| text(it, "token")) {
                    self.learn(token, cx.now.line, false);
                }
            }
            OracleStep::Frame { seen, sender: MessageOrigin::Host, .. } => {
                self.look(cx, &seen.frame, out)
            }
            OracleStep::Envelope(delivery) => {
                if let Some(secret) = challenge(delivery) {
                    self.learn(secret, cx.now.line, true);
                }
            }
            _ => {}
        }
    }
}

impl SecretChecks {
    fn learn(&mut self, secret: &str, line: u64, challenge: bool) {
        let Some(text) = form(secret).filter(|_| self.secrets.len() < MAX_SECRETS) else {
            return;
        };
        if !self.secrets.iter().any(|known| known.text == text) {
            self.secrets.push(KnownSecret { text, line, challenge });
        }
    }

    /// L9.
    fn look(&self, cx: &OracleContext, frame: &Frame, out: &mut FindingSink) {
        if self.secrets.is_empty() && cx.secrets.is_empty() {
            return;
        }
        out.seen(Rule::SecretsKept);
        let bytes = frame.bytes();
        let has = |text: &str| memchr::memmem::find(bytes, text.as_bytes()).is_some();
        let told = self
            .secrets
            .iter()
            .find(|secret| has(&secret.text) && !(secret.challenge && has(CHALLENGE)));
        if told.is_some() || cx.secrets.iter().any(|secret| has(secret)) {
            let message =
                "expected secrets to stay with the host, found one in a frame to a client";
            let line = told.map_or(0, |secret| secret.line);
            out.broken(Rule::SecretsKept, message.to_owned(), &[line, cx.now.line]);
        }
    }
}

/// The member by which a challenge tells a client secret.
const CHALLENGE: &str = "\"clientSecret\"";

/// The client secret that an action challenges somebody to authenticate with.
fn challenge<'a>(delivery: &ActionDelivery<'a>) -> Option<&'a str> {
    let holder = match delivery.envelope.name {
        "mcpServerStateChanged" => "state",
        "toolCallAuthRequired" => "auth",
        _ => return None,
    };
    let client = given(given(delivery.envelope.action, holder)?, "oauthClient")?;
    text(client, "clientSecret")
}
