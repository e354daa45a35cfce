//! `--shard`: one part of several, named or taken from where the job runs.

/// One part of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Which one, from 1.
    pub(crate) index: u32,
    /// Of how many.
    pub(crate) count: u32,
}

/// How a system that starts many jobs tells each of them which one it is.
struct Fleet {
    name: &'static str,
    /// The variable with the job's number.
    index: &'static str,
    /// The variable with the first number, or the number itself.
    first: Result<u32, &'static str>,
    /// The variable with the distance of two numbers, 1 where it is not set.
    step: Option<&'static str>,
    /// The variable with the number of jobs.
    count: &'static str,
}

/// The systems that are known, by their own documents: Slurm's `sbatch`, Kubernetes' indexed jobs (which do not
/// tell a job how many there are: the job's file sets `DYNO_SHARDS`), GitLab's `parallel`, CircleCI's
/// `parallelism`, Buildkite's `parallelism`. GitHub's matrix has no variables of its own: the workflow sets
/// `DYNO_SHARD` and `DYNO_SHARDS`.
#[rustfmt::skip]
const FLEETS: [Fleet; 6] = [
    Fleet { name: "a workflow", index: "DYNO_SHARD", first: Ok(1), step: None, count: "DYNO_SHARDS" },
    Fleet { name: "Slurm", index: "SLURM_ARRAY_TASK_ID", first: Err("SLURM_ARRAY_TASK_MIN"), step: Some("SLURM_ARRAY_TASK_STEP"), count: "SLURM_ARRAY_TASK_COUNT" },
    Fleet { name: "Kubernetes", index: "JOB_COMPLETION_INDEX", first: Ok(0), step: None, count: "DYNO_SHARDS" },
    Fleet { name: "GitLab", index: "CI_NODE_INDEX", first: Ok(1), step: None, count: "CI_NODE_TOTAL" },
    Fleet { name: "CircleCI", index: "CIRCLE_NODE_INDEX", first: Ok(0), step: None, count: "CIRCLE_NODE_TOTAL" },
    Fleet { name: "Buildkite", index: "BUILDKITE_PARALLEL_JOB", first: Ok(0), step: None, count: "BUILDKITE_PARALLEL_JOB_COUNT" },
];

/// `1/3`, or `auto`.
pub(super) fn part(text: &str) -> Result<Part, String> {
    if text == "auto" {
        return auto(|name| std::env::var(name).ok());
    }
    let numbers = text.split_once('/').and_then(|(index, count)| {
        let (index, count) = (index.trim().parse().ok()?, count.trim().parse().ok()?);
        Some(Part { index, count })
    });
    match numbers {
        Some(part) if (1..=part.count).contains(&part.index) => Ok(part),
        Some(Part { count: 1.., .. }) => Err(format!(
            "there is no part {text}; parts are numbered from 1, as in 1/3, 2/3 and 3/3"
        )),
        _ => Err(format!(
            "write the number of the part and of all parts, such as 1/3, or auto, instead of {text:?}"
        )),
    }
}

/// The part of this job, by the environment `variable`s of the system that started it.
fn auto(variable: impl Fn(&str) -> Option<String>) -> Result<Part, String> {
    let here: Vec<&Fleet> = FLEETS
        .iter()
        .filter(|fleet| variable(fleet.index).is_some())
        .collect();
    let fleet = match here.as_slice() {
        [fleet] => fleet,
        // What a workflow says for itself goes before what the machine under it says.
        [own, ..] if own.index == "DYNO_SHARD" => own,
        [] => {
            let known: Vec<&str> = FLEETS.iter().map(|fleet| fleet.index).collect();
            return Err(format!(
                "auto finds no part: none of {} is set; write the part, such as 1/3",
                known.join(", ")
            ));
        }
        several => {
            let names: Vec<&str> = several.iter().map(|fleet| fleet.index).collect();
            return Err(format!(
                "auto finds more than one system: {} are set; write the part, such as 1/3, or set \
                 DYNO_SHARD and DYNO_SHARDS",
                names.join(" and ")
            ));
        }
    };
    let number = |name: &str| -> Result<u32, String> {
        let text = variable(name).ok_or_else(|| {
            format!(
                "auto: {} is set, so {} started this job, but {name} is not; set it to the number of jobs",
                fleet.index, fleet.name
            )
        })?;
        text.trim()
            .parse()
            .map_err(|_| format!("auto: {name} is {text:?}, not a number"))
    };
    let index = number(fleet.index)?;
    let first = match fleet.first {
        Ok(first) => first,
        Err(name) => number(name)?,
    };
    let step = match fleet.step.filter(|name| variable(name).is_some()) {
        Some(name) => number(name)?.max(1),
        None => 1,
    };
    let count = number(fleet.count)?;
    let place = index.checked_sub(first).filter(|d| d % step == 0);
    match place.map(|d| d / step + 1) {
        Some(index) if index <= count => Ok(Part { index, count }),
        _ => Err(format!(
            "auto: {} is {index}, which is none of {count} jobs from {first} in steps of {step}",
            fleet.index
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto_of(set: &[(&str, &str)]) -> Result<Part, String> {
        auto(|name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn each_system_tells_its_parts_in_its_own_way() {
        let part = |index, count| Ok(Part { index, count });
        let slurm = [
            ("SLURM_ARRAY_TASK_ID", "14"),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
        ];
        assert_eq!(auto_of(&slurm), part(3, 3));
        let kubernetes = [("JOB_COMPLETION_INDEX", "0"), ("DYNO_SHARDS", "4")];
        assert_eq!(auto_of(&kubernetes), part(1, 4));
        let gitlab = [("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "2")];
        assert_eq!(auto_of(&gitlab), part(2, 2));
        let circle = [("CIRCLE_NODE_INDEX", "1"), ("CIRCLE_NODE_TOTAL", "2")];
        assert_eq!(auto_of(&circle), part(2, 2));
        let buildkite = [
            ("BUILDKITE_PARALLEL_JOB", "0"),
            ("BUILDKITE_PARALLEL_JOB_COUNT", "2"),
        ];
        assert_eq!(auto_of(&buildkite), part(1, 2));
        let own = [
            ("DYNO_SHARD", "3"),
            ("DYNO_SHARDS", "3"),
            gitlab[0],
            gitlab[1],
        ];
        assert_eq!(auto_of(&own), part(3, 3));
    }

    #[test]
    fn what_does_not_tell_a_part_is_refused_by_name() {
        for (set, advice) in [
            (&[][..], "write the part"),
            (&[("JOB_COMPLETION_INDEX", "0")], "DYNO_SHARDS is not"),
            (
                &[("CI_NODE_INDEX", "3"), ("CI_NODE_TOTAL", "2")],
                "none of 2 jobs",
            ),
            (
                &[("CIRCLE_NODE_INDEX", "x"), ("CIRCLE_NODE_TOTAL", "2")],
                "not a number",
            ),
            (
                &[("CI_NODE_INDEX", "1"), ("JOB_COMPLETION_INDEX", "0")],
                "more than one",
            ),
        ] {
            let e = auto_of(set).unwrap_err();
            assert!(e.contains(advice), "{set:?}: {e}");
        }
    }
}
