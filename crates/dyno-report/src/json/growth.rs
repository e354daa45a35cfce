//! One element of `growth` in the JSON interface.

use crate::growth::{reason, undecided};
use crate::number::exported;
use crate::summary::{FigureGrowth, GrowthSummary, Lacking, Spread};
use dyno_stats::{Course, Ranged};
use serde::Serialize;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "growth"))]
pub(super) struct GrowthJson<'a> {
    experiment: &'a str,
    stack: &'a str,
    wait: &'static str,
    placement: &'static str,
    /// The experiments, by ascending number of participants.
    ids: Vec<u32>,
    /// The number of participants of each.
    participants: &'a [u64],
    /// Numbers of participants of which trials failed or are missing. Empty: there are none. Beside them, no figure has a fit.
    lacking: Vec<LackingJson>,
    /// Figures of all participants and daemons together. Those of packets hold all traffic of the hosts, and those of memory, threads and
    /// files hold Dyno's own agents.
    figures: Vec<FigureJson>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "growth_lacking"))]
struct LackingJson {
    participants: u64,
    /// How many trials failed or are missing.
    trials: usize,
    /// How many there should be.
    of: usize,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "growth_figure"))]
struct FigureJson {
    /// Its name in `idle` and `cost` of experiments.
    figure: &'static str,
    /// Empty: a number.
    unit: &'static str,
    /// Over the trials that count, by ascending number of participants.
    measured: Vec<AtJson>,
    /// The fit of a + b·n^c through all of these trials. Null: there is none, and `reason` says why.
    fit: Option<FitJson>,
    /// Why there is no fit, or why the course is undecided.
    reason: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "growth_at"))]
struct AtJson {
    participants: u64,
    #[serde(flatten)]
    value: Spread,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "growth_fit"))]
struct FitJson {
    /// `constant`, `grows`, `falls` or `undecided`.
    course: &'static str,
    /// c with its 95 % interval; an end at −3 or 4 is unbounded. Without a meaning where the figure is constant.
    exponent: RangedJson,
    /// Whether the curve a + b·n^c fits. Where it does not, a growth is that of `laws`, and the distance from the curve widens the
    /// interval of the exponent.
    is_power: bool,
    /// The part that does not depend on n.
    a: f64,
    /// The factor of n^c.
    b: f64,
    /// Those of `constant`, `log n`, `n`, `n·log n`, `n²` and `n³`, each as a + b·f(n), that the trials do not reject at 5 % and, if it grows, that are
    /// significantly better than the constant. Only `constant` where this is the course, and none where the figure falls.
    laws: Vec<&'static str>,
    /// The number of participants that together keep one CPU busy; an end is null where it is beyond `extrapolated_to`. Null for
    /// other figures and for a figure that does not grow.
    one_cpu_at: Option<ReachJson>,
    /// The figure at `extrapolated_to` participants. Null for a figure that does not grow.
    farthest: Option<RangedJson>,
    /// Eight times the largest number of participants that was measured.
    extrapolated_to: u64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "growth_range"))]
struct RangedJson {
    value: f64,
    lo: f64,
    hi: f64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "growth_reach"))]
struct ReachJson {
    value: Option<u64>,
    lo: Option<u64>,
    hi: Option<u64>,
}

pub(super) fn growth(g: &GrowthSummary) -> GrowthJson<'_> {
    let e = &g.ends[0];
    GrowthJson {
        experiment: &e.name,
        stack: &e.stack,
        wait: e.wait.as_str(),
        placement: e.placement.as_str(),
        ids: g.experiments.iter().map(|id| id.0).collect(),
        participants: &g.participants,
        lacking: g.lacking.iter().map(lacking).collect(),
        figures: g.figures.iter().map(|f| figure(f, g)).collect(),
    }
}

fn lacking(lacking: &Lacking) -> LackingJson {
    LackingJson {
        participants: lacking.participants,
        trials: lacking.trials,
        of: lacking.of,
    }
}

fn figure(f: &FigureGrowth, g: &GrowthSummary) -> FigureJson {
    let at = |(participants, value): &(u64, Spread)| AtJson {
        participants: *participants,
        value: *value,
    };
    FigureJson {
        figure: f.figure.as_str(),
        unit: f.figure.info().unit,
        measured: f.at.iter().map(at).collect(),
        fit: fit(f, g),
        reason: match &f.fit {
            Err(why) => Some(reason(f.figure, *why)),
            Ok(fit) => undecided(fit).map(str::to_owned),
        },
    }
}

fn fit(f: &FigureGrowth, g: &GrowthSummary) -> Option<FitJson> {
    let fit = f.fit.as_ref().ok()?;
    let ranged = |r: Ranged| RangedJson {
        value: exported(r.value),
        lo: exported(r.lo),
        hi: exported(r.hi),
    };
    let one_cpu_at = f.fills_one_cpu().map(|reach| ReachJson {
        value: reach.within(reach.n.value),
        lo: reach.within(reach.n.lo),
        hi: reach.within(reach.n.hi),
    });
    Some(FitJson {
        course: match fit.course {
            Course::Constant => "constant",
            Course::Grows => "grows",
            Course::Falls => "falls",
            Course::Undecided(_) => "undecided",
        },
        exponent: ranged(fit.exponent),
        is_power: fit.is_power,
        a: exported(fit.a),
        b: exported(fit.b),
        laws: fit.laws.iter().map(|law| law.as_str()).collect(),
        one_cpu_at,
        farthest: f.farthest().map(|(_, at)| ranged(at)),
        extrapolated_to: crate::summary::EXTRAPOLATED * g.range().1,
    })
}
