//! `ahp-harness run`: plays scenarios against a host and reports.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;

use crate::agent::mode::AgentMode;
use crate::host::engine::HostConfig;
use crate::host::protected;
use crate::oracle::secrets::is_looked_for;
use crate::report::baseline::FailureBaseline;
use crate::report::cause::CauseFold;
use crate::report::command::quoted;
use crate::report::console::ConsoleDetail;
use crate::report::event::{FORMAT, RunHeader};
use crate::report::redact::SecretRedactor;
use crate::run::detect::{self, DetectionResult};
use crate::run::first_steps::{self, FIRST_STEPS};
use crate::run::mint::iso8601;
use crate::run::plan::{HostRestarts, ScenarioSelection, SelectionShard, TargetAbilities};
use crate::run::provider::plan_for;
use crate::run::suite::SuiteEntry;
use crate::transport::child::OrphanReaper;
use crate::wire::foreign_text::ForeignText;
use crate::wire::version::{ProtocolStandard, Version};

use super::again::{self, next_step, to_mend};
use super::agents::AgentOutside;
use super::aim::{ProviderChoice, RunAim};
use super::client_choice::ClientChoice;
use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::first_look::CliFirstLook;
use super::interrupt::{TimeBudget, in_time};
use super::options::{self, FailureThreshold, ReportOption, RunReport, SpecOption};
use super::play_target::PlayTarget;
use super::reports::RunReports;
use super::rounds::ScenarioScheduler;
use super::run_file::read;
use super::target::{AGENT_BUDGET, HOST_BUDGET, scheme};

