//! `ahp-harness record`: records the messages between clients and their host.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use regex_lite::Regex;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::record::fault::{TransportFault, help};
use crate::record::handshake::UpstreamHost;
use crate::record::journal::{RecordCounts, RecordJournal};
use crate::record::proxy::{RecordProxy, TimedNote};
use crate::record::relay::{ConnectionRelay, RecordedItem};
use crate::report::connection_logs::LogWriter;
use crate::report::console::{ConsoleReport, TranscriptPlace};
use crate::report::event::{CheckLine, FORMAT};
use crate::report::jsonl::RunWriter;
use crate::report::judged_subject::JudgedSubject;
use crate::report::redact::{SecretRedactor, secrets_of_header, secrets_of_target};
use crate::report::rule_quotes::RuleQuotes;
use crate::run::mint::iso8601;
use crate::run::play::{CountingRecorder, TranscriptRecorder};
use crate::transcript::{ClosingSide, ConnectionEvent};
use crate::verdict::Finding;
use crate::wire::version::ProtocolStandard;

use super::context::CliContext;
use super::exit::{CommandExit, CommandOutcome, CommandStop};
use super::files;
use super::interrupt::{in_time, signalled};
use super::log_folder;
use super::options::{self, FailureThreshold, SubjectOption};
use super::target::shown;

/// Records the messages between clients and their host: forwards them, writes them to a capture, and judges the host,
/// or with `--of clients` the clients.
///
/// Connect your clients to the address that the command prints. All bytes are forwarded unchanged, including pings.
/// Findings are printed at once. Ctrl-C ends the recording; the command then prints a summary and completes the file.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct RecordArguments {
    /// The address to which clients connect; a loopback address, with port 0 for a free port
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The URL of the host (ws:// or wss://); its path and query are used if the client sends none
    #[arg(long)]
    url: String,
    /// Send this header to the host in place of the client's header of that name, `Name: value` (repeatable)
    #[arg(long, value_parser = options::header)]
    header: Vec<(String, String)>,
    /// Send `Authorization: Bearer TOKEN` to the host in place of the client's `Authorization` header
    #[arg(long)]
    token: Option<String>,
    /// The file for the capture; with `--format ahp-log` a folder
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The format of the capture: one file, or one log per connection as VS Code's agent host writes them
    #[arg(long, value_enum, default_value_t, requires = "out")]
    format: CaptureFormat,
    /// Inject this transport fault when a matching message comes (repeatable); the syntax is explained below
    #[arg(long, value_name = "RULE")]
    fault_on: Vec<TransportFault>,
    /// Replace all text that this regular expression matches in the output (repeatable)
    #[arg(long, value_name = "REGEX")]
    redact: Vec<Regex>,
    /// Report a finding if this text occurs in a frame of the host, and replace the text in all output; for example the
    /// content of a file that clients may not read (repeatable)
    #[arg(long, value_name = "TEXT")]
    secret: Vec<String>,
    #[command(flatten)]
    subject: SubjectOption,
    #[command(flatten)]
    threshold: FailureThreshold,
    /// Do not print a line when a connection opens or closes
    #[arg(long, short)]
    quiet: bool,
}

/// How a capture is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
enum CaptureFormat {
    // These are comments and not doc comments, because clap would then print the help of every option as a paragraph.
    // One file in the capture format.
    #[default]
    Capture,
    // A log for each connection.
    AhpLog,
}

/// The destination of a recording: one capture file, or a folder of logs.
#[derive(Clone)]
enum CaptureSink {
    Capture(RunWriter),
    Logs(LogWriter),
}

impl CaptureSink {
    fn recorder(&self) -> Box<dyn TranscriptRecorder> {
        match self {
            CaptureSink::Capture(writer) => writer.recorder(None),
            CaptureSink::Logs(writer) => writer.recorder(),
        }
    }

    fn flush(&self) {
        match self {
            CaptureSink::Capture(writer) => writer.flush(),
            CaptureSink::Logs(writer) => writer.flush(),
        }
    }

