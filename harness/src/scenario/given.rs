//! Replaces each `$given name` in a fragment by the value that the `include` passes under that name.
//!
//! Several scenarios can thus share a fragment in which a few values or steps differ. If a placeholder is an item of a
//! list and its value is also a list, the items of the value replace the placeholder.
//!
//! Knows: trees of YAML nodes. Never knows: verbs, the purpose of a value.
//!
//! Start at [`fill`].

use super::node::{MappingEntry, NodeContent, SourceNode};
use super::source::{ScenarioError, ScenarioErrorKind, list};

/// The prefix of a placeholder in a fragment.
const GIVEN: &str = "$given ";

/// Replaces the placeholders of the fragment by the values that the `include` step has in `with`. A placeholder without
/// a value is a mistake, and so is a value without a placeholder.
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
            hint: format!("the fragment takes {}", names(&used)),
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

/// Returns the name in a placeholder node; `None` if the node is not a placeholder.
fn asked(node: &SourceNode) -> Option<&str> {
    node.as_str()?.strip_prefix(GIVEN)
}
