//! The sending side: one message in memory, shown as datagrams.

use super::layout::{HEADER, Header, Layout};
use crate::frame::touched;

/// Memory for one message, reused for all, that shows it as datagrams.
///
/// The header of a fragment is written over the end of the fragment before it, which is put back
/// for the next call: each datagram is one piece of memory, and the payload is never copied.
#[derive(Debug)]
pub struct Splitter {
    layout: Layout,
    /// `HEADER` bytes, then the payload.
    memory: Vec<u8>,
    len: usize,
    number: u32,
    /// Where a header lies now, and what was there before.
    covered: Option<(usize, [u8; HEADER])>,
}

impl Splitter {
    /// Memory for messages of the layout, numbered from 0.
    pub fn new(layout: Layout) -> Self {
        Self::numbered_from(layout, 0)
    }

    pub(super) fn numbered_from(layout: Layout, first: u32) -> Self {
        Splitter {
            layout,
            memory: touched(HEADER + layout.max_payload),
            len: 0,
            number: first.wrapping_sub(1),
            covered: None,
        }
    }

    /// Begins the next message: has its `len` bytes written by `fill`.
    ///
    /// # Panics
    /// If `len` is more than the layout's largest message.
    #[inline]
    pub fn fill(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) {
        assert!(
            len <= self.layout.max_payload,
            "a message longer than its channel's largest"
        );
        fill(&mut self.memory[HEADER..HEADER + len]);
        self.len = len;
        self.number = self.number.wrapping_add(1);
        self.covered = None;
    }

    /// How many datagrams carry the message.
    #[inline]
    pub fn datagrams(&self) -> usize {
        self.layout.datagrams(self.len)
    }

    /// The datagram of that index; each may be asked for repeatedly and in any order.
    ///
    /// # Panics
    /// If there is none of that index.
    #[inline]
    pub fn datagram(&mut self, index: usize) -> &[u8] {
        let Some(chunk) = self.layout.chunk else {
            return &self.memory[HEADER..HEADER + self.len];
        };
        if let Some((at, bytes)) = self.covered.take() {
            self.memory[at..at + HEADER].copy_from_slice(&bytes);
        }
        let offset = index * chunk;
        let size = chunk.min(
            self.len
                .checked_sub(offset)
                .expect("no datagram of that index"),
        );
        // Lengths fit into 32 bits: a payload has 1 GiB at most.
        let header = Header {
            number: self.number,
            offset: offset as u32,
            total: self.len as u32,
        };
        let datagram = &mut self.memory[offset..offset + HEADER + size];
        if let Some(front) = datagram.first_chunk_mut::<HEADER>() {
            self.covered = Some((offset, *front));
            *front = header.to_bytes();
        }
        datagram
    }
}
