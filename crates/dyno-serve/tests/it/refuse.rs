//! What is refused: whatever is not a plain request for a run of the folder.

use crate::place::Place;
use dyno_kit::example;
use std::os::unix::fs::symlink;

/// A word that stands only in what must not be shown.
const SECRET: &str = "not-to-be-shown";

/// A folder with the run `good`, and beside it a run and a file that are not served.
fn place() -> Place {
    let place = Place::new();
    place.run("good");
    let mut manifest = example::manifest();
    manifest.plan.suite = SECRET.into();
    manifest.id = SECRET.into();
    drop(dyno_store::RunWriter::create(&place.path("outside"), &manifest).unwrap());
    std::fs::write(place.path("secret.txt"), SECRET).unwrap();
    drop(dyno_store::RunWriter::create(&place.path("runs/.hidden"), &manifest).unwrap());
    place
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let place = place();
    let up = |way: &str| {
        let outside = place.path("outside").display().to_string();
        [
            way.replace("UP", ".."),
            way.replace("UP", "%2e%2e"),
            way.replace("UP", "%2E."),
            way.replace("UP", "%252e%252e"),
            way.replace("UP", "%25252e%25252e"),
            way.replace("UP", "..%2f"),
            way.replace("UP", "..%5c"),
            way.replace("UP", "%c0%ae%c0%ae"),
            way.replace("UP", "..;"),
            way.replace("UP", &outside),
            way.replace("UP", &outside.replace('/', "%2f")),
            way.replace("UP", &outside.replace('/', "%252f")),
        ]
    };
    let ways = [
        "/UP/outside",
        "/UP/secret.txt",
        "/runs/UP",
        "/runs/UP/outside",
        "/runs/UP%2foutside",
        "/runs/UPoutside",
        "/runs/UP%2foutside/data.json",
        "/runs/UP%2foutside/state",
        "/runs/UP/data.json",
        "/runs/good/UP",
        "/runs/good/UP/UP/outside",
        "/runs/good%2fUP%2fUP%2foutside",
        "/runs/good/UP/UP/secret.txt",
        "/runs/good%00/data.json",
        "/runs/%00",
        "/runs/.hidden",
        "/runs/.",
        "/runs/%2e",
        "/runs/",
        "/runs",
        "//runs/good",
        "/runs//good",
        "/runs/good/",
        "/runs/good/run.json",
        "/runs/good/trials/e0000-t000.json",
        "/runs/good/.lock",
        "/assets/UP/secret.txt",
        "/assets/UP%2fCargo.toml",
        "/compare?base=UP%2foutside&new=good",
        "/compare?base=UP/outside&new=good",
        "/compare?run=UP%2foutside&run=good",
        "/compare/data.json?base=good&new=UP%2foutside",
    ];
    for path in ways.iter().flat_map(|way| up(way)) {
        let answer = place.get(&path);
        assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
        assert!(!answer.text().contains(SECRET), "{path}: {answer:?}");
    }
}

#[test]
fn what_is_no_path_is_a_bad_request() {
    let place = place();
    let outside = place.path("outside").display().to_string();
    for target in [
        "../outside",
        "runs/good",
        outside.trim_start_matches('/'),
        "*",
        "http://localhost/runs/good",
        "http://evil.example/",
        "/runs/good\0",
        "/runs/\x01",
        "",
    ] {
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = place.raw(request);
        // A request line that cannot be understood may end the connection.
        let refused = answer.status == 0 || (400..500).contains(&answer.status);
        assert!(refused, "{target:?}: {answer:?}");
        assert!(!answer.text().contains(SECRET), "{target:?}");
    }
    for bytes in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\r\n\r\n",
    ] {
        let mut stream = place.connect();
        use std::io::Write;
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let answer = crate::place::Answer::read(&mut stream);
        assert!(matches!(answer.status, 0 | 400), "{answer:?}");
    }
    assert_eq!(place.get("/runs/good").status, 200);
}

