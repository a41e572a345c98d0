//! Loads scenario files and the fragments that they include, and reports all mistakes in these files.

use super::node::{self, SourceNode};
use super::own::{self, OwnRequirement};
use super::parse::{IncludeSource, ParsedFile, ParsedScenario, fragment, scenario};
use super::source::{ScenarioError, ScenarioErrorKind, SourceFile, SourceSpan};
use super::verbs::VERBS;
use crate::wire::json::{Map, Value};

/// A source of files. Paths always use `/`.
pub trait FileSource {
    /// Returns the text of a file.
    ///
    /// # Errors
    /// Returns the reason why the file is unreadable, for the author.
    fn read(&self, path: &str) -> Result<String, String>;
}

/// A file that was read, with all its mistakes.
#[derive(Debug)]
pub struct LoadedFile {
    /// The file itself, followed by the fragments that the file includes. [`SourceSpan::file`] is an index into
    /// this list.
    pub sources: Vec<SourceFile>,
    /// The scenario; `None` if the file is a fragment or unreadable.
    pub scenario: Option<ParsedScenario>,
    /// Whether the file is a fragment.
    pub fragment: bool,
    /// The mistakes, in the order of the text.
    pub errors: Vec<ScenarioError>,
}

/// Reads one file and the files that it includes.
pub fn load(path: &str, text: &str, files: &dyn FileSource) -> LoadedFile {
    let source = SourceFile::new(path, text);
    let (root, mut errors) = node::read(&source, 0);
    let mut loader = FileLoader { files, sources: vec![source], open: vec![0], own: None };
    let parsed = root.and_then(|root| scenario(&root, &mut loader, &mut errors));
    let sources = loader.sources;
    let (scenario, fragment) = match parsed {
        Some(ParsedFile::Scenario(scenario)) => (Some(*scenario), false),
        Some(ParsedFile::Fragment) => (None, true),
        None => (None, false),
    };
    if let Some(scenario) = &scenario {
        misplaced(scenario, path, &mut errors);
    }
    errors.sort_by_key(|error| (error.span.file, error.span.start));
    errors.dedup();
    LoadedFile { sources, scenario, fragment, errors }
}

/// Reads a scenario that is not in a file. Such a scenario cannot include fragments.
pub fn tree(root: &Value) -> (Option<ParsedScenario>, Vec<ScenarioError>) {
    let mut errors = Vec::new();
    let files = NoFiles;
    let mut loader = FileLoader { files: &files, sources: Vec::new(), open: Vec::new(), own: None };
    match scenario(&SourceNode::from(root), &mut loader, &mut errors) {
        Some(ParsedFile::Scenario(scenario)) => (Some(*scenario), errors),
        _ => (None, errors),
    }
}

/// Returns the tree of a scenario file. Each `include` step is replaced by the steps of the fragment, and each step is
/// in its long form, in which all members have names. Returns `None` if the scenario file or an included fragment has
/// mistakes.
pub fn expanded(path: &str, text: &str, files: &dyn FileSource) -> Option<Value> {
    let source = SourceFile::new(path, text);
    let (root, mut errors) = node::read(&source, 0);
    let root = root?;
    let mut loader = FileLoader { files, sources: vec![source], open: vec![0], own: None };
    let steps = loader.expanded(root.get("steps")?, &mut errors)?;
    let mut tree = root.to_value();
    tree["steps"] = Value::Array(steps);
    errors.is_empty().then_some(tree)
}

/// A [`FileSource`] without files, for scenarios that include no file.
struct NoFiles;

impl FileSource for NoFiles {
    fn read(&self, _path: &str) -> Result<String, String> {
        Err("nothing can be included here".to_owned())
    }
}

/// Reports a scenario whose file path does not end with the scenario's identifier. A reader of a report should find the
/// file by the identifier.
fn misplaced(scenario: &ParsedScenario, path: &str, errors: &mut Vec<ScenarioError>) {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let ends = stem == scenario.id || stem.ends_with(&format!("/{}", scenario.id));
    // If the path is only a file name, it does not contain the area, which is the first part of the identifier.
    let ends = ends || !stem.contains('/') && scenario.id.ends_with(&format!("/{stem}"));
    if !ends && !scenario.id.is_empty() {
        let path = stem.to_owned();
        let kind = ScenarioErrorKind::MisplacedScenario { id: scenario.id.clone(), path };
        errors.push(ScenarioError { span: scenario.span, kind });
    }
}

