//! The ways of being the agent, and what each can do of a script.
//!
//! What a way cannot do is known before the run: a scenario that needs it is skipped with the reason.
//!
//! Knows: scripts. Never knows: hosts.
//!
//! Start at [`Mode::cannot`].

use serde::{Deserialize, Serialize};

use super::script::{Script, ScriptStep, ToolStep};

/// Who plays the agent behind the host.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The host itself, which understands scripts: the reference host's agent, or a test provider that
    /// keeps the contract.
    #[default]
    Host,
    /// The host's own agent, which asks our stand-in for its model.
    Model,
}

impl Mode {
    /// Why this mode cannot play a script; `None` where it can.
    pub fn cannot(self, script: &Script) -> Option<&'static str> {
        let limits = match self {
            Mode::Host => return None,
            Mode::Model => MODEL,
        };
        let steps = || script.steps.iter();
        limits.iter().find(|limit| steps().any(|step| (limit.needs)(step))).map(|limit| limit.why)
    }
}

/// Something that a mode cannot do.
struct Limit {
    needs: fn(&ScriptStep) -> bool,
    why: &'static str,
}

/// What a model cannot bring about in the agent that asks it.
const MODEL: &[Limit] = &[
    Limit {
        needs: |step| matches!(step, ScriptStep::Title(_)),
        why: "a model cannot rename a session",
    },
    Limit {
        needs: |step| matches!(step, ScriptStep::Fail { resumable: true, .. }),
        why: "a model cannot say that a turn may be resumed",
    },
    Limit {
        needs: |step| tools(step).any(|tool| tool.confirm_result || tool.reconfirm),
        why: "a model cannot make its agent ask for a result, or ask again",
    },
    Limit {
        needs: |step| tools(step).any(|tool| tool.deny_ends_turn),
        why: "whether a denial ends the turn is the agent's own affair",
    },
];

/// The calls of a step.
fn tools(step: &ScriptStep) -> impl Iterator<Item = &ToolStep> {
    let calls = match step {
        ScriptStep::Tool(call) => std::slice::from_ref(call),
        ScriptStep::Parallel(calls) => calls,
        _ => &[],
    };
    calls.iter()
}

#[cfg(test)]
mod tests {
    use super::super::script::{HEADER, find};
    use super::*;

    #[test]
    fn a_model_plays_what_a_model_can() {
        let check = |line: &str, can: bool| {
            let script = find(&format!("{HEADER}\n{line}")).unwrap().unwrap();
            assert_eq!(Mode::Model.cannot(&script).is_none(), can, "{line}");
            assert_eq!(Mode::Host.cannot(&script), None, "{line}");
        };
        check("say a\ntool read x confirm fails\nhold x\nfail rate-limit", true);
        check("say a\ntitle b", false);
        check("fail rate-limit resumable", false);
        check("tool shell ls reconfirm", false);
        check("parallel\ntool shell ls\ntool read x confirm-result\nend", false);
        check("tool shell x deny-ends-turn", false);
    }
}
