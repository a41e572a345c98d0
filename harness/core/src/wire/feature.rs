//! The features of the protocol, with the versions that have them. Each feature is one row, so that no other code has
//! to compare version numbers.
//!
//! Knows: versions. Never knows: the tables, the capabilities of hosts.
//!
//! Start at [`ProtocolFeature`].

use super::version::Version;

macro_rules! features {
    ($($(#[doc = $doc:literal])+ $name:ident $since:tt $(until $until:tt)?, $source:literal;)+) => {
        /// A feature that not every version of the protocol has.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum ProtocolFeature {
            $($(#[doc = $doc])+ $name,)+
        }

        impl ProtocolFeature {
            /// Every feature, in the order of the first version that has it.
            pub const ALL: &'static [ProtocolFeature] = &[$(ProtocolFeature::$name),+];

            const fn row(self) -> FeatureRow {
                match self {
                    $(ProtocolFeature::$name => FeatureRow {
                        name: stringify!($name),
                        doc: concat!($($doc),+),
                        since: version!($since),
                        until: features!(@until $($until)?),
                        source: $source,
                    },)+
                }
            }
        }
    };
    (@until) => { None };
    (@until $until:tt) => { Some(version!($until)) };
}

macro_rules! version {
    (($major:literal, $minor:literal, $patch:literal)) => {
        Version::new($major, $minor, $patch)
    };
}

struct FeatureRow {
    name: &'static str,
    doc: &'static str,
    since: Version,
    until: Option<Version>,
    source: &'static str,
}

features! {
    /// All `params` name their channel, and actions no longer contain the URI of their channel.
    Channels (0, 2, 0), "changelog 0.2.0";
    /// A `reconnect` replay names the channels that no longer exist.
    Missing (0, 2, 0), "ReconnectReplayResult.missing";
    /// Hosts and clients read and write each other's files with the `resource*` methods.
    SymmetricResources (0, 2, 0), "changelog 0.2.0";
    /// Sessions name their changesets, which are channels.
    Changesets (0, 2, 0), "changelog 0.2.0";
    /// Turns belong to chat channels; a session keeps a catalogue of chats.
    Chats (0, 4, 0), "chat-channel.md";
    /// Comments on a session's files have their own channel.
    Annotations (0, 4, 0), "changelog 0.4.0";
    /// The members of a session's state are no longer divided between the state and its `summary`, and the state lists
    /// all active clients.
    FlatSession (0, 5, 0), "changelog 0.5.0";
    /// A chat keeps a draft of the next message (`chat/draftChanged`).
    Drafts (0, 5, 0), "chat/draftChanged";
    /// `createSession` accepts a progress token, and `root/progress` reports the progress.
    Progress (0, 5, 0), "root/progress";
    /// `subscribe` accepts `delivery.maxLatencyMs`: the host may delay and merge actions.
    Delivery (0, 5, 1), "SubscriptionDeliveryOptions";
    /// `subscribe` accepts `view.turns`; after `fetchTurns`, older turns arrive in an action.
    TurnWindows (0, 5, 1), "SubscribeView, chat/turnsLoaded";
    /// A session lists everything that its chats wait for (`session/inputNeededSet`).
    InputNeeded (0, 5, 1), "session/inputNeededSet";
    /// If a client's own tool runs, the session has the status InputNeeded.
    ClientToolsRaiseInputNeeded (0, 5, 1) until (0, 8, 0), "changelog 0.8.0";
    /// The answer to `listSessions` comes in pages.
    SessionPages (0, 5, 1), "ListSessionsParams.cursor";
    /// Client and host state the names of their software in the handshake.
    Introductions (0, 5, 2), "InitializeParams.clientInfo";
    /// Turns have `startedAt` and `duration`.
    TurnTimes (0, 6, 0), "changelog 0.6.0";
    /// Input requests are parts of a response and stay in the history.
    InputRequestParts (0, 6, 0), "changelog 0.6.0";
    /// Tool calls may pause for authentication (`chat/toolCallAuthRequired`).
    ToolAuthentication (0, 6, 0), "chat/toolCallAuthRequired";
    /// Sessions and chats have a list of working directories.
    WorkingDirectories (0, 7, 0), "changelog 0.7.0";
    /// Customizations have a separate enablement decision for each scope.
    Enablement (0, 8, 0), "changelog 0.8.0";
    /// A refusal of the handshake has to list the versions that the host supports.
    SupportedVersionsRequired (0, 9, 0), "UnsupportedProtocolVersionErrorData";
    /// A failed turn ends with an error part; `Turn.error` no longer exists.
    ErrorPart (0, 9, 0), "chat/error, ErrorResponsePart";
    /// A client may resume a failed turn (`chat/turnResume`).
    TurnResume (0, 9, 0), "chat/turnResume";
    /// Reducers take times from actions only, never from a clock.
    DeterministicTimes (0, 9, 0), "changelog 0.9.0";
    /// Newer versions may extend enumerations and unions; readers keep values that they do not know.
    OpenEnums (0, 9, 0), "changelog 0.9.0";
    /// The host runs automations by schedule or on events (`automation/*`, `automationRun/*`).
    Automations (0, 9, 0), "InitializeResult.automations";
    /// The host chooses the highest offered version inside a caret range that it supports, and no other
    /// version.
    ExactNegotiation (1, 0, 0), "versioning.md, negotiation";
    /// A token that a client sends may have a lifetime (`authenticate.expiresIn`).
    TokenLifetimes (1, 0, 0), "AuthenticateParams.expiresIn";
    /// A session summary has a compact catalogue of chats.
    SummaryChats (1, 0, 0), "SessionSummary.chats";
    /// Clients can move and reorder chats (`moveChat`, `session/chatsReordered`).
    ChatMoves (1, 0, 0), "moveChat";
    /// Each chat has its own flags for read and archived.
    ChatFlags (1, 0, 0), "chat/isReadChanged, chat/isArchivedChanged";
    /// A chat lists work that continues after its tool call has returned.
    BackgroundWork (1, 0, 0), "chat/backgroundWorkSet";
    /// Live canvases have their own channels. The specification calls canvases experimental.
    Canvases (1, 0, 0), "canvas/stateChanged";
}

impl ProtocolFeature {
    /// Returns whether a version of the protocol has the feature.
    pub fn is_in(self, version: Version) -> bool {
        let row = self.row();
        row.since.standard == version.standard
            && row.since <= version
            && row.until.is_none_or(|until| version < until)
    }

    /// Returns the name in the code, such as `TurnWindows`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the description in one sentence.
    pub fn doc(self) -> &'static str {
        self.row().doc.trim()
    }

    /// Returns the first version that has the feature.
    pub fn since(self) -> Version {
        self.row().since
    }

    /// Returns the first version that no longer has the feature; `None` if all newer versions have it.
    pub fn until(self) -> Option<Version> {
        self.row().until
    }

    /// Returns the place in the specification that introduces the feature.
    pub fn source(self) -> &'static str {
        self.row().source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_say_something() {
        assert!(ProtocolFeature::ALL.is_sorted_by_key(|feature| feature.since()));
        for feature in ProtocolFeature::ALL {
            assert!(feature.doc().ends_with('.'), "{}", feature.name());
            assert!(!feature.source().is_empty(), "{}", feature.name());
            assert!(feature.until().is_none_or(|until| feature.since() < until));
        }
    }

    #[test]
    fn knows_since_and_until() {
        let check = |feature: ProtocolFeature, version: Version, expected: bool| {
            assert_eq!(feature.is_in(version), expected, "{feature:?} {version}");
        };
        check(ProtocolFeature::ExactNegotiation, Version::new(0, 9, 0), false);
        check(ProtocolFeature::ExactNegotiation, Version::new(1, 7, 3), true);
        check(ProtocolFeature::Chats, Version::new(0, 3, 0), false);
        let roll_up = ProtocolFeature::ClientToolsRaiseInputNeeded;
        check(roll_up, Version::new(0, 7, 0), true);
        check(roll_up, Version::new(0, 8, 0), false);
    }
}
