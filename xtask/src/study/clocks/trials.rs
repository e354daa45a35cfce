//! Trials under clocks that lie: what was injected, and what their records say of it.

use crate::study::bench::{Place, list};
use crate::{Outcome, files};
use serde_json::Value;

/// What is injected, and what it is.
pub(super) const LIES: [(&str, &str); 3] = [
    ("offset=0s", "nothing injected"),
    ("offset=100ms,drift=50ppm", "100 ms and 50 ppm"),
    ("delay=1ms", "1 ms on the way back"),
];

/// The kinds take turns, since the machine itself changes from minute to minute.
pub(super) const TURNS: u32 = 5;

/// The median of some figures, and their extremes.
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    pub(super) fn of(mut values: Vec<f64>) -> Spread {
        values.sort_by(f64::total_cmp);
        let at = |i: usize| values.get(i).copied().unwrap_or(f64::NAN);
        Spread {
            median: at(values.len() / 2),
            min: at(0),
            max: at(values.len().saturating_sub(1)),
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ({:.1} to {:.1})", self.median, self.min, self.max)
    }
}

/// Trials that failed, which say nothing of a bound.
#[derive(Default)]
pub(super) struct Failed {
    trials: usize,
    /// With those that completed.
    of: usize,
}

impl Failed {
    /// Prints how many; an error where more than a tenth did: what is left may be what was easy.
    pub(super) fn few(&self) -> Outcome {
        let told = format!("{} of {} trials failed", self.trials, self.of);
        println!("{told}");
        match 10 * self.trials > self.of {
            true => Err(format!(
                "{told}, more than a tenth; see what each said above"
            )),
            false => Ok(()),
        }
    }
}

/// What the run's clock showed, what the translated one, and the bound in nanoseconds.
pub(super) fn clocks(trial: &Value) -> Option<(Shown, Shown, f64)> {
    let bound = trial["one_way_bound"].as_f64()?;
    Some((shown(trial, false)?, shown(trial, true)?, bound))
}

/// Something of each trial of a run that has not failed; the others are printed, and counted in `failed`.
pub(super) fn records<T>(
    place: &Place,
    run: &str,
    failed: &mut Failed,
    of: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, String> {
    let mut trials = Vec::new();
    for path in files::list(&place.dir.join(run).join("trials"))? {
        let trial = files::json(&path)?;
        failed.of += 1;
        if trial["outcome"] == "failed" {
            failed.trials += 1;
            println!("  {}: {}", path.display(), trial["failure"]);
            continue;
        }
        trials.push(of(&trial).ok_or_else(|| {
            format!(
                "{} has no two clocks; build with `cargo build --release --features dyno/clock-lie`",
                path.display()
            )
        })?);
    }
    Ok(trials)
}

/// What the counter of the translated clock was told to lie.
pub(super) fn told(trial: &Value) -> Option<&str> {
    lie(trial, true)?["told"].as_str()
}

/// What a clock showed at two readings of the machine's counter: nanoseconds, counter.
pub(super) type Shown = [(i128, i128); 2];

fn shown(trial: &Value, translated: bool) -> Option<Shown> {
    let lie = lie(trial, translated)?;
    let number = |value: &Value| value.as_u64().map(i128::from);
    let reading = |which: &str| Some((number(&lie[which][1])?, number(&lie[which][0])?));
    Some([reading("first")?, reading("last")?])
}

/// The warning that an agent adds where its counter was told to lie.
fn lie(trial: &Value, translated: bool) -> Option<&Value> {
    let mut warnings = list(trial, "warnings").iter();
    let of_clock =
        |w: &&Value| w["cause"] == "clock-lie" && w["values"]["translated"] == translated;
    Some(&warnings.find(of_clock)?["values"])
}
