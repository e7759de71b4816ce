"""Polars: lazy frames over .basalt files, with columns, filters and row counts pushed down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pybasalt._files import Paths, scan
from pybasalt.expressions import Expression, col

if TYPE_CHECKING:
    import polars


def _literal(node: dict[str, Any]) -> object:
    """The value of a literal in Polars' serialised form; raises KeyError for those that SQL has no short form of."""
    value = node["Literal"]
    while isinstance(value, dict):
        kind, value = next(iter(value.items()))
        if kind not in ("Scalar", "Dyn", "value", "Int", "Float", "Str", "String", "Boolean", "Int8", "Int16", "Int32",
                        "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64"):
            raise KeyError(kind)
    if isinstance(value, (list, tuple)) or value is None:
        raise KeyError("Literal")
    return value


_COMPARISONS = {
    "Eq": Expression.__eq__, "NotEq": Expression.__ne__, "Lt": Expression.__lt__, "LtEq": Expression.__le__,
    "Gt": Expression.__gt__, "GtEq": Expression.__ge__,
}
_SWAPPED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}


def _compare_alike(kind: Any, value: object) -> bool:
    """Whether SQL and Polars compare a column of a type with a value by the same rules. Of 32-bit floats they do not:
    Polars rounds the value to them."""
    if isinstance(value, bool):
        return str(kind) == "Boolean"
    if isinstance(value, (int, float)):
        return bool(kind.is_integer()) or str(kind) == "Float64"
    return str(kind) == "String"


def _translated(node: dict[str, Any], schema: Mapping[str, Any] | None) -> Expression | None:
    try:
        return _translate(node, schema)
    except (KeyError, TypeError, StopIteration):
        return None


def _only(parts: list[Expression]) -> Expression:
    if not parts:
        raise KeyError("neither side")
    return parts[0]


def _translate(node: dict[str, Any], schema: Mapping[str, Any] | None) -> Expression:
    """A predicate of Polars', or a weaker one, as one of ours. Raises KeyError where there is none."""
    parts = node["BinaryExpr"]
    left, word, right = parts["left"], parts["op"], parts["right"]
    if word in ("And", "LogicalAnd"):
        both = [part for part in (_translated(left, schema), _translated(right, schema)) if part is not None]
        return both[0] & both[1] if len(both) == 2 else _only(both)
    if word in ("Or", "LogicalOr"):
        return _translate(left, schema) | _translate(right, schema)
    if "Column" in right:
        left, word, right = right, _SWAPPED[word], left
    value = _literal(right)
    if schema is not None and not _compare_alike(schema[left["Column"]], value):
        raise KeyError(left["Column"])
    return _COMPARISONS[word](col(left["Column"]), value)


def pushed(predicate: polars.Expr, schema: Mapping[str, Any] | None = None) -> Expression | None:
    """A filter that holds for every row that a predicate holds for; None where there is no such one but "true".
    `schema` has the types of columns; without it, all are taken for types that SQL compares as Polars does."""
    import json
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the form is Polars' own to change: what is not known is not pushed
        return _translated(json.loads(predicate.meta.serialize(format="json")), schema)


def scan_polars(path: Paths, *, threads: int = 0) -> polars.LazyFrame:
    """A lazy frame over files.

    `pybasalt.scan_polars("trips.basalt").filter(polars.col("fare") > 3).select("id").head(5).collect()` decodes the two
    columns, skips what the filter cannot hold for, and stops after five rows.

    >>> import polars, pybasalt
    >>> _ = pybasalt.write({"id": [1, 2, 3], "fare": [2.5, 7.0, 9.5]}, "t.basalt")
    >>> pybasalt.scan_polars("t.basalt").filter(polars.col("fare") > 3).select("id").collect()["id"].to_list()
    [2, 3]
    """
    import polars
    from polars.io.plugins import register_io_source

    with scan(path, threads=threads) as rows_of_files:
        schema = polars.Schema(rows_of_files.schema)
    # SQL has none of them: a filter there would cut them to microseconds.
    cuts = any(isinstance(kind, polars.Datetime) and kind.time_unit == "ns" and kind.time_zone for kind in schema.values())

    def batches(columns: list[str] | None, predicate: polars.Expr | None, rows: int | None,
                batch_size: int | None) -> Iterator[polars.DataFrame]:
        # A number of rows counts those before the filter.
        filter = None if predicate is None or rows is not None or cuts else pushed(predicate, schema)
        wanted = columns
        if predicate is not None and columns is not None:
            wanted = columns + [name for name in predicate.meta.root_names() if name not in columns]
        if wanted is not None and not wanted:
            wanted = list(schema)[:1]  # only rows are counted
        left = rows
        for batch in scan(path, wanted, filter, threads=threads):
            frame = polars.DataFrame(batch)
            # SQL's times have microseconds.
            frame = frame.cast({name: schema[name] for name, kind in frame.schema.items() if kind != schema[name]})
            if left is not None:
                frame = frame.head(left)
                left -= len(frame)
            # Evaluated once more: a filter that was pushed has nothing to drop, and one that was not, has.
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame if columns is None else frame.select(columns)
            if left == 0:
                return

    return register_io_source(batches, schema=schema)
