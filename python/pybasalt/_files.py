"""Reading and writing .basalt files and datasets of them."""

from __future__ import annotations

import operator
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pybasalt import _core, _planner, _remote
from pybasalt._errors import ArgumentError, NotFoundError, about
from pybasalt._options import bytes_of, count_of, one_of, speed_of, texts_by_name, texts_of, threads_of
from pybasalt._progress import ProgressCallback, share_of, shown_writing
from pybasalt._table import Rows, Scan, Schema, Table, Tabular
from pybasalt._values import value_of
from pybasalt.device import Column
from pybasalt.expressions import Expression, quote_identifier, quote_text

if TYPE_CHECKING:
    import pyarrow

#: One path or several: files, globs, folders of files.
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
#: A condition in SQL, or an expression of `pybasalt.col`.
Filter = str | Expression
#: Of many files; reading one waits for its storage most of the time.
_FOOTERS_AT_ONCE = 16


class File(Rows):
    """An open file. Only its footer has been read; see `pybasalt.open`."""

    def __init__(self, core: _core.File) -> None:
        self._core = core
        # SQL opens it anew, also where the working directory is another one by then.
        self._place = core.name if _remote.is_remote(core.name) else os.path.abspath(core.name)

    @property
    def path(self) -> str:
        """The path that it was opened by."""
        return self._core.name

    @property
    def num_bytes(self) -> int:
        """How long the file is."""
        return self._core.bytes

    @property
    def chunk_rows(self) -> list[int]:
        """The rows of each chunk: the units of writing, caching and transfer."""
        return self._core.chunk_rows

    @property
    def sort_columns(self) -> list[str]:
        """The columns by which its rows are sorted."""
        return self._core.sort_columns

    @property
    def metadata(self) -> dict[str, str]:
        """What its writer noted."""
        return dict(self._core.metadata)

    @property
    def created_by(self) -> str:
        """The program that wrote it."""
        return self._core.created_by

    @property
    def columns(self) -> list[dict[str, Any]]:
        """Of each column, nested ones too: name, type, encodings, encoded_bytes, plain_bytes, statistics."""
        columns = self._core.columns()
        for column in columns:
            column["statistics"] = _typed(column["statistics"], column["type"])
        return columns

    def statistics(self, column: str) -> dict[str, Any]:
        """Rows, null_count, min and max of a column, from the footer. `exact` tells whether min and max occur.

        Where Python has no such values, as moments beyond its years, they are texts."""
        if not isinstance(column, str):
            raise TypeError(f"column is a name, not {type(column).__name__}")
        with _told_by_case(self):
            return _typed(self._core.statistics(column), self._kinds[column])

    @cached_property
    def _kinds(self) -> dict[str, str]:
        return dict(self.schema)

    def read(self, columns: Sequence[str] | None = None, filter: Filter | None = None, **options: Any) -> Table:
        """As `pybasalt.read`."""
        return read(self, columns, filter, **options)

    def scan(self, columns: Sequence[str] | None = None, filter: Filter | None = None, **options: Any) -> Scan:
        """As `pybasalt.scan`."""
        return scan(self, columns, filter, **options)

    def __getitem__(self, column: str) -> Column:
        return self.column(column)

    def column(self, name: str, device: str = "auto", threads: int = 0) -> Column:
        """A column as an array, decoded where it is wanted: `torch.from_dlpack(file["x"])`."""
        if name not in self.column_names:
            raise KeyError(name)
        threads = threads_of(threads)
        return Column(lambda: _core.rows_on_device([self._core], [name], device, threads), name)

    def __iter__(self) -> Iterator[Table]:
        return iter(self.scan())

    def _first(self, most: int) -> list[tuple[Any, ...]]:
        return self.read(rows=most)._first(most)

    def _parts(self) -> Iterator[pyarrow.Table]:
        return (batch.arrow() for batch in self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self._place,)

    def __repr__(self) -> str:
        return f"<pybasalt.File {self.path}: {self.num_rows} rows, {self.schema!r}>"


def _typed(statistics: dict[str, Any], kind: str) -> dict[str, Any]:
    """Statistics of a column of some type, with Python's values."""
    return {**statistics, "min": value_of(statistics["min"], kind), "max": value_of(statistics["max"], kind)}


