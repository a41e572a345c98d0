//! `ahp-harness client fuzz`: generates the host's part of conversations, plays them with a client, and compares the
//! client's state with the state that the harness computes from the same frames.
//!
//! The conversation of a finding is first played with the reference client. If the finding occurs there as well, it is
//! a mistake of the harness. Every other finding is shrunk, played three more times, and written as a scenario.
//!
//! Start at [`ClientFuzzArguments`].

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::sync::watch;

use crate::arb::client_conversation::{ClientConversations, events, is_plain, without_events};
use crate::arb::client_ground::ClientGround;
use crate::arb::draft::ScenarioDraft;
use crate::arb::finding::{FuzzFinding, findings};
use crate::arb::shrink::{DraftTrial, shrink};
use crate::peer::reference::RECONNECTS;
use crate::peer::reference::fault::Fault;
use crate::report::command::quoted;
use crate::report::summary::word;
use crate::run::client_sim;
use crate::run::play::{CountingRecorder, ScenarioPlay, ScenarioVerdict};
use crate::run::setup::CaseSetup;
use crate::verdict::Weight;
use crate::wire::foreign_text::ForeignText;
use crate::wire::version::Version;

use super::campaign_folder::write;
use super::clients::{ClientOutside, ClientPort};
use super::context::{CliContext, wall_clock};
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::interrupt::{self, TimeBudget, in_time};
use super::options;

/// The maximum number of conversations that are tried to shrink a finding.
const TRIES: usize = 150;
/// How often the smallest conversation is played again, to tell how reliably it shows the finding.
const AGAIN: usize = 3;
/// The time limit of a wait while a finding is shrunk. Each conversation that no longer shows the finding waits for
/// this time. The smallest conversation is played again with the usual limit.
const HURRIED: Duration = Duration::from_millis(400);
/// The time for shrinking one finding, and for playing its smallest conversation again.
const SHRINKS_FOR: Duration = Duration::from_secs(30);
/// The additional time, after the end of the campaign, for shrinking the last finding.
const LEEWAY: Duration = Duration::from_secs(120);

/// Generate the host's part of conversations, and compare the client's state with the state that the harness's reducers
/// compute
#[derive(Args, Debug)]
pub(super) struct ClientFuzzArguments {
    /// Start this command for each conversation: the driver of the client; `{url}` becomes the URL of the host [default:
    /// the reference client in memory]
    #[arg(long)]
    pub(super) command: Option<String>,
    /// Inject this fault into the reference client (repeatable); `list faults --client` names them
    #[arg(long, value_parser = options::client_fault, conflicts_with = "command")]
    fault: Vec<Fault>,
    /// Speak this protocol version [default: the newest that the client offers]
    #[arg(long, value_name = "VERSION", value_parser = options::version)]
    spec: Option<Version>,
    /// The seed of all conversations
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begin with the conversation of this number
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Do not publish actions of this type (repeatable), for example a type that the client's reducers are known to
    /// apply wrongly
    #[arg(long, value_name = "ACTION")]
    without: Vec<String>,
    /// Stop after this many conversations
    #[arg(long)]
    conversations: Option<u64>,
    /// Stop after this time
    #[arg(long, value_parser = options::duration, default_value = "1m")]
    time: Duration,
    /// The time limit of each wait
    #[arg(long, value_parser = options::duration, default_value = "1s")]
    timeout: Duration,
    /// The folder for the scenarios of findings
    #[arg(long, value_name = "FOLDER", default_value = "client-findings")]
    out: PathBuf,
}

/// The client of a campaign.
enum CampaignClient {
    /// The reference client in memory.
    Embedded(ClientGround),
    /// A client outside of this process, the version, and the time limit of each wait.
    Outside(Box<ClientOutside>, Version, Duration),
}

impl CampaignClient {
    /// Returns the same client with a shorter time limit.
    fn hurried(&self) -> CampaignClient {
        match self {
            CampaignClient::Embedded(ground) => CampaignClient::Embedded(ground.clone()),
            CampaignClient::Outside(client, version, limit) => {
                CampaignClient::Outside(client.clone(), *version, (*limit).min(HURRIED))
            }
        }
    }

