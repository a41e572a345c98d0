//! What a client of ACP serves its agent with: files of one folder, and commands that run there.
//!
//! [`Serving`] is told what the agent asks and what came of errands; it says what to answer and which errands to run.
//! What is not offered is refused, and so is what lies outside the folder. Permissions are not its business: a person, or
//! a scenario, decides about those.
//!
//! Knows: the methods of ACP that agents ask. Never knows: files, processes, scenarios.
//!
//! Start at [`Serving::asked`].

use litemap::LiteMap;

use crate::wire::json::{Value, json};
use crate::wire::message::Message;

use super::errand::{Errand, OUTSIDE};

/// Terminals that an agent may have at a time.
const MAX_TERMINALS: usize = 50;
/// Errands, and waits for the end of commands, that may be open.
const MAX_OPEN: usize = 1_000;
/// Bytes of a terminal's output that are kept at most.
const MAX_OUTPUT: usize = 1 << 20;
/// Bytes of files and of output that an agent is given in all.
const MAX_SERVED: usize = 64 << 20;
/// Bytes of a file that an agent may write.
const MAX_FILE: usize = 8 << 20;

/// Characters of a path that are shown.
const SHOWN: usize = 120;

/// Params that cannot be served.
const INVALID: i64 = -32602;
/// There is no such thing.
const NOT_FOUND: i64 = -32002;
/// It went wrong.
const INTERNAL: i64 = -32603;
/// There is no such method here.
const NO_METHOD: i64 = -32601;

/// What a client offers an agent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Offers {
    /// Nothing.
    #[default]
    Nothing,
    /// Files.
    Fs,
    /// Files and terminals.
    FsTerminal,
    /// Everything that there is.
    All,
}

impl Offers {
    /// Every one, with the word of a scenario.
    pub const ALL: [(Offers, &'static str); 4] = [
        (Offers::Nothing, "nothing"),
        (Offers::Fs, "fs"),
        (Offers::FsTerminal, "fs-terminal"),
        (Offers::All, "all"),
    ];

    /// What a word of a scenario stands for.
    pub fn named(word: &str) -> Option<Offers> {
        Offers::ALL.iter().find(|(_, known)| *known == word).map(|(offers, _)| *offers)
    }

    /// The word of a scenario for it.
    pub fn word(self) -> &'static str {
        Offers::ALL.iter().find(|(offers, _)| *offers == self).map_or("nothing", |(_, word)| *word)
    }

    /// The `clientCapabilities`.
    pub fn capabilities(self) -> Value {
        let (files, terminal) = (self.files(), self.terminal());
        let mut all = json!({
            "fs": {"readTextFile": files, "writeTextFile": files}, "terminal": terminal,
        });
        if self == Offers::All {
            all["session"] =
                json!({"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}});
            all["elicitation"] = json!({"form": {}, "url": {}});
        }
        all
    }

    fn files(self) -> bool {
        self != Offers::Nothing
    }

    fn terminal(self) -> bool {
        matches!(self, Offers::FsTerminal | Offers::All)
    }
}

/// Something that serving leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// An answer goes out.
    Answer(Message),
    /// Something is to be done.
    Errand(Errand),
}

/// What an errand was for.
#[derive(Clone, Debug)]
enum Purpose {
    Read { line: u64, limit: Option<u64> },
    Write,
}

/// A terminal of an agent's.
#[derive(Debug, Default)]
struct Terminal {
    output: String,
    limit: usize,
    truncated: bool,
    exit: Option<Value>,
    /// Requests that wait for its end.
    waiting: Vec<Value>,
}

/// The client's side of what an agent asks.
#[derive(Debug, Default)]
pub struct Serving {
    folder: String,
    offers: Offers,
    serial: u64,
    open: LiteMap<u64, (Value, Purpose)>,
    terminals: LiteMap<String, Terminal>,
    /// Bytes that were given so far.
    served: usize,
    /// A path elsewhere that was asked for last, and that nobody has been told of.
    elsewhere: Option<String>,
}

/// How a request is served: at once, later, or not.
type Served = Result<Vec<Deed>, (i64, String)>;

impl Serving {
    /// A client that offers nothing yet, of an agent that works in this folder. Its errands and terminals are counted
    /// from `first` on, so that those of several clients differ.
    pub fn new(folder: &str, first: u64) -> Serving {
        Serving { folder: folder.to_owned(), serial: first, ..Serving::default() }
    }

    /// From now on offers this.
    pub fn offer(&mut self, offers: Offers) {
        self.offers = offers;
    }

    /// The agent asks.
    pub fn asked(&mut self, id: &Value, method: &str, params: &Value) -> Vec<Deed> {
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
            "elicitation/create" if self.offers == Offers::All => {
                Ok(vec![answer(id, json!({"action": "decline"}))])
            }
            _ => Err((NO_METHOD, format!("`{method}` is not served by this client"))),
        };
        served.unwrap_or_else(|(code, why)| {
            vec![Deed::Answer(Message::failure(id.clone(), code, &why, Value::Null))]
        })
    }