def open(path: str | os.PathLike[str]) -> File:
    """Opens a file: its schema, sizes, encodings and statistics are known at once, its rows are read when asked for.

    >>> import pybasalt
    >>> _ = pybasalt.write(pybasalt.sql("select range as a, range % 7 as b from range(10000)"), "t.basalt")
    >>> file = pybasalt.open("t.basalt")
    >>> file.num_rows, file.schema.names, file.statistics("b")["max"]
    (10000, ['a', 'b'], 6)
    """
    text = _remote.plain(path)
    if not text:
        raise ValueError("the path is empty")
    with about(text):
        return File(_remote.open_remote(text) if _remote.is_remote(text) else _core.open(text))


def _list(paths: Paths | File | Sequence[File]) -> list[str | File]:
    many = list(paths) if isinstance(paths, Iterable) and not isinstance(paths, (str, bytes, os.PathLike, File)) else [paths]
    listed = [path if isinstance(path, File) else _remote.plain(path) for path in many]
    if not listed or "" in listed:
        raise ValueError("the path is empty" if listed else "a path is needed")
    return listed


def _pattern_of(path: str) -> str | None:
    """The pattern that a path stands for; None where it names one file. A folder is a dataset: of its own files, or else
    of those in folders of partitions."""
    if _remote.is_remote(path):
        return path if _remote.is_pattern(path) else _remote.folder_pattern(path)
    if os.path.isdir(path):
        own = any(name.endswith(".basalt") for name in os.listdir(path))
        return os.path.join(path, "*.basalt" if own else "**/*.basalt")
    return path if any(sign in path for sign in "*?[") and not os.path.exists(path) else None


def _check_alike(files: list[_core.File]) -> None:
    """Refuses files of other columns, as where they are read without SQL."""
    if len(files) > 1:
        _core.scan_files(files, [], 1, 0)


@contextmanager
def _told_by_case(file: File) -> Iterator[None]:
    """A column that is not there says which one differs in capitals only: SQL would find it, lists of columns do not."""
    with about(file.path):
        try:
            yield
        except ArgumentError as error:
            asked = error.column or ""
            near = [name for name in file.column_names if name.lower() == asked.lower()]
            if not near or asked in file.column_names:
                raise
            raise ArgumentError(f"{file.path}: there is no column {asked}: did you mean {' or '.join(near)}?",
                                error.code) from None


def _is_named(paths: Sequence[str | File]) -> bool:
    """Whether the files are named one by one; patterns and folders are SQL's to expand."""
    return all(isinstance(path, File) or _pattern_of(path) is None for path in paths)


def _opened(paths: Sequence[str | File]) -> list[File]:
    return [path if isinstance(path, File) else open(path) for path in paths]


def file_names(paths: Paths | File) -> list[str | File]:
    """The files of folders, globs and URLs, one by one."""
    import glob

    found: list[str | File] = []
    for path in _list(paths):
        pattern = None if isinstance(path, File) else _pattern_of(path)
        if pattern is None:
            found.append(path)
        elif _remote.is_remote(pattern):
            found += _remote.find(pattern)
        else:
            found += sorted(glob.glob(pattern, recursive=True))
    if not found:
        raise NotFoundError(f"{paths}: there are no files", "input/output")
    return found


def files_of(paths: Paths | File) -> list[File]:
    """The files of folders, globs and URLs, open. Their footers are read at the same time."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        return list(pool.map(lambda path: path if isinstance(path, File) else open(path), file_names(paths)))


def _columns(columns: Sequence[str] | None) -> list[str] | None:
    if columns is None:
        return None
    if isinstance(columns, str):
        raise TypeError("columns is a list of names")
    names = list(columns)
    if not names:
        raise ValueError("columns names none: leave it out for all of them")
    return texts_of(names, "columns")


def _source(paths: Iterable[str], options: Mapping[str, object]) -> str:
    """The paths as a table of SQL's. Options that are None are left out."""
    literals = ", ".join(quote_text(path) for path in paths)
    named = "".join(f", {name} = {value}" for name, value in options.items() if value is not None)
    return f"read_basalt([{literals}]{named})"


