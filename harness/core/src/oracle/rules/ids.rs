//! Checks for duplicate ids in lists whose items are addressed by an id.
//!
//! Knows: the lists, and for each list, the member that identifies its items. Never knows: the purpose of the items.
//!
//! Start at [`LISTS`].

use crate::verdict::Weight;
use crate::wire::channel::ChannelKind;
use crate::wire::json::Value;

use crate::oracle::catalogue::{CheckRule, Rule};
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, repeated};
use crate::oracle::step::OracleStep;

/// A list whose items are identified by the value of one member.
struct IdList {
    /// The kind of state that contains the list, and the path of the list in the state.
    kind: ChannelKind,
    place: &'static [&'static str],
    /// The action that contains the list, and the path of the list in the action.
    action: &'static str,
    brings: &'static [&'static str],
    id: &'static str,
    what: &'static str,
    requirement: Option<&'static str>,
    weight: Weight,
}

/// The options of a tool call that waits for confirmation.
const OPTIONS: IdList = IdList {
    kind: ChannelKind::Chat,
    place: &["activeTurn", "responseParts", "*", "toolCall", "options"],
    action: "chat/toolCallReady",
    brings: &["options"],
    id: "id",
    what: "options of a tool call",
    requirement: Some("chat.tool.option-ids-unique"),
    weight: Weight::Essential,
};

/// The questions of an input request.
const QUESTIONS: IdList = IdList {
    kind: ChannelKind::Chat,
    place: &["inputRequests", "*", "questions"],
    action: "chat/inputRequested",
    brings: &["request", "questions"],
    id: "id",
    what: "questions of a request",
    requirement: Some("chat.input.stable-ids"),
    weight: Weight::Essential,
};

/// All lists. In a path, `*` means every item of a list.
const LISTS: &[IdList] = {
    use ChannelKind::{Chat, Root, Session};
    use Weight::{Essential, Note};
    &[
        IdList {
            kind: Root,
            place: &["terminals"],
            action: "root/terminalsChanged",
            brings: &["terminals"],
            id: "resource",
            what: "terminals",
            requirement: Some("root.state.terminals-live"),
            weight: Essential,
        },
        IdList {
            kind: Root,
            place: &["agents"],
            action: "root/agentsChanged",
            brings: &["agents"],
            id: "provider",
            what: "agents",
            requirement: Some("root.state.provider-unique"),
            weight: Essential,
        },
        IdList {
            kind: Root,
            place: &["agents", "*", "models"],
            action: "root/agentsChanged",
            brings: &["agents", "*", "models"],
            id: "id",
            what: "models of an agent",
            requirement: Some("root.state.default-model-valid"),
            weight: Note,
        },
        IdList {
            kind: Session,
            place: &["changesets"],
            action: "session/changesetsChanged",
            brings: &["changesets"],
            id: "uriTemplate",
            what: "changesets",
            requirement: None,
            weight: Note,
        },
        IdList {
            kind: Chat,
            place: &["changesets"],
            action: "chat/changesetsChanged",
            brings: &["changesets"],
            id: "uriTemplate",
            what: "changesets",
            requirement: None,
            weight: Note,
        },
        OPTIONS,
        IdList { kind: Session, action: "session/toolCallReady", ..OPTIONS },
        QUESTIONS,
        IdList {
            place: &["activeTurn", "responseParts", "*", "request", "questions"],
            ..QUESTIONS
        },
        IdList { kind: Session, action: "session/inputRequested", ..QUESTIONS },
    ]
};

/// The checks of ids. These checks need no state beyond the context.
pub(super) struct IdChecks;

impl CheckFamily for IdChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Snapshot { channel, kind: Some(kind), state, .. } => {
                for row in LISTS.iter().filter(|row| row.kind == *kind) {
                    at(cx, row, state, row.place, cx.uri(*channel), out);
                }
            }
            OracleStep::Envelope(delivery) if !delivery.envelope.rejected => {
                let (name, action) = (delivery.envelope.action_type, delivery.envelope.action);
                let mut rows = LISTS.iter().filter(|row| row.action == name);
                if let Some(first) = rows.next() {
                    let uri = cx.uri(delivery.channel);
                    // Several rows may have the same path in the action; they describe the same list, which is judged
                    // once.
                    let others = rows.filter(|row| row.brings != first.brings);
                    std::iter::once(first)
                        .chain(others)
                        .for_each(|row| at(cx, row, action, row.brings, uri, out));
                }
            }
            _ => {}
        }
    }
}

/// Judges the lists at a path. Invariant D7.
fn at(
    cx: &OracleContext,
    row: &IdList,
    value: &Value,
    place: &[&str],
    uri: &str,
    out: &mut FindingSink,
) {
    let Some((name, rest)) = place.split_first() else { return };
    match (*name, rest.is_empty()) {
        ("*", _) => {
            let items = value.as_array().into_iter().flatten();
            items.for_each(|item| at(cx, row, item, rest, uri, out));
        }
        (name, false) => {
            given(value, name).into_iter().for_each(|inner| at(cx, row, inner, rest, uri, out));
        }
        (name, true) => {
            let items = list(value, name);
            if items.is_empty() {
                return;
            }
            let rule = Rule::UniqueIds.about(row.requirement);
            out.seen(rule);
            if let Some(id) = repeated(items, row.id) {
                let message = format!(
                    "expected {} with different values of `{}` in `{uri}`, found `{id}` twice",
                    row.what, row.id
                );
                out.weaker(rule, row.weight, message, &[cx.now.line]);
            }
        }
    }
}
