//! Compares the messages that a scenario contains with the tables of the protocol, in order to find messages that are
//! malformed by mistake.
//!
//! If an author writes a malformed message by mistake, a conformant host refuses it. The harness would mistake this
//! refusal for the refusal that the step expects. If a step is malformed on purpose, its member `deviates` names the
//! place at which the message deviates from the tables. Every other deviation is a mistake of the author.
//!
//! Knows: steps, the tables. Never knows: how a host handles a message.
//!
//! Start at [`deviations`].

use crate::edge::VersionEdge;
use crate::wire::channel::{ChannelKind, ROOT};
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Value, json};
use crate::wire::message::Message;
use crate::wire::protocol::{DispatchRight, MethodKind, Protocol, ProtocolMethod};
use crate::wire::validate::{MessageOrigin, ShapeError};
use crate::wire::version::ProtocolStandard;

use super::bind::ValueTemplate;
use super::parse::{ParsedScenario, ScenarioStep};
use super::source::{ScenarioError, ScenarioErrorKind, SourceSpan, did_you_mean};
use super::verbs::{HOST, StepVerb};

/// The steps that wait for a message from the host.
const WAITS: &[StepVerb] = &[StepVerb::Expect, StepVerb::Next, StepVerb::Never, StepVerb::Await];
/// The members of a step that say that the host should refuse the message of the step.
const REFUSALS: &[&str] = &["reject", "refused", "ignored", "error", "closed"];

/// A dummy URI for the channel of an action. The channel is checked separately.
const ANY_CHANNEL: &str = "ahp-session:/any";
/// The path of the action in a message.
const ACTION: &str = "params.action.";

/// Returns an error for every deviation that the step does not announce with `deviates`, and for every announced
/// deviation that the message does not have.
pub fn deviations(scenario: &ParsedScenario) -> Vec<ScenarioError> {
    if scenario.spec.standard() != ProtocolStandard::Ahp {
        return Vec::new();
    }
    let mut found = Vec::new();
    for step in &scenario.steps {
        let Some(protocol) = newest(scenario, step) else { continue };
        let host = scenario.tested.is_some()
            && [step.clients("by"), step.clients("at")].concat().iter().any(|name| name == HOST);
        let mut deviations = match host {
            true if WAITS.contains(&step.verb) => awaited(protocol, step, MessageOrigin::Client),
            // In a scenario that tests a client, the steps of the host often send malformed messages on purpose.
            true => Vec::new(),
            false => of_step(protocol, step),
        };
        let meant = step.clients("deviates");
        for path in meant {
            let before = deviations.len();
            deviations.retain(|deviation| deviation.path != *path);
            if deviations.len() == before {
                let kind = ScenarioErrorKind::NoDeviation {
                    path: path.clone(),
                    version: protocol.version().to_string(),
                };
                found.push(ScenarioError { span: step.place("deviates"), kind });
            }
        }
        found.extend(deviations.into_iter().map(|deviation| {
            let kind = ScenarioErrorKind::Deviation {
                path: deviation.path,
                expected: deviation.expected,
                found: deviation.found,
                version: protocol.version().to_string(),
                hint: deviation.hint,
            };
            ScenarioError { span: deviation.span, kind }
        }));
    }
    found
}

/// Returns the newest version in which the step is played. Scenarios use the names of the newest version; steps
/// that apply only to older versions use the names of those versions.
fn newest(scenario: &ParsedScenario, step: &ScenarioStep) -> Option<&'static Protocol> {
    let holds = |protocol: &&'static Protocol| {
        let version = protocol.version();
        scenario.spec.includes(version) && step.holds_in(version)
    };
    Protocol::all().find(holds)
}

/// Returns the tables of a version and of the newest version, because a scenario may use the names of both versions.
fn tables(protocol: &Protocol) -> impl Iterator<Item = &Protocol> {
    [protocol, Protocol::newest()].into_iter()
}

/// A part of a message that does not conform to the tables of the protocol.
struct SchemaDeviation {
    span: SourceSpan,
    path: String,
    expected: String,
    found: String,
    hint: String,
}

impl SchemaDeviation {
    fn of(span: SourceSpan, error: ShapeError) -> SchemaDeviation {
        let ShapeError { path, expected, found, .. } = error;
        let hint = format!("if this is intended, add `deviates: {path}`");
        SchemaDeviation { span, path, expected, found, hint }
    }
}

