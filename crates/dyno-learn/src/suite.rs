//! The suite file.

use crate::learnt::{Learnt, LearntFlow, MOST_PERIOD_NS, SMALLEST};
use crate::pattern::Pattern;
use crate::quantity::{per_second, prefixed, rate, time};
use dyno_report::clean;
use std::fmt::Write as _;

/// How the suite is written.
#[derive(Debug, Clone, Default)]
pub struct SuiteOptions {
    /// The stacks to measure; none: all that can carry the flows.
    pub stacks: Vec<String>,
}

/// Writing to a `String` cannot fail.
const NEVER: &str = "writing to a string cannot fail";

/// The text of a suite file that offers this traffic.
pub fn suite(learnt: &Learnt, options: &SuiteOptions) -> String {
    let mut out = head(learnt);
    let bits: f64 = learnt
        .flows
        .iter()
        .map(LearntFlow::offered_bits_per_second)
        .sum();
    let (flows, hz) = (learnt.flows.len(), per_second(learnt.hz()));
    let stacks = match options.stacks.as_slice() {
        [] => "\"all\"".to_owned(),
        named => format!(
            "[{}]",
            named
                .iter()
                .map(|s| quoted(s))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    let slowest = learnt
        .flows
        .iter()
        .map(|f| f.pattern.period_ns())
        .fold(0.0, f64::max);
    let window = (10.0 * slowest).clamp(5e9, MOST_PERIOD_NS);
    write!(
        out,
        "title = \"Learnt traffic: {flows} flows\"\n\
         description = \"{flows} flows at the same time, together {hz} and {} of payload.\"\n\
         \n\
         [defaults]\n\
         wait = \"natural\"\n\
         access = \"stamp\"\n\
         # Few machines have a CPU for each sender and each receiver.\n\
         cpus = \"none\"\n\
         trials = 5\n\
         warmup = \"1 s\"\n\
         settle = \"1 s\"\n\
         # Ten periods of the slowest flow, but 5 s to 60 s.\n\
         window = \"{} s\"\n\
         drain = \"2 s\"\n\
         deadline = \"60 s\"\n\
         \n\
         [[experiment]]\n\
         name = \"learnt\"\n\
         stacks = {stacks}\n\
         # One process for all senders and one for all receivers.\n\
         processes = \"per-side\"\n",
        prefixed(bits, "bit/s"),
        (window / 1e9).ceil(),
    )
    .expect(NEVER);
    learnt
        .flows
        .iter()
        .for_each(|flow| write_flow(&mut out, flow));
    out
}

/// The comments at the top of the file.
fn head(learnt: &Learnt) -> String {
    let mut out = String::new();
    out.push_str("# Written by `dyno learn`. Each flow offers the traffic of one topic; all keys: docs/reference/suite-files.md.\n");
    for file in &learnt.files {
        let what = match (file.messages, file.described) {
            (0, described) => format!("{described} messages described"),
            (messages, _) => format!("{messages} messages in {}", time(1e9 * file.seconds)),
        };
        writeln!(
            out,
            "# From {} ({}): {what}.",
            clean(&file.name),
            file.format
        )
        .expect(NEVER);
    }
    let raised = learnt.flows.iter().filter(|f| f.raised).count();
    if raised > 0 {
        writeln!(
            out,
            "# Sizes below {SMALLEST} B were raised to {SMALLEST} B, the smallest payload that Dyno sends one way (flows: {raised})."
        )
        .expect(NEVER);
    }
    if !learnt.left_out.is_empty() {
        let count = learnt.left_out.len();
        writeln!(
            out,
            "# Topics left out: {count}; `dyno learn --explain` has the reasons."
        )
        .expect(NEVER);
    }
    out
}

fn write_flow(out: &mut String, flow: &LearntFlow) {
    let mut comment = clean(&flow.topic);
    if let Some(sender) = &flow.sender {
        write!(comment, " from {}", clean(sender)).expect(NEVER);
    }
    match flow.messages {
        0 => comment.push_str(": as described"),
        n => write!(comment, ": {n} messages").expect(NEVER),
    }
    let sizes = &flow.sizes;
    match sizes.min == sizes.max {
        true => write!(comment, ", {} B", sizes.min).expect(NEVER),
        false => write!(comment, ", {} to {} B", sizes.min, sizes.max).expect(NEVER),
    }
    let (workload, pace) = match flow.pattern {
        Pattern::Periodic { cycle_ns } => {
            let phase = match flow.phase_ns {
                0 => String::new(),
                phase => format!("phase = \"{} us\"\n", phase as f64 / 1e3),
            };
            ("stream", format!("cycle = \"{}\"\n{phase}", time(cycle_ns)))
        }
        Pattern::Burst { group, period_ns } => (
            "burst",
            format!("group = {group}\nperiod = \"{}\"\n", time(period_ns)),
        ),
        Pattern::Random { hz } => (
            "stream",
            format!("rate = \"{}\"\narrivals = \"poisson\"\n", rate(hz)),
        ),
    };
    let payload = match flow.payload.as_slice() {
        [(size, _)] => format!("\"{size} B\""),
        several => {
            let each = several
                .iter()
                .map(|(size, weight)| format!("{{ size = \"{size} B\", weight = {weight} }}"));
            format!("[{}]", each.collect::<Vec<_>>().join(", "))
        }
    };
    write!(
        out,
        "\n# {comment}\n[[experiment.flow]]\nname = \"{}\"\nworkload = \"{workload}\"\npayload = {payload}\n{pace}",
        flow.name
    )
    .expect(NEVER);
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let text = clean(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}
