//! `ahp-harness fuzz`: drawn conversations against a host, and what they find, made small.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::task::JoinSet;

use crate::arb::campaign::{Bucket, Campaign, Known};
use crate::arb::draft::{ANYTHING, Draft, Expectation};
use crate::arb::embedded::Ground;
use crate::arb::finding::{Finding, findings};
use crate::arb::gauge::{self, Gauge};
use crate::arb::generate::{Generator, Sequence, Taste};
use crate::arb::shrink::{Shows as _, shrink};
use crate::host::fault::Fault;
use crate::oracle::CHECKS;
use crate::report::summary::word;
use crate::run::detect::LookOptions;
use crate::run::play::Verdict;
use crate::run::probe::probe;
use crate::verdict::Weight;
use crate::wire::foreign_text::ForeignText;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::aim::{Aim, Target};
use super::context::Context;
use super::exit::{Code, Outcome, Stop};
use super::files;
use super::fuzz_stage::{OnStage, Stage};
use super::interrupt::{in_time, interrupts};
use super::options;
use super::target::BUDGET;

/// The state of a campaign, in its folder.
const STATE: &str = "campaign.jsonl";
/// How often an expectation is missed before nobody waits for it any more.
const ENOUGH: u32 = 2;
/// Conversations of which it is said why they count for nothing.
const SHOWN: usize = 5;
/// What was put to the test, in its folder.
const COVERAGE: &str = "coverage.md";
/// Where the scenarios of findings go, in the folder of a campaign.
const FINDINGS: &str = "fuzz";
/// How often what was found is played again as it is.
const AGAIN: u32 = 2;
/// How long it goes on unless something else ends it.
const MINUTE: Duration = Duration::from_secs(60);
/// How often the state is written.
const SAVED: Duration = Duration::from_secs(5);
/// How often it is said how far it has come.
const SAID: Duration = Duration::from_secs(10);

/// Draws conversations of several clients, plays them against a host, and makes what they find small.
///
/// Without a target the embedded reference host is played. Findings become scenario files in the folder of the
/// campaign, which `ahp-harness run` plays again; a campaign that is started again in the same folder goes on.
#[derive(Args, Debug)]
pub struct Fuzz {
    #[command(flatten)]
    pub(super) aim: Aim,
    /// Plant this fault in the embedded host (repeatable)
    #[arg(long, value_name = "NAME", value_parser = options::fault, conflicts_with_all = ["url", "command"], help_heading = "Target")]
    pub(super) fault: Vec<Fault>,

    /// Speak this protocol version only
    #[arg(long, value_name = "VERSION", value_parser = options::version, help_heading = "Drawing")]
    pub(super) spec: Option<Version>,
    /// Draw everything from this seed
    #[arg(long, help_heading = "Drawing")]
    seed: Option<u64>,
    /// Play the one conversation of this seed, as a finding names it
    #[arg(long, value_name = "HEX", value_parser = options::hex, help_heading = "Drawing")]
    sequence_seed: Option<u64>,
    /// Draw turns although nobody is known to play the agent: the host's own agent understands scripts
    #[arg(long, help_heading = "Drawing")]
    pub(super) scripted: bool,
    /// The target is a reference host, whose files, shells and settings are known
    #[arg(long, requires = "scripted", help_heading = "Drawing")]
    pub(super) reference: bool,
    /// Send what may harm a host, too
    #[arg(long, help_heading = "Drawing")]
    pub(super) aggressive: bool,

    /// Go on for so long; a minute unless something else ends it, and 9m30s at the most against a host outside unless given
    #[arg(long, value_parser = options::duration, help_heading = "Budget")]
    time: Option<Duration>,
    /// Go on until so many conversations were played
    #[arg(long, help_heading = "Budget")]
    sequences: Option<u64>,
    /// Go on until so many steps were played
    #[arg(long, help_heading = "Budget")]
    steps: Option<u64>,
    /// Stop at the first finding instead of collecting them
    #[arg(long, help_heading = "Budget")]
    stop_at_first: bool,
    /// How many conversations are played at once over sockets
    #[arg(long, visible_alias = "workers", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=100), help_heading = "Budget")]
    jobs: u16,
    /// How long each wait may take
    #[arg(long, default_value = "2s", value_parser = options::duration, help_heading = "Budget")]
    pub(super) timeout: Duration,