fn of_step(protocol: &Protocol, step: &ScenarioStep) -> Vec<SchemaDeviation> {
    match step.verb {
        StepVerb::Dispatch => dispatched(protocol, step),
        StepVerb::Request => {
            called(protocol, step, step.text("method").unwrap_or_default(), MethodKind::Request)
        }
        StepVerb::Notify => called(
            protocol,
            step,
            step.text("method").unwrap_or_default(),
            MethodKind::Notification,
        ),
        StepVerb::Publish => published(protocol, step),
        verb if WAITS.contains(&verb) => awaited(protocol, step, MessageOrigin::Host),
        _ => Vec::new(),
    }
}

/// Checks an action that a client dispatches: the type of the action, whether a client may dispatch it, its
/// members, and the kind of its channel.
fn dispatched(protocol: &Protocol, step: &ScenarioStep) -> Vec<SchemaDeviation> {
    let Some(action) = step.template("action") else { return Vec::new() };
    let span = step.place("action");
    let (value, unknown) = literal(action);
    let Some(name) = value.get("type").and_then(Value::as_str) else {
        return wrong_members(protocol, span, &value, &unknown);
    };
    if unknown.iter().any(|path| path == "type") {
        return Vec::new();
    }
    let Some(row) = tables(protocol).find_map(|protocol| protocol.action(name)) else {
        let names: Vec<&str> =
            protocol.actions().map(|action| action.action_type.as_str()).collect();
        return vec![SchemaDeviation {
            span,
            path: "action.type".to_owned(),
            expected: "an action of the protocol".to_owned(),
            found: format!("`{name}`"),
            hint: format!(
                "{}; if this is intended, add `deviates: action.type`",
                did_you_mean(name, &names)
            ),
        }];
    };
    let mut found = wrong_members(protocol, span, &value, &unknown);
    let refused =
        REFUSALS.iter().any(|outcome| step.pattern(outcome).is_some() || step.flag(outcome));
    if row.dispatch == DispatchRight::Host && !refused {
        found.push(SchemaDeviation {
            span,
            path: "action.type".to_owned(),
            expected: "an action that clients may dispatch".to_owned(),
            found: format!("`{name}`, which only the host does"),
            hint: "add `reject`, `ignored` or `refused`, or `deviates: action.type`".to_owned(),
        });
    }
    let kind = step.template("channel").and_then(kind_of);
    if let Some(kind) =
        kind.filter(|kind| *kind != row.channel && protocol.has(ProtocolFeature::Channels))
    {
        found.push(SchemaDeviation {
            span: step.place("channel"),
            path: "channel".to_owned(),
            expected: format!("a channel of the kind {:?}, as `{name}` changes it", row.channel),
            found: format!("one of the kind {kind:?}"),
            hint: "if this is intended, add `deviates: channel`".to_owned(),
        });
    }
    found
}

/// Checks a request or notification of a client: the method, the direction and the params.
fn called(
    protocol: &Protocol,
    step: &ScenarioStep,
    method: &str,
    kind: MethodKind,
) -> Vec<SchemaDeviation> {
    let span = step.place("method");
    let deviation = |expected: &str, found: String, hint: String| {
        let (path, expected) = ("method".to_owned(), expected.to_owned());
        vec![SchemaDeviation { span, path, expected, found, hint }]
    };
    let meant = "if this is intended, add `deviates: method`";
    let Some(row) = protocol.method(method) else {
        let names: Vec<&str> = protocol.methods().map(|row| row.name.as_str()).collect();
        let hint = format!("{}; {meant}", did_you_mean(method, &names));
        return deviation("a method of the protocol", format!("`{method}`"), hint);
    };
    if !row.from_client {
        let found = format!("`{method}`, which only hosts send");
        return deviation("a method that clients send", found, meant.to_owned());
    }
    if row.kind != kind {
        let (expected, found) = match row.kind {
            MethodKind::Request => ("`request`, as the method is answered", "`notify`"),
            MethodKind::Notification => ("`notify`, as nothing answers the method", "`request`"),
        };
        return deviation(expected, found.to_owned(), meant.to_owned());
    }
    let (mut params, mut unknown) =
        step.template("params").map_or((json!({}), Vec::new()), literal);
    if let Some(members) = params.as_object_mut() {
        members.entry("channel").or_insert_with(|| json!(ROOT));
    }
    unknown.iter_mut().for_each(|path| *path = format!("params.{path}"));
    let message = match kind {
        MethodKind::Request => Message::request(1, method, params),
        MethodKind::Notification => Message::notification(method, params),
    };
    let errors = known(protocol, message, &unknown);
    errors.into_iter().map(|error| SchemaDeviation::of(step.place("params"), error)).collect()
}

