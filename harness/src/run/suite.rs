//! The available scenarios, either embedded in the binary or from the user's files.

use std::sync::Arc;

use litemap::LiteMap;

use crate::scenario::load::{FileSource, LoadedFile, load};
use crate::scenario::parse::ParsedScenario;
use crate::scenario::source::{ScenarioError, ScenarioErrorKind, SourceFile};

/// The scenarios of the repository, by path, embedded in the binary.
pub const CARRIED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// A scenario of a suite, with its source files.
#[derive(Clone, Debug)]
pub struct SuiteEntry {
    /// The scenario.
    pub scenario: Arc<ParsedScenario>,
    /// The scenario's file and the fragments that it includes.
    pub sources: Arc<[SourceFile]>,
}

/// The scenarios that were loaded, and the files with mistakes.
#[derive(Debug, Default)]
pub struct ScenarioSuite {
    /// The scenarios, by id.
    pub entries: Vec<SuiteEntry>,
    /// The files with mistakes.
    pub broken: Vec<LoadedFile>,
}

/// The scenario files in the binary, as a [`FileSource`] for the loader.
#[derive(Debug)]
pub struct CarriedFiles;

impl FileSource for CarriedFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        let found = CARRIED.iter().find(|(name, _)| *name == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    }
}

impl ScenarioSuite {
    /// Returns the scenarios about hosts and agents that are embedded in the binary.
    pub fn carried() -> ScenarioSuite {
        let mut suite = ScenarioSuite::all_carried();
        suite.entries.retain(|entry| entry.scenario.tested.is_none());
        suite
    }

    /// Returns the scenarios about clients that are embedded in the binary.
    pub fn of_clients() -> ScenarioSuite {
        let mut suite = ScenarioSuite::all_carried();
        suite.entries.retain(|entry| entry.scenario.tested.is_some());
        suite
    }

    /// Returns every scenario that is embedded in the binary.
    pub fn all_carried() -> ScenarioSuite {
        ScenarioSuite::of(
            CARRIED.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())),
            &CarriedFiles,
        )
    }

    /// Loads files. Fragments are not entries of the suite; the loader reads a fragment when a scenario includes it.
    pub fn of(
        texts: impl IntoIterator<Item = (String, String)>,
        files: &dyn FileSource,
    ) -> ScenarioSuite {
        let mut suite = ScenarioSuite::default();
        let mut paths: LiteMap<String, String> = LiteMap::new();
        for (path, text) in texts {
            let mut loaded = load(&path, &text, files);
            if let Some(scenario) = &loaded.scenario
                && let Some(other) = paths.insert(scenario.id.clone(), path.clone())
            {
                let id = scenario.id.clone();
                let kind = ScenarioErrorKind::DuplicateScenario { id, other };
                loaded.errors.push(ScenarioError { span: scenario.span, kind });
            }
            if !loaded.errors.is_empty() {
                suite.broken.push(loaded);
            } else if let Some(scenario) = loaded.scenario {
                let sources = loaded.sources.into();
                suite.entries.push(SuiteEntry { scenario: Arc::new(scenario), sources });
            }
        }
        suite.entries.sort_by(|a, b| a.scenario.id.cmp(&b.scenario.id));
        suite
    }
}
