//! The first look at a target over its socket: does it answer, which version does it choose, what does it
//! offer?
//!
//! Knows: sockets, [`detect`](super::detect), [`settings`](super::settings). Never knows: what its answers are good for.

use std::time::Duration;

use crate::wire::json::{Value, json};
use tokio::time::timeout;

use crate::peer::guise::ClientGuise;
use crate::transport::link::{LinkEndpoint, LinkEvent, TransportLink, refusal_text};
use crate::wire::version::Version;

use super::agent_facts::AgentFacts;
use super::agent_link::{AgentLink, RequestUnanswered};
use super::detect::{DetectionResult, FeatureDetection, HandshakeResult, LookOptions};
use super::settings::{HostSetting, SettingsDialogue};
use super::side::AgentSide;

/// The code of `UnsupportedProtocolVersion`.
const UNSUPPORTED_VERSION: i64 = -32005;

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

/// Connects, shakes hands, asks what there is and leaves. A host that is silent or answers nonsense is
/// not turned away here: the scenarios will say what is wrong with it.
///
/// # Errors
/// Why nothing can be played at all.
pub async fn probe(
    endpoint: &LinkEndpoint,
    shown: &str,
    options: LookOptions<'_>,
    limit: Duration,
) -> Result<DetectionResult, ProbeError> {
    let url = || shown.to_owned();
    let mut look = FeatureDetection::new(options);
    match held(endpoint, shown, &mut look, limit).await? {
        ProbeResult::Ended { code, reason } if *look.handshake() == HandshakeResult::Open => {
            let code = code.map(|code| format!(" with code {code}")).unwrap_or_default();
            let reason = if reason.is_empty() { code } else { format!("{code}: {reason}") };
            return Err(ProbeError::Closed { url: url(), reason });
        }
        _ => {}
    }
    if let HandshakeResult::Refused(answer) = look.handshake()
        && answer.error_code() == Some(UNSUPPORTED_VERSION)
    {
        let answer = match &look.supported()[..] {
            [] => format!(
                "it answered {} (hint: `--spec all` tries every version)",
                answer.error().unwrap_or(&Value::Null)
            ),
            versions => format!(
                "it supports {} (hint: `--spec VERSION` with one of these, or `--spec all`)",
                json!(versions)
            ),
        };
        let offered = options.offers.join(", ");
        return Err(ProbeError::NoCommonVersion { url: url(), offered, answer });
    }
    let shaken = *look.handshake() == HandshakeResult::Done;
    let refused = match look.handshake() {
        HandshakeResult::Refused(answer) => {
            Some(answer.error().unwrap_or(&Value::Null).to_string())
        }
        _ => None,
    };
    let mut found = look.found();
    found.refused = refused;
    if shaken {
        found.versions = versions(endpoint, shown, limit).await;
    }
    Ok(found)
}

/// The versions that a host says it speaks when it is offered none of them.
async fn versions(endpoint: &LinkEndpoint, shown: &str, limit: Duration) -> Vec<String> {
    let mut look = FeatureDetection::of_versions();
    let _ = held(endpoint, shown, &mut look, limit).await;
    look.supported()
}

/// How a look went.
enum ProbeResult {
    /// To its end, or until its time was over.
    Over,
    /// The host closed the connection first.
    Ended { code: Option<u16>, reason: String },
}

/// Holds a look over a connection of its own.
async fn held(
    endpoint: &LinkEndpoint,
    shown: &str,
    look: &mut FeatureDetection,
    limit: Duration,
) -> Result<ProbeResult, ProbeError> {
    let mut link = TransportLink::connect(endpoint, &ClientGuise::default());
    let unreachable = |reason| Err(ProbeError::Unreachable { url: shown.to_owned(), reason });
    match timeout(limit.max(Duration::from_secs(5)), link.next()).await {
        Ok(LinkEvent::Opened) => {}
        Ok(LinkEvent::Ended { reason, .. }) => return unreachable(reason),
        Ok(LinkEvent::Refused(head)) => return unreachable(refusal_text(&head)),
        Ok(LinkEvent::Frame(_)) | Err(_) => {
            return unreachable("no WebSocket handshake in time".to_owned());
        }
    }
    // An agent that does not answer leaves as much time for the next one and for the questions.
    let mut ended = timeout(limit, conversation(&mut link, look)).await;
    while ended.is_err() && look.give_up() {
        ended = timeout(limit, conversation(&mut link, look)).await;
    }
    let ended = ended.unwrap_or(ProbeResult::Over);
    link.close(limit).await;
    Ok(ended)
}

