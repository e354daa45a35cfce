//! Study files: what they can say, and what is said of their mistakes.

use crate::common::{Builder, summary};
use dyno_model::origin::{Origin, Request, Text};
use dyno_model::{Metric, PayloadSize};
use dyno_report::study::of_text;
use dyno_report::{Format, RenderOptions, Summary, render};
use std::collections::BTreeSet;

const EXAMPLE: &str = include_str!("../../../../examples/studies/half-trips.toml");
const ICEPERF: &str = include_str!("../../../../studies/iceperf.toml");
const L4RE: &str = include_str!("../../../../studies/l4re.toml");
const RWTH: &str = include_str!("../../../../studies/rwth.toml");
const SCORE: &str = include_str!("../../../../studies/s-core.toml");
const SODEV: &str = include_str!("../../../../studies/sodev.toml");
const SUITE: &str = include_str!("../../../../suites/sodev.toml");
const LIMITS: &str = include_str!("../../../../limits/sodev.toml");

/// Two stacks and two payloads, of which one has too few samples, shown by that study.
fn shown_by(study: &str) -> String {
    let mut b = Builder::new("half-trips", "half trips", "stacks");
    for (stack, p50) in [("uds-stream", 8_000.0), ("tcp", 20_000.0)] {
        for (bytes, samples) in [(64, 3_000), (1_024, 3_000), (65_536, 20)] {
            let id = b.experiment(stack, |e| {
                e.name = "echo".into();
                e.payload = PayloadSize::new(bytes).unwrap();
            });
            let p50 = p50 * (1.0 + bytes as f64 / 1_024.0);
            b.trials(id, &[(Metric::Rtt, p50, samples, 0)]);
        }
    }
    let mut summary: Summary = summary(&b.build());
    summary.run.study = Some(Text {
        path: "studies/half-trips.toml".into(),
        text: study.into(),
    });
    render(&summary, Format::Markdown, &RenderOptions::default())
}

#[test]
fn a_users_study_is_one_file() {
    insta::assert_snapshot!(shown_by(EXAMPLE));
}

#[test]
fn a_stored_study_that_cannot_be_read_is_named_above_the_table_of_stacks() {
    let text = shown_by("shows = 3");
    assert!(
        text.starts_with("The tables of the study studies/half-trips.toml cannot be shown: "),
        "{text}"
    );
    assert!(text.contains("| uds-stream"), "{text}");
}

#[test]
fn the_study_of_a_run_stands_in_its_origin() {
    let mut b = Builder::new("half-trips", "half trips", "stacks");
    b.experiment("tcp", |_| {});
    let study = Text {
        path: "mine.toml".into(),
        text: EXAMPLE.into(),
    };
    let text = || Text {
        path: String::new(),
        text: String::new(),
    };
    b.run.manifest.origin = Some(Origin {
        request: Request::default(),
        suite: text(),
        testbed: text(),
        stacks: Default::default(),
        study: Some(study.clone()),
    });
    assert_eq!(summary(&b.build()).run.study, Some(study));
}

