"""Basalt for Python: columnar files that stay compressed into the registers of the GPU, and SQL over them."""

from typing import Any

from pybasalt._errors import ArgumentError, Error, InputOutputError, MemoryLimitError, UnsupportedError
from pybasalt._files import File, Summary, convert, open, read, scan, write
from pybasalt._sql import Connection, Relation, Report, connect, sql
from pybasalt._table import Scan, Schema, Table
from pybasalt.device import Column, DeviceTable, why_no_gpu
from pybasalt.expressions import Expression, col


def __getattr__(name: str) -> Any:
    """What needs another library is imported when it is asked for."""
    if name == "scan_polars":
        from pybasalt.polars import scan_polars

        return scan_polars
    if name == "dataset":
        from pybasalt._dataset import dataset

        return dataset
    raise AttributeError(f"module 'pybasalt' has no attribute {name!r}")


__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "Column", "Connection", "DeviceTable", "Error", "Expression", "File", "InputOutputError",
    "MemoryLimitError", "Relation", "Report", "Scan", "Schema", "Summary", "Table", "UnsupportedError", "col", "connect",
    "convert", "dataset", "open", "read", "scan", "scan_polars", "sql", "why_no_gpu", "write",
]
