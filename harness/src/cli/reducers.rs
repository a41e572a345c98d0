//! `ahp-harness reducers`: compares a reducer with the harness's reducers.

use std::io::BufReader;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use litemap::LiteMap;

use crate::reducers::baseline::DifferenceBaseline;
use crate::reducers::compare::SubjectClock;
use crate::reducers::defects::SubjectDefects;
use crate::reducers::hold::{HoldOptions, HoldProgress, hold};
use crate::reducers::report::SubjectReport as Held;
use crate::reducers::said;
use crate::reducers::vector::VectorFile;
use crate::report::findings;
use crate::report::reducers as show;
use crate::verdict::Status;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::interrupt::TimeBudget;
use super::official;
use super::options::{self, ReportOption};
use super::reduce::published;
use super::subject::SubjectProcess;

/// Compares a reducer with the harness's reducer: first by vectors, then by generated sequences of actions.
///
/// The subject (the reducer under test) is a command that reads one JSON object per line and answers each with one
/// line, as REDUCERS.md describes. harness/examples has wrappers to copy. Each difference is reported once, with the
/// smallest case that shows it. If the specification leaves a result open, a difference is not reported.
#[derive(Args, Debug)]
pub struct ReducersArguments {
    /// Vector files and folders [default: the built-in vectors]
    paths: Vec<PathBuf>,
    /// The command that starts the subject; `{spec}` becomes the version. `official` is the official Rust crate
    /// of the version, in builds with the feature `official`
    #[arg(long, value_name = "COMMAND")]
    subject: String,
    /// The protocol version: a published version, or 1 for the version before 0.1.0, which was the integer 1
    #[arg(long, value_name = "VERSION", value_parser = published)]
    spec: Version,
    /// The number of sequences to generate; 0 to compare only the vectors
    #[arg(long, value_name = "N", default_value_t = 1000)]
    cases: u64,
    /// The seed of the sequences, as an earlier run printed it
    #[arg(long)]
    seed: Option<u64>,
    /// The time limit for each answer of the subject
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = options::duration)]
    timeout: Duration,
    /// End the comparison after this time
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = options::duration)]
    budget: Duration,
    /// Compare only these reducers, for example `chat,session` [default: all]
    #[arg(long, value_name = "REDUCERS", value_delimiter = ',', value_parser = reducer)]
    only: Vec<ChannelKind>,
    /// The subject reads its own clock (up to 0.8.0, reducers write the time into states)
    #[arg(long)]
    mask_clock: bool,
    /// Do not play the vectors
    #[arg(long, conflicts_with = "paths")]
    no_vectors: bool,
    /// Do not test round trips (reading values and writing them again)
    #[arg(long)]
    no_round_trips: bool,
    /// Test only round trips, with the messages, actions and states in this transcript, which must have the same
    /// version (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "no_round_trips"])]
    transcript: Vec<PathBuf>,
    /// Write the smallest case of each difference into this folder, as a vector file
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Write a report, KIND=FILE; the kinds are `junit`, `jsonl` and `markdown` (repeatable)
    #[arg(long, value_name = "KIND=FILE", value_parser = report)]
    report: Vec<ReducersReport>,
    /// A file of known defects of the subject, for the Markdown report
    #[arg(long, value_name = "FILE")]
    defects: Option<PathBuf>,
    /// A file of known differences, each with its reason
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the baseline from the differences of this run
    #[arg(long, requires = "baseline")]
    update_baseline: bool,
}

/// The kind of a report: one of the kinds that `run` supports, or the Markdown report for maintainers.
#[derive(Clone, Debug)]
enum ReducersReport {
    Shared(ReportOption),
    Markdown(PathBuf),
}

