//! The expectations of a generated conversation for a host other than the reference host.
//!
//! Expectations come from the stage. On another host, an expectation is a claim only if a requirement permits
//! no other outcome ([`CLAIMS`]) and all earlier steps about the same objects had the same outcome as on the stage.
//! Other expectations of the stage are premises: if the host chooses another outcome, the conversation ends there
//! without a finding. If a host does not meet an expectation, later conversations omit this expectation, together with
//! the expectations about the same channels and identifiers.
//!
//! Knows: drafts, ids of the ledger. Never knows: hosts, the execution of scenarios.
//!
//! Start at [`fit`].

use std::collections::{BTreeMap, BTreeSet};

use crate::run::play::ScenarioVerdict;
use crate::scenario::verbs::VERBS;
use crate::wire::channel::ROOT;
use crate::wire::json::{Value, json};

use super::draft::ScenarioDraft;
use super::draft_step::{bound, clients_of, members_mut, prune, rule_of, verb_of};

/// The expected outcome of a step.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum StepEnding {
    /// The action comes back accepted.
    Accepted,
    /// The action is not accepted.
    Refused,
    /// No envelope comes back for the action.
    Ignored,
    /// The request gets a result.
    Result,
    /// The request gets an error.
    Error,
    /// The request gets no response.
    Unanswered,
    /// The host closes the connection.
    Closed,
    /// A state of a channel is present.
    State,
    /// A message arrives.
    Heard,
    /// A message does not arrive.
    NotHeard,
}

impl StepEnding {
    /// Every outcome, with its name in the file of a campaign.
    const NAMES: [(StepEnding, &'static str); 10] = [
        (StepEnding::Accepted, "accepted"),
        (StepEnding::Refused, "refused"),
        (StepEnding::Ignored, "ignored"),
        (StepEnding::Result, "result"),
        (StepEnding::Error, "error"),
        (StepEnding::Unanswered, "unanswered"),
        (StepEnding::Closed, "closed"),
        (StepEnding::State, "state"),
        (StepEnding::Heard, "heard"),
        (StepEnding::NotHeard, "not heard"),
    ];

    /// The members of a step that state an outcome. If a step has several such members, the first member in
    /// this list counts.
    pub(super) const MEMBERS: [(&'static str, StepEnding); 10] = [
        ("accept", StepEnding::Accepted),
        ("refused", StepEnding::Refused),
        ("reject", StepEnding::Refused),
        ("ignored", StepEnding::Ignored),
        ("none", StepEnding::Unanswered),
        ("closed", StepEnding::Closed),
        ("snapshot", StepEnding::Result),
        ("replay", StepEnding::Result),
        ("error", StepEnding::Error),
        ("result", StepEnding::Result),
    ];

    /// Returns the expected outcome of a step; `None` if the step states none.
    pub(super) fn of(step: &Value) -> Option<StepEnding> {
        let (verb, members) = verb_of(step)?;
        let has = |name: &str| members.get(name).is_some();
        match verb {
            "expect" | "next" | "answer" if !has("error") && !has("result") && !has("none") => {
                Some(StepEnding::Heard)
            }
            "never" => Some(StepEnding::NotHeard),
            "snapshot" | "mirror" => Some(StepEnding::State),
            "closed" => Some(StepEnding::Closed),
            _ if has("error") && has("result") => None,
            _ => StepEnding::MEMBERS.iter().find(|(name, _)| has(name)).map(|row| row.1),
        }
    }
}

/// A kind of step and its expected outcome. If a host does not meet the expectation, later conversations omit
/// it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct StepExpectation {
    /// The verb of the step.
    pub verb: String,
    /// The type of the action, or the method, or else the requirement.
    pub about: String,
    /// The expected outcome.
    pub ending: StepEnding,
}

impl StepExpectation {
    /// Returns the expectation of a step; `None` if the step has none.
    pub fn of(step: &Value) -> Option<StepExpectation> {
        let (verb, members) = verb_of(step)?;
        let places = ["/type", "/method", "/action/type"];
        let about =
            places.iter().find_map(|place| Some(members.pointer(place)?.as_str()?.to_owned()));
        Some(StepExpectation {
            verb: verb.to_owned(),
            about: about.or_else(|| rule_of(step)).unwrap_or_default(),
            ending: StepEnding::of(step)?,
        })
    }

