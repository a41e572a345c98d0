//! Merges the files of several runs into one: the shards of a suite that were played on several machines.
//!
//! Lines are copied as they are read, and only the totals and the scenario names of each run are kept in memory. In a
//! copied line, only the case number and the references to other lines change.
//!
//! Start at [`merge`].

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use litemap::LiteMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::run::plan::SelectionShard;
use crate::transcript::reader::{self, TranscriptReader};
use crate::verdict::{FailOn, Status};

use super::event::{CaseReport, CaseStart, CaseStop, FORMAT, RunHeader};
use super::finished::{RunFooter, case_of};
use super::jsonl;
use super::outage::VoidCase;
use super::summary::RunSummary;

/// The result of a merge.
#[derive(Debug, Default)]
pub struct MergeResult {
    /// The summary of all scenarios.
    pub summary: RunSummary,
    /// The shards of the suite that no file contains.
    pub missing: Vec<SelectionShard>,
}

/// The members of the header that may differ between the files. All other members must be equal.
const OWN: [&str; 4] = ["seed", "started", "epoch_us", "shard"];

/// Merges the named files and writes the result to `out`.
///
/// # Errors
/// Returns an error if a line is invalid, a file was cut off, the files are from different runs, a scenario is
/// in two files, or `out` is not writable.
pub fn merge<R: BufRead>(
    files: Vec<(String, R)>,
    out: &mut impl Write,
) -> Result<MergeResult, String> {
    let mut parts = Vec::new();
    for (name, input) in files {
        let mut reader = TranscriptReader::new(input);
        let header = header(&mut reader).map_err(|error| format!("{name}:{error}"))?;
        parts.push(MergePart { name, reader, header });
    }
    let Some(first) = parts.first() else { return Err("expected a file".to_owned()) };
    for other in &parts[1..] {
        same(first, other)?;
    }
    let shards: Vec<SelectionShard> = parts.iter().filter_map(MergePart::shard).collect();
    let missing = SelectionShard::missing(&shards);
    let header = RunHeader { shard: None, ..first.header.clone() };
    let mut joining = MergeJoin {
        header,
        out,
        written: 0,
        base: 0,
        cases: 0,
        owners: BTreeMap::new(),
        summary: RunSummary::of_party(
            first.header.standard(),
            first.header.party(),
            FailOn::default(),
        ),
        excused: LiteMap::new(),
        took_ms: 0,
        // Like an interrupted run, an incomplete merge cannot certify a host.
        interrupted: !missing.is_empty(),
        exit: 0,
    };
    let line = jsonl::about("header", &joining.header);
    joining.put(&line)?;
    for (place, part) in parts.into_iter().enumerate() {
        joining.part(place, part)?;
    }
    let summary = joining.finish()?;
    Ok(MergeResult { summary, missing })
}

/// One of the files to merge.
struct MergePart<R> {
    name: String,
    reader: TranscriptReader<R>,
    header: RunHeader,
}

impl<R> MergePart<R> {
    fn shard(&self) -> Option<SelectionShard> {
        self.header.shard.as_ref()?.parse().ok()
    }
}

fn header<R: BufRead>(reader: &mut TranscriptReader<R>) -> Result<RunHeader, String> {
    let line = reader.next_line().map_err(|error| error.to_string())?;
    let text = line.map(|(_, text)| text).unwrap_or_default();
    if reader::about(text).as_deref() != Some("header") {
        return Err(
            "1: expected the header of a run (hint: `ahp-harness run --report jsonl=FILE` \
                    writes such a file)"
                .to_owned(),
        );
    }
    let header: RunHeader = serde_json::from_str(text).map_err(|error| format!("1: {error}"))?;
    match header.format {
        FORMAT => Ok(header),
        other => Err(format!("1: expected a run of format {FORMAT}, found {other}")),
    }
}

