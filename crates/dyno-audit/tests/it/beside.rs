//! Claims beside a synthetic run, whose figures are known.

use crate::common::{Builder, summary};
use dyno_audit::{Beside, Cell, Options, Statements, Verdict};
use dyno_model::{Metric, TrialRecord, Wait, Workload};

/// A statement file of one row; `columns` are of its table, and `nearest` says more of what comes nearest.
fn statements(row: &str, columns: &str, nearest: &str) -> Statements {
    let text = format!(
        "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nn = 9\ncolumns = [ {{ label = \"stack\" }}, {columns} ]\n\
         rows = '''\na | {row}\n'''\n[[nearest]]\nof = [\"t/*\"]\nstack = \"tcp\"\n{nearest}\n"
    );
    Statements::parse(&text, "made-up.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

const CLOSED: &str = "experiment = { workload = \"ping-pong\" }";
const MEAN: &str = "{ id = \"v\", quantity = \"latency\", unit = \"us\", statistic = \"mean\" }";

/// One cell of the statements, and what stands beside its figures in a run that `fill` makes of it.
fn beside(statements: &Statements, fill: impl FnOnce(&mut Builder, &Cell)) -> Vec<Beside> {
    let (cells, mut all) = statements.cells("x");
    let mut b = Builder::new("audit", "x", "stacks");
    if let [cell] = cells.as_slice() {
        fill(&mut b, cell);
        all.extend(statements.beside(cell, &summary(&b.build())));
    }
    all
}

/// Five trials of a flood.
fn flood(b: &mut Builder, cell: &Cell) {
    let id = b.experiment("tcp", |e| {
        e.name.clone_from(&cell.name);
        e.workload = Workload::Flood;
    });
    b.trials(id, &[(Metric::Service, 9_000.0, 3_000, 0)]);
}

/// This many trials of round trips of 10 µs.
fn round_trips(b: &mut Builder, cell: &Cell, trials: usize, change: impl Fn(&mut TrialRecord)) {
    let id = b.experiment("tcp", |e| e.name.clone_from(&cell.name));
    for _ in 0..trials {
        change(b.trial(id, &[(Metric::Rtt, 10_000.0, 3_000, 0)]));
    }
}

fn says(beside: &Beside, text: &str) -> bool {
    beside.differs.iter().any(|d| d.contains(text))
}

#[test]
fn only_a_middle_of_rates_stands_beside_what_was_delivered() {
    for (quantity, unit) in [("rate", "1/s"), ("bandwidth", "MB/s")] {
        for (statistic, stands) in [
            ("value", true),
            ("mean", true),
            ("rate", true),
            ("median", true),
            ("max", false),
            ("min", false),
            ("sd", false),
            ("p99", false),
        ] {
            let column = format!(
                "{{ id = \"v\", quantity = \"{quantity}\", unit = \"{unit}\", statistic = \"{statistic}\" }}"
            );
            let file = statements(
                "100",
                &column,
                "experiment = { workload = \"flood\", payload = \"64 B\" }",
            );
            let all = beside(&file, flood);
            let [one] = all.as_slice() else {
                panic!("{all:#?}")
            };
            assert_eq!(one.measured.is_some(), stands, "{statistic}: {one:#?}");
            assert_eq!(one.reason.is_none(), stands, "{statistic}: {one:#?}");
        }
    }
}

#[test]
fn a_claim_stands_beside_each_experiment_that_its_cell_became() {
    let file = statements("50.3", MEAN, CLOSED);
    let all = beside(&file, |b, cell| {
        for (wait, added) in [
            (Wait::Spin, false),
            (Wait::Block, false),
            (Wait::Spin, true),
        ] {
            let id = b.experiment("tcp", |e| {
                e.name.clone_from(&cell.name);
                (e.wait, e.added) = (wait, added);
            });
            b.trials(id, &[(Metric::Rtt, 10_000.0, 3_000, 0)]);
        }
    });
    let conditions: Vec<&str> = all.iter().map(|b| b.conditions.as_str()).collect();
    assert_eq!(all.len(), 2, "{conditions:?}");
    assert!(conditions[0].contains("wait spin"), "{conditions:?}");
    assert!(conditions[1].contains("wait block"), "{conditions:?}");
}

#[test]
fn disturbed_and_unstable_rows_are_marked() {
    let file = statements("50.3", MEAN, CLOSED);
    let calm = beside(&file, |b, cell| round_trips(b, cell, 5, |_| {}));
    assert!(!says(&calm[0], "disturbed") && !says(&calm[0], "unstable"));
    let disturbed = beside(&file, |b, cell| {
        round_trips(b, cell, 5, |t| {
            t.disturbed = vec![dyno_model::Cause::Told("a backup".into())]
        });
    });
    assert!(
        says(&disturbed[0], "the host disturbed every trial"),
        "{disturbed:#?}"
    );
    let unstable = beside(&file, |b, cell| {
        let id = b.experiment("tcp", |e| e.name.clone_from(&cell.name));
        for p50 in [11_000.0, 51_000.0, 11_200.0, 50_500.0, 10_900.0] {
            b.trial(id, &[(Metric::Rtt, p50, 2_000, 0)]);
        }
    });
    assert!(says(&unstable[0], "this is unstable"), "{unstable:#?}");
}

#[test]
fn one_trial_has_a_ratio_without_an_interval() {
    let column = "{ id = \"v\", quantity = \"rate\", unit = \"1/s\" }";
    let file = statements("20000", column, "experiment = { workload = \"flood\" }");
    let with = |trials: usize| {
        beside(&file, |b, cell| {
            let id = b.experiment("tcp", |e| {
                e.name.clone_from(&cell.name);
                e.workload = Workload::Flood;
            });
            for _ in 0..trials {
                b.trial(id, &[(Metric::Service, 9_000.0, 3_000, 0)]);
            }
        })
        .remove(0)
    };
    let one = with(1);
    let measured = one.measured.as_ref().unwrap();
    assert_eq!(measured.what, "its one trial");
    // 3000 messages in 0.3 s.
    assert_eq!(measured.ratio_text(), "the claim is 2.00 × it");
    assert!(!measured.text.contains('['), "{measured:?}");
    let ends = (
        measured.lo,
        measured.hi,
        measured.ratio_lo,
        measured.ratio_hi,
    );
    assert_eq!(ends, (None, None, None, None));
    assert!(says(&one, "there is one trial only"), "{one:#?}");
    let two = with(2);
    let measured = two.measured.as_ref().unwrap();
    assert!(measured.what.contains("2 trials") && measured.ratio_lo.is_some());
    assert!(!says(&two, "one trial"), "{two:#?}");
}

#[test]
fn a_ratio_without_a_bound_is_null_in_json_and_infinite_in_text() {
    let file = statements("> 50", MEAN, CLOSED);
    let all = beside(&file, |b, cell| round_trips(b, cell, 5, |_| {}));
    let measured = all[0].measured.as_ref().unwrap();
    assert_eq!(measured.ratio_hi, None);
    assert!(measured.ratio_text().ends_with(", ∞]"), "{measured:?}");
    let json = serde_json::to_value(measured).unwrap();
    assert!(json["ratio_hi"].is_null() && json["ratio_lo"].is_f64());
    // Nothing has a ratio to nothing.
    let column = "{ id = \"v\", quantity = \"rate\", unit = \"1/s\" }";
    let file = statements("20000", column, "experiment = { workload = \"flood\" }");
    let none = beside(&file, |b, cell| {
        let id = b.experiment("tcp", |e| {
            e.name.clone_from(&cell.name);
            e.workload = Workload::Flood;
        });
        b.trials(id, &[(Metric::Service, 9_000.0, 0, 900)]);
    });
    assert!(none[0].measured.is_none(), "{none:#?}");
    assert!(
        none[0].reason.as_ref().unwrap().contains("is zero"),
        "{none:#?}"
    );
}

#[test]
fn a_size_that_is_not_said_is_said_to_be_so() {
    let own = |b: &mut Builder, cell: &Cell| round_trips(b, cell, 5, |_| {});
    let unsaid = beside(&statements("50.3", MEAN, CLOSED), own);
    assert!(
        says(
            &unsaid[0],
            "the source does not say the size; this is for 64 B"
        ),
        "{unsaid:#?}"
    );
    assert!(says(&unsaid[0], "access to the payload"), "{unsaid:#?}");
    let with_payload = "experiment = { workload = \"ping-pong\", payload = \"64 B\" }";
    let said = beside(&statements("50.3", MEAN, with_payload), own);
    assert!(!says(&said[0], "the size"), "{said:#?}");
}

#[test]
fn a_metric_of_choice_takes_the_place_of_the_headline() {
    let stream = |metric: &str| format!("experiment = {{ workload = \"stream\" }}\n{metric}");
    let run = |b: &mut Builder, cell: &Cell| {
        let id = b.experiment("tcp", |e| {
            e.name.clone_from(&cell.name);
            e.workload = Workload::Stream {
                rate: dyno_model::RateHz::new(1000.0).unwrap(),
                arrivals: dyno_model::Arrivals::Fixed,
            };
        });
        let both = [
            (Metric::Response, 40_000.0, 3_000, 0),
            (Metric::Service, 10_000.0, 3_000, 0),
        ];
        b.trials(id, &both);
    };
    for (metric, what, ratio) in [
        ("", "p50 of the response time", 1.25),
        ("metric = \"service\"", "p50 of the service time", 5.0),
    ] {
        let all = beside(&statements("50.0", MEAN, &stream(metric)), run);
        let measured = all[0].measured.as_ref().unwrap();
        assert_eq!(measured.what, what);
        assert!((measured.ratio / ratio - 1.0).abs() < 0.05, "{measured:?}");
    }
    let all = beside(&statements("50.0", MEAN, &stream("metric = \"rtt\"")), run);
    let reason = all[0].reason.as_deref();
    assert_eq!(reason, Some("its trials have no round trip"));
    let wrong = "[source]\ntitle = \"x\"\n[[nearest]]\nof = []\nstack = \"tcp\"\nexperiment = {}\nmetric = \"servce\"\n";
    let error = Statements::parse(wrong, "made-up.toml")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("\"servce\" is none of rtt, response, service"),
        "{error}"
    );
}

/// A limit on the mean is what a mean within it keeps.
#[test]
fn a_limit_that_names_its_statistic_is_kept_by_it() {
    for (text, verdict) in [
        ("mean latency < 60 us", Verdict::NoObjection),
        ("Average: < 60 us", Verdict::NoObjection),
        ("latency < 60 us", Verdict::CannotBeKnown),
        ("median latency < 60 us", Verdict::CannotBeKnown),
        ("mean latency < 40 us", Verdict::Inconsistent),
    ] {
        let limit = format!(
            "{CLOSED}\n[[requirement]]\nid = \"r\"\nplace = \"p\"\ntext = \"{text}\"\non = [\"t/*\"]\nsource = \"a standard\""
        );
        let file = statements("50.3", MEAN, &limit);
        let audit = dyno_audit::Audit::of(&file);
        let shown = dyno_audit::text(&file, &audit, Options::default());
        let own = audit.outcomes.iter().filter(|o| o.check == "requirement");
        let own = own.filter(|o| !o.figures.is_empty() && o.calculation.contains("against"));
        let verdicts: Vec<Verdict> = own.map(|o| o.verdict).collect();
        assert_eq!(verdicts, [verdict], "{text}\n{shown}");
    }
}
