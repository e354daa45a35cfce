//! Two modes within the window, and the recorded covariate that distinguishes them.
//!
//! Blocks of a trial share its luck, so a covariate that is constant in a trial has as many
//! independent witnesses as there are trials, not as there are blocks. The strength of an
//! association is that over the blocks; its p is that over stretches of blocks with one label.

use crate::number::{duration, share, with_prefix};
use crate::summary::{Covariate, CovariateSummary, ModeGroup, ModesSummary};
use dyno_model::plan::Extent;
use dyno_model::{CpuGaps, Experiment, HostLoad, Nanos, TrialRecord};
use dyno_stats::{Modes, TrialSamples, separation};

/// A label per trial and block; `None` where nothing is known.
type Labels = Vec<Vec<Option<String>>>;

/// The two modes of `samples`, if there are two. `trials[i]` is the record of `samples[i]`.
pub(crate) fn summarise(
    experiment: &Experiment,
    trials: &[&TrialRecord],
    samples: &[TrialSamples],
    seed: u64,
) -> Option<ModesSummary> {
    let modes = dyno_stats::modes(samples, 0.5)?;
    let mut covariates: Vec<CovariateSummary> = Covariate::ALL
        .iter()
        .filter_map(|covariate| {
            let labels = labels(*covariate, experiment, trials, &modes)?;
            assess(*covariate, &labels, &modes, seed)
        })
        .collect();
    // Bonferroni: one statement for each covariate that was looked at.
    let looked_at = covariates.len() as f64;
    for c in &mut covariates {
        c.p = (c.p * looked_at).min(1.0);
    }
    // Stable: of equals, the first of `Covariate::ALL` stays first.
    covariates.sort_by(|a, b| b.strength.total_cmp(&a.strength));
    prefer_sharing(&mut covariates);
    Some(ModesSummary {
        low_ns: modes.low,
        high_ns: modes.high,
        high_share: modes.high_share,
        covariates,
    })
}

/// The CPUs tell whatever sharing one tells, and always a little more. They are named only where it is
/// more than a little.
fn prefer_sharing(covariates: &mut [CovariateSummary]) {
    const LITTLE: f64 = 0.05;
    let at = |which| covariates.iter().position(|c| c.covariate == which);
    if let (Some(cpus), Some(sharing)) = (at(Covariate::Cpus), at(Covariate::Sharing))
        && cpus < sharing
        && covariates[cpus].strength - covariates[sharing].strength <= LITTLE
    {
        covariates[cpus..=sharing].rotate_right(1);
    }
}

/// How well the labels go with the modes; `None` where they do not differ.
fn assess(
    covariate: Covariate,
    labels: &Labels,
    modes: &Modes,
    seed: u64,
) -> Option<CovariateSummary> {
    let (mut of_blocks, mut high) = (Vec::new(), Vec::new());
    let (mut of_stretches, mut mostly_high) = (Vec::new(), Vec::new());
    for (labels, upper) in labels.iter().zip(&modes.upper) {
        let known: Vec<(&String, bool)> = labels
            .iter()
            .zip(upper)
            .filter_map(|(label, upper)| Some((label.as_ref()?, (*upper)?)))
            .collect();
        for stretch in known.chunk_by(|a, b| a.0 == b.0) {
            let upper = stretch.iter().filter(|(_, upper)| *upper).count();
            of_stretches.push(stretch[0].0.clone());
            mostly_high.push(2 * upper > stretch.len());
        }
        for (label, upper) in known {
            of_blocks.push(label.clone());
            high.push(upper);
        }
    }
    let found = separation(&of_blocks, &high, seed)?;
    // Without two labels and both modes among the stretches, nothing is shown.
    let p = separation(&of_stretches, &mostly_high, seed).map_or(1.0, |s| s.p);
    let group = |(label, low, high)| ModeGroup { label, low, high };
    Some(CovariateSummary {
        covariate,
        strength: found.strength,
        p,
        groups: found.by_label.into_iter().map(group).collect(),
    })
}

