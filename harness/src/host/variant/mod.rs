//! Legal variants: behaviour that the specification permits and that the reference host does not show.
//!
//! An injected fault proves that a check can fail. A variant proves that no check fails on a legal host. Variants
//! are not branches of the reference host: each is a struct that rewrites the messages between clients and host,
//! so that several can be combined. `catalogue` lists them with the text that permits each.
//!
//! Knows: the reference host, messages. Never knows: rules, scenarios.
//!
//! Start at [`LegalVariant`] and [`VariantHost`].

use std::time::Duration;

use crate::peer::errand::Errand;
use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::json::Value;
use crate::wire::spelling::walk;

use super::chain::{MessageChain, MessageRewriter, Outbox, Passage, each_envelope_list};
use super::engine::{Config, RefHost};
use super::{Host, Output, shell};

mod absence;
mod catalogue;
mod companions;
mod delivery;
mod names;
mod omission;
mod settings;
mod spelling;
mod traffic;
mod values;

pub use super::chain::MessageLink;
pub use catalogue::{VARIANTS, VariantRow};

/// One legal choice of a host.
pub trait LegalVariant: Send {
    /// Changes the configuration of the reference host.
    fn set_up(&self, _config: &mut Config) {}
    /// Rewrites a message of a client. A returned message is sent to the client as the response, and the host
    /// does not receive the request.
    fn on_client_message(
        &mut self,
        _link: &MessageLink<'_>,
        _message: &mut Value,
    ) -> Option<Value> {
        None
    }
    /// Rewrites a message of the host: pushes the messages that are sent instead, in order.
    fn on_host_message(&mut self, _link: &MessageLink<'_>, message: Value, out: &mut Vec<Value>) {
        out.push(message);
    }
    /// The serialized text of a message; `None` for the usual one.
    fn spelled(&self, _message: &Value) -> Option<String> {
        None
    }
    /// The delay of a message to a client. The order of messages on a connection does not change.
    fn delay(&mut self, _link: &MessageLink<'_>, _message: &Value) -> Duration {
        Duration::ZERO
    }
    /// The delay of a message that later messages of the connection may overtake; `None` for a message that
    /// keeps its place.
    fn overtaken(&self, _link: &MessageLink<'_>) -> Option<Duration> {
        None
    }
}

/// A legal variant as a part of the chain.
struct VariantRewriter(Box<dyn LegalVariant>);

impl MessageRewriter for VariantRewriter {
    fn on_client_message(
        &mut self,
        link: &MessageLink<'_>,
        message: &mut Value,
        out: &mut Outbox,
    ) -> Passage {
        match self.0.on_client_message(link, message) {
            Some(answer) => {
                out.send(answer);
                Passage::Stopped
            }
            None => Passage::Onward,
        }
    }

    fn on_host_message(&mut self, link: &MessageLink<'_>, message: Value, out: &mut Outbox) {
        let mut messages = Vec::new();
        self.0.on_host_message(link, message, &mut messages);
        messages.into_iter().for_each(|message| out.send(message));
    }

    fn spelled(&self, message: &Value) -> Option<String> {
        self.0.spelled(message)
    }

    fn delay(&mut self, link: &MessageLink<'_>, message: &Value) -> Duration {
        self.0.delay(link, message)
    }

    fn overtaken(&self, link: &MessageLink<'_>) -> Option<Duration> {
        self.0.overtaken(link)
    }
}

/// The reference host behind a chain of variants. Injected faults are between the two.
pub struct VariantHost {
    inner: RefHost,
    chain: MessageChain,
}

impl VariantHost {
    /// A reference host with these variants, the first one next to the host.
    pub fn new(rows: &[&VariantRow], mut config: Config) -> VariantHost {
        let variants: Vec<_> = rows.iter().map(|row| row.make()).collect();
        variants.iter().for_each(|variant| variant.set_up(&mut config));
        let boxed = |variant| -> Box<dyn MessageRewriter> { Box::new(VariantRewriter(variant)) };
        let inner = RefHost::new(config);
        let chain = variants.into_iter().map(boxed).collect();
        VariantHost { chain: MessageChain::new(chain, inner.versions.clone()), inner }
    }

    fn drain(&mut self) {
        while let Some(output) = self.inner.poll_output() {
            self.chain.outgoing(output);
        }
    }
}

impl Host for VariantHost {
    fn admit(
        &mut self,
        now: Duration,
        conn: ConnId,
        headers: &[(String, String)],
    ) -> Result<(), u16> {
        self.chain.pass(now);
        self.inner.admit(now, conn, headers)
    }

    fn handle_open(&mut self, now: Duration, conn: ConnId) {
        self.chain.pass(now);
        self.chain.opened(conn);
        self.inner.handle_open(now, conn);
    }

    fn handle_frame(&mut self, now: Duration, conn: ConnId, frame: &Frame) {
        self.chain.pass(now);
        if let Some(frame) = self.chain.incoming(conn, frame) {
            self.inner.handle_frame(now, conn, &frame);
        }
        self.drain();
    }

    fn handle_held(&mut self, now: Duration, conn: ConnId, held: bool) {
        self.inner.handle_held(now, conn, held);
    }

    fn handle_close(&mut self, now: Duration, conn: ConnId) {
        self.chain.pass(now);
        self.chain.closed(conn);
        self.inner.handle_close(now, conn);
        self.drain();
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.chain.pass(now);
        self.inner.handle_timeout(now);
        self.drain();
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.chain.next_due().into_iter().chain(self.inner.next_timeout()).min()
    }

    fn handle_agent(&mut self, now: Duration, line: Option<&str>) {
        self.chain.pass(now);
        self.inner.handle_agent(now, line);
        self.drain();
    }

    fn handle_shell(&mut self, now: Duration, terminal: &str, said: shell::Said) {
        self.chain.pass(now);
        self.inner.handle_shell(now, terminal, said);
        self.drain();
    }

    fn release(&mut self, now: Duration, hold: &str) {
        self.chain.pass(now);
        self.inner.release(now, hold);
        self.drain();
    }

    fn handle_errand(&mut self, now: Duration, errand: &Errand) -> Vec<Value> {
        self.inner.handle_errand(now, errand)
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.drain();
        self.chain.poll()
    }

    fn restart(&mut self, now: Duration) {
        self.chain.pass(now);
        self.chain.restarted();
        self.inner.restart(now);
    }
}
