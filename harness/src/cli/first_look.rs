//! Takes the first look at a target, which `run` and `fuzz` share: what the host declares, what it offers without a
//! declaration, and what clients may do with its files.
//!
//! Knows: probes, the places in which they are played. Never knows: the meaning of a probe.
//!
//! Start at [`RunArguments::first_look`].

use std::path::PathBuf;

use futures_util::future::try_join_all;
use tokio::sync::watch;

use crate::agent::mode::AgentMode;
use crate::host::engine::{HostConfig, RefHost};
use crate::report::event::RunHeader;
use crate::run::detect::{self, AgentOfHost, DetectedFeature, DetectionResult, LookOptions};
use crate::run::folders::FolderProbe;
use crate::run::play::{CountingRecorder, ScenarioPlay};
use crate::run::probe::{ProbeError, probe};
use crate::run::probes::PROBES;
use crate::run::side::AgentSide;
use crate::run::{sim, words};
use crate::scenario::capability::SCRIPTS;
use crate::verdict::Status;
use crate::wire::foreign_text::ForeignText;
use crate::wire::version::Version;

use super::context::CliContext;
use super::exit::CommandStop;
use super::folders::{self, FileHost, SharedDisk};
use super::interrupt::{TimeBudget, ended_by, interrupts};
use super::oddities::RunFolders;
use super::play_target::PlayTarget;
use super::run::RunArguments;

/// The result of a first look at a target. The folders that the first look made for scenarios are removed when the
/// result is dropped.
pub(super) struct CliFirstLook {
    /// The header of the run.
    pub(super) header: RunHeader,
    /// The result of the handshake.
    pub(super) probed: Result<DetectionResult, ProbeError>,
    _disk: Option<SharedDisk>,
    _oddities: Option<RunFolders>,
}

impl RunArguments {
    /// Takes a first look at a target. The look stops when the budget has run out. `offers` are the versions to offer.
    ///
    /// # Errors
    /// Returns an error if a probe of the harness does not load, or if its folders cannot be made.
    pub(super) async fn first_look(
        &self,
        context: &CliContext,
        target: &PlayTarget,
        offers: &[Version],
        budget: Option<TimeBudget>,
    ) -> Result<CliFirstLook, CommandStop> {
        let newest = offers.first().copied().unwrap_or_default();
        let look = self.look(target, newest, offers, context.seed);
        let probed = match budget {
            Some(budget) => match tokio::time::timeout_at(budget.stop_at().into(), look).await {
                Ok(probed) => probed,
                Err(_) => Err(ProbeError::Late),
            },
            None => look.await,
        };
        let stop = ended_by(interrupts(), budget);
        let probed = match (probed, target) {
            (Ok(DetectionResult { refused: Some(answer), .. }), PlayTarget::Remote(remote, _))
                if self.only_if_spoken =>
            {
                let (url, offered) = (remote.shown(), Version::listed(offers));
                let answer = format!("it answered {answer}");
                Err(ProbeError::NoCommonVersion { url, offered, answer })
            }
            (probed, _) => probed,
        };
        let found = probed.clone().unwrap_or_default();
        let version = found.version.unwrap_or(newest);
        let seed = self.seed.unwrap_or(match target {
            // The embedded host always behaves the same, so a fixed seed makes the run reproducible.
            PlayTarget::Embedded | PlayTarget::Loopback => 1,
            PlayTarget::Remote(..) | PlayTarget::Agents(_) | PlayTarget::Clients(_) => context.seed,
        });
        let mut header = self.header_of(context, target, &found, version, seed, offers);
        detect::told(&mut header.detected, &self.aim.agent_can);
        context.progress("first look: what the host offers without declaring it");
        header.detected.extend(self.probed(target, &header, &stop).await?);
        context.progress("first look: the agents");
        header.agents = self.agents_of(target, &header, found.agents.clone(), &stop).await?;
        context.progress("first look: the files that clients may use");
        // The folders are removed after the run, when this value is dropped.
        let (folders, disk) = self.folders(target, &header, &found, &stop).await?;
        let unread = folders.iter().find(|it| it.capability == "readableFolder" && !it.offered);
        if let Some(unread) = unread.filter(|_| self.aim.prepared_folder.is_some()) {
            context.error(&format!(
                "note: {}, so that no scenario uses it (hint: docs/hosts.md lists its content)\n",
                unread.how.line()
            ));
        }
        header.detected.extend(folders);
        context.progress("");
        let oddities = if self.dry_run { None } else { self.aim.oddities()? };
        let asks_for_options = !matches!(target, PlayTarget::Agents(_)) && self.client.is_none();
        if asks_for_options && !header.detected.is_empty() {
            header.detected.push(detect::tokened(self.token_of(&header).as_deref()));
            header.detected.extend(self.aim.given(oddities.as_ref()));
        }
        Ok(CliFirstLook { header, probed, _disk: disk, _oddities: oddities })
    }

