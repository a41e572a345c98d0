//! Plays the suite against legal variants of the reference host: no requirement may be reported as broken.
//!
//! A variant is treated like an external host: the first look detects what the variant offers, and scenarios
//! that need more are not played. A false finding is a failed claim, or a finding of an always-on check, with
//! the weight of a SHOULD or more.
//!
//! Knows: `host`, the simulation. Never knows: the presentation of results.
//!
//! Start at [`VariantTrial`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use crate::agent::mode::AgentMode;
use crate::host::engine::HostConfig;
use crate::host::protected;
use crate::host::variant::{VariantHost, VariantRow};
use crate::scenario::parse::ParsedScenario;
use crate::transcript::ConnectionEvent;
use crate::verdict::{Status, Weight};
use crate::wire::feature::ProtocolFeature;
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

use super::detect::{self, DetectedFeature, LookOptions};
use super::mutants::{LIMIT, SEED, epoch, playable_with};
use super::play::{CountingRecorder, ScenarioPlay, ScenarioVerdict, TranscriptRecorder};
use super::probes::PROBES;
use super::setup::CaseSetup;
use super::sim;
use super::suite::ScenarioSuite;

/// The suite's result for the reference host with some variants.
#[derive(Clone, Debug, Default)]
pub struct VariantResult {
    /// The names of the variants.
    pub variants: Vec<&'static str>,
    /// The capabilities that the first look finds only without the variants. If the variants should not remove any
    /// feature, this list must be empty, because the scenarios that need a lost capability are not played.
    pub lost: Vec<String>,
    /// The number of scenarios that were played.
    pub played: usize,
    /// The number of generated conversations that were played.
    pub drawn: usize,
    /// The number of scenarios that passed, or that ended with a note.
    pub held: usize,
    /// The number of scenarios and generated conversations in which the variants changed a frame or its time; `None` if
    /// the frames were not compared.
    pub changed: Option<usize>,
    /// The number of notes: reported breaches with less weight than a SHOULD. A note is not a false finding.
    pub notes: u64,
    /// The scenarios that could not be tested, each with the reason.
    pub untested: Vec<(String, String)>,
    /// The requirements and checks that were wrongly reported broken, by id.
    pub accused: BTreeMap<String, WrongAccusation>,
}

/// A requirement or check that was reported broken although the host fulfils it.
#[derive(Clone, Debug)]
pub struct WrongAccusation {
    /// The weight of the reported breach.
    pub weight: Weight,
    /// The first scenario that reported the rule as broken.
    pub scenario: String,
    /// The message of the first finding.
    pub message: String,
    /// The number of reports.
    pub times: u64,
}

/// A player of scenarios against hosts with variants: a function and its settings.
#[derive(Clone, Copy)]
pub struct VariantPlayer<'a> {
    /// The Unix time at which a scenario begins.
    pub epoch: Duration,
    /// The time limit of a wait.
    pub limit: Duration,
    /// Plays a scenario until it is over. Returns an error if the host cannot be reached.
    pub play: &'a dyn Fn(ScenarioPlay, VariantHost) -> io::Result<ScenarioVerdict>,
}

impl VariantPlayer<'static> {
    /// Returns a player in memory, with the settings of the kill matrix.
    pub fn in_memory() -> VariantPlayer<'static> {
        let play = &|play: ScenarioPlay, mut host: VariantHost| Ok(sim::play(play, &mut host));
        VariantPlayer { epoch: epoch(), limit: LIMIT, play }
    }
}

/// A trial of some variants: it plays scenarios against the reference host with these variants. Like a run against an
/// external host, a trial begins with a first look.
pub struct VariantTrial<'a> {
    version: Version,
    rows: &'a [&'static VariantRow],
    player: VariantPlayer<'a>,
    look: VariantFirstLook,
    usual: Option<Arc<UsualFrames>>,
    result: VariantResult,
}

/// The frames of scenarios on the reference host without variants, to see which scenarios a variant changes.
pub struct UsualFrames {
    version: Version,
    look: VariantFirstLook,
    /// A hash of all frames and their times, by scenario.
    hashes: Mutex<BTreeMap<String, u64>>,
}

impl UsualFrames {
    /// Returns the frames at this version. All trials of a process share them.
    fn shared(version: Version) -> io::Result<Arc<UsualFrames>> {
        static SHARED: LazyLock<Mutex<BTreeMap<Version, Arc<UsualFrames>>>> =
            LazyLock::new(Mutex::default);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shared.get(&version) {
            return Ok(Arc::clone(known));
        }
        let look = VariantFirstLook::at(version, &[], VariantPlayer::in_memory())?;
        let usual = Arc::new(UsualFrames { version, look, hashes: Mutex::default() });
        shared.insert(version, Arc::clone(&usual));
        Ok(usual)
    }

