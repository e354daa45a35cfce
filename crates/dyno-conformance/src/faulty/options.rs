//! The options of `faulty`: one table of specifications, and what they parse to.

use dyno_adapter::{Error, NodeContext, OptionKind, OptionSpec, OptionValue, Result};
use std::time::Duration;

/// Where a call can hang, fail or crash. The number after which it does counts what is given here,
/// for each node apart and over all its endpoints together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Opening a node, which happens once.
    Open,
    /// Making a sender; counts senders.
    Sender,
    /// Making a receiver to take from; counts receivers.
    Receiver,
    /// Making a subscription; counts subscriptions.
    Subscribe,
    /// Asking an endpoint whether it is matched; counts the calls.
    Matched,
    /// Sending; counts messages sent.
    Send,
    /// Taking, or being called with a message; counts whole messages received, not calls.
    Take,
    /// Dropping a node or an endpoint; counts drops.
    Drop,
}

impl Place {
    /// Every place with its text form.
    pub const ALL: &'static [(Place, &'static str)] = &[
        (Place::Open, "open"),
        (Place::Sender, "sender"),
        (Place::Receiver, "receiver"),
        (Place::Subscribe, "subscribe"),
        (Place::Matched, "matched"),
        (Place::Send, "send"),
        (Place::Take, "take"),
        (Place::Drop, "drop"),
    ];
    /// The text form.
    pub fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(place, _)| *place == self)
            .map_or("", |(_, text)| text)
    }
}

/// How a process ends when it crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// By SIGSEGV.
    Segv,
    /// By SIGABRT.
    Abort,
    /// By a Rust panic on the calling thread.
    Panic,
    /// By `_exit` with [`Crash::EXIT_CODE`].
    Exit,
}

impl Crash {
    /// The exit code of [`Crash::Exit`].
    pub const EXIT_CODE: i32 = 3;
    /// Every way with its text form.
    pub const ALL: &'static [(Crash, &'static str)] = &[
        (Crash::Segv, "segv"),
        (Crash::Abort, "abort"),
        (Crash::Panic, "panic"),
        (Crash::Exit, "exit"),
    ];
}

/// Which end of a channel hangs, fails or crashes. Nodes belong to no side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Senders only.
    Sender,
    /// Receivers and subscriptions only.
    Receiver,
}

/// Each n-th message, counted from one; zero for none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Every(u64);

impl Every {
    pub(super) fn hits(self, number: u64) -> bool {
        self.0 != 0 && number.is_multiple_of(self.0)
    }
    pub(super) fn is_set(self) -> bool {
        self.0 != 0
    }
}

/// Nothing is sent for a time, from the last of so many messages on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Silence {
    pub(super) lasts: Duration,
    pub(super) after: u64,
}

/// All faults of one node, parsed.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    pub(super) drop: Every,
    pub(super) duplicate: Every,
    pub(super) reorder: Every,
    pub(super) corrupt: Every,
    pub(super) corrupt_byte: Option<usize>,
    pub(super) truncate: Every,
    pub(super) truncate_by: usize,
    pub(super) delay: Every,
    pub(super) delay_first: u64,
    pub(super) delay_by: Duration,
    pub(super) delay_spin: bool,
    pub(super) silence: Silence,
    pub(super) deaf_after: Option<u64>,
    pub(super) slow_open: Duration,
    pub(super) slow_take: Duration,
    pub(super) wake_every: Duration,
    pub(super) wake_spin: Duration,
    pub(super) always_matched: bool,
    pub(super) hang: Option<(Place, u64)>,
    pub(super) crash: Option<(Place, u64, Crash)>,
    pub(super) crash_at_exit: bool,
    pub(super) hang_at_thread_end: bool,
    pub(super) error: Option<(Place, u64)>,
    pub(super) side: Option<Side>,
}

