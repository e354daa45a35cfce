//! Commands that chores run: announced, watched, and ended at the first that fails.

use crate::Outcome;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How a step ended; of `cargo test`, what failed.
type Ended = Result<(ExitStatus, Failures), String>;

/// One command.
pub(crate) struct Step {
    /// What it is for, in a few words.
    name: &'static str,
    /// The program and its arguments.
    words: Vec<String>,
    environment: Vec<(&'static str, String)>,
    /// Where it runs, if not where the chore does.
    directory: Option<PathBuf>,
    /// Of `cargo test`: the options that select test programs.
    programs: Vec<String>,
    /// Whether a test that fails runs once more, alone.
    repeats: bool,
}

pub(crate) fn cargo(name: &'static str, arguments: &str) -> Step {
    Step::new(name, &format!("cargo {arguments}"))
}

impl Step {
    /// The program and its arguments, with blanks between them.
    pub(crate) fn new(name: &'static str, line: &str) -> Self {
        Step {
            name,
            words: line.split_whitespace().map(str::to_owned).collect(),
            environment: Vec::new(),
            directory: None,
            programs: Vec::new(),
            repeats: false,
        }
    }

    /// A step of `cargo test` that tries failed tests again, each alone: beside others, a test of the whole program can meet a
    /// machine that has no time for it (docs/adr/0043). If one fails alone as well, the step has failed.
    pub(crate) fn repeating(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// With one more argument, which may hold blanks.
    pub(crate) fn and(mut self, argument: &str) -> Self {
        self.words.push(argument.to_owned());
        self
    }

    /// A step of `cargo test` for these programs only, such as `--test e2e`.
    pub(crate) fn of(mut self, programs: &str) -> Self {
        self.programs = programs.split_whitespace().map(str::to_owned).collect();
        self
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

    /// Runs it; of `cargo test`, what failed.
    fn run(&self) -> Ended {
        if self.words.get(1).is_some_and(|word| word == "test") {
            return self.watch(|line| println!("{line}"));
        }
        println!("── {}: {}", self.name, self.command_line());
        let status = self.command().status().map_err(|e| self.not_started(&e))?;
        Ok((status, Failures::default()))
    }

    /// Runs it beside other steps, and gives all that it printed, so that no line of theirs comes in between.
    fn run_beside(&self) -> (String, Ended) {
        let started = Instant::now();
        let mut printed = String::new();
        let mut ended = self.watch(|line| printed.extend([line, "\n"]));
        if let Ok((status, failures)) = &mut ended
            && !status.success()
        {
            failures.shown = last(printed.lines().map(str::to_owned).collect());
        }
        let seconds = started.elapsed().as_secs();
        printed += &format!(
            "── {}: ended after {seconds} s, beside other tests",
            self.name
        );
        (printed, ended)
    }

    /// Runs it, and shows each line of it.
    fn watch(&self, mut show: impl FnMut(&str)) -> Ended {
        show(&format!("── {}: {}", self.name, self.command_line()));
        let mut failures = Failures::default();
        let status = watched(&mut self.command(), |line| {
            show(line);
            failures.read(line);
        });
        failures.end_program();
        Ok((status.map_err(|e| self.not_started(&e))?, failures))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command
            .args(self.words[1..].iter().chain(&self.programs))
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }

    fn not_started(&self, error: &std::io::Error) -> String {
        format!("cannot start {}: {error}", self.words[0])
    }

    fn failed(&self, status: ExitStatus) -> String {
        format!("{} failed ({status}): {}", self.name, self.command_line())
    }

    /// The same `cargo test` for some tests of one program, such as `-p dyno --test e2e`, one after the other. All packages stay
    /// selected: with fewer, cargo would build libraries again with fewer features.
    fn only(&self, program: &str, names: &[String]) -> Step {
        let program = program.split_whitespace().skip(2).map(str::to_owned);
        let of_harness = ["--", "--exact", "--test-threads=1"].map(str::to_owned);
        let rest = program.chain(of_harness).chain(names.iter().cloned());
        Step {
            name: "once more, alone",
            words: self.words.clone(),
            environment: self.environment.clone(),
            directory: self.directory.clone(),
            programs: rest.collect(),
            repeats: false,
        }
    }

    fn command_line(&self) -> String {
        let environment = self
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={value:?} "));
        let words = [&self.words[..], &self.programs].concat();
        let line = environment.collect::<String>() + &words.join(" ");
        match &self.directory {
            Some(directory) => format!("cd {directory:?} && {line}"),
            None => line,
        }
    }
}

/// Runs the steps in order, up to the first that fails.
pub(crate) fn run(steps: &[Step]) -> Outcome {
    steps.iter().try_for_each(|step| {
        let (status, failures) = step.run()?;
        if status.success() {
            return Ok(());
        }
        println!("{}", failures.shown());
        Err(step.failed(status))
    })
}

/// Runs the first step alone, then the steps of two lanes, one lane beside the other. A step that fails keeps no other
/// from running: what failed is shown and tried again when nothing else runs.
pub(crate) fn run_in_lanes<'a>(alone: &'a Step, lanes: [&'a [Step]; 2]) -> Outcome {
    let shown = |step| (step, Step::run(step));
    let beside = |step: &'a Step| {
        println!("── {} beside the tests that follow", step.name);
        let (printed, ended) = step.run_beside();
        println!("{printed}");
        (step, ended)
    };
    let whole = shown(alone);
    let (first, second) = both(
        || lanes[0].iter().map(shown).collect::<Vec<_>>(),
        || lanes[1].iter().map(beside).collect::<Vec<_>>(),
    );
    judge(std::iter::once(whole).chain(first).chain(second))
}

/// Does two things at once; both come to their end, also where the other one fails.
pub(crate) fn both_succeed(
    first: impl FnOnce() -> Outcome,
    second: impl FnOnce() -> Outcome + Send,
) -> Outcome {
    match both(first, second) {
        (Err(first), Err(second)) => Err(format!("{first}\n{second}")),
        (first, second) => first.and(second),
    }
}

/// Does two things at once, and gives what both give.
fn both<T, U: Send>(first: impl FnOnce() -> T, second: impl FnOnce() -> U + Send) -> (T, U) {
    std::thread::scope(|scope| {
        let second = scope.spawn(second);
        let first = first();
        // Its thread has said why it panicked.
        let second = second.join().unwrap_or_else(|e| resume_unwind(e));
        (first, second)
    })
}

/// Runs failed tests once more, if they are few and nothing else failed. Test programs that failed are shown once more
/// before, since what ran after them may fill screens.
fn judge<'a>(ended: impl IntoIterator<Item = (&'a Step, Ended)>) -> Outcome {
    // Certain is a failure that is not of a few tests.
    let (mut errors, mut again, mut is_certain) = (Vec::new(), Vec::new(), false);
    for (step, ended) in ended {
        match ended {
            Ok((status, _)) if status.success() => {}
            Ok((status, failures)) => {
                let named = failures.named(step.repeats, status);
                println!("{}", failures.shown());
                errors.push(step.failed(status));
                is_certain |= named.is_empty();
                let named = named.into_iter();
                again.extend(named.map(|(program, names)| (step, program, names)));
            }
            Err(error) => {
                errors.push(error);
                is_certain = true;
            }
        }
    }
    let number: usize = again.iter().map(|(_, _, names)| names.len()).sum();
    if is_certain || number > MOST_AGAIN {
        return Err(errors.join("\n"));
    }
    let mut unsteady = Vec::new();
    let outcome = again.iter().try_for_each(|(step, program, names)| {
        let again = step.only(program, names);
        let (status, failures) = again.run()?;
        // Names that no program knows are no failure for cargo.
        if !status.success() || failures.passed < names.len() {
            println!("{}", failures.shown());
            return Err(again.failed(status));
        }
        unsteady.extend(names.iter().map(|name| format!("{program}: {name}")));
        Ok(())
    });
    for name in unsteady {
        println!("── UNSTEADY: {name} failed beside other tests and passed alone");
    }
    outcome
}

