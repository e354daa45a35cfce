//! When a trial does not count: rules that compare what the host did during it with what the bare
//! machine does. Each rule yields a sentence with the figures that it was decided on.

use super::load::ENDED;
use dyno_model::cpus::ranges;
use dyno_model::noise::{BareMachine, CpuGaps, HostLoad, HostNoise};
use dyno_model::unit::Nanos;

/// At most this share of what the CPUs could give is taken for the bare machine's own steal and gaps. Otherwise a
/// baseline that was measured under load would excuse everything after it.
const BARE_AT_MOST: f64 = 0.10;
/// At most this share of what the CPUs could give is housekeeping of the bare machine. More is a stranger, also where
/// it works all the time and stands in the baseline.
const HOUSEKEEPING: f64 = 0.005;
/// Others may take this share of one CPU's time beyond the bare machine's: a p99 has room for 1 %, and
/// housekeeping of the kernel comes in lumps of up to 5 ms.
const SHARE: f64 = 0.02;
/// The bare machine's share is taken for at least this much: one such lump.
const LUMP: Nanos = Nanos::from_millis(3);
/// Steal time is counted in ticks of this length (USER_HZ is 100 on every Linux in use).
const TICK: Nanos = Nanos::from_millis(10);
/// Where it is not known how long the bare machine's CPUs idled: half of the time, so a busy one may lose twice as much.
const STEAL_WHEN_BUSY: f64 = 2.0;
/// Gaps before the trial may take this share of a CPU beyond the bare machine's …
const GAPS: f64 = 0.03;
/// … and this many times the bare machine's.
const GAPS_RATIO: f64 = 3.0;
/// Frequencies that differ by less are taken for the same.
const FREQUENCY: f64 = 1.10;

/// Plain sentences: why the trial is disturbed beyond what the bare machine does. Empty: it is not.
///
/// The rules, with `W` the window's length and the bare machine's share taken off (at most 10 % of what
/// the CPUs could give; the sentence says so where it was more):
///
/// - other processes used CPU time of more than 2 % of `W`; at least 3 ms and at most 0.5 % of what the CPUs could give are taken off
/// - the hypervisor took more than 2 % of one CPU's part of the time in which the CPUs were wanted + one tick of 10 ms times
///   the root of the number of CPUs
/// - a CPU was slowed for heat
/// - a CPU's frequency changed by more than 10 % to where the bare machine's was not
/// - just before the trial, a CPU lost more than three times the bare machine's share, and 3 % more, to
///   gaps, the longest gap not counted: one lump says nothing about the window
pub fn disturbances(noise: &HostNoise, bare: &BareMachine) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(window) = &noise.window {
        found.extend(foreign(window, &bare.load));
        found.extend(steal(window, &bare.load));
        found.extend(throttling(window, &bare.load));
        found.extend(frequency(window, &bare.load));
    }
    found.extend(noise.gaps.iter().filter_map(|g| gaps(g, &bare.gaps)));
    found
}

/// A share of the bare machine and as much of it as counts.
struct Allowed {
    measured: f64,
    taken: f64,
}

impl Allowed {
    fn of(measured: f64, factor: f64, at_most: f64) -> Self {
        Allowed {
            measured,
            taken: (measured * factor).min(at_most),
        }
    }

    /// What the bare machine did, and that it was itself disturbed where it was.
    fn text(&self) -> String {
        let cut = if self.taken < self.measured {
            format!(
                ", so it was disturbed itself, and only {} were taken off; measure again on a quiet machine",
                percent(self.taken)
            )
        } else {
            String::new()
        };
        format!("on the bare machine it was {}{cut}", percent(self.measured))
    }
}

fn foreign(window: &HostLoad, bare: &HostLoad) -> Option<String> {
    let allowed = Allowed::of(bare.foreign_share(), 1.0, HOUSEKEEPING);
    let limit = (allowed.taken * capacity(window)).max(ns(LUMP)) + SHARE * wall(window);
    if ns(window.foreign) <= limit {
        return None;
    }
    let named: u64 = window.hungriest.iter().map(|(_, used)| used.0).sum();
    let first = window.hungriest.first().map(|(name, used)| {
        if name == ENDED {
            format!("{ENDED} {used}")
        } else {
            format!("`{name}` {used}")
        }
    });
    let who = match first {
        Some(first) if 2 * named >= window.foreign.0 => first,
        Some(first) => {
            format!("mostly processes that have ended; of the others {first}")
        }
        None => "processes that have ended".to_owned(),
    };
    Some(format!(
        "other processes used {} of {} during the window ({who}); {}",
        percent(window.foreign_share()),
        cpus(window),
        allowed.text()
    ))
}

