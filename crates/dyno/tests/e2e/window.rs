//! Nothing of Dyno's own happens in the window: no system call of an agent, and no first sample that is slower than
//! the others.

use crate::harness::{Ended, Place};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A completed trial: its record, and its raw samples as (due, sent, arrival) in nanoseconds of the run's clock.
struct Trial {
    name: String,
    record: Value,
    raw: Vec<[u64; 3]>,
}

fn trials(place: &Place, run: &str) -> Vec<Trial> {
    let mut all = Vec::new();
    for name in place.trial_names(run) {
        let record = place.json(&format!("{run}/trials/{name}.json"));
        let raw = place.path(run).join("raw").join(format!("{name}.csv"));
        if record["outcome"] == "completed" {
            all.push(Trial {
                raw: samples(&std::fs::read_to_string(raw).unwrap()),
                name,
                record,
            });
        }
    }
    all
}

fn samples(csv: &str) -> Vec<[u64; 3]> {
    let mut lines = csv.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let columns = ["intended_ns", "sent_ns", "arrival_ns"]
        .map(|name| head.iter().position(|h| *h == name).unwrap());
    lines
        .map(|l| columns.map(|c| l[c].parse().unwrap()))
        .collect()
}

/// A tracefs of the test's own, in which the system calls of agents are recorded. The kernel's instance and the
/// mount go with it.
struct Trace {
    root: PathBuf,
    instance: PathBuf,
}

/// One system call: the thread's name, the number, and when it was entered on CLOCK_MONOTONIC, in nanoseconds.
struct Entered {
    thread: String,
    number: i64,
    at: u64,
}

impl Trace {
    /// `None` where the kernel or the user's rights do not allow it.
    fn start(place: &Place) -> Option<Trace> {
        let root = place.path("tracing");
        std::fs::create_dir(&root).ok()?;
        let target = std::ffi::CString::new(root.to_str()?).ok()?;
        // SAFETY: all strings are terminated and outlive the call; no data is passed.
        let mounted = unsafe {
            libc::mount(
                c"tracefs".as_ptr(),
                target.as_ptr(),
                c"tracefs".as_ptr(),
                0,
                std::ptr::null(),
            )
        };
        if mounted != 0 {
            return None;
        }
        let name = format!("dyno-test-{}", std::process::id());
        let instance = root.join("instances").join(name);
        let trace = Trace { root, instance };
        std::fs::create_dir(&trace.instance).ok()?;
        let write = |file: &str, text: &str| std::fs::write(trace.instance.join(file), text).ok();
        write("trace_clock", "mono")?;
        write("buffer_size_kb", "16384")?;
        // Only what this test starts: others run beside it.
        write("options/event-fork", "1")?;
        let event = "events/raw_syscalls/sys_enter";
        write(&format!("{event}/filter"), "COMM ~ \"dyno-*\"")?;
        write(&format!("{event}/enable"), "1")?;
        // The kernel's own list of names loses some of threads that live shortly.
        write("events/task/task_rename/enable", "1")?;
        Some(trace)
    }

    /// Runs a command whose processes, and theirs, are traced.
    fn run(&self, command: Command) -> Output {
        let file = self.instance.join("set_event_pid");
        let mut traced = Command::new("/bin/sh");
        traced
            .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
            .arg(file)
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::null());
        for (name, value) in command.get_envs() {
            traced.env(name, value.unwrap_or_default());
        }
        traced
            .current_dir(command.get_current_dir().unwrap())
            .output()
            .unwrap()
    }

    fn clear(&self) {
        std::fs::write(self.instance.join("trace"), "").unwrap();
    }

    /// Calls that found no room since [`clear`](Trace::clear).
    fn overrun(&self) -> u64 {
        let cpus = std::fs::read_dir(self.instance.join("per_cpu")).unwrap();
        let overruns = cpus.map(|cpu| {
            let stats = std::fs::read_to_string(cpu.unwrap().path().join("stats")).unwrap();
            let line = stats.lines().find_map(|l| l.strip_prefix("overrun: "));
            line.unwrap().trim().parse::<u64>().unwrap()
        });
        overruns.sum()
    }

    fn entered(&self) -> Vec<Entered> {
        let text = std::fs::read_to_string(self.instance.join("trace")).unwrap();
        let mut names = BTreeMap::new();
        let mut all = Vec::new();
        for line in text.lines() {
            if let Some((pid, name)) = renamed(line) {
                names.insert(pid, name);
            } else {
                all.extend(Entered::parse(line, &names));
            }
        }
        all
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.instance);
        if let Some(Ok(target)) = self.root.to_str().map(std::ffi::CString::new) {
            // SAFETY: the string is terminated and outlives the call.
            unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
        }
    }
}

/// Thread and name, from a line that ends as `task_rename: pid=81 oldcomm=dyno newcomm=dyno-sink oom_score_adj=0`.
fn renamed(line: &str) -> Option<(&str, &str)> {
    let (_, renamed) = line.split_once(": task_rename: pid=")?;
    let (pid, _) = renamed.split_once(' ')?;
    let (_, name) = renamed.split_once(" newcomm=")?;
    Some((pid, name.rsplit_once(" oom_score_adj=")?.0))
}

