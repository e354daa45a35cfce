//! The CPUs: how many, with whom they are shared, how fast they are and how they sleep.

use super::list;
use crate::facts::Facts;
use crate::finding::{Finding, Severity};
use dyno_measure::probe::speed;

/// How much slower the slowest CPU may be: hurts, may hurt.
const SPREAD: [f64; 2] = [1.10, 1.03];
/// What waking from idle may add in nanoseconds: hurts, may hurt. A round trip that blocks takes 5 to
/// 20 µs and contains it twice.
const WAKING: [f64; 2] = [50_000.0, 3_000.0];

pub(super) fn count(f: &Facts) -> Finding {
    const ID: &str = "cpus";
    match f.machine.cpus.len() {
        0 | 1 => Finding::hurts(
            ID,
            "one CPU only: both sides of an exchange wait for each other's time slice, and spinning \
             stacks cannot be measured",
        )
        .instead("use a machine, or a container, with at least two CPUs"),
        n => {
            let line = f
                .core_to_core
                .iter()
                .map(|p| p.bare_ns)
                .fold((f64::INFINITY, 0.0f64), |(lo, hi), ns| (lo.min(ns), hi.max(ns)));
            let finding = Finding::fine(ID, format!("{n} CPUs: {}", list(&f.machine.cpus)));
            if line.1 > 2.0 * line.0 {
                return Finding::may_hurt(
                    ID,
                    format!("{n} CPUs of which some are far from each other: {}", list(&f.machine.cpus)),
                )
                .how_much(format!(
                    "a cache line comes back after {:.0} to {:.0} ns, by the pair of CPUs",
                    line.0, line.1
                ))
                .delay_ns(line.1 - line.0)
                .instead(
                    "choose the pair in the suite (`cpus = [A, B]`) and keep to it; on a virtual machine \
                     pairs also change while it runs",
                );
            }
            finding
        }
    }
}

pub(super) fn quota(f: &Facts) -> Finding {
    const ID: &str = "cpu-quota";
    let cpus = f.machine.cpus.len() as f64;
    match f.settings.cpu_quota {
        None => Finding::fine(ID, "no CPU quota of a container"),
        Some(quota) if quota >= cpus => Finding::may_hurt(
            ID,
            format!("the container may use {quota:.2} CPUs, which all {cpus} together may just reach"),
        )
        .instead("start the container without a CPU quota (`docker run` without --cpus)"),
        Some(quota) => Finding::hurts(
            ID,
            format!(
                "the container may use {quota:.2} of {cpus} CPUs: when that is used up, all its threads \
                 stop for the rest of a period, up to 100 ms"
            ),
        )
        .delay_ns((1.0 - quota / cpus) * 1e8)
        .instead(
            "start the container without a CPU quota and give it CPUs of its own (`docker run \
             --cpuset-cpus=…` without --cpus; in Kubernetes the static CPU manager)",
        ),
    }
}

pub(super) fn siblings(f: &Facts) -> Finding {
    const ID: &str = "smt";
    let groups = &f.machine.smt_siblings;
    if groups.is_empty() {
        return Finding::fine(ID, "no two of the CPUs share a core");
    }
    Finding::may_hurt(
        ID,
        format!(
            "CPUs share cores ({}): what runs on one slows the other, and an exchange between siblings is \
             faster than one between cores",
            groups.join(" and ")
        ),
    )
    .command("echo off | sudo tee /sys/devices/system/cpu/smt/control")
}

pub(super) fn isolation(f: &Facts) -> Finding {
    const ID: &str = "isolated-cpus";
    let cpus = &f.machine.cpus;
    if !f.machine.isolated.is_empty() {
        return Finding::fine(ID, format!("CPUs {} are isolated", f.machine.isolated));
    }
    let finding = Finding::may_hurt(
        ID,
        "no CPU is isolated: the scheduler may put any thread beside a measured one",
    );
    match &cpus[..] {
        // One keeps the rest of the system, two are measured on.
        [_, rest @ ..] if rest.len() >= 2 => {
            let rest = list(rest);
            finding.instead(format!(
                "add `isolcpus={rest} nohz_full={rest} rcu_nocbs={rest}` to the kernel's command line, boot \
                 again, and start `taskset -c {rest} dyno …`"
            ))
        }
        _ => finding.instead(
            "there is none to spare: isolation needs at least three CPUs, one for the rest of the system",
        ),
    }
}

pub(super) fn ticks(f: &Facts) -> Finding {
    const ID: &str = "nohz-full";
    if !f.machine.nohz_full.is_empty() {
        return Finding::fine(
            ID,
            format!("CPUs {} run without a tick", f.machine.nohz_full),
        );
    }
    let finding = Finding::may_hurt(
        ID,
        "every CPU has the kernel's regular tick, which interrupts what is measured",
    );
    let timer = f.interrupts.iter().find(|i| i.irq == "LOC");
    let finding = match timer {
        Some(t) if f.load.wall.as_secs_f64() > 0.0 => finding.how_much(format!(
            "up to {:.0} timer interrupts a second on CPU {}, some microseconds each",
            t.count as f64 / f.load.wall.as_secs_f64(),
            t.cpu
        )),
        _ => finding,
    };
    finding.instead(
        "boot with `nohz_full=…` for the CPUs that are measured on (see isolated-cpus), on a kernel with \
         CONFIG_NO_HZ_FULL; for most stacks this matters from p99.9 on",
    )
}

