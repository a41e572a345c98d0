//! Legal variants: behaviour that the specification permits and that the reference host does not have by
//! default.
//!
//! An injected fault proves that a check can fail. A legal variant proves that no check fails on a legal host.
//! Variants are not branches of the reference host: each rewrites the messages between clients and host,
//! implements hooks of the host, or changes a setting of the host, so that several variants can be combined.
//! `catalogue` lists the variants with the text that permits each.
//!
//! Knows: the reference host, messages. Never knows: rules, scenarios.
//!
//! Start at [`VariantRow`] and [`VariantHost`].

use std::time::Duration;

use crate::peer::errand::ClientErrand;
use crate::transcript::ConnId;
use crate::wire::frame::Frame;
use crate::wire::json::Value;

use super::chain::MessageChain;
use super::engine::{HostConfig, RefHost};
use super::{HostOutput, SansIoHost, shell};

mod absence;
mod behaviour;
mod catalogue;
mod companions;
mod delivery;
mod names;
mod omission;
mod row;
mod settings;
mod spelling;
mod traffic;
mod values;

pub use catalogue::VARIANTS;
pub use row::VariantRow;

/// The reference host behind a chain of variants. Injected faults are nearer to the host than the variants.
pub struct VariantHost {
    inner: RefHost,
    chain: MessageChain,
}

impl VariantHost {
    /// Creates a reference host with these variants. Messages of the host pass the variants in the order of `rows`.
    pub fn new(rows: &[&VariantRow], mut config: HostConfig) -> VariantHost {
        let chain = rows.iter().filter_map(|row| row.rewriter()).collect();
        rows.iter().for_each(|row| row.set_up(&mut config));
        let behaviours = rows.iter().filter_map(|row| row.behaviour()).collect();
        let inner = RefHost::with_hooks(config, behaviours);
        VariantHost { chain: MessageChain::new(chain, inner.config.versions.clone()), inner }
    }

    fn drain(&mut self) {
        while let Some(output) = self.inner.poll_output() {
            self.chain.outgoing(output);
        }
    }
}

impl SansIoHost for VariantHost {
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

    fn handle_shell(&mut self, now: Duration, terminal: &str, said: shell::ShellEvent) {
        self.chain.pass(now);
        self.inner.handle_shell(now, terminal, said);
        self.drain();
    }

    fn release(&mut self, now: Duration, hold: &str) {
        self.chain.pass(now);
        self.inner.release(now, hold);
        self.drain();
    }

    fn handle_errand(&mut self, now: Duration, errand: &ClientErrand) -> Vec<Value> {
        self.inner.handle_errand(now, errand)
    }

    fn poll_output(&mut self) -> Option<HostOutput> {
        self.drain();
        self.chain.poll()
    }

    fn restart(&mut self, now: Duration) {
        self.chain.pass(now);
        self.chain.restarted();
        self.inner.restart(now);
    }
}
