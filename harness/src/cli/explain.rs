//! `ahp-harness explain`: prints everything that the harness knows about one name.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::agent::acp::fault as acp;
use crate::agent::acp::variant::{AGENT_VARIANTS, AgentVariantRow};
use crate::edge::VersionEdge;
use crate::fault::{FaultDescription, FaultKind};
use crate::host::fault as host;
use crate::host::variant::{VARIANTS, VariantRow};
use crate::ledger::{BreachKind, RequirementLedger};
use crate::oracle::all_checks;
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
use crate::scenario::verbs::VERBS;
use crate::wire::protocol::{DispatchRight, Protocol};
use crate::wire::version::{ProtocolStandard, Version};

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::list::ListFormat;
use super::options;

/// Explains a name: a requirement, an always-on check, a scenario, an injected fault, a legal variant, a step
/// of the scenario language, an operator of its patterns (`operators` lists all), a capability (`needs` lists
/// all), a member of an agent's profile (`profile` lists all), or an action or method of the protocol.
#[derive(Args, Debug)]
pub struct ExplainArguments {
    /// The name
    name: String,
    /// The protocol version whose words are used; unless given, the newest one's, and every one that has an action or method
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
        let told = [
            requirement(name, self.spec, &suite),
            check(name, self.spec),
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
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        if told.is_empty() {
            let names =
                RequirementLedger::all().flat_map(RequirementLedger::iter).map(|row| row.id);
            let names = names.chain(all_checks().map(|row| row.id));
            let names = names.chain(host::FAULTS.iter().map(|row| row.name));
            let names = names.chain(VARIANTS.iter().map(|row| row.name));
            let names = names.chain(AGENT_VARIANTS.iter().map(|row| row.name));
            let names = names.chain(acp::FAULTS.iter().map(|row| row.name));
            let names = names.chain(suite.entries.iter().map(|entry| entry.scenario.id.as_str()));
            let names = names.chain(OPERATORS.iter().map(|row| row.name));
            let hint = closest(name, names);
            let hint =
                hint.map(|close| format!(" (hint: did you mean `{close}`?)")).unwrap_or_default();
            return Err(CommandStop::usage(format!("nothing is called `{name}`{hint}")));
        }
        match self.format {
            ListFormat::Text => context.say(&told.join("\n")),
            ListFormat::Json => {
                let json = json!({"name": name, "explained": told});
                context.say_json(&format!("{json:#}"));
            }
        }
        Ok(CommandExit::Ok)
    }
}

/// Explains one member of an agent's profile, or all members.
fn profile(name: &str) -> Option<String> {
    let rows = |rows: &[(&str, &str)]| -> String {
        rows.iter().map(|(name, says)| format!("  {name}: {says}\n")).collect()
    };
    let own: Vec<(&str, &str)> = MEMBERS.iter().copied().filter(|(it, _)| *it == name).collect();
    match own.first() {
        _ if name == "profile" => Some(format!(
            "profile of an agent, a YAML file for `run --acp` and `certify --acp`; `ahp-harness agent profile --command '..'` \
             writes one\n{}within commands, variables and files\n{}",
            rows(MEMBERS),
            rows(PLACES)
        )),
        Some(_) => Some(format!("member of the profile of an agent\n{}", rows(&own))),
        None => None,
    }
}

