"""SQL: connections and what their statements give."""

from __future__ import annotations

import os
import re
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from pybasalt import _core, _remote
from pybasalt._errors import Error
from pybasalt._files import (
    Summary,
    _check_target,
    _sorted,
    _summary,
    _with_decimals,
    _write_arguments,
    _write_table,
    _written,
    as_table,
)
from pybasalt._options import bytes_of, one_of, threads_of
from pybasalt._progress import ProgressCallback, ShareCallback, shown_running, shown_writing
from pybasalt._report import Report
from pybasalt._shown import FIRST_ROWS, as_text, escaped
from pybasalt._table import Rows, Scan, Table
from pybasalt.device import DeviceTable
from pybasalt.expressions import parameter

if TYPE_CHECKING:
    import polars
    import pyarrow

    from pybasalt import _session

#: Values for `?` in their order, or for `$name` by their names.
Parameters = Sequence[Any] | Mapping[str, Any]
#: The same as the session takes them: name, type, text.
Values = list[tuple[str, str, str | None]]


_of_thread = threading.local()


def _running() -> list[Relation]:
    """The relations that this thread is running, each for the one before."""
    if not hasattr(_of_thread, "running"):
        _of_thread.running = []
    running: list[Relation] = _of_thread.running
    return running


class Relation(Rows):
    """A query that runs when its rows are asked for, once."""

    def __init__(self, connection: Connection, sql: str, parameters: Values, tables: dict[str, Any]) -> None:
        self._connection = connection
        self._parameters = parameters
        self._tables = tables
        self._found: _session.Result | None = None
        self._lock = threading.Lock()
        #: The statement.
        self.sql = sql

    @property
    def _result(self) -> _session.Result:
        return self._run()

    def _run(self, progress: ShareCallback | None = None) -> _session.Result:
        with self._alone():
            if self._found is None:
                self._found = self._connection._execute(self.sql, self._parameters, self._tables, progress)
            return self._found

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While it runs: another thread may ask for the rows, too, and it may be asked for its own."""
        if self in _running():
            raise ValueError("the relation names itself")
        with self._lock:
            _running().append(self)
            try:
                yield
            finally:
                _running().remove(self)

    def _reader(self) -> _core.Reader:
        """The rows: those in memory where it has run, else as it finds them."""
        with self._alone():
            if self._found is not None:
                return self._found.rows.reader()
            return self._connection._with_tables(self._tables, "stream", self.sql, self._parameters)

    @property
    def _core(self) -> _core.Batches:
        return self._result.rows

    def table(self) -> Table:
        """The rows, in memory."""
        return Table(self._core)

    def _kept(self) -> Table:
        return self.table()

    def batches(self) -> Scan:
        """The rows in batches, as they are found: a result may be larger than memory.

        They are not kept: the query runs anew for each call, unless its rows are in memory. When the connection runs
        another statement meanwhile, it first fetches what is left of them.

        >>> import pybasalt
        >>> sum(len(batch) for batch in pybasalt.sql("select range as a from range(200_000)").batches())
        200000
        """
        return Scan(self._reader())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader().stream()

    def arrow(self) -> pyarrow.Table:
        """The rows as a pyarrow table; they stay in memory for who asks again."""
        return self.table().arrow()

    def pl(self) -> polars.DataFrame:
        """The rows as a Polars frame; they stay in memory for who asks again."""
        return self.table().pl()

    @property
    def _known_rows(self) -> int | None:
        return None if self._found is None else self.num_rows

    @property
    def column_names(self) -> list[str]:
        """The columns' names, found without running the query; relations that it names are run."""
        if self._found is not None or self._parameters:  # what a parameter is, only running tells
            return self.schema.names
        return [name for name, _ in self._connection._with_tables(self._tables, "describe", self.sql)]

    columns = column_names

    @property
    def report(self) -> Report:
        """What ran where, in which time; runs the query."""
        return Report(self._result.report)

    def explain(self, analyze: bool = False) -> str:
        """The plan; with `analyze` the query is run, and the plan says what each part took."""
        word = "explain analyze " if analyze else "explain "
        return self._connection._execute(word + self.sql, self._parameters, self._tables).explained

    def show(self, rows: int = FIRST_ROWS) -> None:
        """Prints the first rows.

        >>> import pybasalt
        >>> pybasalt.sql("select 42 as answer, 'x' as b").show()
        answer  b
            42  x
        1 row
        """
        print(self._text(rows))

    def _text(self, most: int) -> str:
        if self._result.explained:
            return self._result.explained.rstrip("\n")
        names = self.schema.names
        if not names:
            return str(self.report)
        if most < 0:
            raise ValueError(f"a number of rows is not negative, as {most} is")
        return as_text(names, self._first(most), len(self))

    def __repr__(self) -> str:
        return self._text(FIRST_ROWS)

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        has_rows = self.schema.names and not self._result.explained
        return super()._repr_html_() if has_rows else f"<pre>{escaped(repr(self))}</pre>"

    def on_device(self, device: str | None = None) -> DeviceTable:
        """Runs the query by Basalt's own engine and leaves the rows where they were found: on the GPU, say.

        Raises pybasalt.Error where a part of the statement would have to run in DuckDB. `device`: the connection's.

        >>> import pybasalt
        >>> _ = pybasalt.write({"x": [1, 2, 3]}, "t.basalt")
        >>> rows = pybasalt.sql("select x from 't.basalt' where x > ?", [1]).on_device("cpu")
        >>> rows["x"].numpy(), rows.report["rows"]
        (array([2, 3]), 2)
        """
        found, report = self._connection._with_tables(self._tables, "on_device", self.sql, self._parameters, device or "")
        return DeviceTable(found, Report(report))

    def write(self, path: str | os.PathLike[str], *, encoding: Mapping[str, str] | None = None, effort: str = "balanced",
              purpose: str = "balanced", link: float | None = None, sort_by: str | Sequence[str] | None = None,
              device: str = "cpu", threads: int = 0, memory_limit: int | str = 0, append: bool = False,
              chunk_rows: int = 0, metadata: Mapping[str, str] | None = None,
              progress: bool | ProgressCallback | None = None) -> Summary:
        """Writes the rows to a .basalt file, as they come. Arguments as for `pybasalt.write`.

        >>> import pybasalt
        >>> pybasalt.sql("select range as a from range(?)", [3]).write("t.basalt", sort_by="a", effort="fast").rows
        3
        """
        arguments = _write_arguments(encoding, effort, purpose, link, sort_by, device, threads, memory_limit, append,
                                     chunk_rows, metadata)
        _check_target(path, append)
        if self._found is not None or self._parameters:
            return _write_table(self, path, arguments, progress)
        columns = self._connection._with_tables(self._tables, "describe", self.sql)
        query = _sorted(_with_decimals(self.sql, columns), arguments["sort_by"])
        with (shown_writing(progress, os.fspath(path), lambda _: self._connection._core.progress()) as callback,
              _written(path) as target):
            values = self._connection._with_tables(self._tables, "convert", query, target, arguments, callback)
        return _summary(values, (name for name, _ in columns))


