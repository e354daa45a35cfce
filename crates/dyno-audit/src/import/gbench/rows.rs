//! The rows of both forms, gathered by their names.

use crate::Statements;
use crate::import::error::Imported;
use crate::import::number::Number;
use crate::import::out::{Data, FIGURES, Out, Spot, percent, unit};
use crate::statement::{Clock, Dimension, Of, Quantity, Samples, Statistic, Unit};
use std::collections::BTreeMap;

/// One line or entry: a repetition, or a statistic over repetitions.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) real: Number,
    pub(super) cpu: Option<Number>,
    /// Of both; percent of a `cv`.
    pub(super) unit: Unit,
    pub(super) iterations: u64,
    pub(super) counters: Vec<Counter>,
    /// Values are medians and not means: an export of Dyno.
    pub(super) medians: bool,
}

/// The condition that tells counters of one benchmark apart.
pub(crate) const COUNTER: &str = "counter";

pub(super) struct Counter {
    pub(super) name: String,
    pub(super) number: Number,
    /// Its prefix as printed and what it stands for.
    pub(super) prefix: String,
    pub(super) factor: f64,
    pub(super) per_second: bool,
    pub(super) percent: bool,
}

/// All rows of one name.
struct Group {
    first: Row,
    place: (u64, String),
    is_json: bool,
    rows: u64,
    data: Data,
    real: Samples,
    cpu: Samples,
    /// Iterations of each row, where all have the same.
    each: Option<u64>,
}

/// Groups in the order of the file.
pub(super) struct Groups {
    pub(super) out: Out,
    by_name: BTreeMap<String, usize>,
    all: Vec<Group>,
    /// Base and statistic of rows that are statistics over repetitions, by name, where the form says it.
    pub(super) told: BTreeMap<String, (String, String)>,
    /// How many rows of a name have a time that is not a number.
    pub(super) left_out: BTreeMap<String, u64>,
}

/// The statistics that the library makes, and those of users that have a meaning here.
fn statistic(word: &str) -> Option<Statistic> {
    match word {
        "stddev" => Some(Statistic::Sd),
        "mean" | "median" | "cv" | "min" | "max" => Statistic::from_word(word),
        _ if word.starts_with('p') => Statistic::from_word(word),
        _ => None,
    }
}

