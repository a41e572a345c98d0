//! Checks the customizations of a session: their ids are unique, and their enablement decisions are in order.
//!
//! Knows: folded sessions. Never knows: the effect of a customization.
//!
//! Start at [`CustomizationChecks`].

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::verdict::Weight;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::Value;

use crate::oracle::catalogue::Rule;
use crate::oracle::check::{CheckFamily, FindingSink};
use crate::oracle::context::OracleContext;
use crate::oracle::members::{given, list, repeated_text, text};
use crate::oracle::step::OracleStep;

/// The kinds of enablement decisions, in the order in which hosts publish them. Source: changelog 0.8.0.
const SCOPES: [&str; 3] = ["session", "workspace", "global"];

/// The actions that change customizations.
const CHANGES: [&str; 2] = ["session/customizationsChanged", "session/customizationUpdated"];

/// The checks of customizations. These checks need no state beyond the context.
pub(super) struct CustomizationChecks;

impl CheckFamily for CustomizationChecks {
    fn step(&mut self, cx: &OracleContext, step: &OracleStep<'_>, out: &mut FindingSink) {
        match step {
            OracleStep::Snapshot { state, .. } => all(cx, state, out),
            OracleStep::Folded { folding, .. }
                if CHANGES.contains(&folding.envelope.action_type) =>
            {
                if let Some(fold) = cx.folded(folding.channel) {
                    all(cx, &fold.state, out);
                }
            }
            _ => {}
        }
    }
}

/// Returns a customization and its children.
pub(super) fn with_children(item: &Value) -> impl Iterator<Item = &Value> {
    std::iter::once(item).chain(list(item, "children"))
}

/// Returns the ids that several clients of a session chose for their own customizations. An update names a
/// customization only by its id, so it can replace another client's customization with the same id. The host cannot
/// prevent this.
fn chosen_twice(state: &Value) -> BTreeSet<&str> {
    let (mut once, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for client in list(state, "activeClients") {
        let items = list(client, "customizations").iter().flat_map(with_children);
        let own: BTreeSet<&str> = items.filter_map(|item| text(item, "id")).collect();
        twice.extend(own.intersection(&once).copied());
        once.extend(own);
    }
    twice
}

/// Judges the ids and the enablement of all customizations of a session. Invariant L6.
fn all(cx: &OracleContext, state: &Value, out: &mut FindingSink) {
    let items = list(state, "customizations");
    if items.is_empty() {
        return;
    }
    // Each client chooses the ids of its own customizations, so two clients may choose the same id.
    let mut owners: BTreeMap<Option<&str>, Vec<&Value>> = BTreeMap::new();
    for item in items {
        owners.entry(text(item, "clientId")).or_default().push(item);
    }
    let chosen = LazyCell::new(|| chosen_twice(state));
    for own in owners.values() {
        let own = || {
            let own = own.iter().copied().flat_map(with_children);
            own.filter_map(|item| text(item, "id"))
        };
        let mut ids = own().peekable();
        // Before 0.2.0, customizations are references by URI, which have no ids.
        if ids.peek().is_some() {
            out.seen(Rule::CustomizationIds);
        }
        let unexcused = || repeated_text(own().filter(|id| !chosen.contains(id)));
        if let Some(id) = repeated_text(ids).and_then(|_| unexcused()) {
            let message =
                format!("expected the ids of customizations to differ, found `{id}` twice");
            out.broken(Rule::CustomizationIds, message, &[cx.now.line]);
        }
    }
    let protocol = cx.here().and_then(|conn| conn.protocol);
    if protocol.is_some_and(|protocol| protocol.has(ProtocolFeature::Enablement)) {
        items.iter().flat_map(with_children).for_each(|item| enablement(cx, item, out));
    }
}

/// Judges the enablement decisions of one customization. The decisions come in the order session, workspace,
/// global, and the workspace has at most one decision. Invariant L6.
fn enablement(cx: &OracleContext, item: &Value, out: &mut FindingSink) {
    if given(item, "enablement").is_none() {
        return;
    }
    let kinds = list(item, "enablement").iter().filter_map(|decision| text(decision, "kind"));
    let place = |kind| SCOPES.iter().position(|scope| *scope == kind);
    let places: Vec<usize> = kinds.filter_map(place).collect();
    out.seen(Rule::EnablementOrder);
    let id = text(item, "id").unwrap_or_default();
    if !places.is_sorted() {
        let message = format!(
            "expected the enablement of `{id}` in the order session, workspace, global, found \
             another order"
        );
        out.broken(Rule::EnablementOrder, message, &[cx.now.line]);
    }
    if places.iter().filter(|place| **place == 1).count() > 1 {
        let message =
            format!("expected one entry for the workspace in the enablement of `{id}`, found more");
        out.weaker(Rule::EnablementOrder, Weight::Essential, message, &[cx.now.line]);
    }
}
