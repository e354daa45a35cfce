//! `dyno serve` as a process: started, stopped, refused, and beside a run that is being measured.

use crate::harness::{Ended, Place, send, wait_for};
use rustix::fs::FileType;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

fn place() -> Place {
    let place = Place::new();
    let defaults = "trials = 30\nround_trips = 50\nwait = \"block\"\nplacement = \"process\"";
    place.round_trips("served", defaults, &["pipe"]);
    std::fs::create_dir(place.path("runs")).unwrap();
    place
}

/// A server over the folder `runs`.
struct Served {
    /// Until it is ended.
    child: Option<Child>,
    address: String,
}

impl Served {
    fn start(place: &Place, listen: &str, more: &[&str]) -> Served {
        let mut child = place
            .dyno(&[&["serve", "--listen", listen][..], more].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        Served {
            address: address
                .unwrap_or_else(|| panic!("no address in {line:?}"))
                .to_owned(),
            child: Some(child),
        }
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.as_ref().unwrap().id()).unwrap()
    }

    /// Status and body.
    fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).replace("&#x2f;", "/");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn entries(&self, of: &str) -> usize {
        std::fs::read_dir(format!("/proc/{}/{of}", self.pid()))
            .unwrap()
            .count()
    }

    fn end(mut self, signal: i32) -> Ended {
        send(self.pid(), signal);
        self.child
            .take()
            .unwrap()
            .wait_with_output()
            .unwrap()
            .into()
    }
}