/// Plays scenarios against a host and judges the conversation.
///
/// Without a target, the scenarios are played on the embedded reference host, in memory and in virtual time.
#[derive(Args, Clone, Debug, Default)]
pub struct RunArguments {
    /// Scenario files and folders [default: the built-in suite]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) aim: RunAim,
    /// Test the ACP agent that this profile describes [default: the embedded reference agent]
    #[arg(
        long,
        value_name = "PROFILE",
        num_args = 0..=1,
        conflicts_with_all = ["url", "command", "loopback", "restart_command", "crash_command", "agent_model", "agent_acp", "provider", "observe", "spec"],
        help_heading = "Target"
    )]
    pub(super) acp: Option<Option<PathBuf>>,

    /// Speak only this protocol version; `all` repeats the run for each version that the host supports [default: the
    /// newest version that the host and the scenarios support]
    #[arg(long, value_name = "VERSION", value_parser = options::spec, help_heading = "Selection")]
    pub(super) spec: Option<SpecOption>,
    /// Play the scenarios of this profile: core, agent or all (repeatable) [default: core for your own target, all for
    /// the embedded host]. `first-steps` plays about twenty scenarios, in the order in which one develops a host, until
    /// the first failure
    #[arg(long, value_parser = ["core", "agent", "all", "first-steps"], help_heading = "Selection")]
    profile: Vec<String>,
    /// Play the scenario with this id; `area/` selects all scenarios of an area, and `*` matches any text (repeatable)
    #[arg(long, help_heading = "Selection")]
    id: Vec<String>,
    /// Play scenarios with this tag (repeatable)
    #[arg(long, help_heading = "Selection")]
    tag: Vec<String>,
    /// Play scenarios that test this requirement (repeatable)
    #[arg(long, help_heading = "Selection")]
    requirement: Vec<String>,
    /// Play the scenarios that failed in this run.jsonl, with the same seed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "shard"], help_heading = "Selection")]
    failed_of: Option<PathBuf>,
    /// Play one part of the selection, such as 1/4: every fourth scenario, beginning with the first; `merge` joins the parts
    #[arg(long, value_name = "PART/PARTS", help_heading = "Selection")]
    shard: Option<SelectionShard>,
    /// Also play scenarios that may harm the host
    #[arg(long, help_heading = "Selection")]
    aggressive: bool,

    /// The command starts the client itself, which connects to the URL, and no driver: only what the client does
    /// without commands is tested
    #[arg(long, hide = true, requires = "command", help_heading = "Target")]
    pub(super) passive: bool,
    /// Start nothing, and wait at this address, such as 127.0.0.1:9001, for a client that connects by itself: each
    /// scenario has a path of its own
    #[arg(
        long,
        hide = true,
        value_name = "ADDRESS",
        conflicts_with = "command",
        help_heading = "Target"
    )]
    pub(super) listen: Option<SocketAddr>,
    /// The client to test, instead of a host; set by `client run`.
    #[arg(skip)]
    pub(super) client: Option<ClientChoice>,
    /// Whether the run stops if the host answers `initialize` with an error, because the host does not support the
    /// version. If this flag is not set, the scenarios report the error.
    #[arg(skip)]
    pub(super) only_if_spoken: bool,
    /// How many scenarios are played at once over sockets [default: 4]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = "Playing")]
    pub(super) jobs: Option<u16>,
    /// The time limit of each wait [default: 2s; 10s for an agent, and for a host with `--agent-model` or
    /// `--agent-acp`]
    #[arg(long, value_parser = options::duration, help_heading = "Playing")]
    timeout: Option<Duration>,
    /// End the run after this time [default: 9m30s for an agent, 30m for a host outside of this process]
    #[arg(long, value_name = "DURATION", value_parser = options::duration, help_heading = "Playing")]
    pub(super) budget: Option<Duration>,
    /// Play every scenario this many times
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Playing")]
    repeat: u16,
    /// The seed from which all ids are generated, as printed by an earlier run
    #[arg(long, help_heading = "Playing")]
    pub(super) seed: Option<u64>,
    /// Let additional clients join at random points, subscribe to all channels and leave; their snapshots must agree
    /// with the state
    #[arg(long, help_heading = "Playing")]
    pub(super) observe: bool,
    /// Play failed scenarios again, at most this many times; a scenario that then passes is reported as flaky
    #[arg(long, value_name = "TIMES", default_value_t = 0, help_heading = "Playing")]
    pub(super) retries: u16,
    /// Keep running: when this file or folder changes, restart the host of `--command`, and play the scenarios that
    /// failed last, or all scenarios if none failed (repeatable)
    #[arg(long, value_name = "PATH", requires = "command", help_heading = "Playing")]
    watch: Vec<PathBuf>,
    /// Begin no further scenario after the first failure; the remaining scenarios are reported as not judged
    #[arg(long, help_heading = "Playing")]
    pub(super) fail_fast: bool,
    /// Print what would be played and sent, and send nothing
    #[arg(long, help_heading = "Playing")]
    pub(super) dry_run: bool,

    #[command(flatten)]
    threshold: FailureThreshold,
    /// A file of known failures, each with its reason; an entry that no longer fails is itself a failure
    #[arg(long, value_name = "FILE", help_heading = "Judging")]
    baseline: Option<PathBuf>,
    /// Write the failures of this run to the `--baseline`, and exit with 0: fixed failures are removed, new failures
    /// get an empty reason for you to fill in, and comments in the file are lost
    #[arg(long, requires = "baseline", conflicts_with = "fail_fast", help_heading = "Judging")]
    update_baseline: bool,
    /// Write a report, KIND=FILE with the kinds junit, jsonl and sarif, or ahp-log=FOLDER (repeatable)
    #[arg(long, value_name = "KIND=FILE", value_parser = options::run_report, help_heading = "Judging")]
    pub(super) report: Vec<RunReport>,
    /// Replace all text that this regular expression matches in the output (repeatable)
    #[arg(long, value_name = "REGEX", help_heading = "Judging")]
    redact: Vec<regex_lite::Regex>,
    /// Report a finding if this text occurs in a frame of the host, and replace the text in all output; for example the
    /// content of a file that clients may not read (repeatable)
    #[arg(long, value_name = "TEXT", help_heading = "Judging")]
    secret: Vec<String>,
    /// How much to print: brief (failures by cause), full (everything), json (one JSON object at the end)
    #[arg(long, value_name = "FORMAT", value_parser = options::format, default_value = "brief", help_heading = "Judging")]
    pub(super) format: ConsoleDetail,
    /// Print nothing about scenarios that passed or were skipped
    #[arg(long, short, help_heading = "Judging")]
    pub(super) quiet: bool,
    /// Whether the scenarios are played in the order of first-steps.
    #[arg(skip)]
    in_order: bool,
    /// The scenarios of the last round of `--watch` that show a defect to fix.
    #[arg(skip)]
    failed: Arc<Mutex<Vec<String>>>,
    /// Whether scenarios of the profile `agent` are played only if a first turn shows that the agent plays
    /// scripts.
    #[arg(skip)]
    pub(super) looks_for_scripts: bool,
}

