//! The page as a browser reads it, without its script.

use crate::common;
use crate::{data, document, fixture, fixtures, options, source};
use base64::Engine as _;
use dyno_page::{Document, Source, render, render_live};
use scraper::{ElementRef, Html, Selector};
use sha2::{Digest, Sha256};

pub(crate) fn all<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    let selector = Selector::parse(selector).unwrap();
    page.select(&selector).collect()
}

#[track_caller]
pub(crate) fn one<'a>(page: &'a Html, selector: &str) -> ElementRef<'a> {
    let found = all(page, selector);
    assert_eq!(found.len(), 1, "{selector}");
    found[0]
}

pub(crate) fn text(element: ElementRef<'_>) -> String {
    element.text().collect()
}

#[test]
fn the_skeleton_has_every_part_once() {
    let page = Html::parse_document(&render(fixture("quick")).unwrap());
    for part in [
        "html[lang=en]",
        "header#top",
        "main",
        "main nav#controls",
        "main section#answers",
        "main section#plots",
        "main section#matrix",
        "main section#comparison",
        "main section#published",
        "main section#runs",
        "dialog#drill",
        "script#dyno-data[type='application/json']",
        "head > title",
        "head > style",
        "head > meta[charset=utf-8]",
        "head > meta[name=viewport]",
        "noscript",
        "h1",
    ] {
        one(&page, part);
    }
    assert_eq!(all(&page, "script").len(), 2);
    assert_eq!(
        text(one(&page, "title")),
        "quick: every stack of this machine, side by side · Dyno"
    );
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = Html::parse_document(&render(fixture("quick")).unwrap());
    for attribute in ["src", "href", "action", "poster", "data", "srcset"] {
        for element in all(&page, &format!("[{attribute}]")) {
            let to = element.value().attr(attribute).unwrap();
            assert!(to.starts_with('#') || to == "data:,", "{attribute}={to}");
        }
    }
    assert!(all(&page, "iframe, object, embed, base, form").is_empty());
}

#[test]
fn the_policy_allows_the_bundle_and_nothing_else() {
    let page = Html::parse_document(&render(fixture("quick")).unwrap());
    let policy = one(&page, "meta[http-equiv='Content-Security-Policy']");
    let policy = policy.value().attr("content").unwrap();
    let script = text(one(&page, "script:not([type])"));
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script.as_bytes()));
    assert!(
        policy.contains(&format!("script-src 'sha256-{hash}';")),
        "{policy}"
    );
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    for no in ["unsafe-eval", "connect-src", "http", "*"] {
        assert!(!policy.contains(no), "{policy}");
    }
}

#[test]
fn a_served_page_may_ask_its_own_origin() {
    let document = fixture("quick");
    let page = Html::parse_document(&render_live(document, "/run/a&b/data.json").unwrap());
    let policy = one(&page, "meta[http-equiv='Content-Security-Policy']");
    assert!(
        policy
            .value()
            .attr("content")
            .unwrap()
            .ends_with("; connect-src 'self'")
    );
    let live = one(&page, "html").value().attr("data-live");
    assert_eq!(live, Some("/run/a&b/data.json"));
}

#[test]
fn the_data_in_the_page_is_the_document() {
    for (name, _, document) in fixtures() {
        let page = Html::parse_document(&render(document).unwrap());
        let found: serde_json::Value =
            serde_json::from_str(&text(one(&page, "#dyno-data"))).unwrap();
        assert_eq!(found, data(document), "{name}");
    }
}

#[test]
fn answers_can_be_read_without_a_script() {
    let document = fixture("quick");
    let page = Html::parse_document(&render(document).unwrap());
    let answers = &document.runs[0].answers;
    let shown: Vec<String> = all(&page, "#answers dd").into_iter().map(text).collect();
    let expected: Vec<&str> = answers.iter().map(|a| a.text.as_str()).collect();
    assert_eq!(shown, expected);
    let rows = all(&page, "#answers tbody tr");
    assert_eq!(
        rows.len(),
        answers.iter().map(|a| a.rows.len()).sum::<usize>()
    );
    let heads: Vec<String> = all(&page, "#answers tbody th")
        .into_iter()
        .map(text)
        .collect();
    let questions: Vec<&str> = answers.iter().map(|a| a.question.as_str()).collect();
    assert_eq!(heads, questions);
    let facts = text(one(&page, "#runs"));
    for fact in [
        "Example CPU @ 3.00GHz",
        "6.12.0",
        "kvm",
        "2 trials",
        "SIGSEGV",
        "Refused",
    ] {
        assert!(facts.contains(fact), "{fact} is not in {facts}");
    }
}

