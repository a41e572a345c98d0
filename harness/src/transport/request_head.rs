//! Reads the head of an HTTP request: the request line and the headers.
//!
//! The bytes are kept, because the caller passes them on to the WebSocket library or to another connection.
//!
//! Start at [`read_head`].

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The maximum length of the request line and the headers together, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// The timeout for a request until its head has been read.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The head of a request, and all bytes that were read together with it.
pub(super) struct RequestHead {
    /// All bytes that were read: the head, the empty line, and possibly bytes of the body.
    pub(super) bytes: Vec<u8>,
    /// The length of the request line and the headers in bytes, without the empty line that ends them.
    length: usize,
}

impl RequestHead {
    /// Returns the lines of the head: the request line, then the headers.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes.get(..self.length).unwrap_or_default()).into_owned()
    }
}

/// Reads the head of a request. Returns `None` if the connection ends first, or if the head is too long. The caller
/// limits the time.
pub(super) async fn read_head(from: &mut (impl AsyncRead + Unpin)) -> Option<RequestHead> {
    let mut bytes = Vec::new();
    loop {
        if let Some(length) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            return Some(RequestHead { bytes, length });
        }
        if bytes.len() > MAX_HEAD || from.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
