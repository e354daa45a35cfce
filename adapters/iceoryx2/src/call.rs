//! Calls: a request-response service with one client and one server, which the two ends of a
//! participant share.
//!
//! The sender of requests makes the client, the sender of responses the server; the receiver beside
//! it uses the same port. A call is one request under way at a time: the client's hold on a request
//! ends with its response or with the next request, the server's with its response.
//!
//! Both ends may be used by different threads while the library's port and what is lent from it
//! belong to one, so they lie behind a mutex, which is not contended where one thread calls and
//! waits for the response. Readers that block sleep on an event service as those of messages do.

use crate::events::Events;
use crate::isolation::Isolation;
use crate::peer::is_dead;
use crate::sender::Pressure;
use crate::service::{self, LOANS, Quality, Requests, Wakeups, wakeups};
use dyno_adapter::{Carries, ChannelSpec, Error, Receiver, Result, Sender, Sent, Wait};
use iceoryx2::active_request::ActiveRequest;
use iceoryx2::node::Node;
use iceoryx2::pending_response::PendingResponse;
use iceoryx2::port::client::{Client, RequestSendError};
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::server::Server;
use iceoryx2::port::{BackpressureInfo, SendError};
use iceoryx2::prelude::{BackpressureStrategy, CallbackProgression, PortFactory, ipc};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type OurClient = Client<ipc::Service, [u8], (), [u8], ()>;
type OurServer = Server<ipc::Service, [u8], (), [u8], ()>;
type Pending = PendingResponse<ipc::Service, [u8], (), [u8], ()>;
type Active = ActiveRequest<ipc::Service, [u8], (), [u8], ()>;

/// The caller's port. Fields drop in order: what is lent first.
pub(crate) struct Asking {
    /// The request whose response is awaited.
    pending: Option<Pending>,
    client: OurClient,
}

/// The provider's port.
pub(crate) struct Answering {
    /// The request to answer.
    active: Option<Active>,
    server: OurServer,
}

// SAFETY: `ipc::Service` makes ports that are not `Send` because a port and what is lent from it
// count their references without atomics. All holders of one counter lie in one `Asking` or
// `Answering`, or live within one call that holds the mutex around it, so that they move, and are
// used, together. `Shared` upholds this by giving nothing of them away.
unsafe impl Send for Asking {}
// SAFETY: as above.
unsafe impl Send for Answering {}

/// What the two ends of a participant share; `P` is [`Asking`] or [`Answering`].
pub(crate) struct Shared<P> {
    service: Requests,
    /// Made by the sender.
    port: Mutex<Option<P>>,
    // Last: what the port removes when it is dropped is found through it.
    _isolation: Arc<Isolation>,
}

impl<P> Shared<P> {
    fn port(&self) -> MutexGuard<'_, Option<P>> {
        // A panic of the caller's own within a message leaves the port as it was.
        self.port.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The calls of a node of which only one end is made yet, by the name of the requests' channel.
pub(crate) struct Calls<P>(HashMap<String, Arc<Shared<P>>>);

impl<P> Default for Calls<P> {
    fn default() -> Self {
        Calls(HashMap::new())
    }
}

impl<P> Calls<P> {
    /// What the two ends share of the call that `channel` is a direction of.
    pub(crate) fn shared(
        &mut self,
        node: &Node<ipc::Service>,
        quality: &Quality,
        channel: &ChannelSpec,
        isolation: &Arc<Isolation>,
    ) -> Result<Arc<Shared<P>>> {
        let requests = match &channel.carries {
            Carries::Responses { requests } => requests,
            Carries::Requests { .. } | Carries::Messages => &channel.name,
        };
        if let Some(shared) = self.0.remove(requests) {
            return Ok(shared);
        }
        let shared = Arc::new(Shared {
            service: service::requests(node, quality, requests)?,
            port: Mutex::new(None),
            _isolation: Arc::clone(isolation),
        });
        isolation.claim()?;
        self.0.insert(requests.clone(), Arc::clone(&shared));
        Ok(shared)
    }
}

/// Wakes the readers of a channel that block.
struct Waker {
    notifier: Notifier<ipc::Service>,
    wakeups: Wakeups,
}

impl Waker {
    fn new(node: &Node<ipc::Service>, channel: &ChannelSpec) -> Result<Self> {
        let wakeups = wakeups(node, channel)?;
        let notifier = wakeups
            .notifier_builder()
            .create()
            .map_err(|e| Error::library(format!("create notifier of {}", channel.name), e))?;
        Ok(Waker { notifier, wakeups })
    }