/// Where more tests fail than these, a change broke them.
const MOST_AGAIN: usize = 5;

/// Runs a command and shows each line that it prints. Both streams are one pipe, so that lines come in the order in
/// which they were written.
fn watched(command: &mut Command, mut show: impl FnMut(&str)) -> std::io::Result<ExitStatus> {
    let (printed, pipe) = std::io::pipe()?;
    let started = command.stdout(pipe.try_clone()?).stderr(pipe).spawn();
    // The pipe ends when the command does: no end of it may stay here.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = started?;
    let (lines, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut all = BufReader::new(printed).split(b'\n');
        all.try_for_each(|line| lines.send(line))
    });
    loop {
        match read.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => show(&String::from_utf8_lossy(&line?)),
            Err(RecvTimeoutError::Disconnected) => break,
            // What it left running holds the pipe, and nobody waits for that.
            Err(RecvTimeoutError::Timeout) if child.try_wait()?.is_some() => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    child.wait()
}

/// The last lines, as many as are shown again of one program at most.
fn last(mut lines: Vec<String>) -> Vec<String> {
    lines.split_off(lines.len().saturating_sub(200))
}

/// What `cargo test` said of the test programs that failed.
#[derive(Default)]
struct Failures {
    /// Of the program that runs now.
    program: Vec<String>,
    failed: bool,
    /// The lines that may be names, since its last line `failures:`.
    listed: Vec<String>,
    /// They, once it said that they are so many.
    names: Vec<String>,
    shown: Vec<String>,
    /// Tests that passed, of all programs.
    passed: usize,
    /// Programs that failed, and how many cargo counted at its end.
    programs: usize,
    counted: Option<usize>,
    /// A program ended otherwise than a harness does whose tests failed.
    died: bool,
    /// The tests that failed, by the options of cargo that select their program, such as `-p dyno --test e2e`.
    tests: BTreeMap<String, Vec<String>>,
}

