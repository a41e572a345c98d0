//! The first look at a target over its socket: whether the target answers, which version it chooses, and which
//! capabilities it has.
//!
//! Knows: sockets, [`detect`](super::detect), [`settings`](super::settings). Never knows: how the result is used.

use std::time::Duration;

use crate::wire::json::{Value, json};
use tokio::time::timeout;

use crate::peer::guise::ClientGuise;
use crate::transport::link::{LinkEndpoint, LinkEvent, TransportLink, refusal_text};
use crate::wire::version::Version;

use super::agent_facts::AgentFacts;
use super::agent_link::{AgentLink, RequestUnanswered, error_words};
use super::detect::{DetectionResult, FeatureDetection, HandshakeResult, LookOptions, beginning};
use super::settings::{HostSetting, SettingsDialogue};
use super::side::AgentSide;

/// The code of `UnsupportedProtocolVersion`.
const UNSUPPORTED_VERSION: i64 = -32005;

/// The reason why the target cannot be tested at all.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ProbeError {
    /// The harness could not connect to the target.
    #[error("`{url}` could not be reached: {reason}")]
    Unreachable {
        /// The URL.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The client cannot be tested.
    #[error("`{command}` cannot be tested: {reason}")]
    Untestable {
        /// The command that starts the client or its driver.
        command: String,
        /// The reason.
        reason: String,
    },
    /// The target closed the connection before it answered.
    #[error("`{url}` closed the connection during the handshake{reason}")]
    Closed {
        /// The URL.
        url: String,
        /// The close code and the reason. The text begins with punctuation, because it is appended to the message.
        reason: String,
    },
    /// The agent did not answer the first request.
    #[error("`{url}` did not answer `initialize` within {limit:?}{more}")]
    Silent {
        /// The name of the agent.
        url: String,
        /// The time limit.
        limit: Duration,
        /// The last output of the agent, and advice for the user. The text begins with punctuation, because it is
        /// appended to the message.
        more: String,
    },
    /// The agent refused a request without which nothing can be tested.
    #[error("`{url}` refused `{method}` with {answer}{more}")]
    Refused {
        /// The name of the agent.
        url: String,
        /// The request.
        method: &'static str,
        /// The error in the answer.
        answer: String,
        /// The other output of the agent, and advice for the user. The text begins with punctuation, because it is
        /// appended to the message.
        more: String,
    },
    /// The target supports none of the offered versions.
    #[error(
        "`{url}` supports none of the offered versions of the protocol: offered {offered}, \
         {answer}"
    )]
    NoCommonVersion {
        /// The URL.
        url: String,
        /// The offered versions.
        offered: String,
        /// The host's answer.
        answer: String,
    },
    /// The time budget ended before the first look was complete.
    #[error("the time budget was over before the first look at the target (hint: `--budget`)")]
    Late,
}

/// Connects, completes the handshake, detects the capabilities and disconnects. A host that is silent or
/// answers invalidly is not rejected here: the scenarios report the problem.
///
/// # Errors
/// Returns why the target cannot be tested.
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
                beginning(&answer.error().unwrap_or(&Value::Null).to_string())
            ),
            // A host may list a range such as `^0.9.0`, but the option `--spec` accepts only a version.
            versions => format!(
                "it supports {} (hint: `--spec {}`, or `--spec all`)",
                beginning(&json!(versions).to_string()),
                beginning(versions[0].trim_start_matches('^'))
            ),
        };
        let offered = Version::listed(options.offers);
        return Err(ProbeError::NoCommonVersion { url: url(), offered, answer });
    }
    let shaken = *look.handshake() == HandshakeResult::Done;
    let refused = match look.handshake() {
        HandshakeResult::Refused(answer) => {
            Some(beginning(&answer.error().unwrap_or(&Value::Null).to_string()))
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

/// Returns the versions that a host lists if the harness offers an unknown version.
async fn versions(endpoint: &LinkEndpoint, shown: &str, limit: Duration) -> Vec<String> {
    let mut look = FeatureDetection::of_versions();
    let _ = held(endpoint, shown, &mut look, limit).await;
    look.supported()
}

/// The way in which a first look ended.
enum ProbeResult {
    /// The first look was completed, or reached its time limit.
    Over,
    /// The host closed the connection before the first look was complete.
    Ended { code: Option<u16>, reason: String },
}

/// Runs a first look over a separate connection.
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
            return unreachable("the WebSocket handshake was not completed in time".to_owned());
        }
    }
    // After each agent that does not answer, the time limit starts again, so that the next agent and the capability
    // requests have enough time.
    let mut ended = timeout(limit, conversation(&mut link, look)).await;
    while ended.is_err() && look.give_up() {
        ended = timeout(limit, conversation(&mut link, look)).await;
    }
    let ended = ended.unwrap_or(ProbeResult::Over);
    link.close(limit).await;
    Ok(ended)
}

