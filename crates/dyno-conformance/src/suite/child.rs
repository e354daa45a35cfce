//! The other part in another process: the running program again.

use super::log::DEADLINE;
use super::rig::Rig;
use dyno_adapter::{Carries, ChannelSpec, Endpoint, Wait};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Holds a child's orders; [`run_child`](super::run_child) does nothing without it.
pub(super) const ORDERS: &str = "DYNO_CONFORMANCE_CHILD";
/// Marks the child's own lines between those of the test harness.
const MARK: &str = "@conformance ";

/// What a child says last.
pub(super) const DONE: &str = "done";

/// What a child does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Sends back over the second channel what arrives over the first.
    Echo,
    /// Sends over the first channel without end.
    Source,
    /// Receives from the first channel without end.
    Sink,
    /// Answers requests over the first channel with responses over the second.
    Provider,
    /// Opens and closes many times and counts its own belongings.
    Leaks,
    /// Opens once and compares what it holds with what it claimed.
    Claims,
}

impl Part {
    const ALL: [(Part, &'static str); 6] = [
        (Part::Echo, "echo"),
        (Part::Source, "source"),
        (Part::Sink, "sink"),
        (Part::Provider, "provider"),
        (Part::Leaks, "leaks"),
        (Part::Claims, "claims"),
    ];
}

/// Everything that a child must know. Its text form has one line per field, then one per channel.
pub(super) struct Orders {
    pub(super) part: Part,
    pub(super) wait: Wait,
    pub(super) session: String,
    pub(super) scratch: String,
    pub(super) channels: Vec<ChannelSpec>,
}

impl Orders {
    fn to_text(&self) -> String {
        let part = Part::ALL.iter().find(|(part, _)| *part == self.part);
        let mut text = format!(
            "{}\n{}\n{}\n{}\n",
            part.map_or("", |(_, text)| text),
            self.wait,
            self.session,
            self.scratch
        );
        for c in &self.channels {
            let (kind, partner) = match &c.carries {
                Carries::Messages => ("messages", "-"),
                Carries::Requests { responses } => ("requests", responses.as_str()),
                Carries::Responses { requests } => ("responses", requests.as_str()),
            };
            let head = format!(
                "{} {} {} {} {} {kind} {partner}",
                c.id, c.name, c.max_payload, c.writer, c.writer_address
            );
            text.push_str(&head);
            for reader in &c.readers {
                let Endpoint {
                    participant,
                    address,
                    port,
                } = reader;
                text.push_str(&format!(" {participant} {address} {port}"));
            }
            text.push('\n');
        }
        text
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let part = lines.next()?;
        Some(Orders {
            part: Part::ALL.iter().find(|(_, text)| *text == part)?.0,
            wait: lines.next()?.parse().ok()?,
            session: lines.next()?.to_owned(),
            scratch: lines.next()?.to_owned(),
            channels: lines.map(channel_from_text).collect::<Option<_>>()?,
        })
    }
}

fn channel_from_text(line: &str) -> Option<ChannelSpec> {
    let words: Vec<&str> = line.split(' ').collect();
    let (head, readers) = words.split_at_checked(7)?;
    Some(ChannelSpec {
        id: head[0].parse().ok()?,
        name: head[1].to_owned(),
        max_payload: head[2].parse().ok()?,
        writer: head[3].parse().ok()?,
        writer_address: head[4].to_owned(),
        readers: readers
            .chunks_exact(3)
            .map(|reader| {
                Some(Endpoint {
                    participant: reader[0].parse().ok()?,
                    address: reader[1].to_owned(),
                    port: reader[2].parse().ok()?,
                })
            })
            .collect::<Option<_>>()?,
        carries: match (head[5], head[6].to_owned()) {
            ("requests", responses) => Carries::Requests { responses },
            ("responses", requests) => Carries::Responses { requests },
            _ => Carries::Messages,
        },
    })
}

/// The running program once more: the test `child` of `module` alone, or the same arguments again.
fn again(module: &str) -> Command {
    // What runs, also where a newer build has taken its place.
    let mut program = Command::new("/proc/self/exe");
    if module.is_empty() {
        program.args(std::env::args_os().skip(1));
    } else {
        // The harness leaves the name of the crate out of the names of tests.
        let module = module.split_once("::").map_or("", |(_, rest)| rest);
        program
            .args(["--exact", &format!("{module}::child")])
            .args(["--nocapture", "--test-threads=1"]);
    }
    program
}

/// A child process. Killed when dropped, and by the kernel when this process ends.
pub(super) struct Child {
    process: std::process::Child,
    said: Receiver<String>,
    /// What it printed, for the messages of failed tests.
    output: Arc<Mutex<String>>,
    /// What copies the output, until the child ends.
    copying: Vec<JoinHandle<()>>,
}

impl Child {
    pub(super) fn start(rig: &Rig, part: Part, wait: Wait, channels: &[ChannelSpec]) -> Self {
        let orders = Orders {
            part,
            wait,
            session: rig.session.clone(),
            scratch: rig.scratch().to_string_lossy().into_owned(),
            channels: channels.to_vec(),
        };
        let mut process = again(rig.subject.module)
            .env(ORDERS, orders.to_text())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the running program can be started again");
        let output = Arc::new(Mutex::new(String::new()));
        let (say, said) = channel();
        let stdout = process.stdout.take().expect("stdout is a pipe");
        let stderr = process.stderr.take().expect("stderr is a pipe");
        let copy = output.clone();
        let out = std::thread::spawn(move || collect(stdout, &copy, |line| say.send(line).is_ok()));
        let copy = output.clone();
        let err = std::thread::spawn(move || collect(stderr, &copy, |_| true));
        Child {
            process,
            said,
            output,
            copying: vec![out, err],
        }
    }

