//! `ahp-harness fuzz`: plays generated conversations against a host or an agent, and minimises the findings.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use clap::Args;
use tokio::sync::RwLock;

use crate::arb::agents::{AgentAbilitySet, AgentConversationGenerator};
use crate::arb::campaign::{FuzzCampaign, KnownFindings};
use crate::arb::conditions::PlayConditions;
use crate::arb::embedded::EmbeddedGround;
use crate::arb::generate::ConversationGenerator;
use crate::arb::source::ConversationSource;
use crate::fault::FaultKind;
use crate::run::plan::HostRestarts;
use crate::scenario::capability::SCRIPTS;
use crate::verdict::Weight;
use crate::wire::version::Version;

use super::aim::RunAim;
use super::campaign_folder::{CampaignFolder, write};
use super::context::CliContext;
use super::exit::{CommandOutcome, CommandStop};
use super::files;
use super::fuzz_target::FuzzTarget;
use super::hunt::FuzzHunt;
use super::interrupt::{TimeBudget, in_time, interrupts};
use super::options;
use super::play_target::PlayTarget;
use super::run::RunArguments;
use super::target::HOST_BUDGET;

/// The default time limit of a wait for a host.
const HOST_TIMEOUT: Duration = Duration::from_secs(2);

/// The minimum and maximum time for the first look, and for examining findings after the campaign.
const LEAST_REST: Duration = Duration::from_secs(15);
const MOST_REST: Duration = Duration::from_secs(600);
/// In a campaign of at most this duration, the first look and the examination of the last findings may take as long as
/// the campaign.
const SHORT_REST: Duration = Duration::from_secs(75);

/// The default duration of a campaign.
const MINUTE: Duration = Duration::from_secs(60);

/// Generates conversations of several clients, plays them against a host, and minimises each conversation in which the
/// host breaks a rule.
///
/// Without a target, the embedded reference host is tested. With `--acp`, an agent of the Agent Client Protocol is
/// tested. Each finding becomes a scenario file in the folder of the campaign; `ahp-harness run` can play it again. A
/// campaign that is started again in the same folder continues.
#[derive(Args, Debug)]
pub struct FuzzArguments {
    #[command(flatten)]
    pub(super) aim: RunAim,
    /// Test the ACP agent that this profile describes [default: the embedded reference agent]
    #[arg(
        long,
        value_name = "PROFILE",
        num_args = 0..=1,
        conflicts_with_all = ["url", "command", "loopback", "restart_command", "crash_command", "agent_model", "agent_acp", "provider", "spec"],
        help_heading = "Target"
    )]
    pub(super) acp: Option<Option<PathBuf>>,
    /// Inject this fault into the embedded host, or with `--acp` into the embedded agent (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "command"], help_heading = "Target")]
    pub(super) fault: Vec<String>,

    /// Speak only this protocol version
    #[arg(long, value_name = "VERSION", value_parser = options::version, help_heading = "Generation")]
    pub(super) spec: Option<Version>,
    /// The seed of the whole campaign
    #[arg(long, help_heading = "Generation")]
    pub(super) seed: Option<u64>,
    /// Play only the conversation of this seed; each finding names the seed of its conversation
    #[arg(long, value_name = "HEX", value_parser = options::hex, help_heading = "Generation")]
    pub(super) sequence_seed: Option<u64>,
    /// Generate scripted turns even if the first look does not show that the host's own agent plays scripts
    #[arg(long, help_heading = "Generation")]
    pub(super) scripted: bool,
    /// Treat the target as a reference host, whose files, shells and settings are known
    #[arg(long, requires = "scripted", help_heading = "Generation")]
    pub(super) reference: bool,
    /// Also send messages that may harm a host
    #[arg(long, help_heading = "Generation")]
    pub(super) aggressive: bool,

    /// The duration of the campaign [default: 1m; with `--sequences` or `--steps` 30m for a host outside of this
    /// process, and no limit otherwise]
    #[arg(long, value_parser = options::duration, help_heading = "Budget")]
    pub(super) time: Option<Duration>,
    /// Stop after this many conversations
    #[arg(long, help_heading = "Budget")]
    pub(super) sequences: Option<u64>,
    /// Stop after this many steps
    #[arg(long, help_heading = "Budget")]
    pub(super) steps: Option<u64>,
    /// Stop at the first finding
    #[arg(long, help_heading = "Budget")]
    pub(super) stop_at_first: bool,
    /// How many conversations are played at once over sockets; conversations that only wait for a time limit do not
    /// count
    #[arg(long, visible_alias = "workers", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=100), help_heading = "Budget")]
    pub(super) jobs: u16,
    /// The time limit of each wait [default: 2s; for an agent the limit in its profile, or else 10s]; the harness waits
    /// less if the target always answers sooner
    #[arg(long, value_parser = options::duration, help_heading = "Budget")]
    timeout: Option<Duration>,

    /// The folder for findings, scenarios and the state of the campaign; an existing campaign continues
    #[arg(long, value_name = "FOLDER", default_value = "fuzz-campaign", help_heading = "Findings")]
    pub(super) out: PathBuf,
    /// The minimum weight of a finding to report: note, should, essential or must
    #[arg(long, default_value = "should", value_parser = options::weight, help_heading = "Findings")]
    pub(super) weight: Weight,
    /// A file of known findings, each with its reason
    #[arg(long, value_name = "FILE", help_heading = "Findings")]
    baseline: Option<PathBuf>,
    /// Write all findings to this file as a baseline
    #[arg(long, value_name = "FILE", help_heading = "Findings")]
    write_baseline: Option<PathBuf>,
    /// Do not minimise findings
    #[arg(long, help_heading = "Findings")]
    pub(super) no_shrink: bool,
}

