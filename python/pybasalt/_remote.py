"""Files that fsspec reaches: found by patterns, read by ranges that are tried again when they fail, put there as a whole."""

from __future__ import annotations

import itertools
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from pybasalt import _core
from pybasalt._errors import AccessError, ArgumentError, Error, InputOutputError, MissingPackageError, NotFoundError

_TRIES = 4
_FIRST_PAUSE_S = 0.2
#: The end of a file, with its footer, is asked for in several small pieces: they are cut from one.
_TAIL_BYTES = 1 << 20
#: Of so many files at once: a dataset may have any number.
_KEPT_TAILS = 64
#: What servers say that may be otherwise the next time, of their refusals: it took too long, there were too many.
_PASSING = (408, 425, 429)
#: Where an object is there as a whole or not at all, and renaming copies it.
_OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "http", "https"}
#: What tells versions of a file apart, by the names that file systems have for it.
_VERSION = ("ETag", "etag", "LastModified", "last_modified", "mtime", "created", "md5Hash", "Last-Modified")
_KEPT_FILES = 256
_OPENED = "opened://"
#: Ours, for errors of file systems that are one of these. Others are of input and output.
_KINDS: dict[type[Exception], type[Error]] = {
    FileNotFoundError: NotFoundError, PermissionError: AccessError, ImportError: MissingPackageError,
    ValueError: ArgumentError,
}
_CODES = {MissingPackageError: "unsupported", ArgumentError: "invalid argument"}

Result = TypeVar("Result")


def is_remote(path: str) -> bool:
    """Whether a path names a file system of fsspec's.

    >>> is_remote("s3://bucket/x.basalt"), is_remote("x.basalt"), is_remote("file:///x.basalt")
    (True, False, False)
    """
    return "://" in path and not path.startswith("file://")


