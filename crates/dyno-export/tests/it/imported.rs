//! Exports read back by Dyno's own importers: the same figures, and nothing that the export does not say.

use crate::hdr::exported;
use crate::runs::{assert_close, full, headline, of_metric};
use dyno_audit::Statements;
use dyno_audit::import::{Tool, import};
use dyno_audit::statement::{Figure, Of, Quantity, Statistic};
use serde_json::Value;

fn imported(text: &str, name: &str, tool: Tool) -> Statements {
    let read = import(&mut text.as_bytes(), name, None).unwrap_or_else(|e| panic!("{e}"));
    let named = import(&mut text.as_bytes(), name, Some(tool)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(read, named, "{name} is recognised");
    read
}

fn in_ns(figure: &Figure) -> f64 {
    figure.printed.value * figure.printed.unit.factor * 1e9
}

fn figure<'a>(s: &'a Statements, id: &str) -> &'a Figure {
    let found = s.figures.iter().find(|f| f.id == id);
    found.unwrap_or_else(|| panic!("no {id}"))
}

#[test]
fn google_benchmark_gives_the_p50_of_each_trial_back() {
    let shown = full();
    let text = dyno_export::gbench::render(&shown.run, &shown.summary);
    let s = imported(&text, "run.json", Tool::GoogleBenchmark);
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut names = 0;
    for raw in s
        .samples
        .iter()
        .filter(|r| r.quantity == Some(Quantity::Time))
    {
        let entries = document["benchmarks"].as_array().unwrap().iter();
        let trials: Vec<f64> = entries
            .filter(|b| b["name"] == raw.data.as_str() && b["run_type"] == "iteration")
            .map(|b| b["real_time"].as_f64().unwrap())
            .collect();
        assert_eq!(raw.values.len(), trials.len(), "{}", raw.id);
        for (value, trial) in raw.values.iter().zip(&trials) {
            assert_close(value * 1e9, *trial, 1e-9, &raw.id);
        }
        // They are medians, and no means of what is called their iterations.
        assert!(raw.each.iter().all(|n| *n == 1), "{}", raw.id);
        let median = figure(&s, &format!("{}/median", raw.data));
        assert_eq!(
            (median.of, median.n),
            (Of::Unknown, Some(trials.len() as u64))
        );
        names += 1;
    }
    assert!(names >= 3, "{names}");
    let e = &shown.experiments()[1];
    let p50 = headline(e, "p50").unwrap();
    let name = "full/round-trip/uds-stream/payload:64/load:ping-pong/wait:block/access:stamp/placement:process/topology:1-1";
    assert_close(
        in_ns(figure(&s, &format!("{name}/median"))),
        p50,
        0.002,
        name,
    );
}

#[test]
fn hdrhistogram_gives_the_distributions_back_with_what_was_lost() {
    let shown = full();
    let (_place, files) = exported(&shown);
    let (mut seen, mut losses) = (0, 0);
    for e in shown.experiments() {
        for (metric, m) in e["metrics"].as_object().unwrap() {
            let stem = format!(
                "e{:04}_{}_{}_{}B_{metric}",
                e["id"].as_u64().unwrap(),
                e["experiment"].as_str().unwrap(),
                e["stack"].as_str().unwrap(),
                e["payload_bytes"],
            );
            let log = imported(&files[&format!("{stem}.hlog")], &stem, Tool::HdrLog);
            let text = imported(&files[&format!("{stem}.hgrm")], &stem, Tool::HdrPercentiles);
            let number = |v: &Value| v.as_f64().unwrap();
            let lost = m["infinite"].as_u64().unwrap();
            for s in [&log, &text] {
                let mean = figure(s, &format!("{metric}/mean"));
                // Gaps, lateness and times of starts are no latencies.
                let quantity = match metric.as_str() {
                    "rtt_ns" | "response_ns" | "service_ns" => Quantity::Latency,
                    _ => Quantity::Time,
                };
                assert_eq!(
                    (mean.quantity, mean.n),
                    (quantity, m["n"].as_u64()),
                    "{stem}"
                );
                assert_eq!(mean.conditions["stack"], e["stack"].as_str().unwrap());
                assert_close(in_ns(mean), number(&m["mean"]), 0.001, &stem);
                assert_close(
                    in_ns(figure(s, &format!("{metric}/max"))),
                    number(&m["max"]),
                    0.001,
                    &stem,
                );
            }
            assert_close(
                in_ns(figure(&log, &format!("{metric}/min"))),
                number(&m["min"]),
                0.001,
                &stem,
            );
            for f in text
                .figures
                .iter()
                .filter(|f| matches!(f.statistic, Statistic::Percentile(_)))
            {
                assert_eq!(
                    f.n,
                    Some(m["n"].as_u64().unwrap() + lost),
                    "{stem}: lost messages count"
                );
            }
            let (n, all) = (m["n"].as_u64().unwrap(), m["n"].as_u64().unwrap() + lost);
            for f in &log.figures {
                if let Statistic::Percentile(p) = f.statistic {
                    assert_eq!(f.n, Some(all), "{stem}: lost messages count");
                    let has_value = p / 100.0 * all as f64 <= n as f64 + 1e-6;
                    assert!(has_value, "{stem}: p{p} of {n} of {all} is infinite");
                }
            }
            for s in [&log, &text] {
                let id = format!("{metric}/lost");
                let said = s.figures.iter().find(|f| f.id == id);
                let said = said.map_or(0.0, |f| f.printed.value);
                assert_eq!(said, lost as f64, "{stem}");
            }
            losses += u64::from(lost > 0);
            for (q, id) in [("p50", "median"), ("p99", "p99")] {
                if lost == 0
                    && let Some(value) = of_metric(m, q)
                {
                    let found = figure(&log, &format!("{metric}/{id}"));
                    assert_close(in_ns(found), value, 0.002, &stem);
                }
            }
            seen += 1;
        }
    }
    assert!(seen >= 5 && losses > 0, "{seen} {losses}");
}
