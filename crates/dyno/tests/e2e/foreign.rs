//! Adapters in shared libraries: found, listed, measured, and blamed by name for what they do.

use crate::harness::{Ended, Place, experiments, on_stack};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of this package.
fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
pub(crate) fn compile(program: &str, arguments: &[&str], sources: &[PathBuf], to: &Path) {
    let status = Command::new(program)
        .args(["-fPIC", "-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(here().join("../../include"))
        .args(arguments)
        .args(sources)
        .arg("-o")
        .arg(to)
        .status()
        .unwrap();
    assert!(status.success(), "{program} {arguments:?} {sources:?}");
}

/// A place whose folder `adapters` holds the C skeleton and the liar made from it.
pub(crate) fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("adapters")).unwrap();
    let skeleton = here().join("../../adapters/c-skeleton/skeleton.c");
    let object = place.path("skeleton.o");
    compile(
        "cc",
        &["-std=c11", "-c", "-Ddyno_adapter=skeleton_adapter"],
        std::slice::from_ref(&skeleton),
        &object,
    );
    compile(
        "c++",
        &["-std=c++17", "-shared", "-pthread"],
        &[here().join("tests/fixtures/liar.cpp"), object],
        &place.path("adapters/libdyno_liar.so"),
    );
    place
}

fn run(place: &Place, arguments: &[&str]) -> Ended {
    place
        .dyno(arguments)
        .env("DYNO_ADAPTER_PATH", place.path("adapters"))
        .output()
        .unwrap()
        .into()
}

const SUITE: &str = r#"
    title = "lies"
    [defaults]
    trials = 1
    warmup_messages = 5
    round_trips = 100
    deadline = "3 s"
    wait = "natural"
    [[experiment]]
    name = "round-trip"
    workload = "ping-pong"
    stacks = ["liar", "uds-stream"]
"#;

/// Runs the suite on a liar beside an honest stack, and gives back the liar's first failure.
#[track_caller]
fn failure(wait: &str, lie: &str) -> String {
    let place = place();
    place.suite("lies", SUITE).stack(
        "liar",
        &format!(
            "description = \"lies\"\nadapter = \"liar\"\nwaits = [\"{wait}\"]\n[options]\nlie = \"{lie}\"\n"
        ),
    );
    run(&place, &["run", "lies", "--out", "out", "--quiet"]).with_code(4);
    let shown = place.show("out");
    let honest = on_stack(&shown, "uds-stream");
    assert_eq!(honest["failed_trials"], 0, "{honest:#}");
    let liar = on_stack(&shown, "liar");
    assert_eq!(liar["failed_trials"], 1, "{liar:#}");
    liar["failures"].to_string()
}

#[test]
fn an_honest_library_is_listed_and_measured() {
    let place = place();
    place.suite("lies", SUITE).stack(
        "liar",
        "description = \"honest\"\nadapter = \"liar\"\nwaits = [\"block\", \"callback\"]\n",
    );
    run(&place, &["list", "adapters"])
        .with_code(0)
        .says("liar")
        .says("option lie = none|");
    run(&place, &["run", "lies", "--out", "out", "--quiet"]).with_code(0);
    let shown = place.show("out");
    let of_liar = |e: &&Value| e["stack"] == "liar";
    let (trials, failed) = experiments(&shown)
        .iter()
        .filter(of_liar)
        .map(|e| (e["trials"].as_u64(), e["failed_trials"].as_u64()))
        .fold((0, 0), |sum, e| {
            (sum.0 + e.0.unwrap_or(0), sum.1 + e.1.unwrap_or(0))
        });
    assert_eq!((trials, failed), (2, 0), "{shown:#}");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());

    // The run knows the file by its hash, and another build of it by another one.
    let library = place.path("adapters/libdyno_liar.so");
    let stored = place.json("out/run.json");
    let own = &stored["environment"]["binaries"]["liar"][0];
    assert_eq!(own["path"], library.to_str().unwrap());
    let told = Command::new("sha256sum").arg(&library).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    assert_eq!(own["sha256"].as_str(), told.split_whitespace().next());
    let mut bytes = std::fs::read(&library).unwrap();
    // Behind the end of what the loader reads.
    bytes.push(0);
    std::fs::write(&library, bytes).unwrap();
    run(&place, &["run", "lies", "--out", "new", "--quiet"]).with_code(0);
    run(&place, &["compare", "out", "new"])
        .with_code(0)
        .says("Differences between the runs: libraries of adapter liar (SHA-256): libdyno_liar.so");
}

