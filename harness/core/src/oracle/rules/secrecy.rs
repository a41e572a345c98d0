//! Checks that secrets stay secret: no frame of the host contains a token that a client sent.
//!
//! The checks search for the tokens in `authenticate` requests, for client secrets in authentication challenges, and
//! for secrets that the caller adds. The checks ignore strings that are so short that they may occur by accident, and
//! strings with spaces, which are not tokens.
//!
//! Knows: secrets, frames. Never knows: the purpose of a secret.
//!
//! Start at [`SecretChecks`].

use crate::wire::frame::Frame;
use crate::wire::message::Message;
use crate::wire::validate::MessageOrigin;

use crate::oracle::catalogue::Rule;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, text};
use crate::oracle::secrets::{MAX_SECRETS, form};
use crate::oracle::step::{ActionDelivery, OracleStep};

/// The secrets that the checks search for in the frames of the host.
#[derive(Default)]
pub(super) struct SecretChecks {
    secrets: Vec<KnownSecret>,
}

struct KnownSecret {
    /// The secret as it appears in a frame, with JSON escapes.
    text: String,
    /// The line in which the secret occurred first.
    line: u64,
    /// Whether the host sent the secret in an authentication challenge. A later challenge of the host may then contain
    /// the secret again.
    challenge: bool,
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

    /// Searches a frame of the host for secrets. Invariant L9.
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
            let message = "expected no secret in a frame to a client, found one";
            let line = told.map_or(0, |secret| secret.line);
            out.broken(Rule::SecretsKept, message.to_owned(), &[line, cx.now.line]);
        }
    }
}

/// The member of a challenge that contains a client secret.
const CHALLENGE: &str = "\"clientSecret\"";

/// Returns the client secret in the authentication challenge that an action contains; `None` if there is none.
fn challenge<'a>(delivery: &ActionDelivery<'a>) -> Option<&'a str> {
    let holder = match delivery.envelope.name {
        "mcpServerStateChanged" => "state",
        "toolCallAuthRequired" => "auth",
        _ => return None,
    };
    let client = given(given(delivery.envelope.action, holder)?, "oauthClient")?;
    text(client, "clientSecret")
}
