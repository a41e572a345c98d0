//! The protected resources of the host, for which agents and MCP servers require tokens.
//!
//! Knows: the metadata of resources. Never knows: tokens that clients have delivered.

use crate::wire::json::{Value, json};

/// The resource of the protected agent, and the only token that the host accepts for it.
pub const TOKEN: (&str, &str) =
    ("https://agent.ahp-harness.example/api", "reference-host-token-3f1c9a7e");

/// An optional resource; no request requires a token for it.
pub(super) const EXTRAS: &str = "https://extras.ahp-harness.example";

/// Returns the metadata of a protected resource, which tells a client how to get a token. Source: RFC 9728.
pub(super) fn metadata(resource: &str, required: bool) -> Value {
    json!({
        "resource": resource,
        "resource_name": "Agent of the reference host",
        "authorization_servers": ["https://login.ahp-harness.example"],
        "scopes_supported": ["agent"],
        "bearer_methods_supported": ["header"],
        "required": required,
        "jwks_uri": "https://agent.ahp-harness.example/keys",
        "resource_signing_alg_values_supported": ["ES256"],
        "resource_encryption_alg_values_supported": ["ECDH-ES"],
        "resource_encryption_enc_values_supported": ["A128GCM"],
        "resource_documentation": "https://agent.ahp-harness.example/about",
        "resource_policy_uri": "https://agent.ahp-harness.example/policy",
        "resource_tos_uri": "https://agent.ahp-harness.example/terms",
    })
}

/// The resource for which the MCP servers of this host require a token. The servers accept any token.
pub(super) const TOOLS: &str = "https://tools.ahp-harness.example/mcp";
