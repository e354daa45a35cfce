//! How soon a nightly gate sees what is planted, and how often it cries wolf: `cargo xtask study nightly`.
//!
//! Simulated nights of six cells with three trials each. Nights differ by log-normal factors: 3 % for the
//! machine as a whole, 4 % for each cell, 2 % for each trial, besides the scatter of the samples themselves;
//! two cells lose about 0.3 % of their messages, more on some nights than on others, the others nothing. A
//! second kind of machine has a neighbour in one night of thirty, which makes everything 1.3 to 3 times as
//! slow: what is reported then is not the software's doing, and it is counted all the same.

#![allow(clippy::unwrap_used, reason = "only tests and studies run it")]

#[path = "../tests/it/common.rs"]
#[expect(dead_code, reason = "tests use the rest")]
mod common;

use common::{Builder, stream};
use dyno_judge::{History, NightlyOptions, Nights, Status, Trend, TrendOptions};
use dyno_model::record::Run;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::process::ExitCode;

const CELLS: [(&str, f64, bool); 6] = [
    ("pipe", 9_000.0, false),
    ("tcp", 14_000.0, false),
    ("uds-stream", 11_000.0, false),
    ("zenoh-tcp", 38_000.0, false),
    ("udp", 16_000.0, true),
    ("zenoh-udp", 41_000.0, true),
];
const TRIALS: u32 = 3;
const MESSAGES: u64 = 1_000;
/// Nights before the first planted one.
const HISTORIES: [u64; 3] = [8, 16, 30];
/// Nights with the plant in them; one that is not seen by then counts as not seen.
const PLANTED: u64 = 10;

/// What is done to the first cell.
#[derive(Clone, Copy)]
struct Plant {
    name: &'static str,
    slower: f64,
    lost: u64,
}

const PLANTS: [Plant; 4] = [
    Plant {
        name: "×1.2",
        slower: 1.2,
        lost: 0,
    },
    Plant {
        name: "×1.5",
        slower: 1.5,
        lost: 0,
    },
    Plant {
        name: "×5",
        slower: 5.0,
        lost: 0,
    },
    Plant {
        name: "1 % lost",
        slower: 1.0,
        lost: MESSAGES / 100,
    },
];

const NOTHING: Plant = Plant {
    name: "nothing",
    slower: 1.0,
    lost: 0,
};