impl Drop for Served {
    /// A test that failed leaves no server.
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_run_is_followed_while_it_is_measured() {
    let place = place();
    let served = Served::start(&place, "0", &[]);
    let running = place.start(&["run", "served", "--out", "runs/live", "--quiet"]);
    wait_for("the run to be seen", || {
        let (status, body) = served.get("/runs/live/state");
        let state: Value = serde_json::from_str(&body).ok()?;
        (status == 200 && state["running"] == true && state["stored"] != 0).then_some(())
    });
    let (_, page) = served.get("/runs/live");
    assert!(page.contains("data-live=") || served.json("/runs/live/state")["running"] == false);
    running.end().with_code(0);
    let planned = served.json("/runs/live/state")["planned"].clone();
    wait_for("the run to be seen complete", || {
        let state = served.json("/runs/live/state");
        (state["running"] == false && state["stored"] == planned).then_some(())
    });
    let data = served.json("/runs/live/data.json");
    assert_eq!(data["runs"][0]["running"], false);
    // The page has what the table has.
    let shown = place.show("runs/live");
    let figures = |show: &Value| {
        let all = show["experiments"].as_array().unwrap().iter();
        all.map(|e| e["metrics"]["rtt_ns"]["p50"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(figures(&data["runs"][0]["show"]), figures(&shown));
    let (_, list) = served.get("/");
    assert!(list.contains("<a href=\"/runs/live\">"), "{list}");
    served.end(libc::SIGINT).with_code(0);
}

#[test]
fn signals_end_it_whatever_its_clients_do() {
    let place = place();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let served = Served::start(&place, "0", &[]);
        let idle = TcpStream::connect(&served.address).unwrap();
        let mut half = TcpStream::connect(&served.address).unwrap();
        half.write_all(b"GET / HTTP/1.1\r\nHost: loc").unwrap();
        assert_eq!(served.get("/").0, 200);
        served.end(signal).with_code(0);
        drop((idle, half));
    }
}

#[test]
fn many_clients_leave_neither_files_nor_threads() {
    let place = place();
    place
        .run(&[
            "run", "served", "--trials", "2", "--out", "runs/a", "--quiet",
        ])
        .with_code(0);
    let served = Served::start(&place, "0", &[]);
    assert_eq!(served.get("/").0, 200);
    // The threads that made that page end when there is nothing more to make.
    let threads = wait_for("idle threads to end", || {
        let threads = served.entries("task");
        (threads == 2).then_some(threads)
    });
    let files = served.entries("fd");
    std::thread::scope(|scope| {
        for client in 0..200 {
            let served = &served;
            scope.spawn(move || {
                let paths = ["/", "/runs/a", "/runs/a/data.json", "/runs/a/state"];
                let path = paths[client % paths.len()];
                let (status, body) = served.get(path);
                assert_eq!(status, 200, "{path}: {body}");
            });
        }
    });
    wait_for("threads and files to be given back", || {
        let now = (served.entries("task"), served.entries("fd"));
        (now == (threads, files)).then_some(())
    });
    served.end(libc::SIGTERM).with_code(0);
}

#[test]
fn what_cannot_be_served_is_refused_with_advice() {
    let place = place();
    let served = Served::start(&place, "0", &[]);
    place
        .run(&["serve", "--listen", &served.address])
        .with_code(1)
        .says("cannot listen on")
        .says("may be at work");
    place
        .run(&["serve", "nowhere", "--listen", "0"])
        .with_code(5)
        .says("cannot serve nowhere");
    place
        .run(&["serve", "--listen", "0.0.0.0:0"])
        .with_code(2)
        .says("can be reached from other machines")
        .says("--network");
    place
        .run(&["serve", "--listen", "elsewhere"])
        .with_code(2)
        .says("such as 127.0.0.1:8643");
    place
        .run(&[
            "run", "served", "--trials", "1", "--out", "runs/a", "--quiet",
        ])
        .with_code(0);
    place
        .run(&["serve", "runs/a", "--listen", "0"])
        .with_code(5)
        .says("runs/a is a run; name the folder that holds it");
    served.end(libc::SIGTERM).with_code(0);
    let open = Served::start(&place, "0.0.0.0:0", &["--network"]);
    let ended = open.end(libc::SIGTERM).with_code(0);
    assert!(
        ended.stderr.contains("other machines can reach"),
        "{}",
        ended.stderr
    );
}

/// A folder that strangers fill beside an honest run.
#[test]
fn poisoned_runs_are_answered_and_keep_nobody_from_an_honest_one() {
    const RUN: &str = "run.json";
    const TRIAL: &str = "trials/e0001-t000.json";
    let place = Place::new();
    let golden =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../dyno-store/tests/golden/run-v3");
    let copy = |name: &str| {
        let run = place.path("runs").join(name);
        std::fs::create_dir_all(run.join("trials")).unwrap();
        for file in [RUN, "trials/e0000-t000.json", TRIAL] {
            std::fs::copy(golden.join(file), run.join(file)).unwrap();
        }
        run
    };
    copy("honest");
    place.file("secret", "\"the secret\"");
    let pipe = |path| rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, 0o600.into(), 0);
    for (kind, file) in [("plan", RUN), ("trial", TRIAL)] {
        let poison = |with: &str| {
            let run = copy(&format!("{with}-{kind}"));
            std::fs::remove_file(run.join(file)).unwrap();
            run.join(file)
        };
        pipe(poison("pipe")).unwrap();
        std::os::unix::fs::symlink(place.path("secret"), poison("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", poison("zero")).unwrap();
        std::fs::create_dir(poison("folder")).unwrap();
        std::fs::write(poison("deep"), "[".repeat(1 << 20)).unwrap();
        std::fs::write(
            poison("cut"),
            &std::fs::read(golden.join(file)).unwrap()[..99],
        )
        .unwrap();
        let sparse = std::fs::File::create(poison("sparse")).unwrap();
        sparse.set_len(20 << 30).unwrap();
    }
    pipe(place.path("runs/pipe")).unwrap();
    let hostile = "\u{1b}[2J<script>alert(1)</script>\u{202e}";
    let run = copy("hostile-plan");
    let mut plan = place.json("runs/hostile-plan/run.json");
    plan["plan"]["title"] = Value::from(hostile);
    std::fs::write(run.join(RUN), plan.to_string()).unwrap();

    let served = Served::start(&place, "0", &[]);
    let names = std::fs::read_dir(place.path("runs")).unwrap();
    let names: Vec<_> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    std::thread::scope(|scope| {
        for name in &names {
            let served = &served;
            scope.spawn(move || {
                for path in ["", "/data.json", "/state"] {
                    let (status, body) = served.get(&format!("/runs/{name}{path}"));
                    let is_answer = [200, 404, 422, 500].contains(&status);
                    assert!(is_answer, "{name}{path}: {status} {body}");
                    for text in ["the secret", "\u{1b}", "\u{202e}"] {
                        assert!(!body.contains(text), "{name}{path} shows {text:?}");
                    }
                    // JSON is executed by nobody.
                    let is_page = path.is_empty();
                    assert!(!(is_page && body.contains("<script>alert")), "{name}");
                }
            });
        }
    });
    let (status, list) = served.get("/");
    assert_eq!(status, 200);
    assert!(list.contains("/runs/honest"), "{list}");
    assert_eq!(served.get("/runs/honest").0, 200);
    let status = std::fs::read_to_string(format!("/proc/{}/status", served.pid())).unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let peak: u64 = peak
        .and_then(|l| l.trim().strip_suffix(" kB"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(peak < 512 << 10, "{peak} kB");
    served.end(libc::SIGTERM).with_code(0);
}
