//! Name bindings, and templates: values with placeholders (`${…}`), which are replaced by the values of the bindings.
//!
//! A [`ValueTemplate`] is a value with placeholders (in the code: holes). A string that consists of one placeholder
//! becomes the bound value itself, of any type. A placeholder inside a longer string, or in the key of a member, is
//! replaced by the value as text.

use std::borrow::Cow;
use std::sync::Arc;

use litemap::LiteMap;

use crate::wire::json::{Map, Text, Value};
use crate::wire::template::expand;

use super::node::{NodeContent, SourceNode};
use super::own_form::chat_uri;
use super::source::SourceSpan;

/// A value with placeholders, and the place of each part of the value in the scenario file. Each task clones the
/// template of its step, so a clone has to be cheap.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueTemplate {
    /// The place of the whole value.
    pub span: SourceSpan,
    shape: Arc<TemplateShape>,
    /// The complete value of a list or a map without placeholders; `None` for any other template.
    fixed: Option<Arc<Value>>,
}

#[derive(Clone, Debug, PartialEq)]
enum TemplateShape {
    Value(Value),
    Text(Vec<TextPiece>),
    List(Vec<ValueTemplate>),
    Map(Vec<(String, ValueTemplate)>),
}

/// The name to which a session opened by a step is bound, unless the step states another name.
pub const SESSION: &str = "session";
/// The name to which the first chat of an opened session is bound.
pub const CHAT: &str = "chat";
/// The name that is bound to the folder in which scenarios create their own files and folders.
pub const FOLDER: &str = "workspace.folder";
/// The prefix of every file or folder that a scenario creates in [`FOLDER`]. At the end of a scenario, the harness
/// deletes the files and folders of the scenario that have this prefix.
pub const OWN_PATH: &str = "ahp-harness-";
/// The maximum length of a string made by `${long N}`, in characters.
const MAX_LONG: usize = 4 << 20;

/// A part of a string template: plain text or a placeholder.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TextPiece {
    /// Literal text.
    Plain(String),
    /// `${name}`: the value to which the name is bound.
    Use(String),
    /// `${new name}`: a fresh identifier. The identifier is also bound to the name.
    New(String),
    /// `${new chat name}`, `${new chat name in session}`: the URI of a chat that does not exist yet, in the
    /// form that the host uses for its own chats. The URI is bound to the first name. The second name is the session to
    /// which the chat belongs.
    NewChat(String, String),
    /// `${new path name}`: the URI of a file or folder that does not exist yet, in the folder where clients may
    /// create files. The URI is bound to the name.
    NewPath(String),
    /// `${long N}`: a generated string of N characters.
    Long(usize),
    /// `${now}`: the current time of the driver's clock, as an ISO 8601 string.
    Now,
    /// `${name with a=b}`: the URI template to which the name is bound, with its variables filled in.
    Expand(String, Vec<(String, String)>),
}

/// A source for the values of placeholders that do not come from a binding.
pub trait HoleFiller {
    /// Returns a new identifier that no other caller gets.
    fn fresh(&mut self) -> String;
    /// Returns the current time as an ISO 8601 string.
    fn now(&self) -> String;
}

/// A set of bindings that a template reads and extends.
pub trait NameScope {
    /// Returns the value to which the name is bound, or `None` if the name is not bound.
    fn get(&self, name: &str) -> Option<&Value>;
    /// Binds a name. An earlier value of the name is replaced.
    fn set(&mut self, name: &str, value: Value);
}

/// The values of the bound names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NameBindings(LiteMap<String, Value>);

impl NameBindings {
    /// Returns the value to which the name is bound, or `None` if the name is not bound.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Binds a name. An earlier value of the name is replaced.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.0.get_mut(name) {
            Some(bound) => *bound = value,
            None => drop(self.0.insert(name.to_owned(), value)),
        }
    }

    /// Adds all bindings of `more`.
    pub fn extend(&mut self, more: NameBindings) {
        self.0.extend(more.0);
    }

    /// Iterates over every binding, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter()
    }
}

impl NameScope for NameBindings {
    fn get(&self, name: &str) -> Option<&Value> {
        NameBindings::get(self, name)
    }

