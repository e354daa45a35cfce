//! What a message carries so that its receipt can be checked and timed.
//!
//! Layout, all words little-endian:
//!
//! | bytes | message length | content |
//! |---|---|---|
//! | 0..8 | any | tag: channel (14 bits, highest), kind (2 bits), sequence (48 bits) |
//! | 8..16 | 16 to 31 | check word over tag and length |
//! | 8..16 | 32 and more | intended send time in ns |
//! | 16..24 | 32 and more | real send time in ns |
//! | 24..32 | 32 and more | check word over tag, both times and length |
//! | rest | [`Access::All`] | a pattern: word `i` is `mix(tag) + i * STEP` |
//!
//! Every word of the pattern differs between messages and between places of one message, so bytes of
//! an older message or at a wrong place are noticed like any other wrong byte.
//!
//! What is found: with a check word (16 bytes and more) every change within one word of the header,
//! hence of any single byte; of several words, all but about one in 2^64. With [`Access::All`] every
//! change of any byte that the pattern covers, and hence also of the tag where the pattern has eight
//! bytes. A message of 8 to 15 bytes with [`Access::Stamp`] has no room for redundancy: only its
//! channel and kind are checked.

mod pattern;

use crate::Clock;
use dyno_model::factor::Access;
use dyno_model::unit::Nanos;

/// Bytes of the tag that each message starts with.
pub const TAG_BYTES: usize = 8;
/// Bytes of the whole header, where the message has room for it.
pub const HEADER_BYTES: usize = 32;
/// Bytes of tag and check word, in messages without room for the whole header.
const SHORT_HEADER_BYTES: usize = 16;

const SEQUENCE_BITS: u32 = 48;
const KIND_BITS: u32 = 2;
/// The largest sequence number that a tag holds.
pub const MAX_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;
/// The largest channel number that a tag holds.
pub const MAX_CHANNEL: u16 = (1 << (64 - SEQUENCE_BITS - KIND_BITS)) - 1;

/// What a message is for. There is no kind 0, so that memory that nobody wrote is not taken for a
/// message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Shows that a channel works, before the warm-up.
    Probe = 1,
    /// Exchanged before the window; not recorded.
    Warmup = 2,
    /// Exchanged in the window.
    Measured = 3,
}

/// Which message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The channel, at most [`MAX_CHANNEL`].
    pub channel: u16,
    /// What it is for.
    pub kind: Kind,
    /// Its number within channel and kind, from zero, at most [`MAX_SEQUENCE`].
    pub sequence: u64,
}

impl Tag {
    /// As one word. Channel and sequence are cut to the bits that they have.
    #[inline(always)]
    const fn encode(self) -> u64 {
        (self.channel as u64) << (SEQUENCE_BITS + KIND_BITS)
            | (self.kind as u64) << SEQUENCE_BITS
            | (self.sequence & MAX_SEQUENCE)
    }

    /// From one word; `None` where it has no valid kind.
    #[inline(always)]
    const fn decode(word: u64) -> Option<Tag> {
        // A table and no branches, which would be foreseen wrongly where the kind changes.
        const KINDS: [Kind; 4] = [Kind::Probe, Kind::Probe, Kind::Warmup, Kind::Measured];
        let kind = ((word >> SEQUENCE_BITS) & 3) as usize;
        if kind == 0 {
            return None;
        }
        Some(Tag {
            channel: (word >> (SEQUENCE_BITS + KIND_BITS)) as u16,
            kind: KINDS[kind],
            sequence: word & MAX_SEQUENCE,
        })
    }
}

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Which message.
    pub tag: Tag,
    /// When it was due, on the run's clock; zero where the message has no room for it.
    pub intended: Nanos,
    /// When it was sent, on the run's clock; zero where the message has no room for it.
    pub sent: Nanos,
}

/// Why a message does not count as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Shorter than what was sent.
    Truncated,
    /// Longer than what was sent, or with other content.
    Corrupted,
}

/// Writes a whole message into `buf`: the header, and with [`Access::All`] the pattern behind it. A
/// buffer shorter than a tag is left alone; no plan has such messages.
#[inline]
pub fn write(buf: &mut [u8], access: Access, header: &Header) {
    let tag = header.tag.encode();
    let len = buf.len() as u64;
    let body = if let Some((head, body)) = buf.split_first_chunk_mut::<HEADER_BYTES>() {
        let (intended, sent) = (header.intended.0, header.sent.0);
        let words = [tag, intended, sent, check(tag, intended, sent, len)];
        for (bytes, word) in head.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        body
    } else if let Some((head, body)) = buf.split_first_chunk_mut::<SHORT_HEADER_BYTES>() {
        let words = [tag, check(tag, 0, 0, len)];
        for (bytes, word) in head.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        body
    } else if let Some((head, body)) = buf.split_first_chunk_mut::<TAG_BYTES>() {
        *head = tag.to_le_bytes();
        body
    } else {
        return;
    };
    if access == Access::All {
        pattern::write(body, mix(tag));
    }
}