fn labels(
    covariate: Covariate,
    experiment: &Experiment,
    trials: &[&TrialRecord],
    modes: &Modes,
) -> Option<Labels> {
    let by_trial = |figure: fn(&TrialRecord) -> Option<f64>, show: fn(f64) -> String| {
        let figures: Vec<Option<f64>> = trials.iter().map(|t| figure(t)).collect();
        let of_trials = near_and_far(&figures, show)?;
        let spread = |(label, upper): (Option<String>, &Vec<_>)| vec![label; upper.len()];
        Some(
            of_trials
                .into_iter()
                .zip(&modes.upper)
                .map(spread)
                .collect(),
        )
    };
    let by_block = |label: fn(&Seen) -> String| {
        let of_trial = |(trial, upper): (&&TrialRecord, &Vec<_>)| -> Vec<Option<String>> {
            let seen = |block| Seen::of(experiment, trial, block, upper.len());
            (0..upper.len())
                .map(|block| seen(block).as_ref().map(label))
                .collect()
        };
        let all: Labels = trials.iter().zip(&modes.upper).map(of_trial).collect();
        Some(all)
    };
    match covariate {
        Covariate::Sharing => by_block(sharing),
        Covariate::Cpus => by_block(on_cpus),
        Covariate::CoreDistance => by_trial(|t| t.noise.line_ns, duration),
        Covariate::Frequency => by_trial(frequency_hz, |hz| with_prefix(hz, "Hz")),
        Covariate::ForeignLoad => by_trial(|t| in_window(t, HostLoad::foreign_share), share),
        Covariate::StolenTime => by_trial(|t| in_window(t, HostLoad::stolen_share), share),
        Covariate::Gaps => by_trial(|t| gap_share(&t.noise.gaps), share),
    }
}

fn in_window(trial: &TrialRecord, share: fn(&HostLoad) -> f64) -> Option<f64> {
    trial.noise.window.as_ref().map(share)
}

/// The share of its time that a spin-gap probe lost, all CPUs together; `None` where it watched
/// none.
pub(crate) fn gap_share(gaps: &[CpuGaps]) -> Option<f64> {
    let sum = |of: fn(&CpuGaps) -> u64| gaps.iter().map(|g| of(g) as f64).sum::<f64>();
    let watched = sum(|g| g.watched.0);
    (watched > 0.0).then(|| sum(|g| g.lost.0) / watched)
}

/// The mean frequency of the CPUs used, over start and end of the window.
fn frequency_hz(trial: &TrialRecord) -> Option<f64> {
    let seen = &trial.noise.window.as_ref()?.frequency_khz;
    let sum: f64 = seen
        .values()
        .map(|(a, b)| (*a as f64 + *b as f64) / 2.0)
        .sum();
    (!seen.is_empty()).then(|| 1e3 * sum / seen.len() as f64)
}

/// Where the participants of a trial were in one block.
enum Seen {
    /// On these CPUs, ascending, one for each participant.
    On(Vec<u32>),
    /// Somebody changed its CPU.
    Moved,
}

impl Seen {
    /// `None` where nothing was recorded, as of pinned participants.
    fn of(
        experiment: &Experiment,
        trial: &TrialRecord,
        block: usize,
        blocks: usize,
    ) -> Option<Seen> {
        let mut participants: Vec<u16> = trial.places.iter().map(|p| p.participant).collect();
        participants.sort_unstable();
        participants.dedup();
        if participants.is_empty() {
            return None;
        }
        let stretch = window_ns(experiment, trial).map(|window| {
            let edge = |i: usize| (window as f64 * i as f64 / blocks.max(1) as f64) as u64;
            (edge(block), edge(block + 1))
        });
        let mut cpus = Vec::new();
        for participant in participants {
            let own = || trial.places.iter().filter(|p| p.participant == participant);
            // Without a length the whole window is looked at.
            let (from, to) = stretch.unwrap_or((0, u64::MAX));
            let at_start = own().rfind(|p| p.since.0 <= from).or(own().next())?;
            let moves = own().any(|p| p.since.0 > from && p.since.0 < to && p.cpu != at_start.cpu);
            if moves {
                return Some(Seen::Moved);
            }
            cpus.push(at_start.cpu);
        }
        cpus.sort_unstable();
        Some(Seen::On(cpus))
    }
}

/// The length of the window. One of so many messages has a length only where it was taken; its
/// blocks then are about equally long.
fn window_ns(experiment: &Experiment, trial: &TrialRecord) -> Option<u64> {
    let Nanos(ns) = match experiment.window {
        Extent::Duration(planned) => planned,
        Extent::Messages(_) => trial.noise.window.as_ref()?.wall,
    };
    Some(ns)
}

const MOVED: &str = "changed CPU";