#[test]
fn garbage_lengths_are_refused_by_name() {
    let text = failure("block", "garbage-length");
    assert!(
        text.contains("liar") && text.contains("1099511627776 bytes"),
        "{text}"
    );
}

#[test]
fn garbage_lengths_in_a_callback_are_refused_by_name() {
    let text = failure("callback", "garbage-callback");
    assert!(
        text.contains("liar") && text.contains("1099511627776 bytes"),
        "{text}"
    );
}

#[test]
fn an_exception_in_a_shim_carries_its_words() {
    let text = failure("block", "throw");
    assert!(
        text.contains("liar") && text.contains("the shim threw this"),
        "{text}"
    );
}

#[test]
fn an_exception_that_escapes_ends_the_agent_and_is_named() {
    let text = failure("block", "escape");
    assert!(text.contains("SIGABRT") && text.contains("liar"), "{text}");
}

#[test]
fn a_crash_in_a_callback_is_named() {
    let text = failure("callback", "crash-in-callback");
    assert!(text.contains("SIGSEGV") && text.contains("liar"), "{text}");
}

#[test]
fn memory_that_is_not_lent_is_an_error() {
    let text = failure("block", "null-loan");
    assert!(text.contains("liar") && text.contains("NULL"), "{text}");
}

#[test]
fn a_library_that_cannot_be_loaded_is_left_out_and_refused_by_name() {
    let place = place();
    std::fs::write(place.path("adapters/libdyno_broken.so"), "no library").unwrap();
    place
        .suite("lies", &SUITE.replace("[\"liar\", \"uds-stream\"]", "\"all\""))
        .stack(
            "broken",
            "description = \"broken\"\nadapter = \"broken\"\nwaits = [\"block\"]\n[options]\nany = 3\n",
        );
    run(&place, &["list", "stacks"])
        .with_code(0)
        .says("cannot be used: cannot load");
    let arguments = ["run", "lies", "--dry-run"];
    run(&place, &arguments)
        .with_code(0)
        .says("refused: round-trip on broken");
    run(&place, &[&arguments[..], &["--stack", "broken"]].concat())
        .with_code(3)
        .says("broken")
        .says("cannot load");
}

#[test]
fn a_library_of_another_version_says_so() {
    let place = place();
    let source = place.path("old.c");
    std::fs::write(
        &source,
        "#include \"dyno_adapter.h\"\nconst dyno_adapter_ops *dyno_adapter(void) {\n\
         static const dyno_adapter_ops ops = {.abi_version = 9, .struct_size = sizeof ops};\nreturn &ops; }\n",
    )
    .unwrap();
    compile(
        "cc",
        &["-std=c11", "-shared"],
        &[source],
        &place.path("adapters/libdyno_old.so"),
    );
    run(&place, &["list", "adapters"])
        .with_code(0)
        .says("it was built for version 9 of the ABI and this dyno serves 1 to 1");
}

#[test]
fn a_library_that_hangs_while_it_is_loaded_is_left_out_and_ended() {
    let place = place();
    let source = place.path("hang.c");
    std::fs::write(
        &source,
        "#include \"dyno_adapter.h\"\n#include <unistd.h>\n\
         __attribute__((constructor)) static void hang(void) { for (;;) pause(); }\n\
         const dyno_adapter_ops *dyno_adapter(void) { return 0; }\n",
    )
    .unwrap();
    let library = place.path("adapters/libdyno_hanging.so");
    compile("cc", &["-std=gnu11", "-shared"], &[source], &library);
    run(&place, &["list", "adapters"])
        .with_code(0)
        .says("did not answer within 10 s")
        .says("liar");
    let name = library.to_string_lossy().into_owned();
    let loads_it = |entry: &std::fs::DirEntry| {
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(&name)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    assert_eq!(processes.filter(loads_it).count(), 0, "it is ended");
}
