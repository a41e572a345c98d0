//! `ahp-harness certify` and `ahp-harness report`: play a run, and make the reports from its run.jsonl.

use std::fmt::Write as _;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::report::brief::{badge, endpoint, markdown, out_of_reach};
use crate::report::cause::CauseFold;
use crate::report::certificate::HostCertificate;
use crate::report::console::ConsoleDetail;
use crate::report::html::html;
use crate::report::junit::JunitReport;
use crate::report::places::ShownPlaces;
use crate::report::profile_verdict::ProfileVerdict;
use crate::report::sarif::SarifReport;

use super::context::CliContext;
use super::coverage::{agent_summary, shown_summary};
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::options::ReportOption as Kind;
use super::run::RunArguments;
use super::run_file::read;

/// The maximum number of reasons that the console lists for requirements that could not be tested.
const REASONS: usize = 8;

/// Plays every profile against a host and writes a certificate.
///
/// The folder contains certificate.json, report.html, summary.md, a badge, junit.xml, results.sarif, members.txt (the
/// methods, actions and members that were seen, as `coverage --members` prints them) and run.jsonl. All other files are
/// made from run.jsonl, and `ahp-harness report` can make them again.
#[derive(Args, Debug)]
pub struct CertifyArguments {
    /// The folder for the certificate
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "certificate",
        help_heading = "Certificate"
    )]
    out: PathBuf,
    #[command(flatten)]
    pub(super) run: RunArguments,
}

impl CertifyArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let file = self.out.join("run.jsonl");
        let reports = [Kind::Jsonl(file.clone()), Kind::Junit(self.out.join("junit.xml"))];
        let run = self.run.with_everything(reports)?;
        folder(&self.out)?;
        let format = run.format;
        let written = || fs::metadata(&file).and_then(|about| about.modified()).ok();
        let before = written();
        let played = run.main(context);
        let ended_with = |code| played.as_ref().is_err_and(|stop| stop.code == code);
        // After Ctrl-C there is no time for reports. A run that did not start leaves the files of an earlier run in the
        // folder.
        if ended_with(CommandExit::Interrupted) || written() == before {
            return played;
        }
        // If the target could not be reached, reports are written that say why nothing was played.
        let unreachable = ended_with(CommandExit::Unreachable);
        let (verdict, _, said) = match write(&file, &self.out) {
            Ok(made) => made,
            Err(_) if played.is_err() => return played,
            Err(stop) => return Err(stop),
        };
        if format != ConsoleDetail::Json && !unreachable {
            context.say(&said);
        }
        played.map(|code| with_verdict(code, verdict))
    }
}

/// Makes the reports of a run again from its run.jsonl: the certificate, the page, the summary and the badge.
///
/// The exit code is the same as that of `certify`.
#[derive(Args, Debug)]
pub struct ReportArguments {
    /// The run.jsonl of the run
    file: PathBuf,
    /// The folder for the reports
    #[arg(long, value_name = "FOLDER", default_value = "certificate")]
    out: PathBuf,
}

impl ReportArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        folder(&self.out)?;
        let (verdict, code, said) = write(&self.file, &self.out)?;
        context.say(&said);
        Ok(with_verdict(code, verdict))
    }
}

/// Returns the exit code of `certify`: the exit code of the run, but [`CommandExit::Failed`] instead of success if the
/// verdict is not a success.
fn with_verdict(code: CommandExit, verdict: ProfileVerdict) -> CommandExit {
    match verdict {
        ProfileVerdict::Conformant | ProfileVerdict::NotApplicable => code,
        ProfileVerdict::NotConformant | ProfileVerdict::Incomplete => code.max(CommandExit::Failed),
    }
}

fn folder(path: &Path) -> Result<(), CommandStop> {
    fs::create_dir_all(path).map_err(|error| {
        CommandStop::usage(format!("`{}` could not be made: {error}", path.display()))
    })
}

