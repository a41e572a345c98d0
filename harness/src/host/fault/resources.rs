//! Faults in resources: access checks and overwriting.
//!
//! Knows: the requests for files. Never knows: the checks that find a fault.

use super::FaultPart::{Host, Message};
use crate::files::tree::FileNode;
use crate::host::chain::{MessageLink, MessageRewriter, RewriterOutput};
use crate::host::generic::{AnswersRequests, ChangesReplies, LiftsRules};
use crate::wire::json::{Value, json};

fault_table![
    PathsEscape(
        "paths-escape",
        "A `..` in the URI of a file gives access outside of the clients' folder.",
        Host(&LiftsRules(&["resource.containment.dotdot"])),
    ),
    LinksFollowed(
        "links-followed",
        "A link in the clients' folder gives access outside of it.",
        Host(&LiftsRules(&["resource.containment.symlink"])),
    ),
    GrantsGrow(
        "grants-grow",
        "A client that was granted access to a file has the same access to the files in its folder.",
        Host(&LiftsRules(&["resource.permission.scope"])),
    ),
    ReadGrantsWrite(
        "read-grants-write",
        "A client that was granted read access to a file may write it.",
        Host(&LiftsRules(&["resource.request.read-not-write"])),
    ),
    GrantsForAll(
        "grants-for-all",
        "A grant to one client applies to all clients.",
        Host(&LiftsRules(&["resource.permission.per-client"])),
    ),
    OverwritesAlways(
        "overwrites-always",
        "Files are overwritten although the request forbids it.",
        Host(&LiftsRules(&["resource.write.createOnly", "resource.copy.failIfExists"])),
    ),
    FoldersGoWhole(
        "folders-go-whole",
        "A folder that is not empty is deleted without `recursive`.",
        Host(&LiftsRules(&["resource.delete.nonempty-directory"])),
    ),
    BytesReadAsText(
        "bytes-read-as-text",
        "Bytes that are not UTF-8 are sent as text.",
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
        "The host asks the wrong client for the contents of a published plugin.",
        Host(&LiftsRules(&["resource.symmetric.right-client"])),
    ),
    ServerResultsAltered(
        "server-results-altered",
        "The results of an MCP server are passed on as ASCII text, and its errors as internal errors.",
        Host(&LiftsRules(&["mcp.verbatim"])),
    ),
    IncompleteCallsPassed(
        "incomplete-calls-passed",
        "A request without the params that its MCP method requires is passed on to the server.",
        Host(&LiftsRules(&["mcp.complete-requests"])),
    ),
    ForwardsBytesAsText(
        "forwards-bytes-as-text",
        "Content that another client writes to a client's file is passed on as ASCII text.",
        Host(&LiftsRules(&["resource.forwarded.request"])),
    ),
    ReturnsBytesAsText(
        "returns-bytes-as-text",
        "Content that a client serves to another client is passed back as ASCII text.",
        Host(&LiftsRules(&["resource.forwarded.result"])),
    ),
    ForwardedErrorLost(
        "forwarded-error-lost",
        "An error of a client that serves files is passed back as an internal error.",
        Host(&LiftsRules(&["resource.forwarded.error"])),
    ),
    AsksForMore(
        "asks-for-more",
        "The host also asks a client for a file that the client did not publish.",
        Message(|| Box::new(AsksForMore)),
    ),
    WatchLeaks(
        "watch-leaks",
        "A watch also reports changes outside of its root.",
        Host(&LiftsRules(&["watch.events"])),
    ),
    EmptyBatches(
        "empty-batches",
        "A change outside of a watch is sent to it as an empty batch.",
        Host(&LiftsRules(&["watch.nonempty-batch"])),
    ),
    PipesHang(
        "pipes-hang",
        "The host stops reading its connections after a request for a file without an end.",
        Host(&AnswersRequests(&["resourceRead"], |host, call| {
            let path = host.path(call, "uri").ok()?;
            host.memory.stalled |= matches!(host.files.get(&path), Ok(FileNode::Pipe));
            None
        })),
    ),
    LargeReadsHang(
        "large-reads-hang",
        "The host stops reading its connections after a request for a file that is too large.",
        Host(&AnswersRequests(&["resourceRead"], |host, call| {
            let path = host.path(call, "uri").ok()?;
            host.memory.stalled |= matches!(host.files.get(&path), Ok(FileNode::Large(_)));
            None
        })),
    ),
    CopiesShallow(
        "copies-shallow",
        "A copy of a folder has only its direct children.",
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

struct AsksForMore;

impl MessageRewriter for AsksForMore {
    fn on_host_message(&mut self, _: &MessageLink<'_>, message: Value, out: &mut RewriterOutput) {
        if message["method"] == "resourceRead" {
            let mut more = message.clone();
            more["id"] = json!(format!("more-{}", message["id"]));
            more["params"]["uri"] = json!("file:///harness/secret.txt");
            out.send(more);
        }
        out.send(message);
    }
}
