//! Studies of Dyno's own statements: how often they are right, on the machine at hand. Each prints the
//! figures that the documents quote. They take minutes to half an hour; nothing else should run meanwhile.

mod again;
mod agree;
mod audit;
mod bench;
mod capacity;
mod carry_over;
mod clocks;
mod damage;
mod faults;
mod first;
mod fuzz;
mod ground;
mod judgement;
mod machine;
mod made_of;
mod nightly;
mod noise;
mod paired;
mod scale;
mod serve;
mod turns;

use crate::Outcome;
use std::path::Path;

pub(crate) const USAGE: &str = "\
usage: cargo xtask study WHICH

  aa [PAIRS]          compare identical things PAIRS times (100): how often is a difference reported?
  power [TRIES] [PAIRS]  plant +5 % on p50 and +20 % on p99 TRIES times (50), each of PAIRS pairs of
                      trials (10): how often are they found?
  paired [TRIES] [TRIALS]  +5 % planted on the p50 of a stack that sleeps, one that spins and one with a thread, TRIES times (10), each of
                      TRIALS trials (10), in slices and in whole trials in turns: how often is it found, and which ratio? And how
                      often are slices of the same called different?
  clocks [TRIALS]     a host whose clock lies, TRIALS times each (100): is the truth inside the bound?
  clocks TRIALS guest  an emulated guest, whose counter differs from this machine's by an unknown
                      constant: do the bounds of all trials of a boot agree on the constant? Needs root, QEMU and a kernel
  damage [MUTANTS] [FIRST]  MUTANTS damaged copies of real runs (10,000, seeds from FIRST, 1), given to
                      every command that reads runs: does one abort, hang, take 200 MB, or write to
                      a terminal? An hour; uses the release build if there is one
  faults [FAULTS] [FIRST] [DYNO]  runs with FAULTS faults (30, seeds from FIRST, 1): runner, agents, daemons, keeper or ssh
                      killed or stopped, Ctrl-C, disk, /dev/shm or handles exhausted, clock set; then resumed. Is a trial
                      lost, something left behind, does a command hang? About 5 s per fault. If there are too many for one part, it
                      names the seed from which the next part continues; more kinds as root, and with
                      openssh-server. DYNO: a program other than the release build
  scenarios [N] [FIRST] [DYNO]  N random experiments (1,000, seeds from FIRST, 1) with one to four faults each, over
                      faulty sockets, iceoryx2, tcp, zenoh and mosquitto: does Dyno hang, is something left behind, does
                      each trial have a result or a cause? About 2.5 s per scenario; faults of links need root. DYNO as for `faults`
  first [TRIALS]      is the first sample of a trial like the others? TRIALS trials of each stack (100)
  nightly [NIGHTS] [TRIES]  simulated nights (300): how often does `dyno check --history` raise a
                      false alarm, and how soon does it detect planted changes (TRIES times, 20)?
  noise [BURSTS] [DYNO] [gaps]  bursts of foreign load at known times (40), and a process that takes 8 % of a CPU: which
                      trials are flagged, for stacks that spin, sleep, or work in the kernel? DYNO is another program
                      than the release build; with `gaps`, those before a trial are the hypervisor's, as steal is: what to say on
                      a virtual machine
  noise BURSTS guest [ACCELERATOR]  the same within a guest with four virtual CPUs, of which the stacks use two, with
                      `gaps`. ACCELERATOR is QEMU's (tcg,thread=multi); needs QEMU, cpio and a kernel. About 50 s a burst where
                      the guest is emulated
  carry-over [TRIES] [RUNS]  do earlier trials change the results of later ones? A known fault,
                      planted TRIES times (20), and stacks in random order RUNS times (20); needs
                      root
  again OLD NEW       two run directories of one suite: share of new p50 within the old intervals
  agree [TURNS]       the libraries' own tools and Dyno, interleaved TURNS times (5) on the same CPUs: do they agree?
  audit [FAULTS]      some 220 outputs of real programs with odd options (wrk, fio, iperf3, sockperf, rt-tests, ddsperf, HdrHistogram of
                      JavaScript and Python, Google Benchmark and criterion, as far as they are available): does
                      `dyno audit` object to a correct one? And how many of FAULTS planted faults of
                      each kind (2 in each output) does it find? 20 minutes
  capacity [TURNS] [STACK...]  search each stack's capacity TURNS times (2) and sweep over fixed rates around it;
                      default: udp, zenoh-tcp and kuksa
  million [STACK...]  a million values through each stack at half its capacity; default: kuksa, mqtt-qos1, nats
                      and dbus
  ground [TURNS]      cyclictest, `perf bench` and Dyno's probes, interleaved TURNS times (6) on the same CPUs: do they agree?
                      About 30 s a turn; needs perf and cyclictest (Debian: linux-perf, rt-tests)
  machine [TURNS]     a ping-pong in plain C over vsock and TCP, iperf3, and Dyno, in random order
                      within each of TURNS boots of a guest (6): do they agree? Needs root, QEMU, a kernel, libiperf-dev and `cargo xtask daemons vsock`
  made-of             pipe, tcp and floor-futex: counted system calls, wake-ups and copies times their costs
                      here, beside the measured p50; half a minute, needs tracefs and root
  scale RUN [TRIALS] [TIMES]  a run directory with TRIALS of each of its experiments (328): time and memory of its summary,
                      size of its report, time until the report is usable (opened TIMES times, 5), and the plan of 33,000
                      cells; two minutes, needs node and Chromium
  fuzz [MINUTES] [TARGET]  each target of fuzz/ under libFuzzer for MINUTES (10): does any input break a reader of files? Needs
                      `cargo install cargo-fuzz --locked` and a C++ compiler
  serve RUN [CLIENTS] [SECONDS] [DYNO]  `dyno serve` over copies of a run under CLIENTS silent, idle, slow and greedy clients
                      (1000) for SECONDS (30): how long does another user wait? DYNO names a program
                      other than the release build; as root, the clients run as another user";