    /// Returns whether the whole time limit passes if a host does not meet the expectation: the expected outcome
    /// is the arrival of a message, or the end of the connection.
    pub fn is_wait(&self) -> bool {
        matches!(self.ending, Heard | Closed)
    }

    /// Returns the expectation as a JSON value for the file of a campaign.
    pub fn value(&self) -> Value {
        let name = StepEnding::NAMES.iter().find(|row| row.0 == self.ending).map(|row| row.1);
        json!([self.verb, self.about, name])
    }

    /// Parses the output of [`value`](Self::value).
    pub fn read(value: &Value) -> Option<StepExpectation> {
        let text = |at: usize| value[at].as_str();
        let ending = StepEnding::NAMES.iter().find(|row| Some(row.1) == text(2))?.0;
        Some(StepExpectation { verb: text(0)?.to_owned(), about: text(1)?.to_owned(), ending })
    }
}

/// The condition on which the certainty of an expectation depends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ClaimBasis {
    /// The expectation depends only on the frame that was just sent, and not on the history of its channels and
    /// identifiers. The client must not have sent malformed frames on the connection, because the host may then close
    /// it.
    OnItself,
    /// The expectation depends on the history of its channels and identifiers, which has to be the same as on
    /// the stage.
    OnBefore,
    /// The expectation also depends on the history. A restart of the host in between does not matter, because earlier
    /// steps are premises that test whether the host has kept the channel.
    AcrossRestart,
}

/// The part of a step's expectation that is required. An error code that the specification gives only as an
/// example is not required.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AskedPart {
    /// The whole expectation, as it was generated.
    All,
    /// An error with any code.
    AnyError,
}

struct ExpectationClaim {
    rule: &'static str,
    ending: StepEnding,
    rests: ClaimBasis,
    asks: AskedPart,
}

const fn claim(
    rule: &'static str,
    ending: StepEnding,
    rests: ClaimBasis,
    asks: AskedPart,
) -> ExpectationClaim {
    ExpectationClaim { rule, ending, rests, asks }
}

use AskedPart::{All, AnyError};
use ClaimBasis::{AcrossRestart, OnBefore, OnItself};
use StepEnding::{Accepted, Closed, Error, Heard, Ignored, Refused, Result as Answer, State};

