//! The folder of one scenario about an agent: its home, where it works, and what clients do there for it.
//!
//! Nothing outside of the folder is touched: a path is followed only as far as it stays inside, links included, and what is
//! opened is reached from the folder that was made, step by step, so that no link put there meanwhile leads elsewhere. The
//! folder goes with the scenario, and so does whatever runs in a terminal.
//!
//! Start at [`ScratchFolder`].

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use litemap::LiteMap;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::peer::errand::{ClientErrand, OUTSIDE};
use crate::system::{FileAccess, SystemFolder, let_in, private_folder};
use crate::transcript::{BelowEvent, SeenFrame};
use crate::wire::frame::Frame;
use crate::wire::json::Value;

use super::below::{AgentHub, HeardBelow};
use super::child::ChildProcess;

/// Bytes of a file that are read.
const MAX_FILE: u64 = 8 << 20;
/// How long a command may run.
const RUNNING: Duration = Duration::from_secs(120);
/// Bytes that are read from a command at a time.
const CHUNK: usize = 16 << 10;
/// Bytes of its output that are told.
const MAX_PRINTED: usize = 4 << 20;

/// Folders within one another that are opened up to be removed.
const DEEP: u32 = 64;
/// Names that are tried for a folder: those of processes long gone may still be there.
const NAMES: u32 = 1_000;

/// Tells the folders of one process apart.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// A folder for one scenario.
#[derive(Debug)]
pub struct ScratchFolder {
    root: PathBuf,
    /// The folder of the session as it was made, whatever has its name by now.
    folder: SystemFolder,
    running: Mutex<LiteMap<String, AbortHandle>>,
    hub: Arc<AgentHub>,
    case: String,
}

impl ScratchFolder {
    /// Makes the folder, with the files of a home.
    ///
    /// # Errors
    /// It cannot be made, or a file would be outside of it.
    pub fn new(hub: Arc<AgentHub>, case: &str) -> std::io::Result<ScratchFolder> {
        let root = fresh()?.canonicalize()?;
        let (home, work) = (root.join("home"), root.join("work"));
        std::fs::create_dir(home)?;
        std::fs::create_dir(&work)?;
        let folder = SystemFolder::open(&work)?;
        let scratch =
            ScratchFolder { root, folder, running: Mutex::default(), hub, case: case.to_owned() };
        Ok(scratch)
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The folder of the session.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Puts a file into the home folder.
    ///
    /// # Errors
    /// It would be outside, or cannot be written.
    pub fn put(&self, name: &str, text: &str) -> std::io::Result<()> {
        let plain = |part: &str| !part.is_empty() && part != "..";
        if !name.split('/').all(plain) {
            return Err(std::io::Error::other(format!("`{name}` is not below the home folder")));
        }
        let path = self.home().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)
    }

