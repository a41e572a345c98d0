//! Lists the strings that the protocol itself defines: names of methods, actions and members, and values of
//! enumerations.
//!
//! Such a string says nothing about a user, so redaction keeps it. A rule that reads the string can then still judge
//! the redacted message.
//!
//! Knows: the tables. Never knows: messages, secrets.

use std::sync::OnceLock;

use foldhash::HashSet;

use super::channel::{OLD_ROOT, ROOT};
use super::protocol::Protocol;

/// The strings of JSON-RPC 2.0. The tables of the protocol do not contain them.
const JSON_RPC: [&str; 10] =
    ["jsonrpc", "2.0", "id", "method", "params", "result", "error", "code", "message", "data"];

/// The names in the OTLP payloads of `otlp/*` notifications that the checks read.
const OTLP: [&str; 6] = [
    "resourceLogs",
    "scopeLogs",
    "logRecords",
    "severityNumber",
    "resourceSpans",
    "resourceMetrics",
];

/// Returns whether some version of AHP or ACP, or JSON-RPC, defines this string as a name or as a value.
pub fn is_protocol_word(text: &str) -> bool {
    static WORDS: OnceLock<HashSet<String>> = OnceLock::new();
    WORDS.get_or_init(words).contains(text)
}

fn words() -> HashSet<String> {
    let mut words: HashSet<String> = JSON_RPC.into_iter().chain(OTLP).map(str::to_owned).collect();
    words.extend([ROOT, OLD_ROOT].map(str::to_owned));
    for protocol in Protocol::all().chain([Protocol::acp()]) {
        words.insert(protocol.version().to_string());
        words.extend(protocol.names().map(str::to_owned));
        words.extend(protocol.shapes.words().map(str::to_owned));
    }
    // The variant of a union that has no tag has an empty name.
    words.remove("");
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_names_and_values_of_every_version() {
        let words = [
            "initialize",
            "chat/delta",
            "fromSeq",
            "base64",
            "kind",
            "0.1.0",
            "session/prompt",
            "end_turn",
            "jsonrpc",
            "ahp-root://",
        ];
        for word in words {
            assert!(is_protocol_word(word), "{word}");
        }
        for other in ["", "hunter2", "Base64", "ahp-root://x", "chat/"] {
            assert!(!is_protocol_word(other), "{other}");
        }
    }
}
