//! The payload behind the header: words in arithmetic progression, written and compared eight bytes
//! at a time in loops that the compiler turns into vector code, for the widest vectors that this
//! processor has.

/// The difference between neighbouring words; odd, so that no word repeats within a message.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Payloads from this size on are worth a look at what the processor can do.
#[cfg(target_arch = "x86_64")]
const WIDE_FROM: usize = 256;

/// Fills `body` with the pattern of `seed`.
#[inline]
pub(super) fn write(body: &mut [u8], seed: u64) {
    #[cfg(target_arch = "x86_64")]
    if body.len() >= WIDE_FROM && is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as just asked.
        return unsafe { write_avx2(body, seed) };
    }
    write_words(body, seed);
}

/// Whether `body` holds the pattern of `seed`. Reads every byte, also after a difference: the time
/// it takes does not depend on the content.
#[inline]
pub(super) fn verify(body: &[u8], seed: u64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if body.len() >= WIDE_FROM && is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as just asked.
        return unsafe { verify_avx2(body, seed) };
    }
    verify_words(body, seed)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn write_avx2(body: &mut [u8], seed: u64) {
    write_words(body, seed);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn verify_avx2(body: &[u8], seed: u64) -> bool {
    verify_words(body, seed)
}

#[inline(always)]
fn write_words(body: &mut [u8], seed: u64) {
    let (words, rest) = body.as_chunks_mut::<8>();
    let mut value = seed;
    for word in words {
        *word = value.to_le_bytes();
        value = value.wrapping_add(STEP);
    }
    let len = rest.len();
    rest.copy_from_slice(&value.to_le_bytes()[..len]);
}

#[inline(always)]
fn verify_words(body: &[u8], seed: u64) -> bool {
    let (words, rest) = body.as_chunks::<8>();
    let mut value = seed;
    let mut difference = 0u64;
    for word in words {
        difference |= u64::from_le_bytes(*word) ^ value;
        value = value.wrapping_add(STEP);
    }
    difference == 0 && *rest == value.to_le_bytes()[..rest.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_plain_code_agree_and_find_every_flip() {
        for len in [0, 7, 255, 256, 263, 1_000] {
            let (mut wide, mut plain) = (vec![0; len], vec![0; len]);
            write(&mut wide, 42);
            write_words(&mut plain, 42);
            assert_eq!(wide, plain);
            assert!(verify(&wide, 42) && verify_words(&wide, 42));
            for i in 0..len {
                wide[i] ^= 0x80;
                assert!(!verify(&wide, 42) && !verify_words(&wide, 42), "byte {i}");
                wide[i] ^= 0x80;
            }
        }
    }
}
