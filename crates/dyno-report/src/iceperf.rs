//! iceperf's table: one section per stack and conditions, a row per payload size, and RTT/2 as its
//! latency, which the section says. Headings and columns are those of iceoryx's example `iceperf`,
//! so that both outputs can be laid side by side; p50, p99 and the maximum stand beside its average, and
//! behind them what iceperf's own page printed of the same mechanism.

use crate::cells::kind;
use crate::columns::Columns;
use crate::factors;
use crate::format::RenderOptions;
use crate::legend::WIDE;
use crate::markdown::escape;
use crate::notes::{self, Section as Remarks};
use crate::number::{Measured, TimeUnit, sig3};
use crate::published::{Iceperf, in_iceperf};
use crate::settings;
use crate::spark;
use crate::summary::{ExperimentSummary, MetricSummary, Summary};
use crate::table::Lines;
use crate::text::width;
use crate::view::View;
use dyno_model::factors::{Factor, in_tables};
use dyno_model::plan::Extent;
use dyno_model::{Metric, WorkloadKind};
use dyno_stats::{Latency, Quantile};

/// iceperf's kB.
const KB: usize = 1024;

/// Nanoseconds of round trip per unit of the table: half a round trip, in microseconds.
const SCALE: f64 = 2.0 * TimeUnit::Micro.ns();

/// Title of the column with what iceperf's page printed.
const PUBLISHED: &str = "iceperf 2020 [µs]";

/// Title of the column with the shape of each distribution.
const SHAPE: &str = "Shape";

/// The quantiles that it shows: their places in [`crate::QUANTILES`], and their names.
const SHOWN: [(usize, &str); 2] = [(0, "p50"), (2, "p99")];

/// Whether an experiment has a row here.
pub(crate) fn shows(e: &ExperimentSummary) -> bool {
    e.experiment.workload.kind() == WorkloadKind::PingPong
}

/// Heading, one section per stack and conditions, and the remarks. With `markdown` the sections'
/// first lines are Markdown headings and the width is ignored.
pub(crate) fn render(summary: &Summary, options: &RenderOptions, markdown: bool) -> String {
    let view = View::new(summary, shows, &Columns::All);
    let mut out = Lines {
        text: String::new(),
        width: if markdown { None } else { options.width },
    };
    let shapes = options.sparklines && out.width.is_some();
    let plain = |text: String| if markdown { escape(&text) } else { text };
    let (title, origin) = (notes::title(&summary.run), notes::origin(&summary.run));
    match markdown {
        true => {
            out.add(&format!("## {}", escape(&title)), 0);
            out.blank();
            out.add(&escape(&origin), 0);
        }
        false => {
            out.add(&title, 2);
            out.add(&origin, 2);
        }
    }
    let mut shaped = false;
    for section in sections(summary) {
        out.blank();
        shaped |= section.render(&mut out, markdown, shapes).shapes;
    }
    out.blank();
    let mut legend = legend(&view);
    if shaped {
        legend.push(spark::LEGEND.into());
    }
    for line in legend {
        out.add(&plain(line), 2);
        if markdown {
            out.blank();
        }
    }
    let mut remarks = notes::sections(&view);
    remarks.extend(before_comparing(&view));
    match markdown {
        true => crate::markdown::sections(&mut out.text, &remarks),
        false => out.sections(&remarks),
    }
    out.text
}

fn legend(view: &View<'_>) -> Vec<String> {
    let mut lines = vec!["p50 and p99 with 95 % intervals; ~: unstable.".to_owned()];
    let quantiles = || {
        let metrics = view.rows.iter().filter_map(|e| e.metrics.get(&Metric::Rtt));
        metrics.flat_map(|m| SHOWN.map(|(i, _)| &m.quantiles[i]))
    };
    if before_comparing(view).is_some() {
        lines.push(format!(
            "{PUBLISHED}: as printed, for the same mechanism, wait and size; see the remarks below."
        ));
    }
    if quantiles().any(|q| matches!(q, Quantile::Refused { .. })) {
        lines.push("–: withheld, too few samples (samples measured/samples needed).".into());
    }
    if quantiles().any(|q| matches!(q, Quantile::Wide { .. })) {
        lines.push(WIDE[0].into());
    }
    if quantiles().any(|q| q.estimate().is_some_and(|e| e.hi == Latency::Infinite)) {
        lines
            .push("∞: a lost round trip counts as infinitely late, but not in the average.".into());
    }
    lines.extend(settings::lines(
        &view.summary.run,
        view.rows.iter().copied(),
    ));
    lines
}

/// What to know of the page's figures, where any of them is shown.
fn before_comparing(view: &View<'_>) -> Option<Remarks> {
    let shown = |e: &&ExperimentSummary| in_iceperf(&e.experiment).is_some();
    if !view.rows.iter().any(shown) {
        return None;
    }
    let page = Iceperf::published();
    let origin = format!("source: {}, {}", page.source.title, page.source.place);
    let flaws = page
        .flaws
        .iter()
        .map(|f| format!("{}: {}", f.about, f.says));
    Some(Remarks {
        title: "Before comparing with what iceperf published",
        items: [origin].into_iter().chain(flaws).map(Into::into).collect(),
    })
}

