//! Random scenarios: trials with one to four faults each, by seed, over stacks that misbehave by themselves, through shared
//! memory, over connections and through brokers. What must not happen: Dyno hangs, something is left behind, a trial has neither
//! figures nor a cause.

use super::command::Random;
use super::kinds::Site;
use super::run::{Trials, can_use, dir, forget, left_behind, testbed, trials};
use super::world::World;
use crate::Outcome;
use crate::study::bench::list;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Scenarios of one run.
const OF_A_RUN: u32 = 10;
/// Faults of one scenario, at most.
const FAULTS: usize = 4;
/// From the start of the window to the first fault and from the end of the last one, in ms: what planning asks for.
const BEFORE: usize = 110;
const AFTER: usize = 250;
/// Loses, repeats, reorders and damages messages, and from some message on cannot send any.
const SCRAMBLED: &str = include_str!("scrambled.toml");

/// A stack, whether it works between hosts too, and whether it has a daemon.
#[derive(Clone, Copy)]
struct Stack(&'static str, bool, bool);

const STACKS: [Stack; 6] = [
    Stack("scrambled", false, false),
    Stack("iceoryx2", false, false),
    Stack("tcp", true, false),
    Stack("zenoh-tcp", true, false),
    Stack("zenoh-router", false, true),
    Stack("mqtt-qos1-reconnect", false, true),
];

/// What a kind of fault strikes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Process,
    /// All senders or all receivers.
    Side,
    /// A second receiver, which nothing else strikes.
    Newcomer,
    Host,
    Link,
}

/// The kinds by name, what they strike, whether they last, and what else they need.
const KINDS: [(&str, On, bool, &str); 14] = [
    ("nothing", On::Process, true, ""),
    ("kill", On::Process, false, ""),
    ("crash", On::Process, false, ""),
    ("leave", On::Process, false, ""),
    ("restart", On::Process, true, ""),
    ("rejoin", On::Process, true, ""),
    ("join", On::Newcomer, true, ""),
    ("storm", On::Side, true, ""),
    ("stop", On::Process, true, ""),
    ("freeze", On::Host, true, ""),
    ("link-down", On::Link, true, ""),
    ("blackout", On::Link, true, ""),
    ("loss", On::Link, true, "share = 0.3\nburst = 3\n"),
    ("rate", On::Link, true, "rate = \"1 Mbit/s\"\n"),
];

/// Who joins in a `join`.
const NEWCOMER: &str = "receiver 2";

/// What came of the scenarios on a stack.
#[derive(Default)]
struct Row {
    planned: usize,
    recovered: usize,
    deaf: usize,
    untold: usize,
    /// Failed trials by cause.
    causes: BTreeMap<String, usize>,
}

/// `count` scenarios, in runs of the seeds from `first` on, of the program `named` or the release build.
pub(crate) fn study(count: u32, first: u32, named: Option<&str>) -> Outcome {
    let (_place, world) = super::prepare("scenarios", named)?;
    let daemons = crate::metadata::load()?
        .target_directory
        .join("daemons/bin");
    fs::create_dir_all(world.place.join("bin"))
        .and_then(|()| match daemons.join("zenohd") {
            zenohd if zenohd.exists() => {
                std::os::unix::fs::symlink(zenohd, world.place.join("bin/zenohd"))
            }
            _ => Ok(()),
        })
        .map_err(|e| format!("cannot prepare {}: {e}", world.place.display()))?;
    fs::write(world.place.join("stacks/scrambled.toml"), SCRAMBLED)
        .map_err(|e| format!("cannot write a stack: {e}"))?;
    let mut stacks = Vec::new();
    for stack in STACKS {
        // Its losses would take the patience of a round trip.
        match stack.0 == "scrambled" || can_use(&world, stack.0)? {
            true => stacks.push(stack),
            false => println!("not tried: {}, which does not work here", stack.0),
        }
    }
    if world.shared.is_some() {
        println!("not tried: faults of links, which need root");
    }
    let (mut rows, mut findings) = (BTreeMap::<String, Row>::new(), Vec::new());
    let (mut done, mut seed, began) = (0, u64::from(first), Instant::now());
    while done < count {
        let of_run = OF_A_RUN.min(count - done);
        for finding in run(&world, seed, of_run, &stacks, &mut rows)? {
            findings.push(format!("seed {seed}: {finding}"));
            eprintln!("FINDING: {}", findings[findings.len() - 1]);
        }
        done += of_run;
        let (found, time) = (findings.len(), began.elapsed().as_secs());
        eprintln!("seed {seed}: {done} of {count} scenarios, {found} findings, {time} s");
        seed += 1;
    }
    println!("the next part begins with seed {seed}");
    told(&rows, &findings)
}

