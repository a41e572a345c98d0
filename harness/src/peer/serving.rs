//! Serves the requests of an agent to a client of ACP: files of one folder, and commands that run there.
//!
//! [`AgentServing`] receives the agent's requests and the results of errands. It returns responses and errands to
//! perform. It rejects methods that the client does not offer, and paths outside of the folder. Permission requests are
//! not served here: a user or a scenario decides about them.
//!
//! Knows: the methods of ACP that agents request. Never knows: files, processes, scenarios.
//!
//! Start at [`AgentServing::asked`].

use litemap::LiteMap;

use crate::wire::json::{Value, json};
use crate::wire::message::Message;

use super::errand::{ClientErrand, OUTSIDE};

/// The maximum number of terminals of an agent.
const MAX_TERMINALS: usize = 50;
/// The maximum number of open errands, and of requests that wait for an exit.
const MAX_OPEN: usize = 1_000;
/// The maximum number of bytes of a terminal's output that are kept.
const MAX_OUTPUT: usize = 1 << 20;
/// The maximum number of bytes of files and output that an agent receives in total.
const MAX_SERVED: usize = 64 << 20;
/// The maximum size in bytes of a file that an agent writes.
const MAX_FILE: usize = 8 << 20;

/// The maximum number of characters of a path that a message shows.
const SHOWN: usize = 120;

/// The error code for invalid params.
const INVALID: i64 = -32602;
/// The error code for an unknown resource.
const NOT_FOUND: i64 = -32002;
/// The error code for an internal error.
const INTERNAL: i64 = -32603;
/// The error code for an unknown method.
const NO_METHOD: i64 = -32601;

/// The capabilities that a client offers to an agent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum AgentOffers {
    /// The client offers no capabilities.
    #[default]
    Nothing,
    /// The client offers access to files.
    Fs,
    /// The client offers access to files and terminals.
    FsTerminal,
    /// The client offers all capabilities.
    All,
}

impl AgentOffers {
    /// All offers, with their words in scenarios.
    pub const ALL: [(AgentOffers, &'static str); 4] = [
        (AgentOffers::Nothing, "nothing"),
        (AgentOffers::Fs, "fs"),
        (AgentOffers::FsTerminal, "fs-terminal"),
        (AgentOffers::All, "all"),
    ];

    /// Returns the offer for a word of a scenario; `None` for an unknown word.
    pub fn named(word: &str) -> Option<AgentOffers> {
        AgentOffers::ALL.iter().find(|(_, known)| *known == word).map(|(offers, _)| *offers)
    }

    /// Returns the word with which scenarios name the offer.
    pub fn word(self) -> &'static str {
        AgentOffers::ALL
            .iter()
            .find(|(offers, _)| *offers == self)
            .map_or("nothing", |(_, word)| *word)
    }

    /// Returns the `clientCapabilities`.
    pub fn capabilities(self) -> Value {
        let (files, terminal) = (self.files(), self.terminal());
        let mut all = json!({
            "fs": {"readTextFile": files, "writeTextFile": files}, "terminal": terminal,
        });
        if self == AgentOffers::All {
            all["session"] =
                json!({"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}});
            all["elicitation"] = json!({"form": {}, "url": {}});
        }
        all
    }

    fn files(self) -> bool {
        self != AgentOffers::Nothing
    }

    fn terminal(self) -> bool {
        matches!(self, AgentOffers::FsTerminal | AgentOffers::All)
    }
}

/// An output that the caller has to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum ServingDeed {
    /// The caller sends a response.
    Answer(Message),
    /// The caller performs an errand.
    Errand(ClientErrand),
}

/// The kind of agent request for which an errand is performed.
#[derive(Clone, Debug)]
enum ErrandPurpose {
    Read { line: u64, limit: Option<u64> },
    Write,
}

/// A terminal of the agent.
#[derive(Debug, Default)]
struct ServedTerminal {
    output: String,
    limit: usize,
    truncated: bool,
    exit: Option<Value>,
    /// The ids of the requests that wait for the exit of the terminal.
    waiting: Vec<Value>,
}

/// The state of serving an agent's requests.
#[derive(Debug, Default)]
pub struct AgentServing {
    folder: String,
    offers: AgentOffers,
    serial: u64,
    open: LiteMap<u64, (Value, ErrandPurpose)>,
    terminals: LiteMap<String, ServedTerminal>,
    /// The number of bytes of files and output that the agent has received so far.
    served: usize,
    /// The path outside of the folder that was refused last; `None` after the method `elsewhere` has returned this
    /// path.
    elsewhere: Option<String>,
}

/// The outputs for a request (empty if the request is answered later), or the code and the message of an error.
type ServingResult = Result<Vec<ServingDeed>, (i64, String)>;

impl AgentServing {
    /// Creates the state for an agent that works in this folder, without any offer. Errands and terminals are
    /// numbered from `first`, so the numbers of several clients differ.
    pub fn new(folder: &str, first: u64) -> AgentServing {
        AgentServing { folder: folder.to_owned(), serial: first, ..AgentServing::default() }
    }

