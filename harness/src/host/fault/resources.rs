//! Faults in resources: access checks and overwriting.
//!
//! Knows: the requests for files. Never knows: which check finds which fault.

use super::FaultPart::Host;
use crate::host::files::FileNode;
use crate::host::generic::{AnswersRequests, ChangesReplies, LiftsRules};
use crate::wire::json::json;

fault_table![
    PathsEscape(
        "paths-escape",
        "A `..` in the URI of a file leads out of the area of clients.",
        Host(&LiftsRules(&["resource.containment.dotdot"])),
    ),
    LinksFollowed(
        "links-followed",
        "A link in the area of clients is a way out of it.",
        Host(&LiftsRules(&["resource.containment.symlink"])),
    ),
    GrantsGrow(
        "grants-grow",
        "Who was granted a file may do the same with those beside it.",
        Host(&LiftsRules(&["resource.permission.scope"])),
    ),
    ReadGrantsWrite(
        "read-grants-write",
        "Who was granted to read a file may write it.",
        Host(&LiftsRules(&["resource.request.read-not-write"])),
    ),
    GrantsForAll(
        "grants-for-all",
        "What one client was granted everybody may do.",
        Host(&LiftsRules(&["resource.permission.per-client"])),
    ),
    OverwritesAlways(
        "overwrites-always",
        "Files are written, copied and moved over what was not to be replaced.",
        Host(&LiftsRules(&["resource.write.createOnly", "resource.copy.failIfExists"])),
    ),
    FoldersGoWhole(
        "folders-go-whole",
        "A folder that is not empty is deleted with all that is in it, unasked.",
        Host(&LiftsRules(&["resource.delete.nonempty-directory"])),
    ),
    BytesReadAsText(
        "bytes-read-as-text",
        "Bytes that are no text are read as a text all the same.",
        Host(&AnswersRequests(&["resourceRead"], |host, call| {
            let path = host.path(call, "uri").ok()?;
            let bytes = &host.files.file(&path).ok()?.bytes;
            str::from_utf8(bytes)
                .is_err()
                .then(|| Ok(json!({"data": String::from_utf8_lossy(bytes), "encoding": "utf-8"})))
        })),
    ),
    AsksTheOtherClient(
        "asks-the-other-client",
        "What one client has published another one is asked for.",
        Host(&LiftsRules(&["resource.symmetric.right-client"])),
    ),
    WatchLeaks(
        "watch-leaks",
        "A watch also tells of what happens beside its root.",
        Host(&LiftsRules(&["watch.events"])),
    ),
    EmptyBatches(
        "empty-batches",
        "A watch hears of changes that it did not ask for, in an empty batch.",
        Host(&LiftsRules(&["watch.nonempty-batch"])),
    ),
    PipesHang(
        "pipes-hang",
        "Nothing is read any more after a file without an end.",
        Host(&AnswersRequests(&["resourceRead"], |host, call| {
            let path = host.path(call, "uri").ok()?;
            host.stalled |= matches!(host.files.get(&path), Ok(FileNode::Pipe));
            None
        })),
    ),
    LargeReadsHang(
        "large-reads-hang",
        "Nothing is read any more after a file that is too large.",
        Host(&AnswersRequests(&["resourceRead"], |host, call| {
            let path = host.path(call, "uri").ok()?;
            host.stalled |= matches!(host.files.get(&path), Ok(FileNode::Large(_)));
            None
        })),
    ),
    CopiesShallow(
        "copies-shallow",
        "Of a folder only what stands directly in it is copied.",
        Host(&ChangesReplies(&["resourceCopy"], |host, request, reply| {
            let Ok(to) = host.path(request.call, "destination") else { return reply };
            let folders = host.files.list(&to).unwrap_or_default();
            let folders = folders.into_iter().filter(|(_, kind)| *kind == "directory");
            let folders: Vec<String> = folders.map(|(name, _)| format!("{to}/{name}")).collect();
            for folder in folders {
                let _ = host.files.remove(&folder, true);
            }
            reply
        })),
    ),
];
