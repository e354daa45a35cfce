//! `--experiment`: some of a suite's experiments, by name.

use crate::spec::ExperimentSpec;
use dyno_toml::{Place, Problem, Problems, suggest};

/// Those of `all` whose names any of `patterns` matches, in the suite's order; all without patterns. A
/// pattern that matches none is a problem.
pub(crate) fn experiments(
    all: Vec<ExperimentSpec>,
    patterns: Option<&[String]>,
    problems: &mut Problems,
) -> Vec<ExperimentSpec> {
    let Some(patterns) = patterns else {
        return all;
    };
    let names: Vec<&str> = all.iter().map(|e| e.name.as_str()).collect();
    for pattern in patterns {
        if !names.iter().any(|name| matches(pattern, name)) {
            let place = Place::flag("--experiment", pattern);
            Problem::at(&place, format!("the suite has no experiment `{pattern}`"))
                .label("matches none")
                .help(suggest::instead(
                    pattern,
                    "experiments",
                    names.iter().copied(),
                ))
                .note(problems);
        }
    }
    let wanted = |e: &ExperimentSpec| patterns.iter().any(|p| matches(p, &e.name));
    all.into_iter().filter(wanted).collect()
}

/// Whether `pattern`, in which `*` stands for any text and `?` for any character, is all of `name`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    // Whether the first i characters of the pattern are all of the name's first j.
    let mut before = vec![false; name.len() + 1];
    before[0] = true;
    for p in pattern {
        let mut now = vec![false; name.len() + 1];
        now[0] = before[0] && p == '*';
        for (j, n) in name.iter().enumerate() {
            now[j + 1] = match p {
                '*' => before[j + 1] || now[j],
                '?' => before[j],
                other => before[j] && other == *n,
            };
        }
        before = now;
    }
    before[name.len()]
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_and_question_marks_stand_for_text() {
        for (pattern, name) in [
            ("camera", "camera"),
            ("cam*", "camera"),
            ("*", ""),
            ("*", "camera"),
            ("*-1?", "lidar-12"),
            ("c*m*a", "camera"),
            ("größe-?", "größe-ü"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("camera", "cameras"),
            ("cam", "camera"),
            ("?", ""),
            ("c*x", "camera"),
            ("", "camera"),
            ("Camera", "camera"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