struct FileLoader<'a> {
    files: &'a dyn FileSource,
    sources: Vec<SourceFile>,
    /// The files that are being read, as indices into `sources`; the innermost file is the last.
    open: Vec<usize>,
    /// The author's own requirements; `None` until they are needed for the first time.
    own: Option<Vec<OwnRequirement>>,
}

/// The folders that may contain the file of the author's own requirements, relative to a scenario: the scenario's
/// folder and its parent folder.
const OWN: [&str; 2] = ["", "../"];

impl FileLoader<'_> {
    /// Returns a list of steps in which each `include` step is replaced by the steps of the fragment. A version range
    /// of the `include` also applies to each step of the fragment.
    fn expanded(
        &mut self,
        steps: &SourceNode,
        errors: &mut Vec<ScenarioError>,
    ) -> Option<Vec<Value>> {
        let mut expanded = Vec::new();
        for step in steps.as_list()? {
            let Some(include) = step.get("include") else {
                expanded.push(long_form(step.to_value())?);
                continue;
            };
            let file = include.get("file").unwrap_or(include).as_str()?;
            let tree = fragment(self, file, step.span, include.get("with"), errors)?;
            let mut inner = self.expanded(tree.get("steps")?, errors)?;
            self.leave();
            if let Some(range) = include.get("spec").and_then(SourceNode::as_str) {
                inner.iter_mut().for_each(|step| narrow(step, range));
            }
            expanded.extend(inner);
        }
        Some(expanded)
    }

    fn read_own(&mut self, errors: &mut Vec<ScenarioError>) -> Vec<OwnRequirement> {
        let from = self.sources.first().map(|source| source.name.clone()).unwrap_or_default();
        let mut found = Vec::new();
        for folder in OWN {
            let path = joined(&from, &format!("{folder}{}", own::FILE));
            let Ok(text) = self.files.read(&path) else { continue };
            let source = SourceFile::new(path, text);
            let (root, mistakes) = node::read(&source, self.sources.len() as u32);
            self.sources.push(source);
            errors.extend(mistakes);
            found.extend(root.map(|root| own::requirements(&root, errors)).unwrap_or_default());
        }
        found
    }
}

impl IncludeSource for FileLoader<'_> {
    fn enter(
        &mut self,
        path: &str,
        at: SourceSpan,
        errors: &mut Vec<ScenarioError>,
    ) -> Option<SourceNode> {
        let from = self.open.last().and_then(|index| self.sources.get(*index));
        let path = joined(from.map_or("", |source| &source.name), path);
        let chain: Vec<_> = self
            .open
            .iter()
            .filter_map(|index| Some(self.sources.get(*index)?.name.as_str()))
            .collect();
        if chain.contains(&path.as_str()) {
            let chain = chain.join(", ");
            let kind = ScenarioErrorKind::IncludeCycle { path, chain };
            errors.push(ScenarioError { span: at, kind });
            return None;
        }
        let text = match self.files.read(&path) {
            Ok(text) => text,
            Err(reason) => {
                let kind = ScenarioErrorKind::Unreadable { path, reason };
                errors.push(ScenarioError { span: at, kind });
                return None;
            }
        };
        let source = SourceFile::new(path, text);
        let index = self.sources.len();
        let (root, mistakes) = node::read(&source, index as u32);
        self.sources.push(source);
        errors.extend(mistakes);
        if root.is_some() {
            self.open.push(index);
        }
        root
    }

    fn leave(&mut self) {
        self.open.pop();
    }

    fn own(&mut self, errors: &mut Vec<ScenarioError>) -> &[OwnRequirement] {
        if self.own.is_none() {
            self.own = Some(self.read_own(errors));
        }
        self.own.as_deref().unwrap_or_default()
    }
}

/// Returns a step in its long form, in which the verb has a mapping of members: a bare value becomes the value of the
/// verb's main member, and an empty value becomes an empty mapping. Returns `None` if the verb is unknown or has no
/// short form.
fn long_form(mut step: Value) -> Option<Value> {
    let (verb, members) = step.as_object_mut()?.iter_mut().next()?;
    if members.is_null() {
        *members = Value::Object(Map::new());
    } else if !members.is_object() {
        let short = VERBS.iter().find(|row| row.name == &**verb)?.short?;
        *members = Value::Object([(short.to_owned(), members.clone())].into_iter().collect());
    }
    Some(step)
}

