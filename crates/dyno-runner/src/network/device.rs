//! Network devices of the calling thread's namespace, by ioctl(2) (netdevice(7)): at once, without a program that must be
//! started.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::net::Ipv4Addr;

/// A device as ioctl(2) names it.
///
/// # Errors
/// The name is too long for one.
fn request(device: &str) -> io::Result<libc::ifreq> {
    // SAFETY: it is of numbers and pointers, for which zero stands for nothing.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last one stays zero and ends the name.
    if device.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// A socket to ask through.
fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    Ok(socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        flags,
        None,
    )?)
}

/// ioctl(2) of a device on that `socket`.
///
/// # Safety
/// `of` is what `number` takes.
unsafe fn ask<T>(socket: &OwnedFd, number: libc::c_ulong, of: &mut T) -> io::Result<()> {
    // SAFETY: by our caller; the kernel writes no further than the type reaches.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), number as _, std::ptr::from_mut(of)) };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The number of a device.
///
/// # Errors
/// There is none of that name.
pub(super) fn number(device: &str) -> io::Result<u32> {
    Ok(rustix::net::netdevice::name_to_index(socket()?, device)?)
}

/// The device's flags, such as `IFF_UP`.
fn flags(socket: &OwnedFd, request: &mut libc::ifreq) -> io::Result<i32> {
    // SAFETY: it takes a request, and fills in the flags.
    unsafe {
        ask(socket, libc::SIOCGIFFLAGS as _, request)?;
        Ok(i32::from(request.ifr_ifru.ifru_flags))
    }
}

/// Switches a device on or off.
///
/// # Errors
/// There is none of that name, or this process may not.
pub(super) fn switch(device: &str, on: bool) -> io::Result<()> {
    let (socket, mut request) = (socket()?, request(device)?);
    let flags = flags(&socket, &mut request)?;
    let flags = match on {
        true => flags | libc::IFF_UP,
        false => flags & !libc::IFF_UP,
    };
    // The kernel's field has these 16 bits.
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: it takes a request with flags.
    unsafe { ask(&socket, libc::SIOCSIFFLAGS as _, &mut request) }
}

/// Whether a device is on and the other end of its link is there.
///
/// # Errors
/// There is none of that name.
pub(super) fn is_up(device: &str) -> io::Result<bool> {
    let wanted = libc::IFF_UP | libc::IFF_RUNNING;
    let flags = flags(&socket()?, &mut request(device)?)?;
    Ok(flags & wanted == wanted)
}

/// Adds the route by which multicast leaves through a device; the kernel has removed it when the device was switched off.
///
/// # Errors
/// The device is off, or has the route.
pub(super) fn route_multicast(device: &str) -> io::Result<()> {
    let name = request(device)?.ifr_name;
    let address = |of: Ipv4Addr| {
        // SAFETY: it is of numbers.
        let mut general: libc::sockaddr = unsafe { std::mem::zeroed() };
        general.sa_family = libc::AF_INET as libc::sa_family_t;
        // Of the port two bytes, then the address.
        for (to, from) in general.sa_data[2..].iter_mut().zip(of.octets()) {
            *to = from as libc::c_char;
        }
        general
    };
    let mut route = Route {
        pad1: 0,
        destination: address(Ipv4Addr::new(224, 0, 0, 0)),
        gateway: address(Ipv4Addr::UNSPECIFIED),
        mask: address(Ipv4Addr::new(240, 0, 0, 0)),
        flags: libc::RTF_UP,
        pad2: 0,
        pad3: 0,
        pad4: std::ptr::null_mut(),
        metric: 0,
        device: name.as_ptr().cast_mut(),
        mtu: 0,
        window: 0,
        round_trip: 0,
    };
    // SAFETY: it takes a route, in which the name ends with NUL and outlives the call.
    unsafe { ask(&socket()?, libc::SIOCADDRT as _, &mut route) }
}

/// `struct rtentry` of <linux/route.h>.
#[repr(C)]
struct Route {
    pad1: libc::c_ulong,
    destination: libc::sockaddr,
    gateway: libc::sockaddr,
    mask: libc::sockaddr,
    flags: libc::c_ushort,
    pad2: libc::c_short,
    pad3: libc::c_ulong,
    pad4: *mut libc::c_void,
    metric: libc::c_short,
    device: *mut libc::c_char,
    mtu: libc::c_ulong,
    window: libc::c_ulong,
    round_trip: libc::c_ushort,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::namespace::NetworkNamespace;

    #[test]
    fn a_device_is_switched_and_has_its_route_again() {
        let Ok(namespace) = NetworkNamespace::new() else {
            eprintln!("NOT TESTED: making network namespaces needs root");
            return;
        };
        let routes = || std::fs::read_to_string("/proc/thread-self/net/route");
        let multicast = |routes: &str| {
            // Addresses stand there as the machine's own numbers.
            let wanted = format!("lo\t{:08X}\t", u32::from_ne_bytes([224, 0, 0, 0]));
            routes.lines().filter(|l| l.starts_with(&wanted)).count()
        };
        let seen = namespace.within(|| {
            switch("lo", true)?;
            route_multicast("lo")?;
            let (on, with) = (is_up("lo")?, multicast(&routes()?));
            switch("lo", false)?;
            let (off, without) = (is_up("lo")?, multicast(&routes()?));
            switch("lo", true)?;
            route_multicast("lo")?;
            Ok([
                (on, with),
                (off, without),
                (is_up("lo")?, multicast(&routes()?)),
            ])
        });
        assert_eq!(seen.unwrap(), [(true, 1), (false, 0), (true, 1)]);
    }

    #[test]
    fn a_name_that_no_device_can_have_is_refused() {
        assert!(switch("a-name-of-many-letters", true).is_err());
    }
}
