//! From facts to findings. Each rule looks at one thing and yields one finding, also where it is fine,
//! so that a reader sees what was looked at.

mod cpu;
mod kernel;
mod noise;
mod rights;

use crate::cause::Cause;
use crate::facts::Facts;
use crate::finding::Finding;

/// All findings, what hurts most first.
pub fn findings(f: &Facts) -> Vec<Finding> {
    let mut all = vec![
        noise::build(f),
        noise::foreign_load(f),
        noise::load_average(f),
        noise::gaps(f),
        noise::interrupts(f),
        noise::irq_balancer(f),
        noise::throttling(f),
        noise::virtual_machine(f),
        noise::steal(f),
        cpu::count(f),
        cpu::quota(f),
        cpu::siblings(f),
        cpu::isolation(f),
        cpu::ticks(f),
        cpu::governor(f),
        cpu::turbo(f),
        cpu::speed(f),
        cpu::idle_states(f),
        kernel::clock_source(f),
        kernel::timers(f),
        kernel::mitigations(f),
        kernel::swap(f),
        kernel::huge_pages(f),
        kernel::numa_balancing(f),
        rights::realtime(f),
        rights::realtime_throttling(f),
        rights::locked_memory(f),
    ];
    all.extend(rights::limits(f));
    all.extend(f.failed.iter().map(|error| probe(error)));
    // Stable, so that equals stay in the order above.
    all.sort_by(Finding::order);
    all
}

fn probe(error: &str) -> Finding {
    Finding::unknown(Cause::ProbeFailed {
        error: error.to_owned(),
    })
}

#[cfg(test)]
mod tests;
