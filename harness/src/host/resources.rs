//! Resources: clients read and change the host's files, inside the folders that they may reach.
//!
//! Interpretations where the specification is silent:
//! - The host never asks a user for permission. Files in the area need no permission. A file in the folder that
//!   needs a grant is granted at once, to one client and for the requested access. Everything else is denied.
//! - A request is invalid if it names a file where a folder is needed, a folder where a file is needed, or a folder
//!   that is not empty.
//! - A copy or move never replaces a folder.
//!
//! Knows: URIs, the requests. Never knows: the watchers.
//!
//! Start at [`RefHost::resource_read`].

use super::visitor::ResourceRight;
use crate::wire::channel::ROOT;
use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};
use crate::wire::percent;

use super::engine::RefHost;
use super::files::{AREA, ASKED, KEPT, ODD, SHOWN};
use super::request::{CallReply, ErrorResponse, HostCall};
use crate::files::requests::{WriteRequest, list_result, read_result, resolve_result};
use crate::files::tree::{ExpectedContent, FileChange, FileError, parent, within};

/// The scheme of a file's URI.
const SCHEME: &str = "file://";

/// Returns the URI of a path.
pub(super) fn uri_of(path: &str) -> String {
    format!("{SCHEME}{}", percent::escaped(path, percent::PATH))
}

/// Decodes the percent-escapes of a path segment; `None` if the result is not a valid segment.
fn plain(piece: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(piece.len());
    let mut rest = piece.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            b'?' | b'#' => return None,
            other => other,
        });
    }
    let piece = String::from_utf8(bytes).ok()?;
    (!piece.is_empty() && !piece.contains(['/', '\0'])).then_some(piece)
}

impl RefHost {
    /// Returns whether a URI is in the area of clients, whether or not the file exists.
    pub(super) fn is_in_area(&self, uri: &Value) -> bool {
        let area = uri_of(AREA);
        let path = uri.as_str().and_then(|uri| uri.strip_prefix(area.as_str()));
        path.is_some_and(|path| path.is_empty() || path.starts_with('/'))
    }

