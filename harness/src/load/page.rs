//! Shows the outcome of a load: as text, as JSON, and as a page with plots.
//!
//! Knows: the outcome. Never knows: files.
//!
//! Start at [`text`], [`json()`] and [`page`].

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::{
    BLACK, ChartBuilder, IntoDrawingArea as _, IntoLogRange as _, LineSeries, PathElement,
    RGBColor, Ranged, SVGBackend, WHITE,
};
use serde_json::{Value, json};

use crate::report::html::STYLE;
use crate::report::html::page::HtmlPage;
use crate::report::summary::word;
use crate::wire::foreign_text::ForeignText;

use super::delay::{DelaySummary, LoadInterval};
use super::plan::LoadPlan;
use super::result::{LoadFinding, LoadResult};

/// The size of a plot, in pixels.
const SIZE: (u32, u32) = (860, 260);
/// The colours of the lines in a plot, in the order of the lines.
const COLOURS: [RGBColor; 3] =
    [RGBColor(31, 119, 180), RGBColor(255, 127, 14), RGBColor(214, 39, 40)];
/// If the harness was busy for more than this fraction of the time, the harness itself may have caused the delays.
const BUSY: f64 = 0.9;
/// The maximum number of different messages that the text lists for a broken check.
const SHOWN_FORMS: usize = 2;
/// The content security policy of the page, which runs no script.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The facts that a report on a load contains in addition to the outcome.
#[derive(Clone, Debug, Default)]
pub struct LoadContext {
    /// The name by which the host introduces itself in the handshake.
    pub host: ForeignText,
    /// The tested host, as the user named it, without secrets.
    pub target: ForeignText,
    /// The peak memory of the harness, in bytes; `None` if the system does not report it.
    pub peak_memory: Option<u64>,
    /// The file of the capture of each finding, in the order of the findings; empty for a finding without a file.
    pub files: Vec<String>,
}

/// Returns the outcome as text for a terminal.
pub fn text(plan: &LoadPlan, result: &LoadResult, context: &LoadContext) -> String {
    let mut out = String::new();
    out.push_str(&findings_text(result, context));
    let LoadResult { counts, delays, took, .. } = result;
    let seconds = took.as_secs_f64().max(0.001);
    let _ = writeln!(
        out,
        "host: {}, protocol {}",
        context.host.line(),
        result.version.map_or_else(|| "not negotiated".to_owned(), |version| version.to_string())
    );
    if let Some(trouble) = &result.trouble {
        let _ = writeln!(out, "nothing was tested: {}", ForeignText::from(trouble.as_str()).line());
        return out;
    }
    let received: u64 = delays.intervals.iter().map(|it| it.frames).sum();
    let bytes: u64 = delays.intervals.iter().map(|it| it.bytes).sum();
    let _ = writeln!(
        out,
        "throughput: {} actions dispatched ({:.0} per second), {received} frames received ({:.0} per second, {:.1} MB)",
        counts.dispatched,
        counts.dispatched as f64 / seconds,
        received as f64 / seconds,
        bytes as f64 / 1e6
    );
    let _ = writeln!(out, "delay to the slowest subscriber: {}", delay_text(&delays.slowest));
    let _ = writeln!(out, "delay to the sender:             {}", delay_text(&delays.own));
    let _ = writeln!(out, "first quarter of the load:       {}", delay_text(&delays.first_quarter));
    let _ = writeln!(out, "last quarter of the load:        {}", delay_text(&delays.last_quarter));
    if delays.late > 0 {
        let _ = writeln!(
            out,
            "{} actions did not reach every subscriber within {:?}",
            delays.late, plan.limit
        );
    }
    let _ = writeln!(
        out,
        "clients: {} connections, {} came back with a replay and {} with snapshots, {} came back as another client, {} \
         did not read for some time, which delayed others in {} of {} judged cases; {} connections were lost",
        counts.connections,
        counts.replays,
        counts.snapshots,
        counts.newcomers,
        counts.pauses,
        result.stalling_pauses,
        result.judged_pauses,
        counts.lost
    );
    let _ = writeln!(
        out,
        "sessions: {} created, {} disposed of, {} turns, {} decisions; {} actions rejected, {} error responses",
        counts.sessions,
        counts.disposed,
        counts.turns,
        counts.decisions,
        counts.rejected,
        counts.errors
    );
    if counts.crashes > 0 {
        let _ = writeln!(out, "the host was killed and started again {}", times(counts.crashes));
    }
    if !result.last_failure.is_empty() {
        let _ = writeln!(
            out,
            "the last lost connection or failed request: {}",
            ForeignText::from(result.last_failure.as_str()).line()
        );
    }
    if counts.skipped > 0 {
        let _ = writeln!(
            out,
            "{} acts were skipped: too many actions were without an answer (hint: a lower `--rate`)",
            counts.skipped
        );
    }
    if counts.failed > 0 {
        let _ = writeln!(
            out,
            "{} clients gave up, since the host refused them too often",
            counts.failed
        );
    }
    let _ = writeln!(out, "harness: {}", harness_text(result, context));
    let _ = writeln!(
        out,
        "{} findings in {} observations of {} frames",
        result.findings.len(),
        result.observations(),
        result.frames
    );
    out
}

