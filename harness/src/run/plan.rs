//! Selects the scenarios to play, and states why other scenarios are skipped.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use litemap::LiteMap;
use serde::{Deserialize, Serialize};

use crate::agent::mode::AgentMode;
use crate::agent::script::{self, AgentScript, HEADER};
use crate::ledger::RequirementLedger;
use crate::scenario::capability::{self, CapabilitySource, HostCapability};
use crate::scenario::parse::{ParsedScenario, ScenarioStep};
use crate::scenario::source::closest;
use crate::scenario::verbs::StepVerb;
use crate::wire::version::{ProtocolStandard, Version};

use super::client_look::unknown_ability;
use super::detect::DetectedFeature;
use super::suite::{ScenarioSuite, SuiteEntry};
use super::words;

/// The user's selection. An empty list selects everything.
#[derive(Clone, Debug, Default)]
pub struct ScenarioSelection {
    /// Scenario ids, prefixes that end with `/`, or patterns with `*`.
    pub ids: Vec<String>,
    /// The tags that select scenarios.
    pub tags: Vec<String>,
    /// The requirements, at least one of which a selected scenario has to name in `proves`.
    pub requirements: Vec<String>,
}

/// One of several equal parts of a selection, so that several machines can share a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SelectionShard {
    /// The number of the part, from 1.
    number: usize,
    /// The number of parts.
    of: usize,
}

impl SelectionShard {
    /// Returns the scenarios of this part: of `of` parts, each contains every `of`-th scenario of the selection,
    /// beginning with the scenario at the number of the part.
    ///
    /// # Errors
    /// Returns an error if the part is empty, because an empty run would look like a success.
    pub fn part<'a>(
        self,
        entries: &[&'a SuiteEntry],
    ) -> Result<Vec<&'a SuiteEntry>, SelectionError> {
        let part: Vec<_> = entries.iter().copied().skip(self.number - 1).step_by(self.of).collect();
        let none = SelectionError::Shard { shard: self, scenarios: entries.len() };
        if part.is_empty() { Err(none) } else { Ok(part) }
    }

    /// Returns the number of parts.
    pub fn parts(self) -> usize {
        self.of
    }

    /// Returns the parts that `among` lacks. The first part determines the number of parts.
    pub fn missing(among: &[SelectionShard]) -> Vec<SelectionShard> {
        let of = among.first().map_or(0, |shard| shard.of);
        let all = (1..=of).map(|number| SelectionShard { number, of });
        all.filter(|shard| !among.contains(shard)).collect()
    }
}

impl fmt::Display for SelectionShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for SelectionShard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<SelectionShard, &'static str> {
        let parts = text.split_once('/');
        let parts = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(SelectionShard { number, of }),
            Some(_) => Err("expected a part from 1 to the number of parts"),
            None => Err("expected a part and the number of parts, such as `1/4`"),
        }
    }
}

/// How the harness can restart a target.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HostRestarts {
    /// The target cannot be restarted.
    Never,
    /// The target can be restarted only by the user's command. That command may let the target save its state first.
    Orderly,
    /// The target's process can also be killed.
    Crashes,
}

/// The abilities of the target.
#[derive(Clone, Debug)]
pub struct TargetAbilities {
    /// The version that was negotiated.
    pub version: Version,
    /// The requested profiles.
    pub profiles: Vec<String>,
    /// Whether the target is the embedded host, whose settings a scenario may choose.
    pub embedded: bool,
    /// How the host can be restarted.
    pub restarts: HostRestarts,
    /// The capabilities with the information whether the target offers them. A capability that is not listed
    /// counts as offered.
    pub detected: Vec<DetectedFeature>,
    /// The component that plays the agent.
    pub agent: AgentMode,
    /// Whether scenarios that may harm the host are played.
    pub aggressive: bool,
}

