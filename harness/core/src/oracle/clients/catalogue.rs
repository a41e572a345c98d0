//! The checks of clients: one row each, with its weight, its requirements, its source and the chosen
//! interpretation.
//!
//! Each weight is the weight of the requirement in the ledger. A check judges only frames of clients. Frames do not
//! show what a client displays or what it has in its memory.
//!
//! Knows: weights. Never knows: the implementation of checks.
//!
//! Start at [`CHECKS`].

use crate::oracle::rule::{CheckRow, catalogue};
use crate::verdict::Weight;

catalogue! {
    FirstMessage "clients.first-message" Must "P1" ["client.initialize.first"]
        "The first message of a client on a connection is `initialize`, or `reconnect` when it resumes. Source: \
         InitializeParams."
        open "A `ping` may come before, because it needs no session. Another handshake after a successful one is a note.";
    OfferedVersions "clients.offered-versions" Note "P1" ["client.initialize.semver-offers"]
        "A client offers at least one version, each once, as MAJOR.MINOR.PATCH, with the most preferred first. Source: \
         InitializeParams.protocolVersions."
        open "Only the version numbers show what a client should prefer, so a lower version before a higher version of \
              the same MAJOR is a note.";
    RootSubscribed "clients.root-subscribed" Should "P1" ["client.initialize.subscribe-root"]
        "A client SHOULD subscribe to the root channel with `initialize`. Source: root-channel.md, URI.";
    SelectedVersion "clients.selected-version" Must "P2" ["client.initialize.uses-selected"]
        "A client sends only what the version of the connection defines: its methods, its actions, and their members in \
         the shape of that version. Source: InitializeResult, the schema."
        open "Unknown members and unknown methods are extensions. A method or an action is of another version if \
              a published version has it and the version of the connection does not.";
    UnofferedVersion "clients.unoffered-version" Note "P2" ["client.initialize.rejects-unoffered"]
        "If the host selects a version that the client has not offered, the client ends the connection. Source: \
         InitializeResult.protocolVersion."
        open "The check judges messages that the client sends at least two seconds later.";
    RefusedHandshake "clients.refused-handshake" Note "P2"
        ["client.initialize.retry-new-connection", "client.initialize.unsupported-version"]
        apart ["client.initialize.retry-new-connection", "client.initialize.unsupported-version"]
        "After the error -32005, a client tries again only on another connection, and only with versions that the \
         host has listed. Source: versioning.md."
        open "A client that offers the same refused versions a third time is in a loop. The check applies if the host \
              has listed its versions.";
    RequestIds "clients.request-ids" Note "P3" []
        "The open requests of a client have different ids, which are strings or whole numbers: otherwise nobody knows \
         which request a response answers. Source: JSON-RPC 2.0, section 4.";
    HostRequests "clients.host-requests" Note "P3"
        ["client.jsonrpc.server-request-answered", "client.version.unknown-request",
         "resource.symmetric.client-unsupported"]
        apart ["client.jsonrpc.server-request-answered", "client.version.unknown-request",
               "resource.symmetric.client-unsupported"]
        "A client answers each request of the host once, and sends no other responses; it answers a method that it does \
         not know with -32601. Source: JSON-RPC 2.0, sections 4 and 5."
        open "The specification sets no deadline. A request counts as unanswered if the client sent other messages at \
              least ten seconds later; a `resourceRequest` may wait for a person without a limit.";
    LastSeen "clients.last-seen" Essential "P4" ["reconcile.lastseen-tracking"]
        "The `lastSeenServerSeq` of a `reconnect` is the greatest number that the client has processed, from actions \
         and snapshots: with a lower number the host repeats actions, and with a higher number the client loses \
         actions. Source: ReconnectParams."
        open "A number certainly has been processed if the client sent a frame at least two seconds after the number \
              arrived. A number that no recorded frame to the client had may have been sent over a connection that is \
              not recorded; it is too high only if the next action has no higher number. Rejections may be included or \
              not.";
    ResumedChannels "clients.resumed-channels" Should "P4"
        ["reconcile.reconnect-drop-missing", "client.subscribe.error-surface", "reconcile.reconnect-subscribed-only"]
        apart ["reconcile.reconnect-drop-missing", "client.subscribe.error-surface",
               "reconcile.reconnect-subscribed-only"]
        "A client resumes only channels that it is subscribed to: none that an earlier `reconnect` reported as missing, \
         none whose subscription was refused, and none that it has unsubscribed from. Source: lifecycle.md, \
         reconnection; ReconnectParams.subscriptions.";
    ListedAgain "clients.listed-again" Should "P4" ["reconcile.reconnect-relist"]
        "After a reconnect a client SHOULD request the list of sessions again, because notifications are not repeated. \
         Source: lifecycle.md, reconnection."
        open "The check judges clients that have requested the list before, on connections that last ten seconds after \
              the reconnect.";
    ClientSeqGrows "clients.client-seq" Note "P5" ["client.dispatch.clientseq-increasing"]
        "The `clientSeq` of a client's dispatches grows, also after a reconnect: it distinguishes the echoes. Source: \
         guide, actions."
        open "After a new `initialize` the numbers may restart, because a new process may use the same client id.";
    Dispatchable "clients.dispatchable" Note "P5" ["client.dispatch.only-dispatchable"]
        "A client dispatches only actions that clients may dispatch. Source: the table of actions.";
    DispatchChannel "clients.dispatch-channel" Note "P5" ["client.tool.complete-on-chat-channel"]
        "An action is dispatched on a channel of its kind, and the completion of a tool call on the channel of the chat \
         that has the call. Source: session-channel.md, aggregated input requests.";
    UserMessages "clients.user-messages" Must "P5" ["client.dispatch.user-kind-only"]
        "The messages that a client sends are of the kind `user`. Source: ChatTurnStartedAction.";
    StartTimes "clients.start-times" Note "P5" ["client.dispatch.startedAt"]
        "A client starts a turn with a `startedAt` in ISO 8601. Source: ChatTurnStartedAction.startedAt.";
    DraftCleared "clients.draft-cleared" Note "P6" ["client.dispatch.draft-clear"]
        "After a client has sent a message whose text was a draft in the chat, it clears this draft. Source: \
         chat-channel.md, drafts."
        open "The check judges this ten seconds after the turn began, if the draft and the message have the same text.";
    DraftRate "clients.draft-rate" Should "P6" ["client.dispatch.draft-debounce"]
        "A client SHOULD collect the changes of a draft for a moment, and not send each of them. Source: \
         chat-channel.md, drafts."
        open "The specification states no limit. More than twenty changes of one draft within a second are \
              too many; nobody types faster.";
    OwnEntry "clients.registers-itself" Must "P7" ["client.activeclient.own-id"]
        "A client registers itself as an active client with the id from its handshake. Source: \
         CreateSessionParams.activeClient.";
    ToolOwner "clients.tool-owner" Essential "P7" ["client.tool.execute-only-own"]
        "A client completes only calls of its own tools, once they run: otherwise a call runs on the wrong machine, or \
         without the approval. Source: ToolCallClientContributor."
        open "A call that waits for authentication may be ended as failed by any client.";
    ToolOnce "clients.tool-once" Essential "P7" ["client.tool.execute-once"]
        "A client completes a tool call once: a second completion shows that the tool ran twice. Source: \
         ToolCallRunningState."
        open "A completion may be repeated after it was rejected, or over another connection before its echo has \
              arrived.";
    ToolCancelled "clients.tool-cancelled" Essential "P7" ["client.tool.stop-on-cancel"]
        "A client does not complete a tool call after the turn of the call was cancelled: the tool had \
         to stop. Source: ChatTurnCancelledAction."
        open "The check applies if the cancel arrived at least two seconds earlier.";
    InputAnswers "clients.input-answers" Note "P8" ["client.input.answer-kinds", "client.input.required"]
        apart ["client.input.answer-kinds", "client.input.required"]
        "The answer to a question has the kind that fits the question, and a request is accepted only with all required \
         answers. Source: guide, elicitation.";
    Capabilities "clients.capabilities" Must "P9" ["client.version.feature-by-capability"]
        "A client uses a command only if the agent or the host has declared its capability. Source: AgentCapabilities.";
    Directories "clients.directories" Must "P9" ["client.workdir.no-capability", "client.workdir.primary"]
        apart ["client.workdir.no-capability", "client.workdir.primary"]
        "Without the capability for several working directories a client names at most one directory and changes no \
         directory; a primary directory that is protected is neither removed nor replaced. Source: \
         MultipleWorkingDirectoriesCapability.";
    MovableChats "clients.movable-chats" Must "P9" ["client.chats.move-only-movable"]
        "A client moves only chats that are `movable`. Source: MoveChatParams.";
    AutomationOperations "clients.automation-operations" Must "P9" ["client.automation.operations-authoritative"]
        "A client uses an automation only as the automation's `operations` permit. Source: AutomationOperation.";
    DefaultChat "clients.default-chat" Should "P10" ["chat.archived.default-chat"]
        "Instead of the default chat, a client SHOULD archive the session. Source: ChatIsArchivedChangedAction.";
    LastEntry "clients.last-entry" Note "P10" ["client.annotations.last-entry"]
        "Instead of the last entry of an annotation, a client removes the annotation, because an annotation needs an \
         entry. Source: Annotation.";
    McpMethods "clients.mcp-methods" Should "P10" ["client.mcp.no-speculation"]
        "A client SHOULD send a server over its side channel only methods that the server has advertised. Source: \
         mcp-channel.md."
        open "The check judges methods of tools and of resources, on servers that advertise any capability.";
    VerbatimUris "clients.verbatim-uris" Must "P11" ["client.channel.opaque-uris"]
        "A client sends a URI of the host back unchanged. Source: telemetry-channel.md, mcp-channel.md, \
         resource-watch-channel.md."
        open "A URI that differs from one of the host only in escapes, in the case of letters or in a slash at its end \
              counts as changed, unless the client has created it itself.";
    VerbatimCursors "clients.verbatim-cursors" Must "P11" ["client.list.cursor-opaque"]
        "A client requests pages of `listSessions` only with cursors that the host has sent on the same connection. \
         Source: root-channel.md, pagination.";
    ProgressTokens "clients.progress-tokens" Must "P11" ["client.progress.token-unique"]
        "The progress tokens of a client's open requests are different. Source: CreateSessionParams.progressToken.";
    CompletionOffset "clients.completion-offset" Must "P11" ["client.completion.offset-utf16"]
        "The offset of `completions` counts UTF-16 units of the text, from 0 to its length. Source: \
         CompletionsParams.offset.";
    AuthResource "clients.auth-resource" Must "P12" ["client.auth.resource-match"]
        "A client delivers a token only for a resource that the host has named: otherwise the token reaches a host that \
         did not ask for it. Source: authentication.md, token delivery."
        open "The check applies if the transcript has the root state, where the host names the resources of its \
            agents.";
    TokenLifetime "clients.token-lifetime" Must "P12" ["client.auth.expiresIn"]
        "`expiresIn` is positive. When the same token is delivered again, `expiresIn` is smaller by the elapsed time. \
         Source: AuthenticateParams.expiresIn."
        open "Deliveries of a token are compared if at least ten seconds have passed. The check does not judge the \
              amount of the difference, because a capture does not have the times of the client's clock.";
    ExpiredToken "clients.expired-token" Must "P12" ["client.auth.no-replay-expired"]
        "A client does not deliver a token again that the host has reported as expired. Source: AuthRequiredParams.";
}

#[cfg(test)]
mod catalogue_tests {
    use super::*;
    use crate::oracle::{CHECKS as HOST_CHECKS, acp};

    #[test]
    fn rows_of_clients_are_unique_and_end_sentences() {
        let others = || HOST_CHECKS.iter().chain(acp::CHECKS);
        for (index, row) in CHECKS.iter().enumerate() {
            assert!(row.doc.ends_with('.'), "{}", row.id);
            assert!(row.open.is_none_or(|open| open.ends_with('.')), "{}", row.id);
            assert!(CHECKS[..index].iter().chain(others()).all(|other| other.id != row.id));
            assert!(row.apart.iter().all(|id| row.requirements.contains(id)), "{}", row.id);
        }
    }
}