/// Compares the headers of two files.
fn same<R>(one: &MergePart<R>, other: &MergePart<R>) -> Result<(), String> {
    let value = |part: &MergePart<R>| {
        let target = place(part.header.target.raw()).into();
        let header = RunHeader { target, ..part.header.clone() };
        serde_json::to_value(header).unwrap_or_default()
    };
    let (left, right) = (value(one), value(other));
    let keys =
        [&left, &right].map(|value| value.as_object().into_iter().flat_map(|map| map.keys()));
    let mut keys: Vec<&String> =
        keys.into_iter().flatten().filter(|key| !OWN.contains(&key.as_str())).collect();
    // A difference in a short member is preferred, because it often explains a difference in a long member.
    keys.sort_by_key(|key| left[key.as_str()].to_string().len());
    for key in keys {
        let (left, right) = (&left[key], &right[key]);
        if left != right {
            return Err(format!(
                "these are not parts of one run: `{key}` is {left} in {} and {right} in {}",
                one.name, other.name
            ));
        }
    }
    let (left, right) = (one.shard(), other.shard());
    match (left, right) {
        (Some(left), Some(right)) if left.parts() != right.parts() => Err(format!(
            "these are not parts of one run: shard {left} is {} and shard {right} is {}",
            one.name, other.name
        )),
        _ => Ok(()),
    }
}

/// Returns a target without the port of a local address, because such a port is chosen at random.
fn place(target: &str) -> String {
    for local in ["ws://127.0.0.1:", "ws://localhost:", "ws://[::1]:"] {
        if let Some(rest) = target.strip_prefix(local) {
            let path = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
            return format!("{local}{path}");
        }
    }
    target.to_owned()
}

struct MergeJoin<'a, W> {
    header: RunHeader,
    out: &'a mut W,
    /// The number of lines written.
    written: u64,
    /// The number that is added to each case number of the file that is being copied.
    base: u32,
    /// The first unused case number.
    cases: u32,
    /// The index of the file that contains each scenario, by the scenario's name.
    owners: BTreeMap<String, usize>,
    summary: RunSummary,
    /// The checks with findings. The value is true if the baseline lists the findings of the check in every file that
    /// has any.
    excused: LiteMap<String, bool>,
    took_ms: u64,
    interrupted: bool,
    exit: u8,
}

/// A shift of line numbers: the first line to which the shift applies, and the difference between the new and the old
/// number.
type LineShift = (u64, i64);

