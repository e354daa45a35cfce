//! Both directions of a call over one socket: what the two ends of a participant share.
//!
//! Over a connection the caller's sender of requests dials and the provider's receiver of requests
//! accepts, each as for plain messages. What they get they also lay into the [`Joint`] of their
//! participant, from where the other end takes it: responses go back where the request came from.

use crate::fd::{SocketInlet, SocketOutlet};
use crate::link::{Accept, Dial};
use dyno_adapter::{Carries, ChannelSpec, Result, Wait};
use rustix::fd::OwnedFd;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Where the two ends of one participant of a call meet.
#[derive(Debug, Default)]
pub struct Joint {
    /// The connection, for the end that did not make it.
    connection: Mutex<Option<OwnedFd>>,
    laid: Condvar,
}

impl Joint {
    fn lay(&self, fd: OwnedFd) {
        *self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(fd);
        self.laid.notify_all();
    }

    fn take(&self, wait: Duration) -> Option<OwnedFd> {
        let connection = self.connection.lock();
        let connection = connection.unwrap_or_else(PoisonError::into_inner);
        let (mut connection, _) = self
            .laid
            .wait_timeout_while(connection, wait, |c| c.is_none() && !wait.is_zero())
            .unwrap_or_else(PoisonError::into_inner);
        connection.take()
    }
}

/// What the two ends of a node's calls share, kept here until the second one is made.
#[derive(Debug)]
pub struct Calls<T>(HashMap<String, Arc<T>>);

impl<T> Default for Calls<T> {
    fn default() -> Self {
        Calls(HashMap::new())
    }
}

impl<T> Calls<T> {
    /// What the two ends of the call share that `channel` is a direction of, made by `make` for the
    /// first of them; `None` where the channel carries plain messages.
    pub fn shared(
        &mut self,
        channel: &ChannelSpec,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Option<Arc<T>>> {
        let requests = match &channel.carries {
            Carries::Messages => return Ok(None),
            Carries::Requests { .. } => &channel.name,
            Carries::Responses { requests } => requests,
        };
        if let Some(shared) = self.0.remove(requests) {
            return Ok(Some(shared));
        }
        let shared = Arc::new(make()?);
        self.0.insert(requests.clone(), Arc::clone(&shared));
        Ok(Some(shared))
    }
}

/// Makes the connection, and lays it into the joint where there is one.
#[derive(Debug)]
pub struct Making<T> {
    maker: T,
    joint: Option<Arc<Joint>>,
}

impl<T> Making<T> {
    /// `maker` makes the connection; without a `joint` it serves one direction only.
    pub fn new(maker: T, joint: Option<Arc<Joint>>) -> Self {
        Making { maker, joint }
    }
}

impl<D: Dial<Outlet = SocketOutlet>> Dial for Making<D> {
    type Outlet = SocketOutlet;

    fn dial(&mut self) -> Result<Option<SocketOutlet>> {
        let outlet = self.maker.dial()?;
        if let (Some(outlet), Some(joint)) = (&outlet, &self.joint) {
            joint.lay(outlet.share()?);
        }
        Ok(outlet)
    }
}

impl<A: Accept<Inlet = SocketInlet<true>>> Accept for Making<A> {
    type Inlet = SocketInlet<true>;

    fn accept(&mut self, wait: Duration) -> Result<Option<Self::Inlet>> {
        let inlet = self.maker.accept(wait)?;
        if let (Some(inlet), Some(joint)) = (&inlet, &self.joint) {
            joint.lay(inlet.share()?);
        }
        Ok(inlet)
    }
}

/// Takes the connection that the other end has made.
#[derive(Debug)]
pub struct Taking {
    joint: Arc<Joint>,
    /// How the receiver waits; for a sender of no meaning.
    wait: Wait,
}

impl Taking {
    /// For a receiver that waits like `wait`, or for a sender.
    pub fn new(joint: Arc<Joint>, wait: Wait) -> Self {
        Taking { joint, wait }
    }
}

impl Dial for Taking {
    type Outlet = SocketOutlet;

    fn dial(&mut self) -> Result<Option<SocketOutlet>> {
        let fd = self.joint.take(Duration::ZERO);
        fd.map(SocketOutlet::new).transpose()
    }
}

impl Accept for Taking {
    type Inlet = SocketInlet<true>;

    fn accept(&mut self, wait: Duration) -> Result<Option<Self::Inlet>> {
        let fd = self.joint.take(wait);
        fd.map(|fd| SocketInlet::new(fd, self.wait)).transpose()
    }
}