impl Faults {
    /// Reads the options; no faults at all where `participant` names another participant.
    pub(super) fn from_context(context: &NodeContext) -> Result<Self> {
        let at = |place: &str, after: &str| -> Result<Option<(Place, u64)>> {
            Ok(one_of(context, place, Place::ALL)?.zip(Some(count(context, after, 0)?)))
        };
        let crash = one_of(context, "crash", Crash::ALL)?.unwrap_or(Crash::Segv);
        let error = at("error_in", "error_after")?;
        if matches!(error, Some((Place::Drop, _))) {
            return Err(Error::option(
                "error_in",
                "dropping returns no error; use hang_in or crash_in",
            ));
        }
        let faults = Faults {
            drop: Every(count(context, "drop_every", 0)?),
            duplicate: Every(count(context, "duplicate_every", 0)?),
            reorder: Every(count(context, "reorder_every", 0)?),
            corrupt: Every(count(context, "corrupt_every", 0)?),
            corrupt_byte: match context.options.contains_key("corrupt_byte") {
                true => Some(count(context, "corrupt_byte", 0)? as usize),
                false => None,
            },
            truncate: Every(count(context, "truncate_every", 0)?),
            truncate_by: count(context, "truncate_by", 1)? as usize,
            delay: Every(count(context, "delay_every", 0)?),
            delay_first: count(context, "delay_first", 0)?,
            delay_by: Duration::from_micros(count(context, "delay_us", 1_000)?)
                + Duration::from_nanos(count(context, "delay_ns", 0)?),
            delay_spin: context.bool("delay_spin", false)?,
            silence: Silence {
                lasts: Duration::from_millis(count(context, "silence_ms", 0)?),
                after: count(context, "silence_after", 0)?,
            },
            deaf_after: match context.options.contains_key("deaf_after") {
                true if is_deaf_in(context)? => Some(count(context, "deaf_after", 0)?),
                _ => None,
            },
            slow_open: Duration::from_millis(count(context, "slow_open_ms", 0)?),
            slow_take: Duration::from_millis(count(context, "slow_take_ms", 0)?),
            wake_every: Duration::from_micros(count(context, "wake_every_us", 0)?),
            wake_spin: Duration::from_micros(count(context, "wake_spin_us", 0)?),
            always_matched: context.bool("always_matched", false)?,
            hang: at("hang_in", "hang_after")?,
            crash: at("crash_in", "crash_after")?.map(|(place, after)| (place, after, crash)),
            crash_at_exit: context.bool("crash_at_exit", false)?,
            hang_at_thread_end: context.bool("hang_at_thread_end", false)?,
            error,
            side: one_of(
                context,
                "side",
                &[
                    (None, "both"),
                    (Some(Side::Sender), "sender"),
                    (Some(Side::Receiver), "receiver"),
                ],
            )?
            .flatten(),
        };
        if context.options.contains_key("participant")
            && count(context, "participant", 0)? != u64::from(context.participant)
        {
            return Ok(Faults::default());
        }
        Ok(faults)
    }

    /// Whether messages must pass through a buffer of ours.
    pub(super) fn touch_messages(&self) -> bool {
        [
            self.drop,
            self.duplicate,
            self.reorder,
            self.corrupt,
            self.truncate,
            self.delay,
        ]
        .into_iter()
        .any(Every::is_set)
            || !self.silence.lasts.is_zero()
    }
}

/// Whether receivers are deaf in this trial. A session's name ends with the trial's place in its run, from 0.
fn is_deaf_in(context: &NodeContext) -> Result<bool> {
    let every = count(context, "deaf_trials", 1)?;
    if every <= 1 {
        return Ok(true);
    }
    let session = &context.session;
    let place = session
        .rsplit('-')
        .next()
        .and_then(|n| n.parse::<u64>().ok());
    let place = place.ok_or_else(|| {
        Error::option(
            "deaf_trials",
            format!("the session {session:?} has no number of its trial; leave the option out"),
        )
    })?;
    Ok((place + 1).is_multiple_of(every))
}

fn count(context: &NodeContext, name: &str, default: u32) -> Result<u64> {
    let value = context.int(name, i64::from(default))?;
    u64::try_from(value)
        .map_err(|_| Error::option(name, format!("write zero or more instead of {value}")))
}

fn one_of<T: Copy>(context: &NodeContext, name: &str, all: &[(T, &str)]) -> Result<Option<T>> {
    let text = context.text(name, "")?;
    if text.is_empty() {
        return Ok(None);
    }
    match all.iter().find(|(_, t)| *t == text) {
        Some((value, _)) => Ok(Some(*value)),
        None => Err(Error::option(
            name,
            format!("write one of {} instead of {text:?}", texts(all).join(", ")),
        )),
    }
}

fn texts<T>(all: &[(T, &str)]) -> Vec<String> {
    all.iter().map(|(_, text)| (*text).to_owned()).collect()
}

/// Whether `faulty` itself has an option of that name.
pub(super) fn is_own(name: &str) -> bool {
    specs(Vec::new()).iter().any(|spec| spec.name == name)
}