fn gauss(random: &mut impl Rng) -> f64 {
    let u: f64 = 1.0 - random.random::<f64>();
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

/// A log-normal factor.
fn factor(random: &mut impl Rng, sigma: f64) -> f64 {
    (sigma * gauss(random)).exp()
}

fn night(random: &mut impl Rng, day: u64, neighbour: bool, plant: Plant) -> Run {
    let mut machine = factor(random, 0.03);
    if neighbour && random.random::<f64>() < 1.0 / 30.0 {
        machine *= 1.3 + 1.7 * random.random::<f64>();
    }
    let mut b = Builder::new(day);
    for (i, (stack, ns, lossy)) in CELLS.iter().enumerate() {
        let e = b.experiment(stack, stream);
        let own = if i == 0 { plant } else { NOTHING };
        let cell = ns * machine * factor(random, 0.04) * own.slower;
        let rate = 3.0 * factor(random, 0.4);
        for _ in 0..TRIALS {
            let lost = match lossy {
                true => (rate * factor(random, 0.3)).round() as u64,
                false => own.lost,
            };
            let p50 = cell * factor(random, 0.02);
            let trial = b.trial(e, p50, MESSAGES - lost, lost);
            trial.cost.cpu_ns_per_message = Some(0.8 * cell * factor(random, 0.03));
            trial.cost.pss_bytes = (4e6 * factor(random, 0.01)) as u64;
        }
    }
    b.build()
}

fn gate(last: Option<usize>) -> Nights {
    Nights::new(NightlyOptions {
        last,
        ..NightlyOptions::default()
    })
}

/// Nights judged, those with an alarm, figures judged, those undecided.
#[derive(Default)]
struct Alarms {
    nights: usize,
    alarmed: usize,
    figures: usize,
    undecided: usize,
}

fn false_alarms(random: &mut impl Rng, nights: u64, history: u64, neighbour: bool) -> Alarms {
    let mut all = gate(Some(history as usize));
    let mut judged = Vec::new();
    for day in 0..nights + history {
        let run = night(random, day, neighbour, NOTHING);
        all.add(&run);
        if day >= history {
            judged.push(run.manifest);
        }
    }
    let mut alarms = Alarms::default();
    for manifest in judged {
        let Some(n) = all.judge(Some(&manifest)) else {
            continue;
        };
        alarms.nights += 1;
        alarms.alarmed += usize::from(n.count(Status::Fail) > 0);
        alarms.figures += n.results.len();
        alarms.undecided += n.count(Status::Undecided);
    }
    alarms
}

/// Whether a trend says that the first cell became worse.
fn has_risen(trend: &Trend) -> bool {
    let mut own = trend
        .series
        .iter()
        .filter(|s| s.experiment.stack == CELLS[0].0);
    own.any(|s| s.changes.last().is_some_and(|c| s.is_worse(c)))
}

/// Nights until gate and trend saw the plant; `None` where they did not.
fn until_seen(random: &mut impl Rng, history: u64, plant: Plant) -> [Option<u64>; 2] {
    let (mut nights, mut trend) = (gate(None), History::new(TrendOptions::default()));
    for day in 0..history {
        let run = night(random, day, false, NOTHING);
        nights.add(&run);
        trend.add(&run);
    }
    let mut seen = [None; 2];
    for bad in 1..=PLANTED {
        let run = night(random, history + bad - 1, false, plant);
        nights.add(&run);
        trend.add(&run);
        let own = |n: &dyno_judge::Night| n.experiment.stack == CELLS[0].0;
        if seen[0].is_none()
            && let Some(n) = nights.judge(None)
            && n.results.iter().any(|r| own(r) && r.status == Status::Fail)
        {
            seen[0] = Some(bad);
        }
        if seen[1].is_none() && has_risen(&trend.clone().trend()) {
            seen[1] = Some(bad);
        }
        if seen.iter().all(Option::is_some) {
            break;
        }
    }
    seen
}

/// `18 20 20 of 20`: seen by the first, third and tenth night.
fn by_night(seen: &[Option<u64>]) -> String {
    let by = |night: u64| {
        seen.iter()
            .filter(|s| s.is_some_and(|n| n <= night))
            .count()
    };
    format!(
        "{:>4} {:>4} {:>4} of {}",
        by(1),
        by(3),
        by(PLANTED),
        seen.len()
    )
}

fn main() -> ExitCode {
    let number = |at: usize, default: u64| {
        let given = std::env::args().nth(at);
        given.map_or(Ok(default), |text| text.parse::<u64>())
    };
    let (Ok(nights), Ok(tries)) = (number(1, 300), number(2, 20)) else {
        eprintln!("usage: nightly [NIGHTS] [TRIES], both whole numbers");
        return ExitCode::from(2);
    };
    println!(
        "{} cells of {TRIALS} trials of {MESSAGES} messages; chance of a false alarm stated: {} a night",
        CELLS.len(),
        NightlyOptions::default().level
    );
    println!(
        "\nfalse alarms, nothing planted\n  history  nights     nights with an alarm   per 100   figures undecided"
    );
    for (neighbour, name) in [(false, "calm"), (true, "busy neighbour in one night of 30")] {
        println!("  {name}");
        for history in HISTORIES {
            let mut random = ChaCha8Rng::seed_from_u64(history + u64::from(neighbour));
            let a = false_alarms(&mut random, nights, history, neighbour);
            println!(
                "  {history:>7}  {:>6}     {:>20}   {:>7.1}   {:>8.1} %",
                a.nights,
                a.alarmed,
                100.0 * a.alarmed as f64 / a.nights.max(1) as f64,
                100.0 * a.undecided as f64 / a.figures.max(1) as f64,
            );
        }
    }
    println!(
        "\nseen by night 1, 3 and {PLANTED}\n  history  planted     gate                     trend"
    );
    for history in HISTORIES {
        for plant in PLANTS {
            let mut random = ChaCha8Rng::seed_from_u64(1_000 + history);
            let seen: Vec<[Option<u64>; 2]> = (0..tries)
                .map(|_| until_seen(&mut random, history, plant))
                .collect();
            let of = |which: usize| by_night(&seen.iter().map(|s| s[which]).collect::<Vec<_>>());
            println!(
                "  {history:>7}  {:<9}   {:<22}   {}",
                plant.name,
                of(0),
                of(1)
            );
        }
    }
    ExitCode::SUCCESS
}