/// A scenario with the decision whether it is played.
#[derive(Clone, Debug)]
pub struct PlannedScenario {
    /// The scenario.
    pub entry: SuiteEntry,
    /// The agent that plays in the scenario; `None` unless the run tests several agents and the scenario
    /// depends on the agent.
    pub agent: Option<PlannedAgent>,
    /// Why the scenario is skipped; `None` if the scenario is played.
    pub skip: Option<String>,
    /// The kind of the reason in `skip`.
    pub cause: SkipCause,
}

/// An agent of a host that has several agents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlannedAgent {
    /// The agent's position in the host's list, from 1.
    pub place: usize,
    /// The agent's provider.
    pub provider: String,
}

/// The kind of reason for skipping a scenario.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipCause {
    /// The target does not offer the subject of the scenario, or the user did not request the scenario's
    /// profile, so the requirements do not apply.
    #[default]
    NotApplicable,
    /// The harness or this run cannot play the scenario, but the requirements may apply.
    OutOfReach,
    /// The scenario is for other versions. The requirements may be tested by another scenario, so this skip says
    /// nothing about them.
    OtherVersion,
}

impl SkipCause {
    /// Returns whether the scenario was skipped because its requirements do not apply to the target.
    pub fn is_not_applicable(&self) -> bool {
        *self == SkipCause::NotApplicable
    }
}

/// Why a scenario is skipped.
struct SkipReason {
    text: String,
    cause: SkipCause,
}

impl SkipReason {
    fn out_of_reach(text: impl Into<String>) -> Option<SkipReason> {
        Some(SkipReason { text: text.into(), cause: SkipCause::OutOfReach })
    }

    fn other_version(text: String) -> Option<SkipReason> {
        Some(SkipReason { text, cause: SkipCause::OtherVersion })
    }
}

/// The error for a selection of scenarios that matches nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SelectionError {
    /// One option of the selection matches no scenario.
    #[error("no scenario matches {option} `{value}`{hint}")]
    NoMatch {
        /// The option.
        option: &'static str,
        /// The value of the option.
        value: String,
        /// A suggestion for the user.
        hint: String,
    },
    /// Each option matches scenarios, but no scenario matches all options.
    #[error(
        "no scenario matches all of the filters\n(hint: each filter matches some scenarios, but \
         none matches all of them)"
    )]
    Empty,
    /// A part of the selection is empty.
    #[error("shard {shard} has none of the {scenarios} selected scenarios")]
    Shard {
        /// The part.
        shard: SelectionShard,
        /// The number of scenarios in the selection.
        scenarios: usize,
    },
}

/// A function that returns whether a scenario matches one value of an option.
type OptionMatch = fn(&SuiteEntry, &str) -> bool;

impl ScenarioSelection {
    /// Returns the scenarios that match every option.
    ///
    /// # Errors
    /// Returns an error if an option's value, or the whole selection, matches nothing, because an empty run
    /// would look like a success.
    pub fn of<'a>(&self, suite: &'a ScenarioSuite) -> Result<Vec<&'a SuiteEntry>, SelectionError> {
        let parts: [(&'static str, &[String], OptionMatch); 3] = [
            ("--id", &self.ids, |entry, id| glob(id, &entry.scenario.id)),
            ("--tag", &self.tags, |entry, tag| entry.scenario.tags.iter().any(|t| t == tag)),
            ("--requirement", &self.requirements, |entry, id| {
                entry.scenario.proves.iter().any(|proved| proved == id)
            }),
        ];
        for (option, values, matches) in parts {
            for value in values {
                if !suite.entries.iter().any(|entry| matches(entry, value)) {
                    let hint = hint(option, value, suite);
                    return Err(SelectionError::NoMatch { option, value: value.clone(), hint });
                }
            }
        }
        let chosen = |entry: &&SuiteEntry| {
            parts.iter().all(|(_, values, matches)| {
                values.is_empty() || values.iter().any(|value| matches(entry, value))
            })
        };
        let entries: Vec<_> = suite.entries.iter().filter(chosen).collect();
        if entries.is_empty() { Err(SelectionError::Empty) } else { Ok(entries) }
    }
}