def _parameters(given: Parameters | None) -> Values:
    if given is None:
        return []
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"parameters are a list of values, or a dict of them by name, not {type(given).__name__}")
    named = given.items() if isinstance(given, Mapping) else ((str(i + 1), value) for i, value in enumerate(given))
    return [(name, *parameter(value)) for name, value in named]


def _visible(frame: FrameType, query: str) -> dict[str, Any]:
    """The caller's variables that hold tables and that a query may name: those whose names occur in its text."""
    scopes = [frame.f_globals]
    # Comprehensions and lambdas have frames of their own, within the one whose variables they see.
    inner: FrameType | None = frame
    while inner is not None and inner.f_locals is not inner.f_globals:
        scopes.insert(1, inner.f_locals)
        if not inner.f_code.co_name.startswith("<"):
            break
        inner = inner.f_back
    lower = query.lower()
    return {
        name: value for scope in scopes for name, value in scope.items() if name.lower() in lower and _is_table(value)
    }


def _is_table(value: Any) -> bool:
    speaks_arrow = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    # Lazy frames of Polars and datasets of pyarrow.
    is_lazy = hasattr(value, "collect_schema") or (hasattr(value, "to_batches") and hasattr(value, "scanner"))
    return not isinstance(value, type) and (speaks_arrow or is_lazy)