impl Groups {
    pub(super) fn new(out: Out) -> Groups {
        Groups {
            out,
            by_name: BTreeMap::new(),
            all: Vec::new(),
            told: BTreeMap::new(),
            left_out: BTreeMap::new(),
        }
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub(super) fn add(&mut self, row: Row, spot: Spot<'_>) -> Imported<()> {
        let at = match self.by_name.get(&row.name) {
            Some(at) => *at,
            None => self.group(&row, spot)?,
        };
        let group = &mut self.all[at];
        let each = if row.medians { 1 } else { row.iterations };
        let data = Data {
            unit: row.unit.clone(),
            ..group.data.clone()
        };
        let kept = self.out.add(&mut group.real, &data, &row.real, each);
        if kept && let Some(cpu) = &row.cpu {
            self.out.add(&mut group.cpu, &data, cpu, each);
        }
        group.rows += 1;
        group.each = group.each.filter(|e| *e == row.iterations);
        if group.rows == 1 {
            group.each = Some(row.iterations);
            group.first = row;
        }
        Ok(())
    }

    fn group(&mut self, row: &Row, spot: Spot<'_>) -> Imported<usize> {
        if self.all.len() >= FIGURES {
            return Err(spot.error(format!(
                "there are more than {FIGURES} benchmarks; split the file"
            )));
        }
        let mut data = self.out.data(&row.name, Quantity::Time, row.unit.clone());
        let wall = ["/real_time", "/manual_time"]
            .iter()
            .any(|m| row.name.contains(m));
        data.method.time = Some(if wall { Clock::Wall } else { Clock::Cpu });
        let (line, text) = match spot {
            Spot::Line(line, text) => (line, text.chars().take(300).collect()),
            Spot::Path(path) => (1, path.to_owned()),
        };
        let cpu = data.other(Quantity::CpuTime, data.unit.clone());
        self.all.push(Group {
            first: Row {
                name: row.name.clone(),
                real: row.real.clone(),
                cpu: None,
                unit: row.unit.clone(),
                iterations: 0,
                counters: Vec::new(),
                medians: false,
            },
            real: self.out.raw(&data, "time", line),
            cpu: self.out.raw(&cpu, "cpu-time", line),
            place: (line, text),
            is_json: matches!(spot, Spot::Path(_)),
            rows: 0,
            data,
            each: None,
        });
        self.by_name.insert(row.name.clone(), self.all.len() - 1);
        Ok(self.all.len() - 1)
    }

    /// The base and the statistic of a row over repetitions. The console does not say that it is one: it is where the base stands in
    /// the file, or its name says so, or the three statistics that the library always makes are there.
    fn over_repetitions(&self, name: &str) -> Option<(String, String)> {
        if let Some(told) = self.told.get(name) {
            return Some(told.clone());
        }
        let (base, word) = name.rsplit_once('_')?;
        let all = ["mean", "median", "stddev"];
        let summarised = || {
            let complete = all.iter().all(|w| self.knows(&format!("{base}_{w}")));
            base.contains("/repeats:") || complete
        };
        // `…/manual_time` is a name of its own.
        let is = self.knows(base) || (statistic(word).is_some() && summarised());
        (is && !base.is_empty()).then(|| (base.to_owned(), word.to_owned()))
    }

    pub(super) fn done(mut self) -> Imported<Statements> {
        self.finish()?;
        Ok(self.out.done())
    }

    /// Ends a run: another one of the same benchmarks has figures of its own.
    pub(super) fn finish(&mut self) -> Imported<()> {
        let groups = std::mem::take(&mut self.all);
        let mut names: BTreeMap<String, String> = groups
            .iter()
            .map(|g| (g.first.name.clone(), g.data.name.clone()))
            .collect();
        let each: BTreeMap<String, (Option<u64>, bool)> = groups
            .iter()
            .map(|g| (g.first.name.clone(), (g.each, g.first.medians)))
            .collect();
        for mut group in groups {
            let left_out = self.left_out.get(&group.first.name).copied().unwrap_or(0);
            group.real.left_out += left_out;
            group.cpu.left_out += left_out;
            let place = group.place.clone();
            let spot = match group.is_json {
                true => Spot::Path(&place.1),
                false => Spot::Line(place.0, &place.1),
            };
            match self.over_repetitions(&group.first.name) {
                Some((base, word)) => {
                    let (each, medians) = each.get(&base).copied().unwrap_or_default();
                    let each = each.filter(|_| !medians);
                    self.summary(&group, (&base, &word), &mut names, each, spot)?;
                }
                None if group.rows > 1 || left_out > 0 => {
                    self.out.keep(group.real);
                    self.out.keep(group.cpu);
                }
                None => self.single(&group, spot)?,
            }
        }
        self.by_name.clear();
        self.told.clear();
        self.left_out.clear();
        Ok(())
    }

    fn single(&mut self, group: &Group, spot: Spot<'_>) -> Imported<()> {
        let row = &group.first;
        let data = group.data.clone().of(Of::Samples, Some(row.iterations));
        let statistic = match row.medians {
            true => Statistic::Percentile(50.0),
            false => Statistic::Mean,
        };
        self.out.put(&data, statistic, row.real.clone(), spot)?;
        if let Some(cpu) = &row.cpu {
            let mut of_cpu = data.other(Quantity::CpuTime, data.unit.clone());
            (of_cpu.of, of_cpu.n) = (Of::Samples, data.n);
            self.out.put(&of_cpu, Statistic::Mean, cpu.clone(), spot)?;
        }
        self.counters(&data, &row.counters, None, spot)?;
        Ok(())
    }

    fn summary(
        &mut self,
        group: &Group,
        (base, word): (&str, &str),
        names: &mut BTreeMap<String, String>,
        each: Option<u64>,
        spot: Spot<'_>,
    ) -> Imported<()> {
        let Some(statistic) = statistic(word) else {
            return Ok(());
        };
        let row = &group.first;
        let mut data = match names.get(base) {
            Some(name) => Data {
                name: name.clone(),
                ..group.data.clone()
            },
            None => {
                self.by_name.insert(base.to_owned(), usize::MAX);
                let named = self.out.data(base, Quantity::Time, row.unit.clone());
                names.insert(base.to_owned(), named.name.clone());
                Data {
                    method: group.data.method.clone(),
                    ..named
                }
            }
        };
        let benchmark = data.name.clone();
        data.conditions.insert("benchmark".to_owned(), benchmark);
        (data.of, data.n, data.each) = (Of::Means, Some(row.iterations), each);
        if row.medians {
            (data.of, data.each) = (Of::Unknown, None);
        }
        data.unit = row.unit.clone();
        // The library's median and a user's p50 are two figures.
        let part = match statistic {
            Statistic::Percentile(_) => word.to_owned(),
            other => other.to_string(),
        };
        self.out
            .put_named(&data, &part, statistic, row.real.clone(), spot)?;
        if let Some(cpu) = &row.cpu {
            let data = Data {
                quantity: Quantity::CpuTime,
                ..data.clone()
            };
            let part = format!("cpu-time-{part}");
            self.out
                .put_named(&data, &part, statistic, cpu.clone(), spot)?;
        }
        self.counters(&data, &row.counters, Some((statistic, word)), spot)?;
        Ok(())
    }

    /// The counters of a row. Those whose meaning is not known, and further ones of one quantity, are told apart by the condition
    /// `counter`: they are of other values than the first.
    fn counters(
        &mut self,
        data: &Data,
        counters: &[Counter],
        over: Option<(Statistic, &str)>,
        spot: Spot<'_>,
    ) -> Imported<()> {
        let mut seen = vec![Quantity::Other];
        for counter in counters {
            let mut of = Self::of_counter(data, counter, over);
            of.n = over.and(data.n);
            match seen.contains(&of.quantity) {
                true => of = of.with(COUNTER, counter.name.as_str()),
                false => seen.push(of.quantity),
            }
            let (part, statistic) = match over {
                Some((statistic @ Statistic::Percentile(_), word)) => {
                    (format!("{}-{word}", counter.name), statistic)
                }
                Some((statistic, _)) => (format!("{}-{statistic}", counter.name), statistic),
                None => (counter.name.clone(), Statistic::Value),
            };
            self.out
                .put_named(&of, &part, statistic, counter.number.clone(), spot)?;
        }
        Ok(())
    }

    fn of_counter(data: &Data, counter: &Counter, over: Option<(Statistic, &str)>) -> Data {
        let (quantity, dimension, text) = match counter.name.as_str() {
            "bytes_per_second" => (Quantity::Bandwidth, Dimension::Bandwidth, "B/s"),
            "items_per_second" => (Quantity::Rate, Dimension::Rate, "1/s"),
            _ if counter.per_second => (Quantity::Rate, Dimension::Rate, "1/s"),
            name if name.ends_with("bytes") => (Quantity::Size, Dimension::Size, "B"),
            _ => (Quantity::Other, Dimension::One, ""),
        };
        let unit = match (counter.percent, over) {
            (true, _) => percent(),
            (false, Some((Statistic::Cv, _))) => unit("", Dimension::One, 1.0),
            _ => unit(
                &format!("{}{text}", counter.prefix),
                dimension,
                counter.factor,
            ),
        };
        data.other(quantity, unit)
    }
}
