//! Every figure of every pair of cells, with intervals that hold together.

use super::comparison::{CompareOptions, Compared, ComparedCell, Finding, Grade, LeftOut, Row};
use super::history::{Builds, CompareHistory, Means};
use super::ratio::{ends, exactly, mean_of, ratio_of, widened};
use crate::cell;
use crate::figure::{Figure, Trials};
use crate::number::counted;
use dyno_model::cause::{Cause, FailureCause};
use dyno_model::record::{Outcome, Run};
use dyno_model::{Experiment, ExperimentId, Metric, TrialRecord};
use dyno_report::{Basis, Shortfall, add_counts, is_deaf, missing_messages};
use dyno_stats::{
    BetweenRuns, Pairing, Verdict, across_runs, chance_of_hits, is_higher, simultaneous, verdict,
};

/// The values of one figure on both sides.
struct Values {
    figure: Figure,
    /// New, base.
    sides: Result<(Vec<f64>, Vec<f64>), String>,
    /// By how much the clocks of hosts may have changed a value of each side, as a share of the smallest: new, base.
    slack: (f64, f64),
}

/// The compared cells and those without anything to compare.
pub(super) struct Table {
    pub(super) cells: Vec<ComparedCell>,
    pub(super) failed: Vec<LeftOut>,
    pub(super) statements: usize,
    pub(super) each: f64,
}

/// Which trials of two experiments are compared, and how.
#[derive(Clone, Copy)]
struct Case<'a> {
    base: &'a Run,
    new: &'a Run,
    x: &'a Experiment,
    y: &'a Experiment,
    pairing: Pairing,
    how: &'a CompareOptions,
}

/// What of two sides belongs together.
#[derive(Clone, Copy, PartialEq)]
enum Pairs {
    None,
    OfTrials,
    /// Both sides took turns within each trial.
    OfSlices,
}

impl Pairs {
    const fn pairing(self) -> Pairing {
        match self {
            Pairs::None => Pairing::Independent,
            Pairs::OfTrials | Pairs::OfSlices => Pairing::Paired,
        }
    }
}

/// The trials of one side of a cell.
struct Side<'a> {
    trials: Trials<'a>,
    /// With the metrics of which only the tail is compared.
    beside: Vec<Trials<'a>>,
}

impl<'a> Side<'a> {
    /// Those of an experiment, with the metrics of the question that `asked` is.
    fn read(run: &'a Run, id: ExperimentId, asked: &Experiment, basis: Basis) -> Side<'a> {
        let headline = asked.headline();
        let is_beside =
            |m: &&Metric| m.info().compares_its_tail && !headline.contains(m) && asked.has(**m);
        let read = |metrics| Trials::read(run, id, metrics, basis);
        let others = Metric::ALL.iter().filter(is_beside);
        Side {
            trials: read(headline),
            beside: others.map(|m| read(std::slice::from_ref(m))).collect(),
        }
    }
}

impl CompareHistory {
    /// Adds a run; one that is there already is not taken twice. Cells with failed or missing trials, and figures that
    /// are infinite or, but for losses, zero in a trial, say nothing of what is usual.
    pub fn add(&mut self, run: &Run) {
        let means = |e: &Experiment| -> Means {
            let side = Side::read(run, e.id, e, Basis::COUNTED);
            let all = values(&side, &side, e.headline()[0], Pairs::None, &self.how);
            let known = all.into_iter().filter_map(|v| {
                let (own, _) = v.sides.ok()?;
                Some((v.figure, mean_of(v.figure, &own)))
            });
            let says = |(figure, mean): &(Figure, f64)| {
                mean.is_finite() && (*mean > 0.0 || !figure.has_ratio())
            };
            known.filter(says).collect()
        };
        let cells = cell::own(&run.manifest.plan);
        let whole = cells.filter(|e| Shortfall::of(run, e.id).is_none());
        let cells = whole.map(|e| (e.clone(), means(e))).collect();
        self.note(&run.manifest, cells);
    }
}

type OnEachBasis<'a> = Vec<(Basis, Side<'a>)>;

