//! Packets of Ethernet and IP: UDP and TCP by address and port, SOME/IP by service and method.

use crate::read::someip;
use crate::traffic::{Place, Traffic};
use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_parser::Linktype;

/// One recorded packet.
pub(crate) struct Packet<'a> {
    pub(crate) place: Place,
    /// In nanoseconds.
    pub(crate) time: i64,
    pub(crate) link: Linktype,
    pub(crate) data: &'a [u8],
    /// Bytes at its end that were not recorded.
    pub(crate) missing: usize,
}

/// Takes the messages of a packet, or counts why it has none.
pub(crate) fn take(packet: &Packet<'_>, traffic: &mut Traffic) {
    match sliced(packet) {
        Ok(sliced) => take_ip(packet, &sliced, traffic),
        Err(why) => traffic.leave(&why),
    }
}

/// The headers of a packet.
fn sliced<'a>(packet: &Packet<'a>) -> Result<LaxSlicedPacket<'a>, String> {
    let data = packet.data;
    let cooked = |header: usize, at: usize| match (data.get(at..), data.get(header..)) {
        (Some([high, low, ..]), Some(rest)) => {
            let kind = u16::from_be_bytes([*high, *low]);
            Ok(LaxSlicedPacket::from_ether_type(EtherType(kind), rest))
        }
        _ => Err(SHORT.to_owned()),
    };
    match packet.link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).map_err(|_| SHORT.to_owned()),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => LaxSlicedPacket::from_ip(data)
            .map_err(|_| "packets without a valid IP header".to_owned()),
        Linktype::LINUX_SLL => cooked(16, 14),
        Linktype::LINUX_SLL2 => cooked(20, 0),
        Linktype(other) => Err(format!("packets of the unknown link type {other}")),
    }
}

const SHORT: &str = "packets that are too short for their headers";

fn take_ip(packet: &Packet<'_>, sliced: &LaxSlicedPacket<'_>, traffic: &mut Traffic) {
    let (from, to, ip) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let ends = (
                header.source_addr().into(),
                header.destination_addr().into(),
            );
            (ends.0, ends.1, ip.payload())
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let ends: (std::net::IpAddr, std::net::IpAddr) = (
                header.source_addr().into(),
                header.destination_addr().into(),
            );
            (ends.0, ends.1, ip.payload())
        }
        Some(LaxNetSlice::Arp(_)) => return traffic.leave(&ether_type(EtherType::ARP)),
        None => {
            let kind = sliced.ether_payload().map(|payload| payload.ether_type);
            return traffic.leave(&kind.map_or_else(|| SHORT.to_owned(), ether_type));
        }
    };
    if ip.fragmented {
        return traffic.leave("IP fragments");
    }
    let end = |address: std::net::IpAddr, port: u16| std::net::SocketAddr::new(address, port);
    match &sliced.transport {
        Some(TransportSlice::Udp(udp)) => {
            if let Some(messages) = someip::messages(udp.payload(), packet.missing) {
                for message in messages {
                    traffic.message(packet.place, &message.topic, packet.time, message.size);
                }
                return;
            }
            let (from, to) = (
                end(from, udp.source_port()),
                end(to, udp.destination_port()),
            );
            let size = udp.payload().len() + packet.missing;
            traffic.message(
                packet.place,
                &format!("udp {from} -> {to}"),
                packet.time,
                size as u64,
            );
        }
        Some(TransportSlice::Tcp(tcp)) => {
            let size = tcp.payload().len() + packet.missing;
            if size == 0 {
                return traffic.leave("TCP segments without data");
            }
            let (from, to) = (
                end(from, tcp.source_port()),
                end(to, tcp.destination_port()),
            );
            traffic.message(
                packet.place,
                &format!("tcp {from} -> {to}"),
                packet.time,
                size as u64,
            );
        }
        _ if matches!(ip.ip_number, IpNumber::UDP | IpNumber::TCP) => traffic.leave(SHORT),
        _ => {
            let name = ip.ip_number.keyword_str().unwrap_or("unknown");
            traffic.leave(&format!(
                "packets of IP protocol {} ({name})",
                ip.ip_number.0
            ));
        }
    }
}

/// Frames of an EtherType, by name.
fn ether_type(kind: EtherType) -> String {
    let name = match kind.0 {
        0..0x600 => return "frames of IEEE 802.3 without an EtherType".to_owned(),
        0x0806 => "ARP",
        0x22f0 => "AVTP",
        0x22ea => "SRP",
        0x8892 => "PROFINET",
        0x88a4 => "EtherCAT",
        0x88cc => "LLDP",
        0x88e5 => "MACsec",
        0x88f7 => "PTP",
        0x0800 | 0x86dd => return "packets without a valid IP header".to_owned(),
        _ => "unknown",
    };
    format!("frames of EtherType 0x{:04x} ({name})", kind.0)
}
