//! The params and the results of `resource*` requests, for the party that serves files: the host or a client.
//!
//! Knows: the shapes of `resource*`. Never knows: URIs, permissions.
//!
//! Start at [`WriteRequest::read`].

use data_encoding::BASE64;

use crate::wire::error_code::ErrorName;
use crate::wire::json::{Value, json};

use super::tree::{
    ExpectedContent, FileChange, FileError, FileNode, FileTree, TreeFile, WriteMode, etag,
};

/// The params of `resourceWrite`, without the URI.
#[derive(Debug)]
pub struct WriteRequest {
    /// The bytes to write.
    pub data: Vec<u8>,
    /// The mode of the write, which determines what `position` means.
    pub mode: WriteMode,
    /// The position in the file, in bytes.
    pub position: usize,
    /// The content that the file must have for the write to succeed.
    pub expected: ExpectedContent,
}

impl WriteRequest {
    /// Reads the params of a request.
    ///
    /// # Errors
    /// Returns `InvalidParams` if the encoding is `base64` but the data is not valid base64, or if the position is not a
    /// whole number.
    pub fn read(params: &Value) -> Result<WriteRequest, FileError> {
        let text = |name: &str| params[name].as_str().unwrap_or_default();
        let bad = |message| FileError::new(ErrorName::InvalidParams, message);
        let data = match text("encoding") {
            "base64" => BASE64
                .decode(text("data").as_bytes())
                .map_err(|_| bad("expected base64 at `params.data`"))?,
            _ => text("data").as_bytes().to_vec(),
        };
        let mode = match text("mode") {
            "append" => WriteMode::Append,
            "insert" => WriteMode::Insert,
            _ => WriteMode::Truncate,
        };
        let position = params.get("position").filter(|position| !position.is_null());
        let position = position.map_or(Some(0), Value::as_u64);
        let position = position.and_then(|position| usize::try_from(position).ok());
        let position = position.ok_or_else(|| bad("expected a position in the file"))?;
        let expected = ExpectedContent {
            nothing: params["createOnly"] == true,
            etag: params["ifMatch"].as_str().map(str::to_owned),
        };
        Ok(WriteRequest { data, mode, position, expected })
    }

    /// Writes to the file at a path. `now` is the timestamp of the write.
    ///
    /// # Errors
    /// Returns the error of [`FileTree::write`].
    pub fn write(
        &self,
        files: &mut FileTree,
        path: &str,
        now: &str,
    ) -> Result<Vec<FileChange>, FileError> {
        files.write(path, &self.data, (self.mode, self.position), &self.expected, now)
    }
}

/// Returns the result of `resourceRead`. Bytes that are not UTF-8 are sent in base64, regardless of the requested
/// encoding.
pub fn read_result(path: &str, file: &TreeFile, encoding: &str) -> Value {
    let text = str::from_utf8(&file.bytes).ok();
    let mut result = match text.filter(|_| encoding != "base64") {
        Some(text) => json!({"data": text, "encoding": "utf-8"}),
        None => json!({"data": BASE64.encode(&file.bytes), "encoding": "base64"}),
    };
    if let Some(kind) = content_type(path) {
        result["contentType"] = json!(kind);
    }
    result
}

/// Returns the result of `resourceList` for a folder.
///
/// # Errors
/// Returns the error of [`FileTree::list`].
pub fn list_result(files: &FileTree, path: &str) -> Result<Value, FileError> {
    let entry = |(name, kind): (&str, &'static str)| json!({"name": name, "type": kind});
    let entries: Vec<Value> = files.list(path)?.into_iter().map(entry).collect();
    Ok(json!({"entries": entries}))
}

/// Returns the result of `resourceResolve` for the node at `path`, whose URI is `uri`.
pub fn resolve_result(uri: &str, path: &str, node: &FileNode) -> Value {
    let mut result = json!({"uri": uri, "type": node.kind()});
    if let FileNode::Large(size) = node {
        result["size"] = json!(size);
    }
    if let FileNode::File(file) = node {
        result["size"] = json!(file.bytes.len());
        result["mtime"] = json!(file.at);
        result["ctime"] = json!(file.at);
        result["etag"] = json!(etag(file.etag));
        if let Some(kind) = content_type(path) {
            result["contentType"] = json!(kind);
        }
    }
    result
}

/// Returns the content type for a file's extension; `None` if the extension is unknown.
fn content_type(path: &str) -> Option<&'static str> {
    let (_, end) = path.rsplit('/').next()?.rsplit_once('.')?;
    let kinds = [("txt", "text/plain"), ("md", "text/markdown"), ("json", "application/json")];
    kinds.iter().find(|(known, _)| *known == end).map(|(_, kind)| *kind)
}