    /// Changes the capabilities that the client offers.
    pub fn offer(&mut self, offers: AgentOffers) {
        self.offers = offers;
    }

    /// Handles a request of the agent.
    pub fn asked(&mut self, id: &Value, method: &str, params: &Value) -> Vec<ServingDeed> {
        let files = self.offers.files();
        let terminal = self.offers.terminal();
        let served = match method {
            "fs/read_text_file" if files => self.read(id, params),
            "fs/write_text_file" if files => self.write(id, params),
            "terminal/create" if terminal => self.create(id, params),
            "terminal/output" if terminal => self.output(id, params),
            "terminal/wait_for_exit" if terminal => self.wait(id, params),
            "terminal/kill" if terminal => self.kill(id, params, false),
            "terminal/release" if terminal => self.kill(id, params, true),
            "elicitation/create" if self.offers == AgentOffers::All => {
                Ok(vec![answer(id, json!({"action": "decline"}))])
            }
            _ => Err((NO_METHOD, format!("`{method}` is not served by this client"))),
        };
        served.unwrap_or_else(|(code, why)| {
            vec![ServingDeed::Answer(Message::failure(id.clone(), code, &why, Value::Null))]
        })
    }

    /// Handles the result of an errand or an event of a terminal.
    pub fn done(&mut self, told: &Value) -> Vec<ServingDeed> {
        if let Some(name) = told["terminal"].as_str() {
            return self.happened(name, told);
        }
        let token = told["token"].as_u64();
        let Some((id, purpose)) = token.and_then(|token| self.open.remove(&token)) else {
            return Vec::new();
        };
        let text = told["text"].as_str();
        let outcome = match (text, purpose) {
            (Some(_), ErrandPurpose::Write) => Ok(json!({})),
            (Some(text), ErrandPurpose::Read { line, limit }) => {
                let content = lines(text, line, limit);
                self.gives(content.len()).map(|()| json!({"content": content}))
            }
            // Agents recognise by this message that a file does not exist yet.
            (None, _) if told["missing"] == true => {
                Err((NOT_FOUND, "ENOENT: no such file or directory"))
            }
            (None, _) => Err((INTERNAL, told["failed"].as_str().unwrap_or("it failed"))),
        };
        if told["failed"] == OUTSIDE {
            self.elsewhere = Some("a link that leads there".to_owned());
        }
        vec![match outcome {
            Ok(result) => answer(&id, result),
            Err((code, why)) => ServingDeed::Answer(Message::failure(id, code, why, Value::Null)),
        }]
    }

    /// Adds a number of bytes to the total that the agent has received. Returns an error if the total exceeds the
    /// limit.
    fn gives(&mut self, bytes: usize) -> Result<(), (i64, &'static str)> {
        self.served = self.served.saturating_add(bytes);
        match self.served {
            ..=MAX_SERVED => Ok(()),
            _ => Err((INTERNAL, "the requests in total ask for too much content")),
        }
    }

