//! Chores as data: the commands that `test` and `lint` run, in order.

use crate::metadata::Metadata;
use crate::{Outcome, packages, web};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;

/// One command.
pub(crate) struct Step {
    /// What it is for, in a few words.
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    environment: Vec<(&'static str, String)>,
    /// Where it runs, if not where the chore does.
    directory: Option<PathBuf>,
}

fn cargo(name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step::new(name, "cargo", arguments)
}

impl Step {
    pub(crate) fn new(
        name: &'static str,
        program: &'static str,
        arguments: &'static [&'static str],
    ) -> Self {
        Step {
            name,
            program,
            arguments,
            environment: Vec::new(),
            directory: None,
        }
    }

    pub(crate) fn inside(mut self, directory: PathBuf) -> Self {
        self.directory = Some(directory);
        self
    }

    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.environment.retain(|(set, _)| *set != variable);
        self.environment.push((variable, value.into()));
        self
    }

    fn command_line(&self) -> String {
        let environment = self
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={value:?} "));
        let words = [self.program]
            .into_iter()
            .chain(self.arguments.iter().copied());
        let line = environment.collect::<String>() + &words.collect::<Vec<_>>().join(" ");
        match &self.directory {
            Some(directory) => format!("cd {directory:?} && {line}"),
            None => line,
        }
    }
}

/// Builds everything, with all features.
pub(crate) fn build() -> Step {
    cargo(
        "build",
        &[
            "build",
            "--workspace",
            "--all-targets",
            "--features",
            "dyno/full",
            "--locked",
        ],
    )
}

/// What a contributor runs before each commit: all unit tests, the conformance suite over the adapters that are
/// built in, and of the tests of the whole program those that measure little or nothing. None needs a package, a
/// browser, a C++ compiler or a library of an adapter. The suite's own tests are left out, whose adapters hang and
/// sleep for a minute and a half, and so are tests that simulate thousands of runs, wait for slow clients or draw
/// every table in every width.
pub(crate) fn fast() -> Vec<Step> {
    // The conformance suites of adapters wait for most of their time, and so do tests of the program that measure little.
    let threads = (2 * test_threads()).to_string();
    let test = |name, arguments| {
        cargo(name, arguments)
            .with("PROPTEST_RNG_SEED", SEED)
            .with("RUST_TEST_THREADS", threads.clone())
    };
    vec![
        test(
            "tests of the crates",
            &[
                "test",
                "--workspace",
                "--exclude",
                "dyno",
                "--exclude",
                "dyno-abi",
                "--exclude",
                "dyno-adapter-kuksa",
                "--exclude",
                "dyno-adapter-zenoh",
                "--exclude",
                "dyno-conformance",
                "--lib",
                "--bins",
                "--tests",
                "--locked",
                "--no-fail-fast",
                "--",
                "--skip",
                "planted_faults_are_found_in_nineteen_of_twenty",
                "--skip",
                "honest_tables_are_objected_to",
                "--skip",
                "two_hundred_clients_at_once",
                "--skip",
                "slow::",
                "--skip",
                "clusters_leave_the_interval_open",
                "--skip",
                "one_trial_when_there_is_nothing",
                "--skip",
                "trials_with_little_between_them",
                "--skip",
                "trials_with_much_between_them",
                "--skip",
                "three_trials",
                "--skip",
                "quantiles_of_one_sample_per_trial",
                "--skip",
                "rare_slow_trials_are_not_covered",
                "--skip",
                "short_windows_with_much",
                "--skip",
                "no_line_is_wider_than_asked",
            ],
        ),
        test(
            "tests of the boundary to libraries",
            &[
                "test",
                "--package",
                "dyno-abi",
                "--lib",
                "--test",
                "loader",
                "--test",
                "exported",
                "--locked",
            ],
        ),
        test(
            "tests of the program",
            &[
                "test",
                "--package",
                "dyno",
                "--features",
                "full",
                "--locked",
                "--",
                "bad_input::",
                "doctor::",
                "interface::",
                "judge::",
                "storage::",
                "commands::",
                "view::",
            ],
        ),
    ]
}

