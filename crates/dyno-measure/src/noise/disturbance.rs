//! When a trial does not count: rules that compare what the host did during it with what the idle host does. Each rule yields the figures that it was decided on.

use super::load::ENDED;
use dyno_model::cause::{BareShare, Disturbance};
use dyno_model::noise::{BareMachine, CpuGaps, HostLoad, HostNoise};
use dyno_model::unit::Nanos;

/// At most this share of what the CPUs could give is taken for the idle host's own steal and gaps. Otherwise a
/// baseline that was measured under load would excuse everything after it.
const BARE_AT_MOST: f64 = 0.10;
/// At most this share of what the CPUs could give is housekeeping of the idle host. More is a stranger, also where
/// it works all the time and stands in the baseline.
const HOUSEKEEPING: f64 = 0.005;
/// Others may take this share of one CPU's time beyond the idle host's: a p99 has room for 1 %, and
/// housekeeping of the kernel comes in lumps of up to 5 ms.
const SHARE: f64 = 0.02;
/// The idle host's share is taken for at least this much: one such lump.
const LUMP: Nanos = Nanos::from_millis(3);
/// Steal time is counted in ticks of this length (USER_HZ is 100 on every Linux in use).
const TICK: Nanos = Nanos::from_millis(10);
/// Where it is not known how long the idle host's CPUs idled: half of the time, so a busy one may lose twice as much.
const STEAL_WHEN_BUSY: f64 = 2.0;
/// Gaps before the trial may take this share of a CPU beyond the idle host's …
const GAPS: f64 = 0.03;
/// … and this many times the idle host's.
const GAPS_RATIO: f64 = 3.0;
/// Frequencies that differ by less are taken for the same.
const FREQUENCY: f64 = 1.10;

/// Why the trial is disturbed beyond what the idle host does. Empty: it is not.
///
/// The rules, with `W` the window's length and the idle host's share taken off (at most 10 % of what
/// the CPUs could give; the cause says so where it was more):
///
/// - other processes used CPU time of more than 2 % of `W`; at least 3 ms and at most 0.5 % of what the CPUs could give are taken off
/// - the hypervisor took more than 2 % of one CPU's part of the time in which the CPUs were wanted + one tick of 10 ms times
///   the root of the number of CPUs
/// - a CPU was slowed for heat
/// - a CPU's frequency changed by more than 10 % to where the idle host's was not
/// - just before the trial, a CPU that it then used lost more than three times the idle host's share, and 3 % more, to
///   gaps, the longest gap not counted: one lump says nothing about the window
pub fn disturbances(noise: &HostNoise, bare: &BareMachine) -> Vec<Disturbance> {
    let mut found = Vec::new();
    if let Some(window) = &noise.window {
        found.extend(foreign(window, &bare.load));
        found.extend(steal(window, &bare.load));
        found.extend(throttling(window, &bare.load));
        found.extend(frequency(window, &bare.load));
    }
    // Before the trial it is not known whether a library makes threads for the CPUs that it has.
    let is_used = |g: &&CpuGaps| {
        let window = noise.window.as_ref();
        window.is_none_or(|w| w.cpus.is_empty() || w.cpus.contains(&g.cpu))
    };
    let used = noise.gaps.iter().filter(is_used);
    found.extend(used.filter_map(|g| gaps(g, &bare.gaps)));
    found
}

/// A share of the idle host, of which `factor` times as much is taken for its own, at most `bound`.
fn allowed(share: f64, factor: f64, bound: f64) -> BareShare {
    BareShare {
        share,
        taken: (share * factor).min(bound),
    }
}

fn foreign(window: &HostLoad, bare: &HostLoad) -> Option<Disturbance> {
    let mut bare = allowed(bare.foreign_share(), 1.0, HOUSEKEEPING);
    // Of a short window one lump is more.
    let lump = (ns(LUMP) / capacity(window).max(1.0)).min(bare.share);
    bare.taken = bare.taken.max(lump);
    let limit = (bare.taken * capacity(window)).max(ns(LUMP)) + SHARE * wall(window);
    let name = |name: &String| (name != ENDED).then(|| name.clone());
    let first = window.hungriest.first();
    (ns(window.foreign) > limit).then(|| Disturbance::ForeignLoad {
        share: window.foreign_share(),
        cpus: cpus(window),
        used: window.foreign,
        named: Nanos(window.hungriest.iter().map(|(_, used)| used.0).sum()),
        hungriest: first.map(|(who, used)| (name(who), *used)),
        bare,
    })
}

fn steal(window: &HostLoad, bare: &HostLoad) -> Option<Disturbance> {
    // A hypervisor takes nothing from an idle CPU: what counts is the share of the time that the CPUs were wanted.
    let factor = bare.idle.map_or(STEAL_WHEN_BUSY, |_| 1.0);
    let bare = allowed(share(bare.stolen, bare.wanted()), factor, BARE_AT_MOST);
    let cpus_used = (window.cpus.len() as f64).max(1.0);
    let rounding = ns(TICK) * cpus_used.sqrt();
    let limit = (bare.taken + SHARE / cpus_used) * ns(window.wanted()) + rounding;
    (ns(window.stolen) > limit).then(|| Disturbance::Steal {
        share: share(window.stolen, window.wanted()),
        cpus: cpus(window),
        stolen: window.stolen,
        bare,
    })
}

fn throttling(window: &HostLoad, bare: &HostLoad) -> Option<Disturbance> {
    Some(Disturbance::Throttling {
        cpus: cpus(window),
        times: window.throttled.filter(|&times| times > 0)?,
        bare_times: bare.throttled.unwrap_or(0),
    })
}

fn frequency(window: &HostLoad, bare: &HostLoad) -> Vec<Disturbance> {
    let moved = |a: u64, b: u64| a.max(b) as f64 > FREQUENCY * a.min(b) as f64;
    let disturbance = |(cpu, &(from, to)): (&u32, &(u64, u64))| {
        let usual = bare.frequency_khz.get(cpu);
        let usual = usual.map(|&(a, b)| (a.min(b), a.max(b)));
        let strange = |f: u64| match usual {
            // Between the two, with the same reserve as between start and end.
            Some((low, high)) => (f < low || f > high) && moved(f, f.clamp(low, high)),
            None => true,
        };
        (moved(from, to) && (strange(from) || strange(to))).then_some(Disturbance::Frequency {
            cpu: *cpu,
            from_khz: from,
            to_khz: to,
            bare_khz: usual,
        })
    };
    window
        .frequency_khz
        .iter()
        .filter_map(disturbance)
        .collect()
}

fn gaps(probe: &CpuGaps, bare: &[CpuGaps]) -> Option<Disturbance> {
    let bare = bare.iter().find(|b| b.cpu == probe.cpu);
    let lost = bare.map_or(0.0, |b| share(b.lost, b.watched));
    let bare = allowed(lost, 1.0, BARE_AT_MOST);
    let rest = share(probe.lost.saturating_sub(probe.longest), probe.watched);
    if rest <= bare.taken + GAPS || rest <= bare.taken * GAPS_RATIO {
        return None;
    }
    Some(Disturbance::Gaps {
        cpu: probe.cpu,
        share: share(probe.lost, probe.watched),
        gaps: probe.count,
        longest: probe.longest,
        bare,
    })
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

/// Ascending, each once.
fn cpus(load: &HostLoad) -> Vec<u32> {
    let mut cpus = load.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

#[cfg(test)]
mod tests;