impl Failures {
    fn read(&mut self, line: &str) {
        let begun = line.trim_start();
        if begun.starts_with("Running ") || begun.starts_with("Doc-tests ") {
            self.end_program();
        }
        if line.starts_with("error: test failed") || line.starts_with("error: doctest") {
            self.failed = true;
            self.programs += 1;
            self.add_tests(line);
        }
        // Cargo gives the reason of an end that is not the harness's own, such as a signal.
        self.died |= self.failed && line == "Caused by:";
        if !(line.starts_with("test ") && line.ends_with("... ok")) {
            self.program.push(line.to_owned());
        }
        self.read_of_harness(line);
        let counted = line.strip_prefix("error: ").and_then(number_before);
        if let Some((n, "target failed:" | "targets failed:")) = counted {
            self.counted = Some(n);
        }
    }

    /// The harness prints what failed tests printed, then their names, then how many they are: names count where they are as many.
    fn read_of_harness(&mut self, line: &str) {
        if line == "failures:" {
            self.listed.clear();
        } else if let Some(name) = line.strip_prefix("    ")
            && !name.contains(' ')
        {
            self.listed.push(name.to_owned());
        } else if let Some(result) = line.strip_prefix("test result: ") {
            let mut parts = result.split([';', '.']).map(str::trim);
            let number = |word| {
                parts
                    .clone()
                    .filter_map(number_before)
                    .find(|p| p.1 == word)
            };
            self.passed += number("passed").map_or(0, |p| p.0);
            let failed = number("failed").map_or(0, |p| p.0);
            let listed = std::mem::take(&mut self.listed);
            if parts.next() == Some("FAILED") && listed.len() == failed {
                self.names = listed;
            }
        }
    }