    fn wake(&self) -> Result<()> {
        if self.wakeups.dynamic_config().number_of_listeners() > 0 {
            self.notifier
                .notify()
                .map_err(|e| Error::library("Notifier::notify", e))?;
        }
        Ok(())
    }
}

fn not_made(what: &str, channel: &ChannelSpec) -> impl FnOnce(String) -> Error {
    let call = format!("create {what} of {}", channel.name);
    move |e| Error::library(call, format!("{e}; is there room in /dev/shm?"))
}

/// The caller's sender of requests.
pub(crate) struct RequestSender {
    channel: String,
    shared: Arc<Shared<Asking>>,
    waker: Waker,
    pressure: Arc<Pressure>,
    /// The provider was there; if it is not later, it has gone.
    seen: bool,
    // Last: what the notifier removes when it is dropped is found through it.
    _isolation: Arc<Isolation>,
}

// SAFETY: as for the sender of messages: the counter of the notifier is shared with nothing but a
// guard inside one call; the port lies in `Shared`, which is `Send` and `Sync` for `Asking`.
unsafe impl Send for RequestSender {}

impl RequestSender {
    pub(crate) fn new(
        node: &Node<ipc::Service>,
        channel: &ChannelSpec,
        shared: Arc<Shared<Asking>>,
        isolation: Arc<Isolation>,
    ) -> Result<Self> {
        let waker = Waker::new(node, channel)?;
        let pressure = Arc::new(Pressure::default());
        let handler = {
            let (pressure, service) = (Arc::clone(&pressure), shared.service.clone());
            move |info: &BackpressureInfo| pressure.on_full(info, || server_died(&service))
        };
        let client = shared
            .service
            .client_builder()
            .initial_max_slice_len(channel.max_payload)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .set_backpressure_handler(handler)
            .create()
            .map_err(|e| not_made("client", channel)(e.to_string()))?;
        *shared.port() = Some(Asking {
            pending: None,
            client,
        });
        isolation.claim()?;
        Ok(RequestSender {
            channel: channel.name.clone(),
            shared,
            waker,
            pressure,
            seen: false,
            _isolation: isolation,
        })
    }

    fn gone(&self) -> Error {
        Error::PeerGone {
            channel: self.channel.clone(),
        }
    }

    fn is_gone(&self) -> bool {
        let service = &self.shared.service;
        service.dynamic_config().number_of_servers() == 0 || server_died(service)
    }

    /// What sending a request came to; `reached` is the number of servers that got it.
    fn outcome(&self, reached: usize) -> Result<Sent> {
        match reached {
            0 if self.seen && self.is_gone() => Err(self.gone()),
            // There is none yet, or it has not connected to us yet and the buffer is full.
            0 => Ok(Sent::Refused),
            _ => Ok(Sent::Accepted),
        }
    }
}

impl Sender for RequestSender {
    fn matched(&mut self) -> Result<usize> {
        let servers = self.shared.service.dynamic_config().number_of_servers();
        self.seen |= servers > 0;
        Ok(servers)
    }

    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        let result = {
            let mut port = self.shared.port();
            let Some(asking) = port.as_mut() else {
                return Ok(Sent::Refused);
            };
            // Nobody waits for the response to the last request any more.
            asking.pending = None;
            let request = asking
                .client
                .loan_slice_uninit(len)
                .map_err(|e| Error::library("Client::loan_slice_uninit", e))?;
            // SAFETY: the bytes are initialised: the library zeroes its shared memory when it
            // creates it and only ever hands out parts of it, and every value of a byte is valid.
            let mut request = unsafe { request.assume_init() };
            fill(request.payload_mut());
            self.pressure.begin();
            match request.send() {
                Ok(pending) => {
                    let reached = pending.number_of_server_connections();
                    asking.pending = Some(pending);
                    self.outcome(reached)
                }
                Err(RequestSendError::SendError(SendError::UnableToDeliver)) => Err(self.gone()),
                // A signal ended the library's pause.
                Err(RequestSendError::SendError(SendError::InternalError))
                    if self.pressure.waited() =>
                {
                    Ok(Sent::Refused)
                }
                Err(e) => Err(Error::library("RequestMut::send", e)),
            }
        };
        self.waker.wake()?;
        result
    }
}

/// The provider's sender of responses.
pub(crate) struct ResponseSender {
    channel: String,
    shared: Arc<Shared<Answering>>,
    waker: Waker,
    pressure: Arc<Pressure>,
    // Last: what the notifier removes when it is dropped is found through it.
    _isolation: Arc<Isolation>,
}

// SAFETY: as for the sender of requests.
unsafe impl Send for ResponseSender {}

impl ResponseSender {
    pub(crate) fn new(
        node: &Node<ipc::Service>,
        channel: &ChannelSpec,
        shared: Arc<Shared<Answering>>,
        isolation: Arc<Isolation>,
    ) -> Result<Self> {
        let waker = Waker::new(node, channel)?;
        let pressure = Arc::new(Pressure::default());
        let handler = {
            let (pressure, service) = (Arc::clone(&pressure), shared.service.clone());
            move |info: &BackpressureInfo| pressure.on_full(info, || client_died(&service))
        };
        let server = shared
            .service
            .server_builder()
            .initial_max_slice_len(channel.max_payload)
            .max_loaned_responses_per_request(LOANS)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .set_backpressure_handler(handler)
            .create()
            .map_err(|e| not_made("server", channel)(e.to_string()))?;
        *shared.port() = Some(Answering {
            active: None,
            server,
        });
        isolation.claim()?;
        Ok(ResponseSender {
            channel: channel.name.clone(),
            shared,
            waker,
            pressure,
            _isolation: isolation,
        })
    }
}