impl<W: Write> MergeJoin<'_, W> {
    fn part<R: BufRead>(&mut self, place: usize, part: MergePart<R>) -> Result<(), String> {
        let MergePart { name, mut reader, header } = part;
        self.base = self.cases;
        let mut shifts: Vec<LineShift> = Vec::new();
        let mut footer: Option<RunFooter> = None;
        loop {
            let line = reader.next_line().map_err(|error| format!("{name}:{error}"))?;
            let Some((number, text)) = line else { break };
            if footer.is_some() {
                return Err(format!("{name}:{number}: expected nothing after the footer"));
            }
            let about = reader::about(text);
            if about.as_deref() == Some("footer") {
                footer = Some(parse(text).map_err(|error| format!("{name}:{number}: {error}"))?);
                continue;
            }
            let shift = self.written as i64 + 1 - number as i64;
            if shifts.last().is_none_or(|(_, last)| *last != shift) {
                shifts.push((number, shift));
            }
            let moved = match about.as_deref() {
                Some("case") => self.case(text, &header),
                Some("stop") => self.stop(text),
                Some("void") => self.void(text),
                Some("result") => self.result(text, place, &shifts, number),
                Some(_) => Ok(text.trim_end().to_owned() + "\n"),
                None => self.event(text),
            };
            let moved = moved.map_err(|error| format!("{name}:{number}: {error}"))?;
            self.put(&moved)?;
        }
        let footer = footer.ok_or_else(|| {
            format!("{name}: expected a footer: its run was cut off, and what it did not play is unknown")
        })?;
        for (check, total) in &footer.checks {
            if let Some(worst) = total.worst {
                *self.excused.entry(check.clone()).or_insert(true) &= worst == Status::Known;
            }
        }
        self.took_ms = self.took_ms.saturating_add(footer.took_ms);
        self.interrupted |= footer.interrupted;
        self.exit = self.exit.max(footer.exit);
        Ok(())
    }

    /// Returns the new number of a case of the current file.
    fn renumbered(&mut self, case: u32) -> Result<u32, String> {
        let next = self.base.checked_add(case).and_then(|case| Some((case, case.checked_add(1)?)));
        let (case, next) = next.ok_or("there are too many cases")?;
        self.cases = self.cases.max(next);
        Ok(case)
    }

    fn case(&mut self, text: &str, header: &RunHeader) -> Result<String, String> {
        let start: CaseStart = parse(text)?;
        let own = |is: u64, was: u64| (is != was).then_some(is);
        let start = CaseStart {
            case: self.renumbered(start.case)?,
            // The identifiers and times of a case depend on the seed and the start time of the run in which it was
            // played.
            seed: start.seed.or(own(header.seed, self.header.seed)),
            epoch_us: start.epoch_us.or(own(header.epoch_us, self.header.epoch_us)),
            ..start
        };
        Ok(jsonl::about("case", &start))
    }

    fn stop(&mut self, text: &str) -> Result<String, String> {
        let stop: CaseStop = parse(text)?;
        let stop = CaseStop { case: self.renumbered(stop.case)?, ..stop };
        Ok(jsonl::about("stop", &stop))
    }

    fn void(&mut self, text: &str) -> Result<String, String> {
        let void: VoidCase = parse(text)?;
        let void = VoidCase { case: self.renumbered(void.case)?, ..void };
        Ok(jsonl::about("void", &void))
    }

    fn event(&mut self, text: &str) -> Result<String, String> {
        let Some(case) = case_of(text) else {
            #[derive(Deserialize)]
            struct MergedScenario {
                case: Option<u32>,
            }
            // A line that belongs to a case must have the member `case` first. A line without this member is copied
            // unchanged.
            return match parse::<MergedScenario>(text)?.case {
                Some(_) => Err("expected `case` as the first member".to_owned()),
                None => Ok(text.trim_end().to_owned() + "\n"),
            };
        };
        let case = self.renumbered(case)?;
        let rest = text.find(',').map_or("", |comma| &text[comma..]);
        Ok(format!("{{\"case\":{case}{}\n", rest.trim_end()))
    }

    fn result(
        &mut self,
        text: &str,
        place: usize,
        shifts: &[LineShift],
        number: u64,
    ) -> Result<String, String> {
        let mut report: CaseReport = parse(text)?;
        report.case = self.renumbered(report.case)?;
        let owner = *self.owners.entry(report.scenario.clone()).or_insert(place);
        if owner != place {
            return Err(format!("`{}` is also in an earlier file", report.scenario));
        }
        let claims = report.claims.iter_mut().filter_map(|claim| claim.failure.as_mut());
        let failure = report.failure.iter_mut().chain(claims).map(|it| &mut it.transcript);
        let findings = report.checks.iter_mut().flat_map(|check| &mut check.findings);
        for line in failure.chain(findings.map(|finding| &mut finding.transcript)).flatten() {
            let moved = shifts.iter().rev().find(|(from, _)| from <= line);
            let moved = moved.and_then(|(_, shift)| line.checked_add_signed(*shift));
            *line = moved.filter(|_| *line < number).ok_or_else(|| {
                format!(
                    "the result refers to line {line}, but its case has no such line (hint: only the first \
                     jsonl report of a run contains the frames)"
                )
            })?;
        }
        self.summary.add(&report);
        Ok(jsonl::about("result", &report))
    }

    fn put(&mut self, line: &str) -> Result<(), String> {
        self.written += 1;
        self.out.write_all(line.as_bytes()).map_err(|error| error.to_string())
    }

    fn finish(mut self) -> Result<RunSummary, String> {
        for (check, excused) in &self.excused {
            if let Some(total) = self.summary.checks.get_mut(check).filter(|_| *excused) {
                total.worst = Some(Status::Known);
            }
        }
        let footer: Value = json!({
            "scenarios": self.summary.counts,
            "checks": self.summary.checks,
            "took_ms": self.took_ms,
            "interrupted": self.interrupted,
            "exit": self.exit,
        });
        let line = jsonl::about("footer", &footer);
        self.put(&line)?;
        self.out.flush().map_err(|error| error.to_string())?;
        Ok(self.summary)
    }
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
