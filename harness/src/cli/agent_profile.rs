//! `ahp-harness agent profile`: starts an agent, inspects it, and writes a profile of it.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::agent::mode::AgentMode;
use crate::run::introduction::introduce;
use crate::run::profile::AgentProfile;
use crate::run::profile_draft::{ModelUse, draft};
use crate::wire::json::Value;

use super::agent_recipes::recipe;
use super::agents::AgentOutside;
use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::interrupt::{TimeBudget, in_time};
use super::options;

/// The time limit for each answer of an agent.
const LIMIT: &str = "60s";

/// Starts an agent of the Agent Client Protocol, inspects it, and writes a profile for `run --acp` and `certify
/// --acp`. Comments in the profile list what the agent declares: its methods of authentication, the modes and
/// options of its sessions, and the tools that it offers its model.
///
/// Give the command that starts the agent, or an existing profile to inspect the agent again. If the agent asks a
/// model, make it ask the harness's model stand-in, for example with `--env OPENAI_BASE_URL={model}/v1`; `{model}`
/// becomes the URL of the stand-in.
///
/// For a known agent, `--recipe` writes a tested profile without starting the agent. The first comment in the profile
/// says how to install the agent.
#[derive(Args, Debug)]
pub(super) struct AgentProfileArguments {
    /// An existing profile to update; its members are kept
    #[arg(
        required_unless_present_any = ["command", "recipe"],
        conflicts_with_all = ["command", "env", "auth", "recipe"]
    )]
    profile: Option<PathBuf>,
    /// The name of a known agent, such as claude, codex, gemini, opencode, qwen, vibe or fast-agent
    #[arg(long, value_name = "NAME", conflicts_with_all = ["command", "env", "auth"])]
    recipe: Option<String>,
    /// The command that starts the agent, as a shell command line
    #[arg(long)]
    command: Option<String>,
    /// An environment variable for the agent, NAME=VALUE (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// The id of the authentication method to use
    #[arg(long, value_name = "ID")]
    auth: Option<String>,
    /// Write the profile to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The time limit for each answer of the agent
    #[arg(long, default_value = LIMIT, value_parser = options::duration)]
    timeout: Duration,
    /// End the command after this time
    #[arg(long, value_name = "DURATION", default_value = "9m30s", value_parser = options::duration)]
    budget: Duration,
}

impl AgentProfileArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        if let Some(name) = &self.recipe {
            return self.written(recipe(name)?, context);
        }
        context.error(&format!("ends after {:?} at the latest (`--budget`)\n", self.budget));
        in_time(Some(TimeBudget::begin(self.budget)), self.profiled(context))
    }

    async fn profiled(self, context: &CliContext) -> CommandOutcome {
        let mut agents = match (&self.profile, &self.command) {
            (Some(path), _) => AgentOutside::open(path, None).await?,
            (None, Some(command)) => AgentOutside::of(self.given(command)?, None, None).await?,
            (None, None) => {
                return Err(CommandStop::usage("expected a profile, or `--command`".to_owned()));
            }
        };
        let seat = agents
            .seat(&[], "a first look")
            .map_err(|error| CommandStop::fault(format!("no folder could be made: {error}")))?;
        let introduction = introduce(&seat.endpoint, &seat.side, self.timeout).await;
        if let (None, Some(why)) = (&introduction.handshake, &introduction.ended) {
            return Err(CommandStop::usage(format!(
                "the agent did not answer `initialize`: {why}"
            )));
        }
        let named = introduction.handshake.as_ref().and_then(|answer| answer.as_ref().ok());
        let named = named.and_then(|result| result["agentInfo"]["name"].as_str());
        if let (None, Some(name)) = (&self.profile, named) {
            name.clone_into(&mut agents.profile.agent);
        }
        self.written(&draft(&agents.profile, &introduction, &model_use(&agents)), context)
    }

    /// Writes the text of a profile to the file that `--out` names, or to standard output.
    fn written(&self, text: &str, context: &CliContext) -> CommandOutcome {
        match &self.out {
            Some(path) => {
                files::write(path, text)?;
                let path = path.display();
                context.say(&format!(
                    "{path}\nnext: ahp-harness certify --acp {path} --out certificate\n"
                ));
            }
            None => context.say(text),
        }
        Ok(CommandExit::Ok)
    }

    /// Makes the profile that the arguments describe.
    fn given(&self, command: &str) -> Result<AgentProfile, CommandStop> {
        let pair = |given: &String| {
            let (name, value) = given.split_once('=').ok_or_else(|| {
                CommandStop::usage(format!("expected NAME=VALUE at `--env`, found `{given}`"))
            })?;
            Ok((name.to_owned(), value.to_owned()))
        };
        Ok(AgentProfile {
            agent: "my-agent".to_owned(),
            command: ["sh", "-c", command].map(str::to_owned).to_vec(),
            env: self.env.iter().map(pair).collect::<Result<_, CommandStop>>()?,
            auth: self.auth.clone(),
            stimulus: AgentMode::Model,
            ..AgentProfile::default()
        })
    }
}

/// Summarises the agent's requests to the stand-in for its model. The list of tools is taken from the request with the
/// most tools.
fn model_use(agents: &AgentOutside) -> ModelUse {
    let Some(stand) = &agents.behind.stand else { return ModelUse::default() };
    let records: Vec<Value> =
        stand.records().iter().filter_map(|line| Value::read(line).ok()).collect();
    let asked = records.iter().filter(|record| record.get("family").is_some());
    let names = |record: &Value, member: &str| -> Vec<String> {
        let all = record[member].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let most = asked.clone().max_by_key(|record| names(record, "tools").len());
    ModelUse {
        requests: u64::try_from(asked.count()).unwrap_or_default(),
        tools: most.map(|record| names(record, "tools")).unwrap_or_default(),
        classes: most.map(|record| names(record, "classes")).unwrap_or_default(),
    }
}
