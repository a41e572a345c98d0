//! `ahp-harness mutants --wire`: injects faults of a host or an agent into captures and counts the faults that
//! the always-on checks miss; with `--legal`, makes only rewrites that the protocol permits and shows every
//! false finding.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use crate::mutation::acp;
use crate::mutation::bases::{self, BaseOptions};
use crate::mutation::capture::MutableCapture;
use crate::mutation::operator::WireOperator;
use crate::mutation::rewrite::LegalRewrite;
use crate::mutation::trial::WireTrial;
use crate::mutation::{operators, rewrites, table};
use crate::scenario::source::did_you_mean;
use crate::wire::version::{ProtocolStandard, Version};

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::mutants::{on_all_cores, written};

/// The options of `--wire`.
#[derive(Args, Debug)]
pub struct WireOptions {
    /// Inject faults of a host, or with `--acp` of an agent, into captures, and show which of them the always-on checks
    /// find. The paths name the captures; without paths, captures are made from the suite and from generated
    /// conversations
    #[arg(long, conflicts_with_all = ["fault", "quick", "full", "write", "fuzz"])]
    wire: bool,
    /// With `--wire`: inject faults of clients, and show which of them the checks of clients find
    #[arg(long, requires = "wire", conflicts_with = "acp")]
    clients: bool,
    /// With `--wire`: make only rewrites that the protocol permits, and report every finding above a note as a false finding
    #[arg(long, requires = "wire", conflicts_with_all = ["at_least", "class_at_least"])]
    legal: bool,
    /// With `--wire`: use only this operator, or this legal rewrite (repeatable)
    #[arg(long, value_name = "NAME", requires = "wire")]
    operator: Vec<String>,
    /// With `--wire`: the seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1, requires = "wire")]
    seed: u64,
    /// With `--wire`: the number of mutants of each operator (legal and undecidable mutants do not count); with
    /// `--legal`, the number of rewrites of each kind
    #[arg(long, value_name = "N", default_value_t = 40, requires = "wire")]
    count: usize,
    /// With `--wire`: use every N-th scenario of the suite
    #[arg(long, value_name = "N", default_value_t = 1, requires = "wire")]
    part: usize,
    /// With `--wire`: the number of generated conversations; with `--acp`, the number of legal variants of the agent
    #[arg(long, value_name = "N", default_value_t = 60, requires = "wire")]
    drawn: u64,
    /// With `--wire`: write each counted mutant, or each rewritten capture with a false finding, to this folder
    #[arg(long, value_name = "FOLDER", requires = "wire")]
    keep: Option<PathBuf>,
    /// With `--wire`: fail if the checks find less than this percentage of all mutants
    #[arg(long, value_name = "PERCENT", requires = "wire")]
    at_least: Option<usize>,
    /// With `--wire`: fail if the checks find less than this percentage of the mutants of any class
    #[arg(long, value_name = "PERCENT", requires = "wire")]
    class_at_least: Option<usize>,
}

impl WireOptions {
    /// Returns whether `--wire` is given.
    pub(super) fn is_wanted(&self) -> bool {
        self.wire
    }

