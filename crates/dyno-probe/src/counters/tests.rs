use super::*;

/// Recorded on an Arm machine whose counter runs at 100 MHz: the PERF_RECORD_TIME_CONV event that Leo Yan shows in
/// "perf session: Dump PERF_RECORD_TIME_CONV event" (linux-kernel, 12 April 2021).
const RECORDED: Page = Page {
    capabilities: CAP_USER_TIME | CAP_USER_TIME_SHORT,
    time_shift: 21,
    time_mult: 20_971_520,
    time_zero: 18_446_743_935_180_835_206,
    time_cycles: 13_852_918_225,
    time_mask: 0x00ff_ffff_ffff_ffff,
    ..BLANK
};

const BLANK: Page = Page {
    version: 0,
    compat_version: 0,
    lock: 0,
    index: 0,
    offset: 0,
    time_enabled: 0,
    time_running: 0,
    capabilities: 0,
    pmc_width: 0,
    time_shift: 0,
    time_mult: 0,
    time_offset: 0,
    time_zero: 0,
    size: 0,
    reserved: 0,
    time_cycles: 0,
    time_mask: 0,
};

#[test]
fn recorded_ticks_become_the_time_that_the_record_implies() {
    // 100 MHz: ten nanoseconds a tick, exactly.
    assert_eq!(RECORDED.ticks_to_ns(13_852_918_225), 138_529_182_250);
    assert_eq!(RECORDED.ticks_to_ns(13_852_918_226), 138_529_182_260);
    // `time_zero` is negative: the kernel's clock stood at half a millisecond when it began to use the counter.
    let at = RECORDED
        .time_zero
        .wrapping_add(RECORDED.ticks_to_ns(RECORDED.time_cycles));
    assert_eq!(at, 465_840);
}

#[test]
fn a_short_counter_that_has_wrapped_goes_on_from_the_recorded_cycle() {
    // 56 bits: a counter that has passed its end shows little, and the recorded cycle says which turn it is.
    let page = Page {
        time_cycles: RECORDED.time_mask - 9,
        ..RECORDED
    };
    assert_eq!(page.ticks_to_ns(5), 10 * (RECORDED.time_mask + 6));
    assert_eq!(
        page.ticks_to_ns(page.time_cycles + 3),
        10 * (page.time_cycles + 3)
    );
}

#[test]
fn the_time_since_the_page_was_written_adds_to_its_offset() {
    let page = Page {
        time_offset: 7u64.wrapping_sub(138_529_182_250),
        ..RECORDED
    };
    assert_eq!(page.since(13_852_918_225 + 100), 1_007);
}

// The kernel programs a counter of 48 bits to overflow: `offset` and the counter are made by hand after the comment of
// `pmc_width` in linux/perf_event.h, not recorded.
#[test]
fn a_counter_is_extended_with_its_sign_and_added_to_the_offset() {
    let page = |offset, pmc_width| Page {
        offset,
        pmc_width,
        ..BLANK
    };
    assert_eq!(page(0x8000_0000_0000, 48).count(0x8000_0000_0000), 0);
    assert_eq!(page(0x8000_0000_0000, 48).count(0x8000_0000_0001), 1);
    assert_eq!(page(1_000, 48).count(234), 1_234);
    assert_eq!(page(5, 64).count(u64::MAX), 4);
}

#[test]
fn events_that_take_turns_are_scaled_to_all_of_the_time() {
    assert_eq!(Page::scaled(1_000, 300, 100), 3_000);
    assert_eq!(Page::scaled(1_000, 100, 100), 1_000);
    assert_eq!(Page::scaled(u64::MAX, 3, 3), u64::MAX);
    assert_eq!(Page::scaled(1_000, 300, 0), 0);
}

#[test]
fn cycles_are_counted_or_refused_with_the_reason() {
    match CoreMeter::start() {
        Ok(meter) => {
            let work: u64 = std::hint::black_box((0..100_000u64).sum());
            let core = meter.per(100_000).unwrap();
            assert!(
                work > 0 && core.cycles > 0.0 && core.instructions > 0.0,
                "{core:?}"
            );
        }
        Err(refusal) => {
            assert!(refusal.to_string().len() > 20, "{refusal}");
            assert_eq!(super::refusal(), Some(refusal));
        }
    }
}

#[test]
fn each_refusal_says_what_to_do_or_what_is_missing() {
    let said = |errno| CounterRefusal { errno }.to_string();
    assert!(said(libc::ENOENT).contains("virtual machines"));
    assert!(said(libc::EACCES).contains("sysctl kernel.perf_event_paranoid=1"));
    assert!(said(libc::ENOSYS).contains("no perf events"));
}
