//! The profiles of known agents that `agent profile --recipe` writes.
//!
//! Start at [`recipe`].

use crate::scenario::source::did_you_mean;

use super::exit::CommandStop;

/// The names of known agents, and their profiles. A comment at the top of a profile says how the agent is
/// installed.
const RECIPES: &[(&str, &str)] = &[
    ("claude", include_str!("../../examples/agents/claude.yaml")),
    ("codex", include_str!("../../examples/agents/codex.yaml")),
    ("fast-agent", include_str!("../../examples/agents/fast-agent.yaml")),
    ("gemini", include_str!("../../examples/agents/gemini.yaml")),
    ("opencode", include_str!("../../examples/agents/opencode.yaml")),
    ("py-echo", include_str!("../../examples/agents/py-echo.yaml")),
    ("py-sdk", include_str!("../../examples/agents/py-sdk.yaml")),
    ("qwen", include_str!("../../examples/agents/qwen.yaml")),
    ("ts-sdk", include_str!("../../examples/agents/ts-sdk.yaml")),
    ("vibe", include_str!("../../examples/agents/vibe.yaml")),
];

/// Returns the profile of a known agent.
///
/// # Errors
/// Returns an error with the names of the known agents if the name is unknown.
pub(super) fn recipe(name: &str) -> Result<&'static str, CommandStop> {
    let found = RECIPES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text).ok_or_else(|| {
        let names: Vec<&str> = RECIPES.iter().map(|(known, _)| *known).collect();
        let (all, hint) = (names.join(", "), did_you_mean(name, &names));
        CommandStop::usage(format!("there is no recipe `{name}` ({hint}; the recipes: {all})"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::profile::AgentProfile;

    #[test]
    fn each_recipe_is_a_profile_that_says_how_to_install_its_agent() {
        for (name, text) in RECIPES {
            assert!(AgentProfile::parse(name, text).is_ok(), "{name}");
            assert!(text.starts_with("# ") && text.contains("nstall"), "{name}");
            assert!(text.contains("{profile}/"), "{name} has to find the agent beside the profile");
        }
    }

    #[test]
    fn an_unknown_recipe_lists_the_known_ones() {
        let said = recipe("claud").unwrap_err().message;
        assert!(said.contains("claude") && said.contains("vibe"), "{said}");
    }
}
