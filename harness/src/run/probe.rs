//! The first look at a target: does it answer, and which version does it choose?

use std::future::poll_fn;
use std::time::Duration;

use crate::wire::json::{Value, json};
use tokio::time::timeout;

use crate::scenario::capability;
use crate::transport::websocket::{Endpoint, Link, LinkEvent};
use crate::wire::channel::ROOT;
use crate::wire::message::{Decoded, Message, decode};
use crate::wire::version::Version;

/// What the first look found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Found {
    /// The version that the host chose, where its answer was one.
    pub version: Option<Version>,
    /// How it calls itself.
    pub name: Option<String>,
    /// What it declares; `None` where it has not answered.
    pub declared: Option<Vec<&'static str>>,
}

/// Why the target cannot be used at all.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ProbeError {
    /// No connection.
    #[error("`{url}` could not be reached: {reason}")]
    Unreachable {
        /// The URL.
        url: String,
        /// Why.
        reason: String,
    },
    /// It closed before it answered.
    #[error("`{url}` closed the connection during the handshake{reason}")]
    Closed {
        /// The URL.
        url: String,
        /// What came with it.
        reason: String,
    },
    /// No version in common.
    #[error(
        "`{url}` speaks no version of the protocol that was offered: offered {offered}, {answer}"
    )]
    NoCommonVersion {
        /// The URL.
        url: String,
        /// What was offered.
        offered: String,
        /// What the host said.
        answer: String,
    },
}

/// Connects, shakes hands and leaves. A host that is silent or answers nonsense is not turned
/// away here: the scenarios will say what is wrong with it.
///
/// # Errors
/// Why nothing can be played at all.
pub async fn probe(
    endpoint: &Endpoint,
    shown: &str,
    offers: &[String],
    limit: Duration,
) -> Result<Found, ProbeError> {
    let mut link = Link::connect(endpoint);
    let url = || shown.to_owned();
    let opened = timeout(limit.max(Duration::from_secs(5)), next(&mut link)).await;
    match opened {
        Ok(LinkEvent::Opened) => {}
        Ok(LinkEvent::Ended { reason, .. }) => {
            return Err(ProbeError::Unreachable { url: url(), reason });
        }
        Ok(LinkEvent::Frame(_)) | Err(_) => {
            let reason = "no WebSocket handshake in time".to_owned();
            return Err(ProbeError::Unreachable { url: url(), reason });
        }
    }
    let params = json!({
        "channel": ROOT, "protocolVersions": offers, "clientId": "ahp-harness-probe",
    });
    link.send(&Message::request(1, "initialize", params).frame());
    let answer = timeout(limit, answer(&mut link)).await;
    let answer = match answer {
        Err(_) => return Ok(Found::default()),
        Ok(Err((code, reason))) => {
            let code = code.map(|code| format!(" with code {code}")).unwrap_or_default();
            let reason = if reason.is_empty() { code } else { format!("{code}: {reason}") };
            return Err(ProbeError::Closed { url: url(), reason });
        }
        Ok(Ok(answer)) => answer,
    };
    link.close(limit).await;
    if let Some(error) = answer.error()
        && answer.error_code() == Some(-32005)
    {
        let supported = &error["data"]["supportedVersions"];
        let answer = match supported {
            Value::Array(versions) if !versions.is_empty() => format!("it supports {supported}"),
            _ => format!("it said {error}"),
        };
        let offered = offers.join(", ");
        return Err(ProbeError::NoCommonVersion { url: url(), offered, answer });
    }
    let result = answer.result().cloned().unwrap_or_default();
    let server = &result["serverInfo"];
    let name = server["name"].as_str().map(|name| {
        let version = server["version"].as_str().map(|v| format!(" {v}")).unwrap_or_default();
        format!("{name}{version}")
    });
    let version = result["protocolVersion"].as_str().and_then(|text| text.parse().ok());
    let declared = answer.result().map(capability::declared);
    Ok(Found { version, name, declared })
}

async fn next(link: &mut Link) -> LinkEvent {
    poll_fn(|cx| link.poll(cx)).await
}

/// The response to the handshake; other frames are passed over.
async fn answer(link: &mut Link) -> Result<Message, (Option<u16>, String)> {
    loop {
        match next(link).await {
            LinkEvent::Frame(frame) => {
                if let Decoded::Message(message) = decode(&frame)
                    && message.id() == Some(&json!(1))
                    && message.method().is_none()
                {
                    return Ok(message);
                }
            }
            LinkEvent::Ended { code, reason } => return Err((code, reason)),
            LinkEvent::Opened => {}
        }
    }
}