/// A cell under construction: intervals can be made once the number of all is known.
struct Open<'a> {
    case: Case<'a>,
    /// The runs of the history with its new side and with its base; `None` where there is no history.
    history: Option<[Builds<'a>; 2]>,
    counted: Vec<Values>,
    /// On every other pair of bases, which is named.
    others: Vec<(String, Vec<Values>)>,
    remarks: Vec<String>,
    is_damaged: bool,
    /// Counted trials of (new, base).
    records: (usize, usize),
}

impl Table {
    pub(super) fn new(
        base: &Run,
        new: &Run,
        pairs: &[(&Experiment, &Experiment)],
        pairing: Pairing,
        how: &CompareOptions,
        history: Option<&CompareHistory>,
    ) -> Table {
        let (mut open, mut failed) = (Vec::new(), Vec::new());
        // What a side lacks must not make the intervals of other rows narrower, so its rows count all the same.
        let mut statements = 0;
        for (x, y) in pairs {
            let case = Case {
                base,
                new,
                x,
                y,
                pairing,
                how,
            };
            let sides = case.sides();
            let (a, b) = (&sides.0[0].1.trials, &sides.1[0].1.trials);
            let remarks = both_remarks(a, b);
            let counted = case.values(&sides.0[0].1, &sides.1[0].1);
            statements += counted.iter().filter(|v| v.figure.has_ratio()).count();
            if a.records().is_empty() || b.records().is_empty() {
                let side = match (a.records().is_empty(), b.records().is_empty()) {
                    (true, true) => "no trial of either side completed",
                    (true, false) => "no trial of the base completed",
                    _ => "no trial of the new side completed",
                };
                let left_out = LeftOut {
                    cell: pair_label(x, y),
                    reason: [vec![side.to_owned()], remarks].concat().join("; "),
                    new_failed: !a.records().is_empty() || case.only_new_failed(),
                    is_undecided: true,
                    is_worse: false,
                };
                failed.push((case, left_out));
                continue;
            }
            let both = sides
                .0
                .iter()
                .flat_map(|a| sides.1.iter().map(move |b| (a, b)));
            let others = both.skip(1).map(|((of_a, a), (of_b, b))| {
                let phrase = match *of_b == Basis::COUNTED {
                    true => format!("{} of the base", of_a.phrase()),
                    false => format!("{} of the new side", of_b.phrase()),
                };
                (phrase, case.values(a, b))
            });
            open.push(Open {
                case,
                history: history.map(|all| {
                    [(new, y), (base, x)].map(|(side, e)| all.builds(&side.manifest, e))
                }),
                counted,
                others: others.collect(),
                remarks,
                is_damaged: case.shortfall().is_some() || undisturbed(a, b).is_err(),
                records: (b.records().len(), a.records().len()),
            });
        }
        let each = simultaneous(how.confidence, statements.max(1));
        // The rows without a ratio share the same chance of a false alarm among themselves: losses, failures, deaf trials.
        // What died is counted too.
        let with_faults = pairs.iter().filter(|(x, y)| have_faults(x, y)).count();
        let level = (1.0 - how.confidence) / (2 * pairs.len() + with_faults).max(1) as f64;
        let failed = failed.into_iter().map(|(case, left_out)| LeftOut {
            is_worse: case.fails_more(level),
            ..left_out
        });
        let cells = open.into_iter().map(|cell| cell.judge(each, level));
        Table {
            cells: cells.collect(),
            failed: failed.collect(),
            statements,
            each,
        }
    }
}

impl<'a> Case<'a> {
    /// The base and the new side, each on every basis; that on which figures are shown first.
    fn sides(&self) -> (OnEachBasis<'a>, OnEachBasis<'a>) {
        let of = |run, id| {
            let one = |basis| (basis, Side::read(run, id, self.x, basis));
            Basis::all(run, id).into_iter().map(one).collect()
        };
        (of(self.base, self.x.id), of(self.new, self.y.id))
    }