def _condition(filter: Filter) -> str:
    if isinstance(filter, Expression):
        return filter.sql
    if not isinstance(filter, str):
        raise TypeError("a filter is a string of SQL or an expression of pybasalt.col")
    _planner.check_condition(filter)
    return filter


def _select(columns: Sequence[str] | None, source: str, filter: Filter | None) -> str:
    names = "*" if columns is None else ", ".join(quote_identifier(name) for name in columns)
    # On a line of its own: the condition may end in a comment.
    return f"select {names} from {source}" + ("" if filter is None else f" where (\n{_condition(filter)}\n)")


_MOST_ROWS = 2**62


def _row_range(rows: int | slice | range | tuple[int, int] | None) -> tuple[int, int] | None:
    if rows is None:
        return None
    if isinstance(rows, (slice, range)):
        begin, end, step = rows.start or 0, rows.stop, rows.step or 1
    elif isinstance(rows, (tuple, list)):
        (begin, end), step = rows, 1
    else:
        begin, end, step = 0, rows, 1
    begin, end = operator.index(begin), _MOST_ROWS if end is None else min(operator.index(end), _MOST_ROWS)
    if step != 1 or begin < 0 or end < begin:
        raise ValueError("rows is a number, or a range of row numbers that are not negative and rise by 1")
    return begin, end


def _run(sql: str, threads: int, memory_limit: int, streamed: bool = True) -> _core.Reader:
    reader = _planner.session(threads).scan(sql, threads, memory_limit)
    if reader is not None:
        return reader
    session = _planner.session(threads, memory_limit)
    return session.stream(sql, []) if streamed else session.execute(sql, [], None).rows.reader()


def _scan(paths: Paths | File, columns: Sequence[str] | None, filter: Filter | None, rows: tuple[int, int] | None,
          threads: int, memory_limit: int | str, partitions: Mapping[str, bool | None]) -> _core.Reader:
    threads, memory_limit, columns = threads_of(threads), bytes_of(memory_limit), _columns(columns)
    listed = _list(paths)
    options: dict[str, object] = dict(partitions)
    if _is_named(listed):
        files = _opened(listed)
        cores = [file._core for file in files]
        if filter is None and rows is None and all(value is None for value in options.values()):
            with _told_by_case(files[0]):
                return _core.scan_files(cores, list(columns or []), threads, memory_limit)
        if not options.get("union_by_name"):
            _check_alike(cores)
        # Files that are named one by one have their own columns, whatever their folders are called.
        if options.get("hive_partitioning") is None:
            options["hive_partitioning"] = False
        listed = list(files)
    of_one_file = rows is not None and len(listed) == 1 and isinstance(listed[0], File)
    if rows is not None and of_one_file:
        options.update(first_row=rows[0], rows=rows[1] - rows[0])
    with ExitStack() as names:
        source = _source((_name_in_sql(path, names) for path in listed), options)
        if rows is not None and not of_one_file:
            source = f"(select * from {source} limit {rows[1] - rows[0]} offset {rows[0]})"
        # Open files that are far away have their names only until this ends.
        streamed = not any(isinstance(path, File) and _remote.is_remote(path.path) for path in listed)
        return _run(_select(columns, source, filter), threads, memory_limit, streamed)


def schema_of(paths: Paths, threads: int) -> Schema:
    """Names and types of what `scan` gives. No rows are read, where DuckDB would read them all, either."""
    listed = _list(paths)
    if _is_named(listed):
        return scan(paths, threads=threads).schema
    with ExitStack() as names:
        sql = _select(None, _source((_name_in_sql(path, names) for path in listed), {}), None)
        session = _planner.session(threads_of(threads))
        reader = session.scan(sql, threads, 0) or session.execute(f"{sql} limit 0", [], None).rows.reader()
        return Scan(reader).schema


def _name_in_sql(path: str | File, names: ExitStack) -> str:
    """What statements call a path or a file. An open file that is far away is not opened again."""
    if not isinstance(path, File):
        return _pattern_of(path) or path
    return names.enter_context(_remote.named(path._core)) if _remote.is_remote(path.path) else path._place


