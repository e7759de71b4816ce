"""Ray: datasets of .basalt files read and written by many machines."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow
import ray.data
from ray.data import Datasink, Datasource, ReadTask
from ray.data.block import BlockMetadata

import pybasalt
from pybasalt._files import File, Filter, Paths, _list, open, read, write
from pybasalt._split import PARTS
from pybasalt._split import split as split_query
from pybasalt.expressions import Expression, quote_identifier, quote_text


class _Files(Datasource):
    """A read task for each group of chunks; what they hold is told from footers."""

    def __init__(self, paths: Paths, columns: Sequence[str] | None, filter: Filter | None) -> None:
        super().__init__()
        self._paths = expand(paths)
        self._columns = None if columns is None else list(columns)
        self._filter = filter.sql if isinstance(filter, Expression) else filter

    def estimate_inmemory_data_size(self) -> int | None:
        return sum(self._plain_bytes(open(path)) for path in self._paths)

    def _plain_bytes(self, file: File) -> int:
        return sum(column["plain_bytes"] for column in file.columns
                   if self._columns is None or column["name"].split(".")[0] in self._columns)

    def get_read_tasks(self, parallelism: int, per_task_row_limit: int | None = None,
                       data_context: Any = None) -> list[ReadTask]:
        tasks = []
        for path in self._paths:
            file = open(path)
            share = self._plain_bytes(file) / max(file.num_rows, 1)
            for begin, end in self._parts(file, parallelism):
                metadata = BlockMetadata(num_rows=None if self._filter else end - begin,
                                         size_bytes=int(share * (end - begin)), exec_stats=None, input_files=(path,))
                tasks.append(ReadTask(_reader(path, self._columns, self._filter, begin, end, file.num_rows), metadata,
                                      per_task_row_limit=per_task_row_limit))
        return tasks

    def _parts(self, file: File, parallelism: int) -> list[tuple[int, int]]:
        """Chunks of a file in so many groups that all files together have as many as were asked for."""
        wanted = max(1, -(-parallelism // len(self._paths)))
        size = -(-len(file.chunk_rows) // wanted)
        parts, begin = [], 0
        for first in range(0, len(file.chunk_rows), max(size, 1)):
            rows = sum(file.chunk_rows[first : first + size])
            parts.append((begin, begin + rows))
            begin += rows
        return parts


def _reader(path: str, columns: list[str] | None, filter: str | None, begin: int, end: int,
            rows: int) -> Callable[[], Iterable[pyarrow.Table]]:
    def work() -> Iterable[pyarrow.Table]:
        part = None if (begin, end) == (0, rows) else (begin, end)
        # One thread: Ray runs as many tasks as there are cores.
        yield read(path, columns, filter, part, threads=1).arrow()

    return work


def expand(paths: Paths | File) -> list[str]:
    """The files of folders and globs, one by one."""
    import glob

    out: list[str] = []
    for path in _list(paths):
        if isinstance(path, str) and os.path.isdir(path):
            out += sorted(glob.glob(os.path.join(path, "**", "*.basalt"), recursive=True))
        elif isinstance(path, str) and glob.has_magic(path) and not os.path.exists(path):
            out += sorted(glob.glob(path, recursive=True))
        else:
            out.append(path.path if isinstance(path, File) else path)
    return out


def read_dataset(paths: Paths, columns: Sequence[str] | None = None, filter: Filter | None = None,
                 **options: Any) -> ray.data.Dataset:
    """Files as a dataset of Ray's. `options` are those of ray.data.read_datasource.

    >>> _ = ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    >>> _ = pybasalt.write({"a": [1, 2, 3]}, "t.basalt")
    >>> read_dataset("t.basalt", filter="a > 1").count()
    2
    >>> ray.shutdown()
    """
    return ray.data.read_datasource(_Files(paths, columns, filter), **options)


class _Folder(Datasink[list[str]]):
    """Files of a folder: each task writes its own under a hidden name; all get theirs when all are complete."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        self._folder = os.path.abspath(folder)
        self._hidden = os.path.join(self._folder, f".{uuid.uuid4().hex}")
        self._options = options

    def on_write_start(self, schema: Any = None) -> None:
        os.makedirs(self._hidden)

    def write(self, blocks: Iterable[Any], ctx: Any) -> list[str]:
        tables = [table for table in (_to_arrow(block) for block in blocks) if table.num_rows > 0]
        if not tables:
            return []
        # A task that runs again, after its worker was lost, writes another file; only one of both is told of.
        path = os.path.join(self._hidden, f"part-{ctx.task_idx:06d}-{uuid.uuid4().hex[:8]}.basalt")
        write(pyarrow.concat_tables(tables), path, **{"threads": 1, **self._options})
        return [path]

    def on_write_complete(self, write_result: Any) -> None:
        for paths in write_result.write_returns:
            for path in paths:
                os.rename(path, os.path.join(self._folder, os.path.basename(path)))
        self._clean()

    def on_write_failed(self, error: Exception) -> None:
        self._clean()

    def _clean(self) -> None:
        import shutil

        shutil.rmtree(self._hidden, ignore_errors=True)


def _to_arrow(block: Any) -> pyarrow.Table:
    return block if isinstance(block, pyarrow.Table) else pyarrow.Table.from_pandas(block, preserve_index=False)


def write_basalt(dataset: ray.data.Dataset, folder: str | os.PathLike[str], **options: Any) -> None:
    """Writes a dataset of Ray's as files of a folder, which appear when all are complete. `options` as for `write`."""
    dataset.write_datasink(_Folder(os.fspath(folder), options))


def _partial(statement: str, table: str, files: list[str], others: dict[str, list[str]]) -> pyarrow.Table:
    """A part's rows; the other tables are read as they are."""
    with pybasalt.connect(device="auto", threads=1) as con:
        for name, paths in {**others, table: files}.items():
            literals = ", ".join(quote_text(path) for path in paths)
            con.sql(f"create view {quote_identifier(name)} as select * from read_basalt([{literals}])")
        return con.sql(statement).arrow()


# Made once: Ray sends each function that it does not know yet to the workers.
_remote_partial = ray.remote(max_retries=3)(_partial)


def sql(query: str, tables: Mapping[str, Paths], *, split: str | None = None, tasks: int = 0) -> pyarrow.Table:
    """Runs a query of aggregates by many workers: each takes some files of one table, and one statement merges.

    `tables` are paths by name. The table that is split, `split` or else the one with most bytes, has a file at least
    for each task; others are read by every worker, as for a broadcast join. Raises ValueError with the reason where a
    query is not a merge of what parts give."""
    found = {name: [os.path.abspath(path) for path in expand(paths)] for name, paths in tables.items()}
    table = split or max(found, key=lambda name: sum(os.path.getsize(path) for path in found[name]))
    partial, merge = split_query(query, table)
    files = found.pop(table)
    count = min(len(files), tasks or max(1, int(ray.cluster_resources().get("CPU", 1))) * 2)
    parts = ray.get([_remote_partial.remote(partial, table, files[i::count], found) for i in range(count)])
    with pybasalt.connect(device="cpu") as con:
        con.register(PARTS, pyarrow.concat_tables(parts, promote_options="permissive"))
        return con.sql(merge).arrow()
