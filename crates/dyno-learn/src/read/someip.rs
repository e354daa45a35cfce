//! SOME/IP in UDP datagrams, recognised by its header (AUTOSAR, "SOME/IP Protocol Specification", section 4.1.2).

/// The header, in bytes.
const HEADER: usize = 16;

/// A message: its service and method (or event) and what it is, and the size of its payload in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) topic: String,
    pub(crate) size: u64,
}

/// The messages of a datagram, or `None` where it is not SOME/IP from its beginning to its end. `missing` bytes at its end were not
/// recorded.
pub(crate) fn messages(mut datagram: &[u8], missing: usize) -> Option<Vec<Message>> {
    let mut found = Vec::new();
    while !datagram.is_empty() || found.is_empty() {
        let header = datagram.get(..HEADER);
        let Some(header) = header.filter(|_| found.len() < 1000) else {
            let is_cut = missing > 0 && !found.is_empty();
            return is_cut.then_some(found);
        };
        let [
            s0,
            s1,
            m0,
            m1,
            l0,
            l1,
            l2,
            l3,
            _,
            _,
            _,
            _,
            version,
            _,
            kind,
            code,
        ] = *header
        else {
            return None;
        };
        let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
        let (size, whole) = (length.checked_sub(HEADER - 8)?, length.checked_add(8)?);
        if version != 1 || code > 0x5e || whole > datagram.len().saturating_add(missing) {
            return None;
        }
        let (service, method) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([m0, m1]));
        found.push(Message {
            topic: format!("someip 0x{service:04x}.0x{method:04x} {}", kind_name(kind)?),
            size: size as u64,
        });
        datagram = datagram.get(whole..).unwrap_or_default();
    }
    Some(found)
}

/// The type of a message; a segment of SOME/IP-TP has the flag 0x20.
fn kind_name(kind: u8) -> Option<&'static str> {
    Some(match kind & !0x20 {
        0x00 => "request",
        0x01 => "request without response",
        0x02 => "notification",
        0x80 => "response",
        0x81 => "error",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(size: u8) -> Vec<u8> {
        let mut bytes = vec![
            0x12,
            0x34,
            0x80,
            0x01,
            0,
            0,
            0,
            8 + size,
            0,
            0,
            0,
            1,
            1,
            1,
            2,
            0,
        ];
        bytes.extend(std::iter::repeat_n(0xff, size.into()));
        bytes
    }

    #[test]
    fn a_datagram_is_someip_to_its_end_or_not_at_all() {
        let two = [message(4), message(0)].concat();
        let found = messages(&two, 0).unwrap();
        let topics: Vec<_> = found.iter().map(|m| (m.topic.as_str(), m.size)).collect();
        let topic = "someip 0x1234.0x8001 notification";
        assert_eq!(topics, [(topic, 4), (topic, 0)]);
        assert_eq!(messages(&two[..two.len() - 1], 0), None);
        assert_eq!(messages(&two[..18], 20).map(|m| m.len()), Some(1));
        assert_eq!(messages(b"", 0), None);
        assert_eq!(messages(b"GET / HTTP/1.1\r\n\r\n", 0), None);
    }
}
