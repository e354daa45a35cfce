//! From facts to findings. Each rule looks at one thing and yields one finding, also where it is fine,
//! so that a reader sees what was looked at.

mod cpu;
mod kernel;
mod noise;
mod rights;

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
    all.extend(f.failed.iter().map(|e| Finding::unknown("probe", e)));
    // Stable, so that equals stay in the order above.
    all.sort_by(Finding::order);
    all
}

/// `31 %`, `5.2 %` or `0.43 %`.
fn percent(share: f64) -> String {
    let p = share * 100.0;
    match p {
        10.0.. => format!("{p:.0} %"),
        1.0.. => format!("{p:.1} %"),
        _ => format!("{p:.2} %"),
    }
}

/// `0,1,2`, as the kernel and taskset write it.
pub fn list(cpus: &[u32]) -> String {
    cpus.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests;
