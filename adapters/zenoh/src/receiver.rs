//! The reading ends: zenoh's own channel for those who spin or block, its callback for the rest.

use crate::group::{Declare, Group};
use crate::presence::{Presence, Side, announce, key};
use crate::shm;
use dyno_adapter::{ChannelSpec, Error, OnMessage, PATIENCE, Receiver, Result, Subscription, Wait};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use zenoh::bytes::ZBytes;
use zenoh::handlers::{FifoChannel, FifoChannelHandler};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::Sample;
use zenoh::{Session, Wait as _};

/// Shows a payload in one piece: where zenoh has it so, as it is; else put together in `whole`.
fn show(payload: &ZBytes, whole: &mut Vec<u8>, on_message: &mut dyn FnMut(&[u8])) {
    let mut slices = payload.slices();
    let first = slices.next().unwrap_or_default();
    let Some(second) = slices.next() else {
        return on_message(first);
    };
    whole.clear();
    whole.extend_from_slice(first);
    whole.extend_from_slice(second);
    slices.for_each(|slice| whole.extend_from_slice(slice));
    on_message(whole);
}

/// What makes a reader of a channel known, beside the subscriber itself.
struct Known {
    writers: Presence,
    _token: LivelinessToken,
}

impl Known {
    /// Called after the subscriber exists, so that who sees the token also sees the subscriber.
    fn new(session: &Session, channel: &str, participant: u16) -> Result<Self> {
        Ok(Known {
            _token: announce(session, channel, Side::Reader, participant)?,
            writers: Presence::watch(session, channel, Side::Writer)?,
        })
    }
}

fn failed(channel: &str) -> impl FnOnce(zenoh::Error) -> Error {
    let call = format!("declare_subscriber of {channel}");
    move |e| Error::library(call, e)
}

/// A reading end from which the caller takes.
pub(crate) struct ZenohReceiver {
    end: Arc<TakingEnd>,
    blocks: bool,
    whole: Vec<u8>,
    group: Arc<Group>,
}

struct TakingEnd {
    channel: String,
    buffer: usize,
    declared: OnceLock<(Subscriber<FifoChannelHandler<Sample>>, Known)>,
}

impl Declare for TakingEnd {
    fn declare(&self, session: &Session, group: &Group) -> Result<()> {
        let subscriber = session
            .declare_subscriber(key(&self.channel))
            .with(FifoChannel::new(self.buffer))
            .wait()
            .map_err(failed(&self.channel))?;
        let known = Known::new(session, &self.channel, group.context.participant)?;
        // Called once, so it is empty.
        let _ = self.declared.set((subscriber, known));
        Ok(())
    }
}

impl ZenohReceiver {
    pub(crate) fn new(group: Arc<Group>, channel: &ChannelSpec, wait: Wait) -> Result<Self> {
        let blocks = match wait {
            Wait::Spin => false,
            Wait::Block => true,
            Wait::Callback => {
                return Err(Error::Unsupported(
                    "taking from a receiver made for callbacks; subscribe instead".into(),
                ));
            }
        };
        let end = Arc::new(TakingEnd {
            channel: channel.name.clone(),
            buffer: group.settings.buffer(channel.max_payload),
            declared: OnceLock::new(),
        });
        group.add_reader(channel, Arc::downgrade(&end) as Weak<dyn Declare>)?;
        Ok(ZenohReceiver {
            end,
            blocks,
            whole: Vec::new(),
            group,
        })
    }
}

impl Receiver for ZenohReceiver {
    fn matched(&mut self) -> Result<bool> {
        self.group.open()?;
        let matched = self
            .end
            .declared
            .get()
            .is_some_and(|(_, known)| known.writers.count() > 0);
        if matched && self.group.settings.shm {
            shm::claim_segments(&self.group.context)?;
        }
        Ok(matched)
    }

    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let Some((subscriber, _)) = self.end.declared.get() else {
            self.group.open()?;
            return Ok(false);
        };
        let sample = if self.blocks {
            subscriber.recv_timeout(PATIENCE)
        } else {
            subscriber.try_recv()
        };
        match sample {
            Ok(Some(sample)) => {
                show(sample.payload(), &mut self.whole, on_message);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(e) => Err(Error::library("FifoChannelHandler::recv", e)),
        }
    }
}

/// A reading end from which zenoh calls.
pub(crate) struct ZenohSubscription {
    end: Arc<CalledEnd>,
    group: Arc<Group>,
}

struct CalledEnd {
    channel: String,
    /// Until the subscriber is declared, which takes it.
    on_message: Mutex<Option<OnMessage>>,
    declared: Mutex<Option<(Subscriber<()>, Known)>>,
}

impl Declare for CalledEnd {
    fn declare(&self, session: &Session, group: &Group) -> Result<()> {
        let Some(on_message) = locked(&self.on_message).take() else {
            return Ok(());
        };
        let called = Mutex::new((on_message, Vec::new()));
        let subscriber = session
            .declare_subscriber(key(&self.channel))
            .callback(move |sample| {
                // Uncontended: the messages of one writer come from one thread at a time.
                let (on_message, whole) = &mut *locked(&called);
                show(sample.payload(), whole, on_message);
            })
            .wait()
            .map_err(failed(&self.channel))?;
        let known = Known::new(session, &self.channel, group.context.participant)?;
        *locked(&self.declared) = Some((subscriber, known));
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A callback that panicked may be called again; it is the caller's own.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ZenohSubscription {
    pub(crate) fn new(
        group: Arc<Group>,
        channel: &ChannelSpec,
        on_message: OnMessage,
    ) -> Result<Self> {
        let end = Arc::new(CalledEnd {
            channel: channel.name.clone(),
            on_message: Mutex::new(Some(on_message)),
            declared: Mutex::new(None),
        });
        group.add_reader(channel, Arc::downgrade(&end) as Weak<dyn Declare>)?;
        Ok(ZenohSubscription { end, group })
    }
}

impl Subscription for ZenohSubscription {
    fn matched(&mut self) -> Result<bool> {
        self.group.open()?;
        let declared = locked(&self.end.declared);
        let matched = declared
            .as_ref()
            .is_some_and(|(_, known)| known.writers.count() > 0);
        if matched && self.group.settings.shm {
            shm::claim_segments(&self.group.context)?;
        }
        Ok(matched)
    }
}

impl Drop for ZenohSubscription {
    fn drop(&mut self) {
        let declared = locked(&self.end.declared).take();
        if let Some((subscriber, _)) = declared {
            // Waits until a call that is under way has returned. What fails here has failed with
            // the session, which does not call any more either.
            let _ = subscriber.undeclare().wait_callbacks().wait();
        }
    }
}
