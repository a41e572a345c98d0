//! Names of a scenario: what is bound when, and whether every use comes after it.
//!
//! Knows: steps. Never knows: what a name stands for.
//!
//! Start at [`check`].

use std::collections::HashSet;

use super::bind::Piece;
use super::capability;
use super::parse::{Given, Scenario, WORK};
use super::pattern::Name;
use super::source::{ScenarioError, ScenarioErrorKind, Span, list};
use super::verbs::Verb;
use crate::wire::version::Standard;

/// Walks the steps in order and reports names that are used before they are bound.
pub(super) fn check(scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    let mut bound: HashSet<String> = ["version".to_owned()].into();
    for client in &scenario.clients {
        bound.insert(format!("{client}.id"));
        bound.insert(format!("{client}.seq"));
    }
    if scenario.spec.standard() == Standard::Acp {
        bound.insert(WORK.to_owned());
    }
    bound.extend(scenario.needs.iter().flat_map(|name| capability::bound(name)));
    let mut unbound = Vec::new();
    let mut unminted = Vec::new();
    for step in &scenario.steps {
        if step.count("times").is_some() {
            bound.insert("count".to_owned());
        }
        let mut visit = |span: Span, name: Name<'_>| match name {
            Name::Hole(Piece::Use(name) | Piece::Expand(name, _)) if !bound.contains(name) => {
                unbound.push((span, name.clone(), bound.iter().cloned().collect::<Vec<_>>()));
            }
            Name::Hole(Piece::New(name)) => {
                bound.insert(name.clone());
            }
            Name::Bound(name) => {
                bound.insert(name.to_owned());
            }
            Name::Hole(_) => {}
        };
        for (_, _, given) in &step.members {
            match given {
                Given::Template(template) => {
                    template.holes(&mut |span, piece| visit(span, Name::Hole(piece)));
                }
                // A pattern is held against what came: there is nothing to mint an id for.
                Given::Pattern(pattern) => pattern.names(&mut |span, name| match name {
                    Name::Hole(Piece::New(name)) => {
                        unminted.push((span, name.clone()));
                    }
                    name => visit(span, name),
                }),
                _ => {}
            }
        }
        if step.verb == Verb::Open {
            bound.insert(step.text("session").unwrap_or("session").to_owned());
            bound.insert(step.text("chat").unwrap_or("chat").to_owned());
        }
        if let Some(name) = step.text("as") {
            bound.insert(name.to_owned());
        }
    }
    for (span, name) in unminted {
        errors.push(ScenarioError { span, kind: ScenarioErrorKind::MintedInPattern { name } });
    }
    for (span, name, bound) in unbound {
        let mut names: Vec<_> = bound.iter().map(String::as_str).collect();
        names.sort_unstable();
        let kind = ScenarioErrorKind::Unbound { name, bound: list(&names) };
        errors.push(ScenarioError { span, kind });
    }
}
