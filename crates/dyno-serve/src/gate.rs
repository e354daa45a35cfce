//! Which requests are answered at all. A page of any other origin that the user has open in a browser may
//! send requests here; it must not learn anything.

use hyper::header::{CONTENT_LENGTH, HOST, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) text: &'static str,
}

const fn refusal(status: StatusCode, text: &'static str) -> Refusal {
    Refusal { status, text }
}

const NO_HOST: Refusal = refusal(
    StatusCode::BAD_REQUEST,
    "The request names no host, or several. Every browser sends exactly one Host header.",
);
const FOREIGN_HOST: Refusal = refusal(
    StatusCode::MISDIRECTED_REQUEST,
    "This server has another name. Open it as localhost or by the address that it printed when it started; \
     `dyno serve --host NAME` lets it answer to a name of yours.",
);
const PROXY: Refusal = refusal(StatusCode::BAD_REQUEST, "This server is not a proxy.");
const METHOD: Refusal = refusal(
    StatusCode::METHOD_NOT_ALLOWED,
    "This server only shows runs: it answers GET and HEAD.",
);
const BODY: Refusal = refusal(
    StatusCode::PAYLOAD_TOO_LARGE,
    "This server reads no request's body.",
);
const CROSS_SITE: Refusal = refusal(
    StatusCode::FORBIDDEN,
    "Another site's page asked for this. Open the address in a tab of its own.",
);

/// Holds requests against the names that the server has.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Beside `localhost` and addresses.
    names: Vec<String>,
}

impl Gate {
    pub(crate) fn new(names: Vec<String>) -> Gate {
        Gate { names }
    }

    /// Whether a request is answered that came in at the address `local` of this machine.
    pub(crate) fn check(&self, request: &Parts, local: IpAddr) -> Result<(), Refusal> {
        let mut hosts = request.headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(NO_HOST);
        };
        if !host.to_str().is_ok_and(|host| self.is_ours(host, local)) {
            return Err(FOREIGN_HOST);
        }
        if !matches!(request.method, Method::GET | Method::HEAD) {
            return Err(METHOD);
        }
        if request.uri.authority().is_some() || !request.uri.path().starts_with('/') {
            return Err(PROXY);
        }
        let length = request.headers.get(CONTENT_LENGTH);
        if request.headers.contains_key(TRANSFER_ENCODING) || length.is_some_and(|l| l != "0") {
            return Err(BODY);
        }
        // Fetch Metadata (W3C): browsers say who asks. `none` is the user's own doing, and following a
        // link from elsewhere is a navigation; scripts, images and frames of other pages are neither.
        let said = |name| request.headers.get(name).map(HeaderValue::as_bytes);
        match said("sec-fetch-site") {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) => match (said("sec-fetch-mode"), said("sec-fetch-dest")) {
                (Some(b"navigate"), Some(b"document")) => Ok(()),
                _ => Err(CROSS_SITE),
            },
        }
    }

    /// The port is not looked at: it differs where the page is reached through a tunnel, and rebinding is
    /// about names.
    fn is_ours(&self, host: &str, local: IpAddr) -> bool {
        let Some(name) = without_port(host) else {
            return false;
        };
        if let Ok(ip) = name.parse::<IpAddr>() {
            let ip = ip.to_canonical();
            return ip == local.to_canonical()
                || ip == Ipv4Addr::LOCALHOST
                || ip == Ipv6Addr::LOCALHOST;
        }
        let same = |ours: &str| ours.eq_ignore_ascii_case(name);
        same("localhost") || self.names.iter().any(|ours| same(ours))
    }
}

/// `localhost:80`, `[::1]:80` and both without the port.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => match host.find(':') {
            Some(colon) => host.split_at(colon),
            None => (host, ""),
        },
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let bare_digits = port.len() == digits.len() && !digits.is_empty();
    let is_port = !bare_digits && digits.bytes().all(|b| b.is_ascii_digit());
    (is_port && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn check(request: hyper::http::request::Builder) -> Result<(), u16> {
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let gate = Gate::new(vec!["bench.example".into()]);
        let local = IpAddr::from([192, 0, 2, 7]);
        gate.check(&parts, local).map_err(|r| r.status.as_u16())
    }

    fn get(host: &str) -> hyper::http::request::Builder {
        Request::get("/").header("host", host)
    }

    #[test]
    fn the_servers_own_names_pass_with_any_port() {
        for host in [
            "localhost",
            "LocalHost:8643",
            "127.0.0.1",
            "127.0.0.1:9",
            "[::1]",
            "[::1]:8643",
            "192.0.2.7:8643",
            "[::ffff:192.0.2.7]",
            "bench.example",
            "localhost:",
        ] {
            assert_eq!(check(get(host)), Ok(()), "{host}");
        }
    }

    #[test]
    fn every_other_name_is_misdirected() {
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.2",
            "0.0.0.0",
            "user@localhost",
            "localhost:80@evil.example",
            "localhost, evil.example",
            "::1",
            "[::1",
            "[::1]80",
            "2130706433",
            "localhost.",
            "",
            ":80",
        ] {
            assert_eq!(check(get(host)), Err(421), "{host}");
        }
    }

    #[test]
    fn a_host_is_named_exactly_once() {
        assert_eq!(check(Request::get("/")), Err(400));
        assert_eq!(
            check(get("localhost").header("host", "localhost")),
            Err(400)
        );
    }

    #[test]
    fn only_reading_is_answered() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"] {
            assert_eq!(check(get("localhost").method(method)), Err(405), "{method}");
        }
        assert_eq!(check(get("localhost").method("HEAD")), Ok(()));
        assert_eq!(
            check(get("localhost").header("content-length", "1")),
            Err(413)
        );
        let chunked = get("localhost").header("transfer-encoding", "chunked");
        assert_eq!(check(chunked), Err(413));
        assert_eq!(check(get("localhost").uri("http://localhost/")), Err(400));
    }

    #[test]
    fn what_pages_of_other_sites_fetch_is_refused() {
        let from = |site: &str, mode: &str, dest: &str| {
            check(
                get("localhost")
                    .header("sec-fetch-site", site)
                    .header("sec-fetch-mode", mode)
                    .header("sec-fetch-dest", dest),
            )
        };
        assert_eq!(from("same-origin", "cors", "empty"), Ok(()));
        assert_eq!(from("none", "navigate", "document"), Ok(()));
        assert_eq!(from("cross-site", "navigate", "document"), Ok(()));
        assert_eq!(from("cross-site", "navigate", "iframe"), Err(403));
        assert_eq!(from("cross-site", "no-cors", "script"), Err(403));
        // Another port of this machine.
        assert_eq!(from("same-site", "cors", "empty"), Err(403));
    }
}
