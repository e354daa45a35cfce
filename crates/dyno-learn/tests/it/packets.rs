//! pcap and pcapng.

use crate::{flow, learnt, refused};
use dyno_learn::{Pattern, Place};
use etherparse::PacketBuilder;

const ETHERNET: u32 = 1;

/// A pcap of these packets, one each 10 ms, little or big endian, with stamps in microseconds or nanoseconds.
pub(crate) fn pcap(link: u32, big: bool, nanoseconds: bool, packets: &[Vec<u8>]) -> Vec<u8> {
    let word = |n: u32| {
        if big {
            n.to_be_bytes()
        } else {
            n.to_le_bytes()
        }
    };
    let half = |n: u16| {
        if big {
            n.to_be_bytes()
        } else {
            n.to_le_bytes()
        }
    };
    let magic = if nanoseconds {
        0xa1b2_3c4d
    } else {
        0xa1b2_c3d4
    };
    let mut bytes = [word(magic).to_vec(), half(2).to_vec(), half(4).to_vec()].concat();
    bytes.extend([word(0), word(0), word(65_535), word(link)].concat());
    for (n, packet) in packets.iter().enumerate() {
        let unit = if nanoseconds { 1_000 } else { 1 };
        let at = n as u32 * 10_000;
        let length = packet.len() as u32;
        bytes.extend(
            [
                word(1_700_000_000 + at / 1_000_000),
                word(at % 1_000_000 * unit),
                word(length),
                word(length),
            ]
            .concat(),
        );
        bytes.extend(packet);
    }
    bytes
}

/// The same as pcapng, with stamps in units of 2^-`bits` s.
fn pcapng(bits: u8, packets: &[Vec<u8>]) -> Vec<u8> {
    let block = |kind: u32, body: Vec<u8>| {
        let length = (12 + body.len() as u32).to_le_bytes().to_vec();
        [kind.to_le_bytes().to_vec(), length.clone(), body, length].concat()
    };
    let section = [
        &0x1a2b_3c4d_u32.to_le_bytes()[..],
        &[1, 0, 0, 0],
        &[0xff; 8],
    ]
    .concat();
    // if_tsresol (9), and the end of the options.
    let interface = [
        &[1, 0, 0, 0, 0, 0, 0, 0][..],
        &[9, 0, 1, 0, 0x80 | bits, 0, 0, 0],
        &[0; 4],
    ]
    .concat();
    let mut bytes = [block(0x0a0d_0d0a, section), block(1, interface)].concat();
    for (n, packet) in packets.iter().enumerate() {
        let stamp = ((1_700_000_000.0 + n as f64 * 0.01) * f64::from(1u32 << bits)) as u64;
        let words = [
            0,
            (stamp >> 32) as u32,
            stamp as u32,
            packet.len() as u32,
            packet.len() as u32,
        ];
        let mut body: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        body.extend(packet);
        body.resize(body.len().next_multiple_of(4), 0);
        bytes.extend(block(6, body));
    }
    bytes
}

fn someip(payload: usize) -> Vec<u8> {
    let mut bytes = vec![
        0x12,
        0x34,
        0x80,
        0x01,
        0,
        0,
        0,
        8 + payload as u8,
        0,
        0,
        0,
        1,
        1,
        1,
        2,
        0,
    ];
    bytes.resize(16 + payload, 0xee);
    bytes
}

/// Twenty rounds of one packet of each kind.
pub(crate) fn mixed() -> Vec<Vec<u8>> {
    let build = |build: etherparse::PacketBuilderStep<etherparse::UdpHeader>, payload: &[u8]| {
        let mut bytes = Vec::new();
        build.write(&mut bytes, payload).unwrap();
        bytes
    };
    let ethernet = || PacketBuilder::ethernet2([1; 6], [2; 6]);
    let v4 = || ethernet().ipv4([10, 0, 0, 1], [10, 0, 0, 2], 20);
    let mut tcp = Vec::new();
    v4().tcp(5000, 6000, 1, 1000)
        .write(&mut tcp, &[7; 700])
        .unwrap();
    let mut acknowledgement = Vec::new();
    v4().tcp(6000, 5000, 1, 1000)
        .write(&mut acknowledgement, &[])
        .unwrap();
    let vlan = ethernet()
        .single_vlan(7.try_into().unwrap())
        .ipv6([1; 16], [2; 16], 9)
        .udp(30490, 30491);
    let mut fragment = build(v4().udp(1, 2), &[0; 64]);
    // More fragments follow.
    fragment[20] = 0x20;
    let other = |kind: u16| [&[1u8; 12][..], &kind.to_be_bytes(), &[0; 46]].concat();
    let round = [
        build(v4().udp(3000, 4000), &[9; 100]),
        build(vlan, &someip(24)),
        tcp,
        acknowledgement,
        fragment,
        other(0x22f0),
        other(0x9999),
    ];
    (0..20).flat_map(|_| round.clone()).collect()
}