/// Experiments that differ in their payload only, smallest first.
struct Section<'a> {
    rows: Vec<&'a ExperimentSummary>,
}

/// The factors that a section has in common.
fn shared() -> Vec<&'static Factor> {
    let mut all = in_tables();
    all.retain(|f| !["payload", "window"].contains(&f.title));
    all
}

fn sections(summary: &Summary) -> Vec<Section<'_>> {
    let shared = shared();
    let key = |e: &ExperimentSummary| {
        let x = &e.experiment;
        let label = factors::label(&shared, x);
        (x.name.clone(), x.stack.clone(), e.is_base, e.is_leg, label)
    };
    let mut sections: Vec<Section<'_>> = Vec::new();
    for e in summary.experiments.iter().filter(|e| shows(e)) {
        match sections.iter_mut().find(|s| key(s.rows[0]) == key(e)) {
            Some(section) => section.rows.push(e),
            None => sections.push(Section { rows: vec![e] }),
        }
    }
    for section in &mut sections {
        section.rows.sort_by_key(|e| e.experiment.payload);
    }
    sections
}

/// How much stands in a row.
#[derive(Debug, Clone, Copy)]
struct Form {
    /// Intervals stand in the cells, else below the table.
    intervals: bool,
    /// The page's figures stand in a column, else below the table.
    published: bool,
    /// Each row has a line of bars.
    shapes: bool,
}

impl Form {
    const LEAST: Form = Form::of(false, false, false);
    /// The richest first.
    const ALL: [Form; 6] = [
        Form::of(true, true, true),
        Form::of(true, true, false),
        Form::of(false, true, true),
        Form::of(false, true, false),
        Form::of(false, false, true),
        Form::LEAST,
    ];

    const fn of(intervals: bool, published: bool, shapes: bool) -> Form {
        Form {
            intervals,
            published,
            shapes,
        }
    }
}