@contextmanager
def _named_file(file: File) -> Iterator[str]:
    """A file as a table of SQL's meanwhile."""
    with ExitStack() as names:
        yield _source([_name_in_sql(file, names)], {"hive_partitioning": False})


def scan(path: Paths | File, columns: Sequence[str] | None = None, filter: Filter | None = None, *,
         hive_partitioning: bool | None = None, union_by_name: bool | None = None, threads: int = 0,
         memory_limit: int | str = 0) -> Scan:
    """Reads batches of rows, in the order of the files, while others are decoded ahead. Arguments as for `read`.

    >>> import pybasalt
    >>> _ = pybasalt.write(pybasalt.sql("select range as a from range(100000)"), "t.basalt")
    >>> sum(batch.num_rows for batch in pybasalt.scan("t.basalt", filter="a >= 500"))
    99500
    """
    partitions = {"hive_partitioning": hive_partitioning, "union_by_name": union_by_name}
    return Scan(_scan(path, columns, filter, None, threads, memory_limit, partitions))


def read(path: Paths | File, columns: Sequence[str] | None = None, filter: Filter | None = None,
         rows: int | slice | range | tuple[int, int] | None = None, *, hive_partitioning: bool | None = None,
         union_by_name: bool | None = None, threads: int = 0, memory_limit: int | str = 0) -> Table:
    """Reads rows of a file, of several, of a glob or of a folder.

    `filter` is a condition in SQL or an expression (`pybasalt.col("x") > 3`): statistics skip what it cannot hold for.
    `rows` is a number of first rows or a range of row numbers, counted before the filter. In globs and folders, folders
    named `key=value` become columns. `threads`: 0 takes all cores. `memory_limit`: bytes that rows may take while they wait.

    >>> import pybasalt
    >>> _ = pybasalt.write(pybasalt.sql("select range as a, range % 2 = 0 as even from range(10)"), "t.basalt")
    >>> pybasalt.read("t.basalt", ["a"], filter="even and a > 3").fetchall()
    [(4,), (6,), (8,)]
    >>> pybasalt.read("t.basalt", ["a"], filter=pybasalt.col("a") > 7, rows=9).fetchall()
    [(8,)]
    """
    partitions = {"hive_partitioning": hive_partitioning, "union_by_name": union_by_name}
    wanted = _row_range(rows)
    listed = _list(path)
    # Whole chunks, where nobody asks for less or waits for some of them.
    whole = wanted is not None or (bytes_of(memory_limit) == 0 and hive_partitioning is None and union_by_name is None)
    if whole and filter is None and len(listed) == 1 and _is_named(listed):
        (file,), (begin, end), names = _opened(listed), wanted or (0, _MOST_ROWS), _columns(columns) or []
        with _told_by_case(file):
            return Table(file._core.read_rows(names, begin, end - begin, threads_of(threads), bytes_of(memory_limit)))
    return Table(_scan(path, columns, filter, wanted, threads, memory_limit, partitions).all())


