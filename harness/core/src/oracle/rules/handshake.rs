//! Checks the handshake: the negotiated version, the refusal of unsupported versions, and requests before the
//! handshake.
//!
//! Knows: offers, answers to `initialize`, versions that the host has negotiated. Never knows: tables of
//! messages.
//!
//! Start at [`HandshakeChecks`].

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::transcript::ConnId;
use crate::verdict::Weight;
use crate::wire::json::Value;
use crate::wire::message::{Message, is_handshake};
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::connection::OpenRequest;
use crate::oracle::context::{OracleContext, version_of};
use crate::oracle::members::list;
use crate::oracle::same::same;
use crate::oracle::step::OracleStep;

const OFFERED: &str = "lifecycle.initialize.version-selected-from-offer";
const SHAPE: &str = "lifecycle.initialize.result-shape";
const EARLY: &str = "lifecycle.preinit.request-refused";
const DATA: &str = "lifecycle.version.unsupported-data";
const CLOSE: &str = "lifecycle.version.unsupported-close";
/// The error code with which a host refuses a handshake if it supports none of the offered versions.
const UNSUPPORTED: i64 = -32005;
/// The first version in which a refusal has to list the supported versions.
const DATA_SINCE: Version = Version::V0_9;
/// The requests that a host serves without a handshake.
const UNGUARDED: [&str; 3] = ["initialize", "reconnect", "ping"];
/// The time that a host may take to close a connection. The specification states no limit.
const CLOSING: Duration = Duration::from_secs(1);
/// Upper bound for the refusals that are kept until the transcript shows which versions the host supports.
const MAX_BARE: usize = 64;
/// Upper bound for the connections that are remembered.
const MAX_CONNECTIONS: usize = 4_096;

/// The outcomes of the handshakes of all connections.
#[derive(Default)]
pub(super) struct HandshakeChecks {
    /// The connections whose handshake was answered with a result.
    agreed: HashSet<ConnId>,
    /// The connections whose handshake was answered with an error.
    refused: HashMap<ConnId, VersionRefusal>,
    /// The lines of the request and of the answer, for each refusal that lists no versions.
    bare: Vec<[u64; 2]>,
    /// The line at which a version from 0.9.0 on was negotiated.
    modern: Option<u64>,
    /// The observations of each requirement in [`KEPT`] on connections without a successful handshake. On such
    /// connections, the [`FindingSink`] does not count observations.
    kept: [u64; 3],
}

#[derive(Clone, Copy)]
struct VersionRefusal {
    tick: u64,
    at: Duration,
    line: u64,
    closes: bool,
}

/// The requirements to which the counts in [`HandshakeChecks::kept`] belong, in the same order.
const KEPT: [&str; 3] = [EARLY, DATA, CLOSE];

impl CheckFamily for HandshakeChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Answered { request, message } => self.answered(cx, request, message, out),
            OracleStep::Closed => {
                self.agreed.remove(&cx.now.conn);
                if self.refused.remove(&cx.now.conn).is_some_and(|refusal| refusal.closes) {
                    self.keeps(CLOSE);
                }
            }
            OracleStep::Restarted | OracleStep::Gap => {
                *self = HandshakeChecks { kept: self.kept, ..HandshakeChecks::default() }
            }
            _ => {}
        }
    }

    fn finish(&mut self, _cx: &OracleContext, out: &mut FindingSink) {
        for (requirement, times) in KEPT.iter().zip(self.kept) {
            let rule = rule_of(requirement).of(requirement);
            (0..times).for_each(|_| out.seen(rule));
        }
        for lines in std::mem::take(&mut self.bare) {
            let message = "expected `data.supportedVersions` in the refusal of versions from 0.9.0 \
                           on, found none; it is not known whether the host supports any of these \
                           versions";
            out.weaker(Rule::Refusal.of(DATA), Weight::Note, message.to_owned(), &lines);
        }
    }
}

impl HandshakeChecks {
    fn keeps(&mut self, requirement: &str) {
        let kept = KEPT.iter().zip(&mut self.kept).find(|(known, _)| **known == requirement);
        if let Some((_, times)) = kept {
            *times += 1;
        }
    }

    fn answered(
        &mut self,
        cx: &OracleContext,
        request: &OpenRequest,
        message: &Message,
        out: &mut FindingSink,
    ) {
        let handshake = is_handshake(&request.method);
        let here = cx.now.conn;
        if cx.here().is_none_or(|conn| conn.partial() || conn.stale) {
            return;
        }
        self.late(cx, request, out);
        match message.result() {
            Some(result) if request.method == "initialize" => {
                let first = self.agreed.len() < MAX_CONNECTIONS && self.agreed.insert(here);
                let judged = first.then_some(result);
                judged.into_iter().for_each(|result| self.agreed_on(cx, request, result, out));
            }
            None if request.method == "initialize" => {
                self.refused(cx, request, message);
                self.bare(out);
            }
            Some(_) if !handshake => self.early(cx, request, out),
            None if !handshake && self.is_early(cx, request) => self.keeps(EARLY),
            _ => {}
        }
    }

