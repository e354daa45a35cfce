//! Honest tables that were made up, rounded as authors round them: how often is one objected to? And tables with one
//! fault each: how often is it found?

use dyno_audit::{Audit, Statements, Verdict};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What is measured of one row.
struct Row {
    n: usize,
    sorted: Vec<f64>,
    mean: f64,
    sd: f64,
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (random.random::<f64>().max(1e-300), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

impl Row {
    /// Latencies in microseconds: lognormal, sometimes with a second mode and a heavy tail.
    fn measure(random: &mut ChaCha8Rng) -> Row {
        let n = [10, 30, 100, 200, 500][random.random_range(0..5)];
        let middle = 10f64.powf(random.random_range(0.3..4.5));
        let width = 10f64.powf(random.random_range(-2.0..0.0));
        let tail = random.random_bool(0.3);
        let mut sorted: Vec<f64> = (0..n)
            .map(|_| {
                let v = middle * (width * normal(random)).exp();
                match tail && random.random_bool(0.05) {
                    true => v * random.random_range(2.0..20.0),
                    false => v,
                }
            })
            .collect();
        sorted.sort_by(f64::total_cmp);
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|v| (v - mean).powi(2)).sum();
        Row {
            n,
            sd: (squares / (n as f64 - 1.0)).sqrt(),
            sorted,
            mean,
        }
    }

    fn quantile(&self, q: f64) -> f64 {
        let at = q * (self.n as f64 - 1.0);
        let (lo, hi) = (at.floor() as usize, at.ceil() as usize);
        self.sorted[lo] + (self.sorted[hi] - self.sorted[lo]) * (at - lo as f64)
    }

    fn within(&self) -> f64 {
        let inside = self
            .sorted
            .iter()
            .filter(|v| (*v - self.mean).abs() <= self.sd)
            .count();
        100.0 * inside as f64 / self.n as f64
    }
}

/// With so many significant digits, as authors write it.
fn rounded(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (digits - 1 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{value:.decimals$}")
}

/// A fault that is put into a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    None,
    /// Spread that is not largest less smallest.
    Difference,
    /// A cell of a sum in another unit.
    UnitSlip,
    /// A share that n values cannot have.
    Share,
    /// σ beyond half the range.
    SdTooLarge,
    /// σ smaller than the range allows.
    SdTooSmall,
    /// A p90 above the p99.
    Order,
    /// A p99 of 30 values.
    FewValues,
    /// More under way than one client has.
    InFlight,
    /// A rate per second of processor time.
    CpuSeconds,
    /// A sleep of 20 ms.
    Timer,
    /// More offered than the link carries.
    Overload,
    /// A counter times iterations.
    Counter,
    /// The median printed in place of the maximum.
    MedianIsMaximum,
    /// Another number in the text than in the table.
    Text,
    /// Percentiles of parts added up.
    SumOfTails,
    /// Polling beside blocking.
    Waits,
}

const FAULTS: [(Fault, &str); 16] = [
    (Fault::Difference, "spread"),
    (Fault::UnitSlip, "arithmetic"),
    (Fault::Share, "granularity"),
    (Fault::SdTooLarge, "spread"),
    (Fault::SdTooSmall, "spread"),
    (Fault::Order, "order"),
    (Fault::FewValues, "tail-samples"),
    (Fault::InFlight, "in-flight"),
    (Fault::CpuSeconds, "cpu-seconds"),
    (Fault::Timer, "timer"),
    (Fault::Overload, "link"),
    (Fault::Counter, "counter"),
    (Fault::MedianIsMaximum, "median-is-maximum"),
    (Fault::Text, "same-figure"),
    (Fault::SumOfTails, "sum-of-tails"),
    (Fault::Waits, "comparison"),
];

/// A statement file of one source with `rows` rows of latency, a closed loop, a breakdown with a total, and a stream over a link.
fn table(random: &mut ChaCha8Rng, fault: Fault) -> String {
    let digits = random.random_range(3..6);
    let mut out = String::from("[source]\ntitle = \"made up\"\n");
    let mut row = Row::measure(random);
    if matches!(fault, Fault::Share | Fault::FewValues) {
        // With 500 values each tenth of a percent is a share.
        while row.n != 30 {
            row = Row::measure(random);
        }
    }
    let r = |v: f64| rounded(v, digits);
    let (min, max) = (row.sorted[0], row.sorted[row.n - 1]);
    let (mut sd, mut spread) = (row.sd, max - min);
    let (mut mean, mut median) = (row.mean, row.quantile(0.5));
    let (mut p90, p99) = (row.quantile(0.9), row.quantile(0.99));
    let mut within = format!("{:.1}", row.within());
    let mut median_text = None;
    match fault {
        Fault::Difference => spread *= random.random_range(1.2..2.0),
        Fault::SdTooLarge => sd = (max - min) * random.random_range(0.75..2.0),
        Fault::SdTooSmall => {
            sd = (max - min) / (2.0 * row.n as f64).sqrt() * random.random_range(0.1..0.8)
        }
        Fault::Order => p90 = p99 * random.random_range(1.1..1.5),
        Fault::Share => {
            let k = random.random_range(0..30);
            within = format!(
                "{:.1}",
                100.0 * (f64::from(k) + random.random_range(0.2..0.8)) / 30.0
            );
        }
        Fault::Timer => {
            mean = 20_000.0 + random.random_range(50.0..400.0);
            median = mean;
        }
        Fault::MedianIsMaximum => median_text = Some(format!("{max:.4}")),
        _ => {}
    }
    // A p99 is printed where there are values for it.
    let with_p99 = row.n >= 100 || fault == Fault::FewValues;
    let timer = fault == Fault::Timer;
    if timer {
        writeln!(
            out,
            "[[table]]\nid = \"t\"\nquantity = \"latency\"\nunit = \"us\"\nn = {}\nmethod = {{ trip = \"round\" }}\ncolumns = [{{ label = \"metric\" }}, \
             {{ id = \"mean\", statistic = \"mean\" }}, {{ id = \"median\", statistic = \"median\" }}, {{ id = \"sd\", statistic = \"sd\" }}, \
             {{ id = \"cpu\", quantity = \"cpu-time\", statistic = \"mean\" }}]\n\
             rows = '''\na | {mean:.0} | {median:.0} | {:.1} | {:.0}\n'''",
            row.n,
            random.random_range(0.5..15.0),
            random.random_range(10.0..9_000.0)
        )
        .unwrap();
    } else {
        let tail = |cell: &str| {
            if with_p99 {
                format!("| {cell} ")
            } else {
                String::new()
            }
        };
        writeln!(
            out,
            "[[table]]\nid = \"t\"\nquantity = \"latency\"\nunit = \"us\"\nn = {}\nmethod = {{ trip = \"round\" }}\ncolumns = [{{ label = \"metric\" }}, \
             {{ id = \"mean\", statistic = \"mean\" }}, {{ id = \"median\", statistic = \"median\" }}, {{ id = \"sd\", statistic = \"sd\" }}, \
             {{ id = \"range\", parts = [{{ id = \"min\", statistic = \"min\" }}, {{ id = \"max\", statistic = \"max\" }}] }}, \
             {{ id = \"spread\", statistic = \"spread\" }}, {{ id = \"p90\", statistic = \"p90\" }}, \
             {{ id = \"within\", quantity = \"share\", unit = \"%\", statistic = \"within-1sd\" }}{}]\n\
             rows = '''\na | {} | {} | {} | {}-{} | {} | {} | {within} {}\n'''",
            row.n,
            tail("").replace("| ", ", { id = \"p99\", statistic = \"p99\" }"),
            r(mean),
            median_text.clone().unwrap_or_else(|| r(median)),
            r(sd),
            r(min),
            match &median_text {
                Some(text) => text.clone(),
                None => r(max),
            },
            r(spread),
            r(p90),
            tail(&r(p99)),
        )
        .unwrap();
        let said = match fault {
            Fault::Text => mean * random.random_range(1.05..1.5),
            _ => mean,
        };
        writeln!(
            out,
            "[[text]]\nid = \"x\"\nsays = \"a mean of {} us\"\nfigures = [{{ id = \"mean\", quantity = \"latency\", statistic = \"mean\", data = \"t\" }}]",
            r(said)
        )
        .unwrap();
    }
    // A closed loop: what one client does in a second.
    let wall = 10f64.powf(random.random_range(1.0..4.0));
    let busy = wall * random.random_range(0.05..0.9);
    let per = match fault {
        Fault::InFlight => wall / random.random_range(2.0..50.0),
        Fault::CpuSeconds => busy,
        // It may do other things between two messages.
        _ => wall * random.random_range(1.0..1.002),
    };
    writeln!(
        out,
        "[[table]]\nid = \"c\"\ncolumns = [{{ label = \"metric\" }}, \
         {{ id = \"time\", quantity = \"time\", statistic = \"mean\", unit = \"us\" }}, \
         {{ id = \"cpu\", quantity = \"cpu-time\", statistic = \"mean\", unit = \"us\" }}, \
         {{ id = \"rate\", quantity = \"rate\", statistic = \"rate\", unit = \"1/s\" }}]\nmethod = {{ {} }}\n\
         rows = '''\na | {} | {} | {}\n'''",
        if fault == Fault::CpuSeconds { "trip = \"round\"" } else { "loop = \"closed\", clients = 1" },
        r(wall),
        r(busy),
        r(1e6 / per)
    )
    .unwrap();
    // A breakdown with its total, growth, and shares of the whole.
    let parts: Vec<f64> = (0..4)
        .map(|_| 10f64.powf(random.random_range(1.5..3.0)))
        .collect();
    let total: f64 = parts.iter().sum();
    let p99s: Vec<f64> = parts
        .iter()
        .map(|p| p * random.random_range(1.2..3.0))
        .collect();
    writeln!(
        out,
        "[[table]]\nid = \"s\"\nquantity = \"time\"\nunit = \"ms\"\ncolumns = [{{ label = \"metric\" }}, {{ id = \"time\" }}, \
         {{ id = \"share\", quantity = \"share\", unit = \"%\" }}, {{ id = \"tail\", statistic = \"p99\" }}]\nrows = '''"
    )
    .unwrap();
    for (i, (part, p99)) in parts.iter().zip(&p99s).enumerate() {
        let shown = match fault == Fault::UnitSlip && i == 2 {
            true => part * 1000.0,
            false => *part,
        };
        writeln!(
            out,
            "p{i} | {shown:.1} | {:.1} | {p99:.1}",
            100.0 * part / total
        )
        .unwrap();
    }
    writeln!(
        out,
        "total | {total:.1} | 100.0 | {:.1}\n'''",
        p99s.iter().sum::<f64>()
    )
    .unwrap();
    out.push_str("[[relation]]\nformula = \"s/total/time = sum(s/*/time)\"\n");
    out.push_str("[[relation]]\nformula = \"s/*/share = s/*/time / s/total/time\"\n");
    if fault == Fault::SumOfTails {
        out.push_str("[[relation]]\nformula = \"s/total/tail = sum(s/*/tail)\"\n");
    }
    // Streams over a link, by size, of two stacks.
    let rate = random.random_range(10.0..100.0f64).round();
    let link_mbit = [100.0, 1000.0][random.random_range(0..2)];
    let bytes = match fault {
        Fault::Overload => (link_mbit * 1e6 / 8.0 / rate * random.random_range(1.05..3.0)).round(),
        _ => (link_mbit * 1e6 / 8.0 / rate * random.random_range(0.01..0.9)).round(),
    };
    let on_wire = bytes * 8.0 / (link_mbit * 1e6) * 1e6;
    let iterations = random.random_range(5..500);
    writeln!(
        out,
        "[[table]]\nid = \"l\"\nquantity = \"latency\"\nstatistic = \"median\"\nunit = \"us\"\nn = 1000\n\
         method = {{ loop = \"open\", trip = \"one-way\", clocks = \"two\", clock_bound = \"1 us\", sender_rate = {rate:.1}, \
         senders = 1, payload_bytes = {bytes:.1}, link = \"{link_mbit} Mbit/s\" }}\n\
         columns = [{{ label = \"stack\" }}, {{ id = \"median\" }}]\nrows = '''"
    )
    .unwrap();
    for stack in ["a", "b"] {
        let latency = on_wire * random.random_range(1.05..3.0) + 20.0;
        writeln!(out, "{stack} | {}", r(latency)).unwrap();
    }
    out.push_str("'''\n");
    for (stack, wait) in [
        ("a", "block"),
        (
            "b",
            if fault == Fault::Waits {
                "poll"
            } else {
                "block"
            },
        ),
    ] {
        writeln!(
            out,
            "[[table.row]]\nlabel = \"{stack}\"\nmethod = {{ wait = \"{wait}\" }}"
        )
        .unwrap();
    }
    let size = 1u64 << random.random_range(3..16);
    let shown = match fault {
        Fault::Counter => size * iterations,
        _ => size,
    };
    writeln!(
        out,
        "[[table]]\nid = \"b\"\ncolumns = [{{ label = \"payload\" }}, {{ id = \"count\", quantity = \"count\" }}, \
         {{ id = \"bytes\", quantity = \"size\", unit = \"B\" }}]\nrows = '''\n{size} B | {iterations} | {shown}\n'''"
    )
    .unwrap();
    out
}

fn audit(text: &str) -> (usize, Audit) {
    let statements =
        Statements::parse(text, "made-up.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    (statements.figures.len(), Audit::of(&statements))
}

#[test]
fn honest_tables_are_objected_to_in_one_statement_of_a_thousand_at_most() {
    let tables = 10_000;
    let (mut figures, mut objected, mut calculations) = (0usize, 0usize, 0usize);
    let mut by_check: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for seed in 0..tables {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (count, audit) = audit(&table(&mut random, Fault::None));
        figures += count;
        calculations += audit.outcomes.len();
        for outcome in audit.outcomes.iter().filter(|o| o.verdict.objects()) {
            objected += 1;
            let known = by_check
                .entry(outcome.check)
                .or_insert((0, format!("seed {seed}: {outcome:?}")));
            known.0 += 1;
        }
    }
    println!(
        "{tables} tables, {figures} figures, {calculations} calculations, {objected} objections: {by_check:#?}"
    );
    assert!(
        objected * 1000 <= figures,
        "{objected} of {figures}: {by_check:#?}"
    );
}

#[test]
fn planted_faults_are_found_in_nineteen_of_twenty() {
    let tables = 500;
    let mut missed = Vec::new();
    for (fault, check) in FAULTS {
        let mut found = 0;
        for seed in 0..tables {
            let mut random = ChaCha8Rng::seed_from_u64(1_000_000 + seed);
            let (_, audit) = audit(&table(&mut random, fault));
            let hit = |o: &dyno_audit::Outcome| o.check == check && o.verdict.objects();
            found += usize::from(audit.outcomes.iter().any(hit));
        }
        println!("{fault:?}: {check} finds {found} of {tables}");
        if found * 100 < tables as usize * 95 {
            missed.push((fault, found));
        }
    }
    assert!(missed.is_empty(), "{missed:?} of {tables}");
    // An objection is none of these.
    assert!(!Verdict::CannotBeKnown.objects());
}
