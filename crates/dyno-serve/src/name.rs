//! Names of runs on their way into addresses and back. A name is whatever bytes the file system has.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Everything but the unreserved characters of RFC 3986, section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The name as one segment of a path or one value of a query.
pub(crate) fn encode(name: &OsStr) -> String {
    percent_encode(name.as_bytes(), ENCODED).to_string()
}

/// The name that a segment or value stands for, decoded once; `None` where no directory can have it.
pub(crate) fn decode(text: &str) -> Option<OsString> {
    let bytes: Vec<u8> = percent_decode_str(text).collect();
    let impossible = |b: &u8| matches!(b, 0 | b'/');
    let none = bytes.is_empty() || bytes.iter().any(impossible);
    (!none).then(|| OsString::from_vec(bytes))
}

/// The values of a query by key, in order, not decoded.
pub(crate) fn values<'q>(query: &'q str, key: &str) -> impl Iterator<Item = &'q str> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(move |(k, _)| *k == key)
        .map(|(_, value)| value)
}

/// A value that a form wrote, as text.
pub(crate) fn text(value: &str) -> String {
    let spaced = value.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

/// A name that a form wrote.
pub(crate) fn of_form(value: &str) -> Option<OsString> {
    decode(&value.replace('+', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back() {
        let bytes: Vec<u8> = (1..=255).filter(|b| *b != b'/').collect();
        let name = OsString::from_vec(bytes);
        assert_eq!(decode(&encode(&name)), Some(name));
        assert_eq!(encode(OsStr::new("a b+<é>")), "a%20b%2B%3C%C3%A9%3E");
        assert_eq!(of_form("a+b%2Bc"), Some("a b+c".into()));
    }

    #[test]
    fn what_no_directory_can_be_called_is_no_name() {
        for text in ["", "..%2Fx", "%2fetc", "a%00b", "/", "%00"] {
            assert_eq!(decode(text), None, "{text}");
        }
        // Decoded once only.
        assert_eq!(decode("%252e%252e%252f"), Some("%2e%2e%2f".into()));
    }

    #[test]
    fn values_are_found_by_key() {
        let query = "run=a&sort=name&run=b%26c&x";
        let runs: Vec<&str> = values(query, "run").collect();
        assert_eq!(runs, ["a", "b%26c"]);
        assert_eq!(values(query, "x").next(), None);
    }
}