    /// Judges whether the answer names an offered version. The shape check judges the other members by the
    /// tables of the version. If the version is unknown, this function judges the other members. Invariant O1.
    fn agreed_on(
        &mut self,
        cx: &OracleContext,
        request: &OpenRequest,
        result: &Value,
        out: &mut FindingSink,
    ) {
        let lines = [request.line, cx.now.line];
        let params = request.params();
        let single = params.get("protocolVersion").filter(|it| it.is_string() || it.is_number());
        let offers = list(params, "protocolVersions").iter().filter(|it| it.is_string());
        let offers: Vec<&Value> = offers.chain(single).collect();
        let found = result.get("protocolVersion").unwrap_or(&Value::Null);
        // The first protocol states its version as a number, which a host may write as `1` or as `1.0`.
        let is_offered = offers.iter().any(|offer| same(Some(offer), Some(found)));
        if let Some(version) = version_of(result).filter(|it| *it >= DATA_SINCE)
            && is_offered
            && Protocol::of(version).is_some()
        {
            self.modern = self.modern.or(Some(cx.now.line));
            self.bare(out);
        }
        if offers.is_empty() {
            return;
        }
        out.seen(Rule::Agreed.of(OFFERED));
        out.seen_of(Rule::Agreed, SHAPE);
        if !is_offered {
            let requirement = if found.is_string() { OFFERED } else { SHAPE };
            let offered: Vec<String> = offers.iter().map(|offer| offer.to_string()).collect();
            let message = format!(
                "expected an offered version as `protocolVersion`, {}, found {}",
                offered.join(", "),
                result.get("protocolVersion").map_or("nothing".to_owned(), Value::to_string)
            );
            out.broken(Rule::Agreed.of(requirement), message, &lines);
        }
        if cx.here().is_some_and(|conn| conn.protocol.is_none()) {
            let sound = [
                ("serverSeq", result.get("serverSeq").is_some_and(Value::is_u64)),
                ("snapshots", result.get("snapshots").is_some_and(Value::is_array)),
            ];
            for (name, _) in sound.iter().filter(|(_, sound)| !sound) {
                let message = format!(
                    "expected a valid `{name}` in the answer to `initialize`, found another value \
                     or none"
                );
                out.broken(Rule::Agreed.of(SHAPE), message, &lines);
            }
        }
    }

    /// Records a refusal, and judges whether it lists the supported versions. Invariant O2.
    fn refused(&mut self, cx: &OracleContext, request: &OpenRequest, message: &Message) {
        let closes = message.error_code() == Some(UNSUPPORTED);
        let (tick, at, line) = (cx.now.tick, cx.now.at, cx.now.line);
        if self.refused.len() < MAX_CONNECTIONS {
            let refusal = VersionRefusal { tick, at, line, closes };
            self.refused.entry(cx.now.conn).or_insert(refusal);
        }
        // Before 0.9.0 `supportedVersions` is optional in the error data, so a refusal without it breaks no rule if the
        // client also offered an older version.
        let offers = list(request.params(), "protocolVersions").iter().filter_map(Value::as_str);
        let mut offers = offers.filter_map(|offer| offer.parse::<Version>().ok());
        if !closes || !offers.all(|offer| offer >= DATA_SINCE) {
            return;
        }
        let data = message.error().and_then(|error| error.get("data"));
        let versions = data.map_or(&[][..], |data| list(data, "supportedVersions"));
        if !versions.is_empty() && versions.iter().all(Value::is_string) {
            self.keeps(DATA);
        } else if self.bare.len() < MAX_BARE {
            self.bare.push([request.line, line]);
        }
    }

    /// Reports the refusals without a list of versions, once the host is known to support a version that requires the
    /// list.
    fn bare(&mut self, out: &mut FindingSink) {
        let Some(line) = self.modern else { return };
        for [request, answer] in std::mem::take(&mut self.bare) {
            let message = "expected `data.supportedVersions`, a list of strings, in the refusal by \
                           a host that speaks 0.9.0 or later, found none";
            let lines = [request, answer, line];
            out.broken(Rule::Refusal.of(DATA), message.to_owned(), &lines);
        }
    }

    /// Judges whether the host closes the connection after a refusal. The host may still answer requests that
    /// were in transit. Invariant O2.
    fn late(&mut self, cx: &OracleContext, request: &OpenRequest, out: &mut FindingSink) {
        let refusal = self.refused.get(&cx.now.conn).filter(|refusal| refusal.closes);
        let Some(refusal) = refusal.filter(|it| request.at >= it.at + CLOSING) else {
            return;
        };
        let message = format!(
            "expected the host to close the connection after it refused all offered versions, \
             found an answer to `{}` on it",
            request.method
        );
        let lines = [refusal.line, request.line, cx.now.line];
        out.broken(Rule::Refusal.of(CLOSE), message, &lines);
        if let Some(refusal) = self.refused.get_mut(&cx.now.conn) {
            refusal.closes = false;
        }
    }

    /// Returns whether a request was sent before the handshake, or after a refused handshake.
    fn is_early(&self, cx: &OracleContext, request: &OpenRequest) -> bool {
        let Some(conn) = cx.here() else { return false };
        let refused = self.refused.get(&cx.now.conn).is_some_and(|it| request.tick > it.tick);
        let before = conn.handshake_line == 0 || request.line < conn.handshake_line;
        !UNGUARDED.contains(&request.method.as_str()) && (before || (refused && !conn.shaken))
    }

    /// Judges whether the host serves only `ping` before the handshake. Invariant O1.
    fn early(&self, cx: &OracleContext, request: &OpenRequest, out: &mut FindingSink) {
        if self.is_early(cx, request) {
            let message = format!(
                "expected an error for `{}` before the handshake, found a result",
                request.method
            );
            let lines = [request.line, cx.now.line];
            out.weaker(Rule::Agreed.of(EARLY), Weight::Note, message, &lines);
        }
    }
}

fn rule_of(requirement: &str) -> Rule {
    if requirement == EARLY { Rule::Agreed } else { Rule::Refusal }
}
