//! The table of actions: one row each, with its channel, its versions and its effect.
//!
//! A row applies to versions from its `since` up to, but not including, its `until`. If several rows of an action apply
//! to the negotiated version, the row with the newest `since` is used. The `since` of an action's first row is the
//! version of the first published crate that has the action. The registry of the specification names an earlier version
//! for some of the 1.0.0 rows, but no 0.9.0 peer can read these actions.
//!
//! Knows: the reducers of each channel. Never knows: senders, permissions.
//!
//! Start at [`rows`]; each channel has a file with its rows.

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

/// The effect of one type of action on the state of its channel.
#[derive(Debug)]
pub struct ReductionRow {
    /// The `type` of the action, such as `chat/delta`.
    pub action_type: &'static str,
    /// The kind of channel that the action belongs to.
    pub channel: ChannelKind,
    /// The first version to which the row applies.
    pub since: Version,
    /// The first version without the action; `None` if all newer versions have it.
    pub until: Option<Version>,
    /// The way in which the action changes the state.
    pub effect: ActionEffect,
}

/// The way in which a state changes: common changes as data, all other changes as a function.
#[derive(Debug)]
pub enum ActionEffect {
    /// Copies a required member of the action into the state.
    Replace {
        /// The name of the action's member.
        from: &'static str,
        /// The name of the state's member.
        to: &'static str,
        /// The shape that the copied member must have.
        shape: PayloadShape,
    },
    /// Copies an optional member of the action into the state's member with the same name. If the action does
    /// not have the member, the state's member is removed.
    Assign {
        /// The name of the member in the action and in the state.
        member: &'static str,
        /// The shape that the copied member must have.
        shape: PayloadShape,
    },
    /// Sets or clears a bit of the status, depending on a boolean member of the action.
    Flag {
        /// The name of the action's member.
        member: &'static str,
        /// The bit of the status that is set or cleared.
        bit: u64,
    },
    /// Replaces the entry with the same key in place, or appends the action's object.
    Upsert {
        /// The name of the state's array.
        list: &'static str,
        /// The name of the action's member.
        entry: &'static str,
        /// The name of the string that identifies an entry.
        key: &'static str,
    },
    /// Removes every entry with this key. An empty array stays.
    Remove {
        /// The name of the state's array.
        list: &'static str,
        /// The name of the string that identifies an entry.
        key: &'static str,
        /// The name of the action's member that contains the key.
        by: &'static str,
        /// The reason for a no-op if there is no such entry.
        missing: NoOp,
    },
    /// Removes the first entry with this key. Further entries with the same key stay.
    RemoveFirst {
        /// The name of the state's array.
        list: &'static str,
        /// The name of the string that identifies an entry.
        key: &'static str,
        /// The name of the action's member that contains the key.
        by: &'static str,
        /// The reason for a no-op if there is no such entry.
        missing: NoOp,
    },
    /// Returns a no-op with this reason, without reading the payload.
    Ignore(NoOp),
    /// Applies the effect to the object that contains title and status, which may be the `summary`.
    InSummary(&'static ActionEffect),
    /// Applies the effect, then writes the wall-clock time into `modifiedAt`.
    Stamped(&'static ActionEffect),
    /// Calls a function, for all other effects.
    Run(fn(&mut Object, &Object) -> ReducerResult),
    /// Calls a function that depends on the version or the clock.
    In(fn(&ReducerContext, &mut Object, &Object) -> ReducerResult),
}

impl ActionEffect {
    /// Changes the state; or leaves the state untouched and returns the reason as an error.
    pub(super) fn run(
        &self,
        context: &ReducerContext,
        state: &mut Value,
        action: &Object,
    ) -> ReducerResult {
        let state = state.as_object_mut().ok_or(NoOp::MalformedState)?;
        // The summary is checked before any change, so no effect fails half-way.
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

/// Returns the rows of every channel, in the order of the files.
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

/// Returns the row of an action in a version; `None` if the version has no such action. An unpublished version
/// counts as the newest published version below it.
#[inline]
pub fn find(version: Version, action_type: &str) -> Option<&'static ReductionRow> {
    entry(version, action_type).map(|reducer| reducer.row)
}

/// Returns the row of an action and the dialect of its channel.
#[inline]
pub(super) fn entry(version: Version, action_type: &str) -> Option<ActionReducer> {
    /// The reducers of the actions of one version, by the type of the action.
    type Index = foldhash::HashMap<&'static str, ActionReducer>;
    static INDEX: OnceLock<Vec<Index>> = OnceLock::new();
    let index = INDEX.get_or_init(|| PUBLISHED.map(|version| rows_of(version).collect()).into());
    index.get(version.place()?)?.get(action_type).copied()
}

/// Returns the rows of a version in the order of their `since`: the newest row of an action comes last.
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

/// Builds rows from the form `Channel since[..until] "action/type" effect;`.
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