/// The same cases of the property tests each time: a change fails for what it changed. Without the variable,
/// `cargo test` draws new ones.
const SEED: &str = "20261121";

/// Kuksa's databroker, which no registry has: as the variable names it, or on the PATH.
///
/// # Errors
///
/// Where the variable names a program that is not there: the stand-in must not answer in its place.
fn databroker() -> Result<Option<PathBuf>, String> {
    let named = std::env::var_os("DYNO_KUKSA_DATABROKER");
    let program = PathBuf::from(named.clone().unwrap_or_else(|| "databroker".into()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|dir| dir.join(&program));
    // A name with a slash is a path, as for a shell.
    let found = match program.components().count() {
        1 => on_path.into_iter().find(|file| file.is_file()),
        _ => Some(program.clone()).filter(|file| file.is_file()),
    };
    match (found, named) {
        (None, Some(_)) => Err(format!(
            "DYNO_KUKSA_DATABROKER names {}, and there is no such program; correct it, or unset it to test with the stand-in",
            program.display()
        )),
        (found, _) => Ok(found),
    }
}

/// What the tests leave out on this machine, one line each.
pub(crate) fn not_tested() -> Vec<&'static str> {
    const DATABROKER: &str = "NOT TESTED: the stacks kuksa* with a real databroker, which DYNO_KUKSA_DATABROKER or the PATH names \
                              where there is one; a stand-in answered them";
    match databroker() {
        Ok(Some(_)) => Vec::new(),
        _ => vec![DATABROKER],
    }
}

/// Two more than there are CPUs: a test of the whole program waits for its windows most of the time.
fn test_threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from) + 2
}

/// Tests what was built, the page's scripts too. The loom models have a target directory of their own, because
/// their flags would make cargo build everything twice in turns.
pub(crate) fn test(metadata: &Metadata) -> Result<Vec<Step>, String> {
    let loom = metadata.target_directory.join("loom");
    let daemons = packages::daemons_in(metadata).join("bin");
    let path = std::env::var("PATH").unwrap_or_default();
    // The stand-in is an example of the adapter.
    let stand_in = metadata.target_directory.join("debug/examples/databroker");
    let databroker = databroker()?.unwrap_or(stand_in);
    Ok(vec![
        cargo(
            "tests and doc tests",
            &[
                "test",
                "--workspace",
                "--features",
                "dyno/full",
                "--locked",
                "--no-fail-fast",
            ],
        )
        .with("PROPTEST_RNG_SEED", SEED)
        .with("RUST_TEST_THREADS", test_threads().to_string())
        // What exports are for reads them: it was installed before, so that missing it is a failure.
        .with("DYNO_REQUIRE_READERS", "1")
        .with("DYNO_KUKSA_DATABROKER", databroker.to_string_lossy())
        .with("PATH", format!("{}:{path}", daemons.display())),
        web::tests(metadata),
        python(
            metadata,
            "the Python package",
            &["-m", "unittest", "discover", "-s", "python/tests"],
        ),
        python(
            metadata,
            "the action, templates, the dashboard and how-to pages",
            &["-m", "unittest", "discover", "-s", "ci/tests"],
        ),
        cargo(
            "loom models of the shared-memory exchange",
            &[
                "test",
                "--package",
                "dyno-adapter-floor",
                "--lib",
                "--release",
                "--locked",
            ],
        )
        .with("RUSTFLAGS", "--cfg loom")
        .with("CARGO_TARGET_DIR", loom.to_string_lossy()),
    ])
}

