"""Quantiles as Dyno has them: each trial weighs the same, and a lost message is infinitely late."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

#: The quantiles that Dyno prints, by the name that they have in its documents.
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
# What misses its share by rounding alone has reached it.
_ROUNDING = 1 - 1e-11


class TooFewSamples(ValueError):
    """There are fewer samples than it takes to enclose a quantile at 95 %."""

    def __init__(self, q: float, have: int, need: int) -> None:
        super().__init__(f"quantile {q:g} takes {need} samples, found {have}; measure longer, or pass unsure=True")
        self.have, self.need = have, need


def samples_needed(q: float) -> int:
    """The samples whose extremes enclose quantile `q` at 95 % (Hahn & Meeker, *Statistical Intervals*, 5.2)."""
    if not 0 < q < 1:
        raise ValueError(f"a quantile lies between 0 and 1, found {q:g}")
    return math.ceil(math.log(0.025) / math.log(max(q, 1 - q)))


@dataclass(frozen=True)
class Samples:
    """The samples of one metric, of one trial or of several, as (value in ns, count) of each bucket and trial."""

    #: Of each trial: its finite samples, ascending.
    trials: Sequence[Sequence[tuple[float, int]]]
    #: Of each trial: the messages that never arrived.
    lost: Sequence[int]
    _cumulated: list[tuple[float, float]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sizes = [n for n in self._sizes() if n > 0]
        weighed = sorted(
            (value, count / size)
            for cells, size in zip(self.trials, self._sizes())
            for value, count in cells
        )
        sums = itertools.accumulate(weight for _, weight in weighed)
        share = [(value, total / len(sizes)) for (value, _), total in zip(weighed, sums)]
        # Of equal values the last one has the whole share.
        last = {value: reached for value, reached in share}
        object.__setattr__(self, "_cumulated", list(last.items()))

    def _sizes(self) -> list[int]:
        return [sum(n for _, n in cells) + lost for cells, lost in zip(self.trials, self.lost)]

    @property
    def n(self) -> int:
        """The finite samples: the messages that arrived."""
        return sum(self._sizes()) - self.infinite

    @property
    def infinite(self) -> int:
        """The messages that never arrived."""
        return sum(self.lost)

    @property
    def worth(self) -> int:
        """How many samples these are worth if all trials weigh the same: `n` where all have equally many
        (Kish, *Survey Sampling*, 1965, 11.7)."""
        sizes = [n for n in self._sizes() if n > 0]
        return int(len(sizes) ** 2 / sum(1 / n for n in sizes) * (1 + 1e-12)) if sizes else 0

    def quantile(self, q: float, *, unsure: bool = False) -> float:
        """The smallest value in ns with at least the share `q` at or below it; `math.inf` where that is a lost message.

        It has no interval: `Summary` has, and it withholds a quantile whose interval is wider than a factor of ten.
        Raises `TooFewSamples`, with `unsure` only where there is none at all.
        """
        need = 1 if unsure else samples_needed(q)
        if self.worth < need:
            raise TooFewSamples(q, self.worth, need)
        target = min(q, 1) * _ROUNDING
        return next((value for value, share in self._cumulated if share >= target), math.inf)

    def ecdf(self) -> list[tuple[float, float]]:
        """Each value with the share of all messages at or below it; the last share is below 1 where some were lost."""
        return list(self._cumulated)
