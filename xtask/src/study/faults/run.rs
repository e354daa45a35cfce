//! One run, from its start through its faults until it is complete, and what is checked on the way.

use super::command::{Ended, Fault, Random};
use super::kinds::{Act, Cleared, HAVE_DAEMONS, Kind, Site, Sites, Who, Wrong};
use super::world::World;
use crate::study::bench::list;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Commands of one run that suffer a fault, at most.
const FAULTS: usize = 3;
/// Stacks of one run.
const STACKS: usize = 2;
/// What is left behind must be gone after this time: some processes end after their parent.
const SETTLE: Duration = Duration::from_secs(20);
const SUITE: &str = include_str!("suite.toml");
const HELPED: &str = include_str!("helped.toml");

/// What one command showed.
pub(super) struct Seen {
    pub(super) kind: &'static str,
    /// The fault happened before the command ended.
    pub(super) met: bool,
    pub(super) findings: Vec<(Wrong, String)>,
    /// Failed trials that it stored.
    pub(super) causes: BTreeMap<String, usize>,
}

/// The files of finished trials, with their content.
pub(super) type Trials = BTreeMap<PathBuf, Vec<u8>>;

/// Measures without a fault: each stack of the site must work, or the study would blame its faults. Returns how long a run
/// takes.
pub(super) fn rehearse(world: &World, site: Site, stacks: &[&str]) -> Result<Duration, String> {
    let began = Instant::now();
    let mut runs = 0;
    for stacks in stacks.chunks(STACKS) {
        write_suite(world, site, stacks)?;
        let ended = world.run(&start(world, site, 0), None)?;
        forget(world)?;
        if ended.code != Some(0) {
            return Err(format!("without a fault, {}", ended.told()));
        }
        runs += 1;
    }
    Ok(began.elapsed() / runs.max(1))
}

/// Whether a stack's adapter and daemon are installed and work.
pub(super) fn can_use(world: &World, stack: &str) -> Result<bool, String> {
    write_suite(world, Site::Here, &[stack])?;
    let ended = world.run(&start(world, Site::Here, 0), None)?;
    forget(world)?;
    Ok(ended.code == Some(0))
}

