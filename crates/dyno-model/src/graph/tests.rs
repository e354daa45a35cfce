use super::*;

fn shape(workload: WorkloadKind, topology: &str, placement: Placement) -> Shape<'static> {
    Shape {
        workload,
        topology: topology.parse().unwrap(),
        placement,
        loopback: false,
        legs: &[],
        foreign: &[],
    }
}

fn here() -> Testbed {
    Testbed {
        name: "local".into(),
        description: String::new(),
        hosts: Vec::new(),
        keeps_state: false,
    }
}

/// `0 source h0 p0, …; 0>2,3, …`, with `^c` at a channel that answers channel `c`, and `+c` at one that carries
/// on what comes over `c`.
fn text(graph: &Graph) -> String {
    let participant =
        |p: &Participant| format!("{} {} h{} p{}", p.index, p.role.as_str(), p.host, p.process);
    let channel = |c: &Channel| {
        let readers: Vec<String> = c.readers.iter().map(u16::to_string).collect();
        let answers = c.answers.map(|a| format!("^{a}")).unwrap_or_default();
        let on = c.carries_on.map(|c| format!("+{c}")).unwrap_or_default();
        format!("{}>{}{answers}{on}", c.writer, readers.join(","))
    };
    let participants: Vec<String> = graph.participants.iter().map(participant).collect();
    let channels: Vec<String> = graph.channels.iter().map(channel).collect();
    format!("{}; {}", participants.join(", "), channels.join(" "))
}

fn spelled(shape: Shape<'_>, hosts: usize) -> String {
    let mut graph = Graph::default();
    graph.add(shape, hosts);
    text(&graph)
}

#[test]
fn each_source_has_a_channel_to_all_sinks() {
    assert_eq!(
        spelled(shape(WorkloadKind::Stream, "2-1", Placement::Process), 1),
        "0 source h0 p0, 1 source h0 p1, 2 sink h0 p2; 0>2 1>2"
    );
    assert_eq!(
        spelled(shape(WorkloadKind::Flood, "1-2", Placement::Thread), 1),
        "0 source h0 p0, 1 sink h0 p0, 2 sink h0 p0; 0>1,2"
    );
}

#[test]
fn each_echo_answers_each_initiator_over_a_channel_of_its_own() {
    assert_eq!(
        spelled(shape(WorkloadKind::PingPong, "2-2", Placement::Process), 1),
        "0 initiator h0 p0, 1 initiator h0 p1, 2 echo h0 p2, 3 echo h0 p3; \
         0>2,3 1>2,3 2>0^0 2>1^1 3>0^0 3>1^1"
    );
}

#[test]
fn who_plays_both_sides_reads_what_it_writes_and_a_probe_has_no_channel() {
    let alone = |workload| Shape {
        loopback: true,
        ..shape(workload, "1-1", Placement::Thread)
    };
    for workload in [WorkloadKind::PingPong, WorkloadKind::Stream] {
        assert_eq!(spelled(alone(workload), 1), "0 loopback h0 p0; 0>0");
    }
    assert_eq!(
        spelled(shape(WorkloadKind::Probe, "1-1", Placement::Process), 1),
        "0 probe h0 p0; "
    );
}

#[test]
fn participants_stand_on_hosts_of_their_own_or_receivers_share_all_but_the_first() {
    let over = |topology, hosts| {
        let mut graph = Graph::default();
        graph.add(
            shape(WorkloadKind::Stream, topology, Placement::Host),
            hosts,
        );
        graph
            .participants
            .iter()
            .map(|p| p.host)
            .collect::<Vec<_>>()
    };
    assert_eq!(over("2-2", 4), [0, 1, 2, 3]);
    assert_eq!(over("2-3", 3), [0, 0, 1, 2, 1]);
    assert_eq!(over("1-2", 1), [0, 0, 0]);
}

#[test]
fn exchanges_stand_side_by_side() {
    let mut graph = Graph::default();
    graph.add(shape(WorkloadKind::Stream, "1-1", Placement::Process), 1);
    graph.add(shape(WorkloadKind::PingPong, "1-1", Placement::Thread), 1);
    assert_eq!(
        text(&graph),
        "0 source h0 p0, 1 sink h0 p1, 2 initiator h0 p2, 3 echo h0 p2; 0>1 2>3 3>2^1"
    );
    let numbers: Vec<u16> = graph.processes().into_keys().collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!(graph.flows(), [0, 0]);
}

