//! The conformance suite: what every adapter must do, whatever it drives.
//!
//! A [`Case`] is one behaviour. [`play`] plays it with an adapter and options, with a deadline on every
//! wait, and says how it went; [`run`] does so within a test. Cases that kill a process or count a
//! process's belongings play the other part in a child: the running program, started again for
//! [`run_child`] alone.
//!
//! ```text
//! dyno_conformance::conformance_tests!(stream, dyno_adapter_uds::adapter, { "type" = "stream" });
//! dyno_conformance::conformance_tests!(lossy, my_adapter, { "depth" = 4 }, best_effort);
//! ```

mod call;
mod cases;
mod child;
mod description;
mod ends;
mod exchange;
mod gone;
mod lifetime;
mod log;
mod part;
mod pattern;
mod place;
mod process;
mod residue;
mod rig;
mod signal;
mod subject;

pub use cases::Case;
pub use child::is_child;
pub use part::run_child;
pub use subject::{IntoOption, Subject, Surroundings};

use rig::Rig;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// The time after which a case counts as hanging. Generous: it only ends what would never end.
const CASE_LIMIT: Duration = Duration::from_secs(150);

/// How a case went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The adapter behaves.
    Passed,
    /// It does not: what was seen.
    Failed(String),
    /// The case does not concern it: why.
    Skipped(String),
    /// A call into the adapter did not return. Its thread is still there.
    Hangs(String),
}

/// Plays one case within a test; panics where the adapter does not behave, and where it hangs.
pub fn run(case: Case, subject: Subject) {
    run_within(case, subject, CASE_LIMIT);
}

/// The same; after `limit` the case counts as hanging, and whatever tests still pass, the process ends with the status of
/// failed ones.
pub fn run_within(case: Case, subject: Subject, limit: Duration) {
    let name = subject.adapter.describe().name;
    if let Some(reason) = subject.skips(case) {
        eprintln!("{} skipped for {name}: {reason}", case.name());
        return;
    }
    match played(case, Arc::new(Rig::new(subject)), limit) {
        Verdict::Passed => {}
        Verdict::Skipped(reason) => eprintln!("{} skipped for {name}: {reason}", case.name()),
        Verdict::Failed(reason) => panic!("{reason}"),
        Verdict::Hangs(reason) => {
            fail_at_exit();
            panic!("{reason}")
        }
    }
}

/// The process ends with the status of failed tests before it runs what libraries registered for its exit, which
/// would wait for the thread that hangs, for ever.
fn fail_at_exit() {
    extern "C" fn fail() {
        const TESTS_FAILED: i32 = 101;
        // SAFETY: _exit(2) ends the process without running anything of it.
        unsafe { libc::_exit(TESTS_FAILED) }
    }
    // SAFETY: the function lives as long as the process, whose program it is part of. What is registered last runs first.
    if unsafe { libc::atexit(fail) } != 0 {
        eprintln!("no room for one more function at exit: the process may not end");
    }
}

/// Plays one case and says how it went. After [`Verdict::Hangs`] the process is of no more use.
pub fn play(case: Case, subject: Subject, surroundings: Surroundings) -> Verdict {
    if let Some(reason) = subject.skips(case) {
        return Verdict::Skipped(reason);
    }
    let limit = surroundings.limit;
    played(case, Arc::new(Rig::within(subject, surroundings)), limit)
}

macro_rules! bodies {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $case:ident [$($need:ident)*] $module:ident :: $body:ident;
    )*) => {
        /// What plays a case.
        fn body(case: Case) -> fn(&Rig) {
            match case { $(Case::$case => $module::$body,)* }
        }
    };
}

crate::each_case!(bodies);

/// Plays the case on a thread of its own, so that a hang fails it instead of holding it up.
fn played(case: Case, rig: Arc<Rig>, limit: Duration) -> Verdict {
    let (tell, told) = mpsc::channel();
    let theirs = rig.clone();
    std::thread::spawn(move || {
        let end = catch_unwind(AssertUnwindSafe(|| {
            body(case)(&theirs);
            theirs.assert_nothing_left();
        }));
        drop(theirs);
        // The test may have given up waiting.
        let _ = tell.send(end);
    });
    match told.recv_timeout(limit) {
        Ok(Ok(())) => match rig.skipped() {
            Some(reason) => Verdict::Skipped(reason),
            None => Verdict::Passed,
        },
        Ok(Err(panic)) => Verdict::Failed(words(&*panic)),
        Err(_) => {
            rig.remove_all();
            Verdict::Hangs(format!(
                "the adapter hangs: the case did not end within {limit:?}"
            ))
        }
    }
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

/// Instantiates the conformance suite: a module `$name` with one `#[test]` per [`Case`].
///
/// `$adapter` is a function without arguments that returns `Box<dyn Adapter>`; the options are
/// those of a stack. A trailing `best_effort` says that messages may be lost with these options
/// although the adapter can be reliable. A trailing `except { CASE: "reason" }` skips what the library
/// itself fails, for that reason.
#[macro_export]
macro_rules! conformance_tests {
    ($name:ident, $adapter:expr, { $($key:literal = $value:expr),* $(,)? }) => {
        $crate::conformance_tests!(@module $name, $adapter, None, [], { $($key = $value),* });
    };
    ($name:ident, $adapter:expr, { $($key:literal = $value:expr),* $(,)? }, best_effort) => {
        $crate::conformance_tests!(@module $name, $adapter, Some(true), [], {
            $($key = $value),*
        });
    };
    (
        $name:ident, $adapter:expr, { $($key:literal = $value:expr),* $(,)? },
        except { $($case:ident: $reason:literal),+ $(,)? }
    ) => {
        $crate::conformance_tests!(
            @module $name, $adapter, None, [$(($crate::Case::$case, $reason)),+],
            { $($key = $value),* }
        );
    };
    (
        $name:ident, $adapter:expr, { $($key:literal = $value:expr),* $(,)? },
        best_effort, except { $($case:ident: $reason:literal),+ $(,)? }
    ) => {
        $crate::conformance_tests!(
            @module $name, $adapter, Some(true), [$(($crate::Case::$case, $reason)),+],
            { $($key = $value),* }
        );
    };
    (
        @module $name:ident, $adapter:expr, $best_effort:expr, $except:expr,
        { $($key:literal = $value:expr),* }
    ) => {
        mod $name {
            #[allow(unused_imports, reason = "the adapter may be named by a full path")]
            use super::*;

            fn subject() -> $crate::Subject {
                $crate::Subject {
                    adapter: ($adapter)(),
                    options: [
                        $((String::from($key), $crate::IntoOption::into_option($value)),)*
                    ]
                    .into_iter()
                    .collect(),
                    best_effort: $best_effort,
                    except: &$except,
                    module: module_path!(),
                }
            }

            /// Not a test by itself: the entry of child processes.
            #[test]
            fn child() {
                $crate::run_child(subject());
            }

            $crate::each_case!($crate::conformance_case_tests);
        }
    };
}

/// One `#[test]` per case, in a module with `subject()`.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_case_tests {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $case:ident [$($need:ident)*] $module:ident :: $body:ident;
    )*) => {
        $(
            #[test]
            fn $name() {
                $crate::run($crate::Case::$case, subject());
            }
        )*
    };
}
