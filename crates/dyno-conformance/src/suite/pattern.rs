//! Messages that can be checked on their own: a tag, and words that depend on it and on their place.
//!
//! Layout, little endian: `u64` tag (bit 63: probe; bits 48 to 62: channel; bits 0 to 47: sequence
//! number), then words of eight bytes, the last one cut to the message's length.

/// The smallest message.
pub(super) const TAG_BYTES: usize = 8;
const PROBE: u64 = 1 << 63;

/// What the tag of a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    /// Sent to prove a match, not counted.
    pub(super) probe: bool,
    /// The channel's number, below 2^15.
    pub(super) channel: u16,
    /// Counted from zero for each channel, below 2^48.
    pub(super) sequence: u64,
}

impl Tag {
    fn encode(self) -> u64 {
        let probe = if self.probe { PROBE } else { 0 };
        probe | u64::from(self.channel) << 48 | self.sequence
    }
    fn decode(word: u64) -> Self {
        Tag {
            probe: word & PROBE != 0,
            channel: (word >> 48) as u16 & 0x7fff,
            sequence: word & ((1 << 48) - 1),
        }
    }
}

/// The word at `index` of the message with the tag `tag`: a step of SplitMix64 (Steele, Lea and
/// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
fn word(tag: u64, index: usize) -> [u8; 8] {
    let mut z = tag.wrapping_add((index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 27)).to_le_bytes()
}

/// Writes the whole message. `room` has at least [`TAG_BYTES`] bytes.
pub(super) fn fill(room: &mut [u8], tag: Tag) {
    let tag = tag.encode();
    let (head, rest) = room.split_at_mut(TAG_BYTES);
    head.copy_from_slice(&tag.to_le_bytes());
    for (index, chunk) in rest.chunks_mut(8).enumerate() {
        chunk.copy_from_slice(&word(tag, index)[..chunk.len()]);
    }
}

/// Checks every byte; says what is wrong.
pub(super) fn check(bytes: &[u8]) -> Result<Tag, String> {
    let Some((head, rest)) = bytes.split_first_chunk::<TAG_BYTES>() else {
        return Err(format!("a message of only {} bytes", bytes.len()));
    };
    let tag = u64::from_le_bytes(*head);
    for (index, chunk) in rest.chunks(8).enumerate() {
        if *chunk != word(tag, index)[..chunk.len()] {
            return Err(format!(
                "wrong content within bytes {} to {} of {}; the tag says {:?}",
                TAG_BYTES + index * 8,
                TAG_BYTES + index * 8 + chunk.len() - 1,
                bytes.len(),
                Tag::decode(tag)
            ));
        }
    }
    Ok(Tag::decode(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: Tag = Tag {
        probe: false,
        channel: 7,
        sequence: 1 << 40,
    };

    #[test]
    fn a_message_of_any_length_reads_back() {
        for len in [8, 9, 15, 16, 17, 1000] {
            let mut bytes = vec![0; len];
            fill(&mut bytes, TAG);
            assert_eq!(check(&bytes), Ok(TAG), "{len} bytes");
        }
    }

    #[test]
    fn a_changed_byte_is_found_wherever_it_is() {
        let mut bytes = vec![0; 100];
        fill(&mut bytes, TAG);
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            assert_ne!(check(&bytes), Ok(TAG), "byte {at}");
            bytes[at] ^= 1;
        }
    }

    #[test]
    fn a_message_without_a_whole_tag_is_damaged() {
        assert!(check(&[1, 2, 3]).is_err());
    }
}
