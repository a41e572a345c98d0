//! Runs a reducer as a process, with questions on its standard input and answers on its standard output.
//!
//! The harness treats the subject as hostile. The subject runs in its own process group, which is killed when
//! the subject breaks the protocol. The time and size of every answer are limited, and only the end of its
//! standard error is kept. A failed subject is restarted, a limited number of times. Many questions are sent at
//! once. After a failure, questions are sent one by one, to find the question that causes the failure.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::BufReader;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::reducers::exchange::{
    ExchangeError, ReducerSubject, SubjectAnswer, SubjectQuestion, excerpt, read,
};
use crate::transport::child;

use super::exit::CommandStop;
use super::interrupt::{TimeBudget, ended_by, interrupts};
use super::target::shell;

/// The maximum length of an answer to any question, in bytes.
const MAX_ANSWER: usize = 32 * 1024 * 1024;
/// The maximum length of an answer to a short question, in bytes: a hundred times the length of most answers.
const SHORT_ANSWER: usize = 256 * 1024;
/// The maximum length of an answer as a multiple of the length of its question. Hundreds of answers arrive at
/// once, so the length of each answer is limited by the length of its question.
const ANSWER_FACTOR: usize = 16;
/// The time from the start of a subject to its first answer, unless the limit for answers is longer.
const STARTING: Duration = Duration::from_secs(10);
/// The time for a subject to end after its input was closed.
const ENDING: Duration = Duration::from_secs(2);
/// After a subject has ended, the harness reads the rest of its standard error for at most this time.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// The maximum length of the standard error of a subject that is kept, in bytes.
const MAX_WORDS: usize = 400;
/// The number of failures after which a subject is given up.
const PATIENCE: u32 = 60;
/// A timeout counts as this many failures.
const SILENCE: u32 = 6;
/// The number of questions that are asked one by one after a failure.
const CAREFUL: usize = 64;

/// A subject that is restarted when needed.
pub struct SubjectProcess {
    runtime: Runtime,
    inner: SubjectProcessState,
    careful: usize,
}

struct SubjectProcessState {
    command: String,
    limit: Duration,
    running: Option<RunningSubject>,
    patience: u32,
    interrupted: watch::Receiver<bool>,
    stopped: watch::Receiver<bool>,
}

/// A running process and its children. All of them are killed when this value is dropped.
struct RunningSubject {
    process: child::ChildProcess,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    words: Arc<Mutex<VecDeque<u8>>>,
    next: u64,
    answered: Option<u64>,
    line: Vec<u8>,
}

impl SubjectProcess {
    /// Makes a subject. `sh` starts the command at the first question. `limit` is the time limit for an answer.
    ///
    /// # Errors
    /// Returns an error if the runtime cannot be started.
    pub(super) fn new(
        command: String,
        limit: Duration,
        budget: TimeBudget,
    ) -> Result<SubjectProcess, CommandStop> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CommandStop::fault(format!("no runtime: {error}")))?;
        // The listener exists from now on, so that a signal between two questions is not lost.
        let entered = runtime.enter();
        let interrupted = interrupts();
        let stopped = ended_by(interrupted.clone(), Some(budget));
        drop(entered);
        let inner = SubjectProcessState {
            command,
            limit,
            running: None,
            patience: PATIENCE,
            interrupted,
            stopped,
        };
        Ok(SubjectProcess { runtime, inner, careful: 0 })
    }

    /// Returns whether the user has interrupted the command.
    pub fn interrupted(&self) -> bool {
        *self.inner.interrupted.borrow()
    }

    /// Returns whether the user has interrupted the command, or the time budget is over.
    pub fn stopped(&self) -> bool {
        *self.inner.stopped.borrow()
    }

    /// Closes the input of the subject, waits for its end, and kills it after a timeout.
    pub fn close(&mut self) {
        if let Some(mut running) = self.inner.running.take() {
            running.input = None;
            let _ = self
                .runtime
                .block_on(async { timeout(ENDING, running.process.child().wait()).await });
        }
    }
}

