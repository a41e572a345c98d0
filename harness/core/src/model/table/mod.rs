//! The table of actions: one row each, with its channel, its versions and what it does.
//!
//! A row holds from its `since` on and below its `until`, or until a later row of the same action
//! takes over; the newest row that holds for the negotiated version is the one that counts. The
//! version of a row is that of the first published crate that knows the action: the registry of
//! the specification dates some of the 1.0.0 rows earlier, but no 0.9.0 peer can read them.
//!
//! Knows: the reducers of each channel. Never knows: who may send an action.
//!
//! Start at [`rows`]; the rows themselves stand in one file for each channel.

use std::sync::OnceLock;

use crate::wire::json::Value;

use crate::wire::channel::ChannelKind;
use crate::wire::version::{PUBLISHED, Version};

use super::dialect::{ChannelDialect, ReducerContext};
use super::payload::{self, Object, PayloadShape, ReducerResult, assign, optional, required};
use super::{ActionReducer, NoOp, list, status};

mod annotations;
mod automation;
mod canvas;
mod changeset;
mod chat;
mod resource_watch;
mod root;
mod session;
mod terminal;

/// What one type of action does to the state of its channel.
#[derive(Debug)]
pub struct ReductionRow {
    /// The `type`, such as `chat/delta`.
    pub action_type: &'static str,
    /// The kind of channel it belongs to.
    pub channel: ChannelKind,
    /// First version for which the row holds.
    pub since: Version,
    /// First version that no longer has the action; `None` where all newer ones do.
    pub until: Option<Version>,
    /// What it does.
    pub effect: ActionEffect,
}

/// How a state changes. The plain ways are data, the others a function.
#[derive(Debug)]
pub enum ActionEffect {
    /// The action's required member becomes the state's.
    Replace {
        /// Member of the action.
        from: &'static str,
        /// Member of the state.
        to: &'static str,
        /// What it has to be.
        shape: PayloadShape,
    },
    /// The member becomes the state's of the same name; absent, it is cleared.
    Assign {
        /// Member of both.
        member: &'static str,
        /// What it has to be.
        shape: PayloadShape,
    },
    /// A boolean member sets or clears a bit of the status.
    Flag {
        /// Member of the action.
        member: &'static str,
        /// Bit of the status.
        bit: u64,
    },
    /// The action's object replaces the entry with the same key in place, or is appended.
    Upsert {
        /// Array of the state.
        list: &'static str,
        /// Member of the action.
        entry: &'static str,
        /// String that identifies an entry.
        key: &'static str,
    },
    /// The entry with that key goes; the array stays when it becomes empty.
    Remove {
        /// Array of the state.
        list: &'static str,
        /// String that identifies an entry.
        key: &'static str,
        /// Member of the action that names it.
        by: &'static str,
        /// What it means when there is none.
        missing: NoOp,
    },
    /// The first entry with that key goes, and others with the same key stay.
    RemoveFirst {
        /// Array of the state.
        list: &'static str,
        /// String that identifies an entry.
        key: &'static str,
        /// Member of the action that names it.
        by: &'static str,
        /// What it means when there is none.
        missing: NoOp,
    },
    /// No state ever changes, for that reason. The payload is not looked at.
    Ignore(NoOp),
    /// The effect acts on the object that holds title and status, which may be the `summary`.
    InSummary(&'static ActionEffect),
    /// The effect takes place, and the wall clock is written into `modifiedAt`.
    Stamped(&'static ActionEffect),
    /// Anything else.
    Run(fn(&mut Object, &Object) -> ReducerResult),
    /// Anything else that depends on the version or the clock.
    In(fn(&ReducerContext, &mut Object, &Object) -> ReducerResult),
}

impl ActionEffect {
    /// Changes the state, or leaves it untouched and says why.
    pub(super) fn run(
        &self,
        context: &ReducerContext,
        state: &mut Value,
        action: &Object,
    ) -> ReducerResult {
        let state = state.as_object_mut().ok_or(NoOp::MalformedState)?;
        // Once here, so that no effect finds out when it is half done.
        context.summary(state)?;
        self.change(context, state, action)
    }

    fn change(
        &self,
        context: &ReducerContext,
        state: &mut Object,
        action: &Object,
    ) -> ReducerResult {
        match *self {
            ActionEffect::Replace { from, to, shape } => {
                assign(state, to, Some(required(action, from, shape)?));
                Ok(())
            }
            ActionEffect::Assign { member, shape } => {
                assign(state, member, optional(action, member, shape)?);
                Ok(())
            }
            ActionEffect::Flag { member, bit } => status::set_flag(state, action, member, bit),
            ActionEffect::Upsert { list, entry, key } => {
                let wanted = payload::key_of(action, entry, key)?;
                let value = required(action, entry, PayloadShape::Object)?;
                list::upsert(state, list, key, wanted, value.clone())
            }
            ActionEffect::Remove { list, key, by, missing } => {
                let unwanted = payload::text(action, by)?;
                let items = list::existing(state, list)?.ok_or(missing)?;
                if list::remove(items, key, unwanted) { Ok(()) } else { Err(missing.into()) }
            }
            ActionEffect::RemoveFirst { list, key, by, missing } => {
                let unwanted = payload::text(action, by)?;
                let items = list::existing(state, list)?.ok_or(missing)?;
                if list::remove_first(items, key, unwanted) { Ok(()) } else { Err(missing.into()) }
            }
            ActionEffect::Ignore(why) => Err(why.into()),
            ActionEffect::InSummary(effect) => {
                effect.change(context, context.summary(state)?, action)
            }
            ActionEffect::Stamped(effect) => {
                effect.change(context, state, action)?;
                context.stamp(state)
            }
            ActionEffect::Run(reduce) => reduce(state, action),
            ActionEffect::In(reduce) => reduce(context, state, action),
        }
    }
}

/// The rows of every channel, in the order in which they are written.
pub fn rows() -> impl Iterator<Item = &'static ReductionRow> {
    CHANNELS.iter().copied().flatten()
}

const CHANNELS: [&[ReductionRow]; 10] = [
    root::ROWS,
    session::ROWS,
    session::OWN_TURNS,
    chat::ROWS,
    terminal::ROWS,
    changeset::ROWS,
    annotations::ROWS,
    resource_watch::ROWS,
    canvas::ROWS,
    automation::ROWS,
];

/// The row that holds for an action in a version, or `None` where the version has no such action.
/// A version that was never published is read as the newest published one below it.
#[inline]
pub fn find(version: Version, action_type: &str) -> Option<&'static ReductionRow> {
    entry(version, action_type).map(|reducer| reducer.row)
}

