//! Shrinks a conversation with a finding: removes steps, alone and in groups, then members and values,
//! then clients. Each candidate has to show the same finding.
//!
//! Knows: drafts. Never knows: the property to preserve, its test.
//!
//! Start at [`shrink`].

use crate::scenario::verbs::{VERBS, VerbRow};
use crate::wire::json::Value;

use super::draft::ScenarioDraft;
use super::draft_step::{self, clients_of, members_mut, prune, replace, row_of, rule_of, verb_of};

/// The default maximum number of candidates.
pub const MAX_TRIES: usize = 600;
/// The maximum number of steps for which every pair is tried.
const PAIRED: usize = 14;

/// A test of whether a draft still shows the finding.
pub trait DraftTrial {
    /// Returns whether premises have to be kept: the outcomes of steps, the waits for their effects, and the values
    /// that the steps send. Without the premises, a shrunk draft could report a host that behaved differently, but
    /// legally, in an earlier step. The draft could also send a message other than the one that the claim's requirement
    /// describes.
    fn keeps_premises(&self) -> bool {
        false
    }

    /// Tests whether one draft still shows the finding.
    fn shows(&mut self, draft: &ScenarioDraft) -> impl Future<Output = bool> + Send;
}

/// Returns the smallest draft that still shows the finding, after at most this number of candidates.
pub async fn shrink<S: DraftTrial>(
    draft: ScenarioDraft,
    shows: &mut S,
    tries: usize,
) -> ScenarioDraft {
    let mut shrink = DraftShrink { best: draft, shows, left: tries };
    loop {
        let before = shrink.best.clone();
        shrink.steps().await;
        shrink.pairs().await;
        shrink.members().await;
        shrink.scripts().await;
        shrink.clients().await;
        if shrink.best == before || shrink.left == 0 {
            return shrink.best;
        }
    }
}

struct DraftShrink<'a, S: DraftTrial> {
    best: ScenarioDraft,
    shows: &'a mut S,
    left: usize,
}

impl<S: DraftTrial> DraftShrink<'_, S> {
    async fn attempt(&mut self, mut candidate: ScenarioDraft) -> bool {
        prune(&mut candidate.steps);
        if candidate == self.best || candidate.scenario().is_err() || self.left == 0 {
            return false;
        }
        self.left -= 1;
        let shows = self.shows.shows(&candidate).await;
        if shows {
            self.best = candidate;
        }
        shows
    }

    /// Returns whether these steps only ensure the premises of other steps and have to be kept.
    fn are_premises(&self, steps: &[usize]) -> bool {
        let lets_come = |step: &Value| {
            rule_of(step).is_none() && row_of(step).is_some_and(|row| row.verb.lets_come())
        };
        let mut steps = steps.iter().filter_map(|at| self.best.steps.get(*at));
        self.shows.keeps_premises() && steps.all(lets_come)
    }

    fn without(&self, gone: &[usize]) -> ScenarioDraft {
        let mut candidate = self.best.clone();
        let mut index = 0;
        candidate.steps.retain(|_| {
            index += 1;
            !gone.contains(&(index - 1))
        });
        candidate
    }

    /// Removes groups of consecutive steps, the last groups first. The groups shrink from half of the steps to single
    /// steps.
    async fn steps(&mut self) {
        let mut size = self.best.steps.len().div_ceil(2);
        while size > 0 {
            let mut end = self.best.steps.len();
            while end > 0 {
                let start = end.saturating_sub(size);
                let gone: Vec<usize> = (start..end).collect();
                if !self.are_premises(&gone) {
                    let candidate = self.without(&gone);
                    self.attempt(candidate).await;
                }
                end = start.min(self.best.steps.len());
            }
            size /= 2;
        }
    }

    /// Removes pairs of steps, because two steps may need each other.
    async fn pairs(&mut self) {
        if self.best.steps.len() > PAIRED {
            return;
        }
        let mut first = 0;
        while first < self.best.steps.len() {
            let mut second = first + 1;
            while second < self.best.steps.len() {
                let candidate = self.without(&[first, second]);
                if !self.attempt(candidate).await {
                    second += 1;
                }
            }
            first += 1;
        }
    }

    /// Removes optional members of steps, and members of the values that the steps send, unless premises have to
    /// stay.
    async fn members(&mut self) {
        if self.shows.keeps_premises() {
            return;
        }
        for index in 0..self.best.steps.len() {
            for path in paths(self.best.steps.get(index)) {
                let mut candidate = self.best.clone();
                if let Some(step) = candidate.steps.get_mut(index)
                    && remove(step, &path)
                {
                    self.attempt(candidate).await;
                }
            }
        }
    }

    /// Removes lines of scripts.
    async fn scripts(&mut self) {
        for index in 0..self.best.steps.len() {
            let script = |draft: &ScenarioDraft| {
                let script = draft.steps.get(index)?.pointer("/turn/script")?.as_str()?;
                Some(script.to_owned())
            };
            let mut at = script(&self.best).map_or(0, |script| script.lines().count());
            while at > 0 {
                at -= 1;
                let Some(text) = script(&self.best) else { break };
                let lines: Vec<&str> = text.lines().collect();
                let rest: Vec<&str> = lines
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| *i != at)
                    .map(|(_, line)| *line)
                    .collect();
                let mut candidate = self.best.clone();
                if let Some(members) = candidate.steps.get_mut(index).and_then(members_mut) {
                    match rest.is_empty() {
                        true => drop(members.remove("script")),
                        false => drop(members.insert("script", Value::from(rest.join("\n")))),
                    }
                }
                self.attempt(candidate).await;
            }
        }
    }

    /// Replaces one client by another, and removes clients that are not needed.
    async fn clients(&mut self) {
        let names = self.best.clients.clone();
        for gone in names.iter().skip(1).rev() {
            if !self.best.clients.contains(gone) {
                continue;
            }
            let mut candidate = self.best.clone();
            candidate.steps.iter_mut().for_each(|step| leave(step, gone));
            candidate.steps.retain(|step| {
                row_of(step).is_some_and(|row| !clients_of(step).is_empty() || !needs_client(row))
            });
            candidate.clients.retain(|name| name != gone);
            if self.attempt(candidate).await {
                continue;
            }
            let Some(other) = names.iter().find(|name| *name != gone) else { continue };
            let mut candidate = self.best.clone();
            let used = candidate.steps.iter().any(|step| clients_of(step).contains(gone));
            if used {
                candidate.steps.iter_mut().for_each(|step| rename(step, gone, other));
            }
            candidate.clients.retain(|name| name != gone);
            self.attempt(candidate).await;
        }
    }
}

