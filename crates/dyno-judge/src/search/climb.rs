//! Which rung of a ladder is tried next: brackets by doubling, bisects, confirms. A pure function of what the rungs
//! tried so far have come to; it knows no limits and no trials.
//!
//! It seeks two edges. The first is that of what is kept: up by doublings until a rung is not kept, then halves of the
//! gap until the two are neighbours. The second is that of what is broken: where the rung above the first edge is
//! undecided, halves of the gap to the lowest broken one. What lies between the edges the trials cannot tell.
//!
//! A rung that the host left undecided is measured afresh before the search goes below it, and until a broken one is known the
//! search goes up first: a noisy minute of the host costs a rung and not the search.
//!
//! The highest rung that seemed kept was chosen because it seemed so, so it is measured afresh and judged by these
//! trials alone. Where they do not confirm it, the search goes on below. So is the lowest broken one, lest a chance loss caps
//! the search: where it is not broken again, the search goes on above. And so is the first rung where it is undecided, lest a
//! noisy minute of the host ends the search before it began. Every rung is tried once and confirmed once at most, so that a
//! search ends.

use std::collections::{BTreeMap, BTreeSet};

/// The result of a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rung {
    /// All limits are met with confidence.
    Kept,
    /// A limit is broken with confidence, or the source could not produce the load.
    Broken,
    /// The trials do not tell.
    Undecided,
    /// There is no figure to hold against a limit.
    NoFigure,
}

impl Rung {
    /// `kept`, `broken`, `undecided` or `no figure`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Rung::Kept => "kept",
            Rung::Broken => "broken",
            Rung::Undecided => "undecided",
            Rung::NoFigure => "no figure",
        }
    }
}

/// What to do next with the rung of that index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Find out what it comes to.
    Try(usize),
    /// Measure it afresh.
    Confirm(usize),
    /// Nothing: the search has ended.
    Done,
}

/// What is known of a ladder.
#[derive(Debug, Clone)]
pub(super) struct Climb {
    /// In ascending order; at least one.
    values: Vec<f64>,
    tried: BTreeMap<usize, Rung>,
    confirmed: BTreeMap<usize, Rung>,
    /// Rungs that the host left undecided.
    hidden: BTreeSet<usize>,
    /// [`Search::RULES`](dyno_model::Search::RULES) of the run.
    rules: u32,
}

impl Climb {
    pub(super) fn new(values: Vec<f64>, rules: u32) -> Climb {
        Climb {
            values,
            tried: BTreeMap::new(),
            confirmed: BTreeMap::new(),
            hidden: BTreeSet::new(),
            rules,
        }
    }

    /// Takes note of what came of [`Climb::next`]; `is_hidden`: the host left it undecided.
    pub(super) fn note(&mut self, asked: Next, found: Rung, is_hidden: bool) {
        if let (Next::Try(i), true) = (asked, is_hidden && self.rules > 1) {
            self.hidden.insert(i);
        }
        match asked {
            Next::Try(i) => self.tried.insert(i, found),
            Next::Confirm(i) => self.confirmed.insert(i, found),
            Next::Done => None,
        };
    }

    /// What a rung has come to: by its confirmation, where it has one.
    pub(super) fn rung(&self, i: usize) -> Option<Rung> {
        self.confirmed.get(&i).or(self.tried.get(&i)).copied()
    }

    pub(super) fn is_confirmed(&self, i: usize) -> bool {
        self.confirmed.get(&i) == Some(&Rung::Kept)
    }

    /// Whether the lowest broken rung, which ends the search, broke a second time.
    pub(super) fn is_cap_confirmed(&self) -> bool {
        self.broken()
            .is_some_and(|i| self.confirmed.contains_key(&i))
    }

    fn known(&self) -> impl DoubleEndedIterator<Item = (usize, Rung)> {
        self.tried.keys().filter_map(|i| Some((*i, self.rung(*i)?)))
    }

    /// The lowest rung that is surely broken.
    pub(super) fn broken(&self) -> Option<usize> {
        let mut broken = self.known().filter(|(_, rung)| *rung == Rung::Broken);
        broken.next().map(|(i, _)| i)
    }

    /// The highest rung below every broken one that is kept.
    pub(super) fn kept(&self) -> Option<usize> {
        let end = self.broken().unwrap_or(self.values.len());
        let mut kept = self
            .known()
            .filter(|(i, rung)| *i < end && *rung == Rung::Kept);
        kept.next_back().map(|(i, _)| i)
    }