/// Explains an operator of patterns with an example; the name `operators` explains all operators.
fn operator(name: &str) -> Option<String> {
    if name == "operators" {
        let lines = OPERATORS.iter().map(|row| format!("  {}: {}\n", row.name, row.doc));
        return Some(format!("operators of patterns in scenarios\n{}", lines.collect::<String>()));
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
    Some(format!(
        "operator {} of patterns in scenarios: matches {}{order}\n  example: {}\n",
        row.name,
        row.doc,
        row.example()
    ))
}

/// Explains one step of the profile first-steps, or all steps.
fn first_step(name: &str) -> Option<String> {
    let line = |(number, step): (usize, &FirstStep)| {
        format!("  {number:>2} {:<52} {}\n", step.scenario, step.build)
    };
    (name == first_steps::PROFILE).then(|| {
        let lines: String = (1..).zip(FIRST_STEPS).map(line).collect();
        format!("profile first-steps: what to build, in this order; a run stops at the first failure\n{lines}")
    })
}

fn variant(name: &str) -> Option<String> {
    let row = VariantRow::named(name)?;
    Some(format!(
        "legal variant {name} (since {})\n  {}\n  permitted: {}\n  source: {}\n  played by `ahp-harness \
         serve --variant {name}`\n",
        row.since, row.does, row.permitted, row.source
    ))
}

fn agent_variant(name: &str) -> Option<String> {
    let row = AgentVariantRow::named(name)?;
    Some(format!(
        "legal variant {name} (of an agent)\n  {}\n  permitted: {}\n  source: {}\n  played by `ahp-harness agent \
         acp --variant {name}`\n",
        row.does, row.permitted, row.source
    ))
}

fn requirement(name: &str, spec: Option<Version>, suite: &ScenarioSuite) -> Option<String> {
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
    Some(out)
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

fn check(name: &str, spec: Option<Version>) -> Option<String> {
    let row = all_checks().find(|row| row.id == name)?;
    let quotes = spec.map_or_else(RuleQuotes::newest, RuleQuotes::of);
    let mut out = format!(
        "always-on check {name} ({}, invariant {})\n  {}\n",
        word(row.weight),
        row.invariant,
        quotes.text(row.doc)
    );
    if let Some(open) = row.open {
        let _ = writeln!(out, "  where the text is open: {}", quotes.text(open));
    }
    if !row.requirements.is_empty() {
        let _ = writeln!(out, "  requirements: {}", row.requirements.join(", "));
    }
    caught_by(&mut out, &[row.id]);
    Some(out)
}

fn scenario(name: &str, suite: &ScenarioSuite) -> Option<String> {
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
    Some(out)
}

fn fault<F: FaultKind>(
    name: &str,
    faults: &[FaultDescription<F>],
    standard: ProtocolStandard,
    command: &str,
) -> Option<String> {
    let row = faults.iter().find(|row| row.name == name)?;
    let rows = named(standard).into_iter().filter(|(fault, _)| *fault == name);
    let trips: Vec<&str> = rows.flat_map(|(_, trips)| trips).collect();
    Some(format!(
        "injected fault {name}\n  {}\n  must break: {}\n  try it: ahp-harness {command} --fault {name}\n",
        row.doc,
        trips.join(", ")
    ))
}

fn step(name: &str) -> Option<String> {
    let row = VERBS.iter().find(|row| row.name == name)?;
    let mut out = format!("step `{name}`: {}\n", row.doc);
    for field in row.fields {
        let needed = if field.required { " (needed)" } else { "" };
        let _ = writeln!(out, "  {:<14} {}{needed}", field.name, field.doc);
    }
    Some(out)
}

/// Explains one capability, or all capabilities that the member `needs` of a scenario may name.
fn capability(name: &str) -> Option<String> {
    let asked = |row: &&HostCapability| name == "needs" || row.name == name;
    let mut out = String::new();
    for row in CAPABILITIES.iter().filter(asked) {
        let _ = writeln!(out, "capability {}: {}", row.name, row.shown);
    }
    (!out.is_empty()).then_some(out)
}

fn message(name: &str, spec: Option<Version>) -> Option<String> {
    let mut out = String::new();
    let asked = |version: &&Version| spec.is_none_or(|spec| spec == **version);
    for version in Protocol::all_played().iter().filter(asked) {
        let Some(protocol) = Protocol::of(*version) else {
            continue;
        };
        if let Some(action) = protocol.action(name) {
            let who = match action.dispatch {
                DispatchRight::Client => "clients and the host",
                DispatchRight::Host => "the host alone",
                DispatchRight::Disputed => "the host; whether clients may dispatch it is disputed",
            };
            let channel = action.channel.family();
            let _ = writeln!(
                out,
                "action {name} in {version}: on {channel} channels, dispatched by {who}"
            );
        }
        if let Some(older) = VersionEdge::new(*version, "").name_on_the_wire(name) {
            let _ = writeln!(out, "{name} in {version}: called `{older}` there");
        }
        if let Some(method) = protocol.method(name) {
            let from = match (method.from_client, method.from_host) {
                (true, true) => "either side",
                (true, false) => "clients",
                _ => "the host",
            };
            let _ = writeln!(out, "method {name} in {version}: {:?}, sent by {from}", method.kind);
        }
    }
    (!out.is_empty()).then_some(out)
}
