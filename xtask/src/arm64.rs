//! `cargo xtask arm64`: builds Dyno for arm64 with Debian's cross compiler, and tries it in QEMU's user-mode emulation.
//! That shows that it runs; what it measures there is the emulator, and the runs say so.

use crate::metadata::Metadata;
use crate::steps::{self, Step};
use crate::{Outcome, files, packages};
use serde_json::Value;

const USAGE: &str = "\
usage: cargo xtask arm64

  builds dyno for aarch64-unknown-linux-gnu (not optimized) with Debian's cross compiler and rustup's target, and runs
  `dyno list` and a suite of one trial in qemu-user";

const TARGET: &str = "aarch64-unknown-linux-gnu";
/// Compiler, C library and emulator.
const PACKAGES: &[&str] = &[
    "gcc-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
    "qemu-user",
];
/// Where the C library of arm64 is.
const SYSROOT: &str = "/usr/aarch64-linux-gnu";

/// What is measured there, one round trip of each.
const STACKS: &str = "pipe,uds-stream,tcp,iceoryx2";

/// Has the kernel start programs of arm64 in the emulator, within a namespace of its own: Dyno starts itself as agents.
/// The header that it goes by is that of QEMU's own scripts/qemu-binfmt-conf.sh. Temporary files lie apart: the emulator
/// tells a program another start of its own than the kernel tells others, so that a Dyno beside it would take it for ended
/// and clean up behind it.
const SCRIPT: &str = r#"
set -eu
cd /proc/sys/fs/binfmt_misc
if ! mount -t binfmt_misc none .; then
    echo "programs of arm64 cannot be started in a namespace: that takes Linux 6.7" >&2
    exit 1
fi
cd /proc/sys/fs/binfmt_misc
header='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf %s ":dyno-arm64:M::$header:$mask:$(command -v qemu-aarch64):OC" >register
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -r "$TMPDIR"' EXIT
cd "$PLACE"
"$DYNO" list stacks
"$DYNO" run quick --experiment round-trip --stack "$STACKS" --trials 1 --repeats 0 --clock tsc \
    --quiet --out run
"$DYNO" show run --format json >run.json
"$DYNO" doctor --quiet
"#;

/// Builds and tries it.
pub(crate) fn run(metadata: &Metadata, arguments: &[String]) -> Outcome {
    match arguments {
        [] => {}
        [help] if help == "--help" || help == "-h" => {
            println!("{USAGE}");
            return Ok(());
        }
        _ => return Err(format!("cargo xtask arm64 takes no arguments\n\n{USAGE}")),
    }
    packages::install(PACKAGES.iter().copied())?;
    let place = metadata.target_directory.join("arm64-run");
    files::empty(&place)?;
    let program = metadata
        .target_directory
        .join(TARGET)
        .join("debug/dyno")
        .to_string_lossy()
        .into_owned();
    steps::run(&[
        Step::new(
            "Rust's library for arm64",
            &format!("rustup target add {TARGET}"),
        ),
        Step::new(
            "dyno for arm64",
            &format!("cargo build --locked --target {TARGET}"),
        )
        .with(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
            "aarch64-linux-gnu-gcc",
        ),
        Step::new(
            "dyno for arm64, emulated",
            "unshare --user --map-root-user --mount sh -c",
        )
        .and(SCRIPT)
        .with("QEMU_LD_PREFIX", SYSROOT)
        .with("DYNO", program)
        .with("STACKS", STACKS)
        .with("PLACE", place.to_string_lossy()),
    ])?;
    is_a_run_of_arm64(&files::json(&place.join("run.json"))?)
}

/// The run says what it was measured on and with, and each of its stacks exchanged messages.
fn is_a_run_of_arm64(shown: &Value) -> Outcome {
    let environment = &shown["run"]["environment"];
    for (what, wanted) in [
        (&environment["hypervisor"], "emulated: aarch64 on x86_64"),
        (&environment["clock"]["source"], "cntvct"),
    ] {
        if *what != wanted {
            return Err(format!(
                "the run on arm64 has {what} in the place of {wanted:?}"
            ));
        }
    }
    let is_silent = |stack: &&str| {
        let mut experiments = shown["experiments"].as_array().into_iter().flatten();
        !experiments
            .any(|e| e["stack"] == **stack && e["counts"]["received"].as_u64().unwrap_or(0) > 0)
    };
    let silent: Vec<&str> = STACKS.split(',').filter(is_silent).collect();
    if !silent.is_empty() {
        return Err(format!(
            "on arm64 nothing arrived over {}; see the run in target/arm64-run",
            silent.join(", ")
        ));
    }
    println!(
        "── dyno runs on arm64, emulated; a reading of CNTVCT takes {} ns there, its step is {} ns",
        environment["clock"]["cost_ns"], environment["clock"]["resolution_ns"]
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_run_that_is_not_marked_or_in_which_nothing_arrived_does_not_count() {
        let run = |hypervisor: &str, received: u64| {
            json!({
                "run": {"environment": {"hypervisor": hypervisor, "clock": {"source": "cntvct"}}},
                "experiments": STACKS.split(',').map(|stack| {
                    let received = if stack == "tcp" { received } else { 1 };
                    json!({"stack": stack, "counts": {"received": received}})
                }).collect::<Vec<_>>(),
            })
        };
        let mark = "emulated: aarch64 on x86_64";
        assert!(is_a_run_of_arm64(&run(mark, 1)).is_ok());
        let error = is_a_run_of_arm64(&run("KVM", 1)).unwrap_err();
        assert!(error.contains("KVM") && error.contains(mark), "{error}");
        let error = is_a_run_of_arm64(&run(mark, 0)).unwrap_err();
        assert!(error.contains("tcp"), "{error}");
        let mut without = run(mark, 1);
        without["experiments"] = json!([]);
        let error = is_a_run_of_arm64(&without).unwrap_err();
        assert!(error.contains(&STACKS.replace(',', ", ")), "{error}");
    }
}
