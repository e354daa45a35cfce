//! Reports to the runner: one line each, from whichever thread has something to say.

use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Writes reports to the descriptor that was standard output.
#[derive(Clone)]
pub(crate) struct Reporter(Arc<Mutex<File>>);

impl Reporter {
    /// Takes standard output for the protocol; from now on descriptor 1 is standard error.
    pub(crate) fn take_stdout() -> io::Result<Self> {
        let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok(Reporter(Arc::new(Mutex::new(File::from(own)))))
    }

    pub(crate) fn send(&self, report: &impl Serialize) {
        let written = serde_json::to_string(report)
            .map_err(io::Error::other)
            .and_then(|mut line| {
                // One write: the runner wakes up once.
                line.push('\n');
                let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                out.write_all(line.as_bytes())
            });
        if let Err(e) = written {
            eprintln!("dyno agent: cannot report to the runner: {e}");
        }
    }
}
