//! The conformance suite: what every adapter must do, whatever it drives.
//!
//! A [`Case`] is one behaviour. [`run`] plays it with an adapter and options, in a fresh scratch
//! directory, with a deadline on every wait; a case that the adapter's capabilities exclude is
//! skipped with a remark. Cases that kill a process or count a process's belongings play the other
//! part in a child: the test binary itself, started again with only the test [`run_child`].
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
mod lifetime;
mod log;
mod pattern;
mod process;
mod residue;
mod rig;
mod signal;

pub use cases::Case;
pub use child::run_child;

use dyno_adapter::{Adapter, OptionValue, Options};
use rig::Rig;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// After this long a case counts as hanging. Generous: it only ends what would never end.
const CASE_LIMIT: Duration = Duration::from_secs(240);

/// An adapter with options, as the suite tests it.
pub struct Subject {
    /// The adapter.
    pub adapter: Box<dyn Adapter>,
    /// The options of the stack under test.
    pub options: Options,
    /// Whether messages may be lost with these options. Where it is `None`, they may unless the
    /// adapter's capabilities say `reliable`.
    pub best_effort: Option<bool>,
    /// Cases that the library itself fails, each with its reason: they are skipped and say so.
    pub except: &'static [(Case, &'static str)],
    /// The module that holds the tests, from `module_path!()`: tells a child which test to run.
    pub module: &'static str,
}

impl Subject {
    fn may_lose(&self) -> bool {
        self.best_effort
            .unwrap_or(!self.adapter.describe().capabilities.reliable)
    }
}

/// What can stand as an option's value in [`conformance_tests!`](crate::conformance_tests).
pub trait IntoOption {
    /// The value.
    fn into_option(self) -> OptionValue;
}
impl IntoOption for bool {
    fn into_option(self) -> OptionValue {
        OptionValue::Bool(self)
    }
}
impl IntoOption for i64 {
    fn into_option(self) -> OptionValue {
        OptionValue::Int(self)
    }
}
impl IntoOption for f64 {
    fn into_option(self) -> OptionValue {
        OptionValue::Float(self)
    }
}
impl IntoOption for &str {
    fn into_option(self) -> OptionValue {
        OptionValue::Text(self.into())
    }
}

/// Plays one case; panics where the adapter does not behave, and where it hangs.
pub fn run(case: Case, subject: Subject) {
    let description = subject.adapter.describe();
    if let Some(reason) = description.unavailable {
        eprintln!(
            "{case:?} skipped, {} is unavailable: {reason}",
            description.name
        );
        return;
    }
    if let Some(reason) = case.excluded_by(&description.capabilities) {
        eprintln!("{case:?} skipped for {}: {reason}", description.name);
        return;
    }
    if let Some((_, reason)) = subject.except.iter().find(|(other, _)| *other == case) {
        eprintln!("{case:?} skipped for {}: {reason}", description.name);
        return;
    }
    let rig = Arc::new(Rig::new(subject));
    play(&rig, case.body());
    rig.assert_nothing_left();
}

/// Runs `body` on a thread of its own, so that a hang fails the test instead of holding it up.
fn play(rig: &Arc<Rig>, body: fn(&Rig)) {
    let (tell, told) = mpsc::channel();
    let theirs = rig.clone();
    std::thread::spawn(move || {
        let end = catch_unwind(AssertUnwindSafe(|| body(&theirs)));
        drop(theirs);
        // The test may have given up waiting.
        let _ = tell.send(end);
    });
    match told.recv_timeout(CASE_LIMIT) {
        Ok(Ok(())) => {}
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => {
            rig.remove_all();
            panic!("the adapter hangs: the case did not end within {CASE_LIMIT:?}")
        }
    }
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

            $crate::conformance_tests!(@tests
                description_is_complete: DescriptionIsComplete,
                undeclared_waits_are_refused: UndeclaredWaitsAreRefused,
                every_size_arrives_intact: EverySizeArrivesIntact,
                mixed_sizes_arrive_in_order: MixedSizesArriveInOrder,
                replies_flow_back: RepliesFlowBack,
                a_callback_may_send: ACallbackMaySend,
                late_joiners_are_matched: LateJoinersAreMatched,
                two_senders_reach_three_receivers: TwoSendersReachThreeReceivers,
                a_full_buffer_damages_nothing: AFullBufferDamagesNothing,
                signals_tear_no_message: SignalsTearNoMessage,
                blocking_take_returns_without_a_message: BlockingTakeReturnsWithoutAMessage,
                spinning_take_returns_at_once: SpinningTakeReturnsAtOnce,
                a_dropped_subscription_is_silent: ADroppedSubscriptionIsSilent,
                processes_exchange_messages: ProcessesExchangeMessages,
                sender_survives_a_killed_receiver: SenderSurvivesAKilledReceiver,
                receiver_survives_a_killed_sender: ReceiverSurvivesAKilledSender,
                calls_are_answered: CallsAreAnswered,
                a_callback_may_answer: ACallbackMayAnswer,
                two_callers_reach_one_provider: TwoCallersReachOneProvider,
                call_survives_a_killed_provider: CallSurvivesAKilledProvider,
                open_and_close_leak_nothing: OpenAndCloseLeakNothing,
                what_is_created_is_claimed_and_removed: WhatIsCreatedIsClaimedAndRemoved,
            );
        }
    };
    (@tests $($test:ident: $case:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                $crate::run($crate::Case::$case, subject());
            }
        )*
    };
}