    /// Keep findings, scenarios and the state of the campaign in this folder, and go on where it was left
    #[arg(long, value_name = "FOLDER", default_value = "fuzz-campaign", help_heading = "Findings")]
    out: PathBuf,
    /// The least weight of a finding: note, should, essential or must
    #[arg(long, default_value = "should", value_parser = options::weight, help_heading = "Findings")]
    weight: Weight,
    /// Findings that are known, each with its reason
    #[arg(long, value_name = "FILE", help_heading = "Findings")]
    baseline: Option<PathBuf>,
    /// Write everything that was found as a baseline to this file
    #[arg(long, value_name = "FILE", help_heading = "Findings")]
    write_baseline: Option<PathBuf>,
    /// Keep findings as they were drawn
    #[arg(long, help_heading = "Findings")]
    no_shrink: bool,
}

impl Fuzz {
    pub(super) fn main(mut self, context: &Context) -> Outcome {
        self.aim = self.aim.with_files()?;
        in_time(self.budget(), self.campaign(context))
    }

    /// How long it may take; against a host outside there is always a bound.
    pub(super) fn budget(&self) -> Option<Duration> {
        let bounded = self.sequences.is_some() || self.steps.is_some();
        let usual = if bounded { self.aim.is_outside().then_some(BUDGET) } else { Some(MINUTE) };
        self.time.or(usual)
    }

    async fn campaign(&self, context: &Context) -> Outcome {
        let known = self.known()?;
        let target = self.aim.one_provider()?.configured_target(context, self.spec).await?;
        let version = self.version(&target).await?;
        let campaign = self.begin(context, &target, version)?;
        let stage = Arc::new(Stage::of(self, context, target, version));
        let generator = Generator::new(version, campaign.seed, self.taste(&stage.target));
        let mut hunt = Hunt {
            fuzz: self,
            context,
            stage,
            generator,
            known,
            campaign,
            flying: 0,
            odd: Vec::new(),
            missed: BTreeMap::new(),
        };
        let outcome = hunt.go().await;
        hunt.save()?;
        if let Target::Remote(remote, _) = &hunt.stage.target {
            remote.stop().await;
        }
        context.progress("");
        context.say(&hunt.summary());
        if let Some(path) = &self.write_baseline {
            write(path, &Known::text(&hunt.campaign.buckets))?;
        }
        outcome
    }

    fn known(&self) -> Result<Known, Stop> {
        let Some(path) = &self.baseline else { return Ok(Known::default()) };
        let name = path.display().to_string();
        let text = files::text(path)?;
        Known::parse(&name, &text).map_err(Stop::usage)
    }

    /// The version that the target speaks.
    async fn version(&self, target: &Target) -> Result<Version, Stop> {
        let newest = self.spec.or(Protocol::known().first().copied());
        let newest = newest.ok_or_else(|| Stop::fault("there are no protocol tables"))?;
        let Target::Remote(remote, _) = target else {
            // The stage and the embedded host speak these by themselves; of others nothing could be drawn.
            let spoken = Protocol::all_played().contains(&newest);
            let what = || Stop::usage(format!("conversations of {newest} cannot be drawn"));
            return spoken.then_some(newest).ok_or_else(what);
        };
        let offers: Vec<String> = match self.spec {
            Some(version) => vec![version.to_string()],
            None => Protocol::known().iter().map(Version::to_string).collect(),
        };
        let options = LookOptions::offering(&offers);
        let found = probe(&remote.endpoint, &remote.shown(), options, self.timeout).await;
        let found = found.map_err(Stop::unreachable)?;
        Ok(found.version.unwrap_or(newest))
    }