    /// Trials that show nothing: why nothing good is said.
    fn shortfall(&self) -> Option<String> {
        let of = |run, id, side| Some(Shortfall::of(run, id)?.text_of(side));
        of(self.new, self.y.id, " of the new side")
            .or_else(|| of(self.base, self.x.id, " of the base"))
    }

    fn values(&self, a: &Side<'_>, b: &Side<'_>) -> Vec<Values> {
        let sliced = self.x.slices.is_some() && self.y.slices.is_some();
        let pairs = match self.pairing {
            Pairing::Paired if sliced => Pairs::OfSlices,
            Pairing::Paired => Pairs::OfTrials,
            Pairing::Independent => Pairs::None,
        };
        values(a, b, self.x.headline()[0], pairs, self.how)
    }

    fn has_faults(&self) -> bool {
        have_faults(self.x, self.y)
    }

    /// The row of trials that show nothing. One that failed because the other side failed, with which it took turns, is that
    /// side's failure.
    fn failures(&self, level: f64) -> Row {
        let of = |run: &Run, id, others: usize| match Shortfall::of(run, id) {
            Some(short) => {
                let (bad, of) = short.counts();
                (bad.saturating_sub(others), of)
            }
            None => (0, run.trials_of(id).count()),
        };
        let (of_new, of_base) = self.failed_by_other();
        let base = of(self.base, self.x.id, of_new);
        let new = of(self.new, self.y.id, of_base);
        rare(Figure::Failed, base, new, level)
    }

    /// Whether more trials of the new side failed than chance explains; missing ones did not.
    fn fails_more(&self, level: f64) -> bool {
        let (of_new, of_base) = self.failed_by_other();
        let of = |run: &Run, id, others: usize| {
            let failed = |t: &&TrialRecord| matches!(t.outcome, Outcome::Failed { .. });
            let planned = Shortfall::of(run, id).map_or(0, |short| short.counts().1);
            let failed = run.trials_of(id).filter(failed).count();
            (
                failed.saturating_sub(others),
                planned.max(run.trials_of(id).count()),
            )
        };
        let base = of(self.base, self.x.id, of_new);
        let new = of(self.new, self.y.id, of_base);
        rare(Figure::Failed, base, new, level).grade() == Grade::Worse
    }

    /// How many trials of the base failed because the new side did, and the other way round.
    fn failed_by_other(&self) -> (usize, usize) {
        if self.x.slices.is_none() || self.pairing != Pairing::Paired {
            return (0, 0);
        }
        let waited = |t: &TrialRecord| {
            let Outcome::Failed { cause, .. } = &t.outcome else {
                return false;
            };
            matches!(cause, Cause::Known(FailureCause::OtherSide { .. }))
        };
        let (base, new) = (self.x.id, self.y.id);
        let of = |own, other| {
            let by_other = |t: &&TrialRecord| {
                let failed = |o: &TrialRecord| {
                    o.id.number == t.id.number && o.outcome != Outcome::Completed && !waited(o)
                };
                waited(t) && self.new.trials_of(other).any(failed)
            };
            self.new.trials_of(own).filter(by_other).count()
        };
        (of(base, new), of(new, base))
    }

    /// Whether only the new side failed of two that took turns, whose trials fail together.
    fn only_new_failed(&self) -> bool {
        let (of_new, of_base) = self.failed_by_other();
        of_new > 0 && of_base == 0
    }

