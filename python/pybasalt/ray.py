"""Ray: datasets of .basalt files read and written by many machines."""

from __future__ import annotations

import inspect
import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
import ray
import ray.data
from ray.data import Datasink, Datasource, ReadTask
from ray.data.block import BlockMetadata

import pybasalt
from pybasalt import _remote
from pybasalt._files import (
    File,
    Filter,
    Paths,
    _columns,
    _condition,
    _list,
    _pattern_of,
    _run,
    _select,
    _source,
    files_of,
    read,
    write,
)
from pybasalt._options import bytes_of, count_of, threads_of
from pybasalt._split import PARTS
from pybasalt._split import split as split_query
from pybasalt._table import Table
from pybasalt.expressions import quote_identifier, quote_text


@dataclass(frozen=True)
class _Limits:
    """What a task may take. It works with as many threads as Ray counts cores for it."""

    threads: int = 1
    memory_limit: int = 0
    num_gpus: float = 0

    @staticmethod
    def of(threads: int, memory_limit: int | str, num_gpus: float) -> _Limits:
        if num_gpus < 0:
            raise ValueError(f"num_gpus is not negative, as {num_gpus} is")
        return _Limits(max(threads_of(threads), 1), bytes_of(memory_limit), num_gpus)

    @property
    def ray(self) -> dict[str, float]:
        return {"num_cpus": self.threads, **({"num_gpus": self.num_gpus} if self.num_gpus else {})}

    def connect(self) -> pybasalt.Connection:
        """A session on the worker, and on its GPU if it was given one."""
        has_gpu = bool(ray.get_runtime_context().get_accelerator_ids().get("GPU"))
        con = pybasalt.connect(device="auto" if has_gpu else "cpu", threads=self.threads, memory_limit=self.memory_limit)
        con.execute("set TimeZone = 'UTC'")  # as files name it; machines may differ
        return con


class _Table:
    """The files of some paths and how one or some of them are read: with the dataset's columns of partitions."""

    def __init__(self, paths: Paths) -> None:
        listed = _list(paths)
        self.files = [_absolute(file) for file in files_of(paths)]
        self.paths = [file.path for file in self.files]
        self._options: dict[str, object] = {"hive_partitioning": False}
        self.has_partitions = False
        if any(isinstance(path, File) or _pattern_of(path) is None for path in listed):
            return
        # One file alone might guess another type of a partition's name.
        own = {name for file in self.files for name in file.column_names}
        source = _source([_pattern_of(path) or path for path in listed if isinstance(path, str)], {})
        with pybasalt.connect(device="cpu") as con:
            found = [row[:2] for row in con.sql(f"describe select * from {source}").fetchall()]
        of_folders = [f"{quote_text(name)}: {quote_text(kind)}" for name, kind in found if name not in own]
        if of_folders:
            self._options = {"hive_partitioning": True, "hive_types": "{" + ", ".join(of_folders) + "}"}
            self.has_partitions = True

    def source(self, paths: Sequence[str], rows: tuple[int, int] | None = None) -> str:
        """Some of the files, or some rows of each, as a table of SQL's."""
        part = {} if rows is None else {"first_row": rows[0], "rows": rows[1] - rows[0]}
        return _source(paths, {**self._options, **part})

    @property
    def num_bytes(self) -> int:
        return sum(file.num_bytes for file in self.files)


def _absolute(file: File) -> File:
    return file if _remote.is_remote(file.path) else pybasalt.open(os.path.abspath(file.path))


