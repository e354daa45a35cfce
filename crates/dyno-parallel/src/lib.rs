//! Work that comes in pieces, over all CPUs that this process may use.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// `of` each item, in the order of the items: the same as one after the other, in less time. A panic of `of` is
/// passed on.
pub fn map<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_with(threads().min(items.len()), items, of)
}

/// As [`map`], for pieces that take much memory: those in progress weigh `budget` at most, all together. One that weighs
/// more has no other beside it.
pub fn map_within<T: Sync, R: Send>(
    budget: u64,
    items: &[T],
    weight: impl Fn(&T) -> u64,
    of: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let weights: Vec<u64> = items.iter().map(weight).collect();
    map_weighed(threads().min(items.len()), budget, &weights, |at| {
        of(&items[at])
    })
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

fn map_with<T: Sync, R: Send>(threads: usize, items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    // Each thread takes the next item that none has taken: pieces differ in size.
    on_threads(threads, || {
        let mut done = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(item) = items.get(at)
        {
            done.push((at, of(item)));
        }
        done
    })
}

fn map_weighed<R: Send>(
    threads: usize,
    budget: u64,
    weights: &[u64],
    of: impl Fn(usize) -> R + Sync,
) -> Vec<R> {
    let queue = Queue::new(budget, weights);
    on_threads(threads, || {
        let mut done = Vec::new();
        while let Some(taken) = queue.take() {
            done.push((taken.at, of(taken.at)));
        }
        done
    })
}

/// What each of `threads` has done, one of which is this one, in the order of the items.
fn on_threads<R: Send>(threads: usize, work: impl Fn() -> Vec<(usize, R)> + Sync) -> Vec<R> {
    let mut all: Vec<(usize, R)> = thread::scope(|scope| {
        let running: Vec<_> = (1..threads).map(|_| scope.spawn(&work)).collect();
        let mut all = work();
        for one in running {
            match one.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Items that wait until there is room for them.
struct Queue<'a> {
    budget: u64,
    weights: &'a [u64],
    state: Mutex<State>,
    /// Something ended.
    ended: Condvar,
}

struct State {
    /// In the order of the items.
    left: Vec<usize>,
    in_progress: usize,
    /// The weight of what is in progress.
    taken: u64,
}

impl<'a> Queue<'a> {
    fn new(budget: u64, weights: &'a [u64]) -> Self {
        Queue {
            budget,
            weights,
            state: Mutex::new(State {
                left: (0..weights.len()).collect(),
                in_progress: 0,
                taken: 0,
            }),
            ended: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first item that there is room for; waits while there is none. `None`: all are taken.
    fn take(&self) -> Option<Taken<'_>> {
        let mut state = self.lock();
        while !state.left.is_empty() {
            let has_room = |at: &usize| {
                let together = state.taken.saturating_add(self.weights[*at]);
                state.in_progress == 0 || together <= self.budget
            };
            if let Some(place) = state.left.iter().position(has_room) {
                let at = state.left.remove(place);
                state.in_progress += 1;
                state.taken = state.taken.saturating_add(self.weights[at]);
                return Some(Taken { queue: self, at });
            }
            // No longer than what is in progress takes.
            state = self
                .ended
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        None
    }
}

/// An item in progress, until it is dropped, be it in a panic.
struct Taken<'a> {
    queue: &'a Queue<'a>,
    at: usize,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.in_progress -= 1;
        state.taken = state.taken.saturating_sub(self.queue.weights[self.at]);
        drop(state);
        self.queue.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items_however_many_threads_there_are() {
        let items: Vec<u64> = (0..500).collect();
        let squares: Vec<u64> = items.iter().map(|i| i * i).collect();
        for threads in [0, 1, 2, 7] {
            assert_eq!(map_with(threads, &items, |i| i * i), squares);
        }
        assert_eq!(map(&items, |i| i * i), squares);
        assert!(map(&[0u8; 0], |_| ()).is_empty());
    }

    #[test]
    fn what_is_in_progress_weighs_no_more_than_the_budget_unless_it_is_alone() {
        let weights = [3, 9, 1, 1, 4, 2, 0, 9, 1, 3];
        for threads in [0, 1, 2, 7] {
            let (now, most) = (Mutex::new((0, 0)), AtomicUsize::new(0));
            let results = map_weighed(threads, 5, &weights, |at| {
                let enter = |n: i64, weight: i64| {
                    let mut now = now.lock().unwrap();
                    *now = (now.0 + n, now.1 + weight);
                    assert!(now.1 <= 5 || now.0 == 1, "{now:?}");
                    most.fetch_max(now.0 as usize, Ordering::Relaxed);
                };
                enter(1, weights[at] as i64);
                thread::yield_now();
                enter(-1, -(weights[at] as i64));
                at
            });
            assert_eq!(results, (0..weights.len()).collect::<Vec<_>>());
            assert!(most.into_inner() <= threads.max(1));
        }
        assert!(map_within(5, &[0u64; 0], |w| *w, |_| ()).is_empty());
    }

    #[test]
    #[should_panic(expected = "item 3")]
    fn a_panic_leaves_room_for_the_others() {
        map_weighed(2, 1, &[1; 5], |at| assert!(at != 3, "item {at}"));
    }

    #[test]
    #[should_panic(expected = "item 3")]
    fn a_panic_is_passed_on() {
        map_with(2, &[1, 2, 3, 4], |i| assert!(*i != 3, "item {i}"));
    }
}