    /// Returns the path that a URI names, without an access check.
    pub(super) fn place_of(&self, uri: &str) -> Result<String, ErrorResponse> {
        let bad = || ErrorResponse::invalid_params(format!("expected `{SCHEME}{AREA}/..`"));
        let rest = uri.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix('/'));
        let rest = rest.ok_or_else(bad)?;
        let mut path: Vec<String> = Vec::new();
        for piece in rest.strip_suffix('/').unwrap_or(rest).split('/') {
            match plain(piece).ok_or_else(bad)?.as_str() {
                "." => return Err(bad()),
                ".." if !self.keeps("resource.containment.dotdot") => {
                    path.pop();
                }
                ".." => return Err(denied()),
                piece => path.push(piece.to_owned()),
            }
        }
        Ok(format!("/{}", path.join("/")))
    }

    /// Returns the path that a URI names, if every client may read it.
    pub(super) fn path_of(&self, uri: &str) -> Result<String, ErrorResponse> {
        let path = self.place_of(uri)?;
        let inside =
            |path: &str| [AREA, KEPT, SHOWN, ODD].iter().any(|folder| within(path, folder));
        let escapes = !self.keeps("resource.containment.dotdot") && uri.contains("..");
        if !inside(&path) && !escapes {
            return Err(denied());
        }
        // Check the path that the links resolve to, and return that path.
        let real = self.files.real(&path);
        let leads = inside(&real) || escapes || !self.keeps("resource.containment.symlink");
        if leads { Ok(real) } else { Err(denied()) }
    }

    /// Returns the path that a request names, if its client may read it.
    pub(super) fn path(&self, call: &HostCall, name: &str) -> Result<String, ErrorResponse> {
        match self.granted(call, name, ResourceRight::Read) {
            Some(path) => path,
            None => self.path_of(call.text(name)),
        }
    }

    /// Returns the path that a request names, if its client may create, replace or delete it. The area itself
    /// is excluded.
    fn own_path(&self, call: &HostCall, name: &str) -> Result<String, ErrorResponse> {
        if let Some(path) = self.granted(call, name, ResourceRight::Write) {
            return path;
        }
        let path = self.path_of(call.text(name))?;
        if path == AREA || path == ODD || within(&path, KEPT) { Err(denied()) } else { Ok(path) }
    }

    /// Returns the path that a request names if the client was granted access to it, and an error if not;
    /// `None` if the path needs no grant.
    fn granted(
        &self,
        call: &HostCall,
        name: &str,
        right: ResourceRight,
    ) -> Option<Result<String, ErrorResponse>> {
        let uri = call.text(name);
        let path = self.place_of(uri).ok().filter(|path| within(path, ASKED))?;
        let own = self.connections.client(call.conn);
        let fits = |(client, granted, given): (&str, &str, ResourceRight)| {
            let counts = Some(client) == own || !self.keeps("resource.permission.per-client");
            let beside =
                !self.keeps("resource.permission.scope") && parent(granted) == parent(&path);
            let covers = given == right || !self.keeps("resource.request.read-not-write");
            counts && (granted == path || beside) && covers
        };
        if self.clients.grants().any(fits) {
            return Some(Ok(path));
        }
        // The error names the `resourceRequest` that would grant access.
        let mut wanted = json!({"channel": ROOT, "uri": uri});
        wanted[right.name()] = json!(true);
        Some(Err(ErrorResponse { data: json!({"request": wanted}), ..denied() }))
    }

    /// Grants a client the requested access, if the host permits it.
    fn grant(&mut self, call: &HostCall, right: ResourceRight) -> Result<(), ErrorResponse> {
        let path = self.place_of(call.text("uri"))?;
        if !within(&path, ASKED) {
            let open = match right {
                ResourceRight::Read => self.path(call, "uri"),
                ResourceRight::Write => self.own_path(call, "uri"),
            };
            return open.map(|_| ());
        }
        self.files.file(&path)?;
        let own = self.connections.client(call.conn);
        if let Some(own) = own {
            self.clients.grant(own, path, right);
        }
        Ok(())
    }

    /// Notifies the watches of the changes and returns the response.
    fn done(&mut self, changes: Result<Vec<FileChange>, FileError>) -> CallReply {
        self.tell_watches(&changes?);
        Ok(json!({}))
    }

    /// Serves `resourceRead`. Source: root-channel.md; `resource.read.*`.
    pub(super) fn resource_read(&mut self, call: &HostCall) -> CallReply {
        let path = self.path(call, "uri")?;
        let file = self.files.file(&path)?;
        Ok(read_result(&path, file, call.text("encoding")))
    }

    /// Serves `resourceWrite`.
    pub(super) fn resource_write(&mut self, call: &HostCall) -> CallReply {
        let path = self.own_path(call, "uri")?;
        let mut request = WriteRequest::read(call.params)?;
        if !self.keeps("resource.write.createOnly") {
            request.expected = ExpectedContent::default();
        }
        let now = self.clock.timestamp();
        let changes = request.write(&mut self.files, &path, &now);
        self.done(changes)
    }

    /// Serves `resourceList`.
    pub(super) fn resource_list(&mut self, call: &HostCall) -> CallReply {
        let path = self.path(call, "uri")?;
        Ok(list_result(&self.files, &path)?)
    }

    /// Serves `resourceCopy`.
    pub(super) fn resource_copy(&mut self, call: &HostCall) -> CallReply {
        self.copy_or_move(call, false)
    }

    /// Serves `resourceMove`.
    pub(super) fn resource_move(&mut self, call: &HostCall) -> CallReply {
        self.copy_or_move(call, true)
    }

    fn copy_or_move(&mut self, call: &HostCall, moves: bool) -> CallReply {
        let (from, to) = (self.own_path(call, "source")?, self.own_path(call, "destination")?);
        let careful = call.params["failIfExists"] == true;
        let overwrites = !careful || !self.keeps("resource.copy.failIfExists");
        let now = self.clock.timestamp();
        let changes = self.files.copy(&from, &to, moves, overwrites, &now);
        self.done(changes)
    }

    /// Serves `resourceDelete`.
    pub(super) fn resource_delete(&mut self, call: &HostCall) -> CallReply {
        let path = self.own_path(call, "uri")?;
        let recursive =
            call.params["recursive"] == true || !self.keeps("resource.delete.nonempty-directory");
        let changes = self.files.remove(&path, recursive);
        self.done(changes)
    }

    /// Serves `resourceMkdir`.
    pub(super) fn resource_mkdir(&mut self, call: &HostCall) -> CallReply {
        let path = self.own_path(call, "uri")?;
        let changes = self.files.make_folder(&path);
        self.done(changes)
    }

    /// Serves `resourceResolve`.
    pub(super) fn resource_resolve(&mut self, call: &HostCall) -> CallReply {
        // Return the link itself, without its target.
        if call.params["followSymlinks"] == false
            && let Ok(place) = self.place_of(call.text("uri"))
            && self.files.is_link(&place)
        {
            return Ok(json!({"uri": uri_of(&place), "type": "symlink"}));
        }
        let path = self.path(call, "uri")?;
        let node = self.files.get(&path)?;
        Ok(resolve_result(&uri_of(&path), &path, node))
    }

    /// Serves `resourceRequest`. A request without `read` and `write` means `read`.
    pub(super) fn resource_request(&mut self, call: &HostCall) -> CallReply {
        let writes = call.params["write"] == true;
        if call.params["read"] == true || !writes {
            self.grant(call, ResourceRight::Read)?;
        }
        if writes {
            self.grant(call, ResourceRight::Write)?;
        }
        Ok(json!({}))
    }
}

/// Returns the error for denied access. The error names no `resourceRequest`, since no request would grant
/// access.
fn denied() -> ErrorResponse {
    ErrorResponse::named(ErrorName::PermissionDenied, "the path is not in the area of clients")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::engine::HostConfig;

    #[test]
    fn uris_name_paths_inside() {
        let host = RefHost::new(HostConfig::default());
        let check = |uri: &str, expected: Result<&str, i64>| {
            let found = host.path_of(uri).map_err(|failure| failure.code);
            assert_eq!(found.as_deref().map_err(|code| *code), expected, "{uri}");
        };
        check("file:///harness", Ok("/harness"));
        check("file:///harness/", Ok("/harness"));
        check("file:///harness/a%20b/%C3%BC", Ok("/harness/a b/ü"));
        check("file:///harness/%252e%252e/x", Ok("/harness/%2e%2e/x"));
        for outside in [
            "file:///",
            "file:///harnes",
            "file:///harness2",
            "file:///outside/canary.txt",
            "file:///harness/../outside/canary.txt",
            "file:///harness/%2e%2e/outside/canary.txt",
            "file:///harness/a/%2E./../outside",
        ] {
            let code = if outside == "file:///" { -32602 } else { -32009 };
            check(outside, Err(code));
        }
        for odd in [
            "",
            "/harness",
            "file://host/harness",
            "https://a.example/harness",
            "file:///harness//a",
            "file:///harness/./a",
            "file:///harness/%2fa",
            "file:///harness/%zz",
            "file:///harness/%ff",
            "file:///harness/%00",
            "file:///harness/a?b",
        ] {
            check(odd, Err(-32602));
        }
        assert_eq!(uri_of("/harness/a b/ü#"), "file:///harness/a%20b/%C3%BC%23");
    }
}