    fn finish(&self, counts: &RecordCounts) -> std::io::Result<()> {
        match self {
            CaptureSink::Capture(writer) => {
                writer.about("end", counts);
                writer.finish()
            }
            CaptureSink::Logs(writer) => writer.finish(),
        }
    }
}

impl RecordArguments {
    pub(super) fn main(self, context: &CliContext) -> CommandOutcome {
        if !self.listen.ip().is_loopback() {
            let address = self.listen;
            return Err(CommandStop::usage(format!(
                "expected a loopback address, found `{address}` (hint: clients that connect use your tokens)"
            )));
        }
        let subject = self.subject.subject().map_err(CommandStop::usage)?;
        let mut headers = self.header.clone();
        headers.extend(
            self.token.iter().map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))),
        );
        let secrets = headers.iter().flat_map(|(name, value)| secrets_of_header(name, value));
        let secrets: Vec<_> =
            secrets.chain(secrets_of_target(&self.url)).chain(self.secret.clone()).collect();
        let redactor = SecretRedactor::new(secrets, self.redact.clone());
        let upstream = UpstreamHost::new(&self.url, headers).map_err(CommandStop::usage)?;
        let relay = ConnectionRelay::new(self.fault_on.clone());
        let (proxy, noted) = RecordProxy::new(upstream, relay, redactor.clone())
            .map_err(CommandStop::unreachable)?;
        let writer = self.writer(context, &redactor)?;
        in_time(None, self.recorded(context, &redactor, (&proxy, noted), writer, &subject))
    }

    fn writer(
        &self,
        context: &CliContext,
        redactor: &SecretRedactor,
    ) -> Result<Option<CaptureSink>, CommandStop> {
        let Some(path) = &self.out else {
            return Ok(None);
        };
        if self.format == CaptureFormat::AhpLog {
            let folder = log_folder::prepared(path)?;
            let what = format!("of {}", shown(&self.url));
            let writer = log_folder::writer(folder, redactor.clone(), context.epoch, &what);
            return Ok(Some(CaptureSink::Logs(writer)));
        }
        let file = files::create(path)?;
        let writer = RunWriter::new(Box::new(file), redactor.clone());
        writer.about(
            "capture",
            &json!({
                "format": FORMAT,
                "harness": env!("CARGO_PKG_VERSION"),
                "target": shown(&self.url),
                "started": iso8601(context.epoch),
            }),
        );
        Ok(Some(CaptureSink::Capture(writer)))
    }

    async fn recorded(
        &self,
        context: &CliContext,
        redactor: &SecretRedactor,
        (proxy, noted): (&Arc<RecordProxy>, UnboundedReceiver<TimedNote>),
        writer: Option<CaptureSink>,
        subject: &JudgedSubject,
    ) -> CommandOutcome {
        let listener = TcpListener::bind(self.listen).await.map_err(|error| {
            CommandStop::usage(format!("cannot listen on {}: {error}", self.listen))
        })?;
        let address = listener.local_addr().unwrap_or(self.listen);
        let began = Instant::now();
        let file = self.out.as_ref().map(|path| path.display().to_string());
        let console = ConsoleReport::new(
            context.style,
            match (self.format, file) {
                (CaptureFormat::AhpLog, Some(folder)) => TranscriptPlace::Folder(folder),
                (_, file) => TranscriptPlace::in_file(file),
            },
            RuleQuotes::newest(),
        );
        context.say(&format!("ws://{address}\n"));
        let recorder = match &writer {
            Some(writer) => writer.recorder(),
            None => Box::new(CountingRecorder::default()) as Box<dyn TranscriptRecorder>,
        };
        let journal = RecordJournal::of(recorder, redactor.clone(), subject);
        let said = RecordMessage {
            context: context.clone(),
            console: console.clone(),
            redactor: redactor.clone(),
            quiet: self.quiet,
        };
        let keeper = Arc::clone(proxy);
        if writer.is_some() {
            proxy.recorded(0);
        }
        let flushed = writer.clone();
        let judging = tokio::task::spawn_blocking(move || {
            judge(journal, noted, &keeper, flushed.as_ref(), &said)
        });
        tokio::select! {
            () = proxy.serve(listener) => {}
            _ = signalled() => {}
        }
        proxy.end();
        let journal = judging
            .await
            .map_err(|error| CommandStop::fault(format!("the judging thread failed: {error}")))?;
        let counts = journal.counts;
        let mut summary = subject.summary(ProtocolStandard::Ahp, self.threshold.fail_on());
        let lines: Vec<CheckLine> = journal.finish().iter().map(CheckLine::from).collect();
        summary.add_checks("the recording", &lines);
        let findings = console.findings(&summary);
        let passed = format!(
            "{} connections, {} messages from clients, {} from the host in {:.2} s",
            counts.connections,
            counts.sent,
            counts.received,
            began.elapsed().as_secs_f64()
        );
        let checks = console.checks(&summary);
        context.say(&redactor.text(&format!("\n{findings}\n{passed}\n{checks}")));
        for rule in proxy.unused() {
            context.say(&format!("note: no message matched the transport fault `{rule}`\n"));
        }
        if let Some(writer) = writer {
            writer.finish(&counts).map_err(|error| {
                CommandStop::fault(format!("the capture could not be written: {error}"))
            })?;
        }
        Ok(if summary.failed() { CommandExit::Failed } else { CommandExit::Ok })
    }
}

