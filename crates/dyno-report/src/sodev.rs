//! The nine tables of AGL SoDeV's document from a run across the border of a virtual machine: each of its rows beside ours, or
//! why there is none. The document's figures are those that `dyno audit` reads as well.

mod labels;
mod requirements;

use crate::columns::Columns;
use crate::grid::{Grid, Text};
use crate::notes;
use crate::number::{duration, sig3, with_prefix};
use crate::published::PrintedTables;
use crate::settings;
use crate::signals::quantile;
use crate::study::Page;
use crate::summary::{DaemonCost, ExperimentSummary, MemorySummary, Spread, Summary};
use crate::view::View;
use dyno_model::probe::ProbeKind;
use dyno_model::{Metric, Placement, Start, TrialFigure, Workload, WorkloadKind};
use dyno_stats::Quantile;

/// Where the document has nothing, or we.
const NONE: &str = "–";
/// Places among [`crate::QUANTILES`].
const P50: usize = 0;
const P99: usize = 2;

/// Whether an experiment has a row here.
pub(crate) fn shows(e: &ExperimentSummary) -> bool {
    !e.is_base && !e.is_leg
}

/// All tables, legend and remarks. With `markdown` the width is ignored.
pub(crate) fn render(summary: &Summary, limit: Option<usize>, markdown: bool) -> String {
    let study = Study {
        printed: PrintedTables::sodev(),
        summary,
    };
    let mut out = Page::new(limit, markdown);
    out.head(&notes::title(&summary.run), &notes::origin(&summary.run));
    let tables: [(&str, Grid); 8] = [
        ("1. Latency between machines", study.border()),
        ("2. Timer to handler at 10 kHz", study.timers()),
        ("3. Stages of the start", study.boot()),
        ("5. Throughput of the network", study.throughput()),
        ("6. Memory", study.memory()),
        ("7. Spinning threads on the virtual CPUs", study.shares()),
        ("8. Host and guest", study.overhead()),
        ("9. Requirements", study.requirements()),
    ];
    for (number, (title, grid)) in tables.iter().enumerate() {
        if number == 3 {
            out.list(
                "4. Broker",
                &[
                    "run `dyno run signals`; `dyno show` then prints the rows of this section"
                        .to_owned(),
                ],
            );
        }
        match grid.is_empty() {
            true => out.list(title, &[format!("{NONE} not measured in this run")]),
            false => out.part(title, grid),
        }
    }
    let reasons = study.reasons();
    if !reasons.is_empty() {
        out.list("9. Requirements that did not pass, and why", &reasons);
    }
    out.list("How to read this", &legend(summary));
    let flaws = study.printed.flaws.iter();
    let flaws: Vec<String> = flaws.map(|f| format!("{}: {}", f.about, f.says)).collect();
    let title = &study.printed.title;
    out.list(
        &format!("Before comparing with the document ({title})"),
        &flaws,
    );
    let remarks = notes::sections(&View::new(summary, shows, &Columns::All));
    match markdown {
        true => crate::markdown::sections(&mut out.lines.text, &remarks),
        false => out.lines.sections(&remarks),
    }
    out.lines.text
}