class _Files(Datasource):
    """A read task for each group of chunks; what they hold is told from footers."""

    def __init__(self, paths: Paths, columns: Sequence[str] | None, filter: Filter | None, limits: _Limits) -> None:
        super().__init__()
        self._table = _Table(paths)
        self._columns = _columns(columns)
        self._filter = None if filter is None else _condition(filter)
        self._limits = limits

    def estimate_inmemory_data_size(self) -> int | None:
        return sum(self._plain_bytes(file) for file in self._table.files)

    def _plain_bytes(self, file: File) -> int:
        return sum(column["plain_bytes"] for column in file.columns
                   if self._columns is None or column["name"].split(".")[0] in self._columns)

    def get_read_tasks(self, parallelism: int, per_task_row_limit: int | None = None,
                       data_context: Any = None) -> list[ReadTask]:
        tasks = []
        for file in self._table.files:
            share = self._plain_bytes(file) / max(file.num_rows, 1)
            for begin, end in self._parts(file, parallelism):
                metadata = BlockMetadata(num_rows=None if self._filter else end - begin, exec_stats=None,
                                         size_bytes=int(share * (end - begin)), input_files=(file.path,))
                rows = None if (begin, end) == (0, file.num_rows) else (begin, end)
                tasks.append(ReadTask(self._reader(file.path, rows), metadata, per_task_row_limit=per_task_row_limit))
        return tasks

    def _reader(self, path: str, rows: tuple[int, int] | None) -> Callable[[], Iterable[pyarrow.Table]]:
        limits, columns = self._limits, self._columns
        query = _select(columns, self._table.source([path], rows), self._filter)
        in_sql = self._filter is not None or self._table.has_partitions

        def work() -> Iterable[pyarrow.Table]:
            if limits.num_gpus:
                with limits.connect() as con:
                    yield con.sql(query).arrow()
            elif in_sql:
                yield Table(_run(query, limits.threads, limits.memory_limit).all()).arrow()
            else:
                yield read(path, columns, rows=rows, threads=limits.threads, memory_limit=limits.memory_limit).arrow()

        return work

    def _parts(self, file: File, parallelism: int) -> list[tuple[int, int]]:
        """Chunks of a file in so many groups that all files together have as many as were asked for. A GPU takes a file
        at once: its kernels run over whole files."""
        if self._limits.num_gpus:
            return [(0, file.num_rows)]
        wanted = max(1, -(-parallelism // len(self._table.files)))
        size = -(-len(file.chunk_rows) // wanted)
        parts, begin = [], 0
        for first in range(0, len(file.chunk_rows), max(size, 1)):
            rows = sum(file.chunk_rows[first : first + size])
            parts.append((begin, begin + rows))
            begin += rows
        return parts


def read_dataset(paths: Paths, columns: Sequence[str] | None = None, filter: Filter | None = None, *, threads: int = 1,
                 memory_limit: int | str = 0, num_gpus: float = 0, **options: Any) -> ray.data.Dataset:
    """Files as a dataset of Ray's: of globs, folders and URLs, too, with the columns that folders named `key=value` give.

    Each task has `threads` cores, and with `num_gpus` a worker that has them, where it decodes and filters whole files.
    `options` are those of ray.data.read_datasource.

    >>> _ = ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    >>> _ = pybasalt.write({"a": [1, 2, 3]}, "t.basalt")
    >>> read_dataset("t.basalt", filter="a > 1").count()
    2
    >>> ray.shutdown()
    """
    limits = _Limits.of(threads, memory_limit, num_gpus)
    # Older versions of Ray take them in a dict.
    by_name = "num_gpus" in inspect.signature(ray.data.read_datasource).parameters
    arguments = limits.ray if by_name else {"ray_remote_args": limits.ray}
    return ray.data.read_datasource(_Files(paths, columns, filter, limits), **{**arguments, **options})


class _Folder(Datasink[list[str]]):
    """Files of a folder: each task writes its own under a hidden name; all get theirs when all are complete."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        self._folder = folder.rstrip("/") if _remote.is_remote(folder) else os.path.abspath(folder)
        self._hidden = f"{self._folder}/.{uuid.uuid4().hex}"
        self._options = options

    def on_write_start(self, schema: Any = None) -> None:
        _remote.make_folder(self._hidden)

    def write(self, blocks: Iterable[Any], ctx: Any) -> list[str]:
        tables = [table for table in (_to_arrow(block) for block in blocks) if table.num_rows > 0]
        if not tables:
            return []
        # A task that runs again, after its worker was lost, writes another file; only one of both is told of.
        name = f"part-{ctx.task_idx:06d}-{uuid.uuid4().hex[:8]}.basalt"
        write(pyarrow.concat_tables(tables), f"{self._hidden}/{name}", **{"threads": 1, **self._options})
        return [name]

    def on_write_complete(self, write_result: Any) -> None:
        for names in write_result.write_returns:
            for name in names:
                _remote.move(f"{self._hidden}/{name}", f"{self._folder}/{name}")
        _remote.remove_folder(self._hidden)

    def on_write_failed(self, error: Exception) -> None:
        _remote.remove_folder(self._hidden)


def _to_arrow(block: Any) -> pyarrow.Table:
    return block if isinstance(block, pyarrow.Table) else pyarrow.Table.from_pandas(block, preserve_index=False)


def write_basalt(dataset: ray.data.Dataset, folder: str | os.PathLike[str], **options: Any) -> None:
    """Writes a dataset of Ray's as files of a folder, which appear when all are complete. `options` as for `write`."""
    dataset.write_datasink(_Folder(os.fspath(folder), options))


def _partial(statement: str, views: dict[str, str], limits: _Limits) -> pyarrow.Table:
    """A part's rows; the other tables are read as they are."""
    with limits.connect() as con:
        for name, source in views.items():
            con.sql(f"create view {quote_identifier(name)} as select * from {source}")
        return con.sql(statement).arrow()


# Made once: Ray sends each function that it does not know yet to the workers.
_remote_partial = ray.remote(max_retries=3)(_partial)


def sql(query: str, tables: Mapping[str, Paths], *, split: str | None = None, tasks: int = 0, threads: int = 1,
        memory_limit: int | str = 0, num_gpus: float = 0) -> pyarrow.Table:
    """Runs a query of aggregates by many workers: each takes some files of one table, and one statement merges.

    `tables` are paths by name. The table that is split, `split` or else the one with most bytes, has a file at least
    for each task; others are read by every worker, as for a broadcast join. Each task has `threads` cores, and
    `num_gpus` where they are asked for. Raises ValueError with the reason where a query is not a merge of what parts
    give."""
    limits = _Limits.of(threads, memory_limit, num_gpus)
    if split is not None and split not in tables:
        raise ValueError(f"there is no table {split} to split")
    found = {name: _Table(paths) for name, paths in tables.items()}
    table = split or max(found, key=lambda name: found[name].num_bytes)
    partial, merge = split_query(query, table)
    paths = found[table].paths
    others = {name: other.source(other.paths) for name, other in found.items() if name != table}
    cores = int(ray.cluster_resources().get("CPU", 1))
    count = min(len(paths), count_of(tasks, "tasks") or max(1, cores // limits.threads) * 2)
    task = _remote_partial.options(**limits.ray)
    parts = ray.get([task.remote(partial, {**others, table: found[table].source(paths[i::count])}, limits)
                     for i in range(count)])
    with pybasalt.connect(device="cpu") as con:
        con.register(PARTS, pyarrow.concat_tables(parts, promote_options="permissive"))
        return con.sql(merge).arrow()
