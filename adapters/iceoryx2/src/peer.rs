//! Whether the processes behind a channel's readers still live.
//!
//! iceoryx2 cannot tell a reader that was killed from one that is slow: its buffer is full in
//! both cases, and a reliable sender waits. The node that a subscriber belongs to carries its
//! process id, and the kernel knows about that.

use crate::service::Messages;
use iceoryx2::identifiers::UniqueNodeId;
use iceoryx2::prelude::{CallbackProgression, PortFactory, ipc};

/// Whether the process of any subscriber has ended. Costs a few system calls per subscriber;
/// meant for senders that already wait.
pub(crate) fn any_reader_died(service: &Messages) -> bool {
    let mut died = false;
    service.dynamic_config().list_subscribers(|subscriber| {
        died |= is_dead(&subscriber.node_id);
        if died {
            CallbackProgression::Stop
        } else {
            CallbackProgression::Continue
        }
    });
    died
}

/// Whether the process of a node has ended. Costs a few system calls.
pub(crate) fn is_dead(node: &UniqueNodeId) -> bool {
    node.pid::<ipc::Service>()
        .is_ok_and(|pid| !is_alive(pid.value()))
}

/// Whether the process exists and is more than a zombie (proc_pid_stat(5)). Unknown counts as
/// alive.
fn is_alive(pid: i32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => {
            // The name in parentheses may itself hold blanks and parentheses.
            let state = stat
                .rsplit_once(')')
                .and_then(|(_, rest)| rest.trim_start().chars().next());
            !matches!(state, Some('Z' | 'X' | 'x'))
        }
        Err(e) => {
            e.kind() != std::io::ErrorKind::NotFound || !std::path::Path::new("/proc/self").exists()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_alive;

    #[test]
    fn a_process_is_alive_until_it_has_ended_even_if_nobody_waited_for_it() {
        assert!(is_alive(std::process::id() as i32));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id() as i32;
        while is_alive(pid) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!is_alive(pid));
    }
}
