//! Operators that insert actions that the host should not have sent.

use super::{action, row};
use crate::mutation::change::WireChange::{Again, AgainAfter, Insert};
use crate::mutation::evidence::FaultEvidence::{Itself, State};
use crate::mutation::operator::FaultClass::Inserted;
use crate::mutation::operator::PlaceCondition;
use crate::mutation::operator::PlaceCondition::{Accepted, After, Always, HostMade, Is};

/// The condition that the preceding action is accepted.
const ANY: &[PlaceCondition] = &[Accepted];

/// The reason why an action without an effect is legal.
const NO_EFFECT: &str = "reducers ignore an action that has nothing to change, and the specification has no rule about it";

operator_table! {
    INSERTED
    row(Inserted, "turn-within-a-turn", "A turn begins while another one is active.",
        action(&["chat/turnStarted"]).when(ANY), Insert(r#"{"type":"chat/turnStarted","turnId":"$unknown","startedAt":"$startedAt","message":{"text":"Again.","origin":{"kind":"user"}}}"#), &[Itself]),
    row(Inserted, "turn-begins-again", "A turn begins twice.",
        action(&["chat/turnStarted"]).when(ANY), Again, &[Itself]),
    row(Inserted, "turn-ends-twice", "A turn ends twice.",
        action(&["chat/turnComplete", "chat/turnCancelled", "chat/error"]).when(ANY), Again, &[Itself]),
    row(Inserted, "turn-ends-in-two-ways", "A completed turn is cancelled.",
        action(&["chat/turnComplete"]).when(ANY), Insert(r#"{"type":"chat/turnCancelled","turnId":"$turnId","duration":1}"#), &[Itself]),
    row(Inserted, "turn-fails-after-its-end", "A completed turn fails.",
        action(&["chat/turnComplete"]).when(ANY), Insert(r#"{"type":"chat/error","turnId":"$turnId","duration":1,"part":{"kind":"error","error":{"errorType":"x","message":"x"},"resumable":false}}"#), &[Itself]),
    row(Inserted, "unknown-turn-ends", "A turn that never began ends.",
        action(&["chat/turnComplete"]).when(ANY), Insert(r#"{"type":"chat/turnComplete","turnId":"$unknown","duration":1}"#), &[Itself]),
    row(Inserted, "delta-after-the-end", "Text is added to a turn that has ended.",
        action(&["chat/turnComplete", "chat/turnCancelled", "chat/error"]).when(&[Accepted, After("chat/delta")]), AgainAfter("chat/delta"), &[Itself]),
    row(Inserted, "part-after-the-end", "A part is added to a turn that has ended.",
        action(&["chat/turnComplete", "chat/turnCancelled", "chat/error"]).when(&[Accepted, After("chat/responsePart")]), AgainAfter("chat/responsePart"), &[Itself]),
    row(Inserted, "part-twice", "A part is added twice.",
        action(&["chat/responsePart"]).when(ANY), Again, &[Itself]),
    row(Inserted, "delta-again", "A delta is sent twice, although the chat has its text once.",
        action(&["chat/delta", "chat/reasoning"]).when(ANY), Again, &[State]),
    row(Inserted, "delta-of-no-part", "Text is added to a part that does not exist.",
        action(&["chat/delta"]).when(ANY), Insert(r#"{"type":"chat/delta","turnId":"$turnId","partId":"$unknown","content":"x"}"#), &[Itself]),
    row(Inserted, "call-starts-twice", "A tool call is started twice.",
        action(&["chat/toolCallStart"]).when(ANY), Again, &[Itself]),
    row(Inserted, "call-streams-after-ready", "A tool call that is ready gets more streamed input.",
        action(&["chat/toolCallReady"]).when(&[Accepted, After("chat/toolCallDelta")]), AgainAfter("chat/toolCallDelta"), &[Itself]),
    row(Inserted, "call-ready-after-its-end", "A completed tool call is ready again.",
        action(&["chat/toolCallComplete"]).when(&[Accepted, After("chat/toolCallReady")]), AgainAfter("chat/toolCallReady"), &[Itself]),
    row(Inserted, "call-ends-twice", "A tool call is completed twice.",
        action(&["chat/toolCallComplete"]).when(ANY), Again, &[Itself]),
    row(Inserted, "call-ends-unknown", "A tool call that never started is completed.",
        action(&["chat/toolCallComplete"]).when(ANY), Insert(r#"{"type":"chat/toolCallComplete","turnId":"$turnId","toolCallId":"$unknown","result":{"success":true,"pastTenseMessage":"Did it"}}"#), &[Itself]),
    row(Inserted, "call-confirmed-twice", "A tool call is confirmed twice.",
        action(&["chat/toolCallConfirmed"]).when(ANY), Again, &[Itself]),
    row(Inserted, "host-confirms-a-call", "The host confirms a waiting tool call itself, as if a person had.",
        action(&["chat/toolCallReady"]).when(&[HostMade, Is("/action/editable", "false")]), Insert(r#"{"type":"chat/toolCallConfirmed","turnId":"$turnId","toolCallId":"$toolCallId","approved":true,"confirmed":"user-action"}"#), &[Itself]),
    row(Inserted, "call-content-after-its-end", "A completed tool call gets other content.",
        action(&["chat/toolCallComplete"]).when(ANY), Insert(r#"{"type":"chat/toolCallContentChanged","turnId":"$turnId","toolCallId":"$toolCallId","content":[]}"#), &[Itself]),
    row(Inserted, "question-twice", "The same input request is sent twice.",
        action(&["chat/inputRequested"]).when(ANY), Again, &[State]),
    row(Inserted, "unknown-question-answered", "An input request that does not exist is answered.",
        action(&["chat/inputRequested"]).when(ANY), Insert(r#"{"type":"chat/inputCompleted","requestId":"$unknown","response":"cancel"}"#), &[Itself]),
    row(Inserted, "queued-message-lost", "An action removes a queued message that the chat keeps.",
        action(&["chat/pendingMessageSet"]).when(&[Accepted]), Insert(r#"{"type":"chat/pendingMessageRemoved","kind":"$kind","id":"$id"}"#), &[State]),
    row(Inserted, "unknown-message-removed", "An action removes a queued message that does not exist.",
        action(&["chat/pendingMessageSet"]).when(&[Accepted]), Insert(r#"{"type":"chat/pendingMessageRemoved","kind":"$kind","id":"$unknown"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
    row(Inserted, "history-cut", "An action truncates the history of a chat, but the chat keeps its turns.",
        action(&["chat/turnComplete"]).when(ANY), Insert(r#"{"type":"chat/truncated"}"#), &[State]),
    row(Inserted, "session-ready-twice", "A session is ready twice.",
        action(&["session/ready"]).when(ANY), Again, &[Itself]),
    row(Inserted, "session-fails-when-ready", "The creation of a session fails after the session was ready.",
        action(&["session/ready"]).when(ANY), Insert(r#"{"type":"session/creationFailed","error":{"errorType":"x","message":"x"}}"#), &[Itself]),
    row(Inserted, "chat-added-of-nobody", "An action adds a chat that the session does not have.",
        action(&["session/ready", "session/chatAdded"]).when(ANY), Insert(r#"{"type":"session/chatAdded","summary":{"resource":"ahp-chat:/nobody-made-this-id","title":"x","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z"}}"#), &[State]),
    row(Inserted, "chat-removed-too-early", "An action removes a chat that the session keeps.",
        action(&["session/chatUpdated"]).when(ANY), Insert(r#"{"type":"session/chatRemoved","chat":"$chat"}"#), &[State]),
    row(Inserted, "chats-reordered-wrongly", "A new order of chats names a chat that does not exist.",
        action(&["session/chatAdded", "session/ready"]).when(ANY), Insert(r#"{"type":"session/chatsReordered","chats":["ahp-chat:/nobody-made-this-id"]}"#), &[Itself]),
    row(Inserted, "default-chat-of-nobody", "The default chat does not exist.",
        action(&["session/ready", "session/chatAdded"]).when(ANY), Insert(r#"{"type":"session/defaultChatChanged","defaultChat":"ahp-chat:/nobody-made-this-id"}"#), &[Itself]),
    row(Inserted, "title-changes-by-itself", "An action changes the title, but the session keeps the old one.",
        action(&["session/*"]).when(ANY), Insert(r#"{"type":"session/titleChanged","title":"not so"}"#), &[State]),
    row(Inserted, "archived-by-itself", "An action archives a session, but the session is not archived.",
        action(&["session/*"]).when(ANY), Insert(r#"{"type":"session/isArchivedChanged","isArchived":true}"#), &[State]),
    row(Inserted, "needed-of-nobody", "A session needs input in a chat that does not exist.",
        action(&["session/*"]).when(ANY), Insert(r#"{"type":"session/inputNeededSet","request":{"kind":"chatInput","id":"$unknown","chat":"ahp-chat:/nobody-made-this-id","request":{"id":"x"}}}"#), &[Itself]),
    row(Inserted, "active-client-removed-by-itself", "An action removes an active client that the session keeps.",
        action(&["session/activeClientSet"]).when(ANY), Insert(r#"{"type":"session/activeClientRemoved","clientId":"$activeClient.clientId"}"#), &[State]),
    row(Inserted, "unknown-client-removed", "An action removes an active client that the session never had.",
        action(&["session/*"]).when(ANY), Insert(r#"{"type":"session/activeClientRemoved","clientId":"$unknown"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
    row(Inserted, "unknown-customization-removed", "An action removes a customization that does not exist.",
        action(&["session/customization*"]).when(ANY), Insert(r#"{"type":"session/customizationRemoved","id":"$unknown"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
    row(Inserted, "action-of-another-family", "An action of a session comes on the channel of a chat.",
        action(&["chat/*"]).when(ANY), Insert(r#"{"type":"session/titleChanged","title":"x"}"#), &[Itself]),
    row(Inserted, "action-unknown", "An action has a type that no version knows.",
        action(&["chat/*", "session/*", "root/*"]).when(ANY), Insert(r#"{"type":"chat/nothingHappened"}"#), &[Itself])
        .legal_where(Always, "a name that no version defines may be an extension, which clients ignore"),
    row(Inserted, "active-sessions-wrong", "An action changes the number of active sessions, but the host keeps the old one.",
        action(&["root/*"]).when(ANY), Insert(r#"{"type":"root/activeSessionsChanged","activeSessions":77}"#), &[State]),
    row(Inserted, "terminals-wrong", "An action empties the list of terminals, but the host keeps them.",
        action(&["root/terminalsChanged"]).when(ANY), Insert(r#"{"type":"root/terminalsChanged","terminals":[]}"#), &[State]),
    row(Inserted, "terminal-ends-twice", "A terminal ends twice.",
        action(&["terminal/exited"]).when(ANY), Again, &[Itself]),
    row(Inserted, "output-after-the-end", "A terminal that has ended has output.",
        action(&["terminal/exited"]).when(ANY), Insert(r#"{"type":"terminal/data","data":"x"}"#), &[Itself]),
    row(Inserted, "output-again", "Output of a terminal is sent twice, although the terminal has it once.",
        action(&["terminal/data"]).when(ANY), Again, &[State]),
    row(Inserted, "command-within-a-command", "A command begins while another one runs.",
        action(&["terminal/commandExecuted"]).when(ANY), Insert(r#"{"type":"terminal/commandExecuted","commandId":"$unknown","commandLine":"x","timestamp":1}"#), &[Itself])
        .advised_by("terminal.command.no-nesting"),
    row(Inserted, "command-ends-twice", "A command ends twice.",
        action(&["terminal/commandFinished"]).when(ANY), Again, &[Itself]),
    row(Inserted, "unknown-file-removed", "An action removes a file that the changeset does not have.",
        action(&["changeset/*"]).when(ANY), Insert(r#"{"type":"changeset/fileRemoved","fileId":"$unknown"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
    row(Inserted, "unknown-annotation-removed", "An action removes an annotation that does not exist.",
        action(&["annotations/*"]).when(ANY), Insert(r#"{"type":"annotations/removed","annotationId":"$unknown"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
    row(Inserted, "run-session-removed-of-nobody", "An action removes a session from a run that never had it.",
        action(&["automationRun/*"]).when(&[HostMade]), Insert(r#"{"type":"automationRun/sessionRemoved","session":"ahp-session:/nobody-made-this-id"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
}
