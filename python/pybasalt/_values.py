"""Columns of Arrow's as values of Python's."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pybasalt._errors import Error

if TYPE_CHECKING:
    import pyarrow


def tuples(table: pyarrow.Table, kinds: Sequence[str]) -> list[tuple[Any, ...]]:
    """The rows of a table. `kinds` are the columns' types, as SQL calls them."""
    columns = zip(table.column_names, table.columns, kinds)
    return list(zip(*(_values_of_column(name, column, kind) for name, column, kind in columns)))


def shown_tuples(table: pyarrow.Table, kinds: Sequence[str]) -> list[tuple[Any, ...]]:
    """The same to be looked at: with what Arrow writes for values that Python has no room for."""
    columns = zip(table.column_names, table.columns, kinds)
    return list(zip(*(_shown_values(name, column, kind) for name, column, kind in columns)))


def _shown_values(name: str, column: pyarrow.ChunkedArray, kind: str) -> list[Any]:
    try:
        return _values_of_column(name, column, kind)
    except Error:
        nested = column.type.num_fields > 0  # Arrow has no texts of them
        return ["<value out of range>"] * len(column) if nested else list(column.cast("string").to_pylist())


def _values_of_column(name: str, column: pyarrow.ChunkedArray, kind: str) -> list[Any]:
    try:
        values = [value for chunk in column.chunks for value in _values(chunk)] if _has_rows_of_no_names(
            column.type) else column.to_pylist()
    except (OverflowError, ValueError) as error:
        raise Error(f"column {name}: Python has no room for some of its values, such as moments beyond the years 1 to 9999 "
                    f"({error}): arrow() has them", "out of range") from error
    return [None if value is None else _bits(value) for value in values] if kind == "BIT" else values


def _bits(stored: bytes) -> str:
    """The text of a BIT, which begins with the number of bits that fill its first byte.

    >>> _bits(bytes([5, 0b11111101]))
    '101'
    """
    return "".join(f"{byte:08b}" for byte in stored[1:])[stored[0] :]


def _is_row(kind: pyarrow.DataType) -> bool:
    """Whether it is a struct whose fields have no names of their own, as row(1, 2) gives."""
    import pyarrow

    return pyarrow.types.is_struct(kind) and len({field.name for field in kind}) < max(kind.num_fields, 1)


def _has_rows_of_no_names(kind: pyarrow.DataType) -> bool:
    return _is_row(kind) or any(_has_rows_of_no_names(kind.field(i).type) for i in range(kind.num_fields))


def _values(array: pyarrow.Array) -> list[Any]:
    """As to_pylist, but with tuples for structs whose fields have no names."""
    import pyarrow

    kind = array.type
    if not _has_rows_of_no_names(kind):
        return list(array.to_pylist())
    if pyarrow.types.is_struct(kind):
        rows = zip(*(_values(array.field(i)) for i in range(kind.num_fields)))
        names = [field.name for field in kind]
        made = rows if _is_row(kind) else (dict(zip(names, row)) for row in rows)
        return [row if valid else None for row, valid in zip(made, array.is_valid().to_pylist())]
    lists = [_values(part.values) if part.is_valid else None for part in array]
    if pyarrow.types.is_map(kind):
        return [None if pairs is None else [tuple(pair.values()) for pair in pairs] for pairs in lists]
    return lists


def value_of(value: Any, kind: str) -> Any:
    """A value of a type, of the text that SQL has for it; the text where Python has no such value.

    >>> value_of("2024-01-02", "date"), value_of("1.50", "decimal(4,2)"), value_of("99999-01-01", "date")
    (datetime.date(2024, 1, 2), Decimal('1.50'), '99999-01-01')
    """
    if not isinstance(value, str):
        return value
    try:
        if kind.startswith("decimal"):
            return decimal.Decimal(value)
        if kind == "uuid":
            return uuid.UUID(value)
        if kind == "date":
            return datetime.date.fromisoformat(value)
        if kind.startswith("timestamp"):
            return _moment(value, datetime.datetime.fromisoformat)
        return _moment(value, datetime.time.fromisoformat) if kind.startswith("time") else value
    except ValueError:
        return value


def _moment(text: str, parse: Callable[[str], Any]) -> Any:
    """Of a moment with nanoseconds, which Python cuts to microseconds, the text."""
    value = parse(text)
    fraction = text.partition(".")[2].partition("+")[0]
    return text if fraction[6:].strip("0") else value
