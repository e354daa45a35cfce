//! Files that python-can and cantools wrote (`examples/recordings/write.py`).

use crate::{flow, why};
use dyno_learn::{Learnt, LearntFlow, Pattern, Traffic, read};
use std::fs::File;
use std::io::BufReader;

fn of_file(name: &str) -> Learnt {
    let path = format!(
        "{}/../../examples/recordings/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut traffic = Traffic::default();
    read(
        &mut BufReader::new(File::open(path).unwrap()),
        name,
        &mut traffic,
    )
    .unwrap();
    Learnt::of(&traffic)
}

/// The cycle in milliseconds, rounded; 0 for one that is not periodic.
fn cycle(flow: &LearntFlow) -> f64 {
    match flow.pattern {
        Pattern::Periodic { cycle_ns } => (cycle_ns / 1e6).round(),
        _ => 0.0,
    }
}

#[test]
fn candump_and_asc_of_one_second_are_the_same_traffic() {
    for (name, bus) in [("drive.log", "can0"), ("drive.asc", "1")] {
        let learnt = of_file(name);
        let of = |id: &str| {
            let flow = flow(&learnt, &format!("{bus} {id}"));
            (flow.messages, cycle(flow), flow.sizes.min, flow.sizes.max)
        };
        assert_eq!(of("0x0c8"), (50, 20.0, 8, 8), "{name}");
        assert_eq!(of("0x123"), (10, 100.0, 2, 2), "{name}");
        assert_eq!(of("0x2a0"), (20, 50.0, 16, 16), "{name}");
        assert_eq!(of("0x18fef100x"), (12, 0.0, 3, 8), "{name}");
        assert_eq!(why(&learnt, &format!("{bus} 0x400")), "seen once");
        let left = &learnt.files[0].left_out;
        assert_eq!(
            (left["error frames"], left["remote frames"]),
            (1, 1),
            "{name}"
        );
        assert!(
            learnt.files[0].problems.is_empty(),
            "{:?}",
            learnt.files[0].problems
        );
    }
}

#[test]
fn a_dbc_gives_cycles_sizes_and_senders() {
    let learnt = of_file("drive.dbc");
    let speed = flow(&learnt, "EngineSpeed 0x0c8");
    assert_eq!(
        (speed.sender.as_deref(), speed.sizes.max, cycle(speed)),
        (Some("Engine"), 8, 20.0)
    );
    let extended = flow(&learnt, "VehicleSpeed 0x18fef100x");
    assert_eq!((extended.sender.as_deref(), cycle(extended)), (None, 100.0));
    assert_eq!((learnt.flows.len(), learnt.files[0].described), (3, 3));
    assert_eq!(learnt.files[0].left_out["messages without a cycle time"], 1);
}

#[test]
fn a_csv_has_groups_and_cycles() {
    let learnt = of_file("drive.csv");
    let lidar = flow(&learnt, "/lidar/packets").pattern;
    assert_eq!(
        lidar,
        Pattern::Burst {
            group: 4,
            period_ns: 100e6
        }
    );
    assert_eq!(cycle(flow(&learnt, "/pose")), 50.0);
    assert_eq!(why(&learnt, "/map"), "seen once");
}
