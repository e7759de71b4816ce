"""Polars: lazy frames over .basalt files, with columns, filters and row counts pushed down."""

from __future__ import annotations

import datetime
import decimal
import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pybasalt._files import Paths, scan, schema_of
from pybasalt._pushdown import SWAPPED, UNKNOWN, Kind, Pushdown, Tree
from pybasalt._table import check_types_of_polars
from pybasalt.expressions import Expression

if TYPE_CHECKING:
    import polars

_COMPARISONS = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_NUMBERS_AND_TEXTS = ("Int", "Float", "Str", "String", "Boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16",
                      "UInt32", "UInt64", "Float64")
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECONDS = {"Microseconds": 1, "Milliseconds": 1000}
#: Ends of BETWEEN that are part of it.
_CLOSED = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}


def _kind(type: Any) -> Kind | None:
    """Of 32-bit floats Polars rounds the value to them, and SQL does not."""
    name = str(type)
    if type.is_integer():
        return Kind("int")
    if type.is_decimal():
        return Kind("decimal", type.scale)
    if name.startswith("Datetime"):
        return None if type.time_unit == "ns" else Kind("moment" if type.time_zone is None else "instant")
    names = {"Boolean": "bool", "Float64": "float", "String": "text", "Binary": "bytes", "Date": "date"}
    return Kind(names[name]) if name in names else None


def _value(node: dict[str, Any]) -> Any:
    """The value of a literal in Polars' serialised form. Raises KeyError for those that have no equal of Python's."""
    value = node["Literal"]
    for shell in ("Scalar", "Dyn"):
        if isinstance(value, dict) and shell in value:
            value = value[shell]
    ((kind, value),) = value.items()
    if kind in _NUMBERS_AND_TEXTS:
        return value
    if kind == "Date":
        return _EPOCH.date() + datetime.timedelta(days=value)
    if kind == "Datetime":
        count, unit, zone = value
        moment = _EPOCH + datetime.timedelta(microseconds=count * _MICROSECONDS[unit])
        return moment if zone is None else moment.replace(tzinfo=datetime.timezone.utc)
    if kind == "Decimal":
        digits, _, scale = value
        return decimal.Decimal(digits).scaleb(-scale)
    raise KeyError(kind)


def _values(node: dict[str, Any]) -> list[Any]:
    """Those of a literal that is a list, or a series: a stream of Arrow's, in bytes."""
    import polars

    literal = node["Literal"]
    data = literal["Series"] if "Series" in literal else literal["Scalar"]["List"]
    values = polars.read_ipc_stream(io.BytesIO(bytes(data))).to_series(0)
    if values.dtype == polars.Float32:
        raise KeyError("Float32")
    return list(values.to_list())


def _tree(node: dict[str, Any]) -> Tree:
    """A predicate in Polars' serialised form as one of `Pushdown`'s."""
    try:
        if "Column" in node:
            return "holds", node["Column"]
        return _binary(**node["BinaryExpr"]) if "BinaryExpr" in node else _call(**node["Function"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return UNKNOWN


def _binary(left: dict[str, Any], op: str, right: dict[str, Any]) -> Tree:
    if op in ("And", "LogicalAnd", "Or", "LogicalOr"):
        return "and" if op.endswith("And") else "or", _tree(left), _tree(right)
    word = _COMPARISONS[op]
    if "Column" in right:
        left, word, right = right, SWAPPED[word], left
    return "compare", word, left["Column"], _value(right)


def _call(input: list[dict[str, Any]], function: dict[str, Any]) -> Tree:
    what = function["Boolean"]
    if what == "Not":
        return "not", _tree(input[0])
    column = input[0]["Column"]
    if what in ("IsNull", "IsNotNull"):
        return "is_null" if what == "IsNull" else "is_not_null", column
    if "IsBetween" in what:
        low, high = _CLOSED[what["IsBetween"]["closed"]]
        return "and", ("compare", low, column, _value(input[1])), ("compare", high, column, _value(input[2]))
    # Those without arguments are words, among them "IsInfinite".
    if isinstance(what, dict) and "IsIn" in what:
        return "in", column, _values(input[1]), what["IsIn"]["nulls_equal"]
    return UNKNOWN


def pushed(predicate: polars.Expr, schema: Mapping[str, Any]) -> Expression | None:
    """A filter that holds for every row that a predicate holds for; None where there is no such one but "true".
    `schema` has the types of columns."""
    import json
    import warnings

    kinds = {name: kind for name, type in schema.items() if (kind := _kind(type)) is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the form is Polars' own to change: what is not known is not pushed
        tree = _tree(json.loads(predicate.meta.serialize(format="json")))
    return Pushdown(kinds, nan_is_greatest=True).filter(tree)


def scan_polars(path: Paths, *, threads: int = 0, memory_limit: int | str = 0) -> polars.LazyFrame:
    """A lazy frame over files. `threads` and `memory_limit` as for `scan`.

    `pybasalt.scan_polars("trips.basalt").filter(polars.col("fare") > 3).select("id").head(5).collect()` decodes the two
    columns, skips what the filter cannot hold for, and stops after five rows.

    >>> import polars, pybasalt
    >>> _ = pybasalt.write({"id": [1, 2, 3], "fare": [2.5, 7.0, 9.5]}, "t.basalt")
    >>> pybasalt.scan_polars("t.basalt").filter(polars.col("fare") > 3).select("id").collect()["id"].to_list()
    [2, 3]
    """
    import polars
    from polars.io.plugins import register_io_source

    of_files = schema_of(path, threads)
    check_types_of_polars(of_files)
    schema = polars.Schema(of_files)
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
        for batch in scan(path, wanted, filter, threads=threads, memory_limit=memory_limit):
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
