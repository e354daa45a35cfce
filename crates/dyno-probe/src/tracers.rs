//! Which of the kernel's own tracers could name the cause of a long delay, and what to say where they cannot.

/// Tracers of what keeps a thread from its CPU: the kernel and its interrupts, timers, and the firmware (kernel's
/// documentation, trace/osnoise-tracer, trace/timerlat-tracer, trace/hwlat_detector).
const TRACERS: [&str; 3] = ["osnoise", "timerlat", "hwlat"];

/// Where tracefs is mounted; the second by older distributions.
const AVAILABLE: [&str; 2] = [
    "/sys/kernel/tracing/available_tracers",
    "/sys/kernel/debug/tracing/available_tracers",
];

/// What to say of the longest delay's cause where a tracer for it is missing.
pub(crate) fn missing() -> Option<String> {
    let mut texts = AVAILABLE.iter().map(std::fs::read_to_string);
    said(texts.find_map(Result::ok).as_deref())
}

/// The same of the content of `available_tracers`, where it could be read.
fn said(available: Option<&str>) -> Option<String> {
    let Some(available) = available.filter(|text| !text.trim().is_empty()) else {
        return Some(
            "what caused the longest delay is not known: the kernel's tracers cannot be read (mount tracefs as root: \
             `mount -t tracefs none /sys/kernel/tracing`)"
                .into(),
        );
    };
    let there = |tracer: &&&str| available.split_whitespace().any(|word| word == **tracer);
    let (there, missing): (Vec<&str>, Vec<&str>) = TRACERS.iter().partition(there);
    let beside = match there[..] {
        [] => String::new(),
        _ => format!(
            "; {} are there and can run beside a repeat",
            there.join(", ")
        ),
    };
    (!missing.is_empty()).then(|| {
        format!(
            "what caused the longest delay is not known: this kernel is built without the tracers {}{beside}",
            missing.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tracer_that_is_missing_is_named() {
        let none = said(Some("function nop\n")).unwrap();
        assert!(
            none.ends_with("without the tracers osnoise, timerlat, hwlat"),
            "{none}"
        );
        let some = said(Some("hwlat osnoise nop\n")).unwrap();
        assert!(
            some.contains("without the tracers timerlat; osnoise, hwlat are there"),
            "{some}"
        );
        assert_eq!(said(Some("timerlat osnoise hwlat nop")), None);
        assert!(said(None).unwrap().contains("mount"));
        assert!(said(Some("\n")).unwrap().contains("mount"));
    }
}
