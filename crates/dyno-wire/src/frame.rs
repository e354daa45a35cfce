//! Length-prefixed frames in a byte stream: a 4-byte little-endian length, then the payload.
//!
//! The sending side writes prefix and payload from one piece of memory, so that one call carries
//! both. The receiving side reads whatever has come into one buffer and shows frames in place. Of a small
//! frame the part that came along with its predecessor is moved where the rest would not fit behind it;
//! behind a large frame one of the same length is expected, and no byte beyond its end is read, so that
//! none is moved.

use std::ops::Range;

/// Bytes of the length in front of each payload.
pub const PREFIX: usize = 4;

/// Bytes beyond the largest frame that a reader has room for: so much of the following frames may
/// come along with one read. It is the capacity of a pipe.
pub const READ_AHEAD: usize = 64 * 1024;

/// Frames of so many bytes or more are read one by one: moving a part of one costs more than a further read.
const LARGE: usize = 16 * 1024;

/// Where the prefix starts in a writer's memory; behind it the payload is aligned to 8 bytes.
const PREFIX_AT: usize = 4;
const PAYLOAD_AT: usize = PREFIX_AT + PREFIX;

/// Memory of `bytes` bytes that is backed by pages already, so that no message pays for them.
pub(crate) fn touched(bytes: usize) -> Vec<u8> {
    vec![0xA5; bytes]
}

/// The sending side: memory for one frame, reused for all.
#[derive(Debug)]
pub struct FrameWriter {
    memory: Vec<u8>,
}

impl FrameWriter {
    /// A writer of payloads of at most `max_payload` bytes.
    pub fn new(max_payload: usize) -> Self {
        FrameWriter {
            memory: touched(PAYLOAD_AT + max_payload),
        }
    }

    /// Has the `len` bytes of a payload written by `fill` and returns the whole frame.
    ///
    /// # Panics
    /// If `len` is more than the writer was made for.
    #[inline]
    pub fn frame(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> &[u8] {
        let end = PAYLOAD_AT + len;
        fill(&mut self.memory[PAYLOAD_AT..end]);
        // The length fits: memory of more than 4 GiB is not asked for (a payload has 1 GiB at most).
        self.memory[PREFIX_AT..PAYLOAD_AT].copy_from_slice(&(len as u32).to_le_bytes());
        &self.memory[PREFIX_AT..end]
    }
}

/// A frame that cannot belong to the channel: the stream is damaged or comes from a stranger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a frame of {len} bytes in a stream of at most {max}; both sides must agree on the payload"
)]
pub struct FrameTooLong {
    /// The length that its prefix tells.
    pub len: usize,
    /// The largest payload of the channel.
    pub max: usize,
}

/// The receiving side: read into [`space`](Self::space), tell how much with
/// [`filled`](Self::filled), then take frames with [`next`](Self::next).
#[derive(Debug)]
pub struct FrameReader {
    memory: Vec<u8>,
    /// What was read and not yet shown.
    pending: Range<usize>,
    /// Bytes of the payload that was shown last.
    last: usize,
    max_payload: usize,
}

impl FrameReader {
    /// A reader of payloads of at most `max_payload` bytes.
    pub fn new(max_payload: usize) -> Self {
        let memory = touched(PREFIX + max_payload + READ_AHEAD);
        FrameReader {
            memory,
            pending: 0..0,
            last: 0,
            max_payload,
        }
    }

    /// The next whole payload, if it has come, in place.
    #[inline]
    #[allow(clippy::should_implement_trait)] // It lends, which an iterator cannot.
    pub fn next(&mut self) -> Result<Option<&[u8]>, FrameTooLong> {
        let Some(len) = self.announced()? else {
            return Ok(None);
        };
        let start = self.pending.start + PREFIX;
        let end = start + len;
        if end > self.pending.end {
            return Ok(None);
        }
        self.pending.start = end;
        self.last = len;
        if self.pending.is_empty() {
            // Back to the front, so that small messages always use the same cache lines.
            self.pending = 0..0;
        }
        Ok(Some(&self.memory[start..end]))
    }

