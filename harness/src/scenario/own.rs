//! Reads an author's own requirements, from `requirements.yaml` next to the scenarios that test them, or from
//! the header of a scenario.
//!
//! A team that tests its own product with scenarios has rules that no protocol contains. Each such requirement has an
//! identifier, a weight and a statement. A report shows breaches of such requirements like breaches of the protocol's
//! requirements.
//!
//! Knows: the form of the file. Never knows: the protocol's own requirements.
//!
//! Start at [`requirements`].

use serde::{Deserialize, Serialize};

use crate::verdict::Weight;

use super::node::SourceNode;
use super::parse::{known_keys, wrong_form};
use super::source::ScenarioError;
use super::verbs::{FormField, MemberForm};

/// The name of the requirements file.
pub const FILE: &str = "requirements.yaml";
/// The member that contains the list. A file with this member is a requirements file and not a scenario.
pub const LIST: &str = "requirements";

/// A requirement that the author defines.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct OwnRequirement {
    /// The identifier, which must differ from the identifiers of all requirements of the protocol.
    pub id: String,
    /// The weight of a breach.
    pub weight: Weight,
    /// The rule, in one sentence.
    pub text: String,
}

const FILE_FIELDS: &[FormField] =
    &[field(LIST, MemberForm::Values, "the requirements, each with `id`, `weight` and `text`")];
const FIELDS: &[FormField] = &[
    field("id", MemberForm::Text, "its id, such as `login.shows-the-name`"),
    field("weight", MemberForm::Text, "the weight of a breach: must, essential, should or note"),
    field("text", MemberForm::Text, "the rule, in a sentence"),
];
const WEIGHTS: [(&str, Weight); 4] = [
    ("must", Weight::Must),
    ("essential", Weight::Essential),
    ("should", Weight::Should),
    ("note", Weight::Note),
];

const fn field(name: &'static str, form: MemberForm, doc: &'static str) -> FormField {
    FormField { name, form, required: true, wants: false, doc }
}

/// Parses the requirements of a `requirements.yaml` file. Adds the mistakes in the file to `errors`.
pub fn requirements(root: &SourceNode, errors: &mut Vec<ScenarioError>) -> Vec<OwnRequirement> {
    known_keys(
        "a file of requirements",
        root.as_map().unwrap_or_default(),
        FILE_FIELDS,
        root.span,
        errors,
    );
    root.get(LIST).map(|list| listed(list, errors)).unwrap_or_default()
}

/// Reads the list of requirements, from a requirements file or from the header of a scenario.
pub fn listed(list: &SourceNode, errors: &mut Vec<ScenarioError>) -> Vec<OwnRequirement> {
    let Some(items) = list.as_list() else {
        wrong_form(errors, list, "a list of requirements");
        return Vec::new();
    };
    items.iter().filter_map(|item| requirement(item, errors)).collect()
}

fn requirement(item: &SourceNode, errors: &mut Vec<ScenarioError>) -> Option<OwnRequirement> {
    let Some(members) = item.as_map() else {
        wrong_form(errors, item, "`id`, `weight` and `text`");
        return None;
    };
    known_keys("a requirement", members, FIELDS, item.span, errors);
    let mut text = |key: &str| {
        let node = item.get(key)?;
        let found = node.as_str().map(str::trim).filter(|text| !text.is_empty());
        if found.is_none() {
            wrong_form(errors, node, "a text");
        }
        found.map(str::to_owned)
    };
    let (id, weight, rule) = (text("id"), text("weight"), text("text"));
    let weight = weight.and_then(|word| {
        let known = WEIGHTS.iter().find(|(known, _)| *known == word);
        if let (None, Some(node)) = (known, item.get("weight")) {
            wrong_form(errors, node, "one of must, essential, should, note");
        }
        known.map(|(_, weight)| *weight)
    });
    Some(OwnRequirement { id: id?, weight: weight?, text: rule? })
}
