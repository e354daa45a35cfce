//! Many clients at once, in a process of its own, so that its threads and open files can be counted.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

#[path = "it/place.rs"]
#[allow(dead_code, reason = "shared with the tests in it/")]
mod place;

use place::{Place, wait_for};

const CLIENTS: usize = 200;

fn entries(of: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{of}"))
        .unwrap()
        .count()
}

mod slow {
    use super::*;

    #[test]
    fn two_hundred_clients_at_once_get_what_they_ask_for_and_leave_nothing() {
        let place = Place::new();
        for name in ["a", "b", "c"] {
            place.run(name);
        }
        let (threads, files) = (entries("task"), entries("fd"));
        let paths = [
            ("/", "<a href=\"/runs/a\">"),
            ("/?text=b", "<a href=\"/runs/b\">"),
            ("/runs/a", "id=\"dyno-data\""),
            ("/runs/b", "id=\"dyno-data\""),
            ("/runs/c/data.json", "\"grid\":["),
            ("/runs/a/state", "\"planned\":9"),
            ("/compare?base=a&new=b", "id=\"dyno-data\""),
            ("/compare/data.json?base=b&new=c", "\"comparisons\":[{"),
            ("/runs/none", "No such run"),
            ("/runs/%2e%2e", "No such run"),
        ];
        let all_here = std::sync::Barrier::new(CLIENTS);
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (place, all_here) = (&place, &all_here);
                scope.spawn(move || {
                    all_here.wait();
                    for turn in 0..5 {
                        let (path, text) = paths[(client + turn) % paths.len()];
                        let answer = place.get(path);
                        let expected = if text == "No such run" { 404 } else { 200 };
                        assert_eq!(answer.status, expected, "{path}");
                        assert!(answer.text().contains(text), "{path}: {answer:?}");
                    }
                });
            }
        });
        wait_for("threads and files to be given back", || {
            let now = (entries("task"), entries("fd"));
            (now == (threads, files)).then_some(())
        });
    }
}