    pub(super) fn main(
        &self,
        context: &CliContext,
        version: Version,
        paths: &[PathBuf],
        out: Option<&Path>,
    ) -> CommandOutcome {
        let began = Instant::now();
        let standard = version.standard;
        let of_agents = standard == ProtocolStandard::Acp;
        let captures = match paths {
            [] => {
                let WireOptions { part, drawn, seed, .. } = *self;
                let options = BaseOptions { version, part, drawn, seed };
                if of_agents { acp::bases::clean(options) } else { bases::clean(options) }
            }
            paths => {
                let mut captures: Vec<MutableCapture> =
                    paths.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
                if of_agents {
                    captures.iter_mut().for_each(acp::bases::of_agents);
                }
                captures
            }
        };
        let captures: Vec<MutableCapture> = match (self.clients, paths) {
            (true, []) => captures.into_iter().map(bases::of_clients).collect(),
            (true, _) => captures.into_iter().map(MutableCapture::of_clients).collect(),
            (false, _) => captures,
        };
        let given = captures.len();
        let trial = WireTrial::new(captures, self.seed, self.count);
        if trial.captures().is_empty() {
            return Err(CommandStop::usage(
                "no capture can be changed: each has a finding that weighs more than a note (hint: \
                 `judge` shows it)",
            ));
        }
        if let Some(folder) = &self.keep {
            fs::create_dir_all(folder).map_err(|error| files::unwritable(folder, &error))?;
        }
        let keep = |name: &str, capture: &MutableCapture| {
            if let Some(folder) = &self.keep {
                let path = folder.join(format!("{name}.jsonl"));
                if let Err(stop) = files::write(&path, capture.text()) {
                    context.error(&format!("{}\n", stop.message));
                }
            }
        };
        let (used, seed, count) = (trial.captures().len(), self.seed, self.count);
        let head = format!(
            "`ahp-harness mutants --wire{}{} {} --seed {seed} --count {count}`: {used} captures of {given}",
            if self.clients { " --clients" } else { "" },
            if self.legal { " --legal" } else { "" },
            if of_agents { "--acp".to_owned() } else { format!("--spec {version}") },
        );
        let (text, verdict) = if self.legal {
            let all: Vec<_> = match self.clients {
                true => rewrites::of_clients().collect(),
                false => rewrites::of(standard).collect(),
            };
            let all = all.into_iter().map(|it| (it.name, it)).collect();
            let wanted: Vec<&LegalRewrite> = chosen(&self.operator, all)?;
            let results = trial.rewrite(&wanted, &keep, &on_all_cores);
            let accused: usize = results.iter().map(|result| result.accused.len()).sum();
            let verdict = (accused > 0).then(|| {
                format!(
                    "expected no finding that weighs more than a note, found some in {accused} \
                     captures"
                )
            });
            (format!("# Legal rewrites\n\n{head}\n\n{}", table::of_rewrites(&results)), verdict)
        } else {
            let all: Vec<_> = match self.clients {
                true => operators::clients::all().collect(),
                false => operators::of(standard).collect(),
            };
            let all = all.into_iter().map(|it| (it.name, it)).collect();
            let wanted: Vec<&WireOperator> = chosen(&self.operator, all)?;
            let results = trial.mutate(&wanted, &keep, &on_all_cores);
            let below = |least: Option<usize>, per_mille: Option<usize>| {
                least.zip(per_mille).filter(|(least, found)| *found < least * 10)
            };
            let all = below(self.at_least, table::score(&results).per_mille());
            let all = all.map(|(least, found)| (least, found, "all".to_owned()));
            let classes = table::by_class(&results).into_iter().filter_map(|(class, score)| {
                let (least, found) = below(self.class_at_least, score.per_mille())?;
                Some((least, found, class.name().to_owned()))
            });
            let verdict = all.into_iter().chain(classes).next().map(|(least, found, which)| {
                let (whole, rest) = (found / 10, found % 10);
                format!(
                    "expected {least} % of {which} mutants to be killed, found {whole}.{rest} %"
                )
            });
            (format!("# Wire mutants\n\n{head}\n\n{}", table::of_mutants(&results)), verdict)
        };
        context.say(&text);
        if let Some(path) = out {
            written(path, &text)?;
        }
        context.say(&format!("\nin {:.1} s\n", began.elapsed().as_secs_f64()));
        match verdict {
            None => Ok(CommandExit::Ok),
            Some(verdict) => {
                context.error(&format!("{verdict}\n"));
                Ok(CommandExit::Failed)
            }
        }
    }
}

fn read(path: &Path) -> Result<MutableCapture, CommandStop> {
    let name = path.display().to_string();
    MutableCapture::read(&name, std::io::BufReader::new(files::open(path)?))
        .map_err(|error| CommandStop::usage(format!("{name}:{error}")))
}

/// Returns the rows with these names, or all rows if there are no names.
fn chosen<T: Copy>(names: &[String], all: Vec<(&'static str, T)>) -> Result<Vec<T>, CommandStop> {
    if names.is_empty() {
        return Ok(all.into_iter().map(|(_, one)| one).collect());
    }
    let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let find = |name: &String| {
        all.iter().find(|(known, _)| known == name).map(|(_, one)| *one).ok_or_else(|| {
            let hint = did_you_mean(name, &known);
            CommandStop::usage(format!("no operator is called `{name}` (hint: {hint})"))
        })
    };
    names.iter().map(find).collect()
}
