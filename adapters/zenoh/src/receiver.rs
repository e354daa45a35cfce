//! The reading ends: zenoh's own channel for those who spin or block, its callback for the rest.
//!
//! Requests of a call come through a queryable. Responses come through the channel or callback that
//! the sender of the requests hands to each query, so that nothing of them is declared.

use crate::call::Joint;
use crate::dds;
use crate::group::{Declare, Group};
use crate::presence::{Presence, Side, announce};
use crate::shm;
use dyno_adapter::{
    Carries, ChannelSpec, Error, OnMessage, PATIENCE, Receiver, Result, Subscription, Wait,
};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use zenoh::bytes::ZBytes;
use zenoh::handlers::{Callback, FifoChannel, FifoChannelHandler, IntoHandler};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::query::{Query, Queryable, Reply};
use zenoh::sample::Sample;
use zenoh::{Session, Wait as _};

/// Room for messages that zenoh has in pieces.
struct Whole {
    bytes: Vec<u8>,
    /// Only so many bytes of a message are looked at.
    looked_at: usize,
}

impl Whole {
    fn new(group: &Group) -> Self {
        let context = &group.context;
        let before = if group.settings.dds { dds::HEADER } else { 0 };
        Whole {
            bytes: Vec::new(),
            looked_at: match usize::from(context.looked_at) {
                0 => usize::MAX,
                bytes => before + bytes,
            },
        }
    }