/// Returns the versions to offer if the user has named no version: those of the `known` versions for which at least one
/// scenario is written. If no scenario is written for any of them, the result is the newest older version with a
/// scenario, or else all versions.
fn spoken_of(entries: &[&SuiteEntry], known: &[Version]) -> Vec<Version> {
    let holds = |version: &&Version| entries.iter().any(|it| it.scenario.spec.includes(**version));
    let offered: Vec<Version> = known.iter().filter(holds).copied().collect();
    match Version::played().iter().find(holds) {
        _ if !offered.is_empty() => offered,
        Some(older) => vec![*older],
        None => known.to_vec(),
    }
}

impl RunArguments {
    /// Returns a run of all scenarios against a target, with these options; all other options have their defaults.
    pub(super) fn of(
        aim: RunAim,
        spec: Option<Version>,
        timeout: Option<Duration>,
        aggressive: bool,
    ) -> RunArguments {
        RunArguments {
            aim,
            aggressive,
            spec: spec.map(SpecOption::One),
            timeout,
            profile: vec!["all".to_owned()],
            looks_for_scripts: true,
            repeat: 1,
            ..RunArguments::default()
        }
    }

    /// Returns the same run with these additional reports, and with all profiles unless the user named some.
    ///
    /// # Errors
    /// Returns an error if the user selected a part of the suite, because a part cannot be certified.
    pub(super) fn with_everything(
        mut self,
        reports: impl IntoIterator<Item = ReportOption>,
    ) -> Result<RunArguments, CommandStop> {
        if self.spec == Some(SpecOption::All) {
            return Err(CommandStop::usage(
                "a certificate is about one version (hint: `--spec VERSION`)",
            ));
        }
        if let Some(shard) = self.shard {
            return Err(CommandStop::usage(format!(
                "a certificate is about the whole suite, not shard {shard} (hint: `run --profile all --shard {shard} \
                 --report jsonl=FILE` on each machine, then `merge` and `report`)"
            )));
        }
        if self.profile.is_empty() {
            self.profile.push("all".to_owned());
            self.looks_for_scripts = true;
        }
        // All agents of the reference host are the same program.
        if self.aim.is_outside() {
            self.aim.provider.get_or_insert(ProviderChoice::All);
        }
        // Frames are written only to the first transcript, so this has to be the transcript of the certificate.
        self.report.splice(0..0, reports.into_iter().map(RunReport::Shared));
        Ok(self)
    }

