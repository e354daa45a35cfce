//! Waits for due times: sleeps until shortly before where they are far, then spins; or only sleeps.

use crate::clock::{Clock, monotonic};
use dyno_model::Pacing;
use dyno_model::protocol::Waited;
use dyno_model::unit::Nanos;
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::Timespec;

/// A message sent later than its due time by more than this was sent late. Well above the few
/// hundred nanoseconds by which a spinning sender misses, well below any wait for the scheduler.
pub const TOLERANCE: Nanos = Nanos::from_micros(10);

/// How long before the due time the sleep ends and the spinning starts, at first.
const FIRST_MARGIN: Nanos = Nanos::from_micros(100);
/// The margin follows what wake-ups need, within these bounds.
const LEAST_MARGIN: Nanos = Nanos::from_micros(30);
const MOST_MARGIN: Nanos = Nanos::from_micros(200);
/// Readings further apart than so many usual ones: something else ran in between. A usual one takes some
/// tens of nanoseconds; a switch to another thread and back takes thousands on the same machine, however
/// little that thread does.
const PREEMPTED: u64 = 16;
/// A step of this length is never taken for spinning, whatever the usual one is.
const LONGEST_STEP: Nanos = Nanos::from_micros(10);
/// So many steps show which is the usual one.
const STEPS_TRIED: usize = 64;
/// So many sleeps, of this length, show what one takes.
const SLEEPS_TRIED: usize = 15;
const SLEEP_TRIED: Nanos = Nanos::from_micros(30);
/// The longest time without asking whether to go on.
const ASK_EVERY: Nanos = Nanos::from_millis(50);

/// Whether what a wait takes counts by now.
type Counts = Box<dyn Fn() -> bool + Send>;

/// Waits for the due times of one sender, on the thread that sends.
pub struct Pacer {
    time: System,
    state: State,
}

impl Pacer {
    /// A pacer on `clock`, the clock of the schedule, for the calling thread, that waits as `how` says. Sleeps for about a
    /// millisecond in all to see what a sleep takes. What waits take counts from the first look on at which `counts` says
    /// so; there is one when a wait begins and after each sleep.
    pub fn new(clock: Clock, how: Pacing, counts: impl Fn() -> bool + Send + 'static) -> Self {
        let mut time = System { clock };
        let mut state = State::new(&time, how, Box::new(counts));
        state.try_sleeps(&mut time);
        Pacer { time, state }
    }

    /// Waits until `due` and returns the time, which is `due` or later; at once where `due` has
    /// passed. `go_on` is asked at least every 50 ms, also over successive calls that need not wait;
    /// `None` where it says no. Signals do not end the wait, but lead to `go_on` being asked.
    #[inline]
    pub fn wait_until(&mut self, due: Nanos, go_on: &dyn Fn() -> bool) -> Option<Nanos> {
        self.state.wait_until(&mut self.time, due, go_on)
    }

    /// Whether a wait ends with spinning, so that it may end earlier and [`spin_until`](Self::spin_until) do the rest.
    #[inline]
    pub fn spins(&self) -> bool {
        self.state.how == Pacing::Spin
    }

    /// Spins until `due`, which is near, and returns the time: the rest of a wait that ended shortly before.
    #[inline]
    pub fn spin_until(&mut self, due: Nanos) -> Nanos {
        let now = self.time.now();
        self.state.spin_from(&self.time, now, due)
    }

    /// The clock when the last call of [`wait_until`](Self::wait_until) began: its first reading, before which whatever came before it was over.
    pub fn entered(&self) -> Nanos {
        self.state.entered
    }

    /// What one sleep takes of the processor: the median of the latest ones that did not count.
    pub fn one_sleep(&self) -> Nanos {
        self.state.sleep()
    }

    /// What the waits that count took so far: the time spent spinning until due times and never more, for what interrupted
    /// the spinning is left out, be it another thread or an interrupt of some hundred nanoseconds; and for
    /// each sleep the median of what those took before that did not count: the longer a CPU slept, the more it has to do
    /// when it wakes.
    pub fn waited(&self) -> Waited {
        // A closed loop without gaps waits for its start alone, and nothing looks again after that.
        if self.state.counts.is_some() {
            return Waited::default();
        }
        let asleep = Nanos(self.state.sleeps * self.state.sleep().0);
        Waited {
            cpu: self.state.burned.saturating_add(asleep),
            sleeps: self.state.sleeps,
        }
    }
}

