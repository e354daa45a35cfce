//! Searches over simulated trials: a stack whose latency grows towards a wall, with trials that scatter.

use crate::common::{Builder, stream};
use dyno_judge::{Capacities, Capacity, CapacitySearch, End, Rung, Tested, capacities};
use dyno_model::cause::{BareShare, Disturbance};
use dyno_model::origin::Text;
use dyno_model::record::Run;
use dyno_model::*;
use dyno_report::{Format, RenderOptions};

/// Nothing gets through above it, in messages per second.
const WALL: f64 = 100_000.0;

const LIMITS: &str = r#"
[[limit]]
name = "nothing lost"
metric = "loss"
at_most = 0
[[limit]]
name = "in time"
metric = "response"
quantile = "p99"
at_most = "1 ms"
"#;

fn ladder(limits: &str) -> (Builder, Vec<ExperimentId>) {
    let mut builder = Builder::new(0);
    let rungs = (0..160).map(|n| {
        let hz = (1_000.0 * 2f64.powf(f64::from(n) / 16.0)).round();
        builder.experiment("udp", |e| {
            stream(e);
            e.trials = 3;
            e.workload = Workload::Stream {
                rate: RateHz::new(hz).unwrap(),
                arrivals: Arrivals::Fixed,
            };
        })
    });
    let ids = rungs.collect();
    builder.plan().repeats = 2;
    builder.plan().search = Some(Search {
        raise: Raised::Rate,
        until: Text {
            path: "limits.toml".into(),
            text: limits.into(),
        },
        rules: Search::RULES,
    });
    (builder, ids)
}

