"""Prints the rows of a CSV file as JSON, read by Python's own csv module."""

import csv
import json
import sys

with open(sys.argv[1], newline="", encoding="utf-8") as file:
    json.dump(list(csv.DictReader(file)), sys.stdout)
