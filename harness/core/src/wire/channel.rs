//! The kinds of channels, and the naming of their URIs and actions.

/// The kind of state that a channel contains.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ChannelKind {
    /// Agents, terminals and the configuration of the host.
    Root,
    /// One session: its chats, flags and configuration.
    Session,
    /// One chat: its turns.
    Chat,
    /// One terminal.
    Terminal,
    /// Files changed by a session.
    Changeset,
    /// Comments on a session's files.
    Annotations,
    /// A watch on files.
    ResourceWatch,
    /// A page that an extension shows.
    Canvas,
    /// The host's automations.
    Automations,
    /// One run of an automation.
    AutomationRun,
}

struct ChannelRow {
    kind: ChannelKind,
    /// The prefix of the types of actions on this kind of channel, without the slash.
    family: &'static str,
    /// The name in the protocol tables of the type of this kind's states.
    state: &'static str,
    /// The name of the reducer for this kind of channel in the official fixtures.
    reducer: &'static str,
    /// The prefix of the URIs of this kind of channel; empty if the host chooses the prefix.
    uri: &'static str,
}

/// One row for each kind. If the host chooses the scheme (terminals, changesets), only a snapshot shows the kind of a
/// channel. For terminals and changesets, the prefixes in this table come from the specification's examples.
const ROWS: [ChannelRow; 10] = {
    use ChannelKind::*;
    const fn row(
        kind: ChannelKind,
        family: &'static str,
        state: &'static str,
        reducer: &'static str,
        uri: &'static str,
    ) -> ChannelRow {
        ChannelRow { kind, family, state, reducer, uri }
    }
    [
        row(Root, "root", "RootState", "root", "ahp-root://"),
        row(Session, "session", "SessionState", "session", "ahp-session:/"),
        row(Chat, "chat", "ChatState", "chat", "ahp-chat:/"),
        row(Terminal, "terminal", "TerminalState", "terminal", "ahp-terminal:/"),
        row(Changeset, "changeset", "ChangesetState", "changeset", "ahp-changeset:/"),
        row(Annotations, "annotations", "AnnotationsState", "annotations", ""),
        row(
            ResourceWatch,
            "resourceWatch",
            "ResourceWatchState",
            "resourceWatch",
            "ahp-resource-watch:/",
        ),
        row(Canvas, "canvas", "CanvasState", "canvas", "ahp-canvas:/"),
        row(Automations, "automation", "AutomationState", "automations", "ahp-automations://"),
        row(
            AutomationRun,
            "automationRun",
            "AutomationRunState",
            "automationRun",
            "ahp-automation-run:",
        ),
    ]
};

/// The URI of the root channel.
pub const ROOT: &str = "ahp-root://";
/// The URI of the root channel before 0.2.0.
pub const OLD_ROOT: &str = "agenthost:/root";

impl ChannelKind {
    /// Returns the kind that a URI's scheme names; `None` if the protocol does not define the scheme.
    pub fn of_uri(uri: &str) -> Option<ChannelKind> {
        if uri.starts_with("ahp-session:") && uri.ends_with("/annotations") {
            return Some(ChannelKind::Annotations);
        }
        let named = |row: &&ChannelRow| !row.uri.is_empty() && uri.starts_with(row.uri);
        ROWS.iter().find(named).map(|row| row.kind)
    }

    /// Returns the kind that a URI's scheme names, like [`ChannelKind::of_uri`], but `None` for a URI below the URI of
    /// a session: a host may place changesets and other channels of the session there.
    pub fn promised_by(uri: &str) -> Option<ChannelKind> {
        let path = uri.trim_start_matches("ahp-session:").trim_start_matches('/');
        let below = |kind: &ChannelKind| *kind == ChannelKind::Session && path.contains('/');
        ChannelKind::of_uri(uri).filter(|kind| !below(kind))
    }

    /// Returns the kind whose state an action of this type changes. The part of the type before the slash
    /// determines the kind.
    pub fn of_action(action_type: &str) -> Option<ChannelKind> {
        let family = action_type.split_once('/')?.0;
        ROWS.iter().find(|row| row.family == family).map(|row| row.kind)
    }

    /// Returns the name of the channel's state type in the protocol tables, such as `ChatState`.
    pub fn state_type(self) -> &'static str {
        self.row().state
    }

    /// Returns the prefix of the channel's action types, such as `chat`.
    pub fn family(self) -> &'static str {
        self.row().family
    }

    /// Returns the name of the channel's reducer in the official fixtures, such as `resourceWatch`.
    pub fn reducer_name(self) -> &'static str {
        self.row().reducer
    }

    /// Returns the kind whose reducer has this name.
    pub fn of_reducer(name: &str) -> Option<ChannelKind> {
        ROWS.iter().find(|row| row.reducer == name).map(|row| row.kind)
    }

    /// Returns every kind.
    pub fn all() -> impl Iterator<Item = ChannelKind> {
        ROWS.iter().map(|row| row.kind)
    }

    /// Returns the names of all reducers.
    pub fn reducer_names() -> impl Iterator<Item = &'static str> {
        ChannelKind::all().map(ChannelKind::reducer_name)
    }

    fn row(self) -> &'static ChannelRow {
        &ROWS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_kinds() {
        for (index, row) in ROWS.iter().enumerate() {
            assert_eq!(row.kind as usize, index);
            assert_eq!(ChannelKind::of_reducer(row.kind.reducer_name()), Some(row.kind));
        }
    }

    #[test]
    fn classifies_uris() {
        use ChannelKind::*;
        let kind = ChannelKind::of_uri;
        assert_eq!(kind(ROOT), Some(Root));
        assert_eq!(kind("ahp-session:/1"), Some(Session));
        assert_eq!(kind("ahp-session:/1/annotations"), Some(Annotations));
        assert_eq!(kind("ahp-chat://default/abc"), Some(Chat));
        assert_eq!(kind("ahp-automations://"), Some(Automations));
        assert_eq!(kind("copilot:/1"), None);
        assert_eq!(kind("ahp-session:/1/changes"), Some(Session));
        assert_eq!(ChannelKind::promised_by("ahp-session:/1/changes"), None);
        assert_eq!(ChannelKind::promised_by("ahp-session:/1/annotations"), Some(Annotations));
        assert_eq!(ChannelKind::promised_by("ahp-session:/1"), Some(Session));
    }

    #[test]
    fn classifies_actions() {
        assert_eq!(ChannelKind::of_action("chat/delta"), Some(ChannelKind::Chat));
        assert_eq!(ChannelKind::of_action("automation/set"), Some(ChannelKind::Automations));
        assert_eq!(ChannelKind::of_action("x-mine/set"), None);
        assert_eq!(ChannelKind::of_action("delta"), None);
    }
}