/// Repeatable noise, 0 to 1.
fn draw(seed: u64, id: TrialId) -> f64 {
    let mut z = seed ^ (u64::from(id.experiment.0) << 32 | u64::from(id.number));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Measures what the search asks for; `change` may change a trial.
fn searched(
    mut builder: Builder,
    seed: u64,
    mut change: impl FnMut(&mut TrialRecord, f64),
) -> (Run, Capacities) {
    let manifest = builder.manifest().clone();
    let mut search = CapacitySearch::new(&manifest).unwrap().unwrap();
    while let Some(id) = search.due() {
        let experiment = manifest.plan.experiment(id.experiment).unwrap();
        let hz = Raised::Rate.of(experiment);
        // A queue: p99 is 3.7 times the p50 in these samples, so it is 1 ms at 81 % of the wall.
        let load = hz / WALL;
        let p50 = if load < 1.0 {
            50e3 / (1.0 - load)
        } else {
            50e6
        };
        let scatter = 1.0 + 0.1 * (draw(seed, id) - 0.5);
        let lost = if load > 1.0 { 40 } else { 0 };
        let record = builder.trial(id.experiment, p50 * scatter, 2_000, lost);
        assert_eq!(record.id, id);
        record.throughput.offered_hz = hz;
        record.throughput.sent_hz = hz;
        change(record, hz);
        search.note(record);
    }
    (builder.build(), search.capacities())
}

fn disturbance() -> dyno_model::Cause<dyno_model::cause::Disturbance> {
    dyno_model::Cause::Told("the host did something".into())
}

#[test]
fn the_knee_of_a_queue_is_found_and_nothing_above_the_wall_is_kept() {
    for seed in 0..12 {
        let (run, found) = searched(ladder(LIMITS).0, seed, |_, _| {});
        let [one] = found.all.as_slice() else {
            panic!("{found:#?}")
        };
        assert_eq!(one.end, End::Found);
        let kept = one.kept.as_ref().unwrap();
        let broken = one.broken.as_ref().unwrap();
        assert!(kept.confirms && kept.rung == Rung::Kept);
        assert!((65e3..82e3).contains(&kept.value), "{seed}: {}", kept.value);
        assert!(
            (80e3..95e3).contains(&broken.value),
            "{seed}: {}",
            broken.value
        );
        assert!(
            broken.broken()[0].contains("p99 response"),
            "{:?}",
            broken.broken()
        );
        let above = one.curve.iter().filter(|t| t.value > WALL);
        assert!(above.clone().count() > 0 && above.clone().all(|t| t.rung == Rung::Broken));
        assert!(run.trials.len() < 70, "{} trials", run.trials.len());
        // What was found can be told again from what is stored.
        assert_eq!(capacities(&run).unwrap().unwrap(), found);
    }
}

#[test]
fn the_highest_that_seemed_kept_is_judged_by_fresh_trials_alone() {
    let (run, found) = searched(ladder(LIMITS).0, 3, |_, _| {});
    let kept = found.all[0].kept.as_ref().unwrap();
    let of = |t: &&TrialRecord| t.id.experiment == kept.experiment.id;
    assert!([3, 6, 12].contains(&kept.judged), "{}", kept.judged);
    assert!(run.trials.iter().filter(of).count() >= 3 + 2);
}

#[test]
fn a_source_that_cannot_send_so_fast_ends_the_search_without_a_broken_limit() {
    let limits = LIMITS.replace("1 ms", "1 min");
    let (_, found) = searched(ladder(&limits).0, 1, |trial, hz| {
        trial.counts.lost = 0;
        trial.throughput.sent_hz = hz.min(40_000.0);
    });
    let one = &found.all[0];
    // 95 % of what is due must be sent.
    assert!(one.kept.as_ref().unwrap().value <= 40_000.0 / 0.95);
    let why = one.broken.as_ref().unwrap().broken();
    assert!(why[0].contains("the sources sent only"), "{why:?}");
}

#[test]
fn a_first_value_that_breaks_a_limit_is_said_with_the_limit() {
    let limits = LIMITS.replace("1 ms", "10 us");
    let (run, found) = searched(ladder(&limits).0, 1, |_, _| {});
    assert_eq!(found.all[0].end, End::NotEvenFirst);
    // Two that break it, and three that confirm it.
    assert_eq!(run.trials.len(), 5);
    let text = found.render(Default::default(), &Default::default());
    assert!(
        text.contains("the first value, 1 kHz, already violates a limit (in time, p99"),
        "{text}"
    );
}

#[test]
fn a_stack_that_fails_has_no_figure_there_and_keeps_what_is_below() {
    let (_, found) = searched(ladder(LIMITS).0, 1, |trial, hz| {
        if hz > 30e3 {
            trial.outcome = Outcome::Failed {
                kind: dyno_model::record::FailureKind::Crash,
                step: "window".into(),
                cause: dyno_model::Cause::Told("it always does".into()),
                stderr: Vec::new(),
            };
        }
    });
    let one = &found.all[0];
    assert!((28e3..=30e3).contains(&one.kept.as_ref().unwrap().value));
    assert_eq!(one.broken, None);
    let text = found.render(Default::default(), &Default::default());
    assert!(text.contains("no figure"), "{text}");
}

#[test]
fn disturbed_trials_are_repeated_and_do_not_count() {
    let (run, found) = searched(ladder(LIMITS).0, 1, |trial, _| {
        if trial.id.number == 0 {
            trial.disturbed.push(disturbance());
            trial.counts.lost = 500;
        }
    });
    let one = &found.all[0];
    assert_eq!(one.end, End::Found);
    assert!((65e3..82e3).contains(&one.kept.as_ref().unwrap().value));
    assert_eq!(capacities(&run).unwrap().unwrap(), found);
}

fn steal() -> Cause<Disturbance> {
    let bare = BareShare {
        share: 0.0,
        taken: 0.0,
    };
    Cause::Known(Disturbance::Steal {
        share: 0.2,
        cpus: vec![0, 1],
        stolen: Nanos(400_000_000),
        bare,
    })
}

/// A search on a host whose hypervisor takes time from two of three trials.
fn stolen_from(rules: u32, seed: u64, limits: &str) -> (usize, Capacity) {
    let (mut builder, _) = ladder(limits);
    builder.plan().search.as_mut().unwrap().rules = rules;
    let (run, found) = searched(builder, seed, |trial, _| {
        if draw(seed + 100, trial.id) < 0.66 {
            trial.disturbed.push(steal());
        }
    });
    assert_eq!(capacities(&run).unwrap().unwrap(), found);
    (run.trials.len(), found.all[0].clone())
}

#[test]
fn trials_that_the_host_only_delayed_show_that_a_limit_is_met() {
    let value = |t: &Option<Tested>| t.as_ref().map_or(0.0, |t| t.value);
    let mut lower = 0;
    for seed in 0..12 {
        let (trials, one) = stolen_from(Search::RULES, seed, LIMITS);
        assert_eq!(one.end, End::Found);
        let kept = value(&one.kept);
        assert!((65e3..82e3).contains(&kept), "{seed}: {kept}");
        assert!((80e3..95e3).contains(&value(&one.broken)), "{seed}");
        assert!(trials < 110, "{trials} trials");
        // So it was before, and so searches of older builds are still told.
        let (_, before) = stolen_from(1, seed, LIMITS);
        lower += usize::from(value(&before.kept) < kept / 2.0);
    }
    assert!(lower >= 10, "{lower} of 12");
}

#[test]
fn a_delayed_trial_shows_nothing_of_a_limit_that_a_backlog_makes_easier() {
    let cpu = "[[limit]]\nname = \"cheap\"\nmetric = \"cpu_per_message\"\nat_most = \"1 s\"\n";
    let (_, one) = stolen_from(Search::RULES, 1, &format!("{LIMITS}{cpu}"));
    let (_, before) = stolen_from(1, 1, &format!("{LIMITS}{cpu}"));
    assert_eq!(one.kept, before.kept);
    assert_eq!(one.end, before.end);
}

#[test]
fn a_delayed_trial_that_loses_messages_keeps_no_limit() {
    let (_, found) = searched(ladder(LIMITS).0, 1, |trial, hz| {
        trial.disturbed.push(steal());
        if hz > 30e3 {
            trial.counts.lost = 1;
        }
    });
    let one = &found.all[0];
    let kept = one.kept.as_ref().unwrap();
    assert!(
        kept.value <= 30e3 && kept.disturbed == kept.judged,
        "{kept:?}"
    );
    let text = found.render(Format::Table, &RenderOptions::default());
    assert!(
        text.contains(&format!(
            "{0} trials, of which the host disturbed {0}",
            kept.judged
        )),
        "{text}"
    );
}

#[test]
fn a_first_value_that_the_host_left_undecided_is_measured_afresh() {
    let (run, found) = searched(ladder(LIMITS).0, 1, |trial, hz| {
        if hz == 1_000.0 && trial.id.number < 3 {
            trial.disturbed.push(disturbance());
        }
    });
    let one = &found.all[0];
    assert_eq!(one.end, End::Found);
    assert!((65e3..82e3).contains(&one.kept.as_ref().unwrap().value));
    let of_first: Vec<(bool, Rung)> = one
        .curve
        .iter()
        .filter(|t| t.value == 1_000.0)
        .map(|t| (t.confirms, t.rung))
        .collect();
    assert_eq!(of_first, [(false, Rung::Undecided), (true, Rung::Kept)]);
    assert_eq!(capacities(&run).unwrap().unwrap(), found);
}

#[test]
fn an_interrupted_search_goes_on_where_it_was() {
    let (run, found) = searched(ladder(LIMITS).0, 5, |_, _| {});
    let mut search = CapacitySearch::new(&run.manifest).unwrap().unwrap();
    // Stored trials come in order of experiments, not in that of the search.
    let (early, late) = run.trials.split_at(run.trials.len() / 2);
    late.iter().for_each(|t| search.note(t));
    let state = search.capacities().all[0].end;
    assert_eq!(state, End::Unfinished);
    early.iter().for_each(|t| search.note(t));
    assert_eq!(search.due(), None);
    assert_eq!(search.capacities(), found);
}

#[test]
fn limits_that_no_search_can_hold_are_refused() {
    let refused = |limits: &str| {
        let manifest = ladder(limits).0.manifest().clone();
        let error = CapacitySearch::new(&manifest).unwrap_err();
        let problem = &error.problems()[0];
        format!("{problem}; {}", problem.advice().unwrap_or_default())
    };
    let floor = "[[limit]]\nname = \"near\"\nmetric = \"x_floor\"\nat_most = 3\n";
    assert!(
        refused(floor).contains("and a search measures none"),
        "{}",
        refused(floor)
    );
    let largest = "[[limit]]\nname = \"worst\"\nmetric = \"response\"\nquantile = \"max\"\nat_most = \"1 s\"\n";
    assert!(
        refused(largest).contains("no number of samples can show"),
        "{}",
        refused(largest)
    );
    let trip =
        "[[limit]]\nname = \"trip\"\nmetric = \"rtt\"\nquantile = \"p50\"\nat_most = \"1 s\"\n";
    assert!(refused(trip).contains("ping-pong"), "{}", refused(trip));
    let other = format!("{LIMITS}stack = \"tcp\"\n");
    assert!(
        refused(&other).contains("has the stack `tcp`"),
        "{}",
        refused(&other)
    );
}

#[test]
fn a_capacity_is_told_without_the_first_value_and_with_a_refusal_of_its_own() {
    // Loss alone is limited, and none is lost.
    let loss = LIMITS.rfind("[[limit]]").map(|at| &LIMITS[..at]);
    let (mut builder, _) = ladder(loss.unwrap());
    let first = builder.plan().experiments[0].clone();
    let refusal = |workload: &str, payload: &str, reason: &str| dyno_model::plan::Refusal {
        experiment: first.name.clone(),
        stack: first.stack.clone(),
        factors: format!(
            "{workload}, {payload}, {}, {}, {}, {}",
            first.wait, first.access, first.placement, first.topology
        ),
        reason: reason.into(),
    };
    let own = first.payload.to_string();
    builder.plan().refused = vec![
        refusal("stream 1 kHz", "4 MiB", "of another ladder"),
        refusal("stream 2 MHz", &own, "too fast for its queue"),
    ];
    let (_, found) = searched(builder, 1, |trial, _| trial.counts.lost = 0);
    let one = &found.all[0];
    assert_eq!(one.end, End::Top);
    assert_eq!(one.refused_above.as_deref(), Some("too fast for its queue"));
    let text = found.render(Default::default(), &Default::default());
    assert!(
        text.contains("Dyno refuses higher values: too fast"),
        "{text}"
    );
    assert!(!text.contains("stream 1 kHz"), "{text}");
    // Three looks that together err once in twenty.
    let confidence = |confirms| {
        one.curve
            .iter()
            .find(|t| t.confirms == confirms)
            .unwrap()
            .confidence
    };
    assert!((confidence(false) - 0.95).abs() < 1e-9);
    assert!((confidence(true) - (1.0 - 0.05 / 3.0)).abs() < 1e-9);
}

#[test]
fn the_document_has_the_line_of_each_limit_and_the_experiment_of_each_value() {
    let (run, found) = searched(ladder(LIMITS).0, 3, |_, _| {});
    let document = found.document();
    let text = found.render(Format::Json, &RenderOptions::default());
    // Both read back: the last bit of a number may change on the way.
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(read(&document.to_string()), read(&text));
    let one = &document["capacities"][0];
    let lines: Vec<_> = one["limits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| {
            let text = |key: &str| l[key].as_str().unwrap().to_owned();
            (
                text("limit"),
                text("measure"),
                text("unit"),
                text("bound"),
                l["bound_value"].as_f64().unwrap(),
            )
        })
        .collect();
    let line = |limit: &str, measure: &str, unit: &str, bound: &str, value: f64| {
        let [limit, measure, unit, bound] = [limit, measure, unit, bound].map(str::to_owned);
        (limit, measure, unit, bound, value)
    };
    assert_eq!(
        lines,
        [
            line("nothing lost", "loss", "1", "at_most_count", 0.0),
            line("in time", "p99 response", "ns", "at_most", 1e6),
        ]
    );
    let curve = one["curve"].as_array().unwrap();
    assert_eq!(curve.len(), found.all[0].curve.len());
    for point in curve {
        let id = ExperimentId(u32::try_from(point["id"].as_u64().unwrap()).unwrap());
        let e = run.manifest.plan.experiment(id).unwrap();
        assert_eq!(point["value"], Raised::Rate.of(e));
    }
}