/// Returns a new finding as one line for a terminal.
pub fn finding_text(number: usize, found: &LoadFinding) -> String {
    let finding = &found.finding;
    format!(
        "finding {number}: {} ({}), after {:.1} s: {}",
        finding.check,
        word(finding.weight),
        found.at.as_secs_f64(),
        ForeignText::from(finding.message.as_str()).line()
    )
}

/// Returns all findings, grouped by check, the worst first.
fn findings_text(result: &LoadResult, context: &LoadContext) -> String {
    let mut checks: Vec<&str> = Vec::new();
    let mut order: Vec<&LoadFinding> = result.findings.iter().collect();
    order.sort_by_key(|it| Reverse(it.finding.weight));
    for it in &order {
        if !checks.contains(&it.finding.check) {
            checks.push(it.finding.check);
        }
    }
    let mut out = String::new();
    for check in checks {
        let forms = (0..).zip(&result.findings).filter(|(_, it)| it.finding.check == check);
        let mut forms: Vec<(usize, &LoadFinding)> = forms.collect();
        forms.sort_by_key(|(_, it)| Reverse(it.finding.weight));
        let all: u64 = forms.iter().map(|(_, it)| it.finding.times).sum();
        let first = forms.iter().map(|(_, it)| it.at).min().unwrap_or_default();
        let Some((_, worst)) = forms.first() else { continue };
        let _ = writeln!(
            out,
            "{} {check} ({}), {}, first after {:.1} s",
            worst.finding.weight.broken().word(),
            word(worst.finding.weight),
            times(all),
            first.as_secs_f64()
        );
        for (number, form) in forms.iter().take(SHOWN_FORMS) {
            let message = ForeignText::from(form.finding.message.as_str()).line();
            let _ = writeln!(out, "    {message} ({})", times(form.finding.times));
            let file = context.files.get(*number).map(String::as_str).unwrap_or_default();
            if !file.is_empty() {
                let _ = writeln!(out, "    {file}: {}", evidence_text(form));
            }
        }
        if let Some(more) = forms.len().checked_sub(SHOWN_FORMS).filter(|more| *more > 0) {
            let _ = writeln!(out, "    {more} more messages of this check are in `stress.json`");
        }
    }
    out
}

fn times(times: u64) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

fn evidence_text(found: &LoadFinding) -> String {
    let evidence = &found.evidence;
    let shows = match (evidence.shows, evidence.assumed) {
        (Some(true), None) => "`judge` reports the same finding for this file".to_owned(),
        (Some(true), Some(version)) => {
            format!("`judge --assume {version}` reports the same finding for this file")
        }
        (Some(false), _) => "these frames alone do not show the finding".to_owned(),
        (None, _) => "not reduced".to_owned(),
    };
    let gap = if evidence.gap { "; older frames are missing" } else { "" };
    format!("{} frames, {shows}{gap}", evidence.entries.len())
}