/// The row of an action, and the dialect in which its channel is written.
#[inline]
pub(super) fn entry(version: Version, action_type: &str) -> Option<ActionReducer> {
    /// The actions of one version.
    type Index = foldhash::HashMap<&'static str, ActionReducer>;
    static INDEX: OnceLock<Vec<Index>> = OnceLock::new();
    let index = INDEX.get_or_init(|| PUBLISHED.map(|version| rows_of(version).collect()).into());
    index.get(version.place()?)?.get(action_type).copied()
}

/// The rows of a version in the order of their `since`, so that the newest of an action comes last.
fn rows_of(version: Version) -> impl Iterator<Item = (&'static str, ActionReducer)> {
    let holds =
        |row: &&ReductionRow| row.since <= version && row.until.is_none_or(|until| version < until);
    let mut rows: Vec<&'static ReductionRow> = rows().filter(holds).collect();
    rows.sort_by_key(|row| row.since);
    rows.into_iter().map(move |row| {
        (row.action_type, ActionReducer { row, dialect: ChannelDialect::of(version, row.channel) })
    })
}

const fn replace(from: &'static str, to: &'static str, shape: PayloadShape) -> ActionEffect {
    ActionEffect::Replace { from, to, shape }
}

const fn assigned(member: &'static str, shape: PayloadShape) -> ActionEffect {
    ActionEffect::Assign { member, shape }
}

const fn flagged(member: &'static str, bit: u64) -> ActionEffect {
    ActionEffect::Flag { member, bit }
}

const fn upsert(list: &'static str, entry: &'static str, key: &'static str) -> ActionEffect {
    ActionEffect::Upsert { list, entry, key }
}

/// Writes rows as `Channel since[..until] "action/type" effect;`.
macro_rules! row_list {
    ($($channel:ident $since:ident $(.. $until:ident)? $action_type:literal $effect:expr;)*) => {
        &[$($crate::model::table::ReductionRow {
            action_type: $action_type,
            channel: $crate::wire::channel::ChannelKind::$channel,
            since: $crate::wire::version::Version::$since,
            until: $crate::model::table::row_list!(@until $($until)?),
            effect: $effect,
        }),*]
    };
    (@until) => { None };
    (@until $until:ident) => { Some($crate::wire::version::Version::$until) };
}

use row_list;
