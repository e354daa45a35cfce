//! The keys of a host with `reach = "vm"`: what its virtual machine is made of.

use crate::quantity::{At, Quantity, one};
use crate::settings::Settings;
use dyno_model::machine::{Accelerator, Machine};
use dyno_model::unit::UnitError;
use dyno_model::{Placement, Testbed};
use dyno_toml::{Node, Problem, Problems, Table, Value, suggest};
use std::path::PathBuf;

/// What only virtual machines have.
pub(crate) const KEYS: [&str; 5] = ["kernel", "memory", "cpus", "pinned", "accelerator"];
/// Where the file does not say: the image with its adapters is unpacked into it.
const MEMORY: u64 = 512 << 20;
/// A kernel, an image and an agent need that much to start at all.
const LEAST: u64 = 128 << 20;
/// What machines share where the file does not say: rings of the floor for messages of several MiB fit.
const SHARED: u64 = 64 << 20;
/// Less holds no ring, and more than a window of 64 bits of a PCI bus takes is no device's.
const SHARED_BOUNDS: (u64, u64) = (1 << 20, 16 << 30);
/// In the place of a size: they share none.
const NO_MEMORY: &str = "none";
/// The key of a testbed that has it.
pub(crate) const SHARED_MEMORY: &str = "shared_memory";
/// More virtual CPUs than QEMU's machine takes without further devices.
const MOST_CPUS: u64 = 64;

/// Bytes of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Memory(u64);

impl Quantity for Memory {
    fn read(text: &str) -> Result<Self, UnitError> {
        match bytes(text)? {
            bytes if (LEAST as f64..=(1u64 << 40) as f64).contains(&bytes) => {
                Ok(Memory(bytes.round() as u64))
            }
            _ => Err(error(text, "a guest needs 128 MiB at least to start")),
        }
    }
}

/// Bytes of memory that machines share; none where they share nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shared(Option<u64>);

impl Quantity for Shared {
    fn read(text: &str) -> Result<Self, UnitError> {
        if text.trim() == NO_MEMORY {
            return Ok(Shared(None));
        }
        let bytes = bytes(text)?;
        let (least, most) = SHARED_BOUNDS;
        let whole = bytes.round() as u64;
        // The window of a PCI device has such a size.
        match whole.is_power_of_two() && whole as f64 == bytes && (least..=most).contains(&whole) {
            true => Ok(Shared(Some(whole))),
            false => Err(error(
                text,
                "the memory of a device is a power of two, from 1 MiB to 16 GiB",
            )),
        }
    }
}

fn error(text: &str, reason: &str) -> UnitError {
    UnitError {
        what: "size of memory",
        found: text.to_owned(),
        reason: reason.to_owned(),
        example: "\"512 MiB\"",
    }
}

fn bytes(text: &str) -> Result<f64, UnitError> {
    let trimmed = text.trim();
    let (number, scale) = [("GiB", 1 << 30), ("MiB", 1 << 20)]
        .into_iter()
        .find_map(|(unit, scale)| Some((trimmed.strip_suffix(unit)?, scale)))
        .ok_or_else(|| error(text, "it does not end in MiB or GiB"))?;
    let number = number.trim().parse::<f64>();
    let number = number.map_err(|_| error(text, "it must start with a number"))?;
    Ok(number * f64::from(scale))
}

/// Reads what the machines of a testbed share; mistakes go to `problems`. `machines`: whether it has any.
pub(crate) fn shared(testbed: &Table, machines: bool, problems: &mut Problems) -> Option<u64> {
    let Some(entry) = testbed.entry(SHARED_MEMORY) else {
        return Some(SHARED);
    };
    if !machines {
        return Problem::at(
            &entry.key_at,
            format!("a testbed without virtual machines has no `{SHARED_MEMORY}`"),
        )
        .label("means nothing here")
        .help("remove it, or give a host `reach = \"vm\"`")
        .refuse(problems);
    }
    one::<Shared>(SHARED_MEMORY, &entry.node, problems)?.value.0
}

/// Reads the machine of a host; mistakes go to `problems`.
pub(crate) fn read(table: &Table, problems: &mut Problems) -> Option<Machine> {
    let memory_bytes = match table.get("memory") {
        Some(node) => one::<Memory>("memory", node, problems)?.value.0,
        None => MEMORY,
    };
    let cpus = match table.get("cpus") {
        Some(node) => node.whole("`cpus`", 1, MOST_CPUS, problems)? as u32,
        None => 1,
    };
    let accelerator = match table.get("accelerator") {
        Some(node) => accelerator(node, problems)?,
        None => Accelerator::Auto,
    };
    let kernel = match table.get("kernel") {
        Some(node) => Some(PathBuf::from(node.text("`kernel`", problems)?)),
        None => None,
    };
    let pinned = match table.get("pinned") {
        Some(node) => pinned(node, problems)?,
        None => Vec::new(),
    };
    Some(Machine {
        kernel,
        memory_bytes,
        cpus,
        pinned,
        accelerator,
        vsock: None,
        shared_bytes: None,
    })
}

/// Where a testbed has machines, what a suite does not place is measured within a host and across their border.
pub(crate) fn place(testbed: &Testbed, built_in: &mut Settings) {
    if testbed.hosts.len() < 2 || testbed.machines().next().is_none() {
        return;
    }
    let within = built_in.placement.iter().flatten().next().cloned();
    if let Some(within) = within {
        let across = At::new(Placement::Host, &within.at);
        built_in.placement = Some(vec![within, across]);
    }
}

fn accelerator(node: &Node, problems: &mut Problems) -> Option<Accelerator> {
    let text = node.text("`accelerator`", problems)?;
    let found: Option<Accelerator> = text.parse().ok();
    if found.is_none() {
        let names = Accelerator::ALL.iter().map(|a| a.as_str());
        Problem::at(&node.at, format!("there is no accelerator {text:?}"))
            .label("unknown")
            .help(suggest::instead(text, "accelerators", names))
            .note(problems);
    }
    found
}

fn pinned(node: &Node, problems: &mut Problems) -> Option<Vec<u32>> {
    let Value::List(items) = &node.value else {
        return node
            .wrong_kind("`pinned`", "a list of CPUs")
            .help("write for example `pinned = [2, 3]`")
            .refuse(problems);
    };
    let cpus = items.iter().map(|item| {
        let cpu = item.whole("a CPU of `pinned`", 0, 1023, problems)?;
        Some(cpu as u32)
    });
    cpus.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_reads_with_its_unit_and_within_its_bounds() {
        for (text, bytes) in [
            ("512 MiB", 512 << 20),
            ("1GiB", 1 << 30),
            ("0.5 GiB", 1 << 29),
        ] {
            assert_eq!(Memory::read(text), Ok(Memory(bytes)), "{text}");
        }
        for text in ["512", "64 MiB", "1 GB", "MiB", "-1 GiB", "2000000 GiB"] {
            assert!(Memory::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shared_memory_is_as_large_as_a_device_can_be_or_none() {
        for (text, bytes) in [
            ("64 MiB", Some(64 << 20)),
            ("0.5 GiB", Some(512 << 20)),
            ("none", None),
        ] {
            assert_eq!(Shared::read(text), Ok(Shared(bytes)), "{text}");
        }
        for text in ["48 MiB", "0.5 MiB", "32 GiB", "64", "-1 MiB", "some"] {
            assert!(Shared::read(text).is_err(), "{text}");
        }
    }
}
