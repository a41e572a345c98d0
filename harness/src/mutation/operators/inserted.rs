//! Operators that insert actions which the host should not have sent.

use super::{action, row};
use crate::mutation::change::WireChange::{Again, AgainAfter, Insert};
use crate::mutation::evidence::FaultEvidence::{Itself, State};
use crate::mutation::operator::FaultClass::Inserted;
use crate::mutation::operator::PlaceCondition;
use crate::mutation::operator::PlaceCondition::{Accepted, After, Always, HostMade, Is};

/// The condition that the preceding action is accepted.
const ANY: &[PlaceCondition] = &[Accepted];

/// Why an action that finds nothing to change is legal.
const NO_EFFECT: &str =
    "reducers pass over an action that finds nothing to change; the text gives no rule";

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
    row(Inserted, "unknown-turn-ends", "A turn ends that never began.",
        action(&["chat/turnComplete"]).when(ANY), Insert(r#"{"type":"chat/turnComplete","turnId":"$unknown","duration":1}"#), &[Itself]),
    row(Inserted, "delta-after-the-end", "Text is added to a turn that has ended.",
        action(&["chat/turnComplete", "chat/turnCancelled", "chat/error"]).when(&[Accepted, After("chat/delta")]), AgainAfter("chat/delta"), &[Itself]),
    row(Inserted, "part-after-the-end", "A part is added to a turn that has ended.",
        action(&["chat/turnComplete", "chat/turnCancelled", "chat/error"]).when(&[Accepted, After("chat/responsePart")]), AgainAfter("chat/responsePart"), &[Itself]),
    row(Inserted, "part-twice", "A part is added twice.",
        action(&["chat/responsePart"]).when(ANY), Again, &[Itself]),
    row(Inserted, "delta-again", "Text is added once more than the chat has it.",
        action(&["chat/delta", "chat/reasoning"]).when(ANY), Again, &[State]),
    row(Inserted, "delta-of-no-part", "Text is added to a part that is not there.",
        action(&["chat/delta"]).when(ANY), Insert(r#"{"type":"chat/delta","turnId":"$turnId","partId":"$unknown","content":"x"}"#), &[Itself]),
    row(Inserted, "call-starts-twice", "A tool call is started twice.",
        action(&["chat/toolCallStart"]).when(ANY), Again, &[Itself]),
    row(Inserted, "call-streams-after-ready", "Input of a tool call streams on after it was ready.",
        action(&["chat/toolCallReady"]).when(&[Accepted, After("chat/toolCallDelta")]), AgainAfter("chat/toolCallDelta"), &[Itself]),
    row(Inserted, "call-ready-after-its-end", "A completed tool call is ready again.",
        action(&["chat/toolCallComplete"]).when(&[Accepted, After("chat/toolCallReady")]), AgainAfter("chat/toolCallReady"), &[Itself]),
    row(Inserted, "call-ends-twice", "A tool call is completed twice.",
        action(&["chat/toolCallComplete"]).when(ANY), Again, &[Itself]),
    row(Inserted, "call-ends-unknown", "A tool call is completed that never started.",
        action(&["chat/toolCallComplete"]).when(ANY), Insert(r#"{"type":"chat/toolCallComplete","turnId":"$turnId","toolCallId":"$unknown","result":{"success":true,"pastTenseMessage":"Did it"}}"#), &[Itself]),
    row(Inserted, "call-confirmed-twice", "A tool call is confirmed twice.",
        action(&["chat/toolCallConfirmed"]).when(ANY), Again, &[Itself]),
    row(Inserted, "host-confirms-a-call", "The host confirms a waiting tool call itself, as if a person had.",
        action(&["chat/toolCallReady"]).when(&[HostMade, Is("/action/editable", "false")]), Insert(r#"{"type":"chat/toolCallConfirmed","turnId":"$turnId","toolCallId":"$toolCallId","approved":true,"confirmed":"user-action"}"#), &[Itself]),
    row(Inserted, "call-content-after-its-end", "A completed tool call gets other content.",
        action(&["chat/toolCallComplete"]).when(ANY), Insert(r#"{"type":"chat/toolCallContentChanged","turnId":"$turnId","toolCallId":"$toolCallId","content":[]}"#), &[Itself]),
    row(Inserted, "question-twice", "The same question is asked twice.",
        action(&["chat/inputRequested"]).when(ANY), Again, &[State]),
    row(Inserted, "unknown-question-answered", "A question is answered that was never asked.",
        action(&["chat/inputRequested"]).when(ANY), Insert(r#"{"type":"chat/inputCompleted","requestId":"$unknown","response":"cancel"}"#), &[Itself]),
    row(Inserted, "queued-message-lost", "A queued message is taken away, the chat still has it.",
        action(&["chat/pendingMessageSet"]).when(&[Accepted]), Insert(r#"{"type":"chat/pendingMessageRemoved","kind":"$kind","id":"$id"}"#), &[State]),
    row(Inserted, "unknown-message-removed", "A queued message is taken away that is not there.",
        action(&["chat/pendingMessageSet"]).when(&[Accepted]), Insert(r#"{"type":"chat/pendingMessageRemoved","kind":"$kind","id":"$unknown"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
    row(Inserted, "history-cut", "The history of a chat is cut, the chat still has it.",
        action(&["chat/turnComplete"]).when(ANY), Insert(r#"{"type":"chat/truncated"}"#), &[State]),
    row(Inserted, "session-ready-twice", "A session is ready twice.",
        action(&["session/ready"]).when(ANY), Again, &[Itself]),
    row(Inserted, "session-fails-when-ready", "The creation of a session fails that was ready.",
        action(&["session/ready"]).when(ANY), Insert(r#"{"type":"session/creationFailed","error":{"errorType":"x","message":"x"}}"#), &[Itself]),
    row(Inserted, "chat-added-of-nobody", "A chat is added that the session does not have.",
        action(&["session/ready", "session/chatAdded"]).when(ANY), Insert(r#"{"type":"session/chatAdded","summary":{"resource":"ahp-chat:/nobody-made-this-id","title":"x","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z"}}"#), &[State]),
    row(Inserted, "chat-removed-too-early", "A chat is removed that the session still has.",
        action(&["session/chatUpdated"]).when(ANY), Insert(r#"{"type":"session/chatRemoved","chat":"$chat"}"#), &[State]),
    row(Inserted, "chats-reordered-wrongly", "The order of chats names one that is not there.",
        action(&["session/chatAdded", "session/ready"]).when(ANY), Insert(r#"{"type":"session/chatsReordered","chats":["ahp-chat:/nobody-made-this-id"]}"#), &[Itself]),
    row(Inserted, "default-chat-of-nobody", "The default chat is one that is not there.",
        action(&["session/ready", "session/chatAdded"]).when(ANY), Insert(r#"{"type":"session/defaultChatChanged","defaultChat":"ahp-chat:/nobody-made-this-id"}"#), &[Itself]),
    row(Inserted, "title-changes-by-itself", "The title is said to change, the session keeps it.",
        action(&["session/*"]).when(ANY), Insert(r#"{"type":"session/titleChanged","title":"not so"}"#), &[State]),
    row(Inserted, "archived-by-itself", "A session is said to be archived, it is not.",
        action(&["session/*"]).when(ANY), Insert(r#"{"type":"session/isArchivedChanged","isArchived":true}"#), &[State]),
    row(Inserted, "needed-of-nobody", "Input is needed in a chat that is not there.",
        action(&["session/*"]).when(ANY), Insert(r#"{"type":"session/inputNeededSet","request":{"kind":"chatInput","id":"$unknown","chat":"ahp-chat:/nobody-made-this-id","request":{"id":"x"}}}"#), &[Itself]),
    row(Inserted, "active-client-removed-by-itself", "An active client is said to be gone, the session has it.",
        action(&["session/activeClientSet"]).when(ANY), Insert(r#"{"type":"session/activeClientRemoved","clientId":"$activeClient.clientId"}"#), &[State]),
    row(Inserted, "unknown-client-removed", "An active client is said to be gone that never was there.",
        action(&["session/*"]).when(ANY), Insert(r#"{"type":"session/activeClientRemoved","clientId":"$unknown"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
    row(Inserted, "unknown-customization-removed", "A customization is removed that is not there.",
        action(&["session/customization*"]).when(ANY), Insert(r#"{"type":"session/customizationRemoved","id":"$unknown"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
    row(Inserted, "action-of-another-family", "An action of a session comes on the channel of a chat.",
        action(&["chat/*"]).when(ANY), Insert(r#"{"type":"session/titleChanged","title":"x"}"#), &[Itself]),
    row(Inserted, "action-unknown", "An action has a type that no version knows.",
        action(&["chat/*", "session/*", "root/*"]).when(ANY), Insert(r#"{"type":"chat/nothingHappened"}"#), &[Itself])
        .legal_where(Always, "a name of no version may be an extension, which clients pass over"),
    row(Inserted, "active-sessions-wrong", "The number of sessions is said to change, the host keeps it.",
        action(&["root/*"]).when(ANY), Insert(r#"{"type":"root/activeSessionsChanged","activeSessions":77}"#), &[State]),
    row(Inserted, "terminals-wrong", "All terminals are said to be gone, the host has them.",
        action(&["root/terminalsChanged"]).when(ANY), Insert(r#"{"type":"root/terminalsChanged","terminals":[]}"#), &[State]),
    row(Inserted, "terminal-ends-twice", "A terminal ends twice.",
        action(&["terminal/exited"]).when(ANY), Again, &[Itself]),
    row(Inserted, "output-after-the-end", "A terminal that has ended has output.",
        action(&["terminal/exited"]).when(ANY), Insert(r#"{"type":"terminal/data","data":"x"}"#), &[Itself]),
    row(Inserted, "output-again", "Output of a terminal comes once more than it has it.",
        action(&["terminal/data"]).when(ANY), Again, &[State]),
    row(Inserted, "command-within-a-command", "A command begins while another one runs.",
        action(&["terminal/commandExecuted"]).when(ANY), Insert(r#"{"type":"terminal/commandExecuted","commandId":"$unknown","commandLine":"x","timestamp":1}"#), &[Itself])
        .advised_by("terminal.command.no-nesting"),
    row(Inserted, "command-ends-twice", "A command ends twice.",
        action(&["terminal/commandFinished"]).when(ANY), Again, &[Itself]),
    row(Inserted, "unknown-file-removed", "A file is removed from a changeset that it is not in.",
        action(&["changeset/*"]).when(ANY), Insert(r#"{"type":"changeset/fileRemoved","fileId":"$unknown"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
    row(Inserted, "unknown-annotation-removed", "An annotation is removed that is not there.",
        action(&["annotations/*"]).when(ANY), Insert(r#"{"type":"annotations/removed","annotationId":"$unknown"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
    row(Inserted, "run-session-removed-of-nobody", "A run loses a session that it never had.",
        action(&["automationRun/*"]).when(&[HostMade]), Insert(r#"{"type":"automationRun/sessionRemoved","session":"ahp-session:/nobody-made-this-id"}"#), &[Itself])
        .legal_where(Always, NO_EFFECT),
}
