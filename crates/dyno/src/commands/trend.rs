//! `dyno trend`

use crate::cli::{FailOn, TrendArgs};
use crate::commands::compare::ending;
use crate::commands::show::render_options;
use crate::exit::{self, Code, Failure, Result};
use dyno_judge::{History, Measure, TrendOptions};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Reads the runs one after the other and prints where their series changed.
pub(crate) fn trend(args: &TrendArgs) -> Result {
    let mut history = History::new(TrendOptions {
        measure: args
            .metric
            .as_deref()
            .and_then(|word| Measure::of_word(word, Some(args.quantile))),
        quantile: args.quantile,
        level: args.level,
        min_segment: args.min_segment.into(),
        last: args.last.map(|n| n as usize),
    });
    let mut whole = true;
    for directory in directories(&args.directories)? {
        let read = match dyno_store::read_run(&directory) {
            Ok(read) => read,
            Err(e) => {
                eprintln!("warning: left out: {e}");
                whole = false;
                continue;
            }
        };
        for problem in dyno_store::told(&read.problems) {
            eprintln!("warning: {problem}");
        }
        whole &= read.problems.is_empty();
        history.add(&read.run);
    }
    let trend = history.trend();
    exit::print(&trend.render(args.format.into(), &render_options()))?;
    let slower = args.fail_on == Some(FailOn::Slower) && trend.has_slower();
    let judgement = match (slower, trend.is_blind()) {
        (true, _) => Some(Code::Slower),
        (false, true) => Some(Code::Undecided),
        (false, false) => None,
    };
    Ok(ending(judgement, whole).into())
}

/// Every run directory that is named or lies right inside one that is named, each once.
pub(super) fn directories(named: &[PathBuf]) -> Result<BTreeSet<PathBuf>> {
    let is_run = |dir: &Path| dir.join(dyno_store::MANIFEST).is_file();
    let mut all = BTreeSet::new();
    for dir in named {
        let unreadable = |e: std::io::Error| {
            Failure::message(Code::Store, format!("cannot read {}: {e}", dir.display()))
        };
        let before = all.len();
        let whole = dir.canonicalize().map_err(unreadable)?;
        if is_run(&whole) {
            all.insert(whole);
            continue;
        }
        for entry in std::fs::read_dir(&whole).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if is_run(&path) {
                all.insert(path.canonicalize().map_err(unreadable)?);
            }
        }
        if all.len() == before {
            return Err(Failure::message(
                Code::Store,
                format!(
                    "{} is no run directory and holds none that was not named already; name directories \
                     that `dyno run` wrote, or one that holds them",
                    dir.display()
                ),
            ));
        }
    }
    Ok(all)
}
