"""The document of `dyno show --format json`: `docs/reference/show-json.md` of Dyno describes it."""

import json
import math
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dyno_results.quantile import QUANTILES

#: The format that is read here; within it, fields are only added.
FORMAT = 1


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; `math.inf` is infinitely late, or an interval without an upper end."""

    value: float
    lo: float
    hi: float

    @staticmethod
    def of(found: dict[str, Any] | None) -> "Estimate | None":
        """From JSON, which has null for infinity and says beside it whether the value is infinite."""
        if found is None:
            return None
        value, lo, hi = (math.inf if found[end] is None else float(found[end]) for end in ("value", "lo", "hi"))
        if math.isinf(value) != found["infinite"]:
            raise ValueError(f"an estimate whose value contradicts `infinite`: {found}")
        return Estimate(value, lo, hi)


@dataclass(frozen=True)
class Experiment:
    """One experiment of a summary; `document` is its object as it stands."""

    document: dict[str, Any] = field(repr=False)

    def __getitem__(self, key: str) -> Any:
        """A field, such as `stack` or `payload_bytes`."""
        return self.document[key]

    @property
    def name(self) -> str:
        """Its stack, and the wait strategy: a polling reader is never compared unmarked with a sleeping one."""
        return f"{self['stack']} ({self['wait']})"

    def quantile(self, quantile: str, metric: str | None = None) -> Estimate | None:
        """`p50`, `p90`, `p99` or `p999` of a metric, of the headline where none is named.

        `None` where Dyno withholds it, and where no trial recorded the metric; `refused` tells why.
        """
        found = self["metrics"].get(metric or self["headline"])
        return Estimate.of(found[quantile]) if found else None

    def refused(self, quantile: str, metric: str | None = None) -> str:
        """Why a quantile is withheld; an empty text where it is not."""
        name = metric or self["headline"]
        if (found := self["metrics"].get(name)) is None:
            return f"no trial that counts recorded {name}"
        if (why := found.get(f"{quantile}_refused")) is None:
            return ""
        if (wide := why.get("wide")) is None:
            return f"{why['have']} of {why['need']} samples"
        return f"the interval is wider than a factor of ten; about {wide['need_trials'] or 'unknown'} trials would do"

    def row(self, metric: str) -> dict[str, Any]:
        """Everything with one value of this experiment and one metric, flat."""
        plain = {k: v for k, v in self.document.items() if v is None or isinstance(v, str | int | float)}
        row = {**plain, "metric": metric, "is_headline": metric == self["headline"]}
        row |= {k: v for k, v in self["load"].items() if not isinstance(v, dict | list)}
        found = self["metrics"].get(metric, {})
        row |= {key: found.get(key) for key in ("n", "infinite", "saturated", "min", "mean", "max")}
        for quantile in QUANTILES:
            estimate = self.quantile(quantile, metric)
            row[quantile] = estimate and estimate.value
            row[f"{quantile}_lo"] = estimate and estimate.lo
            row[f"{quantile}_hi"] = estimate and estimate.hi
            row[f"{quantile}_refused"] = self.refused(quantile, metric)
        floor = self["floor"]
        ratio = Estimate.of(floor["p50_ratio"]) if floor and row["is_headline"] else None
        row |= {"floor_ratio": ratio and ratio.value, "floor_lo": ratio and ratio.lo, "floor_hi": ratio and ratio.hi}
        row |= self["counts"]
        for group in ("throughput", "cost"):
            spreads = self[group].items() if self[group] else ()
            row |= {key: v["median"] for key, v in spreads if isinstance(v, dict) and "median" in v}
        return row


@dataclass(frozen=True)
class Summary:
    """A run with all of its experiments; `document` is what `dyno show --format json` printed."""

    document: dict[str, Any] = field(repr=False)

    @staticmethod
    def parse(text: str | bytes) -> "Summary":
        """From the text that Dyno printed. Raises `ValueError` where it is no such document."""
        document = json.loads(text)
        found = document.get("format") if isinstance(document, dict) else None
        if found != FORMAT or "experiments" not in document:
            raise ValueError(f"no document of `dyno show --format json`, format {FORMAT}: found format {found!r}")
        return Summary(document)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> "Summary":
        """From a file that `dyno show RUN --format json -o FILE` wrote."""
        return Summary.parse(Path(path).read_bytes())

    @staticmethod
    def show(run: str | os.PathLike[str] = "latest", program: str = "dyno") -> "Summary":
        """Runs `dyno show` of a run directory. Raises `RuntimeError` with what it said where it cannot be read."""
        # A name that begins with a dash is a directory all the same.
        command = [program, "show", "--format", "json", "--", os.fspath(run)]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise RuntimeError(f"{' '.join(command)} ended with code {done.returncode}: {said}")
        return Summary.parse(done.stdout)

    @property
    def experiments(self) -> list[Experiment]:
        """In the order of the plan."""
        return [Experiment(e) for e in self.document["experiments"]]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each experiment and metric; one of the headline where nothing was recorded."""
        return [e.row(m) for e in self.experiments for m in e["metrics"] or [e["headline"]]]
