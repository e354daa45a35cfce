//! The rows and columns of the table of stacks, the same for the terminal and for Markdown.

pub(crate) mod outages;

use crate::cells::{
    P99, absence, beside, column_unit, delivered, floor, host_p99, is_saturating, marked_stack,
    own_delay, p50_ns, per_second, quantile_ns, tone, unresolved,
};
use crate::columns::{
    CACHED_COPY_RATIO, COPY_RATIO, Columns, DELIVERED, FLOOR_RATIO, HOST_CPU, HOST_P99, IDLE,
    IDLE_CPU, REFERENCE_RATIO, short,
};
use crate::factors;
use crate::layout::{Column, Sheet};
use crate::number::{self, Measured, TimeUnit};
use crate::spark;
use crate::summary::{ExperimentSummary, FloorRatio, QUANTILES, Spread, Summary};
use dyno_model::factors::Factor;
use dyno_model::metric::Shows;
use dyno_model::{Experiment, Metric, Placement, TrialFigure, Wait, Workload};
use dyno_stats::Estimate;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Which experiments one table shows, and what they have in common.
pub(crate) struct View<'a> {
    pub(crate) summary: &'a Summary,
    /// In the order of the table.
    pub(crate) rows: Vec<&'a ExperimentSummary>,
    pub(crate) constant: Vec<&'static Factor>,
    pub(crate) varying: Vec<&'static Factor>,
    names_vary: bool,
    /// By name and stack, what tells the rows that have both from each other.
    telling: BTreeMap<(&'a str, &'a str), Vec<&'static Factor>>,
    /// The names stand above the blocks, so they need no column.
    named_blocks: bool,
    /// Rows of one experiment and wait strategy together, each with what stands above them; empty where all
    /// have the same.
    blocks: Vec<(Range<usize>, String)>,
    /// Those of the columns that are shown.
    columns: &'a Columns,
    /// What all rows are of; rows of several kinds have the columns of windows.
    pub(crate) kind: Kind,
}

/// What a row is of. Each kind has columns of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Windows, each with many samples.
    Windows,
    /// Starts: one time to the first message for each trial, and no window.
    Starts,
    /// Outages: one time to the recovery for each trial.
    Outages,
    /// Windows in which nobody sends: what participants take all the same.
    Idle,
}

impl Kind {
    /// In the order of their tables.
    pub(crate) const ALL: [Kind; 4] = [Kind::Windows, Kind::Starts, Kind::Outages, Kind::Idle];

    /// By what the headline of an experiment is.
    pub(crate) fn of(e: &ExperimentSummary) -> Kind {
        let headline = e.headline().info();
        match (headline.of_faults, headline.one_per_trial) {
            _ if headline.of_idle => Kind::Idle,
            (true, _) => Kind::Outages,
            (false, true) => Kind::Starts,
            (false, false) => Kind::Windows,
        }
    }

    /// The one of all rows.
    fn of_all(rows: &[&ExperimentSummary]) -> Kind {
        let mut kinds = rows.iter().map(|e| Kind::of(e));
        let first = kinds.next().unwrap_or(Kind::Windows);
        match kinds.all(|kind| kind == first) {
            true => first,
            false => Kind::Windows,
        }
    }

    /// How many of the headline's quantiles its tables show.
    pub(crate) const fn quantiles(self) -> usize {
        match self {
            Kind::Windows => QUANTILES.len(),
            Kind::Starts => 2,
            Kind::Outages => 1,
            // The median trial and the extremes of its figures.
            Kind::Idle => 0,
        }
    }
}

/// The numbers of a workload, so that 4 kHz stand before 16 kHz.
fn by_size(workload: Workload) -> [u64; 3] {
    let n = workload.numbers();
    // Positive numbers order like their bits.
    let rate = n.rate.map_or(0, |rate| rate.hz().to_bits());
    let every = n.period.or(n.gap).map_or(0, |time| time.0);
    [rate, n.messages.map_or(0, u64::from), every]
}

