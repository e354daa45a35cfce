//! A run that was merged from those of two machines: whoever reads a single row of an export must see which
//! machine it is of, and every row must name the right one.

use crate::common::Builder;
use crate::runs::Shown;
use dyno_model::Metric;
use dyno_model::record::{Environment, FailureKind};
use serde_json::Value;

/// Host name, processor and kernel of each machine.
const MACHINES: [(&str, &str, &str); 2] = [
    ("alpha", "CPU of alpha", "6.12.0 alpha"),
    ("beta", "CPU of beta", "6.13.0 beta"),
];

/// The experiments take turns: the even ones are alpha's. Stacks and factors are the same on both.
fn machine_of(id: u64) -> (&'static str, &'static str, &'static str) {
    MACHINES[id as usize % 2]
}

fn merged() -> Shown {
    let mut b = Builder::new("two", "two machines", "stacks");
    for stack in ["floor-futex", "pipe", "tcp"] {
        for (host, ..) in MACHINES {
            let id = b.experiment(stack, |e| e.machine = Some(host.into()));
            b.trials(id, &[(Metric::Rtt, 10_000.0, 500, 2)]);
            b.failed(id, FailureKind::Crash, "window", "it is gone", &[]);
        }
    }
    // One that was not measured at all.
    b.experiment("udp", |e| e.machine = Some("alpha".into()));
    let mut run = b.build();
    let first = run.manifest.environment.clone();
    let environment = |(host, cpu, kernel): (&str, &str, &str)| Environment {
        host: host.into(),
        cpu_model: cpu.into(),
        kernel: kernel.into(),
        ..first.clone()
    };
    run.manifest.environment = environment(MACHINES[0]);
    run.machines = MACHINES.map(|m| (m.0.to_owned(), environment(m))).into();
    Shown::of(run)
}

#[cfg(feature = "parquet")]
#[test]
fn every_parquet_row_names_its_machine() {
    let Some(table) = crate::parquet::table(&merged()) else {
        return;
    };
    let rows = table["rows"].as_array().unwrap();
    for row in rows {
        let (host, cpu, kernel) = machine_of(row["id"].as_u64().unwrap());
        for (column, expected) in [
            ("machine", host),
            ("host", host),
            ("cpu_model", cpu),
            ("kernel", kernel),
        ] {
            assert_eq!(row[column], expected, "{column} of {row:#}");
        }
    }
    // Five good trials and a failed one of each experiment.
    let of = |host: &str| rows.iter().filter(|r| r["machine"] == host).count();
    assert!(of("alpha") >= 18 && of("beta") >= 18, "{}", rows.len());
}

#[test]
fn every_benchmark_names_its_machine() {
    let shown = merged();
    let text = dyno_export::gbench::render(&shown.run, &shown.summary);
    let document: Value = serde_json::from_str(&text).unwrap();
    let families = &shown.summary.experiments;
    let benchmarks = document["benchmarks"].as_array().unwrap();
    let mut seen = [0, 0];
    for b in benchmarks {
        let family = b["family_index"].as_u64().unwrap() as usize;
        let id = families[family].experiment.id.0;
        let (host, ..) = machine_of(id.into());
        for key in ["name", "run_name"] {
            let name = b[key].as_str().unwrap();
            assert!(name.contains(&format!("/machine:{host}")), "{name}");
            assert_eq!(name.matches("/machine:").count(), 1, "{name}");
        }
        seen[id as usize % 2] += 1;
    }
    assert!(seen[0] > 0 && seen[0] == seen[1], "{seen:?}");
    // What has no row is named with its machine as well.
    for missing in document["context"]["dyno_without_figure"]
        .as_array()
        .unwrap()
    {
        let name = missing["name"].as_str().unwrap();
        assert!(name.contains("/machine:"), "{name}");
    }
    // The head is of the whole document, and so of both.
    let context = &document["context"];
    assert_eq!(context["host_name"], "alpha, beta");
    assert_eq!(
        context["dyno_cpu_model"],
        "alpha: CPU of alpha; beta: CPU of beta"
    );
    assert_eq!(
        context["dyno_kernel"],
        "alpha: 6.12.0 alpha; beta: 6.13.0 beta"
    );
}

#[test]
fn every_openmetrics_sample_names_its_machine() {
    let shown = merged();
    let text = dyno_export::openmetrics::render(&shown.summary);
    let label = |line: &str, key: &str| -> Option<String> {
        let (_, rest) = line.split_once(&format!("{key}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let mut samples = 0;
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        match label(line, ",id") {
            Some(id) => {
                let (host, ..) = machine_of(id.parse().unwrap());
                assert_eq!(label(line, "machine").as_deref(), Some(host), "{line}");
                samples += 1;
            }
            // Of the run as a whole.
            None => assert_eq!(label(line, "machine"), None, "{line}"),
        }
    }
    assert!(samples > 20, "{text}");
    // Each machine has its own line, with what belongs to it.
    let info = text.lines().filter(|l| l.starts_with("dyno_run_info"));
    let found: Vec<_> = info
        .map(|l| ["host", "cpu_model", "kernel"].map(|key| label(l, key).unwrap()))
        .collect();
    let expected = MACHINES.map(|(host, cpu, kernel)| [host, cpu, kernel].map(str::to_owned));
    assert_eq!(found, expected);
}
