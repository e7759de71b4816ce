"""PyTorch: batches of tensors from .basalt files, the next ones decoded while a step runs."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed
from torch.utils.data import IterableDataset, get_worker_info

from pybasalt import _core, _planner
from pybasalt._errors import UnsupportedError
from pybasalt._files import File, Filter, Paths, _condition, _named_file, _select, files_of
from pybasalt._options import bytes_of, count_of, one_of, threads_of
from pybasalt.device import Column

_AHEAD = 2


def _share(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Which of how many processes this is: as it was said, or else as torch.distributed knows."""
    if (rank is None) != (world_size is None):
        raise ValueError("rank and world_size are given together")
    if rank is None or world_size is None:
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            return 0, 1
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    if not 0 <= count_of(rank, "rank") < count_of(world_size, "world_size"):
        raise ValueError(f"rank is one of 0 to {world_size - 1}, not {rank}")
    return rank, world_size


class _Unit(NamedTuple):
    """A chunk of a file: what is decoded at once."""

    file: File
    chunk: int
    first_row: int
    rows: int


def _dealt(units: list[_Unit], shares: int) -> list[list[_Unit]]:
    """Units in so many shares of about as many rows: the largest first, each to whoever has fewest."""
    dealt: list[list[_Unit]] = [[] for _ in range(shares)]
    rows = [0] * shares
    for unit in sorted(units, key=lambda unit: -unit.rows) if shares > 1 else units:
        least = rows.index(min(rows))
        dealt[least].append(unit)
        rows[least] += unit.rows
    return dealt


