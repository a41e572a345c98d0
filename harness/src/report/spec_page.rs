//! Maps the source of a requirement in the ledger to the address of the published page.
//!
//! Start at [`address`].

/// The prefixes of sources, each with an address. In the address, `{name}` is the file name without its extension,
/// `{file}` is the file name, and `{version}` is the version of a crate.
const PAGES: &[(&str, &str)] = &[
    ("docs/", "https://microsoft.github.io/agent-host-protocol/{name}"),
    ("types/", "https://github.com/microsoft/agent-host-protocol/blob/main/types/{file}"),
    (
        "THREAT_MODEL.md",
        "https://github.com/microsoft/agent-host-protocol/blob/main/THREAT_MODEL.md",
    ),
    ("ahp-types ", "https://docs.rs/ahp-types/{version}/ahp_types/{name}/"),
    ("ahp ", "https://docs.rs/ahp/{version}/ahp/{name}/"),
    ("JSON-RPC 2.0", "https://www.jsonrpc.org/specification"),
];

/// Returns the page of a source such as `docs/specification/chat-channel.md › Turns`; `None` if no page is
/// known.
pub fn address(source: &str) -> Option<String> {
    let (prefix, page) = PAGES.iter().find(|(prefix, _)| source.starts_with(prefix))?;
    let rest = &source[prefix.len()..];
    // If the source is a crate, the source contains the version of the crate.
    let (version, rest) = match page.contains("{version}") {
        true => rest.split_once(' ')?,
        false => ("", rest),
    };
    let end = rest.find([' ', ';', ',', '(']).unwrap_or(rest.len());
    let file = &rest[..end];
    let name = file.rsplit_once('.').map_or(file, |(name, _)| name);
    let page = page.replace("{version}", version).replace("{file}", file);
    Some(page.replace("{name}", name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::RequirementLedger;

    #[test]
    fn finds_the_page() {
        let check = |source: &str, expected: Option<&str>| {
            assert_eq!(address(source).as_deref(), expected, "{source}");
        };
        check(
            "docs/specification/chat-channel.md › Turns",
            Some("https://microsoft.github.io/agent-host-protocol/specification/chat-channel"),
        );
        check(
            "ahp-types 1.0.0 commands.rs › CreateSessionParams",
            Some("https://docs.rs/ahp-types/1.0.0/ahp_types/commands/"),
        );
        check("something of our own", None);
    }

    #[test]
    fn most_requirements_have_a_page() {
        let rows: Vec<_> = RequirementLedger::newest().iter().collect();
        let without = rows.iter().filter(|row| address(row.source).is_none()).count();
        assert!(without * 20 < rows.len(), "{without} of {}", rows.len());
        for row in rows {
            let page = address(row.source).unwrap_or_default();
            assert!(!page.contains(['{', ' ', '›']), "{}: {page}", row.source);
        }
    }
}
