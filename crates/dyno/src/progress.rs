//! What a person sees on standard error while a run is in progress.

use crate::terminal;
use dyno_model::event::RunEvent;
use dyno_model::record::Outcome;
use dyno_report::clean;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The display. On a terminal: a line with the current trial and an estimate of the time left.
/// Otherwise: nothing but warnings and failures.
pub(crate) struct Progress {
    bar: ProgressBar,
    quiet: bool,
    began: Instant,
    finished: u32,
    left: u64,
    /// Trials that the host disturbed so far.
    disturbed: u32,
    /// The last failure of the trial that runs: one of several flows fails in all of them.
    failed: Option<Outcome>,
}

/// So many disturbed trials are told while the run is in progress; on a noisy host there are hundreds.
const DISTURBED_TOLD: u32 = 5;

impl Progress {
    /// `live`: a view has the whole terminal, so that no line of progress may be drawn over it.
    pub(crate) fn new(quiet: bool, live: bool) -> Self {
        let bar = if quiet || live || !terminal::has_stderr() {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
        } else {
            let bar = ProgressBar::no_length();
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        };
        Progress {
            bar,
            quiet,
            began: Instant::now(),
            finished: 0,
            left: 0,
            disturbed: 0,
            failed: None,
        }
    }

    /// Prints a line above the progress.
    pub(crate) fn say(&self, line: impl AsRef<str>) {
        if self.bar.is_hidden() {
            terminal::say(line);
        } else {
            self.bar.suspend(|| terminal::say(line));
        }
    }

    /// Prints something else without disturbing the line.
    pub(crate) fn apart<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// `done` of `all` steps are over; `now` is the current one.
    pub(crate) fn step(&self, done: usize, all: usize, now: &str) {
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
        told(&self.bar, now);
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    pub(crate) fn on_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Warning(text) if !self.quiet => self.say(format!("warning: {text}")),
            RunEvent::Found(text) if !self.quiet => self.say(text),
            RunEvent::Warning(_) | RunEvent::Found(_) => {}
            RunEvent::Started { trials, stored } => {
                // A run that goes on until limits are decided has several starts, and the line was taken away after each.
                self.bar.reset();
                self.began = Instant::now();
                self.finished = 0;
                self.left = trials.saturating_sub(*stored) as u64;
                self.bar.set_length(*trials as u64);
                self.bar.set_position(*stored as u64);
            }
            RunEvent::More { trials } => {
                let done = self.bar.position();
                self.left = (*trials as u64).saturating_sub(done);
                self.bar.set_length(*trials as u64);
            }
            RunEvent::TrialStarted { label, .. } => {
                self.failed = None;
                let left = match self.finished {
                    0 => String::new(),
                    n => {
                        let each = self.began.elapsed() / n;
                        let left = each * u32::try_from(self.left).unwrap_or(u32::MAX);
                        format!("  {} left", minutes(left))
                    }
                };
                told(&self.bar, &format!("{label}{left}"));
            }
            RunEvent::TrialFinished(record) => {
                self.finished += 1;
                self.left = self.left.saturating_sub(1);
                self.bar.inc(1);
                if let (Some(first), false) = (record.disturbed.first(), self.quiet) {
                    self.disturbed += 1;
                    match self.disturbed {
                        1..=DISTURBED_TOLD => {
                            self.say(format!("trial {} was disturbed: {first}", record.id));
                        }
                        n if n == DISTURBED_TOLD + 1 => self.say(
                            "more trials are disturbed; the remarks below the table count them",
                        ),
                        _ => {}
                    }
                }
                if let Outcome::Failed {
                    kind,
                    step,
                    cause,
                    stderr,
                } = &record.outcome
                    && self.failed.as_ref() != Some(&record.outcome)
                {
                    self.failed = Some(record.outcome.clone());
                    self.say(format!(
                        "trial {} failed ({kind} in {step}): {cause}",
                        record.id
                    ));
                    for line in stderr {
                        self.say(format!("  | {line}"));
                    }
                }
            }
            RunEvent::Finished { .. } => self.bar.finish_and_clear(),
        }
    }
}

/// A line of progress draws itself, so that what stands in it is cleaned here.
#[expect(
    clippy::disallowed_methods,
    reason = "here is where others are to come"
)]
fn told(bar: &ProgressBar, what: &str) {
    bar.set_message(clean(what));
}

/// `1:05 min` or `12 s`.
pub(crate) fn minutes(time: Duration) -> String {
    match time.as_secs() {
        s if s < 60 => format!("{s} s"),
        s => format!("{}:{:02} min", s / 60, s % 60),
    }
}

/// How long a command that is usually quick says nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a command is doing, shown on a terminal once it takes longer than [`PATIENCE`].
pub(crate) struct Patience {
    bar: ProgressBar,
    /// Ends the thread that waits; `None` where nothing is ever shown.
    waiting: Option<(mpsc::Sender<()>, thread::JoinHandle<()>)>,
}

impl Patience {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        let waiting = (!quiet && terminal::has_stderr()).then(|| {
            let (end, ended) = mpsc::channel();
            let bar = bar.clone();
            let thread = thread::spawn(move || {
                if ended.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(250));
                }
            });
            (end, thread)
        });
        Patience { bar, waiting }
    }

    /// What is done from now on.
    pub(crate) fn now(&self, what: String) {
        told(&self.bar, &what);
    }

    /// Prints a line above the progress.
    pub(crate) fn say(&self, line: &str) {
        self.bar.suspend(|| terminal::say(line));
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.waiting.take() {
            drop(end);
            // It does nothing that could panic; if it did, only the display is missing.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}
