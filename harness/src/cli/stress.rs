//! `ahp-harness stress`: connects many clients to one host and judges all frames.
//!
//! Start at [`StressArguments`].

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use tokio::sync::watch;

use crate::host::fault::HostFault;
use crate::load::driver::{self, LoadObserver};
use crate::load::evidence;
use crate::load::page::{self, LoadContext};
use crate::load::plan::{LoadPace, LoadPlan};
use crate::load::play::{LoadPlay, connection_name};
use crate::load::result::{LoadFinding, LoadResult};
use crate::load::stalls;
use crate::report::command::quoted;
use crate::report::event::CheckLine;
use crate::report::jsonl::RunWriter;
use crate::report::junit::JunitReport;
use crate::report::redact::SecretRedactor;
use crate::report::summary::RunSummary;
use crate::scenario::capability::SCRIPTS;
use crate::system::{allow_files, peak_memory};
use crate::verdict::{CheckReport, FailOn};
use crate::wire::foreign_text::ForeignText;
use crate::wire::version::{ProtocolStandard, Version};

use super::aim::RunAim;
use super::campaign_folder::write;
use super::context::{CliContext, wall_clock};
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::first_look::CliFirstLook;
use super::interrupt::{TimeBudget, ended_by, in_time, interrupts};
use super::options::{self, FailureThreshold};
use super::play_target::PlayTarget;
use super::run::RunArguments;

/// The default time limit for an answer. A host under load may be slow.
const LIMIT: Duration = Duration::from_secs(10);
/// The minimum and maximum time for the first look, and for reducing the captures of findings.
const LEAST_REST: Duration = Duration::from_secs(15);
const MOST_REST: Duration = Duration::from_secs(90);
/// The interval at which the progress line is updated.
const SAID: Duration = Duration::from_secs(10);
/// The number of files that the process may have open besides the connections.
const OTHER_FILES: u64 = 100;
/// The maximum number of clients; each client needs an open file.
const MAX_CLIENTS: i64 = 50_000;

/// Connects many clients to one host. The clients act, decide, stop reading, leave and come back, and all frames are
/// judged.
///
/// Without a target, the reference host is started as a separate process. The default load is small; `--clients` and
/// `--rate` increase it. The command first prints the limits of the load. It creates its own sessions and disposes of
/// them at the end. The output folder gets a page with plots, the figures as JSON, and a capture of each finding,
/// reduced to the frames that matter.
#[derive(Args, Debug)]
pub struct StressArguments {
    #[command(flatten)]
    aim: RunAim,
    /// Inject this fault into the reference host (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "command"], help_heading = "Target")]
    fault: Vec<String>,
    /// Speak only this protocol version
    #[arg(long, value_name = "VERSION", value_parser = options::version, help_heading = "Target")]
    spec: Option<Version>,

    /// The number of clients
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=MAX_CLIENTS), help_heading = "Load")]
    clients: i64,
    /// The number of sessions that the clients share
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(i64).range(1..=MAX_CLIENTS), help_heading = "Load")]
    sessions: i64,
    /// The duration of the load
    #[arg(long, default_value = "30s", value_parser = options::duration, help_heading = "Load")]
    time: Duration,
    /// The number of actions per second, of all clients together; with `max`, each client acts as soon as its last
    /// action is answered
    #[arg(long, default_value = "20", value_name = "NUMBER", value_parser = pace, help_heading = "Load")]
    rate: LoadPace,
    /// How many clients connect per second
    #[arg(long, default_value_t = 50.0, value_name = "NUMBER", help_heading = "Load")]
    arrivals: f64,
    /// Kill the host at random moments, with about this time in between, and start it again; the host must be started
    /// with `--command`, or `--crash-command` must be given
    #[arg(long, value_name = "DURATION", value_parser = options::duration, help_heading = "Load")]
    crash_every: Option<Duration>,
    /// Do not start turns, even if the agent plays scripts
    #[arg(long, help_heading = "Load")]
    no_turns: bool,
    /// The seed of all random choices
    #[arg(long, help_heading = "Load")]
    seed: Option<u64>,
    /// The time limit for each answer [default: 10s]
    #[arg(long, value_parser = options::duration, help_heading = "Load")]
    timeout: Option<Duration>,

    /// The folder for the page, the figures and the captures
    #[arg(long, value_name = "FOLDER", default_value = "stress-report", help_heading = "Report")]
    out: PathBuf,
    /// Write the checks as JUnit to this file
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    threshold: FailureThreshold,
}

/// Parses a pace.
fn pace(text: &str) -> Result<LoadPace, String> {
    if text == "max" {
        return Ok(LoadPace::Greedy);
    }
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1e6 => Ok(LoadPace::PerSecond(rate)),
        _ => Err("expected a number above 0, or `max`".to_owned()),
    }
}

