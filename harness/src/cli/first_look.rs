//! The parts of the first look at a host outside that take conversations: what it offers without declaring it, and what
//! clients may do with files there.
//!
//! Knows: probes, where they are played. Never knows: what they show.

use std::path::PathBuf;

use crate::agent::mode::Mode;
use crate::report::event::Header;
use crate::run::detect::{AgentOfHost, Detected, Found};
use crate::run::folders::FolderProbe;
use crate::run::play::{Counting, Play};
use crate::run::probes::PROBES;
use crate::run::side::Side;
use crate::run::words;
use crate::scenario::capability::SCRIPTS;
use crate::verdict::Status;
use crate::wire::foreign_text::ForeignText;
use crate::wire::version::Version;

use super::aim::Target;
use super::exit::Stop;
use super::folders::{self, FileHost, SharedDisk};
use super::interrupt::interrupts;
use super::run::Run;

impl Run {
    /// What a host outside offers without declaring it, where nobody has said so.
    ///
    /// # Errors
    /// A scenario of the harness's own for this does not load.
    pub(super) async fn probed(
        &self,
        target: &Target,
        header: &Header,
    ) -> Result<Vec<Detected>, Stop> {
        let Target::Remote(..) = target else { return Ok(Vec::new()) };
        if self.dry_run || header.detected.is_empty() {
            return Ok(Vec::new());
        }
        let version = header.version.parse().unwrap_or(Version::V1_0);
        let mut detected = Vec::new();
        for probe in PROBES {
            let of_scripts = probe.capability == SCRIPTS;
            if of_scripts && !(self.looks_for_scripts && self.agent(target) == Mode::Host) {
                continue;
            }
            let entry = &probe.entry().map_err(Stop::fault)?;
            let scenario = &entry.scenario;
            if !scenario.spec.includes(version) || words::lacks(scenario, version).is_some() {
                continue;
            }
            let name = scenario.id.clone();
            let mut setup = self.setup(target, entry, header, name.clone(), &Side::default());
            // What earlier probes have shown.
            setup.facts.extend(detected.iter().flat_map(|it: &Detected| it.facts.clone()));
            let play = Play::new(setup, header.shared, Box::new(Counting::default()));
            let place = self.place(target, entry, header, name).await.map_err(Stop::fault)?;
            if let Some(place) = place {
                detected.push(probe.detected(&place.play(play, interrupts()).await));
            }
        }
        Ok(detected)
    }

    /// The agents of a host, where the run is about each of them, with what each offers without declaring it.
    ///
    /// # Errors
    /// A scenario of the harness's own for this does not load.
    pub(super) async fn agents_of(
        &self,
        target: &Target,
        header: &Header,
        mut agents: Vec<AgentOfHost>,
    ) -> Result<Vec<AgentOfHost>, Stop> {
        let probed = |it: &&Detected| PROBES.iter().any(|probe| probe.capability == it.capability);
        for agent in agents.iter_mut().filter(|agent| agent.untested.is_none()) {
            let own = match header.provider.as_ref().is_some_and(|it| *it == *agent.provider) {
                true => header.detected.iter().filter(probed).cloned().collect(),
                false => {
                    let provider = Some(ForeignText::from(agent.provider.as_str()));
                    self.probed(target, &Header { provider, ..header.clone() }).await?
                }
            };
            agent.detected.extend(own);
        }
        Ok(agents)
    }

    /// What clients of a host outside may do with files, where nobody has said so; the folders that were made for it.
    ///
    /// # Errors
    /// A scenario of the harness's own for this does not load, or its folders cannot be made.
    pub(super) async fn folders(
        &self,
        target: &Target,
        header: &Header,
        found: &Found,
        tag: u64,
    ) -> Result<(Vec<Detected>, Option<SharedDisk>), Stop> {
        let Target::Remote(remote, _) = target else { return Ok((Vec::new(), None)) };
        if self.dry_run || header.detected.is_empty() {
            return Ok((Vec::new(), None));
        }
        let offers = |it: &Detected| it.capability == "resources" && it.offered;
        let host = FileHost {
            resources: header.detected.iter().any(offers),
            is_local: remote.is_local(),
            inside: self.aim.files.first().map(PathBuf::as_path),
            default_directory: found.default_directory.as_deref(),
        };
        let shows = async |probe: FolderProbe, uri: &str| {
            let entry = &probe.entry().map_err(Stop::fault)?;
            let version = header.version.parse().unwrap_or(Version::V1_0);
            if !entry.scenario.spec.includes(version) {
                return Ok(false);
            }
            let name = entry.scenario.id.clone();
            let mut setup = self.setup(target, entry, header, name.clone(), &Side::default());
            setup.facts = probe.facts(uri);
            let play = Play::new(setup, header.shared, Box::new(Counting::default()));
            let place = self.place(target, entry, header, name).await.map_err(Stop::fault)?;
            Ok(match place {
                Some(place) => place.play(play, interrupts()).await.status == Status::Pass,
                None => false,
            })
        };
        folders::look(host, tag, shows).await
    }
}