    /// Returns the path outside of the folder that was refused last, and forgets this path; `None` if there is none.
    pub fn elsewhere(&mut self) -> Option<String> {
        self.elsewhere.take()
    }

    fn errand(&mut self, id: &Value, purpose: ErrandPurpose) -> Result<u64, (i64, String)> {
        if self.open.len() >= MAX_OPEN {
            return Err((INTERNAL, "too many requests are open".to_owned()));
        }
        self.serial += 1;
        self.open.insert(self.serial, (id.clone(), purpose));
        Ok(self.serial)
    }

    fn path(&mut self, params: &Value) -> Result<String, (i64, String)> {
        self.within(params["path"].as_str().unwrap_or_default())
    }

    fn within(&mut self, path: &str) -> Result<String, (i64, String)> {
        within(&self.folder, path).ok_or_else(|| {
            self.elsewhere = Some(format!("`{}`", brief(path)));
            (INVALID, format!("expected a path below `{}`", self.folder))
        })
    }

    fn read(&mut self, id: &Value, params: &Value) -> ServingResult {
        let path = self.path(params)?;
        let line = params["line"].as_u64().unwrap_or(1);
        let purpose = ErrandPurpose::Read { line, limit: params["limit"].as_u64() };
        let token = self.errand(id, purpose)?;
        Ok(vec![ServingDeed::Errand(ClientErrand::Read { token, path })])
    }

    fn write(&mut self, id: &Value, params: &Value) -> ServingResult {
        let path = self.path(params)?;
        let text = params["content"].as_str().unwrap_or_default().to_owned();
        if text.len() > MAX_FILE {
            return Err((INVALID, "the file is too large".to_owned()));
        }
        let token = self.errand(id, ErrandPurpose::Write)?;
        Ok(vec![ServingDeed::Errand(ClientErrand::Write { token, path, text })])
    }

    fn create(&mut self, id: &Value, params: &Value) -> ServingResult {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let program = text(&params["command"])
            .ok_or_else(|| (INVALID, "expected a text at `command`".to_owned()))?;
        let cwd = match params["cwd"].as_str() {
            Some(cwd) if cwd == self.folder => cwd.to_owned(),
            Some(cwd) => self.within(cwd)?,
            None => self.folder.clone(),
        };
        if self.terminals.len() >= MAX_TERMINALS {
            return Err((INTERNAL, "too many terminals".to_owned()));
        }
        let mut command = vec![program];
        command.extend(params["args"].as_array().into_iter().flatten().filter_map(text));
        let pair = |item: &Value| Some((text(&item["name"])?, text(&item["value"])?));
        let env = params["env"].as_array().into_iter().flatten().filter_map(pair).collect();
        self.serial += 1;
        let terminal = format!("terminal-{}", self.serial);
        let limit = params["outputByteLimit"].as_u64();
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(MAX_OUTPUT);
        let known = ServedTerminal { limit: limit.min(MAX_OUTPUT), ..ServedTerminal::default() };
        self.terminals.insert(terminal.clone(), known);
        Ok(vec![
            answer(id, json!({"terminalId": (terminal.as_str())})),
            ServingDeed::Errand(ClientErrand::Start { terminal, command, env, cwd }),
        ])
    }

    fn terminal(&mut self, params: &Value) -> Result<(&str, &mut ServedTerminal), (i64, String)> {
        let name = params["terminalId"].as_str().unwrap_or_default();
        let found = self.terminals.iter_mut().find(|(known, _)| *known == name);
        let found = found.map(|(name, terminal)| (name.as_str(), terminal));
        found.ok_or_else(|| (NOT_FOUND, format!("no terminal is called `{name}`")))
    }

