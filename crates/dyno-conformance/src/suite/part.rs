//! The other part of a case, played in a child process.

use super::child::{DONE, ORDERS, Orders, Part, say};
use super::rig::Rig;
use super::subject::Subject;
use super::{call, process};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The entry of child processes: plays the part that the environment orders, and returns at once
/// where it orders none.
pub fn run_child(subject: Subject) {
    let Ok(orders) = std::env::var(ORDERS) else {
        return;
    };
    // SAFETY: PR_SET_PDEATHSIG takes a signal number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let orders = Orders::from_text(&orders)
        .unwrap_or_else(|| panic!("{ORDERS} holds no orders of this version: {orders:?}"));
    let rig = Rig::inherited(subject, orders.session, orders.scratch.into());
    let (told, asked_to_end) = (flag(), flag());
    let theirs = (told.clone(), asked_to_end.clone());
    std::thread::spawn(move || {
        // Ends with the parent's end of the pipe; which bytes it reads does not matter.
        for _ in std::io::stdin().lock().bytes().map_while(Result::ok) {
            theirs.0.store(true, Ordering::Relaxed);
        }
        theirs.1.store(true, Ordering::Relaxed);
    });
    let told = || told.load(Ordering::Relaxed);
    let go_on = || !asked_to_end.load(Ordering::Relaxed);
    let (wait, channels) = (orders.wait, &orders.channels);
    match orders.part {
        Part::Echo => process::echo(&rig, wait, channels, &go_on),
        Part::Source => process::source(&rig, channels, &told, &go_on),
        Part::Sink => process::sink(&rig, wait, channels, &go_on),
        Part::Provider => call::provider(&rig, wait, channels, &go_on),
        Part::Leaks => process::leaks(&rig, wait, &channels[0]),
        Part::Claims => process::claims(&rig, wait, &channels[0]),
    }
    say(DONE);
}

fn flag() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}
