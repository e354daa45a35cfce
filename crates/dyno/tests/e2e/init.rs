//! A suite of one's own: from a file with comments, and from three answers on a terminal.

use crate::harness::Place;
use crate::live::Session;

#[test]
fn a_suite_that_init_writes_is_run_and_never_overwritten() {
    let place = Place::new();
    place
        .run(&["init", "mine.toml"])
        .with_code(0)
        .says("dyno run mine.toml --dry-run");
    let text = std::fs::read_to_string(place.path("mine.toml")).unwrap();
    assert!(
        text.lines().filter(|l| l.starts_with('#')).count() > 5,
        "{text}"
    );
    let planned = place.run(&["run", "mine.toml", "--dry-run"]).with_code(0);
    for stack in ["uds-stream", "tcp", "udp"] {
        assert!(planned.stdout.contains(stack), "{}", planned.stdout);
    }
    place
        .run(&["init", "mine.toml"])
        .with_code(1)
        .says("name another file");
    assert_eq!(
        std::fs::read_to_string(place.path("mine.toml")).unwrap(),
        text
    );
    place
        .run(&["init", "mine"])
        .with_code(2)
        .says("ends in .toml");
    // Without a name, the one that the help says.
    place.run(&["init"]).with_code(0);
    assert!(place.path("my-suite.toml").exists());
}

#[test]
fn three_answers_make_a_suite_that_is_run() {
    let place = Place::new();
    place.file("my-suite.toml", "# somebody's own\n");
    let mut run = Session::start(&place, &["run", "--trials", "2", "--out", "out"]);
    run.says("[uds-stream,tcp,udp] ");
    run.press("pip\n");
    run.says("did you mean `pipe`?");
    run.says("lists them) [uds-stream,tcp,udp] ");
    run.press("pipe, tcp\n");
    run.says("2. How large are the messages");
    run.says("[64 B at 1 kHz] ");
    run.press("64 X at 1 kHz\n");
    run.says("unknown unit");
    run.says("[64 B at 1 kHz] ");
    run.press("32 B at 2 kHz\n");
    run.says("3. What matters");
    run.says("[median] ");
    // Enter takes the answer in brackets.
    run.press("\n");
    run.says("The same again: dyno run my-suite-2.toml --trials 2");
    let (code, stdout) = run.ended();
    assert_eq!(code, Some(0), "{stdout}");
    let shown = place.show("out");
    let all = shown["experiments"].as_array().unwrap();
    for stack in ["pipe", "tcp"] {
        let own = all.iter().find(|e| e["stack"] == stack).unwrap();
        assert_eq!(own["payload_bytes"], 32);
        assert_eq!(own["load"]["rate_hz"], 2_000.0);
    }
    place
        .run(&["run", "my-suite-2.toml", "--dry-run"])
        .with_code(0)
        .says("pipe");
    let kept = std::fs::read_to_string(place.path("my-suite.toml")).unwrap();
    assert_eq!(kept, "# somebody's own\n");
}

#[test]
fn a_dry_run_asks_and_writes_nothing() {
    let place = Place::new();
    let mut run = Session::start(&place, &["run", "--dry-run", "--stack", "pipe"]);
    run.says("[64 B at 1 kHz] ");
    run.press("32 B\n");
    run.says("[median] ");
    run.press("p99\n");
    let (code, shown) = run.ended();
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        shown.contains("pipe") && shown.contains("trials of 2 experiments"),
        "{shown}"
    );
    assert!(!place.path("my-suite.toml").exists() && !place.path("runs").exists());
}

#[test]
fn who_gives_no_answer_measures_nothing() {
    for (keys, code) in [("\u{4}", 2), ("\u{3}", 130)] {
        let place = Place::new();
        let mut run = Session::start(&place, &["run"]);
        run.says("[uds-stream,tcp,udp] ");
        run.press(keys);
        run.says("nothing was run");
        assert_eq!(run.ended().0, Some(code), "{keys:?}");
        assert!(!place.path("my-suite.toml").exists());
        assert!(!place.path("runs").exists());
    }
}
