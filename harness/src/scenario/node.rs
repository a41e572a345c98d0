//! Reads YAML as a tree in which every node has its place in the file.
//!
//! The reader is stricter than YAML: it rejects tags, anchors, aliases, complex keys, several documents, and
//! unquoted words that YAML 1.1 reads as booleans. JSON is a subset of YAML, so this module reads JSON files as
//! well.

use crate::wire::json::Value;
use crate::wire::yaml::{self, Event, ScalarStyle, Span};

use super::source::{ScenarioError, ScenarioErrorKind, SourceFile, SourceSpan};

/// A value with its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceNode {
    /// The place of the node.
    pub span: SourceSpan,
    /// The content of the node.
    pub content: NodeContent,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeContent {
    /// A scalar: null, a boolean, a number or a string.
    Scalar(Value),
    /// A sequence.
    List(Vec<SourceNode>),
    /// A mapping, in the order of the file.
    Map(Vec<MappingEntry>),
}

/// One entry of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct MappingEntry {
    /// The key.
    pub key: String,
    /// The place of the key.
    pub key_span: SourceSpan,
    /// The value.
    pub value: SourceNode,
}

/// The nesting depth at which a file is rejected. No scenario is nearly as deep, and the stack permits far deeper
/// files.
const MAX_DEPTH: usize = 100;

impl From<&Value> for SourceNode {
    /// Makes a node without a place, for a value that does not come from a file.
    fn from(value: &Value) -> SourceNode {
        let span = SourceSpan::default();
        let content = match value {
            Value::Array(items) => NodeContent::List(items.iter().map(SourceNode::from).collect()),
            Value::Object(members) => NodeContent::Map(
                members
                    .iter()
                    .map(|(key, value)| MappingEntry {
                        key: key.to_string(),
                        key_span: span,
                        value: SourceNode::from(value),
                    })
                    .collect(),
            ),
            scalar => NodeContent::Scalar(scalar.clone()),
        };
        SourceNode { span, content }
    }
}