    fn set(&mut self, name: &str, value: Value) {
        NameBindings::set(self, name, value);
    }
}

impl ValueTemplate {
    /// Returns the literal text of a string template, without its placeholders; `None` if the template is not a string.
    pub fn plain_text(&self) -> Option<String> {
        match self.shape.as_ref() {
            TemplateShape::Value(value) => value.as_str().map(str::to_owned),
            TemplateShape::Text(pieces) => {
                let plain = pieces.iter().filter_map(|piece| match piece {
                    TextPiece::Plain(text) => Some(text.as_str()),
                    _ => None,
                });
                Some(plain.collect())
            }
            TemplateShape::List(_) | TemplateShape::Map(_) => None,
        }
    }

    fn new(span: SourceSpan, shape: TemplateShape) -> ValueTemplate {
        let fixed = match &shape {
            TemplateShape::Value(_) | TemplateShape::Text(_) => None,
            TemplateShape::List(items) => {
                items.iter().map(|item| item.without_holes().cloned()).collect()
            }
            TemplateShape::Map(members) => members
                .iter()
                .map(|(key, value)| {
                    let value = value.without_holes().filter(|_| key_holes(key).is_empty());
                    value.map(|value| (Text::from(key.as_str()), value.clone()))
                })
                .collect::<Option<Map>>()
                .map(Value::Object),
        };
        ValueTemplate { span, shape: Arc::new(shape), fixed: fixed.map(Arc::new) }
    }

    /// Returns whether the template is a single `${name}`. The value of such a template may be of any type.
    pub fn is_of_unknown_type(&self) -> bool {
        matches!(&*self.shape, TemplateShape::Text(parts) if matches!(&parts[..], [TextPiece::Use(_)]))
    }

    /// Returns the value if the template has no placeholder, and `None` if it has one.
    pub fn without_holes(&self) -> Option<&Value> {
        match &*self.shape {
            TemplateShape::Value(value) => Some(value),
            _ => self.fixed.as_deref(),
        }
    }

    /// Reads a node as a template.
    pub fn of(node: &SourceNode) -> ValueTemplate {
        let shape = match &node.content {
            NodeContent::Scalar(Value::String(text)) => match pieces(text) {
                plain if plain.iter().all(|piece| matches!(piece, TextPiece::Plain(_))) => {
                    TemplateShape::Value(Value::from(joined(&plain)))
                }
                parts => TemplateShape::Text(parts),
            },
            NodeContent::Scalar(value) => TemplateShape::Value(value.clone()),
            NodeContent::List(items) => {
                TemplateShape::List(items.iter().map(ValueTemplate::of).collect())
            }
            NodeContent::Map(members) => TemplateShape::Map(
                members.iter().map(|m| (m.key.clone(), ValueTemplate::of(&m.value))).collect(),
            ),
        };
        ValueTemplate::new(node.span, shape)
    }

    /// Makes a template of a fixed value. The full steps that replace a shorthand step use such templates.
    pub fn fixed(span: SourceSpan, value: Value) -> ValueTemplate {
        ValueTemplate::new(span, TemplateShape::Value(value))
    }

    /// Makes a template that consists of the placeholder `${name}`.
    pub fn hole(span: SourceSpan, name: &str) -> ValueTemplate {
        ValueTemplate::new(span, TemplateShape::Text(vec![TextPiece::Use(name.to_owned())]))
    }

    /// Makes a template of an object with these members.
    pub fn map(span: SourceSpan, members: Vec<(String, ValueTemplate)>) -> ValueTemplate {
        ValueTemplate::new(span, TemplateShape::Map(members))
    }

    /// Makes a template of an array with these items.
    pub fn list(span: SourceSpan, items: Vec<ValueTemplate>) -> ValueTemplate {
        ValueTemplate::new(span, TemplateShape::List(items))
    }

    /// Returns the items of a list template, with their placeholders; empty if the template is not a list.
    pub fn items(&self) -> &[ValueTemplate] {
        match &*self.shape {
            TemplateShape::List(items) => items,
            _ => &[],
        }
    }