/// The requirements that permit only one outcome, by id or by a prefix with `*`. The list omits requests that a host
/// may refuse for its own reasons, such as a limit, and messages that a host may delay or omit. The always-on checks
/// cover the rules that depend only on frames.
const CLAIMS: &[ExpectationClaim] = &[
    // JSON-RPC 2.0, sections 4.2 and 5.1, and the errors that the base protocol names.
    claim("jsonrpc.parse-error", Error, OnItself, All),
    claim("jsonrpc.invalid-request", Error, OnItself, All),
    claim("jsonrpc.method-not-found", Error, OnItself, All),
    claim("jsonrpc.method-case-sensitive", Error, OnItself, AnyError),
    claim("jsonrpc.invalid-params.missing", Error, OnItself, AnyError),
    claim("jsonrpc.id.integer-echo", Answer, OnItself, All),
    claim("jsonrpc.params.unknown-members", Answer, OnItself, All),
    claim("ping.response", Answer, OnItself, All),
    claim("security.no-crash-fuzz", Answer, OnItself, All),
    // A version offer that no host supports is refused with this code, and the connection is closed.
    claim("lifecycle.version.unsupported-error", Error, OnItself, All),
    claim("lifecycle.version.unsupported-close", Closed, OnItself, All),
    claim("lifecycle.initialize.second-call", Error, OnItself, AnyError),
    // The dispatch table, and actions that no channel of the kind has. The host may reject the action or ignore
    // it.
    claim("dispatch.table.server-only.*", Refused, OnItself, All),
    claim("dispatch.wrong-family.*", Refused, OnItself, All),
    claim("version.unknown-action-from-client", Refused, OnItself, All),
    claim("dispatch.unknown-channel-ignored.*", Ignored, OnBefore, All),
    // A client cannot decide, end or answer an object that does not exist.
    claim("dispatch.chat.turnCancelled.no-active", Refused, OnBefore, All),
    claim("dispatch.chat.turnCancelled.wrong-turn", Refused, OnBefore, All),
    claim("dispatch.chat.turnStarted.while-active", Refused, OnBefore, All),
    claim("dispatch.chat.turnStarted.duplicate-id-history", Refused, OnBefore, All),
    claim("dispatch.chat.toolCallConfirmed.unknown-call", Refused, OnBefore, All),
    claim("dispatch.chat.toolCallConfirmed.wrong-turn", Refused, OnBefore, All),
    claim("dispatch.chat.toolCallConfirmed.no-active-turn", Refused, OnBefore, All),
    claim("dispatch.chat.toolCallResultConfirmed.not-pending", Refused, OnBefore, All),
    claim("dispatch.chat.toolCallComplete.non-owner", Refused, OnBefore, All),
    claim("dispatch.chat.toolCallContentChanged.non-owner", Refused, OnBefore, All),
    claim("dispatch.chat.inputCompleted.unknown", Refused, OnBefore, All),
    claim("dispatch.chat.inputAnswerChanged.unknown", Refused, OnBefore, All),
    claim("dispatch.chat.truncated.unknown-turn", Refused, OnBefore, All),
    claim("dispatch.chat.turnResume.active-turn", Refused, OnBefore, All),
    claim("dispatch.session.activeClientSet.other-client", Refused, OnItself, All),
    claim("dispatch.session.activeClientRemoved.other-client", Refused, OnBefore, All),
    // Requests about objects that do not exist. The specification mostly gives the code as an example.
    claim("session.create.unknown-provider", Error, OnItself, AnyError),
    claim("session.create.duplicate", Error, OnBefore, AnyError),
    claim("session.dispose.unknown", Error, OnBefore, AnyError),
    claim(UNKNOWN_CHANNEL, Error, OnBefore, AnyError),
    claim("chat.create.source.unknown-chat", Error, OnBefore, AnyError),
    claim("automation.run.unknown", Error, OnBefore, AnyError),
    // The state after a restart, if the host has kept the channel.
    claim("multi.converge", State, AcrossRestart, All),
    claim("disconnect.crash.turns-failed", State, AcrossRestart, All),
    claim("automation.run.idempotent", Answer, AcrossRestart, All),
    claim("reconnect.host-restart", Accepted, AcrossRestart, All),
];

/// The requirement that a subscription to a channel that does not exist fails.
const UNKNOWN_CHANNEL: &str = "subscribe.unknown-resource";

fn claim_of(step: &Value) -> Option<&'static ExpectationClaim> {
    let (rule, ending) = (rule_of(step)?, StepEnding::of(step)?);
    let named = |row: &ExpectationClaim| match row.rule.strip_suffix('*') {
        Some(start) => rule.starts_with(start),
        None => rule == row.rule,
    };
    let fits = |row: &&ExpectationClaim| named(row) && row.ending == ending;
    CLAIMS.iter().find(fits)
}

/// Returns whether a step makes the same claim if the host is restarted before the step.
pub fn holds_across_restart(step: &Value) -> bool {
    claim_of(step).is_some_and(|claim| claim.rests != OnBefore)
}

/// Adapts a draft to a host other than the reference host. `unmet` lists the expectations that this host does
/// not meet.
pub fn fit(draft: &mut ScenarioDraft, unmet: &BTreeSet<StepExpectation>) {
    fit_from(draft, unmet, None);
}

/// Adapts a draft with another interleaving. From the step with the index `after` on, the histories of the channels and
/// identifiers with these names are unknown.
pub fn fit_raced(
    draft: &mut ScenarioDraft,
    unmet: &BTreeSet<StepExpectation>,
    after: usize,
    names: &BTreeSet<String>,
) {
    fit_from(draft, unmet, Some((after, names)));
}