/// Tests in Python, with the readers of exports and the debug build of `dyno`.
fn python(metadata: &Metadata, name: &'static str, arguments: &'static [&'static str]) -> Step {
    let target = &metadata.target_directory;
    let path = std::env::var("PATH").unwrap_or_default();
    Step::new(name, "python", arguments)
        .inside(metadata.workspace_root.clone())
        .with(
            "PATH",
            format!("{}:{path}", target.join("python/bin").display()),
        )
        .with("DYNO_BIN", target.join("debug/dyno").to_string_lossy())
        .with("DYNO_REQUIRE_READERS", "1")
        .with("PYTHONDONTWRITEBYTECODE", "1")
}

/// The conformance suite over sanitized adapters in C and C++. Leaks are not looked for: the suite's own
/// leak case counts what matters, and libraries keep what they have until the process ends.
pub(crate) fn sanitize(target: &Path, preload: &str) -> Vec<Step> {
    const PROGRAMS: [&[&str]; 5] = [
        &[
            "test",
            "--locked",
            "-p",
            "dyno",
            "--test",
            "e2e",
            "libraries::",
        ],
        &["test", "--locked", "-p", "dyno-abi", "--test", "cyclonedds"],
        &["test", "--locked", "-p", "dyno-abi", "--test", "fastdds"],
        &["test", "--locked", "-p", "dyno-abi", "--test", "iceoryx"],
        &["test", "--locked", "-p", "dyno-abi", "--test", "vsomeip"],
    ];
    let step = |arguments: &'static [&'static str]| {
        cargo("sanitized conformance", arguments)
            .with(
                "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
                format!("env LD_PRELOAD={preload}"),
            )
            .with(
                "DYNO_ADAPTER_PATH",
                target.join("adapters-sanitized").to_string_lossy(),
            )
            // Fast DDS itself deletes one of its readers with another size than it has.
            .with("ASAN_OPTIONS", "detect_leaks=0:new_delete_type_mismatch=0")
            .with("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    };
    PROGRAMS.map(step).into_iter().collect()
}

/// What needs no test to be wrong.
pub(crate) fn lint() -> Vec<Step> {
    vec![
        cargo("formatting", &["fmt", "--all", "--check"]),
        cargo(
            "formatting of the bridge to DDS, which is no part of the workspace",
            &[
                "fmt",
                "--manifest-path",
                "daemons/dds-bridge/Cargo.toml",
                "--check",
            ],
        ),
        cargo(
            "clippy",
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--features",
                "dyno/full",
                "--locked",
                "--",
                "-D",
                "warnings",
            ],
        ),
        // Tests may unwrap; what ships may not.
        cargo(
            "clippy of what ships",
            &[
                "clippy",
                "--workspace",
                "--lib",
                "--bins",
                "--features",
                "dyno/full",
                "--locked",
                "--",
                "-D",
                "warnings",
                "-D",
                "clippy::unwrap_used",
            ],
        ),
        cargo(
            "clippy of a first build, which has no features",
            &["clippy", "--bins", "--locked", "--", "-D", "warnings"],
        ),
        cargo(
            "documentation",
            &[
                "doc",
                "--workspace",
                "--no-deps",
                "--features",
                "dyno/full",
                "--locked",
            ],
        )
        .with("RUSTDOCFLAGS", "-D warnings"),
    ]
}

/// `cargo deny`, which also knows of advisories.
pub(crate) fn deny() -> Vec<Step> {
    vec![cargo("cargo deny", &["--locked", "deny", "check"])]
}

/// Runs the steps in order, up to the first that fails. Test programs that failed are shown once more at the
/// end, since what ran after them may fill screens.
pub(crate) fn run(steps: &[Step]) -> Outcome {
    for step in steps {
        println!("── {}: {}", step.name, step.command_line());
        let mut command = Command::new(step.program);
        command
            .args(step.arguments)
            .envs(step.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &step.directory {
            command.current_dir(directory);
        }
        let mut failures = Failures::default();
        let status = if step.arguments.first() == Some(&"test") {
            watched(&mut command, |line| failures.read(line))
        } else {
            command.status()
        }
        .map_err(|e| format!("cannot start {}: {e}", step.program))?;
        if !status.success() {
            println!("{}", failures.shown());
            return Err(format!(
                "{} failed ({status}): {}",
                step.name,
                step.command_line()
            ));
        }
    }
    Ok(())
}

/// Runs a command, passes on what it prints, and shows each line of it.
fn watched(command: &mut Command, mut show: impl FnMut(&str)) -> std::io::Result<ExitStatus> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (tell, told) = mpsc::channel();
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|s| Box::new(s) as _),
        child.stderr.take().map(|s| Box::new(s) as _),
    ];
    for stream in streams.into_iter().flatten() {
        let tell = tell.clone();
        std::thread::spawn(move || {
            let lines = BufReader::new(stream).split(b'\n');
            for line in lines.map_while(Result::ok) {
                let _ = tell.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
    }
    drop(tell);
    for line in told {
        println!("{line}");
        show(&line);
    }
    child.wait()
}

/// What `cargo test` said of the test programs that failed.
#[derive(Default)]
struct Failures {
    /// Of the program that runs now.
    program: Vec<String>,
    failed: bool,
    shown: Vec<String>,
}

impl Failures {
    /// Lines of one program that are shown again at most.
    const MOST: usize = 200;

    fn read(&mut self, line: &str) {
        let begun = line.trim_start();
        if begun.starts_with("Running ") || begun.starts_with("Doc-tests ") {
            self.end_program();
        }
        self.failed |= line.starts_with("error: test failed") || line.starts_with("error: doctest");
        if !(line.starts_with("test ") && line.ends_with("... ok")) {
            self.program.push(line.to_owned());
        }
    }

    fn end_program(&mut self) {
        let program = std::mem::take(&mut self.program);
        if std::mem::take(&mut self.failed) {
            let first = program.len().saturating_sub(Self::MOST);
            self.shown.extend(program.into_iter().skip(first));
        }
    }

    /// The lines of all that failed; empty where nothing did.
    fn shown(mut self) -> String {
        self.end_program();
        if self.shown.is_empty() {
            return String::new();
        }
        format!("── what failed, once more\n{}", self.shown.join("\n"))
    }
}

/// Whether a command can be started and succeeds; its output is thrown away.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_line_can_be_pasted_into_a_shell() {
        let step = cargo("models", &["test", "--lib"]).with("RUSTFLAGS", "--cfg loom");
        assert_eq!(
            step.command_line(),
            r#"RUSTFLAGS="--cfg loom" cargo test --lib"#
        );
        let step = Step::new("page", "npm", &["test"]).inside("a page".into());
        assert_eq!(
            step.with("CI", "1").command_line(),
            r#"cd "a page" && CI="1" npm test"#
        );
    }

    #[test]
    fn a_step_runs_where_it_is_told_to() {
        let step = |program| Step::new("here", program, &["-e", "main.rs"]);
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
        assert!(run(&[step("test").inside(source)]).is_ok());
        assert!(run(&[step("test").inside("/".into())]).is_err());
    }

    #[test]
    fn only_what_failed_is_shown_once_more() {
        let mut failures = Failures::default();
        for line in [
            "     Running tests/a.rs",
            "test fine ... ok",
            "test bad ... FAILED",
            "error: test failed, to rerun pass `-p a --test a`",
            "     Running tests/b.rs",
            "test also_fine ... ok",
            "   Doc-tests c",
        ] {
            failures.read(line);
        }
        assert_eq!(
            failures.shown().lines().skip(1).collect::<Vec<_>>(),
            [
                "     Running tests/a.rs",
                "test bad ... FAILED",
                "error: test failed, to rerun pass `-p a --test a`",
            ]
        );
    }

    #[test]
    fn the_first_failure_ends_a_chore_and_is_named() {
        let step = |name, program| Step::new(name, program, &[]);
        let steps = [
            step("good", "true"),
            step("bad", "false"),
            step("never", "/nonexistent"),
        ];
        let error = run(&steps).unwrap_err();
        assert!(error.starts_with("bad failed"), "{error}");
    }
}
