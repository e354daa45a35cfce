//! The adapter `faulty`: wraps another one and misbehaves as its options say.
//!
//! Faults of messages (drop, duplicate, reorder, corrupt, truncate, delay, silence) happen at the sender, deafness at the receiver.
//! Every message that the caller sends counts, link probes and warm-up included, for each sender
//! apart and from one: with `drop_every = 3` the messages 3, 6, 9 … of each channel are dropped.
//! Faults of calls (hang, crash, error) happen at either side; see [`Place`] for what counts there.
//! Without options of its own, `faulty` does what the wrapped adapter does.

mod endpoint;
mod options;
mod trap;
mod waker;

pub use options::{Crash, Place, Side};

use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, ChannelSpec, Error, Node, NodeContext, OnMessage,
    OptionSpec, Placement, Receiver, Result, Sender, Subscription, Wait,
};
use endpoint::{FaultyReceiver, FaultySender, FaultySubscription, Hearing};
use options::Faults;
use std::sync::Arc;
use trap::{Trap, Traps};
use waker::Waker;

/// The adapter `faulty`, able to wrap each of `inner` by its name.
///
/// Adapters with the `loopback` capability cannot be wrapped: they have no second side to lie to.
pub fn adapter(inner: Vec<Box<dyn Adapter>>) -> Box<dyn Adapter> {
    let inner = inner
        .into_iter()
        .filter(|a| !a.describe().capabilities.loopback)
        .collect();
    Box::new(Faulty { inner })
}

struct Faulty {
    inner: Vec<Box<dyn Adapter>>,
}

impl Faulty {
    fn names(&self) -> Vec<String> {
        self.inner.iter().map(|a| a.describe().name).collect()
    }
}

impl Adapter for Faulty {
    /// The capabilities are those of all adapters that it could wrap taken together, because they
    /// cannot depend on options; what the wrapped adapter cannot do, it refuses itself when opened.
    fn describe(&self) -> AdapterDescription {
        let inner: Vec<AdapterDescription> = self.inner.iter().map(|a| a.describe()).collect();
        let mut specs = options::specs(inner.iter().map(|d| d.name.clone()).collect());
        let capabilities = union(inner.iter().map(|d| &d.capabilities));
        merge_options(&mut specs, inner.into_iter().flat_map(|d| d.options));
        AdapterDescription {
            name: "faulty".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "Wraps the adapter named by `inner` and drops, duplicates, reorders, \
                      corrupts, truncates or delays messages, falls silent, stays deaf, \
                      wakes up for nothing, hangs, fails or crashes, as its options say. It tests whether Dyno \
                      reports these faults correctly, and measures nothing. All other options \
                      go to the wrapped adapter."
                .into(),
            capabilities,
            options: specs,
            ..AdapterDescription::default()
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        let faults = Faults::from_context(context)?;
        let name = context.text("inner", "")?;
        let inner = self
            .inner
            .iter()
            .find(|a| a.describe().name == name)
            .ok_or_else(|| {
                Error::option(
                    "inner",
                    format!(
                        "{name:?} is not an adapter to wrap; write one of {}",
                        self.names().join(", ")
                    ),
                )
            })?;
        let mut context = context.clone();
        context.options.retain(|name, _| !options::is_own(name));

        if faults.crash_at_exit {
            trap::crash_at_exit()?;
        }
        if faults.hang_at_thread_end {
            trap::hang_at_thread_end();
        }
        let traps = Traps::new(&faults);
        std::thread::sleep(faults.slow_open);
        traps.spring(Place::Open, None)?;
        let waker = Waker::start(faults.wake_every, faults.wake_spin)?;
        Ok(Box::new(FaultyNode {
            inner: inner.open(&context)?,
            _waker: waker,
            faults,
            traps,
        }))
    }
}

/// Everything that at least one adapter can do, but for memory lent by the library: messages pass
/// through a buffer of ours when faults touch them.
fn union<'a>(all: impl Iterator<Item = &'a Capabilities> + Clone) -> Capabilities {
    let any = |can: fn(&Capabilities) -> bool| all.clone().any(can);
    fn filtered<T: Copy>(all: &[T], keep: impl Fn(&T) -> bool) -> Vec<T> {
        all.iter().copied().filter(|value| keep(value)).collect()
    }
    // No limit beats every limit.
    fn most<T: Ord>(limits: impl Iterator<Item = Option<T>>) -> Option<T> {
        limits.collect::<Option<Vec<T>>>()?.into_iter().max()
    }
    Capabilities {
        waits: filtered(Wait::ALL, |w| all.clone().any(|c| c.waits.contains(w))),
        reliable: any(|c| c.reliable),
        best_effort: any(|c| c.best_effort),
        placements: filtered(Placement::ALL, |p| {
            all.clone().any(|c| c.placements.contains(p))
        }),
        max_message: most(all.clone().map(|c| c.max_message)),
        max_receivers: most(all.clone().map(|c| c.max_receivers)),
        // Of some only: a stack that wraps such a one says so.
        ..Capabilities::default()
    }
}