    /// Plays the draft of a scenario. Returns its findings, and the number of comparisons in which the client had the
    /// right state.
    async fn played(
        &self,
        draft: &ScenarioDraft,
        stop: &watch::Receiver<bool>,
    ) -> Result<(Vec<FuzzFinding>, u64), CommandStop> {
        let (client, version, limit) = match self {
            CampaignClient::Embedded(ground) => return Ok(ground.played(draft)),
            CampaignClient::Outside(client, version, limit) => (client, *version, *limit),
        };
        let scenario = draft.scenario().map_err(CommandStop::fault)?;
        let port = ClientPort::open("generated")
            .await
            .map_err(|error| CommandStop::fault(format!("no loopback port: {error}")))?;
        let scenario = Arc::new(scenario);
        let config = client_sim::settings(&scenario, version, 1, wall_clock());
        let setup = CaseSetup::of(&scenario, version, 1, wall_clock(), limit);
        let setup = CaseSetup { tested: port.setup(client), ..setup };
        let play = ScenarioPlay::new(setup, false, Box::new(CountingRecorder::default()));
        let verdict: ScenarioVerdict = port.play(client, config, play, stop.clone()).await;
        Ok((findings(&draft.steps, &verdict), verdict.observations))
    }
}

/// Tests for the shrinker whether the draft of a scenario still shows a finding.
struct ClientFuzzTrial<'a> {
    client: &'a CampaignClient,
    stop: &'a watch::Receiver<bool>,
    key: &'a str,
    /// The deadline. After this time, no draft counts as showing the finding.
    until: Instant,
}

impl DraftTrial for ClientFuzzTrial<'_> {
    // Each comparison follows a step that waits for the client. Without this step, the comparison may happen before the
    // client has handled the last frames.
    fn keeps_premises(&self) -> bool {
        true
    }

    async fn shows(&mut self, draft: &ScenarioDraft) -> bool {
        if *self.stop.borrow() || Instant::now() >= self.until {
            return false;
        }
        let played = self.client.played(draft, self.stop).await;
        played.is_ok_and(|(found, _)| found.iter().any(|finding| finding.key == self.key))
    }
}

/// The findings that break one rule after the same events.
struct FindingCause {
    rule: String,
    events: Vec<String>,
    findings: u64,
}

/// What a campaign has found so far.
#[derive(Default)]
struct ClientCampaign {
    played: u64,
    compared: u64,
    causes: Vec<FindingCause>,
    /// The findings that the reference client shows as well: mistakes of the harness.
    own: Vec<String>,
}