fn fit_from(
    draft: &mut ScenarioDraft,
    unmet: &BTreeSet<StepExpectation>,
    race: Option<(usize, &BTreeSet<String>)>,
) {
    let mut fit = ClaimFit::new(unmet);
    let mut fitted = Vec::new();
    for (place, step) in std::mem::take(&mut draft.steps).into_iter().enumerate() {
        if let Some((_, names)) = race.filter(|(after, _)| *after == place) {
            fit.apart.extend(names.iter().cloned());
        }
        fitted.extend(fit.step(step));
    }
    draft.steps = fitted;
    prune(&mut draft.steps);
}

/// Removes the expectations in `unmet` from a generated scenario. A reference host with injected faults does not meet
/// them, and the scenario has to go on at that host.
pub fn loosen(draft: &mut ScenarioDraft, unmet: &BTreeSet<StepExpectation>) {
    let mut fit = ClaimFit::new(unmet);
    let loosened = |step: Value| match fit.is_unmet(&step) || fit.lacks(&step) {
        true => fit.open(step),
        false => Some(step),
    };
    draft.steps = std::mem::take(&mut draft.steps).into_iter().filter_map(loosened).collect();
    prune(&mut draft.steps);
}

/// Removes the claims that a host does not meet, except those of the steps in `kept`. Premises are kept, so the other
/// claims are as certain as before. Returns the new indices of the kept steps.
pub fn drop_claims(
    draft: &mut ScenarioDraft,
    unmet: &BTreeSet<StepExpectation>,
    kept: &BTreeSet<usize>,
) -> BTreeMap<usize, usize> {
    let mut fit = ClaimFit::new(unmet);
    let (mut steps, mut places) = (Vec::new(), BTreeMap::new());
    for (place, step) in std::mem::take(&mut draft.steps).into_iter().enumerate() {
        let is_unmet = claim_of(&step).is_some() && fit.is_unmet(&step);
        if kept.contains(&place) {
            places.insert(place, steps.len());
            steps.push(step);
        } else if is_unmet || fit.lacks(&step) {
            steps.extend(fit.open(step));
        } else {
            steps.push(step);
        }
    }
    draft.steps = steps;
    places
}

/// Returns the expectations that the host did not meet: the expectations of broken claims, and of the premise that
/// ended the conversation.
pub fn missed(draft: &ScenarioDraft, verdict: &ScenarioVerdict) -> Vec<StepExpectation> {
    let claims = verdict.claims.iter().filter_map(|claim| claim.outcome.failure.as_ref());
    let restart = draft.restart();
    // Expectations that failed because of a restart are left out, because they say nothing about other conversations.
    let tells = |at: &usize| restart.is_none_or(|restart| *at < restart);
    let premise = verdict.failure.iter().filter_map(|failure| failure.step).filter(tells);
    let steps = claims.filter_map(|failure| failure.step).chain(premise);
    steps.filter_map(|at| StepExpectation::of(draft.steps.get(at)?)).collect()
}

/// The pause in which another host can finish work about which no client is notified.
const REST: &str = "250ms";

struct ClaimFit<'a> {
    unmet: &'a BTreeSet<StepExpectation>,
    /// The names that no step binds any longer.
    gone: BTreeSet<String>,
    /// The names of objects whose history on the host may differ from their history on the stage.
    apart: BTreeSet<String>,
    /// The names of earlier steps, and the names from before a restart. The host may have lost the objects with these
    /// names.
    named: BTreeSet<String>,
    lost: BTreeSet<String>,
    /// The clients that sent malformed frames, so that the host may have closed their connections.
    odd: BTreeSet<String>,
    /// The clients whose last frame was their first malformed frame. The response to that frame is still
    /// certain.
    answers: BTreeSet<String>,
    /// The names of watches. If a host derives the name of a watch from its root, it may start a new watch with the
    /// same name.
    watches: BTreeSet<String>,
    pending: PendingDispatches,
}

/// The dispatches for whose outcome no step waits: the names of the channels and identifiers in each dispatch, by
/// client. The host may process the next frame of another client first.
#[derive(Default)]
struct PendingDispatches {
    names: BTreeMap<String, BTreeSet<String>>,
}

