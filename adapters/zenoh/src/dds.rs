//! What lies behind zenoh's plugin for DDS: the other end of a channel is a DDS writer or reader.
//!
//! The plugin routes a topic to the key that its scope and the topic's name make, and carries samples as DDS serialises them. Dyno's
//! topics of `cyclonedds` have samples of one sequence of octets: four bytes that say how the rest is written (DDSI-RTPS 2.3,
//! section 10.2), the sequence's length in four more, the octets.

/// What all of Dyno's keys begin with.
pub(crate) const ROOT: &str = "dyno";
/// Bytes before a message.
pub(crate) const HEADER: usize = 8;
/// Plain CDR in little endian, with no options.
const CDR_LE: [u8; 4] = [0, 1, 0, 0];
/// The liveliness tokens of plugins, each for one router that has it.
pub(crate) const PLUGINS: &str = "zenoh-plugin-dds/*";

/// The key that a channel's topic is routed to with the scope `dyno`. A topic's name has letters and digits; all else is `_` and two
/// hexadecimal digits (`topic_name` of the adapter `cyclonedds`).
pub(crate) fn key(channel: &str) -> String {
    let mut key = format!("{ROOT}/");
    for byte in channel.bytes() {
        if byte.is_ascii_alphanumeric() {
            key.push(byte.into());
        } else {
            key.push_str(&format!("_{byte:02x}"));
        }
    }
    key
}

/// Writes what comes before a message of `length` bytes into the first [`HEADER`] bytes.
pub(crate) fn begin(room: &mut [u8], length: u32) {
    room[..4].copy_from_slice(&CDR_LE);
    room[4..HEADER].copy_from_slice(&length.to_le_bytes());
}

/// The message in a sample; what is no sample of octets as it is, which its reader finds damaged.
pub(crate) fn message(sample: &[u8]) -> &[u8] {
    octets(sample).unwrap_or(sample)
}

fn octets(sample: &[u8]) -> Option<&[u8]> {
    let (header, octets) = sample.split_at_checked(HEADER)?;
    let length: [u8; 4] = header[4..].try_into().ok()?;
    // Plain CDR of version 1 and 2, which are alike for a sequence of octets: even in big, odd in little endian.
    let length = match (header[0], header[1]) {
        (0, 0 | 6) => u32::from_be_bytes(length),
        (0, 1 | 7) => u32::from_le_bytes(length),
        _ => return None,
    };
    // Behind it there may be bytes that fill up to a multiple of four.
    octets.get(..usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_as_topics_are() {
        assert_eq!(key("s1-c0"), "dyno/s1_2dc0");
        assert_eq!(key("a_b.c/d"), "dyno/a_5fb_2ec_2fd");
    }

    #[test]
    fn a_message_comes_out_of_the_sample_that_it_was_written_to() {
        for length in [0, 1, 4, 70_000] {
            let mut sample = vec![7; HEADER + length];
            begin(&mut sample, u32::try_from(length).unwrap());
            assert_eq!(message(&sample), vec![7; length]);
            // Filled up.
            sample.extend([0; 3]);
            assert_eq!(message(&sample), vec![7; length]);
        }
    }

    #[test]
    fn both_orders_of_bytes_are_read() {
        for (kind, length) in [
            (0, [0, 0, 0, 2]),
            (1, [2, 0, 0, 0]),
            (6, [0, 0, 0, 2]),
            (7, [2, 0, 0, 0]),
        ] {
            let sample = [&[0, kind, 0, 2][..], &length, b"ab", &[0, 0]].concat();
            assert_eq!(message(&sample), b"ab", "{kind}");
        }
    }

    #[test]
    fn what_is_no_sample_is_shown_as_it_is() {
        for bytes in [
            &b"short"[..],
            &[0, 3, 0, 0, 1, 0, 0, 0, 9],
            &[0, 1, 0, 0, 9, 0, 0, 0, 9],
        ] {
            assert_eq!(message(bytes), bytes);
        }
    }
}