    /// Makes a template that consists of the placeholder `${now}`.
    pub fn now(span: SourceSpan) -> ValueTemplate {
        ValueTemplate::new(span, TemplateShape::Text(vec![TextPiece::Now]))
    }

    /// Returns the member `name` of a map, as a template.
    pub fn member(&self, name: &str) -> Option<ValueTemplate> {
        match self.without_holes() {
            Some(fixed) => Some(ValueTemplate::fixed(self.span, fixed.get(name)?.clone())),
            None => self.members().iter().find(|(key, _)| key == name).map(|(_, it)| it.clone()),
        }
    }

    /// Returns the members of a map template, with their placeholders; empty if the template is not a map.
    pub fn members(&self) -> &[(String, ValueTemplate)] {
        match &*self.shape {
            TemplateShape::Map(members) => members,
            _ => &[],
        }
    }

    /// Returns a string template with `more` appended.
    pub fn followed_by(&self, more: &str) -> ValueTemplate {
        let mut parts = match &*self.shape {
            TemplateShape::Text(parts) => parts.clone(),
            TemplateShape::Value(Value::String(text)) => vec![TextPiece::Plain(text.to_string())],
            _ => vec![TextPiece::Plain(self.spelled().to_string())],
        };
        parts.push(TextPiece::Plain(more.to_owned()));
        ValueTemplate::new(self.span, TemplateShape::Text(parts))
    }

    /// Replaces the placeholders by values. A placeholder of a name that is not bound stays as `${name}`, which matches
    /// no value. The loader rejects files in which a name is used before it is bound.
    pub fn fill(&self, bindings: &mut dyn NameScope, mint: &mut dyn HoleFiller) -> Value {
        if let Some(fixed) = self.without_holes() {
            return fixed.clone();
        }
        match &*self.shape {
            TemplateShape::Value(value) => value.clone(),
            TemplateShape::Text(parts) => fill_text(parts, bindings, mint),
            TemplateShape::List(items) => {
                items.iter().map(|item| item.fill(bindings, mint)).collect()
            }
            TemplateShape::Map(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, value)| {
                        (Text::from(fill_key(key, bindings, mint)), value.fill(bindings, mint))
                    })
                    .collect::<Map>(),
            ),
        }
    }

    /// Calls `visit` for each placeholder, in order, with the place of the string that contains the placeholder.
    pub fn holes(&self, visit: &mut dyn FnMut(SourceSpan, &TextPiece)) {
        match &*self.shape {
            TemplateShape::Value(_) => {}
            TemplateShape::Text(parts) => parts.iter().for_each(|piece| visit(self.span, piece)),
            TemplateShape::List(items) => items.iter().for_each(|item| item.holes(visit)),
            TemplateShape::Map(members) => members.iter().for_each(|(key, value)| {
                key_holes(key).iter().for_each(|piece| visit(self.span, piece));
                value.holes(visit);
            }),
        }
    }

    /// Returns the value with its placeholders written as `${…}`, for display.
    pub fn spelled(&self) -> Value {
        match &*self.shape {
            TemplateShape::Value(value) => value.clone(),
            TemplateShape::Text(parts) => {
                Value::String(parts.iter().map(TextPiece::spelled).collect())
            }
            TemplateShape::List(items) => items.iter().map(ValueTemplate::spelled).collect(),
            TemplateShape::Map(members) => Value::Object(
                members.iter().map(|(key, value)| (key.clone(), value.spelled())).collect(),
            ),
        }
    }
}

impl TextPiece {
    fn spelled(&self) -> String {
        match self {
            TextPiece::Plain(text) => text.clone(),
            TextPiece::Use(name) => format!("${{{name}}}"),
            TextPiece::New(name) => format!("${{new {name}}}"),
            TextPiece::NewChat(name, session) if session == SESSION => {
                format!("${{new chat {name}}}")
            }
            TextPiece::NewChat(name, session) => format!("${{new chat {name} in {session}}}"),
            TextPiece::NewPath(name) => format!("${{new path {name}}}"),
            TextPiece::Long(size) => format!("${{long {size}}}"),
            TextPiece::Now => "${now}".to_owned(),
            TextPiece::Expand(name, values) => {
                let values: Vec<_> = values.iter().map(|(key, to)| format!("{key}={to}")).collect();
                format!("${{{name} with {}}}", values.join(" "))
            }
        }
    }
}

