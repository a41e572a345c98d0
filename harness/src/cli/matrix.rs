//! `ahp-harness matrix`: compares certificates in one table.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::report::html::index::index;
use crate::report::matrix::{CertificateBrief, matrix};

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;

/// Compares certificates: one row per host, one column per profile. The output is Markdown, or HTML if the name of the
/// output file ends with `.html`. The HTML page also compares the broken rules.
#[derive(Args, Debug)]
pub struct MatrixArguments {
    /// Folders that `certify` wrote, or certificate.json files
    #[arg(required = true)]
    certificates: Vec<PathBuf>,
    /// The output file, Markdown or `.html`; links are relative to the folder of this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl MatrixArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let from = self.out.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let mut briefs = Vec::new();
        for path in &self.certificates {
            let file = if path.is_dir() { path.join("certificate.json") } else { path.clone() };
            let name = file.display();
            let text = files::text(&file)?;
            let brief = CertificateBrief::read(&text)
                .map_err(|error| CommandStop::usage(format!("`{name}`: {error}")))?;
            let page = file.with_file_name("report.html");
            let near = page.strip_prefix(from).unwrap_or(&page);
            let link = if page.exists() { near.display().to_string() } else { String::new() };
            briefs.push((link, brief));
        }
        let html =
            self.out.as_deref().is_some_and(|path| path.extension().is_some_and(|it| it == "html"));
        let page = if html { index(&briefs) } else { matrix(&briefs) };
        match &self.out {
            None => context.say(&page),
            Some(path) => files::write(path, page)?,
        }
        Ok(CommandExit::Ok)
    }
}
