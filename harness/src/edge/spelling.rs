//! Converts messages for users to the names of the version on the wire: actions and notifications get the names under
//! which they are sent.
//!
//! Knows: names of actions and methods. Never knows: the meaning of strings.
//!
//! Start at [`VersionEdge::in_words_of_the_wire`].

use crate::wire::json::json;

use super::{ChangeContext, VersionEdge, message, type_of};

impl VersionEdge {
    /// Returns a string in which actions and notifications have the names of this version. A name stays unchanged
    /// if the version has no other name for the same item, or if the name is part of a longer word, such as a
    /// URI.
    pub fn in_words_of_the_wire(&self, text: &str) -> String {
        if self.is_plain() {
            return text.to_owned();
        }
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | ':' | '-' | '_');
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_of_name) {
            let (before, from) = rest.split_at(start);
            let end = from.find(|c| !is_of_name(c)).unwrap_or(from.len());
            // A colon after a name is punctuation, and not a part of the name.
            let (word, after) = from.split_at(from[..end].trim_end_matches(':').len());
            out.push_str(before);
            match self.name_on_the_wire(word) {
                Some(name) => out.push_str(&name),
                None => out.push_str(word),
            }
            let colons = after.len() - after.trim_start_matches(':').len();
            out.push_str(&after[..colons]);
            rest = &after[colons..];
        }
        out.push_str(rest);
        out
    }

    /// Returns the name of an action or a notification in this version; `None` if the newest version uses the
    /// same name.
    pub fn name_on_the_wire(&self, name: &str) -> Option<String> {
        if self.is_plain() || !name.contains('/') || self.knows(name) {
            return None;
        }
        if self.newest.action(name).is_some() {
            let (_, lowered) =
                self.lower_action("", &json!({"type": name}), ChangeContext::NOTHING)?;
            return Some(type_of(&lowered).to_owned());
        }
        message::wrapped_name(name).map(str::to_owned)
    }

    fn knows(&self, name: &str) -> bool {
        self.protocol.action(name).is_some() || self.protocol.method(name).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::version::Version;

    #[test]
    fn messages_name_actions_as_the_version_spells_them() {
        let check = |version: &str, text: &str, expected: &str| {
            let version: Version = version.parse().unwrap();
            let edge = VersionEdge::new(version, "p");
            assert_eq!(edge.in_words_of_the_wire(text), expected, "{version}");
        };
        let text = "expected no `chat/delta` or `chat/turnComplete`: \"type\":\"chat/toolCallComplete\" came";
        check("1.0.0", text, text);
        check("0.9.0", text, text);
        check("0.4.0", text, text);
        check("0.3.0", text, &text.replace("chat/", "session/"));
        check("0.1.0", "chat/delta:", "session/delta:");
        check("0.4.0", "`session/activeClientSet`", "`session/activeClientChanged`");
        check("0.2.0", "`root/sessionAdded`", "`root/sessionAdded`");
        check("0.1.0", "`root/sessionAdded` came", "`notify/sessionAdded` came");
        // Names that only the newest version has stay unchanged, and so do words that only look like names.
        for text in
            ["chat/canvasOpened", "ahp-session:/chat/delta", "file:///chat/delta", "x-chat/delta"]
        {
            check("0.3.0", text, text);
        }
    }
}
