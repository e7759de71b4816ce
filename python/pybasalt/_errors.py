"""Errors of Basalt as Python's exceptions."""

from __future__ import annotations

import re
from typing import Any

_FILE = re.compile(r"^([^\n]*?\.basalt|memory)(?:: |$)")
#: "column x: …", "column x (bigint): …", "there is no column x", "the metadata of column x at byte 7 is …". A name that
#: holds such an ending itself is cut there.
_COLUMN = re.compile(r"(?:^|: |\b(?:no|of|names|by) )column (.+?)(?= \(|: |, | has NULLs| at byte |$)")


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
        file = _FILE.match(message)
        column = _COLUMN.search(message[file.end() if file else 0 :])
        self.code = code
        self.file = file[1] if file else None
        self.column = column[1] if column else None

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.code)


class ArgumentError(Error, ValueError):
    """The caller asked for something that makes no sense: a column that is not there, SQL that cannot be parsed."""


class InputOutputError(Error, OSError):
    """The operating system, or whoever else holds a file, refused."""


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
    return _KINDS.get(code, Error)(message, code)
