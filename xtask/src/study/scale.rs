//! How showing and planning grow: a run whose trials are repeated, its summary from nothing and again, its page in a
//! browser, and the plan of very many cells.

use super::bench::Place;
use crate::{Outcome, files, metadata, packages, steps, web};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Cells of the suite that is planned: so many payloads, each at so many rates.
const CELLS: [usize; 2] = [550, 60];

/// How often the high-water mark of memory is read.
const LOOK: Duration = Duration::from_millis(5);

/// Shows and reports the run in `from` with `trials` of each experiment, opens its page `times` times, and plans.
pub(super) fn study(from: &Path, trials: usize, times: u32) -> Outcome {
    let place = Place::new("scale")?;
    let all = repeat(from, &place.dir.join("run"), trials)?;
    println!(
        "{all} trials, {trials} of each experiment, each of them one of {}",
        from.display()
    );
    timed(&place, "dyno show from nothing", "show run")?;
    timed(&place, "dyno show again", "show run")?;
    timed(&place, "dyno report", "report run -o page.html --quiet")?;
    let page = place.dir.join("page.html");
    let size = files::cannot("read", &page, page.metadata())?;
    println!("the page: {:.2} MB", size.len() as f64 / 1e6);
    open(&page, times)?;
    place.file("suites/cells.toml", &cells())?;
    let [sizes, rates] = CELLS;
    let what = format!("dyno run --dry-run of {} cells", sizes * rates);
    timed(&place, &what, "run cells --dry-run --quiet")
}

/// Writes the run anew with `trials` of each experiment: its own ones in turns, each round in another order. Answers how
/// many they are.
fn repeat(from: &Path, to: &Path, trials: usize) -> Result<usize, String> {
    let mut manifest = files::json(&from.join("run.json"))?;
    let dir = to.join("trials");
    files::make_folder(&dir)?;
    let experiments = manifest["plan"]["experiments"].as_array_mut();
    let experiments = experiments.ok_or("the run's plan has no experiments")?;
    for e in experiments.iter_mut() {
        e["trials"] = trials.into();
    }
    let ids: Vec<u64> = experiments
        .iter()
        .filter_map(|e| e["id"].as_u64())
        .collect();
    let started = manifest["started_unix_ms"].as_u64().unwrap_or(0);
    files::write(&to.join("run.json"), manifest.to_string())?;
    let stored = |id: u64| -> Result<(u64, Vec<Value>), String> {
        let files = (0..).map(|n| from.join(format!("trials/e{id:04}-t{n:03}.json")));
        let own = files.take_while(|path| path.exists());
        Ok((
            id,
            own.map(|path| files::json(&path))
                .collect::<Result<_, _>>()?,
        ))
    };
    let measured: Vec<_> = ids.into_iter().map(stored).collect::<Result<_, _>>()?;
    let measured: Vec<_> = measured.iter().filter(|(_, own)| !own.is_empty()).collect();
    if measured.is_empty() {
        return Err(format!(
            "{} has no trial 0 of any experiment",
            from.display()
        ));
    }
    for (at, (id, own)) in measured.iter().enumerate() {
        for number in 0..trials {
            let position = number * measured.len() + (at + number) % measured.len();
            let mut trial = own[number % own.len()].clone();
            trial["number"] = number.into();
            trial["position"] = position.into();
            trial["started_unix_ms"] = (started + 600 * position as u64).into();
            files::write(
                &dir.join(format!("e{id:04}-t{number:03}.json")),
                trial.to_string(),
            )?;
        }
    }
    Ok(measured.len() * trials)
}

/// Runs `dyno` and prints how long it took and how much memory it had at most.
fn timed(place: &Place, what: &str, arguments: &str) -> Outcome {
    let failed = |e| format!("{what}: {e}");
    let began = Instant::now();
    let mut running = place
        .command(arguments)
        .stdout(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let status = format!("/proc/{}/status", running.id());
    let mut most = 0;
    let ended = loop {
        most = most.max(peak(&fs::read_to_string(&status).unwrap_or_default()));
        if let Some(ended) = running.try_wait().map_err(failed)? {
            break ended;
        }
        thread::sleep(LOOK);
    };
    let took = began.elapsed().as_secs_f64();
    if !ended.success() {
        return Err(format!("{what} ended with {ended}"));
    }
    println!(
        "{what}: {took:.2} s, {:.0} MB at its peak",
        most as f64 / 1024.0
    );
    Ok(())
}

/// The highest resident set so far in KiB, of a process's status (proc_pid_status(5)); 0 of one that has ended.
fn peak(status: &str) -> u64 {
    let mut lines = status.lines();
    let value = lines.find_map(|line| line.strip_prefix("VmHWM:"));
    let number = value.and_then(|v| v.split_whitespace().next());
    number.and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Opens the page in a browser, which prints what it took.
fn open(page: &Path, times: u32) -> Outcome {
    let metadata = metadata::load()?;
    packages::of_web()?;
    web::install(&metadata)?;
    let mut node = Command::new("node");
    node.current_dir(web::source(&metadata));
    node.arg("opening.mjs").arg(page).arg(times.to_string());
    if let Some(scratch) = web::scratch(&metadata.target_directory) {
        node.env("TMPDIR", scratch);
    }
    steps::done(&mut node)
}

/// A suite of as many cells as [`CELLS`] says.
fn cells() -> String {
    let [sizes, rates] = CELLS;
    let sizes: Vec<String> = (1..=sizes).map(|n| format!("\"{} B\"", 64 * n)).collect();
    let rates: Vec<String> = (1..=rates).map(|n| format!("\"{n} kHz\"")).collect();
    format!(
        "title = \"very many cells\"\n[[experiment]]\nname = \"grid\"\nworkload = \"stream\"\nstacks = [\"pipe\"]\n\
         [experiment.matrix]\npayload = [{}]\nrate = [{}]\n",
        sizes.join(", "),
        rates.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::super::bench::list;
    use super::*;

    #[test]
    fn a_run_is_repeated_with_each_place_in_the_order_taken_once() {
        let place = tempfile::tempdir().unwrap();
        let golden =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/dyno-store/tests/golden/run-v3");
        let to = place.path().join("run");
        let all = repeat(&golden, &to, 7).unwrap();
        let mut positions: Vec<u64> = fs::read_dir(to.join("trials"))
            .unwrap()
            .map(|file| {
                files::json(&file.unwrap().path()).unwrap()["position"]
                    .as_u64()
                    .unwrap()
            })
            .collect();
        positions.sort_unstable();
        assert_eq!(positions, (0..all as u64).collect::<Vec<_>>());
        let manifest = files::json(&to.join("run.json")).unwrap();
        assert!(
            list(&manifest["plan"], "experiments")
                .iter()
                .all(|e| e["trials"] == 7)
        );
    }

    #[test]
    fn the_high_water_mark_of_memory_is_read() {
        assert!(peak(&fs::read_to_string("/proc/self/status").unwrap()) > 100);
        assert_eq!(peak("VmPeak:\t 12 kB\nVmHWM:\t 3456 kB\n"), 3456);
        assert_eq!(peak(""), 0);
    }
}
