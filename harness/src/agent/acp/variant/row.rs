//! The row of a legal variant of an agent: its name and the text that permits it.
//!
//! Knows: the interface of variants. Never knows: single variants.
//!
//! Start at [`AgentVariantRow`].

use super::rewriting::AgentVariant;

/// One legal variant of an agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentVariantRow {
    /// The name on the command line.
    pub name: &'static str,
    /// The behaviour of the agent with this variant.
    pub does: &'static str,
    /// Why the specification permits the behaviour: a paraphrase of the text, or a description of the point that the
    /// text leaves open.
    pub permitted: &'static str,
    /// The section or type of the specification that permits the behaviour.
    pub source: &'static str,
    /// Whether the variant removes behaviour of the reference agent, so that some scenarios cannot test anything.
    pub offers_less: bool,
    /// Whether the variant is next to the client: between the client and all variants without this flag.
    pub(super) outermost: bool,
    pub(super) make: fn() -> Box<dyn AgentVariant>,
}

pub(super) const JSON: &str = "RFC 8259, sections 2, 4, 6 and 7";
pub(super) const RPC: &str = "JSON-RPC 2.0, sections 4 and 5";
pub(super) const CALL: &str = "schema v1 › ToolCall, ToolCallUpdate";
pub(super) const STATUS: &str = "schema v1 › ToolCallStatus";
pub(super) const CALLS: &str = "agentclientprotocol.com, protocol v1 › tool calls";
pub(super) const PERMISSION: &str =
    "agentclientprotocol.com, protocol v1 › tool calls, requesting permission";
pub(super) const OPTION: &str = "schema v1 › PermissionOption";
pub(super) const TURN: &str = "agentclientprotocol.com, protocol v1 › prompt turn";
pub(super) const CANCEL: &str = "agentclientprotocol.com, protocol v1 › prompt turn, cancellation";
pub(super) const TERMINALS: &str = "agentclientprotocol.com, protocol v1 › terminals";
pub(super) const EXTENSIONS: &str = "agentclientprotocol.com, protocol v1 › extensibility";
pub(super) const INITIALIZE: &str = "schema v1 › InitializeResponse, AgentCapabilities";
pub(super) const UPDATE: &str = "schema v1 › SessionUpdate";

/// Creates the row of one variant.
pub(super) const fn row(
    name: &'static str,
    does: &'static str,
    permitted: &'static str,
    source: &'static str,
    make: fn() -> Box<dyn AgentVariant>,
) -> AgentVariantRow {
    AgentVariantRow { name, does, permitted, source, offers_less: false, outermost: false, make }
}

/// Marks a row as a variant whose agent has less behaviour than the reference agent.
pub(super) const fn offering_less(row: AgentVariantRow) -> AgentVariantRow {
    AgentVariantRow { offers_less: true, ..row }
}

/// Marks a row as outermost, for a variant that renames sessions.
pub(super) const fn outermost(row: AgentVariantRow) -> AgentVariantRow {
    AgentVariantRow { outermost: true, ..row }
}
