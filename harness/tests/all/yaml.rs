//! Property tests of the scenario language as text: a scenario in YAML and the same scenario in JSON are equal,
//! including their mistakes; no input makes the loader panic; and every mistake has a place in its file.

use ahp_harness::run::suite::{CARRIED, CarriedFiles};
use ahp_harness::scenario::load::{LoadedFile, load};
use ahp_harness::scenario::pattern::OPERATORS;
use ahp_harness::scenario::render;
use ahp_harness::scenario::verbs::{FormField, MemberForm, SCENARIO, VERBS};
use ahp_harness::wire::json::{Map, Text, Value, json};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::common::cases::cases;

/// Words with a meaning in YAML or in the scenario language, and some words without a meaning.
const WORDS: &[&str] = &[
    "A",
    "B",
    "Z",
    "a/b",
    "t1",
    "${chat}",
    "${tc}",
    "${new u}",
    "${now}",
    "x-${A.seq}",
    "$$",
    "$",
    "$bind tc",
    "$absent",
    "$present",
    "$type string",
    "$matches .+",
    "$matches (",
    "$nonsense",
    "250ms",
    "2s",
    "5",
    "1.0",
    ">=0.9.0",
    "core",
    "chat/delta",
    "yes",
    "null",
    "true",
    "~",
    "",
    "- a",
    "a: b",
    "#c",
    "é\u{1f600}",
    "a\nb",
    "tab\t",
    "\"quoted\"",
    "it's",
    "{",
    "[x]",
    "&a",
    "!t",
    "0x1F",
    "1e3",
    "say a",
    "include.yaml",
    " lead",
    "trail ",
    "a #b",
    "---",
    "\u{0}",
    "\u{85}",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![12 => select(WORDS).prop_map(str::to_owned), 1 => any::<String>()]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => word().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => (-3..2_000_i64).prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
    ]
}

/// Generates a template or a pattern.
fn value() -> impl Strategy<Value = Value> {
    let names: Vec<&str> = OPERATORS.iter().map(|operator| operator.name).collect();
    scalar().prop_recursive(3, 12, 3, move |inner| {
        let key = prop_oneof![word(), Just("type".to_owned()), Just("action".to_owned())];
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((key, inner.clone()), 0..3)
                .prop_map(|members| members.into_iter().collect::<Map>().into()),
            (select(names.clone()), inner).prop_map(|(name, inner)| json!({name: inner})),
        ]
    })
}

fn given(form: MemberForm) -> BoxedStrategy<Value> {
    let client = || select(&["A", "B", "B", "Z"][..]).prop_map(Value::from);
    let fitting = match form {
        MemberForm::Client => client().boxed(),
        MemberForm::Clients => {
            prop_oneof![client(), vec(client(), 0..3).prop_map(Value::from)].boxed()
        }
        MemberForm::Texts => vec(word(), 0..3).prop_map(Value::from).boxed(),
        MemberForm::Requirements => {
            prop_oneof![word().prop_map(Value::from), vec(word(), 0..3).prop_map(Value::from)]
                .boxed()
        }
        MemberForm::Binds | MemberForm::Text | MemberForm::ActionType | MemberForm::Method => {
            word().prop_map(Value::from).boxed()
        }
        MemberForm::Flag => any::<bool>().prop_map(Value::from).boxed(),
        MemberForm::Duration => {
            select(&["250ms", "2s", "1m", "5", "x"][..]).prop_map(Value::from).boxed()
        }
        MemberForm::Count => (0..9_u64).prop_map(Value::from).boxed(),
        MemberForm::Settings => {
            (0..9_u64).prop_map(|count| json!({"replayCapacity": count})).boxed()
        }
        MemberForm::OneOf(words) => select(words).prop_map(Value::from).boxed(),
        MemberForm::Template
        | MemberForm::Action
        | MemberForm::Pattern
        | MemberForm::Steps
        | MemberForm::Values => value().boxed(),
    };
    prop_oneof![9 => fitting, 1 => value()].boxed()
}

