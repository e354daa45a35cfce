//! Ctrl-C, SIGTERM and SIGHUP as a flag that whoever leads trials looks at.

use crate::exit::{Code, Failure, Result};
#[cfg(feature = "live")]
use crate::view;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// A flag that Ctrl-C, SIGTERM and SIGHUP set. A second one ends the program at once; with a live view,
/// once the terminal is as it was.
pub(crate) fn on_interrupt(live: bool) -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let code = i32::from(Code::Interrupted as u8);
    for signal in SIGNALS.into_iter().filter(|_| !live) {
        signal_hook::flag::register_conditional_shutdown(signal, code, flag.clone())
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()))
            .map_err(Failure::with(Code::Error))?;
    }
    #[cfg(feature = "live")]
    if live {
        let flag = flag.clone();
        on_each_signal(move || {
            if flag.swap(true, std::sync::atomic::Ordering::Relaxed) {
                view::leave_at_once();
            }
        })?;
    }
    Ok(flag)
}

/// Does `act` in a thread of its own whenever one of these signals comes.
#[cfg(any(feature = "live", feature = "serve"))]
pub(crate) fn on_each_signal(mut act: impl FnMut() + Send + 'static) -> Result<()> {
    let signals = signal_hook::iterator::Signals::new(SIGNALS);
    let mut signals = signals.map_err(Failure::with(Code::Error))?;
    std::thread::spawn(move || signals.forever().for_each(|_| act()));
    Ok(())
}
