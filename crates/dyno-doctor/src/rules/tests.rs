//! Each rule on the facts of a perfect host with one thing changed.

use super::*;
use crate::facts::{FIFO, MLOCK, Right};
use crate::facts::{Syscall, Timer};
use crate::finding::{Level, Severity, Verdict};
use crate::fix::Fix;
use dyno_measure::ClockFacts;
use dyno_measure::probe::Summary;
use dyno_measure::probe::futex::{FutexWake, Rest};
use dyno_measure::probe::interrupts::Interrupts;
use dyno_measure::probe::limits::{Advice, Limit, Limits};
use dyno_measure::probe::machine::Machine;
use dyno_measure::probe::ping_pong::{Between, Lines, PingPong};
use dyno_measure::probe::settings::{Boost, FrequencyRange, Idle, IdleState, Settings};
use dyno_measure::probe::speed::Speed;
use dyno_model::{CpuGaps, HostLoad, Nanos};

fn usually(p50: Nanos) -> Summary {
    Summary {
        n: 100,
        p50,
        ..Summary::default()
    }
}

fn wake(rest: Rest, us: u64) -> Option<FutexWake> {
    Some(FutexWake {
        cpu: 1,
        sleeper_cpu: 2,
        rest,
        latency: usually(Nanos::from_micros(us)),
        call: usually(Nanos(500)),
    })
}

fn line(peer_cpu: u32, bare_ns: f64) -> PingPong {
    PingPong {
        between: Between::Threads,
        lines: Lines::Two,
        cpu: 1,
        peer_cpu,
        round_trip: usually(Nanos(bare_ns as u64)),
        bare_ns,
    }
}

fn limit(name: &str, value: u64) -> Limit {
    Limit {
        name: name.into(),
        value: Some(value),
        unit: "bytes",
        about: "what it limits",
        advice: None,
    }
}

/// Four CPUs, three of them isolated and ours, and nothing to complain about.
#[expect(clippy::too_many_lines, reason = "data, row after row")]
fn perfect() -> Facts {
    let cpus = vec![1, 2, 3];
    Facts {
        build_profile: "release",
        machine: Machine {
            cpu_model: "Perfect 1".into(),
            cpus: cpus.clone(),
            smt_siblings: Vec::new(),
            isolated: "1-3".into(),
            nohz_full: "1-3".into(),
            governors: cpus.iter().map(|&c| (c, "performance".into())).collect(),
            hypervisor: None,
            clock_source: "tsc".into(),
            tsc_refusal: None,
            swap_bytes: 0,
            huge_pages: "madvise".into(),
            mitigations: [("meltdown".into(), "Not affected".into())].into(),
        },
        settings: Settings {
            online: vec![0, 1, 2, 3],
            boost: Some(Boost {
                on: false,
                off_command: "echo 1 | sudo tee no_turbo",
            }),
            idle: Idle {
                driver: "intel_idle".into(),
                states: vec![IdleState {
                    name: "C6".into(),
                    latency_us: 133,
                    disabled: false,
                }],
            },
            numa_nodes: 1,
            load_average: Some(0.1),
            clock_sources: vec!["tsc".into()],
            ..Settings::default()
        },
        clock: ClockFacts {
            source: "tsc".into(),
            cost_ns: 10.0,
            resolution_ns: 1.0,
            frequency_hz: Some(3e9),
        },
        clocks: Vec::new(),
        syscall: Some(Syscall { cost_ns: 60.0 }),
        core_to_core: vec![line(2, 100.0), line(3, 110.0)],
        wake_up: wake(Rest::Dozing, 3),
        wake_up_asleep: wake(Rest::Asleep, 4),
        wake_up_awake: wake(Rest::Awake, 3),
        timers: [None, Some(Nanos(1))]
            .map(|slack| Timer {
                sleep: Nanos::from_millis(1),
                slack,
                overshoot: usually(Nanos::from_micros(5)),
            })
            .into(),
        speeds: [1, 2, 3]
            .map(|cpu| Speed {
                cpu,
                piece: usually(Nanos(10_000)),
            })
            .into(),
        gaps: cpus
            .iter()
            .map(|&c| gap(c, Nanos::from_micros(5), Nanos::from_micros(50)))
            .collect(),
        load: HostLoad {
            wall: Nanos::from_secs(1),
            cpus,
            throttled: Some(0),
            ..HostLoad::default()
        },
        interrupts: Vec::new(),
        limits: Limits(vec![
            limit("net.core.rmem_max", 4 << 20),
            limit("kernel.sched_rt_period_us", 1_000_000),
            Limit {
                value: None,
                ..limit("kernel.sched_rt_runtime_us", 0)
            },
        ]),
        rights: [FIFO, MLOCK]
            .map(|name| Right {
                name,
                granted: true,
                advice: None,
            })
            .into(),
        libraries: Vec::new(),
        unavailable: Vec::new(),
        failed: Vec::new(),
    }
}

