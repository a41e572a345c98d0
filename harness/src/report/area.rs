//! Maps the identifier of a scenario, check or requirement to its profile.
//!
//! Start at [`area`].

/// The areas that determine a profile. The first area that is a prefix of an identifier determines the profile.
const AREAS: &[(&str, &str)] = &[
    ("acp.calls", "tool-calls"),
    ("acp.content", "tool-calls"),
    ("acp.gates", "tool-calls"),
    ("acp.modes", "modes"),
    ("acp.options", "modes"),
    ("acp.permission", "permission"),
    ("acp.sessions.loaded-first", "load"),
    ("acp.sessions.resumed-silently", "load"),
    ("acp.terminals", "tool-calls"),
    ("acp.turns", "turns"),
    ("acp/cancel", "turns"),
    ("acp/load", "load"),
    ("acp/mcp", "mcp"),
    ("acp/modes", "modes"),
    ("acp/permission", "permission"),
    ("acp/plans", "turns"),
    ("acp/reports", "tool-calls"),
    ("acp/tools", "tool-calls"),
    ("acp/turn", "turns"),
    ("annotations", "annotations"),
    ("auth", "auth"),
    ("automation", "automations"),
    ("automations", "automations"),
    ("below", "agent"),
    ("canvas", "canvas"),
    ("canvases", "canvas"),
    ("chat.attachment", "multi-chat"),
    ("chat.canvas", "canvas"),
    ("chat.create", "multi-chat"),
    ("chat.input", "agent"),
    ("chat.move", "multi-chat"),
    ("chat.queue", "agent"),
    ("chat.subagent", "multi-chat"),
    ("chat.steering", "agent"),
    ("chat.tool", "agent"),
    ("chat.turn", "agent"),
    ("changeset", "changesets"),
    ("changesets", "changesets"),
    ("chats", "multi-chat"),
    ("customizations", "customizations"),
    ("input", "agent"),
    ("mcp", "customizations"),
    ("queue", "agent"),
    ("resource", "resources"),
    ("resources", "resources"),
    ("steering", "agent"),
    ("telemetry", "telemetry"),
    ("terminal", "terminals"),
    ("terminals", "terminals"),
    ("tool", "agent"),
    ("tools", "agent"),
    ("turns", "agent"),
    ("watch", "resources"),
    ("watches", "resources"),
];

/// The prefixes of the identifiers of scenarios and requirements about clients. The area follows the prefix.
const OF_CLIENTS: &[&str] = &["client/", "client."];

/// The profiles that no area determines.
pub(super) const PROFILES: [&str; 2] = ["core", "agent"];

/// Returns the profiles that an area determines.
pub(super) fn areas() -> impl Iterator<Item = &'static str> {
    AREAS.iter().map(|(_, profile)| *profile)
}

/// Returns the profile of the scenario, check or requirement with this identifier; `otherwise` if no area is a
/// prefix of the identifier.
pub(super) fn area(id: &str, otherwise: &str) -> String {
    let id = OF_CLIENTS.iter().find_map(|prefix| id.strip_prefix(prefix)).unwrap_or(id);
    let within = |area: &str| {
        id.strip_prefix(area).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
    };
    let named = AREAS.iter().find(|(area, _)| within(area)).map(|(_, profile)| *profile);
    named.unwrap_or(otherwise).to_owned()
}

/// Returns the profile of a scenario; `core` if its file names none.
pub(super) fn or_core(profile: &str) -> &str {
    if profile.is_empty() { "core" } else { profile }
}
