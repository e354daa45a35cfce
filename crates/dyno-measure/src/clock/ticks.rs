//! The counter of the processor: the time stamp counter of x86-64, the virtual counter CNTVCT of arm64.

/// What the counter is called, in results and messages.
pub(crate) const NAME: &str = match cfg!(target_arch = "aarch64") {
    true => "cntvct",
    false => "tsc",
};

/// The kernel's clock source that is this counter, and so vouches for it.
pub(crate) const SOURCE: &str = match cfg!(target_arch = "aarch64") {
    true => "arch_sys_counter",
    false => "tsc",
};

/// The counter, unordered; `None` where there is none.
#[inline(always)]
pub(crate) fn ticks() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: RDTSC has no operands and touches no memory. Every x86-64 processor has it, and
        // Linux leaves it enabled in user mode unless a thread asked for PR_SET_TSC, which only a
        // caller who wants the fault does.
        Some(unsafe { core::arch::x86_64::_rdtsc() })
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: reads a register and touches no memory. Linux lets user mode read CNTVCT_EL0, which its vDSO does,
        // or answers for it where an erratum wants that (arch_timer_set_cntkctl and errata in arm_arch_timer.c).
        unsafe {
            core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
        }
        Some(ticks)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        None
    }
}

/// The counter, read after all earlier loads; `None` where there is none.
#[inline(always)]
pub(crate) fn ticks_after_loads() -> Option<u64> {
    await_loads();
    ticks()
}

/// Waits until all earlier loads of this thread have their values.
#[inline(always)]
pub(crate) fn await_loads() {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: LFENCE is part of SSE2, which the x86-64 baseline that this is compiled for has.
        unsafe { core::arch::x86_64::_mm_lfence() };
    }
    // The counter may be read ahead of the barrier that loads end at, but not ahead of an ISB behind it
    // (Arm ARM DDI 0487, D12.2 "the counters").
    #[cfg(target_arch = "aarch64")]
    // SAFETY: barriers of the base architecture; they change no register and no memory.
    unsafe {
        core::arch::asm!("dsb ishld", "isb", options(nostack, preserves_flags));
    }
}

/// Waits until all that this thread has written is visible to the others.
#[inline(always)]
pub(crate) fn drain() {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    // What the fence becomes on arm64 (DMB) orders writes among memory accesses, and a counter is none.
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier of the base architecture; it changes no register and no memory.
    unsafe {
        core::arch::asm!("dsb ish", options(nostack, preserves_flags));
    }
}
