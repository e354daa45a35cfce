//! The role of a probe: what the machine itself costs, at each of the experiment's places at once. There is no channel
//! and nobody to match.

use super::tally::BLOCKS;
use crate::event::{Failure, Played};
use crate::job::Job;
use crate::shared::{Phase, ThreadState};
use dyno_measure::record::decode;
use dyno_measure::{RecordError, merge};
use dyno_model::cause::{AgentTrouble, NotGranted, Warning};
use dyno_model::plan::{Extent, Scheduling};
use dyno_model::protocol::SourceCounts;
use dyno_model::record::{CopyRecord, FlowCounts};
use dyno_model::{Distribution, Experiment, Metric, Nanos, Workload};
use dyno_probe::{Ground, Outcome, Place, ProbeError, Reading, counters, measure};

pub(super) fn play(job: &Job, thread: &ThreadState) -> Result<Played, Failure> {
    let experiment = job.experiment();
    let Workload::Probe { probe, each, .. } = experiment.workload else {
        return Err(job.misassigned("a probe was assigned to another workload"));
    };
    let shared = &job.shared;
    let clock = shared.clock;
    let opened = clock.now();
    if !job.await_matched(thread, opened, &mut || Ok(true))?
        || shared.wait_for(Phase::Run) != Phase::Run
    {
        return Ok(Played::default());
    }
    let mut ground = Ground {
        clock,
        places: places(experiment, each),
        scheduling: experiment.scheduling,
        warmup: match experiment.warmup {
            Extent::Duration(warmup) => warmup,
            Extent::Messages(_) => Nanos::ZERO,
        },
        window: experiment.window,
        blocks: BLOCKS,
    };
    let mut warnings = Vec::new();
    let found = match measure(&ground, &probe) {
        // As for every participant: what the machine does not grant becomes a warning.
        Err(ProbeError::Host(
            refused @ (NotGranted::Fifo { .. } | NotGranted::Deadline { .. }),
        )) => {
            warnings.push(Warning::OtherClass { refused });
            ground.scheduling = Scheduling::Other;
            measure(&ground, &probe)
        }
        other => other,
    };
    let found = found.map_err(|e| {
        job.failure(
            "probe",
            AgentTrouble::Probe {
                error: e.to_string(),
            },
        )
    })?;
    let ended = clock.now();
    let counts = counts(&found, ended);
    job.tell_done(&counts);
    let played = played(found, &counts, warnings).map_err(|e| job.unrecorded(e))?;
    shared.wait_for(Phase::Stop);
    Ok(played)
}

/// The experiment's CPUs, so many for each copy.
fn places(experiment: &Experiment, each: u32) -> Vec<Place> {
    let copies = experiment.cpus.chunks(each.max(1) as usize);
    let place = |cpus: &[u32]| {
        Some(Place {
            cpu: *cpus.first()?,
            peer: *cpus.last()?,
        })
    };
    copies.filter_map(place).collect()
}

/// What was done, as if a sender had offered it: rates and costs per piece follow from it.
fn counts(found: &Outcome, ended: Nanos) -> SourceCounts {
    let done = found.readings.iter().map(|r| r.done).sum();
    let longest = found.readings.iter().map(|r| r.wall).max();
    SourceCounts {
        offered: done,
        sent: done,
        first: ended.saturating_sub(longest.unwrap_or_default()),
        last: ended,
        ..SourceCounts::default()
    }
}

fn played(
    found: Outcome,
    counts: &SourceCounts,
    mut warnings: Vec<Warning>,
) -> Result<Played, RecordError> {
    warnings.extend(found.warnings);
    let flow = FlowCounts {
        received: counts.offered,
        bytes: found.readings.iter().map(|r| r.bytes).sum(),
        first: counts.first,
        last: counts.last,
        ..FlowCounts::default()
    };
    let copies = found.readings.iter().map(copy).collect::<Result<_, _>>()?;
    let (mut all, mut within, mut served) = (None, None, None);
    for reading in found.readings {
        all = Some(together(all, reading.time)?);
        if let Some(own) = reading.within {
            within = Some(together(within, own)?);
        }
        if let Some(whole) = reading.served {
            served = Some(together(served, whole)?);
        }
    }
    let named = [
        (Metric::Probe, all),
        (Metric::Within, within),
        (Metric::Served, served),
    ];
    Ok(Played {
        distributions: named
            .into_iter()
            .filter_map(|(m, d)| Some((m, d?)))
            .collect(),
        flows: vec![flow],
        sources: vec![counts.clone()],
        warnings,
        copies,
        ..Played::default()
    })
}

fn together(all: Option<Distribution>, one: Distribution) -> Result<Distribution, RecordError> {
    match all {
        None => Ok(one),
        Some(all) => merge(all, one),
    }
}

fn copy(r: &Reading) -> Result<CopyRecord, RecordError> {
    let times = decode(&r.time.total)?;
    let quantile = |q| Nanos(times.value_at_quantile(q));
    let core = |c: counters::Core| [c.cycles, c.instructions];
    Ok(CopyRecord {
        cpus: r.cpus.clone(),
        n: r.time.n,
        mean_ns: match r.time.n {
            0 => 0.0,
            n => r.time.sum / n as f64,
        },
        p50: quantile(0.5),
        p99: quantile(0.99),
        max: Nanos(r.time.max),
        own_ns: r.own_ns,
        done: r.done,
        missed: r.missed,
        bytes_per_s: r.bandwidth(),
        share: r.share(),
        core: r.core.map(core),
        peer_core: r.peer_core.map(core),
    })
}