#: What readers of pyarrow's gave when they were first read, for as long as they live.
_read_once: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _settled(table: Any) -> Any:
    """A table as a statement can read it, again and again: what can be read once is read, what is lazy is made."""
    if isinstance(table, Scan):
        return table._kept()
    if hasattr(table, "read_next_batch"):  # a reader of pyarrow's
        if table not in _read_once:
            _read_once[table] = table.read_all()
        return _read_once[table]
    if hasattr(table, "scanner") and not hasattr(table, "__arrow_c_stream__"):
        return table.to_table()
    return as_table(table)


class _Names:
    """What names of tables stand for. Apart from the connection, which must not be held by its own session."""

    def __init__(self) -> None:
        self.registered: dict[str, Any] = {}
        self.begin({})

    def begin(self, tables: Mapping[str, Any]) -> None:
        """A statement begins, which may name these."""
        #: Registered ones first.
        self._visible: dict[str, Any] = {**tables, **self.registered}
        #: Names that it asked for, as the tables have them.
        self.asked: set[str] = set()
        #: Relations among them that have not run: they cannot while the statement holds the session.
        self.missing: list[Relation] = []

    def __call__(self, name: str) -> Any:
        alike = [name] if name in self._visible else [one for one in self._visible if one.lower() == name.lower()]
        if len(alike) != 1:
            return None
        self.asked.add(alike[0])
        table = self._visible[alike[0]]
        if not isinstance(table, Relation):
            table = self._visible[alike[0]] = _settled(table)
            return table
        if table._found is None:
            self.missing.append(table)
            raise ValueError(f"{alike[0]} has not run")
        return Table(table._found.rows)