impl Entered {
    /// From a line such as `dyno-sink-81 [001] ..... 12.345678: sys_enter: NR 202 (1, 2)`, with the names that threads
    /// gave themselves before.
    fn parse(line: &str, names: &BTreeMap<&str, &str>) -> Option<Entered> {
        let (head, call) = line.split_once(": sys_enter: NR ")?;
        let mut words = head.split_whitespace();
        let (thread, pid) = words.next()?.rsplit_once('-')?;
        let thread = *names.get(pid).unwrap_or(&thread);
        let (seconds, micros) = words.next_back()?.split_once('.')?;
        Some(Entered {
            thread: thread.to_owned(),
            number: call.split(' ').next()?.parse().ok()?,
            at: seconds.parse::<u64>().ok()? * 1_000_000_000 + micros.parse::<u64>().ok()? * 1_000,
        })
    }
}

/// From the first due time to the last; of closed loops these are the first and the last ping. The run's clock starts
/// as CLOCK_MONOTONIC.
fn window(trial: &Trial) -> (u64, u64) {
    let dues = || trial.raw.iter().map(|[due, ..]| *due);
    (dues().min().unwrap(), dues().max().unwrap())
}

/// Stacks that poll, and what a stack does for itself in memory that both sides map: nothing at all may be called.
/// Open loops offer a message in a millisecond on average: where the sink has no CPU for as many milliseconds as the
/// floor's ring has places, the ring is full and the source sleeps.
const POLLING: &str = r#"
    title = "polling"
    [defaults]
    trials = 3
    warmup = "60 ms"
    window = "40 ms"
    wait = "spin"
    raw_samples = 100000
    [[experiment]]
    name = "ping-pong"
    workload = "ping-pong"
    stacks = ["null", "floor-spin"]
    [[experiment]]
    name = "call"
    workload = "call"
    stacks = ["floor-spin"]
    [[experiment]]
    name = "counted"
    workload = "ping-pong"
    warmup_messages = 100
    round_trips = 2000
    stacks = ["null", "floor-spin"]
    [[experiment]]
    name = "stream"
    workload = "stream"
    rate = "1 kHz"
    stacks = ["null", "floor-spin"]
    [[experiment]]
    name = "burst"
    workload = "burst"
    group = 8
    period = "8 ms"
    stacks = ["null", "floor-spin"]
    [[experiment]]
    name = "flood"
    workload = "flood"
    stacks = ["null"]
"#;

/// Stacks that sleep: they and nobody else call futex(2), which an initiator whose pongs come by callback does for
/// itself, and a gateway for its queue and the watch over it.
const SLEEPING: &str = r#"
    title = "sleeping"
    [defaults]
    trials = 3
    warmup = "40 ms"
    settle = "0 s"
    window = "40 ms"
    raw_samples = 100000
    [[experiment]]
    name = "ping-pong"
    workload = "ping-pong"
    round_trips = 2000
    stacks = ["floor-futex", "floor-callback"]
    [experiment.matrix]
    wait = ["block", "callback"]
    [[experiment]]
    name = "call"
    workload = "call"
    round_trips = 2000
    wait = "block"
    stacks = ["floor-futex"]
    [[experiment]]
    name = "stream"
    workload = "stream"
    rate = "1 kHz"
    stacks = ["floor-futex", "floor-callback"]
    [experiment.matrix]
    wait = ["block", "callback"]
    [[experiment]]
    name = "three-sinks"
    workload = "stream"
    rate = "1 kHz"
    wait = "block"
    topology = "1-3"
    stacks = ["floor-futex"]
    [[experiment]]
    name = "chain"
    workload = "stream"
    rate = "1 kHz"
    wait = "block"
    stacks = ["floor-chain"]
"#;

/// Of each message: the sleep and the waking of each leg, in both directions, and the queue of a gateway.
const FUTEX_CALLS: f64 = 4.5;

const CHAIN: &str = r#"
    description = "two floors and a gateway"
    [[leg]]
    stack = "floor-futex"
    [[leg]]
    stack = "floor-futex"
"#;

#[test]
fn no_agent_makes_a_system_call_of_its_own_in_the_window() {
    let place = Place::new();
    let Some(trace) = Trace::start(&place) else {
        println!("not tested: system calls can be traced by root on a kernel with tracefs only");
        return;
    };
    place.stack("floor-chain", CHAIN);
    // The pacer sleeps until messages are due: that is no work, and lies between two messages.
    let pacer = libc::SYS_clock_nanosleep;
    let polling = guard(&place, &trace, ("polling", POLLING), (&[pacer], 0.0));
    assert!(polling >= 30, "{polling} trials");
    let sleeping = guard(
        &place,
        &trace,
        ("sleeping", SLEEPING),
        (&[pacer, libc::SYS_futex], FUTEX_CALLS),
    );
    assert!(sleeping >= 21, "{sleeping} trials");
}