#[test]
fn a_mistake_is_told_at_its_place_with_the_nearest_word() {
    let mut wrong = Vec::new();
    for (from, to, at, says, help) in [
        (
            "{stack}",
            "{stak}",
            "\"{stak}\"",
            "no metric, figure or factor `stak`",
            "did you mean `stack`?",
        ),
        (
            "rtt_ns.p50 / 2",
            "rtt.p50 / 2",
            "\"{rtt.p50 / 2:time}\"",
            "no metric, figure or factor `rtt`",
            "did you mean `rtt_ns`?",
        ),
        (
            "rtt_ns.p50 / 2",
            "rtt_ns.p55 / 2",
            "\"{rtt_ns.p55 / 2:time}\"",
            "`rtt_ns` has no `p55`",
            "did you mean `p50`?",
        ),
        (
            "rtt_ns.p50 / 2",
            "rtt_ns / 2",
            "\"{rtt_ns / 2:time}\"",
            "`rtt_ns` is a metric",
            "`rtt_ns.p50`",
        ),
        (
            ":digits",
            ":digit",
            "\"{rtt_ns.p50 / smallest.rtt_ns.p50:digit}\"",
            "no format `digit`",
            "did you mean `digits`?",
        ),
        (
            "\"latency\"",
            "\"latencies\"",
            "'{printed(\"latencies\", payload)}'",
            "no published table \"latencies\"",
            "as the published",
        ),
        (
            "half(rtt_ns.p50)",
            "hall(rtt_ns.p50)",
            "\"{hall(rtt_ns.p50)}\"",
            "no function `hall`",
            "did you mean `half`?",
        ),
        (
            "half(rtt_ns.p50)",
            "half()",
            "\"{half()}\"",
            "`half` takes 1 arguments, found 0",
            "lists the functions",
        ),
        (
            "smallest.rtt_ns",
            "smalest.rtt_ns",
            "\"{rtt_ns.p50 / smalest.rtt_ns.p50:digits}\"",
            "`smalest`",
            "did you mean `smallest`?",
        ),
        (
            "labels = 2",
            "label = 2",
            "label",
            "unknown field `label`",
            "`labels`",
        ),
        (
            "workload = \"ping-pong\" }]",
            "workloads = \"ping-pong\" }]",
            "{ workloads",
            "`workloads`",
            "did you mean `workload`?",
        ),
        (
            "cells = [\"{stack}\"]",
            "cells = []",
            "\"p50 of a half trip",
            "0 cells for 1 columns",
            "a cell for each",
        ),
        (
            "of = { workload = \"ping-pong\" }\ncolumns",
            "of = \"echo\"\ncolumns",
            "\"echo\"",
            "no selection `echo`",
            "there are no selections",
        ),
        (
            "labels = 2",
            "labels = 7",
            "7",
            "of 7 columns cannot have 7 labels",
            "fewer `labels`",
        ),
        (
            "before =",
            "befor =",
            "befor",
            "unknown field `befor`",
            "`before`",
        ),
    ] {
        assert!(EXAMPLE.contains(from), "{from}");
        let text = EXAMPLE.replacen(from, to, 1);
        wrong.extend(otherwise(&text, at, says, help));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is not as wanted: one mistake, which is told at `at`, says this, and gives that help.
fn otherwise(text: &str, at: &str, says: &str, help: &str) -> Option<String> {
    let Err(mistakes) = of_text("mine.toml", text) else {
        return Some(format!("{says} at {at}: no mistake was told"));
    };
    let [problem] = mistakes.problems() else {
        return Some(format!("{says}: {:?}", mistakes.problems()));
    };
    let told = format!("{problem}; {}", problem.advice().unwrap_or(""));
    let place = &text[problem.span()];
    let is_fine = problem.to_string().contains(says) && told.contains(help) && place.contains(at);
    (!is_fine).then(|| format!("{says} at {at}; {help}: {told} at {place}"))
}

#[test]
fn a_mistake_in_a_built_in_study_is_told_once_and_at_its_place() {
    let mut wrong = Vec::new();
    for (study, from, to, at, says, help) in [
        (
            ICEPERF,
            "published = \"iceperf-2020\"",
            "published = \"iceperf\"",
            "\"iceperf\"",
            "no published figures \"iceperf\"",
            "did you mean `iceperf-2020`?",
        ),
        (
            ICEPERF,
            "shows = [",
            "show = [",
            "show",
            "unknown field `show`",
            "`shows`",
        ),
        (
            ICEPERF,
            "metric = \"rtt_ns\"",
            "metric = \"trip\"",
            "\"trip\"",
            "this is no metric",
            "`rtt_ns`",
        ),
        (
            ICEPERF,
            "metric = \"rtt_ns\"",
            "metric = \"stack\"",
            "\"stack\"",
            "this is no metric",
            "`rtt_ns`",
        ),
        (
            ICEPERF,
            "statistic = \"mean\"",
            "statistic = \"average\"",
            "\"average\"",
            "unknown variant `average`",
            "`mean`",
        ),
        (
            ICEPERF,
            "has_column(\"Shape\")",
            "has_column(\"Shapes\")",
            "'{?has_column(\"Shapes\")}",
            "no table has a column \"Shapes\"",
            "as the published",
        ),
        (
            ICEPERF,
            "bars = '{shape(\"rtt_ns\")}'",
            "bars = '{shape(\"rtt\")}'",
            "'{shape(\"rtt\")}'",
            "no metric \"rtt\"",
            "tables.md",
        ),
        (
            ICEPERF,
            "size = ['{?unit",
            "size = ['{size}', '{?unit",
            "['{size}', '{?unit",
            "`size` is defined by itself",
            "without it",
        ),
        (
            ICEPERF,
            "least = \"payload_bytes\" }",
            "least = \"every.payload_bytes\" }",
            "\"every.payload_bytes\"",
            "no metric, figure or factor `every`",
            "study-files.md",
        ),
        (
            ICEPERF,
            "heading(\"payload\", \"window\")",
            "heading(\"payloads\", \"window\")",
            "[\n        '{?unit = \"kB\"}Latency",
            "no factor with the title \"payloads\"",
            "tables.md",
        ),
        (
            ICEPERF,
            "{rtt_ns.max / 2000:digits}",
            "{rtt_ns.max / 2000",
            "\"{rtt_ns.max / 2000\"",
            "is not closed",
            "write `}`",
        ),
        (
            ICEPERF,
            "forms = 6",
            "forms = \"6\"",
            "\"6\"",
            "invalid type",
            "study-files.md",
        ),
        (
            RWTH,
            "s = \"f8-zenoh/zenoh\"",
            "s = \"f8-zenoh/zeno\"",
            "\"f8-zenoh/zeno\"",
            "no figure \"f8-zenoh/zeno\"",
            "as the published",
        ),
        (
            RWTH,
            "said(\"f8-samples/samples\")",
            "said(\"f8/samples\")",
            "'{?place = \"D1-1\"}{said(arrived)}",
            "no figure \"f8/samples\"",
            "as the published",
        ),
        (
            RWTH,
            "of = \"rank\"",
            "of = \"ranks\"",
            "\"ranks\"",
            "has the name `ranks`",
            "did you mean `rank`?",
        ),
        (
            RWTH,
            "value = 'clear(\"service_ns.p50\")'",
            "value = 'clear(\"service_ns.p51\")'",
            "'clear(\"service_ns.p51\")'",
            "`service_ns` has no `p51`",
            "did you mean",
        ),
        (
            RWTH,
            "other = \"stack + mark\"",
            "other = \"stack + marks\"",
            "\"stack + marks\"",
            "`marks`",
            "did you mean `mark`?",
        ),
        (
            RWTH,
            "[{ placement = [\"process\", \"host\"], stack = \"zenoh-udp\" }]",
            "[{ place_ment = \"host\" }]",
            "{ place_ment",
            "`place_ment`",
            "did you mean `placement`?",
        ),
        (
            RWTH,
            "for = \"first\"\nlines",
            "for = \"firsts\"\nlines",
            "\"firsts\"",
            "no selection `firsts`",
            "did you mean `first`?",
        ),
        (
            RWTH,
            "printed(\"messages\", \"Frequency [Hz]\", experiment)",
            "printed(\"message\", \"Frequency [Hz]\", experiment)",
            "'{printed(\"message\",",
            "no row \"Frequency [Hz]\"",
            "as the published",
        ),
        (
            L4RE,
            "after = \"all\"",
            "after = \"ever\"",
            "\"ever\"",
            "unknown variant `ever`",
            "`all`",
        ),
        (
            L4RE,
            "each = \"printed arm\"",
            "each = \"printed arms\"",
            "\"printed arms\"",
            "names no published table",
            "`each = \"printed latency\"`",
        ),
        (
            L4RE,
            "'{?from_another_run(\"x86\", id, \"intra\")}{c2} †'",
            "'{?from_another_run(\"x68\", id, \"intra\")}{c2} †'",
            "['{?from_another_run(\"x68\"",
            "no published table \"x68\"",
            "as the published",
        ),
        (
            RWTH,
            "each = \"ranking\"",
            "each = \"rankings\"",
            "\"rankings\"",
            "has no `rankings`s",
            "did you mean `ranking`?",
        ),
        (
            L4RE,
            "labels = 4",
            "labels = 6",
            "6",
            "of 5 columns cannot have 6 labels",
            "fewer `labels`",
        ),
        (
            L4RE,
            "    [\"{headline.p50 / alone.headline.p50:digits}\", \"\"],\n",
            "",
            "[\"{?stack}{time}\", \"\"]",
            "2 cells for 3 columns of `across`",
            "as `across` of the table",
        ),
        (
            SCORE,
            "with = \"larger\"",
            "with = \"large\"",
            "\"large\"",
            "unknown variant `large`",
            "`larger`",
        ),
        (
            SCORE,
            "from = \"payload_bytes\"",
            "from = \"payload_byte\"",
            "\"payload_byte\"",
            "`payload_byte`",
            "did you mean `payload_bytes`?",
        ),
        (
            SCORE,
            "same = [\"stack\", \"wait\", \"placement\", \"payload_bytes\"] }",
            "same = [\"stack\", \"waits\"] }",
            "\"waits\"",
            "`waits`",
            "did you mean `wait`?",
        ),
    ] {
        assert!(study.contains(from), "{from}");
        let text = study.replacen(from, to, 1);
        wrong.extend(otherwise(&text, at, says, help));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_stored_study_may_have_the_old_names() {
    for (study, old, new) in [
        (L4RE, "another_ratio(", "from_another_run("),
        (RWTH, "behind = 1", "after_across = 1"),
        (SCORE, "{?alike > 1}", "{?same_kind > 1}"),
    ] {
        assert!(study.contains(new), "{new}");
        let text = study.replace(new, old);
        let mistakes = of_text("mine.toml", &text).err();
        assert!(mistakes.is_none(), "{old}: {mistakes:?}");
    }
}

#[test]
fn definitions_that_double_each_other_are_refused() {
    let doubled = |n: usize| format!("n{n} = \"{{n{}}}{{n{}}}\"\n", n + 1, n + 1);
    let defines: String = (0..40).map(doubled).collect();
    let text = format!("shows = []\n[define]\n{defines}n40 = \"{{stack}}\"\n");
    let mistakes = of_text("mine.toml", &text).unwrap_err();
    let first = mistakes.problems()[0].to_string();
    assert!(
        first.contains("more than 100000 names stand behind `n0`"),
        "{first}"
    );
}

/// The texts of a key in all inline tables of a study.
fn texts(study: &str, key: &str) -> BTreeSet<String> {
    let mark = format!("{key} = \"");
    let found = study.match_indices(&mark).map(|(at, _)| {
        let rest = &study[at + mark.len()..];
        rest[..rest.find('"').unwrap()].to_owned()
    });
    found.collect()
}

#[test]
fn suite_and_limits_of_sodev_have_what_its_rows_are_made_of() {
    let suite: toml::Table = toml::from_str(SUITE).unwrap();
    let limits: toml::Table = toml::from_str(LIMITS).unwrap();
    let text = |value: &toml::Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
    let of = |table: &toml::Table, list: &str, key: &str| -> BTreeSet<String> {
        let all = table[list].as_array().unwrap().iter();
        all.filter_map(|value| text(value, key)).collect()
    };
    let called = of(&limits, "limit", "name");
    let named: Vec<String> = SODEV
        .match_indices("{?name = \"")
        .map(|(at, mark)| {
            let rest = &SODEV[at + mark.len()..];
            rest[..rest.find('"').unwrap()].to_owned()
        })
        .collect();
    assert_eq!(named.len(), 4);
    for name in named {
        assert!(called.contains(&name), "{name} of {called:?}");
    }
    let experiments = of(&suite, "experiment", "name");
    for experiment in of(&limits, "limit", "experiment") {
        assert!(
            experiments.contains(&experiment),
            "{experiment} of {experiments:?}"
        );
    }
    let all = suite["experiment"].as_array().unwrap();
    let border = all
        .iter()
        .find(|e| text(e, "name").as_deref() == Some("border"))
        .unwrap();
    let stacks = border["stacks"].as_array().unwrap();
    let ours: BTreeSet<String> = stacks
        .iter()
        .map(|s| s.as_str().unwrap().to_owned())
        .collect();
    let rows = SODEV
        .lines()
        .find(|line| line.starts_with("each = [{ stack"))
        .unwrap();
    assert_eq!(ours, texts(rows, "stack"));
}
