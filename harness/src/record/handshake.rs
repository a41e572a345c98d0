//! The HTTP handshake of a recorded connection: the client's request in the form in which it is forwarded to the host,
//! and the host's answer.
//!
//! Everything is forwarded unchanged, with four exceptions. The header `Host` names the host instead of the proxy. If
//! the client's request has no path or query, these come from `--url`. The client's offer of extensions is removed,
//! because compressed frames cannot be recorded. Headers that the user gave on the command line replace the client's
//! headers of the same name.
//!
//! Knows: HTTP heads, URLs. Never knows: sockets, secret headers.
//!
//! Start at [`UpstreamHost::request`].

use crate::transport::websocket::Uri;

use crate::report::redact::{secrets_of_header, secrets_of_target};

/// The maximum length of the head of a request or response, in bytes.
pub const MAX_HEAD: usize = 64 << 10;

/// The address of the host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UpstreamHost {
    /// Whether the connection to the host uses TLS.
    pub tls: bool,
    /// The host's name or IP address.
    pub host: String,
    /// The port of the host.
    pub port: u16,
    /// The value of the `Host` header in forwarded requests.
    authority: String,
    path: String,
    query: Option<String>,
    /// Headers that replace the client's headers.
    headers: Vec<(String, String)>,
}

/// A request in the form that is forwarded to the host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RelayedRequest {
    /// The bytes of the request's head, including the empty line at its end.
    pub bytes: Vec<u8>,
    /// The lines of the request's head.
    pub lines: Vec<String>,
    /// The secrets that the request contains, such as tokens, which are removed from the recording.
    pub secrets: Vec<String>,
}

/// The answer to a forwarded request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RelayedResponse {
    /// The HTTP status; 101 opens the connection.
    pub status: u16,
    /// The lines of the answer's head.
    pub lines: Vec<String>,
    /// The secrets that the answer contains, which are removed from the recording.
    pub secrets: Vec<String>,
}

/// Returns the position after the empty line that ends the head; `None` if `bytes` does not contain the whole
/// head.
pub fn end_of_head(bytes: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4)
}

impl UpstreamHost {
    /// Parses a URL, `ws://` or `wss://`.
    ///
    /// # Errors
    /// Returns an error with the reason if the URL is invalid.
    pub fn new(url: &str, headers: Vec<(String, String)>) -> Result<UpstreamHost, String> {
        let wrong =
            || format!("expected a URL that begins with `ws://` or `wss://`, found `{url}`");
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let tls = match uri.scheme_str() {
            Some("ws") => false,
            Some("wss") => true,
            _ => return Err(wrong()),
        };
        let host = uri.host().ok_or_else(wrong)?;
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let shown = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        Ok(UpstreamHost {
            tls,
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            authority: format!("{host}{shown}"),
            path: if uri.path().is_empty() { "/".to_owned() } else { uri.path().to_owned() },
            query: uri.query().map(str::to_owned),
            headers,
        })
    }

    /// Returns the client's request in the form that is forwarded to the host.
    ///
    /// # Errors
    /// Returns an error if the head is not an HTTP request.
    pub fn request(&self, head: &[u8]) -> Result<RelayedRequest, String> {
        let lines = lines_of(head);
        let (first, headers) = lines.split_first().ok_or("an empty request")?;
        let parts: Vec<&[u8]> = first.splitn(3, |byte| *byte == b' ').collect();
        let [method, target, version] = parts[..] else {
            return Err("expected an HTTP request such as `GET / HTTP/1.1`".to_owned());
        };
        if !version.starts_with(b"HTTP/1.") {
            return Err("expected an HTTP request such as `GET / HTTP/1.1`".to_owned());
        }
        let target = self.target(&String::from_utf8_lossy(target));
        let mut out = vec![[method, b" ", target.as_bytes(), b" ", version].concat()];
        for line in headers {
            let name = name_of(line);
            let ours = self.headers.iter().any(|(ours, _)| ours.eq_ignore_ascii_case(&name));
            if name.eq_ignore_ascii_case("host") {
                out.push(format!("Host: {}", self.authority).into_bytes());
            } else if !ours && !name.eq_ignore_ascii_case("sec-websocket-extensions") {
                out.push(line.to_vec());
            }
        }
        out.extend(
            self.headers.iter().map(|(name, value)| format!("{name}: {value}").into_bytes()),
        );
        let mut bytes = out.join(b"\r\n".as_slice());
        bytes.extend_from_slice(b"\r\n\r\n");
        let lines = texts(&out);
        let mut secrets = secrets_of(&lines);
        secrets.extend(secrets_of_target(&target));
        Ok(RelayedRequest { bytes, lines, secrets })
    }

