"""HdrHistogram for Python: a percentile text or an interval log of values by a seed."""
import random
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter

form, seed = sys.argv[1], int(sys.argv[2])
random.seed(seed)


class Both:
    """Takes the texts and the bytes that the library writes."""

    def write(self, text):
        sys.stdout.write(text if isinstance(text, str) else text.decode())


def made(n):
    h = HdrHistogram(1, 3600 * 1000 * 1000, 1 + seed % 4)
    for _ in range(n):
        h.record_value(int(random.lognormvariate(6, 0.5 * seed)) + 1)
    return h


if form == "hlog":
    writer = HistogramLogWriter(Both())
    writer.output_log_format_version()
    writer.output_legend()
    for i in range(seed):
        h = made(10 * seed)
        h.set_start_time_stamp(1000 * i)
        h.set_end_time_stamp(1000 * i + 1000)
        writer.output_interval_histogram(h)
else:
    made(50 * seed).output_percentile_distribution(Both(), 1)