/// Processor time of the calling thread.
fn ran() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// What the pacer needs of a clock; the tests have one of their own.
trait Time {
    fn now(&self) -> Nanos;
    /// Processor time of the calling thread.
    fn ran(&self) -> Nanos;
    /// Sleeps until about `wake`, or until a signal comes.
    fn sleep_until(&mut self, wake: Nanos);
    fn spin(&self) {
        std::hint::spin_loop();
    }
}

struct System {
    clock: Clock,
}

impl Time for System {
    #[inline(always)]
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn ran(&self) -> Nanos {
        ran()
    }

    fn sleep_until(&mut self, wake: Nanos) {
        // The kernel's clock first: a preemption between the two readings then ends the sleep too
        // early, which the caller's loop mends, and never too late.
        let kernel = monotonic();
        let remaining = wake.saturating_sub(self.clock.now());
        let target = kernel.saturating_add(remaining).0;
        let request = Timespec {
            tv_sec: (target / 1_000_000_000) as i64,
            tv_nsec: (target % 1_000_000_000) as i64,
        };
        // An error is EINTR, or a kernel without the call; the caller looks at the clock anyway.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &request);
    }
}

struct State {
    how: Pacing,
    margin: Nanos,
    /// The due time before this one.
    last_due: Nanos,
    /// `None` once they count.
    counts: Option<Counts>,
    burned: Nanos,
    sleeps: u64,
    /// What the latest sleeps took that do not count, and how many there were.
    tried: Box<[Nanos; SLEEPS_TRIED]>,
    tries: usize,
    /// What looking at the processor time takes.
    looking: Nanos,
    entered: Nanos,
    asked: Nanos,
    /// The longest step of the spinning loop that is taken for nothing but the loop.
    longest_step: Nanos,
}

impl State {
    /// Looks how long a step of the loop takes on this machine with this clock.
    fn new<T: Time>(time: &T, how: Pacing, counts: Counts) -> Self {
        let mut now = time.now();
        let mut steps = [0; STEPS_TRIED];
        for step in &mut steps {
            time.spin();
            let next = time.now();
            *step = next.saturating_sub(now).0;
            now = next;
        }
        steps.sort_unstable();
        // The median, or where the clock is too coarse for that the least that it shows.
        let usual = steps[STEPS_TRIED / 2..].iter().find(|&&step| step > 0);
        let longest = usual.map_or(LONGEST_STEP, |usual| {
            Nanos(PREEMPTED.saturating_mul(*usual))
        });
        State {
            how,
            margin: FIRST_MARGIN,
            last_due: Nanos::ZERO,
            counts: Some(counts),
            burned: Nanos::ZERO,
            sleeps: 0,
            tried: Box::new([Nanos::ZERO; SLEEPS_TRIED]),
            tries: 0,
            looking: Nanos::ZERO,
            entered: now,
            asked: now,
            longest_step: longest.min(LONGEST_STEP),
        }
    }

