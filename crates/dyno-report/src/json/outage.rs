//! Results of the faults of an experiment in the JSON interface.

use crate::outage;
use crate::summary::{DeafEnd, ExperimentSummary, Spread, TOLD_BY};
use dyno_model::Fault;
use dyno_model::fault::Way;
use dyno_model::plan::Timeout;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "outage"))]
pub(super) struct OutageJson<'a> {
    /// The faults, in order of time.
    faults: Vec<FaultJson>,
    /// Times after which the stack takes a peer for gone or tries again, as its file states them.
    timeouts: Vec<TimeoutJson<'a>>,
    /// Trials that tell what came of the faults at some receiver.
    trials: u64,
    /// Trials of these in which every receiver got a newer message.
    recovered: u64,
    /// Trials of these in which a receiver never got a newer message.
    deaf: u64,
    /// Trials of these in which some receivers never got a newer message and others did.
    half_deaf: u64,
    /// Trials that count and tell nothing: no receiver was left.
    untold: u64,
    /// Trials that count in which the end of a fault was not reached.
    unended: u64,
    /// Each receiver that never got a newer message: the number of the trial, of the participant and of the channel.
    deaf_ends: &'a [DeafEnd],
    /// Trials by how the library first told of the fault at an end that it did not strike: the number of matched peers fell, a
    /// send failed or was refused, a take failed, or it did not tell.
    told_by: BTreeMap<&'static str, u64>,
    /// Messages of a trial, all receivers together, that were due from the start of the fault on and never arrived.
    lost: Option<Spread>,
    /// Further copies of messages of a trial.
    repeated: Option<Spread>,
    /// Arrivals of a trial behind a later message.
    reordered: Option<Spread>,
    /// Messages within 10 ms of the first one after the silence, at the receiver with the most.
    burst: Option<Spread>,
    /// The largest age among them.
    oldest_ns: Option<Spread>,
    /// What came of it in a sentence. Null where no trial completed or failed.
    verdict: Option<String>,
    /// What is found by name.
    findings: Vec<FindingJson>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FaultJson {
    /// The kind of fault, as suites name it.
    what: &'static str,
    /// Whom it strikes, such as `receiver` or `daemon zenohd`.
    who: String,
    /// When, after the window begins; each trial adds up to one period.
    at_ns: u64,
    /// For how long. Null where its kind has no time.
    for_ns: Option<u64>,
    /// Of a loss: the share of packets that is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// Of a loss in bursts: how many packets in a row are dropped, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<f64>,
    /// Of a rate: the bits per second that the link has meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_bits: Option<u64>,
    /// Of a blackout of one direction: which, `in` or `out`, seen from the host that it strikes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    way: Option<Way>,
}

impl From<&Fault> for FaultJson {
    fn from(f: &Fault) -> FaultJson {
        FaultJson {
            what: f.what.as_str(),
            who: f.who.to_string(),
            at_ns: f.at.0,
            for_ns: f.what.info().lasts.then_some(f.lasts.0),
            share: f.share,
            burst: f.burst,
            rate_bits: f.rate_bits,
            way: Some(f.way).filter(|way| *way != Way::Both),
        }
    }
}

/// A time after which the stack takes a peer for gone or tries again.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TimeoutJson<'a> {
    name: &'a str,
    ns: u64,
    /// Who set it: the stack file or the adapter (`stack`), the library by itself, or the kernel.
    by: &'static str,
    /// What happens then.
    text: &'a str,
}

impl<'a> From<&'a Timeout> for TimeoutJson<'a> {
    fn from(t: &'a Timeout) -> TimeoutJson<'a> {
        TimeoutJson {
            name: &t.name,
            ns: t.time.0,
            by: t.by.as_str(),
            text: &t.text,
        }
    }
}

/// What is found by name.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FindingJson {
    /// `deaf` or `half deaf`.
    name: &'static str,
    /// In how many trials.
    trials: u64,
    /// The finding in a sentence.
    text: String,
}

impl<'a> OutageJson<'a> {
    pub(super) fn of(e: &'a ExperimentSummary) -> Option<OutageJson<'a>> {
        let o = e.outage.as_ref()?;
        let named = e.experiment.stack.as_str();
        let findings = [
            ("deaf", o.deaf(), outage::deaf_for_ever(e, o, named)),
            ("half deaf", o.half_deaf, outage::half_deaf(e, o, named)),
        ];
        let findings = findings
            .into_iter()
            .filter_map(|(name, trials, text)| text.map(|text| FindingJson { name, trials, text }));
        let told_by = TOLD_BY.iter().map(|(_, word)| *word).zip(o.told);
        Some(OutageJson {
            faults: o.faults.iter().map(Into::into).collect(),
            timeouts: o.timeouts.iter().map(Into::into).collect(),
            trials: o.trials,
            recovered: o.recovered,
            deaf: o.deaf(),
            half_deaf: o.half_deaf,
            untold: o.untold,
            unended: o.unended,
            deaf_ends: &o.deaf_ends,
            told_by: told_by.collect(),
            lost: o.lost,
            repeated: o.repeated,
            reordered: o.reordered,
            burst: o.burst,
            oldest_ns: o.oldest_ns,
            verdict: outage::verdict(e, o, named),
            findings: findings.collect(),
        })
    }
}