impl StressArguments {
    pub(super) fn main(mut self, context: &CliContext) -> CommandOutcome {
        self.aim = self.aim.with_files()?;
        self.aim.one_provider()?;
        if !self.aim.is_outside() {
            self.aim.command = Some(self.own_host()?);
        }
        let files = self.clients.unsigned_abs() + OTHER_FILES;
        let allowed = allow_files(files);
        if allowed < files {
            return Err(CommandStop::usage(format!(
                "{} clients need {files} open files, and the system allows {allowed} (hint: `ulimit -n {files}`)",
                self.clients
            )));
        }
        fs::create_dir_all(&self.out).map_err(|error| {
            CommandStop::usage(format!("`{}` could not be made: {error}", self.out.display()))
        })?;
        let total = self.time + self.limit() * 2 + self.rest();
        context.error(&format!("ends after {total:?} at the latest\n"));
        let budget = TimeBudget::begin(total);
        in_time(Some(budget), self.load(context, budget))
    }

    /// Returns whether the command starts processes that have to end with it.
    pub(super) fn starts_processes(&self) -> bool {
        !self.aim.is_outside() || self.aim.starts_processes()
    }

    /// Returns the additional time for the first look and for reducing captures.
    fn rest(&self) -> Duration {
        self.time.clamp(LEAST_REST, MOST_REST)
    }

    fn limit(&self) -> Duration {
        self.timeout.unwrap_or(LIMIT)
    }

    /// Returns the command that serves the reference host.
    fn own_host(&self) -> Result<String, CommandStop> {
        let program = std::env::current_exe()
            .map_err(|error| CommandStop::fault(format!("the harness was not found: {error}")))?;
        let program = program.display().to_string();
        let mut command = format!("exec {} serve --listen 127.0.0.1:{{port}}", quoted(&program));
        for fault in &self.fault {
            options::fault::<HostFault>(fault).map_err(CommandStop::usage)?;
            command.push_str(&format!(" --fault {}", quoted(fault)));
        }
        Ok(command)
    }

    async fn load(&self, context: &CliContext, budget: TimeBudget) -> CommandOutcome {
        let run = RunArguments::of(self.aim.clone(), self.spec, Some(self.limit()), false);
        let target = run.target(context).await?;
        let PlayTarget::Remote(remote, _) = &target else {
            return Err(CommandStop::fault("the target is not a host"));
        };
        if self.crash_every.is_some() && !remote.crashes() {
            return Err(CommandStop::usage(
                "expected `--command` or `--crash-command` with `--crash-every` (hint: a host at a URL cannot be killed otherwise)",
            ));
        }
        let outcome = self.played(context, budget, &run, &target).await;
        remote.stop().await;
        outcome
    }

    async fn played(
        &self,
        context: &CliContext,
        budget: TimeBudget,
        run: &RunArguments,
        target: &PlayTarget,
    ) -> CommandOutcome {
        let PlayTarget::Remote(remote, _) = target else {
            return Err(CommandStop::fault("the target is not a host"));
        };
        let offers = self.spec.map_or_else(|| Version::offered().to_vec(), |version| vec![version]);
        let look = run.first_look(context, target, &offers, Some(budget)).await?;
        if let Err(error) = &look.probed {
            return Err(CommandStop::unreachable(error));
        }
        let plan = self.plan(context, &look, offers);
        context.say(&plan.bounds());
        let redactor = SecretRedactor::new(self.aim.secrets(), Vec::new());
        let mut watch = StressWatch {
            context,
            out: &self.out,
            redactor,
            said: Instant::now(),
            files: Vec::new(),
        };
        let shared = self.aim.url.is_some();
        let play = LoadPlay::new(plan.clone(), shared);
        let interrupted = interrupts();
        let stop = ended_by(interrupts(), Some(budget));
        let stopped = stop.clone();
        let mut result = driver::play(play, &remote.endpoint, &**remote, stop, &mut watch).await;
        context.progress("");
        let missing = result.findings.get(watch.files.len()..).unwrap_or_default().to_vec();
        watch.found(missing);
        self.reduce(&mut result, &watch, &stopped).await;
        let host = look.header.host.clone();
        let about = LoadContext {
            host: host.unwrap_or_else(|| ForeignText::from("a host that does not name itself")),
            target: look.header.target.clone(),
            peak_memory: peak_memory(),
            files: watch.files.clone(),
        };
        self.report(&plan, &result, &about)?;
        context.say(&page::text(&plan, &result, &about));
        context.say(&format!("report: {}\n", self.out.join("index.html").display()));
        if *interrupted.borrow() {
            return Ok(CommandExit::Interrupted);
        }
        if *stopped.borrow() {
            context.error(
                "the time was over before the load was complete; the report has what was played\n",
            );
        }
        if let Some(trouble) = &result.trouble {
            let trouble = ForeignText::from(trouble.as_str()).line();
            return Err(CommandStop::unreachable(format!("no session could be used: {trouble}")));
        }
        Ok(match self.threshold.fail_on().counts(result.status()) {
            true => CommandExit::Failed,
            false => CommandExit::Ok,
        })
    }

