"""Files that fsspec reaches: read by ranges, few and large ones, tried again when they fail."""

from __future__ import annotations

import time
from typing import Any

from pybasalt import _core

_TRIES = 4
_FIRST_PAUSE_S = 0.2
#: The end of a file, with its footer, is asked for in several small pieces: they are cut from one.
_TAIL_BYTES = 1 << 20


def is_remote(path: str) -> bool:
    """Whether a path names a file system of fsspec's.

    >>> is_remote("s3://bucket/x.basalt"), is_remote("x.basalt")
    (True, False)
    """
    return "://" in path


def _retried(action: Any, *arguments: Any, **named: Any) -> Any:
    for attempt in range(_TRIES):
        try:
            return action(*arguments, **named)
        except FileNotFoundError:
            raise
        except OSError:
            if attempt + 1 == _TRIES:
                raise
            time.sleep(_FIRST_PAUSE_S * 2**attempt)


class _Ranges:
    def __init__(self, files: Any, path: str, size: int) -> None:
        self._files = files
        self._path = path
        self._tail_start = max(0, size - _TAIL_BYTES)
        self._tail: bytes | None = None
        self._size = size

    def __call__(self, offset: int, length: int) -> bytes:
        if offset >= self._tail_start:
            if self._tail is None:
                self._tail = self._fetch(self._tail_start, self._size)
            start = offset - self._tail_start
            return self._tail[start : start + length]
        return self._fetch(offset, offset + length)

    def _fetch(self, start: int, end: int) -> bytes:
        return bytes(_retried(self._files.cat_file, self._path, start=start, end=end))


def expand(pattern: str) -> list[str]:
    """The files that a pattern stands for, with their protocol."""
    import fsspec

    files, path = fsspec.core.url_to_fs(pattern)
    if not any(sign in path for sign in "*?["):
        return [pattern]
    return [files.unstrip_protocol(found) for found in sorted(files.glob(path))]


def open_remote(path: str) -> _core.File:
    """Opens a file by its URL."""
    import fsspec

    files, inner = fsspec.core.url_to_fs(path)
    size = _retried(files.info, inner)["size"]
    return _core.open_source(path, size, _Ranges(files, inner, size))
