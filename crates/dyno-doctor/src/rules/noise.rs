//! What disturbs: other programs, interrupts, the hypervisor.

use super::list;
use super::percent;
use crate::facts::Facts;
use crate::finding::{Finding, Severity};
use dyno_model::{CpuGaps, Nanos};

/// A share of CPU time from which others hurt, and from which they may: a p99 has room for 1 %.
const SHARE: [f64; 2] = [0.05, 0.01];
/// Gaps: what they take, and how long one may be. A stack's round trip takes 1 to 50 µs.
const LOST: [f64; 2] = [0.01, 0.001];
const LONGEST: [Nanos; 2] = [Nanos::from_millis(1), Nanos::from_micros(50)];
/// Device interrupts per second on one CPU, each some microseconds long.
const INTERRUPTS: [f64; 2] = [2_000.0, 100.0];

/// `value` against the levels from which it hurts and from which it may hurt.
fn severity(value: f64, [hurts, may]: [f64; 2]) -> Severity {
    if value > hurts {
        Severity::Hurts
    } else if value > may {
        Severity::MayHurt
    } else {
        Severity::Fine
    }
}

pub(super) fn build(f: &Facts) -> Finding {
    if f.build_profile == "release" {
        return Finding::fine("build", "Dyno is an optimised build");
    }
    let piece = f.speeds.iter().map(|s| s.piece.p50).min();
    let finding = Finding::hurts(
        "build",
        "this is a debug build of Dyno: its own work between two stamps is several times slower",
    )
    .command("cargo build --release");
    match piece.filter(|p| p.0 > 0) {
        Some(p) => finding.how_much(format!(
            "10,000 dependent multiplications take {p}; an optimised build needs some 10 to 20 µs"
        )),
        None => finding,
    }
}

pub(super) fn foreign_load(f: &Facts) -> Finding {
    const ID: &str = "foreign-load";
    if f.load.wall == Nanos::ZERO {
        return Finding::unknown(ID, "what others use could not be measured");
    }
    let share = f.load.foreign_share();
    let names: Vec<String> = f
        .load
        .hungriest
        .iter()
        .map(|(name, used)| format!("`{name}` {used}"))
        .collect();
    let (what, who) = if names.is_empty() {
        ("no other process is at work".to_owned(), String::new())
    } else {
        let names = names.join(", ");
        (
            format!("other processes use {} of the CPUs", percent(share)),
            format!(", most of it {names}"),
        )
    };
    Finding::new(ID, severity(share, SHARE), what)
        .how_much(format!("{} in {}{who}", f.load.foreign, f.load.wall))
        .instead(
            "end them, or give them other CPUs with `taskset -acp CPUS PID`; `dyno run` flags and repeats \
             the trials that such load disturbs",
        )
}

pub(super) fn load_average(f: &Facts) -> Finding {
    const ID: &str = "load-average";
    let Some(load) = f.settings.load_average else {
        return Finding::unknown(ID, "the kernel shows no load average");
    };
    let per_cpu = load / f.machine.cpus.len().max(1) as f64;
    Finding::new(
        ID,
        severity(per_cpu, [1.0, 0.25]),
        format!(
            "{load:.2} threads ran or waited on average in the last minute, for {} CPUs",
            f.machine.cpus.len()
        ),
    )
    .instead("wait until what ran before has ended; `top` shows what still does")
}

pub(super) fn gaps(f: &Facts) -> Finding {
    const ID: &str = "gaps";
    let share = |g: &CpuGaps| g.lost.as_secs_f64() / g.watched.as_secs_f64().max(1e-9);
    let Some(worst) = f.gaps.iter().max_by_key(|g| g.longest) else {
        return Finding::unknown(ID, "gaps could not be measured");
    };
    let lost = f.gaps.iter().map(share).fold(0.0, f64::max);
    let longest = [LONGEST[0].0 as f64, LONGEST[1].0 as f64];
    // The smaller is the worse.
    let severity = severity(lost, LOST).min(severity(worst.longest.0 as f64, longest));
    let each: Vec<String> = f
        .gaps
        .iter()
        .map(|g| {
            format!(
                "CPU {} {} of its time, {} at once",
                g.cpu,
                percent(share(g)),
                g.longest
            )
        })
        .collect();
    let finding = Finding::new(
        ID,
        severity,
        format!(
            "the machine takes CPUs away from a thread that does nothing but read the clock, for up to {}",
            worst.longest
        ),
    )
    .how_much(format!("lost: {}", each.join("; ")))
    .delay_ns(worst.longest.0 as f64);
    if f.load.foreign_share() > SHARE[0] {
        finding.instead("end what else runs (see foreign-load) and look again")
    } else if f.machine.hypervisor.is_some() {
        finding.instead(
            "no stack can have a better tail than this: compare tails within one run only, or measure on \
             bare metal",
        )
    } else {
        finding.instead(
            "move others off these CPUs (see isolated-cpus and interrupts); on an idle machine look for \
             firmware interrupts with `sudo hwlatdetect --duration=10`",
        )
    }
}

