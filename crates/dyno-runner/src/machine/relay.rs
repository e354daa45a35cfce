//! The runner's child that stands for a process in a virtual machine: its standard streams are that process's.

use super::frame::{self, Kind, Start, pump};
use crate::agent::AGENT_STATUS;
use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

/// Starts what `start` (JSON) says over the inherited socket `socket` and carries its streams until it ends. The last
/// line on standard error tells how.
pub fn relay(socket: &str, start: &str) -> ExitCode {
    let Ok(socket) = socket.parse() else {
        eprintln!("{socket:?} is not the number of a descriptor");
        return ExitCode::FAILURE;
    };
    // SAFETY: the runner made this descriptor for this process alone, which nothing else here knows of.
    let socket = UnixStream::from(unsafe { OwnedFd::from_raw_fd(socket) });
    match carry(socket, start) {
        Ok(code) => {
            eprintln!("{AGENT_STATUS}{code}");
            // Codes of a shell are below 256.
            ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
        }
        Err(e) => {
            eprintln!("the virtual machine is gone: {e}");
            ExitCode::FAILURE
        }
    }
}

fn carry(socket: UnixStream, start: &str) -> std::io::Result<i32> {
    let order: Start = serde_json::from_str(start)?;
    frame::write(&socket, 0, Kind::Start, &serde_json::to_vec(&order)?)?;
    let input = socket.try_clone()?;
    std::thread::spawn(move || {
        let mut send = |bytes: &[u8]| frame::write(&input, 0, Kind::Input, bytes).is_ok();
        pump(std::io::stdin().lock(), &mut send);
        send(&[]);
    });
    let mut socket = std::io::BufReader::new(socket);
    loop {
        let frame = frame::read(&mut socket)?;
        match frame.kind {
            Kind::Output => {
                let mut out = std::io::stdout().lock();
                out.write_all(&frame.bytes)?;
                out.flush()?;
            }
            Kind::Error => std::io::stderr().lock().write_all(&frame.bytes)?,
            Kind::Exit => {
                let code = frame.bytes.as_slice().try_into();
                return Ok(code.map_or(i32::from(u8::MAX), i32::from_le_bytes));
            }
            _ => {}
        }
    }
}
