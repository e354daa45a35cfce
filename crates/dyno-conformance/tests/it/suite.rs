//! The suite passes an adapter that behaves, and catches one that does not.

use crate::memory;
use dyno_adapter::{Adapter, OptionValue, Options};
use dyno_conformance::{Case, Subject, conformance_tests, faulty, run, run_within};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Duration;

conformance_tests!(memory_plain, memory::adapter, { "mode" = "plain" });

fn wrapped() -> Box<dyn Adapter> {
    faulty::adapter(vec![memory::adapter()])
}
conformance_tests!(wrapped_without_faults, wrapped, { "inner" = "memory", "mode" = "plain" });

fn options(pairs: &[(&str, i64)]) -> Options {
    let inner = ("inner".to_owned(), OptionValue::Text("memory".into()));
    let pairs = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), OptionValue::Int(*value)));
    pairs.chain([inner]).collect()
}

/// What the suite says of `subject` in `case`.
fn judged(case: Case, subject: Subject) -> String {
    match catch_unwind(AssertUnwindSafe(|| run(case, subject))) {
        Ok(()) => "passed".into(),
        Err(panic) => match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(panic) => (*panic.downcast::<&str>().unwrap()).into(),
        },
    }
}

/// What the suite says when `case` is played with these options of `faulty`.
fn verdict(case: Case, pairs: &[(&str, i64)]) -> String {
    judged(case, subject(options(pairs)))
}

fn subject(options: Options) -> Subject {
    Subject {
        adapter: wrapped(),
        options,
        best_effort: None,
        except: &[],
        module: module_path!(),
    }
}

#[test]
fn corruption_is_caught() {
    let verdict = verdict(Case::MixedSizesArriveInOrder, &[("corrupt_every", 300)]);
    assert!(verdict.contains("wrong content"), "{verdict}");
}

#[test]
fn truncation_is_caught() {
    let verdict = verdict(Case::MixedSizesArriveInOrder, &[("truncate_every", 300)]);
    assert!(verdict.contains("arrived in place"), "{verdict}");
}

#[test]
fn duplicates_are_caught() {
    let verdict = verdict(Case::MixedSizesArriveInOrder, &[("duplicate_every", 300)]);
    assert!(verdict.contains("arrived in place"), "{verdict}");
}

#[test]
fn reordering_is_caught() {
    let verdict = verdict(Case::MixedSizesArriveInOrder, &[("reorder_every", 300)]);
    assert!(verdict.contains("arrived in place"), "{verdict}");
}

/// As [`verdict`] with one option of any type.
fn verdict_of(case: Case, name: &str, value: OptionValue) -> String {
    let mut options = options(&[]);
    options.insert(name.into(), value);
    let subject = Subject {
        adapter: wrapped(),
        options,
        best_effort: None,
        except: &[],
        module: module_path!(),
    };
    judged(case, subject)
}

#[test]
fn an_open_that_fails_is_caught() {
    let open = OptionValue::Text("open".into());
    let verdict = verdict_of(Case::RepliesFlowBack, "error_in", open);
    assert!(verdict.contains("faulty fails here"), "{verdict}");
}

#[test]
fn a_take_that_sleeps_for_seconds_is_caught() {
    let case = Case::BlockingTakeReturnsWithoutAMessage;
    let verdict = verdict(case, &[("slow_take_ms", 3_000)]);
    assert!(verdict.contains("sleeps for 3."), "{verdict}");
    // One that signals would have to end.
    let verdict = self::verdict(case, &[("slow_take_ms", 5_500)]);
    assert!(verdict.contains("despite signals"), "{verdict}");
}

#[test]
fn a_take_that_never_returns_is_caught() {
    let take = OptionValue::Text("take".into());
    let case = Case::BlockingTakeReturnsWithoutAMessage;
    let verdict = verdict_of(case, "hang_in", take);
    assert!(verdict.contains("take hangs"), "{verdict}");
}

const HANG: &str = "DYNO_TEST_HANG";