class Summary:
    """What was written: rows, chunks, bytes, and for each column its encodings and sizes."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.rows: int = values["rows"]
        self.chunks: int = values["chunks"]
        self.file_bytes: int = values["file_bytes"]
        self.plain_bytes: int = values["plain_bytes"]
        self.columns: list[dict[str, Any]] = values["columns"]
        #: What the rows' source holds otherwise than the file.
        self.notices: list[str] = values["notices"]

    def __repr__(self) -> str:
        return f"<pybasalt.Summary: {self.rows} rows, {self.plain_bytes} bytes in {self.file_bytes}>"


#: A notice of a column that is not found under its own name.
_RENAMED = ": its name was "


def _summary(values: dict[str, Any], names: Iterable[str] = ()) -> Summary:
    """What was written. Warns the caller of the package, wherever he is, of columns that have other names. `names` are
    those that DuckDB was given: it does not tell which ones it changed."""
    summary = Summary(values)
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            summary.notices.append(f"a column has another name in the file{_RENAMED}{name}, which differs from an earlier "
                                   "one in case only or not at all")
        seen.add(name.lower())
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__):
        frame, level = frame.f_back, level + 1
    for notice in summary.notices:
        if _RENAMED in notice:
            warnings.warn(notice, UserWarning, stacklevel=level)
    return summary


def _write_arguments(encoding: Mapping[str, str] | None, effort: str, purpose: str, link: float | None,
                     sort_by: str | Sequence[str] | None, device: str, threads: int, memory_limit: int | str,
                     append: bool, chunk_rows: int, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    if link is not None and purpose != "transfer":
        raise ValueError("link says how fast data travels to a GPU, which matters with purpose='transfer' only")
    return {
        "encoding": texts_by_name(encoding, "encoding"),
        "effort": one_of(effort, "effort", ("fast", "balanced", "best")),
        "purpose": one_of(purpose, "purpose", ("balanced", "resident", "transfer", "disk")),
        "link": speed_of(link, "link"),
        "sort_by": [sort_by] if isinstance(sort_by, str) else texts_of([] if sort_by is None else sort_by, "sort_by"),
        "device": one_of(device, "device", ("cpu", "cuda")),
        "threads": threads_of(threads),
        "memory_limit": bytes_of(memory_limit),
        "append": bool(append),
        "chunk_rows": count_of(chunk_rows, "chunk_rows"),
        "metadata": texts_by_name(metadata, "metadata"),
    }


def _check_target(path: str | os.PathLike[str], append: bool) -> None:
    text = _remote.plain(path)
    is_remote = _remote.is_remote(text)
    if append and is_remote:
        raise ValueError("append adds to a folder of this machine: a file behind a URL is written under a name of its own")
    name = text.partition("?")[0] if is_remote else text
    if not append and not name.lower().endswith(".basalt"):
        raise ValueError(f"{text}: the name does not end in .basalt, and no other format is written. For a folder of files: "
                         "append=True")


@contextmanager
def _written(path: str | os.PathLike[str]) -> Iterator[str]:
    """Where a file is written that is to be at a path, or in a folder."""
    target = _remote.plain(path)
    with about(target), _remote.written(target) as local:
        yield local


def _sorted(query: str, columns: Iterable[str]) -> str:
    """In the order of a file, whatever the connection is set to: values of enums as the texts that they are written as."""
    order = ", ".join(f"case when typeof({name}) like 'ENUM(%' then {name}::varchar end nulls last, {name} nulls last"
                      for name in map(quote_identifier, columns))
    return f"select * from {_inner(query)} order by {order}" if order else query


def _inner(query: str) -> str:
    """A query as a table of another. On lines of its own: it may end in a comment."""
    return "(\n" + query.rstrip().rstrip(";") + "\n)"


def _with_decimals(query: str, columns: Iterable[tuple[str, str]]) -> str:
    """Sums of integers, which are HUGEINT, as the decimals that Arrow hands them out as: it has no integers so wide."""
    wide = [quote_identifier(name) for name, kind in columns if kind == "HUGEINT"]
    if not wide:
        return query
    replaced = ", ".join(f"{name}::decimal(38, 0) as {name}" for name in wide)
    return f"select * replace ({replaced}) from {_inner(query)}"


def _known_rows(table: Any) -> int | None:
    """How many rows a table has, where that is known without running anything."""
    if isinstance(table, Rows):
        return table._known_rows
    return len(table) if hasattr(table, "__len__") else None


def _names_of(table: Any) -> list[str]:
    """The columns' names, where a table tells them as pyarrow, pandas and Polars do."""
    for attribute in ("column_names", "columns"):
        if hasattr(table, attribute):
            return [name for name in getattr(table, attribute) if isinstance(name, str)]
    return []


def as_table(table: Any) -> Any:
    """Something that speaks Arrow, of what does or of what pyarrow makes a table of: a dict of columns, a list of rows."""
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        # A polars.Object column is handed out as the places of its objects in memory.
        if type(table).__module__.startswith("polars") and any(str(kind) == "Object" for kind in getattr(table, "dtypes", ())):
            raise TypeError("a column of Python objects (polars.Object) has no type here")
        return table
    if hasattr(table, "collect") and hasattr(table, "collect_schema"):  # a lazy frame of Polars
        return table.collect()
    if isinstance(table, (dict, list)):
        import pyarrow

        if isinstance(table, list) and not all(isinstance(row, dict) for row in table):
            raise TypeError("a table that is a list holds rows that are dicts")
        return pyarrow.table(table) if isinstance(table, dict) else pyarrow.Table.from_pylist(table)
    raise TypeError(f"{type(table).__name__} is no table: it has neither __arrow_c_stream__ nor __arrow_c_array__")


