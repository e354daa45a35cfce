"""One plot for each common question, with matplotlib. Each function draws on `ax`, or on new axes, and returns them.

Most take experiments, such as `Summary.experiments` or those of them that answer one question. Stacks stand with their
wait strategy. Infinite values stand at the right or upper edge and say so.
"""

import math
from collections.abc import Iterable
from typing import Any

from dyno_results.quantile import Samples
from dyno_results.summary import Experiment

_US = 1e3


def _axes(ax: Any) -> Any:
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(layout="constrained").subplots()
    return ax


def _finish(ax: Any, *scales: Any) -> Any:
    """Scales and legend; a logarithmic axis without any value cannot be drawn."""
    if not ax.lines:
        ax.annotate("every figure is withheld", (0.5, 0.5), xycoords="axes fraction", ha="center")
        return ax
    for scale in scales:
        scale("log")
    ax.legend()
    return ax


def _label(e: Experiment) -> str:
    disturbed = ", disturbed" if e["all_disturbed"] else ""
    return f"{e['experiment']} · {e.name} · {e['payload_bytes']} B{disturbed}"


def stacks(experiments: Iterable[Experiment], quantile: str = "p50", metric: str | None = None, ax: Any = None) -> Any:
    """Which stack is fastest, and how sure is that? A value with its 95 % interval for each experiment."""
    ax = _axes(ax)
    shown = [(e, e.quantile(quantile, metric)) for e in experiments]
    shown.sort(key=lambda pair: pair[1].value if pair[1] else math.inf, reverse=True)
    ends = [v for _, q in shown if q for v in (q.lo, q.hi) if math.isfinite(v)]
    edge = 2 * max(ends, default=_US) / _US
    for at, (e, q) in enumerate(shown):
        if q is None:
            ax.annotate(f"  withheld: {e.refused(quantile, metric)}", (0, at), xycoords=("axes fraction", "data"), va="center")
        elif math.isinf(q.value):
            ax.annotate("∞: too many were lost ", (1, at), xycoords=("axes fraction", "data"), ha="right", va="center")
        else:
            ax.plot([q.lo / _US, min(q.hi / _US, edge)], [at, at], color="C0", linewidth=2)
            ax.plot(q.value / _US, at, "o", color="C0", fillstyle="none" if e["all_disturbed"] else "full")
            if math.isinf(q.hi):
                ax.plot(edge, at, ">", color="C0")
    ax.set_yticks(range(len(shown)), [_label(e) for e, _ in shown])
    ax.set_ylim(-0.5, max(len(shown), 1) - 0.5)
    ax.set_xscale("log")
    ax.set_xlabel(f"{quantile} of {metric or 'the headline metric'}, µs, with its 95 % interval")
    return ax


def tail(samples: dict[str, Samples], ax: Any = None) -> Any:
    """How bad is the tail? The share of messages that are later than a latency; a line that does not come down to the
    bottom shows the share that was lost. `samples` by label, such as those of `Run.samples`."""
    ax = _axes(ax)
    for label, found in samples.items():
        every = found.n + found.infinite
        # The last message has the share of one, so that a logarithmic axis can show it.
        values, shares = zip(*[(v / _US, max(1 - s, 1 / every)) for v, s in found.ecdf()] or [(math.nan, math.nan)])
        lost = f", {found.infinite} of {every} lost" if found.infinite else ""
        if found.n > 0:
            ax.step(values, shares, where="post", label=label + lost)
    ax.set_xlabel("latency, µs")
    ax.set_ylabel("share of messages that are later")
    return _finish(ax, ax.set_xscale, ax.set_yscale)


def sizes(experiments: Iterable[Experiment], quantile: str = "p50", ax: Any = None) -> Any:
    """How does it grow with the payload? A quantile of the headline metric; withheld and infinite ones leave a gap."""
    ax = _axes(ax)
    lines: dict[str, list[tuple[int, float]]] = {}
    for e in experiments:
        q = e.quantile(quantile)
        finite = q.value / _US if q and math.isfinite(q.value) else math.nan
        lines.setdefault(f"{e['experiment']} · {e.name}", []).append((e["payload_bytes"], finite))
    for label, points in lines.items():
        if not all(math.isnan(value) for _, value in points):
            ax.plot(*zip(*sorted(points)), "o-", label=label)
    ax.set_xlabel("payload, bytes")
    ax.set_ylabel(f"{quantile}, µs")
    return _finish(ax, ax.set_xscale, ax.set_yscale)


def cost(experiments: Iterable[Experiment], quantile: str = "p50", ax: Any = None) -> Any:
    """What does speed cost? A quantile of the headline metric over the processor time per message."""
    ax = _axes(ax)
    for e in experiments:
        spent = e["cost"] and e["cost"]["cpu_ns_per_message"]
        q = e.quantile(quantile)
        if spent and q and math.isfinite(q.value):
            marker = "os^D"[len(ax.lines) // 10 % 4]
            ax.plot(spent["median"] / _US, q.value / _US, marker, label=_label(e))
    ax.set_xlabel("processor time of all processes per message, µs")
    ax.set_ylabel(f"{quantile}, µs")
    return _finish(ax, ax.set_xscale, ax.set_yscale)


def trials(rows: Iterable[dict[str, Any]], quantile: str = "p50", ax: Any = None) -> Any:
    """Do trials agree, and did the host change meanwhile? Each trial's own quantile in the order of the run; trials that do
    not count are hollow. `rows` of `results.parquet`, such as `results.to_dict("records")` of pandas or `results.to_dicts()` of Polars."""
    ax = _axes(ax)
    lines: dict[str, list[tuple[int, float, bool]]] = {}
    for row in rows:
        if row["is_headline"] and row[quantile] is not None and math.isfinite(row[quantile]):
            label = f"{row['experiment']} · {row['stack']} ({row['wait']}) · {row['payload_bytes']} B"
            lines.setdefault(label, []).append((row["position"], row[quantile] / _US, row["counted"]))
    for number, (label, points) in enumerate(lines.items()):
        ax.plot([], [], "o", color=f"C{number}", label=label)
        for position, value, counted in points:
            ax.plot(position, value, "o", color=f"C{number}", fillstyle="full" if counted else "none")
    ax.set_xlabel("place in the random order of the run")
    ax.set_ylabel(f"{quantile} of the trial, µs")
    return _finish(ax, ax.set_yscale)
