use super::*;
use proptest::prelude::*;
use std::sync::Arc;

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("faults-3-2");
    (directory, path)
}

fn noted() -> [Noted; 7] {
    [
        Noted::Arrival {
            sequence: u64::MAX,
            due: Nanos(5),
            sent: Nanos(6),
        },
        Noted::Damaged,
        Noted::Sent {
            sequence: 8,
            sent: Nanos(9),
        },
        Noted::NotSent { sequence: 10 },
        Noted::TakeFailed,
        Noted::Peers { matched: u32::MAX },
        Noted::NoAnswer { sequence: 11 },
    ]
}

/// A log with one event of each kind.
fn written(path: &Path, capacity: usize) {
    let log = FaultLog::create(path, 3, 2, capacity).unwrap();
    for (at, what) in (100..).zip(noted()) {
        log.push(7, Nanos(at), what);
    }
}

#[test]
fn what_is_pushed_is_read_back() {
    let (_directory, path) = place();
    let log = FaultLog::create(&path, 3, 2, 7).unwrap();
    assert_eq!(FaultLog::read(&path).unwrap(), FaultEvents::default());
    for (at, what) in (100..).zip(noted()) {
        log.push(7, Nanos(at), what);
    }
    // Before the writer has ended, and after it.
    let read = FaultLog::read(&path).unwrap();
    drop(log);
    assert_eq!(FaultLog::read(&path).unwrap(), read);
    assert_eq!(read.dropped, 0);
    let event = |(at, what)| FaultEvent {
        participant: 3,
        generation: 2,
        channel: 7,
        what,
        at: Nanos(at),
    };
    let expected: Vec<FaultEvent> = (100..).zip(noted()).map(event).collect();
    assert_eq!(read.events, expected);
}

#[test]
fn what_has_no_room_is_counted() {
    let (_directory, path) = place();
    for (capacity, dropped) in [(0, 7), (4, 3), (7, 0)] {
        written(&path, capacity);
        let read = FaultLog::read(&path).unwrap();
        assert_eq!((read.events.len(), read.dropped), (capacity, dropped));
    }
}

#[test]
fn threads_push_at_the_same_time() {
    let (_directory, path) = place();
    let log = Arc::new(FaultLog::create(&path, 0, 0, 4_000).unwrap());
    std::thread::scope(|scope| {
        for channel in 0..4 {
            let log = log.clone();
            scope.spawn(move || {
                for sequence in 0..1_000 {
                    log.push(channel, Nanos(sequence), Noted::NotSent { sequence });
                }
            });
        }
    });
    let read = FaultLog::read(&path).unwrap();
    assert_eq!((read.events.len(), read.dropped), (4_000, 0));
    for channel in 0..4 {
        let own = read.events.iter().filter(|e| e.channel == channel);
        assert!(own.map(|e| e.at.0).eq(0..1_000));
    }
}

#[test]
fn what_a_killed_process_pushed_is_there() {
    let (_directory, path) = place();
    let log = FaultLog::create(&path, 3, 2, 100).unwrap();
    // SAFETY: the child writes memory that was mapped before and ends by a signal; it neither allocates nor locks, and
    // never returns.
    match unsafe { libc::fork() } {
        0 => {
            for sequence in 0..50 {
                log.push(1, Nanos(sequence), Noted::NotSent { sequence });
            }
            // SAFETY: both take plain integers.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        child => {
            let mut status = 0;
            // SAFETY: `status` outlives the call.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert!(libc::WIFSIGNALED(status));
            let read = FaultLog::read(&path).unwrap();
            assert!(read.events.iter().map(|e| e.at.0).eq(0..50));
        }
    }
}

#[test]
fn a_log_that_cannot_be_made_says_where() {
    let (directory, _) = place();
    let path = directory.path().join("none/log");
    let error = FaultLog::create(&path, 0, 0, 1).unwrap_err().to_string();
    assert!(error.contains("cannot make the log") && error.contains("none/log"));
    let path = directory.path().join("large");
    assert!(FaultLog::create(&path, 0, 0, usize::MAX).is_err());
}

#[test]
fn a_cut_log_is_shorter_or_none() {
    let (_directory, path) = place();
    written(&path, 8);
    let whole = std::fs::read(&path).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let events = length.saturating_sub(HEADER * WORD) / (EVENT * WORD);
        match FaultLog::read(&path) {
            Ok(read) => {
                assert_eq!(read.events.len(), events.min(7));
                assert_eq!(read.dropped as usize, 7 - events.min(7));
            }
            Err(error) => assert!(length < HEADER * WORD, "{length}: {error}"),
        }
    }
}

proptest! {
    #[test]
    fn garbage_is_an_error_or_a_shorter_log(
        at in 0usize..400, bytes in proptest::collection::vec(any::<u8>(), 1..64)
    ) {
        let (_directory, path) = place();
        written(&path, 8);
        let mut whole = std::fs::read(&path).unwrap();
        let end = (at + bytes.len()).min(whole.len());
        let at = at.min(end);
        whole[at..end].copy_from_slice(&bytes[..end - at]);
        std::fs::write(&path, &whole).unwrap();
        if let Ok(read) = FaultLog::read(&path) {
            prop_assert!(read.events.len() <= 8);
        }
    }

    #[test]
    fn a_file_of_garbage_is_no_log(bytes in proptest::collection::vec(any::<u8>(), 0..4_096)) {
        let (_directory, path) = place();
        std::fs::write(&path, &bytes).unwrap();
        prop_assert!(FaultLog::read(&path).is_err());
    }
}
