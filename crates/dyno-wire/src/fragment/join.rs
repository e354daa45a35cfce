//! The receiving side: datagrams are read to the place where the next one in order belongs, and
//! moved only when another one came.

use super::layout::{HEADER, Header, Layout};
use crate::frame::touched;

/// Puts messages together: read a datagram into [`space`](Self::space), then
/// [`accept`](Self::accept) it.
///
/// Message `n` lies in slot `n % 2`. The header of a datagram that is read to its place covers the
/// end of the fragment before it, which is put back as soon as the header has been looked at.
#[derive(Debug)]
pub struct Joiner {
    layout: Layout,
    /// Two slots, then room for a datagram that must not be read into a slot. A slot has `HEADER`
    /// bytes and as many whole chunks as the largest message takes.
    memory: Vec<u8>,
    slots: [Slot; 2],
    /// The last message that was completed.
    last: Option<u32>,
    /// The fragment that probably comes next.
    expected: Fragment,
    /// Where the datagram is being read to, and what its header covers.
    reading: Option<(usize, [u8; HEADER])>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Fragment {
    number: u32,
    index: usize,
}

/// The state of the message in a slot.
#[derive(Debug)]
struct Slot {
    number: u32,
    total: usize,
    /// Fragments that have not come; 0: the slot is free.
    missing: usize,
    /// One bit for each fragment that has come.
    have: Vec<u64>,
}

impl Slot {
    fn has(&self, index: usize) -> bool {
        self.missing > 0 && self.have[index / 64] & (1 << (index % 64)) != 0
    }

    fn begin(&mut self, number: u32, total: usize, fragments: usize) {
        *self = Slot {
            number,
            total,
            missing: fragments,
            have: std::mem::take(&mut self.have),
        };
        self.have.fill(0);
    }
}

/// Whether message number `a` comes after `b`.
fn newer(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Joiner {
    /// Memory for messages of the layout.
    pub fn new(layout: Layout) -> Self {
        let words = layout.datagrams(layout.max_payload).div_ceil(64);
        let slot = || Slot {
            number: 0,
            total: 0,
            missing: 0,
            have: vec![0; words],
        };
        let bytes = match layout.chunk {
            None => layout.datagram,
            Some(_) => 2 * slot_bytes(layout) + layout.datagram,
        };
        Joiner {
            layout,
            memory: touched(bytes),
            slots: [slot(), slot()],
            last: None,
            expected: Fragment::default(),
            reading: None,
        }
    }

    /// Where the next datagram goes: exactly [`Layout::datagram`] bytes.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        let Some(chunk) = self.layout.chunk else {
            return &mut self.memory;
        };
        self.uncover();
        let Fragment { number, index } = self.expected;
        let slot = slot_of(number);
        let at = if self.slots[slot].has(index) {
            2 * slot_bytes(self.layout)
        } else {
            slot * slot_bytes(self.layout) + index * chunk
        };
        let space = &mut self.memory[at..at + self.layout.datagram];
        if let Some(front) = space.first_chunk::<HEADER>() {
            self.reading = Some((at, *front));
        }
        space
    }

    /// Takes the datagram of which the first `n` bytes of [`space`](Self::space) were written;
    /// the message that it completes, in place. What cannot belong to the channel, comes a second
    /// time or belongs to a message given up is dropped.
    #[inline]
    pub fn accept(&mut self, n: usize) -> Option<&[u8]> {
        let Some(chunk) = self.layout.chunk else {
            return self.memory.get(..n);
        };
        let at = self.reading?.0;
        let header = self.memory[at..at + n.min(self.layout.datagram)]
            .first_chunk::<HEADER>()
            .map(Header::from_bytes);
        self.uncover();
        let header = header?;
        let (offset, total) = (header.offset as usize, header.total as usize);
        let fits = total <= self.layout.max_payload
            && offset < total
            && offset.is_multiple_of(chunk)
            && n - HEADER == chunk.min(total - offset);
        if !fits || self.last.is_some_and(|last| !newer(header.number, last)) {
            return None;
        }
        let index = offset / chunk;
        let slot = slot_of(header.number);
        if !self.admit(slot, header.number, total, index) {
            return None;
        }
        let home = slot * slot_bytes(self.layout) + offset;
        if home != at {
            self.memory.copy_within(at + HEADER..at + n, home + HEADER);
        }
        self.expected = if index + 1 < self.layout.datagrams(total) {
            Fragment {
                number: header.number,
                index: index + 1,
            }
        } else {
            Fragment {
                number: header.number.wrapping_add(1),
                index: 0,
            }
        };
        if self.slots[slot].missing > 0 {
            return None;
        }
        self.last = Some(header.number);
        let other = &mut self.slots[1 - slot];
        if !newer(other.number, header.number) {
            other.missing = 0;
        }
        let start = slot * slot_bytes(self.layout) + HEADER;
        Some(&self.memory[start..start + total])
    }

    /// Notes the fragment in its slot; whether it is one that the slot waits for.
    fn admit(&mut self, slot: usize, number: u32, total: usize, index: usize) -> bool {
        let fragments = self.layout.datagrams(total);
        let slot = &mut self.slots[slot];
        if slot.missing == 0 || newer(number, slot.number) {
            slot.begin(number, total, fragments);
        } else if slot.number != number || slot.total != total || slot.has(index) {
            return false;
        }
        slot.have[index / 64] |= 1 << (index % 64);
        slot.missing -= 1;
        true
    }

    /// Puts back what the header of the datagram covers.
    fn uncover(&mut self) {
        if let Some((at, bytes)) = self.reading.take() {
            self.memory[at..at + HEADER].copy_from_slice(&bytes);
        }
    }
}

fn slot_of(number: u32) -> usize {
    (number & 1) as usize
}

fn slot_bytes(layout: Layout) -> usize {
    let chunk = layout.chunk.unwrap_or(0);
    HEADER + layout.datagrams(layout.max_payload) * chunk
}
