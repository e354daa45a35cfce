//! How often the nightly gate is right: a simulation, because no machine has a thousand nights to give. It is
//! an example of `dyno-judge`, which puts simulated runs through the same code as `dyno check --history`.

use crate::Outcome;
use std::process::Command;

pub(super) fn study(nights: u32, tries: u32) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--release", "--quiet", "--package", "dyno-judge"])
        .args(["--example", "nightly", "--"])
        .args([nights.to_string(), tries.to_string()])
        .status()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("the study ended with {status}")),
    }
}