    /// Runs an errand; what comes of it is told to the scenario.
    pub fn run(self: &Arc<Self>, errand: ClientErrand) {
        match errand {
            ClientErrand::Read { token, path } => {
                self.tell(match self.read(&path) {
                    Ok(text) => ClientErrand::text(token, &text),
                    Err(error) => failed(token, &error),
                });
            }
            ClientErrand::Write { token, path, text } => {
                self.tell(match self.write(&path, &text) {
                    Ok(()) => ClientErrand::text(token, &text),
                    Err(error) => failed(token, &error),
                });
            }
            ClientErrand::Start { terminal, command, env, cwd } => {
                let scratch = Arc::clone(self);
                let name = terminal.clone();
                let task = tokio::spawn(async move {
                    let told = scratch.command(&terminal, &command, env, &cwd).await;
                    scratch.tell(told);
                });
                self.running().insert(name, task.abort_handle());
            }
            ClientErrand::Kill { terminal } => {
                if let Some(task) = self.running().remove(&terminal) {
                    // What is dropped with the task ends its process group.
                    task.abort();
                    self.tell(ClientErrand::exit(&terminal, None, Some("SIGKILL")));
                }
            }
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, LiteMap<String, AbortHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, told: Value) {
        let way = BelowEvent::Local;
        let seen = Arc::new(SeenFrame::new(Frame::json(&told)));
        self.hub.tell(&self.case, HeardBelow { peer: way.peer().to_owned(), way, seen });
    }

    /// A path, where it stays inside of the folder of the session once every link is followed: what it is from there.
    fn inside(&self, path: &str) -> std::io::Result<PathBuf> {
        let path = Path::new(path);
        let folder = path.parent().unwrap_or(path).canonicalize()?;
        let name = path.file_name().ok_or_else(|| std::io::Error::other("expected a file"))?;
        let whole = folder.join(name);
        let real = whole.canonicalize().unwrap_or_else(|_| whole.clone());
        let dangling = whole.is_symlink() && !whole.exists();
        match real.strip_prefix(self.work()) {
            Ok(rest) if !dangling => Ok(rest.to_owned()),
            _ => Err(outside()),
        }
    }

    /// Opens a file of the folder: what links may be followed has been.
    fn open(&self, path: &str, access: FileAccess) -> std::io::Result<File> {
        self.folder.file(&self.inside(path)?, access)
    }

    fn read(&self, path: &str) -> std::io::Result<String> {
        let mut bytes = Vec::new();
        self.open(path, FileAccess::Read)?.take(MAX_FILE).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn write(&self, path: &str, text: &str) -> std::io::Result<()> {
        let mut file = self.open(path, FileAccess::Write)?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())
    }

    async fn command(
        &self,
        terminal: &str,
        words: &[String],
        env: Vec<(String, String)>,
        cwd: &str,
    ) -> Value {
        let Some((program, args)) = words.split_first() else {
            return ClientErrand::exit(terminal, Some(127), None);
        };
        if Path::new(cwd) != self.work() && self.inside(cwd).is_err() {
            self.tell(ClientErrand::printed(terminal, &outside().to_string()));
            return ClientErrand::exit(terminal, Some(127), None);
        }
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(cwd)
            .env("HOME", self.home())
            .envs(env)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = match ChildProcess::start(&mut command) {
            Ok(process) => process,
            Err(error) => {
                self.tell(ClientErrand::printed(terminal, &error.to_string()));
                return ClientErrand::exit(terminal, Some(127), None);
            }
        };
        let (out, err) = (process.child().stdout.take(), process.child().stderr.take());
        let all = async {
            let reading = async {
                tokio::join!(self.print(terminal, out), self.print(terminal, err));
            };
            let (status, ()) = tokio::join!(process.child().wait(), reading);
            status.ok().and_then(|status| status.code())
        };
        match timeout(RUNNING, all).await {
            Ok(Some(code)) => ClientErrand::exit(terminal, Some(code), None),
            Ok(None) => ClientErrand::exit(terminal, None, Some("SIGTERM")),
            Err(_) => ClientErrand::exit(terminal, None, Some("SIGKILL")),
        }
    }

    async fn print(&self, terminal: &str, pipe: Option<impl AsyncRead + Unpin>) {
        let Some(mut pipe) = pipe else { return };
        let (mut buffer, mut printed) = (vec![0; CHUNK], 0);
        while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
            printed += read;
            if printed <= MAX_PRINTED {
                let text = String::from_utf8_lossy(&buffer[..read]);
                self.tell(ClientErrand::printed(terminal, &text));
            }
        }
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        self.running().values().for_each(AbortHandle::abort);
        if std::fs::remove_dir_all(&self.root).is_err() {
            open_up(&self.root, DEEP);
            // What cannot be removed even so goes with the folder of temporary files.
            let _ = std::fs::remove_dir_all(&self.root);
        }
    }
}

/// A folder that nobody else has, or can look into.
fn fresh() -> std::io::Result<PathBuf> {
    let mut made = std::io::Error::other("there is no name for it");
    for _ in 0..NAMES {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("ahp-harness-{}-{serial}", std::process::id()));
        match private_folder(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => made = error,
            Err(error) => return Err(error),
        }
    }
    Err(made)
}

/// Lets us into folders that were closed to us.
fn open_up(folder: &Path, deep: u32) {
    let_in(folder);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|_| deep > 0) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path(), deep - 1);
        }
    }
}

fn outside() -> std::io::Error {
    std::io::Error::other(OUTSIDE)
}

fn failed(token: u64, error: &std::io::Error) -> Value {
    match error.kind() {
        std::io::ErrorKind::NotFound => ClientErrand::missing(token),
        _ => ClientErrand::failed(token, &error.to_string()),
    }
}
