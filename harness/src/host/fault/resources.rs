//! Faults in resources: what a client may reach, and what is overwritten.
//!
//! Knows: the requests for files. Never knows: which check finds which fault.

use super::generic::{Lifts, Serves};
use super::{Fault, HostFaultRow};
use crate::host::files::Node;

pub(super) const FAULTS: &[HostFaultRow] = &[
    (Fault::PathsEscape, &Lifts(&["resource.containment.dotdot"])),
    (Fault::LinksFollowed, &Lifts(&["resource.containment.symlink"])),
    (Fault::GrantsGrow, &Lifts(&["resource.permission.scope"])),
    (Fault::ReadGrantsWrite, &Lifts(&["resource.request.read-not-write"])),
    (Fault::GrantsForAll, &Lifts(&["resource.permission.per-client"])),
    (Fault::OverwritesAlways, &Lifts(&["resource.write.createOnly", "resource.copy.failIfExists"])),
    (Fault::FoldersGoWhole, &Lifts(&["resource.delete.nonempty-directory"])),
    (
        Fault::PipesHang,
        &Serves("resourceRead", |host, call| {
            let path = host.path(call, "uri").ok()?;
            host.stalled |= matches!(host.files.get(&path), Ok(Node::Pipe));
            None
        }),
    ),
    (
        Fault::LargeReadsHang,
        &Serves("resourceRead", |host, call| {
            let path = host.path(call, "uri").ok()?;
            host.stalled |= matches!(host.files.get(&path), Ok(Node::Large(_)));
            None
        }),
    ),
];
