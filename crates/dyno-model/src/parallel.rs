//! Work that comes in pieces, over all CPUs that this process may use.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// `of` each item, in the order of the items: the same as one after the other, in less time. A panic of `of` is
/// passed on.
pub fn map<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    map_with(threads.min(items.len()), items, of)
}

fn map_with<T: Sync, R: Send>(threads: usize, items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if threads < 2 {
        return items.iter().map(of).collect();
    }
    let next = AtomicUsize::new(0);
    // Each thread takes the next item that none has taken: pieces differ in size.
    let work = || {
        let mut done = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(item) = items.get(at)
        {
            done.push((at, of(item)));
        }
        done
    };
    let mut all: Vec<(usize, R)> = thread::scope(|scope| {
        let running: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
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
    #[should_panic(expected = "item 3")]
    fn a_panic_is_passed_on() {
        map_with(2, &[1, 2, 3, 4], |i| assert!(*i != 3, "item {i}"));
    }
}
