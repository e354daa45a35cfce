//! Google Benchmark: what both of its forms say, as figures. The library's `docs/user_guide.md` says what each is.
//!
//! A line is a mean over its iterations. Repetitions of one name become raw values, each a mean; the library's statistics over
//! them keep their names. Rates are by processor time unless the name says `real_time` or `manual_time`.

mod console;
mod document;
mod rows;

use super::error::Imported;
use super::lines::Lines;
use crate::Statements;

pub(crate) use rows::COUNTER;

/// Reads either form.
pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    match input.is_json() {
        true => document::read(input),
        false => console::read(input),
    }
}