/// The messages to print during the recording.
struct RecordMessage {
    context: CliContext,
    console: ConsoleReport,
    redactor: SecretRedactor,
    quiet: bool,
}

/// A guard: when the journal ends or fails, the proxy forwards messages without waiting for the journal.
struct JournalEnd<'a>(&'a RecordProxy);

impl Drop for JournalEnd<'_> {
    fn drop(&mut self) {
        self.0.recorded(u64::MAX);
    }
}

/// Writes and judges the messages on a separate thread, until the proxy ends.
fn judge(
    mut journal: RecordJournal,
    mut noted: UnboundedReceiver<TimedNote>,
    proxy: &RecordProxy,
    writer: Option<&CaptureSink>,
    said: &RecordMessage,
) -> RecordJournal {
    let _unblocks = JournalEnd(proxy);
    let mut taken = 0;
    while let Some(next) = noted.blocking_recv() {
        taken += 1;
        let weight = next.weight();
        said.event(&next);
        for finding in journal.take(next.at, next.note) {
            said.finding(next.at, &finding);
        }
        proxy.done(weight);
        if let (Some(writer), true) = (writer, noted.is_empty()) {
            // The queue is empty, so after the flush a reader of the file sees all messages so far. The queue soon
            // becomes empty, because the proxy forwards nothing until its messages are recorded.
            writer.flush();
            proxy.recorded(taken);
        }
    }
    journal
}

impl RecordMessage {
    fn event(&self, noted: &TimedNote) {
        let what = match &noted.note.what {
            RecordedItem::Event(ConnectionEvent::Fault { what }) => format!("fault: {what}"),
            _ if self.quiet => return,
            RecordedItem::Event(ConnectionEvent::Open { handshake, .. }) => {
                let protocol = handshake.as_ref().and_then(|handshake| handshake.subprotocol());
                let protocol = protocol.map(|name| format!(", subprotocol {name}"));
                format!("connected{}", protocol.unwrap_or_default())
            }
            RecordedItem::Event(ConnectionEvent::Refused(handshake)) => {
                let answer = handshake.response.first().map_or("", String::as_str);
                format!("refused by the host: {answer}")
            }
            RecordedItem::Event(ConnectionEvent::Closed { by, code, reason }) => {
                let by = if *by == ClosingSide::Client { "client" } else { "host" };
                let code = code.map(|code| format!(" with code {code}")).unwrap_or_default();
                let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                format!("closed by the {by}{code}{reason}")
            }
            _ => return,
        };
        let name = ConnectionRelay::name(noted.note.conn);
        self.say(&format!("{:9.3} s  {name} {what}\n", noted.at.as_secs_f64()));
    }

    fn finding(&self, at: Duration, finding: &Finding) {
        let text = self.console.found(finding);
        self.say(&format!("{:9.3} s  {text}\n", at.as_secs_f64()));
    }

    fn say(&self, text: &str) {
        self.context.say(&self.redactor.text(text));
    }
}
