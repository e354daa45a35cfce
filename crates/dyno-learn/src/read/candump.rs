//! Logs of `candump -l`, also as python-can writes them: `(1436509052.249713) vcan0 123#1122`, and for CAN FD `123##01122`.

use crate::format::Failed;
use crate::quantity::nanos;
use crate::read::lines;
use crate::traffic::{Place, Traffic};
use std::io::BufRead;

/// CAN_ERR_FLAG of <linux/can.h>.
const ERROR: u32 = 0x2000_0000;

/// What a line has beside its time.
#[derive(Debug, PartialEq)]
enum Frame {
    Data { topic: String, size: u64 },
    Remote,
    Error,
}

pub(crate) fn read(source: &mut dyn BufRead, traffic: &mut Traffic) -> Result<(), Failed> {
    lines::each(source, traffic, |traffic, number, line| {
        let place = Place::Line(number);
        match frame(line) {
            Some((time, Frame::Data { topic, size })) => traffic.message(place, &topic, time, size),
            Some((_, Frame::Remote)) => traffic.leave("remote frames"),
            Some((_, Frame::Error)) => traffic.leave("error frames"),
            None => traffic.problem(place, "not a line of a candump log; it is left out"),
        }
        Ok(())
    })
}

fn frame(line: &str) -> Option<(i64, Frame)> {
    let (time, rest) = line.strip_prefix('(')?.split_once(')')?;
    let time = nanos(time, 1_000_000_000)?;
    let mut words = rest.split_whitespace();
    let (bus, frame) = (words.next()?, words.next()?);
    let (id, data) = frame.split_once('#')?;
    let number = u32::from_str_radix(id, 16).ok()?;
    let topic = match id.len() {
        3 => format!("{bus} 0x{number:03x}"),
        8 if number & ERROR != 0 => return Some((time, Frame::Error)),
        8 => format!("{bus} 0x{number:08x}x"),
        _ => return None,
    };
    let (hex, most) = match data.strip_prefix('#') {
        // The first digit holds flags.
        Some(fd) => (fd.get(1..)?, 64),
        None if data.starts_with('R') => return Some((time, Frame::Remote)),
        None => (data.split_once('_').map_or(data, |(hex, _)| hex), 8),
    };
    let digits = hex.bytes().filter(|b| *b != b'.');
    let is_hex = digits.clone().all(|b| b.is_ascii_hexdigit());
    let digits = digits.count();
    let size = digits as u64 / 2;
    (is_hex && digits % 2 == 0 && size <= most).then_some((time, Frame::Data { topic, size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_all_kinds() {
        let of = |line: &str| frame(line).map(|(_, frame)| frame);
        let data = |topic: &str, size| {
            let topic = topic.to_owned();
            Some(Frame::Data { topic, size })
        };
        let line = frame("(1436509052.249713) vcan0 123#1122").unwrap();
        assert_eq!(line.0, 1_436_509_052_249_713_000);
        assert_eq!(Some(line.1), data("vcan0 0x123", 2));
        assert_eq!(
            of("(1.0) can0 18FEF100#11.22.33 R"),
            data("can0 0x18fef100x", 3)
        );
        assert_eq!(of("(1.0) can0 123##1"), data("can0 0x123", 0));
        assert_eq!(of("(1.0) can0 123##0112233"), data("can0 0x123", 3));
        assert_eq!(
            of("(1.0) can0 123#1122334455667788_B"),
            data("can0 0x123", 8)
        );
        assert_eq!(of("(1.0) can0 123#R8"), Some(Frame::Remote));
        assert_eq!(
            of("(1.0) can0 20000080#0000000000000000"),
            Some(Frame::Error)
        );
        for wrong in [
            "(1.0) can0 1#11",
            "(1.0) can0 123#1",
            "(1.0) can0 123#xx",
            "(x) can0 123#",
            "(1.0) can0",
            "(1.0) can0 123##",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
