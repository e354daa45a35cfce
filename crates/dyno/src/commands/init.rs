//! `dyno init`: a suite file with comments; and the three questions by which `dyno run` without a suite writes one.

use crate::cli::{InitArgs, RunArgs};
use crate::commands::trust;
use crate::exit::{Code, Failure, Result};
use crate::files;
use crate::terminal::{self, Typed};
use dyno_model::{PayloadSize, RateHz};
use dyno_plan::Catalog;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What somebody wants to know of the latencies, and what that takes.
struct Goal {
    /// As it is asked for.
    word: &'static str,
    trials: u32,
    /// Of all trials together: some more than an interval needs.
    samples: f64,
}

const fn goal(word: &'static str, trials: u32, samples: f64) -> Goal {
    Goal {
        word,
        trials,
        samples,
    }
}

static GOALS: [Goal; 3] = [
    goal("median", 5, 500.0),
    goal("p99", 10, 2_000.0),
    goal("p99.9", 10, 10_000.0),
];

/// The shortest window, in milliseconds.
const LEAST_WINDOW: f64 = 300.0;

/// What a round trip of a usual stack takes at most, in nanoseconds, and what each byte of the payload adds.
const ROUND_TRIP_NS: f64 = 100_000.0;
const PER_BYTE_NS: f64 = 5.0;

/// Answers that do for a first try: stacks that every Linux has.
const STACKS: &str = "uds-stream,tcp,udp";
const LOAD: &str = "64 B at 1 kHz";

/// The size of the messages, and how often one is sent; `None`: round trips, one after the other.
type Load = (PayloadSize, Option<RateHz>);

/// Writes a suite file, and says what to do with it.
pub(crate) fn init(args: &InitArgs) -> Result {
    let file = &args.file;
    if file.extension().is_none_or(|e| e != "toml") {
        let shown = file.display();
        return Err(Failure::message(
            Code::Usage,
            format!(
                "the name of a suite file ends in .toml, unlike {shown}; write for example my-suite.toml"
            ),
        ));
    }
    let every = STACKS.split(',').map(str::to_owned).collect::<Vec<_>>();
    let load = load(LOAD).map_err(|why| Failure::message(Code::Error, why))?;
    create(file, &suite(&every, load, &GOALS[0])).map_err(|e| cannot(file, &e))?;
    let word = trust::shell_word(&file.to_string_lossy());
    terminal::print(&format!(
        "{}: a suite. Change it, then:\n  dyno run {word} --dry-run     what it measures, and how long that takes\n  dyno run {word}\n",
        file.display()
    ))?;
    Ok(Code::Success.into())
}

/// Asks what to measure, and makes that the suite of `args`: as a file, or for a dry run as a text alone.
pub(super) fn ask(args: &mut RunArgs, interrupt: &AtomicBool) -> Result<()> {
    if !terminal::can_ask() {
        return Err(Failure::message(
            Code::Usage,
            "no suite is named: name one, such as `dyno run quick` (`dyno list suites` lists all), or write your own with \
             `dyno init FILE`; on a terminal `dyno run` asks what to measure",
        ));
    }
    let catalog = files::catalog(&args.files)?;
    terminal::say(
        "No suite is named. Three questions create one; press Enter for the answer in brackets.",
    );
    let names = match args.stack.as_slice() {
        [] => question(
            "1. Which stacks talk? Names with commas between them, or all (`dyno list stacks` lists them)",
            STACKS,
            interrupt,
            |text| stacks(&catalog, text),
        )?,
        given => {
            stacks(&catalog, &given.join(",")).map_err(|why| Failure::message(Code::Usage, why))?
        }
    };
    let load = question(
        "2. How large are the messages, and how often is one sent? A size alone means round trips, one after the other",
        LOAD,
        interrupt,
        load,
    )?;
    let goal = question(
        "3. What matters: the median, the p99 or the p99.9?",
        GOALS[0].word,
        interrupt,
        |text| {
            let named = GOALS.iter().find(|g| g.word == text);
            named.ok_or_else(|| "write median, p99 or p99.9".to_owned())
        },
    )?;
    let text = suite(&names, load, goal);
    if args.dry_run {
        terminal::say("A dry run writes no suite file.");
        args.answers = Some(text);
        return Ok(());
    }
    let file = create_free(&text)?;
    terminal::say(format!(
        "The answers are in {}, with comments. The same again: {}",
        file.display(),
        again(&file, terminal::arguments())
    ));
    args.suite = Some(file.to_string_lossy().into_owned());
    Ok(())
}

