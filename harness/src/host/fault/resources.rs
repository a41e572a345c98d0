//! Faults in resources: access checks and overwriting.
//!
//! Knows: the requests for files. Never knows: which check finds which fault.

use super::generic::{AnswersRequests, LiftsRules};
use super::{Fault, HostFaultRow};
use crate::host::files::Node;
use crate::wire::json::json;

pub(super) const FAULTS: &[HostFaultRow] = &[
    (Fault::PathsEscape, &LiftsRules(&["resource.containment.dotdot"])),
    (Fault::LinksFollowed, &LiftsRules(&["resource.containment.symlink"])),
    (Fault::GrantsGrow, &LiftsRules(&["resource.permission.scope"])),
    (Fault::ReadGrantsWrite, &LiftsRules(&["resource.request.read-not-write"])),
    (Fault::GrantsForAll, &LiftsRules(&["resource.permission.per-client"])),
    (
        Fault::OverwritesAlways,
        &LiftsRules(&["resource.write.createOnly", "resource.copy.failIfExists"]),
    ),
    (Fault::FoldersGoWhole, &LiftsRules(&["resource.delete.nonempty-directory"])),
    (
        Fault::BytesReadAsText,
        &AnswersRequests("resourceRead", |host, call| {
            let path = host.path(call, "uri").ok()?;
            let bytes = &host.files.file(&path).ok()?.bytes;
            str::from_utf8(bytes)
                .is_err()
                .then(|| Ok(json!({"data": String::from_utf8_lossy(bytes), "encoding": "utf-8"})))
        }),
    ),
    (
        Fault::PipesHang,
        &AnswersRequests("resourceRead", |host, call| {
            let path = host.path(call, "uri").ok()?;
            host.stalled |= matches!(host.files.get(&path), Ok(Node::Pipe));
            None
        }),
    ),
    (
        Fault::LargeReadsHang,
        &AnswersRequests("resourceRead", |host, call| {
            let path = host.path(call, "uri").ok()?;
            host.stalled |= matches!(host.files.get(&path), Ok(Node::Large(_)));
            None
        }),
    ),
];
