//! Commands that chores run: announced, watched, and ended at the first that fails.

use crate::Outcome;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// One command.
pub(crate) struct Step {
    /// What it is for, in a few words.
    name: &'static str,
    /// The program and its arguments.
    words: Vec<String>,
    environment: Vec<(&'static str, String)>,
    /// Where it runs, if not where the chore does.
    directory: Option<PathBuf>,
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
    fn run(&self) -> Result<(ExitStatus, Failures), String> {
        println!("── {}: {}", self.name, self.command_line());
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let mut failures = Failures::default();
        let status = if self.words.get(1).is_some_and(|word| word == "test") {
            watched(&mut command, |line| failures.read(line))
        } else {
            command.status()
        };
        let status = status.map_err(|e| format!("cannot start {}: {e}", self.words[0]))?;
        failures.end_program();
        Ok((status, failures))
    }

    fn failed(&self, status: ExitStatus) -> String {
        format!("{} failed ({status}): {}", self.name, self.command_line())
    }

    /// The same `cargo test` for some tests of one program, such as `-p dyno --test e2e`, one after the other. All packages stay
    /// selected: with fewer, cargo would build libraries again with fewer features.
    fn only(&self, program: &str, names: &[String]) -> Step {
        let words = program.split_whitespace().skip(2).map(str::to_owned);
        let of_harness = ["--", "--exact", "--test-threads=1"].map(str::to_owned);
        let rest = words.chain(of_harness).chain(names.iter().cloned());
        Step {
            name: "once more, alone",
            words: self.words.iter().cloned().chain(rest).collect(),
            environment: self.environment.clone(),
            directory: self.directory.clone(),
            repeats: false,
        }
    }

    fn command_line(&self) -> String {
        let environment = self
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={value:?} "));
        let line = environment.collect::<String>() + &self.words.join(" ");
        match &self.directory {
            Some(directory) => format!("cd {directory:?} && {line}"),
            None => line,
        }
    }
}

/// Runs the steps in order, up to the first that fails. Test programs that failed are shown once more at the
/// end, since what ran after them may fill screens.
pub(crate) fn run(steps: &[Step]) -> Outcome {
    let mut unsteady = Vec::new();
    let outcome = steps.iter().try_for_each(|step| {
        let (status, failures) = step.run()?;
        if status.success() {
            return Ok(());
        }
        let failed = failures.few(step.repeats, status);
        println!("{}", failures.shown());
        if failed.is_empty() {
            return Err(step.failed(status));
        }
        for (program, names) in failed {
            let again = step.only(&program, &names);
            let (status, failures) = again.run()?;
            // Names that no program knows are no failure for cargo.
            if !status.success() || failures.passed < names.len() {
                println!("{}", failures.shown());
                return Err(again.failed(status));
            }
            unsteady.extend(names.iter().map(|name| format!("{program}: {name}")));
        }
        Ok(())
    });
    for name in unsteady {
        println!("── UNSTEADY: {name} failed beside other tests and passed alone");
    }
    outcome
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

/// Where more tests fail than these, a change broke them.
const MOST_AGAIN: usize = 5;

/// Runs a command, passes on what it prints, and shows each line of it. Both streams are one pipe, so that lines come in the order in which
/// they were written.
fn watched(command: &mut Command, mut show: impl FnMut(&str)) -> std::io::Result<ExitStatus> {
    let (printed, pipe) = std::io::pipe()?;
    let started = command.stdout(pipe.try_clone()?).stderr(pipe).spawn();
    // The pipe ends when the command does: no end of it may stay here.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = started?;
    for line in BufReader::new(printed).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
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
    /// Lines of one program that are shown again at most.
    const MOST: usize = 200;

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
            let first = program.len().saturating_sub(Self::MOST);
            self.shown.extend(program.into_iter().skip(first));
        }
    }

    /// The tests to try again: all that failed, if they are few, each has a name, and nothing else failed.
    fn few(&self, repeats: bool, status: ExitStatus) -> BTreeMap<String, Vec<String>> {
        let number: usize = self.tests.values().map(Vec::len).sum();
        // Cargo ends with 101 where tests failed, and then it has run all programs.
        let all_ran = status.code() == Some(101) && self.counted == Some(self.programs);
        let all_have_names = self.tests.len() == self.programs && !self.died;
        match repeats && all_ran && all_have_names && number <= MOST_AGAIN {
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
        let few = failures.few(true, code(101));
        let program = "-p a --test all";
        let expected = vec!["bad".to_owned(), "worse".to_owned()];
        assert_eq!(few, BTreeMap::from([(program.to_owned(), expected)]));
        assert!(failures.few(false, code(101)).is_empty());
        let step = cargo("all", "test --workspace").with("A", "1").repeating();
        assert_eq!(
            step.only(program, &few[program]).command_line(),
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
            let few = read(&lines).few(true, code(101));
            assert!(few.is_empty(), "{few:?} of {lines:#?}");
        }
        let ended = [first, &[end]].concat();
        assert!(read(&ended).few(true, code(1)).is_empty());
        let names = ["    a", "    b", "    c", "    d", "    e", "    f"];
        let result = "test result: FAILED. 0 passed; 6 failed; 0 ignored";
        let many = [&["failures:"], &names[..], &[result, named, end]].concat();
        assert!(read(&many).few(true, code(101)).is_empty());
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
            assert!(run(&[step()]).is_err());
            std::fs::remove_file(scratch.join("seen")).unwrap();
            assert_eq!(run(&[step().repeating()]).is_ok(), expected);
            std::fs::remove_dir_all(&scratch).unwrap();
        }
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
