//! `ahp-harness explain`: prints everything that the harness knows about one name.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::agent::acp::fault as acp;
use crate::agent::acp::variant::{AGENT_VARIANTS, AgentVariantRow};
use crate::edge::VersionEdge;
use crate::fault::{FaultDescription, FaultKind};
use crate::host::fault as host;
use crate::host::variant::{VARIANTS, VariantRow};
use crate::ledger::{BreachKind, ClientObservation, RequirementLedger};
use crate::load::stalls;
use crate::oracle::all_checks;
use crate::report::glossary;
use crate::report::rule_quotes::RuleQuotes;
use crate::report::summary::word;
use crate::run::first_steps::{self, FIRST_STEPS, FirstStep};
use crate::run::mutant_rows::named;
use crate::run::profile::{MEMBERS, PLACES};
use crate::run::suite::ScenarioSuite;
use crate::scenario::capability::{CAPABILITIES, HostCapability};
use crate::scenario::parse::ScenarioStep;
use crate::scenario::pattern::OPERATORS;
use crate::scenario::render;
use crate::scenario::source::closest;
use crate::scenario::verbs::{FormField, VERBS};
use crate::wire::members::MemberRow;
use crate::wire::protocol::Protocol;
use crate::wire::version::{ProtocolStandard, Version};

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::list::{self, ListFormat};
use super::options;

/// Explains any name of the harness or the protocol. A name can be a requirement, an always-on check, a scenario, an
/// injected fault, a legal variant, a step of the scenario language, an operator of patterns (`operators` lists all), a
/// capability (`needs` lists all), a member of an agent's profile (`profile` lists all), or an action, a method or a
/// type of the protocol. It can also be an outcome, a finding, a cause or a profile in a report.
#[derive(Args, Debug)]
pub struct ExplainArguments {
    /// The name
    name: String,
    /// The protocol version to explain [default: the newest version; for an action, a method or a type, every version
    /// that has it]
    #[arg(long, value_name = "VERSION", value_parser = options::version)]
    spec: Option<Version>,
    /// Scenario files and folders [default: the built-in suite]
    #[arg(long)]
    path: Vec<PathBuf>,
    /// The output format: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ListFormat,
}

impl ExplainArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let suite = files::suite(&self.path)?;
        let name = self.name.as_str();
        let requirement = match glossary::rule_of(name) {
            Some(rule) => requirement(rule, self.spec, &suite).or_else(|| check(rule, self.spec)),
            None => requirement(name, self.spec, &suite),
        };
        let told = [
            requirement,
            check(name, self.spec),
            load_rule(name),
            scenario(name, &suite),
            variant(name),
            agent_variant(name),
            fault(name, host::FAULTS, ProtocolStandard::Ahp, "serve"),
            fault(name, acp::FAULTS, ProtocolStandard::Acp, "agent acp"),
            step(name),
            operator(name),
            first_step(name),
            profile(name),
            capability(name),
            message(name, self.spec),
            word_of_reports(name),
            cause(name, self.spec),
            profile_of_certificates(name, &suite),
        ];
        let told: Vec<ExplainedName> = told.into_iter().flatten().collect();
        if told.is_empty() {
            let names =
                RequirementLedger::all().flat_map(RequirementLedger::iter).map(|row| row.id);
            let names = names.chain(all_checks().map(|row| row.id)).chain([stalls::RULE]);
            let names = names.chain(host::FAULTS.iter().map(|row| row.name));
            let names = names.chain(VARIANTS.iter().map(|row| row.name));
            let names = names.chain(AGENT_VARIANTS.iter().map(|row| row.name));
            let names = names.chain(acp::FAULTS.iter().map(|row| row.name));
            let names = names.chain(suite.entries.iter().map(|entry| entry.scenario.id.as_str()));
            let names = names.chain(OPERATORS.iter().map(|row| row.name));
            let names = names.chain(CAPABILITIES.iter().map(|row| row.name));
            let names = names.chain(glossary::WORDS.iter().map(|(word, _)| *word));
            let types = Protocol::newest().type_names();
            let names = names.chain(Protocol::newest().names());
            let names = names.chain(types.iter().map(String::as_str));
            let hint = closest(name, names);
            let hint =
                hint.map(|close| format!(" (hint: did you mean `{close}`?)")).unwrap_or_default();
            return Err(CommandStop::usage(format!("nothing is called `{name}`{hint}")));
        }
        match self.format {
            ListFormat::Text => {
                let texts: Vec<&str> = told.iter().map(|it| it.text.as_str()).collect();
                context.say(&texts.join("\n"));
            }
            ListFormat::Json => {
                let told: Vec<Value> = told.into_iter().map(ExplainedName::json).collect();
                let json = json!({"name": name, "explained": told});
                context.say_json(&format!("{json:#}"));
            }
        }
        Ok(CommandExit::Ok)
    }
}

