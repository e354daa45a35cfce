//! What Dyno may do here: rights, limits, sizes.

use crate::cause::Cause;
use crate::facts::{FIFO, Facts, MLOCK};
use crate::finding::Finding;
use dyno_measure::probe::limits::Limit;

/// Whether a right is granted.
fn is_granted(f: &Facts, name: &str) -> bool {
    f.rights.iter().any(|r| r.name == name && r.granted)
}

pub(super) fn realtime(f: &Facts) -> Finding {
    match is_granted(f, FIFO) {
        true => Finding::fine(Cause::Fifo),
        false => Finding::may_hurt(Cause::NoFifo),
    }
}

pub(super) fn realtime_throttling(f: &Facts) -> Finding {
    let limit = |name: &str| f.limits.0.iter().find(|l| l.name == name);
    let (Some(runtime), Some(period_us)) = (
        limit("kernel.sched_rt_runtime_us"),
        limit("kernel.sched_rt_period_us").and_then(|l| l.value),
    ) else {
        return Finding::unknown(Cause::RealtimeUnknown);
    };
    match runtime.value.filter(|us| *us < period_us) {
        Some(us) => Finding::may_hurt(Cause::RealtimeStopped {
            stopped_us: period_us - us,
            period_us,
        }),
        None => Finding::fine(Cause::RealtimeUnlimited),
    }
}

pub(super) fn locked_memory(f: &Facts) -> Finding {
    match is_granted(f, MLOCK) {
        true => Finding::fine(Cause::Locked),
        false => Finding::may_hurt(Cause::NotLocked),
    }
}

/// A finding for each limit that is too small, and one for all the others.
pub(super) fn limits(f: &Facts) -> Vec<Finding> {
    // The rights themselves count: with CAP_SYS_NICE or as root their limits mean nothing.
    let counts = |l: &&Limit| !matches!(l.name.as_str(), "RLIMIT_RTPRIO" | "RLIMIT_MEMLOCK");
    let all: Vec<&Limit> = f.limits.0.iter().filter(counts).collect();
    let mut found: Vec<Finding> = all.iter().filter_map(|l| too_small(l)).collect();
    if found.is_empty() {
        found.push(Finding::fine(Cause::LimitsEnough { count: all.len() }));
    }
    found
}

fn too_small(limit: &Limit) -> Option<Finding> {
    limit.advice.as_ref()?;
    Some(Finding::may_hurt(Cause::SmallLimit {
        limit: limit.clone(),
    }))
}
