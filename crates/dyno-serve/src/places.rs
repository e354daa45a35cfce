//! The places for connections. Whoever comes gets one: when all are taken, the peer that has most of them loses
//! the one that it used least lately. So nobody who has few waits for somebody who has many, however many those open.

use crate::peer::Peer;
use crate::shelf::lock;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// What answers that clients have not taken yet may hold, in bytes; one alone may hold more.
const ROOM: usize = 256 << 20;

/// All places.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// So many were taken so far.
    count: u64,
    taken: HashMap<u64, Taken>,
}

/// A connection that has a place.
#[derive(Debug)]
struct Taken {
    peer: Peer,
    /// When it came, asked, or took a part of an answer.
    active: Instant,
    /// Its request is being answered: it waits for us, and not we for it.
    answering: bool,
    /// Bytes of an answer that it has yet to take.
    owed: usize,
    lost: CancellationToken,
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    number: u64,
    pub(crate) peer: Peer,
    lost: CancellationToken,
    places: Arc<Places>,
}

impl Places {
    pub(crate) fn new(most: usize) -> Arc<Places> {
        Arc::new(Places {
            most,
            table: Mutex::default(),
        })
    }

    /// A place, if need be that of another connection.
    pub(crate) fn take(self: &Arc<Places>, peer: Peer) -> Arc<Place> {
        let lost = CancellationToken::new();
        let mut table = lock(&self.table);
        let number = table.count;
        table.count += 1;
        let taken = Taken {
            peer,
            active: Instant::now(),
            answering: false,
            owed: 0,
            lost: lost.clone(),
        };
        table.taken.insert(number, taken);
        if table.taken.len() > self.most {
            table.end_one(number, |_| 1);
        }
        drop(table);
        Arc::new(Place {
            number,
            peer,
            lost,
            places: self.clone(),
        })
    }

    /// Ends the connections that we have waited for that long.
    pub(crate) fn end_those_idle_for(&self, long: Duration) {
        lock(&self.table).taken.retain(|_, taken| {
            let stays = taken.answering || taken.active.elapsed() < long;
            if !stays {
                taken.lost.cancel();
            }
            stays
        });
    }
}

impl Table {
    /// Ends one connection of the peer whose sum of `share` is largest, but not `newest`: the least recently
    /// active one, of those that wait for an answer only if there is no other. Whether there was one to end.
    fn end_one(&mut self, newest: u64, share: impl Fn(&Taken) -> usize) -> bool {
        let mut shares: HashMap<Peer, usize> = HashMap::new();
        for taken in self.taken.values() {
            *shares.entry(taken.peer).or_default() += share(taken);
        }
        let others = self.taken.iter();
        let others = others.filter(|(number, taken)| **number != newest && share(taken) > 0);
        let chosen = others.max_by_key(|(_, taken)| {
            let of_peer = shares.get(&taken.peer);
            (of_peer, !taken.answering, Reverse(taken.active))
        });
        let chosen = chosen.map(|(number, _)| *number);
        let ended = chosen.and_then(|number| self.taken.remove(&number));
        ended.map(|taken| taken.lost.cancel()).is_some()
    }
}

impl Place {
    /// Its request has come.
    pub(crate) fn asks(&self) {
        self.set(|taken| taken.answering = true);
    }

    /// Its answer, of which it has yet to take so many bytes, is on its way. If answers hold too much then, others
    /// are ended.
    pub(crate) fn is_owed(&self, bytes: usize) {
        self.set(|taken| (taken.answering, taken.owed) = (false, bytes));
        let mut table = lock(&self.places.table);
        while table.taken.values().map(|t| t.owed).sum::<usize>() > ROOM
            && table.end_one(self.number, |taken| taken.owed)
        {}
    }

    /// It has taken a part of its answer, and so many bytes are left.
    pub(crate) fn has_left(&self, bytes: usize) {
        self.set(|taken| taken.owed = bytes);
    }

    /// Returns when the connection must end.
    pub(crate) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    fn set(&self, set: impl FnOnce(&mut Taken)) {
        if let Some(taken) = lock(&self.places.table).taken.get_mut(&self.number) {
            taken.active = Instant::now();
            set(taken);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.places.table).taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(places: &Arc<Places>, user: u32) -> Arc<Place> {
        // Instants may be equal otherwise.
        std::thread::sleep(Duration::from_millis(1));
        places.take(Peer::User(user))
    }

    fn lost(places: &[&Arc<Place>]) -> Vec<bool> {
        places.iter().map(|p| p.lost.is_cancelled()).collect()
    }

    #[test]
    fn a_newcomer_gets_the_least_recently_active_place_of_who_has_most() {
        let places = Places::new(4);
        let [old, a] = [1, 1].map(|user| take(&places, user));
        let few = take(&places, 2);
        let b = take(&places, 1);
        old.asks();
        old.is_owed(0);
        assert_eq!(lost(&[&old, &a, &few, &b]), [false; 4]);
        let newcomer = take(&places, 3);
        assert_eq!(
            lost(&[&old, &a, &few, &b, &newcomer]),
            [false, true, false, false, false]
        );
        // One of its own, if it has most itself.
        let again = take(&places, 1);
        assert_eq!(
            lost(&[&old, &few, &b, &newcomer, &again]),
            [false, false, true, false, false]
        );
    }

    #[test]
    fn a_connection_that_waits_for_its_answer_stays_while_another_of_its_peer_is_idle() {
        let places = Places::new(2);
        let waits = take(&places, 1);
        waits.asks();
        let idle = take(&places, 1);
        let newcomer = take(&places, 1);
        assert_eq!(lost(&[&waits, &idle, &newcomer]), [false, true, false]);
        newcomer.asks();
        let _other = take(&places, 2);
        assert_eq!(lost(&[&waits, &newcomer]), [true, false]);
    }

    #[test]
    fn a_place_is_given_back_when_its_connection_ends() {
        let places = Places::new(1);
        let first = take(&places, 1);
        drop(take(&places, 2));
        assert!(first.lost.is_cancelled());
        let last = take(&places, 3);
        assert!(!last.lost.is_cancelled());
        drop((first, last));
        assert!(lock(&places.table).taken.is_empty());
    }

    #[test]
    fn answers_that_nobody_takes_make_room_for_others() {
        let places = Places::new(9);
        let [deaf, slow, reads] = [1, 1, 2].map(|user| take(&places, user));
        deaf.is_owed(ROOM / 3);
        slow.is_owed(ROOM / 3);
        slow.has_left(ROOM / 3 - 1);
        reads.is_owed(ROOM / 3);
        assert_eq!(lost(&[&deaf, &slow, &reads]), [false; 3]);
        let all = take(&places, 4);
        all.is_owed(ROOM / 3);
        assert_eq!(lost(&[&deaf, &slow, &reads]), [true, false, false]);
        // One alone may be larger than all room.
        all.is_owed(2 * ROOM);
        assert_eq!(lost(&[&slow, &reads, &all]), [true, true, false]);
    }

    #[test]
    fn only_clients_that_we_wait_for_are_ended_in_time() {
        let places = Places::new(9);
        let [waits, idle, deaf] = [1, 1, 1].map(|user| take(&places, user));
        waits.asks();
        deaf.is_owed(1);
        places.end_those_idle_for(Duration::from_secs(3600));
        assert_eq!(lost(&[&waits, &idle, &deaf]), [false; 3]);
        places.end_those_idle_for(Duration::ZERO);
        assert_eq!(lost(&[&waits, &idle, &deaf]), [false, true, true]);
    }
}
