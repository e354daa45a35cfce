//! How much of a stack's p50 is explained by what the kernel was asked for: what `dyno run --ground` counts and probes, of
//! stacks whose way through the kernel is known.

use super::bench::{Place, list};
use crate::Outcome;
use serde_json::Value;

const SUITE: &str = r#"
title = "what a round trip is made of"
[defaults]
trials = 5
cpus = [0, 1]
payload = "4 KiB"
wait = "block"
[[experiment]]
name = "round-trip"
workload = "ping-pong"
stacks = ["pipe", "tcp", "floor-futex"]
warmup = "50 ms"
window = "500 ms"
"#;

/// Measures, counts, and prints how much of each p50 is explained. Half a minute.
pub(super) fn study() -> Outcome {
    let place = Place::new("made-of")?;
    place.file("suites/made-of.toml", SUITE)?;
    println!("half a minute; needs tracefs below /sys/kernel/tracing, and root");
    place.dyno("run made-of --ground --quiet --out run")?;
    let shown = place.show("run")?;
    for e in list(&shown, "experiments") {
        if let Some(line) = line(e)? {
            println!("{line}");
        }
    }
    Ok(())
}

/// What a round trip is made of; `None` of a probe.
fn line(e: &Value) -> Result<Option<String>, String> {
    if e["experiment"] != "round-trip" {
        return Ok(None);
    }
    let (stack, made_of) = (&e["stack"], &e["made_of"]);
    let number = |value: &Value, key: &str| {
        value[key].as_f64().ok_or_else(|| {
            format!("{stack} has no {key}: the remarks of `dyno show` say why, such as tracefs that is not mounted")
        })
    };
    let further = &made_of["further"];
    Ok(Some(format!(
        "{stack}: {:.2} wake-ups of {:.0} ns, {:.2} further calls of {:.0} ns and {:.2} copies of {:.0} ns: {:.0} ns, {:.0} % of \
         its p50",
        number(made_of, "wake_ups")?,
        number(made_of, "wake_up_ns")?,
        number(further, "calls")?,
        number(further, "call_ns")?,
        number(further, "copies")?,
        number(further, "copy_ns")?,
        number(made_of, "ns")?,
        100.0 * number(made_of, "share")?,
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_not_counted_is_an_error() {
        let mut e = json!({
            "experiment": "round-trip", "stack": "tcp",
            "made_of": { "wake_ups": 2.0, "wake_up_ns": 5000.0, "ns": 10_200.0, "share": 0.5 },
        });
        assert!(line(&e).unwrap_err().contains("tracefs"));
        e["made_of"]["further"] =
            json!({ "calls": 2.0, "call_ns": 100.0, "copies": 4.0, "copy_ns": 0.0 });
        assert!(
            line(&e)
                .unwrap()
                .unwrap()
                .ends_with("10200 ns, 50 % of its p50")
        );
        e["experiment"] = "ground-copy".into();
        assert_eq!(line(&e), Ok(None));
    }
}