impl Section<'_> {
    /// Returns how much there was room for.
    fn render(&self, out: &mut Lines, markdown: bool, shapes: bool) -> Form {
        let first = self.rows[0];
        let e = &first.experiment;
        let stack = format!(
            "{}{}{}, {}, {}",
            e.stack,
            kind(first),
            if first.is_base { " (base)" } else { "" },
            e.wait,
            e.access
        );
        match markdown {
            true => out.add(&format!("### {}", escape(&stack)), 0),
            false => out.add(&format!("****** {stack} ********"), 7),
        }
        out.blank();
        out.add("#### Measurement Result ####", 0);
        if markdown {
            out.blank();
        }
        out.add(
            &format!("{} round trips for each payload.", self.round_trips()),
            0,
        );
        let conditions = format!(
            "Latency is RTT/2, as iceperf defines it. {} · {}.{}",
            factors::heading(&shared(), Some(e)),
            self.trials(),
            if self.in_kb() {
                " 1 kB = 1024 bytes."
            } else {
                ""
            }
        );
        match markdown {
            true => {
                out.blank();
                out.add(&escape(&conditions), 0);
            }
            false => out.add(&conditions, 0),
        }
        out.blank();
        let form = self.form(out.width, shapes);
        for line in self.lines(form) {
            // GitHub would take two marks of one row for a strike-through.
            let line = if markdown {
                line.replace('~', "\\~")
            } else {
                line
            };
            out.add(&line, 0);
        }
        if !form.intervals {
            out.blank();
            out.add(&self.intervals(), 2);
        }
        let published = self.published();
        if !form.published && !published.is_empty() {
            let unit = self.unit();
            let figures: Vec<String> = published
                .iter()
                .map(|(size, figure)| format!("{size} {unit}: {figure}"))
                .collect();
            out.add(&format!("{PUBLISHED}: {}.", figures.join("; ")), 2);
        }
        form
    }

    /// What the page printed for each size, as far as it has a figure.
    fn published(&self) -> Vec<(String, &'static str)> {
        let of = |e: &&ExperimentSummary| {
            let (_, figure) = in_iceperf(&e.experiment)?;
            Some((self.payload(e), figure.text.as_str()))
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// The richest form of the table that fits.
    fn form(&self, limit: Option<usize>, shapes: bool) -> Form {
        let fits = |form: &Form| {
            let lines = self.lines(*form);
            limit.is_none_or(|limit| lines.iter().all(|l| width(l) <= limit))
        };
        let mut forms = Form::ALL.into_iter().filter(|f| shapes || !f.shapes);
        forms.find(fits).unwrap_or(Form::LEAST)
    }

    fn in_kb(&self) -> bool {
        self.rows
            .iter()
            .all(|e| e.experiment.payload.bytes().is_multiple_of(KB))
    }

    fn unit(&self) -> &'static str {
        if self.in_kb() { "kB" } else { "B" }
    }

    fn payload(&self, e: &ExperimentSummary) -> String {
        let divisor = if self.in_kb() { KB } else { 1 };
        (e.experiment.payload.bytes() / divisor).to_string()
    }

    /// Round trips in the window of one trial: as planned, else as they came.
    fn round_trips(&self) -> String {
        let per_trial = |e: &&ExperimentSummary| match e.experiment.window {
            Extent::Messages(n) => Some(n),
            Extent::Duration(_) => {
                let m = e.metrics.get(&Metric::Rtt)?;
                Some(m.n.saturating_add(m.infinite) / e.trials.counted.max(1))
            }
        };
        let counts: Vec<u64> = self.rows.iter().filter_map(per_trial).collect();
        match (counts.iter().min(), counts.iter().max()) {
            (Some(min), Some(max)) if min == max => min.to_string(),
            (Some(min), Some(max)) => format!("{min} to {max}"),
            _ => "No".into(),
        }
    }

    fn trials(&self) -> String {
        let completed = || {
            self.rows
                .iter()
                .map(|e| e.trials.counted)
                .filter(|n| *n > 0)
        };
        match (completed().min(), completed().max()) {
            (Some(1), Some(1)) => "1 trial each".into(),
            (Some(min), Some(max)) if min == max => format!("{min} trials each"),
            (Some(min), Some(max)) => format!("{min} to {max} trials each"),
            _ => "no trials".into(),
        }
    }

    /// The table's lines.
    fn lines(&self, form: Form) -> Vec<String> {
        let unit = self.unit();
        let mut grid = vec![vec![
            format!("Payload Size [{unit}]"),
            "Average Latency [µs]".into(),
            "p50 [µs]".into(),
            "p99 [µs]".into(),
            "Max [µs]".into(),
        ]];
        grid.extend(self.rows.iter().map(|e| self.cells(e, form.intervals)));
        let published = self.published();
        let mut add = |title: &str, cells: Vec<String>| {
            let cells = [title.to_owned()].into_iter().chain(cells);
            for (row, cell) in grid.iter_mut().zip(cells) {
                row.push(cell);
            }
        };
        if form.published && !published.is_empty() {
            let of = |e: &&ExperimentSummary| {
                let size = self.payload(e);
                let found = published.iter().find(|(known, _)| *known == size);
                found.map_or_else(String::new, |(_, figure)| (*figure).to_owned())
            };
            add(PUBLISHED, self.rows.iter().map(of).collect());
        }
        if form.shapes {
            let shape = |e: &&ExperimentSummary| {
                let metric = e.metrics.get(&Metric::Rtt);
                metric.map_or_else(String::new, spark::of_metric)
            };
            add(SHAPE, self.rows.iter().map(shape).collect());
        }
        let widths: Vec<usize> = (0..grid[0].len())
            .map(|i| grid.iter().map(|row| width(&row[i])).max().unwrap_or(0))
            .collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, w)| {
                let pad = " ".repeat(w - width(cell));
                format!(" {pad}{cell} |")
            });
            format!("|{}", cells.collect::<String>())
        };
        let mut lines: Vec<String> = grid.iter().map(line).collect();
        let rules = widths.iter().map(|w| format!("{}:|", "-".repeat(w + 1)));
        lines.insert(1, format!("|{}", rules.collect::<String>()));
        lines
    }

    fn cells(&self, e: &ExperimentSummary, intervals: bool) -> Vec<String> {
        let payload = self.payload(e);
        let Some(m) = e.metrics.get(&Metric::Rtt) else {
            let reason = if e.trials.failed > 0 {
                "failed"
            } else {
                "not run"
            };
            return vec![
                payload,
                reason.into(),
                String::new(),
                String::new(),
                String::new(),
            ];
        };
        let quantile = |i: usize| {
            let measured = Measured::quantile(&m.quantiles[i], SCALE);
            if intervals {
                measured.line()
            } else {
                measured.value
            }
        };
        let mark = if e.is_unstable() { "~ " } else { "" };
        vec![
            payload,
            average(m),
            format!("{mark}{}", quantile(0)),
            quantile(2),
            m.max
                .map_or_else(|| "–".into(), |max| sig3(max as f64 / SCALE)),
        ]
    }

    /// The intervals that the cells have no room for.
    fn intervals(&self) -> String {
        let unit = self.unit();
        let of = |e: &ExperimentSummary, m: &MetricSummary| {
            let texts = SHOWN.map(|(i, name)| {
                let measured = Measured::quantile(&m.quantiles[i], SCALE);
                let interval = match measured.beside.trim_matches(['(', ')']) {
                    "" => &measured.value,
                    beside => beside,
                };
                format!("{name} {interval}")
            });
            format!("{} {unit}: {}", self.payload(e), texts.join(", "))
        };
        let rows: Vec<String> = self
            .rows
            .iter()
            .filter_map(|e| Some(of(e, e.metrics.get(&Metric::Rtt)?)))
            .collect();
        format!("Intervals [µs]: {}.", rows.join("; "))
    }
}

/// iceperf's average, over the round trips that came back.
fn average(m: &MetricSummary) -> String {
    let mean = m.mean.map_or_else(|| "–".into(), |mean| sig3(mean / SCALE));
    match m.infinite {
        0 => mean,
        lost => format!("{mean} ({lost} lost)"),
    }
}
