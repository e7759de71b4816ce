"""Columns as arrays where they were decoded: in the GPU's memory or the host's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pybasalt._report import Report

if TYPE_CHECKING:
    from pybasalt import _core


def _refuse(options: dict[str, Any]) -> None:
    """Arrow's device interface may get options: those that are not None must be understood."""
    for name, value in options.items():
        if value is not None:
            raise NotImplementedError(f"__arrow_c_device_array__ knows no {name}")


class Column:
    """A column, decoded when it is first used. numpy, PyTorch and CuPy take numbers as they are, Arrow takes any type.

    `torch.from_dlpack(column)` shares the memory, on the GPU where it was decoded there; `copy=True` gives an array of
    its own, on the host only. NULLs are refused, as arrays have none; dates and moments are the integers that they are
    stored as. `pyarrow.array(column)` has all of them.

    >>> import numpy, pybasalt
    >>> _ = pybasalt.write({"x": [1.5, 2.5]}, "t.basalt")
    >>> numpy.from_dlpack(pybasalt.open("t.basalt").column("x", device="cpu"))
    array([1.5, 2.5])
    """

    def __init__(self, make: Callable[[], _core.DeviceRows], name: str, place: int = 0) -> None:
        self._make = make
        self._place = place
        self.name = name

    @cached_property
    def _rows(self) -> _core.DeviceRows:
        return self._make()

    @cached_property
    def _core(self) -> _core.DeviceColumn:
        return self._rows.column(self._place)

    @property
    def device(self) -> str:
        """"cuda" or "cpu"."""
        return self._rows.device

    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        # Not decoded for this.
        what = f"{len(self)} values on {self.device}" if "_rows" in self.__dict__ else "not decoded"
        return f"<pybasalt.Column {self.name}: {what}>"

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> object:
        return self._core.__dlpack__(stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._core.__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._core.__cuda_array_interface__

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._core.__array_interface__

    def __arrow_c_device_array__(self, requested_schema: object = None, **options: Any) -> tuple[object, object]:
        _refuse(options)
        return self._core.__arrow_c_device_array__()

    def torch(self) -> Any:
        """The column as a tensor of PyTorch's."""
        import torch

        return torch.from_dlpack(self)

    def numpy(self) -> Any:
        """The column as a numpy array; brought to the host where it is not there."""
        import numpy

        if self.device == "cuda":
            return self.torch().cpu().numpy()
        return numpy.asarray(self)


class DeviceTable:
    """Rows of a query where they were found. Takes part in Arrow's C device interface."""

    def __init__(self, core: _core.DeviceRows, report: Report) -> None:
        self._core = core
        #: What ran where, in which time.
        self.report = report

    @property
    def device(self) -> str:
        """"cuda" or "cpu": totals and up to 1,024 rows may be on the host wherever they were found."""
        return self._core.device

    @property
    def ran_on(self) -> str:
        """The device's name."""
        return self._core.ran_on

    @property
    def why_cpu(self) -> str:
        """Why the query did not run on the GPU, where it could have."""
        return self._core.why_cpu

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self._core.rows

    @property
    def column_names(self) -> list[str]:
        """The columns' names."""
        return self._core.columns

    def __len__(self) -> int:
        return self.num_rows

    def __iter__(self) -> Iterator[Column]:
        # By their places: several may have one name.
        return (Column(lambda: self._core, name, place) for place, name in enumerate(self.column_names))

    def __getitem__(self, name: str) -> Column:
        if name not in self.column_names:
            raise KeyError(name)
        return Column(lambda: self._core, name, self.column_names.index(name))

    def __repr__(self) -> str:
        return f"<pybasalt.DeviceTable: {self.num_rows} rows on {self.device}, columns {', '.join(self.column_names)}>"

    def torch(self) -> dict[str, Any]:
        """The columns as tensors of PyTorch's."""
        return {column.name: column.torch() for column in self}

    def __arrow_c_device_array__(self, requested_schema: object = None, **options: Any) -> tuple[object, object]:
        _refuse(options)
        return self._core.__arrow_c_device_array__()


def why_no_gpu() -> str:
    """Why the GPU cannot be used; empty if it can. The first call looks for it."""
    from pybasalt import _core

    return _core.gpu()
