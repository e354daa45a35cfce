//! What Dyno may do here: rights, limits, sizes.

use crate::facts::{FIFO, Facts, MLOCK, Right};
use crate::finding::Finding;
use dyno_measure::probe::limits::Limit;

/// What a socket is charged for one small datagram on 64-bit Linux (the truesize of its buffer: 512 B of
/// data room and shared info, 256 B of sk_buff).
const SMALL_DATAGRAM: u64 = 768;

/// The same for the largest one (65,507 B), as measured on Linux 6.18.
const LARGE_DATAGRAM: u64 = 66_700;
/// Datagrams of that size that carry 1 MB.
const MEGABYTE: u64 = 1_000_000 / 65_507 + 1;

fn right<'a>(f: &'a Facts, name: &str) -> Option<&'a Right> {
    f.rights.iter().find(|r| r.name == name)
}

pub(super) fn realtime(f: &Facts) -> Finding {
    const ID: &str = "realtime-right";
    match right(f, FIFO) {
        Some(r) if r.granted => Finding::fine(ID, "SCHED_FIFO is granted"),
        _ => Finding::may_hurt(
            ID,
            "no right to SCHED_FIFO: every other thread shares the CPU as an equal, and suites with \
             `scheduling = \"fifo:…\"` run without it",
        )
        .command("sudo setcap cap_sys_nice+ep $(command -v dyno)"),
    }
}

pub(super) fn realtime_throttling(f: &Facts) -> Finding {
    const ID: &str = "realtime-throttling";
    let limit = |name: &str| f.limits.0.iter().find(|l| l.name == name);
    let (Some(runtime), Some(period)) = (
        limit("kernel.sched_rt_runtime_us"),
        limit("kernel.sched_rt_period_us").and_then(|l| l.value),
    ) else {
        return Finding::unknown(ID, "the kernel shows no limit for realtime threads");
    };
    match runtime.value {
        Some(us) if us < period => {
            let stopped = period - us;
            Finding::may_hurt(
                ID,
                format!(
                    "a thread under SCHED_FIFO that spins may be stopped for {} ms in each {} ms",
                    stopped / 1_000,
                    period / 1_000
                ),
            )
            // Only with SCHED_FIFO, so it is no delay of this host as such.
            .how_much(
                "only where `scheduling = \"fifo:…\"` is asked for together with `wait = \"spin\"`",
            )
            .command("sudo sysctl -w kernel.sched_rt_runtime_us=-1")
        }
        _ => Finding::fine(ID, "realtime threads are never stopped"),
    }
}

pub(super) fn locked_memory(f: &Facts) -> Finding {
    const ID: &str = "locked-memory";
    match right(f, MLOCK) {
        Some(r) if r.granted => Finding::fine(ID, "memory may be locked"),
        _ => Finding::may_hurt(
            ID,
            "memory cannot be locked: a page that the kernel takes back is a fault in the middle of a \
             measurement, and suites with `mlock = true` run without it",
        )
        .command("sudo setcap cap_ipc_lock+ep $(command -v dyno)"),
    }
}

/// A finding for each limit that is too small, and one for all the others.
pub(super) fn limits(f: &Facts) -> Vec<Finding> {
    // The rights themselves count: with CAP_SYS_NICE or as root their limits mean nothing.
    let counts = |l: &&Limit| !matches!(l.name.as_str(), "RLIMIT_RTPRIO" | "RLIMIT_MEMLOCK");
    let all: Vec<&Limit> = f.limits.0.iter().filter(counts).collect();
    let mut found: Vec<Finding> = all.iter().filter_map(|l| too_small(l)).collect();
    if found.is_empty() {
        found.push(Finding::fine(
            "limits",
            format!("all {} limits and buffer sizes are large enough", all.len()),
        ));
    }
    found
}

fn too_small(limit: &Limit) -> Option<Finding> {
    let advice = limit.advice.as_ref()?;
    let name = limit.name.as_str();
    let id = match name {
        "net.core.rmem_max" | "net.core.wmem_max" | "net.core.rmem_default" => "socket-buffers",
        n if n.starts_with("fs.mqueue") || n == "RLIMIT_MSGQUEUE" => "message-queues",
        n if n.starts_with("/dev/shm") => "shared-memory",
        _ => "limits",
    };
    let what = format!(
        "{name} is {} ({}); {} would be enough",
        limit.text(),
        limit.about,
        advice.enough
    );
    let finding = Finding::may_hurt(id, what).command(&advice.command);
    Some(match (id, limit.value) {
        ("socket-buffers", Some(bytes)) if name == "net.core.rmem_default" => finding.how_much(format!(
            "a message of 1 MB over udp is charged some {} KB; this buffer holds {} of its {} datagrams, and what comes \
             beyond is lost unless the stack asks for more (option `rcvbuf` of udp)",
            MEGABYTE * LARGE_DATAGRAM / 1_000,
            (bytes / LARGE_DATAGRAM).min(MEGABYTE),
            MEGABYTE
        )),
        ("socket-buffers", Some(bytes)) => finding.how_much(format!(
            "a socket that asks for more holds some {} small datagrams (each is charged {SMALL_DATAGRAM} \
             B, and the kernel doubles what is asked for); what comes beyond is lost or blocks",
            2 * bytes / SMALL_DATAGRAM
        )),
        _ => finding,
    })
}
