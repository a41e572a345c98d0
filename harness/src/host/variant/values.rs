//! Variants of the values of members that a host chooses.
//!
//! Knows: types and their members. Never knows: the implementation of requests.

use crate::wire::json::{Map, Value, json};
use crate::wire::version::Version;

use super::row::{OPTIONAL, UNKNOWN, VariantRow, row, since};
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};
use crate::wire::spelling::walk;

/// Changes objects in the host's messages. The function receives the name of the type and the object.
struct ChangedRecords(fn(&str, &mut Map));

impl MessageRewriter for ChangedRecords {
    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        link.visit_records(&mut message, &mut |name, members| (self.0)(name, members));
        out.send(message);
    }
}

/// A bit of `status` that no version defines.
const UNKNOWN_BIT: u64 = 1 << 20;
/// Types whose `status` is a set of bits.
const WITH_STATUS: [&str; 7] = [
    "SessionState",
    "SessionSummary",
    "PartialSessionSummary",
    "ChatState",
    "ChatSummary",
    "PartialChatSummary",
    "SessionChatSummary",
];

fn set_unknown_bit(name: &str, members: &mut Map) {
    if WITH_STATUS.contains(&name)
        && let Some(status) = members.get_mut("status")
        && let Some(bits) = status.as_u64()
    {
        *status = json!(bits | UNKNOWN_BIT);
    }
}

/// The lists that the variant removes when they are empty: the name of the type, and the name of the member.
const LISTS: &[(&str, &str)] = &[
    ("RootState", "terminals"),
    ("SessionState", "serverTools"),
    ("SessionState", "changesets"),
    ("ChatState", "backgroundWork"),
    ("ChatState", "canvases"),
    ("ChatState", "changesets"),
    ("AgentInfo", "protectedResources"),
    ("AgentInfo", "customizations"),
];

fn add_empty_lists(name: &str, members: &mut Map) {
    for (_, list) in LISTS.iter().filter(|(of, _)| *of == name) {
        if !members.contains_key(list) {
            members.insert(*list, json!([]));
        }
    }
}

/// Declares another prefix for shell commands.
struct ShellPrefix;

const OWN_PREFIX: &str = "!";
const OTHER_PREFIX: &str = "$ ";
/// The prefix of a message that looks like a command of the reference host but is not a command: its first character is
/// invisible.
const NO_COMMAND: &str = "\u{2060}!";

/// Replaces the prefixes of users' messages; the first pair whose prefix matches applies.
fn prefix_texts(message: &mut Value, pairs: [(&str, &str); 2]) {
    walk(message, &mut |value| {
        let Value::Object(members) = value else { return };
        let origin = members.get("origin").is_some_and(|origin| origin.get("kind").is_some());
        if let Some(text) = members.get_mut("text").filter(|_| origin)
            && let Some(before) = text.as_str()
        {
            let pair = pairs.iter().find_map(|(from, to)| Some((before.strip_prefix(from)?, to)));
            let after = pair.map(|(rest, to)| format!("{to}{rest}"));
            after.into_iter().for_each(|after| *text = json!(after));
        }
    });
}

impl MessageRewriter for ShellPrefix {
    fn edit_client_message(&mut self, _: &MessageLink<'_>, message: &mut Value) -> Option<Value> {
        prefix_texts(message, [(OTHER_PREFIX, OWN_PREFIX), (OWN_PREFIX, NO_COMMAND)]);
        None
    }

    fn on_host_message(
        &mut self,
        link: &MessageLink<'_>,
        mut message: Value,
        out: &mut RewriterOutput,
    ) {
        prefix_texts(&mut message, [(OWN_PREFIX, OTHER_PREFIX), (NO_COMMAND, OWN_PREFIX)]);
        link.visit_records(&mut message, &mut |name, members| {
            if name == "InitializeResult"
                && let Some(prefix) = members.get_mut("terminalCommandPrefix")
            {
                *prefix = json!(OTHER_PREFIX);
            }
        });
        out.send(message);
    }
}

/// The variants of status bits, empty lists, prefixes and human-readable strings.
pub(super) const ROWS: &[VariantRow] = &[
    row(
        "unknown-status-bits",
        "`status` has a bit that no version defines.",
        "Clients ignore bits that they do not know.",
        UNKNOWN,
        || Box::new(ChangedRecords(set_unknown_bit)),
    ),
    row(
        "empty-lists",
        "Optional lists without entries are sent as `[]`.",
        "An optional list may be present without entries.",
        OPTIONAL,
        || Box::new(ChangedRecords(add_empty_lists)),
    ),
    since(
        Version::V0_9,
        row(
            "another-shell-prefix",
            "Shell commands begin with `$ `.",
            "The host declares the prefix in `terminalCommandPrefix`.",
            "docs/specification/lifecycle.md › Initialize Response",
            || Box::new(ShellPrefix),
        ),
    ),
    row(
        "other-completion-triggers",
        "`%` is the only character that triggers completions.",
        "The host declares the characters in `completionTriggerCharacters`.",
        "docs/specification/lifecycle.md › Initialize Response",
        || {
            Box::new(ChangedRecords(|name, members| {
                if name == "InitializeResult"
                    && let Some(triggers) = members.get_mut("completionTriggerCharacters")
                {
                    *triggers = json!(["%"]);
                }
            }))
        },
    ),
    row(
        "other-descriptions",
        "Agents and models have names of several lines in another language.",
        "`displayName` and `name` are human-readable strings.",
        OPTIONAL,
        || {
            Box::new(ChangedRecords(|name, members| {
                let texts: &[&str] = match name {
                    "AgentInfo" => &["displayName"],
                    "SessionModelInfo" => &["name"],
                    _ => &[],
                };
                for text in texts {
                    members.insert(*text, json!("\u{5de5}\u{5177}\n\t\u{202e}abc"));
                }
            }))
        },
    ),
    row(
        "other-texts-of-tools",
        "The display names and invocation messages of tool calls begin with a symbol.",
        "`displayName` and `invocationMessage` are human-readable strings.",
        OPTIONAL,
        || {
            Box::new(ChangedRecords(|name, members| {
                let call = name.starts_with("ToolCall") || name.contains("/toolCall");
                for name in ["displayName", "invocationMessage"] {
                    let member = members.get_mut(name).filter(|_| call);
                    if let Some(Value::String(text)) = member {
                        *text = format!("\u{1f6e0} {text}").into();
                    }
                }
            }))
        },
    ),
];