fn gap(cpu: u32, longest: Nanos, lost: Nanos) -> CpuGaps {
    CpuGaps {
        cpu,
        watched: Nanos::from_secs(1),
        count: 9,
        longest,
        lost,
        ..CpuGaps::default()
    }
}

/// The only findings of a perfect host with this change that are not fine.
#[track_caller]
fn changed(change: impl FnOnce(&mut Facts)) -> Vec<Finding> {
    let mut facts = perfect();
    change(&mut facts);
    let mut all = findings(&facts);
    all.retain(|f| f.severity != Severity::Fine);
    all
}

/// The one finding that this change makes, with its severity and its fix.
#[track_caller]
fn one(id: &str, severity: Severity, fix: &str, change: impl FnOnce(&mut Facts)) -> Finding {
    let mut all = changed(change);
    assert_eq!(all.len(), 1, "{all:#?}");
    let found = all.remove(0);
    assert_eq!(
        (found.cause.id(), found.severity),
        (id, severity),
        "{found:#?}"
    );
    let said = found.fix();
    let text = match &said {
        Some(Fix::Command(text) | Fix::Instead(text)) => text.as_str(),
        None => "",
    };
    assert!(text.contains(fix), "{found:#?}");
    assert_eq!(fix.is_empty(), found.fix().is_none(), "{found:#?}");
    found
}

use Severity::{Hurts, MayHurt, Unknown};

#[test]
fn a_perfect_host_is_good_and_says_what_was_looked_at() {
    let all = findings(&perfect());
    assert!(all.iter().all(|f| f.severity == Severity::Fine), "{all:#?}");
    assert!(all.len() > 25 && all.iter().all(|f| f.fix().is_none()));
    assert_eq!(Verdict::of(&all).level, Level::Good);
}

#[test]
fn names_of_findings_are_unique_on_one_host() {
    let ids: Vec<_> = findings(&perfect()).iter().map(|f| f.cause.id()).collect();
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
}

#[test]
fn a_debug_build_hurts() {
    one("build", Hurts, "cargo build --release", |f| {
        f.build_profile = "debug"
    });
}

#[test]
fn others_on_the_cpus_are_named() {
    let used = |ms: u64| {
        move |f: &mut Facts| {
            f.load.foreign = Nanos::from_millis(ms);
            f.load.hungriest = vec![("cc1plus".into(), Nanos::from_millis(ms))];
        }
    };
    // 300 ms of three CPUs in a second.
    let found = one("foreign-load", Hurts, "taskset", used(300));
    assert!(found.cause.to_string().contains("10 %"), "{found:?}");
    assert!(
        found
            .cause
            .how_much()
            .unwrap()
            .contains("`cc1plus` (300 ms)")
    );
    one("foreign-load", MayHurt, "taskset", used(60));
    assert_eq!(changed(used(20)), []);
    let ids: Vec<_> = changed(|f| f.load.wall = Nanos::ZERO)
        .iter()
        .map(|f| f.cause.id())
        .collect();
    assert_eq!(ids, ["foreign-load", "interrupts"]);
}

#[test]
fn a_high_load_average_hurts() {
    one("load-average", Hurts, "top", |f| {
        f.settings.load_average = Some(3.5)
    });
    one("load-average", MayHurt, "top", |f| {
        f.settings.load_average = Some(1.0)
    });
}

