//! Statistics held to what they claim: coverage, false alarms, properties.

mod coverage;
mod false_alarms;
mod intervals;
mod properties;