impl Sender for ResponseSender {
    fn matched(&mut self) -> Result<usize> {
        Ok(self.shared.service.dynamic_config().number_of_clients())
    }

    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        let result = {
            let mut port = self.shared.port();
            let Some(active) = port.as_mut().and_then(|p| p.active.take()) else {
                return Ok(Sent::Refused);
            };
            let response = active
                .loan_slice_uninit(len)
                .map_err(|e| Error::library("ActiveRequest::loan_slice_uninit", e))?;
            // SAFETY: as for requests.
            let mut response = unsafe { response.assume_init() };
            fill(response.payload_mut());
            self.pressure.begin();
            match response.send() {
                Ok(()) => Ok(Sent::Accepted),
                Err(SendError::UnableToDeliver) => Err(Error::PeerGone {
                    channel: self.channel.clone(),
                }),
                // A signal ended the library's pause.
                Err(SendError::InternalError) if self.pressure.waited() => Ok(Sent::Refused),
                Err(e) => Err(Error::library("ResponseMut::send", e)),
            }
        };
        self.waker.wake()?;
        result
    }
}

/// From which a receiver of a call takes.
pub(crate) trait Takes: Send {
    /// Shows the next message, if there is one.
    fn poll(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool>;
    /// Whether the other side is there, and what it sends can be delivered.
    fn matched(&self, service: &Requests) -> Result<bool>;
}

impl Takes for Asking {
    fn poll(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let Some(pending) = &self.pending else {
            return Ok(false);
        };
        match pending.receive() {
            Ok(Some(response)) => {
                on_message(response.payload());
                drop(response);
                self.pending = None;
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(e) => Err(Error::library("PendingResponse::receive", e)),
        }
    }

    fn matched(&self, service: &Requests) -> Result<bool> {
        Ok(service.dynamic_config().number_of_servers() > 0)
    }
}

impl Takes for Answering {
    fn poll(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        match self.server.receive() {
            Ok(Some(request)) => {
                on_message(request.payload());
                self.active = Some(request);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(e) => Err(Error::library("Server::receive", e)),
        }
    }

    fn matched(&self, service: &Requests) -> Result<bool> {
        // Also connects the server to its clients. Before that a request which finds the buffer full is
        // not delivered, as if there were no server.
        self.server
            .has_requests()
            .map_err(|e| Error::library("Server::has_requests", e))?;
        Ok(service.dynamic_config().number_of_clients() > 0)
    }
}

/// The caller's receiver of responses, or the provider's of requests.
pub(crate) struct CallReceiver<P> {
    shared: Arc<Shared<P>>,
    events: Events,
    // Last: what the listener removes when it is dropped is found through it.
    _isolation: Arc<Isolation>,
}

// SAFETY: the counter of the listener is shared with nothing outside of one call; the port lies in
// `Shared`, which is `Send` and `Sync` for `Asking` and `Answering`.
unsafe impl<P: Send> Send for CallReceiver<P> {}

impl<P: Takes> CallReceiver<P> {
    pub(crate) fn new(
        node: &Node<ipc::Service>,
        channel: &ChannelSpec,
        wait: Wait,
        shared: Arc<Shared<P>>,
        isolation: Arc<Isolation>,
    ) -> Result<Self> {
        let events = Events::new(node, channel, wait)?;
        isolation.claim()?;
        Ok(CallReceiver {
            shared,
            events,
            _isolation: isolation,
        })
    }

    fn poll(&self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        match self.shared.port().as_mut() {
            Some(port) => port.poll(on_message),
            None => Ok(false),
        }
    }
}

impl<P: Takes> Receiver for CallReceiver<P> {
    fn matched(&mut self) -> Result<bool> {
        match &*self.shared.port() {
            Some(port) => port.matched(&self.shared.service),
            None => Ok(false),
        }
    }

    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let mut until = None;
        while !self.poll(on_message)? {
            if !self.events.sleep(&mut until)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether the process of the provider has ended; for callers that already wait.
fn server_died(service: &Requests) -> bool {
    let mut died = false;
    service.dynamic_config().list_servers(|server| {
        died |= is_dead(&server.node_id);
        CallbackProgression::Continue
    });
    died
}

/// Whether the process of the caller has ended; for providers that already wait.
fn client_died(service: &Requests) -> bool {
    let mut died = false;
    service.dynamic_config().list_clients(|client| {
        died |= is_dead(&client.node_id);
        CallbackProgression::Continue
    });
    died
}