fn delay_text(delay: &DelaySummary) -> String {
    if delay.count == 0 {
        return "not measured".to_owned();
    }
    let ms = |us: u64| us as f64 / 1_000.0;
    format!(
        "p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms ({} actions)",
        ms(delay.p50_us),
        ms(delay.p99_us),
        ms(delay.max_us),
        delay.count
    )
}

/// Returns the mean fraction of time in which the harness was busy; `None` if it was not measured.
fn busy(intervals: &[LoadInterval]) -> Option<f64> {
    let shares: Vec<f64> = intervals.iter().filter_map(|it| it.busy).collect();
    let sum: f64 = shares.iter().sum();
    (!shares.is_empty()).then(|| sum / shares.len() as f64)
}

fn harness_text(result: &LoadResult, context: &LoadContext) -> String {
    let mut text = match busy(&result.delays.intervals) {
        Some(share) if share > BUSY => format!(
            "busy for {:.0} % of the time, so that the delays may be its own (hint: fewer clients or a lower `--rate`)",
            share * 100.0
        ),
        Some(share) => format!("busy for {:.0} % of the time", share * 100.0),
        None => "its use of the processor was not measured".to_owned(),
    };
    if let Some(bytes) = context.peak_memory {
        let _ = write!(text, ", {:.0} MiB at its peak", bytes as f64 / f64::from(1 << 20));
    }
    text
}

/// Returns the outcome as JSON: plan, counts, delays with their intervals, findings.
pub fn json(plan: &LoadPlan, result: &LoadResult, context: &LoadContext) -> Value {
    let finding = |(number, found): (usize, &LoadFinding)| {
        let finding = &found.finding;
        json!({
            "check": finding.check,
            "weight": finding.weight,
            "times": finding.times,
            "after_s": found.at.as_secs_f64(),
            "message": finding.message,
            "lines": finding.lines,
            "capture": context.files.get(number),
            "shows": found.evidence.shows,
        })
    };
    let findings: Vec<Value> = result.findings.iter().enumerate().map(finding).collect();
    json!({
        "host": context.host,
        "target": context.target,
        "version": result.version.map(|version| version.to_string()).unwrap_or_default(),
        "clients": plan.clients,
        "sessions": plan.sessions,
        "seed": plan.seed,
        "took_s": result.took.as_secs_f64(),
        "frames": result.frames,
        "observations": result.observations(),
        "status": result.status(),
        "last_failure": result.last_failure,
        "judged_pauses": result.judged_pauses,
        "stalling_pauses": result.stalling_pauses,
        "trouble": result.trouble,
        "peak_memory": context.peak_memory,
        "counts": result.counts,
        "delays": result.delays,
        "findings": findings,
    })
}