    /// What was tried between the two edges.
    pub(super) fn between(&self) -> impl Iterator<Item = usize> {
        let (from, end) = (self.kept(), self.broken().unwrap_or(self.values.len()));
        let inside = move |i: &usize| from.is_none_or(|from| *i > from) && *i < end;
        self.tried.keys().copied().filter(inside)
    }

    pub(super) fn next(&self) -> Next {
        let top = self.values.len() - 1;
        let Some(first) = self.rung(0) else {
            return Next::Try(0);
        };
        let cap = self.broken().filter(|_| !self.is_cap_confirmed());
        let (Some(kept), Rung::Kept) = (self.kept(), first) else {
            let again = first == Rung::Undecided && !self.confirmed.contains_key(&0);
            let doubted = again.then_some(0).or(cap);
            return doubted.map_or(Next::Done, Next::Confirm);
        };
        let last = self.between().last().unwrap_or(kept);
        if self.rules > 1 && self.broken().is_none() && last < top {
            return Next::Try(self.double(last));
        }
        let above = self.known().find(|(i, _)| *i > kept);
        match above {
            Some((above, Rung::Undecided)) if self.is_unseen(above) => return Next::Confirm(above),
            None if kept < top => return Next::Try(self.double(kept)),
            Some((above, _)) if above > kept + 1 => return Next::Try(usize::midpoint(kept, above)),
            _ => {}
        }
        // The edge of what is broken, above rungs that the trials cannot tell.
        if last > kept {
            match self.broken() {
                Some(broken) if broken > last + 1 => {
                    return Next::Try(usize::midpoint(last, broken));
                }
                None if last < top => return Next::Try(self.double(last)),
                _ => {}
            }
        }
        match self.is_confirmed(kept) {
            true => cap.map_or(Next::Done, Next::Confirm),
            false => Next::Confirm(kept),
        }
    }

    /// Whether the host left it undecided, and nobody looked again.
    fn is_unseen(&self, i: usize) -> bool {
        self.hidden.contains(&i) && !self.confirmed.contains_key(&i)
    }