    fn hash(&self, scenario: &Arc<ParsedScenario>) -> io::Result<u64> {
        let known = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hash) = known.get(&scenario.id) {
            return Ok(*hash);
        }
        drop(known);
        let hash = self.play(scenario)?;
        let mut known = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(scenario.id.clone(), hash);
        Ok(hash)
    }

    fn play(&self, scenario: &Arc<ParsedScenario>) -> io::Result<u64> {
        let recorder = FrameHash::default();
        let boxed = Box::new(recorder.clone());
        self.look.play(scenario, self.version, &[], VariantPlayer::in_memory(), boxed)?;
        Ok(recorder.value())
    }
}

/// A recorder that hashes all frames and their times.
#[derive(Clone, Debug, Default)]
struct FrameHash(Arc<Mutex<(u64, DefaultHasher)>>);

impl FrameHash {
    fn value(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.finish()
    }
}

impl TranscriptRecorder for FrameHash {
    fn record(&mut self, at: Duration, client: &str, event: &ConnectionEvent) -> u64 {
        let mut text = format!("{at:?} {client} ");
        let _ = match event {
            ConnectionEvent::Sent(seen) => write!(text, "> {:?}", seen.frame),
            ConnectionEvent::Received(seen) => write!(text, "< {:?}", seen.frame),
            event => write!(text, "{event:?}"),
        };
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.1.write(text.as_bytes());
        state.0 += 1;
        state.0
    }
}

impl<'a> VariantTrial<'a> {
    /// Takes the first look.
    ///
    /// # Errors
    /// Returns an error if the host cannot be reached.
    pub fn begin(
        version: Version,
        rows: &'a [&'static VariantRow],
        player: VariantPlayer<'a>,
    ) -> io::Result<VariantTrial<'a>> {
        let look = VariantFirstLook::at(version, rows, player)?;
        let variants = rows.iter().map(|row| row.name).collect();
        let result = VariantResult { variants, lost: lost(version, &look)?, ..Default::default() };
        Ok(VariantTrial { version, rows, player, look, usual: None, result })
    }

    /// Counts the scenarios in which the variants change a frame. Only plays in memory can be compared, because their
    /// identifiers and times are reproducible.
    ///
    /// # Errors
    /// Returns an error if the host cannot be reached.
    pub fn compare(&mut self) -> io::Result<()> {
        self.usual = Some(UsualFrames::shared(self.version)?);
        self.result.changed = Some(0);
        Ok(())
    }

    /// Returns the number of scenarios so far in which the variants changed a frame; zero if frames are not compared.
    pub fn changed(&self) -> usize {
        self.result.changed.unwrap_or_default()
    }

    /// Plays those scenarios of a suite for whose index `share` returns true.
    ///
    /// # Errors
    /// Returns an error if the host cannot be reached.
    pub fn play_suite(
        &mut self,
        suite: &ScenarioSuite,
        share: impl Fn(usize) -> bool,
    ) -> io::Result<()> {
        let detected = self.look.detected.clone();
        let entries = playable_with(suite, self.version, AgentMode::Host, detected);
        for (_, entry) in entries.iter().enumerate().filter(|(place, _)| share(*place)) {
            let hash = FrameHash::default();
            let recorder: Box<dyn TranscriptRecorder> = match &self.usual {
                Some(_) => Box::new(hash.clone()),
                None => Box::new(CountingRecorder::default()),
            };
            let (version, rows, player) = (self.version, self.rows, self.player);
            let verdict = self.look.play(&entry.scenario, version, rows, player, recorder)?;
            self.result.add(&entry.scenario, &verdict);
            if let (Some(usual), Some(changed)) = (&self.usual, self.result.changed.as_mut()) {
                *changed += usize::from(usual.hash(&entry.scenario)? != hash.value());
            }
        }
        Ok(())
    }

    /// Returns the detected capabilities.
    pub fn detected(&self) -> &[DetectedFeature] {
        &self.look.detected
    }

    /// Plays a generated conversation, whose claims hold for every conformant host. Returns the verdict, and whether
    /// the verdict has a false finding.
    ///
    /// # Errors
    /// Returns an error if the host cannot be reached.
    pub fn play_drawn(&mut self, scenario: ParsedScenario) -> io::Result<(ScenarioVerdict, bool)> {
        let scenario = Arc::new(scenario);
        let hash = FrameHash::default();
        let (version, rows, player) = (self.version, self.rows, self.player);
        let recorder = Box::new(hash.clone());
        let verdict = self.look.play(&scenario, version, rows, player, recorder)?;
        if let (Some(usual), Some(changed)) = (&self.usual, self.result.changed.as_mut()) {
            *changed += usize::from(usual.play(&scenario)? != hash.value());
        }
        let times =
            |result: &VariantResult| result.accused.values().map(|it| it.times).sum::<u64>();
        let before = times(&self.result);
        self.result.drawn += 1;
        self.result.add_claims(&scenario.id, &verdict);
        self.result.add_checks(&scenario.id, &verdict);
        Ok((verdict, times(&self.result) > before))
    }

    /// Returns the result.
    pub fn end(self) -> VariantResult {
        self.result
    }
}

/// The result of the first look: the facts about the host that scenarios can use.
struct VariantFirstLook {
    detected: Vec<DetectedFeature>,
    facts: Vec<(String, String)>,
    provider: Option<String>,
}