/// Splits a string into plain parts and placeholders. `$$` is a literal `$`; a `${` without a closing brace is plain
/// text.
pub fn pieces(text: &str) -> Vec<TextPiece> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("$$") {
            plain.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix("${").and_then(|r| r.split_once('}'))
        {
            if !plain.is_empty() {
                parts.push(TextPiece::Plain(std::mem::take(&mut plain)));
            }
            parts.push(hole(name.trim()));
            rest = after;
        } else {
            plain.push('$');
            rest = &rest[1..];
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() || parts.is_empty() {
        parts.push(TextPiece::Plain(plain));
    }
    parts
}

fn hole(name: &str) -> TextPiece {
    let long = name.strip_prefix("long ").and_then(|size| size.trim().parse().ok());
    if let Some(size) = long.filter(|size| *size <= MAX_LONG) {
        return TextPiece::Long(size);
    }
    let words: Vec<&str> = name.split_whitespace().collect();
    match words[..] {
        ["new", "path", name] => return TextPiece::NewPath(name.to_owned()),
        ["new", "chat", name] => return TextPiece::NewChat(name.to_owned(), SESSION.to_owned()),
        ["new", "chat", name, "in", session] => {
            return TextPiece::NewChat(name.to_owned(), session.to_owned());
        }
        _ => {}
    }
    match name.strip_prefix("new ") {
        Some(fresh) => TextPiece::New(fresh.trim().to_owned()),
        None if name == "now" => TextPiece::Now,
        None if name.contains(" with ") => {
            let (name, values) = name.split_once(" with ").unwrap_or((name, ""));
            let pair = |word: &str| word.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
            TextPiece::Expand(name.to_owned(), values.split_whitespace().filter_map(pair).collect())
        }
        None => TextPiece::Use(name.to_owned()),
    }
}

fn joined(parts: &[TextPiece]) -> String {
    parts.iter().map(|piece| if let TextPiece::Plain(text) = piece { text } else { "" }).collect()
}

fn fill_text(
    parts: &[TextPiece],
    bindings: &mut dyn NameScope,
    mint: &mut dyn HoleFiller,
) -> Value {
    if let [piece] = parts {
        return fill_piece(piece, bindings, mint);
    }
    let mut text = String::new();
    for piece in parts {
        match fill_piece(piece, bindings, mint) {
            Value::String(part) => text.push_str(&part),
            other => text.push_str(&other.to_string()),
        }
    }
    Value::from(text)
}

/// Returns the parts of a key with placeholders; empty if the key has no placeholders.
pub(super) fn key_holes(key: &str) -> Vec<TextPiece> {
    if key.contains("${") { pieces(key) } else { Vec::new() }
}

/// Returns a key with its placeholders replaced by values.
pub(super) fn fill_key<'k>(
    key: &'k str,
    bindings: &mut dyn NameScope,
    mint: &mut dyn HoleFiller,
) -> Cow<'k, str> {
    match key_holes(key).as_slice() {
        [] => Cow::Borrowed(key),
        parts => match fill_text(parts, bindings, mint) {
            Value::String(text) => Cow::Owned(text.into()),
            other => Cow::Owned(other.to_string()),
        },
    }
}

