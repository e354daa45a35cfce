//! Reads the small text files in which the kernel tells about itself. A file that is not there reads
//! as empty: which ones exist depends on the kernel's build and on the container.

use std::path::Path;

/// The kernel's current clock source.
pub(crate) const CLOCK_SOURCE: &str =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The file's text without surrounding blanks; empty where it cannot be read.
pub(crate) fn text(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).map_or_else(|_| String::new(), |t| t.trim().to_owned())
}

/// The value of the first line `key: value` (or `key value`) in `text`.
pub(crate) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        let rest = rest.trim_start();
        Some(rest.strip_prefix(':')?.trim())
    })
}

/// A field such as `VmHWM:  1600 kB`, in bytes.
pub(crate) fn kib_field(text: &str, key: &str) -> Option<u64> {
    let value = field(text, key)?.strip_suffix("kB")?.trim();
    value.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The feature flags of the first processor.
pub(crate) fn cpu_flags() -> Vec<String> {
    let info = text("/proc/cpuinfo");
    let flags = field(&info, "flags").unwrap_or_default();
    flags.split_whitespace().map(str::to_owned).collect()
}

/// CPU numbers written as `0-3,8,10-11`.
pub(crate) fn cpu_list(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            cpus.extend(first..=last);
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let t = "VmHWMX:\t1 kB\nVmHWM:\t  1600 kB\nmodel name\t: A : B\n";
        assert_eq!(kib_field(t, "VmHWM"), Some(1600 * 1024));
        assert_eq!(field(t, "model name"), Some("A : B"));
        assert_eq!(field(t, "model"), None);
    }

    #[test]
    fn cpu_lists_are_expanded() {
        assert_eq!(cpu_list("0-2,5,7-8\n"), [0, 1, 2, 5, 7, 8]);
        assert_eq!(cpu_list(""), [] as [u32; 0]);
    }
}