    /// The row of trials in which a receiver never got a newer message, where both sides have faults. Those that the host
    /// disturbed are among them, and where trials failed nothing good is said.
    fn deaf(&self, level: f64) -> Option<Row> {
        let all = Basis {
            with_disturbed: true,
            ..Basis::COUNTED
        };
        let of = |run, id| {
            let trials = all.trials(run, id);
            let told = trials.iter().filter(|t| !t.outages.is_empty());
            (trials.iter().filter(|t| is_deaf(t)).count(), told.count())
        };
        let (base, new) = (of(self.base, self.x.id), of(self.new, self.y.id));
        self.has_faults().then(|| {
            let mut row = match base.1.min(new.1) {
                0 => Row {
                    figure: Figure::Deaf,
                    result: Err("no trial of one side says whether a receiver got a newer message after the fault".into()),
                    but: None,
                },
                _ => rare(Figure::Deaf, base, new, level),
            };
            row.weaken(self.shortfall().as_deref(), &[]);
            row
        })
    }
}

/// Whether both sides have faults, so that deafness is judged.
fn have_faults(x: &Experiment, y: &Experiment) -> bool {
    !x.faults.is_empty() && !y.faults.is_empty()
}

/// Trials that have something bad: of each side how many, and of how many.
fn rare(figure: Figure, base: (usize, usize), new: (usize, usize), level: f64) -> Row {
    let [b, n] = [base, new].map(|(bad, of)| (bad as u64, of as u64));
    let chance = chance_of_hits(b.1 + n.1, b.0 + n.0, n.1, n.0);
    let finding = match (n.0, b.0) {
        (0, 0) => Finding::Same,
        _ if n.0 * b.1 > b.0 * n.1 && chance <= level => Finding::Higher,
        _ => Finding::Undecided { more: None },
    };
    let share = |(bad, of): (usize, usize)| bad as f64 / of.max(1) as f64;
    Row {
        figure,
        result: Ok(Compared {
            base: share(base),
            new: share(new),
            ratio: None,
            trials: (new.1, base.1),
            finding,
        }),
        but: None,
    }
}

impl Open<'_> {
    fn judge(self, each: f64, level: f64) -> ComparedCell {
        let Case {
            base,
            new,
            x,
            y,
            pairing,
            how,
        } = self.case;
        let history = self.history;
        let offered = |run: &Run, id| {
            let all = run.trials_of(id).map(|t| t.counts.offered);
            all.fold(0, u64::saturating_add)
        };
        let fewer = offered(base, x.id).min(offered(new, y.id));
        let scatter = |figure: Figure| -> Option<Result<Across, String>> {
            let sides = history.as_ref()?;
            let half = match figure.has_ratio() {
                true => 0.0,
                false => 0.5 / fewer.max(1) as f64,
            };
            Some(Across::of(sides, figure, half))
        };
        let judge = |v: Values| {
            let runs = scatter(v.figure).and_then(Result::ok);
            v.judge(pairing, how.margin, each, level, runs)
        };
        let bases = self.others.into_iter();
        let others: Vec<(String, Vec<Row>)> = bases
            .map(|(phrase, values)| (phrase, values.into_iter().map(judge).collect()))
            .collect();
        let short = self.case.shortfall();
        let mut rows: Vec<Row> = self.counted.into_iter().map(judge).collect();
        let mut remarks = self.remarks;
        for row in &mut rows {
            row.weaken(short.as_deref(), &others);
            // A history that does not tell what runs differ by makes nothing good.
            if let Some(Err(why)) = scatter(row.figure) {
                match row.grade() < Grade::Open {
                    true => row.take_back(&why),
                    false => remarks.push(format!(
                        "{}: the verdict covers the scatter of trials alone: {why}",
                        row.figure.text()
                    )),
                }
            }
            row.is_of_all(pairing, self.records);
        }
        rows.extend(self.case.deaf(level));
        rows.push(self.case.failures(level));
        ComparedCell {
            is_floor: cell::is_floor(&base.manifest.plan, x)
                && cell::is_floor(&new.manifest.plan, y),
            base: x.clone(),
            new: y.clone(),
            rows,
            remarks,
            is_damaged: self.is_damaged,
        }
    }
}