    /// Returns the client's path and query; a part that the client's request lacks is taken from the URL of the host.
    fn target(&self, asked: &str) -> String {
        let (path, query) = match asked.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (asked, None),
        };
        let path = if path == "/" { &self.path } else { path };
        match query.or(self.query.as_deref()) {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        }
    }
}

/// Parses the host's answer.
///
/// # Errors
/// Returns an error if the head is not an HTTP response.
pub fn response(head: &[u8]) -> Result<RelayedResponse, String> {
    let lines = texts(&lines_of(head));
    let first = lines.first().map_or("", String::as_str);
    let status = first
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.split(' ').nth(1))
        .and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| {
        let first: String = first.chars().take(80).collect();
        format!("expected an HTTP answer such as `HTTP/1.1 101 ..`, the host sent `{first}`")
    })?;
    let secrets = secrets_of(&lines);
    Ok(RelayedResponse { status, lines, secrets })
}

/// Returns the lines of a head, without the empty line at its end.
fn lines_of(head: &[u8]) -> Vec<&[u8]> {
    let head = head.strip_suffix(b"\r\n\r\n").unwrap_or(head);
    let lines = head.split(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}

fn texts<T: AsRef<[u8]>>(lines: &[T]) -> Vec<String> {
    lines.iter().map(|line| String::from_utf8_lossy(line.as_ref()).into_owned()).collect()
}

/// Returns the name of a header.
fn name_of(line: &[u8]) -> String {
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
    String::from_utf8_lossy(name).trim().to_owned()
}

fn secrets_of(lines: &[String]) -> Vec<String> {
    let headers = lines.iter().filter_map(|line| line.split_once(':'));
    headers.flat_map(|(name, value)| secrets_of_header(name, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(url: &str) -> UpstreamHost {
        UpstreamHost::new(url, vec![("Authorization".into(), "Bearer abcd".into())]).unwrap()
    }

    #[test]
    fn passes_a_request_on() {
        let head = b"GET /a?tkn=efgh HTTP/1.1\r\nHost: us:1\r\nX-\xff: y\r\nauthorization: x\r\n\
            Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: p\r\n\r\n";
        let request = upstream("wss://h.example:5/p?q=1").request(head).unwrap();
        let expected = b"GET /a?tkn=efgh HTTP/1.1\r\nHost: h.example:5\r\nX-\xff: y\r\n\
            Sec-WebSocket-Protocol: p\r\nAuthorization: Bearer abcd\r\n\r\n";
        assert_eq!(request.bytes, expected);
        assert_eq!(request.secrets, ["Bearer abcd", "abcd", "efgh"]);
        assert_eq!(request.lines.len(), 5);
    }

    #[test]
    fn fills_in_path_and_query() {
        let check = |url: &str, asked: &str, expected: &str| {
            assert_eq!(upstream(url).target(asked), expected, "{url} {asked}");
        };
        check("ws://h", "/", "/");
        check("ws://h/p?q", "/", "/p?q");
        check("ws://h/p?q", "/a", "/a?q");
        check("ws://h/p?q", "/a?b", "/a?b");
        check("ws://h/p?q", "/?b", "/p?b");
    }

    #[test]
    fn refuses_what_is_no_websocket_handshake() {
        assert!(
            upstream("ws://h").request(b"hello\r\n\r\n").unwrap_err().contains("`GET / HTTP/1.1`")
        );
        assert!(response(b"SSH-2.0\r\n\r\n").unwrap_err().contains("the host sent `SSH-2.0`"));
        for url in ["http://h", "h", "ws://", ""] {
            let error = UpstreamHost::new(url, Vec::new()).unwrap_err();
            assert!(error.contains("expected a URL"), "{url}: {error}");
        }
    }

    #[test]
    fn reads_the_answer() {
        let answer = response(b"HTTP/1.1 401 Unauthorized\r\nSet-Cookie: abcd\r\n\r\n").unwrap();
        assert_eq!((answer.status, answer.lines.len()), (401, 2));
        assert_eq!(answer.secrets, ["abcd"]);
        assert_eq!(UpstreamHost::new("ws://[::1]:7/", Vec::new()).unwrap().host, "::1");
        assert_eq!(end_of_head(b"a\r\n\r\nb"), Some(5));
    }
}
