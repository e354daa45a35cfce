//! `examples/`: the adapter in C++, the suite and the limits file. The adapter in C is the skeleton of
//! `dyno new-adapter`, and the one in Rust is tested with the ABI.

use crate::foreign::compile;
use crate::harness::Place;
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[test]
fn the_adapter_in_cpp_passes_conformance_and_is_measured() {
    let place = Place::new();
    let library = place.path("libdyno_seqpacket.so");
    compile(
        "c++",
        &["-std=c++17", "-shared"],
        &[examples().join("cpp/seqpacket.cpp")],
        &library,
    );
    let folder = examples().display().to_string();
    place
        .shell(&format!(
            "dyno conformance ./libdyno_seqpacket.so\n\
             export DYNO_ADAPTER_PATH=$PWD\n\
             dyno run brake-and-radar --files {folder} --stack seqpacket --set wait=block --trials 1 \
             --repeats 0 --quiet --out run\n\
             dyno check run {folder}/limits/brake-and-radar.toml || test $? = 6 -o $? = 7"
        ))
        .with_code(0)
        .says("0 failed")
        .says("brake request in time");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_suite_is_shown_by_the_study_that_it_names_and_stores_it() {
    let place = Place::new();
    let folder = examples().display().to_string();
    place
        .shell(&format!(
            "dyno run {folder}/suites/half-trips.toml --stack uds-stream --set window='50 ms' --trials 2 \
             --repeats 0 --quiet --out run\n\
             dyno show run\n\
             dyno run --like run --quiet --out again\n\
             dyno show again --format markdown"
        ))
        .with_code(0)
        .says("Half trips by payload:")
        .says("### Half trips by payload")
        .says("data sheet");
    let suite = |table: &str| {
        format!(
            "title = \"own\"\ntable = \"{table}\"\n[[experiment]]\nname = \"echo\"\nworkload = \"ping-pong\"\n"
        )
    };
    place.file("suite.toml", &suite("missing.toml"));
    place
        .run(&["run", "suite.toml", "--dry-run"])
        .with_code(3)
        .says("there is no study file missing.toml");
    place.file("suite.toml", &suite("study.toml"));
    place.file("study.toml", "shows = [{ stak = \"tcp\" }]\n");
    place
        .run(&["run", "suite.toml", "--dry-run"])
        .with_code(3)
        .says("did you mean `stack`?");
}

#[test]
fn every_example_file_is_read() {
    let place = Place::new();
    let folder = examples().display().to_string();
    place
        .shell(&format!(
            "dyno list stacks --files {folder}\n\
             dyno run brake-and-radar --files {folder} --stack uds-stream --dry-run\n\
             dyno run reports --files {folder} --testbed netns-1gbe --stack udp --dry-run"
        ))
        .with_code(0)
        .says("seqpacket")
        .says("datagram")
        .says("radar-list")
        .says("unplugged-1s");
}
