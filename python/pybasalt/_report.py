"""What running a query took."""

from __future__ import annotations

from typing import Any


class Report(dict[str, Any]):
    """What ran where, in which time: `rows`, `total_ms`, `ran_on`, `device_name`, `in_basalt`, `in_duckdb`, `notes`,
    `why_cpu`, `tiles`, `tiles_skipped`, `texts_in_place`, `texts_decoded` (tiles of strings that were tested as they are
    stored, or decoded first), `bytes_transferred`, `compile_ms`, `transfer_ms`, `kernel_ms`."""

    def __str__(self) -> str:
        return str(self["summary"])