    /// The first rung of at least twice the value, or the highest.
    fn double(&self, i: usize) -> usize {
        let twice = 2.0 * self.values[i] * (1.0 - 1e-9);
        let far = self.values.iter().position(|v| *v >= twice);
        far.unwrap_or(self.values.len() - 1).max(i + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ladder(n: usize) -> Vec<f64> {
        (0..n).map(|i| 2f64.powf(i as f64 / 16.0)).collect()
    }

    /// Climbs until the search ends; with the number of questions it asked.
    fn walk(values: Vec<f64>, mut answer: impl FnMut(Next) -> Rung) -> (Climb, usize) {
        let mut climb = Climb::new(values, 2);
        for asked in 0.. {
            let next = climb.next();
            if next == Next::Done {
                return (climb, asked);
            }
            let found = answer(next);
            // The host left some of them undecided.
            climb.note(next, found, found == Rung::Undecided && asked % 3 == 0);
        }
        unreachable!("the range has no end")
    }

    fn index(next: Next) -> usize {
        match next {
            Next::Try(i) | Next::Confirm(i) => i,
            Next::Done => unreachable!("nothing is answered then"),
        }
    }

    #[test]
    fn an_undecided_first_rung_is_asked_once_more() {
        let answers = |again| {
            move |next| match next {
                Next::Try(0) => Rung::Undecided,
                Next::Confirm(0) => again,
                next if index(next) < 4 => Rung::Kept,
                _ => Rung::Broken,
            }
        };
        let (climb, _) = walk(ladder(10), answers(Rung::Kept));
        assert_eq!((climb.kept(), climb.broken()), (Some(3), Some(4)));
        let (climb, asked) = walk(ladder(10), answers(Rung::Undecided));
        assert_eq!((climb.kept(), asked), (None, 2));
    }

    #[test]
    fn a_wall_is_found_exactly_in_few_tries() {
        for wall in 1..200 {
            let (climb, asked) = walk(ladder(240), |next| match index(next) < wall {
                true => Rung::Kept,
                false => Rung::Broken,
            });
            assert_eq!((climb.kept(), climb.broken()), (Some(wall - 1), Some(wall)));
            assert!(climb.is_confirmed(wall - 1));
            assert!(asked <= 15 + 4 + 2, "{asked} for a wall at {wall}");
        }
    }

    #[test]
    fn the_first_rung_ends_the_search_where_it_is_not_kept() {
        for first in [Rung::Broken, Rung::Undecided, Rung::NoFigure] {
            let (climb, asked) = walk(ladder(100), |_| first);
            let confirmed = usize::from(first != Rung::NoFigure);
            assert_eq!((climb.kept(), asked), (None, 1 + confirmed), "{first:?}");
        }
    }

    #[test]
    fn a_ladder_without_a_wall_ends_at_its_top() {
        let (climb, _) = walk(ladder(100), |_| Rung::Kept);
        assert_eq!((climb.kept(), climb.broken()), (Some(99), None));
        let (climb, asked) = walk(vec![8.0], |_| Rung::Kept);
        assert_eq!((climb.kept(), asked), (Some(0), 2));
    }

    #[test]
    fn both_edges_of_what_cannot_be_told_are_found() {
        let (climb, _) = walk(ladder(200), |next| match index(next) {
            ..=70 => Rung::Kept,
            71..=77 => Rung::Undecided,
            _ => Rung::Broken,
        });
        assert_eq!((climb.kept(), climb.broken()), (Some(70), Some(78)));
        let between: Vec<usize> = climb.between().collect();
        assert_eq!((between.first(), between.last()), (Some(&71), Some(&77)));
    }

    #[test]
    fn one_chance_loss_caps_no_search() {
        for unlucky in [0, 16, 40, 41] {
            let (climb, _) = walk(ladder(240), |next| match next {
                Next::Try(i) if i == unlucky => Rung::Broken,
                next if index(next) < 100 => Rung::Kept,
                _ => Rung::Broken,
            });
            let edges = (climb.kept(), climb.broken());
            assert_eq!(edges, (Some(99), Some(100)), "{unlucky}");
            assert!(climb.is_cap_confirmed());
        }
    }

    #[test]
    fn what_is_not_confirmed_is_not_claimed() {
        // Rungs of up to 60 seem kept; only those of up to 55 are.
        let (climb, _) = walk(ladder(200), |next| match next {
            Next::Try(i) if i <= 60 => Rung::Kept,
            Next::Confirm(i) if i <= 55 => Rung::Kept,
            Next::Confirm(_) => Rung::Undecided,
            _ => Rung::Broken,
        });
        let kept = climb.kept().unwrap();
        assert!(kept <= 55 && climb.is_confirmed(kept), "{kept}");
    }

    proptest! {
        #[test]
        fn nothing_above_a_hard_wall_is_ever_kept_whatever_else_is_answered(
            n in 1usize..300, wall in 0usize..300, answers in prop::collection::vec(0u8..4, 700)
        ) {
            let mut at = 0;
            let (climb, asked) = walk(ladder(n), |next| {
                at += 1;
                let any = [Rung::Kept, Rung::Broken, Rung::Undecided, Rung::NoFigure];
                match index(next) >= wall {
                    // Above the wall trials may be undecided, but are never kept.
                    true => any[1 + usize::from(answers[at]) % 3],
                    false => any[usize::from(answers[at])],
                }
            });
            prop_assert!(asked <= 2 * n, "each rung is tried and confirmed once at most");
            if let Some(kept) = climb.kept() {
                prop_assert!(kept < wall);
                prop_assert!(climb.is_confirmed(kept));
                prop_assert!(climb.broken().is_none_or(|broken| broken > kept));
            }
        }

        #[test]
        fn a_curve_that_falls_is_found_within_its_own_width(
            edge in 20.0f64..150.0, width in 0.1f64..6.0, draws in prop::collection::vec(0.0f64..1.0, 700)
        ) {
            // The chance of each answer follows the distance from the edge.
            let mut at = 0;
            let (climb, _) = walk(ladder(240), |next| {
                at += 1;
                let far = (index(next) as f64 - edge) / width + 2.0 * (draws[at] - 0.5);
                match far {
                    f if f < -1.0 => Rung::Kept,
                    f if f > 1.0 => Rung::Broken,
                    _ => Rung::Undecided,
                }
            });
            let kept = climb.kept().expect("the first rungs are far below the edge") as f64;
            prop_assert!(kept < edge, "{kept} of {edge}");
            // Surely kept are all that lie two widths below.
            prop_assert!(kept >= edge - 2.0 * width - 1.0, "{kept} of {edge} within {width}");
            let broken = climb.broken().expect("the last rungs are far above") as f64;
            prop_assert!(broken > edge && broken <= edge + 2.0 * width + 1.0, "{broken} of {edge}");
        }
    }
}
