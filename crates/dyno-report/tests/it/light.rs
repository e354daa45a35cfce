//! A run whose histograms are read when they are needed says what it says with them at hand.

use crate::common::summary;
use dyno_model::Metric;
use dyno_model::record::{Distribution, Run};
use dyno_report::{FailedAs, Summary, SummaryOptions, summarise_light};
use dyno_stats::Bootstrap;
use std::collections::BTreeMap;

type Distributions = BTreeMap<Metric, Distribution>;

/// Summarises the run without its histograms; `read` says what is read for a trial by its place in the run.
fn light(run: &Run, read: impl Fn(usize) -> Result<Distributions, String> + Sync) -> Summary {
    let mut without = run.clone();
    for trial in &mut without.trials {
        for d in trial.distributions.values_mut() {
            *d = d.without_histograms();
        }
    }
    let bootstrap = Bootstrap {
        resamples: 200,
        ..Bootstrap::default()
    };
    let read = |id| read(run.trials.iter().position(|t| t.id == id).unwrap());
    summarise_light(&without, &read, &SummaryOptions { bootstrap })
}

#[test]
fn every_figure_is_the_same() {
    for (name, run) in crate::common::all() {
        let light = light(&run, |at| Ok(run.trials[at].distributions.clone()));
        assert_eq!(light, summary(&run), "{name}");
    }
}

#[test]
fn a_trial_that_was_measured_anew_in_between_or_is_gone_is_not_averaged_in() {
    let run = crate::common::small();
    let read = |at: usize| match at {
        1 => Ok(run.trials[2].distributions.clone()),
        3 => Err("it is gone".to_owned()),
        _ => Ok(run.trials[at].distributions.clone()),
    };
    let e = &light(&run, read).experiments[0];
    assert_eq!((e.trials.completed, e.trials.failed), (3, 2));
    let reasons: Vec<String> = e.failures.iter().map(|f| f.cause.to_string()).collect();
    let anew = "it was measured again while Dyno read the run";
    assert_eq!(reasons, [anew, "it is gone"]);
    let kind = FailedAs::Unreadable;
    assert!(e.failures.iter().all(|f| f.kind == kind));
}