impl PendingDispatches {
    /// Returns whether a step uses a name that also occurs in a pending dispatch of another client.
    fn cross(&self, step: &Value) -> bool {
        let (clients, names) = (clients_of(step), names_in(step));
        let others = self.names.iter().filter(|(client, _)| !clients.contains(*client));
        others.into_iter().any(|(_, pending)| !pending.is_disjoint(&names))
    }

    /// Adds a step. A barrier, or a dispatch whose outcome is awaited, settles the client's earlier dispatches.
    fn add(&mut self, step: &Value) {
        let Some((verb, _)) = verb_of(step) else { return };
        if verb == "restart" {
            self.names.clear();
        }
        let sends = matches!(verb, "dispatch" | "turn");
        for client in clients_of(step) {
            if verb == "barrier" || sends && StepEnding::of(step).is_some() {
                self.names.remove(&client);
            } else if sends {
                self.names.entry(client).or_default().extend(names_in(step));
            }
        }
    }
}

/// Returns whether every claim that depends on earlier steps comes after the outcomes of the other clients'
/// dispatches.
pub fn is_settled(draft: &ScenarioDraft) -> bool {
    let mut pending = PendingDispatches::default();
    draft.steps.iter().all(|step| {
        let certain = claim_of(step).is_none_or(|claim| claim.rests == OnItself);
        let settled = certain || !pending.cross(step);
        pending.add(step);
        settled
    })
}

impl ClaimFit<'_> {
    fn new(unmet: &BTreeSet<StepExpectation>) -> ClaimFit<'_> {
        let none = BTreeSet::new;
        let pending = PendingDispatches::default();
        ClaimFit {
            unmet,
            gone: none(),
            apart: none(),
            named: none(),
            lost: none(),
            odd: none(),
            answers: none(),
            watches: none(),
            pending,
        }
    }

    fn is_unmet(&self, step: &Value) -> bool {
        StepExpectation::of(step).is_some_and(|it| self.unmet.contains(&it))
    }

    fn lacks(&self, step: &Value) -> bool {
        let text = step.to_string();
        self.gone.iter().any(|name| text.contains(&format!("${{{name}}}")))
    }

    fn step(&mut self, step: Value) -> Option<Value> {
        let restarts = step.get("restart").is_some();
        let step = self.fitted(step)?;
        self.named.extend(names_in(&step));
        self.pending.add(&step);
        if restarts {
            self.lost.extend(self.named.iter().cloned());
            self.odd.clear();
        }
        Some(step)
    }

    fn fitted(&mut self, mut step: Value) -> Option<Value> {
        if step.get("rest").is_some() {
            // The duration that the stage needed says nothing about another host.
            step["rest"]["for"] = json!(REST);
        }
        let answers = std::mem::take(&mut self.answers);
        let clients = clients_of(&step);
        if is_odd(&step) {
            self.answers.extend(clients.iter().filter(|name| !self.odd.contains(*name)).cloned());
            self.odd.extend(clients.iter().cloned());
        }
        let known = |name: &String| self.odd.contains(name) && !answers.contains(name);
        let odd = clients.iter().any(known);
        if step.get("connect").is_some() {
            self.odd.retain(|name| !clients.contains(name));
        }
        let claim = claim_of(&step);
        let on_itself = claim.is_some_and(|claim| claim.rests == OnItself);
        if claim.is_none() && is_about_everybody(&step) {
            return self.open(step);
        }
        let names = names_in(&step);
        if step.pointer("/request/method").is_some_and(|method| method == "createResourceWatch") {
            self.watches.extend(found(&step.to_string()));
        }
        let is_unknown = claim.is_some_and(|claim| claim.rule == UNKNOWN_CHANNEL);
        if is_unknown && !names.is_disjoint(&self.watches) {
            return self.open(step);
        }
        let apart = !on_itself && !names.is_disjoint(&self.apart);
        // The host may have lost the object of the claim, even if all earlier steps had the expected outcome.
        let lost =
            claim.is_some_and(|claim| claim.rests == OnBefore) && !names.is_disjoint(&self.lost);
        if lost && !apart {
            return self.open(step);
        }
        let races = claim.is_some() && !on_itself && self.pending.cross(&step);
        if self.lacks(&step) || self.is_unmet(&step) || apart || races || odd && claim.is_some() {
            self.apart.extend(names);
            return self.open(step);
        }
        let only_looks = claim.is_none() && step.get("snapshot").is_some();
        let binds = step.to_string().contains("$bind ");
        let members = members_mut(&mut step)?;
        match claim {
            Some(claim) if claim.asks == AnyError && members.contains_key("error") => {
                members.insert("error", json!({"code": {"$type": "integer"}}));
            }
            // The host may reject the action or ignore it.
            Some(claim) if claim.ending == Refused && members.remove("reject").is_some() => {
                members.insert("refused", json!(true));
            }
            Some(_) => {}
            None => drop(members.remove("proves")),
        }
        // No state is expected here, because the always-on checks compare snapshots with the host's messages.
        if only_looks && !binds {
            members.insert("state", json!({}));
        }
        Some(step)
    }

    /// Removes the expectation from a step. Returns `None` if the step only waits, or if it uses a name that is no
    /// longer bound.
    fn open(&mut self, mut step: Value) -> Option<Value> {
        let lacks = self.lacks(&step);
        let text = step.to_string();
        if !lacks && let Some(snapshot) = step.get_mut("snapshot") {
            self.gone.extend(found(&text));
            snapshot["state"] = json!({});
            members_mut(&mut step)?.remove("proves");
            return Some(step);
        }
        let waits = verb_of(&step)
            .and_then(|(verb, _)| VERBS.iter().find(|row| row.name == verb))
            .is_some_and(|row| row.asserts);
        if lacks || waits {
            self.gone.extend(bound(&text));
            return None;
        }
        let answered =
            ["request", "subscribe", "initialize"].iter().any(|it| step.get(it).is_some());
        if text.contains("$bind ") {
            self.gone.extend(found(&text));
        }
        let members = members_mut(&mut step)?;
        members.remove("proves");
        StepEnding::MEMBERS.iter().for_each(|(name, _)| drop(members.remove(name)));
        if answered {
            members.insert("result", json!(true));
            members.insert("error", json!(true));
        }
        Some(step)
    }
}

