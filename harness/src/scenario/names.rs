//! Names of a scenario: what is bound when, and whether every use comes after it.
//!
//! Knows: steps. Never knows: what a name stands for.
//!
//! Start at [`check`] and [`occurrences`].

use std::collections::HashSet;

use super::bind::{CHAT, FOLDER, Piece, SESSION};
use super::capability;
use super::parse::{AUTH, Given, Scenario, Step, WORK};
use super::pattern::Name;
use super::source::{ScenarioError, ScenarioErrorKind, Span, list};
use super::verbs::Verb;
use crate::wire::version::Standard;

/// How a name occurs in a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Occurrence<'a> {
    /// It has to be bound already.
    Used(&'a str),
    /// The step binds it to something that it makes itself, such as a fresh id.
    Made(&'a str),
    /// A pattern asks for a fresh id, which is a mistake.
    MadeInPattern(&'a str),
    /// The step binds it to something that the host sends.
    Found(&'a str),
}

/// Calls `visit` for each name of a step, in the order in which they are used and bound.
pub fn occurrences(step: &Step, visit: &mut dyn FnMut(Span, Occurrence<'_>)) {
    if step.count("times").is_some() {
        visit(step.span, Occurrence::Made("count"));
    }
    if step.verb == Verb::Send {
        visit(step.span, Occurrence::Made("frame"));
    }
    let mut hole = |span: Span, piece: &Piece, pattern: bool| match piece {
        Piece::Use(name) | Piece::Expand(name, _) => visit(span, Occurrence::Used(name)),
        // A pattern is held against what came: there is nothing to mint an id for.
        Piece::New(name) | Piece::NewChat(name, _) | Piece::NewPath(name) if pattern => {
            visit(span, Occurrence::MadeInPattern(name));
        }
        Piece::New(name) => visit(span, Occurrence::Made(name)),
        Piece::NewPath(name) => {
            visit(span, Occurrence::Used(FOLDER));
            visit(span, Occurrence::Made(name));
        }
        Piece::NewChat(name, session) => {
            // The session that a step opens need not be there: the form that the protocol shows needs none.
            if session != SESSION {
                visit(span, Occurrence::Used(session));
            }
            visit(span, Occurrence::Made(name));
        }
        Piece::Plain(_) | Piece::Long(_) | Piece::Now => {}
    };
    let mut found = Vec::new();
    for (_, _, given) in &step.members {
        match given {
            Given::Template(template) => {
                template.holes(&mut |span, piece| hole(span, piece, false));
            }
            Given::Pattern(pattern) => pattern.names(&mut |span, name| match name {
                Name::Hole(piece) => hole(span, piece, true),
                Name::Bound(name) => found.push((span, name.to_owned())),
            }),
            _ => {}
        }
    }
    for member in ["before", "after"] {
        if let Some(name) = step.text(member) {
            visit(step.place(member), Occurrence::Used(name));
        }
    }
    for (span, name) in &found {
        visit(*span, Occurrence::Found(name));
    }
    if step.verb == Verb::Open {
        visit(step.span, Occurrence::Made(step.text("session").unwrap_or(SESSION)));
        visit(step.span, Occurrence::Found(step.text("chat").unwrap_or(CHAT)));
    }
    if let Some(name) = step.text("as") {
        // The number of an own request or dispatch is known before anything comes.
        let own = matches!(step.verb, Verb::Dispatch | Verb::Prompt);
        visit(step.span, if own { Occurrence::Made(name) } else { Occurrence::Found(name) });
    }
}

/// Walks the steps in order and reports names that are used before they are bound.
pub(super) fn check(scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    let mut bound: HashSet<String> = ["version".to_owned()].into();
    for client in &scenario.clients {
        bound.insert(format!("{client}.id"));
        bound.insert(format!("{client}.seq"));
    }
    if scenario.spec.standard() == Standard::Acp {
        bound.insert(WORK.to_owned());
        bound.insert(AUTH.to_owned());
    }
    bound.extend(scenario.needs.iter().flat_map(|name| capability::bound(name)));
    for step in &scenario.steps {
        // A name that a pattern binds can be used further on in the same pattern.
        let mut in_step = HashSet::new();
        occurrences(step, &mut |_, occurrence| {
            if let Occurrence::Found(name) = occurrence {
                in_step.insert(name.to_owned());
            }
        });
        occurrences(step, &mut |span, occurrence| match occurrence {
            Occurrence::Used(name) if !bound.contains(name) && !in_step.contains(name) => {
                let mut names: Vec<_> = bound.iter().map(String::as_str).collect();
                names.sort_unstable();
                let bound = list(&names);
                let kind = ScenarioErrorKind::Unbound { name: name.to_owned(), bound };
                errors.push(ScenarioError { span, kind });
            }
            Occurrence::Used(_) => {}
            Occurrence::MadeInPattern(name) => {
                let kind = ScenarioErrorKind::MintedInPattern { name: name.to_owned() };
                errors.push(ScenarioError { span, kind });
            }
            Occurrence::Made(name) | Occurrence::Found(name) => {
                bound.insert(name.to_owned());
            }
        });
    }
}
