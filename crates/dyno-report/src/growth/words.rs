//! Laws of growth as a table and in sentences.

use crate::factors::varying_conditions;
use crate::format::RenderOptions;
use crate::grid::Grid;
use crate::notes;
use crate::number::{Measured, duration, whole, with_prefix};
use crate::page::Page;
use crate::summary::{EXTRAPOLATED, FigureGrowth, GrowthSummary, Lacking, NoFit, Summary};
use dyno_model::TrialFigure;
use dyno_stats::{Course, Doubt, Estimate, Growth, Latency, Law, NoGrowth, Ranged};

const LEGEND: [&str; 6] = [
    "all figures are those of all participants and daemons together; the values are those of the median trial",
    "busy CPUs: their user and system time per second of the window",
    "packets and link bytes hold all traffic of the hosts; memory, threads and files hold those of Dyno's own agents",
    "exponent: c of the best a + b·n^c with a ≥ 0 and b > 0, with its 95 % interval; n is the number of participants",
    "laws that fit: those of constant, log n, n, n·log n, n² and n³, each as a + b·f(n), that the trials do not reject at 5 % and, if it grows, that are significantly better than the constant; a figure that is constant has no other law",
    "a growth is undecided where the exponent may be beyond −3 or 4, where its interval holds 0, or both 1 and 2, or is wider than 1, where no curve fits, or where the scatter of trials may hide a growth",
];

/// The table of all series, and what they say in sentences. With `markdown` the width is ignored.
pub(crate) fn render(summary: &Summary, options: &RenderOptions, markdown: bool) -> String {
    let mut out = Page::new(options.width, markdown);
    out.head(&notes::title(&summary.run), &notes::origin(&summary.run));
    let mut parts: Vec<(String, Vec<&GrowthSummary>)> = Vec::new();
    for (title, series) in titles(&summary.growth).into_iter().zip(&summary.growth) {
        match parts.iter_mut().find(|(known, _)| *known == title) {
            Some((_, part)) => part.push(series),
            None => parts.push((title, vec![series])),
        }
    }
    for (title, part) in &parts {
        out.part(title, false, &Default::default(), &grid(part));
        let said: Vec<String> = part.iter().flat_map(|series| sentences(series)).collect();
        out.list("In sentences", &said);
    }
    let mut legend: Vec<String> = LEGEND.map(str::to_owned).into();
    legend.push(format!(
        "Dyno extrapolates up to {EXTRAPOLATED} times the largest measured number of participants"
    ));
    out.list("How to read this", &legend);
    out.lines.text
}

/// What tells the series from each other, without their stacks.
fn titles(all: &[GrowthSummary]) -> Vec<String> {
    let firsts = all.iter().map(|series| &series.ends[0]);
    let title = |(series, conditions): (&GrowthSummary, String)| {
        let [first, last] = &series.ends;
        let (least, most) = series.range();
        let conditions = match conditions.is_empty() {
            true => conditions,
            false => format!(", {conditions}"),
        };
        let (from, to) = (first.topology, last.topology);
        format!(
            "{}{conditions}, {least} to {most} participants ({from} to {to})",
            first.name
        )
    };
    let conditions = varying_conditions(firsts);
    all.iter().zip(conditions).map(title).collect()
}

fn grid(part: &[&GrowthSummary]) -> Grid {
    let (least, most) = part.first().map_or((0, 0), |series| series.range());
    let head = ["stack", "figure", "exponent", "laws that fit"].map(str::to_owned);
    let mut grid = Grid {
        head: head.into(),
        labels: 2,
        rows: Vec::new(),
    };
    grid.head
        .splice(2..2, [format!("at {least}"), format!("at {most}")]);
    for series in part {
        for f in &series.figures {
            let end = |n: u64| {
                let found = f.at.iter().find(|(at, _)| *at == n);
                found.map_or_else(|| "–".to_owned(), |(_, s)| shown(f.figure, s.median))
            };
            let row = [
                series.ends[0].stack.clone(),
                name(f.figure).0.to_owned(),
                end(least),
                end(most),
                exponent(f),
                laws(f),
            ];
            grid.rows.push(row.map(Into::into).into());
        }
    }
    grid
}

/// The name of a figure, and whether it is a plural.
fn name(figure: TrialFigure) -> (&'static str, bool) {
    match figure {
        TrialFigure::BusyCpus => ("busy CPUs", true),
        TrialFigure::PssBytes => ("PSS", false),
        TrialFigure::PacketBytesPerS => ("link bytes", true),
        TrialFigure::SharedBytes => ("shared memory", false),
        other => (other.info().title, true),
    }
}

/// A value with its unit.
fn shown(figure: TrialFigure, value: f64) -> String {
    match (figure, figure.info().unit) {
        (TrialFigure::BusyCpus, _) => format!("{}/s", duration(1e9 * value)),
        (_, "1/s") => format!("{}/s", with_prefix(value, "")),
        (_, "B/s") => format!("{}/s", with_prefix(value, "B")),
        (_, "B") => with_prefix(value, "B"),
        _ if value >= 100.0 => format!("{value:.0}"),
        _ => whole(value),
    }
}

fn ranged(r: Ranged) -> String {
    let estimate = Estimate {
        value: Latency::Finite(r.value),
        lo: Latency::Finite(r.lo),
        hi: Latency::Finite(r.hi),
    };
    Measured::estimate(&estimate, 1.0).line()
}

/// That of a figure that is constant says nothing.
fn exponent(f: &FigureGrowth) -> String {
    match &f.fit {
        Ok(fit) if fit.course != Course::Constant => ranged(fit.exponent),
        _ => "–".into(),
    }
}

