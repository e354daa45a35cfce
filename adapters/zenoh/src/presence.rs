//! Who is there: each end of a channel declares a liveliness token, the other side counts them.
//!
//! zenoh takes back the tokens of a session when its connection closes, so a peer that died is
//! noticed as soon as zenoh notices: at once over TCP, after a lease of 10 s over UDP.

use crate::dds::{self, ROOT};
use dyno_adapter::{Error, Result};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;
use zenoh::{Session, Wait};

/// The key of a channel's messages.
pub(crate) fn key(channel: &str) -> String {
    format!("{ROOT}/{channel}")
}

/// Which end of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Writer,
    Reader,
}

impl Side {
    fn key(self, channel: &str) -> String {
        let side = match self {
            Side::Writer => "writer",
            Side::Reader => "reader",
        };
        format!("{ROOT}/{channel}/{side}")
    }
}

/// Tells that this participant has an end of the channel, until dropped.
pub(crate) fn announce(
    session: &Session,
    channel: &str,
    side: Side,
    participant: u16,
) -> Result<LivelinessToken> {
    let key = format!("{}/{participant}", side.key(channel));
    session
        .liveliness()
        .declare_token(key)
        .wait()
        .map_err(|e| Error::library(format!("declare_token of {channel}"), e))
}

/// The ends on the other side of a channel, as they come and go.
pub(crate) struct Presence {
    count: Arc<AtomicUsize>,
    _subscriber: Subscriber<()>,
}

impl Presence {
    /// Watches for ends of `side`; where the other side is DDS, for the plugins that lead there.
    pub(crate) fn watch(
        session: &Session,
        is_dds: bool,
        channel: &str,
        side: Side,
    ) -> Result<Self> {
        let tokens = match is_dds {
            true => dds::PLUGINS.to_owned(),
            false => format!("{}/*", side.key(channel)),
        };
        let count = Arc::new(AtomicUsize::new(0));
        let there = Mutex::new(BTreeSet::new());
        let counter = Arc::clone(&count);
        let subscriber = session
            .liveliness()
            .declare_subscriber(tokens)
            .history(true)
            .callback(move |sample| {
                let mut there = there.lock().unwrap_or_else(PoisonError::into_inner);
                let key = sample.key_expr().as_str();
                match sample.kind() {
                    SampleKind::Put => there.insert(key.to_owned()),
                    SampleKind::Delete => there.remove(key),
                };
                counter.store(there.len(), Ordering::Relaxed);
            })
            .wait()
            .map_err(|e| Error::library(format!("liveliness subscriber of {channel}"), e))?;
        Ok(Presence {
            count,
            _subscriber: subscriber,
        })
    }

    /// How many there are now.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}
