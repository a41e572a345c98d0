//! What a drawn conversation expects of a host that is not the reference host.
//!
//! An expectation was drawn on the stage. On another host it is a claim only where a requirement leaves no other outcome
//! ([`CLAIMS`]) and everything before it went as on the stage. What else the stage expected is a premise: a host that
//! chooses otherwise ends the conversation there, and nobody is blamed. What a host is known to do otherwise is left open
//! from then on, and with it whatever is about the same channels and ids.
//!
//! Knows: drafts, ids of the ledger. Never knows: who plays them.
//!
//! Start at [`fit`].

use std::collections::BTreeSet;

use crate::run::play::ScenarioVerdict;
use crate::scenario::verbs::VERBS;
use crate::wire::json::{Value, json};

use super::draft::{ScenarioDraft, bound, clients_of, members_mut, verb_of};
use super::draw::{prune, rule_of};

/// How a step has to end.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum StepEnding {
    /// The action comes back accepted.
    Accepted,
    /// The action is not accepted.
    Refused,
    /// Nothing comes back for the action.
    Ignored,
    /// A result comes.
    Result,
    /// An error comes.
    Error,
    /// Nothing answers.
    Unanswered,
    /// The host closes the connection.
    Closed,
    /// The state of a channel is given.
    State,
    /// A message comes.
    Heard,
    /// A message does not come.
    NotHeard,
}

impl StepEnding {
    /// Every ending, with its name in the file of a campaign.
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

