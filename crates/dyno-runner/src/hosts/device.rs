//! Network devices of the calling thread's namespace, by ioctl(2) (netdevice(7)): at once, without a program that must be
//! started.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::NetworkNamespace;

    #[test]
    fn a_device_is_switched() {
        let Ok(namespace) = NetworkNamespace::new() else {
            eprintln!("NOT TESTED: making network namespaces needs root");
            return;
        };
        let seen = namespace.within(|| {
            let switched = |on| {
                switch("lo", on)?;
                is_up("lo")
            };
            Ok([switched(true)?, switched(false)?, switched(true)?])
        });
        assert_eq!(seen.unwrap(), [true, false, true]);
    }

    #[test]
    fn a_name_that_no_device_can_have_is_refused() {
        assert!(switch("a-name-of-many-letters", true).is_err());
    }
}
