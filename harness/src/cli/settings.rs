//! Reads `ahp-harness.toml`, a file with options that users would otherwise repeat on each command line.
//!
//! A section has the name of a command, and its members are the long options of that command. An option on the
//! command line takes precedence, and so does another option that names the target. The section `run` also
//! applies to `certify`.
//!
//! Start at [`with_settings`].

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use toml::{Table, Value};

use crate::scenario::source::closest;

use super::files;

/// The name of the file, in the working folder.
const FILE: &str = "ahp-harness.toml";

/// The options that name a target. Two of these options on one command line are a mistake.
const TARGET: [&str; 4] = ["url", "command", "loopback", "acp"];

/// Returns the arguments, preceded by the arguments from the file.
///
/// # Errors
/// Returns an error that says what is wrong with the file, and where.
pub(super) fn with_settings(
    arguments: Vec<OsString>,
    program: &Command,
) -> Result<Vec<OsString>, String> {
    let Some(text) = files::text_if_any(Path::new(FILE), files::MAX_TEXT)? else {
        return Ok(arguments);
    };
    merged(arguments, &text, program)
}

fn merged(
    mut arguments: Vec<OsString>,
    text: &str,
    program: &Command,
) -> Result<Vec<OsString>, String> {
    let settings: Table = text
        .parse()
        .map_err(|error: toml::de::Error| format!("{FILE}: {}", error.to_string().trim_end()))?;
    for (section, members) in &settings {
        checked(section, members, program)?;
    }
    let Some(command) = arguments.get(1).and_then(|name| name.to_str()).map(str::to_owned) else {
        return Ok(arguments);
    };
    let sections: &[&str] = match command.as_str() {
        "certify" => &["certify", "run"],
        other => &[other],
    };
    let given = |name: &str| {
        arguments.iter().skip(2).filter_map(|word| word.to_str()).any(|word| {
            let word = word.strip_prefix("--").unwrap_or_default();
            word == name || word.split_once('=').is_some_and(|(before, _)| before == name)
        })
    };
    let aimed = TARGET.iter().any(|name| given(name));
    let mut words: Vec<OsString> = Vec::new();
    let mut taken: Vec<&str> = Vec::new();
    for section in sections {
        let Some(members) = settings.get(*section).and_then(Value::as_table) else { continue };
        for (name, value) in members {
            if given(name)
                || taken.contains(&name.as_str())
                || aimed && TARGET.contains(&name.as_str())
            {
                continue;
            }
            taken.push(name);
            words.extend(option(name, value)?.into_iter().map(OsString::from));
        }
    }
    arguments.splice(2..2, words);
    Ok(arguments)
}

/// Checks that a section has the name of a command and that its members are options of that command.
fn checked(section: &str, members: &Value, program: &Command) -> Result<(), String> {
    let Some(command) = program.find_subcommand(section) else {
        let names = program.get_subcommands().map(Command::get_name);
        return Err(format!("{FILE}: there is no command `{section}`{}", hint(section, names)));
    };
    let Some(members) = members.as_table() else {
        return Err(format!("{FILE}: expected a section `[{section}]` with options"));
    };
    let names: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
    match members.keys().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(format!(
            "{FILE}: `{section}` has no option `{name}`{}",
            hint(name, names.iter().copied())
        )),
        None => Ok(()),
    }
}

fn hint<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    closest(name, names)
        .map(|close| format!(" (hint: did you mean `{close}`?)"))
        .unwrap_or_default()
}

/// Returns the words of one option: several words for a list, none for `false`.
fn option(name: &str, value: &Value) -> Result<Vec<String>, String> {
    Ok(match value {
        Value::Boolean(true) => vec![format!("--{name}")],
        Value::Boolean(false) => Vec::new(),
        Value::String(text) => vec![format!("--{name}={text}")],
        Value::Integer(number) => vec![format!("--{name}={number}")],
        Value::Array(items) => {
            let words: Result<Vec<_>, String> =
                items.iter().map(|item| option(name, item)).collect();
            words?.concat()
        }
        other => {
            return Err(format!(
                "{FILE}: `{name}`: expected a text, a number, true, false or a list, found {}",
                other.type_str()
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    fn program() -> Command {
        let options = |command: Command| {
            command.args(["url", "command", "timeout", "id"].map(|name| Arg::new(name).long(name)))
        };
        let certify = options(Command::new("certify")).arg(Arg::new("out").long("out"));
        Command::new("x").subcommands([options(Command::new("run")), certify, Command::new("list")])
    }

    fn check(line: &str, text: &str, expected: &str) {
        let words = line.split(' ').map(OsString::from).collect();
        let found = match merged(words, text, &program()) {
            Ok(words) => words.join(" ".as_ref()).into_string().unwrap(),
            Err(error) => error,
        };
        assert_eq!(found, expected, "{line} with {text}");
    }

    #[test]
    fn the_command_line_overrides_the_settings_file() {
        let text = "[run]\nurl = \"ws://h\"\ntimeout = \"5s\"\nid = [\"a\", \"b\"]\n[certify]\nout = \"o\"";
        check("x run", text, "x run --id=a --id=b --timeout=5s --url=ws://h");
        check("x run --command y --id=c", text, "x run --timeout=5s --command y --id=c");
        check("x certify", text, "x certify --out=o --id=a --id=b --timeout=5s --url=ws://h");
        check("x list", text, "x list");
        check("x", text, "x");
    }

    #[test]
    fn a_mistake_in_the_settings_file_is_named() {
        check(
            "x run",
            "[run]\ntimeuot = 1",
            "ahp-harness.toml: `run` has no option `timeuot` (hint: did you mean `timeout`?)",
        );
        check(
            "x run",
            "[rum]\n",
            "ahp-harness.toml: there is no command `rum` (hint: did you mean `run`?)",
        );
        check(
            "x run",
            "[run]\nurl = 1.5",
            "ahp-harness.toml: `url`: expected a text, a number, true, false or a list, found float",
        );
    }
}
