//! Against simulated hosts whose clocks are known: whatever offset, rate and delays, the truth is inside
//! the bound.

use super::*;
use proptest::prelude::*;
use rand::{Rng as _, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::f64::consts::TAU;

/// What the bound takes for granted of the simulated oscillators, in parts of one.
const WANDER: f64 = 1e-6;

/// A host, its counter, and the way there and back.
#[derive(Debug, Clone)]
struct World {
    /// The counter at the run's origin.
    offset: u64,
    /// Ticks per nanosecond of the run's clock.
    rate: f64,
    /// The rate swings by so much (parts of one) in this period (ns).
    swing: f64,
    period: f64,
    /// The least delays there and back, and the mean of what comes on top (ns).
    there: f64,
    back: f64,
    queue: f64,
    seed: u64,
}

struct Host {
    world: World,
    random: ChaCha8Rng,
    /// Now, on the run's clock.
    now: f64,
}

impl Host {
    fn new(world: World) -> Self {
        let random = ChaCha8Rng::seed_from_u64(world.seed);
        Host {
            world,
            random,
            now: 5e12,
        }
    }

    fn ticks(&self, at: f64) -> u64 {
        let w = &self.world;
        let swung = w.swing * w.period / TAU * (1.0 - (TAU * at / w.period).cos());
        w.offset.wrapping_add((w.rate * (at + swung)) as u64)
    }

    fn delay(&mut self, least: f64) -> f64 {
        let u: f64 = self.random.random_range(1e-9..1.0);
        // One of fifty is held up for much longer.
        let held = if self.random.random_range(0..50) == 0 {
            30.0
        } else {
            1.0
        };
        least - u.ln() * self.world.queue * held
    }

    fn exchange(&mut self) -> Exchange {
        let sent = self.now;
        let read = sent + self.delay(self.world.there);
        let received = read + self.delay(self.world.back);
        self.now = received + 5_000.0;
        Exchange {
            ticks: self.ticks(read),
            raw: Nanos((read * 1.00002) as u64),
            sent: Nanos(sent.floor() as u64),
            received: Nanos(received.ceil() as u64),
        }
    }

    fn series(&mut self, n: usize, pause: f64) -> Vec<Exchange> {
        let next = |_| {
            self.now += pause;
            self.exchange()
        };
        (0..n).map(next).collect()
    }

    fn pass(&mut self, least: f64, most: f64) {
        self.now += self.random.random_range(least..most);
    }
}

/// One trial: its exchanges and its clock, and the instants between which it stamps.
fn trial(host: &mut Host, history: &mut History) -> (Seen, ClockSpec, f64, f64) {
    let mut before = host.series(40, 0.0);
    history.learn(&before);
    if history.span() < Nanos::from_secs(2) {
        let first = host.series(400, 5e6);
        history.learn(&first);
        before = host.series(40, 0.0);
        history.learn(&before);
    }
    let clock = through(&before, history.rate().unwrap(), Counter::Tsc).unwrap();
    let from = host.now;
    host.pass(1e6, 2e9);
    let mut during = Vec::new();
    for _ in 0..host.random.random_range(0..20) {
        during.push(host.exchange());
        host.pass(200e6, 210e6);
    }
    let to = host.now;
    let after = host.series(40, 0.0);
    history.learn(&during);
    history.learn(&after);
    let seen = Seen {
        before,
        during,
        after,
    };
    (seen, clock, from, to)
}

fn worlds() -> impl Strategy<Value = World> {
    (
        0..u64::MAX / 2,
        (0.5f64..4.5, -200e-6f64..200e-6),
        (0.0..WANDER, 0.1e9f64..600e9),
        (500.0f64..2e6, 500.0f64..2e6, 10.0f64..200e3),
        any::<u64>(),
    )
        .prop_map(
            |(offset, (ghz, drift), (swing, period), delays, seed)| World {
                offset,
                rate: ghz * (1.0 + drift),
                swing,
                period,
                there: delays.0,
                back: delays.1,
                queue: delays.2,
                seed,
            },
        )
}

fn error(host: &Host, clock: ClockSpec, at: f64) -> f64 {
    let shown = nanos_at(clock, host.ticks(at)).0;
    (shown as i128 - at as i128).abs() as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_truth_is_inside_the_bound(world in worlds()) {
        let mut host = Host::new(world);
        let mut history = History::default();
        for number in 0..4 {
            let (seen, clock, from, to) = trial(&mut host, &mut history);
            let bound = bound(clock, &seen, WANDER).unwrap();
            for i in 0..=100 {
                let at = from + (to - from) * f64::from(i) / 100.0;
                let wrong = error(&host, clock, at);
                prop_assert!(wrong <= bound.0 as f64, "trial {number}: {wrong} ns, {bound}");
            }
            host.pass(1e6, 20e9);
        }
    }

    #[test]
    fn the_bound_is_no_more_than_the_delays_make_it(world in worlds()) {
        let mut host = Host::new(world.clone());
        let mut history = History::default();
        // Until the rate is known over some ten seconds.
        for _ in 0..4 {
            trial(&mut host, &mut history);
            host.pass(3e9, 4e9);
        }
        let (seen, clock, from, to) = trial(&mut host, &mut history);
        let bound = bound(clock, &seen, WANDER).unwrap().0 as f64;
        let widest = |series: &[Exchange]| shortest(series).unwrap().round_trip().0 as f64;
        let delays = widest(&seen.before) + widest(&seen.after);
        // What is learnt of the rate errs by the queues' scatter over the time that was watched.
        let rate = (to - from) * (40.0 * world.queue / 10e9 + 2.0 * WANDER);
        prop_assert!(bound <= delays + rate, "{bound} {delays} {rate}");
    }
}

fn steady() -> World {
    World {
        offset: 77_000_000_000_000,
        rate: 2.5,
        swing: 0.0,
        period: 1e9,
        there: 20_000.0,
        back: 20_000.0,
        queue: 2_000.0,
        seed: 1,
    }
}

#[test]
fn equal_ways_make_the_line_much_better_than_its_bound() {
    let mut host = Host::new(steady());
    let mut history = History::default();
    let (seen, clock, from, to) = trial(&mut host, &mut history);
    let bound = bound(clock, &seen, WANDER).unwrap().0 as f64;
    assert!((20_000.0..40_000.0).contains(&bound), "{bound}");
    for at in [from, to] {
        let wrong = error(&host, clock, at);
        assert!(wrong < bound / 3.0, "{wrong} of {bound}");
    }
    let residual = residual(clock, &seen).unwrap();
    assert!(residual.unsigned_abs() < 10_000, "{residual}");
}

#[test]
fn a_delay_of_one_direction_shifts_the_line_and_is_inside_the_bound() {
    let mut host = Host::new(World {
        back: 1_020_000.0,
        ..steady()
    });
    let mut history = History::default();
    let (seen, clock, from, to) = trial(&mut host, &mut history);
    let bound = bound(clock, &seen, WANDER).unwrap().0 as f64;
    for at in [from, to] {
        let wrong = error(&host, clock, at);
        // Half of the millisecond is in the line, and no exchange can tell.
        assert!((450_000.0..bound).contains(&wrong), "{wrong} of {bound}");
    }
}

#[test]
fn the_drift_is_that_against_the_kernels_own_rate() {
    let mut host = Host::new(World {
        rate: 2.5 * (1.0 + 50e-6),
        ..steady()
    });
    let mut history = History::default();
    trial(&mut host, &mut history);
    // The kernel of the simulated host takes its own clock to run 20 ppm too fast.
    let drift = history.drift_ppm().unwrap();
    assert!((drift - 20.0).abs() < 3.0, "{drift}");
    let rate = history.rate().unwrap();
    assert!((rate * 2.5 * (1.0 + 50e-6) - 1.0).abs() < 3e-6, "{rate}");
}

#[test]
fn a_host_that_was_started_anew_is_learnt_anew() {
    let mut host = Host::new(steady());
    let mut history = History::default();
    trial(&mut host, &mut history);
    host.world.offset = 1_000;
    host.world.rate = 3.0;
    let (seen, clock, from, _) = trial(&mut host, &mut history);
    assert!((history.rate().unwrap() * 3.0 - 1.0).abs() < 1e-5);
    let found = bound(clock, &seen, WANDER).unwrap().0 as f64;
    assert!(found < 50_000.0 && error(&host, clock, from) <= found);
}

#[test]
fn without_a_series_on_both_sides_there_is_no_bound() {
    let mut host = Host::new(steady());
    let mut history = History::default();
    let (mut seen, clock, ..) = trial(&mut host, &mut history);
    seen.after.clear();
    assert_eq!(bound(clock, &seen, WANDER), None);
    assert_eq!(residual(clock, &seen), None);
}

#[test]
fn what_is_kept_of_a_long_run_is_little_and_recent() {
    let mut host = Host::new(steady());
    let mut history = History::default();
    for _ in 0..400 {
        let series = host.series(3, 40e6);
        history.learn(&series);
        host.now += 2e9;
    }
    assert!(history.points.len() <= MOST, "{}", history.points.len());
    let span = history.span();
    assert!(span <= HORIZON && span > Nanos::from_secs(150), "{span}");
}
