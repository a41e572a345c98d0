//! Builds the table of each protocol version from the files under `protocol/`, and embeds the tables in the binary.
//!
//! A file with a `base` is a JSON Merge Patch (RFC 7396) for the table of the version that `base` names. Any mistake in
//! a file fails the build.

#[path = "src/wire/table_file.rs"]
#[expect(dead_code, reason = "the build reads the tables, and does not use their entries")]
mod table_file;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde_json::{Map, Value};
use table_file::{MethodKind, TableFile};

/// The version of the Agent Client Protocol, whose table has a folder of its own.
const ACP: &str = "acp-1";

fn main() -> io::Result<()> {
    let package = folder_of("CARGO_MANIFEST_DIR")?;
    let out = folder_of("OUT_DIR")?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/wire/table_file.rs");
    let folder = package.join("../protocol");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut sources = BTreeMap::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Only names of tables begin with a digit; the folder also contains other files.
        let version =
            name.strip_suffix(".json").filter(|it| it.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(version) = version {
            sources.insert(version.to_owned(), TableSource::read(&path, version)?);
        }
    }
    let acp = TableSource::read(&folder.join("acp/1.json"), ACP)?;
    let mut versions: Vec<&str> = sources.keys().map(String::as_str).collect();
    versions.sort_by_key(|version| Reverse(numbers(version)));
    let mut code = String::from("[\n");
    let mut row = |version: &str, constant: &str, text: String| {
        let _ = writeln!(
            code,
            "({constant}, include_str!(concat!(env!(\"OUT_DIR\"), \"/{version}.json\"))),"
        );
        fs::write(out.join(format!("{version}.json")), text)
    };
    for version in versions {
        let constant = constant(version);
        let constant =
            constant.ok_or_else(|| wrong(version, "expected a version as the file's name"))?;
        row(version, &constant, expanded(version, &sources)?)?;
    }
    row(ACP, "Version::ACP_1", checked(ACP, acp.table)?)?;
    code.push_str("]\n");
    fs::write(out.join("tables.rs"), code)
}

/// Returns the folder that an environment variable of Cargo names.
fn folder_of(variable: &str) -> io::Result<PathBuf> {
    let folder = env::var_os(variable).map(PathBuf::from);
    folder.ok_or_else(|| io::Error::other(format!("Cargo did not set `{variable}`")))
}

/// A file of the `protocol` folder that contains the table of one version, complete or as a patch.
struct TableSource {
    /// The version whose table this file patches; `None` if the file contains a complete table.
    base: Option<String>,
    table: Map<String, Value>,
}

impl TableSource {
    fn read(path: &Path, version: &str) -> io::Result<TableSource> {
        println!("cargo::rerun-if-changed={}", path.display());
        let text = fs::read_to_string(path)?;
        let table = serde_json::from_str(&text).map_err(|error| wrong(version, error))?;
        let Value::Object(mut table) = table else {
            return Err(wrong(version, "expected an object"));
        };
        if table.get("version").and_then(Value::as_str) != Some(version) {
            return Err(wrong(version, "expected `version` to be the version of the file's name"));
        }
        let base = match table.remove("base") {
            None => None,
            Some(Value::String(base)) => Some(base),
            Some(_) => return Err(wrong(version, "expected `base` to be a version")),
        };
        Ok(TableSource { base, table })
    }
}

/// Returns the complete table of a version as text.
fn expanded(version: &str, sources: &BTreeMap<String, TableSource>) -> io::Result<String> {
    let mut patches = Vec::new();
    let mut next = Some(version);
    while let Some(name) = next {
        let source = sources
            .get(name)
            .ok_or_else(|| wrong(version, format!("there is no table of {name}")))?;
        // Each base is older than the version, so the search ends.
        if source.base.as_deref().is_some_and(|base| numbers(base) >= numbers(name)) {
            return Err(wrong(name, "expected `base` to be an older version"));
        }
        patches.push(&source.table);
        next = source.base.as_deref();
    }
    let mut table = Map::new();
    for patch in patches.into_iter().rev() {
        merge(&mut table, patch)
            .map_err(|path| wrong(version, format!("`{path}` changes nothing")))?;
    }
    checked(version, table)
}

/// Applies a JSON Merge Patch. Returns an error with the path of the first member that changes nothing, because such a
/// member is a mistake in the file.
fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), String> {
    for (name, change) in patch {
        match (target.get_mut(name), change) {
            (Some(Value::Object(inner)), Value::Object(change)) => {
                merge(inner, change).map_err(|path| format!("{name}.{path}"))?;
            }
            (Some(_), Value::Null) => {
                target.remove(name);
            }
            (Some(value), change) if value != change => *value = whole(change),
            (None, change) if !change.is_null() => {
                target.insert(name.clone(), whole(change));
            }
            _ => return Err(name.clone()),
        }
    }
    Ok(())
}

/// Returns the value of a new member that a merge patch adds, without the members that are `null`.
fn whole(change: &Value) -> Value {
    match change {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(name, value)| (name.clone(), whole(value))).collect())
        }
        other => other.clone(),
    }
}

/// Returns a table as text, after checking that the program can read the table.
fn checked(version: &str, table: Map<String, Value>) -> io::Result<String> {
    let mut table = Value::Object(table);
    // Sorted, because features of the JSON library that other packages enable can change the order of members.
    table.sort_all_objects();
    let text = table.to_string();
    let table: TableFile = serde_json::from_str(&text).map_err(|error| wrong(version, error))?;
    for (name, method) in &table.methods {
        if (method.kind == MethodKind::Request) != method.result.is_some() {
            return Err(wrong(
                version,
                format!("`{name}`: requests have a `result`, and nothing else has"),
            ));
        }
    }
    if let Some((name, _)) = table.actions.iter().find(|(_, entry)| entry.dispatch.is_none()) {
        return Err(wrong(version, format!("`{name}` has no `dispatch`")));
    }
    Ok(text)
}

fn wrong(version: &str, message: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("the protocol table of {version}: {message}"))
}

/// Returns the numbers of a version for sorting. The version `1` is older than all versions of three numbers.
fn numbers(version: &str) -> [u64; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(u64::MAX));
    match (parts.next(), parts.next(), parts.next()) {
        (Some(major), Some(minor), Some(patch)) => [major, minor, patch],
        _ => [0; 3],
    }
}

/// Returns a version as Rust code; `None` if the text is not a version.
fn constant(version: &str) -> Option<String> {
    if version == "1" {
        return Some("Version::V1".to_owned());
    }
    let parts: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    match parts?[..] {
        [major, minor, patch] => Some(format!("Version::new({major}, {minor}, {patch})")),
        _ => None,
    }
}
