use super::*;
use dyno_model::plan::{ExperimentId, Extent, Host, Link};
use dyno_model::unit::with_prefix;
use dyno_model::unit::{Nanos, PayloadSize, RateHz};
use dyno_model::{Arrivals, Workload};

const GIGABIT: u64 = 1_000_000_000;

fn hosts(rates: &[Option<u64>], reach: Reach) -> Testbed {
    let host = |(i, rate): (usize, &Option<u64>)| Host {
        name: format!("h{}", i + 1),
        reach: reach.clone(),
        address: format!("10.0.0.{}", i + 1),
        link: rate.map(|rate_bits| Link {
            rate_bits,
            buffer_bytes: 1 << 20,
        }),
        own_clock: false,
    };
    Testbed {
        name: "t".into(),
        description: String::new(),
        keeps_state: false,
        hosts: rates.iter().enumerate().map(host).collect(),
    }
}

fn four_hosts() -> Testbed {
    hosts(&[Some(GIGABIT); 4], Reach::Namespace)
}

/// A camera: 4 MB at 50 Hz between hosts.
fn camera(stack: &str, topology: &str) -> Experiment {
    let payload = PayloadSize::new(4_000_000).unwrap();
    Experiment {
        name: "camera".into(),
        wait: Wait::Callback,
        placement: Placement::Host,
        topology: topology.parse().unwrap(),
        window: Extent::Duration(Nanos::from_secs(10)),
        deadline: Nanos::from_secs(1),
        ..Experiment::blank(ExperimentId(0), stack, stream(50.0), payload)
    }
}

fn stream(hz: f64) -> Workload {
    Workload::Stream {
        rate: RateHz::new(hz).unwrap(),
        arrivals: Arrivals::Fixed,
    }
}

/// The remarks in words.
fn warnings(
    experiments: &[Experiment],
    testbed: &Testbed,
    stacks: &BTreeMap<String, Stack>,
    facts: &HostFacts,
) -> Vec<String> {
    let found = super::warnings(experiments, testbed, stacks, facts);
    found.iter().map(ToString::to_string).collect()
}

fn facts(cpus: u32, memory_bytes: u64) -> HostFacts {
    HostFacts {
        cpus: (0..cpus).collect(),
        memory_bytes: Some(memory_bytes),
        ..HostFacts::default()
    }
}

fn said(experiments: &[Experiment], testbed: &Testbed) -> Vec<String> {
    warnings(experiments, testbed, &BTreeMap::new(), &facts(8, 64 << 30))
}

#[test]
fn quantities_are_short() {
    let shown = [1.6e9, 1e9, 640e6, 1.92e9, 999.0, 12_340.0]
        .map(|bits| format!("{}bit/s", with_prefix(bits)));
    let wanted = [
        "1.6 Gbit/s",
        "1 Gbit/s",
        "640 Mbit/s",
        "1.92 Gbit/s",
        "999 bit/s",
        "12.3 kbit/s",
    ];
    assert_eq!(shown, wanted);
}

#[test]
fn a_camera_is_too_much_for_a_gigabit_link() {
    let all = [
        camera("zenoh-tcp", "1-1"),
        camera("tcp", "1-1"),
        camera("zenoh-tcp", "1-3"),
        camera("zenoh-tcp", "2-2"),
        camera("zenoh-tcp", "3-1"),
    ];
    assert_eq!(
        said(&all, &four_hosts()),
        [
            "camera 1-1 on zenoh-tcp, tcp: 1.6 Gbit/s offered on the 1 Gbit/s link of h1: at most 62 % can \
             arrive",
            "camera 1-3 on zenoh-tcp: at least 1.6 Gbit/s offered on the 1 Gbit/s link of h1, 4.8 Gbit/s where \
             each receiver gets a copy of its own: at most 62 % can arrive",
            "camera 2-2 on zenoh-tcp: 3.2 Gbit/s offered on the 1 Gbit/s link of h3: at most 31 % can arrive",
            "camera 3-1 on zenoh-tcp: 4.8 Gbit/s offered on the 1 Gbit/s link of h4: at most 20 % can arrive",
        ]
    );
}

#[test]
fn a_lidar_is_too_much_only_with_a_copy_for_each_receiver() {
    let lidar = |topology: &str| Experiment {
        name: "lidar".into(),
        workload: stream(20.0),
        ..camera("vsomeip-tcp", topology)
    };
    assert_eq!(
        said(&[lidar("1-1"), lidar("1-3")], &four_hosts()),
        [
            "lidar 1-3 on vsomeip-tcp: 1.92 Gbit/s offered on the 1 Gbit/s link of h1 where each receiver gets a \
             copy of its own, of which at most 52 % can arrive; by multicast 640 Mbit/s"
        ]
    );
}

#[test]
fn small_datagrams_are_too_much_with_their_headers() {
    let small = |stack: &str| Experiment {
        name: "signals".into(),
        workload: stream(1.5e6),
        payload: PayloadSize::new(64).unwrap(),
        ..camera(stack, "1-1")
    };
    let of = |name: &str| {
        let adapter = name.split('-').next().unwrap().to_owned();
        let stack = Stack {
            name: name.into(),
            adapter,
            ..Stack::default()
        };
        (name.to_owned(), stack)
    };
    let stacks = BTreeMap::from([of("udp-large"), of("tcp")]);
    let all = [small("udp-large"), small("tcp")];
    // 1.5 million times 64 + 66 B; a stream of bytes may put many messages into one packet.
    assert_eq!(
        warnings(&all, &four_hosts(), &stacks, &facts(8, 64 << 30)),
        [
            "signals 1-1 on udp-large: 1.56 Gbit/s with headers offered on the 1 Gbit/s link of h1: at most 64 % can \
             arrive"
        ]
    );
}

