//! Files that are damaged, hostile, or no recordings.

use crate::packets::{mixed, pcap};
use crate::{csv, flow, learnt, refused};
use dyno_learn::{
    Learnt, MOST_FLOWS, MOST_TOPICS, Pattern, Place, SuiteOptions, Traffic, explain, read, suite,
};
use proptest::prelude::*;

#[test]
fn files_without_traffic_say_what_they_are() {
    assert_eq!(refused(b""), "file is empty");
    assert!(refused(b"\x89MCAP0\r\n").contains("MCAP, which `dyno learn` cannot read yet"));
    assert!(refused(b"LOGG\x90").contains("Vector BLF"));
    assert!(refused(b"garbage\n\0\xff").contains("in no format that Dyno knows"));
    assert!(
        refused(b"time,topic,size\n1,a,2\n").contains("line 1: no column of times with a unit")
    );
    let said = refused(b"(x) can0 123#\n(y) can0\n");
    assert_eq!(
        said,
        "file (candump log) has no message that Dyno can use: line 1: not a line of a candump log; it is left out (2 in all)"
    );
    let said = refused(b"VERSION \"\"\nBO_ what is this\n");
    assert!(said.starts_with("file (DBC), line "), "{said}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn clocks_that_jump_and_lines_out_of_order_are_told_and_do_no_harm() {
    let mut rows: Vec<(i64, &str, u64)> = (0..100).map(|n| (n * 10_000, "a", 64)).collect();
    rows.swap(20, 21);
    // Back by an hour, and forward by a day.
    rows[50..].iter_mut().for_each(|row| row.0 -= 3_600_000_000);
    rows[80..]
        .iter_mut()
        .for_each(|row| row.0 += 86_400_000_000);
    let learnt = learnt(&csv(rows));
    assert_eq!(
        flow(&learnt, "a").pattern,
        Pattern::Periodic { cycle_ns: 10e6 }
    );
    let file = &learnt.files[0];
    let told: Vec<_> = file.problems.iter().map(|p| (p.first, p.times)).collect();
    assert_eq!(
        told,
        [
            (Place::Line(23), 1),
            (Place::Line(52), 1),
            (Place::Line(82), 1)
        ]
    );
    assert!((file.seconds - 0.97).abs() < 1e-9, "{}", file.seconds);
}

#[test]
fn a_million_topics_are_bounded_and_counted() {
    let mut text = "time_us,topic,size\n".to_owned();
    for round in 0..3 {
        for topic in 0..MOST_TOPICS + 7 {
            text.push_str(&format!("{},t{topic},64\n", round * 1_000_000 + topic));
        }
    }
    let learnt = learnt(text.as_bytes());
    assert_eq!(
        learnt.files[0].left_out["messages of topics after the first 10,000"],
        21
    );
    assert_eq!(
        (learnt.flows.len(), learnt.left_out.len()),
        (MOST_FLOWS, MOST_TOPICS - MOST_FLOWS)
    );
    assert!(explain(&learnt).contains("a suite has at most so many flows"));
}

#[test]
fn long_lines_large_messages_and_zero_lengths() {
    let mut text = b"time_us,topic,size\n0,a,0\n".to_vec();
    text.extend(vec![b'x'; 200_000]);
    text.extend(b"\n1000,a,0\n2000,a,0\n3000,a,18446744073709551615\n3000,");
    text.extend(vec![b'n'; 300]);
    text.extend(b",64\n");
    let learnt = learnt(&text);
    let a = flow(&learnt, "a");
    assert_eq!(
        (a.messages, a.sizes.max, &a.payload[..]),
        (3, 0, &[(32, 1)][..])
    );
    let file = &learnt.files[0];
    let told: Vec<_> = file.problems.iter().map(|p| p.first).collect();
    assert_eq!(told, [Place::Line(3), Place::Line(6)]);
    assert_eq!(file.left_out.len(), 1);
}

#[test]
fn names_of_strangers_are_data() {
    let rows = (0..9).map(|n| format!("{},\"\u{1b}[2Jx\u{202e}\"\"\ty\",64\n", n * 1000));
    let text = format!("time_us,topic,size\n{}", rows.collect::<String>());
    let mut traffic = Traffic::default();
    read(&mut text.as_bytes(), "evil\u{1b}[2J\n.csv", &mut traffic).unwrap();
    let learnt = Learnt::of(&traffic);
    for text in [explain(&learnt), suite(&learnt, &SuiteOptions::default())] {
        assert!(
            !text.contains(|c: char| c != '\n' && c.is_control() || c == '\u{202e}'),
            "{text:?}"
        );
    }
    let renamed = learnt.renamed();
    for text in [explain(&renamed), suite(&renamed, &SuiteOptions::default())] {
        assert!(
            text.contains("topic-1") && text.contains("file-1") && !text.contains("evil"),
            "{text}"
        );
    }
}

/// Reads, and writes what was learnt.
fn try_out(bytes: &[u8]) {
    let mut traffic = Traffic::default();
    let _ = read(&mut &*bytes, "file", &mut traffic);
    let learnt = Learnt::of(&traffic);
    let _ = (
        explain(&learnt),
        suite(&learnt.renamed(), &SuiteOptions::default()),
    );
}

const HEADS: [&[u8]; 8] = [
    b"",
    b"(1.5) can0 123#1122\n(2.5) can0 12",
    b"date x\nbase hex timestamps relative\n1.0 1 12 Rx d 8 1\n2.0 CANFD 1 Rx 1 1 0 8 8 ",
    b"time_s,topic,size\n1,a,2\n2,a,",
    b"VERSION \"\"\nNS_ :\nBS_:\nBU_: A\nBO_ 1 M: 8 A\nBA_DEF_ BO_ \"GenMsgCycleTime\" INT 0 1;\n",
    b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0",
    b"\xa1\xb2\x3c\x4d\0\x02\0\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0\0\x71",
    b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0",
];

proptest! {
    #[test]
    fn no_bytes_break_a_reader(head in 0..HEADS.len(), tail in prop::collection::vec(any::<u8>(), 0..400)) {
        try_out(&[HEADS[head], &tail].concat());
    }

    #[test]
    fn no_text_breaks_a_reader(head in 0..5usize, tail in "[ -~\n]{0,300}") {
        try_out(&[HEADS[head], tail.as_bytes()].concat());
    }

    #[test]
    fn no_changed_byte_breaks_the_packets(at in 0usize..3000, byte: u8, big: bool) {
        let mut bytes = pcap(1, big, false, &mixed()[..14]);
        let at = at % bytes.len();
        bytes[at] = byte;
        try_out(&bytes);
    }
}
