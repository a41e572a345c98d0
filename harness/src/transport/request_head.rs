//! Reads the head of an HTTP request from a connection, before another part reads the same bytes again.
//!
//! Start at [`read_head`].

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::timeout;

/// The maximum length of the head, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// The timeout for the whole head.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// What was read from a connection: the head of a request, and perhaps bytes behind it.
pub(super) struct RequestHead {
    /// Everything that was read.
    pub(super) bytes: Vec<u8>,
    /// The length of the head, without the empty line at its end.
    length: usize,
}

impl RequestHead {
    /// Returns the lines of the head: the request line, then the headers.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes.get(..self.length).unwrap_or_default()).into_owned()
    }
}

/// Reads the head of a request. Returns `None` if the connection ends first, or if the head is too long or takes too
/// long.
pub(super) async fn read_head(from: &mut (impl AsyncRead + Unpin)) -> Option<RequestHead> {
    timeout(HEAD_TIMEOUT, until_empty_line(from)).await.ok().flatten()
}

async fn until_empty_line(from: &mut (impl AsyncRead + Unpin)) -> Option<RequestHead> {
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