#[test]
fn of_many_stacks_the_first_are_named() {
    let all: Vec<Experiment> = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|stack| camera(stack, "1-1"))
        .collect();
    let lines = said(&all, &four_hosts());
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].starts_with("camera 1-1 on a, b, c and 2 more: "),
        "{}",
        lines[0]
    );
}

#[test]
fn what_crosses_no_known_link_is_not_remarked_on() {
    let here = Experiment {
        placement: Placement::Process,
        ..camera("tcp", "1-1")
    };
    assert_eq!(said(&[here], &four_hosts()), [""; 0]);
    let unknown = hosts(&[None, None], Reach::Namespace);
    assert_eq!(said(&[camera("tcp", "1-1")], &unknown), [""; 0]);
    let fast = hosts(&[Some(10 * GIGABIT); 2], Reach::Namespace);
    assert_eq!(said(&[camera("tcp", "1-1")], &fast), [""; 0]);
    let paced_by_the_stack = Experiment {
        workload: Workload::Flood,
        ..camera("tcp", "1-1")
    };
    assert_eq!(said(&[paced_by_the_stack], &four_hosts()), [""; 0]);
}

#[test]
fn two_receivers_of_one_host_share_its_link() {
    // Senders on the first of two hosts, all receivers on the other.
    let two = hosts(&[Some(2 * GIGABIT), Some(2 * GIGABIT)], Reach::Namespace);
    assert_eq!(
        said(&[camera("tcp", "1-3")], &two),
        [
            "camera 1-3 on tcp: 4.8 Gbit/s offered on the 2 Gbit/s link of h1 where each receiver gets a copy of \
             its own, of which at most 41 % can arrive; by multicast 1.6 Gbit/s"
        ]
    );
}

#[test]
fn what_cannot_be_sent_must_fit_into_memory() {
    let all = [camera("zenoh-tcp", "1-1")];
    let lines = warnings(
        &all,
        &four_hosts(),
        &BTreeMap::new(),
        &facts(8, 700_000_000),
    );
    assert_eq!(
        lines[1],
        "camera 1-1 on zenoh-tcp: a stack that drops nothing has 750 MB waiting for the link at the end of the \
         window, and main memory has 700 MB free; shorten the window, or choose a stack that may drop"
    );
    // What other machines have is not known here.
    let apart = Reach::Ssh {
        destination: "h".into(),
    };
    let apart = hosts(&[Some(GIGABIT); 4], apart);
    assert_eq!(
        warnings(&all, &apart, &BTreeMap::new(), &facts(1, 1)).len(),
        1
    );
}

#[test]
fn a_history_must_fit_into_memory() {
    let stack = |history: i64| {
        let stack = Stack {
            name: "deep".into(),
            adapter: "fastdds".into(),
            description: String::new(),
            waits: vec![Wait::Callback],
            options: [("history".to_owned(), OptionValue::Int(history))].into(),
            floor: false,
            sends_later: false,
            asks: false,
            loopback: false,
            channels: None,
            placements: Vec::new(),
            daemons: Vec::new(),
            timeouts: Vec::new(),
            install: None,
            chain: None,
        };
        BTreeMap::from([("deep".to_owned(), stack)])
    };
    let here = Experiment {
        placement: Placement::Process,
        ..camera("deep", "1-3")
    };
    let all = [here];
    let said = |history| {
        warnings(
            &all,
            &four_hosts(),
            &stack(history),
            &facts(8, 7_900_000_000),
        )
    };
    // The window has 500 messages, however deep the history is.
    assert_eq!(
        said(10_000),
        [
            "camera 1-3 on deep: a history of 10000 may keep 8 GB of messages at 1 sender and 3 receivers, and main \
             memory has 7.9 GB free; lower the stack's `history`"
        ]
    );
    assert_eq!(said(400), [""; 0]);
}

#[test]
fn floods_of_more_participants_than_cpus_are_named() {
    let flood = |wait| Experiment {
        workload: Workload::Flood,
        placement: Placement::Process,
        wait,
        ..camera("tcp", "3-1")
    };
    // Spinning participants have a remark of their own.
    let all = [flood(Wait::Block), flood(Wait::Spin)];
    let said = |cpus| {
        warnings(
            &all,
            &four_hosts(),
            &BTreeMap::new(),
            &facts(cpus, 64 << 30),
        )
    };
    assert_eq!(
        said(2),
        [
            "1 of 2 experiments flood with more participants than CPUs (up to 4 on 2): all \
             participants are busy at once, so the rates are those of shared CPUs"
        ]
    );
    assert_eq!(said(4), [""; 0]);
    assert_eq!(said(0), [""; 0], "where the CPUs are not known");
}

#[test]
fn namespaces_share_the_cpus_of_one_machine() {
    let all = [Experiment {
        workload: stream(1.0),
        ..camera("tcp", "2-2")
    }];
    let line = warnings(&all, &four_hosts(), &BTreeMap::new(), &facts(2, 64 << 30));
    assert_eq!(
        line,
        [
            "1 of 1 experiments have up to 4 participants on hosts that share 2 CPUs: latencies \
             include waits for a CPU, which separate hosts would not have"
        ]
    );
}