#[test]
fn topics_of_packets_in_every_form() {
    let packets = mixed();
    let forms = [
        pcap(ETHERNET, false, false, &packets),
        pcap(ETHERNET, true, false, &packets),
        pcap(ETHERNET, false, true, &packets),
        pcap(ETHERNET, true, true, &packets),
        pcapng(20, &packets),
    ];
    for (number, bytes) in forms.iter().enumerate() {
        let learnt = learnt(bytes);
        for (topic, size) in [
            ("udp 10.0.0.1:3000 -> 10.0.0.2:4000", 100),
            ("someip 0x1234.0x8001 notification", 24),
            ("tcp 10.0.0.1:5000 -> 10.0.0.2:6000", 700),
        ] {
            let flow = flow(&learnt, topic);
            assert_eq!(
                (flow.messages, flow.sizes.min, flow.sizes.max),
                (20, size, size),
                "{number} {topic}"
            );
            let Pattern::Periodic { cycle_ns } = flow.pattern else {
                panic!("{number} {topic}");
            };
            assert!(
                (cycle_ns - 70e6).abs() < 2e3,
                "{number} {topic}: {cycle_ns}"
            );
        }
        let left = &learnt.files[0].left_out;
        for kind in [
            "TCP segments without data",
            "IP fragments",
            "frames of EtherType 0x22f0 (AVTP)",
            "frames of EtherType 0x9999 (unknown)",
        ] {
            assert_eq!(left.get(kind), Some(&20), "{number} {kind} {left:?}");
        }
        assert_eq!(
            (learnt.flows.len(), left.len()),
            (3, 4),
            "{number} {left:?}"
        );
    }
}

#[test]
fn packets_without_ethernet_have_the_same_topics() {
    let ip: Vec<Vec<u8>> = mixed()
        .into_iter()
        .step_by(7)
        .map(|p| p[14..].to_vec())
        .collect();
    let cooked = |header: &[u8]| ip.iter().map(|p| [header, p].concat()).collect::<Vec<_>>();
    let sll = cooked(&[&[0; 14][..], &[8, 0]].concat());
    let sll2 = cooked(&[&[8, 0][..], &[0; 18]].concat());
    for (link, packets) in [(101, &ip), (113, &sll), (276, &sll2)] {
        let learnt = learnt(&pcap(link, false, false, packets));
        assert_eq!(
            flow(&learnt, "udp 10.0.0.1:3000 -> 10.0.0.2:4000")
                .sizes
                .mean,
            100.0,
            "{link}"
        );
    }
}

#[test]
fn a_short_snapshot_has_whole_sizes() {
    let mut bytes = pcap(ETHERNET, false, false, &[]);
    for n in 0..3u32 {
        let packet = &mixed()[0];
        let whole = packet.len() as u32;
        bytes.extend([n, 0, 60, whole].iter().flat_map(|w| w.to_le_bytes()));
        bytes.extend(&packet[..60]);
    }
    assert_eq!(learnt(&bytes).flows[0].sizes.mean, 100.0);
}

#[test]
fn an_unknown_link_type_is_named() {
    let said = refused(&pcap(147, false, false, &mixed()[..3]));
    assert_eq!(
        said,
        "file (pcap) has no message that Dyno can use: left out: packets of the unknown link type 147 (3)"
    );
}

#[test]
fn what_stands_before_a_damage_is_taken() {
    for bytes in [pcap(ETHERNET, false, false, &mixed()), pcapng(20, &mixed())] {
        let cut = learnt(&bytes[..bytes.len() - 5]);
        assert_eq!(
            flow(&cut, "tcp 10.0.0.1:5000 -> 10.0.0.2:6000").messages,
            20
        );
        let problem = &cut.files[0].problems[0];
        assert!(
            problem.what.starts_with("the file is cut off here"),
            "{}",
            problem.what
        );
        assert!(matches!(problem.first, Place::Byte(at) if at as usize > bytes.len() - 200));
    }
    assert!(refused(&pcap(1, false, false, &[])[..10]).contains("byte 0: its header is cut off"));
    let mut huge = pcap(ETHERNET, false, false, &mixed());
    huge.extend([[0u8; 4], [0; 4], [0xff; 4], [0xff; 4]].concat());
    huge.extend(vec![0; 20 << 20]);
    let learnt = learnt(&huge);
    assert_eq!(learnt.files[0].messages, 60);
    assert_eq!(learnt.files[0].problems.len(), 1);
}