/// Writes the reports of a run, and returns its verdict, its exit code and the text for the terminal.
fn write(file: &Path, out: &Path) -> Result<(ProfileVerdict, CommandExit, String), CommandStop> {
    let run = read(file)?;
    let certificate = HostCertificate::of(&run);
    let members = members(file, &certificate);
    let json = serde_json::to_string_pretty(&certificate).map_err(|error| {
        CommandStop::fault(format!("the certificate could not be written: {error}"))
    })?;
    let files = [
        ("certificate.json", json + "\n"),
        ("report.html", html(&run, &certificate)),
        ("summary.md", markdown(&certificate)),
        ("badge.svg", badge(&certificate)),
        ("badge.json", format!("{}\n", endpoint(&certificate))),
        ("members.txt", members),
    ];
    let mut junit = JunitReport::about(&run.header);
    run.cases.iter().for_each(|case| junit.add(&case.report));
    let mut xml = Vec::new();
    let stale = run.footer.as_ref().map_or(&[][..], |footer| &footer.stale);
    junit.write(&run.summary, stale, &mut xml).map_err(CommandStop::fault)?;
    let xml = String::from_utf8_lossy(&xml).into_owned();
    let mut sarif = SarifReport::default();
    run.cases.iter().for_each(|case| sarif.add(&case.report));
    let causes = CauseFold::of(run.cases.iter().map(|case| &case.report));
    let end = run.footer.as_ref().map_or((0, false), |it| (it.exit, !it.interrupted));
    let sarif = format!("{:#}\n", sarif.report(&run.header, &causes, stale, end));
    let made = [("junit.xml", &xml), ("results.sarif", &sarif)];
    for (name, text) in files.iter().map(|(name, text)| (*name, text)).chain(made) {
        let path = out.join(name);
        files::write(&path, text)?;
    }
    let code = run.footer.as_ref().map_or(CommandExit::Interrupted, |it| CommandExit::of(it.exit));
    let mut text = said(&certificate, out);
    if run.left_out > 0 {
        let left_out = run.left_out;
        let _ = writeln!(
            text,
            "note: {left_out} results are counted but not listed, because the run has too many"
        );
    }
    Ok((certificate.verdict(), code, text))
}

/// Lists the parts of the protocol tables that occurred in the run. If the host has several agents, also lists the
/// parts that occurred with each agent.
fn members(file: &Path, certificate: &HostCertificate) -> String {
    let open = || files::open(file).ok().map(BufReader::new);
    let Some(whole) = open().and_then(|input| ShownPlaces::read(None, input).ok()) else {
        return String::new();
    };
    let mut text = shown_summary(&whole);
    for agent in &certificate.agents {
        let provider = agent.provider.line();
        if agent.untested.is_some() {
            let _ = writeln!(text, "\nwith the agent {provider}: {}", agent.words());
            continue;
        }
        let shown =
            open().and_then(|input| ShownPlaces::read_with_agent(&agent.provider, input).ok());
        text.push_str(&shown.map_or_else(String::new, |it| agent_summary(&provider, &it, &whole)));
    }
    text
}

fn said(certificate: &HostCertificate, out: &Path) -> String {
    let mut text = String::from("\n");
    for profile in &certificate.profiles {
        let verdict = profile.verdict.words();
        let _ = writeln!(text, "{:<16} {verdict:<15} {}", profile.name, profile.reason);
    }
    for agent in &certificate.agents {
        let _ = writeln!(text, "with the agent {}: {}", agent.provider.line(), agent.words());
    }
    if let Some(line) = out_of_reach(certificate) {
        let _ = writeln!(text, "{line}");
        for it in certificate.out_of_reach.iter().take(REASONS) {
            let (must, essential) = (it.must.len(), it.essential.len());
            let _ = writeln!(text, "  {must} MUST, {essential} essential: {}", it.reason.line());
        }
        if certificate.out_of_reach.len() > REASONS {
            let more = certificate.out_of_reach.len() - REASONS;
            let _ = writeln!(text, "  ({more} more reasons are in certificate.json)");
        }
    }
    let _ = writeln!(
        text,
        "{}: {} (certificate and report: {})",
        certificate.title,
        certificate.verdict().words(),
        out.join("report.html").display()
    );
    text
}