    pub(super) fn main(mut self, context: &CliContext) -> CommandOutcome {
        self.aim = self.aim.with_files()?;
        if self.plays_first_steps() {
            self.profile = vec!["all".to_owned()];
            self.id = FIRST_STEPS.iter().map(|step| step.scenario.to_owned()).collect();
            (self.fail_fast, self.jobs, self.in_order) = (true, Some(1), true);
        }
        if let Some(file) = self.failed_of.take() {
            let run = read(&file)?;
            let causes = CauseFold::of(run.cases.iter().map(|case| &case.report));
            self.id = to_mend(&causes);
            if self.id.is_empty() {
                context.say(&format!("`{}`: everything that was played passed\n", file.display()));
                return Ok(CommandExit::Ok);
            }
            self.seed = self.seed.or(Some(run.header.seed));
            if self.profile.is_empty() {
                self.profile.push("all".to_owned());
            }
        }
        if self.watch.is_empty() {
            return self.once(context);
        }
        let all = self.id.clone();
        loop {
            let before = again::watched(&self.watch);
            match self.clone().once(context) {
                Ok(CommandExit::Interrupted) => return Ok(CommandExit::Interrupted),
                Ok(_) => {}
                Err(CommandStop { message, .. }) => context.error(&format!("error: {message}\n")),
            }
            let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.id = if failed.is_empty() { all.clone() } else { failed };
            context.say("waiting for a change (Ctrl-C stops)\n");
            again::wait_for_change(&self.watch, &before);
        }
    }

    fn plays_first_steps(&self) -> bool {
        self.profile.iter().any(|profile| profile == first_steps::PROFILE)
    }

    fn once(self, context: &CliContext) -> CommandOutcome {
        if self.spec == Some(SpecOption::All) {
            if self.update_baseline {
                return Err(CommandStop::usage(
                    "a baseline is about one version (hint: `--spec VERSION`)",
                ));
            }
            return self.every(context);
        }
        let mut suite = files::suite(&self.paths)?;
        suite.entries.retain(|entry| {
            entry.scenario.spec.standard() == self.standard()
                && entry.scenario.tested.is_some() == self.client.is_some()
        });
        if !suite.broken.is_empty() {
            context.error(&files::mistakes(context, &suite.broken));
            let count = files::count(&suite.broken);
            return Err(CommandStop::usage(format!(
                "{count} mistakes in scenario files; nothing was played"
            )));
        }
        let selection = ScenarioSelection {
            ids: self.id.clone(),
            tags: self.tag.clone(),
            requirements: self.requirement.clone(),
        };
        let mut entries = selection.of(&suite).map_err(CommandStop::usage)?;
        if self.in_order {
            let place = |entry: &&SuiteEntry| {
                FIRST_STEPS.iter().position(|step| step.scenario == entry.scenario.id)
            };
            entries.sort_by_key(place);
        }
        if let Some(shard) = self.shard {
            entries = shard.part(&entries).map_err(CommandStop::usage)?;
        }
        let baseline = match &self.baseline {
            // The first run of a target writes its baseline.
            Some(path) if self.update_baseline && !path.exists() => FailureBaseline::default(),
            Some(path) => {
                let name = path.display().to_string();
                let text = files::text(path)?;
                FailureBaseline::parse(&name, &text, &suite).map_err(CommandStop::usage)?
            }
            None => FailureBaseline::default(),
        };
        let budget = self.budget().map(TimeBudget::begin);
        if let Some(budget) = budget.filter(|_| !self.dry_run) {
            context.error(&format!("ends after {:?} at the latest (`--budget`)\n", budget.total));
        }
        in_time(budget, self.play(context, &entries, baseline, budget))
    }

    async fn play(
        &self,
        context: &CliContext,
        entries: &[&SuiteEntry],
        baseline: FailureBaseline,
        budget: Option<TimeBudget>,
    ) -> CommandOutcome {
        let target = self.target(context).await?;
        let mut orphans = None;
        let outcome =
            self.played(context, entries, (baseline, budget), &target, &mut orphans).await;
        if let PlayTarget::Remote(remote, behind) = &target {
            remote.stop().await;
            let names = |found: Vec<String>| (!found.is_empty()).then(|| found.join(", "));
            if let Some(hidden) = orphans.as_ref().and_then(|it: &OrphanReaper| names(it.end())) {
                context.error(&format!(
                    "note: the host left these processes running, which were killed: {hidden}\n"
                ));
            }
            if let Some(left) = orphans.as_ref().and_then(|it| names(it.end())) {
                context.error(&format!("note: these processes could not be killed: {left}\n"));
            }
            if self.aim.agent_acp.is_some() && !self.dry_run && behind.hub.agents() == 0 {
                context.error(
                    "note: no agent has connected (hint: the host has to start `agent acp --run ADDRESS`, \
                     with the address of `--agent-acp`)\n",
                );
            }
            let stand = behind.stand.as_ref().filter(|_| !self.dry_run);
            if stand.is_some_and(|stand| stand.asked() == 0) {
                context.error(
                    "note: no agent has asked for a model (hint: the base URL of the host's agent has to be \
                     the address of `--agent-model`)\n",
                );
            }
        }
        outcome
    }

