//! Formats the shell command that plays one scenario of a run again.
//!
//! Knows: the arguments of the run, from its header. Never knows: the types of the command line.
//!
//! Start at [`again`].

use super::cause::BreachPlace;
use super::event::RunHeader;

/// Returns the command that plays one scenario again with the options in this header. `provider` and `seed`
/// override the agent and seed of the header.
pub fn again(
    header: &RunHeader,
    scenario: &str,
    provider: Option<&str>,
    seed: Option<u64>,
) -> String {
    let seed = seed.unwrap_or(header.seed);
    let arguments = match &header.arguments[..] {
        [] => target_of(header),
        given => given.join(" "),
    };
    let arguments = if arguments.is_empty() { arguments } else { format!(" {arguments}") };
    let provider = provider.map(|it| format!(" --provider {}", quoted(it))).unwrap_or_default();
    let scenario = quoted(scenario);
    let command = command_of(header);
    format!("{command}{arguments}{provider} --profile all --seed {seed} --id {scenario}")
}

/// Returns the command that reproduces a breach in one place.
pub fn again_at(header: &RunHeader, place: &BreachPlace) -> String {
    again(header, &place.scenario, place.provider.as_deref(), None)
}

/// Returns the command that plays the whole run again.
pub fn whole(header: &RunHeader) -> String {
    let arguments = match &header.arguments[..] {
        [] => target_of(header),
        given => given.join(" "),
    };
    format!("{} {arguments} --profile all --seed {}", command_of(header), header.seed)
}

/// Returns the subcommand of the harness that plays scenarios with this kind of target.
fn command_of(header: &RunHeader) -> &'static str {
    if header.client { "ahp-harness client run" } else { "ahp-harness run" }
}

/// Returns the options for the target. A header from an older version may not contain all of them.
fn target_of(header: &RunHeader) -> String {
    let mut words = Vec::new();
    if ["ws://", "wss://"].iter().any(|scheme| header.target.raw().starts_with(scheme)) {
        words.push(format!("--url {}", quoted(header.target.raw())));
    }
    if let Some(provider) = &header.provider {
        words.push(format!("--provider {}", quoted(provider.raw())));
    }
    words.join(" ")
}

/// Quotes a word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted() {
        let header = RunHeader {
            seed: 7,
            arguments: ["--url", "ws://h:1", "--token", "\"$AHP_TOKEN\""].map(str::to_owned).into(),
            ..RunHeader::default()
        };
        assert_eq!(
            again(&header, "tools/confirmed-once", None, None),
            "ahp-harness run --url ws://h:1 --token \"$AHP_TOKEN\" --profile all --seed 7 --id tools/confirmed-once"
        );
        let old = RunHeader { target: "ws://h:1/a?b".into(), seed: 1, ..RunHeader::default() };
        assert_eq!(
            again(&old, "a/b", Some("x"), Some(2)),
            "ahp-harness run --url 'ws://h:1/a?b' --provider x --profile all --seed 2 --id a/b"
        );
    }

    #[test]
    fn every_word_is_quoted_for_the_shell() {
        assert_eq!(quoted("a'; rm -rf $HOME"), "'a'\\''; rm -rf $HOME'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("./host --port {port}"), "'./host --port {port}'");
    }
}
