//! Statistics held to what they claim: coverage, false alarms, properties.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod false_alarms;
mod growth;
mod intervals;
mod properties;
mod slices;

mod slow {
    mod coverage;
}
