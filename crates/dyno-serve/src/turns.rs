//! Turns for what takes a thread. Each peer has a line of its own, and only whoever is first in it stands in the
//! line of all, so that peers take turns however many requests each of them sends.

use crate::peer::Peer;
use crate::shelf::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests of one peer in a line. Further ones are refused, so that a peer whose requests take all places
/// for connections always has some that can be given to others.
pub(crate) const LINE: usize = 256;

/// A number of turns at a time. The semaphores are fair, and never closed.
#[derive(Debug)]
pub(crate) struct Turns {
    all: Arc<Semaphore>,
    /// Of these for one peer.
    each: usize,
    lines: Mutex<HashMap<Peer, Arc<Semaphore>>>,
}

/// The peer has too many requests in line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// Being first in the line of a peer, until the work is done.
pub(crate) type First = OwnedSemaphorePermit;

impl Turns {
    pub(crate) fn new(all: usize, each: usize) -> Turns {
        Turns {
            all: Arc::new(Semaphore::new(all)),
            each,
            lines: Mutex::default(),
        }
    }

    /// Waits in the peer's own line.
    pub(crate) async fn first(&self, peer: Peer) -> Result<First, Full> {
        let line = {
            let mut lines = lock(&self.lines);
            // Whoever waits or works holds the line beside this table.
            lines.retain(|_, line| Arc::strong_count(line) > 1);
            let line = lines.entry(peer);
            let line = line.or_insert_with(|| Arc::new(Semaphore::new(self.each)));
            if Arc::strong_count(line) > LINE {
                return Err(Full);
            }
            line.clone()
        };
        line.acquire_owned().await.map_err(|_| Full)
    }

    /// Runs what reads or computes on a thread for that, in its turn among the peers. The turn is over when the work
    /// is, also if nobody waits for it any more. An error: it panicked.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        first: First,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, tokio::task::JoinError> {
        let turn = self.all.clone().acquire_owned().await.ok();
        let done = tokio::task::spawn_blocking(move || {
            let result = job();
            drop((turn, first));
            result
        });
        done.await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn runtime() -> tokio::runtime::Runtime {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().build().unwrap()
    }

    #[test]
    fn peers_take_turns_however_many_requests_one_has() {
        let turns = Arc::new(Turns::new(1, 1));
        let done = Arc::new(Mutex::new(Vec::new()));
        let ask = |user| {
            let (turns, done) = (turns.clone(), done.clone());
            async move {
                let first = turns.first(Peer::User(user)).await.unwrap();
                turns
                    .work(first, move || lock(&done).push(user))
                    .await
                    .unwrap();
            }
        };
        runtime().block_on(async {
            let mut asked = tokio::task::JoinSet::new();
            // Nobody is served before all have asked.
            let place = turns.all.clone().acquire_owned().await.unwrap();
            for user in [1, 1, 1, 1, 1, 1, 2, 3] {
                asked.spawn(ask(user));
            }
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            drop(place);
            asked.join_all().await;
        });
        assert_eq!(*lock(&done), [1, 2, 3, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn one_peer_leaves_a_place_for_another_to_work_at_once() {
        let turns = Turns::new(2, 1);
        runtime().block_on(async {
            let busy = turns.first(Peer::User(1)).await.unwrap();
            let second = tokio::time::timeout(Duration::from_millis(1), turns.first(Peer::User(1)));
            assert!(second.await.is_err(), "a second turn of the same peer");
            let (to_go, go) = std::sync::mpsc::channel::<()>();
            let works = turns.work(busy, move || go.recv());
            let other = async {
                let first = turns.first(Peer::User(2)).await.unwrap();
                turns
                    .work(first, move || to_go.send(()))
                    .await
                    .unwrap()
                    .unwrap();
            };
            let (first, ()) = tokio::join!(works, other);
            first.unwrap().unwrap();
        });
    }

    #[test]
    fn a_line_is_full_for_its_own_peer_only_and_forgotten_when_it_is_empty() {
        let turns = Turns::new(1, 1);
        runtime().block_on(async {
            let first = turns.first(Peer::User(1)).await.unwrap();
            let mut waiting = Vec::new();
            for _ in 1..LINE {
                let mut next = Box::pin(turns.first(Peer::User(1)));
                let polled =
                    std::future::poll_fn(|cx| std::task::Poll::Ready(next.as_mut().poll(cx)));
                assert!(polled.await.is_pending());
                waiting.push(next);
            }
            assert_eq!(turns.first(Peer::User(1)).await.unwrap_err(), Full);
            drop(turns.first(Peer::User(2)).await.unwrap());
            drop((first, waiting));
            drop(turns.first(Peer::User(3)).await.unwrap());
            assert_eq!(lock(&turns.lines).len(), 1);
        });
    }
}