    /// Something came of an errand.
    pub fn done(&mut self, told: &Value) -> Vec<Deed> {
        if let Some(name) = told["terminal"].as_str() {
            return self.happened(name, told);
        }
        let token = told["token"].as_u64();
        let Some((id, purpose)) = token.and_then(|token| self.open.remove(&token)) else {
            return Vec::new();
        };
        let text = told["text"].as_str();
        let outcome = match (text, purpose) {
            (Some(_), Purpose::Write) => Ok(json!({})),
            (Some(text), Purpose::Read { line, limit }) => {
                let content = lines(text, line, limit);
                self.gives(content.len()).map(|()| json!({"content": content}))
            }
            // Agents look for these words to tell a new file from trouble.
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
            Err((code, why)) => Deed::Answer(Message::failure(id, code, why, Value::Null)),
        }]
    }

    /// Whether that many bytes more may be given.
    fn gives(&mut self, bytes: usize) -> Result<(), (i64, &'static str)> {
        self.served = self.served.saturating_add(bytes);
        match self.served {
            ..=MAX_SERVED => Ok(()),
            _ => Err((INTERNAL, "more was asked for than anybody can need")),
        }
    }

    /// A path outside of the folder that was asked for and refused, once.
    pub fn elsewhere(&mut self) -> Option<String> {
        self.elsewhere.take()
    }

    fn errand(&mut self, id: &Value, purpose: Purpose) -> Result<u64, (i64, String)> {
        if self.open.len() >= MAX_OPEN {
            return Err((INTERNAL, "too much is asked at a time".to_owned()));
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

    fn read(&mut self, id: &Value, params: &Value) -> Served {
        let path = self.path(params)?;
        let line = params["line"].as_u64().unwrap_or(1);
        let purpose = Purpose::Read { line, limit: params["limit"].as_u64() };
        let token = self.errand(id, purpose)?;
        Ok(vec![Deed::Errand(Errand::Read { token, path })])
    }

    fn write(&mut self, id: &Value, params: &Value) -> Served {
        let path = self.path(params)?;
        let text = params["content"].as_str().unwrap_or_default().to_owned();
        if text.len() > MAX_FILE {
            return Err((INVALID, "the file is too large".to_owned()));
        }
        let token = self.errand(id, Purpose::Write)?;
        Ok(vec![Deed::Errand(Errand::Write { token, path, text })])
    }

    fn create(&mut self, id: &Value, params: &Value) -> Served {
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
        let known = Terminal { limit: limit.min(MAX_OUTPUT), ..Terminal::default() };
        self.terminals.insert(terminal.clone(), known);
        Ok(vec![
            answer(id, json!({"terminalId": (terminal.as_str())})),
            Deed::Errand(Errand::Start { terminal, command, env, cwd }),
        ])
    }

    fn terminal(&mut self, params: &Value) -> Result<(&str, &mut Terminal), (i64, String)> {
        let name = params["terminalId"].as_str().unwrap_or_default();
        let found = self.terminals.iter_mut().find(|(known, _)| *known == name);
        let found = found.map(|(name, terminal)| (name.as_str(), terminal));
        found.ok_or_else(|| (NOT_FOUND, format!("no terminal is called `{name}`")))
    }

    fn output(&mut self, id: &Value, params: &Value) -> Served {
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

    fn wait(&mut self, id: &Value, params: &Value) -> Served {
        let (_, terminal) = self.terminal(params)?;
        match &terminal.exit {
            Some(exit) => Ok(vec![answer(id, exit.clone())]),
            None if terminal.waiting.len() < MAX_OPEN => {
                terminal.waiting.push(id.clone());
                Ok(Vec::new())
            }
            None => Err((INTERNAL, "too many wait for it".to_owned())),
        }
    }

    fn kill(&mut self, id: &Value, params: &Value, release: bool) -> Served {
        let (name, terminal) = self.terminal(params)?;
        let (name, runs) = (name.to_owned(), terminal.exit.is_none());
        let waiting = std::mem::take(&mut terminal.waiting);
        let mut deeds = vec![answer(id, json!({}))];
        if release {
            self.terminals.remove(&name);
            // Whoever waits for its end would wait for ever.
            let gone = json!({"exitCode": null, "signal": "SIGKILL"});
            deeds.extend(waiting.iter().map(|id| answer(id, gone.clone())));
        } else {
            self.terminal(params)?.1.waiting = waiting;
        }
        if runs {
            deeds.push(Deed::Errand(Errand::Kill { terminal: name }));
        }
        Ok(deeds)
    }

    fn happened(&mut self, name: &str, told: &Value) -> Vec<Deed> {
        let Some(terminal) = self.terminals.get_mut(name) else { return Vec::new() };
        if let Some(text) = told["printed"].as_str() {
            terminal.print(text);
        }
        let Some(exit) = told.get("exit") else { return Vec::new() };
        terminal.exit = Some(exit.clone());
        std::mem::take(&mut terminal.waiting).iter().map(|id| answer(id, exit.clone())).collect()
    }
}

impl Terminal {
    /// Output is cut at its beginning, between characters.
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

fn answer(id: &Value, result: Value) -> Deed {
    Deed::Answer(Message::success(id.clone(), result))
}

/// Lines of a text, from one on, counted from 1.
fn lines(text: &str, line: u64, limit: Option<u64>) -> String {
    if line <= 1 && limit.is_none() {
        return text.to_owned();
    }
    let skip = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    let take = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    text.split_inclusive('\n').skip(skip).take(take).collect()
}

/// The beginning of a path.
fn brief(path: &str) -> String {
    match path.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", path.get(..end).unwrap_or_default()),
        None => path.to_owned(),
    }
}

/// A path of a folder, as it stands; `None` where it leads elsewhere.
pub fn within(folder: &str, path: &str) -> Option<String> {
    let folder = folder.trim_end_matches('/');
    let rest = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'))?;
    let plain = |part: &str| !part.is_empty() && part != ".." && part != ".";
    rest.split('/').all(plain).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serving(offers: Offers) -> Serving {
        let mut serving = Serving::new("/w", 0);
        serving.offer(offers);
        serving
    }

    fn code(deeds: &[Deed]) -> Option<i64> {
        match deeds {
            [Deed::Answer(message)] => message.error_code(),
            _ => None,
        }
    }

    fn result(deeds: &[Deed]) -> Value {
        match deeds {
            [Deed::Answer(message), ..] => message.result().cloned().unwrap_or_default(),
            _ => Value::Null,
        }
    }

    #[test]
    fn refuses_what_it_does_not_offer_and_what_is_elsewhere() {
        let ask = |offers, method: &str, path: &str| {
            code(&serving(offers).asked(&json!(1), method, &json!({"path": path, "content": ""})))
        };
        assert_eq!(ask(Offers::Nothing, "fs/read_text_file", "/w/a"), Some(NO_METHOD));
        assert_eq!(ask(Offers::Fs, "terminal/create", ""), Some(NO_METHOD));
        assert_eq!(ask(Offers::Fs, "fs/write_text_file", "/w/a"), None);
        for path in ["/etc/passwd", "/w/../etc/passwd", "/wa", "a", "/w", "/w//a"] {
            assert_eq!(ask(Offers::Fs, "fs/read_text_file", path), Some(INVALID), "{path}");
        }
        let mut serving = serving(Offers::All);
        for cwd in ["/", "/w/..", "/wa"] {
            let params = json!({"command": "ls", "cwd": cwd});
            assert_eq!(code(&serving.asked(&json!(1), "terminal/create", &params)), Some(INVALID));
            assert_eq!(serving.elsewhere(), Some(format!("`{cwd}`")));
            assert_eq!(serving.elsewhere(), None);
        }
    }

    #[test]
    fn gives_so_much_and_no_more() {
        let mut serving = serving(Offers::Fs);
        let text = "a".repeat(8 << 20);
        let mut given = 0;
        loop {
            let deeds = serving.asked(&json!(1), "fs/read_text_file", &json!({"path": "/w/a"}));
            let [Deed::Errand(Errand::Read { token, .. })] = deeds[..] else { panic!("{deeds:?}") };
            match code(&serving.done(&Errand::text(token, &text))) {
                None => given += text.len(),
                Some(refused) => break assert_eq!(refused, INTERNAL),
            }
        }
        assert_eq!(given, MAX_SERVED);
    }

    #[test]
    fn gives_the_lines_that_are_asked_for() {
        let mut serving = serving(Offers::Fs);
        let params = json!({"path": "/w/a", "line": 2, "limit": 1});
        let deeds = serving.asked(&json!("x"), "fs/read_text_file", &params);
        let [Deed::Errand(Errand::Read { token, .. })] = deeds[..] else { panic!("{deeds:?}") };
        let deeds = serving.done(&Errand::text(token, "a\nb\nc"));
        assert_eq!(result(&deeds), json!({"content": "b\n"}));
        assert_eq!(serving.done(&Errand::text(token, "again")), []);
    }

    #[test]
    fn a_terminal_lives_until_it_is_released() {
        let mut serving = serving(Offers::All);
        let params = json!({"command": "ls", "args": ["-l"], "outputByteLimit": 4});
        let made = serving.asked(&json!(1), "terminal/create", &params);
        let id = result(&made)["terminalId"].clone();
        let name = id.as_str().unwrap().to_owned();
        let of = json!({"terminalId": id});
        assert_eq!(serving.asked(&json!(2), "terminal/wait_for_exit", &of), []);
        serving.done(&Errand::printed(&name, "abcdeé"));
        let exited = serving.done(&Errand::exit(&name, Some(0), None));
        assert_eq!(result(&exited)["exitCode"], 0);
        let output = result(&serving.asked(&json!(3), "terminal/output", &of));
        assert_eq!((output["output"].as_str(), output["truncated"] == true), (Some("deé"), true));
        assert_eq!(result(&serving.asked(&json!(4), "terminal/release", &of)), json!({}));
        assert_eq!(code(&serving.asked(&json!(5), "terminal/output", &of)), Some(NOT_FOUND));
    }
}