    /// From cargo's line about a program that failed. Of a doc test the harness lists a place and no name.
    fn add_tests(&mut self, line: &str) {
        let names = std::mem::take(&mut self.names);
        let program = line
            .split_once("to rerun pass `")
            .map(|(_, rest)| rest.trim_end_matches('`'))
            .filter(|program| program.starts_with("-p ") && !program.ends_with("--doc"));
        if let Some(program) = program.filter(|_| !names.is_empty()) {
            self.tests.insert(program.to_owned(), names);
        }
    }

    fn end_program(&mut self) {
        self.listed.clear();
        self.names.clear();
        let program = std::mem::take(&mut self.program);
        if std::mem::take(&mut self.failed) {
            self.shown.extend(last(program));
        }
    }

    /// The tests to try again: all that failed, if each has a name and nothing else failed.
    fn named(&self, repeats: bool, status: ExitStatus) -> BTreeMap<String, Vec<String>> {
        // Cargo ends with 101 where tests failed, and then it has run all programs.
        let all_ran = status.code() == Some(101) && self.counted == Some(self.programs);
        let all_have_names = self.tests.len() == self.programs && !self.died;
        match repeats && all_ran && all_have_names {
            true => self.tests.clone(),
            false => BTreeMap::new(),
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

/// `3` and `passed` of `3 passed`.
fn number_before(text: &str) -> Option<(usize, &str)> {
    let (number, rest) = text.split_once(' ')?;
    Some((number.parse().ok()?, rest))
}

/// Runs a command that must succeed; what it prints is seen.
pub(crate) fn done(command: &mut Command) -> Outcome {
    let program = command.get_program().display().to_string();
    let status = command.status();
    let status = status.map_err(|e| format!("cannot start {program}: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{command:?} failed ({status})")),
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

/// What a command prints, without the blanks around it.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|e| format!("cannot start {name}: {e}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!(
            "{name} failed ({}): {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

/// What a program prints that is given these arguments.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Result<String, String> {
    output(Command::new(program).args(arguments))
}

/// Runs CMake; what it printed is shown only where it fails.
pub(crate) fn cmake(arguments: &[&str]) -> Outcome {
    let output = Command::new("cmake")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("cannot start cmake: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    let last = lines.split_at(lines.len().saturating_sub(60)).1;
    Err(format!(
        "cmake {} failed ({}):\n{}",
        arguments.join(" "),
        output.status,
        last.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_line_can_be_pasted_into_a_shell() {
        let step = cargo("models", "test --lib").with("RUSTFLAGS", "--cfg loom");
        assert_eq!(
            step.command_line(),
            r#"RUSTFLAGS="--cfg loom" cargo test --lib"#
        );
        let step = Step::new("page", "npm test").inside("a page".into());
        assert_eq!(
            step.with("CI", "1").command_line(),
            r#"cd "a page" && CI="1" npm test"#
        );
    }

    #[test]
    fn a_step_runs_where_it_is_told_to() {
        let step = |program| Step::new("here", &format!("{program} -e main.rs"));
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
        assert!(run(&[step("test").inside(source)]).is_ok());
        assert!(run(&[step("test").inside("/".into())]).is_err());
    }

    /// What cargo and its programs print where two tests of one program and a doc test fail.
    const PRINTED: [&str; 22] = [
        "     Running tests/a.rs",
        "test fine ... ok",
        "test bad ... FAILED",
        "failures:",
        "---- bad stdout ----",
        "    no_test",
        "failures:",
        "    bad",
        "    worse",
        "",
        "test result: FAILED. 1 passed; 2 failed; 0 ignored; finished in 0.00s",
        "error: test failed, to rerun pass `-p a --test all`",
        "     Running tests/b.rs",
        "    | a warning",
        "    |",
        "test also_fine ... ok",
        "test result: ok. 1 passed; 0 failed; 0 ignored; finished in 0.00s",
        "   Doc-tests c",
        "failures:",
        "    c/src/lib.rs - (line 3)",
        "test result: FAILED. 0 passed; 1 failed; 0 ignored; finished in 0.00s",
        "error: doctest failed, to rerun pass `-p c --doc`",
    ];
    /// The lines of the first program.
    const FIRST: usize = 12;

    fn read(lines: &[&str]) -> Failures {
        let mut failures = Failures::default();
        lines.iter().for_each(|line| failures.read(line));
        failures
    }

    /// How a shell ends with that code.
    fn code(code: i32) -> ExitStatus {
        use std::os::unix::process::ExitStatusExt;
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn only_what_failed_is_shown_once_more() {
        let shown = read(&PRINTED).shown();
        let shown: Vec<&str> = shown.lines().skip(1).collect();
        assert_eq!(
            &shown[..2],
            ["     Running tests/a.rs", "test bad ... FAILED"]
        );
        assert!(!shown.iter().any(|line| line.contains("tests/b.rs")));
        assert_eq!(shown.last(), PRINTED.last());
    }

    #[test]
    fn few_failed_tests_are_tried_again_alone() {
        let first = [&PRINTED[..FIRST], &["error: 1 target failed:"]].concat();
        let failures = read(&first);
        let named = failures.named(true, code(101));
        let program = "-p a --test all";
        let expected = vec!["bad".to_owned(), "worse".to_owned()];
        assert_eq!(named, BTreeMap::from([(program.to_owned(), expected)]));
        assert!(failures.named(false, code(101)).is_empty());
        let step = cargo("all", "test --workspace").with("A", "1").repeating();
        assert_eq!(
            step.only(program, &named[program]).command_line(),
            r#"A="1" cargo test --workspace --test all -- --exact --test-threads=1 bad worse"#
        );
    }

    /// Each of these is a failure of its own kind, or not surely of the tests that have a name.
    #[test]
    fn nothing_is_tried_again_where_more_failed_than_a_few_tests() {
        let end = "error: 1 target failed:";
        let first = &PRINTED[..FIRST];
        let without = |line: &str| -> Vec<&str> {
            let rest = first.iter().copied().filter(|l| *l != line);
            rest.chain([end]).collect()
        };
        let named = "error: test failed, to rerun pass `-p a --test all`";
        let cases: [Vec<&str>; 7] = [
            // Cargo did not come to its end.
            first.to_vec(),
            // The doc test has no name.
            [&PRINTED[..], &["error: 2 targets failed:"]].concat(),
            // A name is missing, or the number of names.
            without("    worse"),
            without(PRINTED[10]),
            // The harness was killed.
            [first, &["", "Caused by:", "  process did not exit", end]].concat(),
            // A program that listed nothing, after lines that look like a name.
            vec!["     Running a", "    |", named, end],
            vec![
                "     Running a",
                "failures:",
                "    one",
                "     Running b",
                named,
                end,
            ],
        ];
        for lines in cases {
            let named = read(&lines).named(true, code(101));
            assert!(named.is_empty(), "{named:?} of {lines:#?}");
        }
        let ended = [first, &[end]].concat();
        assert!(read(&ended).named(true, code(1)).is_empty());
        // Three and three are more than a few.
        let names = ["failures:", "    a", "    b", "    c"];
        let result = "test result: FAILED. 0 passed; 3 failed; 0 ignored";
        let many = [&names[..], &[result, named, end]].concat();
        let step = Step::new("tests", "/nonexistent test").repeating();
        let three = || (&step, Ok((code(101), read(&many))));
        let error = judge(vec![three(), three()]).unwrap_err();
        assert!(!error.contains("cannot start"), "{error}");
        let tried = judge(vec![three()]).unwrap_err();
        assert!(tried.starts_with("cannot start"), "{tried}");
    }

    /// A program of one test, which fails always, fails the first time, or is unknown the second time.
    #[test]
    fn a_test_that_does_not_pass_alone_fails_the_step() {
        let scratch = std::env::temp_dir().join(format!("xtask-again-{}", std::process::id()));
        let told = "failures:\n    it\n\ntest result: FAILED. 0 passed; 1 failed\n\
                    error: test failed, to rerun pass `-p a --lib`\nerror: 1 target failed:\n";
        for (first, then, expected) in [
            (
                "[ -e seen ] ||",
                "test result: ok. 1 passed; 0 failed",
                true,
            ),
            (
                "[ -e seen ] ||",
                "test result: ok. 0 passed; 0 failed",
                false,
            ),
            ("", "", false),
        ] {
            std::fs::create_dir_all(&scratch).unwrap();
            let script = format!(
                "{first} {{ touch seen; printf '{told}' >&2; exit 101; }}\necho '{then}'\n"
            );
            std::fs::write(scratch.join("test"), script).unwrap();
            let step = || Step::new("tests", "sh test").inside(scratch.clone());
            assert!(run_in_lanes(&step(), [&[], &[]]).is_err());
            std::fs::remove_file(scratch.join("seen")).unwrap();
            let repeating = step().repeating();
            assert_eq!(run_in_lanes(&repeating, [&[], &[]]).is_ok(), expected);
            std::fs::remove_dir_all(&scratch).unwrap();
        }
    }

    /// A shell script, which leaves a file when it begins.
    fn script(name: &'static str, line: &str, directory: &tempfile::TempDir) -> Step {
        let line = format!("touch {name}; {line}");
        let step = Step::new(name, "sh -c").and(&line);
        step.inside(directory.path().to_owned())
    }

    #[test]
    fn lanes_run_side_by_side_after_the_first_step() {
        let scratch = tempfile::tempdir().unwrap();
        let wait_for = |file| {
            format!("for _ in $(seq 3000); do [ -e {file} ] && exit; sleep 0.01; done; exit 1")
        };
        let first = script("first", "[ ! -e a ] && [ ! -e b ]", &scratch);
        // They succeed only where they run at once.
        let a = script("a", &wait_for("b"), &scratch);
        let b = script("b", &wait_for("a"), &scratch);
        assert_eq!(run_in_lanes(&first, [&[a], &[b]]), Ok(()));
    }

    #[test]
    fn a_step_that_fails_in_any_lane_is_named_and_keeps_no_other_from_running() {
        for failing in ["first", "a", "b"] {
            let scratch = tempfile::tempdir().unwrap();
            let script = |name| {
                let line = if name == failing { "exit 3" } else { "true" };
                script(name, line, &scratch)
            };
            let lanes = [[script("a"), script("c")], [script("b"), script("d")]];
            let error = run_in_lanes(&script("first"), [&lanes[0], &lanes[1]]).unwrap_err();
            assert!(
                error.starts_with(&format!("{failing} failed (exit status: 3)")),
                "{error}"
            );
            assert_eq!(
                std::fs::read_dir(scratch.path()).unwrap().count(),
                5,
                "{failing}"
            );
        }
    }

    #[test]
    fn what_a_step_beside_others_prints_stands_between_its_name_and_its_end() {
        let step = Step::new("both", "sh -c").and("echo one; echo two >&2; exit 1");
        let (printed, ended) = step.run_beside();
        let (status, failures) = ended.unwrap();
        assert!(!status.success());
        assert!(failures.shown().ends_with("one\ntwo"));
        let lines: Vec<&str> = printed.lines().collect();
        assert!(lines[0].starts_with("── both: sh -c"), "{printed}");
        assert_eq!(lines[1..3], ["one", "two"]);
        assert!(lines[3].starts_with("── both: ended after"), "{printed}");
    }

    #[test]
    fn the_first_failure_ends_a_chore_and_is_named() {
        let steps = [
            Step::new("good", "true"),
            Step::new("bad", "false"),
            Step::new("never", "/nonexistent"),
        ];
        let error = run(&steps).unwrap_err();
        assert!(error.starts_with("bad failed"), "{error}");
    }
}
