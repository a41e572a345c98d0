//! The fold over a transcript: reads entries, returns findings, and creates reports at the end.
//!
//! Knows: the lists of families. Never knows: the rules of the checks.
//!
//! Start at [`Oracle::observe`].

use std::sync::Arc;

use crate::transcript::{ConnId, TranscriptEntry};
use crate::verdict::{CheckReport, Finding};
use crate::wire::version::ProtocolStandard;

use super::acp;
use super::catalogue::{CHECKS, CheckRow};
use super::check::FindingSink;
use super::clients;
use super::context::OracleContext;
use super::options::{JudgedParty, OracleOptions};
use super::rules::{self, RuleFamilies};
use super::secrets;
use super::step::{OracleStep, RARE};

/// Returns the catalogue of checks for the host or agent of a protocol.
pub fn checks(standard: ProtocolStandard) -> &'static [CheckRow] {
    checks_of(standard, JudgedParty::Server)
}

/// Returns the catalogue of checks for a party of a protocol.
pub fn checks_of(standard: ProtocolStandard, party: JudgedParty) -> &'static [CheckRow] {
    match (standard, party) {
        (ProtocolStandard::Ahp, JudgedParty::Server) => CHECKS,
        (ProtocolStandard::Ahp, JudgedParty::Clients) => clients::CHECKS,
        (ProtocolStandard::Acp, JudgedParty::Server) => acp::CHECKS,
        // The only client of an agent is the harness, which is not judged.
        (ProtocolStandard::Acp, JudgedParty::Clients) => &[],
    }
}

/// Returns the checks of every party of every protocol.
pub fn all_checks() -> impl Iterator<Item = &'static CheckRow> {
    CHECKS.iter().chain(acp::CHECKS).chain(clients::CHECKS)
}

/// The judge of a transcript, which reads entry by entry.
pub struct Oracle {
    fold: ProtocolFold,
    sink: FindingSink,
}

/// The fold that reads the entries, by protocol.
enum ProtocolFold {
    Ahp(Box<CheckFamilies>),
    Clients(Box<clients::ClientFold>),
    Acp(Box<acp::AgentFold>),
}

/// The families of checks for AHP, and the state that they share.
struct CheckFamilies {
    context: OracleContext,
    checks: RuleFamilies,
}

impl Oracle {
    /// Creates an oracle without any entries.
    pub fn new(options: OracleOptions) -> Oracle {
        Oracle::of_client(options, None)
    }

    /// Creates an oracle without any entries. If the oracle judges clients, `only` selects the client that is judged,
    /// by its id or by the name of its connection; with `None`, every client is judged.
    pub fn of_client(options: OracleOptions, only: Option<&str>) -> Oracle {
        let fold = match (options.standard, options.party) {
            (ProtocolStandard::Ahp, JudgedParty::Server) => {
                ProtocolFold::Ahp(Box::new(CheckFamilies::new(options)))
            }
            (ProtocolStandard::Ahp, JudgedParty::Clients) => {
                ProtocolFold::Clients(Box::new(clients::ClientFold::new(options, only)))
            }
            (ProtocolStandard::Acp, _) => ProtocolFold::Acp(Box::new(acp::AgentFold::new(
                options.deadline,
                options.odd_client,
            ))),
        };
        Oracle { fold, sink: FindingSink::new(checks_of(options.standard, options.party)) }
    }

    /// Adds a secret, such as a token of the handshake. No later frame of the host may contain the secret.
    pub fn keep_secret(&mut self, secret: &str) {
        let ProtocolFold::Ahp(families) = &mut self.fold else { return };
        let known = &mut families.context.secrets;
        if let Some(form) = secrets::form(secret)
            && known.len() < secrets::MAX_SECRETS
            && !known.contains(&form)
        {
            known.push(form);
        }
    }

    /// Sets the name of a connection for messages.
    pub fn name_connection(&mut self, conn: ConnId, name: &str) {
        match &mut self.fold {
            ProtocolFold::Ahp(families) => {
                families.context.names.insert(conn, Arc::from(name));
            }
            ProtocolFold::Clients(fold) => fold.name_connection(conn, name),
            ProtocolFold::Acp(_) => {}
        }
    }

    /// Reads the next entry, and returns the findings that it proves. The reports contain the same findings, up
    /// to the upper bound for each check.
    pub fn observe(&mut self, entry: &TranscriptEntry) -> Vec<Finding> {
        let Oracle { fold, sink } = self;
        match fold {
            ProtocolFold::Ahp(families) => {
                let CheckFamilies { context, checks } = &mut **families;
                context.observe(entry, &mut |cx, step| tell(checks, cx, step, sink));
            }
            ProtocolFold::Clients(fold) => fold.observe(entry, sink),
            ProtocolFold::Acp(fold) => fold.observe(entry, sink),
        }
        sink.take_fresh()
    }

    /// Judges what can be judged only at the end, and returns a report for every row of the protocol's
    /// [`checks`], in their order.
    pub fn finish(self) -> Vec<CheckReport> {
        self.finish_with_findings().0
    }

    /// Does the same as [`Oracle::finish`], and also returns the findings that only the end of the transcript proves,
    /// including repetitions.
    pub fn finish_with_findings(self) -> (Vec<CheckReport>, Vec<Finding>) {
        let Oracle { fold, mut sink } = self;
        match fold {
            ProtocolFold::Ahp(families) => families.finish(&mut sink),
            ProtocolFold::Clients(fold) => fold.finish(&mut sink),
            ProtocolFold::Acp(fold) => fold.finish(&mut sink),
        }
        let fresh = sink.take_fresh();
        (sink.into_reports(), fresh)
    }
}

impl CheckFamilies {
    fn new(options: OracleOptions) -> CheckFamilies {
        CheckFamilies { context: OracleContext::new(options), checks: rules::families() }
    }

    fn finish(self, sink: &mut FindingSink) {
        let CheckFamilies { mut context, mut checks } = self;
        context.finish(&mut |cx, step| tell(&mut checks, cx, step, sink));
        sink.counts(context.counts(true));
        for (_, check) in &mut checks {
            check.finish(&context, sink);
        }
    }
}

/// Passes a step to the families that handle it. Most families handle only one or two of the frequent steps,
/// although each frame causes several steps.
#[inline]
fn tell(
    checks: &mut RuleFamilies,
    cx: &OracleContext,
    step: &OracleStep<'_>,
    sink: &mut FindingSink,
) {
    sink.counts(cx.counts(false));
    let kind = step.frequency();
    for (wanted, check) in checks {
        if kind == RARE || *wanted & kind != 0 {
            check.step(cx, step, sink);
        }
    }
}