#[test]
fn several_runs_are_told_apart() {
    let (a, b) = (common::small(), common::with_daemon());
    let page = Html::parse_document(&render(&document(&[&a, &b])).unwrap());
    assert_eq!(text(one(&page, "h1")), "2 runs, side by side");
    let runs: Vec<String> = all(&page, "#top li").into_iter().map(text).collect();
    assert!(
        runs[0].starts_with("A: small") && runs[1].starts_with("B: broker"),
        "{runs:?}"
    );
    assert_eq!(all(&page, "#runs article").len(), 2);
    assert_eq!(all(&page, "#answers table").len(), 2);
}

#[test]
fn what_cannot_be_read_stands_above_the_answers() {
    let run = common::small();
    let damaged = Source::Run {
        run: &run,
        problems: vec!["trials/e0000-t001.json is cut off".into()],
        running: true,
        check: None,
    };
    let lost = Source::Unreadable {
        name: "runs/x".into(),
        reason: "written by a newer Dyno".into(),
    };
    let page = Document::of(&[lost, damaged], &options());
    let page = Html::parse_document(&render(&page).unwrap());
    assert_eq!(
        text(one(&page, "#unreadable li")),
        "runs/x: written by a newer Dyno"
    );
    assert_eq!(
        text(one(&page, ".problems li")),
        "trials/e0000-t001.json is cut off"
    );
    assert!(text(one(&page, "#top")).contains("still running"));
}

#[test]
fn a_page_of_nothing_says_so() {
    let page = Html::parse_document(&render(&Document::of(&[], &options())).unwrap());
    assert_eq!(text(one(&page, "h1")), "No run");
    let empty = Document::of(&[source(&common::empty())], &options());
    let page = Html::parse_document(&render(&empty).unwrap());
    assert!(text(one(&page, "#answers")).contains("There are no answers"));
}

#[test]
fn the_skeleton_in_words() {
    let page = Html::parse_document(&render(fixture("streams")).unwrap());
    let mut lines = Vec::new();
    for part in ["#top", "#answers", "#runs"] {
        for piece in one(&page, part).text() {
            let piece = piece.trim();
            if !piece.is_empty() {
                lines.push(piece.to_owned());
            }
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_stack_keeps_no_requirement_that_was_not_measured_on_it() {
    let mut b = common::Builder::new("test", "what is kept", "stacks");
    for (stack, names) in [("part", &["near"][..]), ("whole", &["near", "far"][..])] {
        for name in names {
            let id = b.experiment(stack, |e| e.name = (*name).into());
            b.trials(id, &[(dyno_model::Metric::Rtt, 10_000.0, 1_000, 0)]);
        }
    }
    b.plan().refused.push(dyno_model::plan::Refusal {
        experiment: "far".into(),
        stack: "part".into(),
        factors: "ping-pong, 64 B, block".into(),
        reason: "it stays on its host".into(),
    });
    let run = b.build();
    let limit = |name: &str| {
        format!(
            "[[limit]]\nname = \"{name}\"\nexperiment = \"{name}\"\nmetric = \"rtt\"\nquantile = \"p50\"\nat_most = \"1 ms\"\n"
        )
    };
    let limits = dyno_judge::Limits::parse("limits.toml", &(limit("near") + &limit("far")));
    let how = dyno_judge::CheckOptions::default();
    let source = Source::Run {
        run: &run,
        problems: Vec::new(),
        running: false,
        check: Some(dyno_judge::check(&run, &limits.unwrap(), &how).unwrap()),
    };
    let page = Html::parse_document(&render(&Document::of(&[source], &options())).unwrap());
    let lead = text(one(&page, "#requirements .lead"));
    assert!(
        lead.starts_with(
            "whole meets all 2 requirements of limits.toml. Some requirements were not measured for part."
        ),
        "{lead}"
    );
    let table = text(one(&page, "#requirements table.verdicts"));
    for said in [
        "meets 1, 1 not measured",
        "not measured: it stays on its host",
    ] {
        assert!(table.contains(said), "{said} is not in {table}");
    }
}