class Batches(IterableDataset[dict[str, torch.Tensor]]):
    """Batches of tensors by column name: `for batch in Batches("train.basalt", ["x", "y"], batch_size=4096)`.

    `path` is a file, several, a glob, a folder or a URL; `filter` leaves rows out, and chunks of which none can pass.
    The unit that is decoded is a chunk: on the host into pinned memory where there is a GPU; with `device="cuda"` it
    crosses the link compressed and is decoded there. Units come shuffled with `shuffle`, as do the rows within one, in
    another order in every epoch; workers of a DataLoader take every n-th unit, and draw the order with the loader's seed.

    Of several processes that train together each takes a share of the units, with about as many rows: number `rank` of
    `world_size`, by default as torch.distributed says, if it is initialised. Without `set_epoch` a process keeps its
    units, in changing order. They may have different numbers of batches. `waited_s` adds up the time that the loop waited.

    >>> import pybasalt
    >>> _ = pybasalt.write({"x": [1.0, 2.0, 3.0]}, "t.basalt")
    >>> [batch["x"].tolist() for batch in Batches("t.basalt", ["x"], batch_size=2)]
    [[1.0, 2.0], [3.0]]
    """

    def __init__(self, path: Paths, columns: Sequence[str], *, batch_size: int = 8192, shuffle: bool = False,
                 seed: int = 0, filter: Filter | None = None, rank: int | None = None, world_size: int | None = None,
                 device: str = "cpu", threads: int = 0, memory_limit: int | str = 0) -> None:
        super().__init__()
        self.files: list[File] = files_of(path)
        self.columns = list(columns)
        self.batch_size = count_of(batch_size, "batch_size")
        if not self.columns or not self.batch_size:
            raise ValueError("batches have a column and a row at least")
        self.shuffle = shuffle
        self.seed = seed
        self.filter = None if filter is None else _condition(filter)
        self.rank, self.world_size = _share(rank, world_size)
        self.device = one_of(device, "device", ("cpu", "cuda"))
        self.threads = threads_of(threads)
        self.memory_limit = bytes_of(memory_limit)
        self.epoch = 0
        self.waited_s = 0.0
        self._units_of_epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Deals the units out to processes anew, as DistributedSampler does: the same number in all of them.

        Workers that stay from epoch to epoch (`persistent_workers`) go on with the units that they began with."""
        self._units_of_epoch = count_of(epoch, "epoch")

    def _units(self) -> list[_Unit]:
        units = []
        for file in self.files:
            first = 0
            for chunk, rows in enumerate(file.chunk_rows):
                units.append(_Unit(file, chunk, first, rows))
                first += rows
        return units

    def _tensors(self, unit: _Unit) -> dict[str, torch.Tensor]:
        return self._on_gpu(unit) if self.device == "cuda" else self._on_host(unit)

    def _on_gpu(self, unit: _Unit) -> dict[str, torch.Tensor]:
        if self.filter is None:
            rows = _core.rows_on_device([unit.file._core], self.columns, self.device, self.threads, unit.chunk)
        else:
            with _named_file(unit.file) as source:
                sql = _select(self.columns, source, self.filter)
                try:
                    rows, _ = _planner.session(self.threads).on_device(sql, [], self.device, unit.chunk)
                except UnsupportedError:  # a filter that DuckDB has to evaluate
                    return {name: tensor.to(self.device) for name, tensor in self._on_host(unit).items()}
        # Few rows may have stayed on the host.
        return {name: Column(lambda: rows, name, place).torch().to(self.device) for place, name in enumerate(self.columns)}

    def _on_host(self, unit: _Unit) -> dict[str, torch.Tensor]:
        rows = (unit.first_row, unit.first_row + unit.rows)
        arrays = unit.file.read(self.columns, self.filter, rows=rows, threads=self.threads,
                                memory_limit=self.memory_limit).numpy()
        # Arrow's memory may not be written to, and tensors may.
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        pinned = torch.cuda.is_available() and get_worker_info() is None
        return {name: tensor.pin_memory() for name, tensor in tensors.items()} if pinned else tensors

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        # Counted here and not when the first batch is asked for: workers that stay must not disagree about it.
        epoch, self.epoch = self.epoch, self.epoch + 1
        return self._batches(epoch)

    def _batches(self, epoch: int) -> Iterator[dict[str, torch.Tensor]]:
        units = self._units()
        # Processes know nothing of each other but these two numbers.
        if self.shuffle:
            random.Random(f"{self.seed} {self._units_of_epoch}").shuffle(units)
        units = _dealt(units, self.world_size)[self.rank]
        worker = get_worker_info()
        # The same in all workers. Those of the next epoch are new ones, which have counted none.
        drawn = 0 if worker is None else worker.seed - worker.id
        order = random.Random(f"{self.seed} {self._units_of_epoch} {epoch} {drawn}")
        if self.shuffle:
            order.shuffle(units)
        if worker is not None:
            units = units[worker.id :: worker.num_workers]
        generator = torch.Generator().manual_seed(order.getrandbits(62))
        for unit in self._ahead(units):
            count = len(unit[self.columns[0]])
            if self.shuffle:
                places = torch.randperm(count, generator=generator)
                unit = {name: tensor[places.to(tensor.device)] for name, tensor in unit.items()}
            for begin in range(0, count, self.batch_size):
                yield {name: tensor[begin : begin + self.batch_size] for name, tensor in unit.items()}

    def _ahead(self, units: list[_Unit]) -> Iterator[dict[str, torch.Tensor]]:
        """Units in their order, decoded by a thread of their own."""
        made: queue.Queue[Any] = queue.Queue(_AHEAD)
        stopped = threading.Event()

        def give(item: Any) -> bool:
            while not stopped.is_set():
                try:
                    made.put(item, timeout=0.1)
                    return True
                except queue.Full:
                    continue
            return False

        def work() -> None:
            try:
                for unit in units:
                    if not give(self._tensors(unit)):
                        return
                give(None)
            except BaseException as error:  # noqa: BLE001: raised where it is waited for
                give(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            while True:
                begin = time.monotonic()
                unit = made.get()
                self.waited_s += time.monotonic() - begin
                if unit is None:
                    return
                if isinstance(unit, BaseException):
                    raise unit
                yield unit
        finally:
            stopped.set()
            thread.join()