/// Generates values for the members in a table: usually for required members, rarely for optional ones.
fn members(fields: &'static [FormField]) -> BoxedStrategy<Value> {
    let mut all = Just(Map::new()).boxed();
    for field in fields {
        let chance = if field.required { 0.95 } else { 0.3 };
        let member = proptest::option::weighted(chance, given(field.form));
        all = (all, member)
            .prop_map(|(mut members, value)| {
                value.map(|value| members.insert(field.name.to_owned(), value));
                members
            })
            .boxed();
    }
    let stray = proptest::option::weighted(0.05, (word(), scalar()));
    (all, stray)
        .prop_map(|(mut members, stray)| {
            members.extend(stray);
            Value::Object(members)
        })
        .boxed()
}

fn step() -> impl Strategy<Value = Value> {
    let verbs = VERBS.iter().map(|row| {
        let short = row.short.and_then(|name| row.fields.iter().find(|f| f.name == name));
        let long = members(row.fields).boxed();
        let value = match short {
            Some(field) => prop_oneof![2 => long, 1 => given(field.form)].boxed(),
            None => long,
        };
        value.prop_map(|value| json!({(row.name): value})).boxed()
    });
    let verbs: Vec<BoxedStrategy<Value>> = verbs.collect();
    prop_oneof![30 => proptest::strategy::Union::new(verbs), 1 => value()]
}

fn scenario() -> impl Strategy<Value = Value> {
    let header = members(SCENARIO);
    (header, vec(step(), 0..6), any::<bool>()).prop_map(|(mut header, steps, sound)| {
        header["steps"] = Value::from(steps);
        if sound {
            header["scenario"] = json!("a/b");
            header["clients"] = json!(["A", "B"]);
        }
        header
    })
}

/// A value of `flow` that is deeper than any file.
const FLOW: usize = 1_000;

/// The style of a YAML file.
#[derive(Clone, Debug)]
struct YamlStyle {
    indent: usize,
    plain: bool,
    single: bool,
    /// The depth at which flow style begins.
    flow: usize,
}

fn style() -> impl Strategy<Value = YamlStyle> {
    (1..5_usize, any::<bool>(), any::<bool>(), 1..9_usize)
        .prop_map(|(indent, plain, single, flow)| YamlStyle { indent, plain, single, flow })
}

impl YamlStyle {
    fn text(&self, text: &str) -> String {
        let word = |c: char| c.is_ascii_alphanumeric() || "/-.".contains(c);
        let taken = ["yes", "no", "on", "off", "y", "n", "true", "false", "null"];
        let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(word)
            && !taken.contains(&text.to_ascii_lowercase().as_str());
        if self.plain && plain {
            return text.to_owned();
        }
        if self.single && text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
            return format!("'{}'", text.replace('\'', "''"));
        }
        // A JSON string is a double-quoted YAML string, but YAML also requires escapes for these characters.
        let mut quoted = String::new();
        for c in Value::from(text).to_string().chars() {
            match c {
                '\u{7f}'..='\u{9f}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{feff}'
                | '\u{fffe}'
                | '\u{ffff}' => {
                    quoted.push_str(&format!("\\u{:04x}", c as u32));
                }
                c => quoted.push(c),
            }
        }
        quoted
    }

    fn write(&self, value: &Value, depth: usize, out: &mut String) {
        let pad = " ".repeat(self.indent * depth.min(self.flow));
        match value {
            Value::Object(members) if !members.is_empty() && depth < self.flow => {
                for (name, value) in members {
                    out.push_str(&format!("\n{pad}{}:", self.text(name)));
                    self.inside(value, depth, out);
                }
            }
            Value::Array(items) if !items.is_empty() && depth < self.flow => {
                for item in items {
                    out.push_str(&format!("\n{pad}-"));
                    self.inside(item, depth, out);
                }
            }
            Value::Object(members) => {
                let member = |(name, value): (&Text, &Value)| {
                    let mut text = format!("{}: ", self.text(name));
                    self.write(value, FLOW, &mut text);
                    text
                };
                let all: Vec<String> = members.iter().map(member).collect();
                out.push_str(&format!("{{{}}}", all.join(", ")));
            }
            Value::Array(items) => {
                let item = |value: &Value| {
                    let mut text = String::new();
                    self.write(value, FLOW, &mut text);
                    text
                };
                let all: Vec<String> = items.iter().map(item).collect();
                out.push_str(&format!("[{}]", all.join(", ")));
            }
            Value::String(text) => out.push_str(&self.text(text)),
            other => out.push_str(&other.to_string()),
        }
    }

    fn inside(&self, value: &Value, depth: usize, out: &mut String) {
        out.push(' ');
        self.write(value, depth + 1, out);
    }

    fn file(&self, value: &Value) -> String {
        let mut out = String::new();
        self.write(value, 0, &mut out);
        out.trim_start_matches('\n').to_owned() + "\n"
    }
}

