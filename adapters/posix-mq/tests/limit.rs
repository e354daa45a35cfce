//! The kernel's limit on the memory of all queues of a user. In a program of its own, because the limit
//! that it lowers holds for the whole process.

use dyno_adapter::Wait;
use dyno_adapter_posix_mq::adapter;
use dyno_wire::testing::Rig;

/// Leaves room for no queue at all, so that the queues of others are not crowded out.
fn leave_no_room() {
    let limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid rlimit for the duration of the call.
    let code = unsafe { libc::setrlimit(libc::RLIMIT_MSGQUEUE, &limit) };
    assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn more_memory_than_a_user_may_have_names_the_limit() {
    leave_no_room();
    let rig = Rig::new(adapter());
    let error = rig
        .receiver(&rig.channel(8192, 1), 1, Wait::Block)
        .err()
        .expect("there is no room for a queue")
        .to_string();
    assert!(error.contains("ulimit -q"), "{error}");
}