#[test]
fn flows_share_processes_as_they_are_asked_to() {
    let testbed = here();
    let stream = shape(WorkloadKind::Stream, "1-1x2", Placement::Process);
    let loops = shape(WorkloadKind::PingPong, "1-1", Placement::Process);
    let processes = |processes| {
        let graph = Graph::of_flows(&[(stream, None), (loops, None)], processes, &testbed);
        assert_eq!(graph.flows(), [0, 0, 1]);
        let flows: Vec<u16> = graph.participants.iter().map(|p| p.flow).collect();
        assert_eq!(flows, [0, 0, 0, 0, 1, 1]);
        let all = graph.participants.iter().map(|p| p.process);
        all.collect::<Vec<u16>>()
    };
    assert_eq!(processes(Processes::PerFlow), [0, 1, 0, 1, 4, 5]);
    assert_eq!(processes(Processes::PerSide), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn readers_of_another_flow_stand_at_its_channels_and_have_deliveries_of_their_own() {
    let testbed = here();
    let stream = shape(WorkloadKind::Stream, "1-1x2", Placement::Process);
    let readers = shape(WorkloadKind::Stream, "1-2x2", Placement::Process);
    let flows = [(stream, None), (readers, Some(0))];
    let graph = Graph::of_flows(&flows, Processes::PerFlow, &testbed);
    assert_eq!(graph.flows(), [0, 0, 1, 1]);
    let readers: Vec<_> = graph.channels.iter().map(|c| c.readers.clone()).collect();
    assert_eq!(readers, [vec![1, 4, 5], vec![3, 6, 7]]);
    assert_eq!([0, 1].map(|flow| graph.deliveries(0, flow)), [1, 2]);
    let active = graph.participants.iter().filter(|p| p.role.is_active());
    assert!(active.map(|p| p.flow).eq([0, 0]));
    // Threads share the process of those whose messages they read.
    let [stream, readers] = flows.map(|(shape, reads)| {
        let placement = Placement::Thread;
        (Shape { placement, ..shape }, reads)
    });
    let graph = Graph::of_flows(&[stream, readers], Processes::PerFlow, &testbed);
    assert_eq!(graph.processes().len(), 1);
}

#[test]
fn a_round_trip_is_one_delivery_of_however_many_echoes() {
    let mut graph = Graph::default();
    graph.add(shape(WorkloadKind::Stream, "1-3", Placement::Process), 1);
    graph.add(shape(WorkloadKind::PingPong, "1-3", Placement::Process), 1);
    assert_eq!([graph.deliveries(0, 0), graph.deliveries(1, 0)], [3, 1]);
    // Of one channel there, four at hand; of one there and three back, four and six.
    assert_eq!(graph.least_messages(), 4 + 4 + 6);
}

#[test]
fn a_gateway_stands_on_two_legs_and_carries_both_ways() {
    let through = |workload, topology, legs| Shape {
        legs,
        ..shape(workload, topology, Placement::Process)
    };
    let local = &[Placement::Process; 2][..];
    assert_eq!(
        spelled(through(WorkloadKind::Stream, "2-1", local), 1),
        "0 source h0 p0, 1 source h0 p1, 2 sink h0 p2, 3 gateway h0 p3; 0>3 3>2+0 1>3 3>2+2"
    );
    let mut graph = Graph::default();
    let legs = &[Placement::Process, Placement::Host, Placement::Process];
    graph.add(through(WorkloadKind::PingPong, "1-1", legs), 2);
    assert_eq!(
        text(&graph),
        "0 initiator h0 p0, 1 echo h1 p1, 2 gateway h0 p2, 3 gateway h1 p3; \
         0>2 2>3+0 3>1+1 1>3^2 3>2^1+3 2>0^0+4"
    );
    let legs: Vec<u16> = graph.channels.iter().map(|c| c.leg).collect();
    assert_eq!(legs, [0, 1, 2, 2, 1, 0]);
    let origins: Vec<u16> = (0..6).map(|c| graph.origin(c)).collect();
    assert_eq!(origins, [0, 0, 0, 3, 3, 3]);
    let ends: Vec<_> = graph.ends().map(|(a, b)| (a.index, b.index)).collect();
    assert_eq!(ends, [(0, 1), (1, 0)]);
}

#[test]
fn a_foreign_gateway_is_no_participant_and_its_channels_begin_and_end_on_other_legs() {
    let legs = &[Placement::Process, Placement::Process, Placement::Host];
    let shape = Shape {
        legs,
        foreign: &[true, false],
        ..shape(WorkloadKind::PingPong, "1-1", Placement::Process)
    };
    let mut graph = Graph::default();
    graph.add(shape, 2);
    assert_eq!(
        text(&graph),
        "0 initiator h0 p0, 1 echo h1 p1, 2 gateway h0 p2; 0>2 2>1+0 1>2^1 2>0^0+2"
    );
    let legs = graph.channels.iter().map(|c| (c.leg, c.leg_of_readers()));
    assert_eq!(legs.collect::<Vec<_>>(), [(0, 1), (2, 2), (2, 2), (1, 0)]);
    assert_eq!([0, 2].map(|who| graph.channels[3].leg_of(who)), [0, 1]);
}

#[test]
fn a_message_through_a_gateway_is_delivered_to_each_receiver_at_the_end() {
    let legs = &[Placement::Process; 3];
    let mut graph = Graph::default();
    let shape = Shape {
        legs,
        ..shape(WorkloadKind::Flood, "1-3", Placement::Process)
    };
    graph.add(shape, 1);
    assert_eq!(graph.deliveries(0, 0), 3);
    assert_eq!(graph.receivers(0), [1, 2, 3]);
    let roles = graph
        .participants
        .iter()
        .filter(|p| p.role == Role::Gateway);
    assert_eq!(roles.map(|p| p.process).collect::<Vec<_>>(), [4, 5]);
}