fn hint(option: &str, value: &str, suite: &ScenarioSuite) -> String {
    let names: Vec<&str> = suite
        .entries
        .iter()
        .flat_map(|entry| match option {
            "--id" => vec![entry.scenario.id.as_str()],
            "--tag" => entry.scenario.tags.iter().map(String::as_str).collect(),
            _ => entry.scenario.proves.iter().map(String::as_str).collect(),
        })
        .collect();
    match closest(value, names) {
        Some(close) => format!("\n(hint: did you mean `{close}`?)"),
        None => {
            let what = match option {
                "--tag" => "list tags",
                "--requirement" => "list requirements",
                _ => "list",
            };
            format!("\n(hint: `ahp-harness {what}` shows them all)")
        }
    }
}

/// Returns whether a name equals a pattern, in which `*` matches any string, and `a/` means `a/*`.
fn glob(pattern: &str, name: &str) -> bool {
    let pattern = if pattern.ends_with('/') { format!("{pattern}*") } else { pattern.to_owned() };
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut exact = true;
    for part in parts {
        exact = part.is_empty();
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    exact && pattern.contains('*') || rest.is_empty()
}

/// Decides for each scenario whether the target can play it.
pub fn plan(entries: &[&SuiteEntry], abilities: &TargetAbilities) -> Vec<PlannedScenario> {
    entries
        .iter()
        .map(|entry| {
            let reason = skip(entry, abilities);
            let cause = reason.as_ref().map(|reason| reason.cause).unwrap_or_default();
            let skip = reason.map(|reason| reason.text);
            PlannedScenario { entry: (*entry).clone(), agent: None, skip, cause }
        })
        .collect()
}

fn skip(entry: &SuiteEntry, abilities: &TargetAbilities) -> Option<SkipReason> {
    let scenario = &entry.scenario;
    let profile = &scenario.profile;
    if !scenario.spec.includes(abilities.version) {
        return SkipReason::other_version(format!(
            "does not apply to protocol {}",
            abilities.version
        ));
    }
    if let Some(what) = words::lacks(scenario, abilities.version) {
        return SkipReason::other_version(format!("protocol {} has no {what}", abilities.version));
    }
    if !abilities.profiles.iter().any(|asked| asked == profile || asked == "all") {
        let text = format!("profile `{profile}` was not selected (hint: `--profile {profile}`)");
        return Some(SkipReason { text, cause: SkipCause::NotApplicable });
    }
    // The reason does not say how a capability was detected, because the beginning of the report explains this. A
    // capability that the target lacks takes precedence over an option that the run lacks, because the option would not
    // make the scenario playable without the capability.
    let missing = all_not_offered(scenario, &abilities.detected, abilities.agent);
    let missing = missing.min_by_key(|it| is_means_of_test(&it.capability));
    let subject = abilities.version.standard.subject();
    if let Some(DetectedFeature { capability, .. }) = missing {
        let cause = match is_means_of_test(capability) {
            true => SkipCause::OutOfReach,
            false => SkipCause::NotApplicable,
        };
        let text = why_missing(capability, subject);
        return Some(SkipReason { text, cause });
    }
    if let Some(ability) = unknown_ability(scenario, &abilities.detected) {
        let why = format!(
            "needs a driver that names `{ability}` in its answer to `hello` (hint: CLIENT_DRIVER.md describes it)"
        );
        return SkipReason::out_of_reach(why);
    }
    if scenario.aggressive && !abilities.aggressive {
        return SkipReason::out_of_reach(format!(
            "may harm the {subject} (hint: `--aggressive` plays it)"
        ));
    }
    if let Some(reason) = scenario.embedded_only.as_ref().filter(|_| !abilities.embedded) {
        return SkipReason::out_of_reach(format!("only the embedded host plays it: {reason}"));
    }
    if restarts(scenario) && abilities.restarts == HostRestarts::Never {
        let why = "needs a host that can be restarted (hint: `--restart-command`)";
        return SkipReason::out_of_reach(why);
    }
    // A host that is asked to stop may first end its turns and save its state.
    if crashes(scenario) && abilities.restarts != HostRestarts::Crashes {
        let why = "needs a host that can be killed (hint: `--command` or `--crash-command`)";
        return SkipReason::out_of_reach(why);
    }
    scripts(scenario)
        .find_map(|script| abilities.agent.cannot(&script))
        .and_then(SkipReason::out_of_reach)
}

/// Returns why a capability is missing: the target does not offer it, or the user did not give the option.
fn why_missing(capability: &str, subject: &str) -> String {
    match capability::named(capability).map(|row| row.shown) {
        Some(CapabilitySource::Given(_, option)) => format!("the run was not given {option}"),
        Some(CapabilitySource::Token) => "the run has no token for an agent that needs one (hint: \
            `--authenticate RESOURCE=TOKEN`)"
            .to_owned(),
        _ => format!("the {subject} does not offer `{capability}`"),
    }
}

/// Returns a capability that a scenario needs and the target does not offer.
pub fn not_offered<'a>(
    scenario: &ParsedScenario,
    detected: &'a [DetectedFeature],
    agent: AgentMode,
) -> Option<&'a DetectedFeature> {
    all_not_offered(scenario, detected, agent).next()
}