impl ReducerSubject for SubjectProcess {
    fn ask(
        &mut self,
        questions: Vec<SubjectQuestion>,
    ) -> Vec<Result<SubjectAnswer, ExchangeError>> {
        let mut answers = Vec::with_capacity(questions.len());
        while answers.len() < questions.len() {
            if self.inner.patience == 0 {
                answers.push(Err(ExchangeError::GivenUp));
                continue;
            }
            let rest = questions.get(answers.len()..).unwrap_or_default();
            let width = if self.careful > 0 { 1 } else { rest.len() };
            let batch = rest.get(..width).unwrap_or_default();
            let (said, fault) = self.runtime.block_on(self.inner.exchange(batch));
            self.careful = self.careful.saturating_sub(said.len());
            answers.extend(said.into_iter().map(Ok));
            let Some(fault) = fault else { continue };
            self.inner.running = None;
            let cost = if matches!(fault, ExchangeError::Silent(_)) { SILENCE } else { 1 };
            self.inner.patience = self.inner.patience.saturating_sub(cost);
            if width == 1 || self.inner.patience == 0 {
                answers.push(Err(fault));
            } else {
                self.careful = CAREFUL;
            }
        }
        answers
    }

    fn is_lost(&self) -> bool {
        self.inner.patience == 0
    }
}

impl SubjectProcessState {
    /// Asks questions until a failure. Returns the answers before the failure.
    async fn exchange(
        &mut self,
        questions: &[SubjectQuestion],
    ) -> (Vec<SubjectAnswer>, Option<ExchangeError>) {
        if self.running.is_none() {
            match self.start().await {
                Ok(running) => self.running = Some(running),
                Err(fault) => {
                    // A subject that fails at its start would fail at every start, so it is not started again.
                    self.patience = 0;
                    return (Vec::new(), Some(fault));
                }
            }
        }
        let Some(running) = &mut self.running else {
            return (Vec::new(), Some(ExchangeError::GivenUp));
        };
        tokio::select! {
            biased;
            _ = self.stopped.wait_for(|stopped| *stopped) => {
                self.patience = 0;
                (Vec::new(), Some(ExchangeError::GivenUp))
            }
            result = running.exchange(questions, self.limit) => result,
        }
    }

    /// Starts the process and waits for the answer to a question that every reducer can answer.
    async fn start(&self) -> Result<RunningSubject, ExchangeError> {
        let mut running = RunningSubject::spawn(&self.command)?;
        match running.exchange(&[SubjectQuestion::hello()], STARTING.max(self.limit)).await {
            (_, Some(fault)) => Err(fault),
            (_, None) => Ok(running),
        }
    }
}

impl RunningSubject {
    fn spawn(command: &str) -> Result<RunningSubject, ExchangeError> {
        let died = |why: String| ExchangeError::Died(format!(" ({why})"));
        let mut line = shell(command);
        line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = child::ChildProcess::start(&mut line)
            .map_err(|error| died(format!("it could not be started: {error}")))?;
        let started = process.child();
        let output = started.stdout.take().ok_or_else(|| died("it has no output".to_owned()))?;
        let words = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(complaints) = started.stderr.take() {
            tokio::spawn(listen(complaints, Arc::clone(&words)));
        }
        Ok(RunningSubject {
            input: started.stdin.take(),
            process,
            output: BufReader::new(output),
            words,
            next: 1,
            answered: None,
            line: Vec::new(),
        })
    }