fn legend(summary: &Summary) -> Vec<String> {
    let mut lines = vec![
        "document: as printed there. [a, b]: 95 % interval over trials.".to_owned(),
        "1: round trips are not halved; one way counts from the due time of a message, with an error of at most the bound on the clocks.".into(),
        "1: floor-spin is memory that both machines map (ivshmem) and both sides poll, so each keeps a CPU busy.".into(),
        "2: the sum is measured for each timer; the sum of quantiles of its parts is not a quantile of the sum. It includes the timer's \
         interrupt, the wait for the handler's thread, and the virtualisation of both; Dyno cannot observe an interrupt without a thread."
            .into(),
        "2: the handler is Dyno's own record of the wake-up; if one wake-up answers several due times, each is a sample of due to end."
            .into(),
        "3: medians over the starts with their intervals; the machine is booted anew for each. A container is a process alone in \
         namespaces for processes, mounts, names and message queues, with the network of the testbed's host, which is a namespace itself; it has no image, no \
         cgroup and no engine that a start would wait for. Of two processes or containers the slower one counts, each from its own start."
            .into(),
        "3: a first message counts from the runner's go; before that Dyno loads the stacks and prepares, which no row includes."
            .into(),
        "5: CPU of sender, receiver and monitor over window and drain, 100 % is one CPU kept busy; the monitor's time includes the \
         guest's. The kernel of an emulated guest counts more CPU time than elapses: compare with the monitor's."
            .into(),
        "6: at rest: the machine is up, and the trial's agents are not started yet; in use: after the last arrival, with the agents there; \
         medians over trials. For processes: the proportional set size. Within a guest: the memory that its kernel cannot give away. The monitor's memory includes the guest memory that was touched and, for an emulated guest, translated code.".into(),
        "7: the part of all loops that a thread did, over threads and trials: 1/n each is fair. With one thread on each of several virtual \
         CPUs it shows how the host divides its CPUs, as in the document. With several threads on one virtual CPU it shows how the guest's \
         kernel divides that CPU; time that the host takes appears in the pauses."
            .into(),
        "8: guest divided by host; each interval combines the worst ends of both sides, so the true interval is narrower.".into(),
        "9: judged as `dyno check RUN limits/sodev.toml` judges them (without its line `emulated` where the guest runs on the processor); a \
         verdict on an emulated guest says nothing about a real one. A round trip of two hand-overs has twice the limit of one hand-over, \
         so one of the two may exceed it. The thread of a timer runs later than its interrupt, so the interrupt alone may keep a limit \
         that the thread breaks.".into(),
        format!("{NONE}: nothing there, or samples or trials too few or too far apart for this figure."),
    ];
    lines.extend(settings::lines(&summary.run, &summary.experiments));
    lines
}

struct Study<'a> {
    printed: &'a PrintedTables,
    summary: &'a Summary,
}

fn grid(labels: usize, head: &[&str], rows: Vec<Vec<String>>) -> Grid {
    let text = |row: Vec<String>| row.into_iter().map(Text::from).collect();
    Grid {
        head: head.iter().map(|h| (*h).to_owned()).collect(),
        labels,
        rows: rows.into_iter().map(text).collect(),
    }
}