def plain(path: str | os.PathLike[str], what: str = "a path") -> str:
    """A path as text; one of this machine without its protocol. `what` it is called where it is none.

    >>> plain("file:///tmp/x.basalt"), plain("memory://x.basalt")
    ('/tmp/x.basalt', 'memory://x.basalt')
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise TypeError(f"{what} is a text or os.PathLike, not {type(text).__name__}")
    return text.removeprefix("file://")


def is_pattern(path: str) -> bool:
    """Whether a URL stands for any number of files. What follows a question mark is a query, not a pattern.

    >>> is_pattern("s3://b/*.basalt"), is_pattern("https://h/x.basalt?key=1"), is_pattern("http://[::1]:80/x.basalt")
    (True, False, False)
    """
    place = path.partition("://")[2]
    if place.startswith("["):  # a host's number, of IPv6
        place = place.partition("]")[2]
    return any(sign in place for sign in "*[")


def _error_about(url: str, error: Exception) -> Error:
    """What a file system says of a URL, as an error of ours."""
    cause = error.__cause__
    # What fsspec's HTTP says of servers that cannot be reached, or refuse.
    is_other = isinstance(cause, OSError) or getattr(cause, "status", 404) != 404
    if isinstance(error, FileNotFoundError) and isinstance(cause, Exception) and is_other:
        error = cause
    kind = next((ours for kind, ours in _KINDS.items() if isinstance(error, kind)), InputOutputError)
    sentence = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, ImportError):  # of fsspec, which tells it from that of the package
        package = getattr(error.__cause__ or error, "name", None) or "fsspec"
        sentence = f"{error}: pip install {package.partition('.')[0]}"
    return kind(f"{url}: {sentence}", _CODES.get(kind, "input/output"))


@contextmanager
def _errors_about(url: str) -> Iterator[None]:
    """Errors of file systems meanwhile are ours, and name the URL."""
    try:
        yield
    except Error:
        raise
    except Exception as error:
        raise _error_about(url, error) from error


def _may_pass(error: Exception) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, (Error, FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)):
        return False
    status = getattr(error, "status", None)  # of HTTP, as aiohttp tells it
    if isinstance(status, int):
        return status >= 500 or status in _PASSING
    # Libraries of file systems have errors of their own; these are mistakes of a program's.
    return not isinstance(error, (ValueError, TypeError, LookupError, AttributeError, NotImplementedError, ImportError))


def _retried(action: Callable[[], Result]) -> Result:
    for attempt in itertools.count(1):
        try:
            return action()
        except Exception as error:
            if attempt == _TRIES or not _may_pass(error):
                raise
            time.sleep(_FIRST_PAUSE_S * 2 ** (attempt - 1))
    raise AssertionError  # not reached


def _file_system(url: str) -> tuple[Any, str]:
    import fsspec

    return fsspec.core.url_to_fs(url)


class _Ranges:
    """Answers reads of a file, in forked processes, too."""

    def __init__(self, url: str, size: int) -> None:
        self._url = url
        self._size = size
        self._connect()
        self._tail_start = max(0, size - _TAIL_BYTES)
        self._number = next(_numbers)

    def _connect(self) -> None:
        self._files, self._path = _file_system(self._url)
        self._fetching = threading.Lock()  # the tail
        self._process = os.getpid()

    def __call__(self, offset: int, length: int) -> bytes:
        # File systems wait for answers in threads, which the process that was forked has not got.
        if self._process != os.getpid():
            self._connect()
        with _errors_about(self._url):
            if offset < self._tail_start:
                return self._fetch(offset, offset + length)
            start = offset - self._tail_start
            with self._fetching:
                return self._tail()[start : start + length]

    def _tail(self) -> bytes:
        with _lock:
            tail = _tails.get(self._number)
        if tail is None:
            tail = self._fetch(self._tail_start, self._size)
        with _lock:
            _tails[self._number] = tail
            _tails.move_to_end(self._number)
            if len(_tails) > _KEPT_TAILS:
                _tails.popitem(last=False)
        return tail

    def _fetch(self, start: int, end: int) -> bytes:
        def request() -> bytes:
            found = bytes(self._files.cat_file(self._path, start=start, end=end))
            if len(found) > end - start:
                raise InputOutputError(f"{self._url}: the server does not answer range requests: {end - start} bytes were "
                                       f"asked for, {len(found)} came", "input/output")
            if len(found) < end - start:
                raise OSError(f"{self._path}: {end - start} bytes at {start} were asked for, {len(found)} came")
            return found

        return _retried(request)


#: Of what follows.
_lock = threading.Lock()
_tails: OrderedDict[int, bytes] = OrderedDict()
#: Files by their URL, with their version: opening one again costs a question about that.
_kept: OrderedDict[str, tuple[tuple[str, ...], _core.File]] = OrderedDict()
_named: dict[str, _core.File] = {}
#: Files that were just found: their file system knows what they are, and is not asked for each of them.
_listed: dict[str, bool] = {}
#: The URLs of files whose names SQL has decoded: for as long as the process lives, as plans may.
_encoded: dict[str, str] = {}
_numbers = itertools.count()


def _decoded(url: str) -> str:
    """A URL as SQL names it, which finds columns in folders named `key=value`. An encoded slash stays.

    >>> _decoded("http://h/city%3DNew%20York%2FUS/x.basalt?key=%3D"), _decoded("s3://b/a%3Db.basalt")
    ('http://h/city=New York%2FUS/x.basalt?key=%3D', 's3://b/a%3Db.basalt')
    """
    if not url.startswith(("http://", "https://")):
        return url
    from urllib.parse import unquote

    place, sign, query = url.partition("?")
    return "%2F".join(unquote(part) for part in re.split("%2F", place, flags=re.IGNORECASE)) + sign + query


def open_remote(path: str) -> _core.File:
    """Opens a file by its URL, or by the name that `named` gave it."""
    if path.startswith(_OPENED):
        return _named[path]
    with _errors_about(path):
        return _open(_encoded.get(path, path))


def _open(path: str) -> _core.File:
    files, inner = _file_system(path)
    with _lock:
        is_new = _listed.pop(path, False)
    if not is_new:
        files.invalidate_cache(inner)
    info = _retried(lambda: files.info(inner))
    if info["size"] is None:
        raise InputOutputError(f"{path}: the server does not say how long the file is", "input/output")
    known = [str(info[name]) for name in _VERSION if info.get(name)]
    version = (str(info["size"]), *known)
    with _lock:
        if known and path in _kept and _kept[path][0] == version:
            _kept.move_to_end(path)
            return _kept[path][1]
    file = _core.open_source(path, info["size"], _Ranges(path, info["size"]))
    if known:
        with _lock:
            _kept[path] = (version, file)
            if len(_kept) > _KEPT_FILES:
                _kept.popitem(last=False)
    return file


@contextmanager
def named(file: _core.File) -> Iterator[str]:
    """A name under which statements find an open file meanwhile."""
    number = next(_numbers)
    # With its folders, whose names may be columns.
    folders = _decoded(file.name).partition("?")[0].partition("://")[2].rpartition("/")[0]
    name = f"{_OPENED}{number}/{folders}/{number}.basalt"
    _named[name] = file
    try:
        yield name
    finally:
        del _named[name]


def find(pattern: str) -> list[str]:
    """The files that a URL stands for, in the order of their names; hidden ones are left out."""
    if pattern.startswith(_OPENED) or not is_pattern(pattern):
        return [pattern]
    with _errors_about(pattern):
        files, path = _file_system(pattern)
        files.invalidate_cache()  # others may have written since it listed its folders
        root = path[: min(path.index(sign) for sign in "*[" if sign in path)]
        found = _retried(lambda: files.glob(path))
    urls = [files.unstrip_protocol(name) for name in sorted(found) if "/." not in "/" + name[len(root) :]]
    with _lock:
        _listed.update(dict.fromkeys(urls, True))
    return urls


def find_for_sql(pattern: str) -> list[str]:
    """The same by the names that SQL has for them, which `open_remote` takes."""
    names = {_decoded(url): url for url in find(pattern)}
    with _lock:
        _encoded.update({name: url for name, url in names.items() if name != url})
    return list(names)


def folder_pattern(url: str) -> str | None:
    """The pattern of a folder's files, its own or else those in folders of partitions; None where it is no folder."""
    if is_pattern(url) or url.endswith(".basalt"):
        return None
    with _errors_about(url):
        files, path = _file_system(url)
        files.invalidate_cache()
        if not _retried(lambda: files.isdir(path)):
            return None
        own = any(name.endswith(".basalt") for name in _retried(lambda: files.ls(path, detail=False)))
    return url.rstrip("/") + ("/*.basalt" if own else "/**/*.basalt")