    #[inline]
    fn wait_until<T: Time>(
        &mut self,
        time: &mut T,
        due: Nanos,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Nanos> {
        let mut now = time.now();
        self.entered = now;
        let gap = due.saturating_sub(self.last_due);
        self.last_due = due;
        if self.counts.is_some() {
            self.begin_to_count();
        }
        if now.saturating_sub(self.asked) >= ASK_EVERY {
            self.asked = now;
            if !go_on() {
                return None;
            }
        }
        if now >= due {
            return Some(now);
        }
        // Decided by the schedule alone: a stack whose sends take longer must not find its caches warmer.
        if gap > MOST_MARGIN || self.how == Pacing::Sleep {
            if due.saturating_sub(now) <= self.margin {
                // Nothing is learnt, and a margin that had grown to more than what is left would end the sleeps for
                // good. The next sleep is a trial, that may make a message late: one in some hundred.
                self.shrink(1024);
            }
            // As it is now: what a wake-up teaches is for the next due time.
            let margin = match self.how {
                Pacing::Spin => self.margin,
                Pacing::Sleep => Nanos::ZERO,
            };
            let before = match due.saturating_sub(now) > margin && self.counts.is_some() {
                true => Some(time.ran()),
                false => None,
            };
            let mut sleeps = 0;
            while due.saturating_sub(now) > margin {
                sleeps += 1;
                now = self.sleep_towards(time, now, due.saturating_sub(margin));
                self.asked = now;
                if self.counts.is_some() {
                    self.begin_to_count();
                }
                if !go_on() {
                    return None;
                }
            }
            if let Some(before) = before
                && self.counts.is_some()
            {
                let burned = self.burned;
                now = self.spin_from(time, now, due);
                let spun = self.burned.saturating_sub(burned);
                let used = time.ran().saturating_sub(before).saturating_sub(spun);
                self.learn(Nanos(used.saturating_sub(self.looking).0 / sleeps));
                return Some(now);
            }
        }
        Some(self.spin_from(time, now, due))
    }

    /// Sees what looking takes, and some sleeps.
    fn try_sleeps<T: Time>(&mut self, time: &mut T) {
        for _ in 0..SLEEPS_TRIED {
            let before = time.ran();
            self.learn(time.ran().saturating_sub(before));
        }
        self.looking = self.sleep();
        for _ in 0..SLEEPS_TRIED {
            let before = time.ran();
            time.sleep_until(time.now().saturating_add(SLEEP_TRIED));
            let used = time.ran().saturating_sub(before);
            self.learn(used.saturating_sub(self.looking));
        }
    }

    fn learn(&mut self, sleep: Nanos) {
        self.tried[self.tries % SLEEPS_TRIED] = sleep;
        self.tries += 1;
    }

    /// What a sleep takes.
    fn sleep(&self) -> Nanos {
        let mut all = *self.tried;
        all.sort_unstable();
        all[SLEEPS_TRIED / 2]
    }

    /// Forgets what the waits took that do not count.
    fn begin_to_count(&mut self) {
        (self.burned, self.sleeps) = (Nanos::ZERO, 0);
        if self.counts.as_ref().is_some_and(|counts| counts()) {
            self.counts = None;
        }
    }

    /// Spins until `due` from `now` on, which was just read.
    #[inline]
    fn spin_from<T: Time>(&mut self, time: &T, mut now: Nanos, due: Nanos) -> Nanos {
        let mut burned = 0;
        while now < due {
            time.spin();
            let next = time.now();
            let step = next.saturating_sub(now);
            if step <= self.longest_step {
                burned += step.0;
            }
            now = next;
        }
        self.burned = self.burned.saturating_add(Nanos(burned));
        now
    }

    /// Sleeps until `until`, at most [`ASK_EVERY`], and learns from the wake-up.
    fn sleep_towards<T: Time>(&mut self, time: &mut T, now: Nanos, until: Nanos) -> Nanos {
        let wake = until.min(now.saturating_add(ASK_EVERY));
        time.sleep_until(wake);
        self.sleeps += 1;
        let woken = time.now();
        let overshoot = woken.saturating_sub(wake).0;
        // Doubled by a wake-up that used up more than half of it, shrunk by 1/64 by one that did not: it
        // stays above what nearly all wake-ups need and follows when that becomes less. A wake-up that
        // no margin covers says nothing: others had the CPU, and spinning longer would not help.
        let margin = self.margin.0;
        if overshoot > MOST_MARGIN.0 {
            return woken;
        }
        if overshoot > margin / 2 {
            self.margin = Nanos(margin * 2).min(MOST_MARGIN);
        } else {
            self.shrink(64);
        }
        woken
    }

    fn shrink(&mut self, part: u64) {
        self.margin = Nanos(self.margin.0 - self.margin.0 / part).max(LEAST_MARGIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Advances by 100 ns per reading, and sleeps `oversleep` too long.
    struct Fake {
        now: Cell<u64>,
        oversleep: u64,
        slept: u64,
        /// What a sleep takes of the processor.
        works: u64,
    }

    impl Fake {
        fn at(now: u64) -> Self {
            Fake {
                now: Cell::new(now),
                oversleep: 5_000,
                slept: 0,
                works: 0,
            }
        }
    }

    impl Time for Fake {
        fn now(&self) -> Nanos {
            self.now.set(self.now.get() + 100);
            Nanos(self.now.get())
        }
        fn ran(&self) -> Nanos {
            Nanos(self.now.get() - self.slept)
        }
        fn sleep_until(&mut self, wake: Nanos) {
            let end = (wake.0 + self.oversleep).max(self.now.get());
            self.slept += end - self.now.get();
            self.now.set(end + self.works);
        }
    }

    /// Of a loop whose steps take 100 ns.
    fn state() -> State {
        let state = State::new(&Fake::at(0), Pacing::Spin, Box::new(|| true));
        assert_eq!(state.longest_step, Nanos(1_600));
        State {
            asked: Nanos::ZERO,
            ..state
        }
    }

    #[test]
    fn a_wait_ends_at_the_due_time_and_most_of_it_is_slept() {
        let (mut t, mut s) = (Fake::at(0), state());
        let due = Nanos::from_millis(20);
        let now = s.wait_until(&mut t, due, &|| true).unwrap();
        assert!(now >= due && now.0 < due.0 + 200, "{now:?}");
        assert!(t.slept > 19_800_000, "{}", t.slept);
    }

    #[test]
    fn burned_is_the_time_spent_spinning() {
        let (mut t, mut s) = (Fake::at(0), state());
        let now = s.wait_until(&mut t, Nanos(50_000), &|| true).unwrap();
        assert_eq!(t.slept, 0);
        // All but the reading that found it not yet due.
        assert_eq!(s.burned.0, now.0 - 100);
    }

    #[test]
    fn time_in_which_others_ran_is_not_burned() {
        /// Away for `away` once, after 20 µs.
        struct Preempted {
            fake: Fake,
            away: u64,
        }
        impl Time for Preempted {
            fn now(&self) -> Nanos {
                self.fake.now()
            }
            fn ran(&self) -> Nanos {
                self.fake.ran()
            }
            fn sleep_until(&mut self, wake: Nanos) {
                self.fake.sleep_until(wake);
            }
            fn spin(&self) {
                if self.fake.now.get() == 20_000 {
                    self.fake.now.set(20_000 + self.away);
                }
            }
        }
        // Also where it is shorter than any wait for the scheduler's next tick.
        for away in [2_000, 9_000, 3_980_000] {
            let fake = Fake::at(0);
            let (mut t, mut s) = (Preempted { fake, away }, state());
            let now = s.wait_until(&mut t, Nanos(50_000), &|| true).unwrap();
            assert_eq!(s.burned.0 + away + 200, now.0, "{away}");
        }
    }

    #[test]
    fn a_coarse_clock_still_tells_spinning_from_waiting() {
        struct Coarse(Fake);
        impl Time for Coarse {
            fn now(&self) -> Nanos {
                Nanos(self.0.now().0 / 4_000 * 4_000)
            }
            fn ran(&self) -> Nanos {
                self.0.ran()
            }
            fn sleep_until(&mut self, wake: Nanos) {
                self.0.sleep_until(wake);
            }
        }
        let (mut t, mut s) = (
            Coarse(Fake::at(0)),
            State::new(&Coarse(Fake::at(0)), Pacing::Spin, Box::new(|| true)),
        );
        s.asked = Nanos::ZERO;
        s.wait_until(&mut t, Nanos(80_000), &|| true).unwrap();
        assert_eq!(s.burned, Nanos(80_000));
    }

    #[test]
    fn no_more_is_burned_than_the_thread_ran() {
        // Another thread on the same CPU that wakes up often and does little.
        let cpu = crate::host::allowed_cpus()[0];
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                crate::host::pin(cpu).unwrap();
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::thread::sleep(std::time::Duration::from_micros(20));
                }
            });
            let (burned, ran) = scope
                .spawn(|| {
                    crate::host::pin(cpu).unwrap();
                    let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
                    let mut pacer = Pacer::new(clock, Pacing::Spin, || true);
                    let before = ran();
                    let start = clock.now();
                    for i in 1..3_000 {
                        let due = start.saturating_add(Nanos(i * 50_000));
                        pacer.wait_until(due, &|| true).unwrap();
                    }
                    (pacer.waited().cpu, ran().saturating_sub(before))
                })
                .join()
                .unwrap();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(burned <= ran, "{burned} of {ran}");
            assert!(burned > Nanos::ZERO);
        });
    }

    #[test]
    fn a_late_message_is_sent_at_once_and_not_skipped() {
        let (mut t, mut s) = (Fake::at(1_000_000), state());
        assert_eq!(
            s.wait_until(&mut t, Nanos(10), &|| true),
            Some(Nanos(1_000_100))
        );
        assert_eq!(s.burned, Nanos::ZERO);
    }

    #[test]
    fn a_long_wait_asks_every_50_ms_whether_to_go_on() {
        let (mut t, mut s) = (Fake::at(0), state());
        let asked = Cell::new(0);
        s.wait_until(&mut t, Nanos::from_secs(1), &|| {
            asked.set(asked.get() + 1);
            true
        });
        assert!((19..=21).contains(&asked.get()), "{}", asked.get());
        let (mut t, mut s) = (Fake::at(0), state());
        assert_eq!(s.wait_until(&mut t, Nanos::from_secs(1), &|| false), None);
        assert!(t.slept < 51_000_000);
    }

    #[test]
    fn a_sender_that_is_always_late_is_asked_too() {
        let (mut t, mut s) = (Fake::at(0), state());
        let mut sent = 0;
        while s.wait_until(&mut t, Nanos::ZERO, &|| false).is_some() {
            sent += 1;
            assert!(sent < 1_000_000);
        }
        assert!(t.now.get() >= ASK_EVERY.0);
    }

    #[test]
    fn a_pacer_that_only_sleeps_wakes_at_the_due_time_and_never_spins() {
        // Also where the default would spin through all of a short gap.
        for period in [50_000, 250_000, 10_000_000] {
            let mut t = Fake::at(0);
            let mut s = State::new(&Fake::at(0), Pacing::Sleep, Box::new(|| true));
            s.asked = Nanos::ZERO;
            for i in 1..=1_000 {
                let due = period * i;
                let now = s.wait_until(&mut t, Nanos(due), &|| true).unwrap();
                assert!((due..=due + t.oversleep + 200).contains(&now.0), "{i}");
            }
            assert_eq!((s.burned, s.sleeps), (Nanos::ZERO, 1_000), "{period}");
        }
    }

    #[test]
    fn the_margin_follows_the_wake_ups() {
        let (mut t, mut s) = (Fake::at(0), state());
        t.oversleep = 3_000_000;
        s.wait_until(&mut t, Nanos::from_millis(5), &|| true);
        assert_eq!(s.margin, FIRST_MARGIN);
        t.oversleep = 150_000;
        for i in 1..10 {
            s.wait_until(&mut t, Nanos::from_millis(10 * i), &|| true);
        }
        assert_eq!(s.margin, MOST_MARGIN);
        t.oversleep = 1_000;
        for i in 10..1_000 {
            s.wait_until(&mut t, Nanos::from_millis(10 * i), &|| true);
        }
        assert_eq!(s.margin, LEAST_MARGIN);
    }

    /// Sleeps in a thousand waits, `period` apart, of a sender that is busy for `busy` after each.
    fn sleeps(period: u64, oversleep: u64, busy: u64) -> u64 {
        let (mut t, mut s) = (Fake::at(0), state());
        // The first gap is from when the clock was started.
        s.last_due = Nanos(1_000_000);
        t.now.set(1_000_000);
        t.oversleep = oversleep;
        for i in 1..=1_000 {
            s.wait_until(&mut t, Nanos(1_000_000 + period * i), &|| true);
            t.now.set(t.now.get() + busy);
        }
        s.sleeps
    }

    #[test]
    fn whether_to_sleep_depends_on_the_schedule_alone() {
        for oversleep in [1_000, 150_000] {
            assert_eq!(sleeps(150_000, oversleep, 0), 0);
            assert_eq!(sleeps(200_000, oversleep, 0), 0);
            assert_eq!(sleeps(450_000, oversleep, 0), 1_000);
            let sleeps_too = sleeps(450_000, oversleep, 200_000);
            assert!(sleeps_too > 990, "{sleeps_too}");
        }
        // Where a late wake-up needs more than is left, it is tried again.
        let tried = sleeps(300_000, 150_000, 150_000);
        assert!((2..20).contains(&tried), "{tried}");
    }

    #[test]
    fn what_waits_take_counts_from_when_it_is_told() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
        let told = Arc::new(AtomicBool::new(false));
        let counts = {
            let told = told.clone();
            Box::new(move || told.load(Relaxed))
        };
        let mut t = Fake::at(0);
        let mut s = State::new(&Fake::at(0), Pacing::Spin, counts);
        s.asked = Nanos::ZERO;
        s.wait_until(&mut t, Nanos::from_millis(200), &|| true);
        // Within a wait of many sleeps, of which one has ended by then.
        let looked = Cell::new(0);
        let go_on = || {
            looked.set(looked.get() + 1);
            told.store(looked.get() == 3, Relaxed);
            true
        };
        s.wait_until(&mut t, Nanos::from_millis(400), &go_on);
        assert_eq!((looked.get(), s.sleeps), (4, 0));
        told.store(true, Relaxed);
        s.wait_until(&mut t, Nanos::from_millis(600), &|| true);
        assert_eq!(s.sleeps, 4);
        told.store(false, Relaxed);
        s.wait_until(&mut t, Nanos::from_millis(800), &|| true);
        assert_eq!(s.sleeps, 8);
    }

    #[test]
    fn what_a_sleep_takes_is_learnt_from_those_that_do_not_count() {
        let (mut t, mut s) = (
            Fake::at(0),
            State::new(&Fake::at(0), Pacing::Spin, Box::new(|| false)),
        );
        s.asked = Nanos::ZERO;
        s.try_sleeps(&mut t);
        // One reading of the clock, to know until when.
        assert_eq!(s.sleep(), Nanos(100));
        t.works = 7_000;
        for i in 1..=20 {
            s.wait_until(&mut t, Nanos::from_millis(10 * i), &|| true);
        }
        // With the reading that ends it.
        assert_eq!(s.sleep(), Nanos(7_100));
        s.counts = None;
        t.works = 9_000;
        for i in 21..=40 {
            s.wait_until(&mut t, Nanos::from_millis(10 * i), &|| true);
        }
        assert_eq!((s.sleep(), s.sleeps), (Nanos(7_100), 20));
    }

    #[test]
    fn a_wait_before_anything_counts_is_no_pacing() {
        let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
        let mut pacer = Pacer::new(clock, Pacing::Spin, || false);
        let due = clock.now().saturating_add(Nanos::from_millis(1));
        pacer.wait_until(due, &|| true).unwrap();
        assert_eq!(pacer.waited(), Waited::default());
    }

    #[test]
    fn a_sleep_is_charged_to_the_wait() {
        let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
        let mut pacer = Pacer::new(clock, Pacing::Spin, || true);
        assert!(pacer.state.sleep() > Nanos::ZERO);
        let due = clock.now().saturating_add(Nanos::from_millis(2));
        pacer.wait_until(due, &|| true).unwrap();
        let waited = pacer.waited();
        assert_eq!(waited.sleeps, 1);
        assert_eq!(
            waited.cpu,
            pacer.state.burned.saturating_add(pacer.state.sleep())
        );
    }

    #[test]
    fn the_system_clock_is_waited_for() {
        let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
        let mut pacer = Pacer::new(clock, Pacing::Spin, || true);
        let due = clock.now().saturating_add(Nanos::from_millis(3));
        assert!(pacer.wait_until(due, &|| true).unwrap() >= due);
    }
}
