//! What disturbs: other programs, interrupts, the hypervisor.

use crate::cause::{Cause, CpuGap, Device};
use crate::facts::Facts;
use crate::finding::{Finding, Severity};
use dyno_model::Nanos;

/// A share of CPU time from which others hurt, and from which they may: a p99 has room for 1 %.
const SHARE: [f64; 2] = [0.05, 0.01];
/// Gaps: what they take, and how many nanoseconds one may be. A stack's round trip takes 1 to 50 µs.
const LOST: [f64; 2] = [0.01, 0.001];
const LONGEST: [f64; 2] = [1e6, 50e3];
/// Device interrupts per second on one CPU, each some microseconds long.
const INTERRUPTS: [f64; 2] = [2_000.0, 100.0];

pub(super) fn build(f: &Facts) -> Finding {
    if f.build_profile == "release" {
        return Finding::fine(Cause::ReleaseBuild);
    }
    Finding::hurts(Cause::DebugBuild)
}

pub(super) fn foreign_load(f: &Facts) -> Finding {
    if f.load.wall == Nanos::ZERO {
        return Finding::unknown(Cause::ForeignLoadUnknown);
    }
    let share = f.load.foreign_share();
    Finding::new(
        Severity::of(share, SHARE),
        Cause::ForeignLoad {
            share,
            used: f.load.foreign,
            wall: f.load.wall,
            hungriest: f.load.hungriest.clone(),
        },
    )
}

pub(super) fn load_average(f: &Facts) -> Finding {
    let Some(threads) = f.settings.load_average else {
        return Finding::unknown(Cause::LoadAverageUnknown);
    };
    let cpus = f.machine.cpus.len();
    let per_cpu = threads / cpus.max(1) as f64;
    Finding::new(
        Severity::of(per_cpu, [1.0, 0.25]),
        Cause::LoadAverage { threads, cpus },
    )
}

pub(super) fn gaps(f: &Facts) -> Finding {
    let of_cpu = f.gaps.iter().map(|g| CpuGap {
        cpu: g.cpu,
        share: g.lost.as_secs_f64() / g.watched.as_secs_f64().max(1e-9),
        longest: g.longest,
    });
    let each: Vec<CpuGap> = of_cpu.collect();
    let Some(longest) = each.iter().map(|g| g.longest).max() else {
        return Finding::unknown(Cause::GapsUnknown);
    };
    let lost = each.iter().map(|g| g.share).fold(0.0, f64::max);
    let delay = longest.0 as f64;
    Finding::new(
        // The smaller is the worse.
        Severity::of(lost, LOST).min(Severity::of(delay, LONGEST)),
        Cause::Gaps {
            longest,
            each,
            foreign_load: f.load.foreign_share() > SHARE[0],
            virtual_machine: f.machine.hypervisor.is_some(),
        },
    )
    .delay_ns(delay)
}

pub(super) fn interrupts(f: &Facts) -> Finding {
    let seconds = f.load.wall.as_secs_f64();
    if seconds == 0.0 {
        return Finding::unknown(Cause::InterruptsUnknown);
    }
    let devices = || f.interrupts.iter().filter(|i| i.is_of_device());
    let rate = |cpu: u32| {
        let count: u64 = devices().filter(|i| i.cpu == cpu).map(|i| i.count).sum();
        count as f64 / seconds
    };
    let cpus = &f.machine.cpus;
    let all = cpus.iter().map(|&cpu| (cpu, rate(cpu)));
    let Some((cpu, per_second)) = all.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Finding::unknown(Cause::NoCpuToInterrupt);
    };
    let device = devices().find(|i| i.cpu == cpu).map(|i| Device {
        irq: i.irq.clone(),
        about: i.about.clone(),
        per_second: i.count as f64 / seconds,
    });
    let mut online = f.settings.online.iter();
    Finding::new(
        Severity::of(per_second, INTERRUPTS),
        Cause::Interrupts {
            cpu,
            per_second,
            device,
            free_cpu: online.find(|c| !cpus.contains(c)).copied(),
            cpus: cpus.clone(),
        },
    )
}

pub(super) fn irq_balancer(f: &Facts) -> Finding {
    match f.settings.irq_balancer {
        Some(pid) => Finding::may_hurt(Cause::IrqBalance { pid }),
        None => Finding::fine(Cause::NoIrqBalance),
    }
}

pub(super) fn throttling(f: &Facts) -> Finding {
    match f.load.throttled {
        None => Finding::unknown(Cause::ThrottlingUnknown),
        Some(0) => Finding::fine(Cause::NotThrottled),
        Some(times) => Finding::hurts(Cause::Throttled {
            times,
            wall: f.load.wall,
        }),
    }
}

pub(super) fn virtual_machine(f: &Facts) -> Finding {
    let Some(name) = &f.machine.hypervisor else {
        return Finding::fine(Cause::NoHypervisor);
    };
    Finding::hurts(Cause::VirtualMachine {
        hypervisor: name.clone(),
        stolen: f.load.stolen,
        wall: f.load.wall,
        longest_gap: f.gaps.iter().map(|g| g.longest).max().unwrap_or_default(),
    })
}

pub(super) fn steal(f: &Facts) -> Finding {
    if f.machine.hypervisor.is_none() {
        return Finding::fine(Cause::NoSteal);
    }
    let share = f.load.stolen_share();
    Finding::new(
        Severity::of(share, LOST),
        Cause::Steal {
            share,
            cpus: f.load.cpus.clone(),
            stolen: f.load.stolen,
            wall: f.load.wall,
        },
    )
}