impl SourceNode {
    /// Returns the string of a string scalar, `None` for any other node.
    pub fn as_str(&self) -> Option<&str> {
        match &self.content {
            NodeContent::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the entries of a mapping, `None` for any other node.
    pub fn as_map(&self) -> Option<&[MappingEntry]> {
        match &self.content {
            NodeContent::Map(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the items of a sequence, `None` for any other node.
    pub fn as_list(&self) -> Option<&[SourceNode]> {
        match &self.content {
            NodeContent::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the value of a key in a mapping.
    pub fn get(&self, key: &str) -> Option<&SourceNode> {
        self.as_map()?.iter().find(|member| member.key == key).map(|member| &member.value)
    }

    /// Returns the plain JSON value, without places.
    pub fn to_value(&self) -> Value {
        match &self.content {
            NodeContent::Scalar(value) => value.clone(),
            NodeContent::List(items) => items.iter().map(SourceNode::to_value).collect(),
            NodeContent::Map(members) => Value::Object(
                members
                    .iter()
                    .map(|member| (member.key.clone(), member.value.to_value()))
                    .collect(),
            ),
        }
    }

    /// Describes the node for a message, for example "a list" or "the text `x`".
    pub fn describe(&self) -> String {
        match &self.content {
            NodeContent::Scalar(Value::Null) => "nothing".to_owned(),
            NodeContent::Scalar(Value::String(text)) => format!("the text `{text}`"),
            NodeContent::Scalar(value) => format!("`{value}`"),
            NodeContent::List(_) => "a list".to_owned(),
            NodeContent::Map(_) => "a mapping".to_owned(),
        }
    }
}

/// Reads one document. Returns the readable part of the tree, and all mistakes.
pub fn read(source: &SourceFile, file: u32) -> (Option<SourceNode>, Vec<ScenarioError>) {
    let mut reader = NodeReader { file, errors: Vec::new(), open: Vec::new(), root: None };
    let mut whole = true;
    yaml::events(&source.text, &mut |next| {
        whole = match next {
            Ok((event, span)) => {
                reader.event(event, span);
                reader.open.len() <= MAX_DEPTH
            }
            Err(error) => {
                let span = character(source, file, error.marker().byte_offset().unwrap_or(0));
                reader.fail(span, ScenarioErrorKind::Yaml(error.info()));
                false
            }
        };
        whole
    });
    if !whole {
        return (None, reader.errors);
    }
    // The parser reads an empty document as null, and the caller reports null as a mistake.
    let nothing =
        SourceNode { span: character(source, file, 0), content: NodeContent::Scalar(Value::Null) };
    (Some(reader.root.unwrap_or(nothing)), reader.errors)
}

/// Returns the span of the character that contains a byte; an empty span at the end of the text.
fn character(source: &SourceFile, file: u32, at: usize) -> SourceSpan {
    let text = &source.text;
    let start = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let width = text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    SourceSpan { file, start: start as u32, end: (start + width) as u32 }
}

/// A collection that is still being read.
struct OpenCollection {
    node: SourceNode,
    /// The key whose value has not been read yet.
    key: Option<(String, SourceSpan)>,
}

struct NodeReader {
    file: u32,
    errors: Vec<ScenarioError>,
    open: Vec<OpenCollection>,
    root: Option<SourceNode>,
}

impl NodeReader {
    fn fail(&mut self, span: SourceSpan, kind: ScenarioErrorKind) {
        self.errors.push(ScenarioError { span, kind });
    }

    fn forbid(&mut self, span: SourceSpan, what: &'static str, hint: &'static str) {
        self.fail(span, ScenarioErrorKind::Forbidden { what, hint });
    }

    fn event(&mut self, event: Event<'_>, span: Span) {
        let range = span.byte_range().unwrap_or(0..0);
        let span = SourceSpan { file: self.file, start: range.start as u32, end: range.end as u32 };
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.decorated(span, anchor, tag.is_some());
                let value = self.scalar(&text, style, span);
                self.put(SourceNode { span, content: NodeContent::Scalar(value) });
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.decorated(span, anchor, tag.is_some());
                self.begin(span, NodeContent::List(Vec::new()));
            }
            Event::MappingStart(_, anchor, tag) => {
                self.decorated(span, anchor, tag.is_some());
                self.begin(span, NodeContent::Map(Vec::new()));
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.forbid(span, "aliases", "write the value out, or use `include`");
                self.put(SourceNode { span, content: NodeContent::Scalar(Value::Null) });
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                self.forbid(span, "further documents", "one file holds one scenario");
            }
            _ => {}
        }
    }

    fn decorated(&mut self, span: SourceSpan, anchor: usize, tagged: bool) {
        if anchor != 0 {
            self.forbid(span, "anchors", "write the value out, or use `include`");
        }
        if tagged {
            self.forbid(span, "tags", "quote the value to make it a string");
        }
    }

    fn begin(&mut self, span: SourceSpan, content: NodeContent) {
        if self.open.len() == MAX_DEPTH {
            self.forbid(span, "values nested a hundred deep", "build the value in steps");
        }
        self.open.push(OpenCollection { node: SourceNode { span, content }, key: None });
    }

    fn end(&mut self, span: SourceSpan) {
        if let Some(mut closed) = self.open.pop() {
            closed.node.span.end = span.end.max(closed.node.span.end);
            self.put(closed.node);
        }
    }

    /// Adds a finished node to the collection that contains it.
    fn put(&mut self, node: SourceNode) {
        let Some(owner) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return;
        };
        match &mut owner.node.content {
            NodeContent::List(items) => items.push(node),
            NodeContent::Map(members) => match owner.key.take() {
                Some((key, key_span)) => members.push(MappingEntry { key, key_span, value: node }),
                None => self.key(node),
            },
            NodeContent::Scalar(_) => {}
        }
    }

    fn key(&mut self, node: SourceNode) {
        let span = node.span;
        let key = match node.content {
            NodeContent::Scalar(Value::String(text)) => text.into_string(),
            NodeContent::Scalar(Value::Null) => "null".to_owned(),
            NodeContent::Scalar(value) => value.to_string(),
            _ => {
                self.forbid(span, "complex keys", "a key is a word or a quoted string");
                String::new()
            }
        };
        let Some(owner) = self.open.last_mut() else {
            return;
        };
        let twice = match &owner.node.content {
            NodeContent::Map(members) => members.iter().any(|member| member.key == key),
            _ => false,
        };
        owner.key = Some((key.clone(), span));
        if twice {
            self.fail(span, ScenarioErrorKind::DuplicateKey { key });
        }
    }

    /// Resolves a scalar by the core schema of YAML 1.2. A quoted scalar is always a string.
    fn scalar(&mut self, text: &str, style: ScalarStyle, span: SourceSpan) -> Value {
        if style != ScalarStyle::Plain {
            return Value::from(text);
        }
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
            "true" | "True" | "TRUE" => return Value::Bool(true),
            "false" | "False" | "FALSE" => return Value::Bool(false),
            _ => {}
        }
        let lower = text.to_ascii_lowercase();
        if matches!(lower.as_str(), "on" | "off" | "y" | "n" | "yes" | "no") {
            self.fail(span, ScenarioErrorKind::BooleanWord { word: text.to_owned() });
        }
        number(text).unwrap_or_else(|| Value::from(text))
    }
}

/// Parses a number in JSON syntax. Returns `None` for other notations (hexadecimal, `1_000`, `.5`), which are read as
/// strings.
fn number(text: &str) -> Option<Value> {
    let first = text.bytes().next()?;
    if !(first == b'-' || first.is_ascii_digit()) {
        return None;
    }
    serde_json::from_str::<crate::wire::json::Number>(text).ok().map(Value::Number)
}

#[cfg(test)]
mod tests {
    use crate::wire::json::json;

    use super::*;

    fn check(text: &str, expected: Value) {
        let (node, errors) = read(&SourceFile::new("t.yaml", text), 0);
        assert_eq!(errors, [], "{text}");
        assert_eq!(node.unwrap().to_value(), expected, "{text}");
    }

    #[test]
    fn reads_yaml_and_json() {
        check("a: 1\nb: [x, 'y', null]", json!({"a": 1, "b": ["x", "y", null]}));
        check(r#"{"a": {"b": true}, "c": -1.5e3}"#, json!({"a": {"b": true}, "c": -1500.0}));
        check("v: 1.0.0\nw: 0x1F\nx: '1'", json!({"v": "1.0.0", "w": "0x1F", "x": "1"}));
        check("t: |\n  a\n  b\n", json!({"t": "a\nb\n"}));
    }

    fn check_error(text: &str, expected: &str, line: usize, column: usize) {
        let source = SourceFile::new("t.yaml", text);
        let (_, errors) = read(&source, 0);
        let error = errors.first().unwrap_or_else(|| panic!("{text}: no mistake found"));
        assert!(error.to_string().contains(expected), "{text}: {error}");
        assert_eq!(source.position(error.span.start), (line, column), "{text}");
    }

    #[test]
    fn refuses_what_other_tools_read_differently() {
        check_error("a: yes", "`yes` is a boolean", 1, 4);
        check_error("on: 1", "`on` is a boolean", 1, 1);
        check_error("a: 1\na: 2", "`a` is given twice", 2, 1);
        check_error("a: &x 1\nb: *x", "anchors", 1, 7);
        check_error("a: !t 1", "tags", 1, 7);
        check_error("? [a]\n: 1", "complex keys", 1, 3);
        check_error("a: 1\n---\nb: 2", "further documents", 2, 1);
        check_error("a: [1", "not readable as YAML", 1, 4);
    }

    #[test]
    fn draws_unreadable_text_at_whole_characters() {
        for text in ["\u{fffd}\u{1}", "a: [é", "é: 'x", "a: [1"] {
            let (_, errors) = read(&SourceFile::new("t.yaml", text), 0);
            let span = errors.first().unwrap_or_else(|| panic!("{text}: no mistake found")).span;
            assert!(text.get(span.start as usize..span.end as usize).is_some(), "{text}: {span:?}");
        }
    }

    #[test]
    fn goes_on_after_a_mistake() {
        let (node, errors) = read(&SourceFile::new("t.yaml", "a: yes\nb: no\nb: 1"), 0);
        assert_eq!(errors.len(), 3);
        assert!(node.is_some());
    }

    #[test]
    fn knows_where_values_stand() {
        let text = "a:\n  - b: deep\n";
        let (node, _) = read(&SourceFile::new("t.yaml", text), 0);
        let node = node.unwrap();
        let deep = node.get("a").unwrap().as_list().unwrap()[0].get("b").unwrap();
        assert_eq!(&text[deep.span.start as usize..deep.span.end as usize], "deep");
    }
}
