//! How the messages of a channel lie in datagrams, and the header of a fragment.

/// Bytes in front of each fragment.
pub const HEADER: usize = 12;

/// How the messages of a channel lie in datagrams. Both sides must use the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub(super) max_payload: usize,
    pub(super) datagram: usize,
    /// Payload bytes in a fragment; `None` where messages are carried whole.
    pub(super) chunk: Option<usize>,
}

impl Layout {
    /// The layout for messages of at most `max_payload` bytes in datagrams of at most `datagram`
    /// bytes, headers included; `None` if those have no room for a header and a byte.
    pub fn new(max_payload: usize, datagram: usize) -> Option<Self> {
        if max_payload <= datagram {
            Some(Layout {
                max_payload,
                datagram: max_payload,
                chunk: None,
            })
        } else {
            let chunk = datagram.checked_sub(HEADER).filter(|room| *room > 0)?;
            Some(Layout {
                max_payload,
                datagram,
                chunk: Some(chunk),
            })
        }
    }

    /// The largest datagram that the channel needs, in bytes.
    pub fn datagram(&self) -> usize {
        self.datagram
    }

    /// Datagrams that carry a message of `len` bytes.
    pub fn datagrams(&self, len: usize) -> usize {
        match self.chunk {
            None => 1,
            Some(chunk) => len.div_ceil(chunk).max(1),
        }
    }
}

/// The header of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) number: u32,
    pub(super) offset: u32,
    pub(super) total: u32,
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        for (to, word) in bytes
            .chunks_exact_mut(4)
            .zip([self.number, self.offset, self.total])
        {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub(super) fn from_bytes(b: &[u8; HEADER]) -> Self {
        let word = |i: usize| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
        Header {
            number: word(0),
            offset: word(4),
            total: word(8),
        }
    }
}