fn fill_piece(piece: &TextPiece, bindings: &mut dyn NameScope, mint: &mut dyn HoleFiller) -> Value {
    match piece {
        TextPiece::Plain(text) => Value::from(text.clone()),
        TextPiece::Long(size) => Value::from("x".repeat(*size)),
        TextPiece::Now => Value::from(mint.now()),
        TextPiece::Use(name) => match bindings.get(name) {
            Some(value) => value.clone(),
            None => Value::from(piece.spelled()),
        },
        TextPiece::Expand(name, values) => {
            let values: Vec<(&str, &str)> =
                values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            match bindings.get(name).and_then(Value::as_str) {
                Some(template) => Value::from(expand(template, &values)),
                None => Value::from(piece.spelled()),
            }
        }
        TextPiece::New(name) => {
            let value = Value::from(mint.fresh());
            bindings.set(name, value.clone());
            value
        }
        TextPiece::NewPath(name) => {
            let workspace = bindings.get(FOLDER).and_then(Value::as_str).unwrap_or_default();
            let value = Value::from(format!("{workspace}/{OWN_PATH}{}", mint.fresh()));
            bindings.set(name, value.clone());
            value
        }
        TextPiece::NewChat(name, session) => {
            let text = |name: &str| bindings.get(name).and_then(Value::as_str);
            let session = text(session).unwrap_or_default();
            let value =
                Value::from(chat_uri(&mint.fresh(), session, text(CHAT).zip(text(SESSION))));
            bindings.set(name, value.clone());
            value
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;

    use super::super::node::read;
    use super::super::source::SourceFile;
    use super::*;

    struct BoundCounter(u32);

    impl HoleFiller for BoundCounter {
        fn fresh(&mut self) -> String {
            self.0 += 1;
            format!("id-{}", self.0)
        }
        fn now(&self) -> String {
            "2026-01-01T00:00:00Z".to_owned()
        }
    }

    fn check(text: &str, expected: Value) {
        let (node, errors) = read(&SourceFile::new("t", text), 0);
        assert_eq!(errors, []);
        let mut bindings = NameBindings::default();
        bindings.set("n", json!(7));
        bindings.set("s", json!("x"));
        bindings.set("t", json!("ahp-otlp://logs{?level}"));
        let filled = ValueTemplate::of(&node.unwrap()).fill(&mut bindings, &mut BoundCounter(0));
        assert_eq!(filled, expected, "{text}");
    }

    #[test]
    fn names_further_chats_as_the_host_named_the_first() {
        let fill = |bound: &[(&str, &str)], text: &str| {
            let mut bindings = NameBindings::default();
            bound.iter().for_each(|(name, value)| bindings.set(name, json!(*value)));
            let (node, _) = read(&SourceFile::new("t", text), 0);
            let template = ValueTemplate::of(&node.unwrap());
            assert_eq!(template.spelled(), json!(text.trim_matches('\'')));
            let filled = template.fill(&mut bindings, &mut BoundCounter(0));
            assert_eq!(bindings.get("more"), Some(&filled));
            filled.as_str().map(str::to_owned).unwrap_or_default()
        };
        let opened = [
            ("session", "ahp-session:/a1"),
            ("chat", "ahp-chat://main/a1"),
            ("other", "ahp-session:/b2"),
        ];
        assert_eq!(fill(&opened, "'${new chat more}'"), "ahp-chat://id-1/a1");
        assert_eq!(fill(&opened, "'${new chat more in other}'"), "ahp-chat://id-1/b2");
        assert_eq!(fill(&opened[..1], "'${new chat more}'"), "ahp-chat:/id-1");
    }

    #[test]
    fn names_a_folder_where_clients_may_write() {
        let (node, _) = read(&SourceFile::new("t", "'${new path mine}/a'"), 0);
        let template = ValueTemplate::of(&node.unwrap());
        assert_eq!(template.spelled(), json!("${new path mine}/a"));
        let mut bindings = NameBindings::default();
        bindings.set(FOLDER, json!("file:///w"));
        let filled = template.fill(&mut bindings, &mut BoundCounter(0));
        assert_eq!(filled, "file:///w/ahp-harness-id-1/a");
        assert_eq!(bindings.get("mine"), Some(&json!("file:///w/ahp-harness-id-1")));
    }

    #[test]
    fn fills_templates() {
        check("a: ${n}", json!({"a": 7}));
        check("a: '${s}-${n}'", json!({"a": "x-7"}));
        check("['${new u}', '${u}', '${new v}']", json!(["id-1", "id-1", "id-2"]));
        check("a: '$$literal ${now}'", json!({"a": "$literal 2026-01-01T00:00:00Z"}));
        check("a: 'half ${ open'", json!({"a": "half ${ open"}));
        check("'${s}': {'${n}-k': 1}", json!({"x": {"7-k": 1}}));
        check("a: '${t with level=warn}'", json!({"a": "ahp-otlp://logs?level=warn"}));
        check("a: '${u with level=warn}'", json!({"a": "${u with level=warn}"}));
    }
}
