//! What is shown: the list, reports, comparisons, and what cannot be shown, with its reason.

use crate::place::{Place, trial};
use dyno_kit::example::{self, failed, id};
use dyno_model::record::FailureKind;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// Every address of a place with the runs `a` and `b`.
const PATHS: [&str; 10] = [
    "/",
    "/?text=a&sort=name&order=desc",
    "/runs/a",
    "/runs/a/data.json",
    "/runs/a/state",
    "/compare?base=a&new=b",
    "/compare/data.json?base=a&new=b",
    "/assets/serve.css",
    "/assets/follow.js",
    "/no/such/page",
];

#[test]
fn runs_are_listed_filtered_and_sorted() {
    let place = Place::new();
    assert!(place.get("/").text().contains("There is no run here yet"));
    let mut manifest = example::manifest();
    manifest.plan.suite = "other".into();
    manifest.started_unix_ms += 86_400_000;
    let writer = place.write("newer", &manifest);
    writer.write_trial(&trial(1, 0)).unwrap();
    writer
        .write_trial(&failed(id(1, 1), FailureKind::Crash))
        .unwrap();
    drop(writer);
    place.run("older");
    let listed = |query: &str| {
        let text = place.get(&format!("/{query}")).text();
        let mut found: Vec<(usize, &str)> = ["older", "newer"]
            .into_iter()
            .filter_map(|name| Some((text.find(&format!("<a href=\"/runs/{name}\">"))?, name)))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    // A list may be a moment old.
    crate::place::wait_for("both runs", || (listed("").len() == 2).then_some(()));
    assert_eq!(listed(""), ["newer", "older"]);
    assert_eq!(listed("?sort=name&order=desc"), ["older", "newer"]);
    assert_eq!(listed("?suite=other"), ["newer"]);
    assert_eq!(listed("?stack=udp&text=OLDER"), ["older"]);
    assert_eq!(listed("?stack=pipe"), [""; 0]);
    let text = place.get("/?suite=other").text();
    // Three trials of two experiments of the suite and of the floor.
    assert!(text.contains("<td class=\"number\">2 / 9</td>"), "{text}");
    assert!(text.contains("<td class=\"number bad\">1</td>"), "{text}");
    assert!(text.contains("incomplete"), "{text}");
    assert!(text.contains("2025-11-22 03:32"), "{text}");
}

#[test]
fn a_run_has_its_report_and_the_reports_data() {
    let place = Place::new();
    place.run("a");
    let page = place.get("/runs/a");
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(text.contains("id=\"dyno-data\""));
    assert!(text.contains("<a href=\"/\">All runs</a>"));
    // It is not measured any more, so nothing is to be followed.
    assert!(!text.contains("data-live=") && !text.contains("follow.js"));
    let data = place.json("/runs/a/data.json");
    assert_eq!(data["format"], 1);
    assert_eq!(data["runs"][0]["show"]["run"]["id"], example::manifest().id);
    assert_eq!(data["runs"][0]["running"], false);
    let state = place.json("/runs/a/state");
    assert_eq!(state["running"], false);
    assert_eq!(
        (&state["stored"], &state["planned"]),
        (&3.into(), &9.into())
    );
}

#[test]
fn what_is_known_is_not_sent_again() {
    let place = Place::new();
    place.run("a");
    for path in ["/runs/a", "/runs/a/data.json"] {
        let first = place.get(path);
        let tag = first.header("etag").unwrap();
        let again = place.get_with(path, &format!("If-None-Match: {tag}\r\n"));
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(again.header("etag"), Some(tag));
        let other = place.get_with(path, "If-None-Match: \"other\"\r\n");
        assert_eq!(other.body.len(), first.body.len());
    }
}

#[test]
fn two_runs_are_compared_the_older_one_as_the_base() {
    let place = Place::new();
    place.run("b");
    let mut manifest = example::manifest();
    manifest.started_unix_ms += 1;
    drop(place.write("a", &manifest));
    let ticked = place.get("/compare?run=a&run=b");
    assert_eq!(ticked.status, 303);
    assert_eq!(ticked.header("location"), Some("/compare?base=b&new=a"));
    let text = place.get("/compare?base=b&new=a").text();
    assert!(
        text.contains("<a href=\"/runs/b\"><bdi>A: b</bdi></a>"),
        "no link back"
    );
    let data = place.json("/compare/data.json?base=b&new=a");
    assert_eq!(data["runs"].as_array().unwrap().len(), 2);
    // Beside the sides of each run, which this one was measured with.
    let compared = data["comparisons"].as_array().unwrap();
    assert!(
        compared.iter().any(|c| c["base"] == 0 && c["new"] == 1),
        "{compared:#?}"
    );
    for wrong in [
        "",
        "?run=a",
        "?run=a&run=b&run=a",
        "?base=a",
        "?base=a&new=",
    ] {
        let answer = place.get(&format!("/compare{wrong}"));
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(answer.text().contains("two"), "{wrong}: {}", answer.text());
    }
    assert_eq!(place.get("/compare?base=a&new=none").status, 404);
}

#[test]
fn what_cannot_be_read_is_named_with_its_reason_beside_the_others() {
    let place = Place::new();
    place.run("good");
    let truncated = place.run("truncated").join("run.json");
    let whole = fs::read(&truncated).unwrap();
    fs::write(&truncated, &whole[..whole.len() / 2]).unwrap();
    let newer = place.run("newer").join("run.json");
    let manifest = fs::read_to_string(&newer).unwrap();
    fs::write(
        &newer,
        manifest.replacen("\"format\": 4", "\"format\": 99", 1),
    )
    .unwrap();
    fs::create_dir(place.path("runs/foreign")).unwrap();
    fs::write(place.path("runs/foreign/photo.jpg"), "no run").unwrap();
    let damaged = place.run("damaged").join("trials/e0001-t000.json");
    fs::write(damaged, "{").unwrap();

    let list = place.get("/").text();
    for name in ["good", "damaged"] {
        assert!(
            list.contains(&format!("<a href=\"/runs/{name}\">")),
            "{list}"
        );
    }
    assert!(list.contains("1 unreadable"), "{list}");
    for (name, reason) in [
        ("truncated", "truncated/run.json is damaged"),
        ("newer", "was written by a newer Dyno (format 99)"),
        ("foreign", "foreign: it has no run.json"),
    ] {
        assert!(list.contains(reason), "{reason} is not in {list}");
        assert!(!list.contains(&format!("<a href=\"/runs/{name}\">")));
        let page = place.get(&format!("/runs/{name}"));
        assert_eq!(page.status, 422, "{name}");
        assert!(page.text().contains(reason), "{}", page.text());
        let data = place.get(&format!("/runs/{name}/data.json"));
        assert_eq!(
            (data.status, data.header("content-type")),
            (422, Some("application/json"))
        );
        // Beside a good one the good one is still shown.
        let both = place.json(&format!("/compare/data.json?base={name}&new=good"));
        assert_eq!(both["runs"].as_array().unwrap().len(), 1, "{name}");
        let said = both["unreadable"][0]["reason"].as_str().unwrap();
        assert!(said.contains(reason), "{said}");
    }
    // Where the folder lies is nobody's business.
    let reasons = list.split("id=\"closed\"").nth(1).unwrap();
    assert!(
        !reasons.contains(&place.path("runs").display().to_string()),
        "{reasons}"
    );
    let data = place.json("/runs/damaged/data.json");
    let problem = data["runs"][0]["problems"][0].as_str().unwrap();
    assert!(
        problem.starts_with("damaged/trials/e0001-t000.json: not a readable trial"),
        "{problem}"
    );
    assert_eq!(place.get("/runs/good").status, 200);
}

#[test]
fn hostile_names_are_text_and_lead_where_they_say() {
    let place = Place::new();
    let long = "x".repeat(255);
    let names: [&[u8]; 14] = [
        b"<img src=x onerror=alert(1)>",
        b"\"><svg onload=alert(1)>",
        b"'&\"&amp;",
        b"{{ 7 * 7 }}",
        b"%2e%2e",
        b"100%",
        b"?text=a#b",
        b" a  b+c ",
        b"line\nfeed\r\ttab",
        b"back\\slash",
        "\u{202e}rtl \u{1f697} \u{5d0}\u{5d1}".as_bytes(),
        b"not utf-8 \xff\xfe",
        b"latest",
        long.as_bytes(),
    ];
    let mut manifest = example::manifest();
    let wild = "<script>alert(1)</script>\u{202e}\u{1f697}'\"".repeat(20);
    manifest.plan.suite = wild.clone();
    manifest.plan.title = wild.clone();
    manifest.plan.testbed.name = wild.clone();
    manifest.environment.host = wild;
    for name in names {
        let writer = dyno_store::RunWriter::create(
            &place.path("runs").join(OsStr::from_bytes(name)),
            &manifest,
        );
        writer.unwrap().write_trial(&trial(1, 0)).unwrap();
    }
    let list = place.get("/?sort=name").text();
    for markup in ["<img", "<svg", "<script", ">49<"] {
        assert!(!list.contains(markup), "{markup} in {list}");
    }
    let links: Vec<&str> = list
        .split("<a href=\"/runs/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(links.len(), names.len());
    for link in links {
        for (path, status) in [("", 200), ("/data.json", 200), ("/state", 200)] {
            let path = format!("/runs/{link}{path}");
            assert_eq!(place.get(&path).status, status, "{path}");
        }
        let page = place.get(&format!("/runs/{link}")).text();
        assert!(!page.contains("<script>alert"), "{link}");
        assert!(!page.contains("<img src=x"), "{link}");
    }
}

#[test]
fn every_answer_keeps_to_itself() {
    let place = Place::new();
    place.run("a");
    place.run("b");
    for path in PATHS {
        let answer = place.get(path);
        let header = |name: &str| {
            answer
                .header(name)
                .unwrap_or_else(|| panic!("{path}: no {name}"))
        };
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        for part in [
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        let scripts = policy
            .split(';')
            .find(|p| p.contains("script-src"))
            .unwrap_or_default();
        assert!(!scripts.contains("unsafe"), "{path}: {policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(answer.header("access-control-allow-origin"), None);
        assert_eq!(answer.header("set-cookie"), None);
        assert!(header("content-type").contains('/'), "{path}");
    }
    // The list needs no script at all.
    let list = place.get("/");
    assert!(
        !list
            .header("content-security-policy")
            .unwrap()
            .contains("script-src")
    );
    assert!(!list.text().contains("<script"));
    let kind = |path: &str| place.get(path).header("content-type").unwrap().to_owned();
    assert_eq!(kind("/runs/a"), "text/html; charset=utf-8");
    assert_eq!(kind("/runs/a/data.json"), "application/json");
    assert_eq!(kind("/assets/follow.js"), "text/javascript; charset=utf-8");
}

#[test]
fn the_policy_of_a_report_is_its_headers_alone_and_lets_its_script_run() {
    let place = Place::new();
    place.run("a");
    let page = place.get("/runs/a");
    let text = String::from_utf8(page.body.clone()).unwrap();
    assert!(
        !text.contains("http-equiv"),
        "the page's own policy would forbid our script"
    );
    let policy = page.header("content-security-policy").unwrap();
    assert_eq!(policy.matches("'sha256-").count(), 1, "{policy}");
    assert!(policy.contains("connect-src 'self'"), "{policy}");
}

#[test]
fn head_is_answered_without_a_body() {
    let place = Place::new();
    place.run("a");
    for path in PATHS {
        let get = place.get(path);
        let head = place.raw(format!(
            "HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        ));
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.body, b"", "{path}");
        // The state of one run and pages of sentences have the same length each time.
        assert_eq!(
            head.header("content-length"),
            get.header("content-length"),
            "{path}"
        );
    }
}

#[test]
fn a_connection_serves_several_requests() {
    use std::io::Write;
    let place = Place::new();
    place.run("a");
    let mut stream = place.connect();
    let request = "GET /runs/a/state HTTP/1.1\r\nHost: localhost\r\n";
    let pipelined = format!("{request}\r\n{request}\r\n{request}Connection: close\r\n\r\n");
    stream.write_all(pipelined.as_bytes()).unwrap();
    let answers = crate::place::Answer::read(&mut stream);
    let rest = answers.text();
    assert_eq!(answers.status, 200);
    assert_eq!(rest.matches("HTTP/1.1 200 OK").count(), 2, "{rest}");
    assert_eq!(rest.matches("\"planned\":9").count(), 3, "{rest}");
}
