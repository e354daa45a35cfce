//! A scratch place in which tests write suites and stacks, run `dyno`, and read what it stored.

use dyno_model::cause::{Cause, FailureCause};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A long wait for a thing that must happen; never a bound on speed.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Place {
    dir: TempDir,
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(o: Output) -> Self {
        Ended {
            status: o.status,
            stdout: String::from_utf8_lossy(&o.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&o.stderr).into_owned(),
        }
    }
}

impl Ended {
    #[track_caller]
    pub(crate) fn with_code(self, code: i32) -> Self {
        assert_eq!(
            self.status.code(),
            Some(code),
            "\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        let all = format!("{}{}", self.stdout, self.stderr);
        // Diagnostics are wrapped to the terminal's width.
        let flat: String = all.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(text), "{text:?} is not in:\n{all}");
        self
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = TempDir::with_prefix("e2e").unwrap();
        for kind in ["suites", "stacks", "testbeds", "tmp"] {
            std::fs::create_dir(dir.path().join(kind)).unwrap();
        }
        Place { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes `suites/NAME.toml`.
    pub(crate) fn suite(&self, name: &str, text: &str) -> &Self {
        self.file(&format!("suites/{name}.toml"), text)
    }

    /// Writes `stacks/NAME.toml`.
    pub(crate) fn stack(&self, name: &str, text: &str) -> &Self {
        self.file(&format!("stacks/{name}.toml"), text)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    /// A suite of round trips that differs from others in its `[defaults]` and its stacks alone.
    pub(crate) fn round_trips(&self, name: &str, defaults: &str, stacks: &[&str]) -> &Self {
        self.suite(
            name,
            &format!(
                "title = \"{name}\"\n[defaults]\nwarmup_messages = 2\n{defaults}\n[[experiment]]\n\
                 name = \"round-trip\"\nworkload = \"ping-pong\"\nstacks = {stacks:?}\n"
            ),
        )
    }

    /// The content of a JSON file.
    #[track_caller]
    pub(crate) fn json(&self, name: &str) -> Value {
        let text = std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The names of a run's trials, without endings.
    pub(crate) fn trial_names(&self, run: &str) -> BTreeSet<String> {
        let files = std::fs::read_dir(self.path(run).join("trials")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let stems = names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()));
        stems.collect()
    }

    /// The trials of a run as they are stored, by experiment and number.
    pub(crate) fn trials(&self, run: &str) -> Vec<Value> {
        let names = self.trial_names(run).into_iter();
        let read = |name| self.json(&format!("{run}/trials/{name}.json"));
        names.map(read).collect()
    }

    /// `dyno` with its own temporary directory, working in this place.
    pub(crate) fn dyno(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dyno"));
        // Other tests run beside this one and disturb its trials, which would then be repeated.
        let counts_trials = arguments.first() == Some(&"run")
            && !arguments.contains(&"--repeats")
            && !arguments.contains(&"--resume");
        command
            .args(arguments)
            .args(
                counts_trials
                    .then_some(["--repeats", "0"])
                    .into_iter()
                    .flatten(),
            )
            .current_dir(self.dir.path())
            .env("TMPDIR", self.path("tmp"))
            .env("DYNO_FILES", self.dir.path())
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.dyno(arguments).output().unwrap().into()
    }

    /// Runs lines of a shell in this place, `dyno` first in its path, up to the first that fails.
    pub(crate) fn shell(&self, lines: &str) -> Ended {
        let program = Path::new(env!("CARGO_BIN_EXE_dyno")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        Command::new("bash")
            .args(["-euxc", lines])
            .current_dir(self.dir.path())
            .env("HOME", self.dir.path())
            .env("TMPDIR", self.path("tmp"))
            .env_remove("COLUMNS")
            .env("PATH", format!("{}:{path}", program.display()))
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .into()
    }

    /// Runs a suite into `out` and returns what `dyno show` says of it.
    #[track_caller]
    pub(crate) fn measure(&self, suite: &str, more: &[&str]) -> Value {
        let mut arguments = vec!["run", suite, "--out", "out", "--quiet"];
        arguments.extend(more);
        self.run(&arguments).with_code(0);
        self.show("out")
    }

    #[track_caller]
    pub(crate) fn show(&self, run: &str) -> Value {
        let shown = self.run(&["show", run, "--format", "json"]);
        serde_json::from_str(&shown.stdout)
            .unwrap_or_else(|e| panic!("{e}\n{}\n{}", shown.stdout, shown.stderr))
    }

    /// Starts a run in the background, its output kept.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let child = self
            .dyno(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Running { child }
    }

    /// What lies in the temporary directory that `dyno` was given.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        files_below(&self.path("tmp"))
    }
}

/// The commands of a page of the documentation: its blocks marked `sh`, in order.
#[track_caller]
pub(crate) fn commands(page: &str) -> String {
    let blocks = page.split("```sh\n").skip(1);
    let inside = |block: &str| match block.split_once("```") {
        Some((lines, _)) => lines.to_owned(),
        None => panic!("a block is not closed:\n{block}"),
    };
    blocks.map(inside).collect()
}

fn files_below(path: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        all.push(entry.path());
        all.extend(files_below(&entry.path()));
    }
    all
}

/// A `dyno run` in the background.
pub(crate) struct Running {
    child: Child,
}

impl Running {
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Waits until the run has `n` agents and returns their ids, in the order of their start.
    #[track_caller]
    pub(crate) fn agents(&self, n: usize) -> Vec<i32> {
        wait_for(&format!("{n} agents"), || {
            let agents = children(self.pid());
            (agents.len() == n).then_some(agents)
        })
    }

    pub(crate) fn signal(&self, signal: i32) {
        send(self.pid(), signal);
    }

    pub(crate) fn end(self) -> Ended {
        self.child.wait_with_output().unwrap().into()
    }
}

pub(crate) fn send(pid: i32, signal: i32) {
    // SAFETY: kill touches no memory; the ids are of processes that this test started.
    unsafe { libc::kill(pid, signal) };
}

pub(crate) fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|s| !s.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

/// The live children of a process that have become agents.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let mut all = all_children(pid);
    all.retain(|p| {
        let arguments = std::fs::read(format!("/proc/{p}/cmdline")).unwrap_or_default();
        arguments.ends_with(b"\0agent\0")
    });
    all
}

/// The live children of a process.
pub(crate) fn all_children(pid: i32) -> Vec<i32> {
    let mut all: Vec<i32> = Vec::new();
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    for task in tasks {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(
            text.split_whitespace()
                .filter_map(|p| p.parse::<i32>().ok()),
        );
    }
    all.retain(|p| is_alive(*p));
    all.sort_unstable();
    all
}

#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LONG;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited {LONG:?} for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A document follows a schema of `docs/reference`.
#[track_caller]
pub(crate) fn is_as_the_schema_says(document: &Value, schema: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/");
    let mut schemas = boon::Schemas::new();
    let index = boon::Compiler::new()
        .compile(&format!("{folder}{schema}"), &mut schemas)
        .unwrap();
    if let Err(e) = schemas.validate(document, index) {
        panic!("{e:#}");
    }
}

/// Why a stored trial failed, in words; empty where it did not.
pub(crate) fn failure(trial: &Value) -> String {
    let cause: Option<Cause<FailureCause>> =
        serde_json::from_value(trial["failure"].clone()).unwrap();
    cause.map(|cause| cause.to_string()).unwrap_or_default()
}

/// The experiments of `dyno show --format json`, without those added for the floor.
pub(crate) fn experiments(shown: &Value) -> &Vec<Value> {
    shown["experiments"].as_array().unwrap()
}

/// The experiments on one stack.
#[track_caller]
pub(crate) fn on_stack<'a>(shown: &'a Value, stack: &str) -> &'a Value {
    experiments(shown)
        .iter()
        .find(|e| e["stack"] == stack)
        .unwrap_or_else(|| panic!("no experiment on {stack} in {shown:#}"))
}

#[track_caller]
pub(crate) fn count(experiment: &Value, name: &str) -> u64 {
    experiment["counts"][name]
        .as_u64()
        .unwrap_or_else(|| panic!("no count {name} in {experiment:#}"))
}

/// A quantile in nanoseconds; infinite where the message of that rank was lost. Of one that is refused because its
/// interval is too wide, such as that of a single trial with a stall in it, the interval's upper end.
#[track_caller]
pub(crate) fn quantile(experiment: &Value, metric: &str, name: &str) -> f64 {
    let wide = &experiment["metrics"][metric][format!("{name}_refused")]["wide"];
    if wide.is_object() {
        return wide["hi"].as_f64().unwrap_or(f64::INFINITY);
    }
    let q = &experiment["metrics"][metric][name];
    if q["infinite"] == true {
        return f64::INFINITY;
    }
    q["value"]
        .as_f64()
        .unwrap_or_else(|| panic!("no {metric} {name} in {experiment:#}"))
}