/// Not a test by itself: the process of a case that hangs, beside a library that waits at exit.
#[test]
fn hanging_process() {
    extern "C" fn wait() {
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
    if std::env::var_os(HANG).is_none() {
        return;
    }
    // SAFETY: the function is part of the program.
    assert_eq!(unsafe { libc::atexit(wait) }, 0);
    let mut options = options(&[]);
    options.insert("hang_in".into(), OptionValue::Text("send".into()));
    let subject = subject(options);
    run_within(
        Case::MixedSizesArriveInOrder,
        subject,
        Duration::from_millis(300),
    );
}

#[test]
fn a_case_that_hangs_fails_and_does_not_hold_up_its_process() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "suite::hanging_process"])
        .env(HANG, "1")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(101), "{stdout}");
    assert!(stdout.contains("did not end within 300ms"), "{stdout}");
    assert!(stdout.contains("test result: FAILED"), "{stdout}");
}

#[test]
fn a_receiver_that_is_always_matched_is_caught() {
    let case = Case::NoSenderIsSeenBeforeThereIsOne;
    let verdict = verdict_of(case, "always_matched", OptionValue::Bool(true));
    assert!(verdict.contains("before there is one"), "{verdict}");
}

#[test]
fn every_case_is_found_by_its_name() {
    for case in Case::ALL {
        assert_eq!(Case::named(case.name()), Some(*case));
        assert!(case.asks().ends_with('.'), "{}", case.asks());
    }
}

/// Adapters that leave something behind.
mod untidy {
    use super::*;
    use dyno_adapter::{AdapterDescription, Node, NodeContext, Result};
    use std::os::fd::IntoRawFd;

    const UNCLAIMED: &str = "dyno-untidy-";

    /// What to leave at each open.
    #[derive(Clone, Copy)]
    enum Leaves {
        ADescriptor,
        AFileInScratch,
        AnUnclaimedFile,
    }

    struct Untidy(Box<dyn Adapter>, Leaves);

    impl Adapter for Untidy {
        fn describe(&self) -> AdapterDescription {
            self.0.describe()
        }
        fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
            let participant = context.participant;
            match self.1 {
                Leaves::ADescriptor => {
                    let _ = std::fs::File::open("/dev/null").unwrap().into_raw_fd();
                }
                Leaves::AFileInScratch => {
                    std::fs::write(context.scratch.join(participant.to_string()), "").unwrap();
                }
                Leaves::AnUnclaimedFile => {
                    let name = format!("{UNCLAIMED}{}-{participant}", context.session);
                    let file = std::fs::File::create(std::env::temp_dir().join(name)).unwrap();
                    // Open, so that it is seen, until the process ends.
                    let _ = file.into_raw_fd();
                }
            }
            self.0.open(context)
        }
    }

    macro_rules! leaves {
        ($name:ident, $leaves:ident) => {
            mod $name {
                use super::*;

                pub(super) fn subject() -> Subject {
                    Subject {
                        adapter: Box::new(Untidy(memory::adapter(), Leaves::$leaves)),
                        options: Options::new(),
                        best_effort: None,
                        except: &[],
                        module: module_path!(),
                    }
                }

                /// Not a test by itself: the entry of child processes.
                #[test]
                fn child() {
                    dyno_conformance::run_child(subject());
                }
            }
        };
    }
    leaves!(a_descriptor, ADescriptor);
    leaves!(a_file_in_scratch, AFileInScratch);
    leaves!(an_unclaimed_file, AnUnclaimedFile);

    #[test]
    fn a_leaked_descriptor_is_caught() {
        let verdict = judged(Case::OpenAndCloseLeakNothing, a_descriptor::subject());
        assert!(verdict.contains("descriptors: "), "{verdict}");
    }

    #[test]
    fn a_file_left_in_the_scratch_directory_is_caught() {
        let verdict = judged(Case::LateJoinersAreMatched, a_file_in_scratch::subject());
        assert!(verdict.contains("left behind"), "{verdict}");
    }

    #[test]
    fn a_file_elsewhere_that_was_not_claimed_is_caught() {
        let case = Case::WhatIsCreatedIsClaimedAndRemoved;
        let verdict = judged(case, an_unclaimed_file::subject());
        let ours = format!("{UNCLAIMED}dynotest-{}-", std::process::id());
        for entry in std::fs::read_dir(std::env::temp_dir()).unwrap().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&ours) {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        assert!(verdict.contains("nor claimed"), "{verdict}");
    }
}