    fn output(&mut self, id: &Value, params: &Value) -> ServingResult {
        let (_, terminal) = self.terminal(params)?;
        let bytes = terminal.output.len();
        let mut result =
            json!({"output": (terminal.output.as_str()), "truncated": (terminal.truncated)});
        if let Some(exit) = &terminal.exit {
            result["exitStatus"] = exit.clone();
        }
        self.gives(bytes).map_err(|(code, why)| (code, why.to_owned()))?;
        Ok(vec![answer(id, result)])
    }

    fn wait(&mut self, id: &Value, params: &Value) -> ServingResult {
        let (_, terminal) = self.terminal(params)?;
        match &terminal.exit {
            Some(exit) => Ok(vec![answer(id, exit.clone())]),
            None if terminal.waiting.len() < MAX_OPEN => {
                terminal.waiting.push(id.clone());
                Ok(Vec::new())
            }
            None => Err((INTERNAL, "too many requests wait for this terminal".to_owned())),
        }
    }

    fn kill(&mut self, id: &Value, params: &Value, release: bool) -> ServingResult {
        let (name, terminal) = self.terminal(params)?;
        let (name, runs) = (name.to_owned(), terminal.exit.is_none());
        let waiting = std::mem::take(&mut terminal.waiting);
        let mut deeds = vec![answer(id, json!({}))];
        if release {
            self.terminals.remove(&name);
            // The requests that wait for the exit of the terminal are answered now, because no exit event of a released
            // terminal arrives.
            let gone = json!({"exitCode": null, "signal": "SIGKILL"});
            deeds.extend(waiting.iter().map(|id| answer(id, gone.clone())));
        } else {
            self.terminal(params)?.1.waiting = waiting;
        }
        if runs {
            deeds.push(ServingDeed::Errand(ClientErrand::Kill { terminal: name }));
        }
        Ok(deeds)
    }

    fn happened(&mut self, name: &str, told: &Value) -> Vec<ServingDeed> {
        let Some(terminal) = self.terminals.get_mut(name) else { return Vec::new() };
        if let Some(text) = told["printed"].as_str() {
            terminal.print(text);
        }
        let Some(exit) = told.get("exit") else { return Vec::new() };
        terminal.exit = Some(exit.clone());
        std::mem::take(&mut terminal.waiting).iter().map(|id| answer(id, exit.clone())).collect()
    }
}

impl ServedTerminal {
    /// Appends output. If the output exceeds the limit, removes its beginning up to a UTF-8 boundary.
    fn print(&mut self, text: &str) {
        self.output.push_str(text);
        if self.output.len() > self.limit {
            let mut from = self.output.len() - self.limit;
            while !self.output.is_char_boundary(from) {
                from += 1;
            }
            self.output.drain(..from);
            self.truncated = true;
        }
    }
}

fn answer(id: &Value, result: Value) -> ServingDeed {
    ServingDeed::Answer(Message::success(id.clone(), result))
}

/// Returns the lines of a string, beginning with the line `line`, which is counted from 1.
fn lines(text: &str, line: u64, limit: Option<u64>) -> String {
    if line <= 1 && limit.is_none() {
        return text.to_owned();
    }
    let skip = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    let take = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    text.split_inclusive('\n').skip(skip).take(take).collect()
}

/// Returns the first characters of a path.
fn brief(path: &str) -> String {
    match path.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", path.get(..end).unwrap_or_default()),
        None => path.to_owned(),
    }
}

