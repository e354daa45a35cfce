//! The doctor's findings and facts as text.

use dyno_doctor::{Facts, Finding, Fix, Severity, Verdict, list};
use dyno_measure::probe::ping_pong::{Between, PingPong};
use serde::Serialize;
use std::fmt::Write;

/// What `--json` prints; docs/reference/host-noise.md describes it.
#[derive(Serialize)]
pub(super) struct Report {
    /// Within a format, fields may be added; none is renamed, removed or given another meaning.
    pub(super) format: u32,
    pub(super) verdict: Verdict,
    /// What hurts most first.
    pub(super) findings: Vec<Finding>,
    #[serde(flatten)]
    pub(super) facts: Facts,
}

pub(super) fn render(report: &Report) -> String {
    let f = &report.facts;
    let mut out = format!("Verdict: {}\n\n", report.verdict.sentence);
    let mut section = |title: &str, lines: Vec<String>| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{title}");
        for line in lines {
            let _ = writeln!(out, "  {line}");
        }
        out.push('\n');
    };
    section(
        "Findings, most serious first",
        report.findings.iter().flat_map(finding_lines).collect(),
    );
    section(
        "Machine",
        vec![format!(
            "{}, cpus {}",
            f.machine.cpu_model,
            list(&f.machine.cpus)
        )],
    );
    section("Clock", clock_lines(f));
    section("Core to core: round trip of a cache line", core_lines(f));
    section("Timers and wake-ups", timer_lines(f));
    section(
        "Host noise: gaps longer than 1 µs in a thread that only reads the clock",
        gap_lines(f),
    );
    section("Permissions", right_lines(f));
    section("Limits", limit_lines(f));
    section("Adapters", adapter_lines(f));
    if !f.failed.is_empty() {
        section("Could not be measured", f.failed.clone());
    }
    out
}

fn finding_lines(f: &Finding) -> Vec<String> {
    let severity = match f.severity {
        Severity::Hurts => "HURTS",
        Severity::MayHurt => "may hurt",
        Severity::Unknown => "unknown",
        Severity::Fine => "fine",
    };
    let mut lines = vec![format!("{severity:<9}{}: {}", f.cause.id(), f.cause)];
    let mut more = |title: &str, text: &str| lines.push(format!("         {title}: {text}"));
    if let (Some(text), true) = (f.cause.how_much(), f.severity != Severity::Fine) {
        more("effect", &text);
    }
    match &f.fix() {
        Some(Fix::Command(command)) => more("fix", command),
        Some(Fix::Instead(advice)) => more("advice", advice),
        None => {}
    }
    lines
}

fn clock_lines(f: &Facts) -> Vec<String> {
    let mut lines = vec![format!("time stamps come from {}", f.clock.source)];
    for c in &f.clocks {
        lines.push(format!(
            "{:<24} {:>6.1} ns per reading, resolution {:.1} ns",
            c.name, c.cost_ns, c.resolution_ns
        ));
    }
    lines.extend(f.syscall.map(|syscall| {
        format!(
            "{:<24} {:>6.1} ns",
            "a system call (getppid)", syscall.cost_ns
        )
    }));
    lines
}

fn adapter_lines(f: &Facts) -> Vec<String> {
    let mut lines = Vec::new();
    for l in &f.libraries {
        lines.push(format!("{:<12} {}", l.adapter, l.library.display()));
        for other in &l.passed_over {
            lines.push(format!("{:<12} not used: {}", "", other.display()));
        }
    }
    let unavailable = f.unavailable.iter();
    lines.extend(unavailable.map(|u| format!("{}: {}", u.adapter, u.reason)));
    if f.unavailable.is_empty() {
        lines.push("every adapter of this build can be used".to_owned());
    }
    lines
}

fn core_lines(f: &Facts) -> Vec<String> {
    let pair = |p: &PingPong| {
        let who = match p.between {
            Between::Threads => "threads",
            Between::Processes => "processes",
        };
        let r = &p.round_trip;
        format!(
            "cpu {} ↔ cpu {}, {who:<9}  p50 {}  p90 {}  p99 {}  max {}  (without time stamps {:.0} ns)",
            p.cpu, p.peer_cpu, r.p50, r.p90, r.p99, r.max, p.bare_ns
        )
    };
    if f.core_to_core.is_empty() {
        return vec!["not measured".into()];
    }
    f.core_to_core.iter().map(pair).collect()
}

fn timer_lines(f: &Facts) -> Vec<String> {
    let mut lines = Vec::new();
    for t in &f.timers {
        let slack = t.slack.map_or_else(
            || "the kernel's default timer slack".to_owned(),
            |s| format!("{s} slack"),
        );
        lines.push(format!(
            "a sleep of {} with {slack} ends late: p50 {}, p99 {}, max {}",
            t.sleep, t.overshoot.p50, t.overshoot.p99, t.overshoot.max
        ));
    }
    for (wake, of) in [
        (&f.wake_up, "(idle for 50 µs)"),
        (&f.wake_up_asleep, "(idle for 2 ms)"),
        (&f.wake_up_awake, "(kept awake)"),
    ] {
        if let Some(w) = wake {
            lines.push(format!(
                "a futex wake-up, cpu {} → cpu {} {of}: p50 {}, p99 {}, max {}",
                w.cpu, w.sleeper_cpu, w.latency.p50, w.latency.p99, w.latency.max
            ));
        }
    }
    for s in &f.speeds {
        lines.push(format!(
            "a fixed amount of work on cpu {}: p50 {}, p99 {}, max {}",
            s.cpu, s.piece.p50, s.piece.p99, s.piece.max
        ));
    }
    lines
}

fn gap_lines(f: &Facts) -> Vec<String> {
    let mut lines: Vec<String> = f
        .gaps
        .iter()
        .map(|g| {
            let share = g.lost.as_secs_f64() / g.watched.as_secs_f64().max(1e-9) * 100.0;
            format!(
                "cpu {}: {} gaps in {}, the longest {}, together {share:.2} % of the time",
                g.cpu, g.count, g.watched, g.longest
            )
        })
        .collect();
    lines.push(format!(
        "during {}: {} stolen by the hypervisor, {} used by other processes, {} interrupts",
        f.load.wall, f.load.stolen, f.load.foreign, f.load.interrupts
    ));
    lines
}

fn right_lines(f: &Facts) -> Vec<String> {
    f.rights
        .iter()
        .map(|r| match &r.advice {
            None => format!("{}: granted", r.name),
            Some(advice) => format!("! {}: {advice}", r.name),
        })
        .collect()
}

fn limit_lines(f: &Facts) -> Vec<String> {
    f.limits
        .0
        .iter()
        .map(|l| format!("{:<28} {:<20} {}", l.name, l.text(), l.about))
        .collect()
}
