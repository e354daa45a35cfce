//! A value that each trial has, over several trials.

use crate::number::nine;
use serde::Serialize;

/// One value per counted trial: the middle one and the extremes. In JSON an infinite one is null.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "spread"))]
pub struct Spread {
    /// The median; the mean of the two middle ones for an even number.
    #[serde(serialize_with = "nine")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub median: f64,
    /// The smallest.
    #[serde(serialize_with = "nine")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub min: f64,
    /// The largest.
    #[serde(serialize_with = "nine")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub max: f64,
    /// Their standard deviation; 0 of a single one, infinite where one of them is.
    #[serde(skip)]
    pub sd: f64,
    /// How many there are.
    #[serde(skip)]
    pub n: usize,
    /// How many of them are within one standard deviation of their mean.
    #[serde(skip)]
    pub within_sd: usize,
}

impl Spread {
    /// Of any number of values; `None` where there is no finite one.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        Spread::with_infinite(values.into_iter().filter(|x| x.is_finite()))
    }

    /// Of any number of values, infinite ones included; `None` where there is none.
    pub fn with_infinite(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut v: Vec<f64> = values.into_iter().filter(|x| !x.is_nan()).collect();
        v.sort_by(f64::total_cmp);
        let (min, max) = (*v.first()?, *v.last()?);
        let middle = v.len() / 2;
        let median = match v.len() % 2 {
            1 => v[middle],
            _ => (v[middle - 1] + v[middle]) / 2.0,
        };
        let mean = v.iter().sum::<f64>() / v.len() as f64;
        let squares: f64 = v.iter().map(|x| (x - mean).powi(2)).sum();
        let sd = match mean.is_finite() {
            true => (squares / (v.len() as f64 - 1.0).max(1.0)).sqrt(),
            false => f64::INFINITY,
        };
        Some(Spread {
            median,
            min,
            max,
            sd,
            n: v.len(),
            within_sd: v.iter().filter(|x| (**x - mean).abs() <= sd).count(),
        })
    }
}
