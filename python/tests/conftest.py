"""Tables that several tests read."""

import os
import signal
import sys

import pytest

# Shells start programs in the background so that Ctrl-C passes them by, and programs that these start, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests also run from a folder that was built without a wheel.
if "PYBASALT_FOLDER" in os.environ:
    sys.path.insert(0, os.environ["PYBASALT_FOLDER"])

import pyarrow as pa  # noqa: E402


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def trips():
    """100,000 rows of several types, with NULLs."""
    count = 100_000
    return pa.table({
        "id": pa.array(range(count), pa.int64()),
        "passengers": pa.array([i % 7 if i % 11 else None for i in range(count)], pa.int32()),
        "fare": pa.array([(i * 7919 % 10_000) / 100 for i in range(count)], pa.float64()),
        "city": pa.array([f"city {i % 97}" if i % 13 else None for i in range(count)]),
    })