impl<'a> View<'a> {
    /// The experiments that `keep` selects: like beside like, the fastest first, and before those of which trials
    /// failed. What polls is not ranked with what sleeps, so each wait strategy has a block of its own, and so has each experiment with several rows.
    pub(crate) fn new(
        summary: &'a Summary,
        keep: impl Fn(&ExperimentSummary) -> bool,
        columns: &'a Columns,
    ) -> Self {
        let mut rows: Vec<&ExperimentSummary> =
            summary.experiments.iter().filter(|e| keep(e)).collect();
        // Names in the order of the suite.
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for e in &rows {
            let next = places.len();
            places.entry(&e.experiment.name).or_insert(next);
        }
        let named_blocks = places.len() > 1 && rows.len() >= 2 * places.len();
        let place = |e: &Experiment| match named_blocks {
            true => places.get(e.name.as_str()).copied(),
            false => None,
        };
        let mut flows: BTreeMap<&str, usize> = BTreeMap::new();
        for name in rows.iter().filter_map(|e| e.experiment.flow_name()) {
            let next = flows.len();
            flows.entry(name).or_insert(next);
        }
        let flow = |e: &Experiment| {
            let own = e.flow.as_ref()?;
            Some((flows.get(own.name.as_str()).copied(), own.by_itself))
        };
        rows.sort_by(|a, b| {
            let (x, y) = (&a.experiment, &b.experiment);
            let load = |e: &Experiment| (e.workload.kind(), by_size(e.workload), e.pacer);
            let cell = |e: &Experiment| {
                // What differs in its unit only, such as 1 kHz and 1000 Hz, is the same text.
                let text = e.workload.to_string();
                let faults: Vec<String> = e.faults.iter().map(ToString::to_string).collect();
                let shape = (text, e.payload, e.topology, e.access, e.placement);
                (faults, shape)
            };
            x.wait
                .cmp(&y.wait)
                .then_with(|| x.machine.cmp(&y.machine))
                .then_with(|| place(x).cmp(&place(y)))
                .then_with(|| flow(x).cmp(&flow(y)))
                .then_with(|| load(x).cmp(&load(y)))
                .then_with(|| cell(x).cmp(&cell(y)))
                .then_with(|| (a.trials.failed > 0).cmp(&(b.trials.failed > 0)))
                .then(p50_ns(a).total_cmp(&p50_ns(b)))
                .then_with(|| (&x.stack, x.wait, x.id).cmp(&(&y.stack, y.wait, y.id)))
        });
        let (constant, varying) = factors::split(rows.iter().map(|e| &e.experiment));
        let blocks = blocks(&rows, named_blocks);
        let (above, varying): (Vec<_>, Vec<_>) = varying
            .into_iter()
            .partition(|f| !blocks.is_empty() && is_constant_in_each(f, &rows, &blocks));
        let titled = blocks.into_iter().map(|block| {
            let title = block_title(&rows[block.clone()], named_blocks, &above);
            (block, title)
        });
        let mut namesakes: BTreeMap<_, Vec<&Experiment>> = BTreeMap::new();
        for x in rows.iter().map(|e| &e.experiment) {
            let both = (x.name.as_str(), x.stack.as_str());
            namesakes.entry(both).or_default().push(x);
        }
        let split = |all: Vec<&'a Experiment>| factors::split(all.iter().copied()).1;
        let telling = namesakes.into_iter().map(|(both, all)| (both, split(all)));
        View {
            summary,
            telling: telling.collect(),
            kind: Kind::of_all(&rows),
            names_vary: places.len() > 1,
            named_blocks,
            blocks: titled.collect(),
            rows,
            constant,
            varying,
            columns,
        }
    }

    /// What tells a row from the others, and no more than that.
    pub(crate) fn label(&self, e: &ExperimentSummary) -> String {
        let x = &e.experiment;
        let varying = self.telling.get(&(x.name.as_str(), x.stack.as_str()));
        let mut parts = Vec::new();
        if self.names_vary {
            parts.push(x.name.clone());
        }
        let leg = if e.is_leg { " (leg)" } else { "" };
        let base = if e.is_base { " (base)" } else { "" };
        parts.push(format!("{}{leg}{base}", x.stack));
        if let Some(varying) = varying.filter(|varying| !varying.is_empty()) {
            parts.push(factors::label(varying, x));
        }
        parts.join(", ")
    }

    /// What tells a row from others with its name and stack, but for the factor of that title.
    pub(crate) fn conditions_of(&self, e: &ExperimentSummary, without: &str) -> String {
        let x = &e.experiment;
        let varying = self.telling.get(&(x.name.as_str(), x.stack.as_str()));
        let varying = varying.into_iter().flatten().copied();
        let others: Vec<&Factor> = varying.filter(|f| f.title != without).collect();
        factors::label(&others, x)
    }

