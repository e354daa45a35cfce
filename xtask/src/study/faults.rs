//! Dyno under its own faults: real runs in which processes are killed or stopped, file systems or tables of handles are
//! full, or the user ends the run, at random moments. Each run is resumed until it is complete. What must not happen: a
//! finished trial that changes or is lost, something left behind, a trial without a result and without a cause, a command
//! that does not end, an exit code that is not documented, a panic.

mod command;
mod kinds;
mod run;
pub(super) mod scenarios;
mod servers;
mod world;

use super::bench::{Place, program};
use crate::Outcome;
use kinds::{Act, BROKER, KINDS, Kind, STACKS, Site, Sites};
use servers::Servers;
use std::collections::BTreeMap;
use std::path::Path;
use world::World;

/// What a kind of fault led to.
#[derive(Default)]
struct Row {
    tried: usize,
    /// Findings by what was wrong.
    found: [usize; 4],
    /// Failed trials by cause.
    causes: BTreeMap<String, usize>,
}

/// At least `count` faults in the runs of the seeds from `first` on, of the program `named` or the release build.
pub(super) fn study(count: u32, first: u32, named: Option<&str>) -> Outcome {
    let (_place, world) = prepare("faults", named)?;
    let servers = Servers::start(&world);
    let sites = sites(&world, servers.as_ref().err())?;
    let is_possible = |kind: &&Kind| {
        let is_alone = matches!(kind.1, Act::Full(_) | Act::OtherClock(_));
        kind.2.iter().any(|site| sites.contains_key(site)) && (!is_alone || world.shared.is_none())
    };
    let kinds: Vec<&Kind> = KINDS.iter().filter(is_possible).collect();
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let (mut findings, mut tried, mut seed) = (Vec::new(), 0, u64::from(first));
    while tried < count as usize {
        for seen in run::suffer(&world, seed, &sites, &kinds)? {
            let row = rows.entry(seen.kind).or_default();
            row.tried += usize::from(seen.met);
            tried += usize::from(seen.met);
            for (cause, times) in seen.causes {
                *row.causes.entry(cause).or_default() += times;
            }
            for (wrong, what) in seen.findings {
                row.found[wrong as usize] += 1;
                findings.push(format!("seed {seed}: {}: {what}", seen.kind));
                eprintln!("FINDING: {}", findings[findings.len() - 1]);
            }
        }
        eprintln!(
            "seed {seed}: {tried} of {count} faults, {} findings",
            findings.len()
        );
        seed += 1;
    }
    println!("the next part begins with seed {seed}");
    told(&rows, &findings)
}

/// The place of a study and its namespaces, which end before the place does, for the program `named` or the release build.
fn prepare(study: &str, named: Option<&str>) -> Result<(Place, World), String> {
    let place = match named {
        Some(_) => Place::without_build(study)?,
        None => Place::new(study)?,
    };
    let path = named.map_or_else(program, |named| Ok(Path::new(named).to_owned()))?;
    let path = path
        .canonicalize()
        .map_err(|e| format!("cannot use {}: {e}", path.display()))?;
    // Its children inherit it: a process that aborts leaves no image of its memory.
    let none = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    rustix::process::setrlimit(rustix::process::Resource::Core, none).map_err(|e| e.to_string())?;
    let world = World::enter(&place.dir, path)?;
    Ok((place, world))
}

/// Tries each place where runs can measure; says what is not tried, and why.
fn sites(world: &World, no_servers: Option<&String>) -> Result<Sites, String> {
    let mut sites = Sites::new();
    for (site, stacks) in STACKS {
        let mut stacks = stacks.to_vec();
        match (site, &world.shared, no_servers) {
            (Site::Here, ..) if run::can_use(world, BROKER)? => stacks.push(BROKER),
            (Site::Here, ..) => {
                println!("not tried: {BROKER}, which is not installed or does not work")
            }
            (Site::Namespaces, Some(why), _) => {
                println!(
                    "not tried: full file systems, other clocks, namespaces as hosts: {why}; nothing else may put files \
                     into /dev/shm meanwhile"
                );
                continue;
            }
            (Site::Servers, _, Some(why)) => {
                println!("not tried: keepers and connections: {why}");
                continue;
            }
            _ => {}
        }
        let takes = run::rehearse(world, site, &stacks)?;
        sites.insert(site, (stacks, takes));
    }
    println!("not tried: virtual machines as hosts; the time of day, which is the whole machine's");
    Ok(sites)
}

fn told(rows: &BTreeMap<&str, Row>, findings: &[String]) -> Outcome {
    println!(
        "kind of fault                tried  lost  left  hangs  other  causes of failed trials"
    );
    for Kind(name, ..) in KINDS {
        let Some(Row {
            tried,
            found,
            causes,
        }) = rows.get(name)
        else {
            println!("{name:<27} {:>6}", "-");
            continue;
        };
        let [lost, left, hangs, other] = found;
        let causes: Vec<String> = causes
            .iter()
            .map(|(cause, n)| format!("{cause} {n}"))
            .collect();
        let causes = causes.join(", ");
        println!("{name:<27} {tried:>6} {lost:>5} {left:>5} {hangs:>6} {other:>6}  {causes}");
    }
    println!(
        "lost: finished trials that changed or went; left: left behind; other: exit codes, panics, no cause"
    );
    findings.iter().for_each(|finding| println!("{finding}"));
    match findings.len() {
        0 => Ok(()),
        n => Err(format!(
            "{n} findings; `cargo xtask study faults 1 SEED` repeats the run of a seed"
        )),
    }
}
