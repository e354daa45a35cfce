//! Settings of the kernel: clock, timers, mitigations, memory.

use crate::facts::Facts;
use crate::finding::{Finding, Severity};
use dyno_model::Nanos;

/// How late a sleep may end without any slack: hurts, may hurt. A tick-driven timer is late by
/// milliseconds, a high-resolution one by an interrupt and a switch.
const OVERSHOOT: [Nanos; 2] = [Nanos::from_micros(500), Nanos::from_micros(60)];

pub(super) fn clock_source(f: &Facts) -> Finding {
    const ID: &str = "clock-source";
    let cost = format!(
        "one reading takes {:.0} ns, and the finest step is {:.0} ns",
        f.clock.cost_ns, f.clock.resolution_ns
    );
    let Some(reason) = &f.machine.tsc_refusal else {
        return Finding::fine(ID, format!("stamps are taken with {}", f.clock.source))
            .how_much(cost);
    };
    // A program that is emulated reads another counter than the kernel does.
    let can =
        f.machine.clock_source != "tsc" && f.settings.clock_sources.iter().any(|s| s == "tsc");
    // A reading through the vDSO takes some 20 to 30 ns, a real system call ten times as much.
    let severity = if f.clock.cost_ns > 100.0 {
        Severity::Hurts
    } else {
        Severity::MayHurt
    };
    let finding = Finding::new(
        ID,
        severity,
        format!("the counter of the processor is not used: {reason}"),
    )
    .how_much(cost)
    .delay_ns(f.clock.cost_ns);
    if can {
        finding.command(
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
    } else {
        finding
            .instead("CLOCK_MONOTONIC is used; read sub-microsecond figures with its cost in mind")
    }
}

pub(super) fn timers(f: &Facts) -> Finding {
    const ID: &str = "timers";
    let by_slack = |some: bool| f.timers.iter().find(|t| t.slack.is_some() == some);
    let (Some(exact), Some(usual)) = (by_slack(true), by_slack(false)) else {
        return Finding::unknown(ID, "timers could not be measured");
    };
    let late = exact.overshoot;
    let severity = if late.p50 > OVERSHOOT[0] {
        Severity::Hurts
    } else if late.p50 > OVERSHOOT[1] {
        Severity::MayHurt
    } else {
        Severity::Fine
    };
    Finding::new(
        ID,
        severity,
        format!("a sleep ends late by p50 {}, p99 {}", late.p50, late.p99),
    )
    .how_much(format!(
        "sources on a schedule spin that long before each due time; with the kernel's own slack it \
         would be p50 {}",
        usual.overshoot.p50
    ))
    .delay_ns(late.p50.0 as f64)
    .instead("boot a kernel with high-resolution timers (CONFIG_HIGH_RES_TIMERS, not `highres=off`); in a \
              virtual machine see idle-states")
}

pub(super) fn mitigations(f: &Facts) -> Finding {
    const ID: &str = "mitigations";
    let active: Vec<&str> = f
        .machine
        .mitigations
        .iter()
        .filter(|(_, state)| state.starts_with("Mitigation"))
        .map(|(name, _)| name.as_str())
        .collect();
    let cost = match f.syscall {
        Some(syscall) => format!(
            "a system call takes {:.0} ns at least; a blocking exchange makes four or more",
            syscall.cost_ns
        ),
        None => "what a system call takes could not be measured".to_owned(),
    };
    if f.machine.mitigations.is_empty() {
        return Finding::unknown(ID, "the kernel does not show its mitigations").how_much(cost);
    }
    if active.is_empty() {
        return Finding::fine(ID, "no mitigation of a processor bug is active").how_much(cost);
    }
    Finding::may_hurt(
        ID,
        format!(
            "mitigations of processor bugs are active: {}",
            active.join(", ")
        ),
    )
    .how_much(cost)
    .delay_ns(f.syscall.map_or(0.0, |syscall| syscall.cost_ns))
    .instead(
        "measure as the vehicle will run; to see what they cost, boot with `mitigations=off` on a \
         machine that runs no foreign code",
    )
}

pub(super) fn swap(f: &Facts) -> Finding {
    const ID: &str = "swap";
    let mib = |bytes: u64| bytes >> 20;
    match (f.machine.swap_bytes, f.settings.swap_used_bytes) {
        (0, _) => Finding::fine(ID, "no swap"),
        (all, 0) => Finding::may_hurt(ID, format!("{} MiB of swap, unused so far", mib(all)))
            .command("sudo swapoff -a"),
        (all, used) => Finding::hurts(
            ID,
            format!(
                "{} of {} MiB of swap are in use: a page that was swapped out comes back from a disk",
                mib(used),
                mib(all)
            ),
        )
        .command("sudo swapoff -a"),
    }
}

pub(super) fn huge_pages(f: &Facts) -> Finding {
    const ID: &str = "huge-pages";
    match f.machine.huge_pages.as_str() {
        "" => Finding::unknown(ID, "the kernel shows no transparent huge pages"),
        "always" => Finding::may_hurt(
            ID,
            "transparent huge pages are always on: the kernel copies and clears 2 MiB at a time when it \
             likes",
        )
        .command("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        other => Finding::fine(ID, format!("transparent huge pages: {other}")),
    }
}

pub(super) fn numa_balancing(f: &Facts) -> Finding {
    const ID: &str = "numa-balancing";
    match (f.settings.numa_nodes, f.settings.numa_balancing) {
        (0 | 1, _) => Finding::fine(ID, "one memory node"),
        (_, Some(false)) => Finding::fine(ID, "the kernel does not move pages between memory nodes"),
        (n, Some(true)) => Finding::may_hurt(
            ID,
            format!(
                "the kernel moves pages between {n} memory nodes, and takes page faults to find out which"
            ),
        )
        .command("sudo sysctl -w kernel.numa_balancing=0"),
        (n, None) => Finding::unknown(
            ID,
            format!("the kernel does not say whether it moves pages between its {n} memory nodes"),
        ),
    }
}
