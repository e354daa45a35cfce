//! Several reading ends of one participant: threads that take from them, or callbacks that own what they record into.

use crate::event::{Failure, Played};
use crate::job::{Job, Nodes};
use crate::shared::{Call, ThreadState};
use dyno_adapter::{ChannelSpec, Error, Subscription};
use dyno_model::Wait;
use dyno_model::cause::AgentTrouble;
use std::sync::mpsc;
use std::time::Duration;

/// How long a library may keep a callback after its subscription was dropped.
const RETURN: Duration = Duration::from_secs(5);

/// Whether all answers are yes; every one is asked, since asking drives connections.
pub(super) fn all(answers: impl Iterator<Item = Result<bool, Error>>) -> Result<bool, Error> {
    let mut all = true;
    for answer in answers {
        all &= answer?;
    }
    Ok(all)
}

/// Runs `work` on the ends: on this thread for all of them where it spins or there is one, else on a thread for each,
/// and puts the results together.
pub(super) fn on_threads<T: Send>(
    job: &Job,
    thread: &ThreadState,
    ends: Vec<T>,
    work: impl Fn(&ThreadState, Vec<T>) -> Result<Played, Failure> + Sync,
) -> Result<Played, Failure> {
    if job.wait == Wait::Spin || ends.len() == 1 {
        return work(thread, ends);
    }
    let on_own = |end: T| {
        let participant = &job.participant;
        let thread = job
            .shared
            .register(participant.index, participant.role.as_str());
        let played = work(&thread, vec![end]);
        thread.ended();
        played
    };
    std::thread::scope(|scope| {
        let on_own = &on_own;
        let handles: Vec<_> = ends
            .into_iter()
            .map(|end| scope.spawn(move || on_own(end)))
            .collect();
        let mut all = Played::default();
        for handle in handles {
            let one = handle
                .join()
                .map_err(|_| job.failure("role", AgentTrouble::Panicked))?;
            all.add(one?);
        }
        Ok(all)
    })
}

/// Subscriptions whose callbacks each own a `T`, and give it back when the library drops them: so what a callback
/// gathers needs no lock on the way of a message.
pub(super) struct Subscribed<T> {
    subscriptions: Vec<Box<dyn Subscription>>,
    sender: mpsc::Sender<T>,
    returned: mpsc::Receiver<T>,
}

impl<T: Send + 'static> Subscribed<T> {
    pub(super) fn new() -> Self {
        let (sender, returned) = mpsc::channel();
        Subscribed {
            subscriptions: Vec::new(),
            sender,
            returned,
        }
    }

    /// Subscribes to one more channel; `on_message` gets the value that belongs to it.
    pub(super) fn add(
        &mut self,
        job: &Job,
        thread: &ThreadState,
        nodes: &mut Nodes,
        channel: &ChannelSpec,
        value: T,
        on_message: impl Fn(&mut T, &[u8]) + Send + 'static,
    ) -> Result<(), Failure> {
        let mut value = Returned(Some(value), self.sender.clone());
        let on_message = Box::new(move |bytes: &[u8]| {
            if let Some(value) = &mut value.0 {
                on_message(value, bytes);
            }
        });
        let subscription = job.subscribe(thread, nodes, channel, on_message)?;
        self.subscriptions.push(subscription);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.subscriptions.len()
    }

    /// The subscriptions, in the order in which they were added.
    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut dyn Subscription> {
        self.subscriptions.iter_mut().map(|s| s.as_mut() as _)
    }

    pub(super) fn matched(&mut self) -> Result<bool, Error> {
        all(self.subscriptions.iter_mut().map(|s| s.matched()))
    }

    /// Ends the subscriptions and returns the values.
    pub(super) fn end(self, job: &Job, thread: &ThreadState) -> Result<Vec<T>, Failure> {
        let expected = self.subscriptions.len();
        // Only callbacks hold the way back now: one that is lost with its value ends the wait.
        drop(self.sender);
        thread.inside(Call::Drop, || drop(self.subscriptions));
        let back = (0..expected).map(|_| {
            let value = self.returned.recv_timeout(RETURN);
            value.map_err(|_| job.failure("drop", AgentTrouble::CallbackKept))
        });
        back.collect()
    }
}

/// Gives its value back when it is dropped.
struct Returned<T>(Option<T>, mpsc::Sender<T>);

impl<T> Drop for Returned<T> {
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            // Nobody waits for it after an error elsewhere.
            let _ = self.1.send(value);
        }
    }
}
