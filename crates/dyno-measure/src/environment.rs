//! Describes the machine and the build that a run is measured with.

use crate::host::allowed_cpus;
use crate::probe::machine;
use crate::procfile;
use dyno_model::record::{ClockFacts, Environment};
use std::collections::BTreeMap;

/// The environment of this process; `clock` are the facts of the run's clock. What the kernel does
/// not show stays empty. The program alone knows its commit and what its agents load: they are not here.
pub fn environment(clock: &ClockFacts) -> Environment {
    Environment {
        dyno_version: env!("CARGO_PKG_VERSION").into(),
        build_profile: if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        }
        .into(),
        commit: None,
        modified: None,
        binaries: BTreeMap::new(),
        distribution: distribution(&[
            procfile::text("/etc/os-release"),
            procfile::text("/usr/lib/os-release"),
        ]),
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
        irq_time: crate::noise::kernel::irq_time(),
        timer_slack: crate::host::granted_timer_slack(),
        governors: machine::governors(),
        mitigations: machine::mitigations(),
        clock_source: procfile::text(procfile::CLOCK_SOURCE),
        clock: clock.clone(),
        hypervisor: machine::hypervisor(),
        emulated: None,
        limits: crate::probe::limits::limits().into_map(),
    }
}

/// The name of the distribution in the first of these files that is there (os-release(5)), with the build
/// of those that are released daily.
fn distribution(files: &[String]) -> Option<String> {
    let file = files.iter().find(|text| !text.is_empty())?;
    let value = |key: &str| {
        let lines = file.lines().filter_map(|line| line.split_once('='));
        let mut of_key = lines.filter(|(k, _)| k.trim() == key);
        let text = of_key.next_back()?.1.trim().trim_matches(['"', '\'']);
        (!text.is_empty()).then(|| text.to_owned())
    };
    let name = value("PRETTY_NAME").or_else(|| value("NAME"))?;
    Some(match value("BUILD_ID") {
        Some(build) => format!("{name}, build {build}"),
        None => name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_named_as_it_names_itself() {
        let of = |text: &str| distribution(&[String::new(), text.to_owned()]);
        let debian =
            "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nNAME=\"Debian GNU/Linux\"\nID=debian";
        assert_eq!(of(debian).unwrap(), "Debian GNU/Linux 13 (trixie)");
        assert_eq!(
            of("NAME=Arch\nBUILD_ID=rolling").unwrap(),
            "Arch, build rolling"
        );
        assert_eq!(of("ID=none"), None);
        assert_eq!(distribution(&[String::new()]), None);
    }

    #[test]
    fn the_machine_is_described() {
        let e = environment(&ClockFacts::default());
        assert!(!e.kernel.trim().is_empty() && !e.cpus.is_empty() && e.memory_bytes > 1 << 20);
        assert!(!e.cpu_model.is_empty());
        assert!(e.limits.contains_key("RLIMIT_NOFILE"), "{:?}", e.limits);
    }
}
