//! The page's data: complete, consistent with `dyno show` and `dyno compare`, and finite.

use crate::common::{self, Builder, rwth};
use crate::{data, document, fixture, fixtures, options, source};
use dyno_model::Metric::{Response, Rtt, Service};
use dyno_model::PayloadSize;
use dyno_model::record::{FailureKind, Run};
use dyno_page::{Document, Options, Source, Step};
use dyno_report::{Format, RenderOptions, SummaryOptions, summarise};
use dyno_stats::Bootstrap;
use serde_json::Value;

fn array(value: &Value) -> &Vec<Value> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("no array: {value}"))
}

#[test]
fn every_run_has_what_show_says_and_a_detail_for_each_experiment() {
    for (name, run, document) in fixtures() {
        let page = data(document);
        let mut summary = summarise(run, &options().summary);
        summary.answers = dyno_page::answers(&summary, &run.manifest);
        let text = dyno_report::render(&summary, Format::Json, &RenderOptions::default());
        let show: Value = serde_json::from_str(&text).unwrap();
        let own = &page["runs"][0];
        assert_eq!(own["show"], show, "{name}");
        let experiments = array(&show["experiments"]);
        let details = array(&own["details"]);
        assert_eq!(details.len(), experiments.len(), "{name}");
        for (d, e) in details.iter().zip(experiments) {
            let of = |key: &str| e[key].as_u64().unwrap() as usize;
            let trials = array(&d["trials"]);
            let counted = trials.iter().filter(|t| t["counted"] == true).count();
            let failed = trials.iter().filter(|t| t["outcome"] == "failed").count();
            assert_eq!(
                (counted, failed),
                (of("trials"), of("failed_trials")),
                "{name} {e}"
            );
            for metric in e["metrics"].as_object().unwrap().keys() {
                assert!(d["curves"][metric].is_array(), "{name} {metric}");
                assert!(d["box"][metric].is_object(), "{name} {metric}");
            }
        }
        for answer in array(&own["answers"]) {
            for place in array(&answer["experiments"]) {
                assert!(
                    (place.as_u64().unwrap() as usize) < experiments.len(),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn curves_ascend_between_the_ends_and_agree_with_the_quantiles() {
    let page = data(fixture("streams"));
    let grid: Vec<f64> = array(&page["grid"])
        .iter()
        .map(|q| q.as_f64().unwrap())
        .collect();
    let run = &page["runs"][0];
    let mut seen = 0;
    for (d, e) in array(&run["details"])
        .iter()
        .zip(array(&run["show"]["experiments"]))
    {
        for (metric, curve) in d["curves"].as_object().unwrap() {
            let infinite_last = |v: &Value| v.as_f64().unwrap_or(f64::INFINITY);
            let values: Vec<f64> = array(curve).iter().map(infinite_last).collect();
            assert!(values.len() <= grid.len());
            assert!(
                values.windows(2).all(|w| w[0] <= w[1]),
                "{metric} {values:?}"
            );
            for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
                let place = grid.iter().position(|g| *g == q).unwrap();
                let shown = &e["metrics"][metric][name];
                // A curve ends where a quantile is refused.
                assert_eq!(
                    shown.is_null(),
                    values.get(place).is_none(),
                    "{metric} {name}"
                );
                if let (Some(a), Some(b)) = (values.get(place), shown["value"].as_f64()) {
                    assert!((a - b).abs() <= 5e-4 * b, "{metric} {name}: {a} {b}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn failed_and_disturbed_trials_say_why() {
    let mut b = Builder::new("test", "", "stacks");
    let id = b.experiment("pipe", |_| {});
    b.trials(id, &[(Rtt, 5_000.0, 1_000, 0)]);
    b.failed(id, FailureKind::Hang, "open", "no peer", &[]);
    let disturbed = b.trial(id, &[(Rtt, 50_000.0, 1_000, 0)]);
    disturbed.disturbed = vec![dyno_model::Cause::Told("another process took 20 %".into())];
    let unreadable = b.trial(id, &[(Rtt, 5_000.0, 1_000, 0)]);
    for stored in unreadable.distributions.values_mut() {
        stored.n += 1;
    }
    let page = data(&document(&[&b.build()]));
    let trials = array(&page["runs"][0]["details"][0]["trials"]);
    assert_eq!(trials.len(), 8);
    let failed = &trials[5];
    assert_eq!(failed["outcome"], "failed");
    assert_eq!(failed["kind"], "hang");
    assert_eq!(failed["step"], "open");
    assert_eq!(failed["message"], "no peer");
    assert_eq!(failed["counted"], false);
    assert!(failed["pss_bytes"].is_null() && failed["cpu_ns_per_message"].is_null());
    let disturbed = &trials[6];
    assert_eq!(disturbed["outcome"], "completed");
    assert_eq!(disturbed["counted"], false);
    assert_eq!(disturbed["disturbed"][0], "another process took 20 %");
    assert!(array(&disturbed["curve"]).len() > 10);
    let unreadable = &trials[7];
    assert_eq!(unreadable["kind"], "unreadable");
    assert_eq!(unreadable["counted"], false);
}

#[test]
fn a_trial_has_its_quantiles_its_blocks_and_its_cost() {
    let page = data(fixture("with a daemon"));
    let trial = &page["runs"][0]["details"][0]["trials"][0];
    let own = &trial["metrics"]["rtt_ns"];
    assert_eq!(own["n"], 1_000);
    assert_eq!(own["infinite"], 0);
    let p = |name: &str| own[name].as_f64().unwrap();
    assert!(
        p("min") <= p("p50") && p("p50") <= p("p90") && p("p99") <= p("max"),
        "{own}"
    );
    assert_eq!(array(&trial["blocks"]).len(), 4);
    assert!(trial["blocks"][0][0].is_number());
    assert!(trial["host"].is_null());
    let processes = array(&trial["processes"]);
    assert_eq!(processes[2]["label"], "daemon Broker");
    assert_eq!(processes[2]["daemon"], true);
    assert!(processes[2]["cpu_ns"].as_u64().unwrap() > 0);
    assert_eq!(trial["start_s"], 0);
}

#[test]
fn a_first_message_is_the_one_sample_of_its_trial() {
    let page = data(fixture("starts"));
    let run = &page["runs"][0];
    let experiments = array(&run["show"]["experiments"]);
    let place = experiments
        .iter()
        .position(|e| e["workload"] == "first-message")
        .unwrap();
    let trial = &run["details"][place]["trials"][0];
    let own = &trial["metrics"]["first_message_ns"];
    assert_eq!(own["n"], 1);
    assert!(own["p50"].is_number() && own["p90"].is_null(), "{own}");
    for part in ["open_ns", "match_ns", "first_delivery_ns"] {
        assert!(trial["metrics"][part]["p50"].is_number(), "{part}");
    }
    assert_eq!(array(&trial["blocks"]).len(), 0);
    // It is a start's cost, shared among no messages.
    assert!(trial["cpu_ns_per_message"].is_number());
}

#[test]
fn later_runs_are_compared_with_the_first() {
    let (first, second) = (common::small(), common::small());
    let page = data(&document(&[&first, &second, &first]));
    let names: Vec<&Value> = array(&page["runs"]).iter().map(|r| &r["name"]).collect();
    assert_eq!(names, ["A", "B", "C"]);
    let all = array(&page["comparisons"]);
    let pairs: Vec<(u64, u64)> = all
        .iter()
        .map(|c| (c["base"].as_u64().unwrap(), c["new"].as_u64().unwrap()))
        .collect();
    assert_eq!(pairs, [(0, 1), (0, 2)]);
    assert_eq!(all[0]["compare"]["kind"], "compare");
    assert!(!array(&all[0]["compare"]["cells"]).is_empty());
}

#[test]
fn the_two_sides_of_one_run_are_compared_within_it() {
    let page = data(fixture("against"));
    let all = array(&page["comparisons"]);
    assert_eq!(all.len(), 1);
    assert_eq!(
        (&all[0]["base"], &all[0]["new"]),
        (&Value::from(0), &Value::from(0))
    );
    assert_eq!(all[0]["compare"]["paired"], true);
    let cells = array(&all[0]["compare"]["cells"]).iter();
    let experiments = array(&page["runs"][0]["show"]["experiments"]);
    for (cell, id) in cells.zip(array(&all[0]["ids"])) {
        let own = experiments.iter().find(|e| e["id"] == *id).unwrap();
        assert_eq!(
            (&cell["stack"], &cell["topology"]),
            (&own["stack"], &own["topology"])
        );
    }
    assert_eq!(
        page["runs"][0]["name"],
        page["runs"][0]["show"]["run"]["id"]
    );
}

#[test]
fn published_figures_come_with_their_study_and_its_flaws() {
    let page = data(&document(&[&common::small(), &rwth::rwth()]));
    assert_eq!(array(&page["runs"][0]["published"]).len(), 0);
    let run = &page["runs"][1];
    let figures = array(&run["published"]);
    assert!(!figures.is_empty());
    for f in figures {
        let experiment = &run["show"]["experiments"][f["experiment"].as_u64().unwrap() as usize];
        let metric = f["metric"].as_str().unwrap();
        assert!(["service_ns", "first_message_ns"].contains(&metric), "{f}");
        assert!(experiment["stack"].is_string());
        assert!(f["value_ns"].as_f64().unwrap() > 0.0);
        let study = &page["studies"][f["study"].as_u64().unwrap() as usize];
        assert!(
            study["title"]
                .as_str()
                .unwrap()
                .contains("Automotive Middleware"),
            "{study}"
        );
        assert!(!array(&study["flaws"]).is_empty());
    }
    assert_eq!(array(&page["studies"]).len(), 1);
}

#[test]
fn what_cannot_be_read_is_named_and_the_others_are_shown() {
    let run = common::small();
    let damaged = Source::Run {
        run: &run,
        problems: vec!["trials/e0000-t001.json: not a readable trial".into()],
        running: true,
        check: None,
    };
    let lost = Source::Unreadable {
        name: "runs/x".into(),
        reason: "it has no run.json".into(),
    };
    let page = data(&Document::of(&[lost, damaged, source(&run)], &options()));
    assert_eq!(page["unreadable"][0]["name"], "runs/x");
    assert_eq!(array(&page["runs"]).len(), 2);
    assert_eq!(page["runs"][0]["running"], true);
    assert_eq!(array(&page["runs"][0]["problems"]).len(), 1);
    assert_eq!(page["comparisons"][0]["new"], 1);
}

#[test]
fn the_document_of_nothing_is_one_all_the_same() {
    let page = data(&Document::of(&[], &options()));
    assert_eq!(page["format"], 1);
    assert_eq!(array(&page["runs"]).len(), 0);
}

#[test]
fn equal_runs_give_equal_documents() {
    let run = common::streams();
    assert_eq!(document(&[&run]).to_json(), document(&[&run]).to_json());
}

#[test]
fn each_step_is_told() {
    let run = common::small();
    let mut steps = Vec::new();
    Document::with_steps(&[source(&run), source(&run)], &options(), &mut |step| {
        steps.push(match step {
            Step::Summarise(_) => "summarise",
            Step::Draw(_) => "draw",
            Step::Compare(_) => "compare",
        });
    });
    assert_eq!(steps, ["summarise", "draw", "summarise", "draw", "compare"]);
}

/// A hundred and fifty experiments with five trials of twenty blocks each.
fn large() -> Run {
    let mut b = Builder::new("large", "as large as a suite gets", "stacks");
    let blocks: Vec<f64> = (0..20).map(|i| 5_000.0 + 70.0 * f64::from(i)).collect();
    // Always the same one: it is as long as others, and drawing takes its time.
    let drawn = common::distribution_of_blocks(&blocks, 4_000, 0, 1);
    for stack in 0..10u32 {
        for size in 0..15u32 {
            let id = b.experiment(&format!("stack-{stack}"), |e| {
                e.name = "one-way".into();
                e.payload = PayloadSize::new(64 << size).unwrap();
                e.workload = dyno_model::Workload::Flood;
            });
            b.trials(id, &[(Response, 5_000.0, 10, 0)]);
            for record in b.records(id) {
                for metric in [Response, Service] {
                    record.distributions.insert(metric, drawn.clone());
                }
            }
        }
    }
    b.build()
}

#[test]
fn a_page_of_a_hundred_and_fifty_experiments_stays_below_three_megabytes() {
    let bootstrap = Bootstrap {
        resamples: 20,
        ..Bootstrap::default()
    };
    let options = Options {
        summary: SummaryOptions { bootstrap },
        ..Options::default()
    };
    let document = Document::of(&[source(&large())], &options);
    let page = dyno_page::render(&document).unwrap();
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}
