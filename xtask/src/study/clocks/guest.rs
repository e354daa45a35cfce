//! The bound on the clock of an emulated guest. QEMU's translator gives a guest this machine's time stamp counter plus a
//! constant (`cpu_get_ticks` of its `cpu-timers.c`), which nobody tells: so the truth is not known here. But it is one constant for
//! all trials of a boot, whatever their agents lie about the counter: the bounds of all these trials must agree on one. An error
//! that all trials of a boot have alike, and that stays within their bounds, is not seen.

use super::trials::{Failed, LIES, Shown, Spread, TURNS, clocks, records, told};
use crate::Outcome;
use crate::study::bench::{Place, share};

const SUITE: &str = r#"
title = "from host to guest"
[defaults]
wait = "block"
payload = "64 B"
warmup = "50 ms"
settle = "0 s"
window = "300 ms"
drain = "5 s"
deadline = "120 s"
[[experiment]]
name = "one-way"
workload = "stream"
stacks = ["tcp"]
placement = "host"
rate = "50 Hz"
"#;

/// Runs `trials` trials of each kind, the kinds in turns within each boot.
pub(crate) fn study(trials: u32) -> Outcome {
    let place = Place::new("clocks-guest")?;
    place.file("suites/apart.toml", SUITE)?;
    let kinds = LIES.len() as u32;
    let each = trials.div_ceil(TURNS) * kinds;
    let lies: Vec<&str> = LIES.iter().map(|(lie, _)| *lie).collect();
    let lies = lies.join(";");
    let (mut all, mut failed) = (Vec::new(), Failed::default());
    for boot in 0..TURNS {
        let name = format!("boot{boot}");
        let arguments =
            format!("run apart --testbed vm --trials {each} --repeats 0 --quiet --out {name}");
        // A guest that is emulated on a busy machine may miss a deadline.
        place.started(&arguments, &[("DYNO_CLOCK_LIE", &lies)], &[0, 4])?;
        let found = records(&place, &name, &mut failed, Trial::of)?;
        let constant = constant(&found).ok_or("no trial of the boot leaves a constant")?;
        println!(
            "boot {boot}: most of {} trials agree on the guest's counter as this machine's and {:.0}, ±{:.1} µs",
            found.len(),
            constant.middle,
            constant.half_us,
        );
        all.extend(found.into_iter().map(|t| {
            let error = t.error_us(constant.middle);
            (t, error)
        }));
    }
    let mut holds = true;
    for (lie, what) in LIES {
        let of: Vec<_> = all.iter().filter(|(t, _)| t.told == lie).collect();
        let inside = of.iter().filter(|(t, e)| *e <= t.bound_us).count();
        let bounds = Spread::of(of.iter().map(|(t, _)| t.bound_us).collect());
        let errors = Spread::of(of.iter().map(|(_, e)| *e).collect());
        let fullest = of.iter().map(|(t, e)| e / t.bound_us).fold(0.0, f64::max);
        println!(
            "{what}: the bound agrees with its boot's constant in {}; bounds {bounds} µs, from the middle {errors} µs, at most {:.0} % of \
             the trial's own bound",
            share(inside, of.len()),
            100.0 * fullest
        );
        holds &= !of.is_empty() && 100 * inside >= 99 * of.len();
    }
    failed.few()?;
    match holds {
        true => Ok(()),
        false => Err("the bounds of a boot's trials do not agree on one constant".to_owned()),
    }
}

/// One trial.
struct Trial {
    /// The host's: the line through what its clock showed.
    truth: Shown,
    /// The guest's, on its own counter.
    found: Shown,
    bound_us: f64,
    told: String,
}

impl Trial {
    fn of(record: &serde_json::Value) -> Option<Trial> {
        let (truth, found, bound) = clocks(record)?;
        Some(Trial {
            truth,
            found,
            bound_us: bound / 1e3,
            told: told(record)?.to_owned(),
        })
    }

    /// Nanoseconds of a step of the counter.
    fn step(&self) -> f64 {
        let [(n1, t1), (n2, t2)] = self.truth;
        (n2 - n1) as f64 / (t2 - t1) as f64
    }

    /// The constants, in steps, with which both readings are right.
    fn exact(&self) -> [f64; 2] {
        let (n1, t1) = self.truth[0];
        self.found
            .map(|(n, t)| (t - t1) as f64 - (n - n1) as f64 / self.step())
    }

    /// The constants that its bound leaves: none where the ends cross.
    fn left(&self) -> (f64, f64) {
        let [a, b] = self.exact();
        let wide = 1e3 * self.bound_us / self.step();
        (a.max(b) - wide, a.min(b) + wide)
    }

    /// What stamps are wrong by at most where `constant` is the true one, in microseconds.
    fn error_us(&self, constant: f64) -> f64 {
        let errors = self.exact().map(|exact| (exact - constant).abs());
        errors[0].max(errors[1]) * self.step() / 1e3
    }
}

/// What most trials leave.
struct Constant {
    middle: f64,
    half_us: f64,
}

fn constant(trials: &[Trial]) -> Option<Constant> {
    let mut ends: Vec<(f64, i32)> = Vec::new();
    for (from, to) in trials.iter().map(Trial::left).filter(|(a, b)| a <= b) {
        ends.extend([(from, 1), (to, -1)]);
    }
    // What begins where another ends still meets it.
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let (mut open, mut most, mut best) = (0, 0, None);
    for pair in ends.windows(2) {
        open += pair[0].1;
        if open > most {
            most = open;
            best = Some((pair[0].0, pair[1].0));
        }
    }
    let (from, to) = best?;
    Some(Constant {
        middle: from.midpoint(to),
        half_us: (to - from) / 2.0 * trials.first()?.step() / 1e3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest whose counter is ahead by `constant`, whose stamps are wrong by `error` nanoseconds.
    fn trial(constant: i128, error: i128, bound_us: f64) -> Trial {
        // Half a nanosecond each step.
        let truth = [(1_000, 2_000), (1_001_000, 2_002_000)];
        let found = [(5_000, 10_000), (900_000, 1_800_000)];
        Trial {
            truth,
            found: found.map(|(n, t)| (n + error, t + constant)),
            bound_us,
            told: String::new(),
        }
    }

    #[test]
    fn the_constant_is_what_most_trials_leave_and_a_bound_that_is_too_small_shows() {
        let mut trials = vec![
            trial(777, -300, 0.5),
            trial(777, 400, 0.5),
            trial(777, 0, 0.9),
        ];
        // It claims more than it knows.
        trials.push(trial(777, 2_000, 0.1));
        let found = constant(&trials).unwrap();
        let inside = |t: &Trial| t.error_us(found.middle) <= t.bound_us;
        assert_eq!(
            trials.iter().map(inside).collect::<Vec<_>>(),
            [true, true, true, false]
        );
        // What is left is from 400 steps below the truth to 200 above it.
        assert!((found.middle - 677.0).abs() < 1.0, "{}", found.middle);
        assert!((found.half_us - 0.15).abs() < 0.001, "{}", found.half_us);
    }
}
