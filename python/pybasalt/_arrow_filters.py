"""Expressions of pyarrow's as predicates, read from the form in which they are pickled.

That is an Arrow file: its schema's metadata lists calls, columns and literals in the order in which they are written,
and its only row holds the literals and the calls' options. What is not known of it is not pushed."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow
import pyarrow.types as types

from pybasalt._pushdown import SWAPPED, UNKNOWN, Kind, Pushdown, Tree
from pybasalt.expressions import Expression

_COMPARISONS = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}


def _kind(type: pyarrow.DataType) -> Kind | None:
    if types.is_boolean(type):
        return Kind("bool")
    if types.is_integer(type):
        return Kind("int")
    if types.is_float64(type):
        return Kind("float")
    if types.is_string(type) or types.is_large_string(type) or types.is_string_view(type):
        return Kind("text")
    if types.is_binary(type) or types.is_large_binary(type):
        return Kind("bytes")
    if types.is_date32(type):
        return Kind("date")
    if types.is_timestamp(type) and type.unit != "ns":
        return Kind("moment" if type.tz is None else "instant")
    return Kind("decimal", type.scale) if types.is_decimal(type) else None


def _metadata(schema: pyarrow.Schema) -> Iterator[tuple[str, str]]:
    """Keys and values in their order; pyarrow's own are a dict, which has each key once."""
    capsule = schema.__arrow_c_schema__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # format, name and metadata are the first three pointers of an ArrowSchema.
    place = ctypes.cast(pointer(capsule, b"arrow_schema"), ctypes.POINTER(ctypes.c_void_p))[2]
    if not place:
        return

    def take(size: int) -> bytes:
        nonlocal place
        assert place is not None
        found = ctypes.string_at(place, size)
        place += size
        return found

    def number() -> int:
        return int(struct.unpack("=i", take(4))[0])

    for _ in range(number()):
        yield take(number()).decode(), take(number()).decode()


class _Reader:
    def __init__(self, expression: Any) -> None:
        _, (data,) = expression.__reduce__()
        batch = pyarrow.ipc.open_file(data).get_batch(0)
        self._values = [column[0] for column in batch.columns]
        self._entries = list(_metadata(batch.schema))
        self._next = 0

    def tree(self) -> Tree:
        found = self._item()
        return ("holds", found[1]) if found[0] == "column" else found

    def _item(self) -> Tree:
        """A column, a literal, or a call."""
        key, value = self._entries[self._next]
        self._next += 1
        if key == "field_ref":
            return "column", value
        if key == "literal":
            scalar = self._values[int(value)]
            # Some values have no equal of Python's.
            return "value", scalar.as_py() if _kind(scalar.type) is not None else None
        if key == "nested_field_ref":
            self._next += int(value)
            return UNKNOWN
        if key != "call":
            raise KeyError(key)
        arguments, options = [], None
        while self._entries[self._next] != ("end", value):
            if self._entries[self._next][0] == "options":
                options = self._values[int(self._entries[self._next][1])].as_py()
                self._next += 1
            else:
                arguments.append(self._item())
        self._next += 1
        return _call(value, arguments, options)


def _call(name: str, arguments: list[Tree], options: dict[str, Any] | None) -> Tree:
    first = arguments[0] if arguments else UNKNOWN
    if name in ("and_kleene", "or_kleene", "invert"):
        parts = [("holds", part[1]) if part[0] == "column" else UNKNOWN if part[0] == "value" else part for part in arguments]
        return {"and_kleene": "and", "or_kleene": "or", "invert": "not"}[name], *parts
    if name in _COMPARISONS and len(arguments) == 2:
        word, (left, right) = _COMPARISONS[name], arguments
        if right[0] == "column":
            left, word, right = right, SWAPPED[word], left
        return ("compare", word, left[1], right[1]) if (left[0], right[0]) == ("column", "value") else UNKNOWN
    if first[0] != "column":
        return UNKNOWN
    if name == "is_valid" or (name == "is_null" and options is not None and not options["nan_is_null"]):
        return "is_not_null" if name == "is_valid" else "is_null", first[1]
    if name == "is_in" and options is not None and options["null_matching_behavior"] == 0:
        return "in", first[1], options["value_set"], True
    return UNKNOWN


def pushed(expression: Any, schema: pyarrow.Schema) -> Expression | None:
    """A filter that holds for every row that an expression holds for; None where none is known.

    >>> import pyarrow, pyarrow.compute as pc
    >>> schema = pyarrow.schema([("a", pyarrow.int64()), ("b", pyarrow.string())])
    >>> pushed((pc.field("a") > 3) & pc.field("b").isin(["x", None]), schema)
    (("a" > 3) AND (("b" IN ('x')) OR ("b" IS NULL)))
    >>> pushed(pc.match_substring(pc.field("b"), "x"), schema)
    """
    kinds: Mapping[str, Kind] = {
        field.name: kind for field in schema if (kind := _kind(field.type)) is not None and schema.names.count(field.name) == 1
    }
    try:
        tree = _Reader(expression).tree()
    except (KeyError, IndexError, ValueError, TypeError, UnicodeDecodeError, pyarrow.ArrowException):
        return None  # the form is pyarrow's own to change
    return Pushdown(kinds, nan_is_greatest=False).filter(tree)