/// What `faulty` understands; `inner` are the names of the adapters that it can wrap.
#[expect(clippy::too_many_lines, reason = "one row for each fault")]
pub(super) fn specs(inner: Vec<String>) -> Vec<OptionSpec> {
    let spec = |name: &str, kind, default: Option<OptionValue>, doc: &str| OptionSpec {
        name: name.into(),
        kind,
        default,
        least: None,
        most: None,
        doc: doc.into(),
    };
    let every = |name: &str, doc: &str| spec(name, OptionKind::Int, int(0), doc);
    let places = || OptionKind::OneOf(texts(Place::ALL));
    let error_places = || {
        let mut all = texts(Place::ALL);
        all.retain(|text| text != Place::Drop.as_str());
        OptionKind::OneOf(all)
    };
    vec![
        spec(
            "inner",
            OptionKind::OneOf(inner),
            None,
            "the adapter to wrap; must be given",
        ),
        every(
            "drop_every",
            "each n-th message of a sender is dropped silently; 0: none",
        ),
        every(
            "duplicate_every",
            "each n-th message of a sender is sent twice; 0: none",
        ),
        every(
            "reorder_every",
            "each n-th message of a sender is sent after the next one, or lost if there is no next one; 0: none",
        ),
        every(
            "corrupt_every",
            "one byte of each n-th message of a sender is inverted; 0: none",
        ),
        spec(
            "corrupt_byte",
            OptionKind::Int,
            None,
            "offset of the byte to invert; if omitted or beyond the end: the last byte",
        ),
        every(
            "truncate_every",
            "each n-th message of a sender is sent shorter; 0: none",
        ),
        spec(
            "truncate_by",
            OptionKind::Int,
            int(1),
            "by how many bytes such a message is shorter; at least one byte is sent",
        ),
        every(
            "delay_every",
            "each n-th send of a sender takes longer; 0: none",
        ),
        every(
            "delay_first",
            "only this many of a sender's first sends can be delayed, as by a library that must warm up; 0: all",
        ),
        spec(
            "delay_us",
            OptionKind::Int,
            int(1_000),
            "length of the delay in microseconds",
        ),
        every("delay_ns", "nanoseconds added to `delay_us`"),
        spec(
            "delay_spin",
            OptionKind::Bool,
            Some(OptionValue::Bool(false)),
            "whether the delay burns CPU time instead of sleeping",
        ),
        every(
            "silence_ms",
            "for how many milliseconds a sender silently drops all messages, once; 0: none",
        ),
        every(
            "silence_after",
            "how many messages a sender sends before the silence",
        ),
        spec(
            "deaf_after",
            OptionKind::Int,
            None,
            "how many messages a receiver delivers before it delivers none, although its library continues; if omitted: all",
        ),
        spec(
            "deaf_trials",
            OptionKind::Int,
            int(1),
            "receivers are deaf only in each n-th trial of a run",
        ),
        every(
            "slow_open_ms",
            "how many milliseconds longer opening a node takes",
        ),
        every(
            "slow_take_ms",
            "how many milliseconds longer a take without a message sleeps, even if signals arrive",
        ),
        every(
            "wake_every_us",
            "a thread of each node wakes up so often although there is nothing to do; 0: there is none",
        ),
        every(
            "wake_spin_us",
            "for how many microseconds that thread keeps a CPU busy each time",
        ),
        spec(
            "always_matched",
            OptionKind::Bool,
            Some(OptionValue::Bool(false)),
            "whether receivers always report that they are matched",
        ),
        spec("hang_in", places(), None, "the call that never returns"),
        every(
            "hang_after",
            "how many such calls succeed first (of take: messages)",
        ),
        spec("crash_in", places(), None, "the call that ends the process"),
        every(
            "crash_after",
            "how many such calls succeed first (of take: messages)",
        ),
        spec(
            "crash",
            OptionKind::OneOf(texts(Crash::ALL)),
            Some(OptionValue::Text("segv".into())),
            "how the process ends; `exit` is exit code 3",
        ),
        spec(
            "crash_at_exit",
            OptionKind::Bool,
            Some(OptionValue::Bool(false)),
            "whether the process ends by SIGABRT in its exit handlers, as with a library whose threads use destroyed objects",
        ),
        spec(
            "hang_at_thread_end",
            OptionKind::Bool,
            Some(OptionValue::Bool(false)),
            "whether the thread that opens the node hangs when it ends, as with a library that waits there for another thread",
        ),
        spec(
            "error_in",
            error_places(),
            None,
            "the call that returns an error",
        ),
        every(
            "error_after",
            "how many such calls succeed first (of take: messages)",
        ),
        spec(
            "side",
            OptionKind::OneOf(vec!["sender".into(), "receiver".into(), "both".into()]),
            Some(OptionValue::Text("both".into())),
            "the ends of channels that hang, crash or fail; only senders damage, drop or delay messages",
        ),
        spec(
            "participant",
            OptionKind::Int,
            None,
            "the number of the only participant that misbehaves; if omitted: all",
        ),
    ]
}

fn int(value: i64) -> Option<OptionValue> {
    Some(OptionValue::Int(value))
}