/// Returns the path unchanged if it is below a folder; `None` if the path leads out of the folder.
pub fn within(folder: &str, path: &str) -> Option<String> {
    let folder = folder.trim_end_matches('/');
    let rest = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'))?;
    let plain = |part: &str| !part.is_empty() && part != ".." && part != ".";
    rest.split('/').all(plain).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serving(offers: AgentOffers) -> AgentServing {
        let mut serving = AgentServing::new("/w", 0);
        serving.offer(offers);
        serving
    }

    fn code(deeds: &[ServingDeed]) -> Option<i64> {
        match deeds {
            [ServingDeed::Answer(message)] => message.error_code(),
            _ => None,
        }
    }

    fn result(deeds: &[ServingDeed]) -> Value {
        match deeds {
            [ServingDeed::Answer(message), ..] => message.result().cloned().unwrap_or_default(),
            _ => Value::Null,
        }
    }

    #[test]
    fn refuses_methods_not_offered_and_paths_outside_the_folder() {
        let ask = |offers, method: &str, path: &str| {
            code(&serving(offers).asked(&json!(1), method, &json!({"path": path, "content": ""})))
        };
        assert_eq!(ask(AgentOffers::Nothing, "fs/read_text_file", "/w/a"), Some(NO_METHOD));
        assert_eq!(ask(AgentOffers::Fs, "terminal/create", ""), Some(NO_METHOD));
        assert_eq!(ask(AgentOffers::Fs, "fs/write_text_file", "/w/a"), None);
        for path in ["/etc/passwd", "/w/../etc/passwd", "/wa", "a", "/w", "/w//a"] {
            assert_eq!(ask(AgentOffers::Fs, "fs/read_text_file", path), Some(INVALID), "{path}");
        }
        let mut serving = serving(AgentOffers::All);
        for cwd in ["/", "/w/..", "/wa"] {
            let params = json!({"command": "ls", "cwd": cwd});
            assert_eq!(code(&serving.asked(&json!(1), "terminal/create", &params)), Some(INVALID));
            assert_eq!(serving.elsewhere(), Some(format!("`{cwd}`")));
            assert_eq!(serving.elsewhere(), None);
        }
    }

    #[test]
    fn bounds_the_content_that_it_returns() {
        let mut serving = serving(AgentOffers::Fs);
        let text = "a".repeat(8 << 20);
        let mut given = 0;
        loop {
            let deeds = serving.asked(&json!(1), "fs/read_text_file", &json!({"path": "/w/a"}));
            let [ServingDeed::Errand(ClientErrand::Read { token, .. })] = deeds[..] else {
                panic!("{deeds:?}")
            };
            match code(&serving.done(&ClientErrand::text(token, &text))) {
                None => given += text.len(),
                Some(refused) => break assert_eq!(refused, INTERNAL),
            }
        }
        assert_eq!(given, MAX_SERVED);
    }

    #[test]
    fn returns_the_requested_lines() {
        let mut serving = serving(AgentOffers::Fs);
        let params = json!({"path": "/w/a", "line": 2, "limit": 1});
        let deeds = serving.asked(&json!("x"), "fs/read_text_file", &params);
        let [ServingDeed::Errand(ClientErrand::Read { token, .. })] = deeds[..] else {
            panic!("{deeds:?}")
        };
        let deeds = serving.done(&ClientErrand::text(token, "a\nb\nc"));
        assert_eq!(result(&deeds), json!({"content": "b\n"}));
        assert_eq!(serving.done(&ClientErrand::text(token, "again")), []);
    }

    #[test]
    fn a_terminal_lives_until_it_is_released() {
        let mut serving = serving(AgentOffers::All);
        let params = json!({"command": "ls", "args": ["-l"], "outputByteLimit": 4});
        let made = serving.asked(&json!(1), "terminal/create", &params);
        let id = result(&made)["terminalId"].clone();
        let name = id.as_str().unwrap().to_owned();
        let of = json!({"terminalId": id});
        assert_eq!(serving.asked(&json!(2), "terminal/wait_for_exit", &of), []);
        serving.done(&ClientErrand::printed(&name, "abcdeé"));
        let exited = serving.done(&ClientErrand::exit(&name, Some(0), None));
        assert_eq!(result(&exited)["exitCode"], 0);
        let output = result(&serving.asked(&json!(3), "terminal/output", &of));
        assert_eq!((output["output"].as_str(), output["truncated"] == true), (Some("deé"), true));
        assert_eq!(result(&serving.asked(&json!(4), "terminal/release", &of)), json!({}));
        assert_eq!(code(&serving.asked(&json!(5), "terminal/output", &of)), Some(NOT_FOUND));
    }
}