/// What a name means.
struct ExplainedName {
    /// The kind of the name, such as `requirement`.
    kind: &'static str,
    /// The explanation for a reader.
    text: String,
    /// The explanation for programs, as an object.
    facts: Value,
}

impl ExplainedName {
    fn new(kind: &'static str, text: String, facts: Value) -> ExplainedName {
        ExplainedName { kind, text, facts }
    }

    fn json(self) -> Value {
        let mut value = json!({"kind": self.kind});
        if let (Some(members), Value::Object(facts)) = (value.as_object_mut(), self.facts) {
            members.extend(facts);
        }
        value["text"] = json!(self.text);
        value
    }
}

/// Explains one member of an agent's profile, or all members.
fn profile(name: &str) -> Option<ExplainedName> {
    let rows = |rows: &[(&str, &str)]| -> String {
        rows.iter().map(|(name, says)| format!("  {name}: {says}\n")).collect()
    };
    let own: Vec<(&str, &str)> = MEMBERS.iter().copied().filter(|(it, _)| *it == name).collect();
    match own.first() {
        _ if name == "profile" => Some(ExplainedName::new(
            "agent profile",
            format!(
                "profile of an agent, a YAML file for `run --acp` and `certify --acp`; `ahp-harness agent profile --command '..'` \
                 writes one\n{}within commands, variables and files\n{}",
                rows(MEMBERS),
                rows(PLACES)
            ),
            json!({"members": MEMBERS.iter().copied().collect::<BTreeMap<_, _>>()}),
        )),
        Some((_, says)) => Some(ExplainedName::new(
            "member of an agent profile",
            format!("member of the profile of an agent\n{}", rows(&own)),
            json!({"says": says}),
        )),
        None => None,
    }
}

/// Explains an operator of patterns with an example; the name `operators` explains all operators.
fn operator(name: &str) -> Option<ExplainedName> {
    if name == "operators" {
        let lines = OPERATORS.iter().map(|row| format!("  {}: {}\n", row.name, row.doc));
        let text = format!("operators of patterns in scenarios\n{}", lines.collect::<String>());
        let all: BTreeMap<&str, &str> = OPERATORS.iter().map(|row| (row.name, row.doc)).collect();
        return Some(ExplainedName::new("operators", text, json!({"operators": all})));
    }
    // A shell may have removed the `$` from the name.
    let row = OPERATORS
        .iter()
        .find(|row| row.name == name || row.name.strip_prefix('$') == Some(name))?;
    let order = match row.name {
        "$contains" => {
            "\n  in any order, with other items between them; `$inOrder` requires the order"
        }
        _ => "",
    };
    let example = row.example();
    let text = format!(
        "operator {} of patterns in scenarios: matches {}{order}\n  example: {example}\n",
        row.name, row.doc
    );
    Some(ExplainedName::new("operator", text, json!({"matches": row.doc, "example": example})))
}