/// Which trials are odd, how the search ends then, and a part of the sentence.
const ODD_SIDES: &[(&str, End, &str)] = &[
    ("empty", End::Unfinished, "not finished; continue with"),
    ("single", End::Unfinished, "not finished; continue with"),
    ("failed", End::NotEvenFirst, "does not meet all limits"),
    ("infinite", End::NotEvenFirst, "already violates a limit"),
    (
        "disturbed",
        End::NotEvenFirst,
        "the host disturbed 3 of 3 trials, and 3 undisturbed ones are needed",
    ),
    (
        "mostly disturbed",
        End::NotEvenFirst,
        "the host disturbed 3 of 4 trials, and 3 undisturbed ones are needed",
    ),
];

/// What is missing, failed, lost or disturbed in every trial never makes a capacity.
#[test]
fn odd_sides_have_no_capacity_and_their_sentences() {
    let mut wrong = Vec::new();
    for (side, end, sentence) in ODD_SIDES {
        let (mut run, mut found) = searched(ladder(LIMITS).0, 1, |trial, _| match *side {
            "failed" => {
                trial.outcome = Outcome::Failed {
                    kind: dyno_model::record::FailureKind::Crash,
                    step: "window".into(),
                    cause: dyno_model::Cause::Told("it always does".into()),
                    stderr: Vec::new(),
                };
            }
            "infinite" => {
                trial.counts.lost = trial.counts.offered;
                trial.counts.received = 0;
                let all = trial.distributions.values_mut();
                all.for_each(|d| d.infinite += 100 * d.n);
            }
            "disturbed" => trial.disturbed.push(disturbance()),
            "mostly disturbed" if trial.id.number % 4 > 0 => trial.disturbed.push(disturbance()),
            _ => {}
        });
        let left = match *side {
            "empty" => Some(0),
            "single" => Some(1),
            _ => None,
        };
        if let Some(left) = left {
            run.trials.truncate(left);
            found = capacities(&run).unwrap().unwrap();
        }
        let one = &found.all[0];
        let text = found.render(Default::default(), &Default::default());
        if one.end != *end || one.kept.is_some() || !text.contains(sentence) {
            wrong.push(format!("{side}: {:?}, {:?}: {text}", one.end, one.kept));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_a_disturbed_trial_lost_keeps_its_value_open() {
    let of = |rules| {
        let (mut builder, _) = ladder(LIMITS);
        builder.plan().search.as_mut().unwrap().rules = rules;
        let (run, found) = searched(builder, 1, |trial, hz| {
            if hz > 8e3 && trial.id.number % 3 == 0 {
                trial.disturbed.push(disturbance());
                trial.counts.lost = 500;
            }
        });
        assert_eq!(capacities(&run).unwrap().unwrap(), found);
        found.all[0].clone()
    };
    let kept = |one: &Capacity| one.kept.as_ref().unwrap().value;
    assert!(kept(&of(1)) > 65e3);
    let one = of(Search::RULES);
    assert!(kept(&one) <= 8e3, "{:?}", one.kept);
    assert!(
        one.broken.as_ref().unwrap().value > 65e3,
        "{:?}",
        one.broken
    );
    let why: Vec<String> = one.between.iter().map(Tested::why).collect();
    let said = "but not together with the trials that the host disturbed";
    assert!(why.iter().any(|w| w.contains(said)), "{why:#?}");
}