    /// The members of a step that ask for an ending; the first that a step has counts.
    const MEMBERS: [(&'static str, StepEnding); 10] = [
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

    /// How a step has to end, if it says so.
    fn of(step: &Value) -> Option<StepEnding> {
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

/// What a step is and how it has to end: a host that is known to end it otherwise is not asked for it again.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct StepExpectation {
    /// The verb of the step.
    pub verb: String,
    /// The type of the action, or the method; else the requirement.
    pub about: String,
    /// How it has to end.
    pub ending: StepEnding,
}

impl StepExpectation {
    /// What a step expects, if it does.
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

    /// Whether it is that a message comes.
    pub fn is_wait(&self) -> bool {
        self.ending == Heard
    }

    /// The expectation as a line of a file.
    pub fn value(&self) -> Value {
        let name = StepEnding::NAMES.iter().find(|row| row.0 == self.ending).map(|row| row.1);
        json!([self.verb, self.about, name])
    }

    /// Reads what [`value`](Self::value) made.
    pub fn read(value: &Value) -> Option<StepExpectation> {
        let text = |at: usize| value[at].as_str();
        let ending = StepEnding::NAMES.iter().find(|row| Some(row.1) == text(2))?.0;
        Some(StepExpectation { verb: text(0)?.to_owned(), about: text(1)?.to_owned(), ending })
    }
}

/// What makes an expectation certain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ClaimBasis {
    /// What was just sent, whatever the channels and ids in it were before, on a connection on which nothing odd was sent:
    /// a host may close one that no longer speaks the protocol.
    OnItself,
    /// What the channels and ids in it have gone through, as on the stage.
    OnBefore,
}

/// What of a step is asked for: a code that the text gives only as an example is no part of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AskedPart {
    /// What was drawn.
    All,
    /// Any error will do.
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
use ClaimBasis::{OnBefore, OnItself};
use StepEnding::{Closed, Error, Heard, Ignored, Refused, Result as Answer};

/// The requirements that leave a host no other outcome, by their ids or, with `*`, the beginning of them. What hosts may
/// refuse for reasons of their own, such as a limit, is not among them, nor what they may tell later or not at all; what
/// the frames alone show is for the always-on checks.
const CLAIMS: &[ExpectationClaim] = &[
    // JSON-RPC 2.0, 4.2 and 5.1, and the errors that the base protocol names.
    claim("jsonrpc.parse-error", Error, OnItself, All),
    claim("jsonrpc.invalid-request", Error, OnItself, All),
    claim("jsonrpc.method-not-found", Error, OnItself, All),
    claim("jsonrpc.method-case-sensitive", Error, OnItself, AnyError),
    claim("jsonrpc.invalid-params.missing", Error, OnItself, AnyError),
    claim("jsonrpc.id.integer-echo", Answer, OnItself, All),
    claim("jsonrpc.params.unknown-members", Answer, OnItself, All),
    claim("ping.response", Answer, OnItself, All),
    claim("security.no-crash-fuzz", Answer, OnItself, All),
    // What no host speaks is refused with this code, and the connection is closed.
    claim("lifecycle.version.unsupported-error", Error, OnItself, All),
    claim("lifecycle.version.unsupported-close", Closed, OnItself, All),
    claim("lifecycle.initialize.second-call", Error, OnItself, AnyError),
    // The dispatch table, and actions that no channel of the kind has. Whether a reason comes or nothing is the host's.
    claim("dispatch.table.server-only.*", Refused, OnItself, All),
    claim("dispatch.wrong-family.*", Refused, OnItself, All),
    claim("version.unknown-action-from-client", Refused, OnItself, All),
    claim("dispatch.unknown-channel-ignored.*", Ignored, OnBefore, All),
    // What is not there cannot be decided, ended or answered.
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
    // Requests about what is not there; which code says so is mostly given as an example.
    claim("session.create.unknown-provider", Error, OnItself, AnyError),
    claim("session.create.duplicate", Error, OnBefore, AnyError),
    claim("session.dispose.unknown", Error, OnBefore, AnyError),
    claim("subscribe.unknown-resource", Error, OnBefore, AnyError),
    claim("chat.create.source.unknown-chat", Error, OnBefore, AnyError),
    claim("automation.run.unknown", Error, OnBefore, AnyError),
];

fn claim_of(step: &Value) -> Option<&'static ExpectationClaim> {
    let (rule, ending) = (rule_of(step)?, StepEnding::of(step)?);
    let named = |row: &ExpectationClaim| match row.rule.strip_suffix('*') {
        Some(start) => rule.starts_with(start),
        None => rule == row.rule,
    };
    let fits = |row: &&ExpectationClaim| named(row) && row.ending == ending;
    CLAIMS.iter().find(fits)
}

/// Fits a draft to a host that is not the reference host, and that is known not to meet some expectations.
pub fn fit(draft: &mut ScenarioDraft, unmet: &BTreeSet<StepExpectation>) {
    let mut fit = ClaimFit::new(unmet);
    draft.steps =
        std::mem::take(&mut draft.steps).into_iter().filter_map(|it| fit.step(it)).collect();
    prune(&mut draft.steps);
}

/// Leaves open what a host is known not to meet, and nothing else: it is the reference host with faults.
pub fn loosen(draft: &mut ScenarioDraft, unmet: &BTreeSet<StepExpectation>) {
    let mut fit = ClaimFit::new(unmet);
    let loosened = |step: Value| match fit.is_unmet(&step) || fit.lacks(&step) {
        true => fit.open(step),
        false => Some(step),
    };
    draft.steps = std::mem::take(&mut draft.steps).into_iter().filter_map(loosened).collect();
    prune(&mut draft.steps);
}

/// What a play was stopped by, or what of it was broken: what the host does not meet.
pub fn missed(draft: &ScenarioDraft, verdict: &ScenarioVerdict) -> Vec<StepExpectation> {
    let claims = verdict.claims.iter().filter_map(|claim| claim.outcome.failure.as_ref());
    let failures = claims.chain(&verdict.failure);
    let steps = failures.filter_map(|failure| draft.steps.get(failure.step?));
    steps.filter_map(StepExpectation::of).collect()
}

/// How long another host is given to do what nobody is told of.
const REST: &str = "250ms";

struct ClaimFit<'a> {
    unmet: &'a BTreeSet<StepExpectation>,
    /// Names that nothing binds any more.
    gone: BTreeSet<String>,
    /// Names about which the stage and the host have come apart.
    apart: BTreeSet<String>,
    /// Clients that have sent what is no message, so that the host may have closed their connections.
    odd: BTreeSet<String>,
    /// The client whose last frame was odd: what answers that one is certain.
    answers: BTreeSet<String>,
}