class Connection:
    """A session of SQL; see `pybasalt.connect`. Threads may share it: their statements run one after the other."""

    def __init__(self, *, device: str, threads: int, memory_limit: int | str, gpu_memory: int | str, database: str,
                 temp_dir: str, strict: bool) -> None:
        one_of(device, "device", ("auto", "cpu", "cuda"))
        threads = threads_of(threads)
        self._options: dict[str, Any] = {
            "device": device, "threads": threads, "memory_limit": memory_limit, "gpu_memory": gpu_memory,
            "database": database, "temp_dir": temp_dir, "strict": strict,
        }
        self._names = _Names()
        self._lock = threading.Lock()  # of the names, for as long as a statement runs
        from pybasalt import _session

        self._core = _session.Connection(device, threads, bytes_of(memory_limit), bytes_of(gpu_memory), database, temp_dir,
                                      strict, self._names, _remote.find_for_sql, _remote.open_remote)

    def _with_tables(self, tables: dict[str, Any], method: str, sql: str, *arguments: Any) -> Any:
        if ";" in sql.rstrip("; \n"):  # of several statements, those before the one that asks would run twice
            words = set(re.findall(r"\w+", sql))
            for name, table in {**tables, **self._names.registered}.items():
                if isinstance(table, Relation) and name in words:
                    table._run()
        while True:
            missing: list[Relation] = []
            try:
                with self._lock:
                    self._names.begin(tables)
                    try:
                        found = getattr(self._core, method)(sql, *arguments)
                    finally:
                        missing, asked = self._names.missing, self._names.asked
                        self._names.begin({})
            except Error:
                # It was being bound and has done nothing yet: it begins anew when these have run.
                if not missing:
                    raise
            else:
                for name in set(tables) - asked:  # the rest need not live as long as the relation
                    del tables[name]
                return found
            for relation in missing:
                relation._run()

    def _execute(self, sql: str, parameters: Values, tables: dict[str, Any],
                 progress: ShareCallback | None = None) -> _session.Result:
        return self._with_tables(tables, "execute", sql, parameters, progress)

    def sql(self, query: str, parameters: Parameters | None = None, *, _depth: int = 1) -> Relation:
        """A query as a relation that runs when its rows are asked for; other statements run at once.

        Tables are those of the database, files ('x.basalt', 'x.parquet'), tables of `register`, and variables of the
        caller that speak Arrow.

        >>> import pybasalt, pyarrow
        >>> numbers = pyarrow.table({"x": [1, 2, 3]})
        >>> con = pybasalt.connect()
        >>> con.sql("select sum(x) from numbers where x > ?", [1]).fetchall()
        [(Decimal('5'),)]
        """
        relation = self._relation(query, parameters, sys._getframe(_depth))
        if not self._core.is_query(query):
            relation._run()
        return relation

    def execute(self, query: str, parameters: Parameters | None = None,
                progress: bool | ShareCallback | None = None) -> Relation:
        """Runs a statement at once. `progress` shows a bar, or is called now and then with the share that is done, or
        with a negative number where that is not known.

        >>> import pybasalt
        >>> con = pybasalt.connect()
        >>> con.execute("create table t as select range as a from range(3)", progress=True).report["rows"]
        3
        """
        relation = self._relation(query, parameters, sys._getframe(1))
        with shown_running(progress) as callback:
            relation._run(callback)
        return relation

    def _relation(self, query: str, parameters: Parameters | None, caller: FrameType) -> Relation:
        if not isinstance(query, str):
            raise TypeError(f"a query is a text, not {type(query).__name__}")
        return Relation(self, query, _parameters(parameters), _visible(caller, query))

    def register(self, name: str, table: Any) -> Connection:
        """Makes a table known under a name, until `unregister`. It is read anew by each statement.

        >>> import pybasalt
        >>> con = pybasalt.connect().register("t", {"a": [1, 2]})
        >>> con.sql("select count(*) from t").fetchone()
        (2,)
        """
        self._names.registered[name] = table if _is_table(table) else as_table(table)
        return self

    def unregister(self, name: str) -> Connection:
        """Forgets a table."""
        del self._names.registered[name]
        return self

    def tables(self) -> list[tuple[str, str]]:
        """The database's tables and views, and which of both each is."""
        return self._core.tables()

    def cursor(self) -> Connection:
        """Another session with the same options and registered tables, which can work at the same time."""
        other = Connection(**self._options)
        other._names.registered.update(self._names.registered)
        return other

    def interrupt(self) -> None:
        """Stops the running statement; from any thread."""
        self._core.interrupt()

    def close(self) -> None:
        """Ends the session. Results stay."""
        self._core.close()

    def __repr__(self) -> str:
        return f"<pybasalt.Connection to {self._options['database'] or 'memory'}, device={self._options['device']!r}>"

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(database: str | os.PathLike[str] = "", *, device: str = "auto", threads: int = 0, memory_limit: int | str = 0,
            gpu_memory: int | str = 0, temp_dir: str | os.PathLike[str] = "", strict: bool = False) -> Connection:
    """Opens a session of SQL over files, tables of Python's, and a DuckDB database, in memory if none is named.

    `device` is auto, cpu or cuda; `strict` refuses statements over .basalt files of which DuckDB would run a part.
    Limits are bytes, or texts like "4GB".

    >>> import pybasalt
    >>> with pybasalt.connect(device="cpu", threads=2) as con:
    ...     con.sql("select 6 * 7 as answer").fetchall()
    [(42,)]
    """
    return Connection(device=device, threads=threads, memory_limit=memory_limit, gpu_memory=gpu_memory,
                      database=_remote.plain(database, "database"), temp_dir=_remote.plain(temp_dir, "temp_dir"),
                      strict=strict)


_default: Connection | None = None
_default_lock = threading.Lock()


def _default_connection() -> Connection:
    global _default
    with _default_lock:
        if _default is None:
            _default = connect()
        return _default


def _after_fork() -> None:
    global _default, _default_lock
    _default_lock = threading.Lock()
    _default = None


os.register_at_fork(after_in_child=_after_fork)


def sql(query: str, parameters: Parameters | None = None) -> Relation:
    """A query in the session that the module keeps; see `Connection.sql`.

    >>> import pybasalt
    >>> pybasalt.sql("select $a + $b as c", {"a": 1, "b": 2}).fetchall()
    [(3,)]
    """
    return _default_connection().sql(query, parameters, _depth=2)
