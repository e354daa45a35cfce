//! `dyno trend`

use crate::cli::{FailOn, TrendArgs};
use crate::commands::judged::{conclude, directories, read_directory};
use crate::exit::{Code, Result};
use crate::terminal;
use crate::terminal::render_options;
use dyno_judge::{History, Measure, TrendOptions};

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
    let (mut whole, mut left_out) = (true, false);
    for directory in directories(&args.directories)? {
        match read_directory(&directory) {
            Ok((run, complete)) => {
                whole &= complete;
                history.add(&run);
            }
            Err(e) => {
                terminal::say(format!("warning: left out: {e}"));
                left_out = true;
            }
        }
    }
    let trend = history.trend();
    let slower = args.fail_on == Some(FailOn::Slower) && trend.has_slower();
    let judgement = match (slower, trend.is_blind()) {
        (true, _) => Some(Code::Slower),
        // Too few runs may be why nothing is seen.
        (false, true) if left_out => Some(Code::Store),
        (false, true) => Some(Code::Undecided),
        (false, false) => None,
    };
    let text = trend.render(args.format.into(), &render_options());
    conclude(&text, judgement, whole && !left_out)
}