/// One run, and what is wrong with it.
fn run(
    world: &World,
    seed: u64,
    count: u32,
    stacks: &[Stack],
    rows: &mut BTreeMap<String, Row>,
) -> Result<Vec<String>, String> {
    let mut random = Random(seed);
    let on_hosts = world.shared.is_none() && random.below(2) == 0;
    let stacks: Vec<Stack> = stacks
        .iter()
        .copied()
        .filter(|s| s.1 || !on_hosts)
        .collect();
    let (site, placement) = match on_hosts {
        true => (Site::Namespaces, "host"),
        false => (Site::Here, "process"),
    };
    let mut suite = format!(
        "title = \"random scenarios\"\n[defaults]\ntrials = 1\nrate = \"500 Hz\"\npayload = \"64 B\"\nwait = \"natural\"\n\
         placement = \"{placement}\"\nwarmup = \"50 ms\"\ndrain = \"100 ms\"\ndeadline = \"5 s\"\n"
    );
    for number in 1..=count {
        let stack = stacks[random.below(stacks.len())];
        suite.push_str(&scenario(number, stack, on_hosts, &mut random));
    }
    fs::write(world.place.join("suites/scenarios.toml"), &suite)
        .map_err(|e| format!("cannot write a suite: {e}"))?;
    let mut base = world.inventory();
    let out = dir(world).display().to_string();
    let ended = world.run(
        &[
            "run",
            "scenarios",
            "--quiet",
            "--repeats",
            "0",
            "--testbed",
            testbed(site),
            "--out",
            &out,
        ],
        None,
    )?;
    let mut findings = match ended.code {
        Some(0 | 4) => Vec::new(),
        _ => vec![format!("{}\n{suite}", ended.told())],
    };
    if ended.said.contains("panicked at") {
        findings.push(format!("a panic: {}", ended.told()));
    }
    let left = left_behind(world, &mut base, false);
    if !left.is_empty() {
        findings.push(format!("left behind: {}", left.join(", ")));
    }
    findings.extend(account(&dir(world), &trials(world)?, count as usize, rows));
    forget(world)?;
    Ok(findings)
}

/// An experiment with random faults. None overlaps with another of its target, and nothing strikes who is gone, which planning
/// would refuse.
fn scenario(number: u32, stack: Stack, on_hosts: bool, random: &mut Random) -> String {
    let targets = match stack.2 {
        true => &["sender", "receiver", "daemon"][..],
        false => &["sender", "receiver"],
    };
    let (mut at, mut frozen, mut over) = (BEFORE, 0, BEFORE);
    // When the last fault of a target ends; gone ones are struck no more.
    let (mut busy, mut gone) = (BTreeMap::<&str, usize>::new(), Vec::new());
    let mut faults = String::new();
    for _ in 0..=random.below(FAULTS) {
        let who = targets[random.below(targets.len())];
        let (what, on, lasts, more) = KINDS[random.below(KINDS.len())];
        let who = match on {
            On::Newcomer => NEWCOMER,
            _ => who,
        };
        let is_possible = match on {
            On::Process | On::Newcomer => true,
            On::Side => who != "daemon" && !gone.contains(&NEWCOMER),
            On::Host => who != "daemon",
            On::Link => who != "daemon" && on_hosts,
        };
        if !is_possible || gone.contains(&who) {
            continue;
        }
        let until = match on {
            On::Host | On::Side => busy.values().copied().max().unwrap_or(0),
            _ => busy.get(who).copied().unwrap_or(0).max(frozen),
        };
        at = (at + random.below(150)).max(until + 10);
        // One that is to get a message needs time for it.
        let least = if on == On::Newcomer { 300 } else { 20 };
        let time = least + random.below(200);
        faults.push_str(&format!(
            "[[experiment.fault]]\nwhat = \"{what}\"\nwho = \"{who}\"\nat = \"{at} ms\"\n{more}"
        ));
        let end = match lasts {
            true => {
                faults.push_str(&format!("for = \"{time} ms\"\n"));
                at + time
            }
            false => {
                gone.push(who);
                at
            }
        };
        busy.insert(who, end);
        if matches!(on, On::Newcomer | On::Side) {
            gone.push(NEWCOMER);
        }
        if matches!(on, On::Host | On::Side) {
            frozen = end;
        }
        over = over.max(end);
    }
    if faults.is_empty() {
        faults = format!(
            "[[experiment.fault]]\nwhat = \"nothing\"\nwho = \"receiver\"\nat = \"{BEFORE} ms\"\nfor = \"20 ms\"\n"
        );
    }
    let (window, receivers) = (over + AFTER, 1 + usize::from(busy.contains_key(NEWCOMER)));
    format!(
        "[[experiment]]\nname = \"scenario-{number}\"\nworkload = \"stream\"\nstacks = [\"{}\"]\nwindow = \"{window} ms\"\n\
         topology = \"1-{receivers}\"\n{faults}",
        stack.0
    )
}

