//! The CPUs: how many, with whom they are shared, how fast they are and how they sleep.

use crate::cause::{Cause, Tick};
use crate::facts::Facts;
use crate::finding::{Finding, Severity};
use dyno_measure::probe::speed;

/// How much slower the slowest CPU may be: hurts, may hurt.
const SPREAD: [f64; 2] = [1.10, 1.03];
/// What waking from idle may add in nanoseconds: hurts, may hurt. A round trip that blocks takes 5 to
/// 20 µs and contains it twice.
const WAKING: [f64; 2] = [50_000.0, 3_000.0];

pub(super) fn count(f: &Facts) -> Finding {
    let cpus = f.machine.cpus.clone();
    if cpus.len() < 2 {
        return Finding::hurts(Cause::OneCpu);
    }
    let lines = f.core_to_core.iter().map(|p| p.bare_ns);
    let bounds = |(lo, hi): (f64, f64), ns: f64| (lo.min(ns), hi.max(ns));
    let (nearest_ns, farthest_ns) = lines.fold((f64::INFINITY, 0.0), bounds);
    if farthest_ns > 2.0 * nearest_ns {
        return Finding::may_hurt(Cause::FarCpus {
            cpus,
            nearest_ns,
            farthest_ns,
        })
        .delay_ns(farthest_ns - nearest_ns);
    }
    Finding::fine(Cause::Cpus { cpus })
}

pub(super) fn quota(f: &Facts) -> Finding {
    let cpus = f.machine.cpus.len();
    match f.settings.cpu_quota {
        None => Finding::fine(Cause::NoQuota),
        Some(quota) if quota >= cpus as f64 => Finding::may_hurt(Cause::LooseQuota { quota, cpus }),
        // The rest of a period of 100 ms.
        Some(quota) => {
            Finding::hurts(Cause::Quota { quota, cpus }).delay_ns((1.0 - quota / cpus as f64) * 1e8)
        }
    }
}

pub(super) fn siblings(f: &Facts) -> Finding {
    let groups = f.machine.smt_siblings.clone();
    match groups.is_empty() {
        true => Finding::fine(Cause::NoSiblings),
        false => Finding::may_hurt(Cause::Siblings { groups }),
    }
}

pub(super) fn isolation(f: &Facts) -> Finding {
    match f.machine.isolated.as_str() {
        "" => Finding::may_hurt(Cause::NotIsolated {
            cpus: f.machine.cpus.clone(),
        }),
        cpus => Finding::fine(Cause::Isolated { cpus: cpus.into() }),
    }
}

pub(super) fn ticks(f: &Facts) -> Finding {
    let cpus = f.machine.nohz_full.clone();
    if !cpus.is_empty() {
        return Finding::fine(Cause::Tickless { cpus });
    }
    let seconds = f.load.wall.as_secs_f64();
    let timer = f.interrupts.iter().find(|i| i.irq == "LOC");
    let timer = timer.filter(|_| seconds > 0.0).map(|t| Tick {
        cpu: t.cpu,
        per_second: t.count as f64 / seconds,
    });
    Finding::may_hurt(Cause::Ticks { timer })
}

pub(super) fn governor(f: &Facts) -> Finding {
    let mut others = f.machine.governors.clone();
    if others.is_empty() {
        return Finding::unknown(Cause::GovernorUnknown {
            virtual_machine: f.machine.hypervisor.is_some(),
        });
    }
    others.retain(|_, governor| governor != "performance");
    if others.is_empty() {
        return Finding::fine(Cause::Performance);
    }
    let ranges = f.settings.frequencies.values();
    let lowest = ranges.clone().map(|r| r.min_khz).min();
    let khz = lowest.zip(ranges.map(|r| r.max_khz).max());
    Finding::hurts(Cause::Governor { others, khz })
}

pub(super) fn turbo(f: &Facts) -> Finding {
    match &f.settings.boost {
        None => Finding::unknown(Cause::TurboUnknown),
        Some(boost) if boost.on => Finding::may_hurt(Cause::Turbo {
            off_command: boost.off_command,
        }),
        Some(_) => Finding::fine(Cause::NoTurbo),
    }
}

pub(super) fn speed(f: &Facts) -> Finding {
    let Some(spread) = speed::spread(&f.speeds) else {
        return Finding::unknown(Cause::SpeedUnknown);
    };
    let each = f.speeds.iter().map(|s| (s.cpu, s.piece.p50)).collect();
    Finding::new(Severity::of(spread, SPREAD), Cause::Speed { spread, each })
}

pub(super) fn idle_states(f: &Facts) -> Finding {
    let (Some(asleep), Some(awake)) = (&f.wake_up_asleep, &f.wake_up_awake) else {
        return Finding::unknown(Cause::IdleUnknown);
    };
    let (asleep, awake) = (asleep.latency.p50, awake.latency.p50);
    let cost = asleep.saturating_sub(awake).0 as f64;
    let idle = &f.settings.idle;
    let used = idle.states.iter().filter(|s| !s.disabled);
    Finding::new(
        Severity::of(cost, WAKING),
        Cause::IdleStates {
            asleep,
            awake,
            states: used.map(|s| (s.name.clone(), s.latency_us)).collect(),
            driver: idle.driver.clone(),
            has_states: !idle.states.is_empty(),
        },
    )
    .delay_ns(cost)
}
