//! What an `include` gives its fragment: values that take the place of `$given name`.
//!
//! A fragment that is the same for a family of scenarios but for a value or a few steps says where
//! they belong. A list that stands for an item of a list is played in, item by item.
//!
//! Knows: trees. Never knows: verbs, what a value is for.
//!
//! Start at [`fill`].

use super::node::{Content, Member, Node};
use super::source::{ScenarioError, ScenarioErrorKind, list};

/// What stands before the name of a value that the `include` gives.
const GIVEN: &str = "$given ";

/// Puts the values of `with` where the fragment asks for them. A name without a value, and a value
/// that the fragment has no place for, are mistakes.
pub(super) fn fill(fragment: Node, with: &[Member], errors: &mut Vec<ScenarioError>) -> Node {
    let mut filling = Filling { with, used: Vec::new(), errors };
    let filled = filling.node(fragment);
    let Filling { used, errors, .. } = filling;
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

struct Filling<'a> {
    with: &'a [Member],
    used: Vec<String>,
    errors: &'a mut Vec<ScenarioError>,
}

impl Filling<'_> {
    fn node(&mut self, node: Node) -> Node {
        if let Some(name) = asked(&node) {
            return self.value(&node, name);
        }
        let Node { span, content } = node;
        let content = match content {
            Content::Scalar(value) => Content::Scalar(value),
            Content::List(items) => Content::List(self.items(items)),
            Content::Map(members) => {
                let fill = |member: Member| Member { value: self.node(member.value), ..member };
                Content::Map(members.into_iter().map(fill).collect())
            }
        };
        Node { span, content }
    }

    fn items(&mut self, items: Vec<Node>) -> Vec<Node> {
        let mut filled = Vec::with_capacity(items.len());
        for item in items {
            let given = asked(&item).is_some();
            match self.node(item) {
                Node { content: Content::List(more), .. } if given => filled.extend(more),
                item => filled.push(item),
            }
        }
        filled
    }

    fn value(&mut self, place: &Node, name: &str) -> Node {
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
fn asked(node: &Node) -> Option<&str> {
    node.as_str()?.strip_prefix(GIVEN)
}
