//! Whether a run holds when it is measured again.

use super::bench::{list, share};
use crate::{Outcome, steps};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Share of the experiments whose p50 in `new` lies within its interval in `old`, and of those of which
/// the intervals of both overlap.
pub(super) fn study(old: &Path, new: &Path) -> Outcome {
    let (old, new) = (read(old)?, read(new)?);
    let (mut within, mut overlap, mut all) = (0, 0, 0);
    let (mut calm, mut calm_within) = (0, 0);
    for (key, row) in &new {
        let Some(before) = old.get(key) else { continue };
        all += 1;
        let is_within = before.lo <= row.value && row.value <= before.hi;
        within += usize::from(is_within);
        overlap += usize::from(before.lo <= row.hi && row.lo <= before.hi);
        calm += usize::from(!before.unstable);
        calm_within += usize::from(!before.unstable && is_within);
        println!(
            "{key:<48} {:>10.0} [{:.0}, {:.0}] → {:>10.0} [{:.0}, {:.0}]{}",
            before.value,
            before.lo,
            before.hi,
            row.value,
            row.lo,
            row.hi,
            if is_within { "" } else { "  outside" }
        );
    }
    println!("new p50 within the old interval: {}", share(within, all));
    println!(
        "of those that were not marked unstable: {}",
        share(calm_within, calm)
    );
    println!("intervals overlap: {}", share(overlap, all));
    Ok(())
}

struct Row {
    value: f64,
    lo: f64,
    hi: f64,
    unstable: bool,
}

fn read(run: &Path) -> Result<BTreeMap<String, Row>, String> {
    let program = crate::metadata::load()?
        .target_directory
        .join("release/dyno");
    let mut command = Command::new(&program);
    command.arg("show").arg(run).args(["--format", "json"]);
    let said = steps::output(&mut command)?;
    let shown: Value =
        serde_json::from_str(&said).map_err(|e| format!("{}: {e}", run.display()))?;
    let mut rows = BTreeMap::new();
    for e in list(&shown, "experiments") {
        let Some(headline) = e["headline"].as_str() else {
            continue;
        };
        let p50 = &e["metrics"][headline]["p50"];
        let (Some(value), Some(lo), Some(hi)) = (
            p50["value"].as_f64(),
            p50["lo"].as_f64(),
            p50["hi"].as_f64(),
        ) else {
            continue;
        };
        // Two plans of one suite on one machine number their experiments alike.
        let words = ["experiment", "stack", "wait", "placement", "topology"];
        let words = words.map(|k| e[k].as_str().unwrap_or_default());
        let unstable = e["unstable"].as_bool().unwrap_or(false);
        rows.insert(
            format!(
                "{:>4} {} {} B",
                e["id"],
                words.join(" "),
                e["payload_bytes"]
            ),
            Row {
                value,
                lo,
                hi,
                unstable,
            },
        );
    }
    Ok(rows)
}