/// The command that was `given`, `dyno run` without a suite, with this suite file. `--out` is left out: each run has a directory of its own.
fn again(file: &Path, given: Vec<String>) -> String {
    let mut command = format!("dyno run {}", trust::shell_word(&file.to_string_lossy()));
    let mut options = given.into_iter().skip(2);
    while let Some(word) = options.next() {
        if word == "--out" {
            options.next();
        } else if !word.starts_with("--out=") {
            command = format!("{command} {}", trust::shell_word(&word));
        }
    }
    command
}

/// Asks until the answer can be read; an empty one is `default`.
fn question<T>(
    text: &str,
    default: &str,
    interrupt: &AtomicBool,
    read: impl Fn(&str) -> std::result::Result<T, String>,
) -> Result<T> {
    loop {
        let typed = match terminal::prompt(&format!("{text} [{default}]"), interrupt) {
            Typed::Line(typed) => typed,
            Typed::Nothing => return Err(Failure::message(Code::Usage, "nothing was run")),
            Typed::Interrupted => {
                let text = "interrupted; nothing was run";
                return Err(Failure::message(Code::Interrupted, text));
            }
        };
        let answer = match typed.trim() {
            "" => default,
            answer => answer,
        };
        match read(answer) {
            Ok(value) => return Ok(value),
            Err(why) => terminal::say(why),
        }
    }
}

/// `all`, or names that the catalog has, with commas between them.
fn stacks(catalog: &Catalog, text: &str) -> std::result::Result<Vec<String>, String> {
    let one = |name: &str| match name.trim() {
        "all" => Ok("all".to_owned()),
        name => catalog.has_stack(name).map(|()| name.to_owned()),
    };
    text.split(',').map(one).collect()
}

/// `64 B at 1 kHz`, or `64 B`.
fn load(text: &str) -> std::result::Result<Load, String> {
    let (size, rate) = match text.split_once(" at ") {
        Some((size, rate)) => (size, Some(rate)),
        None => (text, None),
    };
    let rate = rate.map(|rate| rate.trim().parse::<RateHz>()).transpose();
    let size = size.trim().parse::<PayloadSize>();
    match (size, rate) {
        (Ok(size), Ok(rate)) => Ok((size, rate)),
        (Err(e), _) | (_, Err(e)) => Err(e.to_string()),
    }
}

/// The text of a suite file.
fn suite(stacks: &[String], (payload, rate): Load, goal: &Goal) -> String {
    let stacks = match stacks {
        all if all.iter().any(|name| name == "all") => "\"all\"".to_owned(),
        // A string of JSON is one of TOML.
        named => serde_json::Value::from(named.to_vec()).to_string(),
    };
    let round_trip = ROUND_TRIP_NS + PER_BYTE_NS * payload.bytes() as f64;
    let per_second = rate.map_or(1e9 / round_trip, RateHz::hz);
    let window = 1e3 * goal.samples / f64::from(goal.trials) / per_second;
    let window = (window.max(LEAST_WINDOW) / 100.0).ceil() * 100.0;
    let (title, name, workload) = match rate {
        Some(rate) => (
            format!("{payload} at {rate}"),
            "messages",
            format!(
                "# Messages one way, at fixed times. \"ping-pong\" sends the next message when the answer to the last one is there; it has no rate.\n\
                 workload = \"stream\"\nrate = \"{rate}\""
            ),
        ),
        None => (
            format!("Round trips of {payload}"),
            "round-trip",
            "# The next message is sent when the answer to the last one is there. \"stream\" sends messages one way, at a `rate`.\n\
             workload = \"ping-pong\""
                .to_owned(),
        ),
    };
    format!(
        "# A suite says what to measure. All keys: docs/reference/suite-files.md; the stacks: `dyno list stacks`.\n\
         title = \"{title}\"\n\
         \n\
         [defaults]\n\
         # A receiver sleeps until a message is there. \"spin\" asks for messages in a loop; \"natural\" takes what each stack does usually.\n\
         wait = \"block\"\n\
         # Each trial starts its processes afresh. More trials make intervals narrower.\n\
         trials = {trials}\n\
         # Messages before the window are not counted.\n\
         warmup = \"20 ms\"\n\
         # Messages in this time count. A p99 needs 368 samples of all trials together, a p99.9 needs 3,688.\n\
         window = \"{window} ms\"\n\
         \n\
         [[experiment]]\n\
         name = \"{name}\"\n\
         {workload}\n\
         payload = \"{payload}\"\n\
         # \"all\" takes every stack that can be used here.\n\
         stacks = {stacks}\n",
        trials = goal.trials,
    )
}