impl FuzzArguments {
    pub(super) fn main(mut self, context: &CliContext) -> CommandOutcome {
        self.aim = self.aim.with_files()?;
        let budget = self.budget().filter(|_| self.is_outside()).map(|time| {
            // The first look precedes the campaign, and the last findings are examined after the campaign.
            let total = time + rest_after(time);
            context.error(&format!(
                "plays for {time:?}, and ends after {total:?} at the latest (`--time`)\n"
            ));
            TimeBudget::begin(total)
        });
        in_time(budget, self.campaign(context, budget))
    }

    /// Returns the time budget. A campaign against a host outside of this process always has a time budget.
    pub(super) fn budget(&self) -> Option<Duration> {
        let bounded = self.sequences.is_some() || self.steps.is_some();
        let usual = if bounded { self.is_outside().then_some(HOST_BUDGET) } else { Some(MINUTE) };
        self.time.or(usual)
    }

    /// Returns whether the target is a host or agent outside of this process.
    pub(super) fn is_outside(&self) -> bool {
        self.aim.is_outside() || matches!(self.acp, Some(Some(_)))
    }

    /// Returns whether the command starts processes that have to end with it.
    pub(super) fn starts_processes(&self) -> bool {
        self.aim.starts_processes() || matches!(self.acp, Some(Some(_)))
    }

    async fn campaign(&self, context: &CliContext, budget: Option<TimeBudget>) -> CommandOutcome {
        let known = self.known()?;
        let target = Arc::new(self.looked_at(context, budget).await?);
        let campaign = self.begin(context, &target)?;
        let source = self.source(&target, campaign.seed);
        let begins = (source, known, campaign);
        let stop_at = budget.map(|budget| budget.stop_at());
        let mut hunt = FuzzHunt::new(self, context, Arc::clone(&target), begins, stop_at);
        let outcome = match stop_at {
            Some(stop_at) => {
                let played = tokio::time::timeout_at(stop_at.into(), hunt.go()).await;
                played.unwrap_or_else(|_| hunt.cut_short())
            }
            None => hunt.go().await,
        };
        hunt.save()?;
        if let PlayTarget::Remote(remote, _) = &target.target {
            remote.stop().await;
        }
        context.progress("");
        context.say(&hunt.summary());
        if let Some(path) = &self.write_baseline {
            write(path, &KnownFindings::text(&hunt.schedule.campaign().buckets))?;
        }
        outcome
    }

    fn known(&self) -> Result<KnownFindings, CommandStop> {
        let Some(path) = &self.baseline else { return Ok(KnownFindings::default()) };
        let name = path.display().to_string();
        let text = files::text(path)?;
        KnownFindings::parse(&name, &text).map_err(CommandStop::usage)
    }