impl<'a> Study<'a> {
    fn all(&self) -> impl Iterator<Item = &'a ExperimentSummary> {
        let own = |e: &&ExperimentSummary| shows(e) && !e.experiment.added;
        self.summary.experiments.iter().filter(own)
    }

    fn of(&self, kind: WorkloadKind) -> impl Iterator<Item = &'a ExperimentSummary> {
        self.all()
            .filter(move |e| e.experiment.workload.kind() == kind)
    }

    fn probes(&self, wanted: ProbeKind) -> impl Iterator<Item = &'a ExperimentSummary> {
        self.all().filter(move |e| match e.experiment.workload {
            Workload::Probe { probe, .. } => probe.kind() == wanted,
            _ => false,
        })
    }

    fn host(&self, e: &ExperimentSummary) -> String {
        let name = self.summary.run.hosts.get(e.experiment.on_host);
        name.map_or_else(|| NONE.into(), |name| name.to_string())
    }

    /// Whether the host that an experiment is on is emulated in software, and not another one of the run.
    fn is_emulated(&self, e: &ExperimentSummary) -> bool {
        let run = &self.summary.run;
        let name = run.hosts.get(e.experiment.on_host);
        name.is_some_and(|name| run.emulated_hosts.contains(name))
    }

    /// A cell of the document, or that it has none.
    fn printed(&self, table: &str, label: &str, cell: usize) -> String {
        let row = self.printed.row(table, label);
        let text = row.and_then(|row| row.get(cell));
        text.cloned().unwrap_or_else(|| NONE.into())
    }

    /// Why the plan left a stack out of an experiment.
    fn refused(&self, experiment: &str, stack: &str) -> Option<String> {
        let mut all = self.summary.refused.iter();
        let found = all.find(|r| r.experiment == experiment && r.stack == stack);
        found.map(|r| r.reason.to_string())
    }

    fn border(&self) -> Grid {
        let crosses = |e: &&ExperimentSummary| e.experiment.placement == Placement::Host;
        let trips: Vec<_> = self.of(WorkloadKind::PingPong).filter(crosses).collect();
        let ways: Vec<_> = self.of(WorkloadKind::Stream).filter(crosses).collect();
        if trips.is_empty() && ways.is_empty() {
            return Grid::default();
        }
        let on = |all: &[&'a ExperimentSummary], stack: &str| {
            all.iter().copied().find(|e| e.experiment.stack == stack)
        };
        let row = |(label, stack): (&str, &str)| {
            let cell = |e: Option<&ExperimentSummary>, metric, rank| {
                e.map_or_else(|| NONE.to_owned(), |e| quantile(e, metric, rank))
            };
            let (trip, way) = (on(&trips, stack), on(&ways, stack));
            let bound = way.and_then(|e| e.clock_bound);
            let why = match trip {
                None => self.refused("border", stack),
                Some(e) => e.failures.first().map(|f| f.cause.to_string()),
            };
            vec![
                stack.to_owned(),
                self.printed("vm", label, 0),
                cell(trip, Metric::Rtt, P50),
                cell(trip, Metric::Rtt, P99),
                cell(way, Metric::Response, P50),
                bound.map_or(NONE.into(), |b| duration(b.0 as f64)),
                why.unwrap_or_default(),
            ]
        };
        let mut rows: Vec<_> = labels::BORDER.into_iter().map(row).collect();
        rows.extend(labels::NOT_CROSSED.map(|(what, label, why)| {
            let mut row = vec![NONE.to_owned(); 7];
            what.clone_into(&mut row[0]);
            row[1] = self.printed("vm", label, 0);
            why.clone_into(&mut row[6]);
            row
        }));
        let head = [
            "across",
            "document, mean",
            "round trip p50",
            "p99",
            "one way p50",
            "± clocks",
            "why not",
        ];
        grid(1, &head, rows)
    }

    fn timers(&self) -> Grid {
        let mut rows = Vec::new();
        for e in self.probes(ProbeKind::Timer) {
            for (label, name, metric) in labels::TIMERS {
                let largest = e.metrics.get(&metric).and_then(|m| m.max);
                rows.push(vec![
                    self.host(e),
                    name.to_owned(),
                    self.printed("irq", label, 0),
                    self.printed("irq", label, 2),
                    self.printed("irq", label, 1),
                    quantile(e, metric, P50),
                    quantile(e, metric, P99),
                    largest.map_or(NONE.into(), |ns| duration(ns as f64)),
                ]);
            }
        }
        let head = [
            "host",
            "part",
            "document, mean",
            "its p99",
            "its max",
            "p50",
            "p99",
            "max",
        ];
        grid(2, &head, rows)
    }

    fn boot(&self) -> Grid {
        let mut rows = Vec::new();
        for e in self.of(WorkloadKind::FirstMessage) {
            let (what, stages): (_, &[_]) = match (e.experiment.reboot, e.experiment.start) {
                (true, _) => ("machine", &labels::MACHINE),
                (false, Some(Start::Container)) => ("container", &labels::CONTAINER),
                (false, Some(Start::Process)) => ("process", &labels::PROCESS),
                // Its start was not measured, as in older runs.
                (false, None) => ("process", &labels::PROCESS[1..]),
            };
            for (label, name, metric) in stages {
                let found = e.metrics.get(metric);
                let largest = found.and_then(|m| m.max);
                let n = found.map_or(0, |m| m.n);
                rows.push(vec![
                    what.to_owned(),
                    (*name).to_owned(),
                    self.printed("boot", label, 0),
                    quantile(e, *metric, P50),
                    largest.map_or(NONE.into(), |ns| duration(ns as f64)),
                    n.to_string(),
                ]);
            }
        }
        if !rows.is_empty() {
            let has_container = rows.iter().any(|row| row[0] == "container");
            let absent = [labels::NO_CONTAINER]
                .into_iter()
                .filter(|_| !has_container);
            for (label, cell, why) in absent.chain(labels::NOT_STARTED) {
                rows.push(vec![
                    "document".into(),
                    format!("{label}: {why}"),
                    self.printed("boot", label, cell),
                    NONE.into(),
                    NONE.into(),
                    NONE.into(),
                ]);
            }
        }
        grid(
            2,
            &["start of", "stage", "document", "p50", "max", "starts"],
            rows,
        )
    }

    fn throughput(&self) -> Grid {
        let row = |e: &'a ExperimentSummary| {
            let x = &e.experiment;
            let label = match (x.stack.as_str(), x.topology.senders) {
                ("tcp", 1) => labels::TCP,
                ("tcp", _) => labels::TCP_STREAMS,
                _ => labels::UDP,
            };
            let bits = e.median(TrialFigure::DeliveredBytesPerS).map(|b| 8.0 * b);
            let cpu = |label: &str| {
                let of = |d: &&DaemonCost| d.label.starts_with(label);
                let all = e.agents.iter().chain(&e.machines).filter(of);
                let shares: Option<Vec<f64>> = all.map(|d| Some(d.cpu_share?.median)).collect();
                match shares {
                    Some(all) if !all.is_empty() => {
                        format!("{} %", sig3(100.0 * all.iter().sum::<f64>()))
                    }
                    _ => NONE.into(),
                }
            };
            vec![
                x.stack.clone(),
                x.topology.to_string(),
                x.payload.to_string(),
                self.printed("net", label, 0),
                bits.map_or(NONE.into(), |b| with_prefix(b, "bit/s")),
                e.delivered_ratio()
                    .map_or(NONE.into(), crate::number::share),
                self.printed("net", label, 2),
                cpu("source"),
                cpu("sink"),
                cpu("monitor"),
            ]
        };
        let head = [
            "stack",
            "streams",
            "message",
            "document",
            "delivered",
            "of what was sent",
            "document, CPU",
            "CPU sender",
            "CPU receiver",
            "CPU monitor",
        ];
        grid(3, &head, self.of(WorkloadKind::Flood).map(row).collect())
    }

    fn memory(&self) -> Grid {
        let mib = |bytes: f64| format!("{} MiB", sig3(bytes / f64::from(1 << 20)));
        let mut rows: Vec<Vec<String>> = Vec::new();
        for e in self.of(WorkloadKind::PingPong) {
            if e.experiment.placement != Placement::Host {
                continue;
            }
            let stack = e.experiment.stack.clone();
            for d in e.machines.iter().chain(&e.agents) {
                let around = e.memory.iter().find(|m| m.label == d.label);
                rows.push(vec![
                    stack.clone(),
                    d.label.clone(),
                    around.map_or(NONE.into(), |m| mib(m.at_rest_bytes.median)),
                    mib(d.pss_bytes.median),
                    mib(d.peak_rss_bytes.median),
                ]);
            }
            let is_process = |m: &&MemorySummary| e.machines.iter().any(|d| d.label == m.label);
            for m in e.memory.iter().filter(|m| !is_process(m)) {
                rows.push(vec![
                    stack.clone(),
                    m.label.clone(),
                    mib(m.at_rest_bytes.median),
                    mib(m.in_use_bytes.median),
                    NONE.into(),
                ]);
            }
        }
        if rows.is_empty() {
            return Grid::default();
        }
        for row in self.printed.rows("memory") {
            if let [label, used, ..] = row.as_slice() {
                // It says of one alone that it is at rest.
                let (at_rest, in_use) = match label.contains("idle") {
                    true => (used.clone(), NONE.into()),
                    false => (NONE.into(), used.clone()),
                };
                rows.push(vec![
                    "document".into(),
                    label.to_string(),
                    at_rest,
                    in_use,
                    NONE.into(),
                ]);
            }
        }
        grid(2, &["of", "component", "at rest", "in use", "peak"], rows)
    }

    fn shares(&self) -> Grid {
        let mut rows = Vec::new();
        for e in self.probes(ProbeKind::Share) {
            for copy in &e.copies {
                let spread = |s: Option<Spread>| {
                    s.map_or(NONE.into(), |s| {
                        let [median, min, max] = [s.median, s.min, s.max].map(|x| sig3(100.0 * x));
                        format!("{median} % [{min}, {max}]")
                    })
                };
                let share = match self.is_emulated(e) {
                    true => format!("{NONE} an emulated kernel counts it wrongly"),
                    false => spread(copy.share),
                };
                let cpus: Vec<String> = copy.cpus.iter().map(u32::to_string).collect();
                rows.push(vec![
                    self.host(e),
                    e.experiment.workload.to_string(),
                    format!("CPU {}", cpus.join(", ")),
                    spread(copy.work),
                    share,
                    duration(copy.p99_ns.median),
                ]);
            }
        }
        let printed = self.printed.rows("vcpu").iter();
        let printed: Vec<String> = printed.filter_map(|row| row.get(3).cloned()).collect();
        if !rows.is_empty() {
            rows.push(vec![
                "document".into(),
                "load without a name".into(),
                "4 virtual CPUs".into(),
                printed.join(", "),
                NONE.into(),
                NONE.into(),
            ]);
        }
        let head = [
            "host",
            "load",
            "CPU",
            "part of the work [min, max]",
            "CPU time of a thread",
            "pauses p99",
        ];
        grid(3, &head, rows)
    }

    /// The same experiment on the first host and on another.
    fn overhead(&self) -> Grid {
        let mut rows = Vec::new();
        for guest in self.all().filter(|e| e.experiment.on_host > 0) {
            let is_same = |e: &&ExperimentSummary| {
                let (a, b) = (&e.experiment, &guest.experiment);
                a.on_host == 0
                    && a.placement != Placement::Host
                    && (a.workload, a.placement, a.wait, a.payload, &a.stack)
                        == (b.workload, b.placement, b.wait, b.payload, &b.stack)
            };
            let Some(host) = self.all().find(is_same) else {
                continue;
            };
            let metric = guest.headline();
            let what = match guest.experiment.workload.kind().is_probe() {
                true => guest.experiment.workload.to_string(),
                false => format!("{}, {}", guest.experiment.stack, guest.experiment.workload),
            };
            rows.push(vec![
                what,
                quantile(host, metric, P50),
                quantile(guest, metric, P50),
                ratio(guest, host, metric),
            ]);
        }
        if !rows.is_empty() {
            for row in self.printed.rows("bare") {
                if let [label, bare, vm, overhead] = row.as_slice() {
                    let label = format!("document: {}", label);
                    rows.push(vec![label, bare.clone(), vm.clone(), overhead.clone()]);
                }
            }
        }
        grid(1, &["what", "host p50", "guest p50", "guest ÷ host"], rows)
    }
}

/// The ratio of two medians, each end of an interval against the other's worst.
fn ratio(guest: &ExperimentSummary, host: &ExperimentSummary, metric: Metric) -> String {
    let ends = |e: &ExperimentSummary| match e.metrics.get(&metric).map(|m| &m.quantiles[P50]) {
        Some(Quantile::Estimated(q)) => {
            let [value, lo, hi] = [q.value, q.lo, q.hi].map(|l| crate::number::latency_ns(&l));
            (hi.is_finite() && lo > 0.0).then_some((value, lo, hi))
        }
        _ => None,
    };
    let (Some((value, lo, hi)), Some((of, least, most))) = (ends(guest), ends(host)) else {
        return NONE.into();
    };
    format!(
        "×{} [{}, {}]",
        sig3(value / of),
        sig3(lo / most),
        sig3(hi / least)
    )
}