    /// Whether the child has said `word` by now.
    pub(super) fn has_said(&self, word: &str) -> bool {
        self.said.try_iter().any(|line| line == word)
    }

    /// Panics if the child has ended.
    pub(super) fn assert_runs(&mut self) {
        if let Ok(Some(status)) = self.process.try_wait() {
            panic!("the child ended: {status}; it printed:\n{}", self.output());
        }
    }

    /// Waits until the child ends of its own accord; panics if it failed or hangs.
    pub(super) fn assert_succeeds(mut self, limit: Duration) {
        let status = self.await_end(limit);
        let output = self.output();
        // A harness that found no test to run succeeds too.
        let played = output.lines().any(|line| line == format!("{MARK}{DONE}"));
        assert!(
            played && status.is_some_and(|s| s.success()),
            "the other process failed ({}); it printed:\n{output}",
            status.map_or("it hangs".to_owned(), |s| s.to_string())
        );
    }

    /// Tells it to go to its next step.
    pub(super) fn tell(&mut self) {
        let stdin = self.process.stdin.as_mut().expect("stdin is a pipe");
        // A child that has ended shows in what is waited for next.
        let _ = stdin.write_all(b"\n").and_then(|()| stdin.flush());
    }

    /// Closes its standard input, which asks it to end, and waits for that.
    pub(super) fn finish(mut self) {
        drop(self.process.stdin.take());
        self.assert_succeeds(DEADLINE);
    }

    /// Kills it.
    pub(super) fn kill(&mut self) {
        // It may have ended already, which is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn await_end(&mut self, limit: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < limit {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// What it printed: all, where it has ended.
    fn output(&mut self) -> String {
        let has_ended = matches!(self.process.try_wait(), Ok(Some(_)));
        let start = Instant::now();
        // Its own children may hold the pipes open.
        while has_ended
            && start.elapsed() < DEADLINE
            && self.copying.iter().any(|thread| !thread.is_finished())
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.output
            .lock()
            .map(|text| text.clone())
            .unwrap_or_default()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Copies lines to `output`, and marked ones without their mark to `say` while it returns true.
fn collect(from: impl Read, output: &Mutex<String>, say: impl Fn(String) -> bool) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        if let Ok(mut output) = output.lock() {
            output.push_str(&line);
            output.push('\n');
        }
        if let Some(word) = line.strip_prefix(MARK)
            && !say(word.to_owned())
        {
            return;
        }
    }
}

/// Says a word to the parent.
pub(super) fn say(word: &str) {
    // The harness prints the test's name without an end of line before the test's own output.
    let mut out = std::io::stdout().lock();
    // A parent that does not listen any more will end us.
    let _ = write!(out, "\n{MARK}{word}\n");
    let _ = out.flush();
}

/// Whether this process was started to play the other part of a case.
pub fn is_child() -> bool {
    std::env::var_os(ORDERS).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_read_back_as_written() {
        let orders = Orders {
            part: Part::Sink,
            wait: Wait::Block,
            session: "s-1".into(),
            scratch: "/tmp/a b".into(),
            channels: vec![ChannelSpec {
                id: 3,
                name: "s-1-c3".into(),
                max_payload: 4096,
                writer: 0,
                writer_address: "127.0.0.1".into(),
                readers: [1, 2]
                    .map(|participant| Endpoint {
                        participant,
                        address: "127.0.0.1".into(),
                        port: 15_000 + participant,
                    })
                    .to_vec(),
                carries: Carries::Requests {
                    responses: "s-1-c4".into(),
                },
            }],
        };
        let back = Orders::from_text(&orders.to_text()).unwrap();
        assert_eq!(back.to_text(), orders.to_text());
        assert_eq!(back.channels, orders.channels);
    }
}
