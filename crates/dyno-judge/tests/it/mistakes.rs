//! Limits files with mistakes.

use crate::check::run;
use dyno_judge::{CheckOptions, Limits, LimitsError, check};
use dyno_model::record::Run;

fn refused(run: &Run, text: &str) -> LimitsError {
    match Limits::parse("limits.toml", text) {
        Err(e) => e,
        Ok(limits) => check(run, &limits, &CheckOptions::default()).unwrap_err(),
    }
}

#[test]
fn mistakes_are_refused_with_their_place() {
    let run = run();
    let cases = [
        ("[[limit]\n", "this is not TOML"),
        ("", "there is no limit in this file"),
        ("limits = 1\n", "a limits file has no key `limits`"),
        (
            "[limit]\nname = \"x\"\n",
            "`limit` must be a list of tables, found a table",
        ),
        (
            "[[limit]]\nmetric = \"loss\"\nat_most = 0\n",
            "a limit needs a `name`",
        ),
        ("[[limit]]\nname = \"x\"\n", "a limit needs a `metric`"),
        (
            "[[limit]]\nname = \"x\"\nmetric = \"responze\"\n",
            "there is no metric `responze`",
        ),
        (
            "[[limit]]\nname = \"x\"\nmetric = \"response\"\nat_most = \"1 ms\"\n",
            "a limit on `response` needs a `quantile`",
        ),
        (
            "[[limit]]\nname = \"x\"\nmetric = \"loss\"\nquantile = \"p99\"\nat_most = 0\n",
            "`loss` has no quantile",
        ),
        (
            "[[limit]]\nname = \"x\"\nmetric = \"rtt\"\nquantile = \"99\"\nat_most = \"1 ms\"\n",
            "`quantile`: \"99\" is not a quantile",
        ),
        (
            "[[limit]]\nname = \"x\"\nmetric = \"memory\"\nat_most = \"5 ms\"\n",
            "`at_most`: \"5 ms\" is not a size",
        ),
        (
            "[[limit]]\nname = \"x\"\nmetric = \"memory\"\nat_most = 5\n",
            "`at_most` of `memory` cannot be a whole number",
        ),
        (
            "[[limit]]\nname = \"x\"\nmetric = \"throughput\"\nat_most = \"5 /s\"\n",
            "a limit on `throughput` says `at_least`, not `at_most`",
        ),
        (
            "[[limit]]\nname = \"x\"\nmetric = \"x_floor\"\nat_most = -1\n",
            "`at_most` of `x_floor` is out of range",
        ),
        (
            "[[limit]]\nname = \"x\"\nmetric = \"loss\"\n",
            "a limit on `loss` needs `at_most`",
        ),
        (
            "[[limit]]\nname = \"x\"\nstakc = \"tcp\"\nmetric = \"loss\"\nat_most = 0\n",
            "a limit has no key `stakc`",
        ),
        (
            "[[limit]]\nname = \"x\"\nstack = \"tpc\"\nmetric = \"loss\"\nat_most = 0\n",
            "no experiment of this run has the stack `tpc`",
        ),
        (
            "[[limit]]\nname = \"x\"\nstack = []\nmetric = \"loss\"\nat_most = 0\n",
            "`stack` selects nothing",
        ),
        (
            "[[limit]]\nname = \"x\"\npayload = \"64 b\"\nmetric = \"loss\"\nat_most = 0\n",
            "`payload`: \"64 b\" is not a payload size",
        ),
        (
            "[[limit]]\nname = \"x\"\nsuite = \"night\"\nmetric = \"loss\"\nat_most = 0\n",
            "no experiment of this run has the suite `night`",
        ),
        (
            "[[limit]]\nname = \"x\"\nstack = \"pipe\"\nworkload = \"stream\"\nmetric = \"loss\"\nat_most = 0\n",
            "the limit `x` selects no experiment of this run",
        ),
        (
            "[[limit]]\nname = \"x\"\nmetric = \"loss\"\nat_most = 0\n[[limit]]\nname = \"x\"\nmetric = \"loss\"\nat_most = 0\n",
            "there are two limits called `x`",
        ),
    ];
    for (text, message) in cases {
        let e = refused(&run, text);
        assert_eq!(e.problems().len(), 1, "{text}\n{e:?}");
        assert!(e.to_string().starts_with(message), "{text}\n{e}");
        assert!(e.problems()[0].span().end <= text.len());
    }
}

#[test]
fn the_place_is_shown_and_a_refused_stack_says_why() {
    let text = "[[limit]]\nname = \"x\"\nstack = \"zenoh-shm\"\nmetric = \"loss\"\nat_most = 0\n";
    let e = refused(&run(), text);
    let problem = &e.problems()[0];
    assert_eq!(&text[problem.span()], "\"zenoh-shm\"");
    assert!(
        problem.advice().unwrap().contains("no shared memory here"),
        "{e:?}"
    );
    let two = "[[limit]]\nname = 1\n[[limit]]\nmetric = 2\n";
    let e = refused(&run(), two);
    assert!(e.to_string().contains("mistakes in the limits"), "{e}");
}

#[test]
fn a_metric_that_an_experiment_lacks_is_answered_with_those_that_it_has() {
    let keys = "quantile = \"p50\"\nat_most = \"1 s\"\n";
    let text = format!("[[limit]]\nname = \"x\"\nstack = \"pipe\"\nmetric = \"response\"\n{keys}");
    let e = refused(&run(), &text);
    let advice = e.problems()[0].advice().unwrap();
    for wanted in [
        "have no `p50 response`",
        "(ping-pong) has: rtt, ",
        "write for example `metric = \"rtt\"`",
    ] {
        assert!(advice.contains(wanted), "{wanted}: {advice}");
    }
}