/// Returns whether a step changes the state that all clients of a host share. Another conversation, or an earlier run,
/// may have made the same change before, and a host does not have to announce an action that changes nothing.
fn is_about_everybody(step: &Value) -> bool {
    step.pointer("/dispatch/channel").and_then(Value::as_str) == Some(ROOT)
}

/// Returns whether a step sends a malformed frame.
fn is_odd(step: &Value) -> bool {
    step.get("send").is_some_and(|send| send.get("json").is_none_or(|json| !json.is_object()))
}

/// Returns the names that the patterns of a step bind.
fn found(text: &str) -> Vec<String> {
    let rests = text.split("$bind ").skip(1);
    rests.map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect()).collect()
}

/// Returns the names that a step uses, creates or binds, without the names of clients. If a step names no chat, it is
/// about the first chat.
pub(super) fn names_in(step: &Value) -> BTreeSet<String> {
    let text = step.to_string();
    let word = |rest: &str| -> String {
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '.').collect()
    };
    let used = text.split("${").skip(1).map(|rest| {
        let rest = rest.strip_prefix("new chat ").or(rest.strip_prefix("new ")).unwrap_or(rest);
        word(rest)
    });
    let mut names: BTreeSet<String> = used.filter(|name| !name.contains('.')).collect();
    names.extend(found(&text));
    let implicit = ["turn", "release"]
        .iter()
        .any(|verb| step.get(verb).is_some_and(|it| it.get("chat").is_none()));
    if implicit {
        names.insert("chat".to_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::version::Version;

    fn draft(steps: &[Value]) -> ScenarioDraft {
        let (id, title, since) = ("fuzz/x".to_owned(), String::new(), Version::V1_0);
        let clients = vec!["A".to_owned()];
        let steps = steps.to_vec();
        let (approves, needs) = (None, Vec::new());
        ScenarioDraft { id, title, since, clients, approves, needs, tested: None, steps }
    }

    fn fitted(steps: &[Value], unmet: &[StepExpectation]) -> Vec<Value> {
        let mut draft = draft(steps);
        fit(&mut draft, &unmet.iter().cloned().collect());
        draft.steps
    }

    fn rename(channel: &str, ending: &str, rule: &str) -> Value {
        let action = json!({"type": "session/titleChanged", "title": "x"});
        let mut step = json!({"dispatch": {"by": "A", "channel": channel, "action": action}});
        step["dispatch"][ending] = json!(true);
        step["dispatch"]["proves"] = json!(rule);
        step
    }

    #[test]
    fn a_released_watch_may_begin_anew() {
        let subscribe = |channel: &str| {
            json!({"subscribe": {
                "by": "A", "channel": channel, "error": {"code": -32008}, "proves": UNKNOWN_CHANNEL,
            }})
        };
        let watch = json!({"request": {
            "by": "A", "method": "createResourceWatch", "params": {"uri": "file:///x"},
            "result": {"channel": "$bind watch"},
        }});
        let released = json!({"unsubscribe": {"by": "A", "channel": "${watch}"}});
        let steps = [watch, released, subscribe("${watch}"), subscribe("ahp-session:/nowhere")];
        let fitted = fitted(&steps, &[]);
        assert_eq!(rule_of(&fitted[2]), None, "{fitted:?}");
        assert_eq!(fitted[2]["subscribe"]["result"], true);
        assert_eq!(rule_of(&fitted[3]).as_deref(), Some(UNKNOWN_CHANNEL), "{fitted:?}");
    }

    #[test]
    fn a_replay_waits_for_no_claim_that_another_finding_is_about() {
        let rule = "lifecycle.version.unsupported-close";
        let closed = json!({"closed": {"client": "A", "proves": rule}});
        let refused = rename("${session}", "refused", "dispatch.table.server-only.session.ready");
        let accepted = rename("${session}", "accept", "dispatch.table.client.session.titleChanged");
        let steps = vec![closed.clone(), refused.clone(), accepted.clone(), closed.clone()];
        let unmet = [&closed, &refused, &accepted].map(|it| StepExpectation::of(it).unwrap());
        let mut draft = draft(&steps);
        let places = drop_claims(&mut draft, &unmet.into(), &BTreeSet::from([3]));
        let opened = &draft.steps[0]["dispatch"];
        assert!(opened["refused"].is_null() && opened["action"].is_object(), "{opened}");
        assert_eq!(draft.steps[1..], [accepted, closed], "premises stay");
        assert_eq!(places, BTreeMap::from([(3, 2)]));
    }

    #[test]
    fn an_expectation_about_a_choice_of_the_host_is_a_premise() {
        let accepted = rename("${session}", "accept", "dispatch.table.client.session.titleChanged");
        let refused = rename("${session}", "refused", "dispatch.table.server-only.session.ready");
        let fitted = fitted(&[accepted, refused.clone()], &[]);
        assert_eq!(fitted[0]["dispatch"]["accept"], true);
        assert!(fitted[0]["dispatch"]["proves"].is_null());
        assert_eq!(fitted[1], refused);
    }

    #[test]
    fn an_unmet_choice_opens_later_expectations_about_its_channel() {
        let accepted = rename("${session}", "accept", "dispatch.table.client.session.titleChanged");
        let on = |channel| rename(channel, "refused", "dispatch.chat.turnCancelled.no-active");
        let always = rename("${session}", "refused", "dispatch.table.server-only.session.ready");
        let unmet = StepExpectation::of(&accepted).unwrap();
        let steps = [accepted, on("${session}"), on("${other}"), always.clone()];
        let fitted = fitted(&steps, &[unmet]);
        assert!(fitted[0]["dispatch"]["accept"].is_null(), "it is still sent");
        assert!(fitted[1]["dispatch"]["refused"].is_null(), "the host may be elsewhere by now");
        assert_eq!(fitted[2], on("${other}"));
        assert_eq!(fitted[3], always, "nothing before could allow it");
    }

    #[test]
    fn nothing_is_expected_of_a_change_that_others_may_have_made_before() {
        let change = json!({"type": "root/configChanged", "config": {"telemetry": true}});
        let step =
            json!({"dispatch": {"by": "A", "channel": ROOT, "action": change, "accept": true}});
        let fitted = fitted(std::slice::from_ref(&step), &[]);
        assert!(fitted[0]["dispatch"]["accept"].is_null(), "{}", fitted[0]);
        assert_eq!(fitted[0]["dispatch"]["action"], step["dispatch"]["action"]);
    }

    #[test]
    fn nothing_is_claimed_while_another_dispatch_is_unanswered() {
        let cancel = |by: &str| {
            let action = json!({"type": "chat/turnCancelled", "turnId": "t1"});
            json!({"dispatch": {"by": by, "channel": "${chat}", "action": action}})
        };
        let mut refused = cancel("B");
        refused["dispatch"]["refused"] = json!(true);
        refused["dispatch"]["proves"] = json!("dispatch.chat.turnCancelled.no-active");
        let races = fitted(&[cancel("A"), refused.clone()], &[]);
        assert!(races[1]["dispatch"]["refused"].is_null(), "B's may be the first");
        let barrier = json!({"barrier": {"by": "A"}});
        assert_eq!(fitted(&[cancel("A"), barrier, refused.clone()], &[])[2], refused);
        let mut awaited = cancel("A");
        awaited["dispatch"]["accept"] = json!(true);
        assert_eq!(fitted(&[awaited, refused.clone()], &[])[1], refused);
        let draft = |steps: Vec<Value>| ScenarioDraft {
            id: "fuzz/x".to_owned(),
            title: String::new(),
            since: Version::V1_0,
            clients: vec!["A".to_owned(), "B".to_owned()],
            approves: None,
            needs: Vec::new(),
            tested: None,
            steps,
        };
        assert!(!is_settled(&draft(vec![cancel("A"), refused.clone()])));
        assert!(is_settled(&draft(vec![refused])));
    }

    #[test]
    fn an_unmet_wait_is_removed_with_the_steps_that_use_its_names() {
        let look = json!({"action": {"id": "$bind id1"}});
        let wait = json!({"expect": {"at": "A", "type": "chat/toolCallReady", "where": look}});
        let used = rename("${id1}", "accept", "dispatch.table.client.session.titleChanged");
        let other = rename("${session}", "refused", "dispatch.table.server-only.session.ready");
        let unmet = StepExpectation::of(&wait).unwrap();
        assert_eq!(fitted(&[wait, used, other.clone()], &[unmet]), [other]);
    }

    #[test]
    fn nothing_is_claimed_on_a_connection_that_may_be_closed() {
        let odd = json!({"send": {"by": "A", "raw": "hello"}});
        let error = json!({"code": -32700});
        let answer =
            json!({"answer": {"at": "A", "error": error, "proves": "jsonrpc.parse-error"}});
        let ping = json!({"request": {"by": "A", "method": "ping", "result": true, "proves": "ping.response"}});
        let fitted = fitted(&[odd.clone(), answer.clone(), ping.clone()], &[]);
        assert_eq!(fitted[..2], [odd, answer], "what answers it is certain");
        assert!(fitted[2]["request"]["proves"].is_null());
        let connect = json!({"connect": {"by": "A"}});
        assert_eq!(self::fitted(&[connect.clone(), ping.clone()], &[]), [connect, ping]);
    }

    #[test]
    fn every_claim_names_a_requirement() {
        for row in CLAIMS {
            let known = |id: &str| match row.rule.strip_suffix('*') {
                Some(start) => id.starts_with(start),
                None => id == row.rule,
            };
            let mut ids = crate::ledger::RequirementLedger::of(Version::V1_0).iter();
            assert!(ids.any(|requirement| known(requirement.id)), "{}", row.rule);
        }
    }

    #[test]
    fn an_expectation_survives_a_round_trip() {
        for (ending, _) in StepEnding::NAMES {
            let (verb, about) = ("request".to_owned(), "ping".to_owned());
            let one = StepExpectation { verb, about, ending };
            assert_eq!(StepExpectation::read(&one.value()), Some(one));
        }
    }
}