    /// Writes all questions, and reads the answers at the same time.
    async fn exchange(
        &mut self,
        questions: &[SubjectQuestion],
        limit: Duration,
    ) -> (Vec<SubjectAnswer>, Option<ExchangeError>) {
        let first = self.next;
        self.next += questions.len() as u64;
        let numbered = (first..).zip(questions);
        let lines: Vec<String> = numbered.clone().map(|(id, question)| question.line(id)).collect();
        let rooms = lines.iter().map(|line| room_for(line));
        let text = lines.concat();
        let mut input = self.input.take();
        let mut answers = Vec::with_capacity(questions.len());
        let fault = {
            let write = async {
                if let Some(input) = &mut input {
                    // The error is ignored: a subject that has closed its input also closes its output, which the
                    // reader notices.
                    let _ = input.write_all(text.as_bytes()).await;
                    let _ = input.flush().await;
                }
            };
            let read = self.answers(numbered.zip(rooms), limit, &mut answers);
            tokio::pin!(write, read);
            tokio::select! {
                fault = &mut read => fault,
                () = &mut write => read.await,
            }
        };
        self.input = input;
        let fault = match fault {
            Some(ExchangeError::Died(_)) => Some(ExchangeError::Died(self.last_words().await)),
            other => other,
        };
        (answers, fault)
    }

    async fn answers<'a>(
        &mut self,
        questions: impl Iterator<Item = ((u64, &'a SubjectQuestion), usize)>,
        limit: Duration,
        answers: &mut Vec<SubjectAnswer>,
    ) -> Option<ExchangeError> {
        for ((id, question), room) in questions {
            match timeout(limit, read_line(&mut self.output, room, &mut self.line)).await {
                Err(_) => return Some(ExchangeError::Silent(limit.as_millis())),
                Ok(Err(fault)) => return Some(fault),
                Ok(Ok(())) => {}
            }
            match read(question, id, self.answered, &self.line) {
                Ok(answer) => answers.push(answer),
                Err(fault) => return Some(fault),
            }
            self.answered = Some(id);
        }
        None
    }

    /// Describes how the process ended, with the end of its standard error.
    async fn last_words(&mut self) -> String {
        let status = timeout(LAST_WORDS, self.process.child().wait()).await;
        let status = match status {
            Ok(Ok(status)) => format!(" ({status})"),
            _ => " its output".to_owned(),
        };
        // The pause gives the listener time to read the rest.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let words = self.words.lock().map(|words| words.iter().copied().collect::<Vec<u8>>());
        let words = String::from_utf8_lossy(&words.unwrap_or_default()).trim().to_owned();
        if words.is_empty() { status } else { format!("{status}, saying `{words}`,") }
    }
}

/// Returns the maximum length of the answer to a question, in bytes.
fn room_for(question: &str) -> usize {
    question.len().saturating_mul(ANSWER_FACTOR).clamp(SHORT_ANSWER, MAX_ANSWER)
}

/// Reads one line of at most `room` bytes, without its line break.
async fn read_line(
    output: &mut BufReader<ChildStdout>,
    room: usize,
    line: &mut Vec<u8>,
) -> Result<(), ExchangeError> {
    line.clear();
    loop {
        let chunk = match output.fill_buf().await {
            Ok(chunk) if !chunk.is_empty() => chunk,
            _ => return Err(ExchangeError::Died(String::new())),
        };
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        if line.len() + part.len() > room {
            return Err(ExchangeError::TooLong { limit: room, begins: excerpt(line) });
        }
        line.extend_from_slice(part);
        let read = part.len() + usize::from(end.is_some());
        output.consume(read);
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(());
        }
    }
}

/// Keeps the end of the text that a subject writes to its standard error.
async fn listen(mut complaints: ChildStderr, words: Arc<Mutex<VecDeque<u8>>>) {
    let mut chunk = [0; 1024];
    while let Ok(count) = complaints.read(&mut chunk).await {
        let part = chunk.get(..count).unwrap_or_default();
        if part.is_empty() {
            return;
        }
        if let Ok(mut words) = words.lock() {
            words.extend(part);
            let excess = words.len().saturating_sub(MAX_WORDS);
            words.drain(..excess);
        }
    }
}