    fn taste(&self, target: &Target) -> Taste {
        let embedded = !matches!(target, Target::Remote(..));
        let agent = self.aim.agent();
        let plays = embedded || self.scripted || agent != Default::default();
        Taste {
            agent: plays.then_some(agent),
            // A restart would end the conversations of the other workers.
            restarts: match target {
                Target::Remote(remote, _) => remote.restarts() && self.jobs == 1,
                _ => true,
            },
            aggressive: embedded || self.aggressive,
            reference: embedded || self.scripted && self.reference,
        }
    }

    /// The campaign in the folder, or a new one.
    fn begin(
        &self,
        context: &Context,
        target: &Target,
        version: Version,
    ) -> Result<Campaign, Stop> {
        let embedded = !matches!(target, Target::Remote(..));
        let path = self.out.join(STATE);
        let version = version.to_string();
        if let Ok(text) = fs::read_to_string(&path) {
            let name = path.display();
            let campaign = Campaign::of_text(&text).ok_or_else(|| {
                Stop::usage(format!(
                    "expected the state of a campaign in `{name}` (hint: another `--out`)"
                ))
            })?;
            let same =
                campaign.version == version && self.seed.is_none_or(|seed| seed == campaign.seed);
            if !same {
                return Err(Stop::usage(format!(
                    "the campaign in `{name}` has seed {} and speaks {} (hint: another `--out`)",
                    campaign.seed, campaign.version
                )));
            }
            return Ok(campaign);
        }
        fs::create_dir_all(self.out.join(FINDINGS)).map_err(|error| {
            Stop::usage(format!("`{}` could not be made: {error}", self.out.display()))
        })?;
        let seed = self.seed.unwrap_or(if embedded { 1 } else { context.seed });
        Ok(Campaign { seed, version, ..Campaign::default() })
    }
}

/// A campaign that is going on.
struct Hunt<'a> {
    fuzz: &'a Fuzz,
    context: &'a Context,
    stage: Arc<Stage>,
    generator: Generator,
    known: Known,
    campaign: Campaign,
    /// Conversations that are being played.
    flying: u64,
    /// The first few conversations whose expectations the honest host does not meet, and why.
    odd: Vec<String>,
    /// What was not met, and how often.
    missed: BTreeMap<Expectation, u32>,
}

