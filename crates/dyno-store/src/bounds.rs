//! What the numbers and lists of a trial's file may be. A run may be anybody's, and readers add numbers up: a sum of
//! numbers that are bounded here does not overflow, and a list that is bounded here has room in memory.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::cell::Cell;
use std::fmt;

/// The largest whole number: up to it each is exact as a double too (RFC 7493, section 2.2). It is 104 days in
/// nanoseconds, and two thousand of them have a sum of 64 bits.
const LARGEST: u64 = 1 << 53;
/// The largest instant on a clock, in nanoseconds: a century after a host's start or the epoch. Instants are
/// subtracted, not added.
const LATEST: u64 = 100 * 366 * 86_400 * 1_000_000_000;
/// The largest number with a fraction, either side of zero.
const WIDEST: f64 = 1e30;
/// Elements of all lists and tables of a file together.
const ELEMENTS: usize = 1_000_000;

/// Fails where a document has a number or lists beyond the bounds, or is no JSON.
pub(crate) fn check(bytes: &[u8]) -> serde_json::Result<()> {
    let left = Cell::new(ELEMENTS);
    let mut document = serde_json::Deserializer::from_slice(bytes);
    let whole = Anything {
        most: LARGEST,
        left: &left,
    };
    whole.deserialize(&mut document)?;
    document.end()
}

/// A value of any kind, which is looked at and not kept.
#[derive(Clone, Copy)]
struct Anything<'a> {
    most: u64,
    left: &'a Cell<usize>,
}

impl Anything<'_> {
    fn count<E: Error>(self) -> Result<(), E> {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.ok_or_else(|| {
            E::custom(format!(
                "its lists have more than {ELEMENTS} elements together"
            ))
        })?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Anything<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Anything<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        match number <= self.most {
            true => Ok(()),
            false => Err(E::custom(format!(
                "the number {number} is beyond {}",
                self.most
            ))),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.visit_u64(number.unsigned_abs())
            .map_err(|_: E| E::custom(format!("the number {number} is beyond -{}", self.most)))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        match number.abs() <= WIDEST {
            true => Ok(()),
            false => Err(E::custom(format!(
                "the number {number:e} is beyond {WIDEST:e}"
            ))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(self)?.is_some() {
            self.count()?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<(), A::Error> {
        while let Some(most) = table.next_key_seed(Key)? {
            self.count()?;
            table.next_value_seed(Anything { most, ..self })?;
        }
        Ok(())
    }
}

/// A key, as the largest number that may stand behind it.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<u64, E> {
        Ok(match key {
            "first" | "last" | "intended" | "sent" | "arrival" => LATEST,
            // Of copies: what was lost is infinite.
            "p50" | "p99" => u64::MAX,
            _ => LARGEST,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_within_the_bounds_pass() {
        let text = format!(
            r#"{{"n":{LARGEST},"first":{LATEST},"p50":{},"x":[-{LARGEST},1e30,0.5,null,true,"a"]}}"#,
            u64::MAX
        );
        check(text.as_bytes()).unwrap();
    }

    #[test]
    fn a_number_beyond_them_is_refused_with_its_place() {
        for text in [
            r#"{"n":9007199254740993}"#,
            r#"{"x":[{"n":-9007199254740993}]}"#,
            r#"{"n":1e31}"#,
            r#"{"first":18446744073709551615}"#,
        ] {
            let refused = check(text.as_bytes()).unwrap_err().to_string();
            assert!(
                refused.contains("beyond") && refused.contains("line 1"),
                "{refused}"
            );
        }
    }

    #[test]
    fn lists_are_bounded_together() {
        let half = format!("[{}0]", "0,".repeat(ELEMENTS / 2 - 1));
        check(half.as_bytes()).unwrap();
        let refused = check(format!("[{half},{half}]").as_bytes()).unwrap_err();
        assert!(refused.to_string().contains("elements"), "{refused}");
    }
}
