//! "Did you mean": the nearest of the words that exist, by edit distance.

/// What to write instead of `word`: the nearest candidate, if one is near, and all of them.
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
    match nearest(word, &candidates) {
        Some(near) => format!("did you mean `{near}`? {all}"),
        None => all,
    }
}

/// The candidate with the least distance from `word`, if that is at most a third of its length.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
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
}
