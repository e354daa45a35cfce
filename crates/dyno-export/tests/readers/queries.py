"""Runs the statements of a file of queries in the folder that holds `lake`, and prints the rows of each as JSON."""

import json
import os
import pathlib
import sys

import duckdb

queries = pathlib.Path(sys.argv[0]).resolve().parents[4] / "docs/how-to/fleets/queries.sql"
os.chdir(sys.argv[1])
connection = duckdb.connect()
found = []
for statement in connection.extract_statements(queries.read_text()):
    cursor = connection.execute(statement)
    names = [column[0] for column in cursor.description]
    found.append([dict(zip(names, row)) for row in cursor.fetchall()])
print(json.dumps(found, default=str))
