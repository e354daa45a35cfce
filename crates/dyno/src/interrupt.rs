//! Ctrl-C, SIGTERM and SIGHUP as a flag that whoever leads trials looks at.

use crate::exit::{Code, Failure, Result};
#[cfg(feature = "live")]
use crate::view;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that Ctrl-C, SIGTERM and SIGHUP set. A second one ends the program at once; with a live view,
/// once the terminal is as it was.
pub(crate) fn on_interrupt(live: bool) -> Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];
    let flag = Arc::new(AtomicBool::new(false));
    let code = i32::from(Code::Interrupted as u8);
    for signal in SIGNALS.into_iter().filter(|_| !live) {
        signal_hook::flag::register_conditional_shutdown(signal, code, flag.clone())
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()))
            .map_err(Failure::with(Code::Error))?;
    }
    #[cfg(feature = "live")]
    if live {
        let mut signals =
            signal_hook::iterator::Signals::new(SIGNALS).map_err(Failure::with(Code::Error))?;
        let flag = flag.clone();
        std::thread::spawn(move || {
            for _ in signals.forever() {
                if flag.swap(true, std::sync::atomic::Ordering::Relaxed) {
                    view::leave_at_once();
                }
            }
        });
    }
    Ok(flag)
}
