//! The command that plays one scenario of a run again, ready to paste into a shell.
//!
//! Knows: what the run was started with, as its header has it. Never knows: the command line's own types.
//!
//! Start at [`again`].

use super::cause::BreachPlace;
use super::event::RunHeader;

/// The command that plays one scenario again, as it was in the run of this header; `provider` is the agent that it was played
/// with, and `seed` its seed, where these are not the header's.
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
    format!("ahp-harness run{arguments}{provider} --profile all --seed {seed} --id {scenario}")
}

/// The command that shows a breach again, where it was seen.
pub fn again_at(header: &RunHeader, place: &BreachPlace) -> String {
    again(header, &place.scenario, place.provider.as_deref(), None)
}

/// The command that plays the whole run again.
pub fn whole(header: &RunHeader) -> String {
    let arguments = match &header.arguments[..] {
        [] => target_of(header),
        given => given.join(" "),
    };
    format!("ahp-harness run {arguments} --profile all --seed {}", header.seed)
}

/// What can be said of the target where an older version wrote the file.
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

/// A word as a shell takes it.
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
    fn no_word_is_more_than_a_word() {
        assert_eq!(quoted("a'; rm -rf $HOME"), "'a'\\''; rm -rf $HOME'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("./host --port {port}"), "'./host --port {port}'");
    }
}
