//! A WebSocket transport for the versions of the client that have none (0.2.0 and 0.3.0).
//!
//! Sends and receives text messages and changes nothing in them. Start at [`WebSocketTransport::connect`].

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::official::ahp::TransportError;
use super::official::ahp::transport::{Transport, TransportMessage};

/// A connection of the client.
pub struct WebSocketTransport {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl WebSocketTransport {
    /// Connects to a host.
    ///
    /// # Errors
    /// Returns an error if the host cannot be reached or refuses the connection.
    pub async fn connect(url: &str) -> Result<WebSocketTransport, Error> {
        let (stream, _) = tokio_tungstenite::connect_async(url).await?;
        Ok(WebSocketTransport { stream })
    }
}

fn io(error: &Error) -> TransportError {
    TransportError::Io(error.to_string())
}

impl Transport for WebSocketTransport {
    async fn send(&mut self, message: TransportMessage) -> Result<(), TransportError> {
        let message = match message {
            TransportMessage::Text(text) => Message::text(text),
            TransportMessage::Binary(bytes) => Message::binary(bytes),
            TransportMessage::Parsed(parsed) => match TransportMessage::encode(&parsed)? {
                TransportMessage::Text(text) => Message::text(text),
                other => return Err(TransportError::Protocol(format!("{other:?} is no text"))),
            },
        };
        self.stream.send(message).await.map_err(|error| io(&error))
    }

    async fn recv(&mut self) -> Result<Option<TransportMessage>, TransportError> {
        loop {
            return match self.stream.next().await {
                None | Some(Ok(Message::Close(_))) => Ok(None),
                Some(Ok(Message::Text(text))) => {
                    Ok(Some(TransportMessage::Text(text.as_str().to_owned())))
                }
                Some(Ok(Message::Binary(bytes))) => {
                    Ok(Some(TransportMessage::Binary(bytes.to_vec())))
                }
                // The library answers pings by itself.
                Some(Ok(_)) => continue,
                Some(Err(error)) => Err(io(&error)),
            };
        }
    }

    async fn close(&mut self) -> Result<(), TransportError> {
        self.stream.close(None).await.map_err(|error| io(&error))
    }
}
