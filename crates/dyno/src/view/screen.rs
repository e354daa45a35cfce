//! The terminal: the alternate screen of standard error, keys, and leaving both behind as they were,
//! also after a panic.

use super::draw::draw;
use super::state::{Key, View};
use crate::exit::{Code, Failure, Result};
use crate::terminal;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::Stderr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The alternate screen is shown.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// What happened at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A key of the view.
    Key(Key),
    /// Something that only asks to be drawn again: another size, another key.
    Redraw,
    /// Nothing.
    Nothing,
}

/// The terminal while a view is on it. Dropping it restores the terminal.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a view draws cell by cell; `draw` cleans every cell"
)]
fn stderr() -> Stderr {
    std::io::stderr()
}

/// Refuses what is no terminal; `what` asks for the view.
pub(crate) fn check_terminal(what: &str) -> Result<()> {
    match terminal::has_stderr() {
        true => Ok(()),
        false => Err(Failure::message(Code::Usage, what)),
    }
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    ///
    /// When it has no keys or cannot be drawn on.
    pub(crate) fn enter() -> Result<Screen> {
        let unusable = |e: std::io::Error| {
            failure!(
                Usage,
                "cannot use this terminal for a live view: {e}; leave --live out"
            )
        };
        restore_after_a_panic();
        enable_raw_mode().map_err(unusable)?;
        SHOWN.store(true, Ordering::SeqCst);
        let shown = execute!(stderr(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(stderr())));
        match shown {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(e) => {
                restore();
                Err(unusable(e))
            }
        }
    }

    /// Draws the view: what has changed since the last time. A terminal that has gone away is no
    /// error; the run goes on.
    pub(crate) fn show(&mut self, view: &mut View) {
        let mut window = view.window;
        let drawn = self.terminal.draw(|frame| window = draw(view, frame));
        if drawn.is_ok() {
            view.window = window;
        }
    }

    /// Waits for a key, at most so long.
    pub(crate) fn wait(&mut self, longest: Duration) -> Seen {
        match event::poll(longest) {
            Ok(true) => match event::read() {
                Ok(event) => seen(&event),
                Err(_) => pause(longest),
            },
            Ok(false) => Seen::Nothing,
            Err(_) => pause(longest),
        }
    }
}

/// Without keys there is still the time.
fn pause(longest: Duration) -> Seen {
    std::thread::sleep(longest);
    Seen::Nothing
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was; does nothing where no view is shown.
fn restore() {
    if SHOWN.swap(false, Ordering::SeqCst) {
        // A terminal that has gone away needs no care.
        let _ = disable_raw_mode();
        let _ = execute!(
            stderr(),
            LeaveAlternateScreen,
            ratatui::crossterm::cursor::Show
        );
    }
}

/// Gives the terminal back and ends the program without another step, as a second Ctrl-C asks for.
#[expect(
    clippy::disallowed_methods,
    reason = "whoever asks twice does not want to wait; agents die with the runner, and the next start \
              clears what is left"
)]
pub(crate) fn leave_at_once() -> ! {
    restore();
    std::process::exit(i32::from(Code::Interrupted as u8))
}

fn restore_after_a_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
    });
}

fn seen(event: &Event) -> Seen {
    let Event::Key(KeyEvent {
        code,
        modifiers,
        kind: KeyEventKind::Press | KeyEventKind::Repeat,
        ..
    }) = event
    else {
        return Seen::Redraw;
    };
    let control = modifiers.contains(KeyModifiers::CONTROL);
    Seen::Key(match code {
        KeyCode::Char('c' | 'C') if control => Key::Quit,
        KeyCode::Char('q' | 'Q') => Key::Quit,
        KeyCode::Up | KeyCode::Char('k') => Key::Up,
        KeyCode::Down | KeyCode::Char('j') => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown | KeyCode::Char(' ') => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Char('h' | '?') => Key::Help,
        _ => return Seen::Redraw,
    })
}
