//! What an `include` gives its fragment: values that take the place of `$given name`.
//!
//! A fragment that is the same for a family of scenarios but for a value or a few steps says where
//! they belong. A list that stands for an item of a list is played in, item by item.
//!
//! Knows: trees. Never knows: verbs, what a value is for.
//!
//! Start at [`fill`].

use super::node::{MappingEntry, NodeContent, SourceNode};
use super::source::{ScenarioError, ScenarioErrorKind, list};

/// What stands before the name of a value that the `include` gives.
const GIVEN: &str = "$given ";

/// Puts the values of `with` where the fragment asks for them. A name without a value, and a value
/// that the fragment has no place for, are mistakes.
pub(super) fn fill(
    fragment: SourceNode,
    with: &[MappingEntry],
    errors: &mut Vec<ScenarioError>,
) -> SourceNode {
    let mut filling = ValueFilling { with, used: Vec::new(), errors };
    let filled = filling.node(fragment);
    let ValueFilling { used, errors, .. } = filling;
    for member in with.iter().filter(|member| !used.contains(&member.key)) {
        let kind = ScenarioErrorKind::UnknownKey {
            owner: "the fragment".to_owned(),
            key: member.key.clone(),
            hint: format!("it has a place for {}", names(&used)),
        };
        errors.push(ScenarioError { span: member.key_span, kind });
    }
    filled
}

fn names(used: &[String]) -> String {
    list(&used.iter().map(String::as_str).collect::<Vec<_>>())
}

struct ValueFilling<'a> {
    with: &'a [MappingEntry],
    used: Vec<String>,
    errors: &'a mut Vec<ScenarioError>,
}

impl ValueFilling<'_> {
    fn node(&mut self, node: SourceNode) -> SourceNode {
        if let Some(name) = asked(&node) {
            return self.value(&node, name);
        }
        let SourceNode { span, content } = node;
        let content = match content {
            NodeContent::Scalar(value) => NodeContent::Scalar(value),
            NodeContent::List(items) => NodeContent::List(self.items(items)),
            NodeContent::Map(members) => {
                let fill = |member: MappingEntry| MappingEntry {
                    value: self.node(member.value),
                    ..member
                };
                NodeContent::Map(members.into_iter().map(fill).collect())
            }
        };
        SourceNode { span, content }
    }

    fn items(&mut self, items: Vec<SourceNode>) -> Vec<SourceNode> {
        let mut filled = Vec::with_capacity(items.len());
        for item in items {
            let given = asked(&item).is_some();
            match self.node(item) {
                SourceNode { content: NodeContent::List(more), .. } if given => filled.extend(more),
                item => filled.push(item),
            }
        }
        filled
    }

    fn value(&mut self, place: &SourceNode, name: &str) -> SourceNode {
        match self.with.iter().find(|member| member.key == name) {
            Some(member) => {
                self.used.push(name.to_owned());
                member.value.clone()
            }
            None => {
                let kind = ScenarioErrorKind::MissingKey {
                    owner: "`include`".to_owned(),
                    key: format!("with: {{ {name}: .. }}"),
                    doc: "the fragment asks for it here".to_owned(),
                };
                self.errors.push(ScenarioError { span: place.span, kind });
                place.clone()
            }
        }
    }
}

/// The name that a node asks for.
fn asked(node: &SourceNode) -> Option<&str> {
    node.as_str()?.strip_prefix(GIVEN)
}
