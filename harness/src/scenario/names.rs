//! Checks the names of a scenario: which step binds each name, and whether every use comes after the binding.
//!
//! Knows: steps. Never knows: the meaning of names.
//!
//! Start at [`check`] and [`occurrences`].

use std::collections::HashSet;

use super::bind::{CHAT, FOLDER, SESSION, TextPiece};
use super::capability;
use super::parse::{AUTH, ParsedScenario, SERVER_URL, ScenarioStep, StepValue, WORK};
use super::pattern::PatternName;
use super::source::{ScenarioError, ScenarioErrorKind, SourceSpan, list};
use super::verbs::{HOST, StepVerb};
use crate::wire::version::ProtocolStandard;

/// An occurrence of a name in a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NameOccurrence<'a> {
    /// A use of the name. An earlier step must bind the name.
    Used(&'a str),
    /// A binding to a value that the step generates, such as a fresh identifier.
    Made(&'a str),
    /// A placeholder for a fresh identifier inside a pattern. This is a mistake, because a pattern cannot create an
    /// identifier.
    MadeInPattern(&'a str),
    /// A binding to a value that the host sends.
    Found(&'a str),
}

/// Calls `visit` for each name of a step, in the order of uses and bindings.
pub fn occurrences(step: &ScenarioStep, visit: &mut dyn FnMut(SourceSpan, NameOccurrence<'_>)) {
    if step.count("times").is_some() {
        visit(step.span, NameOccurrence::Made("count"));
    }
    if step.verb == StepVerb::Send {
        visit(step.span, NameOccurrence::Made("frame"));
    }
    let mut hole = |span: SourceSpan, piece: &TextPiece, pattern: bool| match piece {
        TextPiece::Use(name) | TextPiece::Expand(name, _) => {
            visit(span, NameOccurrence::Used(name))
        }
        // A pattern only compares a value with the message, so a fresh identifier makes no sense in a pattern.
        TextPiece::New(name) | TextPiece::NewChat(name, _) | TextPiece::NewPath(name)
            if pattern =>
        {
            visit(span, NameOccurrence::MadeInPattern(name));
        }
        TextPiece::New(name) => visit(span, NameOccurrence::Made(name)),
        TextPiece::NewPath(name) => {
            visit(span, NameOccurrence::Used(FOLDER));
            visit(span, NameOccurrence::Made(name));
        }
        TextPiece::NewChat(name, session) => {
            // The default session does not have to be bound: if the session is unknown, the chat gets the URI form of
            // the specification, `ahp-chat:/<id>`.
            if session != SESSION {
                visit(span, NameOccurrence::Used(session));
            }
            visit(span, NameOccurrence::Made(name));
        }
        TextPiece::Plain(_) | TextPiece::Long(_) | TextPiece::Now => {}
    };
    let mut found = Vec::new();
    for (_, _, given) in &step.members {
        match given {
            StepValue::Template(template) => {
                template.holes(&mut |span, piece| hole(span, piece, false));
            }
            StepValue::Pattern(pattern) => pattern.names(&mut |span, name| match name {
                PatternName::Hole(piece) => hole(span, piece, true),
                PatternName::Bound(name) => found.push((span, name.to_owned())),
            }),
            _ => {}
        }
    }
    for member in ["before", "after"] {
        if let Some(name) = step.text(member) {
            visit(step.place(member), NameOccurrence::Used(name));
        }
    }
    for (span, name) in &found {
        visit(*span, NameOccurrence::Found(name));
    }
    if step.verb == StepVerb::Open {
        visit(step.span, NameOccurrence::Made(step.text("session").unwrap_or(SESSION)));
        visit(step.span, NameOccurrence::Found(step.text("chat").unwrap_or(CHAT)));
    }
    if let Some(name) = step.text("as") {
        // The identifier of a dispatch or a prompt is known as soon as the client sends it, so the name is bound before
        // any answer arrives.
        let own =
            matches!(step.verb, StepVerb::Dispatch | StepVerb::Prompt) || step.flag("unawaited");
        visit(
            step.span,
            if own { NameOccurrence::Made(name) } else { NameOccurrence::Found(name) },
        );
    }
}

/// Checks the steps in order and reports names that are used before they are bound.
pub(super) fn check(scenario: &ParsedScenario, errors: &mut Vec<ScenarioError>) {
    let mut bound: HashSet<String> = ["version".to_owned()].into();
    let host = scenario.tested.as_ref().map(|_| HOST);
    for client in scenario.clients.iter().map(String::as_str).chain(host) {
        bound.insert(format!("{client}.id"));
        bound.insert(format!("{client}.seq"));
        bound.insert(format!("{client}.files"));
    }
    if scenario.spec.standard() == ProtocolStandard::Acp {
        bound.insert(WORK.to_owned());
        bound.insert(AUTH.to_owned());
        bound.insert(SERVER_URL.to_owned());
    }
    bound.extend(scenario.needs.iter().flat_map(|name| capability::bound(name)));
    for step in &scenario.steps {
        // A name that a pattern binds may occur again later in the same pattern.
        let mut in_step = HashSet::new();
        occurrences(step, &mut |_, occurrence| {
            if let NameOccurrence::Found(name) = occurrence {
                in_step.insert(name.to_owned());
            }
        });
        occurrences(step, &mut |span, occurrence| match occurrence {
            NameOccurrence::Used(name) if !bound.contains(name) && !in_step.contains(name) => {
                let mut names: Vec<_> = bound.iter().map(String::as_str).collect();
                names.sort_unstable();
                let bound = list(&names);
                let kind = ScenarioErrorKind::Unbound { name: name.to_owned(), bound };
                errors.push(ScenarioError { span, kind });
            }
            NameOccurrence::Used(_) => {}
            NameOccurrence::MadeInPattern(name) => {
                let kind = ScenarioErrorKind::MintedInPattern { name: name.to_owned() };
                errors.push(ScenarioError { span, kind });
            }
            NameOccurrence::Made(name) | NameOccurrence::Found(name) => {
                bound.insert(name.to_owned());
            }
        });
    }
}
