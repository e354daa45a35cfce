//! Which interrupts hit which CPU, from `/proc/interrupts`.

use crate::procfile;
use serde::Serialize;
use std::collections::BTreeMap;

/// One source of interrupts and how often it fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interrupts {
    /// Its number, or its short name where it has none, such as `LOC`.
    pub irq: String,
    /// What the kernel says of it, such as `PCI-MSIX-0000:00:02.0 1-edge nvme0q1`.
    pub about: String,
    /// The CPU that was hit.
    pub cpu: u32,
    /// How often.
    pub count: u64,
}

impl Interrupts {
    /// It comes from a device, so another CPU could serve it.
    pub fn is_of_device(&self) -> bool {
        self.irq.bytes().all(|b| b.is_ascii_digit())
    }
}

/// All counters since boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InterruptReading {
    counts: BTreeMap<(String, u32), u64>,
    about: BTreeMap<String, String>,
}

/// Reads them.
pub fn read_interrupts() -> InterruptReading {
    InterruptReading::parse(&procfile::text("/proc/interrupts"))
}

impl InterruptReading {
    fn parse(text: &str) -> Self {
        let mut reading = InterruptReading::default();
        let table = Table::parse(text);
        for (irq, rest) in table.rows() {
            let mut words = rest.split_whitespace();
            for (cpu, count) in table.columns.iter().zip(&mut words) {
                if let (Some(cpu), Ok(count)) = (cpu, count.parse()) {
                    reading.counts.insert((irq.to_owned(), *cpu), count);
                }
            }
            let about = words.collect::<Vec<_>>().join(" ");
            reading.about.insert(irq.to_owned(), about);
        }
        reading
    }

    /// What fired on `cpus` until `later`, the most frequent first.
    pub fn until(&self, later: &InterruptReading, cpus: &[u32]) -> Vec<Interrupts> {
        let mut all: Vec<_> = later
            .counts
            .iter()
            .filter(|((_, cpu), _)| cpus.contains(cpu))
            .filter_map(|((irq, cpu), count)| {
                let before = self.counts.get(&(irq.clone(), *cpu)).unwrap_or(&0);
                let count = count.saturating_sub(*before);
                (count > 0).then(|| Interrupts {
                    irq: irq.clone(),
                    about: later.about.get(irq).cloned().unwrap_or_default(),
                    cpu: *cpu,
                    count,
                })
            })
            .collect();
        all.sort_by_key(|i| std::cmp::Reverse(i.count));
        all
    }
}

/// All interrupts of `cpus` since boot in the text of `/proc/interrupts`.
pub(crate) fn sum(text: &str, cpus: &[u32]) -> u64 {
    let table = Table::parse(text);
    table
        .rows()
        .flat_map(|(_, rest)| rest.split_whitespace().zip(&table.columns))
        .filter(|(_, column)| column.is_some_and(|c| cpus.contains(&c)))
        .filter_map(|(count, _)| count.parse::<u64>().ok())
        .sum()
}

/// Columns are the CPUs that are online, as the head names them.
struct Table<'a> {
    columns: Vec<Option<u32>>,
    body: &'a str,
}

impl<'a> Table<'a> {
    fn parse(text: &'a str) -> Self {
        let (head, body) = text.split_once('\n').unwrap_or_default();
        let cpu = |c: &str| c.strip_prefix("CPU")?.parse().ok();
        Table {
            columns: head.split_whitespace().map(cpu).collect(),
            body,
        }
    }

    /// Name and rest of the lines that count per CPU. Errors of the whole machine (`ERR`, `MIS`) have one
    /// number, which is no CPU's.
    fn rows(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.body
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(irq, rest)| (irq.trim(), rest))
            .filter(|(irq, _)| !matches!(*irq, "ERR" | "MIS" | "Err"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU 1 is offline: its column is missing.
    const BEFORE: &str = "           CPU0       CPU2       CPU3
  0:         22          0          1  IR-IO-APIC    2-edge      timer
 36:          0     109658          5 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:    3557822    3151140        100   Local timer interrupts
ERR:          7
MIS:          9
";

    const AFTER: &str = "           CPU0       CPU2       CPU3
  0:         22          0          1  IR-IO-APIC    2-edge      timer
 36:          0     109758         12 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:    3557822    3151190        100   Local timer interrupts
ERR:          9
";

    #[test]
    fn all_of_the_cpus_asked_for_are_added_up() {
        assert_eq!(sum(BEFORE, &[0]), 22 + 3_557_822);
        assert_eq!(sum(BEFORE, &[2, 3]), 109_658 + 3_151_140 + 106);
        assert_eq!(sum(BEFORE, &[1]), 0);
        assert_eq!(sum("", &[0]), 0);
        let one = "           CPU0\nLOC:    35   Local timer interrupts\nERR:     8\n";
        assert_eq!(sum(one, &[0]), 35);
    }

    #[test]
    fn sources_are_named_with_their_cpu() {
        let (before, after) = (
            InterruptReading::parse(BEFORE),
            InterruptReading::parse(AFTER),
        );
        let fired = before.until(&after, &[0, 2]);
        let disk = Interrupts {
            irq: "36".into(),
            about: "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0".into(),
            cpu: 2,
            count: 100,
        };
        assert_eq!(fired[0], disk);
        assert!(fired[0].is_of_device());
        assert_eq!((fired[1].irq.as_str(), fired[1].count), ("LOC", 50));
        assert!(!fired[1].is_of_device());
        assert_eq!(fired.len(), 2);
    }

    #[test]
    fn this_machine_has_interrupts() {
        assert!(!read_interrupts().counts.is_empty());
    }
}