#[test]
fn gaps_are_judged_by_length_and_share() {
    let found = one("gaps", Hurts, "hwlatdetect", |f| {
        f.gaps[1] = gap(2, Nanos::from_millis(3), Nanos::from_millis(3));
    });
    assert_eq!(found.delay_ns, Some(3e6));
    one("gaps", Hurts, "isolated-cpus", |f| {
        f.gaps[0] = gap(1, Nanos::from_micros(20), Nanos::from_millis(20));
    });
    one("gaps", MayHurt, "isolated-cpus", |f| {
        f.gaps[0] = gap(1, Nanos::from_micros(90), Nanos::from_micros(90));
    });
    one("gaps", Unknown, "", |f| f.gaps.clear());
}

#[test]
fn interrupts_go_to_a_cpu_that_is_not_measured_on() {
    let disk = |cpu, count| Interrupts {
        irq: "36".into(),
        about: "nvme0q1".into(),
        cpu,
        count,
    };
    let command = "echo 0 | sudo tee /proc/irq/36/smp_affinity_list";
    let found = one("interrupts", MayHurt, command, |f| {
        f.interrupts = vec![disk(2, 500)]
    });
    assert!(found.cause.how_much().unwrap().contains("nvme0q1"));
    one("interrupts", Hurts, command, |f| {
        f.interrupts = vec![disk(2, 5_000)]
    });
    assert_eq!(changed(|f| f.interrupts = vec![disk(2, 50)]), []);
    // All CPUs are in use: one has to serve.
    one("interrupts", MayHurt, "taskset -c 2,3", |f| {
        f.settings.online = vec![1, 2, 3];
        f.interrupts = vec![disk(2, 500)];
    });
}

#[test]
fn what_moves_interrupts_may_hurt() {
    let stop = "sudo systemctl stop irqbalance";
    one("irqbalance", MayHurt, stop, |f| {
        f.settings.irq_balancer = Some(7)
    });
}

#[test]
fn heat_hurts() {
    one("throttling", Hurts, "cool", |f| f.load.throttled = Some(2));
    one("throttling", Unknown, "", |f| f.load.throttled = None);
}

#[test]
fn a_virtual_machine_hurts_and_cannot_be_fixed_here() {
    let found = one("virtual-machine", Hurts, "bare metal", |f| {
        f.machine.hypervisor = Some("KVM".into());
    });
    assert!(matches!(found.fix(), Some(Fix::Instead(_))));
    let found = changed(|f| {
        f.machine.hypervisor = Some("KVM".into());
        f.load.stolen = Nanos::from_millis(90);
    });
    assert!(
        found
            .iter()
            .any(|f| f.cause.id() == "steal" && f.severity == Hurts),
        "{found:#?}"
    );
}

#[test]
fn one_cpu_is_not_enough() {
    let found = changed(|f| f.machine.cpus = vec![1]);
    assert!(
        found
            .iter()
            .any(|f| f.cause.id() == "cpus" && f.severity == Hurts),
        "{found:#?}"
    );
}

#[test]
fn cpus_that_are_far_apart_are_named_with_their_distance() {
    let found = one("cpus", MayHurt, "cpus = [A, B]", |f| {
        f.core_to_core = vec![line(2, 100.0), line(3, 500.0)];
    });
    assert_eq!(found.delay_ns, Some(400.0));
}

#[test]
fn a_quota_below_the_cpus_hurts() {
    one("cpu-quota", Hurts, "cpuset-cpus", |f| {
        f.settings.cpu_quota = Some(1.5)
    });
    one("cpu-quota", MayHurt, "docker run", |f| {
        f.settings.cpu_quota = Some(3.0)
    });
}

#[test]
fn siblings_may_hurt() {
    let off = "echo off | sudo tee /sys/devices/system/cpu/smt/control";
    one("smt", MayHurt, off, |f| {
        f.machine.smt_siblings = vec!["2-3".into()]
    });
}