/// Returns the outcome as a page with plots.
pub fn page(plan: &LoadPlan, result: &LoadResult, context: &LoadContext) -> String {
    let mut page = HtmlPage::default();
    page.ours("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
    page.ours("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    page.element("title", &[], &format!("Load on {}", context.host.line()));
    page.ours("<style>");
    page.ours(STYLE);
    page.ours("</style></head><body>\n<main>");
    page.element("h1", &[], &format!("Load on {}", context.host.line()));
    page.element("pre", &[], &plan.bounds());
    page.element("pre", &[], &text(plan, result, context));
    let intervals = &result.delays.intervals;
    for plot in PLOTS {
        page.element("h2", &[], plot.title);
        match drawn(plot, intervals) {
            Some(svg) => page.drawing(&svg),
            None => page.element("p", &[], "There is nothing to draw."),
        }
    }
    page.ours("</main></body></html>\n");
    page.finish()
}

/// A line in a plot: its name, and the function that returns its value for an interval.
type PlotLine = (&'static str, fn(&LoadInterval) -> Option<f64>);

/// A plot over the time of a load.
struct LoadPlot {
    title: &'static str,
    /// Whether the values differ by orders of magnitude, so that they need a logarithmic scale.
    is_logarithmic: bool,
    lines: &'static [PlotLine],
}

fn delay_ms(interval: &LoadInterval, of: impl Fn(&DelaySummary) -> u64) -> Option<f64> {
    (interval.slowest.count > 0).then(|| of(&interval.slowest) as f64 / 1_000.0)
}

fn per_second(interval: &LoadInterval, count: u64) -> Option<f64> {
    (interval.length_s > 0.0).then(|| count as f64 / interval.length_s)
}

/// The plots of a page.
const PLOTS: &[LoadPlot] = &[
    LoadPlot {
        title: "Delay from the dispatch to the slowest subscriber, in milliseconds, on a logarithmic scale",
        is_logarithmic: true,
        lines: &[
            ("p50", |it| delay_ms(it, |delay| delay.p50_us)),
            ("p99", |it| delay_ms(it, |delay| delay.p99_us)),
            ("max", |it| delay_ms(it, |delay| delay.max_us)),
        ],
    },
    LoadPlot {
        title: "Frames per second",
        is_logarithmic: false,
        lines: &[
            ("received", |it| per_second(it, it.frames)),
            ("dispatched", |it| per_second(it, it.dispatched)),
        ],
    },
    LoadPlot {
        title: "Clients that can act",
        is_logarithmic: false,
        lines: &[("clients", |it| Some(it.clients as f64))],
    },
    LoadPlot {
        title: "Share of time in which the harness was busy, in per cent",
        is_logarithmic: false,
        lines: &[("busy", |it| it.busy.map(|share| share * 100.0))],
    },
];

/// The lower end of a logarithmic scale: a tenth of a millisecond.
const LEAST: f64 = 0.1;

/// Draws a plot as SVG; `None` if there are no values.
fn drawn(plot: &LoadPlot, intervals: &[LoadInterval]) -> Option<String> {
    let series: Vec<(&str, Vec<(f64, f64)>)> = plot
        .lines
        .iter()
        .map(|(name, value)| {
            let points = intervals.iter().filter_map(|it| Some((it.until_s, value(it)?)));
            (*name, points.collect())
        })
        .collect();
    let values = || series.iter().flat_map(|(_, points)| points.iter());
    let end = values().map(|(x, _)| *x).fold(0.0, f64::max);
    let most = values().map(|(_, y)| *y).fold(0.0, f64::max);
    values().next()?;
    let mut svg = String::new();
    let top = (most * 1.05).max(1.0);
    match plot.is_logarithmic {
        // A value below the scale is drawn at the lower end of the scale.
        true => draw(&mut svg, &series, 0.0..end, (LEAST..top).log_scale(), LEAST),
        false => draw(&mut svg, &series, 0.0..end, 0.0..top, 0.0),
    }
    .ok()?;
    Some(svg)
}

fn draw<Y>(
    svg: &mut String,
    series: &[(&str, Vec<(f64, f64)>)],
    across: Range<f64>,
    up: Y,
    least: f64,
) -> Result<(), Box<dyn std::error::Error>>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE).map_err(|error| error.to_string())?;
    let mut chart = ChartBuilder::on(&area)
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(56)
        .build_cartesian_2d(across, up)
        .map_err(|error| error.to_string())?;
    chart.configure_mesh().x_desc("seconds").draw().map_err(|error| error.to_string())?;
    for ((name, points), colour) in series.iter().zip(COLOURS) {
        chart
            .draw_series(LineSeries::new(points.iter().map(|(x, y)| (*x, y.max(least))), &colour))
            .map_err(|error| error.to_string())?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
    }
    chart
        .configure_series_labels()
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()
        .map_err(|error| error.to_string())?;
    area.present().map_err(|error| error.to_string())?;
    Ok(())
}
