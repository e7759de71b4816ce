from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pybasalt._core import Batches, DeviceRows, File, Reader

class Result:
    rows: Batches
    has_rows: bool
    explained: str
    report: dict[str, Any]

class Connection:
    def __init__(
        self,
        device: str,
        threads: int,
        memory_limit: int,
        gpu_memory: int,
        database: str,
        temp_dir: str,
        strict: bool,
        find_table: Callable[[str], Any],
        find_remote: Callable[[str], list[str]],
        open_remote: Callable[[str], File],
    ) -> None: ...
    def execute(
        self,
        sql: str,
        parameters: Sequence[tuple[str, str, str | None]],
        progress: Callable[[float], None] | None,
    ) -> Result: ...
    def stream(self, sql: str, parameters: Sequence[tuple[str, str, str | None]]) -> Reader: ...
    def scan(self, sql: str, threads: int, memory_limit: int) -> Reader | None: ...
    def on_device(
        self, sql: str, parameters: Sequence[tuple[str, str, str | None]], device: str, chunk: int | None = None
    ) -> tuple[DeviceRows, dict[str, Any]]: ...
    def convert(
        self, sql: str, path: str, arguments: Mapping[str, Any], progress: Callable[[int, int, int], None] | None
    ) -> dict[str, Any]: ...
    def describe(self, sql: str) -> list[tuple[str, str]]: ...
    def is_query(self, sql: str) -> bool: ...
    def tables(self) -> list[tuple[str, str]]: ...
    def progress(self) -> float: ...
    def interrupt(self) -> None: ...
    def close(self) -> None: ...

def query_for_file(path: str) -> str: ...
