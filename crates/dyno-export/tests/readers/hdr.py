"""Prints what a directory of HdrHistogram files holds as JSON: the logs read by hdrhistogram, the Python port,
and each row of the percentile files held against the sum of the log's histograms."""

import json
import math
import pathlib
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

BOUNDS = (1, 3_600_000_000_000, 3)


def read_log(path):
    intervals = []
    total = HdrHistogram(*BOUNDS)
    reader = HistogramLogReader(str(path), total)
    while (one := reader.get_next_interval_histogram()) is not None:
        intervals.append(
            {
                "start": one.get_start_time_stamp() / 1000,
                "end": one.get_end_time_stamp() / 1000,
                "count": one.get_total_count(),
                "max": one.get_max_value(),
                "tag": one.get_tag(),
            }
        )
        # It takes the least value of an empty histogram for 0.
        if one.get_total_count():
            total.add(one)
    return reader, total, intervals


def read_percentiles(path, total):
    """The rows, and those whose value is not that of so many samples of the log."""
    rows, wrong = [], []
    for line in path.read_text(encoding="utf-8").split("\n"):
        fields = line.split()
        if line.startswith("#") or not fields or fields[0] == "Value":
            continue
        row = {"value_us": float(fields[0]), "percentile": float(fields[1]), "count": int(fields[2])}
        rows.append(row)
        arrived = total.get_total_count()
        # The library rounds the rank; the count of the row is exact.
        value = total.get_value_at_percentile(100 * row["count"] / arrived)
        largest = total.get_highest_equivalent_value(value)
        if not math.isclose(row["value_us"] * 1000, largest, abs_tol=0.51):
            wrong.append({**row, "log_ns": largest})
    return rows, wrong


found = {}
for log in sorted(pathlib.Path(sys.argv[1]).glob("*.hlog")):
    reader, total, intervals = read_log(log)
    percentiles = log.with_suffix(".hgrm")
    rows, wrong = read_percentiles(percentiles, total) if percentiles.exists() else ([], [])
    found[log.stem] = {
        "start": reader.get_start_time_sec(),
        "count": total.get_total_count(),
        "min": total.get_min_value(),
        "max": total.get_max_value(),
        "mean": total.get_mean_value(),
        "quantiles": {
            name: total.get_value_at_percentile(p)
            for name, p in [("p50", 50), ("p90", 90), ("p99", 99), ("p999", 99.9)]
        },
        "intervals": intervals,
        "rows": rows,
        "wrong": wrong,
    }
json.dump(found, sys.stdout)