/// Explains one step of the profile first-steps, or all steps.
fn first_step(name: &str) -> Option<ExplainedName> {
    let line = |(number, step): (usize, &FirstStep)| {
        format!("  {number:>2} {:<52} {}\n", step.scenario, step.build)
    };
    (name == first_steps::PROFILE).then(|| {
        let lines: String = (1..).zip(FIRST_STEPS).map(line).collect();
        let text = format!("profile first-steps: what to build, in this order; a run stops at the first failure\n{lines}");
        let steps = FIRST_STEPS.iter().map(|step| json!({"scenario": step.scenario, "build": step.build}));
        ExplainedName::new("profile", text, json!({"steps": steps.collect::<Vec<_>>()}))
    })
}

fn variant(name: &str) -> Option<ExplainedName> {
    let row = VariantRow::named(name)?;
    let text = format!(
        "legal variant {name} (since {})\n  {}\n  permitted: {}\n  source: {}\n  played by `ahp-harness \
         serve --variant {name}`\n",
        row.since, row.does, row.permitted, row.source
    );
    let facts = json!({"does": row.does, "permitted": row.permitted, "source": row.source});
    Some(ExplainedName::new("legal variant", text, facts))
}

fn agent_variant(name: &str) -> Option<ExplainedName> {
    let row = AgentVariantRow::named(name)?;
    let text = format!(
        "legal variant {name} (of an agent)\n  {}\n  permitted: {}\n  source: {}\n  played by `ahp-harness agent \
         acp --variant {name}`\n",
        row.does, row.permitted, row.source
    );
    let facts = json!({"does": row.does, "permitted": row.permitted, "source": row.source});
    Some(ExplainedName::new("legal variant", text, facts))
}

fn requirement(name: &str, spec: Option<Version>, suite: &ScenarioSuite) -> Option<ExplainedName> {
    let newest = RequirementLedger::newest_with(name)?.version;
    let quote = RuleQuotes::of(spec.unwrap_or(newest)).requirement(name)?;
    let row = quote.row;
    let mut out = format!(
        "requirement {name} ({})\n  {}\n  source: {}\n",
        quote.standing, quote.statement, row.source
    );
    if let Some(argument) = &row.argument {
        let _ = writeln!(out, "  why it has this weight: {argument}");
    }
    for entry in &suite.entries {
        let tests = |step: &&ScenarioStep| step.proves().iter().any(|id| id == name);
        let mut steps = entry.scenario.steps.iter().filter(tests).peekable();
        if steps.peek().is_some() {
            let _ = writeln!(out, "  scenario {}: {}", entry.scenario.id, entry.scenario.title);
        }
        for step in steps {
            let source = entry.sources.get(step.span.file as usize).or(entry.sources.first());
            let Some(source) = source else { continue };
            let (line, _) = source.position(step.span.start);
            let versions = step.text("spec").map(|it| format!(" at {it}")).unwrap_or_default();
            let verb = step.verb.row().name;
            let _ = writeln!(out, "    tested by `{verb}`{versions}, {}:{line}", source.name);
        }
    }
    for row in all_checks().filter(|row| row.requirements.contains(&name)) {
        let _ = writeln!(out, "  always-on check {}", row.id);
    }
    if let Some(ClientObservation { needs, by }) = row.observation {
        let _ = writeln!(out, "  observed {}: {by}", needs.phrase());
    }
    if let Some(reason) = row.excluded {
        let _ = writeln!(out, "  not testable: {reason}");
    }
    match row.breach {
        BreachKind::Outcome => {}
        BreachKind::Content => {
            out.push_str("  broken only by wrong content, not by missing messages\n")
        }
        BreachKind::Silence => out.push_str("  broken also if no answer comes\n"),
    }
    if let Some(when) = row.when {
        let _ = writeln!(out, "  applies to a host that {when}");
    }
    let scenarios = suite.entries.iter().map(|entry| &entry.scenario);
    let scenarios = scenarios.filter(|scenario| scenario.proves.iter().any(|id| id == name));
    let checks = all_checks().filter(|row| row.requirements.contains(&name)).map(|row| row.id);
    let tests: Vec<&str> = scenarios.map(|scenario| scenario.id.as_str()).chain(checks).collect();
    caught_by(&mut out, &tests);
    let facts = json!({
        "weight": word(row.weight),
        "statement": quote.statement,
        "source": row.source,
        "argument": row.argument,
        "tests": tests,
    });
    Some(ExplainedName::new("requirement", out, facts))
}