impl ReducersArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let vectors = match self.transcript.is_empty() {
            true => self.vectors(context)?,
            false => Vec::new(),
        };
        let said = self.said(context)?;
        let baseline = self.known()?;
        let defects = self.defects()?;
        let official = self.subject == official::NAME;
        let own_clock = self.mask_clock || official && official::reads_clock(self.spec);
        let options = HoldOptions {
            version: self.spec,
            subject: self.subject.clone(),
            clock: if own_clock { SubjectClock::Own } else { SubjectClock::Given },
            seed: self.seed.unwrap_or(context.seed),
            sequences: if said.is_empty() { self.cases } else { 0 },
            channels: self.only.clone(),
            round_trips: !self.no_round_trips,
            said,
        };
        let command = match official {
            true => official::command(self.spec)?,
            false => self.subject.replace("{spec}", &self.spec.to_string()),
        };
        context.error(&format!("ends after {:?} at the latest (`--budget`)\n", self.budget));
        let budget = TimeBudget::begin(self.budget);
        let mut subject = SubjectProcess::new(command, self.timeout, budget)?;
        let mut progress = |at: HoldProgress| context.progress(&show::progress(&at));
        let mut held = hold(&mut subject, &vectors, &options, &mut progress);
        context.progress("");
        subject.close();
        let over = subject.stopped() && !subject.interrupted();
        if over {
            context.error("note: the time budget was over before everything was compared\n");
        }
        let stale = baseline.settle(&mut held);
        if let Some(why) = &held.unusable {
            self.write_reports(&held, &defects, CommandExit::Unreachable)?;
            let hint = "the first question contained the root state and no action";
            return Err(CommandStop::unreachable(format!("{why} (hint: {hint})")));
        }
        let written = self.write_cases(&held)?;
        context.say(&show::console(&held, &written, context.style));
        if self.update_baseline && !subject.stopped() {
            return self.update(context, &baseline, &defects, &held);
        }
        for line in &stale {
            context.say(&format!("{line}\n"));
        }
        let code = match () {
            () if subject.interrupted() => CommandExit::Interrupted,
            () if held.failed() || !stale.is_empty() || over => CommandExit::Failed,
            () => CommandExit::Ok,
        };
        self.write_reports(&held, &defects, code)?;
        Ok(code)
    }

    /// Collects the values in the given transcripts, by type.
    fn said(&self, context: &CliContext) -> Result<LiteMap<String, Vec<Value>>, CommandStop> {
        let mut all: LiteMap<String, Vec<Value>> = LiteMap::new();
        let Some(protocol) = Protocol::of(self.spec) else { return Ok(all) };
        for path in &self.transcript {
            let name = path.display();
            let said = said::read(protocol, BufReader::new(files::open(path)?))
                .map_err(|error| CommandStop::usage(format!("`{name}`: {error}")))?;
            let (messages, misshapen, spec) = (said.messages, said.misshapen, self.spec);
            context.say(&format!(
                "{name}: {messages} messages that are valid in {spec}, {misshapen} that are not\n"
            ));
            if messages == 0 {
                return Err(CommandStop::usage(format!("`{name}` has no message of {spec}")));
            }
            for (kind, values) in said.values {
                all.entry(kind).or_default().extend(values);
            }
        }
        Ok(all)
    }

    fn vectors(&self, context: &CliContext) -> Result<Vec<VectorFile>, CommandStop> {
        if self.no_vectors {
            return Ok(Vec::new());
        }
        let vectors = files::vectors(&self.paths)?;
        let drawn = files::vector_mistakes(context, &vectors);
        if !drawn.is_empty() {
            context.say(&drawn);
            return Err(CommandStop::usage("the vectors have mistakes"));
        }
        let chosen = |file: &VectorFile| {
            file.vectors.iter().any(|vector| {
                let wanted = self.only.is_empty() || self.only.contains(&vector.channel);
                wanted && vector.spec.includes(self.spec)
            })
        };
        if !self.paths.is_empty() && !vectors.iter().any(chosen) {
            let spec = self.spec;
            return Err(CommandStop::usage(format!("no vector of these files applies to {spec}")));
        }
        Ok(vectors)
    }

    /// Returns whether the command starts processes that have to end with it.
    pub(super) fn starts_processes(&self) -> bool {
        self.subject != official::NAME
    }

    fn known(&self) -> Result<DifferenceBaseline, CommandStop> {
        let Some(path) = &self.baseline else { return Ok(DifferenceBaseline::default()) };
        let name = path.display().to_string();
        if self.update_baseline && !path.exists() {
            return Ok(DifferenceBaseline::default());
        }
        DifferenceBaseline::parse(&name, &files::text(path)?).map_err(CommandStop::usage)
    }

    fn defects(&self) -> Result<SubjectDefects, CommandStop> {
        let Some(path) = &self.defects else { return Ok(SubjectDefects::default()) };
        let name = path.display().to_string();
        SubjectDefects::parse(&name, &files::text(path)?).map_err(CommandStop::usage)
    }

    fn update(
        &self,
        context: &CliContext,
        baseline: &DifferenceBaseline,
        defects: &SubjectDefects,
        held: &Held,
    ) -> CommandOutcome {
        let Some(path) = &self.baseline else { return Ok(CommandExit::Ok) };
        files::write(path, baseline.written(held))?;
        context.say(&format!("\nwritten: {}\n", path.display()));
        self.write_reports(held, defects, CommandExit::Ok)?;
        Ok(CommandExit::Ok)
    }

    /// Writes the smallest cases. Returns the file of each case by its key.
    fn write_cases(&self, held: &Held) -> Result<Vec<(String, String)>, CommandStop> {
        let Some(folder) = &self.write else { return Ok(Vec::new()) };
        std::fs::create_dir_all(folder)
            .map_err(|error| CommandStop::usage(format!("`{}`: {error}", folder.display())))?;
        let mut written = Vec::new();
        for finding in held.findings.iter().filter(|finding| finding.status != Status::Known) {
            let Some((name, text)) = held.vector_file(finding) else { continue };
            let path = folder.join(name);
            files::write(&path, &text)?;
            written.push((finding.key.clone(), path.display().to_string()));
        }
        Ok(written)
    }

    fn write_reports(
        &self,
        held: &Held,
        defects: &SubjectDefects,
        code: CommandExit,
    ) -> Result<(), CommandStop> {
        for report in &self.report {
            match report {
                ReducersReport::Shared(ReportOption::Jsonl(path)) => {
                    let lines = held.lines(code as u8);
                    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
                    files::write(path, &text)?;
                }
                ReducersReport::Shared(ReportOption::Junit(path)) => {
                    let text = show::junit(held).map_err(CommandStop::fault)?;
                    files::write(path, &text)?;
                }
                ReducersReport::Markdown(path) => {
                    files::write(path, findings::markdown(held, defects, &command_line()))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the command line of this process, for the report.
fn command_line() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:".contains(c);
    let word = |word: String| match word.chars().all(plain) && !word.is_empty() {
        true => format!(" {word}"),
        false => format!(" '{}'", word.replace('\'', "'\\''")),
    };
    let words: String = std::env::args().skip(1).map(word).collect();
    format!("ahp-harness{words}")
}

/// Parses `KIND=FILE`.
fn report(text: &str) -> Result<ReducersReport, String> {
    match text.split_once('=') {
        Some(("markdown", file)) if !file.is_empty() => Ok(ReducersReport::Markdown(file.into())),
        _ => options::report(text)
            .map(ReducersReport::Shared)
            .map_err(|why| format!("{why} (hint: this command also has the kind `markdown`)")),
    }
}

/// Parses the name of a reducer.
fn reducer(name: &str) -> Result<ChannelKind, String> {
    ChannelKind::of_reducer(name).ok_or_else(|| {
        let names: Vec<_> = ChannelKind::reducer_names().collect();
        format!("expected one of {}", names.join(", "))
    })
}
