//! The one comparison of a figure with a line. Every judgement goes through it.
//!
//! A figure comes with an interval. It **keeps** a line only if it is finite and the finite *bad* end of
//! its interval, the one towards the wrong side, keeps it; it **breaks** the line if even the good end
//! does. An end that is infinite bounds nothing, so it keeps nothing: a quantile that reaches into the
//! lost messages cannot pass a limit, and where even its lower end is infinite it breaks every one.

use crate::number::same_number;

/// A figure with its interval, in the unit of its measure; it and its ends may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The figure itself.
    pub value: f64,
    /// The lower end of its interval.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
}

/// Where the line is, in the unit of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Line {
    /// What is above is wrong.
    AtMost(f64),
    /// What is below is wrong.
    AtLeast(f64),
}

/// Where a figure stands to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It is finite, and the bad end of its interval keeps the line.
    Keeps,
    /// Even the good end of its interval breaks the line.
    Breaks,
    /// The line lies within its interval, or its interval has no bad end.
    Between,
    /// There is no figure: it was refused, is missing, or contradicts itself.
    Refused,
}

impl Standing {
    /// `keeps`, `breaks`, `between` or `refused`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Standing::Keeps => "keeps",
            Standing::Breaks => "breaks",
            Standing::Between => "between",
            Standing::Refused => "refused",
        }
    }
}

impl Found {
    /// A figure that is known without doubt.
    pub(crate) fn exactly(value: f64) -> Found {
        Found {
            value,
            lo: value,
            hi: value,
        }
    }

    /// Whether it says anything: numbers, in their order.
    fn is_sound(&self) -> bool {
        let ordered = |a: f64, b: f64| a <= b || same_number(a, b);
        ordered(self.lo, self.value) && ordered(self.value, self.hi)
    }
}

impl Line {
    /// The number.
    pub(crate) fn bound(self) -> f64 {
        match self {
            Line::AtMost(bound) | Line::AtLeast(bound) => bound,
        }
    }

    /// The end of an interval that is farther on the right side, and the one towards the wrong side.
    pub(crate) fn good_and_bad(self, found: &Found) -> (f64, f64) {
        match self {
            Line::AtMost(_) => (found.lo, found.hi),
            Line::AtLeast(_) => (found.hi, found.lo),
        }
    }

    /// Whether a number is on the right side, or on the line but for rounding.
    pub(crate) fn is_kept_by(self, number: f64) -> bool {
        match self {
            Line::AtMost(bound) => number <= bound || same_number(number, bound),
            Line::AtLeast(bound) => number >= bound || same_number(number, bound),
        }
    }

    /// Where a figure stands to it.
    pub(crate) fn standing(self, found: Option<&Found>) -> Standing {
        let Some(found) = found.filter(|f| f.is_sound() && self.bound().is_finite()) else {
            return Standing::Refused;
        };
        let (good, bad) = self.good_and_bad(found);
        if !self.is_kept_by(good) {
            Standing::Breaks
        } else if found.value.is_finite() && bad.is_finite() && self.is_kept_by(bad) {
            Standing::Keeps
        } else {
            Standing::Between
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Standing::{Between, Breaks, Keeps, Refused};
    use proptest::prelude::*;

    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;

    fn at_most(lo: f64, value: f64, hi: f64) -> Standing {
        Line::AtMost(10.0).standing(Some(&Found { value, lo, hi }))
    }

    fn at_least(lo: f64, value: f64, hi: f64) -> Standing {
        Line::AtLeast(10.0).standing(Some(&Found { value, lo, hi }))
    }

    #[test]
    fn every_kind_of_figure_has_its_place() {
        // Low end, value, high end: finite on either side of 10 or on it, open (0 below, ∞ above), infinite,
        // refused; then what comes of it for `at_most = 10` and for `at_least = 10`.
        let table = [
            ([8.0, 9.0, 9.5], Keeps, Breaks),
            ([8.0, 9.0, 10.0], Keeps, Between),
            ([8.0, 9.0, 11.0], Between, Between),
            ([9.0, 10.5, 11.0], Between, Between),
            ([10.0, 10.5, 11.0], Between, Keeps),
            ([10.5, 11.0, 12.0], Breaks, Keeps),
            ([10.0, 10.0, 10.0], Keeps, Keeps),
            ([0.0, 9.0, 9.5], Keeps, Breaks),
            ([0.0, 9.0, 12.0], Between, Between),
            ([0.0, 11.0, 12.0], Between, Between),
            ([0.0, 0.0, 0.0], Keeps, Breaks),
            ([0.0, 9.0, INF], Between, Between),
            ([0.0, 11.0, INF], Between, Between),
            ([8.0, 9.0, INF], Between, Between),
            ([8.0, 11.0, INF], Between, Between),
            ([11.0, 12.0, INF], Breaks, Keeps),
            ([0.0, INF, INF], Between, Between),
            ([8.0, INF, INF], Between, Between),
            ([11.0, INF, INF], Breaks, Between),
            ([INF, INF, INF], Breaks, Between),
            ([-INF, 9.0, 9.5], Keeps, Breaks),
            ([-2.0, -1.0, 0.0], Keeps, Breaks),
            ([-INF, -INF, -INF], Between, Breaks),
            ([NAN, 9.0, 9.5], Refused, Refused),
            ([8.0, NAN, 9.5], Refused, Refused),
            ([8.0, 9.0, NAN], Refused, Refused),
            // A figure outside of its own interval.
            ([8.0, 7.0, 9.0], Refused, Refused),
            ([8.0, 9.5, 9.0], Refused, Refused),
            ([0.0, -0.1, INF], Refused, Refused),
        ];
        for ([lo, value, hi], most, least) in table {
            assert_eq!(
                at_most(lo, value, hi),
                most,
                "[{lo}, {value}, {hi}] at most 10"
            );
            assert_eq!(
                at_least(lo, value, hi),
                least,
                "[{lo}, {value}, {hi}] at least 10"
            );
        }
        for line in [Line::AtMost(10.0), Line::AtLeast(10.0)] {
            assert_eq!(line.standing(None), Refused);
        }
    }

    #[test]
    fn a_line_that_is_no_number_is_kept_by_nothing() {
        let found = Some(&Found {
            value: 1.0,
            lo: 1.0,
            hi: 1.0,
        });
        for bound in [INF, -INF, NAN] {
            assert_eq!(Line::AtMost(bound).standing(found), Refused);
            assert_eq!(Line::AtLeast(bound).standing(found), Refused);
        }
    }

    #[test]
    fn what_only_rounding_tells_apart_is_on_the_line() {
        let near = 10.0 * (1.0 + 1e-10);
        assert_eq!(at_most(near, near, near), Keeps);
        assert_eq!(at_most(10.0 + 1e-6, 10.0 + 1e-6, 10.0 + 1e-6), Breaks);
        let near = 10.0 * (1.0 - 1e-10);
        assert_eq!(at_least(near, near, near), Keeps);
        assert_eq!(at_least(10.0 - 1e-6, 10.0 - 1e-6, 10.0 - 1e-6), Breaks);
        // The ends may be rounded past the figure itself.
        assert_eq!(
            at_most(9.0 * (1.0 + 1e-12), 9.0, 9.0 * (1.0 - 1e-12)),
            Keeps
        );
    }

    /// Any number that may stand in a figure, infinite and refused ones often.
    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => -1e3..1e6,
            1 => Just(INF),
            1 => Just(-INF),
            1 => Just(0.0),
            1 => Just(NAN),
        ]
    }