fn sharing(seen: &Seen) -> String {
    let Seen::On(cpus) = seen else {
        return MOVED.into();
    };
    let different = cpus.chunk_by(|a, b| a == b).count();
    match different {
        1 => "same CPU".into(),
        n if n == cpus.len() => "different CPUs".into(),
        n => format!("{} participants on {n} CPUs", cpus.len()),
    }
}

fn on_cpus(seen: &Seen) -> String {
    let Seen::On(cpus) = seen else {
        return MOVED.into();
    };
    let stations: Vec<String> = cpus
        .chunk_by(|a, b| a == b)
        .map(|same| match same.len() {
            1 => same[0].to_string(),
            n => format!("{} ({n} of them)", same[0]),
        })
        .collect();
    match stations.as_slice() {
        [_] => format!("same CPU ({})", cpus[0]),
        [first @ .., last] => format!("CPUs {} and {last}", first.join(", ")),
        [] => MOVED.into(),
    }
}

/// A label for each trial by a figure of it: at or below, or above, the widest gap between the
/// figures; the gap nearest to the middle where none stands out. `None` where they do not differ.
fn near_and_far(figures: &[Option<f64>], show: fn(f64) -> String) -> Option<Vec<Option<String>>> {
    /// A gap narrower than this share of the range does not stand out.
    const STANDS_OUT: f64 = 0.25;
    let mut sorted: Vec<f64> = figures.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let range = sorted.last()? - sorted.first()?;
    let least = if n >= 6 { n.div_ceil(10).max(2) } else { 1 };
    let width = |at: &usize| sorted[*at] - sorted[*at - 1];
    let gaps = || (1..n).filter(|at| width(at) > 0.0);
    let widest = gaps()
        .filter(|at| *at >= least && n - at >= least)
        .max_by(|a, b| width(a).total_cmp(&width(b)))
        .filter(|at| width(at) >= STANDS_OUT * range);
    let at = widest.or_else(|| gaps().min_by_key(|at| (2 * at).abs_diff(n)))?;
    let (below, above) = (sorted[at - 1], sorted[at]);
    let label = |figure: &Option<f64>| {
        figure.map(|f| match f <= below {
            true => format!("up to {}", show(below)),
            false => format!("from {}", show(above)),
        })
    };
    Some(figures.iter().map(label).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(figures: &[f64]) -> Option<Vec<String>> {
        let figures: Vec<_> = figures.iter().map(|f| Some(*f)).collect();
        let labels = near_and_far(&figures, |f| format!("{f:.0}"))?;
        Some(labels.into_iter().flatten().collect())
    }

    #[test]
    fn trials_are_parted_at_the_widest_gap() {
        let labels = groups(&[1.0, 9.0, 2.0, 10.0, 1.5]).unwrap();
        assert_eq!(
            labels,
            ["up to 2", "from 9", "up to 2", "from 9", "up to 2"]
        );
    }

    #[test]
    fn without_a_wide_gap_they_are_parted_in_the_middle() {
        let even: Vec<f64> = (0..20).map(f64::from).collect();
        let labels = groups(&even).unwrap();
        assert_eq!(
            (labels[9].as_str(), labels[10].as_str()),
            ("up to 9", "from 10")
        );
        // One trial that is far out does not make a group of its own.
        let mut outlier = even.clone();
        outlier[19] = 1e6;
        assert_eq!(groups(&outlier).unwrap()[19], "from 10");
    }

    #[test]
    fn equal_or_missing_figures_part_nothing() {
        assert_eq!(groups(&[3.0, 3.0, 3.0]), None);
        assert_eq!(groups(&[]), None);
        assert_eq!(near_and_far(&[None, None], duration), None);
    }

    #[test]
    fn places_read_as_people_say_them() {
        let on = |cpus: &[u32]| Seen::On(cpus.to_vec());
        assert_eq!(sharing(&on(&[0, 0])), "same CPU");
        assert_eq!(sharing(&on(&[0, 1])), "different CPUs");
        assert_eq!(sharing(&on(&[0, 0, 1])), "3 participants on 2 CPUs");
        assert_eq!(on_cpus(&on(&[0, 0])), "same CPU (0)");
        assert_eq!(on_cpus(&on(&[0, 1])), "CPUs 0 and 1");
        assert_eq!(on_cpus(&on(&[0, 0, 1])), "CPUs 0 (2 of them) and 1");
        assert_eq!(on_cpus(&Seen::Moved), "changed CPU");
    }
}