    /// Returns whether the target is a host or agent outside of this process.
    pub(super) fn is_outside(&self) -> bool {
        let client = self.client.as_ref().is_some_and(|client| client.command.is_some());
        self.acp.is_some() || client || self.aim.is_outside()
    }

    /// Returns whether the run starts processes that have to end with it.
    pub(super) fn starts_processes(&self) -> bool {
        let client = self.client.as_ref().is_some_and(|client| client.command.is_some());
        client
            || matches!(self.acp, Some(Some(_)))
            || self.acp.is_none() && self.aim.starts_processes()
    }

    /// Returns the time budget. A run against a target outside of this process always has a time budget.
    pub(super) fn budget(&self) -> Option<Duration> {
        let usual = if self.acp.is_some() { AGENT_BUDGET } else { HOST_BUDGET };
        self.budget.or(self.is_outside().then_some(usual))
    }

    /// Returns whether the user gave a time budget. With a time budget, the most important scenarios come
    /// first.
    pub(super) fn is_in_a_hurry(&self) -> bool {
        self.budget.is_some() || self.acp.is_some()
    }

    /// Returns the protocol that the run is about.
    fn standard(&self) -> ProtocolStandard {
        if self.acp.is_some() { ProtocolStandard::Acp } else { ProtocolStandard::Ahp }
    }

    /// Returns the time limit of each wait in a scenario.
    pub(super) fn limit(&self, target: &PlayTarget) -> Duration {
        target.limit(self.timeout, self.standard(), self.agent(target))
    }

    /// Returns the target.
    pub(super) async fn target(&self, context: &CliContext) -> Result<PlayTarget, CommandStop> {
        if let Some(client) = &self.client {
            return Ok(client.target(context));
        }
        match &self.acp {
            Some(None) => Ok(PlayTarget::Embedded),
            Some(Some(path)) => {
                let agents = AgentOutside::open(path, self.aim.agent_log.as_deref()).await?;
                Ok(PlayTarget::Agents(Box::new(agents)))
            }
            None if self.dry_run => {
                self.aim.target(context, self.spec.and_then(SpecOption::one)).await
            }
            None => self.aim.configured_target(context, self.spec.and_then(SpecOption::one)).await,
        }
    }

    /// Returns the component that plays the agent.
    pub(super) fn agent(&self, target: &PlayTarget) -> AgentMode {
        target.profile().map_or(self.aim.agent(), |profile| profile.stimulus)
    }