    /// Three numbers in their order.
    fn ordered() -> impl Strategy<Value = Found> {
        [number(), number(), number()]
            .prop_filter("refused", |all| all.iter().all(|v| !v.is_nan()))
            .prop_map(|mut all| {
                all.sort_by(f64::total_cmp);
                let [lo, value, hi] = all;
                Found { value, lo, hi }
            })
    }

    proptest! {
        #[test]
        fn only_finite_figures_with_a_finite_bad_end_keep_a_line(
            value in number(), lo in number(), hi in number(), bound in -1e3..1e6
        ) {
            let found = Found { value, lo, hi };
            if Line::AtMost(bound).standing(Some(&found)) == Keeps {
                prop_assert!(value.is_finite() && hi.is_finite() && hi <= bound + 1e-8 * bound.abs());
            }
            if Line::AtLeast(bound).standing(Some(&found)) == Keeps {
                prop_assert!(value.is_finite() && lo.is_finite() && lo >= bound - 1e-8 * bound.abs());
            }
        }

        #[test]
        fn a_line_further_away_is_never_harder_to_keep(
            found in ordered(), bound in -1e3..1e6, further in 0.0..1e6
        ) {
            // From worst to best.
            let grade = |s: Standing| match s {
                Breaks => 0,
                Between => 1,
                Keeps => 2,
                Refused => unreachable!("the numbers are in their order"),
            };
            let most = |b: f64| grade(Line::AtMost(b).standing(Some(&found)));
            let least = |b: f64| grade(Line::AtLeast(b).standing(Some(&found)));
            prop_assert!(most(bound) <= most(bound + further));
            prop_assert!(least(bound) <= least(bound - further));
        }

        #[test]
        fn both_kinds_of_line_mirror_each_other(found in ordered(), bound in -1e3..1e6) {
            let mirrored = Found { value: -found.value, lo: -found.hi, hi: -found.lo };
            prop_assert_eq!(
                Line::AtMost(bound).standing(Some(&found)),
                Line::AtLeast(-bound).standing(Some(&mirrored))
            );
        }

        #[test]
        fn a_wider_interval_never_decides_what_a_narrower_left_open(
            found in ordered(), bound in -1e3..1e6, down in 0.0..1e3, up in 0.0..1e3
        ) {
            let wide = Found { lo: found.lo - down, hi: found.hi + up, ..found };
            for line in [Line::AtMost(bound), Line::AtLeast(bound)] {
                let narrow = line.standing(Some(&found));
                let wide = line.standing(Some(&wide));
                prop_assert!(wide == narrow || wide == Between);
            }
        }
    }
}