/// Runs a suite, and finds no system call in the window of any trial but the allowed ones of role threads, of which
/// there are at most so many for each message, sleeps of the pacer aside; how many trials there were.
fn guard(
    place: &Place,
    trace: &Trace,
    (name, suite): (&str, &str),
    (allowed, most): (&[i64], f64),
) -> usize {
    place.suite(name, suite);
    trace.clear();
    let ended: Ended = trace
        .run(place.dyno(&["run", name, "--out", name, "--quiet"]))
        .into();
    ended.with_code(0);
    let entered = trace.entered();
    assert!(entered.len() > 1_000, "{} calls traced", entered.len());
    assert_eq!(trace.overrun(), 0, "the trace is not whole");
    let trials = trials(place, name);
    let mut belated = BTreeMap::<u64, Vec<String>>::new();
    for trial in &trials {
        let (first, last) = window(trial);
        // Trace and clock agree to some microseconds; what Dyno would do takes longer.
        let (from, to) = (first + 5_000, last.saturating_sub(5_000));
        let inside: Vec<&Entered> = entered
            .iter()
            .filter(|e| (from..to).contains(&e.at))
            .filter(|e| e.thread == "dyno-control" || !allowed.contains(&e.number))
            .collect();
        let theirs = entered.iter().filter(|e| {
            (from..to).contains(&e.at)
                && e.thread != "dyno-control"
                && e.number != libc::SYS_clock_nanosleep
                && allowed.contains(&e.number)
        });
        let each = theirs.count() as f64 / trial.raw.len() as f64;
        assert!(
            each <= most,
            "{}: {each} calls for each message",
            trial.name
        );
        // Other tests run beside this one: an agent's control thread may come to its work, and with it the signal
        // that tells of the start, too late.
        let is_late =
            |e: &Entered| e.thread == "dyno-control" || e.number == libc::SYS_rt_sigreturn;
        // Where other tests kept a sink from its CPU, the ring filled and the writer sleeps in front of it with a message
        // that is due; the sink that makes room wakes it. That call is the stack's.
        let makes_room = |e: &Entered| {
            // One that was sent in time had nobody to wait for.
            let waits = |[due, sent, _]: &[u64; 3]| {
                *sent > due + 50_000 && (*due..sent + 5_000).contains(&e.at)
            };
            e.number == libc::SYS_futex && e.thread == "dyno-sink" && trial.raw.iter().any(waits)
        };
        // A source that finds no room goes to sleep with a message that is due.
        let finds_no_room = |e: &Entered| {
            let waits = |[due, _, arrival]: &[u64; 3]| {
                *arrival > due + 1_000_000 && (*due..*arrival).contains(&e.at)
            };
            e.number == libc::SYS_futex && e.thread == "dyno-source" && trial.raw.iter().any(waits)
        };
        let is_held_up = |e: &Entered| is_late(e) || makes_room(e) || finds_no_room(e);
        let by_roles = |e: &&Entered| !is_held_up(e);
        let experiment = trial.record["experiment"].as_u64().unwrap();
        let text = |e: &Entered| {
            let at = (e.at - first) / 1_000;
            format!("{} called {} after {at} µs", e.thread, e.number)
        };
        let held_up = inside.iter().find(|e| is_held_up(e));
        if let Some(held_up) = held_up {
            let of_experiment = belated.entry(experiment).or_default();
            of_experiment.push(format!("{}: {}", trial.name, text(held_up)));
        }
        let inside: Vec<String> = inside.into_iter().filter(by_roles).map(text).collect();
        assert!(inside.is_empty(), "{}: {inside:#?}", trial.name);
    }
    // Not all three of a kind, which would be no chance.
    let often = belated.values().any(|belated| belated.len() > 2);
    let sum: usize = belated.values().map(Vec::len).sum();
    assert!(
        sum <= 5 && !often,
        "{belated:#?} of {} trials",
        trials.len()
    );
    trials.len()
}

/// Of its rank `cargo xtask study first` tells, on a release build: here the first call of a function is a page fault.
#[test]
fn the_first_sample_of_a_trial_is_no_outlier() {
    let place = Place::new();
    place.suite(
        "first",
        r#"
        title = "first"
        [defaults]
        trials = 40
        warmup = "5 ms"
        raw_samples = 100
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        round_trips = 100
        stacks = ["floor-spin", "pipe"]
        "#,
    );
    place.measure("first", &[]);
    let mut outliers: BTreeMap<u64, (u32, u32)> = Default::default();
    for trial in trials(&place, "out") {
        let mut latencies = trial.raw.iter().map(|[_, sent, arrival]| arrival - sent);
        let first = latencies.next().unwrap();
        let slowest = latencies.max().unwrap();
        let experiment = trial.record["experiment"].as_u64().unwrap();
        let (outliers, trials) = outliers.entry(experiment).or_default();
        *outliers += u32::from(first > 2 * slowest);
        *trials += 1;
    }
    assert!(outliers.len() >= 2, "{outliers:?}");
    for (experiment, (outliers, trials)) in outliers {
        // One in a hundred by chance; nearly all when Dyno reads its own memory map in it.
        assert!(
            trials >= 30 && outliers <= trials / 4,
            "experiment {experiment}: {outliers} of {trials}"
        );
    }
}