def _is_object_store(files: Any) -> bool:
    return not _OBJECT_STORES.isdisjoint([files.protocol] if isinstance(files.protocol, str) else files.protocol)


def put(local: str, url: str) -> None:
    """Copies a file of this machine to a URL, where it appears as a whole."""
    files, path = _file_system(url)
    import uuid

    folder, _, name = path.rpartition("/")
    if _is_object_store(files):
        _retried(lambda: files.put_file(local, path))
    else:
        hidden = f"{folder}/.{name}.{uuid.uuid4().hex}"
        with ExitStack() as undo:
            undo.callback(lambda: files.rm(hidden) if files.exists(hidden) else None)
            files.makedirs(folder, exist_ok=True)
            _retried(lambda: files.put_file(local, hidden))
            files.mv(hidden, path)
    files.invalidate_cache(folder)


def make_folder(path: str) -> None:
    """Makes a folder, of this machine or behind a URL; stores of objects have none."""
    if not is_remote(path):
        os.makedirs(path)
        return
    with _errors_about(path):
        files, inner = _file_system(path)
        if not _is_object_store(files):
            files.makedirs(inner, exist_ok=True)


def move(path: str, to: str) -> None:
    """Moves a file within a file system, of this machine or behind a URL."""
    if not is_remote(path):
        os.rename(path, to)
        return
    with _errors_about(path):
        files, inner = _file_system(path)
        _retried(lambda: files.mv(inner, _file_system(to)[1]))


def remove_folder(path: str) -> None:
    """Removes a folder and what is in it, if it is there."""
    if not is_remote(path):
        import shutil

        shutil.rmtree(path, ignore_errors=True)
        return
    with _errors_about(path):
        files, inner = _file_system(path)
        if files.exists(inner):
            files.rm(inner, recursive=True)


@contextmanager
def written(target: str) -> Iterator[str]:
    """The path to write for a path or URL. What was written for a URL is put there afterwards, if nothing failed."""
    if not is_remote(target):
        yield target
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="pybasalt-") as folder:
        local = os.path.join(folder, "written.basalt")
        yield local
        with _errors_about(target):
            put(local, target)


def _after_fork() -> None:
    """A forked process has none of the threads by which file systems wait for answers: it opens its own."""
    global _lock
    _lock = threading.Lock()
    _kept.clear()
    _tails.clear()
    _listed.clear()


os.register_at_fork(after_in_child=_after_fork)
