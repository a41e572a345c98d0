//! Embeds the scenarios, vectors and ledgers of the repository in the binary.

#[path = "build/ledger.rs"]
mod ledger;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let package = folder_of("CARGO_MANIFEST_DIR")?;
    println!("cargo::rerun-if-changed=build");
    let root = package.join("../scenarios");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let (vectors, scenarios): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.starts_with(root.join("reducers")));
    let out = folder_of("OUT_DIR")?;
    fs::write(out.join("scenarios.rs"), table(&root, &scenarios)?)?;
    fs::write(out.join("vectors.rs"), table(&root, &vectors)?)?;
    fs::write(out.join("ledgers.rs"), ledger::tables(&package.join("protocol/requirements"))?)
}

/// Returns a folder that Cargo names.
fn folder_of(variable: &str) -> io::Result<PathBuf> {
    let folder = env::var_os(variable).map(PathBuf::from);
    folder.ok_or_else(|| io::Error::other(format!("Cargo did not set `{variable}`")))
}

/// Returns the files as an array of names and texts.
fn table(root: &Path, files: &[PathBuf]) -> io::Result<String> {
    let mut table = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(file);
        let name = name.to_string_lossy().replace('\\', "/");
        let path = file.canonicalize()?;
        let _ = writeln!(table, "(\"scenarios/{name}\", include_str!({path:?})),");
    }
    table.push_str("]\n");
    Ok(table)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    Ok(())
}