/// The run of a seed: as many faults as it draws, one a command, then what completes it.
pub(super) fn suffer(
    world: &World,
    seed: u64,
    sites: &Sites,
    kinds: &[&'static Kind],
) -> Result<Vec<Seen>, String> {
    let mut random = Random(seed);
    let at = random.below(sites.len());
    let Some((&site, (stacks, takes))) = sites.iter().nth(at) else {
        return Err("there is no place to measure".to_owned());
    };
    let mut stacks = stacks.clone();
    while stacks.len() > STACKS {
        stacks.remove(random.below(stacks.len()));
    }
    let has_daemon = stacks.iter().any(|stack| HAVE_DAEMONS.contains(stack));
    let is_possible = |kind: &&&Kind| {
        let of_daemon = matches!(kind.1, Act::Signals(Who::Daemon, _));
        kind.2.contains(&site) && (has_daemon || !of_daemon)
    };
    let kinds: Vec<_> = kinds.iter().filter(is_possible).collect();
    write_suite(world, site, &stacks)?;
    let (mut base, mut stored) = (world.inventory(), Trials::new());
    let mut all: Vec<Seen> = Vec::new();
    let faults = 1 + random.below(FAULTS);
    for number in 1..=faults + 1 {
        let kind = kinds[random.below(kinds.len())];
        // What is resumed has less to do.
        let drawn = Fault::draw(kind, *takes / number as u32, &mut random);
        let ended_early = all.last().is_some_and(|seen| !seen.met);
        let fault = Some(&drawn).filter(|_| number <= faults && !ended_early);
        let command = match world.runs.join("run/run.json").exists() {
            true => vec![
                "run".into(),
                "--quiet".into(),
                "--resume".into(),
                dir(world).display().to_string(),
            ],
            false => start(world, site, seed),
        };
        let ended = world.run(&command, fault)?;
        let of = fault.map_or("resumed", |fault| fault.kind.0);
        let ending = ended.code.map_or("does not end".to_owned(), |code| {
            format!("ends with {code}")
        });
        eprintln!("  {site:?}, {}, {of}: {ending}", stacks.join(" and "));
        let mut seen = check(world, &ended, fault, &mut stored, &mut base)?;
        if fault.is_some() {
            all.push(seen);
            continue;
        }
        seen.findings.extend(incomplete(world, &stored)?);
        // What shows in the end is the last fault's.
        if let Some(last) = all.last_mut() {
            last.findings.extend(seen.findings);
            seen.causes
                .into_iter()
                .for_each(|(cause, n)| *last.causes.entry(cause).or_default() += n);
        }
        break;
    }
    forget(world)?;
    Ok(all)
}

/// What a command left, against what was there before.
fn check(
    world: &World,
    ended: &Ended,
    fault: Option<&Fault>,
    stored: &mut Trials,
    base: &mut BTreeSet<String>,
) -> Result<Seen, String> {
    let mut findings = Vec::new();
    let codes = fault.map_or(&[][..], |fault| fault.kind.3);
    match ended.code {
        None => findings.push((Wrong::Hang, ended.told())),
        Some(code) if matches!(code, 0 | 4) || codes.contains(&code) => {}
        Some(_) => findings.push((Wrong::Other, ended.told())),
    }
    if ended.said.contains("panicked at") {
        findings.push((Wrong::Other, format!("a panic: {}", ended.told())));
    }
    let now = trials(world)?;
    for (file, bytes) in &*stored {
        if now.get(file) != Some(bytes) {
            findings.push((
                Wrong::Lost,
                format!("{} is gone or has changed", file.display()),
            ));
        }
    }
    let mut causes = BTreeMap::new();
    for (file, bytes) in now.iter().filter(|(file, _)| !stored.contains_key(*file)) {
        if file.starts_with(dir(world).join("raw")) {
            continue;
        }
        let shown = file.display();
        let trial: Value = serde_json::from_slice(bytes).unwrap_or_default();
        match (
            trial["outcome"].as_str(),
            trial["failure"]["cause"].as_str(),
        ) {
            (Some("completed"), _) => {}
            (Some("failed"), Some(cause)) => *causes.entry(cause.to_owned()).or_default() += 1,
            (Some("failed"), None) => {
                findings.push((Wrong::Other, format!("{shown} names no cause")))
            }
            _ => findings.push((Wrong::Lost, format!("{shown} is torn"))),
        }
        if String::from_utf8_lossy(bytes).contains("panicked at") {
            findings.push((Wrong::Other, format!("{shown} tells of a panic")));
        }
    }
    *stored = now;
    // Processes end with a runner that is killed; files of such a one the next one removes.
    let is_next = ended.code.is_none_or(|code| code < 0)
        || fault.is_some_and(|fault| fault.kind.4 == Cleared::Next);
    let left = left_behind(world, base, is_next);
    if !left.is_empty() {
        findings.push((Wrong::Left, format!("left behind: {}", left.join(", "))));
    }
    let (kind, met) = (fault.map_or("", |fault| fault.kind.0), ended.met);
    Ok(Seen {
        kind,
        met,
        findings,
        causes,
    })
}

/// What is there beside what was there before, once processes had the time to end; `base` has it from then on. Of what
/// the next command clears, processes alone.
pub(super) fn left_behind(
    world: &World,
    base: &mut BTreeSet<String>,
    is_next: bool,
) -> Vec<String> {
    let deadline = Instant::now() + SETTLE;
    loop {
        let now = world.inventory();
        let new = now
            .difference(base)
            .filter(|line| !is_next || line.starts_with("process "));
        let left: Vec<String> = new.cloned().collect();
        if left.is_empty() || Instant::now() > deadline {
            base.extend(left.iter().cloned());
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the complete run lacks, and what it has too much.
fn incomplete(world: &World, stored: &Trials) -> Result<Vec<(Wrong, String)>, String> {
    let mut findings = Vec::new();
    let text = fs::read(dir(world).join("run.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_slice(&text).unwrap_or_default();
    let experiments = list(&manifest["plan"], "experiments");
    if experiments.is_empty() {
        findings.push((Wrong::Lost, "the run has no plan".to_owned()));
    }
    for experiment in experiments {
        let id = experiment["id"].as_u64().unwrap_or_default();
        let file = dir(world).join(format!("trials/e{id:04}-t000.json"));
        if !stored.contains_key(&file) {
            findings.push((Wrong::Lost, format!("{} is missing", file.display())));
        }
    }
    for folder in ["", "trials", "raw"] {
        let names = names(&dir(world).join(folder)).into_iter();
        let odd = names.filter(|name| name.starts_with(".tmp-") || name.ends_with(".damaged"));
        findings
            .extend(odd.map(|name| (Wrong::Left, format!("{folder}/{name} in the run directory"))));
    }
    let ended = world.run(&["show", &dir(world).to_string_lossy()], None)?;
    if ended.code != Some(0) {
        findings.push((Wrong::Other, ended.told()));
    }
    Ok(findings)
}

/// The stored trials, with the raw samples of those that have some.
pub(super) fn trials(world: &World) -> Result<Trials, String> {
    let mut all = Trials::new();
    for name in names(&dir(world).join("trials"))
        .iter()
        .filter(|name| name.ends_with(".json"))
    {
        let file = dir(world).join("trials").join(name);
        let bytes = fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        all.insert(file, bytes);
        let raw = dir(world).join("raw").join(name.replace(".json", ".csv"));
        all.extend(fs::read(&raw).ok().map(|bytes| (raw, bytes)));
    }
    Ok(all)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

pub(super) fn dir(world: &World) -> PathBuf {
    world.runs.join("run")
}

pub(super) const fn testbed(site: Site) -> &'static str {
    match site {
        Site::Here => "local",
        Site::Namespaces => "netns-1gbe",
        Site::Servers => "bench",
    }
}

fn start(world: &World, site: Site, seed: u64) -> Vec<String> {
    let (dir, seed) = (dir(world).display().to_string(), seed.to_string());
    let words = [
        "run",
        "faults",
        "--quiet",
        "--repeats",
        "0",
        "--testbed",
        testbed(site),
        "--seed",
        &seed,
        "--out",
        &dir,
    ];
    words.map(str::to_owned).into()
}

pub(super) fn forget(world: &World) -> Result<(), String> {
    match fs::remove_dir_all(dir(world)) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove a run: {e}"))
        }
        _ => Ok(()),
    }
}

/// Writes the suite of a run, and stacks with a daemon that every machine has.
fn write_suite(world: &World, site: Site, stacks: &[&str]) -> Result<(), String> {
    let write = |path: &str, text: String| {
        fs::write(world.place.join(path), text).map_err(|e| format!("cannot write {path}: {e}"))
    };
    let placement = if site == Site::Here {
        "process"
    } else {
        "host"
    };
    let suite = SUITE
        .replace("PLACEMENT", placement)
        .replace("STACKS", &format!("{stacks:?}"));
    write("suites/faults.toml", suite)?;
    write("stacks/helped.toml", HELPED.replace("ADAPTER", "uds"))?;
    write("stacks/helped-udp.toml", HELPED.replace("ADAPTER", "udp"))
}
