//! The ends of one participant that share a zenoh session.
//!
//! A session takes the locators at which it listens and to which it connects when it opens. So the
//! ends that a participant makes are gathered first; the first call on one of them opens the
//! session and declares them all. An end that is made later is a group of its own.
//!
//! # Who connects
//!
//! zenoh keeps one connection between two sessions and refuses a second. Where two participants
//! write to each other both could connect, so the one with the lower number does. Where the other
//! side's ends are not in one group, its two sessions cannot both be reached that way; a sender
//! that has waited for [`PATIENT`] then opens a session of its own and connects itself.

use crate::settings::Settings;
use crate::shm::{self, Lease};
use dyno_adapter::{ChannelSpec, Error, NodeContext, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use zenoh::{Session, Wait};

/// How long a sender waits to be connected to before it connects itself.
pub(crate) const PATIENT: Duration = Duration::from_millis(300);

/// What an end wants of the session as soon as there is one.
pub(crate) trait Declare: Send + Sync {
    /// Declares it. Called once.
    fn declare(&self, session: &Session, group: &Group) -> Result<()>;
}

/// Gathered ends, then their session.
pub(crate) struct Group {
    pub(crate) settings: Arc<Settings>,
    pub(crate) context: NodeContext,
    state: Mutex<State>,
}

enum State {
    Gathering(Plan),
    Open {
        connects: Vec<u16>,
        _session: Session,
        // After the session: it counts the users of zenoh's shared memory.
        _lease: Option<Lease>,
    },
    Failed(String),
}

/// What the gathered ends need.
#[derive(Default)]
struct Plan {
    listen: Vec<String>,
    /// By participant, so that each is connected to once.
    reach: BTreeMap<u16, String>,
    /// Writers that are heard from, and so can connect.
    heard: Vec<u16>,
    ends: Vec<Weak<dyn Declare>>,
}

impl Plan {
    /// Those to connect to: all that are written to but those who do it themselves.
    fn connect(&self, own: u16) -> impl Iterator<Item = (u16, &String)> {
        self.reach
            .iter()
            .filter(move |(peer, _)| own < **peer || !self.heard.contains(peer))
            .map(|(peer, locator)| (*peer, locator))
    }
}

impl Group {
    pub(crate) fn new(settings: Arc<Settings>, context: NodeContext) -> Self {
        Group {
            settings,
            context,
            state: Mutex::new(State::Gathering(Plan::default())),
        }
    }

    /// Adds a writing end, and returns the group that it is in: this one while it gathers. Once
    /// its session is open, perhaps by a call on another thread, the end gets a group of its own,
    /// which opens at once: whoever made the end may never call it.
    pub(crate) fn add_writer(
        self: Arc<Self>,
        channel: &ChannelSpec,
        end: Weak<dyn Declare>,
    ) -> Result<Arc<Group>> {
        let settings = Arc::clone(&self.settings);
        self.add(|plan| {
            for reader in &channel.readers {
                plan.reach
                    .entry(reader.participant)
                    .or_insert_with(|| settings.locator(&reader.address, reader.port));
            }
            plan.ends.push(end);
        })
    }

    /// Adds a reading end; see [`Group::add_writer`].
    pub(crate) fn add_reader(
        self: Arc<Self>,
        channel: &ChannelSpec,
        end: Weak<dyn Declare>,
    ) -> Result<Arc<Group>> {
        let own = self.context.participant;
        let endpoint = channel.readers.iter().find(|r| r.participant == own);
        let endpoint = endpoint.ok_or_else(|| {
            Error::Unsupported(format!(
                "participant {own} as a reader of channel {}, whose readers are others",
                channel.name
            ))
        })?;
        let locator = self.settings.locator(&endpoint.address, endpoint.port);
        self.add(|plan| {
            plan.listen.push(locator);
            plan.heard.push(channel.writer);
            plan.ends.push(end);
        })
    }

    fn add(self: Arc<Self>, end: impl FnOnce(&mut Plan)) -> Result<Arc<Group>> {
        if let State::Gathering(plan) = &mut *self.state() {
            end(plan);
            return Ok(Arc::clone(&self));
        }
        let mut plan = Plan::default();
        end(&mut plan);
        let own = Group {
            settings: Arc::clone(&self.settings),
            context: self.context.clone(),
            state: Mutex::new(State::Gathering(plan)),
        };
        own.open()?;
        Ok(Arc::new(own))
    }

    /// Whether the session connects to every reader of `channel` itself. False before it is open.
    pub(crate) fn connects_to_all(&self, channel: &ChannelSpec) -> bool {
        if self.settings.router.is_some() {
            return true;
        }
        match &*self.state() {
            State::Open { connects, .. } => {
                let mut readers = channel.readers.iter();
                readers.all(|reader| connects.contains(&reader.participant))
            }
            _ => false,
        }
    }

    /// Opens the session and declares the ends, unless that was done before.
    pub(crate) fn open(&self) -> Result<()> {
        let mut state = self.state();
        let plan = match &mut *state {
            State::Gathering(plan) => std::mem::take(plan),
            State::Open { .. } => return Ok(()),
            State::Failed(message) => return Err(Error::library("zenoh::open", message)),
        };
        match self.open_with(plan) {
            Ok(open) => {
                *state = open;
                Ok(())
            }
            Err(error) => {
                *state = State::Failed(error.to_string());
                Err(error)
            }
        }
    }

    fn open_with(&self, plan: Plan) -> Result<State> {
        let (connects, connect): (Vec<u16>, Vec<String>) = plan
            .connect(self.context.participant)
            .map(|(peer, locator)| (peer, locator.clone()))
            .unzip();
        let config = match self.settings.router {
            Some(port) => {
                let router = self.settings.locator(&self.context.address, port);
                self.settings.config(&[], &[router])?
            }
            None => self.settings.config(&plan.listen, &connect)?,
        };
        let lease = self.settings.shm.then(|| Lease::new(&self.context));
        let mut builder = zenoh::open(config);
        if self.settings.shm {
            builder = builder.with_shm_clients(shm::clients());
        }
        let session = builder.wait().map_err(|e| {
            Error::library(
                format!("zenoh::open, listening at [{}]", plan.listen.join(", ")),
                e,
            )
        })?;
        for end in plan.ends.iter().filter_map(Weak::upgrade) {
            end.declare(&session, self)?;
        }
        if self.settings.shm {
            shm::claim_segments(&self.context)?;
        }
        Ok(State::Open {
            connects,
            _session: session,
            _lease: lease,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic inside zenoh leaves the group gathering without ends, which only ever connects
        // to nobody.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_that_write_to_each_other_the_lower_connects() {
        let plan = Plan {
            reach: [(1, "one".to_owned()), (5, "five".to_owned())].into(),
            heard: vec![1, 5],
            ..Plan::default()
        };
        let peers = |own| plan.connect(own).map(|(peer, _)| peer).collect::<Vec<_>>();
        assert_eq!(peers(0), [1, 5]);
        assert_eq!(peers(3), [5]);
        assert_eq!(peers(7), [0_u16; 0]);
    }

    #[test]
    fn a_writer_connects_to_readers_that_do_not_write_to_it() {
        let plan = Plan {
            reach: [(1, "one".to_owned())].into(),
            ..Plan::default()
        };
        assert_eq!(plan.connect(7).count(), 1);
    }
}
