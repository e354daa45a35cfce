//! How often the nightly gate is right: a simulation, because no machine has a thousand nights to give. It is
//! an example of `dyno-judge`, which puts simulated runs through the same code as `dyno check --history`.

use crate::{Outcome, steps};
use std::process::Command;

pub(super) fn study(nights: u32, tries: u32) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let line =
        format!("run --release --quiet --package dyno-judge --example nightly -- {nights} {tries}");
    steps::done(Command::new(cargo).args(line.split(' ')))
}
