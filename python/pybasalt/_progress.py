"""What is shown while a file is written."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Called now and then with the rows so far, their bytes in memory, and the bytes written.
ProgressCallback = Callable[[int, int, int], None]


class _Line:
    """One line on the terminal, or in a notebook's cell, that is written over."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._last = 0.0

    def __call__(self, rows: int, plain_bytes: int, written_bytes: int) -> None:
        now = time.monotonic()
        if now - self._last < 0.1:
            return
        self._last = now
        rate = plain_bytes / max(now - self._start, 1e-9) / 1e6
        text = f"{self._what}: {rows:,} rows, {plain_bytes / 1e6:,.1f} MB to {written_bytes / 1e6:,.1f} MB, {rate:,.0f} MB/s"
        sys.stderr.write("\r" + text.ljust(79))
        sys.stderr.flush()


@contextmanager
def shown(progress: bool | ProgressCallback | None, what: str) -> Iterator[ProgressCallback | None]:
    """The callback for a `progress` argument: True shows a line."""
    if not progress:
        yield None
    elif progress is True:
        yield _Line(what)
        sys.stderr.write("\n")
    elif callable(progress):
        yield progress
    else:
        raise TypeError("progress is True, False or a function of rows, plain_bytes and written_bytes")
