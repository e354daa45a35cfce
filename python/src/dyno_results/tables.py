"""Data frames of pandas or Polars, whichever the caller names."""

import os
from pathlib import Path
from typing import Any, Literal

Library = Literal["pandas", "polars"]


def to_frame(rows: list[dict[str, Any]], library: Library = "pandas") -> Any:
    """Rows, such as those of `Summary.rows`, as a data frame; every row has every column."""
    columns = {key: None for row in rows for key in row}
    data = {key: [row.get(key) for row in rows] for key in columns}
    if library == "polars":
        import polars

        # A column may begin with whole numbers and go on with others.
        return polars.DataFrame(data, strict=False, infer_schema_length=None)
    import pandas

    return pandas.DataFrame(data)


def read_parquet(folder: str | os.PathLike[str], library: Library = "pandas") -> tuple[Any, Any]:
    """The tables of `dyno show RUN --format parquet -o FOLDER`: results by experiment, metric and trial, and raw samples.

    The second is `None` where no experiment kept raw samples. Infinity is infinitely late, null is unknown or refused.
    """
    if library == "polars":
        import polars

        read: Any = polars.read_parquet
    else:
        import pandas

        read = pandas.read_parquet
    results, samples = Path(folder) / "results.parquet", Path(folder) / "samples.parquet"
    return read(results), read(samples) if samples.exists() else None
