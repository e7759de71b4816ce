"""Rows in memory, and the ways out of them."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pybasalt._errors import UnsupportedError
from pybasalt._options import count_of
from pybasalt._shown import FIRST_ROWS, as_html
from pybasalt._values import shown_tuples, tuples

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


#: A type that is an interval or holds some; fields of structs that are called so have a type behind their name.
_INTERVAL = re.compile(r"\bINTERVAL(?=[\[,)]|$)", re.IGNORECASE)


def check_types_of_polars(schema: Schema) -> None:
    """Refuses types that Polars lacks, where it would panic, which is no exception that anyone expects."""
    for name, kind in schema:
        if _INTERVAL.search(kind):
            raise UnsupportedError(f"column {name}: Polars has no type for {kind}; cast it, to VARCHAR say", "unsupported")


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

        check_types_of_polars(self.schema)
        return polars.DataFrame(self)

    def numpy(self) -> dict[str, Any]:
        """The columns as numpy arrays."""
        table = self.arrow()
        return {name: table[name].to_numpy() for name in table.column_names}

    def _first(self, most: int) -> list[tuple[Any, ...]]:
        return shown_tuples(self.arrow().slice(0, most), self.schema.types)

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return as_html(self.schema.names, self._first(FIRST_ROWS), self.num_rows)

    def _parts(self) -> Iterator[pyarrow.Table]:
        """The rows in their order, by parts of which several fit in memory."""
        yield self.arrow()

    @property
    def _cursor(self) -> _Cursor:
        if "_fetched" not in self.__dict__:
            self.__dict__.setdefault("_fetched", _Cursor(self._parts(), self.schema.types))
        cursor: _Cursor = self.__dict__["_fetched"]
        return cursor

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows as tuples of Python's values: all of them, or those that `fetchone` and `fetchmany` have left.

        >>> import pybasalt
        >>> pybasalt.sql("select 1, 'x'").fetchall()
        [(1, 'x')]
        """
        return self._cursor.take(None) if "_fetched" in self.__dict__ else tuples(self.arrow(), self.schema.types)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None behind the last.

        >>> import pybasalt
        >>> numbers = pybasalt.sql("from range(2)")
        >>> numbers.fetchone(), numbers.fetchone(), numbers.fetchone()
        ((0,), (1,), None)
        """
        return next(iter(self._cursor.take(1)), None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """So many of the next rows, or fewer where they end.

        >>> import pybasalt
        >>> numbers = pybasalt.sql("from range(5)")
        >>> numbers.fetchmany(3), numbers.fetchall()
        ([(0,), (1,), (2,)], [(3,), (4,)])
        """
        return self._cursor.take(count_of(size, "size"))


#: Rows that become tuples at once, where they are fetched one by one.
_FETCHED_AT_ONCE = 1024


class _Cursor:
    """Rows as they are fetched one after the other; threads may share it."""

    def __init__(self, parts: Iterator[pyarrow.Table], kinds: Sequence[str]) -> None:
        self._rows = (row for part in parts for begin in range(0, part.num_rows, _FETCHED_AT_ONCE)
                      for row in tuples(part.slice(begin, _FETCHED_AT_ONCE), kinds))
        self._lock = threading.Lock()

    def take(self, count: int | None) -> list[tuple[Any, ...]]:
        """So many of the next rows; None for all of them."""
        with self._lock:
            return list(itertools.islice(self._rows, count))


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

    def __repr__(self) -> str:
        return f"<pybasalt.Scan: {self.schema!r}>"

    def read_all(self) -> Table:
        """The rows that are left."""
        return Table(self._core.all())

    def _kept(self) -> Table:
        """The rows that were left when they were first asked for, for who reads them again and again."""
        with self._lock:
            if self._rows is None:
                self._rows = self.read_all()
            return self._rows