/// Which message it is, where it is intact: nothing is checked but that there is such a tag.
#[inline]
pub fn tag(buf: &[u8]) -> Option<Tag> {
    let (head, _) = buf.split_first_chunk::<TAG_BYTES>()?;
    Tag::decode(u64::from_le_bytes(*head))
}

/// Checks a whole message of expected length `len` on `channel` and returns its header. With
/// [`Access::All`] every byte is read and compared.
///
/// # Errors
///
/// [`Damage::Truncated`] where `buf` is shorter than `len`; [`Damage::Corrupted`] where it is longer
/// or anything that the module's documentation lists is not as sent.
#[inline]
pub fn read(buf: &[u8], access: Access, channel: u16, len: usize) -> Result<Header, Damage> {
    let (header, ()) = read_and(buf, access, channel, len, || ())?;
    Ok(header)
}

/// The same, with the time of arrival: the moment when the header has been read, and with [`Access::All`] when every
/// byte has been read and compared, word by word. Bytes that are still in another core's cache have not arrived. The
/// check of the header comes after it.
///
/// # Errors
///
/// As of [`read`].
#[inline]
pub fn receive(
    clock: &Clock,
    buf: &[u8],
    access: Access,
    channel: u16,
    len: usize,
) -> Result<(Header, Nanos), Damage> {
    read_and(buf, access, channel, len, || clock.arrival())
}

/// Reads and checks a message, and calls `stamp` between the two.
#[inline(always)]
fn read_and<T>(
    buf: &[u8],
    access: Access,
    channel: u16,
    len: usize,
    stamp: impl FnOnce() -> T,
) -> Result<(Header, T), Damage> {
    if buf.len() != len {
        return Err(if buf.len() < len {
            Damage::Truncated
        } else {
            Damage::Corrupted
        });
    }
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let (tag, intended, sent, found, body);
    if let Some((head, rest)) = buf.split_first_chunk::<HEADER_BYTES>() {
        let words = head.as_chunks::<8>().0;
        (tag, intended, sent) = (word(&words[0]), word(&words[1]), word(&words[2]));
        (found, body) = (Some(word(&words[3])), rest);
    } else if let Some((head, rest)) = buf.split_first_chunk::<SHORT_HEADER_BYTES>() {
        let words = head.as_chunks::<8>().0;
        (tag, intended, sent) = (word(&words[0]), 0, 0);
        (found, body) = (Some(word(&words[1])), rest);
    } else if let Some((head, rest)) = buf.split_first_chunk::<TAG_BYTES>() {
        (tag, intended, sent) = (word(head), 0, 0);
        (found, body) = (None, rest);
    } else {
        return Err(Damage::Corrupted);
    }
    let is_whole = match access {
        Access::Stamp => true,
        Access::All => pattern::verify(body, mix(tag)),
    };
    loaded([
        tag,
        intended,
        sent,
        found.unwrap_or_default(),
        u64::from(is_whole),
    ]);
    let at = stamp();
    let is_intact = found.is_none_or(|f| f == check(tag, intended, sent, len as u64));
    match Tag::decode(tag) {
        Some(decoded) if is_intact && is_whole && decoded.channel == channel => {
            let header = Header {
                tag: decoded,
                intended: Nanos(intended),
                sent: Nanos(sent),
            };
            Ok((header, at))
        }
        _ => Err(Damage::Corrupted),
    }
}

/// Keeps the compiler from loading or computing `words` later than here.
#[inline(always)]
fn loaded([a, b, c, d, e]: [u64; 5]) {
    // SAFETY: no instruction at all; the words only have to be in registers.
    unsafe {
        std::arch::asm!(
            "/* {0} {1} {2} {3} {4} */",
            in(reg) a, in(reg) b, in(reg) c, in(reg) d, in(reg) e,
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// The check word. Each input passes through a bijection of its own (a product with an odd number, a
/// rotation), the results are added or xored, and the sum passes through another bijection: so a
/// change of any one input changes the word.
#[inline(always)]
const fn check(tag: u64, intended: u64, sent: u64, len: u64) -> u64 {
    // Odd constants of MurmurHash3, SplitMix64 and xxHash64; only their oddness is needed.
    let a = tag.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let b = intended.wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(23);
    let c = sent.wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(41);
    let d = len.wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(11);
    let sum = (a ^ b).wrapping_add(c ^ d);
    // Without the shift a flip of the highest bit of a word and one of the check word would cancel out.
    (sum ^ (sum >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection, so that two tags never
/// share a pattern.
#[inline(always)]
const fn mix(word: u64) -> u64 {
    let z = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
