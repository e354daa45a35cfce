//! Sets of CPUs as text.

use crate::unit::UnitError;

/// The most CPUs that a set can name: no machine that Linux runs on has a CPU of a higher number.
const MOST: u32 = 65_536;

/// CPU numbers as the kernel writes them: `0-3,8`. `cpus` is in ascending order.
pub fn ranges(cpus: &[u32]) -> String {
    cpus.chunk_by(|a, b| a + 1 == *b)
        .map(|range| match range {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

/// Reads a set as `taskset -c` and the kernel write it, such as `2-3,8`, in the order of the text. A set
/// names at least one CPU, and each once.
///
/// # Errors
///
/// What is wrong with the text.
pub fn parse_set(text: &str) -> Result<Vec<u32>, UnitError> {
    let error = |reason: String| UnitError {
        what: "set of CPUs",
        found: text.to_owned(),
        reason,
        example: "\"2-3\" or \"0,4\"",
    };
    let number = |text: &str| match text.trim().parse::<u32>() {
        Ok(cpu) if cpu < MOST => Ok(cpu),
        _ => Err(error(format!(
            "{:?} is not the number of a CPU",
            text.trim()
        ))),
    };
    if text.trim().is_empty() {
        return Err(error("it names no CPU".to_owned()));
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last {
            return Err(error(format!("{first} comes after {last}")));
        }
        for cpu in first..=last {
            if cpus.contains(&cpu) {
                return Err(error(format!("it names CPU {cpu} twice")));
            }
            cpus.push(cpu);
        }
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_as_the_kernel_does() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn sets_are_read_in_the_order_of_the_text() {
        assert_eq!(parse_set("2-4,0"), Ok(vec![2, 3, 4, 0]));
        assert_eq!(parse_set(" 7 "), Ok(vec![7]));
        assert_eq!(parse_set("0, 2"), Ok(vec![0, 2]));
    }

    #[test]
    fn a_set_that_is_none_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "it names no CPU"),
            (" ", "it names no CPU"),
            ("1,", "\"\" is not the number of a CPU"),
            ("a", "\"a\" is not the number of a CPU"),
            ("-1", "\"\" is not the number of a CPU"),
            ("3-1", "3 comes after 1"),
            ("0-2,1", "it names CPU 1 twice"),
            ("0-4294967295", "\"4294967295\" is not the number of a CPU"),
        ] {
            assert_eq!(parse_set(text).unwrap_err().reason, reason, "{text}");
        }
    }
}
