//! CPUs of an experiment: sets of them as text, and who runs where.

use crate::plan::{Experiment, Stack, Testbed};
use crate::unit::UnitError;
use std::collections::BTreeSet;

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

impl Experiment {
    /// The CPUs that any of the participants' threads may run on, ascending; empty: not pinned.
    pub fn participants_cpus(&self) -> Vec<u32> {
        let libraries = self.library_cpus.iter().flatten();
        let mut all: Vec<u32> = self.cpus.iter().chain(libraries).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Which CPUs are needed where: for each participant its host, by its index in the testbed, and the CPUs that it and
    /// its library's threads run on. Then those of a probe's other copies, and of the second of two sides that one
    /// participant plays.
    pub fn cpus_by_participant(
        &self,
        stack: Option<&Stack>,
        testbed: &Testbed,
    ) -> Vec<(usize, BTreeSet<u32>)> {
        let participants = self.graph(stack, testbed).participants;
        let further = self.cpus.iter().skip(participants.len());
        let further: Vec<u32> = further.copied().collect();
        let own = participants.into_iter().map(|p| {
            let all = p.cpu.into_iter().chain(p.library_cpus);
            (p.host, all.collect())
        });
        let further = further.into_iter().map(|c| (self.on_host, [c].into()));
        own.chain(further).collect()
    }

    /// The CPUs of the participants of one exchange, the first: all, where there is one; empty: not pinned.
    pub fn cpus_of_one(&self) -> &[u32] {
        match self.topology.copies {
            1 => &self.cpus,
            _ => self
                .cpus
                .get(..self.topology.participants())
                .unwrap_or_default(),
        }
    }

    /// The CPUs of each role, as tables show them.
    pub fn cpus_text(&self) -> String {
        if self.cpus.is_empty() {
            return "not pinned".into();
        }
        let own: Vec<String> = self.cpus.iter().map(u32::to_string).collect();
        let mut beside = Vec::new();
        if !self.library_cpus.is_empty() {
            let mut sets: Vec<String> = self.library_cpus.iter().map(|s| ranges(s)).collect();
            if sets.iter().all(|s| *s == sets[0]) {
                sets.truncate(1);
            }
            beside.push(format!("library threads on {}", sets.join(" and ")));
        }
        if !self.daemon_cpus.is_empty() {
            beside.push(format!("daemons on {}", ranges(&self.daemon_cpus)));
        }
        let own = own.join(",");
        match beside.is_empty() {
            true => format!("CPUs {own}"),
            false => format!("CPUs {own} ({})", beside.join(", ")),
        }
    }
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
