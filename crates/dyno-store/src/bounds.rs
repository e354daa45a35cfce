//! What the numbers and lists of a trial's file, and the lists of a manifest, may be. A run may be anybody's, and readers add numbers up: a sum of
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
/// Elements of all lists and tables of a trial together.
const ELEMENTS: usize = 1_000_000;
/// Those of a manifest's experiments, of its refusals and of its remarks: 40,000 experiments have 45 each.
const OF_EXPERIMENTS: usize = 1_800_000;
/// Those of the rest of a manifest. One can take a thousand bytes of memory.
const OF_THE_REST: usize = 100_000;

/// Fails where a trial has a number or lists beyond the bounds, or is no JSON.
pub(crate) fn check(bytes: &[u8]) -> serde_json::Result<()> {
    let left = Left::new("its lists", ELEMENTS);
    checked(
        bytes,
        Anything {
            most: Some(LARGEST),
            left: &left,
            many: None,
        },
    )
}

/// Fails where a manifest has lists beyond the bounds, or is no JSON. Seeds have all of 64 bits, so its numbers have no bound.
pub(crate) fn check_manifest(bytes: &[u8]) -> serde_json::Result<()> {
    let (rest, experiments) = (
        Left::new("its lists", OF_THE_REST),
        Left::new("its experiments", OF_EXPERIMENTS),
    );
    checked(
        bytes,
        Anything {
            most: None,
            left: &rest,
            many: Some((Step::Manifest, &experiments)),
        },
    )
}

fn checked(bytes: &[u8], whole: Anything<'_>) -> serde_json::Result<()> {
    let mut document = serde_json::Deserializer::from_slice(bytes);
    whole.deserialize(&mut document)?;
    document.end()
}

/// How many elements there may still be.
struct Left {
    what: &'static str,
    of: usize,
    left: Cell<usize>,
}

impl Left {
    fn new(what: &'static str, of: usize) -> Self {
        let left = Cell::new(of);
        Left { what, of, left }
    }
}

/// How far the way to a manifest's experiments has been gone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Manifest,
    Plan,
}

/// A value of any kind, which is looked at and not kept.
#[derive(Clone, Copy)]
struct Anything<'a> {
    /// The largest whole number; none: any number.
    most: Option<u64>,
    left: &'a Left,
    /// What counts for the experiments, where they may still come.
    many: Option<(Step, &'a Left)>,
}

impl Anything<'_> {
    fn count<E: Error>(self) -> Result<(), E> {
        let Left { what, of, left } = self.left;
        let fewer = left.get().checked_sub(1);
        left.set(
            fewer.ok_or_else(|| {
                E::custom(format!("{what} have more than {of} elements together"))
            })?,
        );
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
        match self.most {
            Some(most) if number > most => {
                Err(E::custom(format!("the number {number} is beyond {most}")))
            }
            _ => Ok(()),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        match self.most {
            Some(most) if number.unsigned_abs() > most => {
                Err(E::custom(format!("the number {number} is beyond -{most}")))
            }
            _ => Ok(()),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        match self.most.is_none() || number.abs() <= WIDEST {
            true => Ok(()),
            false => Err(E::custom(format!(
                "the number {number:e} is beyond {WIDEST:e}"
            ))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let inner = Anything { many: None, ..self };
        while list.next_element_seed(inner)?.is_some() {
            self.count()?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<(), A::Error> {
        while let Some((most, name)) = table.next_key_seed(Key)? {
            self.count()?;
            let most = self.most.map(|_| most);
            let inner = Anything {
                most,
                many: None,
                ..self
            };
            table.next_value_seed(match (self.many, name) {
                (Some((Step::Manifest, of)), Name::Plan) => Anything {
                    many: Some((Step::Plan, of)),
                    ..inner
                },
                (Some((Step::Plan, of)), Name::Experiments) => Anything { left: of, ..inner },
                _ => inner,
            })?;
        }
        Ok(())
    }
}

/// A key, as the largest number that may stand behind it, and its meaning in a manifest.
struct Key;

enum Name {
    Plan,
    /// Those that are measured, and those that were refused.
    Experiments,
    Other,
}

impl<'de> DeserializeSeed<'de> for Key {
    type Value = (u64, Name);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = (u64, Name);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let most = match key {
            "first" | "last" | "intended" | "sent" | "arrival" => LATEST,
            // Of copies: what was lost is infinite.
            "p50" | "p99" => u64::MAX,
            _ => LARGEST,
        };
        let name = match key {
            "plan" => Name::Plan,
            "experiments" | "refused" | "warnings" => Name::Experiments,
            _ => Name::Other,
        };
        Ok((most, name))
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

    #[test]
    fn a_manifest_may_have_many_experiments_and_any_number_but_not_much_else() {
        let list = format!("[{}0]", "0,".repeat(OF_THE_REST));
        let seed = u64::MAX;
        let fits = format!(r#"{{"seed":{seed},"x":1e300,"plan":{{"experiments":{list}}}}}"#);
        check_manifest(fits.as_bytes()).unwrap();
        for elsewhere in [
            format!(r#"{{"experiments":{list}}}"#),
            format!(r#"{{"plan":[{{"experiments":{list}}}]}}"#),
            format!(r#"{{"plan":{{"stacks":{list}}}}}"#),
        ] {
            let refused = check_manifest(elsewhere.as_bytes()).unwrap_err();
            assert!(refused.to_string().contains("its lists"), "{refused}");
        }
        let most = "0,".repeat(OF_EXPERIMENTS);
        let text = format!(r#"{{"plan":{{"experiments":[{most}0]}}}}"#);
        let refused = check_manifest(text.as_bytes()).unwrap_err();
        assert!(refused.to_string().contains("its experiments"), "{refused}");
    }
}
