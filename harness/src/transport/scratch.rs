//! The folder of one scenario with an agent. It is the agent's home and working directory, and the client's file
//! operations work in it.
//!
//! The client never reads or writes outside the folder. A path must stay inside the folder after all symbolic links are
//! resolved. Files are opened step by step relative to the open folder, so a link that appears in the meantime is not
//! followed. The folder is removed, and all processes of its terminals are killed, at the end of the scenario.
//!
//! Start at [`ScratchFolder`].

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use litemap::LiteMap;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::peer::errand::{ClientErrand, OUTSIDE};
use crate::system::{FileAccess, SystemFolder, let_in};
use crate::transcript::{BelowEvent, SeenFrame};
use crate::wire::frame::Frame;
use crate::wire::json::Value;

use super::below::{AgentHub, HeardBelow};
use super::child::ChildProcess;

/// The maximum number of bytes read from a file.
const MAX_FILE: u64 = 8 << 20;
/// The timeout of a command.
const RUNNING: Duration = Duration::from_secs(120);
/// The size of a read from a command's output, in bytes.
const CHUNK: usize = 16 << 10;
/// The maximum number of bytes of a command's output that are reported.
const MAX_PRINTED: usize = 4 << 20;

/// The maximum depth of nested folders whose permissions are changed before removal.
const DEEP: u32 = 64;

/// A folder for one scenario.
#[derive(Debug)]
pub struct ScratchFolder {
    root: PathBuf,
    /// The open handle of the session's folder. The handle refers to this folder even if the path later names another
    /// folder.
    folder: SystemFolder,
    running: Mutex<LiteMap<String, AbortHandle>>,
    hub: Arc<AgentHub>,
    case: String,
}

impl ScratchFolder {
    /// Creates the folder.
    ///
    /// # Errors
    /// Returns an error if the folder could not be created.
    pub fn new(hub: Arc<AgentHub>, case: &str) -> std::io::Result<ScratchFolder> {
        // `keep` disables the removal by `tempfile`, because `Drop` below also removes folders that even their owner
        // cannot enter.
        let root =
            tempfile::Builder::new().prefix("ahp-harness-").tempdir()?.keep().canonicalize()?;
        let_in(&root);
        let (home, work) = (root.join("home"), root.join("work"));
        std::fs::create_dir(home)?;
        std::fs::create_dir(&work)?;
        let folder = SystemFolder::open(&work)?;
        let scratch =
            ScratchFolder { root, folder, running: Mutex::default(), hub, case: case.to_owned() };
        Ok(scratch)
    }

    /// Returns the path of the home folder.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the path of the session's folder.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Writes a file into the home folder.
    ///
    /// # Errors
    /// Returns an error if the path is outside the home folder, or the file could not be written.
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

    /// Performs a file operation or a command for the client, and reports the result to the scenario.
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
                    // The task is aborted. This drops its values, and the process group is killed.
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

    /// Returns a path relative to the session's folder. Returns an error if the path leads outside after all
    /// symbolic links are resolved.
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

    /// Opens a file of the folder. Permitted links are already resolved in the path; other links are not
    /// followed.
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
            // A folder that cannot be removed remains among the temporary files of the system.
            let _ = std::fs::remove_dir_all(&self.root);
        }
    }
}

/// Gives the current user access to all nested folders.
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