impl VariantFirstLook {
    /// Takes a first look at a host with these variants. The run has the token of the reference host.
    fn at(
        version: Version,
        rows: &[&VariantRow],
        player: VariantPlayer<'_>,
    ) -> io::Result<VariantFirstLook> {
        let mut host = VariantHost::new(rows, sim::speaking(HostConfig::default(), version));
        let (resource, token) = protected::TOKEN;
        let (offers, tokens) = ([version], [(resource.to_owned(), token.to_owned())]);
        let trials = detect::trials(SEED);
        let options =
            LookOptions { tokens: &tokens, trials: &trials, ..LookOptions::offering(&offers) };
        let found = sim::look(&mut host, options);
        let channels = Protocol::of(version).is_some_and(|it| it.has(ProtocolFeature::Channels));
        let mut look = VariantFirstLook {
            detected: found.detected.unwrap_or_default(),
            facts: Vec::new(),
            provider: found.chosen.filter(|_| channels),
        };
        look.detected.iter_mut().for_each(detect::play_all);
        for probe in PROBES {
            let Ok(entry) = probe.entry() else { continue };
            let detected = match entry.scenario.spec.includes(version) {
                true => {
                    let recorder = Box::new(CountingRecorder::default());
                    let verdict = look.play(&entry.scenario, version, rows, player, recorder)?;
                    probe.detected(&verdict)
                }
                false => DetectedFeature::new(
                    probe.capability,
                    false,
                    "the version does not have this feature",
                ),
            };
            look.facts.extend(detected.facts.iter().cloned());
            look.detected.push(detected);
        }
        let given = [(protected::TOKEN.0.to_owned(), protected::TOKEN.1.to_owned())];
        let token = detect::token(&look.detected, &given).map(str::to_owned);
        look.detected.push(detect::tokened(token.as_deref()));
        look.detected.extend(sim::given());
        look.facts = detect::facts(&look.detected, token.as_deref());
        Ok(look)
    }

    fn play(
        &self,
        scenario: &Arc<ParsedScenario>,
        version: Version,
        rows: &[&VariantRow],
        player: VariantPlayer<'_>,
        recorder: Box<dyn TranscriptRecorder>,
    ) -> io::Result<ScenarioVerdict> {
        let VariantPlayer { epoch, limit, play } = player;
        let config = sim::speaking(sim::settings(scenario, SEED, epoch), version);
        let (facts, provider) = (self.facts.clone(), self.provider.clone());
        let setup =
            CaseSetup { facts, provider, ..CaseSetup::of(scenario, version, SEED, epoch, limit) };
        play(ScenarioPlay::new(setup, false, recorder), VariantHost::new(rows, config))
    }
}

/// Returns the capabilities that the first look finds without the variants but not with the variants.
fn lost(version: Version, look: &VariantFirstLook) -> io::Result<Vec<String>> {
    let offered = |name: &str| look.detected.iter().any(|it| it.offered && it.capability == name);
    let usual = UsualFrames::shared(version)?;
    let before = usual.look.detected.iter().filter(|it| it.offered).map(|it| it.capability.clone());
    Ok(before.filter(|name| !offered(name)).collect())
}

impl VariantResult {
    /// Returns whether the frames were compared, and the variants changed none of them and hid no capability. Nothing
    /// was tested then.
    pub fn is_idle(&self) -> bool {
        self.changed == Some(0) && self.lost.is_empty()
    }

    /// Adds the result of a scenario.
    pub(super) fn add(&mut self, scenario: &ParsedScenario, verdict: &ScenarioVerdict) {
        self.played += 1;
        match verdict.status {
            Status::Pass | Status::Note | Status::Known | Status::Skip => self.held += 1,
            Status::Untested | Status::Error => {
                let why = (scenario.id.clone(), verdict.reason.clone());
                self.untested.push(why);
            }
            Status::Fail | Status::Warn => {}
        }
        self.add_claims(&scenario.id, verdict);
        self.add_checks(&scenario.id, verdict);
    }

    fn add_claims(&mut self, scenario: &str, verdict: &ScenarioVerdict) {
        for claim in &verdict.claims {
            if let Some(failure) = &claim.outcome.failure {
                self.accuse(&claim.rule, claim.weight, scenario, &failure.message, 1);
            }
        }
    }

    fn add_checks(&mut self, scenario: &str, verdict: &ScenarioVerdict) {
        for report in &verdict.checks {
            for finding in &report.findings {
                if report.check != "shape.harness" {
                    let (message, times) = (&finding.message, finding.times);
                    self.accuse(report.check, finding.weight, scenario, message, times);
                }
            }
        }
    }

    fn accuse(&mut self, rule: &str, weight: Weight, scenario: &str, message: &str, times: u64) {
        if weight < Weight::Should {
            self.notes += times;
            return;
        }
        let new = || WrongAccusation {
            weight,
            scenario: scenario.to_owned(),
            message: message.to_owned(),
            times: 0,
        };
        let accusation = self.accused.entry(rule.to_owned()).or_insert_with(new);
        accusation.weight = accusation.weight.max(weight);
        accusation.times += times;
    }
}