    /// Takes the same first look as `run`, and returns the target.
    pub(super) async fn looked_at(
        &self,
        context: &CliContext,
        budget: Option<TimeBudget>,
    ) -> Result<FuzzTarget, CommandStop> {
        let aim = self.aim.clone();
        let timeout = self.timeout.or(self.acp.is_none().then_some(HOST_TIMEOUT));
        let mut run = RunArguments::of(aim, self.spec, timeout, self.aggressive);
        run.acp.clone_from(&self.acp);
        self.aim.one_provider()?;
        let target = run.target(context).await?;
        let is_outside = self.is_outside();
        let offers = self.offers(is_outside)?;
        let look = run.first_look(context, &target, &offers, budget).await?;
        if let Err(error) = &look.probed {
            return Err(CommandStop::unreachable(error));
        }
        let version = look.header.version;
        let agent = self.aim.agent();
        let (planted, honest) = match &self.acp {
            Some(_) => {
                (EmbeddedGround::of_agent(&faults(&self.fault)?), EmbeddedGround::of_agent(&[]))
            }
            None => {
                let planted = EmbeddedGround::of(version, agent, &faults(&self.fault)?);
                (planted, EmbeddedGround::of(version, agent, &[]))
            }
        };
        // An agent with injected faults is judged like any other agent.
        let is_foreign = match &self.acp {
            Some(_) => is_outside || !self.fault.is_empty(),
            None => is_outside && !self.reference,
        };
        Ok(FuzzTarget {
            planted,
            honest,
            is_foreign,
            is_honest: !is_outside && self.fault.is_empty(),
            stopped: interrupts(),
            quiet: RwLock::default(),
            plays: AtomicU64::default(),
            run,
            target,
            look,
            version,
        })
    }

    /// Returns the versions that are offered to the target.
    fn offers(&self, is_outside: bool) -> Result<Vec<Version>, CommandStop> {
        match self.spec {
            _ if self.acp.is_some() => Ok(vec![Version::ACP_1]),
            // The generator and the embedded host only support these versions, so conversations of other
            // versions cannot be generated.
            Some(version) if !is_outside && !Version::played().contains(&version) => {
                Err(CommandStop::usage(format!("conversations of {version} cannot be generated")))
            }
            Some(version) => Ok(vec![version]),
            None if is_outside => Ok(Version::offered().to_vec()),
            None => Ok(vec![Version::NEWEST]),
        }
    }

    /// Returns the generator of the conversations.
    pub(super) fn source(&self, target: &FuzzTarget, seed: u64) -> ConversationSource {
        let detected = &target.look.header.detected;
        if self.acp.is_some() {
            let abilities = AgentAbilitySet::of(detected);
            return ConversationSource::OfAgents(AgentConversationGenerator::new(seed, abilities));
        }
        let generator = ConversationGenerator::new(target.version, seed, self.conditions(target));
        ConversationSource::OfHosts(match target.is_foreign {
            true => generator.offering(detected),
            false => generator,
        })
    }

    fn conditions(&self, target: &FuzzTarget) -> PlayConditions {
        let embedded = !matches!(target.target, PlayTarget::Remote(..));
        let agent = self.aim.agent();
        let mut detected = target.look.header.detected.iter();
        let plays = detected.any(|it| it.capability == SCRIPTS && it.offered);
        let plays = plays || embedded || self.scripted || agent != Default::default();
        PlayConditions {
            agent: plays.then_some(agent),
            restarts: match &target.target {
                PlayTarget::Remote(remote, _) => remote.ways_to_restart(),
                _ => HostRestarts::Crashes,
            },
            aggressive: embedded || self.aggressive,
            reference: !target.is_foreign,
        }
    }

    /// Returns the campaign in the folder, or a new campaign.
    fn begin(
        &self,
        context: &CliContext,
        target: &FuzzTarget,
    ) -> Result<FuzzCampaign, CommandStop> {
        let version = target.version;
        if let Some(campaign) = CampaignFolder(self.out.clone()).open()? {
            let same =
                campaign.version == version && self.seed.is_none_or(|seed| seed == campaign.seed);
            if !same {
                return Err(CommandStop::usage(format!(
                    "the campaign in `{}` has seed {} and speaks {} (hint: choose another `--out`)",
                    self.out.display(),
                    campaign.seed,
                    campaign.version
                )));
            }
            return Ok(campaign);
        }
        let outside = self.is_outside();
        let seed = self.seed.unwrap_or(if outside { context.seed } else { 1 });
        Ok(FuzzCampaign { seed, version, ..FuzzCampaign::default() })
    }
}

#[cfg(test)]
impl FuzzArguments {
    /// Parses the arguments of a command line, for tests.
    pub(super) fn parsed(arguments: &[&str]) -> FuzzArguments {
        use clap::Parser;

        #[derive(Parser)]
        struct FuzzCommand {
            #[command(flatten)]
            fuzz: FuzzArguments,
        }
        FuzzCommand::parse_from(arguments).fuzz
    }
}

/// Returns the time for the first look, and for examining findings after a campaign of this duration.
fn rest_after(time: Duration) -> Duration {
    time.min(SHORT_REST).max(time / 10).clamp(LEAST_REST, MOST_REST)
}

/// Returns the faults with these names.
fn faults<F: FaultKind>(names: &[String]) -> Result<Vec<F>, CommandStop> {
    names.iter().map(|name| options::fault(name).map_err(CommandStop::usage)).collect()
}
