//! Serves the files that a client publishes: the host requests them from the client by the `resource*` methods,
//! which are symmetrical.
//!
//! The folder exists in memory only and never changes. Its URI is the client's own. The client denies access to
//! every other URI.
//!
//! Knows: the params and the results of `resource*`. Never knows: connections, scenarios.
//!
//! Start at [`ClientFolder::answer`].

use std::collections::BTreeMap;

use crate::wire::json::{Value, json};

/// The error code for a resource that does not exist.
const NOT_FOUND: i64 = -32008;
/// The error code for a resource that the client does not share.
const DENIED: i64 = -32009;
/// The error code for an unknown method.
const NO_METHOD: i64 = -32601;

/// A folder of text files that a client serves.
#[derive(Clone, Debug, Default)]
pub struct ClientFolder {
    /// The URI of the folder, without a slash at its end.
    uri: String,
    /// The text of each file, by its path below the folder.
    files: BTreeMap<String, String>,
}

/// An error that the client answers with: its code and its message.
pub type ClientRefusal = (i64, &'static str);

impl ClientFolder {
    /// Creates the folder at a URI, with the texts of an object as its files.
    pub fn new(uri: &str, files: &Value) -> ClientFolder {
        let given = files.as_object().into_iter().flatten();
        let files =
            given.filter_map(|(path, text)| Some((path.to_string(), text.as_str()?.to_owned())));
        ClientFolder { uri: uri.trim_end_matches('/').to_owned(), files: files.collect() }
    }

    /// Returns whether there are no files, as for a client that serves no folder.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the response to a request of the host.
    pub fn answer(&self, method: &str, params: &Value) -> Result<Value, ClientRefusal> {
        if self.is_empty() {
            return Err((NO_METHOD, "not served by this client"));
        }
        let uri = params["uri"].as_str();
        let path = uri.and_then(|uri| self.path_of(uri));
        let path = path.ok_or((DENIED, "this client shares nothing outside of its folder"));
        match method {
            "resourceRead" => self.read(path?),
            "resourceResolve" => self.resolve(uri.unwrap_or_default(), path?),
            "resourceList" => self.list(path?),
            "resourceRequest" => path.map(|_| json!({})),
            _ if method.starts_with("resource") => {
                Err((DENIED, "this client's folder is read-only"))
            }
            _ => Err((NO_METHOD, "not served by this client")),
        }
    }

    /// Returns the path of a URI relative to the folder; empty for the folder itself, `None` outside it.
    fn path_of<'a>(&self, uri: &'a str) -> Option<&'a str> {
        let rest = uri.strip_prefix(&*self.uri)?;
        let path = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
        let path = path.trim_end_matches('/');
        path.split('/').all(|part| part != "..").then_some(path)
    }

    fn read(&self, path: &str) -> Result<Value, ClientRefusal> {
        let text = self.files.get(path).ok_or((NOT_FOUND, "there is no such file"))?;
        Ok(json!({"data": (text.as_str()), "encoding": "utf-8", "contentType": "text/plain"}))
    }

    fn resolve(&self, uri: &str, path: &str) -> Result<Value, ClientRefusal> {
        match self.files.get(path) {
            Some(text) => {
                Ok(json!({"uri": uri, "type": "file", "size": (text.len()), "etag": "1"}))
            }
            None if self.below(path).next().is_some() => {
                Ok(json!({"uri": uri, "type": "directory"}))
            }
            None => Err((NOT_FOUND, "there is no such file or folder")),
        }
    }

    fn list(&self, path: &str) -> Result<Value, ClientRefusal> {
        let mut entries: BTreeMap<&str, &str> = BTreeMap::new();
        for rest in self.below(path) {
            match rest.split_once('/') {
                Some((folder, _)) => entries.insert(folder, "directory"),
                None => entries.insert(rest, "file"),
            };
        }
        if entries.is_empty() {
            return Err((NOT_FOUND, "there is no such folder"));
        }
        let entry = |(name, kind): (&str, &str)| json!({"name": name, "type": kind});
        Ok(json!({"entries": (entries.into_iter().map(entry).collect::<Vec<Value>>())}))
    }

    /// Returns the paths of the files below a folder, each relative to that folder.
    fn below(&self, path: &str) -> impl Iterator<Item = &str> {
        let inside = move |file: &'_ str| -> Option<usize> {
            match path {
                "" => Some(0),
                _ => file.strip_prefix(path)?.starts_with('/').then_some(path.len() + 1),
            }
        };
        self.files.keys().filter_map(move |file| Some(&file[inside(file)?..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_for_its_own_folder_only() {
        let files = json!({"plugin/plugin.json": "{}", "plugin/skills/one/SKILL.md": "# One 🙂", "note": "n"});
        let folder = ClientFolder::new("virtual://a/", &files);
        let check = |method: &str, uri: &str, expected: Result<Value, i64>| {
            let found = folder.answer(method, &json!({"uri": uri}));
            assert_eq!(found.map_err(|(code, _)| code), expected, "{method} {uri}");
        };
        let text = |data: &str| {
            Ok(json!({"data": data, "encoding": "utf-8", "contentType": "text/plain"}))
        };
        check("resourceRead", "virtual://a/note", text("n"));
        check("resourceRead", "virtual://a/plugin/skills/one/SKILL.md", text("# One 🙂"));
        check("resourceRead", "virtual://a/plugin", Err(NOT_FOUND));
        check("resourceRead", "virtual://a/../b/note", Err(DENIED));
        check("resourceRead", "virtual://ab/note", Err(DENIED));
        check("resourceRead", "file:///etc/passwd", Err(DENIED));
        let directory = |uri: &str| Ok(json!({"uri": uri, "type": "directory"}));
        check("resourceResolve", "virtual://a", directory("virtual://a"));
        check("resourceResolve", "virtual://a/plugin/", directory("virtual://a/plugin/"));
        let file = json!({"uri": "virtual://a/note", "type": "file", "size": 1, "etag": "1"});
        check("resourceResolve", "virtual://a/note", Ok(file));
        check("resourceResolve", "virtual://a/plug", Err(NOT_FOUND));
        let entries = |list: Value| Ok(json!({"entries": list}));
        let whole =
            json!([{"name": "note", "type": "file"}, {"name": "plugin", "type": "directory"}]);
        check("resourceList", "virtual://a/", entries(whole));
        let inner = json!([{"name": "plugin.json", "type": "file"}, {"name": "skills", "type": "directory"}]);
        check("resourceList", "virtual://a/plugin", entries(inner));
        check("resourceList", "virtual://a/note", Err(NOT_FOUND));
        check("resourceWrite", "virtual://a/note", Err(DENIED));
        check("resourceRequest", "virtual://a/note", Ok(json!({})));
        check("x/other", "virtual://a/note", Err(NO_METHOD));
    }
}
