//! Serves the files that a client publishes. Both sides may call the `resource*` methods; here, the host calls them to
//! use the files of the client.
//!
//! The folder exists in memory only. Its URI belongs to the client. The client denies access to every other URI, and
//! denies changes unless the folder is writable.
//!
//! Knows: the params and the results of `resource*`. Never knows: connections, scenarios.
//!
//! Start at [`ClientFolder::answer`].

use std::collections::BTreeMap;

use crate::files::requests::{WriteRequest, list_result, read_result, resolve_result};
use crate::files::tree::{FileError, FileNode, FileTree};
use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};

/// The timestamp of all files. It is fixed, because clients of the harness have no clock.
const NOW: &str = "2026-01-01T00:00:00.000Z";
/// The requests that change files.
const CHANGES: &[&str] =
    &["resourceWrite", "resourceCopy", "resourceMove", "resourceDelete", "resourceMkdir"];

/// A folder of files that a client serves.
#[derive(Debug, Default)]
pub struct ClientFolder {
    /// The URI of the folder, without a slash at its end; empty for a client that serves no folder.
    uri: String,
    /// The files, with paths below the folder.
    files: Option<FileTree>,
    is_writable: bool,
}

/// The code and the message of an error with which the client answers.
pub type ClientRefusal = (i64, &'static str);

impl ClientFolder {
    /// Creates the folder at a URI. Each member of `files` is a file: its name is the path, its value is the text.
    pub fn new(uri: &str, files: &Value, is_writable: bool) -> ClientFolder {
        let mut tree = FileTree::new(BTreeMap::from([(String::new(), FileNode::Folder)]));
        for (path, text) in files.as_object().into_iter().flatten() {
            let path = format!("/{}", path.trim_matches('/'));
            if let (Some(text), Some((folder, _))) = (text.as_str(), path.rsplit_once('/')) {
                let write = WriteRequest::read(&json!({"data": text}));
                // If `files` contains a file and also a path below this file, the entry that comes first is kept.
                let _ = tree.make_folder(folder);
                let _ = write.and_then(|write| write.write(&mut tree, &path, NOW));
            }
        }
        let uri = uri.trim_end_matches('/').to_owned();
        ClientFolder { uri, files: Some(tree), is_writable }
    }

    /// Returns whether the client serves no folder.
    pub fn is_empty(&self) -> bool {
        self.files.is_none()
    }

    /// Returns the response to a request of the host.
    ///
    /// # Errors
    /// Returns the protocol's error for a request that the folder cannot serve, and `MethodNotFound` for a client
    /// without a folder.
    pub fn answer(&mut self, method: &str, params: &Value) -> Result<Value, ClientRefusal> {
        self.served(method, params).map_err(|error| (error.name.code(), error.message))
    }

    fn served(&mut self, method: &str, params: &Value) -> Result<Value, FileError> {
        let unknown =
            FileError { name: ErrorName::MethodNotFound, message: "not served by this client" };
        let uri = &self.uri;
        let path = |name: &str| {
            let path = params[name].as_str().and_then(|given| path_of(uri, given));
            path.ok_or_else(|| denied("this client shares no files outside of its folder"))
        };
        let files = self.files.as_mut().ok_or(unknown)?;
        if CHANGES.contains(&method) && !self.is_writable {
            return Err(denied("this client's folder is read-only"));
        }
        let flag = |name: &str| params[name] == true;
        let changed = |_| json!({});
        match method {
            "resourceRead" => {
                let path = path("uri")?;
                let encoding = params["encoding"].as_str().unwrap_or_default();
                Ok(read_result(&path, files.file(&path)?, encoding))
            }
            "resourceResolve" => {
                let path = path("uri")?;
                let uri = params["uri"].as_str().unwrap_or_default();
                Ok(resolve_result(uri, &path, files.get(&path)?))
            }
            "resourceList" => list_result(files, &path("uri")?),
            "resourceRequest" => path("uri").map(|_| json!({})),
            "resourceWrite" => {
                let path = path("uri")?;
                WriteRequest::read(params)?.write(files, &path, NOW).map(changed)
            }
            "resourceMkdir" => files.make_folder(&path("uri")?).map(changed),
            "resourceDelete" => files.remove(&path("uri")?, flag("recursive")).map(changed),
            "resourceCopy" | "resourceMove" => {
                let (from, to) = (path("source")?, path("destination")?);
                let moves = method == "resourceMove";
                files.copy(&from, &to, moves, !flag("failIfExists"), NOW).map(changed)
            }
            _ => Err(unknown),
        }
    }
}

fn denied(message: &'static str) -> FileError {
    FileError { name: ErrorName::PermissionDenied, message }
}

/// Returns the path, relative to the folder, of the file that a URI names; empty for the folder itself, `None` if the
/// URI is outside of the folder. Upper and lower case are not distinguished in the scheme and the authority (RFC 3986,
/// section 6.2.2.1).
fn path_of(folder: &str, uri: &str) -> Option<String> {
    let path_at = folder.find("://").map_or(0, |at| at + 3);
    let path_at = folder[path_at..].find('/').map_or(folder.len(), |at| path_at + at);
    let (authority, rest) = uri.split_at_checked(path_at)?;
    let rest = rest.strip_prefix(&folder[path_at..])?;
    if !authority.eq_ignore_ascii_case(&folder[..path_at]) {
        return None;
    }
    let path = rest.trim_end_matches('/');
    let is_inside = rest.is_empty() || rest.starts_with('/');
    (is_inside && path.split('/').all(|part| part != "..")).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOT_FOUND: i64 = -32008;
    const DENIED: i64 = -32009;

    fn folder(is_writable: bool) -> ClientFolder {
        let files = json!({"plugin/plugin.json": "{}", "plugin/skills/one/SKILL.md": "# One 🙂", "note": "n"});
        ClientFolder::new("virtual://a/", &files, is_writable)
    }

    #[test]
    fn answers_for_its_own_folder_only() {
        let mut folder = folder(false);
        let mut check = |method: &str, uri: &str, expected: Result<Value, i64>| {
            let found = folder.answer(method, &json!({"uri": uri}));
            assert_eq!(found.map_err(|(code, _)| code), expected, "{method} {uri}");
        };
        check("resourceRead", "virtual://a/note", Ok(json!({"data": "n", "encoding": "utf-8"})));
        let skill =
            json!({"data": "# One 🙂", "encoding": "utf-8", "contentType": "text/markdown"});
        check("resourceRead", "virtual://a/plugin/skills/one/SKILL.md", Ok(skill));
        check("resourceRead", "VIRTUAL://A/note", Ok(json!({"data": "n", "encoding": "utf-8"})));
        check("resourceRead", "virtual://a/NOTE", Err(NOT_FOUND));
        check("resourceRead", "virtual://a/plugin", Err(-32600));
        check("resourceRead", "virtual://a/../b/note", Err(DENIED));
        check("resourceRead", "virtual://ab/note", Err(DENIED));
        check("resourceRead", "file:///etc/passwd", Err(DENIED));
        let directory = |uri: &str| Ok(json!({"uri": uri, "type": "directory"}));
        check("resourceResolve", "virtual://a", directory("virtual://a"));
        check("resourceResolve", "virtual://a/plugin/", directory("virtual://a/plugin/"));
        check("resourceResolve", "virtual://a/plug", Err(NOT_FOUND));
        let entries = |list: Value| Ok(json!({"entries": list}));
        let whole =
            json!([{"name": "note", "type": "file"}, {"name": "plugin", "type": "directory"}]);
        check("resourceList", "virtual://a/", entries(whole));
        let inner = json!([{"name": "plugin.json", "type": "file"}, {"name": "skills", "type": "directory"}]);
        check("resourceList", "virtual://a/plugin", entries(inner));
        check("resourceList", "virtual://a/none", Err(NOT_FOUND));
        check("resourceWrite", "virtual://a/note", Err(DENIED));
        check("resourceRequest", "virtual://a/note", Ok(json!({})));
        check("x/other", "virtual://a/note", Err(-32601));
        let nothing =
            ClientFolder::default().answer("resourceRead", &json!({"uri": "virtual://a"}));
        assert_eq!(nothing.map_err(|(code, _)| code), Err(-32601));
    }

    #[test]
    fn a_writable_folder_keeps_what_is_written() {
        let mut folder = folder(true);
        let mut ask = |method: &str, params: Value| {
            let answer = folder.answer(method, &params);
            answer.map_err(|(code, _)| code)
        };
        let done = Ok(json!({}));
        let bytes = json!({"uri": "virtual://a/bytes", "data": "/wD+", "encoding": "base64"});
        assert_eq!(ask("resourceWrite", bytes.clone()), done);
        let read = json!({"uri": "virtual://a/bytes", "encoding": "utf-8"});
        assert_eq!(ask("resourceRead", read), Ok(json!({"data": "/wD+", "encoding": "base64"})));
        let mut again = bytes;
        again["createOnly"] = json!(true);
        assert_eq!(ask("resourceWrite", again), Err(-32010));
        assert_eq!(ask("resourceMkdir", json!({"uri": "virtual://a/b/c"})), done);
        let [from, to] = ["virtual://a/note", "virtual://a/b/c/note"];
        assert_eq!(ask("resourceMove", json!({"source": from, "destination": to})), done);
        assert_eq!(ask("resourceRead", json!({"uri": from})), Err(NOT_FOUND));
        assert_eq!(ask("resourceDelete", json!({"uri": "virtual://a/b"})), Err(-32600));
        assert_eq!(
            ask("resourceDelete", json!({"uri": "virtual://a/b", "recursive": true})),
            Ok(json!({}))
        );
        assert_eq!(
            ask("resourceCopy", json!({"source": from, "destination": "virtual://b"})),
            Err(DENIED)
        );
    }
}