impl Values {
    fn judge(
        self,
        pairing: Pairing,
        margin: f64,
        each: f64,
        level: f64,
        runs: Option<Across>,
    ) -> Row {
        let figure = self.figure;
        let result = self.sides.and_then(|(new, base)| {
            if !figure.has_ratio() {
                let compared = losses(&new, &base, margin, level);
                return Ok(match runs {
                    Some(runs) => runs.of_losses(compared, margin, level),
                    None => compared,
                });
            }
            let ratio = ratio_of(figure, &new, &base, pairing, each)?;
            let ratio = match runs {
                Some(runs) => across_runs(&ratio, runs.new, runs.base, each),
                None => ratio,
            };
            let ratio = widened(ratio, self.slack);
            let finding = match verdict(&ratio, margin, each) {
                Verdict::Lower => Finding::Lower,
                Verdict::Higher => Finding::Higher,
                Verdict::Same => Finding::Same,
                Verdict::Undecided { more } => Finding::Undecided {
                    // More trials do not make runs more alike.
                    more: more.map(|n| n.max(1)).filter(|_| runs.is_none()),
                },
            };
            Ok(Compared {
                base: mean_of(figure, &base),
                new: mean_of(figure, &new),
                trials: ratio.n,
                ratio: Some(ratio),
                finding,
            })
        });
        Row {
            figure,
            result,
            but: None,
        }
    }
}

/// What runs of one build differ by in a figure.
#[derive(Debug, Clone, Copy)]
struct Across {
    /// Of the new side's build.
    new: BetweenRuns,
    base: BetweenRuns,
    /// Of losses: half a message, as a share of what the side with fewer messages offered.
    half: f64,
}

impl Across {
    /// As the runs of (new, base) tell, or that they are too few.
    fn of([new, base]: &[Builds<'_>; 2], figure: Figure, half: f64) -> Result<Across, String> {
        Ok(Across {
            new: new.scatter(figure, half)?,
            base: base.scatter(figure, half)?,
            half,
        })
    }

    /// Leaves a finding on losses undecided where runs of one build may differ by as much: by the ratio of the shares
    /// with half a message more on each side, so that none lost has one too (Haldane, Annals of Human Genetics 20,
    /// 1956). What runs differ by holds the scatter of their trials.
    fn of_losses(self, compared: Compared, margin: f64, level: f64) -> Compared {
        let ratio = (compared.new + self.half) / (compared.base + self.half);
        let ratio = exactly(ratio, compared.trials);
        let (_, lo, hi) = ends(&across_runs(&ratio, self.new, self.base, 1.0 - level));
        let stands = match compared.finding {
            Finding::Lower => hi < 1.0,
            Finding::Higher => lo > 1.0,
            Finding::Same => hi <= 1.0 + margin,
            Finding::Undecided { .. } | Finding::MachineMoved => true,
        };
        match stands {
            true => compared,
            false => Compared {
                finding: Finding::Undecided { more: None },
                ..compared
            },
        }
    }
}

/// The shares that the trials of each side lost, by their ranks: they come in bursts and are often zero, so that no ratio
/// of them has an interval. More that is lost on the new side never makes the finding a better one.
fn losses(new: &[f64], base: &[f64], margin: f64, level: f64) -> Compared {
    let more: Vec<f64> = base.iter().map(|share| share * (1.0 + margin)).collect();
    let nothing = new.iter().all(|share| *share == 0.0);
    let finding = if is_higher(base, new, level) {
        Finding::Lower
    } else if nothing || is_higher(&more, new, level) {
        Finding::Same
    } else if is_higher(new, base, level) {
        Finding::Higher
    } else {
        Finding::Undecided { more: None }
    };
    Compared {
        base: mean_of(Figure::Lost, base),
        new: mean_of(Figure::Lost, new),
        ratio: None,
        trials: (new.len(), base.len()),
        finding,
    }
}

impl Row {
    /// Takes a good finding on costs back that trials without costs are no part of.
    fn is_of_all(&mut self, pairing: Pairing, (new, base): (usize, usize)) {
        if self.figure != Figure::CpuPerMessage
            || pairing == Pairing::Paired
            || self.grade() >= Grade::Open
        {
            return;
        }
        let without = |c: &Compared| (new + base).saturating_sub(c.trials.0 + c.trials.1);
        if let Some(n @ 1..) = self.result.as_ref().ok().map(without) {
            self.take_back(&format!("{} have no CPU time", counted(n as u64, "trial")));
        }
    }

