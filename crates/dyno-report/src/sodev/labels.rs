//! What each row of ours is called in the document: the words by which its figures are found.

use super::NONE;
use dyno_model::Metric;

/// Table 1: the document's row, and the stack.
pub(super) const BORDER: [(&str, &str); 4] = [
    ("VirtIO-vsock (avg)", "vsock"),
    ("VirtIO-net (TCP)", "tcp"),
    (NONE, "udp"),
    ("Shared memory (poll)", "floor-spin"),
];

/// Table 1: what cannot be measured here, the document's row, and why.
pub(super) const NOT_CROSSED: [(&str, &str, &str); 2] = [
    (
        "shared memory, doorbell",
        NONE,
        "a doorbell interrupts the guest, and Dyno has no way for it to a waiting thread there (VFIO with an IOMMU in the guest would be one)",
    ),
    (
        "Xen event channel",
        "Xen event channel",
        "no Xen here: its guests would be hosts by ssh",
    ),
];

/// Table 2: the document's row, our part, and its metric.
pub(super) const TIMERS: [(&str, &str, Metric); 3] = [
    ("IRQ to handler entry", "due to handler", Metric::Probe),
    ("Handler execution time", "handler", Metric::Within),
    (
        "Total IRQ servicing",
        "due to end of handler",
        Metric::Served,
    ),
];

/// Table 3: stages of a machine.
pub(super) const MACHINE: [(&str, &str, Metric); 6] = [
    (
        NONE,
        "monitor, until the kernel's clock",
        Metric::BootMonitor,
    ),
    (
        "Dom0 kernel boot",
        "kernel, until its first process",
        Metric::BootKernel,
    ),
    (
        "Dom0 userspace (systemd)",
        "init, until drivers and address",
        Metric::BootInit,
    ),
    (NONE, "agent, until it answers", Metric::BootAgent),
    (
        "HMI VM creation",
        "whole start of the machine",
        Metric::Boot,
    ),
    (NONE, "from go: first message across", Metric::FirstMessage),
];

/// Table 3: the stages of a container.
pub(super) const CONTAINER: [(&str, &str, Metric); 2] = [
    (
        "Telematics container start",
        "namespaces and agent, until it answers",
        Metric::Boot,
    ),
    (
        NONE,
        "from go: first message within the host",
        Metric::FirstMessage,
    ),
];

/// Table 3: the stages of a process.
pub(super) const PROCESS: [(&str, &str, Metric); 2] = [
    (NONE, "agent, until it answers", Metric::Boot),
    (
        NONE,
        "from go: first message within the host",
        Metric::FirstMessage,
    ),
];

/// Table 3: what a run without containers says of the document's.
pub(super) const NO_CONTAINER: (&str, usize, &str) = (CONTAINER[0].0, 0, "none in this run");

/// Table 3: what the document starts and nothing here does, the column, and why.
pub(super) const NOT_STARTED: [(&str, usize, &str); 3] = [
    ("Xen hypervisor init", 0, "the monitor is a process here"),
    ("Zephyr RT VM startup", 0, "Dyno boots Linux alone"),
    ("Total (all components)", 1, "a sum over several machines"),
];

/// Table 5: one stream, several, and datagrams.
pub(super) const TCP: &str = "TCP (single stream)";
pub(super) const TCP_STREAMS: &str = "Multi-stream (8x TCP)";
pub(super) const UDP: &str = "UDP (burst)";

#[cfg(test)]
mod tests {
    use super::super::requirements::{BETWEEN, FIGURES, OTHERS};
    use super::*;
    use crate::published::PrintedTables;
    use std::collections::BTreeSet;

    const SUITE: &str = include_str!("../../../../suites/sodev.toml");
    const LIMITS: &str = include_str!("../../../../limits/sodev.toml");

    #[test]
    fn the_document_has_every_row_that_a_figure_is_taken_from() {
        let mut used = NOT_CROSSED.map(|(_, label, _)| ("vm", label, 0)).to_vec();
        used.extend(BORDER.map(|(label, _)| ("vm", label, 0)));
        let timers = TIMERS.map(|(label, ..)| [0, 1, 2].map(|cell| ("irq", label, cell)));
        used.extend(timers.into_iter().flatten());
        let stages = MACHINE.iter().chain(&CONTAINER).chain(&PROCESS);
        used.extend(stages.map(|(label, ..)| ("boot", *label, 0)));
        used.extend(NOT_STARTED.map(|(label, cell, _)| ("boot", label, cell)));
        let net = [TCP, TCP_STREAMS, UDP].map(|label| [0, 2].map(|cell| ("net", label, cell)));
        used.extend(net.into_iter().flatten());
        used.extend(FIGURES.map(|(_, table, label, cell)| (table, label, cell)));
        used.extend(OTHERS.map(|(_, table, label, _)| (table, label, 0)));
        let printed = PrintedTables::sodev();
        for (table, label, cell) in used.into_iter().filter(|u| u.1 != NONE) {
            let found = printed.row(table, label).and_then(|row| row.get(cell));
            assert!(
                found.is_some_and(|text| !text.is_empty()),
                "the document's table {table} has no {label:?}, cell {cell}"
            );
        }
        // Those that are shown whole.
        for (table, least) in [("memory", 2), ("vcpu", 4), ("bare", 4)] {
            let rows = printed.rows(table);
            assert!(
                !rows.is_empty() && rows.iter().all(|r| r.len() >= least),
                "{table}"
            );
        }
    }

    #[test]
    fn suite_and_limits_have_what_rows_are_made_of() {
        let suite: toml::Table = toml::from_str(SUITE).unwrap();
        let experiments = suite["experiment"].as_array().unwrap();
        let names: BTreeSet<&str> = experiments
            .iter()
            .map(|e| e["name"].as_str().unwrap())
            .collect();
        let limits: toml::Table = toml::from_str(LIMITS).unwrap();
        let limits = limits["limit"].as_array().unwrap();
        let text = |limit: &toml::Value, key: &str| limit[key].as_str().map(str::to_owned);
        let called: Vec<_> = limits.iter().filter_map(|l| text(l, "name")).collect();
        for name in FIGURES.map(|f| f.0).into_iter().chain([BETWEEN]) {
            assert!(called.iter().any(|c| c == name), "{name} of {called:?}");
        }
        for experiment in limits.iter().filter_map(|l| text(l, "experiment")) {
            assert!(
                names.contains(experiment.as_str()),
                "{experiment} of {names:?}"
            );
        }
        let border = experiments
            .iter()
            .find(|e| e["name"].as_str() == Some("border"));
        let stacks = border.unwrap()["stacks"].as_array().unwrap();
        let ours: Vec<&str> = stacks.iter().map(|s| s.as_str().unwrap()).collect();
        let rows: Vec<&str> = BORDER.iter().map(|(_, stack)| *stack).collect();
        assert_eq!(ours, rows);
    }
}