/// Exchanges frames until the look is over.
async fn conversation(link: &mut TransportLink, look: &mut FeatureDetection) -> ProbeResult {
    while !look.is_over() {
        while let Some(frame) = look.poll_output() {
            link.send(&frame);
        }
        if look.is_over() {
            break;
        }
        match link.next().await {
            LinkEvent::Frame(frame) => look.handle_frame(&frame),
            LinkEvent::Ended { code, reason } => return ProbeResult::Ended { code, reason },
            LinkEvent::Opened | LinkEvent::Refused(_) => {}
        }
    }
    ProbeResult::Over
}

/// Makes these settings of a host, in their order.
///
/// # Errors
/// There is no connection, or a setting was not made, and why.
pub async fn make_settings(
    endpoint: &LinkEndpoint,
    offers: &[String],
    settings: &[HostSetting],
    limit: Duration,
) -> Result<(), String> {
    let mut link = TransportLink::connect(endpoint, &ClientGuise::default());
    let mut dialogue = SettingsDialogue::new(offers, settings);
    let talk = async {
        while !dialogue.is_over() {
            match link.next().await {
                LinkEvent::Opened => {}
                LinkEvent::Frame(frame) => dialogue.handle_frame(&frame),
                LinkEvent::Refused(head) => return refusal_text(&head),
                LinkEvent::Ended { reason, .. } => {
                    return format!("the host closed the connection: {reason}");
                }
            }
            while let Some(frame) = dialogue.poll_output() {
                link.send(&frame);
            }
        }
        String::new()
    };
    let ended = timeout(limit, talk).await;
    let ended = ended.unwrap_or_else(|_| format!("it did not come back within {limit:?}"));
    link.close(limit).await;
    dialogue.result(&ended)
}

/// Starts an agent, shakes hands and leaves. Whether it can do what scenarios need is said by its profile.
///
/// # Errors
/// Why nothing can be played at all.
pub async fn probe_agent(
    endpoint: &LinkEndpoint,
    shown: &str,
    side: &AgentSide,
    limit: Duration,
) -> Result<(DetectionResult, AgentFacts), ProbeError> {
    let url = || shown.to_owned();
    let unreachable = |reason| ProbeError::Unreachable { url: url(), reason };
    let mut link = AgentLink::open(endpoint, limit).await.map_err(unreachable)?;
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    let answer = link.ask("initialize", params).await;
    let session = match &answer {
        Ok(Ok(_)) => session(&mut link, side).await,
        _ => Value::Null,
    };
    link.close().await;
    let answer = match answer {
        // An agent that stays silent is not turned away: the scenarios will say what is wrong.
        Err(RequestUnanswered::Late) => {
            return Ok((DetectionResult::default(), AgentFacts::default()));
        }
        Err(RequestUnanswered::Ended(reason)) => {
            return Err(ProbeError::Closed { url: url(), reason: format!(": {reason}") });
        }
        Ok(answer) => answer.unwrap_or_default(),
    };
    let info = &answer["agentInfo"];
    let name = info["name"].as_str().map(|name| {
        let version = info["version"].as_str().map(|v| format!(" {v}")).unwrap_or_default();
        format!("{name}{version}")
    });
    let version = (answer["protocolVersion"] == 1).then_some(Version::ACP_1);
    let facts = AgentFacts { capabilities: answer["agentCapabilities"].clone(), session };
    Ok((DetectionResult { version, name, ..DetectionResult::default() }, facts))
}

/// The answer to `session/new`; null where there is none.
async fn session(link: &mut AgentLink, side: &AgentSide) -> Value {
    if let Some(method) = &side.auth {
        let _ = link.ask("authenticate", json!({"methodId": (method.as_str())})).await;
    }
    let params = json!({"cwd": (side.work.as_str()), "mcpServers": []});
    let answer = link.ask("session/new", params).await;
    answer.ok().and_then(Result::ok).unwrap_or_default()
}
