//! The folder of one scenario about an agent: its home, where it works, and what clients do there for it.
//!
//! Nothing outside of the folder is touched: a path is followed only as far as it stays inside, links included. The folder
//! goes with the scenario, and so does whatever runs in a terminal.
//!
//! Start at [`Scratch`].

use std::io::Read as _;
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

use crate::peer::errand::Errand;
use crate::transcript::{Below, Seen};
use crate::wire::frame::Frame;
use crate::wire::json::Value;

use super::below::{Heard, Hub};
use super::process::Process;

/// Bytes of a file that are read.
const MAX_FILE: u64 = 8 << 20;
/// How long a command may run.
const RUNNING: Duration = Duration::from_secs(120);
/// Bytes that are read from a command at a time.
const CHUNK: usize = 16 << 10;
/// Bytes of its output that are told.
const MAX_PRINTED: usize = 4 << 20;

/// Tells the folders of one process apart.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// A folder for one scenario.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    running: Mutex<LiteMap<String, AbortHandle>>,
    hub: Arc<Hub>,
    case: String,
}

impl Scratch {
    /// Makes the folder, with the files of a home.
    ///
    /// # Errors
    /// It cannot be made, or a file would be outside of it.
    pub fn new(hub: Arc<Hub>, case: &str) -> std::io::Result<Scratch> {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("ahp-harness-{}-{serial}", std::process::id());
        let root = std::env::temp_dir().join(name);
        std::fs::create_dir(&root)?;
        let root = root.canonicalize()?;
        let scratch = Scratch { root, running: Mutex::default(), hub, case: case.to_owned() };
        std::fs::create_dir(scratch.home())?;
        std::fs::create_dir(scratch.work())?;
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
    pub fn run(self: &Arc<Self>, errand: Errand) {
        match errand {
            Errand::Read { token, path } => {
                let told = match self.inside(&path).and_then(|path| read(&path)) {
                    Ok(text) => Errand::text(token, &text),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        Errand::missing(token)
                    }
                    Err(error) => Errand::failed(token, &error.to_string()),
                };
                self.tell(told);
            }
            Errand::Write { token, path, text } => {
                let written = self.inside(&path).and_then(|path| write(&path, &text));
                self.tell(match written {
                    Ok(()) => Errand::text(token, &text),
                    Err(error) => Errand::failed(token, &error.to_string()),
                });
            }
            Errand::Start { terminal, command, env, cwd } => {
                let scratch = Arc::clone(self);
                let name = terminal.clone();
                let task = tokio::spawn(async move {
                    let told = scratch.command(&terminal, &command, env, &cwd).await;
                    scratch.tell(told);
                });
                self.running().insert(name, task.abort_handle());
            }
            Errand::Kill { terminal } => {
                if let Some(task) = self.running().remove(&terminal) {
                    // What is dropped with the task ends its process group.
                    task.abort();
                    self.tell(Errand::exit(&terminal, None, Some("SIGKILL")));
                }
            }
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, LiteMap<String, AbortHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, told: Value) {
        let way = Below::Local;
        let seen = Arc::new(Seen::new(Frame::json(&told)));
        self.hub.tell(&self.case, Heard { peer: way.peer().to_owned(), way, seen });
    }

    /// A path, where it stays inside of the folder of the session once every link is followed.
    fn inside(&self, path: &str) -> std::io::Result<PathBuf> {
        let path = Path::new(path);
        let folder = path.parent().unwrap_or(path).canonicalize()?;
        let name = path.file_name().ok_or_else(|| std::io::Error::other("expected a file"))?;
        let whole = folder.join(name);
        let real = whole.canonicalize().unwrap_or_else(|_| whole.clone());
        let dangling = whole.is_symlink() && !whole.exists();
        if real.starts_with(self.work()) && !dangling {
            Ok(real)
        } else {
            Err(std::io::Error::other("the path leads out of the session's folder"))
        }
    }

    async fn command(
        &self,
        terminal: &str,
        words: &[String],
        env: Vec<(String, String)>,
        cwd: &str,
    ) -> Value {
        let Some((program, args)) = words.split_first() else {
            return Errand::exit(terminal, Some(127), None);
        };
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(cwd)
            .env("HOME", self.home())
            .envs(env)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = match Process::start(&mut command) {
            Ok(process) => process,
            Err(error) => {
                self.tell(Errand::printed(terminal, &error.to_string()));
                return Errand::exit(terminal, Some(127), None);
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
            Ok(Some(code)) => Errand::exit(terminal, Some(code), None),
            Ok(None) => Errand::exit(terminal, None, Some("SIGTERM")),
            Err(_) => Errand::exit(terminal, None, Some("SIGKILL")),
        }
    }

    async fn print(&self, terminal: &str, pipe: Option<impl AsyncRead + Unpin>) {
        let Some(mut pipe) = pipe else { return };
        let (mut buffer, mut printed) = (vec![0; CHUNK], 0);
        while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
            printed += read;
            if printed <= MAX_PRINTED {
                let text = String::from_utf8_lossy(&buffer[..read]);
                self.tell(Errand::printed(terminal, &text));
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.running().values().for_each(AbortHandle::abort);
        // What an agent still writes there goes with the folder of temporary files.
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// A pipe or a device would never end.
fn plain(path: &Path) -> std::io::Result<()> {
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() => Err(std::io::Error::other("not a file")),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    plain(path)?;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    match plain(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::fs::write(path, text),
    }
}