    /// The title of the column with the p50 over that of the floor. Where something is surely faster than what
    /// should be the floor, it is not called one.
    pub(crate) fn ratio_title(&self) -> &'static str {
        let floors = self.rows.iter().filter_map(|e| e.floor.as_ref());
        match floors.clone().all(FloorRatio::holds) {
            true => FLOOR_RATIO,
            false => REFERENCE_RATIO,
        }
    }

    /// Whether the machine's own delay at the p99 is known of any row.
    pub(crate) fn has_host(&self) -> bool {
        self.kind == Kind::Windows && self.rows.iter().any(|e| host_p99(e).is_some())
    }

    /// The table, in forms that need less and less room: first without the column of the machine's
    /// own p99, which is not worth a narrower form of the others, then with less for the conditions.
    pub(crate) fn sheets(&self) -> Vec<Sheet> {
        let folds: &[bool] = match self.varying.len() {
            0 | 1 => &[false],
            _ => &[false, true],
        };
        let hosts: &[bool] = match self.has_host() {
            true => &[true, false],
            false => &[false],
        };
        let forms = folds
            .iter()
            .flat_map(|f| hosts.iter().map(move |h| (*f, *h)));
        forms
            .map(|(folded, host)| self.form(folded, host))
            .collect()
    }

    /// The whole table.
    pub(crate) fn sheet(&self) -> Sheet {
        self.form(false, self.has_host())
    }

    /// A column with the shape of each row's headline; `None` where no row has one.
    pub(crate) fn shape(&self) -> Option<Column> {
        let column = self.text("shape", 0, spark::of);
        let has_one = column.cells.iter().any(|c| !c.value.is_empty());
        has_one.then_some(column)
    }

    /// `folded`: all varying factors in one column, for narrow terminals. `host`: with the machine's
    /// own p99.
    fn form(&self, folded: bool, host: bool) -> Sheet {
        let mut columns = Vec::new();
        if self.names_vary && !self.named_blocks {
            columns.push(self.text("experiment", 0, |e| e.experiment.name.clone()));
        }
        columns.push(self.text("stack", 0, marked_stack));
        if folded {
            columns.push(self.text("conditions", 0, |e| {
                factors::label(&self.varying, &e.experiment)
            }));
        } else {
            for f in &self.varying {
                columns.push(self.text(f.title, f.rank, |e| (f.text)(&e.experiment)));
            }
        }
        match self.kind {
            Kind::Windows => self.quantiles(&mut columns, host),
            Kind::Starts => self.starts(&mut columns),
            Kind::Outages => self.outages(&mut columns),
            Kind::Idle => self.idle(&mut columns),
        }
        if self.rows.iter().any(|e| e.floor.is_some()) {
            columns.push(self.column(self.ratio_title(), "", 4, floor));
        }
        self.in_copies(&mut columns);
        self.delivery(&mut columns);
        if self.kind != Kind::Idle {
            columns.push(self.cpu());
            columns.extend(self.host_cpu());
        }
        columns.push(self.trials());
        let brief = *self.columns == Columns::Brief;
        let all_arrived = self
            .rows
            .iter()
            .all(|e| e.delivered_ratio().is_none_or(|r| r >= 1.0));
        let (columns, others): (Vec<Column>, Vec<Column>) = columns.into_iter().partition(|c| {
            self.columns.shows(c.title) && !(brief && all_arrived && c.title == DELIVERED)
        });
        Sheet {
            columns,
            unasked: others.iter().map(|c| c.title).collect(),
            tones: self.rows.iter().map(|e| tone(e)).collect(),
            blocks: self.blocks.clone(),
            spared: match self.has_host() && !host && self.columns.shows(HOST_P99) {
                true => vec![HOST_P99],
                false => Vec::new(),
            },
        }
    }

    /// The p50 in copies of the payload, where they were measured.
    fn in_copies(&self, columns: &mut Vec<Column>) {
        type Of = fn(&ExperimentSummary) -> &Option<Estimate>;
        let copies: [(&str, Of); 2] = [
            (COPY_RATIO, |e| &e.in_copies),
            (CACHED_COPY_RATIO, |e| &e.in_cached_copies),
        ];
        for (title, of) in copies {
            if self.rows.iter().all(|e| of(e).is_none()) {
                continue;
            }
            let ratio = |e: &ExperimentSummary| of(e).as_ref().map(Measured::ratio);
            columns.push(self.column(title, "", 8, |e| ratio(e).unwrap_or_default()));
        }
    }

    /// What became of the load, and what arrived.
    fn delivery(&self, columns: &mut Vec<Column>) {
        let shows_load = self.shows_load();
        if shows_load {
            columns.push(self.text("load", 1, |e| {
                e.load().map_or_else(String::new, |l| l.as_str().to_owned())
            }));
            columns.push(
                self.column("in window", "", 3, |e| match e.in_window_ratio() {
                    Some(share) => Measured::bare(number::share(share)),
                    None => Measured::default(),
                }),
            );
        }
        if self.kind == Kind::Windows {
            columns.push(self.column(DELIVERED, "", 2, delivered));
        }
        if shows_load || self.rows.iter().any(|e| is_saturating(e)) {
            columns.push(self.column("delivered/s", "", 3, |e| {
                per_second(e.median(TrialFigure::DeliveredHz), "")
            }));
            columns.push(self.column("bytes/s", "", 9, |e| {
                per_second(e.median(TrialFigure::DeliveredBytesPerS), "B")
            }));
        }
    }

    /// How many trials count, and how many failed where any did.
    fn trials(&self) -> Column {
        let title = match self.rows.iter().any(|e| e.trials.failed > 0) {
            true => "trials (failed)",
            false => "trials",
        };
        self.column(title, "", 0, |e| {
            Measured::bare(match e.trials.failed {
                0 => e.trials.counted.to_string(),
                failed => format!("{} ({failed})", e.trials.counted),
            })
        })
    }

    /// Whether the blocks hold stacks that were measured with other waits than the rest.
    pub(crate) fn stacks_wait_differently(&self) -> bool {
        let mut stacks: BTreeMap<Wait, BTreeSet<&str>> = BTreeMap::new();
        for e in self.rows.iter().filter(|e| !e.is_floor) {
            let of_wait = stacks.entry(e.experiment.wait).or_default();
            of_wait.insert(&e.experiment.stack);
        }
        let mut sets = stacks.values();
        sets.next()
            .is_some_and(|first| sets.any(|other| other != first))
    }

    /// Whether the table says what became of each load: a link may be too slow for it, or a backlog grew.
    pub(crate) fn shows_load(&self) -> bool {
        let linked = self.summary.run.has_rated_links;
        self.rows.iter().any(|e| {
            let on_a_link = linked && e.experiment.placement == Placement::Host;
            e.load().is_some() && (on_a_link || e.saturated.is_some())
        })
    }

    /// The headline's quantiles, with `host` the machine's own beside the p99, and beside a response
    /// time the service time.
    fn quantiles(&self, columns: &mut Vec<Column>, host: bool) {
        // p50 always stays; it and p99 are the last to go.
        const RANKS: [u8; 4] = [0, 7, 1, 6];
        let base = TimeUnit::for_column(self.rows.iter().map(|e| p50_ns(e)));
        for (i, (_, title, _)) in QUANTILES.iter().enumerate() {
            let values = self.rows.iter().map(|e| quantile_ns(e, e.headline(), i));
            let unit = column_unit(base, values);
            columns.push(self.column(title, unit.as_str(), RANKS[i], |e| {
                match (e.headline_metric(), i) {
                    (Some(_), _) if e.unresolved().is_some() => unresolved(e, i),
                    (Some(m), _) => Measured::quantile(&m.quantiles[i], unit.ns()),
                    (None, 0) => absence(e),
                    (None, _) => Measured::default(),
                }
            }));
            if host && i == P99 {
                columns.push(
                    self.column(HOST_P99, unit.as_str(), 12, |e| match host_p99(e) {
                        Some(tail) => own_delay(tail, unit),
                        None => Measured::default(),
                    }),
                );
            }
        }
        let others = Metric::ALL.iter().filter(|m| !m.info().beside.is_empty());
        for (metric, rank) in others.zip((10..).step_by(3)) {
            self.beside(columns, *metric, rank, base);
        }
    }

    /// Columns of a metric that stands beside the headline; none where no row has it. `rank` is that of the first.
    fn beside(&self, columns: &mut Vec<Column>, metric: Metric, rank: u8, base: TimeUnit) {
        if !self.rows.iter().any(|e| beside(e, metric).is_some()) {
            return;
        }
        for (column, rank) in metric.info().beside.iter().zip(rank..) {
            let quantile = match column.shows {
                Shows::P50 => Some(0),
                Shows::P99 => Some(P99),
                Shows::Max => None,
            };
            let largest = |e: &ExperimentSummary| match beside(e, metric) {
                Some(m) if m.infinite > 0 => Some(f64::INFINITY),
                Some(m) => m.max.map(|ns| ns as f64),
                None => None,
            };
            let Some(i) = quantile else {
                columns.push(self.time(column.title, rank, base, largest));
                continue;
            };
            let values = self.rows.iter().map(|e| quantile_ns(e, metric, i));
            let unit = column_unit(base, values);
            let cell = |e: &ExperimentSummary| match beside(e, metric) {
                Some(m) => Measured::quantile(&m.quantiles[i], unit.ns()),
                None => Measured::default(),
            };
            columns.push(self.column(column.title, unit.as_str(), rank, cell));
        }
    }

    /// The time to the first message, and the medians of its parts.
    fn starts(&self, columns: &mut Vec<Column>) {
        let base = TimeUnit::for_column(self.rows.iter().map(|e| p50_ns(e)));
        // The p50 always stays.
        for (i, rank) in [(0, 0), (1, 1)] {
            let values = self.rows.iter().map(|e| quantile_ns(e, e.headline(), i));
            let unit = column_unit(base, values);
            columns.push(self.column(QUANTILES[i].1, unit.as_str(), rank, |e| {
                match (e.headline_metric(), i) {
                    (Some(_), _) if e.unresolved().is_some() => unresolved(e, i),
                    (Some(m), _) => Measured::quantile(&m.quantiles[i], unit.ns()),
                    (None, 0) => absence(e),
                    (None, _) => Measured::default(),
                }
            }));
        }
        let borne = |e: &ExperimentSummary| e.unresolved().is_none().then_some(());
        let max = |e: &ExperimentSummary| {
            borne(e)?;
            Some(e.headline_metric()?.max? as f64)
        };
        columns.push(self.time("max", 6, base, max));
        for (title, metric) in [
            ("open", Metric::Open),
            ("match", Metric::Match),
            ("delivery", Metric::FirstDelivery),
        ] {
            let median = |e: &ExperimentSummary| {
                borne(e)?;
                Some(e.medians.get(&metric)?.median)
            };
            columns.push(self.time(title, 3, base, median));
        }
    }

    /// What each participant takes while nobody sends, and what all of them take together.
    fn idle(&self, columns: &mut Vec<Column>) {
        let cpu = |e: &ExperimentSummary| e.figure(TrialFigure::CpuEach);
        let medians = self.rows.iter().filter_map(|e| cpu(e)).map(|s| s.median);
        let unit = TimeUnit::for_column(medians);
        columns.push(self.column(IDLE_CPU, unit.as_str(), 0, |e| {
            cpu(e).map_or_else(|| absence(e), |s| extremes(&s, unit))
        }));
        for (title, rank, figure) in IDLE {
            let info = figure.info();
            let cell = |value: f64| match (info.is_whole, info.unit) {
                (true, "") => Measured::bare(format!("{value:.0}")),
                (_, "B" | "B/s") => per_second(Some(value), "B"),
                _ => per_second(Some(value), ""),
            };
            columns.push(self.column(title, "", rank, |e| {
                e.median(figure).map_or_else(Measured::default, cell)
            }));
        }
    }

    /// A column of times without an accuracy, in a unit of its own where that reads better.
    fn time(
        &self,
        title: &'static str,
        rank: u8,
        base: TimeUnit,
        ns: impl Fn(&ExperimentSummary) -> Option<f64>,
    ) -> Column {
        let unit = column_unit(base, self.rows.iter().filter_map(|e| ns(e)));
        self.column(title, unit.as_str(), rank, |e| match ns(e) {
            Some(ns) => Measured::bare(number::sig3(ns / unit.ns())),
            None => Measured::default(),
        })
    }

    /// CPU time per message, or per start: the median trial, and the extremes beside it.
    fn cpu(&self) -> Column {
        let (title, starts) = match self.kind {
            Kind::Starts => ("CPU", true),
            Kind::Windows | Kind::Outages | Kind::Idle => ("CPU/msg", false),
        };
        let spread = |e: &ExperimentSummary| match starts {
            true => e.figure(TrialFigure::CpuNs),
            false => e.figure(TrialFigure::CpuPerMessage),
        };
        let medians = self.rows.iter().filter_map(|e| spread(e)).map(|s| s.median);
        let unit = TimeUnit::for_column(medians);
        self.column(title, unit.as_str(), 5, |e| match spread(e) {
            None => Measured::default(),
            Some(s) => extremes(&s, unit),
        })
    }

    /// CPU time of the whole host per message; `None` where it is known of no row.
    fn host_cpu(&self) -> Option<Column> {
        let median = |e: &ExperimentSummary| e.median(TrialFigure::HostCpuPerMessage);
        let known = || self.rows.iter().filter_map(|e| median(e));
        if self.kind == Kind::Starts || known().next().is_none() {
            return None;
        }
        Some(self.time(HOST_CPU, 13, TimeUnit::for_column(known()), median))
    }

    fn text(
        &self,
        title: &'static str,
        rank: u8,
        f: impl Fn(&ExperimentSummary) -> String,
    ) -> Column {
        Column {
            text: true,
            ..self.column(title, "", rank, |e| Measured::bare(f(e)))
        }
    }

    fn column(
        &self,
        title: &'static str,
        unit: &'static str,
        rank: u8,
        f: impl Fn(&ExperimentSummary) -> Measured,
    ) -> Column {
        Column {
            title,
            short: short(title),
            unit,
            text: false,
            derived: [FLOOR_RATIO, REFERENCE_RATIO, COPY_RATIO, CACHED_COPY_RATIO].contains(&title),
            rank,
            cells: self.rows.iter().map(|e| f(e)).collect(),
        }
    }
}