/// Writes a file that is not there yet.
fn create(file: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut opened = options.write(true).create_new(true).open(file)?;
    opened.write_all(text.as_bytes())
}

/// Writes `my-suite.toml`, or the first of `my-suite-2.toml`, … that is not there yet.
fn create_free(text: &str) -> Result<PathBuf> {
    let mut file = PathBuf::from(InitArgs::FILE);
    let mut number = 1;
    loop {
        match create(&file, text) {
            Ok(()) => return Ok(file),
            Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(cannot(&file, &e)),
            Err(_) => {
                number += 1;
                file = format!("my-suite-{number}.toml").into();
            }
        }
    }
}

fn cannot(file: &Path, e: &std::io::Error) -> Failure {
    let remedy = match e.kind() {
        ErrorKind::AlreadyExists => "; name another file",
        _ => "",
    };
    let text = format!("cannot create {}: {e}{remedy}", file.display());
    Failure::message(Code::Error, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_long_enough_for_what_matters() {
        let window = |text: &str, goal: usize| {
            let suite = suite(&["tcp".into()], load(text).unwrap(), &GOALS[goal]);
            let line = suite.lines().find(|l| l.starts_with("window")).unwrap();
            line.to_owned()
        };
        // 5 trials of 300 ms at 1 kHz have 1,500 samples.
        assert_eq!(window("64 B at 1 kHz", 0), "window = \"300 ms\"");
        assert_eq!(window("64 B at 10 Hz", 1), "window = \"20000 ms\"");
        assert_eq!(window("64 B at 1 kHz", 2), "window = \"1000 ms\"");
        assert_eq!(window("64 B", 2), "window = \"300 ms\"");
        assert_eq!(window("1 MiB", 2), "window = \"5400 ms\"");
    }

    #[test]
    fn the_same_again_has_all_options_but_the_directory() {
        let given =
            "dyno run --trials 2 --out a --set wait=spin --out=b --quiet --files=my\tfolder";
        let given = given.split(' ').map(str::to_owned).collect();
        assert_eq!(
            again(Path::new("my-suite.toml"), given),
            "dyno run my-suite.toml --trials 2 --set wait=spin --quiet '--files=my\tfolder'"
        );
    }

    #[test]
    fn a_load_that_cannot_be_read_says_why() {
        for (text, why) in [
            ("64", "unit"),
            ("64 B at 1", "unit"),
            ("at 1 kHz", "payload"),
        ] {
            let e = load(text).unwrap_err();
            assert!(e.contains(why), "{text}: {e}");
        }
    }

    #[test]
    fn every_suite_that_is_written_can_be_planned() {
        for (text, stacks) in [("64 B at 1 kHz", "all"), ("1 MiB", "tcp")] {
            let text = suite(&[stacks.into()], load(text).unwrap(), &GOALS[1]);
            let mut catalog = Catalog::builtin();
            catalog.add_suite("mine", "mine.toml", text.clone());
            let listed = catalog.suites();
            let own = listed.iter().find(|l| l.name == "mine").unwrap();
            assert_eq!(own.broken, None, "{text}");
        }
    }
}
