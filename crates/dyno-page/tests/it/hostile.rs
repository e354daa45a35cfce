//! Names and messages from elsewhere reach the page as text and nothing else.

use crate::common::{self, Builder};
use crate::html::{all, one, text};
use crate::{options, source};
use dyno_model::AdapterDescription;
use dyno_model::Metric::Rtt;
use dyno_model::plan::Refusal;
use dyno_model::record::{FailureKind, Run};
use dyno_page::{Document, Source, render};
use dyno_report::clean;
use scraper::Html;
use serde_json::Value;

/// What a name may hold.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "</script><script>window.hit = 1</script>",
        "<img src=x onerror=\"window.hit = 2\">",
        "\"'` onmouseover='window.hit = 3' x=\"",
        "<!--<script>",
        "]]></textarea></title></style></noscript><svg onload=window.hit=4>",
        "{{ 7 * 7 }}{% for x in y %}{# … #}",
        "&lt;b&gt;&amp;&#60;",
        "🚗🛰️ 通信 مرحبا שלום",
        "left\u{202e}right\u{2066}",
        "line\u{2028}separator\u{2029}end",
        "javascript:alert(1)",
        "__proto__",
        "tab\tnew\nline\u{7}\u{1b}[31mred",
        "\\u003cb\\u003e \\\" \\",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("long".repeat(125));
    names.push("无".repeat(500));
    names
}

/// A run in which whatever can be named has that name.
fn run(name: &str) -> Run {
    let mut b = Builder::new(name, name, "stacks");
    let floor = b.experiment("floor-futex", |e| e.name = name.into());
    b.trials(floor, &[(Rtt, 5_000.0, 500, 0)]);
    let id = b.experiment(name, |e| {
        e.name = name.into();
        e.floor = Some(floor);
    });
    b.trials(id, &[(Rtt, 9_000.0, 500, 0)]);
    for trial in b.records(id) {
        trial.warnings.push(dyno_model::Cause::Told(name.into()));
        trial.disturbed.push(dyno_model::Cause::Told(name.into()));
        for process in &mut trial.cost.processes {
            process.label = format!("daemon {name}");
            process.daemon = true;
        }
    }
    b.failed(id, FailureKind::Error, name, name, &[name]);
    b.plan().warnings.push(dyno_model::Cause::Told(name.into()));
    b.plan().refused.push(Refusal {
        experiment: name.into(),
        stack: name.into(),
        factors: name.into(),
        reason: name.into(),
    });
    b.plan().testbed.name = name.into();
    let mut run = b.build();
    run.manifest.id = name.into();
    run.manifest.command = vec!["dyno".into(), name.into()];
    let e = &mut run.manifest.environment;
    for fact in [
        &mut e.host,
        &mut e.cpu_model,
        &mut e.kernel,
        &mut e.dyno_version,
    ] {
        *fact = name.into();
    }
    e.hypervisor = Some(name.into());
    run.manifest.adapters.push(AdapterDescription {
        name: name.into(),
        version: name.into(),
        ..adapter()
    });
    run
}

fn adapter() -> AdapterDescription {
    let text = r#"{"name": "", "version": "", "summary": "", "capabilities": {"loan": false,
        "waits": [], "reliable": true, "best_effort": false, "request_response": false,
        "placements": [], "max_message": null, "fragments_above": null, "max_receivers": null,
        "loopback": false}, "options": [], "unavailable": null}"#;
    serde_json::from_str(text).unwrap()
}

/// The elements of a page without foreign names, by tag.
fn tags(page: &Html) -> Vec<String> {
    let mut tags: Vec<String> = all(page, "*")
        .into_iter()
        .map(|e| e.value().name().to_owned())
        .collect();
    tags.sort_unstable();
    tags
}

#[test]
fn names_from_elsewhere_are_text_and_stay_what_they_are() {
    let harmless = tags(&page("harmless"));
    for name in names() {
        let page = page(&name);
        // Not one element more or less, so no markup came of it.
        assert_eq!(tags(&page), harmless, "{name:?}");
        for handler in ["onerror", "onload", "onmouseover"] {
            assert!(all(&page, &format!("[{handler}]")).is_empty(), "{name:?}");
        }
        let shown = clean(&name);
        let h1 = text(one(&page, "h1"));
        assert_eq!(h1, format!("{shown}: {shown}"), "{name:?}");
        assert_eq!(
            text(one(&page, "title")),
            format!("{shown}: {shown} · Dyno")
        );
        let stack = text(one(&page, "#answers tbody td bdi"));
        assert_eq!(stack, shown, "{name:?}");
        assert!(text(one(&page, "#runs")).contains(&shown), "{name:?}");
        assert!(text(one(&page, "#unreadable")).contains(&shown), "{name:?}");
        // The data keeps names as they are.
        let data: Value = serde_json::from_str(&text(one(&page, "#dyno-data"))).unwrap();
        let run = &data["runs"][0];
        assert_eq!(run["show"]["run"]["suite"], name.as_str());
        assert_eq!(run["show"]["experiments"][1]["stack"], name.as_str());
        let trials = run["details"][1]["trials"].as_array().unwrap();
        assert_eq!(trials[0]["warnings"][0], name.as_str());
        assert_eq!(trials[5]["message"], name.as_str());
        assert_eq!(trials[0]["processes"][0]["label"], format!("daemon {name}"));
    }
}

fn page(name: &str) -> Html {
    let run = run(name);
    let damaged = Source::Run {
        run: &run,
        problems: vec![name.to_owned()],
        running: false,
        check: None,
    };
    let lost = Source::Unreadable {
        name: name.to_owned(),
        reason: name.to_owned(),
    };
    let document = Document::of(&[damaged, lost], &options());
    let page = render(&document).unwrap();
    // The bundle is last, has no markup by a test of its own, and takes long to parse.
    let (page, _) = page.rsplit_once("<script>").unwrap();
    Html::parse_document(&format!("{page}<script></script></body></html>"))
}

#[test]
fn a_run_that_is_compared_keeps_its_text_too() {
    let (base, new) = (run("<b>base</b>"), run("<i>new</i>"));
    let document = Document::of(&[source(&base), source(&new)], &options());
    let page = Html::parse_document(&render(&document).unwrap());
    assert!(all(&page, "b, i").is_empty());
    let small = common::small();
    let mixed = Document::of(&[source(&small), source(&new)], &options());
    let page = Html::parse_document(&render(&mixed).unwrap());
    assert!(all(&page, "i").is_empty());
}
