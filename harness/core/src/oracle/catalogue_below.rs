//! The rows of the catalogue for checks of the traffic below a host: ACP between the host and its agent, or the agent's
//! requests to a model.
//!
//! Knows: weights. Never knows: the implementation of checks.

/// Adds the rows for checks of the traffic below a host (to its agent, or from the agent to a model) to the rows of a
/// catalogue.
macro_rules! with_rows_below_hosts {
    ($catalogue:ident { $($rows:tt)* }) => { $catalogue! { $($rows)*
    CallsToldOnce "below.calls-told-once" Essential "N1"
        ["chat.tool.start-first", "chat.tool.parallel"]
        "Each tool call of the host's agent appears to clients as exactly one call: nobody can deny an invisible call, \
         and an extra call shows work that never happened. Source: ChatToolCallStartAction."
        open "Calls are matched by the longest text of their input, in completed turns. If the calls come from \
              a model, a difference is a note, because an agent may change them.";
    DeniedNeverRuns "below.denied-never-runs" Essential "N2" ["chat.tool.deny-not-run"]
        "A call that a client denied never runs in the agent; otherwise the denial has no effect. Source: \
         ChatToolCallConfirmedAction."
        open "A call ran if the agent received the permission for the call, or reported its success. In the traffic \
              between an agent and its model, a call ran if the result contains `ahp-ran-` and a digit, which only the \
              command `ahp-ran-$((A+B))` prints.";
    RunsApproved "below.runs-approved" Essential "N3"
        ["chat.tool.ready-pending", "chat.tool.approve-runs"]
        "A call for which the host requests an approval does not run in the agent before the approval; otherwise the \
         request has no effect. Source: ChatToolCallReadyAction."
        open "A run is proved by the same conditions as in `below.denied-never-runs`. A run is too early if it \
              precedes the approval that our own client sent. For other clients, only a missing approval proves a \
              breach.";
    TextArrives "below.text-arrives" Essential "N4" ["chat.stream.content-exact"]
        "The agent's text arrives in the turn, complete and in order; otherwise clients show a different text. \
         Source: ChatDeltaAction."
        open "White space is ignored, and only completed turns are judged; the host may add text. If the text \
              comes from a model, a difference is a note, because an agent may change it.";
    CancelArrives "below.cancel-arrives" Essential "N5" ["chat.turn.cancel"]
        "If a client cancels a turn, the agent receives the cancel: otherwise the agent continues to work and to \
         change files, and nobody sees it. Source: chat-channel.md."
        open "The cancel has to arrive within five seconds; the specification states no limit. If the agent uses a \
              model, the end of the connection that reads the model's answer counts as the cancel.";
    ToolsUnique "below.tools-unique" Should "N6" ["session.tools.names-unique"]
        "The tools that a model is offered have different names, also across the host and all clients; the model \
         cannot tell two tools with the same name apart. Source: guide, tools."
        open "The check applies only if the agent uses the model stand-in.";
    PromptOnce "below.prompt-once" Essential "N7" ["chat.turn.prompt-delivered-once"]
        "The agent receives the message of a turn once; it would do the work twice if the message were repeated. \
         Source: chat-channel.md, active chat."
        open "A message is recognised only if the whole string is equal. If the conversation comes from a request to a \
              model, a breach is a note, because an agent may repeat a message. In ACP a resumed turn needs another \
              prompt.";
    RemovedStaysOut "below.removed-stays-out" Note "N8" ["chat.truncate.agent-context"]
        "The agent receives no message of a turn that a truncation has removed. Source: ChatTruncatedAction."
        open "The type only implies this rule. In ACP the agent knows all earlier prompts of its session.";
    ChatsApart "below.chats-apart" Note "N9" ["chat.turn.context-apart"]
        "The agent of a chat receives no message of another chat, unless the chat has that chat as its origin or as \
         an attachment. The specification only implies this rule. Source: chat-channel.md, creation."
        open "Only messages of at least 16 bytes count, because short ones may be equal by chance.";
    HistoryGiven "below.history-given" Note "N10" ["chat.turn.context-kept"]
        "A request to the model contains the messages of the earlier turns of the chat that are complete. The \
         specification only implies this rule. Source: chat-channel.md, turns."
        open "The check applies only if the agent uses the model stand-in. An agent may shorten a long conversation, \
              so a breach is a note. Messages that begin with `!` or `/` may be commands to the host.";
    ModelChosen "below.model-chosen" Note "N11" ["chat.turn.model-selection"]
        "The agent asks the model that the message of the turn selects. Source: Message.model."
        open "The check applies only if the agent uses the model stand-in. A part of the name is enough, because hosts \
              add the names of providers. The names `auto` and `default` leave the choice to the host.";
    OptionsChosen "below.options-chosen" Note "N13" ["chat.turn.model-options"]
        "The agent asks its model with the options that the message of the turn selects. Source: \
         ModelSelection.config."
        open "The check applies only if the agent uses the model stand-in, and only to options that are strings. An \
              agent may use another word for an option, so a breach is a note.";
    OutputShown "below.output-shown" Note "N12" []
        "The result of a tool call that succeeded contains the output of its command, which the agent received; \
         otherwise the user does not see what the agent works with. Source: ToolCallResult.content."
        open "The check judges only commands that print `ahp-ran-` and a number, and results that consist of text.";
    } };
}

pub(super) use with_rows_below_hosts;
