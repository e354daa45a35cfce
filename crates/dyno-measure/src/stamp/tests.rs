//! Behaviour of the stamps: what was written reads back, and what was damaged does not.

use super::*;
use proptest::prelude::*;

fn header(len: usize, channel: u16, kind: Kind, sequence: u64, a: u64, b: u64) -> Header {
    let times = if len >= HEADER_BYTES { (a, b) } else { (0, 0) };
    Header {
        tag: Tag {
            channel,
            kind,
            sequence,
        },
        intended: Nanos(times.0),
        sent: Nanos(times.1),
    }
}

fn message(len: usize, access: Access, header: &Header) -> Vec<u8> {
    let mut buf = vec![0xa5; len];
    write(&mut buf, access, header);
    buf
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Probe), Just(Kind::Warmup), Just(Kind::Measured)]
}

fn accesses() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::Stamp), Just(Access::All)]
}

proptest! {
    #[test]
    fn what_was_written_reads_back(
        len in TAG_BYTES..300, access in accesses(), kind in kinds(),
        channel in 0..=MAX_CHANNEL, sequence in 0..=MAX_SEQUENCE, a: u64, b: u64
    ) {
        let h = header(len, channel, kind, sequence, a, b);
        let buf = message(len, access, &h);
        prop_assert_eq!(read(&buf, access, channel, len), Ok(h));
    }

    #[test]
    fn every_flipped_byte_is_found_with_full_access(
        len in SHORT_HEADER_BYTES..200, kind in kinds(), flip in 1u8..=255,
        channel in 0..=MAX_CHANNEL, sequence in 0..=MAX_SEQUENCE, a: u64, b: u64
    ) {
        let h = header(len, channel, kind, sequence, a, b);
        let mut buf = message(len, Access::All, &h);
        for i in 0..len {
            buf[i] ^= flip;
            prop_assert_eq!(read(&buf, Access::All, channel, len), Err(Damage::Corrupted), "byte {}", i);
            buf[i] ^= flip;
        }
    }

    #[test]
    fn every_flipped_header_byte_is_found_always(
        len in SHORT_HEADER_BYTES..200, kind in kinds(), flip in 1u8..=255,
        channel in 0..=MAX_CHANNEL, sequence in 0..=MAX_SEQUENCE, a: u64, b: u64
    ) {
        let h = header(len, channel, kind, sequence, a, b);
        let mut buf = message(len, Access::Stamp, &h);
        let head = if len < HEADER_BYTES { SHORT_HEADER_BYTES } else { HEADER_BYTES };
        for i in 0..head {
            buf[i] ^= flip;
            prop_assert_eq!(read(&buf, Access::Stamp, channel, len), Err(Damage::Corrupted), "byte {}", i);
            buf[i] ^= flip;
        }
    }

    #[test]
    fn any_other_length_is_named(len in TAG_BYTES..100, other in 0usize..200, access in accesses()) {
        let h = header(len, 1, Kind::Measured, 2, 3, 4);
        let mut buf = message(len, access, &h);
        buf.resize(other, 0);
        let expected = match other.cmp(&len) {
            std::cmp::Ordering::Less => Err(Damage::Truncated),
            std::cmp::Ordering::Equal => Ok(h),
            std::cmp::Ordering::Greater => Err(Damage::Corrupted),
        };
        prop_assert_eq!(read(&buf, access, 1, len), expected);
    }

    #[test]
    fn bytes_of_another_message_are_found(
        sequence in 0..MAX_SEQUENCE, from in 0usize..12, words in 1usize..12
    ) {
        let len = HEADER_BYTES + 8 * 12;
        let h = header(len, 5, Kind::Measured, sequence, 6, 7);
        let older = message(len, Access::All, &header(len, 5, Kind::Measured, sequence + 1, 6, 7));
        let mut buf = message(len, Access::All, &h);
        let range = HEADER_BYTES + 8 * from..(HEADER_BYTES + 8 * (from + words)).min(len);
        buf[range.clone()].copy_from_slice(&older[range]);
        prop_assert_eq!(read(&buf, Access::All, 5, len), Err(Damage::Corrupted));
    }
}

#[test]
fn exchanged_parts_of_a_message_are_found() {
    let len = HEADER_BYTES + 4 * 1024;
    let h = header(len, 5, Kind::Measured, 9, 6, 7);
    let mut buf = message(len, Access::All, &h);
    let (_, body) = buf.split_at_mut(HEADER_BYTES);
    let (one, two) = body.split_at_mut(2048);
    one.swap_with_slice(two);
    assert_eq!(read(&buf, Access::All, 5, len), Err(Damage::Corrupted));
}

#[test]
fn a_message_of_another_length_is_found_although_its_header_is_intact() {
    let h = header(64, 5, Kind::Measured, 9, 6, 7);
    let buf = message(64, Access::Stamp, &h);
    assert_eq!(
        read(&buf[..48], Access::Stamp, 5, 48),
        Err(Damage::Corrupted)
    );
}

#[test]
fn memory_that_nobody_wrote_is_no_message() {
    for len in [8, 15, 16, 31, 32, 64] {
        for fill in [0, 0xff] {
            let buf = vec![fill; len];
            let channel = if fill == 0 { 0 } else { MAX_CHANNEL };
            let got = read(&buf, Access::All, channel, len);
            if fill == 0 || len > 8 {
                assert_eq!(got, Err(Damage::Corrupted), "{len} bytes of {fill}");
            }
        }
    }
}

#[test]
fn a_message_of_another_channel_is_not_taken() {
    for len in [8, 16, 64] {
        let buf = message(len, Access::All, &header(len, 3, Kind::Measured, 9, 6, 7));
        assert_eq!(read(&buf, Access::All, 4, len), Err(Damage::Corrupted));
    }
}

#[test]
fn buffers_of_any_length_are_safe() {
    let h = header(32, 1, Kind::Probe, 1, 1, 1);
    for len in 0..TAG_BYTES {
        let mut buf = vec![0x77; len];
        write(&mut buf, Access::All, &h);
        assert!(buf.iter().all(|b| *b == 0x77));
        assert_eq!(read(&buf, Access::All, 1, len), Err(Damage::Corrupted));
    }
}

#[test]
fn flipped_pairs_of_header_bits_are_found() {
    // Pairs are where checks of sums and products are weak: the highest bits of two words.
    let h = header(
        64,
        3,
        Kind::Measured,
        77,
        1_234_567_890_123,
        1_234_567_890_456,
    );
    let mut buf = message(64, Access::Stamp, &h);
    for i in 0..8 * HEADER_BYTES {
        for j in 0..i {
            for bit in [i, j] {
                buf[bit / 8] ^= 1 << (bit % 8);
            }
            assert_eq!(
                read(&buf, Access::Stamp, 3, 64),
                Err(Damage::Corrupted),
                "bits {j} and {i}"
            );
            for bit in [i, j] {
                buf[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}
