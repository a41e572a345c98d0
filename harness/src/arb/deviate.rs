//! Deviations that make legal actions illegal, each with a name.
//!
//! Knows: typical values of action members. Never knows: the responses of hosts.
//!
//! Start at [`DEVIATIONS`].

use crate::reducers::aim::is_reference;
use crate::wire::json::{Value, json};
use crate::wire::protocol::DispatchRight;

use super::builder::ConversationBuilder;
use super::draft_step::{drop_member, replace};
use super::generated_action::{ActionBid, generated};

/// A function that applies a deviation to an action. Returns `None` if the deviation does not apply.
type DeviateFunction = fn(&mut ConversationBuilder, &mut ActionBid) -> Option<()>;

/// Every deviation with its name.
pub const DEVIATIONS: &[(&str, DeviateFunction)] = &[
    ("wrong-time", |builder, bid| {
        let name = bid.action["type"].as_str()?.to_owned();
        bid.action = generated(builder, bid, &name)?;
        Some(())
    }),
    ("wrong-owner", |builder, bid| {
        let others: Vec<String> =
            builder.present().into_iter().filter(|it| *it != bid.by).collect();
        let other = builder.dice.pick(&others)?.clone();
        (bid.by, _) = (other.clone(), builder.connection(&other)?);
        Some(())
    }),
    ("other-identity", |builder, bid| {
        let others: Vec<String> =
            builder.present().into_iter().filter(|it| *it != bid.by).collect();
        let (other, _) = builder.connection(builder.dice.clone().pick(&others)?)?;
        let own = bid.client.clone();
        replace(&mut bid.action, &mut |name, value| {
            (name == "clientId" && *value == *own).then(|| json!(other))
        });
        Some(())
    }),
    ("wrong-turn", |builder, bid| {
        let turns = bid.state["turns"].as_array().cloned().unwrap_or_default();
        let other = builder.dice.pick(&turns).map(|turn| turn["id"].clone());
        bid.action.get("turnId")?;
        bid.action["turnId"] = other.unwrap_or_else(|| json!("no-turn"));
        Some(())
    }),
    ("unknown-id", |builder, bid| {
        let members = bid.action.as_object()?;
        let names: Vec<String> =
            members.keys().filter(|it| is_reference(it)).map(ToString::to_string).collect();
        let name = builder.dice.pick(&names)?;
        bid.action[name.as_str()] = json!("nothing");
        Some(())
    }),
    ("wrong-channel", |builder, bid| {
        let all = builder.kinds().into_iter();
        let all: Vec<_> = all.map(|(uri, kind)| (uri.to_owned(), kind)).collect();
        let same: Vec<_> = all.iter().filter(|row| row.1 == bid.kind && row.0 != bid.uri).collect();
        let other = match builder.dice.pick(&same) {
            Some(same) if builder.dice.chance(50) => (*same).clone(),
            _ => builder.dice.pick(&all)?.clone(),
        };
        (bid.uri, bid.kind) = other;
        Some(())
    }),
    ("unknown-channel", |builder, bid| {
        const NOWHERE: [&str; 4] =
            ["ahp-session:/nowhere", "ahp-chat:/nowhere", "ahp-terminal:/nowhere", "x-other:/"];
        bid.uri = (*builder.dice.pick(&NOWHERE)?).to_owned();
        Some(())
    }),
    ("malformed", |builder, bid| {
        let mut action = bid.action.clone();
        builder.sample(false, |sampler| sampler.spoil(&mut action)).then_some(())?;
        bid.action = action;
        Some(())
    }),
    ("emptied", |builder, bid| {
        let mut lists = 0;
        replace(&mut bid.action.clone(), &mut |_, value| {
            lists += usize::from(value.as_array().is_some_and(|it| !it.is_empty()));
            None
        });
        let chosen = (lists > 0).then(|| builder.dice.below(lists))?;
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
    ("host-only", |builder, bid| {
        let rows = builder.protocol.actions();
        let rows =
            rows.filter(|row| row.channel == bid.kind && row.dispatch == DispatchRight::Host);
        let names: Vec<String> = rows.map(|row| row.action_type.clone()).collect();
        let name = builder.dice.pick(&names)?.clone();
        bid.action = generated(builder, bid, &name)?;
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
    ("used-id", |builder, bid| {
        let turns = bid.state["turns"].as_array().cloned().unwrap_or_default();
        bid.action.get("startedAt")?;
        bid.action["turnId"] = builder.dice.pick(&turns)?["id"].clone();
        Some(())
    }),
    ("nothing-queued", |_, bid| {
        bid.action.get("startedAt")?;
        bid.action["queuedMessageId"] = json!("nothing");
        Some(())
    }),
    ("unanswered", |builder, bid| {
        bid.action.get("response")?;
        bid.action["response"] = json!("accept");
        drop_member(&mut bid.action, "answers");
        let _ = builder;
        Some(())
    }),
    ("unfit-answer", |builder, bid| {
        let given = bid.action.get("answers").and_then(Value::as_object);
        let places: Vec<String> = match given {
            Some(given) => given.keys().map(|id| format!("/answers/{id}")).collect(),
            None => vec!["/answer".to_owned()],
        };
        let answer = bid.action.pointer_mut(builder.dice.pick(&places)?)?;
        let value = match answer["value"]["kind"] == "boolean" {
            true => json!({"kind": "number", "value": 3}),
            false => json!({"kind": "boolean", "value": true}),
        };
        *answer = json!({"state": "submitted", "value": value});
        Some(())
    }),
    ("unfit-decision", |builder, bid| {
        bid.action.get("approved")?;
        match builder.dice.below(2) {
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
