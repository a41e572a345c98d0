//! Files that import each other: no ring of imports may have more than [`MAX_RING`] files.
//!
//! A ring is a set of files in which each file reaches every other file through imports. An import is a `use` or a path
//! that begins with `crate`, `super` or `self`; a method call is none. Tests are not counted.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::{code, modules};

/// The maximum number of files of a ring.
const MAX_RING: usize = 5;

/// The path of a module, such as `["host", "engine"]`.
type ModulePath = Vec<String>;

/// Returns the module of a file and whether the file is the root of a folder.
fn module_of(name: &str) -> (ModulePath, bool) {
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let mut path: ModulePath = stem.split('/').map(str::to_owned).collect();
    let is_root = matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main"));
    if is_root {
        path.pop();
    }
    (path, is_root)
}

/// Expands the braces of a `use` into single paths.
fn expand(tree: &str, before: &[&str], paths: &mut Vec<ModulePath>) {
    let tree = tree.trim();
    let Some((head, inner)) = tree.split_once('{') else {
        let path = before.iter().copied().chain(tree.split("::"));
        paths.push(path.map(|it| it.trim().to_owned()).collect());
        return;
    };
    let before: Vec<&str> =
        before.iter().copied().chain(head.split("::").filter(|it| !it.is_empty())).collect();
    let (mut depth, mut begin) = (0, 0);
    for (at, sign) in inner.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let part = &inner[begin..at];
                begin = at + 1;
                if !part.trim().is_empty() {
                    expand(part, &before, paths);
                }
            }
            _ => {}
        }
    }
}

/// Returns the paths in the code of a file, as written.
fn written_paths(text: &str) -> Vec<ModulePath> {
    let lines = code(text).lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = lines.flat_map(|line| [line, "\n"]).collect();
    let mut paths = Vec::new();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    for item in code.split("use ").skip(1) {
        if let Some((tree, _)) = item.split_once(';') {
            expand(tree, &[], &mut paths);
        }
    }
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            // `pub(in crate::host)` states who sees an item and imports nothing.
            let is_scope = code[..at].ends_with("pub(in ");
            if !is_scope && !code[..at].ends_with(|c: char| is_name(c) || c == ':') {
                let rest = &code[at..];
                let end = rest.find(|c: char| !is_name(c) && c != ':').unwrap_or(rest.len());
                // A path before a brace is the beginning of a `use`, which is already expanded.
                if !rest[..end].ends_with("::") {
                    expand(&rest[..end], &[], &mut paths);
                }
            }
        }
    }
    paths
}

/// Returns the module that a path in a module names; `None` if the path names no module of the tree.
fn resolve(
    path: &[String],
    (module, is_root): &(ModulePath, bool),
    known: &BTreeMap<ModulePath, bool>,
) -> Option<ModulePath> {
    let mut at = module.clone();
    let mut rest = path.iter().peekable();
    match path.first()?.as_str() {
        "crate" => {
            at.clear();
            rest.next();
        }
        "super" => {
            while rest.next_if(|part| *part == "super").is_some() {
                at.pop();
            }
        }
        "self" => drop(rest.next()),
        first => {
            let child = module.iter().cloned().chain([first.to_owned()]).collect::<ModulePath>();
            (*is_root && known.contains_key(&child)).then_some(())?;
        }
    }
    at.extend(rest.cloned());
    while !at.is_empty() && !known.contains_key(&at) {
        at.pop();
    }
    (!at.is_empty() && at != *module).then_some(at)
}

/// Returns the modules that a module reaches through imports.
fn reached<'a>(
    from: &'a ModulePath,
    imports: &'a BTreeMap<ModulePath, BTreeSet<ModulePath>>,
) -> BTreeSet<&'a ModulePath> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        let new = imports[module].iter().filter(|it| seen.insert(*it));
        next.extend(new.collect::<Vec<_>>());
    }
    seen
}

/// Returns the rings of a tree of files, largest first.
fn rings(files: &[(String, String)]) -> Vec<Vec<String>> {
    let known: BTreeMap<ModulePath, bool> = files.iter().map(|(name, _)| module_of(name)).collect();
    let imports: BTreeMap<ModulePath, BTreeSet<ModulePath>> = files
        .iter()
        .map(|(name, text)| {
            let module = module_of(name);
            let used = written_paths(text);
            let used = used.iter().filter_map(|path| resolve(path, &module, &known)).collect();
            (module.0, used)
        })
        .collect();
    let reach: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        imports.keys().map(|module| (module, reached(module, &imports))).collect();
    let ring = |module: &&ModulePath| -> Vec<String> {
        let mutual = reach[module].iter().filter(|other| reach[**other].contains(*module));
        mutual.map(|other| other.join("::")).collect()
    };
    let all: BTreeSet<Vec<String>> = reach.keys().map(ring).filter(|it| it.len() > 1).collect();
    let mut all: Vec<Vec<String>> = all.into_iter().collect();
    all.sort_by_key(|ring| std::cmp::Reverse(ring.len()));
    all
}

#[test]
fn no_ring_of_imports_has_more_than_five_files() {
    // The files of unit tests may import everything.
    let is_test = |name: &str| name.ends_with("tests.rs") || name.contains("/tests");
    let files: Vec<_> = modules().filter(|(name, _)| !is_test(name)).collect();
    let found = rings(&files);
    assert!(files.len() > 500 && !found.is_empty(), "found no imports in {} files", files.len());
    let large = found.iter().filter(|ring| ring.len() > MAX_RING);
    let mistakes: Vec<String> = large
        .map(|ring| {
            format!(
                "expected at most {MAX_RING} files that import each other, found {}: {} (hint: move the \
                 type that the lower files need into a file below them)",
                ring.len(),
                ring.join(" ")
            )
        })
        .collect();
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
}

#[test]
fn rings_are_found_through_every_form_of_import() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let files = [
        file("lib.rs", "pub mod a;\npub mod f;"),
        file("a/mod.rs", "mod b;\nmod c;\nmod d;\nuse d::Last;"),
        file("a/b.rs", "use super::{c::{One, Two}, d};\n"),
        file("a/c.rs", "fn f() { crate::a::d::g(); }\n"),
        file("a/d.rs", "// use crate::f::F;\nuse super::b;\n#[cfg(test)]\nuse crate::f::F;"),
        file("f.rs", "pub(in crate::f) fn h() {}\nuse crate::a;"),
    ];
    assert_eq!(rings(&files), [["a::b", "a::c", "a::d"]]);
}