pub(super) fn governor(f: &Facts) -> Finding {
    const ID: &str = "governor";
    let governors = &f.machine.governors;
    if governors.is_empty() {
        let who = if f.machine.hypervisor.is_some() {
            "; the host of this virtual machine decides"
        } else {
            ""
        };
        return Finding::unknown(ID, format!("the kernel shows no frequency governor{who}"));
    }
    let others: Vec<String> = governors
        .iter()
        .filter(|(_, g)| *g != "performance")
        .map(|(cpu, g)| format!("CPU {cpu} {g}"))
        .collect();
    if others.is_empty() {
        return Finding::fine(ID, "all CPUs run the performance governor");
    }
    let ranges = f.settings.frequencies.values();
    let lowest = ranges.clone().map(|r| r.min_khz).min();
    let highest = ranges.map(|r| r.max_khz).max();
    let finding = Finding::hurts(
        ID,
        format!(
            "the frequency follows the load ({}): a stack that sleeps is measured on a slower CPU",
            others.join(", ")
        ),
    )
    .command("echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
    match (lowest, highest) {
        (Some(low), Some(high)) => finding.how_much(format!(
            "anywhere from {:.2} to {:.2} GHz",
            low as f64 / 1e6,
            high as f64 / 1e6
        )),
        _ => finding,
    }
}

pub(super) fn turbo(f: &Facts) -> Finding {
    const ID: &str = "turbo";
    match &f.settings.boost {
        None => Finding::unknown(ID, "the kernel shows no switch for turbo"),
        Some(boost) if boost.on => Finding::may_hurt(
            ID,
            "turbo is on: the frequency depends on heat and on how many CPUs work",
        )
        .command(boost.off_command),
        Some(_) => Finding::fine(ID, "turbo is off"),
    }
}

pub(super) fn speed(f: &Facts) -> Finding {
    const ID: &str = "speed";
    let Some(spread) = speed::spread(&f.speeds) else {
        return Finding::unknown(ID, "the speed of the CPUs could not be measured");
    };
    let each: Vec<String> = f
        .speeds
        .iter()
        .map(|s| format!("CPU {} {}", s.cpu, s.piece.p50))
        .collect();
    let severity = if spread > SPREAD[0] {
        Severity::Hurts
    } else if spread > SPREAD[1] {
        Severity::MayHurt
    } else {
        Severity::Fine
    };
    let percent = (spread - 1.0) * 100.0;
    Finding::new(
        ID,
        severity,
        format!("the slowest CPU takes {percent:.1} % longer than the fastest for the same work"),
    )
    .how_much(format!("by the median: {}", each.join(", ")))
    .instead(
        "look for different kinds of cores, heat, or others on these CPUs; pin to CPUs of one kind \
         (`cpus = [A, B]` in the suite)",
    )
}

pub(super) fn idle_states(f: &Facts) -> Finding {
    const ID: &str = "idle-states";
    let (Some(asleep), Some(awake)) = (&f.wake_up_asleep, &f.wake_up_awake) else {
        return Finding::unknown(
            ID,
            "what waking from idle costs needs two CPUs to be measured",
        );
    };
    let (asleep, awake) = (asleep.latency.p50, awake.latency.p50);
    let cost = asleep.saturating_sub(awake);
    let severity = if cost.0 as f64 > WAKING[0] {
        Severity::Hurts
    } else if cost.0 as f64 > WAKING[1] {
        Severity::MayHurt
    } else {
        Severity::Fine
    };
    let idle = &f.settings.idle;
    let states: Vec<String> = idle
        .states
        .iter()
        .filter(|s| !s.disabled)
        .map(|s| format!("{} {} µs", s.name, s.latency_us))
        .collect();
    let finding = Finding::new(
        ID,
        severity,
        format!("waking a thread takes {cost} longer after its CPU has idled for 2 ms"),
    )
    .delay_ns(cost.0 as f64)
    .how_much(format!(
        "p50 {asleep} instead of {awake} on a CPU that is kept awake; idle states: {}",
        if states.is_empty() {
            "none shown".to_owned()
        } else {
            format!("{} ({})", states.join(", "), idle.driver)
        }
    ));
    if idle.driver == "haltpoll" {
        finding
            .command("echo 2000000 | sudo tee /sys/module/haltpoll/parameters/guest_halt_poll_ns")
    } else if idle.states.is_empty() {
        finding.instead(
            "where the host is yours, let it poll before it stops a guest's CPU: `echo 500000 | sudo tee \
             /sys/module/kvm/parameters/halt_poll_ns` there; else boot the guest with `idle=poll`",
        )
    } else {
        finding.command("sudo cpupower idle-set --disable-by-latency 2")
    }
}
