"""The session that plans filters and sorts for functions which need no connection of the user's."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pybasalt import _remote
from pybasalt._errors import ArgumentError

if TYPE_CHECKING:
    from pybasalt import _session

_lock = threading.Lock()
_sessions: dict[int, "_session.Connection"] = {}
_tables: dict[str, Any] = {}
_numbers = itertools.count()


def _made(threads: int, memory_limit: int) -> _session.Connection:
    from pybasalt import _session

    made = _session.Connection("cpu", threads, memory_limit, 0, "", "", False, _tables.get, _remote.find_for_sql,
                               _remote.open_remote)
    made.execute("set TimeZone = 'UTC'", [], None)  # as files name it
    return made


def session(threads: int = 0, memory_limit: int = 0) -> _session.Connection:
    """Made on first use, one for each number of threads; with a limit of memory, anew for each use."""
    if memory_limit:
        return _made(threads, memory_limit)
    with _lock:
        if threads not in _sessions:
            _sessions[threads] = _made(threads, 0)
        return _sessions[threads]


def check_condition(text: str) -> None:
    """Refuses a text that is no condition by itself: within the parentheses of a statement it might close them."""
    if not text.strip():
        raise ValueError("the filter is empty: leave it out for all rows")
    with _lock:
        any_session = next(iter(_sessions.values()), None)
    parser, statement = any_session or session(), f"select 1 where\n{text}"
    if not parser.is_query(statement):
        # Raises what the parser says. It only parses: the text may hold statements.
        parser.execute("select error(json_serialize_sql(?::varchar) ->> 'error_message')", [("1", "VARCHAR", statement)], None)
        raise ArgumentError(f"the filter is not one condition: {text}", "invalid argument")


def query_for_file(path: str) -> str:
    """The query that reads a file by its name's ending."""
    from pybasalt import _session

    return _session.query_for_file(path)


@contextmanager
def named(table: Any) -> Iterator[str]:
    """A name under which statements find a table meanwhile."""
    name = f"pybasalt_table_{next(_numbers)}"
    _tables[name] = table
    try:
        yield name
    finally:
        del _tables[name]


def _after_fork() -> None:
    """A forked process has none of the threads that a session waits for: it makes its own."""
    global _lock
    _lock = threading.Lock()
    _sessions.clear()


os.register_at_fork(after_in_child=_after_fork)