    /// Shows a payload in one piece: where zenoh has it so, as it is; else put together as far as it is looked at. Beyond that
    /// the bytes are those of messages before it.
    fn show(&mut self, payload: &ZBytes, on_message: &mut dyn FnMut(&[u8])) {
        let mut slices = payload.slices();
        let first = slices.next().unwrap_or_default();
        let Some(second) = slices.next() else {
            return on_message(first);
        };
        if let Some(head) = first.get(..self.looked_at) {
            let len = payload.len();
            if self.bytes.len() < len {
                self.bytes.resize(len, 0);
            }
            self.bytes[..head.len()].copy_from_slice(head);
            return on_message(&self.bytes[..len]);
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(first);
        self.bytes.extend_from_slice(second);
        slices.for_each(|slice| self.bytes.extend_from_slice(slice));
        on_message(&self.bytes);
    }
}

/// Shows the message of a sample, which with `is_dds` is one of DDS.
fn show_sample(
    sample: &Sample,
    is_dds: bool,
    whole: &mut Whole,
    on_message: &mut dyn FnMut(&[u8]),
) {
    let payload = sample.payload();
    match is_dds {
        true => whole.show(payload, &mut |bytes| on_message(dds::message(bytes))),
        false => whole.show(payload, on_message),
    }
}

/// What makes a reader of a channel known, beside the subscriber itself.
struct Known {
    writers: Presence,
    _token: LivelinessToken,
}

impl Known {
    /// Called after the subscriber exists, so that who sees the token also sees the subscriber.
    fn new(session: &Session, group: &Group, channel: &str) -> Result<Self> {
        let (settings, participant) = (&group.settings, group.context.participant);
        Ok(Known {
            _token: announce(session, channel, Side::Reader, participant)?,
            writers: Presence::watch(session, settings.dds, channel, Side::Writer)?,
        })
    }
}

fn failed(call: &str, channel: &str) -> impl FnOnce(zenoh::Error) -> Error {
    let call = format!("{call} of {channel}");
    move |e| Error::library(call, e)
}

/// Shows a request, which can be answered from then on.
fn show_query(query: Query, joint: &Joint, whole: &mut Whole, on_message: &mut dyn FnMut(&[u8])) {
    // A reference to the same bytes: the query itself may be dropped while they are shown.
    let payload = query.payload().cloned().unwrap_or_default();
    joint.hold(query);
    whole.show(&payload, on_message);
}

/// Shows a response. What zenoh itself replies, such as that time is up, is none.
fn show_reply(reply: &Reply, whole: &mut Whole, on_message: &mut dyn FnMut(&[u8])) -> bool {
    let Ok(sample) = reply.result() else {
        return false;
    };
    whole.show(sample.payload(), on_message);
    true
}

/// A reading end from which the caller takes.
pub(crate) struct ZenohReceiver {
    end: Arc<TakingEnd>,
    blocks: bool,
    whole: Whole,
    group: Arc<Group>,
}

struct TakingEnd {
    channel: String,
    buffer: usize,
    way: Taking,
    declared: OnceLock<(Declared, Known)>,
}

/// From what a receiver takes.
enum Taking {
    Messages,
    Requests(Arc<Joint>),
    Responses(FifoChannelHandler<Reply>),
}

/// What is declared for it.
enum Declared {
    Subscriber(Subscriber<FifoChannelHandler<Sample>>),
    Queryable(Queryable<FifoChannelHandler<Query>>),
    /// Replies need nothing.
    Nothing,
}

impl Declare for TakingEnd {
    fn declare(&self, session: &Session, group: &Group) -> Result<()> {
        let settings = &group.settings;
        let declared = match &self.way {
            Taking::Messages => Declared::Subscriber(
                session
                    .declare_subscriber(settings.key(&self.channel))
                    .with(FifoChannel::new(self.buffer))
                    .wait()
                    .map_err(failed("declare_subscriber", &self.channel))?,
            ),
            Taking::Requests(_) => Declared::Queryable(
                session
                    .declare_queryable(settings.key(&self.channel))
                    .with(FifoChannel::new(self.buffer))
                    .wait()
                    .map_err(failed("declare_queryable", &self.channel))?,
            ),
            Taking::Responses(_) => Declared::Nothing,
        };
        let known = Known::new(session, group, &self.channel)?;
        // Called once, so it is empty.
        let _ = self.declared.set((declared, known));
        Ok(())
    }
}

/// The next of zenoh's channel, at once or after waiting for it.
#[inline]
fn next<T>(handler: &FifoChannelHandler<T>, blocks: bool) -> Result<Option<T>> {
    let next = if blocks {
        handler.recv_timeout(PATIENCE)
    } else {
        handler.try_recv()
    };
    next.map_err(|e| Error::library("FifoChannelHandler::recv", e))
}

impl ZenohReceiver {
    /// `joint` where the channel is a direction of a call.
    pub(crate) fn new(
        group: Arc<Group>,
        channel: &ChannelSpec,
        wait: Wait,
        joint: Option<Arc<Joint>>,
    ) -> Result<Self> {
        let blocks = match wait {
            Wait::Spin => false,
            Wait::Block => true,
            Wait::Callback => {
                return Err(Error::Unsupported(
                    "taking from a receiver made for callbacks; subscribe instead".into(),
                ));
            }
        };
        let buffer = group.settings.buffer(channel.max_payload);
        let way = match (&channel.carries, joint) {
            (Carries::Requests { .. }, Some(joint)) => Taking::Requests(joint),
            (Carries::Responses { .. }, Some(joint)) => {
                let (callback, handler) = FifoChannel::new(buffer).into_handler();
                joint.take_replies(callback);
                Taking::Responses(handler)
            }
            _ => Taking::Messages,
        };
        let end = Arc::new(TakingEnd {
            channel: channel.name.clone(),
            buffer,
            way,
            declared: OnceLock::new(),
        });
        let group = group.add_reader(channel, Arc::downgrade(&end) as Weak<dyn Declare>)?;
        Ok(ZenohReceiver {
            end,
            blocks,
            whole: Whole::new(&group),
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
        let Some((declared, _)) = self.end.declared.get() else {
            self.group.open()?;
            return Ok(false);
        };
        let (whole, blocks) = (&mut self.whole, self.blocks);
        let is_dds = self.group.settings.dds;
        match (declared, &self.end.way) {
            (Declared::Subscriber(subscriber), _) => {
                let sample = next(subscriber.handler(), blocks)?;
                Ok(sample
                    .map(|s| show_sample(&s, is_dds, whole, on_message))
                    .is_some())
            }
            (Declared::Queryable(queryable), Taking::Requests(joint)) => {
                let query = next(queryable.handler(), blocks)?;
                Ok(query
                    .map(|q| show_query(q, joint, whole, on_message))
                    .is_some())
            }
            (Declared::Nothing, Taking::Responses(handler)) => {
                let reply = next(handler, blocks)?;
                Ok(reply.is_some_and(|r| show_reply(&r, whole, on_message)))
            }
            _ => Ok(false),
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
    /// Until what calls it is declared, which takes it.
    on_message: Mutex<Option<OnMessage>>,
    /// The callback of replies has it from the beginning, and until the subscription is dropped.
    on_reply: Arc<Mutex<Option<Called>>>,
    way: Calling,
    declared: Mutex<Option<(Calls, Known)>>,
}

/// What is called, and room to put fragments together.
type Called = (OnMessage, Whole);

/// What a subscription is called for.
enum Calling {
    Messages,
    Requests(Arc<Joint>),
    Responses,
}

/// What is declared for it.
enum Calls {
    Subscriber(Subscriber<()>),
    Queryable(Queryable<()>),
    /// Replies need nothing.
    Nothing,
}

impl Declare for CalledEnd {
    fn declare(&self, session: &Session, group: &Group) -> Result<()> {
        let settings = &group.settings;
        let on_message = locked(&self.on_message).take();
        let calls = match (&self.way, on_message) {
            (Calling::Responses, _) => Calls::Nothing,
            (_, None) => return Ok(()),
            (Calling::Messages, Some(on_message)) => {
                let called = Mutex::new((on_message, Whole::new(group)));
                let is_dds = settings.dds;
                let subscriber = session
                    .declare_subscriber(settings.key(&self.channel))
                    .callback(move |sample: Sample| {
                        // Uncontended: the messages of one writer come from one thread at a time.
                        let (on_message, whole) = &mut *locked(&called);
                        show_sample(&sample, is_dds, whole, on_message);
                    })
                    .wait()
                    .map_err(failed("declare_subscriber", &self.channel))?;
                Calls::Subscriber(subscriber)
            }
            (Calling::Requests(joint), Some(on_message)) => {
                let called = Mutex::new((on_message, Whole::new(group)));
                let joint = Arc::clone(joint);
                let queryable = session
                    .declare_queryable(settings.key(&self.channel))
                    .callback(move |query| {
                        // Uncontended, as above.
                        let (on_message, whole) = &mut *locked(&called);
                        show_query(query, &joint, whole, on_message);
                    })
                    .wait()
                    .map_err(failed("declare_queryable", &self.channel))?;
                Calls::Queryable(queryable)
            }
        };
        let known = Known::new(session, group, &self.channel)?;
        *locked(&self.declared) = Some((calls, known));
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
        joint: Option<Arc<Joint>>,
    ) -> Result<Self> {
        let on_reply = Arc::new(Mutex::new(None));
        let (way, on_message) = match (&channel.carries, joint) {
            (Carries::Requests { .. }, Some(joint)) => (Calling::Requests(joint), Some(on_message)),
            (Carries::Responses { .. }, Some(joint)) => {
                *locked(&on_reply) = Some((on_message, Whole::new(&group)));
                let called = Arc::clone(&on_reply);
                joint.take_replies(Callback::from(move |reply: Reply| {
                    // Uncontended, as for messages.
                    if let Some((on_message, whole)) = &mut *locked(&called) {
                        show_reply(&reply, whole, on_message);
                    }
                }));
                (Calling::Responses, None)
            }
            _ => (Calling::Messages, Some(on_message)),
        };
        let end = Arc::new(CalledEnd {
            channel: channel.name.clone(),
            on_message: Mutex::new(on_message),
            on_reply,
            way,
            declared: Mutex::new(None),
        });
        let group = group.add_reader(channel, Arc::downgrade(&end) as Weak<dyn Declare>)?;
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
        // Waits until a call that is under way has returned. What fails here has failed with the
        // session, which does not call any more either.
        match declared {
            Some((Calls::Subscriber(subscriber), _)) => {
                let _ = subscriber.undeclare().wait_callbacks().wait();
            }
            Some((Calls::Queryable(queryable), _)) => {
                let _ = queryable.undeclare().wait_callbacks().wait();
            }
            Some((Calls::Nothing, _)) | None => {}
        }
        // Taken out first: what is dropped may be an end whose drop calls zenoh.
        let on_reply = locked(&self.end.on_reply).take();
        drop(on_reply);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zenoh::bytes::ZBytesWriter;

    /// A payload of two pieces.
    fn pieces() -> ZBytes {
        let mut writer: ZBytesWriter = ZBytes::writer();
        writer.append(ZBytes::from(vec![1; 100]));
        writer.append(ZBytes::from(vec![2; 50]));
        writer.finish()
    }

    #[test]
    fn a_message_in_pieces_is_put_together_as_far_as_it_is_looked_at() {
        assert_eq!(pieces().slices().count(), 2);
        for (looked_at, last) in [(usize::MAX, 2), (32, 0), (100, 0), (101, 2)] {
            let mut whole = Whole {
                bytes: Vec::new(),
                looked_at,
            };
            let mut shown = Vec::new();
            whole.show(&pieces(), &mut |bytes| shown = bytes.to_vec());
            assert_eq!(shown.len(), 150);
            assert_eq!(
                (shown[0], shown[31], shown[149]),
                (1, 1, last),
                "{looked_at}"
            );
        }
    }
}
