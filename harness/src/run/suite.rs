//! The scenarios to choose from: those the binary carries, or files of the user's.

use std::sync::Arc;

use litemap::LiteMap;

use crate::scenario::load::{Files, Loaded, load};
use crate::scenario::parse::Scenario;
use crate::scenario::source::{ScenarioError, ScenarioErrorKind, Source};

/// The scenarios of the repository, by path.
pub const CARRIED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// A scenario with the texts it was made of.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// Its file and the fragments it includes.
    pub sources: Arc<[Source]>,
}

/// Files that were read, and every mistake in them.
#[derive(Debug, Default)]
pub struct Suite {
    /// The scenarios, by id.
    pub entries: Vec<Entry>,
    /// The files with mistakes.
    pub broken: Vec<Loaded>,
}

/// The carried files as a folder.
#[derive(Debug)]
pub struct Carried;

impl Files for Carried {
    fn read(&self, path: &str) -> Result<String, String> {
        let found = CARRIED.iter().find(|(name, _)| *name == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    }
}

impl Suite {
    /// The suite that the binary carries.
    pub fn carried() -> Suite {
        Suite::of(
            CARRIED.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())),
            &Carried,
        )
    }

    /// Reads files; fragments are left out, they are read where they are included.
    pub fn of(texts: impl IntoIterator<Item = (String, String)>, files: &dyn Files) -> Suite {
        let mut suite = Suite::default();
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
                suite.entries.push(Entry { scenario: Arc::new(scenario), sources });
            }
        }
        suite.entries.sort_by(|a, b| a.scenario.id.cmp(&b.scenario.id));
        suite
    }
}
