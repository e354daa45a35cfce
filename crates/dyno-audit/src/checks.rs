//! The checks: each reads the statements and says what it found, with its calculation. Each is a pure function, knows
//! no document, and names where its rule comes from.

mod arithmetic;
mod assumption;
mod comparison;
mod conditions;
mod counters;
pub(crate) mod counts;
mod granularity;
mod load;
pub(crate) mod moments;
mod percentiles;
pub(crate) mod ranges;
mod raw;
mod timer;

pub use assumption::Assumption;

use crate::context::Context;
use crate::outcome::Outcome;

/// A check.
pub struct Check {
    /// Its name in results.
    pub name: &'static str,
    /// The rule that it checks, in one sentence.
    pub about: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    /// Its assumption.
    pub assumes: &'static [Assumption],
    pub(crate) run: fn(&Context) -> Vec<Outcome>,
}

/// All checks, in the order of the reference.
pub const CHECKS: &[Check] = &[
    Check {
        name: "arithmetic",
        about: "the numbers of a source satisfy the relations that it states, as far as their digits show",
        source: "interval arithmetic on rounded numbers (Moore, Interval Analysis, 1966)",
        assumes: &[],
        run: arithmetic::formulas,
    },
    Check {
        name: "same-figure",
        about: "a figure that is printed twice has one value",
        source: "interval arithmetic on rounded numbers",
        assumes: &[],
        run: arithmetic::printed_twice,
    },
    Check {
        name: "range",
        about: "a share is no more than the whole, and nothing that is counted or timed is below zero",
        source: "definition of a share, a count and a duration",
        assumes: &[],
        run: ranges::values,
    },
    Check {
        name: "length",
        about: "nothing within a test takes longer than the test",
        source: "definition of a duration",
        assumes: &[],
        run: ranges::lengths,
    },
    Check {
        name: "sizes",
        about: "messages per second times their payload are bytes per second",
        source: "multiplication",
        assumes: &[counts::ONE_SIZE],
        run: counts::sizes,
    },
    Check {
        name: "received",
        about: "no more arrives than was sent",
        source: "counting",
        assumes: &[counts::ALONE],
        run: counts::received,
    },
    Check {
        name: "parts",
        about: "the whole has the extremes of its parts, and no fewer values",
        source: "definition of an extreme",
        assumes: &[],
        run: counts::parts,
    },
    Check {
        name: "errors",
        about: "a rate counts only successful answers, and the figures of a failed job cover only the time before the failure",
        source: "the tools' own documentation",
        assumes: &[],
        run: ranges::errors,
    },
    Check {
        name: "sum-of-tails",
        about: "percentiles and largest values of parts do not add up to those of the whole",
        source: "the quantile of a sum is not the sum of quantiles unless all parts are late together (McNeil, Frey, Embrechts, Quantitative Risk Management, 2015, 7.2)",
        assumes: &[],
        run: percentiles::sums,
    },
    Check {
        name: "granularity",
        about: "a share of n values is a multiple of 1/n",
        source: "Brown and Heathers, The GRIM test, Social Psychological and Personality Science 8 (2017)",
        assumes: &[granularity::EACH_ALIKE],
        run: granularity::shares,
    },
    Check {
        name: "spread",
        about: "σ, mean and median are consistent with the range, the percentiles and n",
        source: "Popoviciu 1935; Bhatia and Davis, American Mathematical Monthly 107 (2000); Samuelson, Journal of the American Statistical Association 63 (1968); Hotelling and Solomons 1932",
        assumes: &[moments::NOT_NEGATIVE, moments::MANY],
        run: moments::bounds,
    },
    Check {
        name: "order",
        about: "percentiles grow with their rank and lie between the smallest and the largest value",
        source: "definition of a quantile",
        assumes: &[],
        run: percentiles::order,
    },
    Check {
        name: "tail-samples",
        about: "a percentile needs values beyond it, and a percentile of means is not a percentile of messages",
        source: "order statistics: of n values a share of 1/n lies at or beyond the largest (David and Nagaraja, Order Statistics, 2003)",
        assumes: &[],
        run: percentiles::samples,
    },
    Check {
        name: "median-is-maximum",
        about: "if the median equals the maximum in all digits, there is only one value, or half of all values are equal",
        source: "definition of a median",
        assumes: &[],
        run: percentiles::median_is_maximum,
    },
    Check {
        name: "in-flight",
        about: "rate × latency is the number of messages in progress; a client that waits for each answer has one",
        source: "Little, Operations Research 9 (1961); the interactive response time law of closed systems",
        assumes: &[load::ONE_DIRECTION],
        run: load::in_flight,
    },
    Check {
        name: "cpu-seconds",
        about: "a rate per second counts seconds of wall time, not of processor time",
        source: "definition of a rate; Google Benchmark's kIsRate counters divide by CPU time unless UseRealTime is set",
        assumes: &[],
        run: load::cpu_seconds,
    },
    Check {
        name: "link",
        about: "the offered load fits the link, and no message arrives before its last bit was sent",
        source: "serialisation delay: bits / capacity",
        assumes: &[],
        run: load::link,
    },
    Check {
        name: "timer",
        about: "a latency just above a round number of milliseconds that hardly varies is a sleep",
        source: "clock_nanosleep(2): a sleep ends no earlier than asked and little later",
        assumes: &[timer::ASLEEP],
        run: timer::multiples,
    },
    Check {
        name: "clock-step",
        about: "if all values are multiples of a coarse step, differences below that step mean nothing",
        source: "quantisation: the error is up to one step",
        assumes: &[],
        run: timer::quantised,
    },
    Check {
        name: "omission",
        about: "if a sender paused and no sample is late, the messages that were due in the pause are missing",
        source: "Tene, How NOT to Measure Latency, 2013 (coordinated omission)",
        assumes: &[raw::SCHEDULE],
        run: raw::omission,
    },
    Check {
        name: "raw-values",
        about: "statistics are those of the raw values that the source prints",
        source: "definition of each statistic, with any of the usual rules of interpolation (Hyndman and Fan 1996)",
        assumes: &[],
        run: raw::recomputed,
    },
    Check {
        name: "counter",
        about: "a counter per operation was not multiplied by the number of operations",
        source: "definition of a counter per operation",
        assumes: &[],
        run: counters::times_iterations,
    },
    Check {
        name: "two-clocks",
        about: "two clocks of one processor keep their ratio from column to column of one run",
        source: "cycles = frequency × time",
        assumes: &[],
        run: counters::ratio_of_clocks,
    },
    Check {
        name: "by-size",
        about: "more bytes do not take much less time",
        source: "time to copy or send grows with size",
        assumes: &[comparison::AT_ONCE, comparison::WARM],
        run: comparison::by_size,
    },
    Check {
        name: "comparison",
        about: "figures that the source compares were measured in the same way",
        source: "a comparison varies one thing",
        assumes: &[],
        run: comparison::alike,
    },
    Check {
        name: "half-trip",
        about: "half a round trip is not a one-way latency, and a one-way latency between two clocks needs a bound on their offset",
        source: "RFC 2679, section 3.7.1 (errors of clocks); RFC 2681 (round trips)",
        assumes: &[],
        run: conditions::trip,
    },
    Check {
        name: "tool",
        about: "the named tool measures the quantity that the figure names",
        source: "the tools' own documentation",
        assumes: &[],
        run: conditions::tool,
    },
    Check {
        name: "build-and-date",
        about: "the output's own lines on date, build and processor agree with the claims",
        source: "banners of the tools",
        assumes: &[],
        run: conditions::banners,
    },
    Check {
        name: "emulated",
        about: "time on an emulated processor says nothing about a real one",
        source: "QEMU documentation, TCG: no cycle accuracy",
        assumes: &[],
        run: conditions::emulated,
    },
    Check {
        name: "requirement",
        about: "a limit has a source, and a figure that is said to meet a limit meets it",
        source: "ISO/IEC/IEEE 29148:2018, 5.2.8 (a requirement is traceable)",
        assumes: &[],
        run: conditions::requirements,
    },
    Check {
        name: "not-stated",
        about: "a statistic says how many values it is based on",
        source: "Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015, rules 3 to 9",
        assumes: &[],
        run: conditions::not_stated,
    },
];