fn needs_client(row: &VerbRow) -> bool {
    row.fields.iter().any(|field| field.required && field.is_of_clients())
}

/// The members that identify the message of a wait. Without such a member, the step would wait for another
/// message.
const WAITED: [&str; 3] = ["type", "method", "channel"];

/// Returns the paths of optional members and of all values inside sent values, outer paths first.
fn paths(step: Option<&Value>) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let Some((verb, members)) = step.and_then(verb_of) else { return found };
    let row = VERBS.iter().find(|row| row.name == verb);
    let waits = row.is_some_and(|row| row.fields.iter().any(|field| field.name == "where"));
    for (name, value) in members.as_object().into_iter().flatten() {
        if waits && WAITED.contains(&&**name) {
            continue;
        }
        let field = row.and_then(|row| row.fields.iter().find(|field| field.name == &**name));
        if field.is_some_and(|field| !field.required) {
            found.push(vec![name.to_string()]);
        }
        inner(value, &mut vec![name.to_string()], &mut found);
    }
    found
}

fn inner(value: &Value, at: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        at.push(name.to_string());
        if name != "type" {
            found.push(at.clone());
        }
        inner(value, at, found);
        at.pop();
    }
}

fn remove(step: &mut Value, path: &[String]) -> bool {
    let Some((last, before)) = path.split_last() else { return false };
    let mut at = members_mut(step);
    for name in before {
        at = at.and_then(|members| members.get_mut(name.as_str())).and_then(Value::as_object_mut);
    }
    at.is_some_and(|members| members.remove(last.as_str()).is_some())
}

/// Removes a client from a step.
fn leave(step: &mut Value, gone: &str) {
    let names: Vec<&str> = row_of(step).into_iter().flat_map(VerbRow::client_members).collect();
    let Some(members) = members_mut(step) else { return };
    for name in names {
        let Some(value) = members.get_mut(name) else { continue };
        let rest: Vec<String> =
            draft_step::names(value).into_iter().filter(|name| name != gone).collect();
        match rest.as_slice() {
            [] => drop(members.remove(name)),
            [only] => *value = Value::from(only.as_str()),
            _ => *value = rest.iter().map(|name| Value::from(name.as_str())).collect(),
        }
    }
}

/// Replaces a client by another client in a step.
fn rename(step: &mut Value, gone: &str, other: &str) {
    let names: Vec<&str> = row_of(step).into_iter().flat_map(VerbRow::client_members).collect();
    let Some(members) = members_mut(step) else { return };
    for name in names {
        let Some(value) = members.get_mut(name) else { continue };
        let mut names = draft_step::names(value);
        names.iter_mut().filter(|name| *name == gone).for_each(|name| *name = other.to_owned());
        names.dedup();
        match names.as_slice() {
            [only] => *value = Value::from(only.as_str()),
            _ => *value = names.iter().map(|name| Value::from(name.as_str())).collect(),
        }
    }
    replace(step, &mut |_, value| {
        let text = value.as_str()?.replace(&format!("${{{gone}.id}}"), &format!("${{{other}.id}}"));
        (value.as_str() != Some(text.as_str())).then(|| Value::from(text))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arb::embedded::now;
    use crate::wire::json::json;
    use crate::wire::version::Version;

    /// A finding that occurs in every draft with a `createSession`.
    struct CreationTrial {
        keeps: bool,
    }

    impl DraftTrial for CreationTrial {
        fn keeps_premises(&self) -> bool {
            self.keeps
        }

        async fn shows(&mut self, draft: &ScenarioDraft) -> bool {
            draft.steps.iter().any(|step| step["request"]["method"] == "createSession")
        }
    }

    #[test]
    fn a_claim_keeps_what_its_message_says() {
        let request = json!({"request": {
            "by": "A", "method": "createSession", "params": {"channel": "ahp-session:/x"},
            "error": {"code": {"$type": "integer"}}, "proves": "session.create.duplicate",
        }});
        let ping = json!({"request": {"by": "A", "method": "ping", "result": true}});
        let draft = ScenarioDraft {
            id: "fuzz/x".to_owned(),
            title: "t".to_owned(),
            since: Version::V1_0,
            clients: vec!["A".to_owned()],
            approves: None,
            needs: Vec::new(),
            tested: None,
            steps: vec![ping, request.clone()],
        };
        let small =
            |keeps: bool| now(shrink(draft.clone(), &mut CreationTrial { keeps }, MAX_TRIES)).steps;
        assert_eq!(small(true), [request]);
        assert!(small(false)[0]["request"]["params"].is_null(), "a check needs no members");
    }
}