    async fn played(
        &self,
        context: &CliContext,
        entries: &[&SuiteEntry],
        (mut baseline, budget): (FailureBaseline, Option<TimeBudget>),
        target: &PlayTarget,
        orphans: &mut Option<OrphanReaper>,
    ) -> CommandOutcome {
        let known = match self.standard() {
            ProtocolStandard::Ahp => Version::offered(),
            ProtocolStandard::Acp => &[Version::ACP_1],
        };
        let offers = match self.spec.and_then(SpecOption::one) {
            Some(version) => vec![version],
            None => spoken_of(entries, known),
        };
        let look = self.first_look(context, target, &offers, budget).await?;
        let CliFirstLook { header, probed, .. } = &look;
        let version = header.version;
        let abilities = self.abilities(target, version, header);
        let planned = plan_for(entries, &abilities, &header.agents);
        if self.dry_run {
            context.say(&super::list::dry_run(header, &planned));
            return Ok(CommandExit::Ok);
        }
        let mut reports = self.reports(context, header)?;
        if let Err(error) = probed {
            reports.unreachable(&planned, &error.to_string())?;
            return Err(CommandStop::unreachable(error));
        }
        reports.header(header, planned.len() * usize::from(self.repeat), self.format);
        let began = Instant::now();
        *orphans = self.starts_processes().then(OrphanReaper::adopt);
        let plays = (&planned[..], self.repeat);
        let reporting = (&mut baseline, &mut reports);
        let rounds = ScenarioScheduler::new(self, target, header, reporting, plays, budget);
        let interrupted = rounds.play().await;
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = to_mend(reports.causes());
        if self.in_order {
            reports.remark(&next_step(reports.causes()));
        }
        reports.close(began.elapsed(), baseline, interrupted)
    }