/// Checks the members of an action.
fn wrong_members(
    protocol: &Protocol,
    span: SourceSpan,
    action: &Value,
    unknown: &[String],
) -> Vec<SchemaDeviation> {
    let params = json!({"channel": ANY_CHANNEL, "clientSeq": 1, "action": (action.clone())});
    let message = Message::notification("dispatchAction", params);
    let unknown: Vec<String> = unknown.iter().map(|path| format!("{ACTION}{path}")).collect();
    let errors = known(protocol, message, &unknown).into_iter();
    let errors = errors.map(|error| {
        let path = error.path.strip_prefix("params.").unwrap_or(&error.path).to_owned();
        SchemaDeviation::of(span, ShapeError { path, ..error })
    });
    errors.collect()
}

/// Checks an action that the host publishes: its type and its members.
fn published(protocol: &Protocol, step: &ScenarioStep) -> Vec<SchemaDeviation> {
    let Some(action) = step.template("action") else { return Vec::new() };
    let (value, unknown) = literal(action);
    let name = value.get("type").and_then(Value::as_str).unwrap_or_default();
    if tables(protocol).any(|it| it.action(name).is_some()) {
        return wrong_members(protocol, step.place("action"), &value, &unknown);
    }
    let names: Vec<&str> = protocol.actions().map(|action| action.action_type.as_str()).collect();
    vec![SchemaDeviation {
        span: step.place("action"),
        path: "action.type".to_owned(),
        expected: "an action of the protocol".to_owned(),
        found: format!("`{name}`"),
        hint: format!(
            "{}; if this is intended, add `deviates: action.type`",
            did_you_mean(name, &names)
        ),
    }]
}

/// Checks the method or the action type that a step waits for. If no sender ever sends such a message, the step could
/// never succeed.
fn awaited(
    protocol: &Protocol,
    step: &ScenarioStep,
    sender: MessageOrigin,
) -> Vec<SchemaDeviation> {
    let senders = match sender {
        MessageOrigin::Client => "clients",
        _ => "hosts",
    };
    let unheard = |member: &'static str, name: &str, names: Vec<&str>| SchemaDeviation {
        span: step.place(member),
        path: member.to_owned(),
        expected: format!("a `{member}` that {senders} send"),
        found: format!("`{name}`"),
        hint: format!(
            "{}; if this is intended, add `deviates: {member}`",
            did_you_mean(name, &names)
        ),
    };
    let mut found = Vec::new();
    let is_action = |name: &str| tables(protocol).any(|it| it.action(name).is_some());
    if let Some(name) = step.text("type").filter(|name| !is_action(name)) {
        let names = protocol.actions().map(|action| action.action_type.as_str());
        found.push(unheard("type", name, names.collect()));
    }
    let is_sent = |row: &ProtocolMethod| match sender {
        MessageOrigin::Client => row.from_client,
        _ => row.from_host,
    };
    let sent = |name: &str| tables(protocol).any(|it| it.method(name).is_some_and(&is_sent));
    if let Some(name) = step.text("method").filter(|name| !sent(name)) {
        let names = protocol.methods().filter(|row| is_sent(row)).map(|row| row.name.as_str());
        found.push(unheard("method", name, names.collect()));
    }
    found
}

/// Returns the kind of the channel that a template names; `None` if the literal text does not determine the
/// kind.
fn kind_of(channel: &ValueTemplate) -> Option<ChannelKind> {
    let (value, unknown) = literal(channel);
    if !unknown.is_empty() {
        return None;
    }
    ChannelKind::of_uri(value.as_str()?)
}

/// Translates a message to the names of a version, and returns the errors that the tables of that version find in the
/// message. Warnings, and errors about values that come from placeholders, are left out.
fn known(protocol: &Protocol, message: Message, unknown: &[String]) -> Vec<ShapeError> {
    let edge = VersionEdge::new(protocol.version(), "");
    let renames = !edge.is_plain();
    let message = edge.lower_message(message);
    let mut errors = protocol.check_message(&message, MessageOrigin::Client, None);
    let strange = protocol.strange_members(&message, MessageOrigin::Client, None);
    errors.extend(strange.into_iter().map(|path| ShapeError {
        path,
        expected: "a member of the protocol".to_owned(),
        found: "a member that the tables do not define".to_owned(),
        soft: false,
    }));
    let about_a_hole = |error: &ShapeError| {
        let within = |path: &String| {
            error.path.strip_prefix(path.as_str()).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('.') || rest.starts_with('[')
            })
        };
        // In an older version, the converted member may be at another path or have another form.
        unknown.iter().any(within) || renames && (!unknown.is_empty() || error.found.contains("${"))
    };
    errors.into_iter().filter(|error| !error.soft && !about_a_hole(error)).collect()
}

/// Returns the value of the template with a dummy for each placeholder, and the paths of the placeholders whose type is
/// unknown.
fn literal(template: &ValueTemplate) -> (Value, Vec<String>) {
    let mut unknown = Vec::new();
    let value = filled(template, "", &mut unknown);
    (value, unknown)
}

