//! "Did you mean": the words that exist and begin like the one that was written, or else the nearest by edit distance.

/// So many words that begin alike are suggested.
const SUGGESTED: usize = 4;

/// What to write instead of `word`: the near candidates, if there are any, and all of them.
/// `what` is their plural, such as `stacks`.
pub fn instead<'a>(
    word: &str,
    what: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let all = match candidates.as_slice() {
        [] => format!("there are no {what}"),
        list => format!("{what}: {}", list.join(", ")),
    };
    match hint(word, &candidates) {
        Some(hint) => format!("{hint} {all}"),
        None => all,
    }
}

/// ``did you mean `a` or `b`?``, if any candidate is near.
pub fn hint(word: &str, candidates: &[&str]) -> Option<String> {
    let near = near(word, candidates);
    let quoted: Vec<String> = near.iter().map(|word| format!("`{word}`")).collect();
    let (last, before) = quoted.split_last()?;
    Some(match before {
        [] => format!("did you mean {last}?"),
        before => format!("did you mean {} or {last}?", before.join(", ")),
    })
}

/// The first of the near candidates.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    near(word, candidates).first().copied()
}

/// The candidates that begin with `word`, at most [`SUGGESTED`]; else the one with the least distance from it, if that is at most a
/// third of its length.
fn near<'a>(word: &str, candidates: &[&'a str]) -> Vec<&'a str> {
    let lower = word.to_lowercase();
    let begins = |c: &&&str| lower.len() > 1 && c.to_lowercase().starts_with(&lower);
    let longer: Vec<&str> = candidates.iter().filter(begins).copied().collect();
    match longer.len() {
        0 => by_distance(word, candidates).into_iter().collect(),
        n => longer[..n.min(SUGGESTED)].to_vec(),
    }
}

fn by_distance<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .iter()
        .map(|c| (distance(word, c), *c))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Optimal string alignment distance, ignoring case: insertions, deletions, substitutions and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    strsim::osa_distance(&a.to_lowercase(), &b.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_edits_and_swaps() {
        for (a, b, d) in [
            ("", "", 0),
            ("", "abc", 3),
            ("payload", "payload", 0),
            ("payloda", "payload", 1),
            ("paylod", "payload", 1),
            ("paylload", "payload", 1),
            ("TCP", "tcp", 0),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), d, "{a} {b}");
            assert_eq!(distance(b, a), d, "{b} {a}");
        }
    }

    #[test]
    fn a_far_word_is_not_suggested() {
        assert_eq!(nearest("iceorxy2", &["tcp", "iceoryx2"]), Some("iceoryx2"));
        assert_eq!(nearest("shmem", &["tcp", "udp", "pipe"]), None);
        assert_eq!(nearest("tpc", &["tcp", "udp"]), Some("tcp"));
    }

    #[test]
    fn words_that_begin_alike_come_before_a_similar_one() {
        let stacks = ["udp", "uds-dgram", "uds-stream", "tcp"];
        assert_eq!(
            hint("UDS", &stacks).as_deref(),
            Some("did you mean `uds-dgram` or `uds-stream`?")
        );
        assert_eq!(
            hint("ud", &stacks[..1]).as_deref(),
            Some("did you mean `udp`?")
        );
        // One letter begins too many.
        assert_eq!(hint("u", &["uds-dgram", "uds-stream"]), None);
        assert_eq!(
            near("a-", &["a-1", "a-2", "a-3", "a-4", "a-5"]).len(),
            SUGGESTED
        );
    }
}