    /// Takes a good finding back that does not hold for all that is known of the trials, and notes where a bad one would
    /// be found.
    fn weaken(&mut self, short: Option<&str>, others: &[(String, Vec<Row>)]) {
        let own = self.grade();
        let of = |rows: &[Row]| {
            let same = rows.iter().find(|r| r.figure == self.figure);
            same.map_or(Grade::Open, Row::grade)
        };
        let differs = others.iter().find_map(|(phrase, rows)| {
            let other = of(rows);
            match own {
                Grade::Better | Grade::Same if other > own => {
                    Some(format!("it does not hold {phrase}"))
                }
                Grade::Open if other == Grade::Worse => Some(format!("worse {phrase}")),
                _ => None,
            }
        });
        let short = short.filter(|_| own < Grade::Open).map(str::to_owned);
        self.but = short.or(differs);
        if self.but.is_some()
            && own < Grade::Open
            && let Ok(compared) = &mut self.result
        {
            compared.finding = Finding::Undecided { more: None };
        }
    }
}

/// Every figure of a cell, with the values of the trials that are compared.
fn values<'a>(
    base: &'a Side<'a>,
    new: &'a Side<'a>,
    usual: Metric,
    pairs: Pairs,
    how: &CompareOptions,
) -> Vec<Values> {
    let (a, b) = (&base.trials, &new.trials);
    let both = |a: &Trials<'_>, b: &Trials<'_>| a.metric().filter(|m| b.metric() == Some(*m));
    // Of a side without samples the rows stand all the same, with the reason.
    let headline = match (a.metric(), b.metric()) {
        (Some(_), Some(_)) => both(a, b),
        (one, other) => one.or(other).or(Some(usual)),
    };
    let mut figures: Vec<(Figure, &Trials<'_>, &Trials<'_>)> = Vec::new();
    if let Some(metric) = headline {
        // The one sample of a trial is its p50 and nothing else.
        let one = metric.is_one_per_trial() && how.quantiles.contains(&0.5);
        let quantiles = how.quantiles.iter().filter(|q| !one || **q == 0.5);
        figures.extend(quantiles.map(|q| (Figure::Quantile { metric, q: *q }, a, b)));
    }
    for (a, b) in base.beside.iter().zip(&new.beside) {
        let Some(metric) = both(a, b) else { continue };
        // The one sample of a trial is its p50, and has no tail.
        let one = metric.is_one_per_trial();
        let quantiles = how.quantiles.iter().filter(|q| match one {
            true => **q == 0.5,
            false => **q > 0.5,
        });
        figures.extend(quantiles.map(|q| (Figure::Quantile { metric, q: *q }, a, b)));
    }
    // A start has no rate, that of a closed loop is its round trip once more, that of a probe its piece, and that of an outage what
    // was lost.
    let is_rateless = |m: Metric| m.is_one_per_trial() || [Metric::Rtt, Metric::Probe].contains(&m);
    if !headline.is_some_and(is_rateless) {
        figures.push((Figure::Delivered, a, b));
    }
    // Trials in slices have no costs, and silence has no messages.
    let has_cost = pairs != Pairs::OfSlices && !usual.info().of_idle;
    figures.extend(has_cost.then_some((Figure::CpuPerMessage, a, b)));
    let is_start = usual.is_one_per_trial() && !usual.info().of_faults;
    let has_messages = !is_start && usual != Metric::Probe;
    figures.extend(has_messages.then_some((Figure::Lost, a, b)));
    let figures = figures.into_iter().map(|(figure, a, b)| {
        let sides = sides(a, b, figure, pairs).and_then(|(new, base)| {
            if figure.has_ratio() {
                ratio_of(figure, &new, &base, pairs.pairing(), how.confidence)?;
            }
            Ok((new, base))
        });
        let slack = |t: &Trials<'_>, of: &[f64]| match figure {
            Figure::Quantile { metric, .. } => {
                t.slack(metric) / of.iter().copied().fold(f64::INFINITY, f64::min)
            }
            _ => 0.0,
        };
        let slack = match &sides {
            Ok((new, base)) => (slack(b, new), slack(a, base)),
            Err(_) => (0.0, 0.0),
        };
        Values {
            figure,
            sides,
            slack,
        }
    });
    figures.collect()
}

