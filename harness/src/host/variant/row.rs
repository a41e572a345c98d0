//! The row of a legal variant: its name, the text that permits it, and the way in which it is implemented.
//!
//! Knows: rewriters, hooks and settings of the host. Never knows: single variants.
//!
//! Start at [`VariantRow`].

use std::fmt;

use crate::host::chain::MessageRewriter;
use crate::host::engine::HostConfig;
use crate::host::injected::HostHooks;
use crate::wire::version::Version;

use super::absence::AbsentFeature;

/// One legal variant: behaviour that the specification permits and that differs from the reference host's.
#[derive(Clone, Copy)]
pub struct VariantRow {
    /// The name on the command line.
    pub name: &'static str,
    /// The behaviour of a host with this variant, for users.
    pub does: &'static str,
    /// The reason why the specification permits the variant: a paraphrase of the text, or the point that the
    /// text leaves open.
    pub permitted: &'static str,
    /// The section or type of the specification that permits the variant.
    pub source: &'static str,
    /// The first version that permits the variant.
    pub since: Version,
    /// Whether the host offers less than without the variant, so that scenarios that need more are not played.
    pub offers_less: bool,
    pub(super) maker: VariantMaker,
}

/// The way in which a variant is implemented.
#[derive(Clone, Copy)]
pub(super) enum VariantMaker {
    /// A function that creates a rewriter of the messages between the host and its clients.
    New(fn() -> Box<dyn MessageRewriter>),
    /// The absence of a feature: a rewriter removes what belongs to the feature.
    Without(&'static AbsentFeature),
    /// A function that changes the host's configuration.
    Setting(fn(&mut HostConfig)),
    /// Hooks in the behaviour of the host.
    Behaviour(&'static dyn HostHooks),
}

pub(super) const JSON: &str = "RFC 8259, sections 4, 6 and 7";
pub(super) const RPC: &str = "JSON-RPC 2.0, section 5";
pub(super) const OPTIONAL: &str = "the types of each version: optional members";
pub(super) const UNKNOWN: &str = "docs/specification/versioning.md › Compatibility Guarantee";

/// Creates a row that is valid for all versions.
pub(super) const fn row(
    name: &'static str,
    does: &'static str,
    permitted: &'static str,
    source: &'static str,
    make: fn() -> Box<dyn MessageRewriter>,
) -> VariantRow {
    let maker = VariantMaker::New(make);
    VariantRow { name, does, permitted, source, since: Version::V1, offers_less: false, maker }
}

/// Creates a row for a setting of the reference host; the row is valid for all versions.
pub(super) const fn setting(
    name: &'static str,
    does: &'static str,
    permitted: &'static str,
    source: &'static str,
    set: fn(&mut HostConfig),
) -> VariantRow {
    let maker = VariantMaker::Setting(set);
    VariantRow { name, does, permitted, source, since: Version::V1, offers_less: false, maker }
}

/// Creates a row for hooks in the host's behaviour; the row is valid for all versions.
pub(super) const fn behaviour(
    name: &'static str,
    does: &'static str,
    permitted: &'static str,
    source: &'static str,
    hooks: &'static dyn HostHooks,
) -> VariantRow {
    let maker = VariantMaker::Behaviour(hooks);
    VariantRow { name, does, permitted, source, since: Version::V1, offers_less: false, maker }
}

/// Marks a row as a variant whose host offers less than without the variant.
pub(super) const fn offering_less(row: VariantRow) -> VariantRow {
    VariantRow { offers_less: true, ..row }
}

/// Restricts a row to this version and later ones.
pub(super) const fn since(since: Version, row: VariantRow) -> VariantRow {
    VariantRow { since, ..row }
}

impl fmt::Debug for VariantRow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

impl VariantRow {
    /// Creates the rewriter of the variant; `None` if the variant does not rewrite messages.
    pub(super) fn rewriter(&self) -> Option<Box<dyn MessageRewriter>> {
        match self.maker {
            VariantMaker::New(make) => Some(make()),
            VariantMaker::Without(feature) => Some(Box::new(feature)),
            VariantMaker::Setting(_) | VariantMaker::Behaviour(_) => None,
        }
    }

    /// Returns the hooks of the variant; `None` if the variant has no hooks.
    pub(super) fn behaviour(&self) -> Option<&'static dyn HostHooks> {
        match self.maker {
            VariantMaker::Behaviour(hooks) => Some(hooks),
            _ => None,
        }
    }

    /// Applies the variant to the configuration of the reference host; does nothing if the variant is not a
    /// setting.
    pub(super) fn set_up(&self, config: &mut HostConfig) {
        if let VariantMaker::Setting(set) = self.maker {
            set(config);
        }
    }
}
