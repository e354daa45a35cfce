//! How many copies of its payload a message's latency is worth, where the run has a probe that copies as much on the same
//! ground: what of a large payload's latency could be memory alone.

use crate::made_of::{is_beside, is_copy_of};
use dyno_model::plan::{Host, Reach};
use dyno_model::probe::Writer;
use dyno_model::{Experiment, Metric, Placement, Plan};

/// A copy of fewer bytes takes less time than two readings of the clock, and no latency is made of it.
pub(crate) const LEAST_BYTES: usize = 1 << 10;

/// The probe that copies the payload of `x`, which `writer` has written, where `x` runs; `None` where the plan has none, or
/// `headline` is no latency of a payload.
pub(crate) fn probe<'a>(
    plan: &'a Plan,
    x: &Experiment,
    headline: Option<Metric>,
    writer: Writer,
) -> Option<&'a Experiment> {
    let carries = matches!(headline, Some(Metric::Rtt | Metric::Response));
    // Two hosts have two memories, but for namespaces of one.
    let other_machine = |h: &Host| matches!(h.reach, Reach::Ssh { .. } | Reach::Vm(_));
    let crosses = x.placement == Placement::Host && plan.testbed.hosts.iter().any(other_machine);
    if !carries || crosses || x.payload.bytes() < LEAST_BYTES {
        return None;
    }
    plan.here()
        .find(|p| is_beside(p, x) && is_copy_of(writer, p, x))
}
