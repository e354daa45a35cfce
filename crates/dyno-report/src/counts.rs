//! Counts of messages: those of several trials added, and what of them did not arrive, in words.

use dyno_model::{COUNTS, Counts};

/// The counts of some trials together. Sums saturate: a damaged record must not end a report.
pub fn add_counts<'a>(counts: impl Iterator<Item = &'a Counts>) -> Counts {
    let none = Counts {
        in_window: Some(0),
        ..Counts::default()
    };
    let mut counts = counts.peekable();
    if counts.peek().is_none() {
        return Counts::default();
    }
    counts.fold(none, |mut sum, own| {
        for count in COUNTS {
            let place = (count.place)(&mut sum);
            *place = place.saturating_add((count.of)(own));
        }
        // Known only where it is of every trial.
        let both = sum.in_window.zip(own.in_window);
        sum.in_window = both.map(|(a, b)| a.saturating_add(b));
        sum
    })
}

/// What did not arrive, in words: lost, and still under way when the drain ended; `None` where all arrived.
pub fn missing_messages(counts: &Counts) -> Option<String> {
    let Counts {
        lost, under_way, ..
    } = *counts;
    let parts = [
        (lost.saturating_sub(under_way), "lost"),
        (under_way, "under way"),
    ];
    let parts = parts.iter().filter(|(n, _)| *n > 0);
    let parts: Vec<String> = parts.map(|(n, what)| format!("{n} {what}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