/// Exchanges frames until the first look is over.
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

/// Applies these settings to a host, in order.
///
/// # Errors
/// Returns the reason if the host cannot be reached or rejects a setting.
pub async fn make_settings(
    endpoint: &LinkEndpoint,
    offers: &[Version],
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

/// Starts an agent, completes the handshake, creates a session and disconnects. The abilities of the agent are not
/// detected here: its profile lists them.
///
/// # Errors
/// Returns why the agent cannot be tested.
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
        _ => Ok(Value::Null),
    };
    let (words, heard) = (link.last_words(), link.heard);
    link.close().await;
    let with_words = |hint: String| match words.is_empty() {
        true => hint,
        false => format!("{hint}; its last words on standard error: {words}"),
    };
    let refused = |method, error: &Value, hint: String| ProbeError::Refused {
        url: url(),
        method,
        answer: error_words(error),
        more: with_words(hint),
    };
    let answer = match answer {
        // The agent sent another message instead of an answer. The scenarios report this.
        Err(RequestUnanswered::Late) if heard => {
            return Ok((DetectionResult::default(), AgentFacts::default()));
        }
        // The protocol states no time limit, so a silent agent may only be slow.
        Err(RequestUnanswered::Late) => {
            let hint =
                " (hint: `--timeout` with a longer time, if the agent needs longer to start)";
            return Err(ProbeError::Silent {
                url: url(),
                limit,
                more: with_words(hint.to_owned()),
            });
        }
        Err(RequestUnanswered::Ended(reason)) => {
            return Err(ProbeError::Closed { url: url(), reason: format!(": {reason}") });
        }
        Ok(Err(error)) => return Err(refused("initialize", &error, String::new())),
        Ok(Ok(answer)) => answer,
    };
    let session = match session {
        Err((method, error)) if answer["protocolVersion"] == 1 => {
            return Err(refused(method, &error, auth_hint(side, &answer)));
        }
        session => session.unwrap_or_default(),
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

/// Returns the answer to `session/new`; null if no answer arrives.
///
/// # Errors
/// Returns the request that was refused, and the error.
async fn session(link: &mut AgentLink, side: &AgentSide) -> Result<Value, (&'static str, Value)> {
    if let Some(method) = &side.auth {
        let params = json!({"methodId": (method.as_str())});
        if let Ok(Err(error)) = link.ask("authenticate", params).await {
            return Err(("authenticate", error));
        }
    }
    let params = json!({"cwd": (side.work.as_str()), "mcpServers": []});
    match link.ask("session/new", params).await {
        Ok(Err(error)) => Err(("session/new", error)),
        answer => Ok(answer.ok().and_then(Result::ok).unwrap_or_default()),
    }
}

/// Returns a hint with the authentication methods that an agent lists in its answer to `initialize`.
fn auth_hint(side: &AgentSide, answer: &Value) -> String {
    let methods = answer["authMethods"].as_array().map(Vec::as_slice).unwrap_or_default();
    let methods: Vec<String> = methods
        .iter()
        .map(|method| {
            let word = |name: &str| method[name].as_str().unwrap_or_default();
            let more = [word("name"), word("description")];
            let more: Vec<&str> = more.into_iter().filter(|it| !it.is_empty()).collect();
            format!("`{}` ({})", word("id"), more.join(": "))
        })
        .collect();
    let given = match &side.auth {
        Some(method) => format!("the profile names the method `{method}`"),
        None => "the profile names no method".to_owned(),
    };
    match methods.is_empty() {
        true => String::new(),
        false => format!(
            "\nits methods of authentication: {}; {given} (hint: `auth: ID` in the profile names a method; \
             `env` and `home` give the agent what the method needs)",
            methods.join(", ")
        ),
    }
}
