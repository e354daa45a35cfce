//! Length-prefixed frames in a byte stream: a 4-byte little-endian length, then the payload.
//!
//! The sending side writes prefix and payload from one piece of memory, so that one call carries
//! both. The receiving side reads whatever has come into one buffer and shows frames in place: of
//! a frame, at most the part that came along with its predecessor is ever moved, and only where
//! the rest would not fit behind it.

use std::ops::Range;

/// Bytes of the length in front of each payload.
pub const PREFIX: usize = 4;

/// Bytes beyond the largest frame that a reader has room for: so much of the following frames may
/// come along with one read. It is the capacity of a pipe.
pub const READ_AHEAD: usize = 64 * 1024;

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
    max_payload: usize,
}

impl FrameReader {
    /// A reader of payloads of at most `max_payload` bytes.
    pub fn new(max_payload: usize) -> Self {
        let memory = touched(PREFIX + max_payload + READ_AHEAD);
        FrameReader {
            memory,
            pending: 0..0,
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
        &mut self.memory[self.pending.end..]
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

    #[test]
    fn large_frames_are_read_to_the_end_of_the_memory_and_moved_little() {
        let max = 4 << 20;
        let messages: Vec<Vec<u8>> = (0..4u8).map(|i| vec![i; max]).collect();
        let stream = stream_of(&messages, max);
        let mut reader = FrameReader::new(max);
        let (mut rest, mut seen, mut reads) = (&stream[..], 0, 0);
        while seen < messages.len() {
            let space = reader.space();
            let n = space.len().min(rest.len());
            space[..n].copy_from_slice(&rest[..n]);
            reader.filled(n);
            rest = &rest[n..];
            reads += 1;
            while let Some(frame) = reader.next().unwrap() {
                assert_eq!(frame, &messages[seen][..]);
                seen += 1;
            }
            // What stays behind is a part of one frame, no more than came along.
            assert!(reader.pending.len() <= READ_AHEAD);
        }
        assert_eq!(reads, messages.len());
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
