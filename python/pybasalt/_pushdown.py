"""Filters of other libraries as filters of ours: as much of them as both understand alike.

What comes out holds for every row that the predicate holds for, and perhaps for more: whoever asked evaluates his own
again on what is left. Below a NOT it must be the same for every row, NULL included."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pybasalt.expressions import Expression, col

#: A predicate: a word and what it is about. ("and" | "or", left, right), ("not", of), ("compare", word, column, value),
#: ("in", column, values, null_matches), ("is_null" | "is_not_null" | "holds", column), ("unknown",).
Tree = tuple[Any, ...]
UNKNOWN: Tree = ("unknown",)

_COMPARISONS = {
    "==": Expression.__eq__, "!=": Expression.__ne__, "<": Expression.__lt__, "<=": Expression.__le__,
    ">": Expression.__gt__, ">=": Expression.__ge__,
}
SWAPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Kind:
    """A column's type as far as comparisons with values go."""

    #: bool, int, float, text, bytes, date, moment (of no time zone), instant (of one), decimal
    name: str
    #: Digits behind the point of a decimal.
    scale: int = 0


def _takes(kind: Kind, value: object) -> bool:
    """Whether SQL compares a column with a value by the same rules as everybody."""
    if isinstance(value, bool):
        return kind.name == "bool"
    if isinstance(value, int):
        return kind.name in ("int", "float", "decimal")
    if isinstance(value, float):
        return kind.name in ("int", "float") and not math.isnan(value)
    if isinstance(value, decimal.Decimal):
        # Finer ones are rounded by some.
        return kind.name == "decimal" and value.is_finite() and -int(value.normalize().as_tuple().exponent) <= kind.scale
    if isinstance(value, datetime.datetime):
        return kind.name == ("moment" if value.tzinfo is None else "instant") and not getattr(value, "nanosecond", 0)
    if isinstance(value, datetime.date):
        return kind.name == "date"
    return isinstance(value, str if kind.name == "text" else bytes) and kind.name in ("text", "bytes")


class Pushdown:
    """Translates predicates over columns of some kinds; columns that it does not know are left alone."""

    def __init__(self, kinds: Mapping[str, Kind], nan_is_greatest: bool) -> None:
        # SQL does not tell capitals from small letters.
        clear = len({name.lower() for name in kinds}) == len(kinds)
        self._kinds = kinds if clear else {}
        self._nan_is_greatest = nan_is_greatest  # and equal to itself, as in SQL

    def filter(self, tree: Tree) -> Expression | None:
        """None where nothing but "true" is known to hold."""
        return self._weaker(tree, exact=False)

    def _weaker(self, tree: Tree, exact: bool) -> Expression | None:
        word = tree[0]
        if word in ("and", "or"):
            left, right = (self._weaker(part, exact) for part in tree[1:])
            if left is not None and right is not None:
                return left & right if word == "and" else left | right
            return None if exact or word == "or" else left if right is None else right
        if word == "not":
            inner = self._weaker(tree[1], exact=True)
            return None if inner is None else ~inner
        if word == "unknown":
            return None
        kind = self._kinds.get(tree[2] if word == "compare" else tree[1])
        if word in ("is_null", "is_not_null"):
            return getattr(col(tree[1]), word)() if kind is not None else None
        if kind is None or (exact and kind.name == "float" and not self._nan_is_greatest):
            return None
        if word == "compare":
            _, comparison, column, value = tree
            return _COMPARISONS[comparison](col(column), value) if _takes(kind, value) else None
        if word == "in":
            _, column, values, null_matches = tree
            return self._in(kind, column, values, null_matches, exact)
        return col(tree[1]) if kind.name == "bool" else None  # "holds"

    def _in(self, kind: Kind, column: str, values: Sequence[object], null_matches: bool, exact: bool) -> Expression | None:
        """`null_matches`: whether NULL is told from other values, and found among them, instead of giving NULL."""
        known = [value for value in values if value is not None]
        if not all(_takes(kind, value) for value in known):
            return None
        found = col(column).isin(known)
        if null_matches and len(known) < len(values):
            return found | col(column).is_null()
        return found & col(column).is_not_null() if null_matches and exact else found
