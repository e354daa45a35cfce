//! pcap and pcapng, packet by packet.

use crate::format::{Failed, Format};
use crate::read::packet::{self, Packet};
use crate::traffic::{Place, Traffic};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, LegacyPcapReader, Linktype, PcapBlockOwned, PcapError, PcapNGReader};
use std::io::{BufRead, Read};

/// The buffer at first, and at most, in bytes: a block has to fit into it.
const BUFFER: usize = 1 << 20;
const LARGEST: usize = 1 << 24;

/// Interfaces of one section; packets of further ones are left out.
const MOST_INTERFACES: usize = 10_000;

/// A source whose reads are short only at its end: the parser wants the file's header at once.
struct Full<'a>(&'a mut dyn BufRead);

impl Read for Full<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.0.read(rest)? {
                0 => break,
                n => filled += n,
            }
        }
        Ok(filled)
    }
}

/// Where packets come from.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Units of time in a second.
    per_second: u128,
    /// What is added to each stamp, in seconds.
    offset: i64,
}

pub(crate) fn read(
    source: &mut dyn BufRead,
    format: Format,
    traffic: &mut Traffic,
) -> Result<(), Failed> {
    let source = Full(source);
    let begun = match format {
        Format::PcapNg => {
            PcapNGReader::new(BUFFER, source).map(|r| Box::new(r) as Box<dyn PcapReaderIterator>)
        }
        _ => LegacyPcapReader::new(BUFFER, source)
            .map(|r| Box::new(r) as Box<dyn PcapReaderIterator>),
    };
    let mut reader = begun.map_err(|_| {
        Failed::Wrong(
            Place::Byte(0),
            "its header is cut off or damaged; record it anew".into(),
        )
    })?;
    let mut interfaces: Vec<Option<Interface>> = Vec::new();
    let mut size = BUFFER;
    loop {
        let place = Place::Byte(reader.consumed() as u64);
        let stop = match reader.next() {
            Ok((used, block)) => {
                take(&block, place, &mut interfaces, traffic);
                drop(block);
                reader.consume(used);
                continue;
            }
            Err(PcapError::Eof) => return Ok(()),
            Err(PcapError::Incomplete(_)) => None,
            Err(PcapError::BufferTooSmall) if size < LARGEST => {
                size *= 2;
                Some(Ok(()))
            }
            Err(PcapError::BufferTooSmall) => {
                Some(Err("a block of more than 16 MiB; the rest is left out"))
            }
            Err(PcapError::UnexpectedEof) => {
                Some(Err("the file is cut off here; the last packet is left out"))
            }
            Err(_) => Some(Err("this is no packet; the rest is left out")),
        };
        match stop {
            Some(Err(why)) => {
                traffic.problem(place, why);
                return Ok(());
            }
            Some(Ok(())) => drop(reader.grow(size)),
            None => {}
        }
        let refilled = reader.refill().map_err(|_| ());
        if refilled.is_err() {
            traffic.problem(
                place,
                "the system cannot read on from here; the rest is left out",
            );
            return Ok(());
        }
    }
}

fn take(
    block: &PcapBlockOwned<'_>,
    place: Place,
    interfaces: &mut Vec<Option<Interface>>,
    traffic: &mut Traffic,
) {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let per_second = if header.is_nanosecond_precision() {
                1_000_000_000
            } else {
                1_000_000
            };
            // The upper half of the field holds flags.
            let link = Linktype(header.network.0 & 0xffff);
            *interfaces = vec![Some(Interface {
                link,
                per_second,
                offset: 0,
            })];
        }
        PcapBlockOwned::Legacy(packet) => {
            let Some(Some(interface)) = interfaces.first().copied() else {
                return;
            };
            let stamp =
                u128::from(packet.ts_sec) * interface.per_second + u128::from(packet.ts_usec);
            let recorded = packet.data;
            take_packet(place, interface, stamp, recorded, packet.origlen, traffic);
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => interfaces.clear(),
        PcapBlockOwned::NG(Block::InterfaceDescription(described)) => {
            if interfaces.len() < MOST_INTERFACES {
                let per_second = per_second(described.if_tsresol);
                interfaces.push(per_second.map(|per_second| Interface {
                    link: described.linktype,
                    per_second,
                    offset: described.if_tsoffset,
                }));
            }
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let interface = usize::try_from(packet.if_id)
                .ok()
                .and_then(|at| interfaces.get(at).copied());
            let Some(Some(interface)) = interface else {
                return traffic.problem(
                    place,
                    "a packet of an interface that the file does not describe; it is left out",
                );
            };
            let stamp = (u128::from(packet.ts_high) << 32) | u128::from(packet.ts_low);
            let recorded = packet
                .data
                .get(..packet.caplen as usize)
                .unwrap_or(packet.data);
            take_packet(place, interface, stamp, recorded, packet.origlen, traffic);
        }
        PcapBlockOwned::NG(Block::SimplePacket(_)) => {
            traffic.leave("packets without a time (simple packet blocks)")
        }
        PcapBlockOwned::NG(_) => {}
    }
}

/// Units of time in a second, as pcapng writes it; `None` where nanoseconds would not hold it.
fn per_second(resolution: u8) -> Option<u128> {
    let exponent = u32::from(resolution & 0x7f);
    let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(exponent)
        .filter(|units| *units <= u128::from(u64::MAX))
}

fn take_packet(
    place: Place,
    interface: Interface,
    stamp: u128,
    recorded: &[u8],
    whole: u32,
    traffic: &mut Traffic,
) {
    let ns = stamp.saturating_mul(1_000_000_000) / interface.per_second;
    let time = i64::try_from(ns)
        .ok()
        .and_then(|ns| ns.checked_add(interface.offset.checked_mul(1_000_000_000)?));
    let Some(time) = time else {
        return traffic.problem(
            place,
            "a stamp beyond the year 2262; the packet is left out",
        );
    };
    let packet = Packet {
        place,
        time,
        link: interface.link,
        data: recorded,
        missing: (whole as usize).saturating_sub(recorded.len()),
    };
    packet::take(&packet, traffic);
}