fn all_not_offered<'a>(
    scenario: &ParsedScenario,
    detected: &'a [DetectedFeature],
    agent: AgentMode,
) -> impl Iterator<Item = &'a DetectedFeature> {
    detected.iter().filter(move |it| !it.offered && needs(scenario, &it.capability, agent))
}

fn is_means_of_test(capability: &str) -> bool {
    capability::named(capability).is_some_and(HostCapability::makes_tests_possible)
}

/// Returns whether a scenario needs a capability: it lists the capability in `needs`, sends a request that belongs to
/// the capability, or uses the optional script ability in a script for the host's own agent.
fn needs(scenario: &ParsedScenario, capability: &str, agent: AgentMode) -> bool {
    let row = capability::named(capability).map(|row| row.shown);
    if let Some(CapabilitySource::Extra(name)) = row {
        let asks = |script: AgentScript| script.extras().any(|extra| extra == name);
        return agent == AgentMode::Host && scripts(scenario).any(asks);
    }
    let sends = |step: &ScenarioStep| {
        let method = step.text("method").filter(|_| step.verb == StepVerb::Request);
        method.and_then(capability::of_method).is_some_and(|row| row.name == capability)
    };
    scenario.needs.iter().any(|name| name == capability)
        || scenario.steps.iter().any(sends)
        || capability == capability::SCRIPTS && scenario.profile == "agent"
}

/// Returns whether no other scenario may use the host at the same time. This is so if the scenario demands exclusive
/// use, restarts the host, or sends its own tokens. A host may keep one token for all clients, so a scenario that sends
/// a token could replace the token that the sessions of other scenarios need.
pub fn plays_alone(scenario: &ParsedScenario) -> bool {
    scenario.alone || restarts(scenario) || authenticates(scenario)
}

/// Returns whether a client of the scenario sends a token to a host.
fn authenticates(scenario: &ParsedScenario) -> bool {
    let about_hosts = scenario.spec.standard() == ProtocolStandard::Ahp;
    about_hosts && scenario.steps.iter().any(|step| step.text("method") == Some("authenticate"))
}

/// Returns whether a step of the scenario restarts the host.
pub fn restarts(scenario: &ParsedScenario) -> bool {
    scenario.steps.iter().any(|step| step.verb == StepVerb::Restart)
}

/// Returns whether a step of the scenario kills the host's process.
fn crashes(scenario: &ParsedScenario) -> bool {
    scenario.steps.iter().any(|step| step.verb == StepVerb::Restart && step.flag("crash"))
}

