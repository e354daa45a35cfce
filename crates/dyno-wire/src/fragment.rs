//! Messages in datagrams, cut into fragments where a datagram cannot carry them whole.
//!
//! If the channel's largest message fits into one datagram, every message is one datagram with
//! nothing added. Otherwise each fragment starts with a header of three little-endian words:
//!
//! | bytes | meaning |
//! |---|---|
//! | 0..4 | number of the message, counted by its sender from 0, wrapping |
//! | 4..8 | where the fragment's bytes start within the message |
//! | 8..12 | length of the message |
//!
//! All fragments of a message carry the same number of bytes, the last one the rest.
//!
//! Joining tolerates loss, duplicates and reordering. Two messages may be incomplete at a time;
//! one is given up when a newer one completes, or when the next but one begins. No message is put
//! together from fragments of different messages. Memory is bounded by two messages and nothing
//! is allocated for a message.

mod join;
mod layout;
mod split;

pub use join::Joiner;
pub use layout::{HEADER, Layout};
pub use split::Splitter;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A message that tells its number and length, so that a mixture of two is recognised.
    fn message(number: usize, len: usize) -> Vec<u8> {
        (0..len)
            .map(|i| (number * 31 + i * 7 + len) as u8)
            .collect()
    }

    fn split(splitter: &mut Splitter, message: &[u8]) -> Vec<Vec<u8>> {
        splitter.fill(message.len(), &mut |b| b.copy_from_slice(message));
        (0..splitter.datagrams())
            .map(|i| splitter.datagram(i).to_vec())
            .collect()
    }

    fn join(joiner: &mut Joiner, datagram: &[u8]) -> Option<Vec<u8>> {
        joiner.space()[..datagram.len()].copy_from_slice(datagram);
        joiner.accept(datagram.len()).map(<[u8]>::to_vec)
    }

    /// What may happen to each datagram on its way: how often it arrives, and how late.
    fn fates() -> impl Strategy<Value = Vec<(usize, usize)>> {
        let fate = (
            prop_oneof![1 => Just(0usize), 8 => Just(1), 1 => Just(2)],
            0usize..12,
        );
        prop::collection::vec(fate, 1..60)
    }

    proptest! {
        #[test]
        fn without_loss_every_message_comes_back_in_order(
            lens in prop::collection::vec(1usize..5000, 1..30),
            datagram in (HEADER + 1)..6000usize,
        ) {
            let layout = Layout::new(5000, datagram).unwrap();
            let (mut splitter, mut joiner) = (Splitter::new(layout), Joiner::new(layout));
            for (i, len) in lens.iter().enumerate() {
                let sent = message(i, *len);
                let pieces = split(&mut splitter, &sent);
                prop_assert_eq!(pieces.len(), layout.datagrams(*len));
                let (last, before) = pieces.split_last().unwrap();
                for d in before {
                    prop_assert_eq!(join(&mut joiner, d), None);
                }
                prop_assert_eq!(join(&mut joiner, last), Some(sent));
            }
        }

        #[test]
        fn loss_reordering_and_duplicates_never_give_a_wrong_message(
            lens in prop::collection::vec(1usize..400, 1..30),
            datagram in (HEADER + 1)..80usize,
            fates in fates(),
        ) {
            let layout = Layout::new(400, datagram).unwrap();
            let (mut splitter, mut joiner) = (Splitter::new(layout), Joiner::new(layout));
            let mut on_the_way: Vec<(usize, Vec<u8>)> = Vec::new();
            let mut fate = fates.iter().cycle();
            let mut departed = 0;
            let sent: Vec<_> = lens.iter().enumerate().map(|(i, len)| message(i, *len)).collect();
            for m in &sent {
                for d in split(&mut splitter, m) {
                    let (copies, delay) = fate.next().unwrap();
                    for copy in 0..*copies {
                        on_the_way.push((departed + delay * (copy + 1), d.clone()));
                    }
                    departed += 1;
                }
            }
            on_the_way.sort_by_key(|(due, _)| *due);
            let mut candidates = sent.iter();
            for (_, d) in on_the_way {
                if let Some(got) = join(&mut joiner, &d) {
                    // Each is one that was sent, later than the one before it: no mixture, no
                    // duplicate, no step back.
                    prop_assert!(candidates.any(|m| *m == got));
                }
            }
        }

        #[test]
        fn any_datagram_of_a_stranger_is_survived(
            datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..200),
            small_words in any::<bool>(),
        ) {
            let layout = Layout::new(300, 40).unwrap();
            let mut joiner = Joiner::new(layout);
            for mut d in datagrams {
                if small_words {
                    // Plausible headers get further into the joiner.
                    d.iter_mut().take(HEADER).enumerate().for_each(|(i, b)| {
                        *b = if i % 4 == 0 { *b % 60 } else { 0 };
                    });
                }
                if let Some(m) = join(&mut joiner, &d) {
                    prop_assert!(m.len() <= 300);
                }
            }
        }
    }

    #[test]
    fn what_fits_into_a_datagram_is_carried_with_nothing_added() {
        let layout = Layout::new(64, 64).unwrap();
        let (mut splitter, mut joiner) = (Splitter::new(layout), Joiner::new(layout));
        let m = message(0, 64);
        assert_eq!(split(&mut splitter, &m), std::slice::from_ref(&m));
        assert_eq!(join(&mut joiner, &m), Some(m));
    }

    #[test]
    fn fragments_of_two_messages_may_interleave() {
        let layout = Layout::new(100, HEADER + 50).unwrap();
        let (mut splitter, mut joiner) = (Splitter::new(layout), Joiner::new(layout));
        let (a, b) = (message(0, 100), message(1, 100));
        let (pa, pb) = (split(&mut splitter, &a), split(&mut splitter, &b));
        assert_eq!(join(&mut joiner, &pa[0]), None);
        assert_eq!(join(&mut joiner, &pb[1]), None);
        assert_eq!(join(&mut joiner, &pa[1]), Some(a));
        assert_eq!(join(&mut joiner, &pb[0]), Some(b));
    }

    #[test]
    fn an_incomplete_message_is_given_up_when_a_newer_one_completes() {
        let layout = Layout::new(100, HEADER + 50).unwrap();
        let (mut splitter, mut joiner) = (Splitter::new(layout), Joiner::new(layout));
        let (a, b) = (message(0, 100), message(1, 100));
        let (pa, pb) = (split(&mut splitter, &a), split(&mut splitter, &b));
        join(&mut joiner, &pa[0]);
        join(&mut joiner, &pb[0]);
        assert_eq!(join(&mut joiner, &pb[1]), Some(b));
        assert_eq!(join(&mut joiner, &pa[1]), None);
    }

    #[test]
    fn the_numbers_may_wrap() {
        let layout = Layout::new(100, HEADER + 50).unwrap();
        let (mut splitter, mut joiner) = (
            Splitter::numbered_from(layout, u32::MAX),
            Joiner::new(layout),
        );
        for i in 0..3 {
            let m = message(i, 100);
            let pieces = split(&mut splitter, &m);
            join(&mut joiner, &pieces[0]);
            assert_eq!(join(&mut joiner, &pieces[1]), Some(m));
        }
    }

    #[test]
    fn a_sender_may_hand_out_its_datagrams_again_for_another_receiver() {
        let layout = Layout::new(100, HEADER + 9).unwrap();
        let mut splitter = Splitter::new(layout);
        let first = split(&mut splitter, &message(5, 100));
        let again: Vec<_> = (0..splitter.datagrams())
            .map(|i| splitter.datagram(i).to_vec())
            .collect();
        assert_eq!(first, again);
    }

    #[test]
    fn a_datagram_without_room_for_a_byte_is_refused() {
        assert_eq!(Layout::new(100, HEADER), None);
        assert!(Layout::new(HEADER, HEADER).is_some());
    }
}
