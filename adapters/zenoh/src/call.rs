//! Calls: requests are queries of a querier, and a queryable answers each with one reply.
//!
//! The two ends of a participant share a [`Joint`]. The caller's receiver lays down what zenoh hands
//! the replies to, and the caller's sender gives that to each query; the provider's receiver lays
//! down the query that it took, and the provider's sender replies to it. With the reply the query is
//! dropped, which tells zenoh that no other reply follows.

use crate::settings::Settings;
use dyno_adapter::{Carries, ChannelSpec, Error, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use zenoh::bytes::ZBytes;
use zenoh::handlers::Callback;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::query::{ConsolidationMode, Querier, Query, Reply};
use zenoh::sample::Locality;
use zenoh::{Session, Wait};

/// Where the two ends of one participant of a call meet.
#[derive(Default)]
pub(crate) struct Joint {
    /// The caller's: what takes the replies.
    replies: OnceLock<Callback<Reply>>,
    /// The provider's: the request to answer.
    query: Mutex<Option<Query>>,
}

impl Joint {
    /// Hands the replies to `callback`; once, by the one receiver of the responses.
    pub(crate) fn take_replies(&self, callback: Callback<Reply>) {
        // A second receiver would get nothing, as one of a channel that it is no reader of.
        let _ = self.replies.set(callback);
    }

    /// Keeps the request that is shown next.
    pub(crate) fn hold(&self, query: Query) {
        *self.query.lock().unwrap_or_else(PoisonError::into_inner) = Some(query);
    }

    fn held(&self) -> Option<Query> {
        self.query
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// The calls of a node of which only one end is made yet, by the name of the requests' channel.
#[derive(Default)]
pub(crate) struct Calls(HashMap<String, Arc<Joint>>);

impl Calls {
    /// The joint of the call that `channel` is a direction of, if it is one.
    pub(crate) fn joint(&mut self, channel: &ChannelSpec) -> Option<Arc<Joint>> {
        let requests = match &channel.carries {
            Carries::Messages => return None,
            Carries::Requests { .. } => &channel.name,
            Carries::Responses { requests } => requests,
        };
        Some(self.0.remove(requests).unwrap_or_else(|| {
            let joint = Arc::new(Joint::default());
            self.0.insert(requests.clone(), Arc::clone(&joint));
            joint
        }))
    }
}

/// How a sender hands its messages to zenoh.
pub(crate) enum Way {
    Publish(Publisher<'static>),
    Ask(Querier<'static>, Arc<Joint>),
    Answer { joint: Arc<Joint>, express: bool },
}

impl Way {
    /// Declares what `channel` needs.
    pub(crate) fn declare(
        session: &Session,
        settings: &Settings,
        channel: &str,
        carries: &Carries,
        joint: Option<&Arc<Joint>>,
    ) -> Result<Way> {
        let failed = |call: &str, e| Error::library(format!("{call} of {channel}"), e);
        match (carries, joint) {
            (Carries::Requests { .. }, Some(joint)) => session
                .declare_querier(settings.key(channel))
                .consolidation(ConsolidationMode::None)
                // As queries come, and their replies with them (DEFAULT_REQUEST in zenoh-protocol).
                .congestion_control(CongestionControl::Block)
                .express(settings.express)
                .allowed_destination(Locality::Remote)
                .wait()
                .map(|querier| Way::Ask(querier, Arc::clone(joint)))
                .map_err(|e| failed("declare_querier", e)),
            (Carries::Responses { .. }, Some(joint)) => Ok(Way::Answer {
                joint: Arc::clone(joint),
                express: settings.express,
            }),
            _ => session
                .declare_publisher(settings.key(channel))
                .congestion_control(settings.congestion)
                .reliability(settings.reliability)
                .express(settings.express)
                .allowed_destination(Locality::Remote)
                .wait()
                .map(Way::Publish)
                .map_err(|e| failed("declare_publisher", e)),
        }
    }

    /// Whether zenoh knows somebody who would get a message sent now.
    pub(crate) fn is_matching(&self) -> Result<bool> {
        let (call, status) = match self {
            Way::Publish(publisher) => (
                "Publisher::matching_status",
                publisher.matching_status().wait(),
            ),
            Way::Ask(querier, _) => ("Querier::matching_status", querier.matching_status().wait()),
            // A reply goes where its query came from.
            Way::Answer { .. } => return Ok(true),
        };
        let status = status.map_err(|e| Error::library(call, e))?;
        Ok(status.matching())
    }

    /// Whether it only sends back what was asked for, and so needs to know nobody.
    pub(crate) fn answers(&self) -> bool {
        matches!(self, Way::Answer { .. })
    }

    /// Hands over a message. False: there is no request to answer, or nobody to take the response.
    pub(crate) fn put(&self, message: ZBytes) -> Result<bool> {
        let (call, result) = match self {
            Way::Publish(publisher) => ("Publisher::put", publisher.put(message).wait()),
            Way::Ask(querier, joint) => {
                let Some(callback) = joint.replies.get() else {
                    return Ok(false);
                };
                let get = querier.get().payload(message).with((callback.clone(), ()));
                ("Querier::get", get.wait())
            }
            Way::Answer { joint, express } => {
                let Some(query) = joint.held() else {
                    return Ok(false);
                };
                let reply = query.reply(query.key_expr(), message).express(*express);
                ("Query::reply", reply.wait())
            }
        };
        result.map_err(|e| Error::library(call, e))?;
        Ok(true)
    }
}