/// Lists the injected faults that have to break one of these rules. Such a fault proves that the rule can fail.
fn caught_by(out: &mut String, tests: &[&str]) {
    let all = [ProtocolStandard::Ahp, ProtocolStandard::Acp].into_iter().flat_map(named);
    let trips = |row: &(&str, Vec<&str>)| row.1.iter().any(|name| tests.contains(name));
    let faults: Vec<&str> = all.filter(trips).map(|(fault, _)| fault).collect();
    if !faults.is_empty() {
        let _ = writeln!(out, "  injected faults that it must detect: {}", faults.join(", "));
    }
}

fn check(name: &str, spec: Option<Version>) -> Option<ExplainedName> {
    let row = all_checks().find(|row| row.id == name)?;
    let quotes = spec.map_or_else(RuleQuotes::newest, RuleQuotes::of);
    let mut out = format!(
        "always-on check {name} ({}, invariant {})\n  {}\n",
        word(row.weight),
        row.invariant,
        quotes.text(row.doc)
    );
    if let Some(open) = row.open {
        let _ = writeln!(out, "  where the specification is open: {}", quotes.text(open));
    }
    if !row.requirements.is_empty() {
        let _ = writeln!(out, "  requirements: {}", row.requirements.join(", "));
    }
    caught_by(&mut out, &[row.id]);
    let facts = json!({
        "weight": word(row.weight),
        "statement": quotes.text(row.doc),
        "requirements": row.requirements,
    });
    Some(ExplainedName::new("always-on check", out, facts))
}

/// Explains the rule that only `stress` tests.
fn load_rule(name: &str) -> Option<ExplainedName> {
    let known = name == stalls::RULE;
    let mut out = format!("rule {name} (essential), of `stress` only\n  {}\n", stalls::DOC);
    caught_by(&mut out, &[stalls::RULE]);
    let facts = json!({"weight": "essential", "statement": stalls::DOC});
    known.then(|| ExplainedName::new("rule of `stress`", out, facts))
}

fn scenario(name: &str, suite: &ScenarioSuite) -> Option<ExplainedName> {
    let entry = suite.entries.iter().find(|entry| entry.scenario.id == name)?;
    let scenario = &entry.scenario;
    let file = entry.sources.first().map_or("", |source| source.name.as_str());
    let mut out = format!(
        "scenario {name} (profile {})\n  {}\n  file: {file}\n  proves: {}\n",
        scenario.profile,
        scenario.title,
        scenario.proves.join(", ")
    );
    for line in scenario.agent.lines() {
        let _ = writeln!(out, "  agent: {line}");
    }
    for line in render::text(scenario).lines() {
        let _ = writeln!(out, "  {line}");
    }
    caught_by(&mut out, &[name]);
    let facts = json!({
        "profile": scenario.profile,
        "title": scenario.title,
        "file": file,
        "proves": scenario.proves,
    });
    Some(ExplainedName::new("scenario", out, facts))
}

/// The command that serves a host with a fault.
const SERVED: &str = "serve";
/// The beginning of the command that plays the scenarios on such a host.
const PLAYED: &str =
    "ahp-harness run --profile all --command 'ahp-harness serve --listen 127.0.0.1:{port}";

