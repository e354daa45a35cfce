"""Prints an OpenMetrics text as JSON, read by the parser of Prometheus's Python library, which is strict.
Infinity is the text "inf"."""

import json
import math
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

with open(sys.argv[1], newline="", encoding="utf-8") as file:
    text = file.read()


def plain(value):
    return "inf" if math.isinf(value) else value


json.dump(
    [
        {
            "name": family.name,
            "type": family.type,
            "unit": family.unit,
            "help": family.documentation,
            "samples": [
                {"name": s.name, "labels": s.labels, "value": plain(s.value)} for s in family.samples
            ],
        }
        for family in text_string_to_metric_families(text)
    ],
    sys.stdout,
)