def write(table: Any, path: str | os.PathLike[str], *, encoding: Mapping[str, str] | None = None, effort: str = "balanced",
          purpose: str = "balanced", link: float | None = None, sort_by: str | Sequence[str] | None = None,
          device: str = "cpu", threads: int = 0, memory_limit: int | str = 0, append: bool = False, chunk_rows: int = 0,
          metadata: Mapping[str, str] | None = None, progress: bool | ProgressCallback | None = None) -> Summary:
    """Writes a table: of pyarrow, pandas, Polars, DuckDB, or anything else that speaks Arrow; or a dict of columns.

    The file appears under its name when it is complete; for a URL it is written to this machine first. `encoding` forces
    trees of columns, {"price": "delta(packed)"}; `effort` is fast, balanced or best; `purpose` is what the file is for:
    balanced, resident (in a GPU's memory), transfer (copied there with every query, at `link` GB/s: 55.5 if not said) or
    disk (least bytes). `sort_by` sorts by columns; `append` adds a file to a folder of them. `device` encodes on the GPU,
    to the same bytes.

    >>> import pybasalt
    >>> pybasalt.write({"a": [1, 2, 3]}, "t.basalt").rows
    3
    """
    arguments = _write_arguments(encoding, effort, purpose, link, sort_by, device, threads, memory_limit, append,
                                 chunk_rows, metadata)
    _check_target(path, append)
    return _write_table(as_table(table), path, arguments, progress)


def _write_table(source: Any, path: str | os.PathLike[str], arguments: dict[str, Any],
                 progress: bool | ProgressCallback | None) -> Summary:
    shown_as = os.fspath(path)
    if not arguments["sort_by"]:
        share = share_of(_known_rows(source))
        with shown_writing(progress, shown_as, share) as callback, _written(path) as target:
            return _summary(_core.write(source, target, arguments, callback))
    source = source._kept() if isinstance(source, Tabular) else source
    session = _planner.session(arguments["threads"])
    with (_planner.named(source) as name,
          shown_writing(progress, shown_as, lambda _: session.progress()) as callback,
          _written(path) as target):
        query = _sorted(f"select * from {name}", arguments["sort_by"])
        values = session.convert(query, target, arguments, callback)
    return _summary(values, _names_of(source))


def convert(source: str | os.PathLike[str], path: str | os.PathLike[str], *, encoding: Mapping[str, str] | None = None,
            effort: str = "balanced", purpose: str = "balanced", link: float | None = None,
            sort_by: str | Sequence[str] | None = None, device: str = "cpu", threads: int = 0, memory_limit: int | str = 0,
            append: bool = False, chunk_rows: int = 0, metadata: Mapping[str, str] | None = None,
            progress: bool | ProgressCallback | None = None) -> Summary:
    """Converts Parquet, CSV, JSON, Arrow or .basalt files, or the rows of a query, to a .basalt file.

    `source` is a path, a glob, or a query. Other arguments as for `write`.

    >>> import pybasalt
    >>> pybasalt.convert("select range as a from range(5)", "t.basalt").rows
    5
    """
    arguments = _write_arguments(encoding, effort, purpose, link, sort_by, device, threads, memory_limit, append,
                                 chunk_rows, metadata)
    session = _planner.session(arguments["threads"])
    text = _remote.plain(source, "source")
    columns: list[tuple[str, str]] = []
    if session.is_query(text):
        columns = session.describe(text)
        query = _with_decimals(text, columns)
    else:
        query = _planner.query_for_file(text)
    _check_target(path, append)
    with (shown_writing(progress, os.fspath(path), lambda _: session.progress()) as callback,
          _written(path) as target):
        values = session.convert(_sorted(query, arguments["sort_by"]), target, arguments, callback)
    return _summary(values, (name for name, _ in columns))
