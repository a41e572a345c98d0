//! What a host may declare, and a scenario may need.
//!
//! Start at [`CAPABILITIES`].

use crate::wire::json::Value;

/// One thing that a host declares in its answer to `initialize`.
#[derive(Debug)]
pub struct Capability {
    /// How a scenario names it.
    pub name: &'static str,
    /// The member of the result that declares it, an object where it is there.
    pub member: &'static str,
}

/// Every capability that a scenario may need.
pub const CAPABILITIES: &[Capability] = &[
    Capability { name: "automations", member: "automations" },
    Capability { name: "telemetry", member: "telemetry" },
];

/// The capability of a name.
pub fn named(name: &str) -> Option<&'static Capability> {
    CAPABILITIES.iter().find(|row| row.name == name)
}

/// What the result of `initialize` declares.
pub fn declared(result: &Value) -> Vec<&'static str> {
    let shown = |row: &&Capability| result[row.member].as_object().is_some();
    CAPABILITIES.iter().filter(shown).map(|row| row.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::json;

    #[test]
    fn finds_what_is_declared() {
        assert_eq!(declared(&json!({"automations": {}, "telemetry": null})), ["automations"]);
        assert_eq!(declared(&Value::Null), Vec::<&str>::new());
    }
}