/// Runs the study that `arguments` name.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let number = |at: usize, default: u32| match arguments.get(at) {
        None => Ok(default),
        Some(text) => text
            .parse()
            .map_err(|_| format!("write a number instead of {text:?}\n\n{USAGE}")),
    };
    match arguments.first().map(String::as_str) {
        Some("aa") => judgement::aa(number(1, 100)?),
        Some("power") => judgement::power(number(1, 50)?, number(2, 10)?),
        Some("paired") => paired::study(number(1, 10)?, number(2, 10)?),
        Some("clocks") => match arguments.get(2).map(String::as_str) {
            None => clocks::study(number(1, 100)?),
            Some("guest") => clocks::of_guest(number(1, 100)?),
            Some(_) => Err(USAGE.to_owned()),
        },
        Some("damage") => damage::study(number(1, 10_000)?, number(2, 1)?),
        Some("faults") => {
            let program = arguments.get(3).map(String::as_str);
            faults::study(number(1, 30)?, number(2, 1)?, program)
        }
        Some("scenarios") => {
            let program = arguments.get(3).map(String::as_str);
            faults::scenarios::study(number(1, 1_000)?, number(2, 1)?, program)
        }
        Some("first") => first::study(number(1, 100)?),
        Some("nightly") => nightly::study(number(1, 300)?, number(2, 20)?),
        Some("noise") => {
            let word = |at: usize| arguments.get(at).map(String::as_str);
            match (word(2), word(3)) {
                (Some("guest"), accelerator) => noise::of_guest(number(1, 40)?, accelerator),
                (program, None) => noise::study(number(1, 40)?, program, &["steal"]),
                (program, Some("gaps")) => {
                    noise::study(number(1, 40)?, program, &["steal", "gaps"])
                }
                _ => Err(USAGE.to_owned()),
            }
        }
        Some("carry-over") => carry_over::study(number(1, 20)?, number(2, 20)?),
        Some("capacity") => {
            let stacks = named(arguments, 2, &["udp", "zenoh-tcp", "kuksa"]);
            capacity::study(number(1, 2)?, &stacks, false)
        }
        Some("million") => {
            let stacks = named(arguments, 1, &["kuksa", "mqtt-qos1", "nats", "dbus"]);
            capacity::study(1, &stacks, true)
        }
        Some("fuzz") => fuzz::study(number(1, 10)?, arguments.get(2).map(String::as_str)),
        Some("ground") => ground::study(number(1, 6)?),
        Some("machine") => machine::study(number(1, 6)?),
        Some("made-of") => made_of::study(),
        Some("scale") => match arguments.get(1) {
            Some(run) => scale::study(Path::new(run), number(2, 328)? as usize, number(3, 5)?),
            None => Err(USAGE.to_owned()),
        },
        Some("serve") => match arguments.get(1) {
            Some(run) => {
                let program = arguments.get(4).map(String::as_str);
                serve::study(Path::new(run), number(2, 1000)?, number(3, 30)?, program)
            }
            None => Err(USAGE.to_owned()),
        },
        Some("audit") => audit::study(number(1, 2)?),
        Some("agree") => agree::study(number(1, 5)?),
        Some("again") => match &arguments[1..] {
            [old, new] => again::study(Path::new(old), Path::new(new)),
            _ => Err(USAGE.to_owned()),
        },
        _ => Err(USAGE.to_owned()),
    }
}

/// The arguments from the `at`-th on, or `default`.
fn named(arguments: &[String], at: usize, default: &[&str]) -> Vec<String> {
    match arguments.get(at..) {
        Some(some) if !some.is_empty() => some.to_vec(),
        _ => default.iter().map(|name| (*name).to_owned()).collect(),
    }
}