fn fault<F: FaultKind>(
    name: &str,
    faults: &[FaultDescription<F>],
    standard: ProtocolStandard,
    command: &str,
) -> Option<ExplainedName> {
    let row = faults.iter().find(|row| row.name == name)?;
    let rows = named(standard).into_iter().filter(|(fault, _)| *fault == name);
    let trips: Vec<&str> = rows.flat_map(|(_, trips)| trips).collect();
    let text = format!(
        "injected fault {name}\n  {}\n  must break: {}\n  try it: ahp-harness {command} --fault {name}\n{}",
        row.doc,
        trips.join(", "),
        if command == SERVED {
            format!("  see what fails: {PLAYED} --fault {name}'\n")
        } else {
            String::new()
        }
    );
    Some(ExplainedName::new("injected fault", text, json!({"does": row.doc, "breaks": trips})))
}

fn step(name: &str) -> Option<ExplainedName> {
    let row = VERBS.iter().find(|row| row.name == name)?;
    let mut out = format!("step `{name}`: {}\n", row.doc);
    for field in row.fields {
        let needed = if field.required { " (needed)" } else { "" };
        let _ = writeln!(out, "  {:<14} {}{needed}", field.name, field.doc);
    }
    let member = |field: &FormField| json!({"name": field.name, "says": field.doc, "needed": field.required});
    let members: Vec<Value> = row.fields.iter().map(member).collect();
    Some(ExplainedName::new("step", out, json!({"does": row.doc, "members": members})))
}

/// Explains one capability, or all capabilities that the member `needs` of a scenario may name.
fn capability(name: &str) -> Option<ExplainedName> {
    let asked = |row: &&HostCapability| name == "needs" || row.name == name;
    let mut out = String::new();
    for row in CAPABILITIES.iter().filter(asked) {
        let _ = writeln!(out, "capability {}: {}", row.name, row.shown);
    }
    let rows = CAPABILITIES.iter().filter(asked);
    let rows: BTreeMap<&str, String> = rows.map(|row| (row.name, row.shown.to_string())).collect();
    let facts = json!({"capabilities": rows});
    (!out.is_empty()).then(|| ExplainedName::new("capability", out, facts))
}

/// The versions that describe an action or method in the same way, the newest first, and the description.
struct DescribedMessage {
    versions: Vec<String>,
    text: String,
    facts: Value,
}

/// Explains an action or method with its sender and its members, or a type of the protocol. Versions with the same
/// description are grouped.
fn message(name: &str, spec: Option<Version>) -> Option<ExplainedName> {
    let mut all: Vec<DescribedMessage> = Vec::new();
    let mut older = String::new();
    let asked = |protocol: &&Protocol| spec.is_none_or(|spec| spec == protocol.version());
    for protocol in Protocol::all().chain([Protocol::acp()]).filter(asked) {
        let version = protocol.version();
        if let Some((text, facts)) = action(protocol, name)
            .or_else(|| method(protocol, name))
            .or_else(|| protocol_type(protocol, name))
        {
            match all.iter_mut().find(|it| it.text == text) {
                Some(same) => same.versions.push(version.to_string()),
                None => {
                    let versions = vec![version.to_string()];
                    all.push(DescribedMessage { versions, text, facts });
                }
            }
        }
        if let Some(other) = VersionEdge::new(version, "").name_on_the_wire(name) {
            let _ = writeln!(older, "{name} in {version}: called `{other}` there");
        }
    }
    let mut out = String::new();
    for it in &all {
        let _ = writeln!(out, "{name} in {}: {}", it.versions.join(", "), it.text.trim_end());
    }
    out.push_str(&older);
    let described = all.into_iter().map(|it| {
        let mut facts = it.facts;
        facts["versions"] = json!(it.versions);
        facts
    });
    let facts = json!({"described": described.collect::<Vec<_>>()});
    (!out.is_empty()).then(|| ExplainedName::new("message", out, facts))
}