impl Hunt<'_> {
    async fn go(&mut self) -> Outcome {
        let began = Instant::now();
        let before = self.campaign.took;
        let (mut saved, mut said) = (began, began);
        let mut playing: JoinSet<(Sequence, Option<Verdict>, Gauge)> = JoinSet::new();
        let mut interrupted = interrupts();
        if let Some(budget) = self.fuzz.budget().filter(|_| self.fuzz.aim.is_outside()) {
            self.context.error(&format!("ends after {budget:?} at the latest (`--time`)\n"));
        }
        let mut warned = false;
        let mut stopping = None;
        loop {
            let workers =
                if matches!(self.stage.target, Target::Embedded) { 1 } else { self.fuzz.jobs };
            while stopping.is_none() && playing.len() < usize::from(workers) {
                if self.is_over(began) {
                    stopping = Some(Code::Ok);
                    break;
                }
                let Some(sequence) = self.draw() else { continue };
                let (stage, gauge) = (Arc::clone(&self.stage), Gauge::default());
                let name = self.name(&sequence);
                playing.spawn(async move {
                    let verdict = stage.play(&sequence.draft, name, &gauge).await;
                    (sequence, verdict, gauge)
                });
            }
            let played = tokio::select! {
                played = playing.join_next() => played,
                _ = interrupted.changed(), if stopping != Some(Code::Interrupted) => {
                    stopping = Some(Code::Interrupted);
                    continue;
                }
            };
            self.campaign.took = before + began.elapsed();
            match played {
                // What was cut short shows nothing.
                Some(Ok(_)) if *self.stage.stop.borrow() => {}
                Some(Ok((sequence, verdict, gauge))) => {
                    let shook = verdict.as_ref().is_some_and(|it| it.shook_hands);
                    self.played(&sequence, verdict, &gauge).await?;
                    if !shook && let Err(stop) = self.revive(&sequence).await {
                        self.save()?;
                        return Err(stop);
                    }
                }
                Some(Err(error)) => {
                    self.context.error(&format!("a conversation's task died: {error}\n"))
                }
                None => break,
            }
            if self.fuzz.stop_at_first && !self.campaign.buckets.is_empty() {
                stopping = stopping.or(Some(Code::Ok));
            }
            if let Some(why) = self.campaign.tally.futile().filter(|_| !warned) {
                warned = true;
                self.context.error(&format!("warning: {why}\n"));
            }
            if saved.elapsed() > SAVED {
                saved = Instant::now();
                self.save()?;
            }
            if said.elapsed() > SAID {
                said = Instant::now();
                self.context.error(&self.progress());
            }
        }
        let found = if self.campaign.buckets.is_empty() { Code::Ok } else { Code::Failed };
        Ok(if stopping == Some(Code::Interrupted) { Code::Interrupted } else { found })
    }

    fn is_over(&self, began: Instant) -> bool {
        let Fuzz { sequences, steps, sequence_seed, .. } = self.fuzz;
        self.fuzz.budget().is_some_and(|budget| began.elapsed() >= budget)
            || sequences.is_some_and(|most| self.campaign.sequences + self.flying >= most)
            || steps.is_some_and(|most| self.campaign.steps >= most)
            || sequence_seed.is_some() && self.flying + self.campaign.sequences > 0
    }

    /// The next conversation that the reference host plays as it was drawn.
    fn draw(&mut self) -> Option<Sequence> {
        let sequence = match self.fuzz.sequence_seed {
            Some(seed) => self.generator.of_seed(seed),
            None => {
                self.campaign.next += 1;
                self.generator.sequence(self.campaign.next - 1)
            }
        };
        let mut sequence = sequence?;
        // What the honest host itself does is looked at when it was played.
        if !self.stage.is_honest() {
            let version = self.campaign.version.parse().ok()?;
            let honest = Ground::of(version, self.stage.agent, &[]);
            if let Some(finding) = honest.found(&sequence.draft).first() {
                self.odd(sequence.seed, finding);
                return None;
            }
            sequence.draft.loosen(&self.campaign.unmet);
        }
        self.flying += 1;
        Some(sequence)
    }

    fn name(&self, sequence: &Sequence) -> String {
        format!("{}#{}", sequence.draft.id, self.campaign.sequences + self.flying)
    }

    async fn played(
        &mut self,
        sequence: &Sequence,
        verdict: Option<Verdict>,
        gauge: &Gauge,
    ) -> Result<(), Stop> {
        self.flying -= 1;
        self.campaign.sequences += 1;
        self.campaign.steps += sequence.draft.steps.len() as u64;
        let tally = gauge.tally();
        self.campaign.tally.served += tally.served;
        self.campaign.tally.refused += tally.refused;
        self.campaign.tried(sequence.seed, &sequence.told);
        for (what, times) in gauge.seen() {
            *self.campaign.seen.entry(what).or_default() += times;
        }
        let Some(verdict) = verdict else { return Ok(()) };
        self.miss(sequence, &verdict);
        let mut found = findings(&verdict);
        // Nobody has to say what only names something.
        let only_named = verdict.failure.as_ref().is_some_and(|failure| {
            verdict.rule.is_empty() && !sequence.draft.missed("", &failure.message).is_empty()
        });
        if only_named && !self.generator.knows_target() {
            found.retain(|finding| finding.message != verdict.reason);
        }
        // A step's expectation was drawn on the reference host. If that host does not meet it, the drawing is wrong;
        // another host may offer less and choose otherwise. In both cases only the checks find something.
        let is_check = |finding: &Finding| CHECKS.iter().any(|row| row.id == finding.rule);
        let honest = self.stage.is_honest();
        if let Some(finding) = found.iter().find(|it| honest && !is_check(it)) {
            self.odd(sequence.seed, finding);
        }
        if honest || !self.generator.knows_target() {
            found.retain(is_check);
        }
        for finding in found {
            let counts = finding.weight >= self.fuzz.weight && !self.known.has(&finding);
            if counts && !self.campaign.is_known(&finding) {
                self.found(sequence, finding).await?;
                if self.fuzz.stop_at_first {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes note of an expectation that is not met. What was missed more than once is not waited for again: it
    /// would end every conversation at the same place.
    fn miss(&mut self, sequence: &Sequence, verdict: &Verdict) {
        let failed = verdict.failure.as_ref().filter(|_| !self.stage.is_honest());
        let Some(failure) = failed else { return };
        for missed in sequence.draft.missed(&verdict.rule, &failure.message) {
            let times = self.missed.entry(missed.clone()).or_default();
            *times += 1;
            if *times == ENOUGH {
                self.campaign.unmet.push(missed);
            }
        }
    }

    /// Takes note of a conversation that the honest host does not play as it was drawn.
    fn odd(&mut self, seed: u64, finding: &Finding) {
        self.campaign.unsteady += 1;
        if self.odd.len() < SHOWN {
            self.odd.push(format!("{seed:016x}: {}: {}", finding.rule, finding.message));
        }
    }

    /// Plays again what was found, makes it small and keeps it.
    async fn found(&mut self, sequence: &Sequence, finding: Finding) -> Result<(), Stop> {
        let mut shows = OnStage {
            stage: &self.stage,
            finding: &finding,
            exactly: false,
            version: self.campaign.version.parse().unwrap_or(Version::new(0, 0, 0)),
            played: 0,
        };
        let mut again = 0;
        for _ in 0..AGAIN {
            again += u32::from(shows.shows(&sequence.draft).await);
        }
        // What is made small has to stay the same defect, not only break the same rule.
        shows.exactly = true;
        shows.exactly = shows.shows(&sequence.draft).await;
        let number = self.campaign.buckets.len() + 1;
        let said = format!(
            "finding {number}: {} ({}): {}\n",
            finding.rule,
            word(finding.weight),
            finding.message
        );
        let steady = again == AGAIN;
        let mut draft = sequence.draft.clone();
        if steady && !self.fuzz.no_shrink {
            draft = shrink(draft, &mut shows).await;
        }
        if let Some(at) = self.same(&draft, &finding) {
            let bucket = &mut self.campaign.buckets[at];
            bucket.times += 1;
            bucket.also.push(finding.key);
            return self.save();
        }
        draft.id = format!("{FINDINGS}/{}", slug(number, &finding.rule));
        draft.title = finding.statement();
        let path = self.fuzz.out.join(format!("{}.yaml", draft.id));
        let head = format!(
            "# Found by `ahp-harness fuzz`, in the conversation of `--sequence-seed {:016x}`; showed again {again} \
             times of {AGAIN}.\n# {}: {}\n",
            sequence.seed,
            finding.rule,
            ForeignText::from(finding.message.as_str()).line()
        );
        write(&path, &format!("{head}{}", draft.text()))?;
        let (scenario, seed) = (draft.id, sequence.seed);
        self.campaign.buckets.push(Bucket {
            finding,
            scenario,
            seed,
            times: 1,
            again: (again, AGAIN),
            also: Vec::new(),
        });
        self.save()?;
        // What was said once is not lost, however this process ends.
        self.context.error(&said);
        Ok(())
    }

    /// The place of a bucket of the same rule whose small case has the same steps.
    fn same(&self, draft: &Draft, finding: &Finding) -> Option<usize> {
        let steps = |text: &str| text.split_once("\nsteps:").map(|(_, steps)| steps.to_owned());
        let own = steps(&draft.text())?;
        self.campaign.buckets.iter().position(|bucket| {
            let path = self.fuzz.out.join(format!("{}.yaml", bucket.scenario));
            let text = fs::read_to_string(path).unwrap_or_default();
            bucket.finding.rule == finding.rule && steps(&text).as_ref() == Some(&own)
        })
    }

    /// Nobody shook hands: whether the host is still there, and where it is not, a finding and a restart.
    async fn revive(&mut self, sequence: &Sequence) -> Result<(), Stop> {
        let Target::Remote(remote, _) = &self.stage.target else { return Ok(()) };
        let remote = Arc::clone(remote);
        let offers = [self.campaign.version.clone()];
        let options = LookOptions::offering(&offers);
        let Err(error) = probe(&remote.endpoint, &remote.shown(), options, self.fuzz.timeout).await
        else {
            return Ok(());
        };
        let rule = ANYTHING;
        let message = format!("the host is gone: {error}");
        let finding = Finding {
            rule: rule.to_owned(),
            weight: Weight::Essential,
            key: format!("{rule} | the host is gone"),
            message: message.clone(),
        };
        if !self.campaign.is_known(&finding) {
            let (scenario, seed) = (sequence.draft.id.clone(), sequence.seed);
            let path = self.fuzz.out.join(format!("{scenario}.yaml"));
            write(&path, &sequence.draft.text())?;
            let (also, again) = (Vec::new(), (0, 0));
            self.campaign.buckets.push(Bucket { finding, scenario, seed, times: 1, again, also });
            self.save()?;
            self.context.error(&format!("finding: {rule}: {message}\n"));
        }
        if !remote.restarts() {
            return Err(Stop::unreachable(format!(
                "{message} (hint: `--restart-command` lets a campaign go on)"
            )));
        }
        remote.again().await.map_err(|why| Stop::unreachable(format!("{message}; {why}")))
    }

    fn save(&self) -> Result<(), Stop> {
        let path = self.fuzz.out.join(STATE);
        let fresh = self.fuzz.out.join(format!("{STATE}.new"));
        write(&fresh, &self.campaign.to_text())?;
        write(&self.fuzz.out.join(COVERAGE), &gauge::table(&self.campaign.seen))?;
        // A campaign that is cut off here has the one or the other, and never half of it.
        fs::rename(&fresh, &path).map_err(|error| {
            Stop::usage(format!("`{}` could not be written: {error}", path.display()))
        })
    }

    fn progress(&self) -> String {
        let Campaign { sequences, steps, tried, seen, buckets, tally, took, .. } = &self.campaign;
        let rate = *steps as f64 / took.as_secs_f64().max(0.001);
        format!(
            "{sequences} conversations, {steps} steps ({rate:.0} a second), {} ways of acting, {} of action x state x verdict, refused {} %, {} findings\n",
            tried.len(),
            seen.len(),
            tally.refused_percent(),
            buckets.len()
        )
    }

    fn summary(&self) -> String {
        let mut out = self.progress();
        if self.campaign.unsteady > 0 {
            let _ = writeln!(
                out,
                "    {} were drawn whose expectations the reference host does not meet when it plays them once more; \
                 they count for nothing but checks",
                self.campaign.unsteady
            );
            for odd in &self.odd {
                let _ = writeln!(out, "        {odd}");
            }
        }
        if !self.stage.faults.is_empty() {
            let names: Vec<_> = self.stage.faults.iter().map(|fault| fault.name()).collect();
            let _ = writeln!(out, "    planted: {}", names.join(", "));
        }
        for bucket in &self.campaign.buckets {
            let Bucket { finding, scenario, times, again, .. } = bucket;
            let flaky = if again.0 < again.1 { ", not every time" } else { "" };
            let _ = writeln!(
                out,
                "    {} {}: {}\n        {}/{scenario}.yaml, found {times} times{flaky}",
                finding.weight.broken().word(),
                finding.rule,
                finding.message,
                self.fuzz.out.display()
            );
        }
        out
    }
}

/// The end of the id of a finding's scenario.
fn slug(number: usize, rule: &str) -> String {
    let rule: String = rule
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    format!("{number:03}-{rule}")
}

fn write(path: &Path, text: &str) -> Result<(), Stop> {
    fs::write(path, text)
        .map_err(|error| Stop::usage(format!("`{}` could not be written: {error}", path.display())))
}