fn filled(template: &ValueTemplate, path: &str, unknown: &mut Vec<String>) -> Value {
    if let Some(fixed) = template.without_holes() {
        return fixed.clone();
    }
    let beneath = |step: &str| match path {
        "" => step.to_owned(),
        _ => format!("{path}.{step}"),
    };
    if !template.members().is_empty() {
        let members = template.members().iter();
        return members
            .map(|(key, item)| (key.as_str(), filled(item, &beneath(key), unknown)))
            .collect();
    }
    if !template.items().is_empty() {
        let items = template.items().iter().enumerate();
        return items
            .map(|(index, item)| filled(item, &format!("{path}[{index}]"), unknown))
            .collect();
    }
    if template.is_of_unknown_type() {
        unknown.push(path.to_owned());
    }
    template.spelled()
}

#[cfg(test)]
mod tests {
    use crate::scenario::load::{FileSource, load};

    use super::*;

    struct NoFragments;

    impl FileSource for NoFragments {
        fn read(&self, _path: &str) -> Result<String, String> {
            Err("there is none".to_owned())
        }
    }

    fn check(step: &str, expected: &[&str]) {
        let text = format!(
            "scenario: a/b\ntitle: t\nspec: '>=1.0.0'\nsteps:\n  - open: A\n  - {step}\n  - request: {{ by: A, method: ping, proves: ping.response }}\n"
        );
        let loaded = load("a/b.yaml", &text, &NoFragments);
        assert!(loaded.errors.is_empty(), "{step}: {:?}", loaded.errors);
        let found = deviations(&loaded.scenario.unwrap());
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{step}: {found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{step}: {expected}\n{found}");
        }
    }

    fn dispatch(more: &str) -> String {
        format!("dispatch: {{ by: A, channel: '${{chat}}', {more} }}")
    }

    #[test]
    fn finds_what_the_tables_do_not_allow() {
        let end = "type: chat/turnCancelled, turnId: t1";
        check(&dispatch(&format!("action: {{ {end}, duration: 5 }}, reject: {{}}")), &[]);
        check(&dispatch(&format!("action: {{ {end} }}, reject: {{}}")), &["`action.duration`"]);
        let meant = format!("action: {{ {end} }}, reject: {{}}, deviates: action.duration");
        check(&dispatch(&meant), &[]);
        let stale =
            format!("action: {{ {end}, duration: 5 }}, reject: {{}}, deviates: action.duration");
        check(&dispatch(&stale), &["nothing at `action.duration` deviates"]);
        let holes = format!("action: {{ {end}, duration: '${{A.seq}}' }}, reject: {{}}");
        check(&dispatch(&holes), &[]);
        let text = format!("action: {{ {end}, duration: 'x${{A.seq}}' }}, reject: {{}}");
        check(&dispatch(&text), &["`action.duration`"]);
    }

    #[test]
    fn finds_wrong_names_and_directions() {
        check(
            &dispatch("action: { type: chat/turnCanceled }"),
            &["did you mean `chat/turnCancelled`?"],
        );
        let delta = "action: { type: chat/delta, turnId: t, partId: p, content: c }";
        check(&dispatch(delta), &["only the host does"]);
        check(&dispatch(&format!("{delta}, reject: {{}}")), &[]);
        let title = "action: { type: session/titleChanged, title: T }";
        check(
            &format!("dispatch: {{ by: A, channel: 'ahp-chat:/x', {title} }}"),
            &["kind Session"],
        );
        check(&format!("dispatch: {{ by: A, channel: 'ahp-session:/x', {title} }}"), &[]);
        check("request: { by: A, method: listSession }", &["did you mean `listSessions`?"]);
        check("request: { by: A, method: unsubscribe }", &["`notify`, as nothing answers"]);
        check(
            "request: { by: A, method: subscribe, params: { channel: 5 } }",
            &["`params.channel`"],
        );
        check(
            "request: { by: A, method: disposeChat, params: { channel: 'ahp-chat:/x', chat: z } }",
            &["a member that the tables do not define"],
        );
        let more = "action: { type: session/titleChanged, title: T, x-more: 1 }";
        check(&format!("dispatch: {{ by: A, channel: 'ahp-session:/x', {more} }}"), &["x-more"]);
        let decision = "action: { type: chat/toolCallConfirmed, turnId: t, toolCallId: c, approved: false, reason: denied }";
        check(&dispatch(decision), &[]);
        check("notify: { by: A, method: root/sessionAdded }", &["only hosts send"]);
        check("expect: { at: A, type: chat/detla }", &["did you mean `chat/delta`?"]);
        check("expect: { at: A, method: subscribe }", &["a `method` that hosts send"]);
    }
}