    fn reports<'a>(
        &self,
        context: &'a CliContext,
        header: &RunHeader,
    ) -> Result<RunReports<'a>, CommandStop> {
        let redactor = SecretRedactor::new(self.secrets(), self.redact.clone());
        let mut reports = RunReports::open(
            context,
            &self.report,
            &redactor,
            self.threshold.fail_on(),
            self.quiet,
            header,
        )?;
        if !self.paths.is_empty() {
            reports.shows_own_frames();
        }
        reports.renew(self.baseline.as_deref().filter(|_| self.update_baseline));
        Ok(reports)
    }

    /// Returns the texts that no report and no frame of the host may contain.
    pub(super) fn secrets(&self) -> impl Iterator<Item = String> {
        self.aim.secrets().chain(self.secret.clone())
    }

    pub(super) fn abilities(
        &self,
        target: &PlayTarget,
        version: Version,
        header: &RunHeader,
    ) -> TargetAbilities {
        // The harness plays the host for a client, with the settings that a scenario asks for.
        let embedded = target.is_embedded() || self.client.is_some();
        let profiles = match (self.profile.is_empty(), embedded) {
            (false, _) => self.profile.clone(),
            (true, true) => vec!["all".to_owned()],
            (true, false) if self.agent(target) != AgentMode::Host => vec!["all".to_owned()],
            (true, false) if self.acp.is_some() => vec!["all".to_owned()],
            (true, false) => vec!["core".to_owned()],
        };
        TargetAbilities {
            version,
            profiles,
            embedded,
            restarts: match target {
                PlayTarget::Remote(remote, _) => remote.ways_to_restart(),
                _ => HostRestarts::Crashes,
            },
            detected: header.detected.clone(),
            agent: self.agent(target),
            aggressive: self.aggressive || embedded,
        }
    }

    pub(super) fn header_of(
        &self,
        context: &CliContext,
        target: &PlayTarget,
        found: &DetectionResult,
        version: Version,
        seed: u64,
        offers: &[Version],
    ) -> RunHeader {
        let shared = !target.is_embedded() && self.client.is_none();
        // In memory, time is virtual, so a fixed start makes the run reproducible.
        let epoch = match target {
            PlayTarget::Embedded => Duration::from_millis(HostConfig::default().epoch_ms),
            _ => context.epoch,
        };
        RunHeader {
            format: FORMAT,
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            seed,
            target: match target {
                PlayTarget::Embedded if self.client.is_some() => "the reference client".into(),
                PlayTarget::Embedded => "embedded".into(),
                PlayTarget::Agents(agents) => agents.shown().into(),
                PlayTarget::Clients(client) => client.shown().into(),
                PlayTarget::Loopback => "embedded, over loopback".into(),
                PlayTarget::Remote(remote, _) => remote.shown().into(),
            },
            client: self.client.is_some(),
            host: found.name.as_deref().map(ForeignText::from),
            version,
            // Scenarios offer the version that the host chose; only scenarios about the handshake offer more
            // versions.
            offers: found.version.map_or_else(|| offers.to_vec(), |version| vec![version]),
            started: iso8601(epoch),
            epoch_us: u64::try_from(epoch.as_micros()).unwrap_or(u64::MAX),
            limit_ms: u64::try_from(self.limit(target).as_millis()).unwrap_or(u64::MAX),
            shared,
            authenticated: self
                .aim
                .authenticate
                .iter()
                .map(|(resource, _)| resource.clone())
                .collect(),
            settings: self.aim.setting.iter().map(|setting| setting.key.clone()).collect(),
            provider: self.provider_of(target, version, found).map(ForeignText::from),
            agents: Vec::new(),
            versions: found.versions.iter().map(|it| it.as_str().into()).collect(),
            providers: found.providers.iter().map(|it| it.as_str().into()).collect(),
            required_tokens: found.required_tokens.clone(),
            forms: self.aim.forms(),
            detected: found.detected.clone().unwrap_or_default(),
            secrets: self.secrets().any(|secret| is_looked_for(&secret)),
            observe: self.observe,
            agent: self.agent(target),
            arguments: self.arguments(),
            shard: self.shard.map(|shard| shard.to_string()),
        }
    }

    /// Returns the arguments that affect a scenario, quoted for a shell. Environment variables replace secrets.
    fn arguments(&self) -> Vec<String> {
        let mut words: Vec<String> =
            self.paths.iter().map(|path| quoted(&path.display().to_string())).collect();
        words.extend(self.aim.words());
        if let Some(client) = &self.client {
            words.extend(client.words());
        }
        match &self.acp {
            Some(None) => words.push("--acp".to_owned()),
            Some(Some(path)) => {
                words.push(format!("--acp {}", quoted(&path.display().to_string())))
            }
            None => {}
        }
        if let Some(version) = self.spec.and_then(SpecOption::one) {
            words.push(format!("--spec {version}"));
        }
        if let Some(timeout) = self.timeout {
            words.push(format!("--timeout {}ms", timeout.as_millis()));
        }
        if self.observe {
            words.push("--observe".to_owned());
        }
        if self.aggressive {
            words.push("--aggressive".to_owned());
        }
        if !self.secret.is_empty() {
            words.push("--secret \"$AHP_SECRET\"".to_owned());
        }
        words
    }

    /// Returns why no further scenario begins; `None` unless `--fail-fast` is given and a scenario has failed.
    pub(super) fn enough(&self, reports: &RunReports<'_>) -> Option<String> {
        let first = reports.first_failure().filter(|_| self.fail_fast)?;
        Some(format!("not played: the run failed at `{first}` (--fail-fast)"))
    }

    /// Returns the provider of the sessions that scenarios create; `None` for the host's default provider.
    fn provider_of(
        &self,
        target: &PlayTarget,
        version: Version,
        found: &DetectionResult,
    ) -> Option<String> {
        let chooses = matches!(target, PlayTarget::Remote(..)) || self.plays_every_agent();
        let chosen = || found.chosen.clone().filter(|_| chooses);
        let named = self.aim.named_provider();
        let first = || scheme(version, found).filter(|_| !self.plays_every_agent());
        named.or_else(first).or_else(chosen).or_else(|| scheme(version, found))
    }

    /// Returns whether the run plays each agent of the host.
    pub(super) fn plays_every_agent(&self) -> bool {
        self.aim.provider == Some(ProviderChoice::All)
    }

    /// Returns the token for the protected agent.
    pub(super) fn token_of(&self, header: &RunHeader) -> Option<String> {
        let mut given = self.aim.authenticate.clone();
        if !self.aim.is_outside() {
            given.push((protected::TOKEN.0.to_owned(), protected::TOKEN.1.to_owned()));
        }
        detect::token(&header.detected, &given).map(str::to_owned)
    }
}
