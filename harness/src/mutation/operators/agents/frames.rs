//! Operators that change lines and message envelopes.
//!
//! Knows: the vocabulary of the protocol. Never knows: the implementation of changes.

use super::super::row;
use super::{asks, result, update};
use crate::mutation::change::FaultAudience::One;
use crate::mutation::change::WireChange::{Raw, Remove, Set};
use crate::mutation::evidence::FaultEvidence::Itself;
use crate::mutation::operator::FaultClass::AgentFrames;
use crate::mutation::operator::PlaceCondition::Has;

operator_table! {
    FRAMES
    row(AgentFrames, "update-untagged", "An update has no `jsonrpc`.",
        update(&[]), Remove(One, "/jsonrpc"), &[Itself]),
    row(AgentFrames, "update-tagged-as-another-version", "An update is tagged as JSON-RPC 1.0.",
        update(&[]), Set(One, "/jsonrpc", "\"1.0\""), &[Itself]),
    row(AgentFrames, "update-tagged-with-a-number", "An update is tagged with a number.",
        update(&[]), Set(One, "/jsonrpc", "2"), &[Itself]),
    row(AgentFrames, "log-line-behind-an-update", "A line of a log follows an update on stdout.",
        update(&[]), Raw("INFO working"), &[Itself]),
    row(AgentFrames, "answer-untagged", "An answer has no `jsonrpc`.",
        result(&[]), Remove(One, "/jsonrpc"), &[Itself]),
    row(AgentFrames, "answer-tagged-as-another-version", "An answer is tagged as JSON-RPC 1.0.",
        result(&[]), Set(One, "/jsonrpc", "\"1.0\""), &[Itself]),
    row(AgentFrames, "answer-tagged-with-a-number", "An answer is tagged with a number.",
        result(&[]), Set(One, "/jsonrpc", "2"), &[Itself]),
    row(AgentFrames, "log-line-behind-an-answer", "A line of a log follows an answer on stdout.",
        result(&[]), Raw("INFO working"), &[Itself]),
    row(AgentFrames, "request-untagged", "A request has no `jsonrpc`.",
        asks(&[]), Remove(One, "/jsonrpc"), &[Itself]),
    row(AgentFrames, "request-tagged-as-another-version", "A request is tagged as JSON-RPC 1.0.",
        asks(&[]), Set(One, "/jsonrpc", "\"1.0\""), &[Itself]),
    row(AgentFrames, "request-tagged-with-a-number", "A request is tagged with a number.",
        asks(&[]), Set(One, "/jsonrpc", "2"), &[Itself]),
    row(AgentFrames, "log-line-behind-a-request", "A line of a log follows a request on stdout.",
        asks(&[]), Raw("INFO working"), &[Itself]),
    row(AgentFrames, "cut-line", "A line is cut off in the middle.",
        update(&[]), Raw("{\"jsonrpc\":\"2.0\",\"method\":\"session/upd"), &[Itself]),
    row(AgentFrames, "scalar-line", "A line is a JSON value that is not an object.",
        update(&[]), Raw("true"), &[Itself]),
    row(AgentFrames, "empty-object", "A line is an empty object.",
        update(&[]), Raw("{}"), &[Itself]),
    row(AgentFrames, "method-is-a-number", "A notification has a number as its method.",
        update(&[]), Set(One, "/method", "4"), &[Itself]),
    row(AgentFrames, "method-of-its-own", "A notification has a custom method without a leading underscore.",
        update(&[]), Set(One, "/method", "\"status/changed\""), &[Itself]),
    row(AgentFrames, "method-missing", "A notification has no method.",
        update(&[]), Remove(One, "/method"), &[Itself]),
    row(AgentFrames, "params-missing", "An update has no params.",
        update(&[]).when(&[Has("/params/update")]), Remove(One, "/params"), &[Itself]),
    row(AgentFrames, "params-null", "The params of an update are null.",
        update(&[]).when(&[Has("/params/update")]), Set(One, "/params", "null"), &[Itself]),
    row(AgentFrames, "params-list", "The params of an update are a list.",
        update(&[]).when(&[Has("/params/update")]), Set(One, "/params", "[]"), &[Itself]),
    row(AgentFrames, "params-text", "The params of an update are a string.",
        update(&[]).when(&[Has("/params/update")]), Set(One, "/params", "\"update\""), &[Itself]),
    row(AgentFrames, "update-as-a-request", "An update is sent as a request.",
        update(&[]).when(&[Has("/params/update")]), Set(One, "/id", "\"mutant-1\""), &[Itself]),
}
