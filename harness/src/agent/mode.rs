//! The implementations of the agent, and the script steps that each can play.
//!
//! The limits of an implementation are known before the run: a scenario that exceeds them is skipped with a
//! reason. For its own agent, a host declares which optional steps it can play.
//!
//! Knows: scripts. Never knows: hosts.
//!
//! Start at [`AgentMode::cannot`].

use serde::{Deserialize, Serialize};

use super::script::{AgentScript, AskKind, ScriptStep, ToolClass, ToolStep};

/// The party that plays the agent behind the host.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentMode {
    /// The host itself, which parses scripts: the reference host's agent, or a test provider that follows the
    /// contract.
    #[default]
    Host,
    /// The host's own agent, with the harness's stand-in as its model.
    Model,
    /// The harness's agent, which the host starts and with which it communicates over ACP.
    Acp,
    /// An agent under test, whose behaviour does not depend on a script.
    Fixed,
}

impl AgentMode {
    /// Returns why this mode cannot play a script; `None` if it can.
    pub fn cannot(self, script: &AgentScript) -> Option<&'static str> {
        let limits = match self {
            // The host declares the optional steps that its agent can play, see `AgentScript::extras`.
            AgentMode::Host | AgentMode::Fixed => return None,
            AgentMode::Model => MODEL,
            AgentMode::Acp => ACP,
        };
        let steps = || script.steps.iter();
        limits.iter().find(|limit| steps().any(|step| (limit.needs)(step))).map(|limit| limit.why)
    }
}

/// A kind of step that a mode cannot play, with the reason.
struct ModeLimit {
    needs: fn(&ScriptStep) -> bool,
    why: &'static str,
}

/// The steps that an agent cannot play if only its model is replaced.
const MODEL: &[ModeLimit] = &[
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Title(_)),
        why: "a model cannot rename a session",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Fail { resumable: true, .. }),
        why: "a model cannot say that a turn may be resumed",
    },
    ModeLimit {
        needs: |step| tools(step).any(|tool| tool.confirm_result || tool.reconfirm),
        why: "a model cannot make its agent ask for approval of a result, or ask a second time",
    },
    ModeLimit {
        needs: |step| tools(step).any(|tool| tool.deny_ends_turn),
        why: "the agent itself decides whether a denial ends the turn",
    },
    ModeLimit {
        needs: |step| match step {
            ScriptStep::Ask { kind, .. } => !matches!(kind, AskKind::Text | AskKind::SingleSelect),
            _ => false,
        },
        why: "the agent's own tool decides which kinds of questions exist",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Activity(_)),
        why: "a model does not control the activity that its agent shows",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Background { .. }),
        why: "the agent's own tool decides whether a command continues in the background",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Canvas { .. }),
        why: "a model has no canvases",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Crash),
        why: "a model cannot crash the agent that sends it requests",
    },
    ModeLimit {
        needs: |step| tools(step).any(|tool| tool.by_reference),
        why: "a model does not control how the input of a call is shown",
    },
    ModeLimit {
        needs: |step| tools(step).any(|tool| tool.auth),
        why: "a model does not control what an MCP server requires",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Act { .. }),
        why: "a model cannot send messages of the protocol between host and client",
    },
];

/// The steps that an agent cannot play in version 1 of the Agent Client Protocol.
const ACP: &[ModeLimit] = &[
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Ask { .. }),
        why: "an ACP agent can ask the user only for permission",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Usage { .. }),
        why: "an ACP agent reports how full its context is, but not the usage of a turn",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Fail { resumable: true, .. }),
        why: "an ACP agent cannot say that a turn may be resumed",
    },
    ModeLimit {
        needs: |step| tools(step).any(|tool| tool.confirm_result || tool.reconfirm),
        why: "an ACP agent asks before a tool runs, but not during the run or afterwards",
    },
    ModeLimit {
        needs: |step| tools(step).any(|tool| tool.editable),
        why: "the answer to a permission request of ACP cannot contain another input",
    },
    ModeLimit {
        needs: |step| tools(step).any(|tool| matches!(tool.class, ToolClass::Client(_))),
        why: "an ACP agent does not know the tools of the host's clients",
    },
    ModeLimit {
        needs: |step| tools(step).any(|tool| matches!(tool.class, ToolClass::Mcp(_))),
        why: "the scripted ACP agent starts no MCP servers",
    },
    ModeLimit {
        needs: |step| tools(step).any(|tool| tool.class == ToolClass::Worker),
        why: "an ACP agent cannot report that another agent works for it",
    },
    ModeLimit {
        needs: |step| tools(step).any(|tool| tool.by_reference),
        why: "an ACP agent shows the input of a call itself",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Activity(_)),
        why: "an ACP agent can report its activity only by its tool calls",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Background { .. }),
        why: "an ACP agent cannot report that a command continues in the background",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Canvas { .. }),
        why: "an ACP agent has no canvases",
    },
    ModeLimit {
        needs: |step| matches!(step, ScriptStep::Act { .. }),
        why: "an ACP agent cannot send messages of the protocol between host and client",
    },
];

/// Returns the tool calls of a step.
fn tools(step: &ScriptStep) -> impl Iterator<Item = &ToolStep> {
    step.calls().iter()
}

#[cfg(test)]
mod tests {
    use super::super::script::{HEADER, find};
    use super::*;

    #[test]
    fn a_model_plays_what_a_model_can() {
        let check = |line: &str, can: bool| {
            let script = find(&format!("{HEADER}\n{line}")).unwrap().unwrap();
            assert_eq!(AgentMode::Model.cannot(&script).is_none(), can, "{line}");
            assert_eq!(AgentMode::Host.cannot(&script), None, "{line}");
        };
        check("say a\ntool read x confirm fails\nhold x\nfail rate-limit", true);
        check("say a\ntitle b", false);
        check("fail rate-limit resumable", false);
        check("tool shell ls reconfirm", false);
        check("parallel\ntool shell ls\ntool read x confirm-result\nend", false);
        check("tool shell x deny-ends-turn", false);
        check("ask Q a b", true);
        check("ask-number Q", false);
        check("ask-multi-select Q a b", false);
        check("recall a\ntool worker b", true);
        check("activity a", false);
        check("background ls 1s", false);
        check("canvas a", false);
        check("crash", false);
        check("tool shell ls confirm by-reference", false);
    }

    #[test]
    fn an_acp_agent_plays_what_its_protocol_can_say() {
        let check = |line: &str, can: bool| {
            let script = find(&format!("{HEADER}\n{line}")).unwrap().unwrap();
            assert_eq!(AgentMode::Acp.cannot(&script).is_none(), can, "{line}");
        };
        check("say a\ntool read x confirm fails\nhold x\nfail rate-limit", true);
        check("title b\ntool shell x deny-ends-turn\nthink c\nendless", true);
        check("ask a", false);
        check("usage 1 2", false);
        check("fail rate-limit resumable", false);
        check("tool shell ls reconfirm", false);
        check("parallel\ntool shell ls\ntool client x y\nend", false);
        check("tool mcp x y", false);
        check("tool shell x confirm editable", false);
        check("recall a\ncrash", true);
        check("tool worker a", false);
        check("tool shell x confirm by-reference", false);
        check("activity a", false);
        check("background ls 1s", false);
        check("canvas a", false);
    }
}