/// Returns the scripts in a scenario that the agent has to play.
fn scripts(scenario: &ParsedScenario) -> impl Iterator<Item = AgentScript> {
    let own = scenario.steps.iter().filter_map(|step| step.text("script"));
    let headed =
        std::iter::once(scenario.agent.as_str()).chain(own).map(|text| format!("{HEADER}\n{text}"));
    // Prompts whose text refers to bound names, and queued messages, contain the script in their text.
    let texts = scenario.steps.iter().filter_map(|step| step.template("text"));
    let actions = scenario.steps.iter().filter_map(|step| step.template("action"));
    let queued = actions.filter_map(|action| action.member("message")?.member("text"));
    let written = texts.cloned().chain(queued).filter_map(|text| text.plain_text());
    headed.chain(written).filter_map(|text| script::find(&text)?.ok())
}

/// Returns the scenarios in an order for a run that may end early: first one scenario for each rule, starting
/// with the most severe rule, then a second scenario for each rule, and so on. Each scenario is assigned to the
/// most severe rule that it tests.
pub fn most_first(planned: &[PlannedScenario], version: Version) -> Vec<&PlannedScenario> {
    let ledger = RequirementLedger::of(version);
    let mut earlier: LiteMap<&str, usize> = LiteMap::new();
    let mut ranked: Vec<_> = planned
        .iter()
        .map(|planned| {
            let rules = planned.entry.scenario.proves.iter().filter_map(|id| ledger.find(id));
            let heaviest = rules.max_by_key(|rule| (rule.weight, rule.severity));
            let count = earlier.entry(heaviest.map_or("", |rule| rule.id)).or_default();
            // A scenario that is skipped does not count as the first scenario, or a later scenario, of its rule.
            let turn = *count;
            *count += usize::from(planned.skip.is_none());
            (turn, Reverse(heaviest.map(|rule| (rule.weight, rule.severity))), planned)
        })
        .collect();
    ranked.sort_by_key(|(turn, harm, _)| (*turn, *harm));
    ranked.into_iter().map(|(.., planned)| planned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_names() {
        let check =
            |pattern, name, expected| assert_eq!(glob(pattern, name), expected, "{pattern} {name}");
        check("turns/a", "turns/a", true);
        check("turns/a", "turns/ab", false);
        check("turns/", "turns/ab", true);
        check("*/a", "turns/a", true);
        check("*/a", "turns/ab", false);
        check("turns/*-b", "turns/a-b", true);
        check("*", "x", true);
        check("b*", "a", false);
    }

    #[test]
    fn a_host_does_not_offer_what_the_user_gives() {
        let check = |capability: &str, expected: &str| {
            assert_eq!(why_missing(capability, "host"), expected);
        };
        check("terminals", "the host does not offer `terminals`");
        check(
            "credentials",
            "the run was not given `--token`, or credentials in `--header` or `--url`",
        );
        for row in capability::CAPABILITIES.iter().filter(|row| {
            matches!(row.shown, CapabilitySource::Given(..) | CapabilitySource::Token)
        }) {
            let reason = why_missing(row.name, "host");
            assert!(reason.starts_with("the run ") && reason.contains("--"), "{reason}");
        }
    }

    #[test]
    fn a_shortened_run_plays_every_rule_first() {
        let planned: Vec<PlannedScenario> =
            super::super::agents::playable(&ScenarioSuite::carried())
                .into_iter()
                .map(|entry| PlannedScenario {
                    entry,
                    agent: None,
                    skip: None,
                    cause: SkipCause::default(),
                })
                .collect();
        let heaviest = |planned: &PlannedScenario| {
            let proves = planned.entry.scenario.proves.iter();
            let rules = proves.filter_map(|id| RequirementLedger::of(Version::ACP_1).find(id));
            rules.max_by_key(|rule| (rule.weight, rule.severity)).unwrap().id
        };
        let ordered = most_first(&planned, Version::ACP_1);
        assert_eq!(ordered.len(), planned.len());
        let all: std::collections::BTreeSet<_> = planned.iter().map(heaviest).collect();
        let first: std::collections::BTreeSet<_> =
            ordered[..all.len()].iter().map(|planned| heaviest(planned)).collect();
        assert_eq!(first, all);
        let ids = ordered[..6].iter().map(|planned| heaviest(planned));
        assert!(ids.into_iter().any(|id| id == "acp.cp-01"));
    }
}
