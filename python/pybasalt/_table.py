"""Rows in memory, and the ways out of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from pybasalt import _core


class Schema:
    """Names and types of columns; any Arrow library takes it.

    >>> import pybasalt
    >>> pybasalt.sql("select 1 as a, 'x' as b").schema
    Schema(a INTEGER, b VARCHAR)
    """

    def __init__(self, core: _core.Schema) -> None:
        self._core = core

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [name for name, _ in self._core.columns]

    @property
    def types(self) -> list[str]:
        """The columns' types, as SQL calls them."""
        return [kind for _, kind in self._core.columns]

    def __len__(self) -> int:
        return len(self._core.columns)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._core.columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._core.columns == other._core.columns

    def __repr__(self) -> str:
        return "Schema(" + ", ".join(f"{name} {kind}" for name, kind in self) + ")"

    def __arrow_c_schema__(self) -> object:
        return self._core.__arrow_c_schema__()


class Tabular:
    """What has columns: files, scans, tables and relations alike. `_core` is the module's object for each."""

    _core: Any

    @property
    def schema(self) -> Schema:
        """Names and types."""
        return Schema(self._core.schema)

    @property
    def column_names(self) -> list[str]:
        """The columns' names."""
        return self.schema.names

    def _kept(self) -> Tabular:
        """What gives the same rows again and again, at no cost but that of reading them."""
        return self

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.stream()

    def __arrow_c_schema__(self) -> object:
        return self._core.schema.__arrow_c_schema__()


class Rows(Tabular):
    """What has rows that can be read again and again: the ways to other libraries."""

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self._core.rows

    @property
    def _known_rows(self) -> int | None:
        """The number of rows, if it is known without work."""
        return self.num_rows

    def __len__(self) -> int:
        return self.num_rows

    def arrow(self) -> pyarrow.Table:
        """The rows as a pyarrow table, without a copy."""
        import pyarrow

        return pyarrow.table(self)

    def df(self) -> pandas.DataFrame:
        """The rows as a pandas frame."""
        return self.arrow().to_pandas()

    def pl(self) -> polars.DataFrame:
        """The rows as a Polars frame."""
        import polars

        return polars.DataFrame(self)

    def numpy(self) -> dict[str, Any]:
        """The columns as numpy arrays."""
        table = self.arrow()
        return {name: table[name].to_numpy() for name in table.column_names}

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows as tuples of Python's values.

        >>> import pybasalt
        >>> pybasalt.sql("select 1, 'x'").fetchall()
        [(1, 'x')]
        """
        return _tuples(self.arrow())

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first row."""
        return next(iter(_tuples(self.arrow().slice(0, 1))), None)


def _tuples(table: pyarrow.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns))) if table.num_columns else []


class Table(Rows):
    """Rows in memory. Any library that speaks Arrow takes it as it is: `pyarrow.table(t)`, `polars.DataFrame(t)`.

    >>> import pybasalt
    >>> t = pybasalt.sql("select range as a from range(3)").table()
    >>> t.num_rows, t.column_names
    (3, ['a'])
    """

    def __init__(self, core: _core.Batches) -> None:
        self._core = core

    def batches(self) -> Iterator[Table]:
        """The parts in which the rows lie in memory."""
        return (Table(self._core.batch(i)) for i in range(len(self._core)))

    def __repr__(self) -> str:
        return f"<pybasalt.Table: {self.num_rows} rows, {self.schema!r}>"


class Scan(Tabular):
    """Batches of rows as they are read. Iterate over it, or hand it to a library that reads Arrow streams."""

    def __init__(self, core: _core.Reader) -> None:
        self._core = core
        self._rows: Table | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self._core.close()

    def __iter__(self) -> Iterator[Table]:
        while True:
            batch = self._core.next()
            if len(batch) == 0:
                return
            yield Table(batch)

    def read_all(self) -> Table:
        """The rows that are left."""
        return Table(self._core.all())

    def _kept(self) -> Table:
        """The rows that were left when they were first asked for, for who reads them again and again."""
        with self._lock:
            if self._rows is None:
                self._rows = self.read_all()
            return self._rows