#[test]
fn isolation_needs_cpus_to_spare() {
    one(
        "isolated-cpus",
        MayHurt,
        "isolcpus=2,3 nohz_full=2,3 rcu_nocbs=2,3",
        |f| {
            f.machine.isolated.clear();
        },
    );
    let found = changed(|f| {
        f.machine.isolated.clear();
        f.machine.cpus = vec![1, 2];
    });
    let isolation = found
        .iter()
        .find(|f| f.cause.id() == "isolated-cpus")
        .unwrap();
    assert!(matches!(&isolation.fix(), Some(Fix::Instead(t)) if t.contains("too few CPUs")));
    one("nohz-full", MayHurt, "nohz_full=", |f| {
        f.machine.nohz_full.clear()
    });
}

#[test]
fn a_governor_that_follows_the_load_hurts() {
    let found = one("governor", Hurts, "scaling_governor", |f| {
        f.machine.governors.insert(2, "powersave".into());
        let range = FrequencyRange {
            min_khz: 800_000,
            max_khz: 4_700_000,
        };
        f.settings.frequencies.insert(2, range);
    });
    assert!(
        found.cause.to_string().contains("CPU 2 powersave"),
        "{found:?}"
    );
    assert!(found.cause.how_much().unwrap().contains("0.80 to 4.70 GHz"));
    one("governor", Unknown, "", |f| f.machine.governors.clear());
}

#[test]
fn turbo_may_hurt() {
    one("turbo", MayHurt, "no_turbo", |f| {
        f.settings.boost.as_mut().unwrap().on = true
    });
    one("turbo", Unknown, "", |f| f.settings.boost = None);
}

#[test]
fn unequal_cpus_hurt() {
    one("speed", Hurts, "cpus = [A, B]", |f| {
        f.speeds[2].piece.p50 = Nanos(12_000)
    });
    one("speed", MayHurt, "cpus = [A, B]", |f| {
        f.speeds[2].piece.p50 = Nanos(10_500)
    });
    one("speed", Unknown, "", |f| f.speeds.clear());
}

#[test]
fn deep_idle_states_are_judged_by_what_waking_costs() {
    let found = one("idle-states", Hurts, "cpupower idle-set", |f| {
        f.wake_up_asleep = wake(Rest::Asleep, 103);
    });
    assert_eq!(found.delay_ns, Some(100_000.0));
    assert!(found.cause.how_much().unwrap().contains("C6 133 µs"));
    one("idle-states", MayHurt, "guest_halt_poll_ns", |f| {
        f.wake_up_asleep = wake(Rest::Asleep, 13);
        f.settings.idle.driver = "haltpoll".into();
    });
    one("idle-states", MayHurt, "idle=poll", |f| {
        f.wake_up_asleep = wake(Rest::Asleep, 13);
        f.settings.idle = Idle::default();
    });
    one("idle-states", Unknown, "", |f| f.wake_up_awake = None);
}

#[test]
fn another_clock_source_than_the_counter_is_judged_by_its_cost() {
    let refused = |cost: f64| {
        move |f: &mut Facts| {
            f.machine.tsc_refusal = Some("the kernel keeps time with `hpet`".into());
            f.machine.clock_source = "hpet".into();
            f.clock.cost_ns = cost;
        }
    };
    one("clock-source", Hurts, "echo tsc | sudo tee", refused(900.0));
    one(
        "clock-source",
        MayHurt,
        "echo tsc | sudo tee",
        refused(25.0),
    );
    one("clock-source", MayHurt, "CLOCK_MONOTONIC", |f| {
        refused(25.0)(f);
        f.settings.clock_sources = vec!["hpet".into()];
    });
    // As of an emulated program, which reads another counter.
    one("clock-source", MayHurt, "CLOCK_MONOTONIC", |f| {
        refused(25.0)(f);
        f.machine.clock_source = "tsc".into();
    });
}

#[test]
fn late_timers_hurt() {
    one("timers", Hurts, "CONFIG_HIGH_RES_TIMERS", |f| {
        f.timers[1].overshoot = usually(Nanos::from_millis(4));
    });
    one("timers", Unknown, "", |f| f.timers.clear());
}