    /// Where the next bytes of the stream go; never empty after [`next`](Self::next) found no
    /// whole frame.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        if self.pending.start > 0 && self.is_cramped() {
            self.memory.copy_within(self.pending.clone(), 0);
            self.pending = 0..self.pending.len();
        }
        let end = self.end_of_read();
        &mut self.memory[self.pending.end..end]
    }

    /// Where the next read ends: a large frame's end, as announced or expected, or else all the room there is.
    fn end_of_read(&self) -> usize {
        let next = match self.announced() {
            Ok(None) if self.pending.is_empty() => Some(self.last),
            announced => announced.ok().flatten(),
        };
        match next {
            Some(len) if len >= LARGE => self.pending.start + PREFIX + len,
            _ => self.memory.len(),
        }
    }

    /// Tells that the first `n` bytes of [`space`](Self::space) have been written.
    ///
    /// # Panics
    /// If `n` is more than the space has.
    #[inline]
    pub fn filled(&mut self, n: usize) {
        assert!(
            n <= self.memory.len() - self.pending.end,
            "more bytes than there was space for"
        );
        self.pending.end += n;
    }

    /// The length of the frame at the front, if its prefix has come.
    fn announced(&self) -> Result<Option<usize>, FrameTooLong> {
        let Some(prefix) = self.memory[self.pending.clone()].first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let len = u32::from_le_bytes(*prefix) as usize;
        if len > self.max_payload {
            return Err(FrameTooLong {
                len,
                max: self.max_payload,
            });
        }
        Ok(Some(len))
    }

    /// Whether the frame at the front does not fit behind its beginning. One whose length is not
    /// known yet counts as the largest.
    fn is_cramped(&self) -> bool {
        let len = self.announced().ok().flatten().unwrap_or(self.max_payload);
        self.pending.start + PREFIX + len > self.memory.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream_of(messages: &[Vec<u8>], max: usize) -> Vec<u8> {
        let mut writer = FrameWriter::new(max);
        let mut stream = Vec::new();
        for m in messages {
            stream.extend_from_slice(writer.frame(m.len(), &mut |b| b.copy_from_slice(m)));
        }
        stream
    }

    /// Feeds the stream in pieces of the given sizes (used in turn) and collects the frames.
    fn frames_of(stream: &[u8], max: usize, pieces: &[usize]) -> Vec<Vec<u8>> {
        let mut reader = FrameReader::new(max);
        let (mut rest, mut frames) = (stream, Vec::new());
        let mut sizes = pieces.iter().cycle();
        while !rest.is_empty() {
            let space = reader.space();
            let n = space.len().min(rest.len()).min(*sizes.next().unwrap());
            assert!(n > 0);
            space[..n].copy_from_slice(&rest[..n]);
            reader.filled(n);
            rest = &rest[n..];
            while let Some(frame) = reader.next().unwrap() {
                frames.push(frame.to_vec());
            }
        }
        frames
    }

    proptest! {
        #[test]
        fn any_split_of_the_stream_gives_back_the_frames(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..3000), 0..40),
            pieces in prop::collection::vec(1usize..5000, 1..20),
        ) {
            let stream = stream_of(&messages, 3000);
            prop_assert_eq!(frames_of(&stream, 3000, &pieces), messages);
        }

        #[test]
        fn large_frames_among_small_ones_come_back_too(
            lengths in prop::collection::vec(prop_oneof![1..3000usize, LARGE - 2..3 * LARGE], 0..12),
            pieces in prop::collection::vec(1usize..3 * LARGE, 1..10),
        ) {
            let messages: Vec<Vec<u8>> = lengths.iter().map(|len| vec![*len as u8; *len]).collect();
            let stream = stream_of(&messages, 3 * LARGE);
            prop_assert_eq!(frames_of(&stream, 3 * LARGE, &pieces), messages);
        }

        #[test]
        fn any_bytes_give_frames_or_an_error_and_never_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
            piece in 1usize..100,
        ) {
            let mut reader = FrameReader::new(300);
            'stream: for chunk in bytes.chunks(piece) {
                let space = reader.space();
                space[..chunk.len()].copy_from_slice(chunk);
                reader.filled(chunk.len());
                loop {
                    match reader.next() {
                        Ok(Some(frame)) => prop_assert!(frame.len() <= 300),
                        Ok(None) => break,
                        Err(e) => {
                            prop_assert!(e.len > 300);
                            break 'stream;
                        }
                    }
                }
            }
        }
    }

    /// Bytes that were moved within the reader's memory, and reads, of `count` frames of `len` bytes each.
    fn moved_and_reads(count: usize, len: usize) -> (usize, usize) {
        let messages: Vec<Vec<u8>> = (0..count).map(|i| vec![i as u8; len]).collect();
        let stream = stream_of(&messages, len);
        let mut reader = FrameReader::new(len);
        let (mut rest, mut seen, mut reads, mut moved) = (&stream[..], 0, 0, 0);
        while seen < count {
            let before = reader.pending.clone();
            let n = reader.space().len().min(rest.len());
            if reader.pending.start != before.start {
                moved += before.len();
            }
            reader.space()[..n].copy_from_slice(&rest[..n]);
            reader.filled(n);
            rest = &rest[n..];
            reads += 1;
            while let Some(frame) = reader.next().unwrap() {
                assert_eq!(frame, &messages[seen][..]);
                seen += 1;
            }
        }
        (moved, reads)
    }

    #[test]
    fn behind_the_first_large_frame_none_is_moved_and_each_is_one_read() {
        for len in [LARGE, 64 << 10, 128 << 10, 4 << 20] {
            let (few, _) = moved_and_reads(20, len);
            let (many, reads) = moved_and_reads(40, len);
            assert_eq!(many, few, "{len} bytes");
            // What came along with the first one.
            assert!(few <= READ_AHEAD);
            assert!(reads <= 40 + 1, "{reads} reads of 40 frames of {len} bytes");
        }
    }

    #[test]
    fn many_small_frames_come_with_one_read() {
        let (_, reads) = moved_and_reads(1000, 60);
        assert_eq!(reads, 1);
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused() {
        let mut reader = FrameReader::new(8);
        reader.space()[..4].copy_from_slice(&9u32.to_le_bytes());
        reader.filled(4);
        assert_eq!(reader.next(), Err(FrameTooLong { len: 9, max: 8 }));
    }

    #[test]
    fn a_payload_is_aligned_for_words() {
        let mut writer = FrameWriter::new(64);
        writer.frame(64, &mut |b| assert_eq!(b.as_ptr() as usize % 8, 0));
    }
}