#[test]
fn links_lead_nowhere_but_into_the_folder() {
    let place = place();
    symlink("good", place.path("runs/again")).unwrap();
    symlink(place.path("outside"), place.path("runs/leak")).unwrap();
    symlink("../outside", place.path("runs/relative")).unwrap();
    symlink("/", place.path("runs/everything")).unwrap();
    let patched = place.run("patched");
    std::fs::remove_file(patched.join("run.json")).unwrap();
    symlink(place.path("outside/run.json"), patched.join("run.json")).unwrap();
    assert_eq!(place.get("/runs/again").status, 200);
    for name in ["leak", "relative", "everything", "patched"] {
        for path in ["", "/data.json", "/state"] {
            let answer = place.get(&format!("/runs/{name}{path}"));
            assert_eq!(answer.status, 422, "{name}{path}");
            let text = answer.text();
            assert!(
                text.contains("is a link that leads out of the served folder"),
                "{text}"
            );
            assert!(!text.contains(SECRET), "{text}");
        }
    }
    let list = place.get("/").text();
    assert!(
        list.contains("leak is a link that leads out of the served folder"),
        "{list}"
    );
    assert!(!list.contains(SECRET), "{list}");
}

#[test]
fn a_foreign_host_is_told_nothing() {
    let place = place();
    let with = |hosts: &str| {
        let request = format!("GET /runs/good HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        place.raw(request)
    };
    let port = place.address.port();
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "10.0.0.1",
        "good",
    ] {
        for host in [host.to_owned(), format!("{host}:{port}")] {
            let answer = with(&format!("Host: {host}\r\n"));
            assert_eq!(answer.status, 421, "{host}");
            assert!(!answer.text().contains("example-2025"), "{host}");
        }
    }
    for host in ["localhost", "127.0.0.1", "[::1]", "Bench.Example"] {
        for host in [host.to_owned(), format!("{host}:{port}")] {
            assert_eq!(with(&format!("Host: {host}\r\n")).status, 200, "{host}");
        }
    }
    assert_eq!(with("").status, 400);
    assert_eq!(
        with("Host: localhost\r\nHost: evil.example\r\n").status,
        400
    );
    assert_eq!(with("Host:\r\n").status, 421);
    let old = place.raw("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(old.status, 400);
    let proxied = place
        .raw("GET http://localhost/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert_eq!(proxied.status, 421);
}

#[test]
fn nothing_but_reading_is_answered() {
    let place = place();
    for method in [
        "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "get",
    ] {
        let answer = place.raw(format!(
            "{method} /runs/good HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        ));
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method}");
    }
    let connect =
        place.raw("CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!((400..500).contains(&connect.status), "{connect:?}");
    for body in [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ] {
        let answer = place.raw(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{body}"));
        assert_eq!(answer.status, 413, "{body}");
    }
    let endless = "Content-Length: 99999999999\r\n\r\n".to_owned() + &"x".repeat(1 << 20);
    let answer = place.raw(format!("POST / HTTP/1.1\r\nHost: localhost\r\n{endless}"));
    assert!(matches!(answer.status, 0 | 405), "{answer:?}");
    // One request smuggled in another is one request.
    let both =
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
    let answer = place.raw(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{both}"));
    assert!((400..500).contains(&answer.status), "{answer:?}");
    assert!(!answer.text().contains("HTTP/1.1"), "{answer:?}");
}

#[test]
fn heads_that_are_too_large_are_refused() {
    let place = place();
    let start = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let long = place.raw(format!("{start}X: {}\r\n\r\n", "x".repeat(64 << 10)));
    // The answer can be lost to the reset that the unread rest causes.
    assert!(matches!(long.status, 0 | 431), "{long:?}");
    let many = place.raw(format!("{start}{}\r\n", "X: y\r\n".repeat(200)));
    assert_eq!(many.status, 431);
    let path = place.raw(format!(
        "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "x".repeat(80_000)
    ));
    assert!(matches!(path.status, 0 | 414 | 431), "{path:?}");
    assert_eq!(place.get("/").status, 200);
}

#[test]
fn what_pages_of_other_sites_fetch_is_refused() {
    let place = place();
    let from = |site: &str, mode: &str, dest: &str| {
        let headers = format!(
            "Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: {mode}\r\nSec-Fetch-Dest: {dest}\r\n"
        );
        place.get_with("/runs/good/data.json", &headers).status
    };
    assert_eq!(from("same-origin", "cors", "empty"), 200);
    assert_eq!(from("none", "navigate", "document"), 200);
    assert_eq!(from("cross-site", "no-cors", "script"), 403);
    assert_eq!(from("same-site", "cors", "empty"), 403);
}
