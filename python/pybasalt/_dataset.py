"""A dataset as pyarrow has them, as far as DuckDB's package and others scan one: `duckdb.sql("from ds")`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow
import pyarrow.dataset
import pyarrow.fs

from pybasalt._arrow_filters import pushed
from pybasalt._files import Paths, scan, schema_of


#: The name of a file that is not there: what pyarrow's own code, which takes the dataset for files of its own, would read.
_OUTSIDE = "a pybasalt dataset is read by its own scanner(), to_table() and to_batches()"


class Dataset(pyarrow.dataset.FileSystemDataset):
    """Files that pyarrow's scanners read. Only the columns that are asked for are decoded, and chunks and rows that a
    filter rules out are skipped; what of it only pyarrow understands, pyarrow evaluates on the rows that are left."""

    def __init__(self, path: Paths, threads: int = 0, filter: Any = None, memory_limit: int | str = 0) -> None:
        self._schema = pyarrow.schema(schema_of(path, threads))
        kind = pyarrow.dataset.IpcFileFormat()
        nothing = kind.make_fragment(_OUTSIDE, pyarrow.fs.LocalFileSystem())
        super().__init__([nothing], self._schema, kind)
        self._path = path
        self._limits: dict[str, Any] = {"threads": threads, "memory_limit": memory_limit}
        self._filter = filter
        self._kept: set[str] | None = None

    @property
    def schema(self) -> pyarrow.Schema:
        """Names and types."""
        return self._schema

    def _keep_types(self, columns: Sequence[str]) -> bool:
        """Whether columns have the same types behind a filter of SQL's, which lacks some."""
        if self._kept is None:
            behind = pyarrow.schema(scan(self._path, filter="false", **self._limits).schema)
            alike = behind.names == self._schema.names
            self._kept = {a.name for a, b in zip(self._schema, behind) if alike and a.type == b.type}
        return self._kept.issuperset(columns)

    def scanner(self, columns: Sequence[str] | dict[str, Any] | None = None, filter: Any = None, **options: Any) -> Any:
        """A scanner of some columns, and of the rows for which a filter holds."""
        names = self._schema.names
        if self._filter is not None:
            filter = self._filter if filter is None else self._filter & filter
        wanted = names if columns is None or isinstance(columns, dict) else list(columns)
        # Those that the filter may name, by its text: too many do no harm.
        text = "" if filter is None else str(filter)
        read = wanted + [name for name in names if name not in wanted and name in text] or names[:1]
        condition = pushed(filter, self._schema) if filter is not None and self._keep_types(read) else None
        reader = pyarrow.RecordBatchReader.from_stream(scan(self._path, read, condition, **self._limits))
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

    def filter(self, expression: Any) -> Dataset:
        """The rows for which an expression of pyarrow's holds."""
        both = expression if self._filter is None else self._filter & expression
        return Dataset(self._path, filter=both, **self._limits)

    def get_fragments(self, filter: Any = None) -> Iterator[Any]:
        """All of its rows as one fragment, in memory."""
        return self._loaded().get_fragments(filter)

    def sort_by(self, sorting: Any, **options: Any) -> Any:
        """The rows in an order, in memory."""
        return self._loaded().sort_by(sorting, **options)

    def join(self, right_dataset: Any, *arguments: Any, **options: Any) -> Any:
        """The rows joined with those of another dataset, in memory."""
        return self._loaded().join(_loaded(right_dataset), *arguments, **options)

    def join_asof(self, right_dataset: Any, *arguments: Any, **options: Any) -> Any:
        """The rows joined with the nearest of another dataset, in memory."""
        return self._loaded().join_asof(_loaded(right_dataset), *arguments, **options)

    def replace_schema(self, schema: pyarrow.Schema) -> Any:
        """The rows under another schema, in memory."""
        return self._loaded().replace_schema(schema)

    @property
    def partition_expression(self) -> Any:
        """What holds for all rows: nothing that is known."""
        return pyarrow.dataset.scalar(True)

    def _loaded(self) -> Any:
        return pyarrow.dataset.dataset(self.to_table())

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset, (self._path, self._limits["threads"], self._filter, self._limits["memory_limit"])


def _loaded(dataset: Any) -> Any:
    return dataset._loaded() if isinstance(dataset, Dataset) else dataset


def dataset(path: Paths, *, threads: int = 0, memory_limit: int | str = 0) -> Dataset:
    """Files as a dataset of pyarrow's, which DuckDB's own package scans, too: `duckdb.sql("from ds")`. `threads` and
    `memory_limit` are those of each scan, as for `scan`.

    >>> import pybasalt, pyarrow.compute
    >>> _ = pybasalt.write({"a": [1, 2, 3]}, "t.basalt")
    >>> pybasalt.dataset("t.basalt").to_table(filter=pyarrow.compute.field("a") > 1)["a"].to_pylist()
    [2, 3]
    """
    return Dataset(path, threads, memory_limit=memory_limit)
