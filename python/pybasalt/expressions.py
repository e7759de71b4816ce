"""Filters as Python writes them. An expression is the SQL text that it stands for.

>>> from pybasalt import col
>>> (col("fare") > 3) & ~col("city").isin(["Bern", "Basel"])
(("fare" > 3) AND (NOT ("city" IN ('Bern', 'Basel'))))
"""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from collections.abc import Iterable
from typing import Any


def quote_identifier(name: str) -> str:
    '''A name as SQL quotes it.

    >>> print(quote_identifier('a "b"'))
    "a ""b"""
    '''
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """A string as SQL quotes it.

    >>> quote_text("it's")
    "'it''s'"
    """
    quoted = "'" + text.replace("'", "''") + "'"
    # The parser ends texts at NUL.
    return quoted if "\0" not in text else "(" + quoted.replace("\0", "' || chr(0) || '") + ")"


def literal(value: Any) -> str:
    """A value of Python's as SQL writes it."""
    if isinstance(value, Expression):
        return value.sql
    kind, text = parameter(value)
    if text is None:
        return "NULL"
    if kind in ("BOOLEAN", "BIGINT", "HUGEINT") or kind.startswith("DECIMAL"):
        return text
    # A time takes the type of what it is compared with: DuckDB's own does not compare with nanoseconds.
    return quote_text(text) if kind in ("VARCHAR", "TIME") else f"{quote_text(text)}::{kind}"


def parameter(value: Any) -> tuple[str, str | None]:
    """The SQL type of a value of Python's, and the text that a cast to it takes."""
    if hasattr(value, "as_py"):  # pyarrow's values
        value = value.as_py()
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in ("M", "m") and type(value.item()) is int:  # numpy's, finer than Python's own: nanoseconds
        return _fine_moment(value) if kind == "M" else _fine_duration(value)
    if hasattr(value, "item") and not isinstance(value, (bytes, str)):  # numpy's numbers
        value = value.item()
    if value is None or type(value).__name__ in ("NaTType", "NAType"):  # as pandas writes NULL
        return "INTEGER", None
    if isinstance(value, bool):
        return "BOOLEAN", str(value).lower()
    if isinstance(value, int):
        return ("BIGINT" if -(2**63) <= value < 2**63 else "HUGEINT"), str(value)
    if isinstance(value, float):
        return "DOUBLE", repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return "VARCHAR", value
    if isinstance(value, decimal.Decimal) and value.is_finite():
        _, digits, power = value.as_tuple()
        exponent = int(power)
        scale = max(-exponent, 0)
        return f"DECIMAL({max(len(digits) + max(exponent, 0), scale, 1)}, {scale})", f"{value:f}"
    if isinstance(value, (bytes, bytearray)):
        return "BLOB", "".join(f"\\x{byte:02X}" for byte in value)
    if isinstance(value, datetime.datetime):
        if getattr(value, "nanosecond", 0):  # pandas' moments
            if value.tzinfo is not None:
                raise TypeError("moments of a time zone have microseconds in SQL, not nanoseconds")
            return "TIMESTAMP_NS", value.isoformat(" ")
        return ("TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ"), value.isoformat(" ")
    if isinstance(value, datetime.date):
        return "DATE", value.isoformat()
    if isinstance(value, datetime.time):
        return "TIME", value.isoformat()
    if isinstance(value, datetime.timedelta):
        return "INTERVAL", f"{value // datetime.timedelta(microseconds=1)} microseconds"
    if isinstance(value, uuid.UUID):
        return "UUID", str(value)
    raise TypeError(f"{type(value).__name__} has no SQL type here")


def _fine_moment(value: Any) -> tuple[str, str | None]:
    return "TIMESTAMP_NS", str(value.astype("datetime64[ns]")).replace("T", " ")


def _fine_duration(value: Any) -> tuple[str, str | None]:
    nanoseconds = int(value.astype("timedelta64[ns]").astype("int64"))
    if nanoseconds % 1000 != 0:
        raise TypeError("durations have microseconds in SQL, not nanoseconds")
    return "INTERVAL", f"{nanoseconds // 1000} microseconds"


