//! What `dyno show` keeps beside a large run never changes what it says.

use crate::harness::Place;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// From so many trials on a text is kept.
const MANY: usize = dyno_store::KEPT_FROM;

struct Large(Place);

impl Large {
    /// A run of one experiment, whose trials are one that was measured, again and again.
    fn new() -> Self {
        let large = Large(Place::new());
        let place = &large.0;
        place.round_trips("tiny", "trials = 1\nround_trips = 20", &["pipe"]);
        let arguments = ["run", "tiny", "--out", "out", "--quiet"];
        large.0.run(&arguments).with_code(0);
        for number in 1..MANY {
            large.add(number);
        }
        large
    }

    fn trial(&self, number: usize) -> PathBuf {
        self.0.path(&format!("out/trials/e0000-t{number:03}.json"))
    }

    fn add(&self, number: usize) {
        let first = fs::read_to_string(self.trial(0)).unwrap();
        let own = first.replacen("\"number\":0", &format!("\"number\":{number}"), 1);
        fs::write(self.trial(number), own).unwrap();
    }

    #[track_caller]
    fn show(&self, more: &[&str]) -> String {
        let ended = self.0.run(&[&["show", "out"], more].concat());
        ended.with_code(0).stdout
    }

    fn kept(&self, name: &str) -> PathBuf {
        self.0.path(&format!("out/.shown/{name}"))
    }

    /// Tells one kept text from the next: each is a file of its own.
    #[track_caller]
    fn which(&self, name: &str) -> u64 {
        fs::metadata(self.kept(name)).unwrap().ino()
    }

    /// What is said where nothing is kept.
    #[track_caller]
    fn anew(&self, more: &[&str]) -> String {
        fs::remove_dir_all(self.0.path("out/.shown")).unwrap();
        self.show(more)
    }
}

#[test]
fn what_is_kept_is_what_would_be_said_until_the_run_or_the_question_changes() {
    let large = Large::new();
    let first = large.show(&[]);
    let which = large.which("table");
    assert_eq!(large.show(&[]), first);
    assert_eq!(large.which("table"), which, "it was made again");
    assert_eq!(large.anew(&[]), first);

    // Another question.
    let brief = large.show(&["--columns", "p50"]);
    assert_ne!(brief, first);
    assert_eq!(large.show(&[]), first);
    let json = large.show(&["--format", "json"]);
    assert_eq!(large.show(&["--format", "json"]), json);
    assert_eq!(large.anew(&["--format", "json"]), json);

    // A trial that was changed, one more, one less.
    large.show(&[]);
    let text = fs::read_to_string(large.trial(9)).unwrap();
    let changed = text.replacen("\"warnings\":[]", "\"warnings\":[\"was changed\"]", 1);
    assert_ne!(text, changed);
    fs::write(large.trial(9), changed).unwrap();
    let now = large.show(&[]);
    assert!(now.contains("was changed"), "{now}");
    assert_eq!(large.anew(&[]), now);
    large.add(MANY);
    let more = large.show(&[]);
    assert_ne!(more, now);
    assert_eq!(large.anew(&[]), more);
    fs::remove_file(large.trial(MANY)).unwrap();
    assert_eq!(large.show(&[]), now);

    // What is damaged is not believed.
    for damaged in [&b"nothing"[..], b""] {
        fs::write(large.kept("table"), damaged).unwrap();
        assert_eq!(large.show(&[]), now);
        assert_ne!(fs::read(large.kept("table")).unwrap(), damaged);
    }
    let mut whole = fs::read(large.kept("table")).unwrap();
    *whole.last_mut().unwrap() ^= 1;
    fs::write(large.kept("table"), whole).unwrap();
    assert_eq!(large.show(&[]), now);

    // Where nothing can be kept, nothing is. A file in the place of the directory stops root as well.
    assert_eq!(large.anew(&[]), now);
    fs::remove_dir_all(large.0.path("out/.shown")).unwrap();
    large.0.file("out/.shown", "");
    assert_eq!(large.show(&[]), now);
    assert_eq!(large.show(&[]), now);
    fs::remove_file(large.0.path("out/.shown")).unwrap();

    // A trial that cannot be read is named each time, also where the rest of the run was shown before.
    large.show(&[]);
    fs::write(large.trial(3), "{").unwrap();
    for _ in 0..2 {
        let shown = large.0.run(&["show", "out"]);
        shown.with_code(5).says("e0000-t003.json");
    }
}