/// Restricts a step to a range of versions.
fn narrow(step: &mut Value, range: &str) {
    let members = step.as_object_mut().and_then(|step| step.iter_mut().next());
    let Some(members) = members.and_then(|(_, members)| members.as_object_mut()) else { return };
    let own = members.get("spec").and_then(Value::as_str).map(str::to_owned);
    let both = own.map_or_else(|| range.to_owned(), |own| format!("{own} {range}"));
    members.insert("spec", Value::from(both));
}

/// Resolves a path relative to the file `from`. `../x` and `./x` are normalised, so each file has one name.
fn joined(from: &str, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::wire::json::json;

    struct LoadFolder(BTreeMap<&'static str, &'static str>);

    impl FileSource for LoadFolder {
        fn read(&self, path: &str) -> Result<String, String> {
            self.0.get(path).map(|text| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
        }
    }

    const HEAD: &str = "scenario: a/b\ntitle: t\n";
    const CLOSED: &str = "closed: { at: A, proves: envelope.serverseq.monotonic }";

    #[test]
    fn a_file_may_be_named_from_inside_its_folder() {
        let text = format!("{HEAD}steps: [{{connect: A}}, {{{CLOSED}}}]");
        let misplaced = |path: &str| {
            let loaded = load(path, &text, &LoadFolder(BTreeMap::new()));
            let kind = |error: &ScenarioError| {
                matches!(error.kind, ScenarioErrorKind::MisplacedScenario { .. })
            };
            loaded.errors.iter().any(kind)
        };
        let expected =
            [("x/a/b.yaml", false), ("b.yaml", false), ("c.yaml", true), ("x/b.yaml", true)];
        for (path, expected) in expected {
            assert_eq!(misplaced(path), expected, "{path}");
        }
    }

    fn mistakes(text: &str) -> Vec<String> {
        let files = LoadFolder(BTreeMap::from([
            ("x/cycle.yaml", "fragment: f\nsteps: [{include: cycle.yaml}]"),
            ("x/open.yaml", "fragment: f\nsteps: [{open: A}]"),
            ("x/given.yaml", "fragment: f\nsteps: [{connect: {by: $given who}}, $given then]"),
        ]));
        let loaded = load("x/a/b.yaml", text, &files);
        let show = |error: &ScenarioError| {
            let source = &loaded.sources[error.span.file as usize];
            let (line, column) = source.position(error.span.start);
            format!("{}:{line}:{column} {error}", source.name)
        };
        loaded.errors.iter().map(show).collect()
    }

    #[test]
    fn includes_fragments() {
        let text = format!("{HEAD}steps:\n  - include: ../open.yaml\n  - {CLOSED}\n");
        assert_eq!(mistakes(&text), Vec::<String>::new());
    }

    #[test]
    fn expands_fragments_and_short_steps() {
        let files = LoadFolder(BTreeMap::from([(
            "x/two.yaml",
            "fragment: f\nsteps: [{barrier: A}, {rest: {for: 1s, spec: '>=0.2.0'}}, {restart: }]",
        )]));
        let text = format!(
            "{HEAD}steps:\n  - open: A\n  - include: {{ file: ../two.yaml, spec: '<1.0.0' }}\n"
        );
        let tree = expanded("x/a/b.yaml", &text, &files).unwrap();
        let expected = json!([
            {"open": {"by": "A"}},
            {"barrier": {"by": "A", "spec": "<1.0.0"}},
            {"rest": {"for": "1s", "spec": ">=0.2.0 <1.0.0"}},
            {"restart": {"spec": "<1.0.0"}},
        ]);
        assert_eq!(tree["steps"], expected);
        assert!(expanded("x/a/b.yaml", &text, &LoadFolder(BTreeMap::new())).is_none());
    }

    #[test]
    fn passes_values_to_fragments() {
        let check = |with: &str, wanted: &[&str]| {
            let include = format!("include: {{ file: ../given.yaml, with: {{ {with} }} }}");
            let found = mistakes(&format!("{HEAD}steps:\n  - {include}\n"));
            assert_eq!(found.len(), wanted.len(), "{with}: {found:#?}");
            for (found, wanted) in found.iter().zip(wanted) {
                assert!(found.contains(wanted), "{with}: {wanted}\n{found}");
            }
        };
        check(&format!("who: A, then: [{{ {CLOSED} }}, {{ {CLOSED} }}]"), &[]);
        check(&format!("who: A, then: {{ {CLOSED} }}"), &[]);
        check("who: A, then: []", &["could not fail"]);
        check(
            &format!("who: Z, then: {{ {CLOSED} }}"),
            &["x/a/b.yaml:4:50 no client is called `Z`"],
        );
        check(&format!("who: A, then: {{ {CLOSED} }}, when: now"), &["has no `when`"]);
        let missing = "x/given.yaml:2:24 `include` needs `with: { who: .. }`";
        check(&format!("then: {{ {CLOSED} }}"), &[missing, "no client is called `$given who`"]);
    }

    #[test]
    fn draws_every_mistake_where_it_is() {
        let text = format!(
            "{HEAD}colour: red\nsteps:\n  - include: ../none.yaml\n  - include: ../cycle.yaml\n  \
             - expectt: {{ at: A }}\n  - expect: {{ at: B, within: 5 }}\n  - barrier: [A, A]\n  \
             - request: {{ by: A }}\n  - snapshot: {{ of: '${{s}}', state: {{ $is: 1 }} }}\n  \
             - never: {{ at: A, typ: x }}\n"
        );
        let found = mistakes(&text);
        let wanted = [
            ":3:1 a scenario has no `colour`",
            ":5:14 `x/none.yaml` could not be read",
            ":7:5 a step has no `expectt`",
            "did you mean `expect`?",
            ":8:19 no client is called `B`",
            ":8:30 expected a duration with a unit, found `5`",
            ":9:14 expected the name of one client",
            ":10:5 `request` needs `method`",
            "`${s}` is not bound",
            "`$is` is no operator",
            ":12:5 nothing ends this `never`",
            "`never` has no `typ`",
            "`x/cycle.yaml` includes itself",
        ];
        for part in wanted {
            assert!(found.iter().any(|line| line.contains(part)), "{part}\n{found:#?}");
        }
    }

    #[test]
    fn refuses_empty_files() {
        for text in ["", "\n", "# to be written\n", "---\n"] {
            let found = mistakes(text);
            assert!(found.iter().any(|line| line.contains("found nothing")), "{text:?}: {found:?}");
        }
    }

    #[test]
    fn refuses_to_mint_in_a_pattern() {
        let found = mistakes(&format!(
            "{HEAD}steps:\n  - expect: {{ at: A, channel: 'ahp-session:/${{new s}}' }}\n  \
            - never: {{ at: A, where: {{ session: '${{new t}}' }} }}\n  - barrier: A\n"
        ));
        let wanted = "found `${new t}`";
        assert!(found.iter().any(|line| line.contains(wanted)), "{wanted}\n{found:#?}");
    }

    #[test]
    fn refuses_scenarios_that_cannot_fail() {
        let found = mistakes(&format!("{HEAD}steps:\n  - open: A\n  - closed: A\n"));
        assert!(found[0].contains("could not fail"), "{found:?}");
        for step in
            ["request: { by: A, method: ping }", "closed: A", "dispatch: { by: A, accept: {} }"]
        {
            let verb = step.split(':').next().unwrap_or_default();
            let with = step.replace("A,", "A, proves: ping.response,");
            let with = with.replace("closed: A", "closed: { at: A, proves: ping.response }");
            let found = mistakes(&format!("{HEAD}steps:\n  - open: A\n  - {with}\n"));
            assert!(!found.iter().any(|line| line.contains("cannot prove")), "{verb}: {found:?}");
        }
        let dispatch = "dispatch: { by: A, channel: x, action: {}, proves: ping.response }";
        let connect = "connect: { by: A, proves: ping.response }";
        for step in [dispatch, connect] {
            let found = mistakes(&format!("{HEAD}steps:\n  - {step}\n"));
            assert!(found.iter().any(|line| line.contains("cannot prove")), "{found:?}");
        }
        let found =
            mistakes("scenario: a/c\ntitle: t\nsteps: [{closed: {at: A, proves: no.such}}]");
        assert!(found.iter().any(|line| line.contains("no requirement is called")), "{found:?}");
        assert!(
            found.iter().any(|line| line.contains("without the extension is `x/a/b`")),
            "{found:?}"
        );
    }
}
