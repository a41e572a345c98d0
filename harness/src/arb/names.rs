//! Maps strings of the stage to names in the scenario. Identifiers are symbolic in the scenario, so that the
//! scenario has the same meaning on every host.
//!
//! Knows: the bindings of the stage. Never knows: the generated step.
//!
//! Start at [`BoundNames::symbolic`] and [`BoundNames::binding`].

use crate::scenario::bind::NameBindings;
use crate::wire::json::{Map, Value, json};

use super::stage::is_made;

/// The minimum length of a bound string that is also replaced inside other strings.
const TELLING: usize = 16;
/// The members whose identifiers clients never need.
const UNNAMED: [&str; 5] = ["partId", "startedAt", "commandId", "modifiedAt", "createdAt"];

/// The strings to which names are bound, the longest first.
pub struct BoundNames {
    known: Vec<(String, String)>,
}

impl BoundNames {
    /// Returns the names of these bindings.
    pub fn of(bindings: &NameBindings) -> BoundNames {
        let texts = bindings.iter().filter_map(|(name, value)| {
            let text = value.as_str().filter(|text| text.len() > 3 && *name != "version")?;
            Some((text.to_owned(), name.clone()))
        });
        let mut known: Vec<_> = texts.collect();
        known.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        BoundNames { known }
    }

    /// Returns a value with every bound string replaced by its name. Returns `None` if the value contains an unbound
    /// string of the stage's host.
    pub fn symbolic(&self, value: &Value) -> Option<Value> {
        Some(match value {
            Value::String(text) => Value::from(self.text(text)?),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.symbolic(item)).collect::<Option<_>>()?)
            }
            Value::Object(members) => {
                let mut object = Map::new();
                for (key, value) in members {
                    object.insert(self.text(key)?, self.symbolic(value)?);
                }
                Value::Object(object)
            }
            other => other.clone(),
        })
    }

    fn text(&self, text: &str) -> Option<String> {
        if let Some((_, name)) = self.known.iter().find(|(known, _)| known == text) {
            return Some(format!("${{{name}}}"));
        }
        // A literal `$` has to be doubled; a generated string that contains `${` is symbolic already.
        let mut result =
            if text.contains("${") { text.to_owned() } else { text.replace('$', "$$") };
        for (known, name) in self.known.iter().filter(|(known, _)| known.len() >= TELLING) {
            if result.contains(known.as_str()) {
                result = result.replace(known.as_str(), &format!("${{{name}}}"));
            }
        }
        (!is_made(&result)).then_some(result)
    }

    /// Returns a pattern that binds every unnamed string of the stage's host in a value. `fresh` creates a name from
    /// the member that contains the string. Returns `None` if there is nothing to bind.
    pub fn binding(
        &self,
        member: &str,
        value: &Value,
        fresh: &mut dyn FnMut(&str) -> String,
    ) -> Option<Value> {
        match value {
            Value::String(text) if !UNNAMED.contains(&member) && is_made(text) => {
                self.text(text).is_none().then(|| json!(format!("$bind {}", fresh(member))))
            }
            Value::Array(items) => {
                let found: Vec<_> =
                    items.iter().map(|item| self.binding(member, item, fresh)).collect();
                if found.iter().all(Option::is_none) {
                    return None;
                }
                Some(
                    found.into_iter().map(|one| one.unwrap_or_else(|| json!("$present"))).collect(),
                )
            }
            Value::Object(members) => {
                let mut object = Map::new();
                for (key, value) in members {
                    if let Some(found) = self.binding(key, value, fresh) {
                        object.insert(key.to_string(), found);
                    }
                }
                (!object.is_empty()).then_some(Value::Object(object))
            }
            _ => None,
        }
    }
}
