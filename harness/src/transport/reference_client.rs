//! Runs the reference client as a process: commands on standard input, answers on standard output, real sockets.
//!
//! Start at [`play`].

use std::future::poll_fn;
use std::io::Write as _;
use std::task::Poll;
use std::time::Duration;

use litemap::LiteMap;
use tokio::time::{Instant, sleep_until};

use crate::peer::guise::ClientGuise;
use crate::peer::reference::{ClientOutput, ReferenceClient, SansIoClient as _};
use crate::transcript::ConnId;

use super::acp::standard_input;
use super::link::{LinkEndpoint, LinkEvent, TransportLink};
use super::websocket::WebSocketEndpoint;

/// The time limit of a closing handshake.
const CLOSING: Duration = Duration::from_millis(250);
/// The duration of a wait without a deadline.
const LONG: Duration = Duration::from_secs(3_600);

/// Plays a client until its standard input ends.
///
/// # Errors
/// Returns an error if the standard output cannot be written.
pub async fn play(mut client: ReferenceClient) -> std::io::Result<()> {
    let began = Instant::now();
    let mut input = standard_input();
    let mut links: LiteMap<ConnId, TransportLink> = LiteMap::new();
    loop {
        while let Some(output) = client.poll_output() {
            match output {
                ClientOutput::Line(line) => say(&line)?,
                ClientOutput::Open { conn, url } => {
                    let endpoint = WebSocketEndpoint { url, ..WebSocketEndpoint::default() };
                    let endpoint = LinkEndpoint::Socket(endpoint);
                    links.insert(conn, TransportLink::connect(&endpoint, &ClientGuise::default()));
                }
                ClientOutput::Send { conn, frame } => {
                    if let Some(link) = links.get_mut(&conn) {
                        link.send(&frame);
                    }
                }
                ClientOutput::Close { conn } => {
                    if let Some(link) = links.remove(&conn) {
                        tokio::spawn(link.close(CLOSING));
                    }
                }
            }
        }
        let due = client.next_timeout().map_or_else(|| Instant::now() + LONG, |at| began + at);
        tokio::select! {
            line = input.recv() => match line {
                Some(line) => client.handle_line(began.elapsed(), &line),
                None => return Ok(()),
            },
            (conn, event) = next(&mut links) => {
                let now = began.elapsed();
                match event {
                    LinkEvent::Opened => client.handle_opened(now, conn),
                    LinkEvent::Frame(frame) => client.handle_frame(now, conn, &frame),
                    LinkEvent::Refused(_) => {
                        links.remove(&conn);
                        client.handle_refused(now, conn, None);
                    }
                    LinkEvent::Ended { .. } => {
                        links.remove(&conn);
                        client.handle_closed(now, conn);
                    }
                }
            }
            () = sleep_until(due) => client.handle_timeout(began.elapsed()),
        }
    }
}

/// Writes a line of the driver's protocol.
fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Returns the next event of any connection.
async fn next(links: &mut LiteMap<ConnId, TransportLink>) -> (ConnId, LinkEvent) {
    poll_fn(|cx| {
        for (conn, link) in links.iter_mut() {
            if let Poll::Ready(event) = link.poll(cx) {
                return Poll::Ready((*conn, event));
            }
        }
        Poll::Pending
    })
    .await
}
