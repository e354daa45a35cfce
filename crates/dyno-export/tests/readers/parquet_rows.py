"""Prints a Parquet file as JSON, read by pyarrow: types, metadata and rows. Infinity is the text "inf"."""

import json
import math
import sys

import pyarrow.parquet

file = pyarrow.parquet.ParquetFile(sys.argv[1])
table = file.read()


def plain(value):
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if hasattr(value, "timestamp"):
        return {"unix_ms": round(value.timestamp() * 1000)}
    return value


json.dump(
    {
        "types": {field.name: str(field.type) for field in table.schema},
        "metadata": {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()},
        "created_by": file.metadata.created_by,
        "compression": file.metadata.row_group(0).column(0).compression if table.num_rows else None,
        "rows": [{k: plain(v) for k, v in row.items()} for row in table.to_pylist()],
    },
    sys.stdout,
)
