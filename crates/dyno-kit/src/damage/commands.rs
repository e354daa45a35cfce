//! Everything that reads a run, and every format.

use std::path::Path;

/// A limits file for any run.
pub(crate) const LIMITS: &str = r#"
[[limit]]
name = "in time"
metric = "rtt"
quantile = "p99"
at_most = "10 ms"

[[limit]]
name = "nothing lost"
metric = "loss"
at_most = 0

[[limit]]
name = "cheap"
metric = "cpu_per_message"
at_most = "1 ms"
"#;

/// The commands, one a line. `RUN` is the run, `GOOD` a whole one, `RUNS` a folder that holds both, `OUT` a place that is
/// not taken.
const COMMANDS: &str = "
show RUN
show RUN --wide --notes all
show RUN --format markdown --notes all
show RUN --format json
show RUN --format csv
show RUN --format gbench
show RUN --format junit
show RUN --format openmetrics
show RUN --format hdr -o OUT
show RUN --format parquet -o OUT
show latest
report RUN -q -o OUT
report RUN GOOD -q -o OUT --limits LIMITS
report GOOD RUN -q -o OUT
compare GOOD RUN
compare RUN GOOD --format markdown
compare GOOD RUN --format json
compare RUN RUN --format csv
compare RUN
check RUN LIMITS
check RUN LIMITS --format json
check RUN LIMITS --format markdown --junit OUT
check RUN
check RUN --history RUNS
check --history RUNS --format json
trend RUNS
trend RUNS --format json
trend RUNS --format csv
audit RUN --all
audit RUN --format json --all
audit RUN --format markdown
audit RUN --format html -o OUT
audit RUN GOOD --fail-on impossible
merge RUN --partial -o OUT
merge RUN GOOD -o OUT
run --like RUN --dry-run
run --resume RUN --dry-run
watch RUN
list stacks
";

/// The commands as lists of arguments.
pub(crate) fn all() -> Vec<Vec<&'static str>> {
    let lines = COMMANDS.lines().filter(|line| !line.is_empty());
    lines.map(|line| line.split(' ').collect()).collect()
}

/// Where the words of a command lead to.
pub(crate) struct Places<'a> {
    pub(crate) run: &'a Path,
    pub(crate) good: &'a Path,
    pub(crate) runs: &'a Path,
    pub(crate) limits: &'a Path,
    pub(crate) out: &'a Path,
}

impl<'a> Places<'a> {
    /// The argument for a word.
    pub(crate) fn argument(&self, word: &'a str) -> &'a Path {
        match word {
            "RUN" => self.run,
            "GOOD" => self.good,
            "RUNS" => self.runs,
            "LIMITS" => self.limits,
            "OUT" => self.out,
            other => Path::new(other),
        }
    }
}