    /// Reads what the target declares.
    async fn look(
        &self,
        target: &PlayTarget,
        newest: Version,
        offers: &[Version],
        seed: u64,
    ) -> Result<DetectionResult, ProbeError> {
        let provider = self.aim.named_provider();
        let provider = provider.as_deref();
        let tokens = &self.aim.authenticate;
        let every = self.plays_every_agent();
        let options = LookOptions { provider, tokens, every, ..LookOptions::offering(offers) };
        match target {
            _ if self.dry_run => {
                Ok(DetectionResult { version: Some(newest), ..DetectionResult::default() })
            }
            PlayTarget::Remote(remote, _) => {
                let limit = self.limit(target);
                let trials = detect::trials(seed);
                let options = LookOptions { trials: &trials, ..options };
                probe(&remote.endpoint, &remote.shown(), options, limit).await
            }
            PlayTarget::Agents(agents) => agents.look(self.limit(target)).await,
            PlayTarget::Clients(client) => {
                // Without `--spec`, the newest version that the client offers is played.
                let played = if self.has_spec() { offers } else { Version::played() };
                client.look(self.limit(target), played).await
            }
            _ if self.acp.is_some() || self.client.is_some() => {
                Ok(DetectionResult { version: Some(newest), ..DetectionResult::default() })
            }
            _ => {
                let config = sim::speaking(HostConfig::default(), newest);
                let mut found = sim::look(&mut RefHost::new(config), options);
                found.detected.iter_mut().flatten().for_each(detect::play_all);
                Ok(found)
            }
        }
    }

    /// Probes what a host outside of this process offers without declaring it. Capabilities that the user has
    /// stated are not probed.
    ///
    /// # Errors
    /// Returns an error if a probe of the harness does not load.
    async fn probed(
        &self,
        target: &PlayTarget,
        header: &RunHeader,
        stop: &watch::Receiver<bool>,
    ) -> Result<Vec<DetectedFeature>, CommandStop> {
        let PlayTarget::Remote(..) = target else { return Ok(Vec::new()) };
        if self.dry_run || header.detected.is_empty() {
            return Ok(Vec::new());
        }
        let version = header.version;
        let mut detected = Vec::new();
        for probe in PROBES {
            if *stop.borrow() {
                break;
            }
            let of_scripts = probe.capability == SCRIPTS;
            if of_scripts && !(self.looks_for_scripts && self.agent(target) == AgentMode::Host) {
                continue;
            }
            let entry = &probe.entry().map_err(CommandStop::fault)?;
            let scenario = &entry.scenario;
            if !scenario.spec.includes(version) || words::lacks(scenario, version).is_some() {
                continue;
            }
            let name = scenario.id.clone();
            let mut setup = self.setup(target, entry, header, name.clone(), &AgentSide::default());
            // A probe may use the facts that earlier probes have found.
            setup.facts.extend(detected.iter().flat_map(|it: &DetectedFeature| it.facts.clone()));
            let play =
                ScenarioPlay::new(setup, header.shared, Box::new(CountingRecorder::default()));
            let place =
                self.place(target, entry, header, name).await.map_err(CommandStop::fault)?;
            if let Some(place) = place {
                detected.push(probe.detected(&place.play(play, stop.clone()).await));
            }
        }
        Ok(detected)
    }

    /// Returns the agents of a host, if the run tests each of them. Each agent has the capabilities that it
    /// offers without declaring them.
    ///
    /// # Errors
    /// Returns an error if a probe of the harness does not load.
    async fn agents_of(
        &self,
        target: &PlayTarget,
        header: &RunHeader,
        mut agents: Vec<AgentOfHost>,
        stop: &watch::Receiver<bool>,
    ) -> Result<Vec<AgentOfHost>, CommandStop> {
        let probed =
            |it: &&DetectedFeature| PROBES.iter().any(|probe| probe.capability == it.capability);
        // An agent that does not answer costs the whole wait of a probe, so the agents are probed at the same time.
        let looks = agents.iter_mut().filter(|agent| agent.untested.is_none()).map(async |agent| {
            let own = match header.provider.as_ref().is_some_and(|it| *it == *agent.provider) {
                true => header.detected.iter().filter(probed).cloned().collect(),
                false => {
                    let provider = Some(ForeignText::from(agent.provider.as_str()));
                    self.probed(target, &RunHeader { provider, ..header.clone() }, stop).await?
                }
            };
            agent.detected.extend(own);
            Ok::<(), CommandStop>(())
        });
        try_join_all(looks).await?;
        Ok(agents)
    }

    /// Probes what clients of a host outside of this process may do with files, unless the user has stated it.
    /// Returns the folders that were made.
    ///
    /// # Errors
    /// Returns an error if a probe of the harness does not load, or if its folders cannot be made.
    async fn folders(
        &self,
        target: &PlayTarget,
        header: &RunHeader,
        found: &DetectionResult,
        stop: &watch::Receiver<bool>,
    ) -> Result<(Vec<DetectedFeature>, Option<SharedDisk>), CommandStop> {
        let PlayTarget::Remote(remote, _) = target else { return Ok((Vec::new(), None)) };
        if self.dry_run || header.detected.is_empty() {
            return Ok((Vec::new(), None));
        }
        let offers = |it: &DetectedFeature| it.capability == "resources" && it.offered;
        let host = FileHost {
            resources: header.detected.iter().any(offers),
            is_local: remote.is_local(),
            prepared: self.aim.prepared_folder.as_deref(),
            inside: self.aim.files.first().map(PathBuf::as_path),
            default_directory: found.default_directory.as_deref(),
        };
        let shows = async |probe: FolderProbe, uri: &str| {
            let entry = &probe.entry().map_err(CommandStop::fault)?;
            if !entry.scenario.spec.includes(header.version) {
                return Ok(false);
            }
            let name = entry.scenario.id.clone();
            let mut setup = self.setup(target, entry, header, name.clone(), &AgentSide::default());
            setup.facts = probe.facts(uri);
            let play =
                ScenarioPlay::new(setup, header.shared, Box::new(CountingRecorder::default()));
            let place =
                self.place(target, entry, header, name).await.map_err(CommandStop::fault)?;
            Ok(match place {
                Some(place) => place.play(play, stop.clone()).await.status == Status::Pass,
                None => false,
            })
        };
        folders::look(host, shows).await
    }
}