#[test]
fn mitigations_come_with_the_cost_of_a_system_call() {
    let found = one("mitigations", MayHurt, "mitigations=off", |f| {
        let meltdown = f.machine.mitigations.get_mut("meltdown").unwrap();
        *meltdown = "Mitigation: PTI".into();
        f.syscall = Some(Syscall { cost_ns: 350.0 });
    });
    assert!(found.cause.to_string().contains("meltdown"), "{found:?}");
    assert!(found.cause.how_much().unwrap().contains("350 ns"));
    one("mitigations", Unknown, "", |f| {
        f.machine.mitigations.clear()
    });
}

#[test]
fn swap_in_use_hurts_more_than_swap() {
    one("swap", MayHurt, "swapoff", |f| {
        f.machine.swap_bytes = 1 << 30
    });
    one("swap", Hurts, "swapoff", |f| {
        f.machine.swap_bytes = 1 << 30;
        f.settings.swap_used_bytes = 1 << 25;
    });
}

#[test]
fn memory_that_the_kernel_moves_may_hurt() {
    let madvise = "echo madvise | sudo tee";
    one("huge-pages", MayHurt, madvise, |f| {
        f.machine.huge_pages = "always".into()
    });
    one("numa-balancing", MayHurt, "kernel.numa_balancing=0", |f| {
        f.settings.numa_nodes = 2;
        f.settings.numa_balancing = Some(true);
    });
    one("numa-balancing", Unknown, "", |f| f.settings.numa_nodes = 2);
}

#[test]
fn missing_rights_come_with_the_command_that_grants_them() {
    one("realtime-right", MayHurt, "setcap cap_sys_nice+ep", |f| {
        f.rights[0].granted = false
    });
    one("locked-memory", MayHurt, "setcap cap_ipc_lock+ep", |f| {
        f.rights[1].granted = false
    });
    let found = one(
        "realtime-throttling",
        MayHurt,
        "sched_rt_runtime_us=-1",
        |f| {
            f.limits.0[2].value = Some(950_000);
        },
    );
    assert!(
        found.cause.to_string().contains("50 ms in each 1000 ms"),
        "{found:?}"
    );
}

#[test]
fn each_small_limit_is_named_with_its_command() {
    let advice = |command: &str| {
        Some(Advice {
            enough: 4 << 20,
            command: command.into(),
        })
    };
    let found = one(
        "socket-buffers",
        MayHurt,
        "sysctl -w net.core.rmem_max=4194304",
        |f| {
            f.limits.0[0] = Limit {
                advice: advice("sudo sysctl -w net.core.rmem_max=4194304"),
                ..limit("net.core.rmem_max", 212_992)
            };
        },
    );
    assert!(
        found.cause.to_string().contains("212992 bytes"),
        "{found:?}"
    );
    assert!(
        found
            .cause
            .how_much()
            .unwrap()
            .contains("554 small datagrams")
    );
    let found = one("socket-buffers", MayHurt, "rmem_default=4194304", |f| {
        f.limits.0.push(Limit {
            advice: advice("sudo sysctl -w net.core.rmem_default=4194304"),
            ..limit("net.core.rmem_default", 212_992)
        });
    });
    let how_much = found.cause.how_much().unwrap();
    assert!(
        how_much.contains("holds 3 of its 16 datagrams"),
        "{how_much}"
    );
    for (name, id) in [
        ("fs.mqueue.msg_max", "message-queues"),
        ("RLIMIT_MSGQUEUE", "message-queues"),
        ("/dev/shm free", "shared-memory"),
        ("RLIMIT_NOFILE", "limits"),
    ] {
        one(id, MayHurt, "the command", |f| {
            f.limits.0.push(Limit {
                advice: advice("the command"),
                ..limit(name, 1)
            });
        });
    }
    // What the right itself answers.
    assert_eq!(
        changed(|f| f.limits.0.push(Limit {
            advice: advice("ulimit -r 50"),
            ..limit("RLIMIT_RTPRIO", 0)
        })),
        []
    );
}

#[test]
fn a_probe_that_failed_is_an_open_question() {
    one("probe", Unknown, "", |f| {
        f.failed.push("no such cpu".into())
    });
}
