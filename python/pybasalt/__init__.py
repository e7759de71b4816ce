"""Basalt for Python: columnar files that stay compressed into the registers of the GPU, and SQL over them."""

from typing import Any

from pybasalt._errors import (
    AccessError,
    ArgumentError,
    Error,
    InputOutputError,
    MemoryLimitError,
    MissingPackageError,
    NotFoundError,
    UnsupportedError,
)
from pybasalt._files import File, Summary, convert, open, read, scan, write
from pybasalt._sql import Connection, Relation, Report, connect, sql
from pybasalt._table import Scan, Schema, Table
from pybasalt.device import Column, DeviceTable, why_no_gpu
from pybasalt.expressions import Expression, col


#: Modules and functions that need other packages, which are imported when they are asked for.
_LAZY = {"torch": "torch", "ray": "ray", "polars": "polars", "scan_polars": "polars", "dataset": "_dataset"}
_PACKAGES = {"torch": "torch", "ray": "'ray[data]'", "pyarrow": "pyarrow"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'pybasalt' has no attribute {name!r}")
    import importlib

    try:
        module = importlib.import_module(f"pybasalt.{_LAZY[name]}")
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        raise MissingPackageError(f"pybasalt.{name} needs a package: pip install {_PACKAGES[error.name]}", "unsupported"
                                  ) from error
    return module if name == _LAZY[name] else getattr(module, name)


__version__ = "0.1.0"

__all__ = [
    "AccessError", "ArgumentError", "Column", "Connection", "DeviceTable", "Error", "Expression", "File",
    "InputOutputError", "MemoryLimitError", "MissingPackageError", "NotFoundError", "Relation", "Report", "Scan", "Schema",
    "Summary", "Table", "UnsupportedError", "col", "connect", "convert", "dataset", "open", "read", "scan", "scan_polars",
    "sql", "why_no_gpu", "write",
]