fn steal(window: &HostLoad, bare: &HostLoad) -> Option<String> {
    // A hypervisor takes nothing from an idle CPU: what counts is the share of the time that the CPUs were wanted.
    let factor = bare.idle.map_or(STEAL_WHEN_BUSY, |_| 1.0);
    let allowed = Allowed::of(share(bare.stolen, bare.wanted()), factor, BARE_AT_MOST);
    let cpus_used = (window.cpus.len() as f64).max(1.0);
    let rounding = ns(TICK) * cpus_used.sqrt();
    let limit = (allowed.taken + SHARE / cpus_used) * ns(window.wanted()) + rounding;
    (ns(window.stolen) > limit).then(|| {
        format!(
            "the hypervisor gave {} of the time that {} had work to other guests during the window ({}); {}",
            percent(share(window.stolen, window.wanted())),
            cpus(window),
            window.stolen,
            allowed.text()
        )
    })
}

fn throttling(window: &HostLoad, bare: &HostLoad) -> Option<String> {
    let times = window.throttled.filter(|&times| times > 0)?;
    let bare = match bare.throttled {
        Some(times) if times > 0 => format!("; so was the bare machine, {times} times: cool it"),
        _ => String::new(),
    };
    Some(format!(
        "the kernel slowed {} for heat {times} times during the window{bare}",
        cpus(window)
    ))
}

fn frequency(window: &HostLoad, bare: &HostLoad) -> Vec<String> {
    let moved = |a: u64, b: u64| a.max(b) as f64 > FREQUENCY * a.min(b) as f64;
    let sentence = |(cpu, &(from, to)): (&u32, &(u64, u64))| {
        if !moved(from, to) {
            return None;
        }
        let usual = bare.frequency_khz.get(cpu);
        let bare = match usual.map(|&(a, b)| (a.min(b), a.max(b))) {
            Some((low, high)) => {
                // Between the two, with the same reserve as between start and end.
                let strange = |f: u64| (f < low || f > high) && moved(f, f.clamp(low, high));
                if !strange(from) && !strange(to) {
                    return None;
                }
                format!(
                    "; the bare machine ran at {} to {} GHz",
                    ghz(low),
                    ghz(high)
                )
            }
            None => String::new(),
        };
        Some(format!(
            "CPU {cpu} went from {} to {} GHz during the window{bare}",
            ghz(from),
            ghz(to)
        ))
    };
    window.frequency_khz.iter().filter_map(sentence).collect()
}

fn gaps(probe: &CpuGaps, bare: &[CpuGaps]) -> Option<String> {
    let bare = bare.iter().find(|b| b.cpu == probe.cpu);
    let lost = bare.map_or(0.0, |b| share(b.lost, b.watched));
    let allowed = Allowed::of(lost, 1.0, BARE_AT_MOST);
    let rest = share(probe.lost.saturating_sub(probe.longest), probe.watched);
    if rest <= allowed.taken + GAPS || rest <= allowed.taken * GAPS_RATIO {
        return None;
    }
    Some(format!(
        "CPU {} lost {} of its time in {} gaps just before the trial, the longest {}; {}",
        probe.cpu,
        percent(share(probe.lost, probe.watched)),
        probe.count,
        probe.longest,
        allowed.text()
    ))
}

fn ns(time: Nanos) -> f64 {
    time.0 as f64
}

/// In nanoseconds.
fn wall(load: &HostLoad) -> f64 {
    ns(load.wall)
}

/// CPU time that there was, in nanoseconds.
fn capacity(load: &HostLoad) -> f64 {
    wall(load) * load.cpus.len() as f64
}

fn share(part: Nanos, all: Nanos) -> f64 {
    if all.0 == 0 { 0.0 } else { ns(part) / ns(all) }
}

/// `31 %`, `5.2 %` or `0.43 %`.
fn percent(share: f64) -> String {
    let p = share * 100.0;
    match p {
        10.0.. => format!("{p:.0} %"),
        1.0.. => format!("{p:.1} %"),
        _ => format!("{p:.2} %"),
    }
}

/// `CPU 3` or `CPUs 0-1`.
fn cpus(load: &HostLoad) -> String {
    let mut cpus = load.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", ranges(&cpus))
}

fn ghz(khz: u64) -> String {
    format!("{:.2}", khz as f64 / 1e6)
}

#[cfg(test)]
mod tests;
