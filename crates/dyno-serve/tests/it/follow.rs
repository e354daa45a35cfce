//! A run that is measured while it is served.

use crate::place::{Place, trial, wait_for};
use dyno_kit::example::{self, failed, id};
use dyno_model::record::FailureKind;
use serde_json::Value;

/// Trials of experiment 1 in the data of a report.
fn trials(data: &Value) -> usize {
    data["runs"][0]["details"][1]["trials"]
        .as_array()
        .unwrap()
        .len()
}

#[test]
fn a_run_that_grows_is_followed_to_its_end() {
    let place = Place::new();
    let writer = place.write("live", &example::manifest());
    let state = || place.json("/runs/live/state");
    let data = || place.json("/runs/live/data.json");
    assert_eq!(
        (&state()["running"], &state()["stored"]),
        (&true.into(), &0.into())
    );
    assert_eq!(trials(&data()), 0);
    let page = place.get("/runs/live").text();
    assert!(
        page.contains("data-live=\"/runs/live/data.json\""),
        "no address to follow"
    );
    assert!(page.contains("data-state=\"/runs/live/state\""));
    assert!(page.contains("<script src=\"/assets/follow.js\" defer>"));
    assert!(page.contains("0 of 9 trials"));
    for number in 0..3 {
        let before = state()["version"].clone();
        writer.write_trial(&trial(1, number)).unwrap();
        wait_for("the state to count the trial", || {
            (state()["stored"] == number + 1).then_some(())
        });
        // The report follows after a pause that depends on what it costs.
        wait_for("the report to be another one", || {
            (state()["version"] != before).then_some(())
        });
        wait_for("the report to have the trial", || {
            (trials(&data()) == number as usize + 1).then_some(())
        });
    }
    wait_for("the list to say so", || {
        let list = place.get("/").text();
        (list.contains("state running") && list.contains("3 / 9")).then_some(())
    });
    assert_eq!(data()["runs"][0]["running"], true);

    writer
        .write_trial(&failed(id(2, 0), FailureKind::Interrupted))
        .unwrap();
    drop(writer);
    let ended = wait_for("the end of the run", || {
        let state = state();
        (state["running"] == false).then_some(state)
    });
    // What was interrupted is stored, and to be measured again.
    assert_eq!(
        (&ended["stored"], &ended["done"], &ended["failed"]),
        (&4.into(), &3.into(), &1.into())
    );
    // An ended run's report is never an old one.
    let data = data();
    assert_eq!(data["runs"][0]["running"], false);
    assert_eq!(
        data["runs"][0]["details"][2]["trials"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let page = place.get("/runs/live").text();
    assert!(!page.contains("data-live=") && !page.contains("follow.js"));
}

#[test]
fn the_version_names_the_data_that_is_sent() {
    let place = Place::new();
    let writer = place.write("live", &example::manifest());
    for number in 0..3 {
        writer.write_trial(&trial(1, number)).unwrap();
        // Whatever the report shows just now, state and report agree on its name once both are asked.
        wait_for("state and data to agree", || {
            let tag = place
                .get("/runs/live/data.json")
                .header("etag")
                .unwrap()
                .to_owned();
            let version = place.json("/runs/live/state")["version"].clone();
            (tag == format!("{:?}", version.as_str().unwrap())).then_some(())
        });
    }
}

#[test]
fn a_comparison_follows_the_run_that_is_measured() {
    let place = Place::new();
    place.run("done");
    let writer = place.write("live", &example::manifest());
    let page = place.get("/compare?base=done&new=live").text();
    let address = "data-live=\"/compare/data.json?base=done&amp;new=live\"";
    assert!(page.contains(address), "no address to follow");
    writer.write_trial(&trial(1, 0)).unwrap();
    wait_for("the trial in the comparison", || {
        let data = place.json("/compare/data.json?base=done&new=live");
        let trials = data["runs"][1]["details"][1]["trials"]
            .as_array()
            .unwrap()
            .len();
        (trials == 1).then_some(())
    });
}

#[test]
fn runs_appear_change_their_names_and_vanish() {
    let place = Place::new();
    let listed = |name: &str| {
        let link = format!("<a href=\"/runs/{name}\">");
        place.get("/").text().contains(&link)
    };
    place.run("a");
    wait_for("a", || listed("a").then_some(()));
    std::fs::rename(place.path("runs/a"), place.path("runs/b")).unwrap();
    wait_for("b", || (listed("b") && !listed("a")).then_some(()));
    assert_eq!(place.get("/runs/a").status, 404);
    assert_eq!(place.get("/runs/b").status, 200);
    std::fs::remove_dir_all(place.path("runs/b")).unwrap();
    wait_for("nothing", || (!listed("b")).then_some(()));
    assert_eq!(place.get("/runs/b/state").status, 404);
}

#[test]
fn a_watched_run_can_still_be_started() {
    let place = Place::new();
    drop(place.write("a", &example::manifest()));
    let asking = std::sync::atomic::AtomicBool::new(true);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while asking.load(std::sync::atomic::Ordering::Relaxed) {
                    place.json("/runs/a/state");
                }
            });
        }
        for _ in 0..20 {
            let dir = place.path("runs/a");
            let (writer, _) =
                dyno_store::RunWriter::open_for_resume(&dir, Default::default()).unwrap();
            drop(writer);
        }
        asking.store(false, std::sync::atomic::Ordering::Relaxed);
    });
}
