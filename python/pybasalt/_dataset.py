"""A dataset as pyarrow has them, as far as DuckDB's package and others scan one: `duckdb.sql("from ds")`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow
import pyarrow.dataset

from pybasalt._files import Paths, scan


class Dataset(pyarrow.dataset.Dataset):
    """Files that pyarrow's scanners read. Only the columns that are asked for are decoded; pyarrow filters their rows."""

    def __init__(self, path: Paths, threads: int = 0) -> None:  # without pyarrow's own: it makes none by hand
        self._path = path
        self._threads = threads
        self._schema = pyarrow.schema(scan(path, filter="false").schema)

    @property
    def schema(self) -> pyarrow.Schema:
        """Names and types."""
        return self._schema

    def scanner(self, columns: Sequence[str] | dict[str, Any] | None = None, filter: Any = None, **options: Any) -> Any:
        """A scanner of some columns, and of the rows for which a filter holds."""
        names = self._schema.names
        wanted = names if columns is None or isinstance(columns, dict) else list(columns)
        # Those that the filter may name, by its text: too many do no harm.
        text = "" if filter is None else str(filter)
        read = wanted + [name for name in names if name not in wanted and name in text]
        reader = pyarrow.RecordBatchReader.from_stream(scan(self._path, read or names[:1], threads=self._threads))
        return pyarrow.dataset.Scanner.from_batches(reader, columns=columns, filter=filter, **options)

    def to_batches(self, **options: Any) -> Iterator[pyarrow.RecordBatch]:
        """Batches of rows; arguments as for `scanner`."""
        return self.scanner(**options).to_batches()

    def to_table(self, **options: Any) -> pyarrow.Table:
        """The rows; arguments as for `scanner`."""
        return self.scanner(**options).to_table()

    def head(self, num_rows: int, **options: Any) -> pyarrow.Table:
        """The first rows; arguments as for `scanner`."""
        return self.scanner(**options).head(num_rows)

    def count_rows(self, **options: Any) -> int:
        """How many rows there are; arguments as for `scanner`."""
        return int(self.scanner(**options).count_rows())

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset, (self._path, self._threads)


def dataset(path: Paths, *, threads: int = 0) -> Dataset:
    """Files as a dataset of pyarrow's."""
    return Dataset(path, threads)
