//! A conversation with an agent being drawn: its steps so far, the sessions that there are, and the turns that go on.
//!
//! Knows: the members of steps. Never knows: which moves there are.
//!
//! Start at [`AgentConversationDraw`].

use crate::dice::Dice;
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::super::act::ActionLogEntry;
use super::super::draft::ScenarioDraft;
use super::super::generate::DrawnSequence;
use super::{AgentAbilitySet, answers};

/// Who answers when the agent asks for permission.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PermissionPolicy {
    /// The client allows everything at once.
    Allows,
    /// Steps answer, the oldest request first.
    Decides,
    /// Steps name the request that they answer, and write the answer out.
    ByHand,
}

impl PermissionPolicy {
    /// What the agent has to be able to do for it.
    pub(super) fn needs(self) -> &'static str {
        if self == PermissionPolicy::Allows { "" } else { "ask" }
    }
}

/// A turn that goes on.
#[derive(Clone, Debug)]
pub(super) struct OpenTurn {
    /// The name that the session's id is bound to.
    pub(super) session: String,
    /// The name that the id of the prompt is bound to.
    pub(super) prompt: String,
    /// Files that calls make for which permission has not been asked, or was not given yet.
    pub(super) asks: Vec<String>,
    /// Whether it ends by itself, once it has been allowed or denied everything.
    pub(super) ends: bool,
}

/// The only client: an agent has one.
const CLIENT: &str = "A";

/// A conversation being drawn.
pub(super) struct AgentConversationDraw {
    pub(super) dice: Dice,
    pub(super) abilities: AgentAbilitySet,
    pub(super) policy: PermissionPolicy,
    pub(super) steps: Vec<Value>,
    /// The names that ids of sessions are bound to.
    pub(super) sessions: Vec<String>,
    pub(super) turns: Vec<OpenTurn>,
    /// Answers that were written out, to be sent again.
    pub(super) given: Vec<Value>,
    needs: Vec<&'static str>,
    /// Nothing more can be said on the connection.
    pub(super) over: bool,
    serial: usize,
}

impl AgentConversationDraw {
    pub(super) fn new(
        dice: Dice,
        abilities: AgentAbilitySet,
        policy: PermissionPolicy,
    ) -> AgentConversationDraw {
        let needs = if policy == PermissionPolicy::Allows { &[][..] } else { &["ask"] };
        AgentConversationDraw::of(dice, abilities, policy, needs)
    }

    /// One that needs at least this of the agent.
    pub(super) fn of(
        dice: Dice,
        abilities: AgentAbilitySet,
        policy: PermissionPolicy,
        needs: &[&'static str],
    ) -> AgentConversationDraw {
        AgentConversationDraw {
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

    /// A number that no other name of the conversation has.
    pub(super) fn number(&mut self) -> usize {
        self.serial += 1;
        self.serial
    }

    /// A name to bind something to.
    pub(super) fn name(&mut self, what: &str) -> String {
        format!("{what}{}", self.number())
    }

    /// One of the sessions, in which a turn goes on or none does.
    pub(super) fn session(&mut self, busy: bool) -> Option<String> {
        let is_busy = |name: &&String| self.turns.iter().any(|turn| turn.session == **name);
        let found: Vec<String> =
            self.sessions.iter().filter(|name| is_busy(name) == busy).cloned().collect();
        self.dice.pick(&found).cloned()
    }

    /// A turn that goes on, by its place.
    pub(super) fn turn(&mut self) -> Option<usize> {
        (!self.turns.is_empty()).then(|| self.dice.below(self.turns.len()))
    }

    /// A request that has to be answered, by whatever it is; every request is.
    pub(super) fn request(&mut self, method: &str, params: Value) {
        self.step(
            "request",
            json!({
                "by": "A", "method": method, "params": params, "result": {}, "error": {}, "proves": "acp.tr-04",
            }),
        );
    }

    /// The prompt of a turn is answered somehow.
    pub(super) fn answered(&mut self, prompt: &str) {
        self.step(
            "answer",
            json!({
                "at": "A", "id": (hole(prompt)), "result": {}, "error": {}, "proves": "acp.tr-04",
            }),
        );
    }

    /// Says that a session's turn is to stop.
    pub(super) fn send_cancel(&mut self, session: &str) {
        let params = json!({"sessionId": (hole(session))});
        self.step("notify", json!({"by": "A", "method": "session/cancel", "params": params}));
    }

    /// Takes note of what the agent has to be able to do.
    pub(super) fn needs(&mut self, ability: &'static str) {
        if !ability.is_empty() && !self.needs.contains(&ability) {
            self.needs.push(ability);
        }
    }

    /// Ends the turns that go on, and leaves time in which nothing more may come of them.
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

    /// The conversation.
    pub(super) fn sequence(
        self,
        seed: u64,
        about: &str,
        told: Vec<ActionLogEntry>,
    ) -> Option<DrawnSequence> {
        let allows = self.policy == PermissionPolicy::Allows;
        let draft = ScenarioDraft {
            id: format!("fuzz/{seed:016x}"),
            title: format!("A drawn conversation with an agent about {about}"),
            since: Version::ACP_1,
            clients: vec![CLIENT.to_owned()],
            approves: allows.then(|| CLIENT.to_owned()),
            needs: self.needs,
            steps: self.steps,
        };
        draft.scenario().is_ok().then_some(DrawnSequence { seed, draft, told, whole: true })
    }
}

/// A place that is filled in with what a name is bound to.
pub(super) fn hole(name: &str) -> String {
    format!("${{{name}}}")
}
