//! Handing over with a kernel that answers from a script.

use super::*;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Answers to calls, and the bytes that were taken.
#[derive(Default)]
struct Script {
    offers: VecDeque<io::Result<usize>>,
    pushes: VecDeque<io::Result<usize>>,
    dead: bool,
    taken: Vec<u8>,
}

/// An outlet that follows a script; where that ends, it takes everything.
#[derive(Clone, Default)]
struct Scripted<const WAITS: bool>(Arc<Mutex<Script>>);

impl<const WAITS: bool> Scripted<WAITS> {
    fn new(offers: &[io::Result<usize>], pushes: &[io::Result<usize>]) -> Self {
        Scripted(Arc::new(Mutex::new(Script {
            offers: offers.iter().copied().collect(),
            pushes: pushes.iter().copied().collect(),
            ..Script::default()
        })))
    }
    fn taken(&self) -> Vec<u8> {
        self.0.lock().unwrap().taken.clone()
    }
    fn answer(
        &self,
        bytes: &[u8],
        which: fn(&mut Script) -> &mut VecDeque<io::Result<usize>>,
    ) -> io::Result<usize> {
        let mut script = self.0.lock().unwrap();
        let n = which(&mut script).pop_front().unwrap_or(Ok(bytes.len()))?;
        script.taken.extend_from_slice(&bytes[..n]);
        Ok(n)
    }
}

impl<const WAITS: bool> Outlet for Scripted<WAITS> {
    const WAITS: bool = WAITS;
    const CONNECTED: bool = WAITS;
    fn offer(&self, bytes: &[u8]) -> io::Result<usize> {
        self.answer(bytes, |s| &mut s.offers)
    }
    fn push(&self, bytes: &[u8]) -> io::Result<usize> {
        self.answer(bytes, |s| &mut s.pushes)
    }
    fn is_alive(&self) -> bool {
        !self.0.lock().unwrap().dead
    }
}

impl<const WAITS: bool> Dial for Scripted<WAITS> {
    type Outlet = Self;
    fn dial(&mut self) -> Result<Option<Self>> {
        Ok(Some(self.clone()))
    }
}

/// A message of several pieces.
struct Parts(&'static [&'static [u8]]);

impl Pieces for Parts {
    fn count(&self) -> usize {
        self.0.len()
    }
    fn piece(&mut self, index: usize) -> &[u8] {
        self.0[index]
    }
}

fn fan<const WAITS: bool>(readers: &[&Scripted<WAITS>]) -> Fan<Scripted<WAITS>> {
    let channel = ChannelSpec {
        id: 0,
        name: "c".into(),
        max_payload: 100,
        writer: 0,
        writer_address: String::new(),
        readers: Vec::new(),
        carries: Default::default(),
    };
    let mut fan = Fan::new(&channel, readers.iter().map(|r| (*r).clone()).collect());
    assert_eq!(fan.matched().unwrap(), readers.len());
    fan
}

const MESSAGE: Parts = Parts(&[b"abc", b"defg"]);

#[test]
fn a_message_goes_to_all_readers_whole() {
    let (a, b) = (Scripted::<true>::default(), Scripted::default());
    assert_eq!(fan(&[&a, &b]).send(MESSAGE).unwrap(), Sent::Accepted);
    assert_eq!(
        (a.taken(), b.taken()),
        (b"abcdefg".to_vec(), b"abcdefg".to_vec())
    );
}

#[test]
fn what_is_taken_in_part_is_pushed_to_its_end() {
    let a = Scripted::<true>::new(&[Ok(2)], &[Err(Errno::AGAIN), Ok(1)]);
    assert_eq!(fan(&[&a]).send(MESSAGE).unwrap(), Sent::Accepted);
    assert_eq!(a.taken(), b"abcdefg");
}

#[test]
fn a_signal_before_the_first_byte_refuses_the_message_for_all() {
    let a = Scripted::<true>::new(&[Err(Errno::AGAIN)], &[Err(Errno::INTR)]);
    let b = Scripted::default();
    assert_eq!(fan(&[&a, &b]).send(MESSAGE).unwrap(), Sent::Refused);
    assert_eq!((a.taken(), b.taken()), (vec![], vec![]));
}

