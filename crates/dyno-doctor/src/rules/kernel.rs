//! Settings of the kernel: clock, timers, mitigations, memory.

use crate::cause::Cause;
use crate::facts::Facts;
use crate::finding::{Finding, Severity};

/// How many nanoseconds late a sleep may end without any slack: hurts, may hurt. A tick-driven timer is late by
/// milliseconds, a high-resolution one by an interrupt and a switch.
const OVERSHOOT: [f64; 2] = [500e3, 60e3];
/// What a reading of the clock may take in nanoseconds where it is not the counter's: hurts, may hurt. One through the
/// vDSO takes some 20 to 30 ns, a real system call ten times as much.
const READING: [f64; 2] = [100.0, f64::NEG_INFINITY];

pub(super) fn clock_source(f: &Facts) -> Finding {
    let (cost_ns, step_ns) = (f.clock.cost_ns, f.clock.resolution_ns);
    let Some(why) = f.machine.tsc_refusal.clone() else {
        return Finding::fine(Cause::Clock {
            name: f.clock.source.to_string(),
            cost_ns,
            step_ns,
        });
    };
    // A program that is emulated reads another counter than the kernel does.
    let can_switch =
        f.machine.clock_source != "tsc" && f.settings.clock_sources.iter().any(|s| s == "tsc");
    Finding::new(
        Severity::of(cost_ns, READING),
        Cause::OtherClock {
            why,
            cost_ns,
            step_ns,
            can_switch,
        },
    )
    .delay_ns(cost_ns)
}

pub(super) fn timers(f: &Facts) -> Finding {
    let by_slack = |some: bool| f.timers.iter().find(|t| t.slack.is_some() == some);
    let (Some(exact), Some(usual)) = (by_slack(true), by_slack(false)) else {
        return Finding::unknown(Cause::TimersUnknown);
    };
    let late = exact.overshoot;
    let delay = late.p50.0 as f64;
    Finding::new(
        Severity::of(delay, OVERSHOOT),
        Cause::Timers {
            p50: late.p50,
            p99: late.p99,
            usual_p50: usual.overshoot.p50,
        },
    )
    .delay_ns(delay)
}

pub(super) fn mitigations(f: &Facts) -> Finding {
    let syscall_ns = f.syscall.map(|syscall| syscall.cost_ns);
    let all = &f.machine.mitigations;
    if all.is_empty() {
        return Finding::unknown(Cause::MitigationsUnknown { syscall_ns });
    }
    let active = all
        .iter()
        .filter(|(_, state)| state.starts_with("Mitigation"));
    let active: Vec<String> = active.map(|(name, _)| name.clone()).collect();
    if active.is_empty() {
        return Finding::fine(Cause::NoMitigations { syscall_ns });
    }
    Finding::may_hurt(Cause::Mitigations { active, syscall_ns })
        .delay_ns(syscall_ns.unwrap_or_default())
}

pub(super) fn swap(f: &Facts) -> Finding {
    let (bytes, used_bytes) = (f.machine.swap_bytes, f.settings.swap_used_bytes);
    let swap = Cause::Swap { bytes, used_bytes };
    match (bytes, used_bytes) {
        (0, _) => Finding::fine(Cause::NoSwap),
        (_, 0) => Finding::may_hurt(swap),
        _ => Finding::hurts(swap),
    }
}

pub(super) fn huge_pages(f: &Facts) -> Finding {
    match f.machine.huge_pages.as_str() {
        "" => Finding::unknown(Cause::HugePagesUnknown),
        "always" => Finding::may_hurt(Cause::HugePagesAlways),
        mode => Finding::fine(Cause::HugePages { mode: mode.into() }),
    }
}

pub(super) fn numa_balancing(f: &Facts) -> Finding {
    let nodes = f.settings.numa_nodes;
    match (nodes, f.settings.numa_balancing) {
        (0 | 1, _) => Finding::fine(Cause::OneNode),
        (_, Some(false)) => Finding::fine(Cause::PagesStay),
        (_, Some(true)) => Finding::may_hurt(Cause::PagesMove { nodes }),
        (_, None) => Finding::unknown(Cause::PagesUnknown { nodes }),
    }
}