/// The median trial, and the extremes beside it.
fn extremes(s: &Spread, unit: TimeUnit) -> Measured {
    let [value, min, max] = [s.median, s.min, s.max].map(|ns| number::sig3(ns / unit.ns()));
    let beside = match min == max {
        true => String::new(),
        false => format!("({min}–{max})"),
    };
    Measured {
        value,
        beside,
        below: String::new(),
    }
}

/// The ranges of sorted rows that belong together: of one wait strategy and, with `named`, one experiment; none
/// where that are all.
fn blocks(rows: &[&ExperimentSummary], named: bool) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = 0;
    let together = |a: &ExperimentSummary, b: &ExperimentSummary| {
        let (a, b) = (&a.experiment, &b.experiment);
        a.wait == b.wait && (!named || a.name == b.name)
    };
    for of_one in rows.chunk_by(|a, b| together(a, b)) {
        let end = start + of_one.len();
        blocks.push(start..end);
        start = end;
    }
    match blocks.len() {
        0 | 1 => Vec::new(),
        _ => blocks,
    }
}

/// Whether a factor has one value in each of the blocks.
fn is_constant_in_each(
    factor: &Factor,
    rows: &[&ExperimentSummary],
    blocks: &[Range<usize>],
) -> bool {
    blocks.iter().all(|block| {
        let mut values = rows[block.clone()]
            .iter()
            .map(|e| (factor.text)(&e.experiment));
        let first = values.next();
        values.all(|v| Some(&v) == first.as_ref())
    })
}

/// What all rows of a block share, and what their ratios are to.
fn block_title(rows: &[&ExperimentSummary], named: bool, above: &[&Factor]) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let mut parts = Vec::new();
    if named {
        parts.push(first.experiment.name.clone());
    }
    parts.extend(Some(factors::heading(above, Some(&first.experiment))).filter(|h| !h.is_empty()));
    let with_ratio = rows.iter().filter_map(|e| e.floor.as_ref());
    let mut floors: Vec<(&str, bool)> = with_ratio
        .filter(|f| f.p50_ratio.is_some())
        .map(|f| (f.stack.as_str(), f.holds()))
        .collect();
    floors.sort_unstable();
    floors.dedup_by_key(|f| f.0);
    parts.extend(floors.iter().map(|(stack, holds)| match holds {
        true => format!("floor {}", stack),
        false => format!("reference {}", stack),
    }));
    format!("{}:", parts.join(" · "))
}
