//! Run directories that are damaged, foreign, or of another version.

use crate::harness::Place;

fn stored() -> Place {
    let place = Place::new();
    place.round_trips("tiny", "trials = 2\nround_trips = 20", &["pipe"]);
    place
        .run(&["run", "tiny", "--out", "out", "--quiet"])
        .with_code(0);
    place
}

#[test]
fn a_run_directory_is_not_overwritten() {
    stored()
        .run(&["run", "tiny", "--out", "out", "--quiet"])
        .with_code(5)
        .says("out");
}

#[test]
fn a_newer_format_is_refused_with_its_number() {
    let place = stored();
    let text = std::fs::read_to_string(place.path("out/run.json")).unwrap();
    let newer = text.replacen("\"format\":", "\"format\": 99, \"was\":", 1);
    assert_ne!(text, newer);
    place.file("out/run.json", &newer);
    place
        .run(&["show", "out"])
        .with_code(5)
        .says("99")
        .says("newer");
    place
        .run(&["run", "--resume", "out"])
        .with_code(5)
        .says("newer");
}

#[test]
fn a_truncated_trial_is_named_and_the_others_are_shown() {
    let place = stored();
    let file = place.path("out/trials/e0000-t000.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() / 2]).unwrap();
    place
        .run(&["show", "out"])
        .with_code(5)
        .says("e0000-t000.json")
        .says("pipe");
    // Resuming measures it again.
    place
        .run(&["run", "--resume", "out", "--quiet"])
        .with_code(0);
    place.run(&["show", "out"]).with_code(0);
}

#[test]
fn a_folder_that_is_no_run_is_refused() {
    let place = Place::new();
    place.run(&["show", "suites"]).with_code(5).says("run.json");
    place.run(&["show", "nowhere"]).with_code(5).says("nowhere");
    place.run(&["show", "latest"]).with_code(5).says("dyno run");
}
