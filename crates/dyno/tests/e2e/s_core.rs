//! The tables that the suite `s-core` has, on a chain of sockets.

use crate::harness::Place;

#[test]
fn the_tables_of_s_core_show_paths_parts_and_what_the_study_printed() {
    let place = Place::new();
    let chain = "description = \"a chain\"\n[[leg]]\nstack = \"uds-stream\"\n[[leg]]\nstack = \"uds-stream\"\n";
    let suite = r#"
        title = "paths"
        table = "s-core"
        [defaults]
        trials = 2
        warmup = "20 ms"
        window = "200 ms"
        [[experiment]]
        name = "echo"
        workload = "ping-pong"
        [experiment.matrix]
        stack = ["uds-stream", "chain"]
        payload = ["8 B", "1 KiB"]
        [[experiment]]
        name = "throughput"
        workload = "flood"
        payload = "32 B"
        stacks = ["uds-stream", "chain"]
        [[experiment]]
        name = "stress"
        workload = "flood"
        payload = "32 B"
        messages = 100
        stacks = ["uds-stream", "chain"]
    "#;
    place.stack("chain", chain).suite("paths", suite);
    place.measure("paths", &[]);
    for format in ["table", "markdown"] {
        place
            .run(&["show", "out", "--format", format])
            .with_code(0)
            .says("Round trips (the study's 1.1, 10.2)")
            .says("50.29 ms · 50.29 ms · 21.1 µs")
            .says("100 messages back to back (its 4.2, 10.4)")
            .says("Where the round trip of 8 B on chain goes (its 10.5)")
            .says("gateway 1 back")
            .says("Local against gateway (its 10.6)")
            .says("sleeps of the servers")
            .says("largest residual of a message 0 ns")
            .says("whole round trip")
            .says("Payload overhead (its 5.2)")
            .says("170.3 KB/s · 21.3 KB · 21.308 KB · 99.96%")
            .says("What a round trip is spent on (its 6.3)")
            .says("100 µs · 0.2%;")
            .says("What the study calls typical requirements (its 7.1)")
            .says("< 100 ms (study: 50.4 ms (small))")
            .says("Trials whose mean is within one σ of all (its 8.1)")
            .says("What a gateway changes, at 8 B (its 10.2, 10.3, 10.4)")
            .says("12,050 msg/s · 21,287 msg/s");
    }
    // The requirements of the study, but for what this suite leaves out.
    let limits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../limits/s-core.toml");
    let text = std::fs::read_to_string(limits).unwrap();
    let mut own = text.replace("suite = \"s-core\"", "suite = \"paths\"");
    own = own.replace("\"1 MiB\"", "\"32 B\"");
    place.file("limits.toml", &own);
    let checked = place.run(&["check", "out", "limits.toml", "--format", "json"]);
    let code = checked.status.code();
    assert!(
        matches!(code, Some(0 | 6 | 7)),
        "{code:?}: {}",
        checked.stderr
    );
    checked.says("\"tail\"");
}
