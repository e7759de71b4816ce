"""Errors of Basalt as Python's exceptions."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_FILE = re.compile(r"^([^\n]*?\.basalt|memory)(?:: |$)")
#: "column x: …", "column x (bigint): …", "there is no column x", "the metadata of column x at byte 7 is …". A name that
#: holds such an ending itself is cut there.
_COLUMN = re.compile(r"(?:^|: |\b(?:no|of|names|by) )column (.+?)(?= \(|: |, | has NULLs| at byte |; near names|$)")
_NO_FILE = re.compile(f"{os.strerror(errno.ENOENT)}|: FileNotFoundError: ")
#: What libbasalt says of limits: the program's option, where the package has an argument.
_PROGRAM_OPTION = "raised by --memory-limit, in SQL also by"


class Error(Exception):
    """What Basalt refuses or cannot do: a code for programs and a sentence for people.

    >>> import pybasalt
    >>> try:
    ...     pybasalt.open("nowhere.basalt")
    ... except pybasalt.Error as error:
    ...     print(error.code, error.file)
    input/output nowhere.basalt
    """

    #: "invalid argument", "unsupported", "corrupt", "input/output", "out of memory", "out of range", "cancelled",
    #: "device", "internal" or "over the limit".
    code: str
    #: The file that the sentence names, or None.
    file: str | None
    #: The column that the sentence names, or None.
    column: str | None

    def __init__(self, message: str, code: str = "internal") -> None:
        super().__init__(message)
        self.code = code
        file = _FILE.match(message)
        self._tell(file[1] if file else None, message[file.end() if file else 0 :])

    def _tell(self, file: str | None, about_it: str) -> None:
        column = _COLUMN.search(about_it)
        self.file = file
        self.column = column[1] if column else None

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.code), {"file": self.file, "column": self.column}


class ArgumentError(Error, ValueError):
    """The caller asked for something that makes no sense: a column that is not there, SQL that cannot be parsed."""


class InputOutputError(Error, OSError):
    """The operating system, or whoever else holds a file, refused."""


class NotFoundError(InputOutputError, FileNotFoundError):
    """There is no such file."""


class AccessError(InputOutputError, PermissionError):
    """Whoever holds a file does not let it be read or written."""


class MissingPackageError(Error, ImportError):
    """A package is needed that is not installed."""


class MemoryLimitError(Error, MemoryError):
    """A limit of memory was reached."""


class UnsupportedError(Error, NotImplementedError):
    """A type, an encoding or an operation that this build cannot handle."""


_KINDS = {
    "invalid argument": ArgumentError,
    "input/output": InputOutputError,
    "out of memory": MemoryLimitError,
    "over the limit": MemoryLimitError,
    "unsupported": UnsupportedError,
}


def make(code: str, message: str) -> Error:
    """The exception for an error of the library."""
    kind = _KINDS.get(code, Error)
    if kind is InputOutputError and _NO_FILE.search(message):
        kind = NotFoundError
    return kind(message.replace(_PROGRAM_OPTION, "raised by memory_limit, in SQL by"), code)


@contextmanager
def about(path: str) -> Iterator[None]:
    """Errors that begin with a path name it as their file, whatever it is called."""
    try:
        yield
    except Error as error:
        if error.file is None and str(error).startswith(f"{path}: "):
            error._tell(path, str(error)[len(path) + 2 :])
        raise
