//! What the machine is: processor, siblings, isolation, governor, hypervisor, mitigations, swap.

use crate::host::allowed_cpus;
use crate::procfile;
use serde::Serialize;
use std::collections::BTreeMap;

/// The properties of the machine that bear on measurements. What the kernel does not show is empty or
/// `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu_model: String,
    /// CPUs that this process may use.
    pub cpus: Vec<u32>,
    /// CPUs that share a core, by core, as the kernel writes them (`0,4`); only cores with several.
    pub smt_siblings: Vec<String>,
    /// CPUs that the scheduler leaves alone (`isolcpus`), as the kernel writes them.
    pub isolated: String,
    /// CPUs without a regular tick (`nohz_full`), as the kernel writes them.
    pub nohz_full: String,
    /// Frequency governor by CPU.
    pub governors: BTreeMap<u32, String>,
    /// The hypervisor, where one shows itself.
    pub hypervisor: Option<String>,
    /// The kernel's clock source.
    pub clock_source: String,
    /// Why the processor's counter is not used by default; `None` where it is.
    pub tsc_refusal: Option<String>,
    /// Swap space in bytes.
    pub swap_bytes: u64,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: String,
    /// CPU vulnerabilities and their mitigations.
    pub mitigations: BTreeMap<String, String>,
}

/// Describes this machine.
pub fn machine() -> Machine {
    let meminfo = procfile::text("/proc/meminfo");
    let nohz_full = procfile::text("/sys/devices/system/cpu/nohz_full");
    Machine {
        cpu_model: cpu_model(),
        cpus: allowed_cpus(),
        smt_siblings: smt_siblings(),
        isolated: procfile::text("/sys/devices/system/cpu/isolated"),
        // The kernel prints a null pointer where there are none.
        nohz_full: if nohz_full.starts_with('(') {
            String::new()
        } else {
            nohz_full
        },
        governors: governors(),
        hypervisor: hypervisor(),
        clock_source: procfile::text(procfile::CLOCK_SOURCE),
        tsc_refusal: crate::clock::tsc_refusal(),
        swap_bytes: procfile::kib_field(&meminfo, "SwapTotal").unwrap_or(0),
        huge_pages: chosen(&procfile::text(
            "/sys/kernel/mm/transparent_hugepage/enabled",
        )),
        mitigations: mitigations(),
    }
}

/// Model name of the first processor.
pub(crate) fn cpu_model() -> String {
    let info = procfile::text("/proc/cpuinfo");
    // Arm kernels name no model, but an implementer and a part.
    match procfile::field(&info, "model name") {
        Some(name) => name.into(),
        None => match (
            procfile::field(&info, "CPU implementer"),
            procfile::field(&info, "CPU part"),
        ) {
            (Some(implementer), Some(part)) => {
                format!("implementer {implementer}, part {part}")
            }
            _ => String::new(),
        },
    }
}

/// Frequency governor by CPU; empty where the kernel shows none.
pub(crate) fn governors() -> BTreeMap<u32, String> {
    allowed_cpus()
        .into_iter()
        .map(|cpu| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
            (cpu, procfile::text(path))
        })
        .filter(|(_, governor)| !governor.is_empty())
        .collect()
}

/// CPU vulnerabilities and their mitigations, as the kernel words them.
pub(crate) fn mitigations() -> BTreeMap<String, String> {
    let Ok(files) = std::fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else {
        return BTreeMap::new();
    };
    files
        .flatten()
        .map(|f| {
            let name = f.file_name().to_string_lossy().into_owned();
            (name, procfile::text(f.path()))
        })
        .collect()
}

/// The hypervisor by the name it gives itself, or just that there is one.
pub(crate) fn hypervisor() -> Option<String> {
    let real = procfile::text("/proc/sys/kernel/arch");
    if let Some(emulation) = emulation(std::env::consts::ARCH, &real) {
        return Some(emulation);
    }
    let xen = procfile::text("/sys/hypervisor/type");
    if !xen.is_empty() {
        return Some(xen);
    }
    if !procfile::cpu_flags().iter().any(|f| f == "hypervisor") {
        return None;
    }
    let product = procfile::text("/sys/class/dmi/id/product_name");
    Some(match (signature(), product.as_str()) {
        (Some(name), "") => name,
        (Some(name), product) => format!("{name} ({product})"),
        (None, "") => "unknown".into(),
        (None, product) => product.into(),
    })
}

/// Says that another processor is emulated, as qemu-user does, which lets the kernel's own word through
/// (`kernel.arch`, since Linux 6.1). What is measured then is the emulator.
fn emulation(built_for: &str, real: &str) -> Option<String> {
    let both = ["x86_64", "aarch64"];
    let differs = built_for != real && both.contains(&built_for) && both.contains(&real);
    differs.then(|| format!("emulated: {built_for} on {real}"))
}

/// The hypervisor's signature, CPUID leaf 0x4000_0000 (Linux, Documentation/virt/kvm/x86/cpuid.rst).
fn signature() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    {
        // Older compilers than the newest hold CPUID for unsafe.
        #[allow(unused_unsafe, reason = "safe since Rust 1.94, unsafe before")]
        // SAFETY: every x86-64 processor has CPUID; the leaf is only asked for where the processor
        // says that there is a hypervisor, and reads as zeros or noise otherwise.
        let leaf = unsafe { core::arch::x86_64::__cpuid(0x4000_0000) };
        let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx]
            .iter()
            .flat_map(|r| r.to_le_bytes())
            .collect();
        let known = match bytes.as_slice() {
            b"KVMKVMKVM\0\0\0" => "KVM",
            b"Microsoft Hv" => "Hyper-V",
            b"VMwareVMware" => "VMware",
            b"XenVMMXenVMM" => "Xen",
            b"ACRNACRNACRN" => "ACRN",
            b"bhyve bhyve " => "bhyve",
            b" QNXQVMBSQG " | b"QNXQVMBSQG\0\0" => "QNX Hypervisor",
            b"TCGTCGTCGTCG" => "QEMU without KVM",
            _ => return None,
        };
        Some(known.into())
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        None
    }
}

/// Groups of CPUs that share a core, each once.
fn smt_siblings() -> Vec<String> {
    let mut groups: Vec<String> = allowed_cpus()
        .into_iter()
        .map(|cpu| {
            procfile::text(format!(
                "/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
            ))
        })
        .filter(|group| procfile::cpu_list(group).len() > 1)
        .collect();
    groups.sort();
    groups.dedup();
    groups
}

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> String {
    text.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or_else(String::new, |(word, _)| word.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described() {
        let m = machine();
        assert!(!m.cpu_model.is_empty() && !m.cpus.is_empty() && !m.clock_source.is_empty());
    }

    #[test]
    fn another_processor_than_the_kernels_is_emulated() {
        let mark = emulation("aarch64", "x86_64");
        assert_eq!(mark.as_deref(), Some("emulated: aarch64 on x86_64"));
        // Also where the kernel does not tell, or a 32-bit program runs as it should.
        for (built_for, real) in [("aarch64", "aarch64"), ("aarch64", ""), ("arm", "aarch64")] {
            assert_eq!(emulation(built_for, real), None);
        }
    }

    #[test]
    fn the_chosen_word_is_the_one_in_brackets() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen(""), "");
    }
}
