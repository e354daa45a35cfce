//! Commands that chores run: announced, watched, and ended at the first that fails.

use crate::Outcome;
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
        }
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
    for step in steps {
        println!("── {}: {}", step.name, step.command_line());
        let mut command = Command::new(&step.words[0]);
        command
            .args(&step.words[1..])
            .envs(step.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &step.directory {
            command.current_dir(directory);
        }
        let mut failures = Failures::default();
        let status = if step.words.get(1).is_some_and(|word| word == "test") {
            watched(&mut command, |line| failures.read(line))
        } else {
            command.status()
        }
        .map_err(|e| format!("cannot start {}: {e}", step.words[0]))?;
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
        let steps = [
            Step::new("good", "true"),
            Step::new("bad", "false"),
            Step::new("never", "/nonexistent"),
        ];
        let error = run(&steps).unwrap_err();
        assert!(error.starts_with("bad failed"), "{error}");
    }
}
