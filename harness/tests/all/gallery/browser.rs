//! A real browser, without a window, for pages that contain strings of a hostile host.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The names of the browser, in order of preference.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// The title that the page has after a script of the hostile host has run in it.
pub const TAKEN: &str = "taken over";

/// Returns the browser of this machine: `AHP_HARNESS_BROWSER`, or the first that is on the path.
pub fn browser() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("AHP_HARNESS_BROWSER") {
        return Some(PathBuf::from(path));
    }
    let folders = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    let all = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|path| path.is_file())
}

/// A server that counts the requests of pages.
pub struct RequestCounter {
    pub url: String,
    count: Arc<AtomicUsize>,
}

impl RequestCounter {
    pub fn start() -> RequestCounter {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let count = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&count);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                seen.fetch_add(1, Ordering::Relaxed);
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
        });
        RequestCounter { url, count }
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the markup by which a host would run scripts, load files and leave the page.
    pub fn bait(&self) -> String {
        let refresh = format!("<meta http-equiv=refresh content=\"0;url={}/refresh\">", self.url);
        refresh + &self.bait_that_stays()
    }

    /// Returns the markup without the part that replaces the page by an empty page.
    pub fn bait_that_stays(&self) -> String {
        let url = &self.url;
        let script = format!("document.title='{TAKEN}';fetch('{url}/fetched')");
        [
            format!("<script>{script}</script>"),
            format!("</script><script>{script}</script>"),
            format!("</style><style>@import url({url}/style);body{{background:url({url}/body)}}</style>"),
            format!("</title></textarea></pre><img src=\"{url}/image\" onerror=\"{script}\">"),
            format!("<svg onload=\"{script}\"></svg><iframe src=\"{url}/frame\"></iframe>"),
            format!("<link rel=stylesheet href=\"{url}/link\"><link rel=preload as=image href=\"{url}/early\">"),
            format!("\" autofocus onfocus=\"{script}\" x=\"' onmouseover='{script}' "),
            format!("javascript:{script} --><!--<input autofocus onfocus=\"{script}\">"),
            format!("<video src=\"{url}/video\" autoplay></video><object data=\"{url}/object\"></object>"),
        ]
        .concat()
    }
}

/// Loads a page, and returns its document after its scripts have run.
pub fn loaded(browser: &Path, page: &Path, folder: &Path) -> String {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-background-networking", "--virtual-time-budget=3000"])
        .arg(format!("--user-data-dir={}", folder.join("browser").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let document = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(document.contains("</html>"), "the browser showed no page: {complaints}");
    document
}
