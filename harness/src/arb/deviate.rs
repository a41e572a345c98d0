//! Deviations that make legal actions illegal, each with a name.
//!
//! Knows: typical values of action members. Never knows: the responses of hosts.
//!
//! Start at [`DEVIATIONS`].

use crate::reducers::aim::is_reference;
use crate::wire::json::{Value, json};
use crate::wire::protocol::DispatchRight;

use super::draft_step::{drop_member, replace};
use super::draw::ConversationDraw;
use super::drawn_action::{ActionBid, drawn};

/// A function that applies a deviation to an action. Returns `None` if the deviation does not apply.
type DeviateFunction = fn(&mut ConversationDraw, &mut ActionBid) -> Option<()>;

/// Every deviation with its name.
pub const DEVIATIONS: &[(&str, DeviateFunction)] = &[
    ("wrong-time", |draw, bid| {
        let name = bid.action["type"].as_str()?.to_owned();
        bid.action = drawn(draw, bid, &name)?;
        Some(())
    }),
    ("wrong-owner", |draw, bid| {
        let others: Vec<String> = draw.present().into_iter().filter(|it| *it != bid.by).collect();
        let other = draw.dice.pick(&others)?.clone();
        (bid.by, _) = (other.clone(), draw.connection(&other)?);
        Some(())
    }),
    ("other-identity", |draw, bid| {
        let others: Vec<String> = draw.present().into_iter().filter(|it| *it != bid.by).collect();
        let (other, _) = draw.connection(draw.dice.clone().pick(&others)?)?;
        let own = bid.client.clone();
        replace(&mut bid.action, &mut |name, value| {
            (name == "clientId" && *value == *own).then(|| json!(other))
        });
        Some(())
    }),
    ("wrong-turn", |draw, bid| {
        let turns = bid.state["turns"].as_array().cloned().unwrap_or_default();
        let other = draw.dice.pick(&turns).map(|turn| turn["id"].clone());
        bid.action.get("turnId")?;
        bid.action["turnId"] = other.unwrap_or_else(|| json!("no-turn"));
        Some(())
    }),
    ("unknown-id", |draw, bid| {
        let members = bid.action.as_object()?;
        let names: Vec<String> =
            members.keys().filter(|it| is_reference(it)).map(ToString::to_string).collect();
        let name = draw.dice.pick(&names)?;
        bid.action[name.as_str()] = json!("nothing");
        Some(())
    }),
    ("wrong-channel", |draw, bid| {
        let all = draw.kinds().into_iter();
        let all: Vec<_> = all.map(|(uri, kind)| (uri.to_owned(), kind)).collect();
        let same: Vec<_> = all.iter().filter(|row| row.1 == bid.kind && row.0 != bid.uri).collect();
        let other = match draw.dice.pick(&same) {
            Some(same) if draw.dice.chance(50) => (*same).clone(),
            _ => draw.dice.pick(&all)?.clone(),
        };
        (bid.uri, bid.kind) = other;
        Some(())
    }),
    ("unknown-channel", |draw, bid| {
        const NOWHERE: [&str; 4] =
            ["ahp-session:/nowhere", "ahp-chat:/nowhere", "ahp-terminal:/nowhere", "x-other:/"];
        bid.uri = (*draw.dice.pick(&NOWHERE)?).to_owned();
        Some(())
    }),
    ("malformed", |draw, bid| {
        let mut action = bid.action.clone();
        draw.sample(false, |sampler| sampler.spoil(&mut action)).then_some(())?;
        bid.action = action;
        Some(())
    }),
    ("emptied", |draw, bid| {
        let mut lists = 0;
        replace(&mut bid.action.clone(), &mut |_, value| {
            lists += usize::from(value.as_array().is_some_and(|it| !it.is_empty()));
            None
        });
        let chosen = (lists > 0).then(|| draw.dice.below(lists))?;
        let mut place = 0;
        replace(&mut bid.action, &mut |_, value| {
            value.as_array().filter(|it| !it.is_empty())?;
            place += 1;
            (place - 1 == chosen).then(|| json!([]))
        });
        Some(())
    }),
    ("unknown-action", |_, bid| {
        let family = bid.kind.family();
        bid.action["type"] = json!(format!("{family}/xLater"));
        Some(())
    }),
    ("host-only", |draw, bid| {
        let rows = draw.protocol.actions();
        let rows =
            rows.filter(|row| row.channel == bid.kind && row.dispatch == DispatchRight::Host);
        let names: Vec<String> = rows.map(|row| row.action_type.clone()).collect();
        let name = draw.dice.pick(&names)?.clone();
        bid.action = drawn(draw, bid, &name)?;
        Some(())
    }),
    ("extended", |_, bid| {
        bid.action["x-fuzz"] = json!({"any": [1, null]});
        Some(())
    }),
    ("wrong-kind-of-message", |_, bid| {
        let member = ["message", "draft"].into_iter().find(|it| bid.action.get(it).is_some())?;
        bid.action[member] = json!({"text": "not yours", "origin": {"kind": "agent"}});
        Some(())
    }),
    ("used-id", |draw, bid| {
        let turns = bid.state["turns"].as_array().cloned().unwrap_or_default();
        bid.action.get("startedAt")?;
        bid.action["turnId"] = draw.dice.pick(&turns)?["id"].clone();
        Some(())
    }),
    ("nothing-queued", |_, bid| {
        bid.action.get("startedAt")?;
        bid.action["queuedMessageId"] = json!("nothing");
        Some(())
    }),
    ("unanswered", |draw, bid| {
        bid.action.get("response")?;
        bid.action["response"] = json!("accept");
        drop_member(&mut bid.action, "answers");
        let _ = draw;
        Some(())
    }),
    ("unfit-answer", |draw, bid| {
        let given = bid.action.get("answers").and_then(Value::as_object);
        let places: Vec<String> = match given {
            Some(given) => given.keys().map(|id| format!("/answers/{id}")).collect(),
            None => vec!["/answer".to_owned()],
        };
        let answer = bid.action.pointer_mut(draw.dice.pick(&places)?)?;
        let value = match answer["value"]["kind"] == "boolean" {
            true => json!({"kind": "number", "value": 3}),
            false => json!({"kind": "boolean", "value": true}),
        };
        *answer = json!({"state": "submitted", "value": value});
        Some(())
    }),
    ("unfit-decision", |draw, bid| {
        bid.action.get("approved")?;
        match draw.dice.below(2) {
            0 => bid.action["selectedOptionId"] = json!("not-offered"),
            _ => bid.action["editedToolInput"] = json!("something else"),
        }
        Some(())
    }),
    ("no-time", |_, bid| {
        bid.action.get("startedAt")?;
        bid.action["startedAt"] = json!("yesterday");
        Some(())
    }),
];