fn action(protocol: &Protocol, name: &str) -> Option<(String, Value)> {
    let row = protocol.action(name)?;
    let (channel, who) = (row.channel.family(), list::right(row.dispatch));
    let members = protocol.action_members(name).unwrap_or_default();
    let text = format!("action on {channel} channels, {who}\n{}", lines("", &members));
    let facts = json!({"channel": channel, "dispatch": who, "members": listed(&members)});
    Some((text, facts))
}

fn method(protocol: &Protocol, name: &str) -> Option<(String, Value)> {
    let row = protocol.method(name)?;
    let (kind, sender) = (list::kind(row.kind), list::sender(row));
    let params = protocol.param_members(name).unwrap_or_default();
    let result = protocol.result_members(name).unwrap_or_default();
    let text =
        format!("{kind}, {sender}\n{}{}", lines("params.", &params), lines("result.", &result));
    let facts = json!({
        "method": kind, "sender": sender, "params": listed(&params), "result": listed(&result),
    });
    Some((text, facts))
}

fn protocol_type(protocol: &Protocol, name: &str) -> Option<(String, Value)> {
    let found = protocol.described_type(name)?;
    let variant = |(when, what): &(String, String)| format!("  {when:<28} {what}\n");
    let variants: String = found.variants.iter().map(variant).collect();
    let text = format!("type, {}\n{}{variants}", found.form, lines("", &found.members));
    let variants = found.variants.iter().map(|(when, what)| json!({"when": when, "type": what}));
    let facts = json!({
        "form": found.form, "members": listed(&found.members),
        "variants": variants.collect::<Vec<_>>(),
    });
    Some((text, facts))
}

fn lines(before: &str, members: &[MemberRow]) -> String {
    let line = |row: &MemberRow| {
        let may = if row.optional { ", may be missing" } else { "" };
        format!("  {:<28} {}{may}\n", format!("{before}{}", row.name), row.value)
    };
    members.iter().map(line).collect()
}

fn listed(members: &[MemberRow]) -> Vec<Value> {
    let row =
        |row: &MemberRow| json!({"name": row.name, "type": row.value, "optional": row.optional});
    members.iter().map(row).collect()
}

fn word_of_reports(name: &str) -> Option<ExplainedName> {
    let meaning = glossary::meaning(name)?;
    let text = format!("{name} in reports: {meaning}\n");
    Some(ExplainedName::new("word of reports", text, json!({"meaning": meaning})))
}

/// Explains a cause of findings in a report: lists its rules, which are fixed in one place.
fn cause(name: &str, spec: Option<Version>) -> Option<ExplainedName> {
    let rules = glossary::rules_of(name);
    if rules.is_empty() {
        return None;
    }
    let mut out = format!(
        "cause {name} in reports: findings about these rules, which are fixed in one place\n"
    );
    for id in &rules {
        let newest = RequirementLedger::newest_with(id)?.version;
        let quote = RuleQuotes::of(spec.unwrap_or(newest)).requirement(id);
        let statement = quote.map(|quote| quote.statement.to_string()).unwrap_or_default();
        let _ = writeln!(out, "  {id}: {statement}");
    }
    Some(ExplainedName::new("cause", out, json!({"rules": rules})))
}

/// Explains a profile of certificates.
fn profile_of_certificates(name: &str, suite: &ScenarioSuite) -> Option<ExplainedName> {
    if !glossary::is_profile(name) {
        return None;
    }
    let scenarios = suite.entries.iter().map(|entry| &entry.scenario);
    let own = scenarios.filter(|it| glossary::profile_of(&it.id, &it.profile) == name);
    let own: Vec<&str> = own.map(|it| it.id.as_str()).collect();
    let text = format!(
        "profile {name} of certificates: a group of requirements with a verdict of its own; it has {} scenarios\n  {}\n",
        own.len(),
        own.join(", ")
    );
    Some(ExplainedName::new("profile of certificates", text, json!({"scenarios": own})))
}