pub(super) fn interrupts(f: &Facts) -> Finding {
    const ID: &str = "interrupts";
    let seconds = f.load.wall.as_secs_f64();
    if seconds == 0.0 {
        return Finding::unknown(ID, "interrupts could not be counted");
    }
    let devices = || f.interrupts.iter().filter(|i| i.is_of_device());
    let rate = |cpu: u32| {
        let count: u64 = devices().filter(|i| i.cpu == cpu).map(|i| i.count).sum();
        count as f64 / seconds
    };
    let all = f.machine.cpus.iter().map(|&cpu| (cpu, rate(cpu)));
    let Some((cpu, most)) = all.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Finding::unknown(ID, "there is no CPU to count interrupts of");
    };
    let finding = Finding::new(
        ID,
        severity(most, INTERRUPTS),
        format!("devices interrupt CPU {cpu} {most:.0} times a second"),
    );
    let Some(source) = devices().find(|i| i.cpu == cpu) else {
        return finding;
    };
    let finding = finding.how_much(format!(
        "most of all {} ({}), {:.0} times a second, some microseconds each",
        source.irq,
        source.about,
        source.count as f64 / seconds
    ));
    let to = |target: u32| {
        format!(
            "echo {target} | sudo tee /proc/irq/{}/smp_affinity_list",
            source.irq
        )
    };
    let cpus = &f.machine.cpus;
    if let Some(free) = f.settings.online.iter().find(|c| !cpus.contains(c)) {
        return finding.command(to(*free));
    }
    match &cpus[..] {
        [keeper, rest @ ..] if rest.len() >= 2 => finding.instead(format!(
            "give all interrupts to one CPU (`{}`, and so on) and measure on the others: `taskset -c {} \
             dyno …`",
            to(*keeper),
            list(rest)
        )),
        _ => finding.instead("every CPU is measured on: end what makes the traffic, or use more CPUs"),
    }
}

pub(super) fn irq_balancer(f: &Facts) -> Finding {
    const ID: &str = "irqbalance";
    match f.settings.irq_balancer {
        Some(pid) => Finding::may_hurt(
            ID,
            format!("irqbalance (process {pid}) moves interrupts between CPUs during a run"),
        )
        .command("sudo systemctl stop irqbalance"),
        None => Finding::fine(ID, "irqbalance does not run"),
    }
}

pub(super) fn throttling(f: &Facts) -> Finding {
    const ID: &str = "throttling";
    match f.load.throttled {
        None => Finding::unknown(ID, "the kernel does not count slowing for heat here"),
        Some(0) => Finding::fine(ID, "no CPU was slowed for heat"),
        Some(n) => Finding::hurts(
            ID,
            format!("CPUs were slowed for heat {n} times in {}", f.load.wall),
        )
        .instead("cool the machine, or lower its frequency so that it can hold it"),
    }
}

pub(super) fn virtual_machine(f: &Facts) -> Finding {
    const ID: &str = "virtual-machine";
    let Some(name) = &f.machine.hypervisor else {
        return Finding::fine(ID, "no hypervisor shows itself");
    };
    let longest = f.gaps.iter().map(|g| g.longest).max().unwrap_or_default();
    Finding::hurts(
        ID,
        format!("a virtual machine ({name}): its host may take any CPU away, and move it"),
    )
    .how_much(format!(
        "{} stolen in {}; the longest gap was {longest}",
        f.load.stolen, f.load.wall
    ))
    .instead(
        "measure on bare metal to quote tails; otherwise compare within one run, and where the host is \
         yours pin each virtual CPU to a core of its own (`virsh vcpupin`)",
    )
}

pub(super) fn steal(f: &Facts) -> Finding {
    const ID: &str = "steal";
    if f.machine.hypervisor.is_none() {
        return Finding::fine(ID, "no hypervisor that could take time");
    }
    let share = f.load.stolen_share();
    Finding::new(
        ID,
        severity(share, LOST),
        format!(
            "the hypervisor took {} of CPUs {}",
            percent(share),
            list(&f.load.cpus)
        ),
    )
    .how_much(format!(
        "{} in {}, half of it idle",
        f.load.stolen, f.load.wall
    ))
    .instead("ask for a guest with dedicated CPUs, or measure when the host is quiet")
}
