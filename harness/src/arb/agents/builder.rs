//! The state of a conversation with an agent during generation: its steps, its sessions, and its open turns.
//!
//! Knows: the members of steps. Never knows: the moves that generate steps.
//!
//! Start at [`AgentConversationBuilder`].

use crate::dice::Dice;
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::super::draft::ScenarioDraft;
use super::super::generated_sequence::GeneratedSequence;
use super::super::step_result::ActionLogEntry;
use super::{AgentAbilitySet, answers};

/// The way in which the client answers the agent's requests for permission.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PermissionPolicy {
    /// The client allows everything at once.
    Allows,
    /// A `permit` step answers each request, the oldest request first.
    Decides,
    /// A step waits for a certain request, and a raw frame answers it.
    ByHand,
}

impl PermissionPolicy {
    /// Returns the ability that the agent needs for the policy; empty if it needs none.
    pub(super) fn needs(self) -> &'static str {
        if self == PermissionPolicy::Allows { "" } else { "ask" }
    }
}

/// A turn that has not ended.
#[derive(Clone, Debug)]
pub(super) struct OpenTurn {
    /// The name to which the id of the turn's session is bound.
    pub(super) session: String,
    /// The name to which the id of the turn's prompt is bound.
    pub(super) prompt: String,
    /// The calls that still wait for permission: for each call, the file that the call creates, or an empty string if
    /// it creates none.
    pub(super) asks: Vec<String>,
    /// Whether the turn ends without a cancellation once every call was allowed or denied.
    pub(super) ends: bool,
}

/// The name of the only client; an agent has one client.
const CLIENT: &str = "A";

/// A conversation that is being generated.
pub(super) struct AgentConversationBuilder {
    pub(super) dice: Dice,
    pub(super) abilities: AgentAbilitySet,
    pub(super) policy: PermissionPolicy,
    pub(super) steps: Vec<Value>,
    /// The names to which the ids of sessions are bound.
    pub(super) sessions: Vec<String>,
    pub(super) turns: Vec<OpenTurn>,
    /// The raw answers that were sent; a later step may repeat them.
    pub(super) given: Vec<Value>,
    needs: Vec<&'static str>,
    /// Whether the connection is closed, so that no step may follow.
    pub(super) over: bool,
    serial: usize,
}

impl AgentConversationBuilder {
    pub(super) fn new(
        dice: Dice,
        abilities: AgentAbilitySet,
        policy: PermissionPolicy,
    ) -> AgentConversationBuilder {
        let needs = if policy == PermissionPolicy::Allows { &[][..] } else { &["ask"] };
        AgentConversationBuilder::of(dice, abilities, policy, needs)
    }

    /// Creates an empty conversation for which the agent needs at least these abilities.
    pub(super) fn of(
        dice: Dice,
        abilities: AgentAbilitySet,
        policy: PermissionPolicy,
        needs: &[&'static str],
    ) -> AgentConversationBuilder {
        AgentConversationBuilder {
            dice,
            abilities,
            policy,
            steps: Vec::new(),
            sessions: Vec::new(),
            turns: Vec::new(),
            given: Vec::new(),
            needs: needs.to_vec(),
            over: false,
            serial: 0,
        }
    }

    /// Adds a step: a verb and its members.
    pub(super) fn step(&mut self, verb: &'static str, members: Value) {
        let mut step = json!({});
        step[verb] = members;
        self.steps.push(step);
    }

    /// Returns a number that no other name of the conversation has.
    pub(super) fn number(&mut self) -> usize {
        self.serial += 1;
        self.serial
    }

    /// Returns a new name to which a step can bind a value.
    pub(super) fn name(&mut self, what: &str) -> String {
        format!("{what}{}", self.number())
    }

    /// Returns a random session. With `busy`, the session has an open turn; otherwise it has none.
    /// Returns `None` if there is no such session.
    pub(super) fn session(&mut self, busy: bool) -> Option<String> {
        let is_busy = |name: &&String| self.turns.iter().any(|turn| turn.session == **name);
        let found: Vec<String> =
            self.sessions.iter().filter(|name| is_busy(name) == busy).cloned().collect();
        self.dice.pick(&found).cloned()
    }

    /// Returns the index of a random open turn; `None` if no turn is open.
    pub(super) fn turn(&mut self) -> Option<usize> {
        (!self.turns.is_empty()).then(|| self.dice.below(self.turns.len()))
    }

    /// Adds a request, and the claim that it is answered with a result or an error.
    pub(super) fn request(&mut self, method: &str, params: Value) {
        self.step(
            "request",
            json!({
                "by": "A", "method": method, "params": params, "result": {}, "error": {}, "proves": "acp.tr-04",
            }),
        );
    }

    /// Adds the claim that the prompt of a turn is answered with a result or an error.
    pub(super) fn answered(&mut self, prompt: &str) {
        self.step(
            "answer",
            json!({
                "at": "A", "id": (hole(prompt)), "result": {}, "error": {}, "proves": "acp.tr-04",
            }),
        );
    }

    /// Adds a step that cancels the turn of a session.
    pub(super) fn send_cancel(&mut self, session: &str) {
        let params = json!({"sessionId": (hole(session))});
        self.step("notify", json!({"by": "A", "method": "session/cancel", "params": params}));
    }

    /// Records an ability that the agent needs for the conversation.
    pub(super) fn needs(&mut self, ability: &'static str) {
        if !ability.is_empty() && !self.needs.contains(&ability) {
            self.needs.push(ability);
        }
    }

    /// Adds steps that end the open turns, and a pause for messages that may follow.
    pub(super) fn close(&mut self) {
        if self.over {
            return;
        }
        for turn in std::mem::take(&mut self.turns) {
            let waits = !turn.asks.is_empty() && self.policy != PermissionPolicy::Allows;
            if waits {
                answers::give_up(self, &turn);
            }
            if waits || !turn.ends {
                self.send_cancel(&turn.session);
            }
            self.answered(&turn.prompt);
        }
        self.step("rest", json!({"for": "300ms"}));
        self.step("barrier", json!({"by": "A"}));
    }

    /// Returns the finished conversation; `None` if its steps are not a valid scenario.
    pub(super) fn sequence(
        self,
        seed: u64,
        about: &str,
        told: Vec<ActionLogEntry>,
    ) -> Option<GeneratedSequence> {
        let allows = self.policy == PermissionPolicy::Allows;
        let draft = ScenarioDraft {
            id: format!("fuzz/{seed:016x}"),
            title: format!("A generated conversation with an agent about {about}"),
            since: Version::ACP_1,
            clients: vec![CLIENT.to_owned()],
            approves: allows.then(|| CLIENT.to_owned()),
            needs: self.needs,
            tested: None,
            steps: self.steps,
        };
        draft.scenario().is_ok().then_some(GeneratedSequence { seed, draft, told, whole: true })
    }
}

/// Returns the placeholder for the value to which a name is bound.
pub(super) fn hole(name: &str) -> String {
    format!("${{{name}}}")
}