/// Returns everything in a file that does not depend on its style.
fn meaning(loaded: &LoadedFile) -> (Vec<String>, Option<String>) {
    let mut errors: Vec<String> = loaded.errors.iter().map(ToString::to_string).collect();
    errors.sort();
    let scenario = loaded.scenario.as_ref().map(|scenario| {
        let header = format!(
            "{:?}",
            (
                (&scenario.id, &scenario.title, &scenario.proves, &scenario.spec),
                (&scenario.profile, &scenario.tags, &scenario.agent, &scenario.clients),
                (&scenario.host, scenario.aggressive, scenario.within),
            )
        );
        header + "\n" + &render::text(scenario)
    });
    (errors, scenario)
}

/// Checks that any input results in a scenario, a fragment or a mistake, and that the place of every mistake is within
/// the file.
fn check_sound(loaded: &LoadedFile) -> Result<(), TestCaseError> {
    let nothing = loaded.scenario.is_none() && !loaded.fragment && loaded.errors.is_empty();
    prop_assert!(!nothing, "the file has neither a scenario nor a mistake");
    for error in &loaded.errors {
        let source = loaded.sources.get(error.span.file as usize);
        let source = source.ok_or_else(|| TestCaseError::fail("the mistake has no file"))?;
        let text = source.text.get(error.span.start as usize..error.span.end as usize);
        prop_assert!(text.is_some(), "{:?} of {}: {}", error.span, source.text.len(), error);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(700))]

    #[test]
    fn means_the_same_in_yaml_and_in_json(value in scenario(), style in style()) {
        let yaml = load("x/a/b.yaml", &style.file(&value), &CarriedFiles);
        let json = load("x/a/b.json", &value.to_string(), &CarriedFiles);
        let pretty = load("x/a/b.json", &format!("{value:#}"), &CarriedFiles);
        for loaded in [&yaml, &json, &pretty] {
            check_sound(loaded)?;
        }
        let (errors, scenario) = meaning(&json);
        prop_assert_eq!(meaning(&pretty), (errors.clone(), scenario.clone()));
        prop_assert_eq!(meaning(&yaml), (errors, scenario), "{}", style.file(&value));
    }

    #[test]
    fn reading_any_text_does_not_panic(
        text in prop_oneof![
            any::<String>(),
            vec(any::<u8>(), 0..80).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            vec((select(WORDS), select(&["\n", ": ", "- ", " ", "\n  ", ", "][..])), 0..30)
                .prop_map(|words| words.iter().map(|(word, glue)| format!("{word}{glue}")).collect()),
        ],
    ) {
        check_sound(&load("x/a/b.yaml", &text, &CarriedFiles))?;
    }

    #[test]
    fn reading_a_damaged_file_does_not_panic(
        which in any::<Index>(),
        changes in vec((any::<Index>(), 0..6_u8, any::<Index>(), word()), 1..5),
    ) {
        let (path, text) = which.get(CARRIED);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (line, how, place, word) in changes {
            if lines.is_empty() {
                break;
            }
            let at = line.index(lines.len());
            let tokens: Vec<&str> = lines[at].split(' ').collect();
            let token = place.index(tokens.len());
            let with = |token_at: &[&str]| [&tokens[..token], token_at, &tokens[token + 1..]].concat().join(" ");
            let changed = match how {
                0 => None,
                1 => Some(format!("{0}\n{0}", lines[at])),
                2 => Some(lines[place.index(lines.len())].clone()),
                3 => Some(with(&[])),
                4 => Some(with(&[tokens[token], tokens[token]])),
                _ => Some(with(&[&word])),
            };
            match changed {
                Some(changed) => lines[at] = changed,
                None => drop(lines.remove(at)),
            }
        }
        check_sound(&load(path, &lines.join("\n"), &CarriedFiles))?;
    }
}

#[test]
fn embedded_files_are_valid() {
    assert!(!CARRIED.is_empty());
    for (path, text) in CARRIED {
        let loaded = load(path, text, &CarriedFiles);
        check_sound(&loaded).unwrap();
        assert_eq!(meaning(&loaded).0, Vec::<String>::new(), "{path}");
    }
}