/// Whether both sides have a trial that the host did not disturb; or why there is no ratio.
fn undisturbed(a: &Trials<'_>, b: &Trials<'_>) -> Result<(), String> {
    let sides = match (a.all_disturbed(), b.all_disturbed()) {
        (false, false) => return Ok(()),
        (true, true) => "both sides",
        (true, false) => "the base",
        (false, true) => "the new side",
    };
    Err(format!("the host disturbed every trial of {sides}"))
}

/// The values of one figure: new, base. In pairs only where both trials of a number count.
fn sides(
    a: &Trials<'_>,
    b: &Trials<'_>,
    figure: Figure,
    pairs: Pairs,
) -> Result<(Vec<f64>, Vec<f64>), String> {
    undisturbed(a, b)?;
    let base = a.values(figure).map_err(|e| format!("base: {e}"))?;
    let new = b.values(figure).map_err(|e| format!("new: {e}"))?;
    let pair = |number: u32, whole: (f64, f64)| match (figure, pairs) {
        (Figure::Quantile { q, .. }, Pairs::OfSlices) => a.in_slices(b, number, q).unwrap_or(whole),
        _ => whole,
    };
    let (base, new): (Vec<f64>, Vec<f64>) = match pairs {
        Pairs::OfTrials | Pairs::OfSlices => base
            .iter()
            .filter_map(|(number, x)| {
                let (_, y) = new.iter().find(|(other, _)| other == number)?;
                Some(pair(*number, (*x, *y)))
            })
            .unzip(),
        Pairs::None => (
            base.into_iter().map(|(_, v)| v).collect(),
            new.into_iter().map(|(_, v)| v).collect(),
        ),
    };
    if base.len().min(new.len()) < 2 {
        return Err(match pairs.pairing() {
            Pairing::Paired => format!(
                "two pairs of trials in which both sides count are needed, there {} {}",
                if base.len() == 1 { "is" } else { "are" },
                base.len()
            ),
            Pairing::Independent => format!(
                "two trials of each side are needed, there are {} and {}",
                base.len(),
                new.len()
            ),
        });
    }
    Ok((new, base))
}

/// Remarks on the trials of both sides, and on messages that did not arrive.
fn both_remarks(a: &Trials<'_>, b: &Trials<'_>) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for (name, trials) in [("base", a), ("new", b)] {
        remarks.extend(trials.remarks.iter().map(|r| format!("{name}: {r}")));
    }
    let [la, lb] = [a, b].map(|t| add_counts(t.records().iter().map(|r| &r.counts)));
    if la.lost > 0 || lb.lost > 0 {
        let [la, lb] = [la, lb].map(|counts| {
            let missing = missing_messages(&counts).unwrap_or_else(|| "none".into());
            match counts.offered {
                0 => "none (nothing was offered)".to_owned(),
                offered => format!("{missing} of {offered}"),
            }
        });
        remarks.push(format!("messages that did not arrive: base {la}, new {lb}"));
    }
    remarks
}

/// Names a cell whose stack may differ between the sides.
fn pair_label(base: &Experiment, new: &Experiment) -> String {
    match base.stack == new.stack {
        true => cell::label(new),
        false => format!(
            "{} → {}: {}",
            base.stack,
            new.stack,
            cell::between(base, new)
        ),
    }
}
