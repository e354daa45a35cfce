//! Where to listen, as the user writes it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The port when none is named.
const DEFAULT_PORT: u16 = 8643;

/// `127.0.0.1:8643`, `[::1]:8643`, `localhost:8643`, a port alone, or an address alone. Port 0 stands for
/// any free one.
///
/// # Errors
///
/// A sentence that says what to write instead. Names other than `localhost` are not looked up: which of
/// their addresses is meant would be a guess.
pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(here, port));
    }
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    if let Ok(ip) = bare.unwrap_or(text).parse() {
        return Ok(SocketAddr::new(ip, DEFAULT_PORT));
    }
    let port = match text.strip_prefix("localhost") {
        Some("") => Some(DEFAULT_PORT),
        Some(rest) => rest.strip_prefix(':').and_then(|p| p.parse().ok()),
        None => None,
    };
    port.map(|port| SocketAddr::new(here, port)).ok_or_else(|| {
        format!("write an address and a port such as 127.0.0.1:{DEFAULT_PORT}, or a port, instead of {text:?}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_ports_and_localhost_are_understood() {
        for (text, address) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]:0", "[::1]:0"),
            ("9000", "127.0.0.1:9000"),
            ("0", "127.0.0.1:0"),
            ("localhost", "127.0.0.1:8643"),
            ("localhost:1", "127.0.0.1:1"),
            ("::1", "[::1]:8643"),
            ("[::1]", "[::1]:8643"),
            ("192.0.2.1", "192.0.2.1:8643"),
        ] {
            assert_eq!(parse_listen(text).unwrap().to_string(), address, "{text}");
        }
        for wrong in [
            "",
            "lab1:80",
            "localhostile:1",
            "localhost:x",
            "65536",
            "1.2.3.4:",
        ] {
            let e = parse_listen(wrong).unwrap_err();
            assert!(e.contains("such as 127.0.0.1:8643"), "{e}");
        }
    }
}
