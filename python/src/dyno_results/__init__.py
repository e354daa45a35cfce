"""Read what Dyno measured.

- `Summary`: the document of `dyno show --format json`, with all figures and their intervals.
- `Run`: a run directory, with every trial and its distribution; it needs no Dyno.
- `read_parquet`: the tables of `dyno show --format parquet`.

Times are nanoseconds, sizes bytes, rates per second. A lost message is infinitely late: it is `math.inf`, and it
counts in every quantile.
"""

from dyno_results.quantile import QUANTILES, Samples, TooFewSamples, samples_needed
from dyno_results.run import Cause, Raw, Run, Trial
from dyno_results.summary import Estimate, Experiment, Summary
from dyno_results.tables import read_parquet, to_frame

__all__ = [
    "QUANTILES",
    "Cause",
    "Estimate",
    "Experiment",
    "Raw",
    "Run",
    "Samples",
    "Summary",
    "TooFewSamples",
    "Trial",
    "read_parquet",
    "samples_needed",
    "to_frame",
]
