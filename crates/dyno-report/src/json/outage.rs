//! What came of the faults of an experiment in the JSON interface.

use super::figures::SpreadJson;
use crate::outage;
use crate::summary::{ExperimentSummary, OutageSummary, TOLD_BY};
use dyno_model::Fault;
use dyno_model::fault::Way;
use dyno_model::plan::Timeout;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

#[derive(Serialize)]
pub(super) struct OutageJson<'a> {
    faults: Vec<FaultJson>,
    timeouts: Vec<TimeoutJson<'a>>,
    trials: u64,
    recovered: u64,
    deaf: u64,
    half_deaf: u64,
    untold: u64,
    unended: u64,
    deaf_ends: Vec<DeafEndJson>,
    told_by: ToldBy<'a>,
    lost: Option<SpreadJson>,
    repeated: Option<SpreadJson>,
    reordered: Option<SpreadJson>,
    burst: Option<SpreadJson>,
    oldest_ns: Option<SpreadJson>,
    verdict: Option<String>,
    findings: Vec<FindingJson>,
}

#[derive(Serialize)]
struct FaultJson {
    what: &'static str,
    who: String,
    at_ns: u64,
    for_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_bits: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<Way>,
}

impl From<&Fault> for FaultJson {
    fn from(f: &Fault) -> FaultJson {
        FaultJson {
            what: f.what.info().name,
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
struct TimeoutJson<'a> {
    name: &'a str,
    ns: u64,
    by: &'static str,
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

#[derive(Serialize)]
struct DeafEndJson {
    trial: u32,
    receiver: u16,
    channel: u16,
}

/// What is found by name.
#[derive(Serialize)]
struct FindingJson {
    name: &'static str,
    trials: u64,
    text: String,
}

struct ToldBy<'a>(&'a OutageSummary);

impl Serialize for ToldBy<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(Some(TOLD_BY.len()))?;
        for ((_, word), n) in TOLD_BY.iter().zip(self.0.told) {
            map.serialize_entry(word, &n)?;
        }
        map.end()
    }
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
        let deaf_ends = o.deaf_ends.iter().map(|end| DeafEndJson {
            trial: end.trial,
            receiver: end.receiver,
            channel: end.channel,
        });
        Some(OutageJson {
            faults: o.faults.iter().map(Into::into).collect(),
            timeouts: o.timeouts.iter().map(Into::into).collect(),
            trials: o.trials,
            recovered: o.recovered,
            deaf: o.deaf(),
            half_deaf: o.half_deaf,
            untold: o.untold,
            unended: o.unended,
            deaf_ends: deaf_ends.collect(),
            told_by: ToldBy(o),
            lost: o.lost.map(Into::into),
            repeated: o.repeated.map(Into::into),
            reordered: o.reordered.map(Into::into),
            burst: o.burst.map(Into::into),
            oldest_ns: o.oldest_ns.map(Into::into),
            verdict: outage::verdict(e, o, named),
            findings: findings.collect(),
        })
    }
}
