//! Commands that chores run: announced, watched, and ended at the first that fails.

use crate::Outcome;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;

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

    /// The same `cargo test` for some tests of one program, one after the other. The packages stay the same: with fewer, cargo
    /// would build libraries again with fewer features.
    fn only(&self, program: &str, names: &[String]) -> Step {
        let words = program.split_whitespace().map(str::to_owned);
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
        let failed = failures.few(step.repeats);
        println!("{}", failures.shown());
        if failed.is_empty() {
            return Err(step.failed(status));
        }
        for (program, names) in failed {
            let again = step.only(&program, &names);
            let (status, failures) = again.run()?;
            if !status.success() {
                println!("{}", failures.shown());
                return Err(again.failed(status));
            }
            unsteady.extend(names);
        }
        Ok(())
    });
    for name in unsteady {
        println!("── UNSTEADY: {name} failed beside other tests and passed alone");
    }
    outcome
}

/// Where more tests fail than these, a change broke them.
const MOST_AGAIN: usize = 5;

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
    /// What its harness lists last: the tests that failed.
    listed: Vec<String>,
    shown: Vec<String>,
    /// The test programs that failed, and those of them that listed tests.
    programs: usize,
    programs_with_names: usize,
    /// The tests that failed, by the option of cargo that selects their program, such as `--test e2e`.
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
        match line {
            // The first such line begins what the tests printed; the second one begins the list.
            "failures:" => self.listed.clear(),
            _ if line.starts_with("    ") && !begun.contains(' ') => {
                self.listed.push(begun.to_owned());
            }
            _ => {}
        }
        if !(line.starts_with("test ") && line.ends_with("... ok")) {
            self.program.push(line.to_owned());
        }
    }

    /// From cargo's line about a program that failed. Of a doc test the harness lists a place and no name.
    fn add_tests(&mut self, line: &str) {
        let listed = std::mem::take(&mut self.listed);
        let program = line
            .split_once("to rerun pass `-p ")
            .and_then(|(_, rest)| rest.trim_end_matches('`').split_once(' '))
            .map(|(_, program)| program)
            .filter(|program| *program != "--doc");
        if let Some(program) = program.filter(|_| !listed.is_empty()) {
            self.programs_with_names += 1;
            let tests = self.tests.entry(program.to_owned()).or_default();
            tests.extend(listed);
        }
    }

    fn end_program(&mut self) {
        let program = std::mem::take(&mut self.program);
        if std::mem::take(&mut self.failed) {
            let first = program.len().saturating_sub(Self::MOST);
            self.shown.extend(program.into_iter().skip(first));
        }
    }

    /// The tests to try again: all that failed if they are few and each has a name, and none otherwise.
    fn few(&self, repeats: bool) -> BTreeMap<String, Vec<String>> {
        let number: usize = self.tests.values().map(Vec::len).sum();
        let all_have_names = self.programs == self.programs_with_names;
        match repeats && all_have_names && number <= MOST_AGAIN {
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

    #[test]
    fn only_what_failed_is_shown_once_more() {
        let mut failures = Failures::default();
        for line in [
            "     Running tests/a.rs",
            "test fine ... ok",
            "test bad ... FAILED",
            "failures:",
            "---- bad stdout ----",
            "    no_test",
            "failures:",
            "    bad",
            "error: test failed, to rerun pass `-p a --test a`",
            "     Running tests/b.rs",
            "test also_fine ... ok",
            "   Doc-tests c",
            "failures:",
            "    c/src/lib.rs - (line 3)",
            "error: doctest failed, to rerun pass `-p c --doc`",
        ] {
            failures.read(line);
        }
        let expected = BTreeMap::from([("--test a".to_owned(), vec!["bad".to_owned()])]);
        assert_eq!(failures.tests, expected);
        // The doc test has no name.
        assert!(failures.few(true).is_empty());
        assert_eq!(
            failures.shown().lines().skip(1).collect::<Vec<_>>(),
            [
                "     Running tests/a.rs",
                "test bad ... FAILED",
                "failures:",
                "---- bad stdout ----",
                "    no_test",
                "failures:",
                "    bad",
                "error: test failed, to rerun pass `-p a --test a`",
                "   Doc-tests c",
                "failures:",
                "    c/src/lib.rs - (line 3)",
                "error: doctest failed, to rerun pass `-p c --doc`",
            ]
        );
    }

    #[test]
    fn few_failed_tests_are_tried_again_alone() {
        let mut failures = Failures::default();
        let mut fail = |names: &[&str]| {
            failures.read("failures:");
            for name in names {
                failures.read(&format!("    {name}"));
            }
            failures.read("error: test failed, to rerun pass `-p a --test all`");
            (failures.few(true), failures.few(false))
        };
        let expected = vec!["one".to_owned(), "two".to_owned()];
        let (few, none) = fail(&["one", "two"]);
        assert!(none.is_empty());
        assert_eq!(few, BTreeMap::from([("--test all".to_owned(), expected)]));
        let step = cargo("all", "test --workspace").with("A", "1").repeating();
        assert_eq!(
            step.only("--test all", &few["--test all"]).command_line(),
            r#"A="1" cargo test --workspace --test all -- --exact --test-threads=1 one two"#
        );
        assert!(fail(&["three", "four", "five", "six"]).0.is_empty());
    }

    /// A small program of tests of which one fails, always or only the first time.
    #[test]
    fn a_test_that_fails_alone_as_well_fails_the_step() {
        let scratch = std::env::temp_dir().join(format!("xtask-again-{}", std::process::id()));
        let told =
            "printf 'failures:\\n    it\\nerror: test failed, to rerun pass `-p a --lib`\\n'";
        for (once, expected) in [("[ -e seen ] ||", true), ("", false)] {
            std::fs::create_dir_all(&scratch).unwrap();
            let script = format!("{once} {{ touch seen; {told}; exit 1; }}");
            std::fs::write(scratch.join("test"), script).unwrap();
            let step = Step::new("tests", "sh test").inside(scratch.clone());
            assert!(run(&[step]).is_err());
            std::fs::remove_file(scratch.join("seen")).unwrap();
            let step = Step::new("tests", "sh test").inside(scratch.clone());
            assert_eq!(run(&[step.repeating()]).is_ok(), expected);
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