fn laws(f: &FigureGrowth) -> String {
    match &f.fit {
        Err(why) => reason(f.figure, *why),
        Ok(fit) => match (undecided(fit), listed(&fit.laws)) {
            (None, listed) => listed,
            (Some(why), _) if fit.laws.is_empty() => format!("undecided: {why}"),
            (Some(why), listed) => format!("undecided: {why} ({listed})"),
        },
    }
}

fn listed(laws: &[Law]) -> String {
    match laws {
        [] => "none".into(),
        laws => joined(laws, ", "),
    }
}

fn joined(laws: &[Law], with: &str) -> String {
    let names: Vec<&str> = laws.iter().map(|l| l.as_str()).collect();
    names.join(with)
}

/// Why a fit decides nothing; [`None`] of one that does.
pub(crate) fn undecided(fit: &Growth) -> Option<&'static str> {
    let Course::Undecided(doubt) = fit.course else {
        return None;
    };
    Some(match doubt {
        Doubt::Scatter => "scatter may hide a growth",
        Doubt::NoCurve => "no curve fits",
        Doubt::Unbounded => "the exponent may be beyond −3 or 4",
        Doubt::LinearOrSquare => "n or n²",
        Doubt::Wide => "exponent too uncertain",
    })
}

/// Why there is no fit.
pub(crate) fn reason(figure: TrialFigure, why: NoFit) -> String {
    match why {
        NoFit::NoTrial { n } => format!("no trial with {n} participants was completed"),
        NoFit::Unknown { n } => format!("unknown in a trial with {n} participants"),
        NoFit::Lacking(lacking) => format!("undecided: {}", missing(lacking)),
        NoFit::Disturbed { n } => {
            format!("undecided: the host disturbed all trials with {n} participants")
        }
        NoFit::Data(NoGrowth::Zero) => format!("no {} in any trial", name(figure).0),
        NoFit::Data(NoGrowth::FewSizes { have, need }) => {
            format!("needs {need} numbers of participants, has {have}")
        }
        NoFit::Data(NoGrowth::Narrow { least, most, need }) => format!(
            "needs {need} times as many participants at one end as at the other, has {least} to {most}"
        ),
        NoFit::Data(NoGrowth::FewTrials { n, have, need }) => {
            format!("needs {need} trials with {n} participants, has {have}")
        }
        NoFit::Data(NoGrowth::NotPositive { n }) => {
            format!("zero in a trial with {n} participants, and not in all")
        }
    }
}

/// One for each figure that was decided, and one for trials that are not there.
fn sentences(series: &GrowthSummary) -> Vec<String> {
    let stack = &series.ends[0].stack;
    let own = series.figures.iter().filter_map(|f| sentence(series, f));
    let lacking = series.lacking.iter().copied().map(missing);
    own.chain(lacking)
        .map(|text| format!("{stack}: {text}."))
        .collect()
}

fn missing(lacking: Lacking) -> String {
    let (n, trials, of) = (lacking.participants, lacking.trials, lacking.of);
    format!("{trials} of {of} trials with {n} participants failed or are missing")
}

fn sentence(series: &GrowthSummary, f: &FigureGrowth) -> Option<String> {
    let fit = f.fit.as_ref().ok().filter(|_| f.is_decided())?;
    let (least, most) = series.range();
    let (name, is_plural) = name(f.figure);
    let ending = if is_plural { "" } else { "s" };
    let verb = match fit.course {
        Course::Grows => format!("grow{ending}"),
        Course::Falls => format!("fall{ending}"),
        _ => {
            let is = if is_plural { "are" } else { "is" };
            return Some(format!(
                "{name} {is} constant from {least} to {most} participants"
            ));
        }
    };
    let with = match (fit.is_power, fit.laws.as_slice()) {
        (false, [_, ..]) => joined(&fit.laws, " or "),
        _ => format!("n^{}", ranged(fit.exponent)),
    };
    let law = format!("{name} {verb} with {with}");
    Some(match farther(f, (least, most)) {
        None => law,
        Some((text, false)) => format!("{law}; {text}"),
        Some((text, true)) => format!("{law}; {text}, extrapolated from {least} to {most}"),
    })
}

/// What follows from a growth, and whether nobody measured it.
fn farther(f: &FigureGrowth, (least, most): (u64, u64)) -> Option<(String, bool)> {
    let Some(reach) = f.fills_one_cpu() else {
        let (n, at) = f.farthest()?;
        let [value, lo, hi] = [at.value, at.lo, at.hi].map(|v| shown(f.figure, v));
        return Some((format!("at {n} participants {value} [{lo}, {hi}]"), true));
    };
    let number = |n: f64| match reach.within(n) {
        Some(_) if n < least as f64 => format!("below {least}"),
        Some(n) => n.to_string(),
        None => format!("beyond {}", reach.limit()),
    };
    let Ranged { value, lo, hi } = reach.n;
    let is_far = lo < least as f64 || hi > most as f64;
    let at = match (value >= least as f64, reach.within(value)) {
        (true, Some(n)) => format!("at {n}"),
        _ => number(value),
    };
    let ends = match (number(lo), number(hi)) {
        // Nothing more is said of a place where Dyno does not look.
        (lo, hi) if lo == hi && lo == at => String::new(),
        (lo, hi) => format!(" [{lo}, {hi}]"),
    };
    Some((
        format!("all participants together fill one CPU {at}{ends} participants"),
        is_far,
    ))
}
