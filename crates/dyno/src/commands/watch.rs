//! `dyno watch`

use crate::cli::WatchArgs;
use crate::commands::judged::located;
use crate::commands::search::Climb;
use crate::exit::{Code, Failure, Result};
use crate::interrupt::on_each_signal;
use crate::terminal;
use crate::view::{Key, Phase, Screen, Seen, View, check_terminal, leave_at_once};
use dyno_model::RunManifest;
use dyno_model::event::RunEvent;
use dyno_runner::Follow;
use dyno_store::RunFollower;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// From one look at the directory to the next.
const LOOK: Duration = Duration::from_millis(500);

/// Shows a run that another process writes until it is complete.
pub(crate) fn watch(args: &WatchArgs) -> Result {
    check_terminal(
        "dyno watch needs a terminal; print the trials so far with `dyno show` instead",
    )?;
    let directory = located(&args.run)?;
    let mut follower = RunFollower::open(&directory).map_err(Failure::with(Code::Store))?;
    let manifest = follower.manifest().clone();
    let view = follow(&mut follower, &manifest)?;
    let state = match view.phase {
        Phase::Complete => "complete",
        Phase::Abandoned => "incomplete, and no runner is active",
        Phase::Running | Phase::Stopping => "still running",
    };
    terminal::print(&format!(
        "{}: {} of {} trials, {} failed; {state}\n",
        directory.display(),
        view.done(),
        view.needed(),
        view.failed()
    ))?;
    Ok(Code::Success.into())
}

/// Keeps the screen up to date; returns what was shown last.
fn follow(follower: &mut RunFollower, manifest: &RunManifest) -> Result<View> {
    let mut view = View::new(manifest, "stop watching");
    let begin = || -> Result<Follow<'_>> {
        Ok(match Climb::new(manifest)? {
            Some(climb) => Follow::guided(&manifest.plan, Box::new(climb)),
            None => Follow::new(&manifest.plan),
        })
    };
    let mut trials = begin()?;
    // There is nothing else to bring to an end.
    on_each_signal(|| leave_at_once())?;
    let mut screen = Screen::enter()?;
    let mut changed = true;
    loop {
        let elapsed = since(manifest.started_unix_ms);
        let news = follower.news().map_err(Failure::with(Code::Store))?;
        if news.anew {
            view = View::new(manifest, "stop watching");
            trials = begin()?;
        }
        changed |= view.tick(elapsed) | news.anew | !news.trials.is_empty();
        for record in &news.trials {
            trials.note(record);
            view.finish(record);
        }
        let current = trials.current(elapsed);
        let phase = match (current, follower.has_runner()) {
            (None, _) => Phase::Complete,
            (Some(_), Some(false)) => Phase::Abandoned,
            (Some(_), Some(true) | None) => Phase::Running,
        };
        changed |= std::mem::replace(&mut view.phase, phase) != phase;
        match (phase, current) {
            (Phase::Running, Some(id)) => {
                view.on_event(&RunEvent::More {
                    trials: trials.known(),
                });
                view.start(id);
            }
            _ => view.current = None,
        }
        if phase == Phase::Complete {
            return Ok(view);
        }
        if std::mem::take(&mut changed) {
            screen.show(&mut view);
        }
        match screen.wait(LOOK) {
            Seen::Key(Key::Quit) => return Ok(view),
            Seen::Key(key) => view.on_key(key),
            Seen::Redraw => {}
            Seen::Nothing => continue,
        }
        changed = true;
    }
}

/// The time since a run's start, by the clock of this machine.
fn since(started_unix_ms: u64) -> Duration {
    let started = UNIX_EPOCH + Duration::from_millis(started_unix_ms);
    let elapsed = SystemTime::now().duration_since(started);
    elapsed.unwrap_or_default()
}