impl ClaimFit<'_> {
    fn new(unmet: &BTreeSet<StepExpectation>) -> ClaimFit<'_> {
        let none = BTreeSet::new;
        ClaimFit { unmet, gone: none(), apart: none(), odd: none(), answers: none() }
    }

    fn is_unmet(&self, step: &Value) -> bool {
        StepExpectation::of(step).is_some_and(|it| self.unmet.contains(&it))
    }

    fn lacks(&self, step: &Value) -> bool {
        let text = step.to_string();
        self.gone.iter().any(|name| text.contains(&format!("${{{name}}}")))
    }

    fn step(&mut self, mut step: Value) -> Option<Value> {
        if step.get("rest").is_some() {
            // How long the stage was busy says nothing about another host.
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
        let names = names_in(&step);
        let apart = !on_itself && names.iter().any(|name| self.apart.contains(name));
        if self.lacks(&step) || self.is_unmet(&step) || apart || odd && claim.is_some() {
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
            // Whether a refusal comes with a reason or nothing comes is the host's choice.
            Some(claim) if claim.ending == Refused && members.remove("reject").is_some() => {
                members.insert("refused", json!(true));
            }
            Some(_) => {}
            None => drop(members.remove("proves")),
        }
        // Whether what a host gives agrees with what it has said is for the always-on checks.
        if only_looks && !binds {
            members.insert("state", json!({}));
        }
        Some(step)
    }

    /// The step without what it expects; nothing where it only waits, or needs a name that is gone.
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

/// Whether a step sends what is no message.
fn is_odd(step: &Value) -> bool {
    step.get("send").is_some_and(|send| send.get("json").is_none_or(|json| !json.is_object()))
}

/// The names that a pattern of a step binds.
fn found(text: &str) -> Vec<String> {
    let rests = text.split("$bind ").skip(1);
    rests.map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect()).collect()
}

/// The names that a step uses, makes or binds, without those of clients; a step about a chat that it does not name is
/// about the first one.
fn names_in(step: &Value) -> BTreeSet<String> {
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

    fn fitted(steps: &[Value], unmet: &[StepExpectation]) -> Vec<Value> {
        let (id, title, since) = ("fuzz/x".to_owned(), String::new(), Version::V1_0);
        let clients = vec!["A".to_owned()];
        let steps = steps.to_vec();
        let (approves, needs) = (None, Vec::new());
        let mut draft = ScenarioDraft { id, title, since, clients, approves, needs, steps };
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
    fn what_a_host_may_choose_is_a_premise() {
        let accepted = rename("${session}", "accept", "dispatch.table.client.session.titleChanged");
        let refused = rename("${session}", "refused", "dispatch.table.server-only.session.ready");
        let fitted = fitted(&[accepted, refused.clone()], &[]);
        assert_eq!(fitted[0]["dispatch"]["accept"], true);
        assert!(fitted[0]["dispatch"]["proves"].is_null());
        assert_eq!(fitted[1], refused);
    }

    #[test]
    fn what_comes_after_a_choice_about_the_same_is_left_open() {
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
    fn a_wait_in_vain_goes_with_all_that_needs_what_it_names() {
        let look = json!({"action": {"id": "$bind id1"}});
        let wait = json!({"expect": {"at": "A", "type": "chat/toolCallReady", "where": look}});
        let used = rename("${id1}", "accept", "dispatch.table.client.session.titleChanged");
        let other = rename("${session}", "refused", "dispatch.table.server-only.session.ready");
        let unmet = StepExpectation::of(&wait).unwrap();
        assert_eq!(fitted(&[wait, used, other.clone()], &[unmet]), [other]);
    }

    #[test]
    fn nothing_is_claimed_of_a_connection_that_the_host_may_have_closed() {
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
    fn an_expectation_comes_back_from_its_line() {
        for (ending, _) in StepEnding::NAMES {
            let (verb, about) = ("request".to_owned(), "ping".to_owned());
            let one = StepExpectation { verb, about, ending };
            assert_eq!(StepExpectation::read(&one.value()), Some(one));
        }
    }
}