class Expression:
    """A condition or a value over the columns of a table; see `col`."""

    __slots__ = ("sql",)
    __hash__ = None  # type: ignore[assignment]  # == makes expressions

    def __init__(self, sql: str) -> None:
        self.sql = sql

    def __repr__(self) -> str:
        return self.sql

    def __bool__(self) -> bool:
        raise TypeError("expressions are combined by &, | and ~, not by and, or and not")

    def _with(self, word: str, other: Any, swapped: bool = False) -> Expression:
        left, right = (literal(other), self.sql) if swapped else (self.sql, literal(other))
        return Expression(f"({left} {word} {right})")

    def __eq__(self, other: Any) -> Expression:  # type: ignore[override]
        return self._with("=", other)

    def __ne__(self, other: Any) -> Expression:  # type: ignore[override]
        return self._with("<>", other)

    def __lt__(self, other: Any) -> Expression:
        return self._with("<", other)

    def __le__(self, other: Any) -> Expression:
        return self._with("<=", other)

    def __gt__(self, other: Any) -> Expression:
        return self._with(">", other)

    def __ge__(self, other: Any) -> Expression:
        return self._with(">=", other)

    def __add__(self, other: Any) -> Expression:
        return self._with("+", other)

    def __radd__(self, other: Any) -> Expression:
        return self._with("+", other, swapped=True)

    def __sub__(self, other: Any) -> Expression:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> Expression:
        return self._with("-", other, swapped=True)

    def __mul__(self, other: Any) -> Expression:
        return self._with("*", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._with("*", other, swapped=True)

    def __truediv__(self, other: Any) -> Expression:
        return self._with("/", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._with("/", other, swapped=True)

    def __mod__(self, other: Any) -> Expression:
        return self._with("%", other)

    def __rmod__(self, other: Any) -> Expression:
        return self._with("%", other, swapped=True)

    def __neg__(self) -> Expression:
        return Expression(f"(-{self.sql})")

    def __and__(self, other: Any) -> Expression:
        return self._with("AND", other)

    def __rand__(self, other: Any) -> Expression:
        return self._with("AND", other, swapped=True)

    def __or__(self, other: Any) -> Expression:
        return self._with("OR", other)

    def __ror__(self, other: Any) -> Expression:
        return self._with("OR", other, swapped=True)

    def __invert__(self) -> Expression:
        return Expression(f"(NOT {self.sql})")

    def isin(self, values: Iterable[Any]) -> Expression:
        """Whether it is one of some values."""
        if isinstance(values, (str, bytes)):
            raise TypeError("isin takes a list of values, not a text")
        items = [literal(value) for value in values]
        return Expression(f"({self.sql} IN ({', '.join(items)}))" if items else "false")

    def between(self, low: Any, high: Any) -> Expression:
        """Whether it lies between two values or is one of them."""
        return Expression(f"({self.sql} BETWEEN {literal(low)} AND {literal(high)})")

    def like(self, pattern: str) -> Expression:
        """Whether a text matches a pattern of SQL's: % stands for anything, _ for one character."""
        if not isinstance(pattern, str):
            raise TypeError(f"like takes a pattern that is a text, not {type(pattern).__name__}")
        return Expression(f"({self.sql} LIKE {quote_text(pattern)})")

    def is_null(self) -> Expression:
        """Whether it is NULL."""
        return Expression(f"({self.sql} IS NULL)")

    def is_not_null(self) -> Expression:
        """Whether it is not NULL."""
        return Expression(f"({self.sql} IS NOT NULL)")


def col(name: str) -> Expression:
    """A column by its name.

    >>> from pybasalt import col
    >>> (col("a") >= 1) & (col("b") == "x")
    (("a" >= 1) AND ("b" = 'x'))
    """
    if not isinstance(name, str):
        raise TypeError(f"col takes the name of a column, not {type(name).__name__}")
    return Expression(quote_identifier(name))
