//! Faults of raw values, methods and outputs, which the tables of `simulated.rs` have no place for: each is found where it is, and
//! nothing is found where it is not.

use dyno_audit::import::{Tool, import};
use dyno_audit::statement::{Quantity, Samples};
use dyno_audit::{Audit, Statements, Verdict};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write as _;

/// Makes a source with or without the fault.
type Source = fn(&mut ChaCha8Rng, bool) -> Statements;

const SOURCES: [(&str, Source); 11] = [
    ("raw-values", repetitions),
    ("omission", sends),
    ("clock-step", clock),
    ("two-clocks", counters),
    ("by-size", sizes),
    ("half-trip", |r, fault| {
        method(
            r,
            if fault {
                "trip = \"half\""
            } else {
                "trip = \"round\""
            },
        )
    }),
    ("tool", |r, fault| {
        method(
            r,
            if fault {
                "trip = \"round\", tool = \"iperf3\""
            } else {
                "trip = \"round\", tool = \"sockperf\""
            },
        )
    }),
    ("build-and-date", dates),
    ("emulated", machines),
    ("requirement", limits),
    ("not-stated", counts),
];

fn parsed(text: &str) -> Statements {
    Statements::parse(text, "made-up.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Lognormal around a middle, in nanoseconds.
fn times(random: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    let middle = 10f64.powf(random.random_range(4.0..6.0));
    let width = random.random_range(0.01..0.5);
    let one = |random: &mut ChaCha8Rng| {
        let sum: f64 = (0..12).map(|_| random.random::<f64>()).sum();
        middle * (width * (sum - 6.0)).exp()
    };
    (0..n).map(|_| one(random)).collect()
}

/// Output of Google Benchmark; the fault is a σ or a mean of other values.
fn repetitions(random: &mut ChaCha8Rng, fault: bool) -> Statements {
    let n = random.random_range(5..40);
    let values = times(random, n);
    let mut mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let mut sd = (squares / (n as f64 - 1.0)).sqrt();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    match (fault, random.random_bool(0.5)) {
        (true, true) => sd *= random.random_range(1.5..3.0),
        (true, false) => mean *= random.random_range(1.01..1.2),
        _ => {}
    }
    let mut text = "2025-08-06T10:00:00+00:00\nBenchmark    Time    CPU   Iterations\n".to_owned();
    let mut row = |name: &str, time: f64, iterations: usize| {
        writeln!(
            text,
            "copy{name}    {time:.0} ns    {time:.0} ns    {iterations}"
        )
        .unwrap();
    };
    for value in values {
        row("", value, 100);
    }
    for (name, value) in [("_mean", mean), ("_median", median), ("_stddev", sd)] {
        row(name, value, n);
    }
    import(&mut text.as_bytes(), "made up", Some(Tool::GoogleBenchmark))
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn raw(values: Vec<f64>, sent: Vec<f64>, step: f64) -> Statements {
    Statements {
        samples: vec![Samples {
            id: "raw".to_owned(),
            data: "raw".to_owned(),
            quantity: Some(Quantity::Latency),
            line: 1,
            each: vec![1; values.len()],
            values,
            sent,
            step,
            ..Samples::default()
        }],
        ..Statements::default()
    }
}

/// A sender by the clock that stands still once. Honest: what was due then is sent late and counted from its due time.
fn sends(random: &mut ChaCha8Rng, fault: bool) -> Statements {
    let period = 10f64.powf(random.random_range(-4.0..-2.0));
    let n = random.random_range(100..500);
    let stall = (random.random_range(10..n - 1), random.random_range(30..300));
    let (mut sent, mut values) = (Vec::new(), Vec::new());
    let mut now = 0.0;
    let mut due = 0.0;
    for i in 0..n {
        if i == stall.0 {
            now += f64::from(stall.1) * period;
        }
        if fault || now < due {
            now = now.max(due);
        }
        sent.push(now);
        let took = period * random.random_range(0.01..0.1);
        values.push(match fault {
            true => took,
            false => now - due + took,
        });
        now += period * random.random_range(0.001..0.002);
        due = match fault {
            true => now.max(due) + period,
            false => due + period,
        };
    }
    raw(values, sent, 1e-9)
}

/// Latencies printed to the nanosecond, by a clock of microseconds.
fn clock(random: &mut ChaCha8Rng, fault: bool) -> Statements {
    let step = [1e-8, 1e-7, 1e-6, 4e-6][random.random_range(0..4)];
    let n = random.random_range(20..200);
    let seconds = times(random, n).into_iter().map(|ns| ns * 1e-8);
    let known = if fault { step } else { 1e-9 };
    let values = seconds
        .map(|v| (v / known).round().max(1.0) * known)
        .collect();
    raw(values, Vec::new(), 1e-9)
}

/// Two counters of cycles over the same work, in three columns; the fault is a column of another run.
fn counters(random: &mut ChaCha8Rng, fault: bool) -> Statements {
    let ratio = random.random_range(0.25..2.0);
    let slipped = random.random_range(0..3);
    let mut columns = String::new();
    let mut row = "a".to_owned();
    for i in 0..3 {
        let cycles: f64 = random.random_range(200.0..2000.0);
        let own = match fault && i == slipped {
            true => ratio * random.random_range(1.5..3.0),
            false => ratio * random.random_range(0.97..1.03),
        };
        for (counter, value) in [("tsc", cycles * own), ("core", cycles)] {
            write!(columns, ", {{ id = \"{counter}{i}\", conditions = {{ operation = \"{i}\", counter = \"{counter}\" }} }}").unwrap();
            write!(row, " | {value:.0}").unwrap();
        }
    }
    parsed(&format!(
        "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nquantity = \"cycles\"\nunit = \"cycles\"\nstatistic = \"mean\"\n\
         columns = [{{ label = \"machine\" }}{columns}]\nrows = '''\n{row}\n'''"
    ))
}

/// Medians over doubling sizes; the fault is one of something else.
fn sizes(random: &mut ChaCha8Rng, fault: bool) -> Statements {
    let n = random.random_range(4..12);
    let (fixed, each) = (
        random.random_range(1.0..50.0),
        random.random_range(0.0..0.01),
    );
    let wrong = random.random_range(1..n);
    let mut rows = String::new();
    for i in 0..n {
        let bytes = 64 << i;
        let mut time = (fixed + each * f64::from(bytes)) * random.random_range(0.9..1.1);
        if fault && i == wrong {
            time = fixed / random.random_range(3.0..10.0);
        }
        writeln!(rows, "{bytes} B | {time:.3}").unwrap();
    }
    parsed(&format!(
        "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nquantity = \"latency\"\nunit = \"us\"\nstatistic = \"median\"\n\
         columns = [{{ label = \"payload\" }}, {{ id = \"median\" }}]\nrows = '''\n{rows}'''"
    ))
}

/// One table of latencies, measured so.
fn method(random: &mut ChaCha8Rng, method: &str) -> Statements {
    let time: f64 = random.random_range(1.0..1000.0);
    parsed(&format!(
        "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nquantity = \"latency\"\nunit = \"us\"\nstatistic = \"median\"\nn = 100\n\
         method = {{ {method} }}\ncolumns = [{{ label = \"stack\" }}, {{ id = \"median\" }}]\nrows = '''\na | {time:.2}\n'''"
    ))
}

/// Output of a tool whose date is, or is not, that of the text.
fn dates(random: &mut ChaCha8Rng, fault: bool) -> Statements {
    let day = random.random_range(1..28);
    let other = if fault { day + 1 } else { day };
    parsed(&format!(
        "[source]\ntitle = \"x\"\ntested = \"2025-03-{day:02}\"\n[[log]]\nid = \"l\"\nplace = \"appendix\"\ntool = \"google-benchmark\"\n\
         text = '''\n2025-03-{other:02}T10:00:00+00:00\nBenchmark    Time    CPU   Iterations\ncopy    100 ns    100 ns    10\n'''"
    ))
}

fn machines(random: &mut ChaCha8Rng, fault: bool) -> Statements {
    let emulated = ["QEMU ARM64", "gem5", "an emulated board", "Renode"];
    let machine = match fault {
        true => emulated[random.random_range(0..4)],
        false => ["Raspberry Pi 4", "Xeon 8352S"][random.random_range(0..2)],
    };
    let time: f64 = random.random_range(1.0..1000.0);
    parsed(&format!(
        "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nquantity = \"latency\"\nunit = \"us\"\nstatistic = \"median\"\nn = 100\n\
         conditions = {{ machine = \"{machine}\" }}\ncolumns = [{{ label = \"stack\" }}, {{ id = \"median\" }}]\nrows = '''\na | {time:.2}\n'''"
    ))
}

/// A limit that is kept and has a source; or one that is broken, or comes from nowhere.
fn limits(random: &mut ChaCha8Rng, fault: bool) -> Statements {
    let limit: u32 = random.random_range(10..100);
    let broken = fault && random.random_bool(0.5);
    let time = match broken {
        true => f64::from(limit) * random.random_range(1.02..2.0),
        false => f64::from(limit) * random.random_range(0.1..1.0),
    };
    let source = match fault && !broken {
        true => "",
        false => "source = \"ISO 1234\"\n",
    };
    parsed(&format!(
        "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nquantity = \"latency\"\nunit = \"ms\"\nstatistic = \"max\"\nn = 100\n\
         columns = [{{ label = \"stack\" }}, {{ id = \"max\" }}]\nrows = '''\na | {time:.2}\n'''\n\
         [[requirement]]\nid = \"r\"\ntext = \"max < {limit} ms\"\non = [\"t/a/max\"]\n{source}"
    ))
}

fn counts(random: &mut ChaCha8Rng, fault: bool) -> Statements {
    let n = if fault { "" } else { "n = 100\n" };
    let statistic = ["mean", "median", "p90", "max"][random.random_range(0..4)];
    let quantity = ["latency", "time", "cpu-time"][random.random_range(0..3)];
    let time: f64 = random.random_range(1.0..1000.0);
    parsed(&format!(
        "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nquantity = \"{quantity}\"\nunit = \"us\"\nstatistic = \"{statistic}\"\n{n}\
         columns = [{{ label = \"stack\" }}, {{ id = \"time\" }}]\nrows = '''\na | {time:.2}\n'''"
    ))
}

#[test]
fn planted_faults_are_found_and_only_these() {
    let sources = 500;
    let mut wrong = Vec::new();
    for (check, source) in SOURCES {
        let (mut found, mut alarms) = (0, Vec::new());
        for seed in 0..sources {
            let audit = |fault: bool| {
                let mut random = ChaCha8Rng::seed_from_u64(2_000_000 + seed);
                Audit::of(&source(&mut random, fault))
            };
            let finding =
                |o: &&dyno_audit::Outcome| o.check == check && o.verdict != Verdict::NoObjection;
            found += u64::from(audit(true).outcomes.iter().any(|o| finding(&o)));
            alarms.extend(audit(false).outcomes.iter().find(finding).cloned());
        }
        println!(
            "{check}: found in {found} of {sources}, {} false alarms",
            alarms.len()
        );
        if found * 100 < sources * 95 || !alarms.is_empty() {
            wrong.push((check, found, alarms.into_iter().next()));
        }
    }
    assert!(wrong.is_empty(), "of {sources}: {wrong:#?}");
}
