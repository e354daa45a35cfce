//! Statistics held to what they claim: coverage, false alarms, properties.

mod false_alarms;
mod intervals;
mod properties;
mod slices;

mod slow {
    mod coverage;
}