impl ClientFuzzArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        let budget = TimeBudget::begin(self.time + LEEWAY);
        in_time(Some(budget), self.hunt(context))
    }

    async fn hunt(&self, context: &CliContext) -> CommandOutcome {
        let stop = interrupt::interrupts();
        let (client, abilities) = self.client(context).await?;
        let began = Instant::now();
        let mut campaign = ClientCampaign::default();
        let limit = self.conversations.unwrap_or(u64::MAX);
        for number in self.from..self.from.saturating_add(limit) {
            if *stop.borrow() || began.elapsed() >= self.time {
                break;
            }
            let Some(draft) = abilities.draft(self.seed, number) else { break };
            let (found, held) = client.played(&draft, &stop).await?;
            campaign.played += 1;
            campaign.compared += held;
            for finding in found {
                if finding.weight > Weight::Note {
                    self.examine(context, &client, &draft, finding, &mut campaign, &stop).await?;
                }
            }
            if campaign.played % 50 == 0 {
                context.progress(&format!("{}\n", campaign.line(began.elapsed())));
            }
            // The embedded client never yields to the runtime, so signals would otherwise not be noticed.
            tokio::task::yield_now().await;
        }
        context.say(&format!("{}\n", campaign.line(began.elapsed())));
        for own in &campaign.own {
            context.say(&format!("    a mistake of the harness, please report it: {own}\n"));
        }
        if *stop.borrow() {
            return Ok(CommandExit::Interrupted);
        }
        if campaign.compared == 0 {
            let why = "no state of the client could be compared (hint: the driver needs `subscribe` and `state`)";
            return Err(CommandStop { code: CommandExit::Failed, message: why.to_owned() });
        }
        Ok(if campaign.causes.is_empty() { CommandExit::Ok } else { CommandExit::Failed })
    }

    /// Returns the client under test, and the kinds of conversations that this client can play.
    async fn client(
        &self,
        context: &CliContext,
    ) -> Result<(CampaignClient, ClientConversations), CommandStop> {
        let Some(command) = &self.command else {
            let version = self.spec.unwrap_or(Version::NEWEST);
            let ground =
                ClientGround { faults: self.fault.clone(), ..ClientGround::honest(version) };
            let all = ClientConversations {
                version,
                reconnects: true,
                dispatches: true,
                unsubscribes: true,
                left_out: self.without.clone(),
            };
            return Ok((CampaignClient::Embedded(ground), all));
        };
        let voice_context = context.clone();
        let voice = Arc::new(move |line: &str| {
            voice_context.error(&format!("client: {}\n", ForeignText::from(line).line()));
        });
        let client = ClientOutside::new(command.clone(), true, voice);
        let versions = self.spec.map_or(Version::played().to_vec(), |version| vec![version]);
        let look = client.look(self.timeout, &versions).await.map_err(|error| CommandStop {
            code: CommandExit::Unreachable,
            message: error.to_string(),
        })?;
        let version = look.version.unwrap_or(Version::NEWEST);
        let knows = |command: &str| {
            let name = format!("driver-{command}");
            look.detected.iter().flatten().any(|row| row.capability == name && row.offered)
        };
        let conversations = ClientConversations {
            version,
            reconnects: knows(RECONNECTS),
            dispatches: knows("dispatch"),
            unsubscribes: knows("unsubscribe"),
            left_out: self.without.clone(),
        };
        let name = look.name.unwrap_or_else(|| command.clone());
        context.say(&format!(
            "fuzzing {} at protocol {version}, seed {}\n",
            ForeignText::from(name.as_str()).line(),
            self.seed
        ));
        Ok((CampaignClient::Outside(Box::new(client), version, self.timeout), conversations))
    }

    /// Shrinks a finding, writes its scenario, and reports it.
    async fn examine(
        &self,
        context: &CliContext,
        client: &CampaignClient,
        draft: &ScenarioDraft,
        finding: FuzzFinding,
        campaign: &mut ClientCampaign,
        stop: &watch::Receiver<bool>,
    ) -> Result<(), CommandStop> {
        let honest = ClientGround::honest(draft.since);
        if honest.found(draft).iter().any(|other| other.key == finding.key) {
            campaign.own.push(finding.message);
            return Ok(());
        }
        let hurried = client.hurried();
        let until = Instant::now() + SHRINKS_FOR;
        let mut trial = ClientFuzzTrial { client: &hurried, stop, key: &finding.key, until };
        // A known cause explains the finding if the finding no longer occurs when the events of that cause are left
        // out.
        for known in &mut campaign.causes {
            let rest = without_events(draft, &known.events);
            if known.rule == finding.rule && rest != *draft && !trial.shows(&rest).await {
                known.findings += 1;
                return Ok(());
            }
        }
        let small = shrink(draft.clone(), &mut trial, TRIES).await;
        let until = Instant::now() + SHRINKS_FOR;
        let mut trial = ClientFuzzTrial { client, stop, key: &finding.key, until };
        let happened = events(&small);
        let is_cause =
            |known: &&mut FindingCause| known.rule == finding.rule && known.events == happened;
        if let Some(known) = campaign.causes.iter_mut().find(is_cause) {
            known.findings += 1;
            return Ok(());
        }
        let mut shown = 0;
        for _ in 0..AGAIN {
            shown += usize::from(trial.shows(&small).await);
        }
        let path = self.out.join(format!("{}.yaml", small.id));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .map_err(|error| CommandStop::usage(format!("`{}`: {error}", folder.display())))?;
        }
        write(&path, &small.text())?;
        let mut out = format!(
            "{:>9} {}, with {}\n          {}\n",
            word(finding.weight),
            finding.rule,
            happened.join(", "),
            ForeignText::from(finding.message.as_str()).line()
        );
        let _ = writeln!(
            out,
            "          {} steps, shown in {shown} of {AGAIN} more plays: {}",
            small.steps.len(),
            path.display()
        );
        if is_plain(&small) {
            out.push_str(
                "          the host alone acts in it, so the client's reducers differ from the specification's (hint: `ahp-harness reducers` tests them alone)\n",
            );
        }
        let target = match &self.command {
            Some(command) => format!("--command {}", quoted(command)),
            None => {
                let faults = self.fault.iter().map(|fault| format!(" --fault {}", fault.name()));
                let faults: String = faults.collect();
                format!("--command {}", quoted(&format!("ahp-harness client reference{faults}")))
            }
        };
        let _ = writeln!(
            out,
            "          again: ahp-harness client run {target} --spec {} {}",
            draft.since,
            quoted(&path.display().to_string())
        );
        context.say(&out);
        campaign.causes.push(FindingCause { rule: finding.rule, events: happened, findings: 1 });
        Ok(())
    }
}

impl ClientCampaign {
    fn line(&self, took: Duration) -> String {
        let findings: u64 = self.causes.iter().map(|cause| cause.findings).sum();
        format!(
            "{} conversations in {:.1} s, {} comparisons held, {findings} findings of {} causes",
            self.played,
            took.as_secs_f64(),
            self.compared,
            self.causes.len()
        )
    }
}