#[test]
fn a_signal_after_the_first_reader_does_not_keep_the_message_from_the_second() {
    let a = Scripted::<true>::default();
    let b = Scripted::new(&[Err(Errno::AGAIN)], &[Err(Errno::INTR), Ok(3)]);
    assert_eq!(fan(&[&a, &b]).send(MESSAGE).unwrap(), Sent::Accepted);
    assert_eq!(
        (a.taken(), b.taken()),
        (b"abcdefg".to_vec(), b"abcdefg".to_vec())
    );
}

#[test]
fn many_signals_in_the_middle_of_a_message_end_it_and_the_stream() {
    let interrupted = [Err(Errno::INTR); INTERRUPTIONS as usize + 1];
    let a = Scripted::<true>::new(&[Ok(1)], &interrupted[1..]);
    assert_eq!(fan(&[&a]).send(MESSAGE).unwrap(), Sent::Accepted);
    let a = Scripted::<true>::new(&[Ok(1)], &interrupted);
    let mut fan = fan(&[&a]);
    assert!(matches!(fan.send(MESSAGE), Err(Error::System { .. })));
    // The next frame would be read as the rest of this one.
    assert!(matches!(fan.send(MESSAGE), Err(Error::PeerGone { .. })));
    assert_eq!(a.taken(), b"a");
}

#[test]
fn nobody_waits_for_a_reader_that_is_dead() {
    let a = Scripted::<true>::new(&[Ok(1)], &[Err(Errno::AGAIN)]);
    let mut fan = fan(&[&a]);
    a.0.lock().unwrap().dead = true;
    assert!(matches!(fan.send(MESSAGE), Err(Error::PeerGone { .. })));
    assert_eq!(fan.matched().unwrap(), 0);
}

#[test]
fn each_way_to_say_that_the_reader_is_gone_is_understood() {
    for e in [Errno::PIPE, Errno::CONNRESET, Errno::CONNREFUSED] {
        let (a, b) = (Scripted::<true>::new(&[Err(e)], &[]), Scripted::default());
        assert!(
            matches!(fan(&[&a, &b]).send(MESSAGE), Err(Error::PeerGone { .. })),
            "{e}"
        );
        assert_eq!(b.taken(), b"abcdefg");
    }
}

#[test]
fn what_is_no_connection_reaches_the_next_reader_after_an_error() {
    for e in [Errno::CONNREFUSED, Errno::NETUNREACH] {
        let a = Scripted::<false>::new(&[Err(e)], &[]);
        let mut fan = fan(&[&a]);
        assert!(fan.send(MESSAGE).is_err(), "{e}");
        assert_eq!(fan.matched().unwrap(), 0, "{e}");
        assert_eq!(fan.send(MESSAGE).unwrap(), Sent::Accepted, "{e}");
        a.0.lock().unwrap().dead = true;
        assert_eq!(fan.matched().unwrap(), 0, "{e}");
        a.0.lock().unwrap().dead = false;
        assert_eq!(fan.matched().unwrap(), 0, "{e}");
        assert_eq!(fan.send(MESSAGE).unwrap(), Sent::Accepted, "{e}");
        assert_eq!(fan.matched().unwrap(), 1, "{e}");
    }
}

#[test]
fn a_mechanism_that_does_not_wait_refuses_what_finds_no_room() {
    let a = Scripted::<false>::new(&[Ok(3), Err(Errno::NOBUFS)], &[]);
    assert_eq!(fan(&[&a]).send(MESSAGE).unwrap(), Sent::Refused);
    let a = Scripted::<false>::new(&[Err(Errno::AGAIN)], &[]);
    let b = Scripted::default();
    // One reader of two got it: what the other lost shows there.
    assert_eq!(fan(&[&a, &b]).send(MESSAGE).unwrap(), Sent::Accepted);
}

#[test]
fn a_datagram_too_long_names_the_options() {
    let a = Scripted::<true>::new(&[Err(Errno::MSGSIZE)], &[]);
    let error = fan(&[&a]).send(MESSAGE).unwrap_err().to_string();
    assert!(
        error.contains("`fragment`") && error.contains("`sndbuf`"),
        "{error}"
    );
}
