//! Who is there, behind a broker that tells nobody who listens: the ends of a channel say so to each other, over the broker itself,
//! before the first message. `adapters/broker/presence.hpp` says the same for adapters in C++.
//!
//! A reader subscribes to the channel, and then says `here` with its number. A writer asks `who` when it comes, and answers `here` of a
//! reader that it did not know with `writer`; a reader answers `who` with `here`. So both know of each other whoever comes first. Who
//! closes in order says `gone`; who is killed is missed by Dyno, not by this.
//!
//! Each end has a name of its own beside its number, `here 1 5f3a…`: what an end says last may come after what the next of the same
//! number says first, since they have two connections, and must not undo it.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Publishes one short text for the other end, without waiting.
pub(crate) type Tell = Box<dyn Fn(String) + Send + Sync>;

/// A name that no other end has: the keys of a `RandomState` are random.
fn own_name() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// The readers of a channel, as its writer hears of them.
pub(crate) struct Readers {
    tell: Tell,
    name: String,
    /// Names by number.
    there: Mutex<HashMap<String, String>>,
    count: AtomicUsize,
}

impl Readers {
    pub(crate) fn new(tell: Tell) -> Self {
        Readers {
            tell,
            name: own_name(),
            there: Mutex::default(),
            count: AtomicUsize::new(0),
        }
    }

    /// Once the writer hears what readers say.
    pub(crate) fn ask(&self) {
        (self.tell)(format!("who {}", self.name));
    }

    pub(crate) fn leave(&self) {
        (self.tell)(format!("gone {}", self.name));
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// `here N NAME` or `gone N NAME`.
    pub(crate) fn heard(&self, said: &str) {
        let mut words = said.splitn(3, ' ');
        let (Some(what), Some(number), Some(name)) = (words.next(), words.next(), words.next())
        else {
            return;
        };
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = there.get(number).is_some_and(|known| known == name);
        let is_here = what == "here";
        if is_here {
            there.insert(number.to_owned(), name.to_owned());
        } else if is_known {
            there.remove(number);
        }
        self.count.store(there.len(), Ordering::Release);
        drop(there);
        if is_here && !is_known {
            (self.tell)(format!("writer {}", self.name));
        }
    }
}

/// The writer of a channel, as one of its readers hears of it.
pub(crate) struct Writer {
    tell: Tell,
    /// Number and name.
    own: String,
    /// The writer's name.
    writer: Mutex<String>,
    is_there: AtomicBool,
}

impl Writer {
    pub(crate) fn new(participant: u16, tell: Tell) -> Self {
        Writer {
            tell,
            own: format!("{participant} {}", own_name()),
            writer: Mutex::default(),
            is_there: AtomicBool::new(false),
        }
    }

    /// Once the reader is subscribed to the channel and hears what the writer says.
    pub(crate) fn announce(&self) {
        (self.tell)(format!("here {}", self.own));
    }

    pub(crate) fn leave(&self) {
        (self.tell)(format!("gone {}", self.own));
    }

    pub(crate) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Acquire)
    }

    /// `who NAME`, `writer NAME` or `gone NAME`.
    pub(crate) fn heard(&self, said: &str) {
        let Some((what, name)) = said.split_once(' ') else {
            return;
        };
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if what != "gone" {
            name.clone_into(&mut writer);
            self.is_there.store(true, Ordering::Release);
        } else if *writer == name {
            self.is_there.store(false, Ordering::Release);
        }
        drop(writer);
        if what == "who" {
            self.announce();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn recorded() -> (Tell, Arc<Mutex<Vec<String>>>) {
        let said = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&said);
        (Box::new(move |text| list.lock().unwrap().push(text)), said)
    }

    #[test]
    fn a_reader_that_left_does_not_take_its_successor_along() {
        let (tell, said) = recorded();
        let readers = Readers::new(tell);
        readers.heard("here 1 old");
        readers.heard("here 1 new");
        readers.heard("gone 1 old");
        assert_eq!(readers.count(), 1);
        readers.heard("gone 1 new");
        assert_eq!(readers.count(), 0);
        // Each new reader is told of the writer once; what makes no sense is nothing.
        readers.heard("here 1");
        readers.heard("here 2 x");
        readers.heard("here 2 x");
        assert_eq!((readers.count(), said.lock().unwrap().len()), (1, 3));
    }

    #[test]
    fn a_reader_answers_whoever_asks_and_notices_who_leaves() {
        let (tell, said) = recorded();
        let writer = Writer::new(7, tell);
        writer.heard("who a");
        assert!(writer.is_there() && said.lock().unwrap()[0].starts_with("here 7 "));
        writer.heard("gone b");
        assert!(writer.is_there());
        writer.heard("gone a");
        assert!(!writer.is_there());
    }
}