/// Adds the wrapped adapters' options. One that several adapters have appears once: a list of
/// allowed texts is joined, otherwise the first adapter's type holds and the wrapped adapter has
/// the last word.
fn merge_options(specs: &mut Vec<OptionSpec>, inner: impl Iterator<Item = OptionSpec>) {
    use dyno_adapter::OptionKind::OneOf;
    for option in inner {
        match specs.iter_mut().find(|s| s.name == option.name) {
            None => specs.push(OptionSpec {
                default: None,
                least: None,
                most: None,
                doc: format!("of the wrapped adapter: {}", option.doc),
                ..option
            }),
            Some(known) => {
                if let (OneOf(known), OneOf(more)) = (&mut known.kind, option.kind) {
                    for text in more {
                        if !known.contains(&text) {
                            known.push(text);
                        }
                    }
                }
            }
        }
    }
}

struct FaultyNode {
    inner: Box<dyn Node>,
    _waker: Option<Waker>,
    faults: Faults,
    traps: Arc<Traps>,
}

impl Node for FaultyNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        self.traps.spring(Place::Sender, Some(Side::Sender))?;
        let inner = self.inner.sender(channel)?;
        Ok(Box::new(FaultySender::new(
            inner,
            channel.max_payload,
            &self.faults,
            self.traps.clone(),
        )))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        self.traps.spring(Place::Receiver, Some(Side::Receiver))?;
        let inner = self.inner.receiver(channel, wait)?;
        let traps = self.traps.clone();
        Ok(Box::new(FaultyReceiver::new(inner, &self.faults, traps)))
    }

    fn subscribe(
        &mut self,
        channel: &ChannelSpec,
        mut on_message: OnMessage,
    ) -> Result<Box<dyn Subscription>> {
        self.traps.spring(Place::Subscribe, Some(Side::Receiver))?;
        if self.traps.has(Place::Take, Trap::is_error) {
            return Err(Error::option(
                "error_in",
                "a callback cannot return an error; write \"subscribe\", or use the wait \
                          strategy spin or block",
            ));
        }
        let traps = self.traps.clone();
        let mut hearing = Hearing::new(&self.faults);
        let inner = self.inner.subscribe(
            channel,
            Box::new(move |bytes| {
                if !hearing.hears() {
                    return;
                }
                traps.spring_or_stay(Place::Take, Some(Side::Receiver));
                on_message(bytes);
                traps.count(Place::Take, Some(Side::Receiver));
            }),
        )?;
        let traps = self.traps.clone();
        Ok(Box::new(FaultySubscription::new(
            inner,
            &self.faults,
            traps,
        )))
    }
}

impl Drop for FaultyNode {
    fn drop(&mut self) {
        self.traps.spring_or_stay(Place::Drop, None);
    }
}
