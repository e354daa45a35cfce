"""Run directories, formats 1 to 4: `docs/run-format.md` of Dyno describes them."""

import csv
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from dyno_results import histogram
from dyno_results.quantile import Samples

#: The newest format that is read here.
FORMAT = 4
_TRIAL = re.compile(r"e\d{4,}-t\d{3,}\.json")
_MIB = 1 << 20


class Raw(NamedTuple):
    """A raw sample; points in time are nanoseconds on the run's clock, comparable within one trial."""

    channel: int
    receiver: int
    sequence: int
    intended: int
    sent: int
    arrival: int

    @property
    def response(self) -> int:
        """Arrival minus due time."""
        return self.arrival - self.intended

    @property
    def service(self) -> int:
        """Arrival minus real send."""
        return self.arrival - self.sent


@dataclass(frozen=True)
class Cause:
    """Why a trial was disturbed or failed, or what its reader should know.

    Format 4 stores the name of a cause, such as `foreign-load`, with its values: times in nanoseconds, shares from 0 to 1. Formats 1 to 3
    store a sentence, which is `text`; then `cause` is None. The sentence of a cause is that of `dyno show`.
    """

    cause: str | None
    values: dict[str, Any]
    text: str | None

    @staticmethod
    def of(stored: Any) -> "Cause":
        """Reads an object of format 4 or a sentence. Raises `ValueError` for anything else."""
        if isinstance(stored, str):
            return Cause(None, {}, stored)
        name, values = (stored.get("cause"), stored.get("values", {})) if isinstance(stored, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(values, dict):
            raise ValueError(f"{stored!r} is neither a cause with its values nor a sentence")
        return Cause(name, values, None)


@dataclass(frozen=True)
class Trial:
    """One stored trial; `record` is its file as it stands."""

    experiment: int
    number: int
    record: dict[str, Any] = field(repr=False)

    @property
    def completed(self) -> bool:
        """Whether it did not fail."""
        return bool(self.record["outcome"] == "completed")

    @property
    def disturbed(self) -> list[Cause]:
        """Why it does not count; empty: it does."""
        return [Cause.of(stored) for stored in self.record.get("disturbed", [])]

    @property
    def warnings(self) -> list[Cause]:
        """What its reader should know."""
        return [Cause.of(stored) for stored in self.record.get("warnings", [])]

    @property
    def failure(self) -> Cause | None:
        """Why it failed; None: it did not."""
        if self.completed:
            return None
        return Cause.of(self.record["failure"] if "failure" in self.record else self.record["message"])

    def metrics(self) -> list[str]:
        """The metrics that it recorded, such as `rtt_ns`."""
        return list(self.record.get("distributions", {}))

    def samples(self, metric: str) -> Samples:
        """The samples of a metric. Raises `KeyError` where it recorded none, `ValueError` where they are damaged."""
        stored = self.record["distributions"][metric]
        least, largest = float(stored["min"]), float(stored["max"])
        cells: list[tuple[float, int]] = []
        for text in stored["blocks"] or [stored["total"]]:
            block = [(float(value), n) for value, n in histogram.cells(text)]
            # The smallest and the largest sample are known exactly.
            if block and histogram.bucket(int(block[0][0])) == histogram.bucket(stored["min"]):
                block[0] = (max(block[0][0], least), block[0][1])
            if block and histogram.bucket(int(block[-1][0])) == histogram.bucket(stored["max"]):
                block[-1] = (min(block[-1][0], largest), block[-1][1])
            cells += block
        found = sum(n for _, n in cells)
        if found != stored["n"]:
            raise ValueError(f"{metric} of {self}: its histograms hold {found} samples, but it states {stored['n']}")
        return Samples([sorted(cells)], [stored["infinite"]])


@dataclass(frozen=True)
class Run:
    """A run directory. `damaged` names the files that could not be read."""

    path: Path
    manifest: dict[str, Any] = field(repr=False)
    trials: list[Trial] = field(repr=False)
    damaged: list[str]

    @staticmethod
    def read(path: str | os.PathLike[str]) -> "Run":
        """Reads a run directory.

        Raises `OSError` or `ValueError` where its manifest cannot be read or is of a newer format.
        """
        place = Path(path)
        manifest = _json(place / "run.json", 64 * _MIB)
        trials, damaged = [], []
        folder = place / "trials"
        if folder.is_symlink():
            raise ValueError(f"{folder} is a link, which no run has")
        for file in sorted(folder.iterdir()) if folder.is_dir() else []:
            if not _TRIAL.fullmatch(file.name):
                continue
            try:
                record = _json(file, 32 * _MIB)
                trial = Trial(record["experiment"], record["number"], record)
                if file.name != f"e{trial.experiment:04}-t{trial.number:03}.json" or "outcome" not in record:
                    raise ValueError("its content is of another trial")
                trials.append(trial)
            except (OSError, ValueError, KeyError, TypeError) as e:
                damaged.append(f"{file.name}: {e}")
        return Run(place, manifest, trials, damaged)

    @property
    def experiments(self) -> list[dict[str, Any]]:
        """The experiments of the plan, in order: `experiments[i]["id"]` is `i`."""
        return list(self.manifest["plan"]["experiments"])

    def counting(self, experiment: int) -> list[Trial]:
        """The trials that count: completed and not disturbed; all completed ones where every one was disturbed."""
        completed = [t for t in self.trials if t.experiment == experiment and t.completed]
        return [t for t in completed if not t.disturbed] or completed

    def samples(self, experiment: int, metric: str) -> Samples:
        """The samples of a metric in all trials that count, as `dyno show` has them."""
        each = [t.samples(metric) for t in self.counting(experiment) if metric in t.metrics()]
        return Samples([s.trials[0] for s in each], [s.lost[0] for s in each])

    def raw(self, trial: Trial) -> Iterator[Raw]:
        """The raw samples of a trial in the order of arrival; none where the experiment kept none."""
        most = trial.record.get("raw_samples", 0)
        if not most:
            return
        file = self.path / "raw" / f"e{trial.experiment:04}-t{trial.number:03}.csv"
        rows = csv.reader(_bytes(file, 4096 + 96 * most).decode().splitlines())
        next(rows, None)
        for row in rows:
            yield Raw(*map(int, row))


def _bytes(file: Path, most: int) -> bytes:
    """A regular file of bounded size: runs come from strangers."""
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as opened:
        about = os.fstat(opened.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > most:
            raise ValueError(f"{file} is no regular file of at most {most} bytes")
        return opened.read(most)


def _json(file: Path, most: int) -> dict[str, Any]:
    document = json.loads(_bytes(file, most))
    found = document.get("format") if isinstance(document, dict) else None
    if not isinstance(found, int) or not 1 <= found <= FORMAT:
        raise ValueError(f"{file} has format {found!r}; this reads 1 to {FORMAT}: update dyno-results, or name a run")
    return dict(document)