/// Holds the stored trials against the plan: what is missing, torn or without a cause.
fn account(
    run: &Path,
    stored: &Trials,
    count: usize,
    rows: &mut BTreeMap<String, Row>,
) -> Vec<String> {
    let manifest = fs::read(run.join("run.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap_or_default();
    let experiments = list(&manifest["plan"], "experiments").iter();
    // Beside them stands the control of the host, which has none.
    let has_faults = |e: &&Value| {
        e["faults"]
            .as_array()
            .is_some_and(|faults| !faults.is_empty())
    };
    let experiments: Vec<&Value> = experiments.filter(has_faults).collect();
    let mut findings = Vec::new();
    // A stack with two natural ways to wait has two experiments of a name.
    let names: BTreeSet<&str> = experiments
        .iter()
        .filter_map(|e| e["name"].as_str())
        .collect();
    if names.len() != count {
        let refused = &manifest["plan"]["refused"];
        findings.push(format!(
            "{} of {count} scenarios are planned: {refused}",
            names.len()
        ));
    }
    for experiment in experiments {
        let id = experiment["id"].as_u64().unwrap_or_default();
        let stack = experiment["stack"].as_str().unwrap_or_default();
        let row = rows.entry(stack.to_owned()).or_default();
        row.planned += 1;
        let faults = experiment["faults"].as_array().map_or(0, Vec::len);
        let of = || format!("{stack} under {}", experiment["faults"]);
        let file = run.join(format!("trials/e{id:04}-t000.json"));
        let Some(bytes) = stored.get(&file) else {
            findings.push(format!("no trial is stored of {}", of()));
            continue;
        };
        let trial: Value = serde_json::from_slice(bytes).unwrap_or_default();
        match (
            trial["outcome"].as_str(),
            trial["failure"]["cause"].as_str(),
        ) {
            (Some("completed"), _) => {
                // A storm is made to several processes.
                let made = trial["faults"].as_array().into_iter().flatten();
                let made: BTreeSet<u64> = made.filter_map(|made| made["fault"].as_u64()).collect();
                let made = made.len();
                if made != faults {
                    findings.push(format!("{made} of {faults} faults were made of {}", of()));
                }
                let outages = trial["outages"].as_array().map_or(&[][..], Vec::as_slice);
                match outages {
                    [] => row.untold += 1,
                    all if all.iter().all(|o| o["recovery"].is_u64()) => row.recovered += 1,
                    _ => row.deaf += 1,
                }
            }
            (Some("failed"), Some(cause)) => {
                let (ends, values) = (ends(&trial), &trial["failure"]["values"]);
                eprintln!("  {cause} {values} of {}: {ends:?}", of());
                if cause == "fault-not-made" && ends.is_empty() {
                    findings.push(format!("nothing says why of {}: {values}", of()));
                }
                *row.causes.entry(cause.to_owned()).or_default() += 1;
            }
            _ => findings.push(format!("the trial is torn or names no cause of {}", of())),
        }
    }
    findings
}

/// The warnings of processes that ended or fell silent after an earlier fault of the trial: none of them can be struck again.
fn ends(trial: &Value) -> Vec<String> {
    let warnings = list(trial, "warnings").iter();
    let cause = |w: &&Value| {
        w["cause"]
            .as_str()
            .is_some_and(|c| c.ends_with("-after-fault"))
    };
    warnings
        .filter(cause)
        .map(|w| w["values"].to_string())
        .collect()
}

fn told(rows: &BTreeMap<String, Row>, findings: &[String]) -> Outcome {
    println!("stack                 scenarios  recovered  deaf  untold  failed by cause");
    for (stack, row) in rows {
        let causes: Vec<String> = row
            .causes
            .iter()
            .map(|(cause, n)| format!("{cause} {n}"))
            .collect();
        let Row {
            planned,
            recovered,
            deaf,
            untold,
            ..
        } = row;
        let causes = causes.join(", ");
        println!("{stack:<21} {planned:>9} {recovered:>10} {deaf:>5} {untold:>7}  {causes}");
    }
    println!(
        "deaf: a receiver has no newer message after the faults; untold: no receiver was left, or no time to see it"
    );
    findings.iter().for_each(|finding| println!("{finding}"));
    match findings.len() {
        0 => Ok(()),
        n => Err(format!(
            "{n} findings; `cargo xtask study scenarios {OF_A_RUN} SEED` repeats the run of a seed"
        )),
    }
}
