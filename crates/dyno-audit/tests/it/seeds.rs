//! What is found in the five published sources, by checks that know none of them.

use dyno_audit::{Audit, Outcome, Statements, Verdict};

fn audited(name: &str) -> (Statements, Audit) {
    let path = format!("{}/../../published/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let statements = Statements::parse(&text, &path).unwrap_or_else(|e| panic!("{e}"));
    let audit = Audit::of(&statements);
    // `cargo test -p dyno-audit --test seeds -- --nocapture` prints what is found.
    println!(
        "{}",
        dyno_audit::text(&statements, &audit, dyno_audit::Options::default())
    );
    (statements, audit)
}

/// The findings of a check with that verdict whose words or calculation hold `with`.
fn found<'a>(audit: &'a Audit, check: &str, verdict: Verdict, with: &str) -> Vec<&'a Outcome> {
    let all = audit
        .outcomes
        .iter()
        .filter(|o| o.check == check && o.verdict == verdict);
    let holds = |o: &&Outcome| {
        let words = format!("{} {} {}", o.says, o.calculation, o.figures.join(" "));
        words.contains(with)
    };
    all.filter(holds).collect()
}

/// Each of these checks, with its verdict and a part of its words.
#[track_caller]
fn must(audit: &Audit, all: &[(&str, Verdict, &str)]) {
    for (check, verdict, with) in all {
        assert!(
            !found(audit, check, *verdict, with).is_empty(),
            "{check} finds no {} with {with:?}; it has {:#?}",
            verdict.as_str(),
            audit
                .outcomes
                .iter()
                .filter(|o| o.check == *check)
                .take(10)
                .collect::<Vec<_>>()
        );
    }
}

use Verdict::{CannotBeKnown, Impossible, Inconsistent, NoObjection, NotWhatItIsCalled};

#[test]
fn s_core() {
    let (_, audit) = audited("s-core-2025");
    // 50 and 100 ms sit on a timer.
    must(
        &audit,
        &[
            ("timer", NotWhatItIsCalled, "50.29 ms − 50 ms"),
            ("timer", NotWhatItIsCalled, "100.22 ms − 100 ms"),
        ],
    );
    // Percentages within one σ that 30 values cannot have.
    for share in ["98.3%", "97.1%", "95.2%", "96.8%", "97.0%"] {
        must(&audit, &[("granularity", Impossible, share)]);
    }
    assert!(found(&audit, "granularity", Impossible, "96.7% is").is_empty());
    // Messages per CPU second.
    must(
        &audit,
        &[
            ("cpu-seconds", NotWhatItIsCalled, "12,050 msg/s × 240 µs"),
            // σ against the raw output.
            ("same-figure", Inconsistent, "21.1 µs"),
            ("raw-values", Inconsistent, "21.1 µs"),
            // A p99 over thirty means.
            ("tail-samples", NotWhatItIsCalled, "tail/tiny-8b/p99"),
            ("tail-samples", NotWhatItIsCalled, "percentile of means"),
            // A counter that was multiplied.
            ("counter", NotWhatItIsCalled, "8 B × 13 iterations"),
            ("build-and-date", Inconsistent, "2025-08-06"),
            ("build-and-date", CannotBeKnown, "DEBUG"),
            ("requirement", CannotBeKnown, "< 100 ms"),
        ],
    );
}

#[test]
fn iceperf() {
    let (_, audit) = audited("iceperf-2020");
    must(
        &audit,
        &[
            ("comparison", NotWhatItIsCalled, "block against poll"),
            ("half-trip", NotWhatItIsCalled, "half"),
            ("by-size", Inconsistent, ""),
        ],
    );
}

#[test]
fn sodev() {
    let (_, audit) = audited("sodev-2025");
    must(
        &audit,
        &[
            ("in-flight", Impossible, "12,000"),
            ("sum-of-tails", NotWhatItIsCalled, "p99"),
            ("sum-of-tails", NotWhatItIsCalled, "max"),
            // Shares of 57,360 lines: 24.97 % may be cut to 24.9, 25.47 % is no 25.6.
            ("arithmetic", Inconsistent, "25.6"),
            // Names of cells stand in quotes, sums in parentheses.
            (
                "arithmetic",
                Inconsistent,
                "\"3, share\" is not \"3, runtime\" / (\"0, runtime\" + \"1, runtime\"",
            ),
            ("arithmetic", NoObjection, "only if digits were cut off"),
        ],
    );
    assert!(found(&audit, "arithmetic", Inconsistent, "24.9").is_empty());
    must(
        &audit,
        &[
            ("requirement", CannotBeKnown, "a mean within the limit"),
            ("requirement", CannotBeKnown, "<5µs"),
            ("tool", NotWhatItIsCalled, "round trip"),
            ("emulated", CannotBeKnown, "QEMU"),
            // "Inter-VM communication <2ms via VirtIO", whose TCP takes 2.4 ms.
            ("arithmetic", Inconsistent, "end-latency"),
        ],
    );
}

#[test]
fn rwth() {
    let (_, audit) = audited("rwth-2025");
    must(
        &audit,
        &[
            (
                "link",
                NotWhatItIsCalled,
                "1600 Mbit/s on a link of 1000 Mbit/s",
            ),
            ("median-is-maximum", NotWhatItIsCalled, "11.783"),
            ("arithmetic", Inconsistent, "11.631"),
            // The text's means are the table's medians.
            ("arithmetic", NotWhatItIsCalled, "0.487 ms = 0.487 ms"),
            ("arithmetic", NotWhatItIsCalled, "3.170 ms ≈ 3.171 ms"),
            ("half-trip", CannotBeKnown, "clocks"),
        ],
    );
}

#[test]
fn l4re() {
    let (_, audit) = audited("l4re-2025");
    must(
        &audit,
        &[
            ("two-clocks", Inconsistent, "222 / 160"),
            // "Multiple ten thousand calls" is not a number.
            ("not-stated", CannotBeKnown, "arm/rpi5-el1/intra"),
        ],
    );
}

#[test]
fn the_five_are_one_page() {
    let names = [
        "s-core-2025",
        "iceperf-2020",
        "sodev-2025",
        "rwth-2025",
        "l4re-2025",
    ];
    let all: Vec<(Statements, Audit)> = names.into_iter().map(audited).collect();
    let pairs: Vec<(&Statements, &Audit)> = all.iter().map(|(s, a)| (s, a)).collect();
    let page = dyno_audit::page(&pairs).unwrap_or_else(|e| panic!("{e:?}"));
    for (statements, audit) in &all {
        for layout in &statements.layouts {
            let id = format!("<table id=\"{}\">", layout.id);
            assert!(page.contains(&id), "{id}");
        }
        // Each finding of a cell is a link in it.
        assert!(page.matches("<sup><a href=").count() > audit.findings().count() / 2);
    }
    let findings: usize = all.iter().map(|(_, a)| a.findings().count()).sum();
    assert_eq!(page.matches("<tr id=").count(), findings);
}
