//! Describes the machine and the build that a run is measured with.

use crate::host::allowed_cpus;
use crate::probe::machine;
use crate::procfile;
use dyno_model::record::{ClockFacts, Environment};

/// The environment of this process; `clock` are the facts of the run's clock. What the kernel does
/// not show stays empty.
pub fn environment(clock: &ClockFacts) -> Environment {
    Environment {
        dyno_version: env!("CARGO_PKG_VERSION").into(),
        build_profile: if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        }
        .into(),
        host: procfile::text("/proc/sys/kernel/hostname"),
        cpu_model: machine::cpu_model(),
        cpus: allowed_cpus(),
        memory_bytes: procfile::kib_field(&procfile::text("/proc/meminfo"), "MemTotal")
            .unwrap_or(0),
        kernel: format!(
            "{} {}",
            procfile::text("/proc/sys/kernel/osrelease"),
            procfile::text("/proc/sys/kernel/version")
        ),
        kernel_cmdline: procfile::text("/proc/cmdline"),
        governors: machine::governors(),
        mitigations: machine::mitigations(),
        clock_source: procfile::text(procfile::CLOCK_SOURCE),
        clock: clock.clone(),
        hypervisor: machine::hypervisor(),
        limits: crate::probe::limits::limits().into_map(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described() {
        let e = environment(&ClockFacts::default());
        assert!(!e.kernel.trim().is_empty() && !e.cpus.is_empty() && e.memory_bytes > 1 << 20);
        assert!(!e.cpu_model.is_empty());
        assert!(e.limits.contains_key("RLIMIT_NOFILE"), "{:?}", e.limits);
    }
}
