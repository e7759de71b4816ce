"""PyTorch: batches of tensors from .basalt files, the next ones decoded while a step runs."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from pybasalt._files import File, Paths, _list, open

_AHEAD = 2


class Batches(IterableDataset[dict[str, torch.Tensor]]):
    """Batches of tensors by column name: `for batch in Batches("train.basalt", ["x", "y"], batch_size=4096)`.

    On the host the unit that is decoded is a chunk, into pinned memory where there is a GPU; with `device="cuda"` it is
    a file, which crosses the link compressed and is decoded on the GPU. Units come shuffled with `shuffle`, as do the
    rows within one. Workers of a DataLoader take every n-th unit. `waited_s` adds up the time that the loop waited.

    >>> import pybasalt
    >>> _ = pybasalt.write({"x": [1.0, 2.0, 3.0]}, "t.basalt")
    >>> [batch["x"].tolist() for batch in Batches("t.basalt", ["x"], batch_size=2)]
    [[1.0, 2.0], [3.0]]
    """

    def __init__(self, path: Paths, columns: Sequence[str], *, batch_size: int = 8192, shuffle: bool = False,
                 seed: int = 0, device: str = "cpu", threads: int = 0) -> None:
        super().__init__()
        self.files: list[File] = [file if isinstance(file, File) else open(file) for file in _list(path)]
        self.columns = list(columns)
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.device = device
        self.threads = threads
        self.epoch = 0
        self.waited_s = 0.0

    def _units(self) -> list[Callable[[], dict[str, torch.Tensor]]]:
        units: list[Callable[[], dict[str, torch.Tensor]]] = []
        for file in self.files:
            if self.device == "cuda":
                units.append(partial(self._on_gpu, file))
                continue
            first = 0
            for rows in file.chunk_rows:
                units.append(partial(self._on_host, file, (first, first + rows)))
                first += rows
        return units

    def _on_gpu(self, file: File) -> dict[str, torch.Tensor]:
        return {name: file.column(name, device="cuda", threads=self.threads).torch() for name in self.columns}

    def _on_host(self, file: File, rows: tuple[int, int]) -> dict[str, torch.Tensor]:
        arrays = file.read(self.columns, rows=rows, threads=self.threads).numpy()
        # Arrow's memory may not be written to, and tensors may.
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        pinned = torch.cuda.is_available() and get_worker_info() is None
        return {name: tensor.pin_memory() for name, tensor in tensors.items()} if pinned else tensors

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        order = random.Random(self.seed * 1_000_003 + self.epoch)
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        self.epoch += 1
        units = self._units()
        if self.shuffle:
            order.shuffle(units)
        worker = get_worker_info()
        if worker is not None:
            units = units[worker.id :: worker.num_workers]
        for unit in self._ahead(units):
            count = len(unit[self.columns[0]])
            if self.shuffle:
                places = torch.randperm(count, generator=generator)
                unit = {name: tensor[places.to(tensor.device)] for name, tensor in unit.items()}
            for begin in range(0, count, self.batch_size):
                yield {name: tensor[begin : begin + self.batch_size] for name, tensor in unit.items()}

    def _ahead(self, units: list[Callable[[], dict[str, torch.Tensor]]]) -> Iterator[dict[str, torch.Tensor]]:
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
                    if not give(unit()):
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