    fn plan(&self, context: &CliContext, look: &CliFirstLook, offers: Vec<Version>) -> LoadPlan {
        let header = &look.header;
        let mut detected = header.detected.iter();
        let plays = detected.any(|it| it.capability == SCRIPTS && it.offered)
            || self.aim.agent() != Default::default();
        let clients = usize::try_from(self.clients).unwrap_or(1);
        let chosen = Some(header.version).filter(|it| offers.contains(it));
        LoadPlan {
            clients,
            sessions: usize::try_from(self.sessions).unwrap_or(1).min(clients),
            time: self.time,
            pace: self.rate,
            arrivals: self.arrivals,
            seed: self.seed.unwrap_or(context.seed),
            offers: chosen.map_or(offers, |version| vec![version]),
            provider: header.provider.as_ref().map(|it| it.raw().to_owned()),
            tokens: self.aim.authenticate.clone(),
            turns: (plays && !self.no_turns).then(|| self.aim.agent()),
            epoch: wall_clock(),
            limit: self.limit(),
            crashes: self.crash_every,
        }
    }

    /// Reduces the captures of the findings, as long as there is time.
    async fn reduce(
        &self,
        result: &mut LoadResult,
        watch: &StressWatch<'_>,
        stopped: &watch::Receiver<bool>,
    ) {
        let began = Instant::now();
        let version = result.version;
        for (found, file) in result.findings.iter_mut().zip(&watch.files) {
            if *stopped.borrow() || began.elapsed() > self.rest() / 3 {
                break;
            }
            if found.evidence.entries.is_empty() || found.finding.check == stalls::RULE {
                continue;
            }
            let (before, finding) = (found.evidence.clone(), found.finding.clone());
            let reduced =
                tokio::task::spawn_blocking(move || evidence::reduce(&before, &finding, version));
            if let Ok(reduced) = reduced.await {
                found.evidence = reduced;
                watch.write(file, found);
            }
        }
    }

    fn report(
        &self,
        plan: &LoadPlan,
        result: &LoadResult,
        about: &LoadContext,
    ) -> Result<(), CommandStop> {
        write(&self.out.join("index.html"), &page::page(plan, result, about))?;
        let figures = format!("{:#}\n", page::json(plan, result, about));
        write(&self.out.join("stress.json"), &figures)?;
        let Some(path) = &self.junit else { return Ok(()) };
        let mut summary = RunSummary::of(ProtocolStandard::Ahp, FailOn::default());
        let stalls = CheckReport {
            check: stalls::RULE,
            observations: result.judged_pauses as u64,
            apart: Vec::new(),
            findings: result
                .findings
                .iter()
                .filter(|it| it.finding.check == stalls::RULE)
                .map(|it| it.finding.clone())
                .collect(),
            left_out: 0,
        };
        let lines: Vec<CheckLine> =
            result.checks.iter().chain([&stalls]).map(CheckLine::from).collect();
        summary.add_checks("the load", &lines);
        let wrong = |error: String| {
            CommandStop::usage(format!("`{}` could not be written: {error}", path.display()))
        };
        let mut file = files::create(path)?;
        JunitReport::default().write(&summary, &[], &mut file).map_err(wrong)
    }
}

/// Prints findings and progress during a load, and writes the captures.
struct StressWatch<'a> {
    context: &'a CliContext,
    out: &'a Path,
    redactor: SecretRedactor,
    said: Instant,
    /// The name of the capture file of each finding, in order; an empty string for a finding without a file.
    files: Vec<String>,
}

impl StressWatch<'_> {
    /// Writes the capture of a finding.
    fn write(&self, file: &str, found: &LoadFinding) {
        if file.is_empty() {
            return;
        }
        let Ok(out) = files::create(Path::new(file)) else {
            self.context.error(&format!("`{file}` could not be written\n"));
            return;
        };
        let writer = RunWriter::new(Box::new(out), self.redactor.clone());
        let mut recorder = writer.recorder(None);
        for kept in &found.evidence.entries {
            let entry = kept.entry();
            recorder.record(entry.at, &connection_name(entry.conn), &entry.event);
        }
        if let Err(error) = writer.finish() {
            self.context.error(&format!("`{file}` could not be written: {error}\n"));
        }
    }
}

impl LoadObserver for StressWatch<'_> {
    fn found(&mut self, findings: Vec<LoadFinding>) {
        for found in findings {
            let number = self.files.len() + 1;
            let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
            let rule: String = found.finding.check.chars().map(plain).collect();
            let name = format!("finding-{number:02}-{rule}.jsonl");
            let file = match found.evidence.entries.is_empty() {
                true => String::new(),
                false => self.out.join(name).display().to_string(),
            };
            self.write(&file, &found);
            self.files.push(file);
            self.context.error(&format!("{}\n", page::finding_text(number, &found)));
        }
    }

    fn progress(&mut self, now: Duration, play: &mut LoadPlay) {
        if self.said.elapsed() < SAID {
            return;
        }
        self.said = Instant::now();
        let frames = play.frames();
        let counts = play.engine().counts().clone();
        let active = play.engine().active();
        self.context.error(&format!(
            "{:.0} s: {active} clients can act, {} actions dispatched, {frames} frames, {} findings\n",
            now.as_secs_f64(),
            counts.dispatched,
            self.files.len()
        ));
    }
}
