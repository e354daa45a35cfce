//! The view of the run that this very process runs: a thread of its own keeps the screen up to date,
//! so that the runner never waits for a terminal.

use super::screen::{Screen, Seen, leave_at_once};
use super::state::{Key, View};
use crate::exit::Result;
use dyno_model::TrialRecord;
use dyno_model::event::RunEvent;
use dyno_model::record::RunManifest;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The screen is drawn at most so often.
const LEAST_PAUSE: Duration = Duration::from_millis(250);

/// The view and its thread. Dropping it ends both and restores the terminal.
pub(crate) struct Live {
    events: Option<Sender<RunEvent>>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Takes the terminal over and shows the run; `q` and Ctrl-C set `interrupt`.
    ///
    /// # Errors
    ///
    /// When the terminal cannot be used.
    pub(crate) fn start(
        manifest: &RunManifest,
        stored: &[TrialRecord],
        interrupt: Arc<AtomicBool>,
    ) -> Result<Live> {
        let mut view = View::new(manifest, "stop the run");
        for record in stored {
            view.finish(record);
        }
        let screen = Screen::enter()?;
        let (events, received) = channel();
        let thread = std::thread::spawn(move || watch(view, screen, &received, &interrupt));
        Ok(Live {
            events: Some(events),
            thread: Some(thread),
        })
    }

    /// Hands on what the runner tells.
    pub(crate) fn on_event(&self, event: &RunEvent) {
        if let Some(events) = &self.events {
            // The thread ends before the run only by a panic, which was reported.
            let _ = events.send(event.clone());
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.events = None;
        if let Some(thread) = self.thread.take() {
            // Its panic was reported by the hook.
            let _ = thread.join();
        }
    }
}

fn watch(mut view: View, mut screen: Screen, events: &Receiver<RunEvent>, interrupt: &AtomicBool) {
    let began = Instant::now();
    let mut changed = true;
    let mut drawn: Option<Instant> = None;
    loop {
        loop {
            match events.try_recv() {
                Ok(event) => {
                    view.on_event(&event);
                    changed = true;
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        changed |= interrupt.load(Ordering::Relaxed) && view.stopping();
        changed |= view.tick(began.elapsed());
        if changed && drawn.is_none_or(|at| at.elapsed() >= LEAST_PAUSE) {
            screen.show(&mut view);
            drawn = Some(Instant::now());
            changed = false;
        }
        match screen.wait(LEAST_PAUSE) {
            Seen::Key(Key::Quit) if interrupt.swap(true, Ordering::Relaxed) => {
                // As a second Ctrl-C does without a view.
                leave_at_once();
            }
            Seen::Key(Key::Quit) => {}
            Seen::Key(key) => view.on_key(key),
            Seen::Redraw => {}
            Seen::Nothing => continue,
        }
        changed = true;
    }
}
