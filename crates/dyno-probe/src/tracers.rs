//! Which of the kernel's own tracers could name the cause of a long delay, and what to say where they cannot.

use dyno_model::cause::Warning;

/// Tracers of what keeps a thread from its CPU: the kernel and its interrupts, timers, and the firmware (kernel's
/// documentation, trace/osnoise-tracer, trace/timerlat-tracer, trace/hwlat_detector).
const TRACERS: [&str; 3] = ["osnoise", "timerlat", "hwlat"];

/// Where tracefs is mounted; the second by older distributions.
const AVAILABLE: [&str; 2] = [
    "/sys/kernel/tracing/available_tracers",
    "/sys/kernel/debug/tracing/available_tracers",
];

/// What to say of the longest delay's cause where a tracer for it is missing.
pub(crate) fn missing() -> Option<Warning> {
    let mut texts = AVAILABLE.iter().map(std::fs::read_to_string);
    lacks(texts.find_map(Result::ok).as_deref())
}

/// The same of the content of `available_tracers`, where it could be read.
fn lacks(available: Option<&str>) -> Option<Warning> {
    let Some(available) = available.filter(|text| !text.trim().is_empty()) else {
        return Some(Warning::TracersUnread);
    };
    let there = |tracer: &String| available.split_whitespace().any(|word| word == tracer);
    let (there, missing): (Vec<String>, Vec<String>) =
        TRACERS.iter().map(|t| (*t).to_owned()).partition(there);
    (!missing.is_empty()).then_some(Warning::TracersMissing { missing, there })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tracer_that_is_missing_is_named() {
        let none = lacks(Some("function nop\n")).unwrap().to_string();
        assert!(
            none.ends_with("without the tracers osnoise, timerlat, hwlat"),
            "{none}"
        );
        let some = lacks(Some("hwlat osnoise nop\n")).unwrap().to_string();
        assert!(
            some.contains("without the tracers timerlat; osnoise, hwlat are there"),
            "{some}"
        );
        assert_eq!(lacks(Some("timerlat osnoise hwlat nop")), None);
        assert!(lacks(None).unwrap().to_string().contains("mount"));
        assert!(lacks(Some("\n")).unwrap().to_string().contains("mount"));
    }
}
